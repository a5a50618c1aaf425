"""Sorts more entries than are held in memory."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import IO

RUN = 1 << 13
"""Entries that are sorted at once."""
_IN_MEMORY = 1 << 20
"""Bytes of sorted runs from which on they lie in a file."""
_READ = 64
"""Entries that are read of a run at once."""


class Sorted:
    """Entries of one size in bytes, given in any order and handed back in order, in constant memory.

    `size`: bytes of an entry. `most`: entries that are taken; `full`: there were more, or no place on the disk for
    them, and nothing can be said about them all (to be asked after the last entry, too).

    Runs of entries are sorted and laid aside: few of them in memory, more in a temporary file without a name, which is
    gone with its last user.
    """

    __slots__ = ("_file", "_held", "_number", "_runs", "full", "most", "size")

    def __init__(self, size: int, most: int) -> None:
        self.size = size
        self.most = most
        self.full = False
        self._number = 0
        self._held = bytearray()
        self._file: IO[bytes] | None = None
        self._runs: list[tuple[int, int]] = []  # of the file: first byte and the one behind

    def add(self, entries: bytes | bytearray) -> None:
        """One entry, or several in a row."""
        self._number += len(entries) // self.size
        self.full = self.full or self._number > self.most
        if self.full:
            self._held.clear()
            return
        self._held += entries
        if len(self._held) >= RUN * self.size:
            self._lay_aside()

    def __len__(self) -> int:
        return self._number

    def __iter__(self) -> Iterator[bytes]:
        """The entries in order; those of equal bytes stand together. Nothing where it is `full`."""
        runs: list[Iterable[bytes]] = []
        if not self.full:
            runs = [self._run(start, end) for start, end in self._runs]
            runs.append(self._sorted())
        if len(runs) < 2:
            return iter(*runs) if runs else iter(())
        from heapq import merge

        return merge(*runs)

    def drop(self) -> None:
        """Forgets all entries."""
        self._held.clear()
        self._runs.clear()
        self._number = 0
        self._file = None

    def _sorted(self) -> list[bytes]:
        held, size = bytes(self._held), self.size
        return sorted([held[start : start + size] for start in range(0, len(held), size)])

    def _lay_aside(self) -> None:
        from tempfile import SpooledTemporaryFile

        try:
            if self._file is None:
                self._file = SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115 # open as long as the entries are asked for
            start = self._runs[-1][1] if self._runs else 0
            self._file.seek(start)
            self._file.write(b"".join(self._sorted()))
            self._runs.append((start, start + len(self._held)))
        except OSError:
            self.full = True
        self._held.clear()

    def _run(self, start: int, end: int) -> Iterator[bytes]:
        size, file = self.size, self._file
        assert file is not None
        while start < end:
            wanted = min(_READ * size, end - start)
            try:
                file.seek(start)
                data = file.read(wanted)
            except OSError:
                data = b""
            if len(data) < wanted:
                self.full = True
                return
            start += wanted
            for place in range(0, len(data), size):
                yield data[place : place + size]
