"""Requests to hosted services: their settings into the run, and what the service would say about their values.

pydantic is imported only here, and only where there is a request: its models are made from the data file's fields.
"""

from __future__ import annotations

import json
import os

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.scalars import number
from epochlint.run.known import DERIVED, ESTIMATED, ON_ESTIMATE, UNKNOWN, Known, unknown
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from epochlint.run.counting import Counting
    from epochlint.source import Span
    from epochlint.trainers.trainer import Reading

_FILE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data", "providers.json")
_data: dict[str, Any] = {}
_models: dict[int, Any] = {}


def facts(provider: str) -> dict[str, Any]:
    """A provider's part of the data file."""
    if not _data:
        with open(_FILE, encoding="utf-8") as file:
            _data.update(json.load(file))
    found: dict[str, Any] = _data[provider]
    return found


class Request:
    """One request being read. `reading` holds its body as one layer (or the keywords of an SDK call)."""

    __slots__ = ("reading", "run")

    def __init__(self, reading: Reading, label: str, counting: Counting) -> None:
        self.reading = reading
        self.run = Run(label, reading.document.source, reading.span, (Era("", counting),), reading.versions)
        self.run.settings["max_steps"] = Known(None, DERIVED)
        self.run.settings["gpus"] = Known(1, DERIVED)  # devices are the service's own affair
        self.run.settings["method"] = Known("sft", DERIVED)

    # Settings ---------------------------------------------------------------------------------------------------------

    def take(self, setting: str, *path: str, whole: bool = False) -> Known:
        """A number under a path; a word ("auto", "max"), a sentinel (-1) and null leave it to the service."""
        found = self.reading.entry(*path)
        if found is None:
            return UNKNOWN
        entry, origin = found
        node = entry.value
        value = number(node) if isinstance(node, Scalar) else None
        if isinstance(node, Scalar) and (
            node.value is None or (value is None and isinstance(node.value, str)) or value == -1
        ):
            return UNKNOWN
        if value is None:
            known = unknown(entry.key_span, node.span, origin)
        else:
            known = Known(
                int(value) if whole and value == int(value) else value, origin, key_span=entry.key_span, span=node.span
            )
        self.run.settings[setting] = known
        return known

    def default(self, setting: str, value: object) -> None:
        """A documented default, where nothing is written."""
        if setting not in self.run.settings:
            self.run.settings[setting] = Known(value, "default")

    def estimate(self, setting: str, of: Callable[[int], float], place: Span | None) -> None:
        """A value that the service will choose, estimated from the number of records once that is known."""

        def settle(run: Run) -> None:
            rows = run.setting("rows").number
            if rows is not None and rows >= 1:
                run.settings[setting] = Known(of(int(rows)), ESTIMATED, key_span=place, basis=ON_ESTIMATE)

        self.run.after_counting.append(settle)

    def word(self, *path: str) -> str | None:
        return text_of(self.reading.node(*path))

    def left_open(self, *path: str) -> Span | None:
        """The place of a value that is left to the service: "auto", null; None where a value is written or nothing."""
        found = self.reading.entry(*path)
        if found is None or not isinstance(found[0].value, Scalar):
            return None
        value = found[0].value.value
        return found[0].key_span if value is None or value == "auto" else None

    # Data -------------------------------------------------------------------------------------------------------------

    def take_files(
        self, training: str, validation: str, check: Callable[[object], tuple[str, str] | None] | None = None
    ) -> None:
        """Local files behind `training_file` and `validation_file`: an SDK's upload, or a path itself."""
        for key, sources in ((training, self.run.training), (validation, self.run.validation)):
            found = self.reading.entry(key)
            if found is None:
                continue
            for path, span in uploads(found[0].value):
                sources.append(DataSource(span, paths=(path,), base=self.reading.base, check=check))
        found = self.reading.entry(validation)
        null = found is not None and isinstance(found[0].value, Scalar) and found[0].value.value in (None, "")
        given = found is not None and not null
        if not self.reading.open_ended:
            place = found[0].key_span if found is not None else None
            self.run.settings["validation"] = Known(given, DERIVED, key_span=place)

    def limits(self, records: dict[str, Any] | None) -> None:
        """The service's least and most lines."""
        for name, setting in (("least", "least_records"), ("most", "most_records")):
            value = records.get(name) if records is not None else None
            if value is not None:
                self.run.settings[setting] = Known(value, DERIVED)

    # Judging ----------------------------------------------------------------------------------------------------------

    def observe(self, name: str, span: Span, **values: object) -> None:
        from epochlint.run.observation import Observation

        self.run.observations.append(Observation(name, span, values))

    def judge(self, body: Mapping | None, fields: dict[str, Any], *, complete: bool = True, hint: str = "") -> None:
        """What the service says about the keys and values of a block. `complete`: `fields` are all that it knows."""
        if body is None:
            return
        values = {entry.key: _plain(entry.value) for entry in body.entries if not entry.key.isdigit()}
        known = {key: value for key, value in values.items() if value is not _OPEN}
        problems: dict[str, list[dict[str, Any]]] = {}
        model = _model(fields)
        from pydantic import ValidationError

        try:
            model.model_validate(known)
        except ValidationError as failed:
            for error in failed.errors(include_url=False, include_input=False):
                problems.setdefault(str(error["loc"][0]), []).append(dict(error))
        for key, errors in problems.items():
            entry = body.entry(key)
            if entry is None:
                continue
            if key not in fields:
                if complete:
                    self.unknown_key(entry, fields, hint)
            else:
                self._wrong(entry, fields[key], errors)

    def unknown_key(self, entry: Entry, names: Any, hint: str = "") -> None:
        """A key that the API does not know here: sent all the same, and refused or without effect."""
        from difflib import get_close_matches

        close = get_close_matches(entry.key, list(names), 1, 0.6)
        folded = [name for name in names if name.lower().replace("_", "") == entry.key.lower().replace("_", "")]
        suggestion = folded[0] if folded else close[0] if close else ""
        reason = hint or "not a setting of this API"
        self.observe(
            "provider_unknown",
            entry.key_span,
            key=entry.key,
            reason=reason,
            suggestion=suggestion,
            rejected=bool(suggestion),
        )

    def _wrong(self, entry: Entry, field: dict[str, Any], errors: list[dict[str, Any]]) -> None:
        node = entry.value
        place = entry.key_span
        shown = node.raw if isinstance(node, Scalar) else ""
        kinds = {error["type"] for error in errors}
        if any(kind.startswith(("greater_than", "less_than", "out_of_range")) for kind in kinds):
            reason = f"the service takes {_range(field)}"
            self.observe("provider_range", place, key=entry.key, value=shown, reason=reason, documented=False)
        else:
            self.observe("provider_type", place, key=entry.key, value=shown, reason=_demand(field))


