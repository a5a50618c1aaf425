"""The shape of a record (how its author laid out the training example), and how many messages it holds.

Sources of the shapes: OpenAI, Azure, Together, Fireworks (`messages`; `input` + `preferred_output`), Mistral
(`messages`, `interactions`), Vertex (`contents`), Gemini API (`text_input`), Bedrock (`prompt` + `completion`;
`bedrock-conversation-2024`), Cohere (roles System, User, Chatbot), Databricks (a bare list of messages),
LLaMA-Factory 0.9.5 (alpaca with `history`, ShareGPT, `kto_tag`), TRL 1.16 (prompt-completion, preference,
unpaired preference, prompt-only).
"""

from __future__ import annotations

ASSISTANT_ROLES = frozenset(
    ("assistant", "Assistant", "ASSISTANT", "gpt", "model", "Chatbot", "chatbot", "CHATBOT", "bot", "chatgpt", "bing",
     "function_call", "ai", "AI")
)  # fmt: skip
"""Names of the side that is trained. `function_call` is LLaMA-Factory's role for an assistant's tool call."""

_COHERE_ROLES = frozenset(("System", "User", "Chatbot"))
_LIST_KEYS = ("messages", "conversations", "conversation")

Tally = tuple[str, "int | None", "int | None"]
_UNKNOWN: Tally = ("unknown", None, None)


def shape_of(value: object) -> str:
    """The shape's name, as in `Count.shape`."""
    return tally(value)[0]


def tally(value: object) -> Tally:
    """Shape, messages and assistant turns of one record (None, None where the shape has no messages).

    Messages are the elements of the record's message lists, system messages among them (a system prompt that
    stands in a key of its own is none). A preference pair's messages are those of both answers, its assistant turns
    those of the preferred side. An alpaca record with n pairs of history is n + 1 turns.
    """
    if type(value) is dict:
        messages = value.get("messages")
        if type(messages) is list:
            return _conversation(value, messages)
        return _other(value)
    if type(value) is list:
        if value and _is_message(value[0]):
            return ("provider-databricks", len(value), assistant_turns(value))
        return _UNKNOWN
    return ("text", None, None) if type(value) is str else _UNKNOWN


def assistant_turns(messages: list[object]) -> int:
    """How many messages of a list are the assistant's."""
    try:
        roles = tuple([message["role"] for message in messages])  # type: ignore[index] # all but dicts raise
        known = _turns.get(roles)
    except (KeyError, TypeError):
        return _assistant_turns(messages)
    if known is None:
        known = _assistant_turns(messages)
        if len(roles) <= _LONGEST and len(_turns) < _MOST_KNOWN and all(role and type(role) is str for role in roles):
            _turns[roles] = known
    return known


_turns: dict[tuple[object, ...], int] = {}
"""The assistant's turns by the roles of a conversation: a file has few kinds of them."""
_LONGEST, _MOST_KNOWN = 64, 1024


def _assistant_turns(messages: list[object]) -> int:
    turns = 0
    for message in messages:
        if type(message) is dict:
            role = message.get("role") or message.get("from")
            if (role in ASSISTANT_ROLES) if type(role) is str else (message.get("is_user") is False):
                turns += 1
    return turns


def messages_of(value: object) -> list[object] | None:
    """The record's list of messages as it stands there (`role`/`content`, `from`/`value`, `role`/`parts`), or None.

    For a preference record these are the messages before the two answers.
    """
    if type(value) is list:
        return value if value and _is_message(value[0]) else None
    if type(value) is not dict:
        return None
    for key in (*_LIST_KEYS, "contents", "interactions", "prompt"):
        found = value.get(key)
        if type(found) is list and (key != "prompt" or (found and _is_message(found[0]))):
            return found
    inner = value.get("input")
    messages = inner.get("messages") if type(inner) is dict else None
    return messages if type(messages) is list else None


def _is_message(value: object) -> bool:
    return type(value) is dict and ("role" in value or "from" in value or "is_user" in value)


