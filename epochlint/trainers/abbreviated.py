"""Flags as argparse takes them: a beginning that only one flag has is that flag."""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from epochlint.trainers.trainer import Reading


def as_written(entry: Entry) -> str | None:
    """A flag's name with its own dashes; None where it is none, or not written there."""
    span = entry.key_span
    text = span.source.text[span.start : span.end]
    name = text.lstrip("-")
    return name if text.startswith("-") and name.replace("-", "_") == entry.key else None


def spelled_out(reading: Reading, names: AbstractSet[str]) -> Reading:
    """The same reading with the full names of its flags."""

    def full(entry: Entry) -> Entry:
        if as_written(entry) is None or entry.key in names:
            return entry
        meant = [name for name in names if name.startswith(entry.key)]
        return Entry(meant[0], entry.key_span, entry.value) if len(meant) == 1 else entry

    return reading.over(
        [
            Layer(Mapping(one.mapping.span, [*map(full, one.mapping.entries)], one.mapping.open_ended), one.origin)
            for one in reading.layers
        ]
    )
