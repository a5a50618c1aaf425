"""What a service accepts in a request: pydantic models, made from the fields of the data file.

A field of the data file holds

    type                "int", "number", "text", "numeric text", "bool", "any", "word" (nothing but `words`),
                        "object" (of `fields`), "map" (each value as in `values`), "list" (each item as in `items`);
                        where several may stand they are joined with " or "
    words               further texts that may stand there; with "folded" in any case
    low, high           bounds of a number, also of one in a text; it lies above `above` and below `below`
    shortest, longest   bounds of the characters, items or entries
    pattern             what the whole text must match
    required            without it a request is refused
    default             what the service takes where nothing is written
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Node, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

UNKNOWN, MISSING, RANGE, TYPE = "unknown", "missing", "range", "type"
_RANGES = ("greater_than", "less_than", "out_of_range", "too_", "string_too_", "string_pattern")
_PLACEHOLDER = re.compile(r"[<>{}$]|\.\.\.|(?i:your[-_ ]|xxx|todo|replace|change[-_ ]?me)")
_OPEN = object()  # a value that cannot be known
_NULL = object()  # null, where it is "not set"
_models: dict[int, tuple[dict[str, Any], Any]] = {}  # by the fields' id; they are kept, so that it stays theirs


class Fault:
    """What is wrong at a path of keys and indices (the last one of a missing field is its name)."""

    __slots__ = ("field", "kind", "path")

    def __init__(self, kind: str, path: tuple[str | int, ...], field: dict[str, Any]) -> None:
        self.kind = kind
        self.path = path
        self.field = field


def faults(body: Mapping, fields: dict[str, Any], *, nulls: bool) -> Iterator[Fault]:
    """What a service with these fields finds wrong in a body. `nulls`: it takes null for "not set"."""
    from pydantic import ValidationError

    values = _plain(body, nulls)
    try:
        _model(fields).model_validate(values)
    except ValidationError as failed:
        found: dict[tuple[str | int, ...], set[str]] = {}
        for error in failed.errors(include_url=False, include_input=False, include_context=False):
            path = _path(error["loc"], values, error["type"] == "missing")
            found.setdefault(path, set()).add(error["type"])
        for path, kinds in found.items():
            if any(len(other) > len(path) and other[: len(path)] == path for other in found):
                continue  # of what may be a block or a text, the block is told about
            field = field_at(path, fields)
            yield Fault(_kind(kinds, field, path, values), path, field)


def node_at(body: Mapping, path: tuple[str | int, ...]) -> Node | None:
    """The node under a path of keys and indices."""
    node: Node | None = body
    for part in path:
        if isinstance(node, Mapping):
            node = node.get(str(part))
        elif isinstance(node, Sequence) and isinstance(part, int):
            node = node.items[part]
        else:
            return None
    return node


def _path(location: tuple[str | int, ...], values: object, missing: bool) -> tuple[str | int, ...]:
    """Where an error stands, without pydantic's names for the members of a union."""
    path: list[str | int] = []
    value = values
    for at, part in enumerate(location):
        if isinstance(value, dict) and (part in value or (missing and at == len(location) - 1)):
            value = value.get(part)
        elif isinstance(value, list) and isinstance(part, int) and part < len(value):
            value = value[part]
        else:
            continue
        path.append(part)
    return tuple(path)


def field_at(path: tuple[str | int, ...], fields: dict[str, Any]) -> dict[str, Any]:
    """What the data file says about the place under a path."""
    field: dict[str, Any] = {"fields": fields}
    for part in path:
        inner = field.get("items") if isinstance(part, int) else field.get("fields", {}).get(part, field.get("values"))
        field = inner if inner is not None else {}
    return field


def _kind(kinds: set[str], field: dict[str, Any], path: tuple[str | int, ...], values: object) -> str:
    if "missing" in kinds:
        return MISSING
    if "extra_forbidden" in kinds:
        return UNKNOWN
    value = values
    for part in path:
        value = value[part]  # type: ignore[index] # the path was made along these values
    another_word = isinstance(value, str) and is_word(field)
    return RANGE if another_word or any(kind.startswith(_RANGES) for kind in kinds) else TYPE


def _plain(node: Node, nulls: bool) -> Any:
    """A value as the service gets it; `_OPEN` where it cannot be known or is a placeholder."""
    if isinstance(node, Scalar):
        if node.value is None:
            return _NULL if nulls else None
        return _OPEN if isinstance(node.value, str) and _PLACEHOLDER.search(node.value) else node.value
    if isinstance(node, Mapping):
        return {entry.key: _plain(entry.value, nulls) for entry in node.entries if not entry.key.isdigit()}
    if isinstance(node, Sequence):
        return [_plain(item, nulls) for item in node.items]
    return _OPEN


def _optional(value: object, handler: Any) -> object:
    return value if value is _OPEN or value is _NULL else handler(value)


def _required(value: object, handler: Any) -> object:
    return value if value is _OPEN else handler(None if value is _NULL else value)


def _model(fields: dict[str, Any]) -> Any:
    """The pydantic model of a block of the data file."""
    found = _models.get(id(fields))
    if found is None:
        from pydantic import ConfigDict, create_model

        parts: dict[str, Any] = {
            # Some names are pydantic's own (`schema`), so fields go by their alias.
            f"field_{name}": (_checked(field), _of(name, bool(field.get("required"))))
            for name, field in fields.items()
        }
        config = ConfigDict(extra="forbid", protected_namespaces=())
        found = _models[id(fields)] = (fields, create_model("Body", __config__=config, **parts))
    return found[1]


