"""Records that occur twice: within a file, in training and validation data, or with another answer.

Each record is given a quick number while its file is read; only records whose number occurs twice can be the same, and
only those are read again and get digests of 16 bytes, which decide.
"""

from __future__ import annotations

import json
from itertools import groupby, islice
from operator import itemgetter

from epochlint.records.counting import MAX_BYTES, read_through
from epochlint.records.looks import Look
from epochlint.records.shapes import assistant_turns
from epochlint.records.sorting import Sorted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

MOST_HELD = 5_000_000
"""Records that may be the same as another, whose digests are sorted (24 bytes each, those of prompts 40, on the disk
where they are many); with more of them there is no telling. It is no less than the records of a file that are looked at
one by one."""

FIRST = 5
"""Groups of repeated records that are shown, and lines of each."""

_AT_ONCE = 1 << 12
"""Entries that are put together before they are sorted in."""
_FEW = 10_000
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
        number = len(value) ^ signature(first, depth + 1)  # type: ignore[arg-type] # likewise
        for part in value[-2:]:  # type: ignore[index] # the last question, too: many have the same few answers
            number = number * 3 ^ signature(part, depth + 1)
        return number
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

    def add(self, number: int) -> None:
        number &= _WORD
        table = self._table
        if table is None:
            self._few.add(number)
            if len(self._few) > _FEW:
                few, self._few = self._few, set()
                self._table = bytearray(1 << (_TABLE_BITS - 3))
                for old in few:
                    self.add(old)
            return
        mixed = number * _MIX & _WORD
        one, other = mixed >> 38, mixed >> 12 & 0x3FFFFFF
        table[one >> 3] |= 1 << (one & 7)
        table[other >> 3] |= 1 << (other & 7)

    def __contains__(self, number: int) -> bool:
        number &= _WORD
        table = self._table
        if table is None:
            return number in self._few
        mixed = number * _MIX & _WORD
        one, other = mixed >> 38, mixed >> 12 & 0x3FFFFFF
        return bool(table[one >> 3] >> (one & 7) & table[other >> 3] >> (other & 7) & 1)

    def __bool__(self) -> bool:
        return self._table is not None or bool(self._few)


class _Entries(Look):
    """Puts down an entry of some bytes for each record, or several; together they are sorted in `kept`."""

    __slots__ = ("_apart", "_new", "kept")

    def __init__(self, kept: Sorted) -> None:
        self.kept = kept
        self._new = bytearray()
        self._apart = False

    def put(self, entry: bytes) -> None:
        self._new += entry
        if len(self._new) >= _AT_ONCE * self.kept.size and not self._apart:
            self.settled()

    def part(self) -> None:
        self._apart = True
        self._new.clear()

    def state(self) -> object:
        new = bytes(self._new)
        self._new.clear()
        return new

    def join(self, state: object) -> None:
        assert isinstance(state, bytes)
        self.kept.add(state)

    def settled(self) -> Sorted:
        """All entries."""
        self.kept.add(self._new)
        self._new.clear()
        return self.kept


class Repeats(_Entries):
    """Gives each record its number, and each prompt one."""

    __slots__ = ("prompts", "rows")

    def __init__(self, prompts: bool = False) -> None:
        super().__init__(Sorted(8, 2 * MOST_HELD))
        self.rows = 0
        self.prompts = prompts

    def see(self, line: int, value: object) -> None:
        if value is None:
            return
        self.rows += 1
        self.put((signature(value) & _WORD).to_bytes(8, "little"))
        if self.prompts:
            number = _prompt_number(value)
            if number is not None:
                self.put((number & _WORD).to_bytes(8, "little"))

    def part(self) -> None:
        super().part()
        self.rows = 0

    def state(self) -> object:
        rows, self.rows = self.rows, 0
        return rows, super().state()

    def join(self, state: object) -> None:
        rows, new = state  # type: ignore[misc] # as above
        self.rows += rows  # type: ignore[has-type] # likewise
        super().join(new)  # type: ignore[has-type] # likewise

    def again(self) -> Numbers | None:
        """The numbers that occur twice, once asked for; None where there are too many to tell."""
        found = Numbers()
        kept = self.settled()
        last = b""
        for entry in kept:
            if entry == last:
                found.add(int.from_bytes(entry, "little"))
            last = entry
        kept.drop()
        return found if not kept.full else None


