"""Reads the values of a JSON or JSON Lines file one after the other, in constant memory, with their places.

What counts as a row is what `datasets` 5.2.0 yields (packaged_modules/json/json.py; tests/records/datasets_rows.json
holds what it said): a file that begins with "[" is one array of rows; any other is a row of values with white space
between them, nearly always one on a line, though `{"a": 1}{"a": 2}` is two rows and a small file may spread one value
over many lines.
"""

from __future__ import annotations

import re
from json.decoder import JSONDecodeError, JSONDecoder
from json.scanner import make_scanner
from sys import maxsize

from epochlint.records.opening import BIGGEST_RECORD, BLOCK, Unreadable
from epochlint.records.problem import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Generator
    from typing import Any

    from epochlint.records.opening import Reader

    Item = tuple[int, int, Any, int, "Problem | None"]
    """Line, column, value, length in characters, and what is wrong with it (its value is then None, mostly)."""

SPREAD_LIMIT = 10 * (1 << 20) // 32
"""Bytes of a file up to which a value may take several lines. It is the block of the loader's parser (its 10 MB
chunks over 32): where a longer file is cut decides what becomes of it there, so its rows are unknown here."""

_OVERRUNS = 64
"""Broken lines whose error lies on a later line, after which lines are cut out before they are parsed: a hostile
file could otherwise have each line read to the end."""

_MOST_BROKEN = 10_000
"""Lines that are no records after which a file that has no more others is given up."""
_MOST_ON_LINE = 100_000
"""Values on one line after which a file is given up."""
_MOST_OTHERS = 100_000
"""Elements of an array that are neither objects nor texts after which it is given up."""
_DEEPEST = 200
"""Floors of a value that are looked through."""
_SCALARS = frozenset((str, int, float, bool))


class _TwiceError(ValueError):
    """A key stands twice in an object."""

    def __init__(self, key: str) -> None:
        super().__init__(key)
        self.key = key


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _TwiceError(next(key for at, (key, _) in enumerate(pairs) if any(key == one for one, _ in pairs[:at])))
    return found


_scan = make_scanner(JSONDecoder())  # type: ignore[arg-type]  # typeshed takes it for a class of its own
_scan_once = make_scanner(JSONDecoder(object_pairs_hook=_once))  # type: ignore[arg-type] # as above
"""Finds keys that stand twice, at a third of the speed."""
_SPACE = re.compile(r"[ \t\r\n]*").match
_COMMA = re.compile(r"[ \t\r\n]*,[ \t\r\n]*").match
_SPACE_ON_LINE = re.compile(r"[ \t\r]*").match
_ESCAPED_BYTE = re.compile("[\udc80-\udcff]").search
_HALF_PAIR = re.compile(
    r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F])"
).search
"""Perhaps the escape of one half of a surrogate pair: the backslash may be escaped itself."""
_SURROGATE = re.compile(r"\\[uU][dD]").search
"""Perhaps an escape of any half: a single letter in front is looked for several times as quickly as two are."""
_LONE = re.compile("[\ud800-\udfff]").search


