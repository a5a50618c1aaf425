"""Which rows ms-swift trains on.

Read in ms-swift 4.6.0 (`dataset/preprocessor/core.py`, `dataset/utils.py`: a row that cannot be encoded is left out
without a word, unless `strict`) and recorded in tests/conformance.
"""

from __future__ import annotations

from epochlint.trainers.row_checks import Fits, readable_conversation

_LISTS = ("messages", "conversations", "conversation")
_TEXTS = ("instruction", "input", "query", "prompt", "question", "output", "response", "answer", "completion", "text")


class Keep:
    """Whether a row is certainly trained on; None for one that another template or tokenizer may take or not.

    limit: tokens, where over-long rows are deleted. pairs: preference data, whose answers are not looked at closer.
    texts: continued pretraining, where a null is no empty text.
    """

    __slots__ = ("fits", "key", "pairs", "texts")

    def __init__(self, limit: float | None, *, pairs: bool, texts: bool) -> None:
        self.fits = Fits(limit) if limit is not None else None
        self.pairs = pairs
        self.texts = texts
        self.key = f"{limit} {pairs} {texts}"  # all that a verdict hangs on

    def __call__(self, row: object) -> bool | None:
        if not isinstance(row, dict):
            return False if row is None else None
        if self.pairs and self._same(row):
            return False
        if not self.pairs and not self._plain(row):
            return None
        return self.fits(row) if self.fits is not None else True

    @staticmethod
    def form(row: object) -> str:
        """By which keys all rows are read, if these are all columns (`AutoPreprocessor`)."""
        if not isinstance(row, dict) or any(key in row for key in _LISTS):
            return "messages"
        return "alpaca" if "instruction" in row and "input" in row else "pairs"

    def _same(self, row: dict[object, object]) -> bool:
        """Whether both answers are one and the same text, which the template refuses (`_rlhf_encode`)."""
        rejected, messages = row.get("rejected_response"), row.get("messages")
        last = messages[-1] if isinstance(messages, list) and messages else None
        return isinstance(rejected, str) and isinstance(last, dict) and last.get("content") == rejected

    def _plain(self, row: dict[object, object]) -> bool:
        if row.get("tools"):
            return False  # not every template knows tools
        for key in _LISTS:
            if key in row:
                told = row[key]
                if isinstance(told, list) and any(isinstance(one, dict) and one.get("tool_calls") for one in told):
                    return False
                return any(readable_conversation(told, *keys) for keys in (("role", "content"), ("from", "value")))
        found = [row[key] for key in _TEXTS if key in row]
        some = any(isinstance(text, str) for text in found)
        return some and all(isinstance(text, str) or (text is None and not self.texts) for text in found)
