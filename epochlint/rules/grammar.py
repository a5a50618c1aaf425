"""The language of conditions, as it is written: from text to nested tuples.

The syntax is a part of Python's (parsed by `ast`, never run): and, or, not, comparisons (chained too), + - * / // %,
`in` with words in parentheses, `x if c else y`, and the functions of `FUNCTIONS`. A bare name is a fact, else a
setting; `settings.x`, `observation.x`, `baseline.x`, `baseline.settings.x` and `threshold.x` say where to look. Names
that a rule's `let:` defines stand for their expression. Only compiling imports this module.
"""

from __future__ import annotations

import ast
from difflib import get_close_matches

from epochlint.rules import vocabulary

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    Node = tuple[Any, ...]

VALUE, TRUTH = "value", "truth"

# Function -> (kinds of its arguments, kind of its result). "name": a fact or setting itself; "...": any number more.
FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    "written": (("name",), TRUTH),
    "given": (("name",), TRUTH),
    "known": (("name",), TRUTH),
    "unknown": (("name",), TRUTH),
    "off": (("name",), TRUTH),
    "by_default": (("name",), TRUTH),
    "estimated": (("name",), TRUTH),
    "is_default": (("setting",), TRUTH),
    "default": ((VALUE, VALUE), VALUE),
    "min": ((VALUE, VALUE, "..."), VALUE),
    "max": ((VALUE, VALUE, "..."), VALUE),
    "ceil": ((VALUE,), VALUE),
    "floor": ((VALUE,), VALUE),
    "round": ((VALUE,), VALUE),
    "root": ((VALUE,), VALUE),
    "abs": ((VALUE,), VALUE),
    "billions": ((VALUE,), VALUE),
    "contains": ((VALUE, VALUE), TRUTH),
    "starts": ((VALUE, VALUE), TRUTH),
    "at_least": ((VALUE, VALUE), TRUTH),
    "stated_at_least": ((VALUE, VALUE), TRUTH),
    "pinned": ((VALUE,), TRUTH),
    "uses": ((VALUE,), TRUTH),
    "differs_by_version": (("fact",), TRUTH),
    "same_data": ((), TRUTH),
    "maybe": ((TRUTH,), TRUTH),
    "surely": ((TRUTH,), TRUTH),
}

# Of these the written setting is asked for, not the fact that comes of it.
_OF_SETTINGS = frozenset({"written", "by_default", "is_default"})

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_SUMS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
}  # fmt: skip
_WORDS = {"true": True, "false": False, "none": None, "infinity": float("inf")}


class ExpressionError(ValueError):
    """An expression that cannot be compiled. `offset` is the character in its text."""

    def __init__(self, message: str, offset: int = 0) -> None:
        super().__init__(message)
        self.offset = offset


class Scope:
    """What names may mean in one rule: its thresholds, its `let:` names, the values of its observation."""

    def __init__(self, thresholds: Iterable[str] = (), observation: str | None = None) -> None:
        self.thresholds = frozenset(thresholds)
        self.settings = vocabulary.settings()
        self.let: dict[str, tuple[Node, str]] = {}
        self.observed: frozenset[str] | None = None
        if observation is not None:
            known = vocabulary.observations()
            if observation not in known:
                raise ExpressionError(f"unknown observation `{observation}`{_suggest(observation, known)}")
            self.observed = known[observation]

    def define(self, name: str, text: str) -> None:
        """A `let:` name; later ones may use earlier ones."""
        if name in vocabulary.FACTS or name in self.settings:
            raise ExpressionError(f"`{name}` is a fact or setting already; let needs another name")
        self.let[name] = compile_(text, self)


def compile_(text: str, scope: Scope) -> tuple[Node, str]:
    """An expression as nested tuples, and whether it is a value or a truth. Raises ExpressionError."""
    try:
        return _compile(ast.parse(text.strip(), mode="eval").body, scope)
    except SyntaxError as problem:
        raise ExpressionError(f"not an expression: {problem.msg}", (problem.offset or 1) - 1) from None
    except (RecursionError, MemoryError):
        raise ExpressionError("too deep an expression") from None
    except ExpressionError:
        raise
    except ValueError as problem:  # a null byte, a number with too many digits
        raise ExpressionError(f"not an expression: {problem}") from None


def condition(text: str, scope: Scope) -> Node:
    return _as(TRUTH, *compile_(text, scope))


def value(text: str, scope: Scope) -> Node:
    return _as(VALUE, *compile_(text, scope))


