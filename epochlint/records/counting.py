"""Counts the training records of a file or folder, and the messages in them."""

from __future__ import annotations

import os
import re
from io import BytesIO
from itertools import islice

from epochlint.records import json_stream
from epochlint.records.opening import BLOCK, PACKED_ENDINGS, DataFile, Part, Unreadable
from epochlint.records.parts import PARTS_FROM, in_parts, processes
from epochlint.records.problem import Problem
from epochlint.records.shapes import tally

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from typing import Any

    from epochlint.records.json_stream import Item
    from epochlint.records.looks import Look

MAX_BYTES = 256 * 1024 * 1024
MOST_ROWS = 5_000_000
"""Records of a file that are looked at one by one; more are estimated, so that tiny records take no minutes."""
MOST_PROBLEMS = 100
_CHUNK = 256 * 1024
"""Bytes read at once where lines are only counted: they stay in the processor's cache."""
_STEP = 4 << 20
"""Bytes of an unpacked file after which a place is noted where a part could begin."""
_LOOKED_AT = 4096
_LONG_LINE = 256
"""Bytes of a chunk by which its lines are judged, and their length from which on they are long."""
_SPACE = b" \t\r"
_BLANK_START = re.compile(rb"[ \t\r]*\n").match
_INDENTED = re.compile(rb"\n[ \t\r\n]").search
_BLANK_LINES = re.compile(rb"\n[ \t\r\n]*\n").sub

_SAMPLE = 256 * 1024
"""Bytes that are parsed to see the shape of the rows, where only rows are to be counted."""
_WINDOWS = 64
"""Places of a file that is too long to be read whole where a part of it is read, of at least _WINDOW bytes."""
_WINDOW = 64 * 1024

FORMATS = {
    ".jsonl": "json",
    ".ndjson": "json",
    ".json": "json",
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "text",
    ".parquet": "parquet",
    ".arrow": "arrow",
}
"""File ending -> how it is read."""


class Count:
    """What is in a data file or in the training files of a folder.

    path: as given. format: "jsonl", "json" (one document), "csv", "tsv", "text", "parquet", "arrow", "folder".
    rows: records as the loaders of `datasets` 5.2.0 yield them; a broken line of a JSON Lines file counts as one.
    shape: of most rows, see shapes.py. messages: elements of the records' message lists, system messages included.
    assistant_turns: those of the assistant (of the preferred answer in a pair).
    Both are None where the shape has no messages or they were not looked at.
    conversations_multi: rows with more than one assistant turn.
    estimated: only a part was read; rows, messages, assistant_turns and conversations_multi are extrapolated.
    digest_duplicates: rows that repeat an earlier one exactly; only with detail, and None beyond a million rows.
    problems: the first 100 lines that are no JSON objects or not UTF-8.
    """

    __slots__ = (
        "assistant_turns",
        "conversations_multi",
        "digest_duplicates",
        "estimated",
        "format",
        "messages",
        "path",
        "problems",
        "rows",
        "shape",
    )

    def __init__(
        self,
        path: str,
        format: str,  # noqa: A002 - the word of the interface
        rows: int,
        shape: str = "unknown",
        messages: int | None = None,
        assistant_turns: int | None = None,
        conversations_multi: int = 0,
        estimated: bool = False,
        digest_duplicates: int | None = None,
        problems: tuple[Problem, ...] = (),
    ) -> None:
        self.path = path
        self.format = format
        self.rows = rows
        self.shape = shape
        self.messages = messages
        self.assistant_turns = assistant_turns
        self.conversations_multi = conversations_multi
        self.estimated = estimated
        self.digest_duplicates = digest_duplicates
        self.problems = problems

    def __repr__(self) -> str:
        return f"Count({self.path!r}, {self.format}, {self.rows} rows, {self.shape})"


_cache: dict[tuple[object, ...], Count | None] = {}
_CACHED = 512


