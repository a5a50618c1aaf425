"""Row counts of Parquet files from their footer alone: a Thrift structure in the compact protocol.

Source: parquet-format 2.x, parquet.thrift (FileMetaData, SchemaElement, RowGroup, ColumnMetaData, Statistics).
No compressed page is read, so nothing is known of the text of the rows.
"""

from __future__ import annotations

from epochlint.records.opening import Unreadable
from epochlint.records.shapes import shape_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.records.opening import DataFile

_MAGIC = b"PAR1"
_FOOTER_READ = 4 << 20
"""Bytes of a footer that are read: the schema and the number of rows stand at its beginning; the column statistics
behind them are used only where the whole footer is no longer than this."""

_MOST_STRUCTS = 200_000
"""Structures of a footer that are held: a hostile one has millions of empty ones."""
_MOST_ROWS = 1 << 40

_MESSAGE_LISTS = ("messages", "conversations", "conversation", "contents")


def parquet_rows(file: DataFile) -> tuple[int, str, int | None]:
    """Rows, shape and messages (None where the footer does not tell). Raises Unreadable, and MemoryError where the
    footer is too much to be held."""
    if file.size < 12 or file.read_at(0, 4) != _MAGIC:
        raise Unreadable("no Parquet file")
    tail = file.read_at(file.size - 8, 8)
    length = int.from_bytes(tail[:4], "little")
    if tail[4:] != _MAGIC or length > file.size - 12:
        raise Unreadable("no Parquet footer")
    footer = _Compact(file.read_at(file.size - 8 - length, min(length, _FOOTER_READ)))
    wanted = {2, 3, 4} if length <= _FOOTER_READ else {2, 3}
    try:
        metadata = footer.struct(wanted)
        rows = metadata[3]
        if type(rows) is not int or not 0 <= rows <= _MOST_ROWS:
            raise Unreadable("no number of rows")
        sample, _ = _sample(metadata[2], 0)
        return rows, shape_of(sample), _messages(metadata.get(4))
    except (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError):
        raise Unreadable("a damaged Parquet footer") from None


def _sample(schema: list[Any], index: int, depth: int = 0) -> tuple[Any, int]:
    """A made-up record with the schema's keys, and the index behind the element. Its shape is the rows' shape."""
    element = schema[index]
    children = element.get(5, 0)
    index += 1
    if depth > 50:
        raise ValueError("nested too deeply")
    if not children:
        return (True if element.get(1) == 0 else ""), index
    record: dict[str, Any] = {}
    repeated = False
    for _ in range(children):
        child = schema[index]
        value, index = _sample(schema, index, depth + 1)
        name = child[4].decode("utf-8", "replace")
        repeated = child.get(3) == 2
        record[name] = [value] if repeated and depth == 0 else value
    if children == 1 and repeated and depth:  # a list: group > repeated group > element
        inner = next(iter(record.values()))
        return [next(iter(inner.values())) if type(inner) is dict and len(inner) == 1 else inner], index
    return record, index


def _messages(groups: Any) -> int | None:
    """Messages of all rows: the values of the role column that are not null (an empty list counts as one null)."""
    if not groups:
        return None
    total = 0
    for group in groups:
        found = None
        for column in group[1]:
            metadata = column.get(3) or {}
            path = metadata.get(3) or []
            if len(path) < 3 or path[0].decode("utf-8", "replace") not in _MESSAGE_LISTS:
                continue
            if path[-1] in (b"role", b"from"):
                nulls = (metadata.get(12) or {}).get(3)
                if type(nulls) is not int:
                    return None
                found = metadata[5] - nulls
        if found is None:
            return None
        total += found
    return total


class _Compact:
    """Reads the compact protocol: a struct is a dict by field number. Raises IndexError at the end of the bytes, and
    MemoryError where there are too many structures."""

    __slots__ = ("_left", "data", "position")

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0
        self._left = _MOST_STRUCTS

    def struct(self, wanted: set[int] | None = None) -> dict[int, Any]:
        """The fields of a structure; with `wanted` it ends behind the last of these."""
        fields: dict[int, Any] = {}
        number = 0
        self._left -= 1
        if self._left < 0:
            raise MemoryError
        while True:
            head = self._byte()
            kind = head & 15
            if not kind:
                return fields
            number = number + (head >> 4) if head >> 4 else self._signed()
            fields[number] = kind == 1 if kind in (1, 2) else self._value(kind)
            if wanted and wanted <= fields.keys():
                return fields

    def _value(self, kind: int) -> Any:
        if kind in (1, 2):
            return self._byte() == 1
        if kind == 3:
            return self._byte()
        if kind in (4, 5, 6):
            return self._signed()
        if kind == 7:
            return self._bytes(8)
        if kind == 8:
            return self._bytes(self._unsigned())
        if kind in (9, 10):
            head = self._byte()
            length = head >> 4
            if length == 15:
                length = self._unsigned()
            return [self._value(head & 15) for _ in range(length)]
        if kind == 11:
            length = self._unsigned()
            kinds = self._byte() if length else 0
            return [(self._value(kinds >> 4), self._value(kinds & 15)) for _ in range(length)]
        if kind == 12:
            return self.struct()
        raise ValueError("unknown type")

    def _byte(self) -> int:
        value = self.data[self.position]
        self.position += 1
        return value

    def _bytes(self, length: int) -> bytes:
        value = self.data[self.position : self.position + length]
        if len(value) < length:
            raise IndexError("the footer ends early")
        self.position += length
        return value

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("a number of more than 64 bits")

    def _signed(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
