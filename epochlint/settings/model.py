"""The settings file, checked by pydantic: errors with their place and a suggestion."""

from __future__ import annotations

import os
from difflib import get_close_matches
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from epochlint.documents.document import Document, Mapping, Node, Sequence
from epochlint.documents.toml_document import read as read_toml
from epochlint.files import matcher, open_source
from epochlint.settings import Ignored, Override, Settings, SettingsError
from epochlint.source import Source, Span


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", alias_generator=_dashed)


class OverrideTable(_Table):
    """What holds for the files that `paths` mean."""

    paths: list[str] = Field(description="Patterns as in .gitignore.", min_length=1)
    assume: dict[str, str | int] = Field(default_factory=dict, description="gpus, records, tokens, purpose, versions.")
    trainer: str | None = Field(default=None, description="The trainer that reads these files, by its label.")


class SettingsTable(_Table):
    """`[tool.epochlint]` in pyproject.toml, or the top of epochlint.toml."""

    select: list[str] = Field(default_factory=list, description="Only these rules: codes, names or families.")
    ignore: list[str] = Field(default_factory=list, description="Not these rules.")
    per_path_ignores: dict[str, list[str]] = Field(
        default_factory=dict,
        description="Pattern -> rules that are silent there. `file.json#/warmup_steps` means one place of a JSON file.",
    )
    levels: dict[str, Literal["error", "warning", "note", "off"]] = Field(
        default_factory=dict, description="Rule -> its strongest level, or off."
    )
    thresholds: dict[str, dict[str, float]] = Field(default_factory=dict, description="Rule -> {name: value}.")
    exclude: list[str] = Field(default_factory=list, description="Patterns of files that are not looked at.")
    assume: dict[str, str | int] = Field(default_factory=dict, description="What the files do not say.")
    overrides: list[OverrideTable] = Field(default_factory=list, description="Assumptions and trainers by path.")
    rules: list[str] = Field(default_factory=list, description="Folders with rules of your own.")
    baseline: str | None = Field(default=None, description="A file of known findings, which are not reported.")


def schema() -> dict[str, Any]:
    """The JSON Schema of the table."""
    found = SettingsTable.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **found, "title": "epochlint settings"}


def read(path: str) -> Settings:
    """Raises SettingsError."""
    source = open_source(path, path)
    if not isinstance(source, Source):
        raise SettingsError(path, 0, 0, source.reason)
    document = read_toml(source)
    for problem in document.problems:
        place = problem.span.place
        raise SettingsError(path, place.line, place.column, problem.reason)
    top = _table(document, path)
    if top is None:
        return Settings(path)
    try:
        table = SettingsTable.model_validate(_plain(top))
    except ValidationError as failed:
        raise _error(path, top, failed) from None
    return _settings(path, table, top)


def _table(document: Document, path: str) -> Mapping | None:
    root = next(document.mappings(), None)
    if root is None or os.path.basename(path) != "pyproject.toml":
        return root
    return root.mapping("tool", "epochlint")


def _settings(path: str, table: SettingsTable, top: Mapping) -> Settings:
    settings = Settings(path)
    folder = settings.folder

    def place(where: tuple[str | int, ...]) -> tuple[int, int]:
        found = _span(top, where).place
        return found.line, found.column

    settings.place = place
    settings.select, settings.ignore = table.select, table.ignore
    settings.exclude = table.exclude
    settings.levels, settings.thresholds = dict(table.levels), table.thresholds
    settings.assume = _texts(table.assume)
    for pattern, codes in table.per_path_ignores.items():
        name, mark, pointer = pattern.partition("#")
        settings.ignored.append(Ignored(pattern, matcher([name]), pointer if mark else None, codes))
    for override in table.overrides:
        settings.overrides.append(Override(matcher(override.paths), _texts(override.assume), override.trainer))
    settings.rules = [os.path.normpath(os.path.join(folder, one)) for one in table.rules]
    for index, one in enumerate(settings.rules):
        if not os.path.isdir(one):
            raise settings.error(("rules", index), f"rules: there is no folder {table.rules[index]!r}")
    if table.baseline is not None:
        settings.baseline = os.path.normpath(os.path.join(folder, table.baseline))
    return settings


def _texts(values: dict[str, str | int]) -> dict[str, str]:
    return {key: str(value) for key, value in values.items()}


def _plain(node: Node) -> Any:
    if isinstance(node, Mapping):
        return {entry.key: _plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return getattr(node, "value", None)


def _error(path: str, top: Mapping, failed: ValidationError) -> SettingsError:
    """The first error, in words, at its place."""
    error = failed.errors(include_url=False, include_input=False)[0]
    where = error["loc"]
    place = _span(top, where).place
    # A union's error names the member of the union, too, which is no key of the file.
    parts = [str(part) for part in where if not isinstance(part, int)]
    name = ".".join(part for part in parts if part not in ("str", "int"))
    if error["type"] == "extra_forbidden":
        model = OverrideTable if where[:1] == ("overrides",) else SettingsTable
        known = [_dashed(field) for field in model.model_fields]
        close = get_close_matches(_dashed(str(where[-1])), known, 1, 0.6)
        hint = f"; did you mean {close[0]!r}?" if close else f"; possible are {', '.join(known)}"
        return SettingsError(path, place.line, place.column, f"unknown setting {where[-1]!r}{hint}")
    return SettingsError(path, place.line, place.column, f"{name}: {error['msg']}")


def _span(top: Mapping, where: tuple[int | str, ...]) -> Span:
    """The place of a path in the table, as near as it exists."""
    node: Node = top
    span = top.span
    for part in where:
        if isinstance(part, int) and isinstance(node, Sequence) and part < len(node.items):
            node = node.items[part]
            span = node.span
        elif isinstance(part, str) and isinstance(node, Mapping):
            entry = node.entry(part) or node.entry(_dashed(part))
            if entry is None:
                break
            node, span = entry.value, entry.key_span
        else:
            break
    return span