def count(
    path: str,
    *,
    max_bytes: int = MAX_BYTES,
    detail: bool = False,
    turns: bool = True,
    field: str | None = None,
) -> Count | None:
    """Counts a data file, the training files of a folder, or the files of a glob pattern.

    None = cannot be known: missing, unreadable, of an unknown format, or such that the loader would refuse it whole.
    max_bytes: bytes read at most (unpacked); a longer file is estimated from a part. detail: look for exact
    duplicates, too. turns=False: only count rows, several times quicker; messages and assistant_turns stay None.
    field: the key of the records where the file is one JSON object (`load_dataset(..., field=)`).
    Raises nothing. Answers are kept per file (path, size, time of change, inode) for the life of the process.
    """
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return _count_files(path, max_bytes, detail, turns) if _has_pattern(path) else None
    if os.path.isdir(path):
        return _count_files(path, max_bytes, detail, turns)
    key = (os.path.abspath(path), state.st_size, state.st_mtime_ns, state.st_ino, max_bytes, detail, turns, field)
    if key not in _cache:
        if len(_cache) >= _CACHED:
            _cache.clear()
        _cache[key] = read_through(path, max_bytes=max_bytes, detail=detail, turns=turns, field=field)
    found = _cache[key]
    if found is not None and found.path != path:
        found = _renamed(found, path)
    return found


def read_through(
    path: str,
    looks: Sequence[Look] = (),
    *,
    max_bytes: int = MAX_BYTES,
    detail: bool = False,
    turns: bool = True,
    field: str | None = None,
    why: list[tuple[str, bool]] | None = None,
) -> Count | None:
    """Counts one file anew, as `count` does, and shows each of its records to the looks on the way.

    Where the answer is None or estimated, the looks have seen some of the records, or none. `why` takes the reason of
    a None, and whether no reader of the format can read the file. Raises nothing.
    """
    try:
        return _count_file(path, looks, max_bytes, detail, turns, field)
    except Unreadable as error:
        if why is not None:
            why.append((str(error), error.broken))
    except (OSError, MemoryError):
        pass
    return None


def combine(path: str, counts: Iterable[Count | None], format: str = "folder") -> Count | None:  # noqa: A002
    """The sum of several files' counts; None where one of them is unknown or there is none.

    Duplicates are those within each file, problems those of the first files.
    """
    total: Count | None = None
    rows_by_shape: dict[str, int] = {}
    messages: list[int] = []
    turns: list[int] = []
    duplicates: list[int | None] = []
    for part in counts:
        if part is None:
            return None
        if total is None:
            total = Count(path, format, 0)
        total.rows += part.rows
        total.conversations_multi += part.conversations_multi
        total.estimated = total.estimated or part.estimated
        total.problems = (total.problems + part.problems)[:MOST_PROBLEMS]
        rows_by_shape[part.shape] = rows_by_shape.get(part.shape, 0) + part.rows
        duplicates.append(part.digest_duplicates)
        if part.messages is not None:
            messages.append(part.messages)
        if part.assistant_turns is not None:
            turns.append(part.assistant_turns)
    if total is not None:
        total.shape = max(rows_by_shape, key=lambda shape: rows_by_shape[shape])
        # a sum over some of the files would be neither the one nor the other
        total.messages = sum(messages) if len(messages) == len(duplicates) else None
        total.assistant_turns = sum(turns) if len(turns) == len(duplicates) else None
        known = [number for number in duplicates if number is not None]
        total.digest_duplicates = sum(known) if len(known) == len(duplicates) else None
    return total


def format_of(path: str) -> str | None:
    """How a file is read, by its ending ("json", "csv", "tsv", "text", "parquet", "arrow"); None = not by its name."""
    name = os.path.basename(path).lower()
    for packed in PACKED_ENDINGS:
        name = name.removesuffix(packed)
    return FORMATS.get(os.path.splitext(name)[1])


def sniff(file: DataFile) -> str | None:
    """The format of an open file without a telling name, by its first bytes. Uses nothing up."""
    if file.packed:
        return None
    start = file.read_at(0, min(file.size, 4096))
    file.seek(0)
    if start.startswith(b"PAR1"):
        return "parquet"
    if start.startswith(b"ARROW1"):
        return "arrow"
    text = start.removeprefix(b"\xef\xbb\xbf").lstrip(b" \t\r\n")
    return "json" if text[:1] in (b"{", b"[") else None


def _has_pattern(path: str) -> bool:
    return any(sign in path for sign in "*?[")


def _renamed(found: Count, path: str) -> Count:
    return Count(path, *(getattr(found, name) for name in _AFTER_PATH))


_AFTER_PATH = (
    "format", "rows", "shape", "messages", "assistant_turns", "conversations_multi", "estimated",
    "digest_duplicates", "problems",
)  # fmt: skip


