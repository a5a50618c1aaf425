"""Files that are read with Python's own `json`, line by line or whole, which takes less than `datasets` does."""

from __future__ import annotations

from epochlint.records.looks import Look
from epochlint.records.opening import DataFile, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    _Stretch = tuple[int, int, tuple[int, str] | None]
    """First line of some records, the line behind the last, and what is wrong between."""

_TAIL = 4096
_MARK = b"\xef\xbb\xbf"
_SPACE = b" \t\r\n"


class Strict(Look):
    """Looks for what stops `json.loads` on each line of a file (with `document`: `json.load` on all of it). Broken
    records are not looked for: the count tells them. marked: a byte order mark is taken off before."""

    __slots__ = ("_document", "_first", "_marked", "_next", "_others", "_problem")

    def __init__(self, *, document: bool, marked: bool = False) -> None:
        self._marked = marked
        self._document = document
        self._first = 1  # line of the first record that is not handed over yet, 0 where there is none
        self._next = 1  # where the next record should stand
        self._problem: tuple[int, str] | None = None
        self._others: list[_Stretch] = []

    @property
    def apart(self) -> bool:
        return not self._document

    def see(self, line: int, value: object) -> None:
        self._first = self._first or line
        self._next = self._next or line
        if self._problem is None:
            if self._document:
                if self._next == 2:
                    self._problem = (line, "a second record: the file is read as one document, not by lines")
            else:
                self._problem = _step(self._next, line)
        self._next += 1

    def part(self) -> None:
        self._next = 0

    def state(self) -> object:
        stretch = self._first, self._next, self._problem
        self._first = 0
        return stretch

    def join(self, state: object) -> None:
        assert isinstance(state, tuple)
        if state[0]:
            self._others.append(state)

    def _settle(self) -> None:
        """Puts together what was seen of all parts."""
        for first, behind, problem in sorted(self._others, key=_begin):
            if self._problem is None:
                self._problem = _step(self._next, first) or problem
            self._next = behind
        self._others.clear()

    def told(self, path: str) -> list[object]:
        """Line and reason; empty where nothing stops the reader, or where the file cannot be read."""
        self._settle()
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
        if self._next > 1 and not self._document and not last.strip():
            return [self._next, "a blank line"]
        return []


def _begin(stretch: _Stretch) -> int:
    return stretch[0]


def _step(expected: int, line: int) -> tuple[int, str] | None:
    """What is wrong where the next record was expected on one line, and is on another."""
    if line > expected:
        return expected, "a blank line"
    return (line, "a second record on the line") if line < expected else None
