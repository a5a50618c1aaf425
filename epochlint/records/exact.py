"""Tokens counted by the model's own tokenizer: the extra `tokens` (the package `tokenizers`) and a tokenizer.json.

What is counted is the records' texts; what a chat template adds stays a band (`MESSAGE_OVERHEAD`), since templates are
programs, and none is executed.
"""

from __future__ import annotations

import os

from epochlint.records.looks import Look
from epochlint.records.shapes import messages_of
from epochlint.records.tokens import MESSAGE_OVERHEAD, texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_BYTES = 32 << 20
"""Bytes of data that are tokenized at most: a tokenizer takes a second for some megabytes."""
_BIGGEST_TOKENIZER = 64 << 20
_AT_ONCE = 512
_LONGEST_TEXT = 1 << 20  # characters; a tokenizer may take time that grows faster than the text


def load(path: str) -> Any:
    """The tokenizer of a tokenizer.json; None where the file is none, or the package is not installed."""
    try:
        from tokenizers import Tokenizer  # type: ignore[import-not-found,unused-ignore] # the extra `tokens`
    except ImportError:
        return None
    try:
        if not os.path.isfile(path) or os.path.getsize(path) > _BIGGEST_TOKENIZER:
            return None
        tokenizer = Tokenizer.from_file(path)
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer
    except (KeyboardInterrupt, SystemExit, MemoryError):
        raise
    except BaseException:  # the package tells of panics of its own by an exception that is no Exception
        return None


class Exact(Look):
    """Counts the tokens of all texts, without special ones. `failed`: the tokenizer refused a text, or one was too long
    to be asked about."""

    __slots__ = ("_texts", "_tokenizer", "failed", "messages", "rows", "tokens")
    apart = False

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._texts: list[str] = []
        self.failed = False
        self.rows = self.tokens = self.messages = 0

    def see(self, line: int, value: object) -> None:
        self.rows += 1
        if type(value) is dict and type(value.get("input_ids")) is list:
            self.tokens += len(value["input_ids"])
            return
        self.messages += 1 + len(messages_of(value) or ())
        for text in texts(value):
            if len(text) > _LONGEST_TEXT or (not text.isprintable() and _is_broken(text)):
                self.failed = True
            else:
                self._texts.append(text)
        if len(self._texts) >= _AT_ONCE:
            self._count()

    def _count(self) -> None:
        waiting, self._texts = self._texts, []
        if self.failed:
            return
        try:
            encoded = self._tokenizer.encode_batch(waiting, add_special_tokens=False)
        except (KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException:  # as above
            self.failed = True
            return
        self.tokens += sum(len(one) for one in encoded)

    def range(self) -> tuple[int, int] | None:
        """Fewest and most tokens with what a chat template adds; None where a text could not be counted."""
        self._count()
        if self.failed:
            return None
        return self.tokens + self.messages * MESSAGE_OVERHEAD[0], self.tokens + self.messages * MESSAGE_OVERHEAD[1]


def _is_broken(text: str) -> bool:
    """Whether it has lone surrogates, which are no Unicode text."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return True
    return False