class JsonText:
    """The decoded text of a file, block by block.

    `text` is what is held now, `position` how far it is used up, `line` the line number there and `line_start` the
    index of that line's first character (negative where it is no longer held). `read` counts bytes.
    `ended`: nothing comes after `text`; `cut`: because `limit` bytes were read and there is more.
    `invalid`: some bytes were not UTF-8; they stand in the text as lone surrogates.
    """

    __slots__ = (
        "_decoder",
        "_limit",
        "_reader",
        "cut",
        "ended",
        "invalid",
        "line",
        "line_start",
        "position",
        "read",
        "spread",
        "text",
    )

    def __init__(self, reader: Reader, limit: int | None = None) -> None:
        from codecs import getincrementaldecoder

        self._reader = reader
        self._limit = limit
        self._decoder = getincrementaldecoder("utf-8")("strict")
        self.text = ""
        self.position = self.line_start = self.read = 0
        self.line = 1
        self.ended = self.cut = self.invalid = self.spread = False
        self.fill()
        self.text = self.text.removeprefix("\ufeff")

    def fill(self) -> None:
        """Drops what is used up and reads on, twice as much each time nothing could be used. Raises Unreadable."""
        kept = self.text[self.position :]
        if len(kept) > BIGGEST_RECORD:
            raise Unreadable(f"a record of more than {BIGGEST_RECORD >> 20} million characters")
        self.line_start -= self.position
        self.position = 0
        wanted = max(BLOCK, len(kept))
        parts = [kept]
        while wanted > 0 and not self.ended:
            size = wanted if self._limit is None else min(wanted, self._limit - self.read)
            data = self._reader.read(size) if size else b""
            if not self.read and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
                raise Unreadable("UTF-16")
            self.read += len(data)
            wanted -= len(data)
            if self._limit is not None and self.read >= self._limit and self._reader.read(1):
                self.ended = self.cut = True
            elif not data:
                self.ended = True
            parts.append(self._decode(data, final=self.ended and not self.cut))
        self.text = "".join(parts)

    def left(self) -> int:
        """Bytes that were read and not used."""
        return len(self.text[self.position :].encode("utf-8", "surrogateescape")) + len(self._decoder.getstate()[0])

    def _decode(self, data: bytes, *, final: bool) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError:
            from codecs import getincrementaldecoder

            self.invalid = True
            pending = self._decoder.getstate()[0]
            self._decoder = getincrementaldecoder("utf-8")("surrogateescape")
            return self._decoder.decode(pending + data, final)

    def advance(self, position: int) -> None:
        """Moves on, counting the lines in between."""
        lines = self.text.count("\n", self.position, position)
        if lines:
            self.line += lines
            self.line_start = self.text.rfind("\n", self.position, position) + 1
        self.position = position

    def column(self) -> int:
        """1-based column of the position."""
        return self.position - self.line_start + 1

    def skip_space(self) -> bool:
        """Moves to the next character that is no white space; False at the end."""
        while True:
            match = _SPACE(self.text, self.position)
            self.advance(match.end() if match else self.position)
            if self.position < len(self.text):
                return True
            if self.ended:
                return False
            self.fill()

    def not_utf8(self, position: int, end: int) -> Problem | None:
        """The problem of a record between two indexes that holds bytes which are not UTF-8."""
        found = _ESCAPED_BYTE(self.text, position, end)
        if found is None:
            return None
        lines = self.text.count("\n", self.position, found.start())
        start = self.text.rfind("\n", self.position, found.start()) + 1 if lines else self.line_start
        return Problem(self.line + lines, found.start() - start + 1, "not valid UTF-8")


def items(text: JsonText, field: str | None = None) -> Generator[Item]:
    """The rows of a JSON or JSON Lines file. Raises Unreadable where it breaks off or cannot be a table
    (after an item with the problem where there is a place for it)."""
    if field is not None:
        yield from _field(text, field)
    elif text.skip_space() and text.text[text.position] == "[" and not _lists_on_lines(text):
        yield from _array(text, then_end=True)
    else:
        yield from lines(text)


def is_array(text: JsonText) -> bool:
    """Whether the file is one array of rows (nothing is used up but leading white space)."""
    return text.skip_space() and text.text[text.position] == "[" and not _lists_on_lines(text)