def _count_files(path: str, max_bytes: int, detail: bool, turns: bool) -> Count | None:
    from epochlint.records.folders import training_files

    paths = training_files(path)
    sizes = []
    for name in paths:
        try:
            sizes.append(os.stat(name).st_size)
        except OSError:
            return None
    whole = sum(sizes)
    parts = (
        count(
            name,
            max_bytes=max_bytes if whole <= max_bytes else max(BLOCK, size * max_bytes // whole),
            detail=detail,
            turns=turns,
        )
        for name, size in zip(paths, sizes, strict=True)
    )
    return combine(path, parts)


def _count_file(
    path: str, looks: Sequence[Look], max_bytes: int, detail: bool, turns: bool, field: str | None
) -> Count | None:
    with DataFile(path) as file:
        kind = format_of(path) or sniff(file)
        if kind in ("parquet", "arrow"):
            return None if file.packed else _count_binary(path, file, kind)
        if kind == "json":
            return _count_json(path, file, looks, max_bytes, detail, turns, field)
        if kind in ("csv", "tsv"):
            return _count_csv(path, file, looks, kind, max_bytes, detail)
        if kind == "text":
            return _count_text(path, file, looks, max_bytes, detail)
    return None


def _count_binary(path: str, file: DataFile, kind: str) -> Count:
    try:
        return _count_headers(path, file, kind)
    except Unreadable as error:
        raise Unreadable(str(error), broken=True) from None


def _count_headers(path: str, file: DataFile, kind: str) -> Count:
    if kind == "arrow":
        from epochlint.records.arrow import arrow_rows

        rows, shape = arrow_rows(file)
        return Count(path, kind, rows, shape)
    from epochlint.records.parquet import parquet_rows

    rows, shape, messages = parquet_rows(file)
    return Count(path, kind, rows, shape, messages)


def _count_csv(path: str, file: DataFile, looks: Sequence[Look], kind: str, max_bytes: int, detail: bool) -> Count:
    from epochlint.records.tables import TextLines, csv_rows

    lines = TextLines(file, max_bytes)
    rows = csv_rows(lines, "\t" if kind == "tsv" else ",")
    _, header = next(rows)
    number = 0
    for line, row in rows:
        number += 1
        if looks:
            record = dict(zip(header, row, strict=False))
            for look in looks:
                look.see(line, record)
    found = Count(path, kind, number, tally(dict.fromkeys(header, ""))[0])
    if lines.cut:
        _scale(found, file, lines.read - lines.left)
    elif detail:
        found.digest_duplicates = _duplicates(path)
    return found


def _count_text(path: str, file: DataFile, looks: Sequence[Look], max_bytes: int, detail: bool) -> Count:
    from epochlint.records.tables import TextLines, text_items, text_rows

    lines = TextLines(file, max_bytes)
    found = Count(path, "text", 0, "text")
    if looks:
        for line, _, record, _, _ in text_items(lines):
            found.rows += 1
            for look in looks:
                look.see(line, record)
    else:
        found.rows = text_rows(lines)
    if lines.cut:
        _scale(found, file, lines.read - lines.left)
    elif detail:
        found.digest_duplicates = _duplicates(path)
    return found


def _count_json(
    path: str, file: DataFile, looks: Sequence[Look], max_bytes: int, detail: bool, turns: bool, field: str | None
) -> Count | None:
    text = json_stream.JsonText(file, max_bytes if turns or detail or field is not None else min(max_bytes, _SAMPLE))
    if field is not None or json_stream.is_array(text):
        if text.cut and text.read < max_bytes:  # only the sample was read
            with DataFile(path) as again:
                return _count_json(path, again, looks, max_bytes, detail, True, field)
        sums = _Sums()
        sums.take(json_stream.items(text, field), looks)
        found = sums.count(path, "json")
        if text.cut or sums.stopped:
            _scale(found, file, text.read - text.left())
        elif detail and field is None:
            found.digest_duplicates = _duplicates(path)
        return found
    if turns and not file.packed and file.size > max_bytes:
        return _count_windows(path, file, max_bytes)
    sums = _Sums()
    if turns:
        sums.take(json_stream.lines(text, _FIRST), looks)  # they decide how some loaders read all
        starts, length = _parts(file, looks, max_bytes, text.read - text.left())
        if starts:
            del text  # no need to hold it in each process
            return _count_parts(path, length, starts, looks, sums)
    sums.take(json_stream.lines(text), looks)
    found = sums.count(path, "jsonl")
    if sums.document_lines * 2 > sums.rows:
        return None  # the lines of one broken document, not records
    if not text.cut and not sums.stopped:
        if detail:
            found.digest_duplicates = _duplicates(path)
        return found
    if turns or sums.stopped:
        _scale(found, file, text.read - text.left())
        return found
    with DataFile(path) as again:
        if sums.problems or sums.shared_lines:  # a line is not simply a record here
            return _count_json(path, again, looks, max_bytes, detail, True, field)
        return _count_plain_lines(Count(path, "jsonl", 0, found.shape), again, max_bytes)


def _count_plain_lines(found: Count, file: DataFile, max_bytes: int) -> Count | None:
    """Counts the lines that are not blank, without parsing them."""
    if not file.packed and file.size > max_bytes:
        rows = covered = 0
        for data in _windows(file, max_bytes):
            rows += _nonblank(data)
            covered += len(data)
        found.rows = rows
        return _extrapolate(found, file.size / covered) if rows else None
    read = whole = 0
    pending = False  # the line that the last chunk cut holds more than white space
    while True:
        data = file.read(min(_CHUNK, max_bytes - read))
        if not data:
            break
        first, end = data.find(b"\n"), data.rfind(b"\n") + 1
        if first < 0:
            pending = pending or not data.isspace()
        else:
            found.rows += pending or bool(data[:first].strip(_SPACE))
            found.rows += _nonblank(data[first + 1 : end])
            pending = bool(data[end:].strip(_SPACE))
            whole = read + end
        read += len(data)
    if read >= max_bytes and file.read(1):
        _scale(found, file, whole)
    else:
        found.rows += pending
    return found


def _nonblank(data: bytes) -> int:
    """Lines that hold more than white space; the last may lack its end."""
    if data.count(b"\n", 0, _LOOKED_AT) * _LONG_LINE < _LOOKED_AT:
        # cutting lines out finds their ends quicker than counting looks at each byte (CPython 3.12: 4 to 1 at 2 KB)
        lines = BytesIO(data).readlines()
        blank = sum(map(bytes.isspace, lines))
        return len(lines) - (sum(not line.strip(_SPACE + b"\n") for line in lines) if blank else 0)
    if _INDENTED(data):
        data = _BLANK_LINES(b"\n", data)
    rows = data.count(b"\n")
    if not data.endswith(b"\n"):
        rows += bool(data[data.rfind(b"\n") + 1 :].strip(_SPACE))
    if _BLANK_START(data):
        rows -= 1
    return rows


def _count_windows(path: str, file: DataFile, max_bytes: int) -> Count | None:
    """A JSON Lines file that is too long: counts in several places of it."""
    covered = 0

    def rows() -> Generator[Item]:
        nonlocal covered
        for data in _windows(file, max_bytes):
            covered += len(data)
            yield from json_stream.lines(json_stream.JsonText(BytesIO(data)))

    sums = _Sums()
    sums.take(rows())
    if not sums.rows:
        raise Unreadable(f"not one line ends in the {covered or max_bytes:,} bytes that were read")
    if sums.document_lines * 2 > sums.rows:
        return None
    found = sums.count(path, "jsonl")
    # the line numbers hold within the first place only
    found.problems = ()
    return _extrapolate(found, file.size / covered)


def _windows(file: DataFile, max_bytes: int) -> Iterator[bytes]:
    """Whole lines from places spread evenly over the file, each of at most BLOCK bytes, together about max_bytes."""
    places = max(1, min(_WINDOWS, max_bytes // _WINDOW))
    length = max_bytes // places
    for number in range(places):
        # the middle of each part of the file; a single place is its beginning
        offset = (file.size * (2 * number + 1) // places - length) // 2 if places > 1 else 0
        file.seek(offset)
        left = length
        rest = b""
        begun = not offset
        while left > 0:
            data = file.read(min(BLOCK, left))
            if not data:
                break
            left -= len(data)
            rest += data
            if not begun:
                start = rest.find(b"\n") + 1
                if not start:
                    rest = b""
                    continue
                begun = True
                rest = rest[start:]
            end = rest.rfind(b"\n") + 1
            if end:
                yield rest[:end]
                rest = rest[end:]


def _scale(found: Count, file: DataFile, covered: int) -> None:
    """Extrapolates a count from the first bytes of the file. Raises Unreadable where not one record was seen."""
    if not found.rows or covered <= 0:
        raise Unreadable("no whole record in the part that was read")
    _extrapolate(found, file.size / max(1, file.place()) if file.packed else file.size / covered)


def _extrapolate(found: Count, factor: float) -> Count:
    found.rows = round(found.rows * factor)
    found.conversations_multi = round(found.conversations_multi * factor)
    if found.messages is not None:
        found.messages = round(found.messages * factor)
    if found.assistant_turns is not None:
        found.assistant_turns = round(found.assistant_turns * factor)
    found.estimated = True
    return found


def _duplicates(path: str) -> int | None:
    from epochlint.records.repeats import duplicates

    found = duplicates(path)
    return found.later_copies if found is not None and found.complete else None


_FIRST = 100
"""Lines of a file that are read before it is decided whether several processes read the others."""
_SENT_AFTER = 2_500
"""Rows after which the process of a part hands over what it has seen."""


def _parts(file: DataFile, looks: Sequence[Look], max_bytes: int, first: int) -> tuple[list[int], int]:
    """Where the parts of a JSON Lines file begin that several processes read, and the length of all; empty where one
    should read it. first: where the first of them begins."""
    if not all(look.apart for look in looks) or processes() < 2:
        return [], 0
    if file.packed:
        starts, length = _packed_parts(file, max_bytes) if file.quick else ([], 0)
    else:
        starts, length = _plain_parts(file), file.size
    starts[:1] = [first] if starts else []
    return (starts, length) if sorted(set(starts)) == starts else ([], 0)


def _packed_parts(file: DataFile, max_bytes: int) -> tuple[list[int], int]:
    """Unpacks the file once to see how long it is, and where lines begin in it: each process unpacks it up to the end
    of its part, too, which takes a tenth of the time that the records do."""
    if file.size < PARTS_FROM // 16:
        return [], 0
    begins: list[int] = []  # the first line behind each so many bytes
    length = 0
    with DataFile(file.path) as own:
        while data := own.read(_CHUNK):
            if length >= len(begins) * _STEP:
                found = data.find(b"\n{")
                if found >= 0:
                    begins.append(length + found + 1)
            length += len(data)
            if length > max_bytes:
                return [], 0
    number = min(processes(), length // (PARTS_FROM // 4))
    if length < PARTS_FROM or number < 2:
        return [], 0
    wanted = (length * index // number for index in range(1, number))
    return [0, *(next((begin for begin in begins if begin >= place), 0) for place in wanted)], length


def _plain_parts(file: DataFile) -> list[int]:
    if file.size < PARTS_FROM:
        return []
    number = min(processes(), file.size // (PARTS_FROM // 4))
    starts = [0]
    here = file.place()
    try:
        for index in range(1, number):
            place = file.size * index // number
            data = file.read_at(place, min(BLOCK, file.size - place))
            begin = data.find(b"\n{")
            if begin < 0:
                return []  # long lines, or no records that begin with a brace
            starts.append(place + begin + 1)
    finally:
        file.seek(here)  # its beginning has been read
    return starts if number > 1 else []


def _count_parts(path: str, length: int, starts: list[int], looks: Sequence[Look], sums: _Sums) -> Count | None:
    """`looks` and `sums` have seen what stands before the first part."""
    from epochlint.records import opening

    covered = starts[0]
    ends = [*starts[1:], length]

    def read(index: int, send: Callable[[object], None]) -> None:
        opening.watch = None  # the parent tells how far all parts are
        with DataFile(path) as own:
            before = Part(own, 0, starts[index])
            line = 1
            while data := before.read(_CHUNK):
                line += data.count(b"\n")
            text = json_stream.JsonText(Part(own, starts[index], ends[index]))
            text.line = line
            rows = json_stream.lines(text)
            for look in looks:
                look.part()
                look.state()  # what was seen before is told already
            seen = sent = 0
            while True:
                part = _Sums(seen)
                part.take(islice(rows, _SENT_AFTER), looks)
                seen += part.rows
                used = text.read - text.left() if part.stopped else text.read
                send((used - sent, part.state(), [look.state() for look in looks]))
                sent = used
                if part.stopped or not part.rows:
                    return

    def take(sent: Any) -> None:
        nonlocal covered
        size, state, states = sent
        covered += size
        if opening.watch is not None:
            opening.watch(path, covered, length)
        sums.join(state)
        for look, one in zip(looks, states, strict=True):
            look.join(one)

    if not in_parts(len(starts), read, take):
        raise Unreadable("a part could not be read")
    if sums.document_lines * 2 > sums.rows:
        return None
    found = sums.count(path, "jsonl")
    return _extrapolate(found, length / max(1, covered)) if sums.stopped else found


_NO_OBJECT = "the record is no object"


class _Sums:
    """What the items of a file add up to.

    document_lines: broken lines that do not look like records. shared_lines: some line holds several values, or
    some value several lines. stopped: there are more rows than MOST_ROWS (with those `before`).
    """

    __slots__ = ("_before", "_counted", "_lists", "_messages", "_multi", "_shapes", "_turns", "document_lines",
                 "problems", "rows", "shared_lines", "stopped")  # fmt: skip

    def __init__(self, before: int = 0) -> None:
        self._before = before
        self.rows = self._messages = self._turns = self._multi = self._counted = 0
        self._shapes: dict[str, int] = {}
        self.problems: list[Problem] = []
        self.document_lines = 0
        self.shared_lines = False
        self.stopped = False
        self._lists: Problem | None = None  # the first record that is a list: nothing odd where all are

    def take(self, items: Iterable[Item], looks: Sequence[Look] = ()) -> None:
        """Adds items up, and shows them to the looks."""
        rows = messages = turns = multi = counted = last = 0
        most = MOST_ROWS - self._before
        shapes = self._shapes
        sees = [look.see for look in looks]
        for line, column, value, _, problem in items:
            if rows >= most:
                self.stopped = True
                break
            rows += 1
            if line == last:
                self.shared_lines = True
            last = line
            if problem is not None:
                if len(self.problems) < MOST_PROBLEMS:
                    self.problems.append(problem)
                if value is json_stream.BROKEN_PART:
                    self.document_lines += 1
                if value is json_stream.BROKEN or value is json_stream.BROKEN_PART:
                    for see in sees:
                        see(line, None)
                    continue
            for see in sees:
                see(line, value)
            if type(value) is list and self._lists is None:
                self._lists = Problem(line, column, _NO_OBJECT)
            shape, number, answers = tally(value)
            shapes[shape] = shapes.get(shape, 0) + 1
            if number is not None and answers is not None:
                counted += 1
                messages += number
                turns += answers
                if answers > 1:
                    multi += 1
        self.rows += rows
        self._messages += messages
        self._turns += turns
        self._multi += multi
        self._counted += counted

    def state(self) -> tuple[Any, ...]:
        """The sums as plain values."""
        numbers = (self.rows, self._messages, self._turns, self._multi, self._counted, self.document_lines)
        problems = [(problem.line, problem.column, problem.reason, problem.arrow) for problem in self.problems]
        lists = self._lists
        first = (lists.line, lists.column) if lists is not None else None
        return numbers, self._shapes, problems, self.shared_lines, self.stopped, first

    def join(self, state: tuple[Any, ...]) -> None:
        """Adds those of another part of the file."""
        numbers, shapes, problems, shared, stopped, first = state
        if first is not None and (self._lists is None or first[0] < self._lists.line):
            self._lists = Problem(first[0], first[1], _NO_OBJECT)
        self.rows += numbers[0]
        self._messages += numbers[1]
        self._turns += numbers[2]
        self._multi += numbers[3]
        self._counted += numbers[4]
        self.document_lines += numbers[5]
        for shape, rows in shapes.items():
            self._shapes[shape] = self._shapes.get(shape, 0) + rows
        self.problems += [Problem(*problem) for problem in problems]
        self.problems = sorted(self.problems, key=lambda problem: problem.line)[:MOST_PROBLEMS]
        self.shared_lines = self.shared_lines or shared
        self.stopped = self.stopped or stopped

    def count(self, path: str, format: str) -> Count:  # noqa: A002
        """The count; without messages where most rows have none."""
        shape = max(self._shapes, key=lambda name: (self._shapes[name], name)) if self._shapes else "unknown"
        alike = self._shapes.get("provider-databricks", 0) + self._shapes.get("unknown", 0)
        if self._lists is not None and alike < self.rows:
            self.problems.append(self._lists)
        known = self._counted * 2 > self.rows and not (shape == "alpaca" and not self._multi)
        return Count(
            path,
            format,
            self.rows,
            shape,
            self._messages if known else None,
            self._turns if known else None,
            self._multi,
            problems=tuple(self.problems),
        )
