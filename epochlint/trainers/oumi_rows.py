"""What Oumi's own data set of files refuses in a row.

Read in oumi 0.9 (`datasets/sft/sft_jsonlines.py`, `core/types/conversation.py`) and recorded in tests/conformance: the
first row tells the form, and every row is made a conversation, which pydantic checks.
"""

from __future__ import annotations

from epochlint.trainers.row_checks import Form, invalid

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.trainers.row_checks import Verdict

NAME = "Oumi"
_ROLES = ("system", "user", "assistant", "tool")
_ALPACA = ("instruction", "input", "output")


def check_of(form: str | None) -> Callable[[object], Verdict | None]:
    """The check of `text_sft`. form: the `format` that is written, "oumi" or "alpaca"."""
    written = {"oumi": _conversation, "alpaca": _alpaca}.get(form or "")
    return written if written is not None else Form(_chosen)


def _chosen(first: dict[object, object]) -> Callable[[object], Verdict | None] | Verdict | None:
    """`_detect_format`."""
    if "messages" in first:
        messages = first["messages"]
        known = isinstance(messages, list) and all(
            isinstance(message, dict) and "role" in message and ("content" in message or "tool_calls" in message)
            for message in messages
        )
        return _conversation if known else invalid(f"the first record's messages are none: {NAME} stops there")
    if "conversation" in first:
        return None
    if all(key in first for key in _ALPACA):
        return _alpaca
    return invalid(f"the first record has neither messages nor instruction, input and output: {NAME} stops there")


def _alpaca(row: object) -> Verdict | None:
    if not isinstance(row, dict):
        return invalid(f"the record is no object: {NAME} stops there")
    for key in _ALPACA:
        if key not in row:
            return invalid(f"{key} is missing: {NAME} stops there")
    return None if _is_said(row["output"]) else invalid(f"output is no text: {NAME} stops there")


def _conversation(row: object) -> Verdict | None:
    messages = row.get("messages") if isinstance(row, dict) else None
    if not isinstance(messages, list):
        return invalid(f"messages is no list: {NAME} stops there")
    for at, message in enumerate(messages, 1):
        if not isinstance(message, dict):
            return invalid(f"message {at} is no object: {NAME} stops there")
        if message.get("role") not in _ROLES:
            return invalid(f"the role of message {at} is none of {', '.join(_ROLES)}: {NAME} stops there")
        if message.get("content") is None and not message.get("tool_calls"):
            return invalid(f"message {at} has neither a content nor calls of tools: {NAME} stops there")
        if message.get("content") is not None and not _is_said(message["content"]):
            return invalid(f"the content of message {at} is no text: {NAME} stops there")
    return None


def _is_said(content: object) -> bool:
    """A text, or parts with a content of their own (OpenAI's have a `text`)."""
    if isinstance(content, list):
        return all(isinstance(part, dict) and ("content" in part or "binary" in part) for part in content)
    return isinstance(content, str)
