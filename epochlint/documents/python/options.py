"""One option of a command line: what a launch passes for it, its default, and how a word is typed."""

from __future__ import annotations

import ast

from epochlint.documents.document import Entry, Node, Scalar, Sequence
from epochlint.documents.python.library import as_default, cast
from epochlint.documents.python.model import Derived, Unknown
from epochlint.documents.python.paths import as_path
from epochlint.documents.python.values import (
    Class,
    Function,
    Imported,
    Items,
    Site,
    names_in,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.python.interpreter import Interpreter

_TRUE = frozenset(("true", "yes", "on", "1", "t", "y"))
_FALSE = frozenset(("false", "no", "off", "0", "f", "n"))
_PLAIN_TYPES = {"builtins.int": "int", "builtins.float": "float", "builtins.str": "str", "builtins.bool": "bool"}


def given(it: Interpreter, names: list[str], known: list[str]) -> Entry | None:
    """What the launch passes for an option. `known` are all option names: an unambiguous prefix counts, as argparse
    has it."""
    if it.flags is None:
        return None
    wanted = {plain_name(name) for name in names}
    found: Entry | None = None
    for entry in it.flags.entries:
        key = plain_name(entry.key)
        if key in wanted:
            found = entry
        elif len(key) > 1 and any(name.startswith(key) for name in wanted):
            fitting = {name for name in map(plain_name, known) if name.startswith(key)}
            if key not in map(plain_name, known) and fitting <= wanted:
                found = entry
    return found


def plain_name(name: str) -> str:
    return name.lstrip("-").replace("-", "_")


def default_value(it: Interpreter, value: Node) -> Node:
    """A default that no flag replaces: certain where the whole launch is known."""
    if it.flags is None:
        return as_default(value)
    if it.flags.open_ended:
        return Unknown(value.span, "the launch passes flags that are not visible", names_in(value))
    return value


def typed(it: Interpreter, value: Node, kind: str, function: Node | None = None) -> Node:
    """A word of the command line through an option's type."""
    if isinstance(value, Sequence):
        return Items(value.span, [typed(it, item, kind, function) for item in value.items], it.guard)
    if not isinstance(value, Scalar):
        return value
    found = _typed(it, value, kind, function)
    if isinstance(found, Derived) and getattr(value, "assumed", False):
        found.default = True  # `--lr ${LR:-2e-4}`
    return found


def _typed(it: Interpreter, value: Scalar, kind: str, function: Node | None) -> Node:
    word = value.raw
    if isinstance(function, Function):
        site = Site(
            None, function.name, function.name, value.span, value.span, [Scalar(value.span, word, word)], [], False
        )
        result = it.call(function, site)
        if isinstance(result, Scalar):
            return Derived(value.span, word, result.value)
        return Unknown(value.span, f"{function.name}() makes it")
    if kind == "bool":
        # `type=bool` is true for every word that is not empty.
        return Derived(value.span, word, bool(word))
    if kind in ("int", "float"):
        result_value = cast(kind, word)
        if result_value is None:
            return Unknown(value.span, f"it is not a value that {kind}() takes")
        return Derived(value.span, word, result_value)
    if kind in ("", "str"):
        return Derived(value.span, word, word)
    if kind in ("Path", "PurePath"):
        return as_path(value.span, word)
    return Unknown(value.span, f"{kind} makes it")


def literal(value: Node) -> Node:
    """A word as Fire reads it: a Python literal where it is one, else text."""
    if not isinstance(value, Scalar):
        return value
    word = value.raw
    try:
        result = ast.literal_eval(word) if len(word) < 200 and "\\" not in word else word
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        result = word
    if result is None or isinstance(result, (str, int, float, bool)):
        return Derived(value.span, word, result)
    return Unknown(value.span, "a value of several parts")


def truth_word(value: Node) -> Node:
    """A flag that is on where it stands alone or says so."""
    if not isinstance(value, Scalar):
        return value
    word = value.raw.lower()
    if word in _FALSE:
        return Derived(value.span, value.raw, False)
    return Derived(value.span, value.raw, True) if word in _TRUE or not word else Unknown(value.span, "a truth value")


def type_name(node: Node | None) -> str:
    if node is None:
        return ""
    if isinstance(node, Imported):
        return _PLAIN_TYPES.get(node.origin, node.origin.rpartition(".")[2])
    return node.name if isinstance(node, (Function, Class)) else "?"


def named(value: Node, names: frozenset[str]) -> Node:
    if isinstance(value, Derived):
        value.names = value.names | names
    elif isinstance(value, Unknown):
        return Unknown(value.span, value.reason, value.names | names)
    return value
