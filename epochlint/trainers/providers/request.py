"""Requests to hosted services: their settings into the run, and what the service would say about their values.

What a service accepts is judged by the models of `body.py`.
"""

from __future__ import annotations

import json
import os
import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.scalars import number
from epochlint.run.known import DERIVED, ESTIMATED, ON_ESTIMATE, UNKNOWN, Known, unknown
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.providers.body import MISSING, RANGE, demand, faults, field_at, fold, is_word, node_at
from epochlint.trainers.providers.body import UNKNOWN as UNKNOWN_KEY
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from epochlint.run.counting import Counting
    from epochlint.source import Span
    from epochlint.trainers.trainer import Reading

_FOLDER = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "data")
_data: dict[str, dict[str, Any]] = {}


def facts(provider: str, table: str = "providers") -> dict[str, Any]:
    """A provider's part of a data file."""
    if table not in _data:
        with open(os.path.join(_FOLDER, f"{table}.json"), encoding="utf-8") as file:
            _data[table] = json.load(file)
    found: dict[str, Any] = _data[table][provider]
    return found


class Request:
    """One request being read. `reading` holds its body as one layer (or the keywords of an SDK call)."""

    __slots__ = ("reading", "run")

    def __init__(self, reading: Reading, label: str, counting: Counting) -> None:
        if reading.call is not None:
            reading.layers = [Layer(opened(layer.mapping), layer.origin) for layer in reading.layers]
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
        value = number(node)
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

    def unwritten(self, *path: str) -> bool:
        """Whether a setting is certainly not written, so that the service's default holds."""
        if self.reading.open_ended or self.reading.entry(*path) is not None:
            return False
        for end in range(1, len(path)):
            block = self.reading.node(*path[:end])
            if block is not None and (not isinstance(block, Mapping) or block.open_ended):
                return False
        return True

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

    def judge(
        self,
        body: Mapping | None,
        fields: dict[str, Any],
        *,
        complete: bool = True,
        whole: bool = False,
        nulls: bool = True,
        hint: str = "",
    ) -> None:
        """What the service says about the keys and values of a block.

        `complete`: `fields` are all that it knows; else only a slip of one of them is told. `whole`: the block is all
        that it gets, so what is required and not there is missing. `nulls`: it takes null for "not set".
        """
        if body is None:
            return
        for fault in faults(body, fields, nulls=nulls):
            name = fault.path[-1] if fault.path else ""
            owner = node_at(body, fault.path[:-1])
            entry = owner.entry(str(name)) if isinstance(owner, Mapping) else self._around(body, fault.path)
            if fault.kind == MISSING:
                if whole and isinstance(owner, Mapping) and not owner.open_ended:
                    place = self._around(body, fault.path[:-1])
                    span = place.key_span if place is not None else self.reading.span
                    self.observe("provider_missing", span, key=str(name))
            elif entry is None:
                continue
            elif fault.kind == UNKNOWN_KEY:
                known = fields if len(fault.path) == 1 else field_at(fault.path[:-1], fields).get("fields", {})
                if isinstance(owner, Mapping) and (complete or _slip(entry.key, known, owner)):
                    self.unknown_key(entry, known, hint)
            else:
                shown = entry.value.raw if isinstance(entry.value, Scalar) else ""
                values = {"key": entry.key, "value": shown, "reason": demand(fault.field, fault.kind)}
                if fault.kind == RANGE:
                    # Words are added over the years, so one that is not listed is no error for certain.
                    listed = is_word(fault.field)
                    self.observe("provider_range", entry.key_span, documented=listed, **values)
                else:
                    self.observe("provider_type", entry.key_span, **values)

    def _around(self, body: Mapping, path: tuple[str | int, ...]) -> Entry | None:
        """The innermost entry on the way to a place."""
        for end in range(len(path), 0, -1):
            owner = node_at(body, path[: end - 1])
            if isinstance(owner, Mapping):
                return owner.entry(str(path[end - 1]))
        return None

    @property
    def sent(self) -> bool:
        """Whether it is sent as it stands here (a call, a command), so that what is not there is missing."""
        return bool(self.reading.command)

    def body(self) -> Mapping:
        """All layers as one mapping."""
        layers = self.reading.layers
        if len(layers) == 1:
            return layers[0].mapping
        entries = [entry for layer in reversed(layers) for entry in layer.mapping.entries]
        return Mapping(layers[0].mapping.span, entries, self.reading.open_ended)

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


def _slip(key: str, names: Any, owner: Mapping) -> bool:
    """Whether a key is certainly one of these names misspelt (`epochcount`), which is not there itself."""
    from difflib import get_close_matches

    meant = [name for name in names if fold(name) == fold(key)] or get_close_matches(key, list(names), 1, 0.85)
    return bool(meant) and meant[0] not in owner


def opened(mapping: Mapping, depth: int = 8) -> Mapping:
    """A call's arguments, where objects of an SDK's classes (`Hyperparameters(n_epochs=3)`) are blocks of keys, too."""

    def inside(node: Node) -> Node:
        call = getattr(node, "call", None)
        if call is not None and depth and _is_block(call) and not getattr(node, "attribute", ""):
            return opened(call.arguments, depth - 1)
        if isinstance(node, Mapping) and depth:
            return opened(node, depth - 1)
        return Sequence(node.span, [inside(item) for item in node.items]) if isinstance(node, Sequence) else node

    entries = [Entry(entry.key, entry.key_span, inside(entry.value)) for entry in mapping.entries]
    return Mapping(mapping.span, entries, mapping.open_ended)


def _is_block(call: Any) -> bool:
    """Whether a call makes an object of a class from keywords alone."""
    given: Mapping = call.arguments
    return call.name[:1].isupper() and bool(given.entries) and not any(entry.key.isdigit() for entry in given.entries)


def respelt(mapping: Mapping, spelling: Callable[[str], str]) -> Mapping:
    """A block, and the blocks in it, with its keys in another spelling. Labels are a user's own."""
    entries = []
    for entry in mapping.entries:
        value = entry.value
        if isinstance(value, Mapping) and entry.key != "labels":
            value = respelt(value, spelling)
        entries.append(Entry(spelling(entry.key), entry.key_span, value))
    return Mapping(mapping.span, entries, mapping.open_ended)


def snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z])[A-Z]", lambda found: f"_{found[0].lower()}", name)


def camel_case(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found[1].upper(), name)


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
