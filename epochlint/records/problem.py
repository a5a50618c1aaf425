"""What is wrong with a line of a data file."""

from __future__ import annotations


class Problem:
    """Something that a loader or provider stumbles over: 1-based line and column, and the reason in words.

    arrow: only the JSON reader of `datasets` does (Arrow's); Python's own takes it.
    """

    __slots__ = ("arrow", "column", "line", "reason")

    def __init__(self, line: int, column: int, reason: str, arrow: bool = False) -> None:
        self.line = line
        self.column = column
        self.reason = reason
        self.arrow = arrow

    def __repr__(self) -> str:
        return f"Problem({self.line}:{self.column} {self.reason})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Problem) and (self.line, self.column, self.reason) == (
            other.line,
            other.column,
            other.reason,
        )

    def __hash__(self) -> int:
        return hash((self.line, self.column, self.reason))
