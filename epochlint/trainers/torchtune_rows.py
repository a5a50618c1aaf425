"""What torchtune's data sets refuse in a row.

Read in torchtune 0.6.1 (`data/_messages.py`: the transforms and `validate_messages`; `datasets/`) and recorded in
tests/conformance. A row is looked at when its turn comes, so that the run stops in its first pass.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.trainers.row_checks import invalid, messages_missing, texts_missing
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.trainers.row_checks import Verdict

    Check = Callable[[object], Verdict | None]

NAME = "torchtune"
_SHAREGPT = {"system": "system", "human": "user", "gpt": "assistant"}


def check_of(item: Mapping) -> Check | None:
    """The check of a data set by its builder; None where the builder is another, or is given words of its own."""
    builder = text_of(item.get("_component_")) or ""
    kind = builder.removeprefix("torchtune.datasets.")
    if kind == "alpaca_dataset":
        return _texts(item, {"output": "output"})
    if kind == "instruct_dataset":
        return _texts(item, {"input": "input", "output": "output"})
    if kind == "text_completion_dataset":
        column = item.get("column")
        name = "text" if column is None else text_of(column)
        return None if name is None else lambda row: texts_missing(row, (name,), NAME)
    if kind == "preference_dataset":
        return _pairs(item)
    return _chat(item) if kind == "chat_dataset" else None


def _columns(item: Mapping, usual: dict[str, str]) -> dict[str, str] | None:
    given = item.get("column_map")
    if given is None or (isinstance(given, Scalar) and given.value is None):
        return usual
    if not isinstance(given, Mapping):
        return None
    found = {name: text_of(given.get(name)) for name in usual}
    known = {name: text for name, text in found.items() if text is not None}
    return known if len(known) == len(usual) else None


def _texts(item: Mapping, usual: dict[str, str]) -> Check | None:
    columns = _columns(item, usual)
    if columns is None:
        return None
    keys = tuple(columns.values())
    return lambda row: texts_missing(row, keys, NAME)


def _pairs(item: Mapping) -> Check | None:
    columns = _columns(item, {"chosen": "chosen", "rejected": "rejected"})
    if columns is None:
        return None

    def check(row: object) -> Verdict | None:
        for key in columns.values():
            found = messages_missing(row, key, NAME)
            if found is not None:
                return found
            assert isinstance(row, dict)
            if not all(_is_said(message.get("content")) for message in row[key]):
                return invalid(f"a message in {key} has no text: {NAME} stops there")
        return None

    return check


def _is_said(content: object) -> bool:
    """Whether a content is a text, or parts of one."""
    return isinstance(content, str) or (isinstance(content, list) and all(isinstance(part, dict) for part in content))


def _chat(item: Mapping) -> Check | None:
    column, style = text_of(item.get("conversation_column")), text_of(item.get("conversation_style"))
    if column is None or style not in ("openai", "sharegpt"):
        return None
    replaced = item.get("new_system_prompt")
    without_system = replaced is not None and not (isinstance(replaced, Scalar) and replaced.value is None)
    role_key, text_key = ("from", "value") if style == "sharegpt" else ("role", "content")

    def check(row: object) -> Verdict | None:
        found = messages_missing(row, column, NAME)
        if found is not None:
            return found
        assert isinstance(row, dict)
        roles = []
        for at, message in enumerate(row[column], 1):
            role = message.get(role_key)
            if style == "sharegpt":
                if role not in _SHAREGPT:
                    return invalid(f"message {at} is from {role!r}, not system, human or gpt: {NAME} stops there")
                role = _SHAREGPT[role]
            if style == "sharegpt" and not isinstance(message.get(text_key), str):
                return invalid(f"message {at} has no text in {text_key}: {NAME} stops there")
            if text_key not in message:
                return invalid(f"message {at} has no {text_key}: {NAME} stops there")
            said = message[text_key]  # a later message without a text is given the one before
            if not _is_said(said) and (at == 1 or isinstance(said, list)):
                return invalid(f"message {at} has no text in {text_key}: {NAME} stops there")
            if not (without_system and role == "system"):
                roles.append(role)
        return _order(["system", *roles] if without_system else roles)

    return check


def _order(roles: list[object]) -> Verdict | None:
    """`validate_messages`: at least two, the system first, an assistant only after the user, no two users in turn."""
    if len(roles) < 2:
        return invalid(f"a conversation of {len(roles)} messages, of at least 2: {NAME} stops there")
    last: object = "assistant"
    for at, role in enumerate(roles, 1):
        if role == "assistant" and last != "user":
            return invalid(f"message {at} is the assistant's and does not follow the user's: {NAME} stops there")
        if role == "user" and last == "user":
            return invalid(f"messages {at - 1} and {at} are both the user's: {NAME} stops there")
        if role == "system" and at > 1:
            return invalid(f"message {at} is the system's and not the first: {NAME} stops there")
        last = role
    return None