# What an answer hangs on beside the values of names.
_ELSEWHERE = frozenset({
    "observation", "baseline", "at_least", "stated_at_least", "pinned", "uses", "is_default", "differs_by_version",
    "same_data",
})  # fmt: skip


def requirements(node: Node) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """The parts of an `and` that ask one name alone, each as the name ("settings.x" for a setting) and its path of
    indexes: any of them that is false makes the whole false."""
    return tuple(_required(node, ()))


def _required(node: Node, path: tuple[int, ...]) -> Iterator[tuple[str, tuple[int, ...]]]:
    if node[0] == "and":
        for index, part in enumerate(node[1:], 1):
            yield from _required(part, (*path, index))
        return
    names = set(_asked(node))
    if len(names) == 1 and None not in names:
        yield str(names.pop()), path


def _asked(node: Node) -> Iterator[str | None]:
    """The names that an expression asks; None for anything else that its answer hangs on."""
    kind = node[0]
    if kind in _ELSEWHERE:
        yield None
    elif kind == "name":
        yield node[1]
    elif kind == "setting":
        yield f"settings.{node[1]}"
    elif kind in FUNCTIONS and FUNCTIONS[kind][0] == ("name",):
        yield node[1] if not node[1].startswith("baseline.") else None
    elif kind not in ("constant", "threshold"):
        for part in node[1:]:
            if isinstance(part, tuple) and (kind != "in" or part is node[1]):
                yield from _asked(part)


def _as(wanted: str, node: Node, kind: str) -> Node:
    if kind == wanted or (node[0] == "constant" and isinstance(node[1], bool)):
        return node
    return ("truth", node) if wanted == TRUTH else ("value", node)


def _truth(tree: ast.expr, scope: Scope) -> Node:
    return _as(TRUTH, *_compile(tree, scope))


def _value(tree: ast.expr, scope: Scope) -> Node:
    return _as(VALUE, *_compile(tree, scope))


def _compile(tree: ast.expr, scope: Scope) -> tuple[Node, str]:
    if isinstance(tree, ast.BoolOp):
        word = "and" if isinstance(tree.op, ast.And) else "or"
        return (word, *(_truth(part, scope) for part in tree.values)), TRUTH
    if isinstance(tree, ast.UnaryOp):
        if isinstance(tree.op, ast.Not):
            return ("not", _truth(tree.operand, scope)), TRUTH
        if isinstance(tree.op, ast.USub):
            inner = _value(tree.operand, scope)
            if inner[0] == "constant":
                return ("constant", -inner[1]), VALUE
            return ("negative", inner), VALUE
    if isinstance(tree, ast.BinOp) and type(tree.op) in _SUMS:
        return ("sum", _SUMS[type(tree.op)], _value(tree.left, scope), _value(tree.right, scope)), VALUE
    if isinstance(tree, ast.Compare):
        return _comparison(tree, scope), TRUTH
    if isinstance(tree, ast.IfExp):
        yes, no = _compile(tree.body, scope), _compile(tree.orelse, scope)
        if yes[1] == no[1] == TRUTH:
            return ("if_truth", _truth(tree.test, scope), yes[0], no[0]), TRUTH
        return ("if", _truth(tree.test, scope), _as(VALUE, *yes), _as(VALUE, *no)), VALUE
    if isinstance(tree, ast.Call):
        return _call(tree, scope)
    if isinstance(tree, ast.Constant) and isinstance(tree.value, (int, float, str, bool)):
        return ("constant", tree.value), VALUE
    if isinstance(tree, (ast.Name, ast.Attribute)):
        return _look(tree, scope)
    raise ExpressionError(f"`{ast.unparse(tree)}` is not part of the language", tree.col_offset)


def _comparison(tree: ast.Compare, scope: Scope) -> Node:
    parts: list[Node] = []
    left: ast.expr = tree.left
    for operator, right in zip(tree.ops, tree.comparators, strict=True):
        if isinstance(operator, (ast.In, ast.NotIn)):
            if not isinstance(right, (ast.Tuple, ast.List, ast.Set)) or not all(
                isinstance(one, ast.Constant) for one in right.elts
            ):
                raise ExpressionError("`in` needs words or numbers in parentheses after it", right.col_offset)
            among: Node = (
                "in",
                _value(left, scope),
                tuple(one.value for one in right.elts if isinstance(one, ast.Constant)),
            )
            parts.append(among if isinstance(operator, ast.In) else ("not", among))
        elif type(operator) in _COMPARISONS:
            parts.append(("compare", _COMPARISONS[type(operator)], _value(left, scope), _value(right, scope)))
        else:
            raise ExpressionError("`is` is not part of the language: write ==, off(x) or given(x)", tree.col_offset)
        left = right
    return parts[0] if len(parts) == 1 else ("and", *parts)


