"""`dataset_info.json`: the names that LLaMA-Factory's `dataset:` means, each with its file or hub.

Read in llamafactory 0.9.5, `data/parser.py`.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document

LABEL = "llamafactory-dataset-info"
CALLS: frozenset[str] = frozenset()

SOURCES = ("file_name", "hf_hub_url", "ms_hub_url", "om_hub_url", "script_url", "cloud_file_name")


def recognise(document: Document) -> list[Mapping]:
    """A JSON object whose values all name a source of data."""
    if document.syntax != "json":
        return []
    return [mapping for mapping in document.mappings() if is_info(mapping)]


def is_info(mapping: Mapping) -> bool:
    entries = [entry for entry in mapping.entries if not entry.key.startswith(("_", "//"))]
    return bool(entries) and all(
        isinstance(entry.value, Mapping) and any(key in entry.value for key in SOURCES) for entry in entries
    )


# The columns that an entry has where it lists none; one that lists some has only those (`DatasetAttr`).
_COLUMNS = {"prompt": "instruction", "query": "input", "response": "output", "messages": "conversations"}
_TAGS = {
    "role_tag": "from",
    "content_tag": "value",
    "user_tag": "human",
    "assistant_tag": "gpt",
    "observation_tag": "observation",
    "function_tag": "function_call",
    "system_tag": "system",
}


class Attributes:
    """One entry as the loader understands it."""

    __slots__ = ("columns", "file", "formatting", "hub", "mapping", "ranking", "samples", "split", "subset", "tags")

    def __init__(self, mapping: Mapping) -> None:
        self.mapping = mapping
        self.formatting = text_of(mapping.get("formatting")) or "alpaca"
        ranking = mapping.get("ranking")
        self.ranking = isinstance(ranking, Scalar) and ranking.value is True
        self.split = text_of(mapping.get("split")) or "train"
        self.subset = text_of(mapping.get("subset")) or ""
        hubs = [text_of(mapping.get(key)) for key in ("hf_hub_url", "ms_hub_url", "om_hub_url")]
        self.hub = next((hub for hub in hubs if hub), None)
        others = any(key in mapping for key in SOURCES[1:])
        self.file = None if others else text_of(mapping.get("file_name"))
        samples = mapping.get("num_samples")
        self.samples = samples.value if isinstance(samples, Scalar) and type(samples.value) is int else None
        self.columns = _texts(mapping.mapping("columns"), _COLUMNS)
        self.tags = _texts(mapping.mapping("tags"), _TAGS)


def _texts(mapping: Mapping | None, usual: dict[str, str]) -> dict[str, str]:
    if mapping is None:
        return dict(usual)
    return {entry.key: text for entry in mapping.entries if (text := text_of(entry.value)) is not None}


class Keep:
    """Whether LLaMA-Factory trains on a row, or drops it with a warning.

    `data/converter.py` empties conversations whose roles do not alternate or whose messages do not pair up, and
    `data/processor/` drops what is empty then (0.9.5). Messages that are no list, and texts that are none, stop it.
    A row that is null has nothing but nulls in its columns.
    """

    __slots__ = ("attributes",)

    def __init__(self, attributes: Attributes) -> None:
        self.attributes = attributes

    @property
    def key(self) -> str:
        """All that the verdicts hang on."""
        attributes = self.attributes
        parts = (attributes.formatting, attributes.ranking, attributes.columns, attributes.tags)
        return repr(parts)

    def __call__(self, row: object) -> bool:
        return self.reason({} if row is None else row) is None

    def judge(self, row: object) -> tuple[str, str] | None:
        """What is wrong with a row, in the words of an observation."""
        reason = self.reason({} if row is None else row)
        return ("data_invalid", reason) if reason is not None else None

    def reason(self, row: object) -> str | None:
        """Why a row is dropped; None where it is not."""
        if not isinstance(row, dict):
            return None
        if self.attributes.formatting in ("sharegpt", "openai"):
            return self._conversation(row)
        return self._alpaca(row)

    def _alpaca(self, row: dict[object, object]) -> str | None:
        columns = self.attributes.columns
        if self.attributes.ranking:
            for name in ("chosen", "rejected"):
                if name in columns and not isinstance(row.get(columns[name]), str):
                    return f"the {name} answer is no text: LLaMA-Factory drops the record"
            return None
        response = columns.get("response")
        tag = columns.get("kto_tag")
        if tag is not None and not isinstance(row.get(tag), bool):
            return f"{tag} is no true or false: LLaMA-Factory drops the record"
        if response is not None and tag is None and not isinstance(row.get(response), str):
            return f"{response} is no text: LLaMA-Factory drops the record"
        return None

    def _conversation(self, row: dict[object, object]) -> str | None:
        attributes, tags = self.attributes, self.attributes.tags
        key = attributes.columns.get("messages", "")
        messages = row.get(key)
        if not isinstance(messages, list):
            return f"{key} is no list: LLaMA-Factory stops there" if key else None
        role_tag = tags.get("role_tag", "")
        roles: list[object] = []
        for message in messages:
            if not isinstance(message, dict):
                return f"a message in {key} is no object: LLaMA-Factory stops there"
            role = message.get(role_tag)
            if attributes.formatting == "openai":
                role = self._openai_role(message, role)
            roles.append(role)
        if roles and roles[0] is not None and roles[0] == tags.get("system_tag"):
            del roles[0]
        if attributes.formatting == "openai":
            # Answers of several tools in a row become one message.
            observation = tags.get("observation_tag")
            pairs = zip(roles, [*roles[1:], None], strict=True)
            roles = [role for role, after in pairs if role != observation or after != role]
        sides = self._sides()
        for at, role in enumerate(roles):
            role = role if isinstance(role, str) else None
            if attributes.formatting == "openai" and role not in sides:
                return f"the role of message {at + 1} is none of its tags: LLaMA-Factory stops there"
            if sides.get(role) != at % 2:
                asked = "the user" if at % 2 == 0 else "the assistant"
                return f"message {at + 1} should be from {asked}: LLaMA-Factory drops the conversation"
        if len(roles) % 2 != (1 if attributes.ranking else 0):
            number = "even" if attributes.ranking else "odd"
            return f"an {number} number of messages: LLaMA-Factory drops the conversation"
        if not roles:
            return "no messages: LLaMA-Factory drops the conversation"
        return self._answers(row) or self._texts(messages)

    def _answers(self, row: dict[object, object]) -> str | None:
        """Pairs have two messages as their answers (`SharegptDatasetConverter`: else the conversation is emptied)."""
        if not self.attributes.ranking:
            return None
        for name in ("chosen", "rejected"):
            answer = row.get(self.attributes.columns.get(name, name))
            if not isinstance(answer, dict):
                return f"the {name} answer is no message: LLaMA-Factory drops the record"
            problem = self._texts([answer])
            if problem is not None:
                return problem
        return None

    def _texts(self, messages: list[object]) -> str | None:
        tag = self.attributes.tags.get("content_tag", "")
        for at, message in enumerate(messages, 1):
            assert isinstance(message, dict)
            if not isinstance(message.get(tag), str) and not self._calls(message):
                return f"message {at} has no text in {tag}: LLaMA-Factory stops there"
        return None

    def _sides(self) -> dict[object, int | None]:
        """Role -> 0 for who asks, 1 for who answers, None for the system. OpenAI's form looks up a tag that is not
        written by null, as the call of a tool then is (`OpenAIDatasetConverter`); a ShareGPT role must be there."""
        tags = self.attributes.tags
        order = (("user", 0), ("assistant", 1), ("observation", 0), ("function", 1), ("system", None))
        sides: dict[object, int | None] = {tags.get(f"{name}_tag"): side for name, side in order}
        if self.attributes.formatting != "openai":
            sides.pop(None, None)
        return sides

    def _openai_role(self, message: dict[object, object], role: object) -> object:
        return self.attributes.tags.get("function_tag") if self._calls(message) else role

    def _calls(self, message: dict[object, object]) -> bool:
        """Whether the message's text is made of its calls of tools."""
        tags = self.attributes.tags
        answers = (tags.get("assistant_tag"), tags.get("function_tag"))
        role = message.get(tags.get("role_tag", ""))
        return self.attributes.formatting == "openai" and role in answers and bool(message.get("tool_calls"))