def _of(name: str, required: bool) -> Any:
    from pydantic import Field

    return Field(alias=name) if required else Field(default=None, alias=name)


def _checked(field: dict[str, Any]) -> Any:
    """The type of a field, which takes what is not known."""
    from typing import Annotated

    from pydantic import WrapValidator

    return Annotated[_type(field), WrapValidator(_required if field.get("required") else _optional)]


def _type(field: dict[str, Any]) -> Any:
    """The type of one field: strict numbers, words, text that holds a number."""
    from typing import Annotated, Any, Literal, Union

    from pydantic import Field

    bounds = _named(field, ge="low", le="high", gt="above", lt="below")
    sizes = _named(field, min_length="shortest", max_length="longest")
    choices: list[Any] = []
    for kind in field["type"].split(" or "):
        if kind == "int":
            choices.append(Annotated[int, Field(strict=True, **bounds)])
        elif kind == "number":
            choices.append(Annotated[float, Field(strict=True, **bounds)])
        elif kind == "bool":
            choices.append(Annotated[bool, Field(strict=True)])
        elif kind == "numeric text" or (kind == "text" and bounds):
            choices.append(_numeric(bounds))
        elif kind == "text":
            pattern = f"^(?:{field['pattern']})$" if "pattern" in field else None
            choices.append(Annotated[str, Field(strict=True, pattern=pattern, **sizes)])
        elif kind == "object":
            inner = field.get("fields")
            choices.append(_model(inner) if inner is not None else dict[str, Any])
        elif kind == "map":
            values = _checked(field["values"]) if "values" in field else Any
            choices.append(Annotated[dict[str, values], Field(**sizes)])  # type: ignore[valid-type] # made at run time
        elif kind == "list":
            items = _checked(field["items"]) if "items" in field else Any
            choices.append(Annotated[list[items], Field(strict=True, **sizes)])  # type: ignore[valid-type]
        elif kind == "any":
            return Any
    if field.get("folded"):
        choices.append(_folded(frozenset(map(fold, field["words"]))))
    elif field.get("words"):
        choices.append(Literal[tuple(field["words"])])
    return Union[tuple(choices)]  # noqa: UP007 # made at run time


def _named(field: dict[str, Any], **names: str) -> dict[str, Any]:
    return {ours: field[theirs] for ours, theirs in names.items() if field.get(theirs) is not None}


def is_word(field: dict[str, Any]) -> bool:
    """Whether a text must be one of the field's words."""
    return "word" in field.get("type", "").split(" or ")


def fold(word: str) -> str:
    return word.lower().replace("_", "")


def _folded(words: frozenset[str]) -> Any:
    """A text that is one of some words, in any case and with or without underscores."""
    from typing import Annotated

    from pydantic import AfterValidator, Field
    from pydantic_core import PydanticCustomError

    def among(text: str) -> str:
        if fold(text) not in words:
            raise PydanticCustomError("another_word", "another word")
        return text

    return Annotated[str, Field(strict=True), AfterValidator(among)]


def _numeric(bounds: dict[str, float]) -> Any:
    """A text that holds a number within bounds."""
    from typing import Annotated

    from pydantic import AfterValidator, Field
    from pydantic_core import PydanticCustomError

    def within(text: str) -> str:
        try:
            value = float(text)
        except ValueError:
            raise PydanticCustomError("numeric_text", "a text that holds a number") from None
        outside = (
            value < bounds.get("ge", value)
            or value > bounds.get("le", value)
            or value <= bounds.get("gt", value - 1)
            or value >= bounds.get("lt", value + 1)
        )
        if value != value or outside:
            raise PydanticCustomError("out_of_range", "out of range")
        return text

    return Annotated[str, Field(strict=True), AfterValidator(within)]


def demand(field: dict[str, Any], kind: str) -> str:
    """What a field must be, in words; `kind` of the fault tells which side of it."""
    words = " or ".join(f'"{word}"' for word in field.get("words", ()))
    if kind == RANGE and not is_word(field):
        limits = [_span(field), _size(field), f"the pattern {field['pattern']}" if "pattern" in field else ""]
        return f"the service takes {' and '.join(limit for limit in limits if limit)}"
    first = field["type"].split(" or ")[0]
    wanted = _WANTED.get(first, first)
    return f"the service takes {wanted}{' or ' if wanted and words else ''}{words}"


_WANTED = {
    "int": "a whole number without quotes",
    "number": "a number without quotes",
    "text": "text in quotes, not a number",
    "numeric text": "a number",
    "bool": "true or false",
    "list": "a list",
    "map": "a block of keys and values",
    "object": "a block",
    "word": "",
}


def _span(field: dict[str, Any]) -> str:
    low, high, above, below = (field.get(bound) for bound in ("low", "high", "above", "below"))
    if low is not None and high is not None:
        return f"{low:g} only" if low == high else f"{low:g} to {high:g}"
    parts = [
        f"{word} {value:g}"
        for word, value in (("more than", above), ("at least", low), ("at most", high), ("less than", below))
        if value is not None
    ]
    return " and ".join(parts)


def _size(field: dict[str, Any]) -> str:
    least, most = field.get("shortest"), field.get("longest")
    unit = "items" if "list" in field["type"] else "entries" if "map" in field["type"] else "characters"
    if least is not None and most is not None:
        return f"{least} to {most} {unit}"
    return f"at least {least} {unit}" if least is not None else f"at most {most} {unit}" if most is not None else ""
