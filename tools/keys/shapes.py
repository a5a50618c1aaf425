"""What is known about one key, and the words in which Python sources say it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Shape:
    """A type, simplified: JSON kinds, the words it lists, the models it holds."""

    kinds: set[str]
    words: list[str] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    nested: list[str] = field(default_factory=list)
    enum: bool = False
    free: bool = False

    def joined(self, other: Shape) -> Shape:
        shape = Shape(self.kinds | other.kinds, enum=self.enum or other.enum)
        shape.words = [*self.words, *(w for w in other.words if w not in self.words)]
        shape.hints = [*self.hints, *other.hints]
        shape.nested = [*self.nested, *other.nested]
        # `Enum | str`: any text passes the type, the words are only a hint (unless the recipe knows better)
        shape.free = (
            self.free
            or other.free
            or any(("str" in part.kinds or "any" in part.kinds) and not part.words for part in (self, other))
        )
        return shape


@dataclass
class Field:
    """One key at one version."""

    type: str = "any"
    kind: str = "required"  # known, required, factory (made by code), computed, either (machine decides)
    default: Any = None
    words: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    aliases: list[str] = field(default_factory=list)
    choices: list[str] = field(default_factory=list)
    hidden: bool = False
    dropped: bool = False
    enum: bool = False
    free: bool = False
    below: str = ""  # the block of the same owner that this key holds

    def take(self, shape: Shape) -> None:
        kinds = set(shape.kinds)
        optional = "null" in kinds or (self.kind == "known" and self.default is None)
        kinds.discard("null")
        if "any" in kinds or not kinds:
            kinds = {"any"}
        if {"int", "float"} <= kinds:
            kinds = kinds - {"int", "float"} | {"number"}
        self.type = "|".join(sorted(kinds)) + ("?" if optional else "")
        self.enum, self.free = shape.enum, shape.free
        self.words = tuple(shape.words) if not shape.free else ()
        self.hints = tuple(dict.fromkeys([*shape.hints, *(shape.words if shape.free else []), *self.choices]))
        self.nested = tuple(dict.fromkeys(shape.nested))


ENUMS = {"Enum", "IntEnum", "StrEnum", "ExplicitEnum", "BaseEnum"}
MODELS = {"BaseModel", "BaseSettings", "DeepSpeedConfigModel", "NamedTuple", "AppParams"}
# Outside bases that hold no keys.
PLAIN = {
    "object", "ABC", "Generic", "BaseModel", "Protocol", "Enum", "str", "ConfigDict", "BaseSettings", "PushToHubMixin",
    "HfArgumentParser", "NamedTuple", "dict", "type",
}  # fmt: skip
FIELD_CALLS = {"field", "Field", "Option", "Argument"}
SIMPLE = {
    "int": "int", "float": "float", "bool": "bool", "str": "str", "bytes": "str", "None": "null", "NoneType": "null",
    "Any": "any", "object": "any", "Path": "str", "PathLike": "str", "FilePath": "str", "DirectoryPath": "str",
    "PositiveInt": "int", "NonNegativeInt": "int", "PositiveFloat": "float", "NonNegativeFloat": "float",
    "StrictInt": "int", "StrictStr": "str", "StrictBool": "bool", "StrictFloat": "float", "conint": "int",
    "confloat": "float", "constr": "str", "conlist": "list", "complex": "any", "Number": "number",
}  # fmt: skip
LISTS = {"list", "List", "Sequence", "tuple", "Tuple", "set", "Set", "Iterable", "Collection", "FrozenSet"}
DICTS = {"dict", "Dict", "Mapping", "MutableMapping", "DictConfig", "OrderedDict", "defaultdict"}
OPERATIONS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.Div: lambda a, b: a / b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Pow: lambda a, b: a**b if abs(b) < 64 else None,
    ast.LShift: lambda a, b: a << b if b < 64 else None,
}


def dotted_name(node: ast.AST) -> str:
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = dotted_name(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def same_class(a: object, b: object) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        return a[1] is b[1]
    return a == b


def kind_of(value: object) -> str:
    for kind, word in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str"), (list, "list"), (dict, "dict")):
        if isinstance(value, kind):
            return word
    return ""


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for line in body:
        yield line
        if isinstance(line, ast.If):
            yield from statements(line.body)
            yield from statements(line.orelse)
