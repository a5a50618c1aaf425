"""How many tokens there are, as a range from the number of characters. Never exact: no tokenizer is asked."""

from __future__ import annotations

from epochlint.records.counting import MAX_BYTES, read_through
from epochlint.records.looks import Look
from epochlint.records.shapes import messages_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

CHARACTERS_PER_TOKEN = (1.4, 6.0)
"""The band for ASCII text. Measured with cl100k_base (tiktoken 0.14.0) on 493 texts of published training files:
1.44 (arithmetic) to 5.65, half of them between 3 and 4. Long runs of one sign (rules, indentation) can lie above."""

OTHER_CHARACTERS_PER_TOKEN = (0.25, 3.0)
"""The band for all other characters: with cl100k_base 0.25 (hieroglyphs), 0.8 (Chinese), 1.7 (Russian); larger
vocabularies take more at once."""

MESSAGE_OVERHEAD = (0, 12)
"""Tokens that a chat template adds to each message."""

MOST_LENGTHS = 20_000

_DEEPEST = 200


class Lengths(Look):
    """How many tokens the records have: fewest and most of all, the most of the longest, and how many records have at
    least how many (`lows`, exact up to MOST_LENGTHS different lengths, then rounded down to two digits)."""

    __slots__ = ("high", "longest", "low", "lows", "rows")

    def __init__(self) -> None:
        self.rows = self.low = self.high = self.longest = 0
        self.lows: dict[int, int] = {}

    def see(self, line: int, value: object) -> None:
        low, high = record_tokens(value)
        self.rows += 1
        self.low += low
        self.high += high
        if high > self.longest:
            self.longest = high
        self._length(low, 1)

    def _length(self, low: int, rows: int) -> None:
        if low not in self.lows and len(self.lows) >= MOST_LENGTHS:
            low -= low % 10 ** max(0, len(str(low)) - 2)
        self.lows[low] = self.lows.get(low, 0) + rows

    def over(self, limit: float) -> int:
        """Records that certainly have more tokens than a limit."""
        return sum(rows for low, rows in self.lows.items() if low > limit)

    def state(self) -> object:
        state = self.rows, self.low, self.high, self.longest, self.lows
        Lengths.__init__(self)
        return state

    def join(self, state: object) -> None:
        rows, low, high, longest, lows = state  # type: ignore[misc] # as above
        self.rows += rows  # type: ignore[has-type] # likewise
        self.low += low  # type: ignore[has-type] # likewise
        self.high += high  # type: ignore[has-type] # likewise
        self.longest = max(self.longest, longest)  # type: ignore[has-type] # likewise
        for length, number in lows.items():  # type: ignore[has-type] # likewise
            self._length(length, number)


def token_estimate(path: str, *, max_bytes: int = MAX_BYTES) -> tuple[int, int] | None:
    """Fewest and most tokens of all records of a file, with what a chat template adds; None where there are no records
    or the file could not be read to its end."""
    lengths = Lengths()
    count = read_through(path, (lengths,), max_bytes=max_bytes)
    return (lengths.low, lengths.high) if lengths.rows and count is not None and not count.estimated else None


def record_tokens(value: object) -> tuple[int, int]:
    """Fewest and most tokens of one record's texts, with what a chat template adds. Keys and names are not counted."""
    if type(value) is dict and type(value.get("input_ids")) is list:
        return len(value["input_ids"]), len(value["input_ids"])
    characters, others = _characters(value, 0)
    low = (characters - others) / CHARACTERS_PER_TOKEN[1] + others / OTHER_CHARACTERS_PER_TOKEN[1]
    high = (characters - others) / CHARACTERS_PER_TOKEN[0] + others / OTHER_CHARACTERS_PER_TOKEN[0]
    messages = len(messages_of(value) or ())
    return int(low) + messages * MESSAGE_OVERHEAD[0], int(high) + 1 + (messages + 1) * MESSAGE_OVERHEAD[1]


def texts(value: object, depth: int = 0) -> Iterator[str]:
    """All texts of a record, as `record_tokens` looks at them."""
    if type(value) is str:
        yield value
    elif depth < _DEEPEST:
        parts: Iterable[object] = ()
        if type(value) is dict:
            parts = [part for key, part in value.items() if key not in _NO_TEXT]
        elif type(value) is list:
            parts = value
        for part in parts:
            yield from texts(part, depth + 1)


def text_length(value: object) -> int:
    """Characters of all texts in a record (not of its keys, roles and weights)."""
    return _characters(value, 0)[0]


_NO_TEXT = frozenset(("role", "from", "id", "type", "weight", "label", "source", "schemaVersion"))


def _characters(value: object, depth: int) -> tuple[int, int]:
    """Characters, and how many of them are not ASCII."""
    characters = others = 0
    parts: Iterable[object]
    if type(value) is dict:
        parts = [part for key, part in value.items() if key not in _NO_TEXT]
    elif type(value) is list:
        parts = value
    else:
        parts = (value,)
    for part in parts:
        if type(part) is str:
            characters += len(part)
            if not part.isascii():
                others += len(part) - len(part.encode("ascii", "ignore"))
        elif (type(part) is dict or type(part) is list) and depth < _DEEPEST:
            more, other = _characters(part, depth + 1)
            characters += more
            others += other
    return characters, others
