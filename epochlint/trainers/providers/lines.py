"""What a service refuses in a line of training data.

OpenAI and Azure: openai/openai-openapi f85dbe2 (FineTuneChatRequestInput, FineTunePreferenceRequestInput) and the data
checks of the cookbook 2e65270; Together: together 3.1.1 (one format a file, checked line by line).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    Judged = tuple[str, str] | None

INVALID, NO_TARGET = "data_invalid", "data_without_target"
_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def openai_chat(row: object) -> Judged:
    """A line for supervised tuning: `messages` that end with something to learn from."""
    if not isinstance(row, dict):
        return INVALID, "not a JSON object"
    messages = row.get("messages")
    if not isinstance(messages, list) or not messages:
        return INVALID, "no list of messages"
    return _messages(messages, weighted=True)


def _messages(messages: list[object], weighted: bool) -> Judged:
    answers = learned = 0
    for message in messages:
        if not isinstance(message, dict):
            return INVALID, "a message is not a JSON object"
        role = message.get("role")
        if role not in _ROLES:
            return INVALID, f"a message has the role {role!r}"
        calls = message.get("tool_calls") or message.get("function_call")
        if message.get("content") is None and not calls:
            return INVALID, f"a message of the {role} has no content"
        weight = message.get("weight")
        if weight is not None and (weight not in (0, 1) or role != "assistant"):
            return INVALID, "a weight must be 0 or 1, and stand on an assistant message"
        if role == "assistant":
            answers += 1
            learned += weight != 0
    if not answers:
        return INVALID, "no assistant message"
    if weighted and not learned:
        return NO_TARGET, "every assistant message has weight 0: nothing is learned from this line"
    return None


def openai_preference(row: object) -> Judged:
    """A line for preference tuning: an input and two outputs."""
    if not isinstance(row, dict):
        return INVALID, "not a JSON object"
    given = row.get("input")
    if not isinstance(given, dict) or not isinstance(given.get("messages"), list):
        return INVALID, "no input with messages"
    for key in ("preferred_output", "non_preferred_output"):
        output = row.get(key)
        if not isinstance(output, list) or not output:
            return INVALID, f"no {key}"
        for message in output:
            if not isinstance(message, dict) or message.get("role") not in ("assistant", "tool"):
                return INVALID, f"{key} may only hold assistant messages"
    return None


class Together:
    """Lines of one format: `messages`, `prompt` and `completion`, `text`, or a preference pair. The file's first line
    says which."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: str | None = None

    @property
    def settled(self) -> bool:
        """Whether a verdict hangs on the line alone from now on."""
        return self._first is not None

    def __call__(self, row: object) -> Judged:
        if not isinstance(row, dict):
            return INVALID, "not a JSON object"
        formats = [
            name
            for name, keys in (
                ("messages", ("messages",)),
                ("prompt and completion", ("prompt", "completion")),
                ("text", ("text",)),
                ("preference", ("input", "preferred_output", "non_preferred_output")),
            )
            if all(key in row for key in keys)
        ]
        if len(formats) > 1:
            return INVALID, f"holds two formats ({' and '.join(formats)})"
        if not formats:
            return INVALID, "holds none of the formats (messages, prompt and completion, text)"
        if self._first is None:
            self._first = formats[0]
        elif formats[0] != self._first:
            return INVALID, f"is in the format {formats[0]}, the lines before in {self._first}"
        return None