def lines(text: JsonText, most: int = maxsize) -> Generator[Item]:
    """Values with white space between them, as a rule one on a line. A line that is no JSON is one broken row.

    most: lines after which it stops, at the end of one; asked again, it goes on there. Keys that stand twice are looked
    for in small files only: who writes records by hand writes few.
    """
    overruns = broken = 0
    last = text.line + most - 1
    small = text.ended and not text.cut and text.read <= SPREAD_LIMIT
    scan = _scan_once if small else _scan
    while True:
        held, position, line = text.text, text.position, text.line
        whole = len(held)
        half = _half_pair(held, position)
        if text.cut or not text.ended:  # the last line is not all there
            whole = held.rfind("\n") + 1 or held.rfind("\r") + 1
        try:
            while position < whole and line <= last:
                end = held.find("\n", position, whole)
                if end < 0:
                    end = whole
                if overruns < _OVERRUNS:
                    try:
                        value, stop = scan(held, position)
                    except (StopIteration, ValueError, RecursionError) as error:
                        stop = -1
                        overruns += not isinstance(error, StopIteration) and getattr(error, "pos", end + 1) > end
                    if (
                        stop <= half
                        and (stop == end or (0 <= stop < end and not held[stop:end].strip(" \t\r")))
                        and type(value) is dict
                        and not (text.invalid and _ESCAPED_BYTE(held, position, stop))
                    ):
                        yield (line, 1, value, stop - position, None)
                        line += 1
                        position = end + 1
                        continue
                text.position, text.line, text.line_start = position, line, position
                found = _odd_line(text, end, whole, spread=small and overruns < _OVERRUNS)
                position, line = text.position, text.line
                if position > half:
                    half = _half_pair(held, position)
                yield from found
                if found and (found[0][2] is BROKEN_PART or type(found[0][2]) in _SCALARS):
                    broken += 1
                    if broken > _MOST_BROKEN and broken * 2 > line:
                        raise Unreadable("no JSON Lines")
        finally:  # also where nobody asks for more
            text.position, text.line, text.line_start = min(position, len(held)), line, min(position, len(held))
        if text.ended or line > last:
            return
        text.fill()


def _odd_line(text: JsonText, end: int, whole: int, *, spread: bool) -> list[Item]:
    """A line that is not simply one value: blank, indented, several values, broken, or (with `spread`) the first of
    a longer value. Moves on behind it."""
    held = text.text
    found: list[Item] = []
    first = start = _behind_space(held, text.position, end)
    if start >= end:  # blank, and so perhaps are the next ones
        match = _SPACE(held, start, whole)
        behind = match.end() if match else end
        text.advance(behind if behind >= whole else max(end, held.rfind("\n", start, behind)) + 1)
        return found
    text.position = start
    piece, base = (held, 0) if spread else (held[start:end], start)  # no value may reach over the line
    while start < end:
        try:
            value, stop = _value(piece, start - base)
            stop += base
        except _BrokenValueError as error:
            error.position += base
            found = [_broken_line(text, error, first, end)]
            break
        problem = text.not_utf8(start, stop) if text.invalid else None
        problem = problem or _refused(text, value, start, stop)
        if type(value) in _SCALARS:
            problem = problem or Problem(text.line, text.column(), "the record is no object")
        if len(found) > _MOST_ON_LINE:
            raise Unreadable("too many values on a line")
        found.append((text.line, text.column(), value, stop - start, problem))
        text.advance(stop)
        if stop > end:
            text.spread = True
            end = held.find("\n", stop, whole)
            end = whole if end < 0 else end
        start = _behind_space(held, stop, end)
        text.advance(start)
    text.advance(min(end + 1, whole))
    return found


def _half_pair(held: str, position: int, end: int = maxsize) -> int:
    """Where the first escape of perhaps half a surrogate pair stands; the end where there is none."""
    perhaps = _SURROGATE(held, position, end)
    found = _HALF_PAIR(held, perhaps.start(), end) if perhaps is not None else None
    return found.start() if found is not None else len(held)


def _refused(text: JsonText, value: Any, start: int, stop: int) -> Problem | None:
    """What Python's own reader takes and Arrow's, which `datasets` uses, does not (pyarrow 17.0 to 26.0)."""
    held = text.text
    if _half_pair(held, start, stop) < stop and _is_torn(value):
        return Problem(text.line, text.column(), "an escape of half a character (a surrogate without its pair)", True)
    if text.ended and text.read <= SPREAD_LIMIT:
        try:
            _scan_once(held, start)
        except _TwiceError as error:
            return Problem(text.line, text.column(), f"the key {error.key} stands there twice", True)
        except (StopIteration, ValueError, RecursionError):
            pass
    return None


