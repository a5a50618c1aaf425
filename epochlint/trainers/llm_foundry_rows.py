"""What LLM Foundry's finetuning loader refuses in a row that no preprocessing function has made.

Read in llm-foundry 0.22.0 (`data/finetuning/tasks.py`, `_get_example_type` and `_validate_chat_formatted_example`) and
recorded in tests/conformance. `datasets` makes columns of all rows' keys, and likewise of all messages' keys.
"""

from __future__ import annotations

from epochlint.trainers.row_checks import invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.row_checks import Verdict

NAME = "LLM Foundry"
_RESPONSES = ("response", "completion")
_ROLES = ("user", "assistant", "system", "tool")


class Rows:
    """A check of all rows in order: it remembers the columns."""

    __slots__ = ("columns",)
    settled = False  # a row may always bring a new column

    def __init__(self) -> None:
        self.columns: set[object] = set()

    def __call__(self, row: object) -> Verdict | None:
        if not isinstance(row, dict):
            return invalid(f"the record is no object: {NAME} stops there")
        new = [key for key in row if key not in self.columns]
        if new:
            self.columns.update(new)
            known = self.columns <= {"messages"} or any(self.columns <= {"prompt", key} for key in _RESPONSES)
            if not known:
                named = ", ".join(sorted(map(str, new)))
                return invalid(f"columns other than messages, or prompt and response ({named}): {NAME} stops there")
        if "messages" in self.columns:
            return _conversation(row.get("messages"))
        for key in self.columns:
            if not isinstance(row.get(key), str):
                return invalid(f"{key} is no text: {NAME} stops there")
        return None


def _conversation(messages: object) -> Verdict | None:
    if not isinstance(messages, list) or len(messages) < 2:
        return invalid(f"a conversation has at least two messages: {NAME} stops there")
    last: object = None
    for at, message in enumerate(messages, 1):
        if not isinstance(message, dict) or not message.keys() <= {"role", "content"}:
            return invalid(f"message {at} is not a role and a content alone: {NAME} stops there")
        role = message.get("role")
        if role not in _ROLES:
            return invalid(f"the role of message {at} is none of {', '.join(_ROLES)}: {NAME} stops there")
        if not isinstance(message.get("content"), (str, list)):
            return invalid(f"the content of message {at} is no text: {NAME} stops there")
        if role == last:
            return invalid(f"messages {at - 1} and {at} are both the {role}'s: {NAME} stops there")
        last = role
    if last != "assistant":
        return invalid(f"the last message is not the assistant's: {NAME} stops there")
    return None
