"""Records that occur twice: within a file, in training and validation data, or with another answer.

Each record is given a quick number while its file is read; only records whose number occurs twice can be the same, and
only those are read again and get digests of 16 bytes, which decide.
"""

from __future__ import annotations

import json

from epochlint.records.counting import MAX_BYTES, read_through
from epochlint.records.looks import Look
from epochlint.records.shapes import assistant_turns

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_HELD = 1_000_000
"""Records that may be the same as another, whose digests are held (24 bytes each); with more of them there is no
telling."""

FIRST = 5
"""Groups of repeated records that are shown, and lines of each."""

_SORTED = 100_000
"""Digests that are sorted at once."""
_FEW = 150_000
_TABLE_BITS = 26
_SIGNED_DEPTH = 6
_MIX = 0x9E3779B97F4A7C15  # 2^64 over the golden ratio: spreads numbers that are near each other
_PROMPT = 0x5851F42D4C957F2D  # tells a prompt's number from a record's
_WORD = (1 << 64) - 1

_encode = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
_CONVERSATIONS = ("messages", "conversations", "conversation", "contents")
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


def signature(value: object, depth: int = 0) -> int:
    """A quick number that is the same for the same record, and nearly always another for another: only records that
    share it need digests. It holds for this process and those forked from it."""
    kind = type(value)
    if kind is str or kind is int or kind is float:
        return hash(value)
    if depth > _SIGNED_DEPTH:
        return 0
    if kind is dict:
        number = len(value)  # type: ignore[arg-type] # a dict
        for part in value.values():  # type: ignore[attr-defined] # likewise
            number ^= hash(part) if type(part) is str else signature(part, depth + 1)
        return number
    if kind is list and value:
        first = value[0]  # type: ignore[index] # a list
        if type(first) is int:  # tokens, which begin and end alike
            try:
                return hash(tuple(value))  # type: ignore[arg-type] # likewise
            except TypeError:
                return 0
        last = signature(value[-1], depth + 1)  # type: ignore[index] # likewise
        return len(value) ^ signature(first, depth + 1) ^ last * 3  # type: ignore[arg-type] # likewise
    return 0


def _prompt_number(value: object) -> int | None:
    """The same for a record of `prompt_and_answer` and for its prompt, and mostly another for another prompt; None
    where there is certainly none."""
    if type(value) is not dict:
        return None
    for key in _CONVERSATIONS:
        messages = value.get(key)
        if type(messages) is list and len(messages) > 1:
            return len(messages) ^ signature(messages[0]) ^ signature(messages[-2]) * 3 ^ _PROMPT
    if "instruction" in value:
        return signature(value["instruction"]) ^ signature(value.get("input")) * 3 ^ _PROMPT
    return signature(value["prompt"]) ^ _PROMPT if "prompt" in value else None


class Numbers:
    """A set of numbers in bounded memory: exact while there are few, then a table of 8 MiB, by which a number seems to
    be there that is not (1 in 1,000 with a million in it), but none that is there is missed."""

    __slots__ = ("_few", "_table")

    def __init__(self) -> None:
        self._few: set[int] = set()
        self._table: bytearray | None = None

    def add(self, number: int) -> bool:
        """Whether it was there before (or seems so)."""
        if self._table is None:
            if number in self._few:
                return True
            self._few.add(number)
            if len(self._few) > _FEW:
                few, self._few = self._few, set()
                self._table = bytearray(1 << (_TABLE_BITS - 3))
                for old in few:
                    self.add(old)
            return False
        table = self._table
        mixed = number * _MIX & _WORD
        one, other = mixed >> 38, mixed >> 12 & 0x3FFFFFF
        there = table[one >> 3] >> (one & 7) & table[other >> 3] >> (other & 7) & 1
        table[one >> 3] |= 1 << (one & 7)
        table[other >> 3] |= 1 << (other & 7)
        return bool(there)

    def __contains__(self, number: int) -> bool:
        table = self._table
        if table is None:
            return number in self._few
        mixed = number * _MIX & _WORD
        one, other = mixed >> 38, mixed >> 12 & 0x3FFFFFF
        return bool(table[one >> 3] >> (one & 7) & table[other >> 3] >> (other & 7) & 1)

    def __bool__(self) -> bool:
        return self._table is not None or bool(self._few)