class Seen(Look):
    """The numbers of records, to be found among those of others."""

    __slots__ = ("_apart", "_new", "numbers", "rows")

    def __init__(self) -> None:
        self.rows = 0
        self.numbers = Numbers()
        self._apart = False
        self._new: list[int] = []

    def see(self, line: int, value: object) -> None:
        if value is None:
            return
        self.rows += 1
        if self._apart:
            self._new.append(signature(value))
        else:
            self.numbers.add(signature(value))

    def part(self) -> None:
        self._apart = True
        self.rows = 0

    def state(self) -> object:
        state = self.rows, self._new
        self.rows, self._new = 0, []
        return state

    def join(self, state: object) -> None:
        rows, new = state  # type: ignore[misc] # as above
        self.rows += rows  # type: ignore[has-type] # likewise
        for number in new:  # type: ignore[has-type] # likewise
            self.numbers.add(number)


class _Held(_Entries):
    """Digests of some records, with what tells the file and the line. `more`: bytes kept beside each digest."""

    __slots__ = ("file",)

    def __init__(self, more: int = 0, kept: Sorted | None = None) -> None:
        """`kept`: where those of others are, too."""
        super().__init__(kept if kept is not None else Sorted(16 + more + 8, MOST_HELD))
        self.file = 0

    def hold(self, key: bytes | None, line: int, more: bytes = b"") -> None:
        if key is not None:
            self.put(key + more + self.file.to_bytes(2, "big") + line.to_bytes(6, "big"))

    def groups(self) -> Iterator[Iterator[tuple[bytes, int, int]]]:
        """What was kept beside, file and line of the records of each digest, in this order. Each group is to be used
        before the next is asked for: it may hold all records."""
        for _, group in groupby(self.settled(), _KEY):
            yield map(_place, group)


_KEY = itemgetter(slice(16))


def _place(entry: bytes) -> tuple[bytes, int, int]:
    return entry[16:-8], int.from_bytes(entry[-8:-6], "big"), int.from_bytes(entry[-6:], "big")


class _Same(_Held):
    """The digests of the records whose number occurs twice."""

    __slots__ = ("_again",)

    def __init__(self, again: Numbers) -> None:
        super().__init__()
        self._again = again

    def see(self, line: int, value: object) -> None:
        if value is not None and signature(value) in self._again:
            self.hold(digest(value), line)


class _SamePrompt(_Held):
    """The digests of the prompts whose number occurs twice, and beside them those of their answers."""

    __slots__ = ("_again",)

    def __init__(self, again: Numbers) -> None:
        super().__init__(more=16)
        self._again = again

    def see(self, line: int, value: object) -> None:
        number = _prompt_number(value)
        parts = prompt_and_answer(value) if number is not None and number in self._again else None
        if parts is not None:
            self.hold(digest(parts[0]), line, digest(parts[1]) or b"?" * 16)


def settle(
    path: str, found: Repeats, complete: bool, max_bytes: int = MAX_BYTES, field: str | None = None
) -> tuple[Duplicates, Disagreements]:
    """What really occurs twice in a file that was read before, by its digests: reads it again where something may."""
    again = found.again() if complete else None
    if not again:
        complete = again is not None
        return Duplicates(found.rows, found.rows, (), complete), Disagreements(0, 0, (), complete)
    same, prompts = _Same(again), _SamePrompt(again)
    count = read_through(path, (same, prompts) if found.prompts else (same,), max_bytes=max_bytes, field=field)
    if count is None or count.estimated:
        return Duplicates(found.rows, found.rows, (), False), Disagreements(0, 0, (), False)
    return _duplicates(found.rows, same), _disagreements(prompts)


