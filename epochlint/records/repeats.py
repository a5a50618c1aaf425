"""Records that occur twice: within a file, in training and validation data, or with another answer."""

from __future__ import annotations

import json

from epochlint.records.rows import Rows
from epochlint.records.shapes import assistant_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

MOST_ROWS = 1_000_000
"""Records whose digests are held (about 150 bytes each); the rest is not looked at."""

FIRST = 5
"""Groups of repeated records that are shown, and lines of each."""

_SIGNED_DEPTH = 6

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
_NAMES = frozenset(("id", "_id", "uuid", "idx", "index"))


class Duplicates:
    """Exact duplicates of a file.

    rows: records looked at. unique: different ones. later_copies: rows - unique. groups: line numbers of the first
    few repeated records, a few lines each. complete: every record was looked at.
    """

    __slots__ = ("complete", "groups", "later_copies", "rows", "unique")

    def __init__(self, rows: int, unique: int, groups: tuple[tuple[int, ...], ...], complete: bool) -> None:
        self.rows = rows
        self.unique = unique
        self.later_copies = rows - unique
        self.groups = groups
        self.complete = complete


class Leak:
    """One validation record that is also a training record: both paths and line numbers."""

    __slots__ = ("train_line", "train_path", "validation_line", "validation_path")

    def __init__(self, validation_path: str, validation_line: int, train_path: str, train_line: int) -> None:
        self.validation_path = validation_path
        self.validation_line = validation_line
        self.train_path = train_path
        self.train_line = train_line

    def __repr__(self) -> str:
        return f"Leak({self.validation_path}:{self.validation_line} = {self.train_path}:{self.train_line})"


class Leaks:
    """How many of the validation records are training records, too, and where the first few of them stand.

    validation_rows: records looked at. complete: every record of both sides was looked at.
    """

    __slots__ = ("complete", "first", "leaked", "validation_rows")

    def __init__(self, leaked: int, validation_rows: int, first: tuple[Leak, ...], complete: bool) -> None:
        self.leaked = leaked
        self.validation_rows = validation_rows
        self.first = first
        self.complete = complete


class Disagreements:
    """Prompts that are answered in different ways. rows: those with such a prompt. groups: as in Duplicates."""

    __slots__ = ("complete", "groups", "prompts", "rows")

    def __init__(self, prompts: int, rows: int, groups: tuple[tuple[int, ...], ...], complete: bool) -> None:
        self.prompts = prompts
        self.rows = rows
        self.groups = groups
        self.complete = complete


def digest(value: object) -> bytes | None:
    """16 bytes that are the same for the same record, whatever the order of its keys and its spacing; None where
    there is no telling (nested too deeply)."""
    from hashlib import blake2b

    try:
        text = _encode(value)
    except (RecursionError, ValueError, TypeError):
        return None
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _signature(value: object, depth: int = 0) -> int:
    """A quick number that is the same for the same record, and nearly always another for another: only records that
    share it need digests."""
    if type(value) is str:
        return hash(value)
    if depth > _SIGNED_DEPTH:
        return 0
    if type(value) is dict:
        number = len(value)
        for part in value.values():
            number ^= _signature(part, depth + 1)
        return number
    if type(value) is list and value:
        return len(value) ^ _signature(value[0], depth + 1) ^ _signature(value[-1], depth + 1) * 3
    return 0


def duplicates(path: str) -> Duplicates | None:
    """Exact duplicates of a JSON Lines, JSON, CSV or text file; None where it has no records that can be read."""
    signatures: set[int] = set()
    repeated: set[int] = set()
    rows = 0
    reading = Rows(path)
    for row in reading:
        if row.value is None:
            continue
        rows += 1
        number = _signature(row.value)
        if rows > 3 * MOST_ROWS or len(signatures) > MOST_ROWS:
            return Duplicates(rows, rows, (), False)
        if number in signatures:
            repeated.add(number)
        signatures.add(number)
    if not rows:
        return None
    seen: dict[bytes, int] = {}
    groups: dict[bytes, list[int]] = {}
    copies = 0
    for row in reading if repeated else ():
        key = digest(row.value) if row.value is not None and _signature(row.value) in repeated else None
        if key is None:
            continue
        if key not in seen:
            seen[key] = row.line
            continue
        copies += 1
        _note(groups, key, seen[key], row.line)
    return Duplicates(rows, rows - copies, tuple(map(tuple, groups.values())), reading.complete)


