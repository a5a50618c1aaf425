"""What trainers' loaders make of a row, where several of them agree: texts that must be there, and lengths.

Every function here was compared with what the loaders did (tests/conformance, the recordings of records).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

Verdict = tuple[str, str]
"""Observation and reason."""

_SIDES = ("user", "human", "assistant", "gpt")


def invalid(reason: str) -> Verdict:
    return "data_invalid", reason


def texts_missing(row: object, keys: Sequence[str], consumer: str, *, lists: bool = False) -> Verdict | None:
    """A row must be an object whose keys hold texts (with `lists`, also lists of messages)."""
    if not isinstance(row, dict):
        return invalid(f"the record is no object: {consumer} stops there")
    for key in keys:
        value = row.get(key)
        if not isinstance(value, str) and not (lists and _is_conversation(value)):
            what = "is missing" if key not in row else "is null" if value is None else "is no text"
            return invalid(f"{key} {what}: {consumer} stops there")
    return None


def _is_conversation(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(message, dict) for message in value)


def messages_missing(row: object, key: str, consumer: str) -> Verdict | None:
    """A row must be an object with a list of messages that is not empty."""
    if not isinstance(row, dict):
        return invalid(f"the record is no object: {consumer} stops there")
    messages = row.get(key)
    if not isinstance(messages, list):
        what = "is missing" if key not in row else "is null" if messages is None else "is no list"
        return invalid(f"{key} {what}: {consumer} stops there")
    if not messages:
        return invalid(f"{key} is empty: {consumer} stops there")
    if not all(isinstance(message, dict) for message in messages):
        return invalid(f"a message in {key} is no object: {consumer} stops there")
    return None


class Form:
    """A check that looks at what the first row of the data has, as loaders do that choose by its keys.

    `choose` gives the check for all rows, the verdict on a first row that the loader knows nothing to do with, or None
    where nothing can be said. `columns`: the loader makes columns of all rows' keys, so that rows before the first one
    that tells the form are read by it, too.
    """

    __slots__ = ("_before", "check", "choose", "columns")

    def __init__(
        self,
        choose: Callable[[dict[object, object]], Callable[[object], Verdict | None] | Verdict | None],
        *,
        columns: bool = False,
    ) -> None:
        self.choose = choose
        self.columns = columns
        self.check: Callable[[object], Verdict | None] | None = None
        self._before: object = None

    @property
    def settled(self) -> bool:
        """Whether a verdict hangs on the row alone from now on."""
        return self.check is not None

    def __call__(self, row: object) -> Verdict | None:
        if self.check is not None:
            return self.check(row)
        if not isinstance(row, dict):
            return None
        chosen = self.choose(row)
        if isinstance(chosen, tuple):
            self.check = _anything
            return chosen
        if chosen is None and self.columns:
            self._before = row if self._before is None else self._before
            return None
        self.check = chosen or _anything
        earlier = self.check(self._before) if self._before is not None else None
        return (earlier[0], f"of the first record, {earlier[1]}") if earlier is not None else self.check(row)


def _anything(row: object) -> Verdict | None:
    return None


_AROUND = 64
"""Tokens at most that a chat template adds to a conversation of its own accord (a system message with a date)."""


class Fits:
    """Whether a row certainly is within a length; None where only the trainer's tokenizer can tell.

    limit: tokens. dropped: rows that are certainly longer are left out (else nobody knows what becomes of them).
    extra: tokens at most that stand around the texts beside what is usual for messages.
    """

    __slots__ = ("dropped", "extra", "key", "limit")

    def __init__(self, limit: float, *, dropped: bool = False, extra: int = 0) -> None:
        self.limit = limit
        self.dropped = dropped
        self.extra = _AROUND + extra
        self.key = f"{limit} {dropped} {extra}"  # all that a verdict hangs on

    def __call__(self, row: object) -> bool | None:
        from epochlint.records import record_tokens

        least, most = record_tokens(row)
        if most + self.extra <= self.limit:
            return True
        return False if self.dropped and least > self.limit else None


def readable_conversation(messages: object, role_key: str, text_key: str) -> bool:
    """Whether a list of messages has nothing that a loader could stumble over: sides that all know, a system message
    only in front, texts everywhere, and something beside the system."""
    if not isinstance(messages, list):
        return False
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get(text_key), str):
            return False
        role = message.get(role_key)
        if role not in _SIDES and not (role == "system" and at == 0):
            return False
    return any(message[role_key] != "system" for message in messages)
