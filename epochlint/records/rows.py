"""The records of a data file one by one, for rules that look at each."""

from __future__ import annotations

from epochlint.records import json_stream
from epochlint.records.counting import format_of, sniff
from epochlint.records.opening import DataFile, Unreadable
from epochlint.records.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

    from epochlint.records.json_stream import Item


class Row:
    """One record.

    line, column: where it begins, 1-based; column in characters. value: the parsed record (texts by column name for
    CSV, {"text": line} for plain text), None where it could not be parsed. length: characters it takes in the file.
    problem: what is wrong with it, or None.
    """

    __slots__ = ("column", "length", "line", "problem", "value")

    def __init__(self, line: int, column: int, value: Any, length: int, problem: Problem | None = None) -> None:
        self.line = line
        self.column = column
        self.value = value
        self.length = length
        self.problem = problem

    def __repr__(self) -> str:
        return f"Row({self.line}:{self.column} {self.value!r})"


def iterate(path: str, *, max_bytes: int | None = None, field: str | None = None) -> Iterator[Row]:
    """The records of a JSON Lines, JSON, CSV, TSV or text file, in order and in constant memory.

    Yields nothing for what cannot be read so (Parquet, Arrow, missing, packed in an unknown way), and stops where a
    file breaks off. max_bytes: stop there. Raises nothing.
    """
    try:
        with DataFile(path) as file:
            broken = (json_stream.BROKEN, json_stream.BROKEN_PART)
            for line, column, value, length, problem in _items(path, file, max_bytes, field):
                yield Row(line, column, None if value in broken else value, length, problem)
    except (Unreadable, OSError, MemoryError):
        return


def _items(path: str, file: DataFile, max_bytes: int | None, field: str | None) -> Iterable[Item]:
    kind = format_of(path) or sniff(file)
    if kind == "json":
        return json_stream.items(json_stream.JsonText(file, max_bytes), field)
    if kind in ("csv", "tsv", "text"):
        from epochlint.records.tables import TextLines, csv_items, text_items

        lines = TextLines(file, max_bytes)
        return text_items(lines) if kind == "text" else csv_items(lines, "\t" if kind == "tsv" else ",")
    return ()