def leaks(train_paths: Iterable[str], validation_paths: Iterable[str]) -> Leaks | None:
    """Validation records that are also training records; None where either side has none that can be read.

    The smaller side of most runs, the validation data, is held; the training data is read past it.
    """
    held: dict[bytes, tuple[str, int]] = {}
    rows: dict[bytes, int] = {}
    signatures: set[int] = set()
    complete = True
    for path in validation_paths:
        reading = Rows(path)
        for row in reading:
            key = digest(row.value) if row.value is not None else None
            if key is None:
                continue
            if key in rows:
                rows[key] += 1
            elif len(rows) < MOST_ROWS:
                rows[key] = 1
                held[key] = (path, row.line)
                signatures.add(_signature(row.value))
            else:
                break
        complete = complete and reading.complete
    if not rows:
        return None
    first: list[Leak] = []
    leaked = 0
    read = False
    for path in train_paths:
        reading = Rows(path)
        for row in reading:
            read = True
            key = digest(row.value) if _signature(row.value) in signatures else None
            place = held.pop(key, None) if key is not None else None
            if place is not None and key is not None:
                leaked += rows[key]
                if len(first) < FIRST:
                    first.append(Leak(*place, path, row.line))
        complete = complete and reading.complete
    return Leaks(leaked, sum(rows.values()), tuple(first), complete) if read else None


def same_prompt_different_answer(path: str) -> Disagreements | None:
    """Prompts that occur with different answers; None where no record has a prompt and an answer."""
    answers: dict[bytes, tuple[bytes, int]] = {}
    groups: dict[bytes, list[int]] = {}
    numbers: dict[bytes, int] = {}
    read = False
    rows = Rows(path)
    for row in rows:
        parts = prompt_and_answer(row.value)
        if parts is None:
            continue
        read = True
        prompt, answer = digest(parts[0]), digest(parts[1])
        if prompt is None or answer is None:
            continue
        known = answers.get(prompt)
        if known is None:
            if len(answers) >= MOST_ROWS:
                break
            answers[prompt] = (answer, row.line)
        elif known[0] != answer:
            numbers[prompt] = numbers.get(prompt, 1) + 1
            _note(groups, prompt, known[1], row.line)
    if not read:
        return None
    return Disagreements(len(numbers), sum(numbers.values()), tuple(map(tuple, groups.values())), rows.complete)


def prompt_and_answer(value: object) -> tuple[object, object] | None:
    """What a record asks and what it answers at last, or None: a list of messages that ends with the assistant's, an
    alpaca record, a prompt with its completion. Everything else in the record belongs to the prompt, but names."""
    if type(value) is not dict:
        return None
    for key in ("messages", "conversations", "conversation", "contents"):
        messages = value.get(key)
        if type(messages) is not list or len(messages) < 2 or type(messages[-1]) is not dict:
            continue
        last = messages[-1]
        if not assistant_turns([last]) or "chosen" in value or "completions" in value:
            return None
        return {**_without(value, key), key: messages[:-1]}, last
    answers: tuple[str, ...] = ()
    if "instruction" in value:
        answers = ("output", "response")
    elif "prompt" in value:
        answers = ("completion", "response")
    for key in answers:
        if key in value and "label" not in value:
            return _without(value, key), value[key]
    return None


def _without(value: dict[str, object], key: str) -> dict[str, object]:
    return {name: part for name, part in value.items() if name != key and name not in _NAMES}


def _note(groups: dict[bytes, list[int]], key: bytes, first: int, line: int) -> None:
    """Adds a line to its group, as long as there are few."""
    if key in groups or len(groups) < FIRST:
        lines = groups.setdefault(key, [first])
        if len(lines) < FIRST:
            lines.append(line)
