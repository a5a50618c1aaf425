"""Which rows Axolotl trains on, and at which it stops.

Read in `utils/trainer.py`, `utils/data/`, `prompt_strategies/` (0.8.0 to 0.19.0) and recorded in tests/conformance:
rows over `sequence_len` are dropped unless `excess_length_strategy` says otherwise, and with packing those in which
nothing is trained on, too.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Sequence
from epochlint.trainers.row_checks import Fits, invalid, messages_missing
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.row_checks import Verdict

NAME = "Axolotl"
_ASSISTANTS = ("assistant", "gpt", "model")
PREAMBLE = 80  # tokens at most that a prompt style (alpaca: 217 characters of plain English) puts around a row
_CUSTOM = ("roles", "message_field_training", "message_field_training_detail", "field")


def _trains_assistant(item: Mapping) -> bool:
    """Whether `roles_to_train` leaves in the assistant's turns; `train_on_eos` is only about the ends of turns."""
    roles = item.get("roles_to_train")
    if roles is None:
        return "roles_to_train" not in item
    return isinstance(roles, Sequence) and any(text_of(role) in ("assistant", "gpt") for role in roles.items)


class Rows:
    """One data set's rows. kind: its `type`; limit: `sequence_len`, or None where nothing is dropped for its length;
    drops: whether longer ones certainly go."""

    __slots__ = ("fits", "key", "kind", "messages", "own", "role_key", "text_key")

    def __init__(self, item: Mapping, kind: str, limit: float | None, *, drops: bool) -> None:
        self.kind = kind.partition(".")[0]
        extra = 0 if self.kind == "chat_template" else PREAMBLE
        self.fits = Fits(limit, dropped=drops, extra=extra) if limit is not None else None
        self.own = any(key in item for key in _CUSTOM) or not _trains_assistant(item)
        self.messages = text_of(item.get("field_messages")) or "messages"
        mapped = item.mapping("message_property_mappings")
        self.role_key = self._name(item, mapped, "role")
        self.text_key = self._name(item, mapped, "content")
        told = (self.kind, limit, drops, self.own, self.messages, self.role_key, self.text_key)
        self.key = repr(told)  # all that a verdict hangs on

    def _name(self, item: Mapping, mapped: Mapping | None, name: str) -> str:
        found = text_of(mapped.get(name)) if mapped is not None else None
        return found or text_of(item.get(f"message_field_{name}")) or name

    def check(self, row: object) -> Verdict | None:
        """What stops the preparation of the data."""
        if self.kind == "chat_template":
            found = messages_missing(row, self.messages, NAME)
            if found is not None:
                return found
            assert isinstance(row, dict)
            for at, message in enumerate(row[self.messages], 1):
                if message.get(self.role_key) is None:
                    return invalid(f"message {at} has no {self.role_key}: {NAME} stops there")
            return None
        if self.kind == "alpaca" and isinstance(row, dict) and not isinstance(row.get("output"), (str, type(None))):
            return invalid(f"output is no text: {NAME} stops there")
        if self.kind == "input_output":
            parts = row.get("segments") if isinstance(row, dict) else None
            if not isinstance(parts, list) or not all(
                isinstance(part, dict) and isinstance(part.get("text"), str) for part in parts
            ):
                return invalid(f"segments are no list of texts: {NAME} stops there")
        return None

    def keep(self, row: object) -> bool | None:
        """True for a row that is short enough and has something to train on."""
        fits = self.fits(row) if self.fits is not None else True
        return fits if fits is False or self._trains(row) else None

    def _trains(self, row: object) -> bool:
        if not isinstance(row, dict) or self.own:
            return False
        if self.kind == "alpaca":
            answer = row.get("output")
            return isinstance(answer, str) and bool(answer.strip())
        if self.kind == "input_output":
            return any(bool(part.get("label")) and bool(str(part.get("text")).strip()) for part in row["segments"])
        messages = row.get(self.messages)
        return isinstance(messages, list) and any(
            isinstance(message, dict)
            and message.get(self.role_key) in _ASSISTANTS
            and bool(str(message.get(self.text_key) or "").strip())
            for message in messages
        )