_OPEN = object()


def _plain(node: Node) -> object:
    """A value as the service gets it; `_OPEN` where it cannot be known or is left to the service."""
    if isinstance(node, Scalar):
        return _OPEN if node.value is None else node.value
    if isinstance(node, Mapping):
        return {entry.key: _plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return _OPEN


def _model(fields: dict[str, Any]) -> Any:
    """The pydantic model of a block of the data file."""
    found = _models.get(id(fields))
    if found is None:
        from pydantic import ConfigDict, create_model

        parts: dict[str, Any] = {name: (_type(field) | None, None) for name, field in fields.items()}
        config = ConfigDict(extra="forbid", protected_namespaces=())
        found = _models[id(fields)] = create_model("Body", __config__=config, **parts)
    return found


def _type(field: dict[str, Any]) -> Any:
    """The type of one field: strict numbers, words, text that holds a number."""
    from typing import Annotated, Literal, Union

    from pydantic import AfterValidator, Field
    from pydantic_core import PydanticCustomError

    bounds = {
        key: field[name]
        for key, name in (("ge", "low"), ("le", "high"), ("gt", "above"))
        if field.get(name) is not None
    }

    def within(text: str) -> str:
        try:
            value = float(text)
        except ValueError:
            raise PydanticCustomError("numeric_text", "a text that holds a number") from None
        if (
            value != value
            or value < bounds.get("ge", value)
            or value > bounds.get("le", value)
            or value <= bounds.get("gt", value - 1)
        ):
            raise PydanticCustomError("out_of_range", "out of range")
        return text

    choices: list[Any] = []
    for kind in field["type"].split(" or "):
        if kind == "int":
            choices.append(Annotated[int, Field(strict=True, **bounds)])
        elif kind == "number":
            choices.append(Annotated[float, Field(strict=True, **bounds)])
        elif kind in ("text", "numeric text"):
            choices.append(Annotated[str, Field(strict=True), AfterValidator(within)])
        elif kind == "any":
            from typing import Any as Anything

            return Anything
    if field.get("words"):
        choices.append(Literal[tuple(field["words"])])
    return Union[tuple(choices)]  # noqa: UP007 # made at run time


def _range(field: dict[str, Any]) -> str:
    low, high, above = field.get("low"), field.get("high"), field.get("above")
    if low is not None and low == high:
        return f"{low:g} only"
    parts = []
    if above is not None:
        parts.append(f"more than {above:g}")
    if low is not None and high is not None:
        return f"{low:g} to {high:g}"
    if low is not None:
        parts.append(f"at least {low:g}")
    if high is not None:
        parts.append(f"at most {high:g}")
    return " and ".join(parts)


def _demand(field: dict[str, Any]) -> str:
    kind = field["type"].split(" or ")[0]
    words = " or ".join(f'"{word}"' for word in field.get("words", ()))
    wanted = {
        "int": "a whole number without quotes",
        "number": "a number without quotes",
        "text": "text in quotes, not a number",
        "word": "",
    }.get(kind, kind)
    return f"the service takes {wanted}{' or ' if wanted and words else ''}{words}"


def uploads(node: Node) -> list[tuple[str, Span]]:
    """The local files that a file id comes from: an upload of the SDK (`client.files.create(file=open(...)).id`), or a
    path itself."""
    if isinstance(node, Sequence):
        return [found for item in node.items for found in uploads(item)]
    if isinstance(node, Mapping):
        inner = node.get("file_id") or node.get("file")
        return uploads(inner) if inner is not None else []
    if isinstance(node, Scalar):
        text = node.value
        return (
            [(text, node.span)]
            if isinstance(text, str) and text.endswith((".jsonl", ".json", ".csv", ".parquet"))
            else []
        )
    if isinstance(node, Unresolved):
        return []
    call = getattr(node, "call", None)
    if call is None:
        return []
    if call.name in ("open", "Path"):
        inner = call.argument("file", 0)
    else:
        inner = call.argument("file", 0) or call.argument("path", 0)
    return uploads(inner) if inner is not None else []
