"""The split expressions of `load_dataset`: `train`, `train[:100]`, `train[10%:20%]+test[-50:]`.

Source: datasets 5.2.0, arrow_reader.py (`_SUB_SPEC_RE`, `_rel_to_abs_instr`): a slice is cut at the ends of the split,
a percentage is round(percent * rows / 100).
"""

from __future__ import annotations

from epochlint.patterns import Pattern

_PART = Pattern(r"(\w[\w.-]*)(?:\[([^\]]*)\])?\Z")
_BOUND = Pattern(r"(-?\d{1,12})(%?)\Z")


class Part:
    """Rows `first` to `last` of the split `name`: whole numbers, shares as floats, None = from the start or to the
    end."""

    __slots__ = ("first", "last", "name")

    def __init__(self, name: str, first: int | float | None = None, last: int | float | None = None) -> None:
        self.name = name
        self.first = first
        self.last = last

    @property
    def whole(self) -> bool:
        return self.first is None and self.last is None

    def rows(self, rows: int) -> int:
        """How many of a split's rows it takes."""
        first, last = index(self.first, rows, 0), index(self.last, rows, rows)
        return max(0, last - first)


def parts(split: str) -> list[Part] | None:
    """The parts of an expression that are put together; None where it is written in a way that is unknown here."""
    found = []
    for text in split.split("+"):
        match = _PART.match(text.strip())
        if match is None:
            return None
        first = last = None
        if match[2] is not None:
            start, colon, stop = match[2].partition(":")
            first, last = bound(start), bound(stop)
            if not colon or (start.strip() and first is None) or (stop.strip() and last is None):
                return None
        found.append(Part(match[1], first, last))
    return found


def bound(text: str) -> int | float | None:
    """One end of a slice; None where there is no number."""
    found = _BOUND.match(text.strip())
    if found is None:
        return None
    return int(found[1]) / 100 if found[2] else int(found[1])


def index(value: float | None, rows: int, default: int) -> int:
    """The row that an end of a slice means."""
    if value is None:
        return default
    number = round(round(value * 100) * rows / 100) if isinstance(value, float) else int(value)
    return max(0, min(rows, number if number >= 0 else rows + number))
