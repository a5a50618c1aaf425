"""Files that are read with Python's own `json`, line by line or whole, which takes less than `datasets` does."""

from __future__ import annotations

from epochlint.records.looks import Look
from epochlint.records.opening import DataFile, Unreadable

_TAIL = 4096
_MARK = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


class Strict(Look):
    """Looks for what stops `json.loads` on each line of a file (with `document`: `json.load` on all of it). Broken
    records are not looked for: the count tells them. marked: a byte order mark is taken off before."""

    __slots__ = ("_document", "_marked", "_number", "_problem")
    apart = False  # each record must stand on the line of its number

    def __init__(self, *, document: bool, marked: bool = False) -> None:
        self._marked = marked
        self._document = document
        self._number = 0
        self._problem: tuple[int, str] | None = None

    def see(self, line: int, value: object) -> None:
        self._number += 1
        if self._problem is not None:
            return
        if self._document:
            if self._number == 2:
                self._problem = (line, "a second record: the file is read as one document, not by lines")
        elif line > self._number:
            self._problem = (self._number, "a blank line")
        elif line < self._number:
            self._problem = (line, "a second record on the line")

    def told(self, path: str) -> list[object]:
        """Line and reason; empty where nothing stops the reader, or where the file cannot be read."""
        try:
            with DataFile(path) as file:
                start = file.read_at(0, min(file.size, _TAIL))
                end = file.read_at(max(0, file.size - _TAIL), min(file.size, _TAIL))
        except (Unreadable, OSError, MemoryError):
            return []
        if start.startswith(_MARK) and self._marked:
            start = start[len(_MARK) :]
        elif start.startswith(_MARK):
            return [1, "a byte order mark stands before the first record"]
        array = start.lstrip(_SPACE).startswith(b"[")
        if array:
            return [] if self._document else [1, "the file is an array, not one record a line"]
        if self._problem is not None:
            return list(self._problem)
        last = end.removesuffix(b"\n").removesuffix(b"\r").rpartition(b"\n")[2]
        if self._number and not self._document and not last.strip():
            return [self._number + 1, "a blank line"]
        return []
