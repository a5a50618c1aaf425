"""Row counts of Arrow IPC files (stream and file format) from the headers of their record batches.

Source: Arrow columnar format 1.5, Message.fbs and Schema.fbs. Headers are FlatBuffers; the bodies are skipped.
The file format is the stream between a magic word and a footer that repeats the batches' places.
"""

from __future__ import annotations

import struct

from epochlint.records.opening import Unreadable
from epochlint.records.shapes import shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.records.opening import DataFile

_MAGIC = b"ARROW1\x00\x00"
_CONTINUATION = 0xFFFFFFFF
_BIGGEST_HEADER = 16 << 20
_MOST_ROWS = 1 << 40

_MOST_FIELDS = 10_000

_SCHEMA, _RECORD_BATCH = 1, 3
_BOOL, _STRUCT = 6, 13
_LISTS = frozenset((12, 16, 21, 25, 26))  # List, FixedSizeList, LargeList, ListView, LargeListView


def arrow_rows(file: DataFile) -> tuple[int, str]:
    """Rows and shape. Raises Unreadable."""
    place = 8 if file.size >= 8 and file.read_at(0, 8) == _MAGIC else 0
    rows = 0
    shape = None
    try:
        while place + 4 <= file.size:
            (length,) = struct.unpack("<I", file.read_at(place, 4))
            place += 4
            if length == _CONTINUATION:  # absent before Arrow 0.15
                (length,) = struct.unpack("<I", file.read_at(place, 4))
                place += 4
            if length == 0:
                break
            if length > _BIGGEST_HEADER:
                raise Unreadable("no Arrow message")
            message = _Table.root(file.read_at(place, length))
            body = message.number(3, "<q")
            if body < 0 or place + length + body > file.size:
                raise Unreadable("the file ends early")
            place += length + body
            kind = message.number(1, "<B")
            header = message.table(2)
            if header is None:
                raise Unreadable("no Arrow message")
            if kind == _SCHEMA:
                left = [_MOST_FIELDS]
                shape = shape_of({field.text(0): _sample(field, left) for field in header.tables(1)})
            elif kind == _RECORD_BATCH:
                batch = header.number(0, "<q")
                if not 0 <= batch <= _MOST_ROWS:
                    raise Unreadable("a damaged batch")
                rows += batch
    except (struct.error, RecursionError, ValueError):
        raise Unreadable("a damaged Arrow file") from None
    if shape is None:
        raise Unreadable("no Arrow schema")
    return rows, shape


def _sample(field: _Table, left: list[int]) -> Any:
    """A made-up value of a field's type; the shape of a record of these is the rows' shape.

    `left` counts down, since the tables of a hostile file can contain each other.
    """
    kind = field.number(2, "<B")
    left[0] -= 1
    if left[0] < 0:
        raise ValueError("too many fields")
    if kind == _STRUCT:
        return {child.text(0): _sample(child, left) for child in field.tables(5)}
    if kind in _LISTS:
        return [_sample(child, left) for child in field.tables(5)[:1]]
    return True if kind == _BOOL else ""


class _Table:
    """A FlatBuffers table. Wrong offsets end in struct.error."""

    __slots__ = ("data", "place")

    def __init__(self, data: bytes, place: int) -> None:
        self.data = data
        self.place = place

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, *struct.unpack_from("<I", data))

    def _field(self, number: int) -> int:
        """Where a field's value lies, 0 where it is not set."""
        (back,) = struct.unpack_from("<i", self.data, self.place)
        vtable = self.place - back
        if vtable < 0:
            raise struct.error("before the start")
        (size,) = struct.unpack_from("<H", self.data, vtable)
        if 6 + 2 * number > size:
            return 0
        offset: int = struct.unpack_from("<H", self.data, vtable + 4 + 2 * number)[0]
        return self.place + offset if offset else 0

    def number(self, number: int, kind: str) -> int:
        at = self._field(number)
        return int(struct.unpack_from(kind, self.data, at)[0]) if at else 0

    def _target(self, at: int) -> int:
        return at + int(struct.unpack_from("<I", self.data, at)[0])

    def table(self, number: int) -> _Table | None:
        at = self._field(number)
        return _Table(self.data, self._target(at)) if at else None

    def text(self, number: int) -> str:
        at = self._field(number)
        if not at:
            return ""
        start = self._target(at)
        (length,) = struct.unpack_from("<I", self.data, start)
        return self.data[start + 4 : start + 4 + length].decode("utf-8", "replace")

    def tables(self, number: int) -> list[_Table]:
        at = self._field(number)
        if not at:
            return []
        start = self._target(at)
        (length,) = struct.unpack_from("<I", self.data, start)
        if start + 4 + 4 * length > len(self.data):
            raise struct.error("behind the end")
        return [_Table(self.data, self._target(start + 4 + 4 * index)) for index in range(length)]