def _duplicates(rows: int, same: _Same) -> Duplicates:
    copies = 0
    groups: list[tuple[int, ...]] = []
    for group in same.groups():
        first = tuple(line for _, _, line in islice(group, FIRST))
        copies += len(first) - 1 + sum(1 for _ in group)
        if len(first) > 1:
            groups = sorted([*groups, first])[:FIRST]
    return Duplicates(rows, rows - copies, tuple(groups), not same.kept.full)


def _disagreements(prompts: _SamePrompt) -> Disagreements:
    rows = disagreeing = 0
    groups: list[tuple[int, ...]] = []
    for group in prompts.groups():
        first: list[int] = []  # lines with the answer that comes first in the file
        others: list[int] = []  # with another; the first few of each
        answers = like_first = together = 0
        for _, same in groupby(group, itemgetter(0)):
            lines = [line for _, _, line in islice(same, FIRST)]
            number = len(lines) + sum(1 for _ in same)
            answers += 1
            together += number
            if not first or lines[0] < first[0]:
                lines, first, like_first = first, lines, number
            others = sorted(others + lines)[:FIRST]
        if answers > 1:
            disagreeing += 1
            rows += together - like_first + 1
            groups = sorted([*groups, (first[0], *others[: FIRST - 1])])[:FIRST]
    return Disagreements(disagreeing, rows, tuple(groups), not prompts.kept.full)


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


_TRAINING, _VALIDATION = b"t", b"v"  # in this order in a group


class Shared(_Held):
    """The digests of training records that may be among the validation records, whose numbers are given."""

    __slots__ = ("_numbers",)

    def __init__(self, numbers: Numbers) -> None:
        super().__init__(more=1)
        self._numbers = numbers

    def see(self, line: int, value: object) -> None:
        if value is not None and signature(value) in self._numbers:
            self.hold(digest(value), line, _TRAINING)


class _Validation(_Held):
    """The digests of all validation records, put to those of the training records."""

    __slots__ = ()

    def see(self, line: int, value: object) -> None:
        if value is not None:
            self.hold(digest(value), line, _VALIDATION)


def settle_leaks(
    shared: Shared, train_paths: Sequence[str], validation_paths: Sequence[str], rows: int, max_bytes: int = MAX_BYTES
) -> Leaks:
    """Which validation records are training records, by their digests: reads the validation data again where some
    may be. `rows`: validation records."""
    kept = shared.settled()
    if not len(kept):
        return Leaks(0, rows, (), not kept.full)
    held = _Validation(kept=kept)
    complete = True
    for held.file, path in enumerate(validation_paths):
        count = read_through(path, (held,), max_bytes=max_bytes)
        complete = complete and count is not None and not count.estimated
    leaked = 0
    first: list[tuple[int, int, int, int]] = []
    for group in held.groups():
        side, *train = next(group)
        others = (one for one in group if one[0] == _VALIDATION)
        leak = next(others, None) if side == _TRAINING else None
        if leak is not None:
            leaked += 1 + sum(1 for _ in others)
            first = sorted([*first, (train[0], train[1], leak[1], leak[2])])[:FIRST]
    if kept.full or not complete:
        return Leaks(0, rows, (), False)
    leaks = (Leak(validation_paths[v], line, train_paths[t], row) for t, row, v, line in first)
    return Leaks(leaked, rows, tuple(leaks), True)


def leaks(train_paths: Iterable[str], validation_paths: Iterable[str]) -> Leaks | None:
    """Validation records that are also training records; None where either side has none that can be read."""
    train, validation = list(train_paths), list(validation_paths)
    seen = Seen()
    counts = [read_through(path, (seen,)) for path in validation]
    if not seen.rows:
        return None
    shared = Shared(seen.numbers)
    for shared.file, path in enumerate(train):
        counts.append(read_through(path, (shared,)))
    if not any(count is not None and count.rows for count in counts[len(validation) :]):
        return None
    found = settle_leaks(shared, train, validation, seen.rows)
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