class Held(Look):
    """Digests of some records, packed one behind the other, with what tells the file and the line.

    `full`: there were more than MOST_HELD.
    """

    __slots__ = ("_entries", "_size", "file", "full")

    def __init__(self, more: int = 0) -> None:
        """`more`: bytes kept beside the digest of each record."""
        self.file = 0
        self.full = False
        self._size = 16 + more + 8
        self._entries = bytearray()

    def add(self, key: bytes | None, line: int, more: bytes = b"") -> None:
        if key is not None and not self.full:
            self._entries += key + more + self.file.to_bytes(2, "big") + line.to_bytes(6, "big")
            self.full = len(self) > MOST_HELD

    def state(self) -> object:
        entries = bytes(self._entries)
        self._entries.clear()
        return self.full, entries

    def join(self, state: object) -> None:
        full, entries = state  # type: ignore[misc] # as above
        self._entries += entries  # type: ignore[has-type] # likewise
        self.full = self.full or full or len(self) > MOST_HELD  # type: ignore[has-type] # likewise

    def __len__(self) -> int:
        return len(self._entries) // self._size

    def groups(self) -> Iterator[list[tuple[int, int, bytes]]]:
        """File, line and what was kept beside, of all records with the same digest; group after group."""
        entries, size = self._entries, self._size
        rounds = 1 + len(self) // _SORTED
        for turn in range(rounds):
            group: list[tuple[int, int, bytes]] = []
            key = b""
            for entry in sorted(
                bytes(entries[start : start + size])
                for start in range(0, len(entries), size)
                if entries[start] % rounds == turn
            ):
                if entry[:16] != key:
                    if len(group) > 1:
                        yield sorted(group)
                    group, key = [], entry[:16]
                place = int.from_bytes(entry[-8:], "big")
                group.append((place >> 48, place & 0xFFFFFFFFFFFF, entry[16:-8]))
            if len(group) > 1:
                yield sorted(group)


class Repeats(Look):
    """Gives each record its number, and each prompt one. `again` holds those that occur twice."""

    __slots__ = ("_apart", "_numbers", "again", "prompts", "rows", "seen")

    def __init__(self, prompts: bool = False) -> None:
        self.rows = 0
        self.prompts = prompts
        self.seen, self.again = Numbers(), Numbers()
        self._apart = False
        self._numbers: list[int] = []

    def see(self, line: int, value: object) -> None:
        if value is None:
            return
        self.rows += 1
        self._number(signature(value))
        if self.prompts:
            number = _prompt_number(value)
            if number is not None:
                self._number(number)

    def _number(self, number: int) -> None:
        if self._apart:
            self._numbers.append(number)
        elif self.seen.add(number):
            self.again.add(number)

    def part(self) -> None:
        self._apart = True
        self.rows = 0

    def state(self) -> object:
        state = self.rows, self._numbers
        self.rows, self._numbers = 0, []
        return state

    def join(self, state: object) -> None:
        rows, numbers = state  # type: ignore[misc] # as above
        self.rows += rows  # type: ignore[has-type] # likewise
        for number in numbers:  # type: ignore[has-type] # likewise
            self._number(number)


class _Same(Held):
    """The digests of the records whose number occurs twice."""

    __slots__ = ("_again",)

    def __init__(self, again: Numbers) -> None:
        super().__init__()
        self._again = again

    def see(self, line: int, value: object) -> None:
        if value is not None and signature(value) in self._again:
            self.add(digest(value), line)


class _SamePrompt(Held):
    """The digests of the prompts whose number occurs twice, and beside them those of their answers."""

    __slots__ = ("_again",)

    def __init__(self, again: Numbers) -> None:
        super().__init__(more=16)
        self._again = again

    def see(self, line: int, value: object) -> None:
        number = _prompt_number(value)
        parts = prompt_and_answer(value) if number is not None and number in self._again else None
        if parts is not None:
            self.add(digest(parts[0]), line, digest(parts[1]) or b"?" * 16)


