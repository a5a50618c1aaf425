"""The records of a data file one by one, for rules that look at each."""

from __future__ import annotations

from epochlint.records import json_stream
from epochlint.records.counting import MAX_BYTES, MOST_ROWS, format_of, sniff
from epochlint.records.json_stream import BROKEN, BROKEN_PART, JsonText
from epochlint.records.opening import DataFile, Unreadable
from epochlint.records.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from epochlint.records.json_stream import Item
    from epochlint.records.tables import TextLines


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


def iterate(path: str, *, max_bytes: int | None = MAX_BYTES, field: str | None = None) -> Iterator[Row]:
    """The records of a JSON Lines, JSON, CSV, TSV or text file, in order and in constant memory.

    Yields nothing for what cannot be read so (Parquet, Arrow, missing, packed in an unknown way), and stops where a
    file breaks off. max_bytes: stop there, too, or after MOST_ROWS records. Raises nothing.
    """
    return iter(Rows(path, max_bytes, field))


class Rows:
    """What `iterate` runs over. Afterwards `complete` tells whether it got to the end of the file."""

    __slots__ = ("_field", "_max_bytes", "complete", "path")

    def __init__(self, path: str, max_bytes: int | None = MAX_BYTES, field: str | None = None) -> None:
        self.path = path
        self.complete = False
        self._max_bytes = max_bytes
        self._field = field

    def __iter__(self) -> Iterator[Row]:
        self.complete = False
        try:
            with DataFile(self.path) as file:
                kind = format_of(self.path) or sniff(file)
                source: JsonText | TextLines
                items: Iterator[Item]
                if kind == "json":
                    source = JsonText(file, self._max_bytes)
                    items = json_stream.items(source, self._field)
                elif kind in ("csv", "tsv", "text"):
                    from epochlint.records import tables

                    source = tables.TextLines(file, self._max_bytes)
                    separator = "\t" if kind == "tsv" else ","
                    items = tables.text_items(source) if kind == "text" else tables.csv_items(source, separator)
                else:
                    return
                for number, (line, column, value, length, problem) in enumerate(items, 1):
                    if number > MOST_ROWS:
                        return
                    if problem is not None and (value is BROKEN or value is BROKEN_PART):
                        value = None
                    yield Row(line, column, value, length, problem)
                self.complete = not source.cut
        except (Unreadable, OSError, MemoryError):
            return