def _is_torn(value: Any, depth: int = 0) -> bool:
    """Whether a text of the value, or a key, holds half a surrogate pair."""
    if type(value) is str:
        return _LONE(value) is not None
    if depth > _DEEPEST:
        return False
    if type(value) is dict:
        return any(_is_torn(part, depth + 1) for pair in value.items() for part in pair)
    return type(value) is list and any(_is_torn(part, depth + 1) for part in value)


def _behind_space(held: str, start: int, end: int) -> int:
    match = _SPACE_ON_LINE(held, start, end)
    return match.end() if match else start


def _broken_line(text: JsonText, error: _BrokenValueError, first: int, end: int) -> Item:
    """The one broken row that a line is. `first` is the index of its first character that is no space."""
    held = text.text
    reason = error.reason
    if error.position >= end and not reason.startswith(("a line break", "nested")):
        reason = "the record breaks off"
    start = held.rfind("\n", 0, first) + 1
    problem = Problem(text.line, min(error.position, end) - text.line_start + 1, reason)
    # its first and last character tell a broken record from one line of a broken document
    looks_whole = held[first] in "{[" and held[first:end].rstrip()[-1:] in ("}", "]")
    return (text.line, first - start + 1, BROKEN if looks_whole else BROKEN_PART, end - first, problem)


class _Broken:
    """The value of a line that could not be parsed."""

    __slots__ = ()


BROKEN = _Broken()
"""Value of a line that is a record by its braces, but no JSON."""
BROKEN_PART = _Broken()
"""Value of a line that is no JSON and looks like no record either."""


class _BrokenValueError(Exception):
    """A value that cannot be parsed: where and why."""

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position
        self.reason = reason


def _value(held: str, start: int) -> tuple[Any, int]:
    """The value at an index and the index behind it."""
    try:
        value, stop = _scan(held, start)
    except StopIteration as error:
        raise _BrokenValueError(error.value, "expecting a value") from None
    except JSONDecodeError as error:
        raise _BrokenValueError(error.pos, _reason(error, held)) from None
    except RecursionError:
        raise _BrokenValueError(start, "nested too deeply") from None
    except ValueError:
        return _with_long_numbers(held, start)
    return value, stop


def _with_long_numbers(held: str, start: int) -> tuple[Any, int]:
    """Again, with whole numbers as text: Python refuses to convert one of more than 4,300 digits."""
    try:
        value, stop = make_scanner(JSONDecoder(parse_int=str))(held, start)  # type: ignore[arg-type]
    except (StopIteration, ValueError, RecursionError):
        raise _BrokenValueError(start, "not valid JSON") from None
    return value, stop


def _reason(error: JSONDecodeError, held: str) -> str:
    message = error.msg
    if message.startswith("Invalid control character"):
        return "a line break inside a text" if held[error.pos : error.pos + 1] in "\r\n" else "a control character"
    if message.startswith("Unterminated string"):
        return "a text without its closing quote"
    if message.startswith("Expecting property name"):
        return "expecting a key in double quotes"
    return message[:1].lower() + message[1:].removesuffix(" at")


def _lists_on_lines(text: JsonText) -> bool:
    """Whether "[" opens a line of its own with another after it (one list of messages a line), not the one array."""
    held, start = text.text, text.position
    end = held.find("\n", start)
    if end < 0:
        return False
    try:
        value, stop = _value(held[:end], start)
    except _BrokenValueError:
        return False
    match = _SPACE(held, stop)
    return type(value) is list and held[match.end() if match else stop :][:1] == "["