def settle(path: str, found: Repeats, complete: bool, max_bytes: int = MAX_BYTES) -> tuple[Duplicates, Disagreements]:
    """What really occurs twice in a file that was read before, by its digests: reads it again where something may."""
    if not found.again or not complete:
        return Duplicates(found.rows, found.rows, (), complete), Disagreements(0, 0, (), complete)
    same, prompts = _Same(found.again), _SamePrompt(found.again)
    again = read_through(path, (same, prompts) if found.prompts else (same,), max_bytes=max_bytes)
    whole = again is not None and not again.estimated
    copies = 0
    groups: list[tuple[int, ...]] = []
    if whole and not same.full:
        for group in same.groups():
            copies += len(group) - 1
            groups = _first(groups, group)
    duplicates = Duplicates(found.rows, found.rows - copies, tuple(groups), whole and not same.full)
    rows = disagreeing = 0
    groups = []
    if whole and not prompts.full:
        for group in prompts.groups():
            answers = {answer for _, _, answer in group}
            if len(answers) > 1:
                disagreeing += 1
                rows += sum(answer != group[0][2] for _, _, answer in group) + 1
                groups = _first(groups, [group[0], *(one for one in group if one[2] != group[0][2])])
    return duplicates, Disagreements(disagreeing, rows, tuple(groups), whole and not prompts.full)


def _first(groups: list[tuple[int, ...]], group: list[tuple[int, int, bytes]]) -> list[tuple[int, ...]]:
    """The groups that begin first, with the first lines of each."""
    return sorted([*groups, tuple(line for _, line, _ in group[:FIRST])])[:FIRST]


def duplicates(path: str) -> Duplicates | None:
    """Exact duplicates of a JSON Lines, JSON, CSV or text file; None where it has no records that can be read."""
    found = Repeats()
    count = read_through(path, (found,))
    return settle(path, found, count is not None and not count.estimated)[0] if found.rows else None


def same_prompt_different_answer(path: str) -> Disagreements | None:
    """Prompts that occur with different answers; None where no record can be read."""
    found = Repeats(prompts=True)
    count = read_through(path, (found,))
    return settle(path, found, count is not None and not count.estimated)[1] if found.rows else None


class Shared(Held):
    """The digests of training records that may be among the validation records, whose numbers are given."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Numbers) -> None:
        super().__init__(more=1)
        self._numbers = numbers

    def see(self, line: int, value: object) -> None:
        if value is not None and signature(value) in self._numbers:
            self.add(digest(value), line, b"t")


class _Validation(Held):
    """The digests of all validation records."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(more=1)

    def see(self, line: int, value: object) -> None:
        if value is not None:
            self.add(digest(value), line, b"v")


def settle_leaks(
    shared: Shared, train_paths: Sequence[str], validation_paths: Sequence[str], rows: int, max_bytes: int = MAX_BYTES
) -> Leaks:
    """Which validation records are training records, by their digests: reads the validation data again where some
    may be. `rows`: validation records."""
    if not len(shared):
        return Leaks(0, rows, (), not shared.full)
    held = _Validation()
    complete = True
    for held.file, path in enumerate(validation_paths):
        count = read_through(path, (held,), max_bytes=max_bytes)
        complete = complete and count is not None and not count.estimated
    shared.join(held.state())
    if shared.full or not complete:
        return Leaks(0, rows, (), False)
    leaked = 0
    first: list[tuple[int, int, int, int]] = []
    for group in shared.groups():
        validation = [one for one in group if one[2] == b"v"]
        if validation and len(validation) < len(group):
            leaked += len(validation)
            train = next(one for one in group if one[2] == b"t")
            first = sorted([*first, (*train[:2], *validation[0][:2])])[:FIRST]
    leaks = (Leak(validation_paths[v], line, train_paths[t], row) for t, row, v, line in first)
    return Leaks(leaked, rows, tuple(leaks), True)


def leaks(train_paths: Iterable[str], validation_paths: Iterable[str]) -> Leaks | None:
    """Validation records that are also training records; None where either side has none that can be read."""
    train, validation = list(train_paths), list(validation_paths)
    numbers = Repeats()
    counts = [read_through(path, (numbers,)) for path in validation]
    if not numbers.rows:
        return None
    shared = Shared(numbers.seen)
    for shared.file, path in enumerate(train):
        counts.append(read_through(path, (shared,)))
    if not any(count is not None and count.rows for count in counts[len(validation) :]):
        return None
    found = settle_leaks(shared, train, validation, numbers.rows)
    found.complete = found.complete and all(count is not None and not count.estimated for count in counts)
    return found


def prompt_and_answer(value: object) -> tuple[object, object] | None:
    """What a record asks and what it answers at last, or None: a list of messages that ends with the assistant's, an
    alpaca record, a prompt with its completion. Everything else in the record belongs to the prompt, but names."""
    if type(value) is not dict:
        return None
    for key in _CONVERSATIONS:
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