def _call(tree: ast.Call, scope: Scope) -> tuple[Node, str]:
    if not isinstance(tree.func, ast.Name) or tree.keywords:
        raise ExpressionError(f"`{ast.unparse(tree)}` is not part of the language", tree.col_offset)
    name = tree.func.id
    if name not in FUNCTIONS:
        raise ExpressionError(f"unknown function `{name}`{_suggest(name, FUNCTIONS)}", tree.col_offset)
    kinds, result = FUNCTIONS[name]
    least = [kind for kind in kinds if kind != "..."]
    if len(tree.args) < len(least) or (len(tree.args) > len(least) and kinds[-1:] != ("...",)):
        raise ExpressionError(f"`{name}` takes {len(least)} argument{'' if len(least) == 1 else 's'}", tree.col_offset)
    arguments: list[object] = []
    for index, part in enumerate(tree.args):
        kind = least[index] if index < len(least) else VALUE
        if kind in ("name", "setting", "fact"):
            arguments.append(_itself(part, scope, kind, name))
        else:
            arguments.append(_truth(part, scope) if kind == TRUTH else _value(part, scope))
    return (name, *arguments), result


def _itself(tree: ast.expr, scope: Scope, kind: str, function: str) -> str:
    """The name of a fact or setting that a function asks about."""
    node, _ = _compile(tree, scope)
    if node[0] == "setting" and kind != "fact":
        return str(node[1]) if kind == "setting" else f"settings.{node[1]}"
    if node[0] == "name":
        name = str(node[1])
        if kind != "fact" and function in _OF_SETTINGS and name in scope.settings:
            return name if kind == "setting" else f"settings.{name}"
        if kind != "setting" and not (function in _OF_SETTINGS and name not in scope.settings):
            return name
    if node[0] == "baseline" and kind == "name":
        return f"baseline.{node[1]}"
    raise ExpressionError(
        f"`{function}` asks about a {'fact' if kind == 'fact' else 'setting'} by its name", tree.col_offset
    )


def _look(tree: ast.Name | ast.Attribute, scope: Scope) -> tuple[Node, str]:
    path = ast.unparse(tree).split(".")
    name, rest = path[0], path[1:]
    if not rest:
        if name in _WORDS:
            return ("constant", _WORDS[name]), VALUE
        if name in scope.let:
            return scope.let[name]
        if name in vocabulary.FACTS or name in scope.settings:
            return ("name", name), VALUE
        known: set[str] = {*vocabulary.FACTS, *scope.settings, *scope.let, *_WORDS}
        raise ExpressionError(f"unknown name `{name}`{_suggest(name, known)}", tree.col_offset)
    last = rest[-1]
    if name == "settings" and len(rest) == 1:
        if last not in scope.settings:
            raise ExpressionError(f"unknown setting `{last}`{_suggest(last, scope.settings)}", tree.col_offset)
        return ("setting", last), VALUE
    if name == "threshold" and len(rest) == 1:
        if last not in scope.thresholds:
            raise ExpressionError(f"unknown threshold `{last}`{_suggest(last, scope.thresholds)}", tree.col_offset)
        return ("threshold", last), VALUE
    if name == "observation" and len(rest) == 1:
        if scope.observed is None:
            raise ExpressionError("`observation.` needs a rule on an observation", tree.col_offset)
        if last not in scope.observed:
            raise ExpressionError(
                f"this observation has no value `{last}`{_suggest(last, scope.observed)}", tree.col_offset
            )
        return ("observation", last), VALUE
    if name == "baseline" and (len(rest) == 1 or (len(rest) == 2 and rest[0] == "settings")):
        known = set(scope.settings) if len(rest) == 2 else {*vocabulary.FACTS, *scope.settings, "kind", "label"}
        if last not in known:
            raise ExpressionError(f"unknown name `{last}`{_suggest(last, known)}", tree.col_offset)
        return ("baseline", ".".join(rest)), VALUE
    raise ExpressionError(f"unknown name `{'.'.join(path)}`", tree.col_offset)


def _suggest(name: str, known: Iterable[str] | Mapping[str, object]) -> str:
    close = get_close_matches(name, list(known), 1, 0.6)
    return f" (did you mean `{close[0]}`?)" if close else ""