def _conversation(value: dict[str, object], messages: list[object]) -> Tally:
    turns = assistant_turns(messages)
    shape = "messages"
    first = messages[0] if messages else None
    if type(first) is dict:
        if "role" not in first and "from" in first:
            shape = "sharegpt"
        elif str(first.get("role")) in _COHERE_ROLES and (turns == 0 or _has_role(messages, "Chatbot")):
            shape = "provider-cohere"
    if len(value) > 1:
        if "chosen" in value and "rejected" in value:
            return _pair(messages, value["chosen"], value["rejected"])
        if "preferred_output" in value:
            return _pair(messages, value["preferred_output"], value.get("non_preferred_output"))
        if type(value.get("kto_tag")) is bool or type(value.get("label")) is bool:
            shape = "kto"
        elif "schemaVersion" in value:
            shape = "provider-bedrock"
            if any(type(message) is dict and "candidates" in message for message in messages):
                shape = "preference"
    return (shape, len(messages), turns)


def _other(value: dict[str, object]) -> Tally:
    if "input_ids" in value:
        return ("tokenized", None, None)
    if "chosen" in value and "rejected" in value:
        context = value.get("prompt")
        if context is None:
            context = value.get("conversations", value.get("conversation"))
        return _pair(context, value["chosen"], value["rejected"])
    inner = value.get("input")
    if "preferred_output" in value or "non_preferred_output" in value:
        context = inner.get("messages") if type(inner) is dict else None
        return _pair(context, value.get("preferred_output"), value.get("non_preferred_output"))
    for key in ("conversations", "conversation"):
        messages = value.get(key)
        if type(messages) is list and messages and type(messages[0]) is dict:
            tag = type(value.get("kto_tag")) is bool or type(value.get("label")) is bool
            shape = "kto" if tag else "messages" if "role" in messages[0] else "sharegpt"
            return (shape, len(messages), assistant_turns(messages))
    contents = value.get("contents")
    if type(contents) is list:
        completions = value.get("completions")
        if type(completions) is list:
            return ("preference", len(contents) + len(completions), assistant_turns(contents) + 1)
        return ("provider-vertex", len(contents), assistant_turns(contents))
    if type(value.get("interactions")) is list:
        messages = value["interactions"]
        assert type(messages) is list
        return ("provider-mistral", len(messages), assistant_turns(messages))
    if "prompt" in value:
        return _prompt(value)
    if "instruction" in value and ("output" in value or "response" in value):
        history = value.get("history")
        pairs = len(history) if type(history) is list else 0
        return ("alpaca", 2 * pairs + 2, pairs + 1)
    if ("text_input" in value or "textInput" in value) and "output" in value:
        return ("provider-gemini", None, None)
    if type(value.get("text")) is str:
        return ("text", None, None)
    return _UNKNOWN


def _prompt(value: dict[str, object]) -> Tally:
    prompt = value["prompt"]
    answer = value.get("completion", value.get("response"))
    if type(prompt) is list and prompt and _is_message(prompt[0]):
        answers = answer if type(answer) is list else []
        messages: int | None = len(prompt) + len(answers)
        turns: int | None = assistant_turns(prompt) + assistant_turns(answers)
    else:
        messages = turns = None
    if answer is None:
        return ("prompt-only", messages, turns)
    if type(value.get("label")) is bool:
        return ("kto", messages, turns)
    return ("prompt-completion", messages, turns)


def _pair(context: object, chosen: object, rejected: object) -> Tally:
    lists = [
        part if type(part) is list else [part] if _is_message(part) else [] for part in (context, chosen, rejected)
    ]
    messages = sum(map(len, lists))
    if not messages:
        return ("preference", None, None)
    return ("preference", messages, assistant_turns(lists[0]) + assistant_turns(lists[1]))


def _has_role(messages: list[object], role: str) -> bool:
    return any(type(message) is dict and message.get("role") == role for message in messages)
