"""How many tokens there are, as a range from the number of characters. Never exact: no tokenizer is asked."""

from __future__ import annotations

from epochlint.records.counting import MAX_BYTES
from epochlint.records.rows import Rows
from epochlint.records.shapes import messages_of

CHARACTERS_PER_TOKEN = (1.4, 6.0)
"""The band for ASCII text. Measured with cl100k_base (tiktoken 0.14.0) on 493 texts of published training files:
1.44 (arithmetic) to 5.65, half of them between 3 and 4. Long runs of one sign (rules, indentation) can lie above."""

OTHER_CHARACTERS_PER_TOKEN = (0.25, 3.0)
"""The band for all other characters: with cl100k_base 0.25 (hieroglyphs), 0.8 (Chinese), 1.7 (Russian); larger
vocabularies take more at once."""

MESSAGE_OVERHEAD = (0, 12)
"""Tokens that a chat template adds to each message."""

_DEEPEST = 200


def token_estimate(path: str, *, max_bytes: int | None = MAX_BYTES) -> tuple[int, int] | None:
    """Fewest and most tokens of all records of a file, with what a chat template adds; None where there are no records
    or the file could not be read to its end."""
    low = high = number = 0
    rows = Rows(path, max_bytes)
    for row in rows:
        number += 1
        fewest, most = record_tokens(row.value)
        low += fewest
        high += most
    return (low, high) if number and rows.complete else None


def record_tokens(value: object) -> tuple[int, int]:
    """Fewest and most tokens of one record's texts, with what a chat template adds. Keys and names are not counted."""
    ascii_characters, others = _characters(value, 0)
    low = ascii_characters / CHARACTERS_PER_TOKEN[1] + others / OTHER_CHARACTERS_PER_TOKEN[1]
    high = ascii_characters / CHARACTERS_PER_TOKEN[0] + others / OTHER_CHARACTERS_PER_TOKEN[0]
    messages = len(messages_of(value) or ())
    return int(low) + messages * MESSAGE_OVERHEAD[0], int(high) + 1 + (messages + 1) * MESSAGE_OVERHEAD[1]


def text_length(value: object) -> int:
    """Characters of all texts in a record (not of its keys, roles and weights)."""
    return sum(_characters(value, 0))


_NO_TEXT = frozenset(("role", "from", "id", "type", "weight", "label", "source", "schemaVersion"))


def _characters(value: object, depth: int) -> tuple[int, int]:
    if type(value) is str:
        others = 0 if value.isascii() else len(value) - len(value.encode("ascii", "ignore"))
        return len(value) - others, others
    parts: object = ()
    if type(value) is dict:
        parts = [part for key, part in value.items() if key not in _NO_TEXT]
    elif type(value) is list:
        parts = value
    ascii_characters = others = 0
    if depth < _DEEPEST:
        for part in parts:  # type: ignore[attr-defined]
            plain, other = _characters(part, depth + 1)
            ascii_characters += plain
            others += other
    return ascii_characters, others
