"""Rows of CSV, TSV and plain text files, as pandas' C parser and the text loader of `datasets` 5.2.0 count them
(packaged_modules/csv/csv.py and text/text.py; tests/records/datasets_rows.json holds what they said)."""

from __future__ import annotations

import sys

from epochlint.records.opening import BLOCK, Unreadable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.records.json_stream import Item
    from epochlint.records.opening import Reader

_BIGGEST_LINE = 8 << 20
"""Characters of a line of a table, and of one CSV field (a quote that is never closed would swallow the file)."""

_END = "\x01end of the file\x01"


class TextLines:
    """The lines of a file with their ends (LF, CRLF or CR), decoded as strict UTF-8.

    `read` counts bytes; `cut`: `limit` bytes were read and there is more (the last, partial line is left out).
    Iterating raises Unreadable at bytes that are not UTF-8.
    """

    __slots__ = ("_limit", "_reader", "cut", "left", "read")

    def __init__(self, reader: Reader, limit: int | None = None) -> None:
        self._reader = reader
        self._limit = limit
        self.read = 0
        self.left = 0
        self.cut = False

    def pieces(self) -> Iterator[str]:
        """The text, cut anywhere."""
        from codecs import getincrementaldecoder

        decoder = getincrementaldecoder("utf-8")("strict")
        ended = False
        while not ended:
            size = BLOCK if self._limit is None else min(BLOCK, self._limit - self.read)
            data = self._reader.read(size) if size else b""
            self.read += len(data)
            if self._limit is not None and self.read >= self._limit and self._reader.read(1):
                ended = self.cut = True
            elif not data:
                ended = True
            try:
                yield decoder.decode(data, ended and not self.cut)
            except UnicodeDecodeError:
                raise Unreadable("not valid UTF-8") from None

    def blocks(self) -> Iterator[str]:
        """Whole lines, as many as a block holds."""
        kept = ""
        for piece in self.pieces():
            kept += piece
            end = kept.rfind("\n") + 1
            if not end and len(kept) > _BIGGEST_LINE:  # old Macintosh line ends; a CR at the end may be half of CRLF
                end = kept.rfind("\r", 0, len(kept) - 1) + 1
                if not end:
                    raise Unreadable("a line of more than 8 million characters")
            if end:
                yield kept[:end]
                kept = kept[end:]
        if self.cut:
            self.left = len(kept.encode())
        elif kept:
            yield kept

    def __iter__(self) -> Iterator[str]:
        from io import StringIO

        for block in self.blocks():
            yield from StringIO(block, newline="")


def text_rows(lines: TextLines) -> int:
    """Lines, blank ones too: each is a record to the text loader."""
    rows = 0
    last = "\n"
    for piece in lines.pieces():
        if not piece:
            continue
        rows += piece.count("\n")
        if "\r" in piece or last == "\r":
            # a CRLF ends one line, also where it is cut
            rows += piece.count("\r") - piece.count("\r\n") - (last == "\r" and piece[0] == "\n")
        last = piece[-1]
    return rows + (last not in "\r\n" and not lines.cut)


def text_items(lines: TextLines) -> Iterator[Item]:
    """Line, column, record, length and no problem of each line."""
    for number, line in enumerate(lines, 1):
        row = line.rstrip("\r\n") if line.endswith(("\r\n", "\n", "\r")) else line
        yield (number, 1, {"text": row}, len(row), None)


def csv_rows(lines: TextLines, separator: str) -> Iterator[tuple[int, list[str]]]:
    """The header (first) and the rows with the number of their first line. Raises Unreadable where pandas gives up:
    a row with more cells than the first one, a quote that is not closed, a file without header."""
    import csv

    raw = ""
    number = 0

    def numbered() -> Iterator[str]:
        nonlocal raw, number
        for raw in lines:
            if not number and raw.startswith("\ufeff"):
                raw = raw[1:]
            number += 1
            if "\0" in raw and sys.version_info < (3, 11):
                raw = raw.replace("\0", "\ufffd")
            yield raw
        # a line of our own at the end: it becomes a part of the last row where a quote is open
        number += 1
        if raw and not raw.endswith(("\n", "\r")):
            yield "\n"
        raw = _END
        yield _END + "\n"

    width = rows = 0
    closed = False
    begin = 1
    limit = csv.field_size_limit()
    csv.field_size_limit(max(limit, _BIGGEST_LINE))
    try:
        for row in csv.reader(numbered(), delimiter=separator):
            first, begin = begin, number + 1
            if not row or (separator not in raw and not raw.strip(" \t\r\n")):
                continue  # pandas leaves lines of blanks out; a quoted blank is a cell
            if len(row) == 1 and row[0] == _END:
                closed = True
                break
            rows += 1
            if rows <= 2:
                width = max(width, len(row))
            elif len(row) > width:
                raise Unreadable(f"line {first} has {len(row)} cells, not {width}")
            yield (first, row)
    except csv.Error as error:
        raise Unreadable(str(error)) from None
    finally:
        csv.field_size_limit(limit)
    if not closed and not lines.cut:
        raise Unreadable("a quote is not closed")
    if not rows:
        raise Unreadable("no header")


def csv_items(lines: TextLines, separator: str) -> Iterator[Item]:
    """Line, column, record (texts by column name), length and no problem of each row below the header."""
    header: list[str] | None = None
    for number, row in csv_rows(lines, separator):
        if header is None:
            header = row
            continue
        length = sum(map(len, row)) + len(row) - 1
        yield (number, 1, dict(zip(header, row, strict=False)), length, None)