def _array(text: JsonText, *, then_end: bool) -> Generator[Item]:
    """The elements of the array that begins at the position."""
    text.advance(text.position + 1)
    wants_value = False
    others = 0
    while True:
        if not text.skip_space():
            if text.cut:
                return
            yield from _broken(text, text.position, "the array does not end")
        if text.text[text.position] == "]":
            if wants_value:
                yield from _broken(text, text.position, "a comma before the closing bracket")
            text.advance(text.position + 1)
            if then_end and text.skip_space() and not text.cut:
                yield from _broken(text, text.position, "text after the array")
            return
        yield from _plain_elements(text)
        start = text.position
        try:
            value, stop = _value(text.text, start)
        except _BrokenValueError as error:
            # a text that is cut by the block looks unterminated; any other cut value fails at its very end
            if not text.ended and (error.reason.startswith("a text without") or error.position > len(text.text) - 16):
                text.fill()
                continue
            if text.cut:
                return
            yield from _broken(text, error.position, error.reason)
        if stop == len(text.text) and not text.ended:
            text.fill()
            continue
        problem = text.not_utf8(start, stop) if text.invalid else None
        yield (text.line, text.column(), value, stop - start, problem)
        if type(value) is not dict and type(value) is not str:
            others += 1
            if others > _MOST_OTHERS:
                raise Unreadable("an array of other things than records")
        text.advance(stop)
        if not text.skip_space():
            continue  # the next round says what is missing
        wants_value = text.text[text.position] == ","
        if wants_value:
            text.advance(text.position + 1)
        elif text.text[text.position] != "]":
            yield from _broken(text, text.position, "expecting a comma or the closing bracket")


def _plain_elements(text: JsonText) -> Generator[Item]:
    """The elements from the position on, as long as they are simply values with commas between them and all there.

    Stops before the first that is not, with the position at it.
    """
    held, position, line, line_start = text.text, text.position, text.line, text.line_start
    try:
        while not text.invalid:
            try:
                value, stop = _scan(held, position)
            except (StopIteration, ValueError, RecursionError):
                break
            match = _COMMA(held, stop) if type(value) is dict or type(value) is str else None
            if match is None or match.end() == len(held) or held[match.end()] == "]":
                break
            yield (line, position - line_start + 1, value, stop - position, None)
            behind = match.end()
            lines = held.count("\n", position, behind)
            if lines:
                line += lines
                line_start = held.rfind("\n", position, behind) + 1
            position = behind
    finally:  # also where nobody asks for more
        text.position, text.line, text.line_start = position, line, line_start


def _broken(text: JsonText, position: int, reason: str) -> Generator[Item]:
    """The last item of a document that is no JSON."""
    text.advance(min(position, len(text.text)))
    problem = Problem(text.line, text.column(), reason)
    yield (problem.line, problem.column, BROKEN_PART, 0, problem)
    raise Unreadable(f"line {problem.line}: {reason}", broken=True)


def _field(text: JsonText, field: str) -> Generator[Item]:
    """The rows under one key of an object: a list of rows, or an object of columns."""
    while not text.ended:
        text.fill()  # the loader reads such a file whole, too; fill() refuses what is too long
    if text.cut or not text.skip_space() or text.text[text.position] != "{":
        raise Unreadable("no object")
    try:
        while text.text[text.position] != "}":
            text.advance(text.position + 1)
            text.skip_space()
            key, stop = _value(text.text, text.position)
            text.advance(stop)
            text.skip_space()
            text.advance(text.position + 1)  # the colon
            text.skip_space()
            if key == field:
                if text.text[text.position] == "[":
                    yield from _array(text, then_end=False)
                else:
                    yield from _columns(text)
                return
            text.advance(_value(text.text, text.position)[1])
            text.skip_space()
    except (_BrokenValueError, ValueError, IndexError, RecursionError):
        raise Unreadable("not valid JSON") from None
    raise Unreadable("no such key")


def _columns(text: JsonText) -> Generator[Item]:
    columns, _ = _value(text.text, text.position)
    if type(columns) is not dict or not columns or any(type(column) is not list for column in columns.values()):
        raise Unreadable("no table")
    if len({len(column) for column in columns.values()}) > 1:
        raise Unreadable("columns of different lengths")
    for cells in zip(*columns.values(), strict=True):
        yield (text.line, text.column(), dict(zip(columns, cells, strict=True)), 0, None)
