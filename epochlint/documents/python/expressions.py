"""What an expression's value is, as far as it can be known without running anything."""

from __future__ import annotations

import ast
import operator
import re

from epochlint.documents.document import Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python import (
    calls,
    classes,
    commands,
    dataclass_parsers,
    datasets,
    library,
    methods,
    modules,
    paths,
)
from epochlint.documents.python.lengths import combined
from epochlint.documents.python.model import Choice, DatasetNode, Derived, Parsed, Reference, Unknown
from epochlint.documents.python.values import (
    LOOP,
    NO_NAMES,
    Class,
    Contents,
    Fields,
    Function,
    Guard,
    Imported,
    Instance,
    Items,
    Method,
    PathText,
    Scope,
    Super,
    Table,
    derived,
    elements,
    expand,
    is_none,
    iterated,
    join,
    names_a_class,
    names_in,
    rests_on_default,
    same,
    text_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

# Larger numbers, texts and lists are not settings.
_MOST_BITS = 4096
_LONGEST = 20_000
_MOST_ITEMS = 2_000

_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
    ast.BitXor: operator.xor,
    ast.LShift: operator.lshift,
    ast.RShift: operator.rshift,
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
# What may stand in a `%` template or a format specification without asking for a gigabyte of padding.
_SHORT_FORMAT = re.compile(r"[^%{}]{0,6}\Z")
_PERCENT = re.compile(r"%[-+ #0]{0,3}\d{0,2}(?:\.\d{1,2})?[sdifeEgGr%]")


def evaluate(it: Interpreter, node: ast.expr) -> Node:
    handler = _EXPRESSIONS.get(type(node))
    return handler(it, node) if handler is not None else it.unknown(node, "it is known only when the program runs")


def read_names(node: ast.expr, value: Node) -> frozenset[str]:
    """The names behind one operand of a computation."""
    names = names_in(value)
    if isinstance(node, ast.Name):
        return names | {node.id}
    if isinstance(node, ast.Attribute):
        return names | {node.attr}
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        return names | {node.slice.value}
    return names


# --- Literals ---------------------------------------------------------------------------------------------------------


def _constant(it: Interpreter, node: ast.Constant) -> Node:
    value = node.value
    span = it.at.span(node)
    if value is Ellipsis or isinstance(value, complex):
        return Unknown(span, "not a setting")
    if isinstance(value, str):
        return Scalar(span, value, value)
    if isinstance(value, bytes):
        return Unknown(span, "bytes")
    return Scalar(span, span.text, value)


def _joined(it: Interpreter, node: ast.JoinedStr) -> Node:
    text = ""
    operands: list[Node] = []
    names = NO_NAMES
    known = True
    for part in node.values:
        if isinstance(part, ast.Constant):
            text += str(part.value)
            continue
        if not isinstance(part, ast.FormattedValue):
            known = False
            continue
        value = it.eval(part.value)
        names |= read_names(part.value, value)
        operands.append(value)
        specification = _joined(it, part.format_spec) if isinstance(part.format_spec, ast.JoinedStr) else None
        shown = _formatted(value, part.conversion, specification)
        if shown is None:
            known = False
        else:
            text += shown
    if not known or len(text) > _LONGEST:
        return it.unknown(node, "a part of the text is not known", names)
    return derived(it.at.span(node), text, *operands, names=names)


def _formatted(value: Node, conversion: int, specification: Node | None) -> str | None:
    if not isinstance(value, Scalar):
        return None
    spec = ""
    if specification is not None:
        if not isinstance(specification, Scalar) or not _SHORT_FORMAT.match(str(specification.value)):
            return None
        spec = str(specification.value)
    try:
        shown: object = value.value
        if conversion == 114:
            shown = repr(shown)
        elif conversion == 115:
            shown = str(shown)
        return format(shown, spec)
    except (ValueError, TypeError, OverflowError):
        return None


def _sequence(it: Interpreter, node: ast.List | ast.Tuple | ast.Set) -> Node:
    if len(node.elts) > _MOST_ITEMS:
        # Data that is written into the program.
        return DatasetNode(it.at.span(node), rows=len(node.elts), form="rows")
    items, unknown = calls.unpacked(it, node.elts)
    return Items(it.at.span(node), items, it.guard, unknown)


def _dict(it: Interpreter, node: ast.Dict) -> Node:
    table = Table(it.at.span(node), [], it.guard)
    if len(node.keys) > _MOST_ITEMS:
        table.open_ended, table.reason = True, "too large"
        return table
    for key, value_node in zip(node.keys, node.values, strict=True):
        value = it.eval(value_node)
        if key is None:
            entries, complete = expand(value)
            for entry in entries:
                table.put(entry.key, entry.key_span, entry.value)
            if not complete:
                # Keys that cannot be seen may replace those before them.
                table.forget("a mapping that is not known is merged in")
            continue
        key_value = it.eval(key)
        if isinstance(key_value, Scalar):
            table.put(str(key_value.value), it.at.span(key), value)
        else:
            table.open_ended = True
            table.reason = "a key is not known"
    return table


def _lambda(it: Interpreter, node: ast.Lambda) -> Node:
    return Function(it.at.span(node), "lambda", node, it.scope, it.at, it.defaults(node.args), [])


# --- Names, attributes, items -----------------------------------------------------------------------------------------


def _name(it: Interpreter, node: ast.Name) -> Node:
    found = it.lookup(node.id)
    if found is not None:
        return found
    name = node.id
    if name in library.BUILTINS:
        return Imported(it.at.span(node), f"builtins.{name}")
    if name == "__name__":
        shown = "__main__" if it.scope.module() is it.module else "an imported module"
        return Scalar(it.at.span(node), shown, shown)
    if name == "__file__":
        path = it.at.source.path
        return PathText(it.at.span(node), path, path)
    star = library.star_origin(it.stars, name)
    if star:
        return Imported(it.at.span(node), star)
    return it.unknown(node, f"{name} is not defined here", frozenset((name,)))


def _attribute(it: Interpreter, node: ast.Attribute) -> Node:
    base = it.eval(node.value)
    return attribute(it, base, node.attr, it.at.span(node))


def attribute(it: Interpreter, base: Node, name: str, span: Span) -> Node:
    """`base.name`."""
    if isinstance(base, Imported):
        found = commands.absl_flag(it, name, span) if base.origin == "absl.flags.FLAGS" else None
        return found or modules.attribute(it, base, name, span) or library.imported_attribute(it, base, name, span)
    if isinstance(base, Table):
        return _table_attribute(base, name, span)
    if isinstance(base, Instance):
        return classes.instance_attribute(it, base, name, span)
    if isinstance(base, Fields):
        return Method(span, base.table, name)
    if isinstance(base, Class):
        return classes.class_attribute(it, base, name, span)
    if isinstance(base, Super):
        return classes.super_attribute(it, base, name, span)
    if isinstance(base, Reference):
        if not base.attribute and base.call.name[:1].isupper():
            entry = base.call.arguments.entry(name)
            if entry is not None:
                return entry.value
        return it.refer(span, base.call, f"{base.attribute}.{name}" if base.attribute else name)
    if isinstance(base, Parsed):
        return dataclass_parsers.parsed_attribute(it, base, name, span)
    if isinstance(base, PathText):
        return paths.path_attribute(base, name, span)
    if isinstance(base, DatasetNode):
        if name in ("iloc", "loc") and base.form == "frame":
            return base
        if name in ("num_rows", "shape"):
            return datasets.length(it, base, span) if name == "num_rows" else Unknown(span, "known from the data only")
        return Method(span, base, name)
    if isinstance(base, Unresolved):
        return Unknown(span, base.reason, names_in(base) | {name})
    if isinstance(base, Scalar) and name == "value":
        return base  # A member of an enumeration.
    return Method(span, base, name)


def _table_attribute(table: Table, name: str, span: Span) -> Node:
    if table.form != "dict":
        found = table.get(name)
        if found is not None:
            return found
        if name == "__dict__":
            return Fields(span, table)
        if table.form == "config" and name in methods.DICT_METHODS:
            return Method(span, table, name)
        if table.open_ended:
            return Unknown(span, table.reason or f"{name} is not known here", frozenset((name,)))
        return Unknown(span, f"{name} is not among the fields that are visible", frozenset((name,)))
    return Method(span, table, name)


def _subscript(it: Interpreter, node: ast.Subscript) -> Node:
    base = it.eval(node.value)
    span = it.at.span(node)
    if isinstance(node.slice, ast.Slice):
        return _sliced(it, base, node.slice, span)
    return item(it, base, it.eval(node.slice), span)


def item(it: Interpreter, base: Node, key: Node, span: Span) -> Node:
    """`base[key]`."""
    if isinstance(base, Instance):
        return Unknown(span, "an item of an object")
    if isinstance(base, Fields):
        base = base.table
    if isinstance(base, Method) and base.name == "parents" and isinstance(base.receiver, PathText):
        return paths.path_parent(base.receiver, key, span)
    if isinstance(base, Mapping):
        if not isinstance(key, Scalar):
            return Unknown(span, "the key is not known")
        name = str(key.value)
        found = base.get(name)
        if found is not None:
            return found
        reason = getattr(base, "reason", "")
        return Unknown(span, reason or f"there is no {name!r} in it", frozenset((name,)))
    if isinstance(base, DatasetNode):
        return datasets.indexed(it, base, key, span)
    items = elements(base)
    if items is not None:
        if isinstance(key, Scalar) and isinstance(key.value, int) and -len(items) <= key.value < len(items):
            return items[key.value]
        return Unknown(span, "the item is not known")
    if isinstance(base, Scalar) and isinstance(base.value, str) and isinstance(key, Scalar):
        if isinstance(key.value, int) and -len(base.value) <= key.value < len(base.value):
            return derived(span, base.value[key.value], base, key)
        return Unknown(span, "the character is not known")
    if isinstance(base, Imported):
        if base.origin == "os.environ" and isinstance(key, Scalar):
            return library.variable(it, str(key.value), None, span)
        return base if names_a_class(base.origin) or base.origin.startswith("builtins.") else Unknown(span, base.origin)
    if isinstance(base, Reference):
        shown = str(key.value) if isinstance(key, Scalar) else "?"
        return it.refer(span, base.call, f"{base.attribute}[{shown}]")
    if isinstance(base, Contents):
        if isinstance(key, Scalar) and isinstance(key.value, str):
            return Unknown(span, "the file it comes from is not visible", frozenset((key.value,)))
        return Unknown(span, "the file it comes from is not visible")
    if isinstance(base, Unresolved):
        wanted = text_of(key)
        return Unknown(span, base.reason, names_in(base) | ({wanted} if wanted is not None else NO_NAMES))
    return Unknown(span, "an item of something that is not known")


def _sliced(it: Interpreter, base: Node, part: ast.Slice, span: Span) -> Node:
    bounds: list[int | None] = []
    written: list[Node | None] = []
    operands: list[Node] = []
    known = True
    for bound in (part.lower, part.upper, part.step):
        if bound is None:
            bounds.append(None)
            written.append(None)
            continue
        value = it.eval(bound)
        operands.append(value)
        written.append(value)
        if isinstance(value, Scalar) and (value.value is None or isinstance(value.value, int)):
            bounds.append(value.value)
        else:
            known = False
            bounds.append(None)
    if isinstance(base, (DatasetNode, Contents)):
        return datasets.sliced(it, base, bounds if known else None, span, written)
    if not known or bounds[2] == 0:
        return Unknown(span, "a part whose bounds are not known")
    cut = slice(bounds[0], bounds[1], bounds[2])
    items = elements(base)
    if items is not None:
        return Items(span, items[cut], it.guard)
    if isinstance(base, Scalar) and isinstance(base.value, str):
        return derived(span, base.value[cut], base, *operands)
    return Unknown(span, "a part of something that is not known")


# --- Operators --------------------------------------------------------------------------------------------------------


def _unary(it: Interpreter, node: ast.UnaryOp) -> Node:
    value = it.eval(node.operand)
    span = it.at.span(node)
    if isinstance(node.op, ast.Not):
        known = truth(value)
        if known is None:
            return Unknown(span, "the condition is not known", read_names(node.operand, value))
        return derived(span, not known, value)
    if isinstance(value, Scalar) and isinstance(value.value, (int, float)):
        number = value.value
        if isinstance(node.op, ast.USub):
            if isinstance(node.operand, ast.Constant):
                return Scalar(span, span.text, -number)
            return derived(span, -number, value)
        if isinstance(node.op, ast.UAdd):
            return derived(span, +number, value)
        if isinstance(number, int):
            return derived(span, ~number, value)
    return Unknown(span, "an operand is not known", read_names(node.operand, value))


def _binary(it: Interpreter, node: ast.BinOp) -> Node:
    # `a + b + c + ...` nests to the left, as deeply as it is long.
    spine = [node]
    while isinstance(spine[-1].left, ast.BinOp):
        it.spend()
        spine.append(spine[-1].left)
    value = it.eval(spine[-1].left)
    for part in reversed(spine):
        value = _combined(it, part, value, it.eval(part.right))
    return value


def _combined(it: Interpreter, node: ast.BinOp, left: Node, right: Node) -> Node:
    span = it.at.span(node)
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        if isinstance(left, PathText) or isinstance(right, PathText):
            found = paths.path_operation(node.op, left, right, span)
            if found is not None:
                return found
        value = compute(node.op, left.value, right.value)
        if value is not None:
            names = read_names(node.left, left) | read_names(node.right, right)
            return derived(span, value, left, right, names=names)
    elif isinstance(left, Mapping) and isinstance(right, Mapping) and isinstance(node.op, ast.BitOr):
        merged = Table(span, [], it.guard, getattr(left, "form", "dict"))
        for table in (left, right):
            if table.open_ended:
                merged.forget("a mapping that is not known is merged in")
            for entry in table.last.values():
                merged.put(entry.key, entry.key_span, entry.value)
        return merged
    elif isinstance(left, Scalar) and isinstance(left.value, str) and isinstance(node.op, ast.Mod):
        return _percent(it, node, left, right, span)
    elif isinstance(node.op, (ast.Add, ast.Mult)):
        found = _list_operation(it, node.op, left, right, span)
        if found is not None:
            return found
    names = read_names(node.left, left) | read_names(node.right, right)
    operation = node.op
    by_rows = combined(span, names, [left, right], lambda first, second: compute(operation, first, second))
    if by_rows is not None:
        return by_rows
    unknown = next((value for value in (left, right) if isinstance(value, Unresolved)), None)
    return Unknown(span, unknown.reason if unknown is not None else "an operand is not known", names)


def compute(operation: ast.operator, left: object, right: object) -> object | None:
    """The result of an operator on two plain values; None where there is none or it would be huge."""
    numbers = isinstance(left, (int, float)) and isinstance(right, (int, float))
    try:
        if isinstance(operation, ast.Pow):
            return _power(left, right)
        if isinstance(operation, ast.LShift) and not (isinstance(right, int) and 0 <= right <= _MOST_BITS):
            return None
        if not numbers and isinstance(operation, ast.Mult):
            text, times = (left, right) if isinstance(left, str) else (right, left)
            if not (isinstance(text, str) and isinstance(times, int) and len(text) * max(times, 0) <= _LONGEST):
                return None
        elif not numbers:
            if isinstance(operation, ast.Mod) and isinstance(left, str):
                return _fill(left, right)
            if not (isinstance(left, str) and isinstance(right, str) and isinstance(operation, ast.Add)):
                return None
            if len(left) + len(right) > _LONGEST:
                return None
        function = _ARITHMETIC.get(type(operation))
        value = function(left, right) if function is not None else None
    except (ArithmeticError, ValueError, TypeError):
        return None
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        return None
    return value


def _power(left: object, right: object) -> object | None:
    if not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
        return None
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(abs(right), 1) > _MOST_BITS:
        return None
    value = left**right
    return None if isinstance(value, complex) else value


def _fill(template: str, values: object) -> object | None:
    directives = template.count("%")
    if directives > 20 or len(_PERCENT.findall(template)) + template.count("%%") < directives:
        return None
    return template % values


def _percent(it: Interpreter, node: ast.BinOp, left: Scalar, right: Node, span: Span) -> Node:
    items = elements(right)
    names = read_names(node.right, right)
    if items is not None and all(isinstance(part, Scalar) for part in items):
        values = tuple(part.value for part in items if isinstance(part, Scalar))
        try:
            filled = _fill(str(left.value), values)
        except (ValueError, TypeError, OverflowError):
            filled = None
        if isinstance(filled, str):
            return derived(span, filled, left, *items, names=names)
    return Unknown(span, "a part of the text is not known", names)


def _list_operation(it: Interpreter, operation: ast.operator, left: Node, right: Node, span: Span) -> Node | None:
    if isinstance(operation, ast.Add):
        if isinstance(left, DatasetNode) and isinstance(right, DatasetNode):
            return datasets.joined(it, [left, right], span)
        first, second = elements(left), elements(right)
        if first is not None and second is not None and len(first) + len(second) <= _MOST_ITEMS:
            return Items(span, [*first, *second], it.guard)
        return None
    sequence, times = (left, right) if isinstance(left, Sequence) else (right, left)
    items = elements(sequence)
    if items is None or not isinstance(times, Scalar) or not isinstance(times.value, int):
        return None
    if len(items) * times.value > _MOST_ITEMS:
        return DatasetNode(span, rows=len(items) * times.value, form="rows")
    return Items(span, items * max(times.value, 0), it.guard)


def _boolean(it: Interpreter, node: ast.BoolOp) -> Node:
    deciding = isinstance(node.op, ast.Or)
    seen: list[Node] = []
    possible: list[Node] = []
    for part in node.values:
        value = it.eval(part)
        known = truth(value)
        seen.append(value)
        if known is deciding or (known is not None and part is node.values[-1]):
            if not possible:
                return _with_default(value, seen)
            if known is deciding and isinstance(value, Scalar) and isinstance(value.value, bool):
                # `unknown and False` is false whatever the first is.
                return derived(it.at.span(node), deciding, *seen)
            possible.append(value)
            break
        if known is None:
            possible.append(value)
    found = possible[0]
    for option in possible[1:]:
        found = join(found, option)
    if isinstance(found, Unresolved) and not isinstance(found, Choice):
        return it.unknown(node, found.reason, names_in(*possible))
    return found


def _with_default(value: Node, seen: list[Node]) -> Node:
    """A value that was chosen by others: it rests on their defaults."""
    if isinstance(value, Scalar) and not rests_on_default(value) and rests_on_default(*seen):
        return Derived(value.span, value.raw, value.value, value.plain, names=names_in(value), default=True)
    return value


def _compare(it: Interpreter, node: ast.Compare) -> Node:
    span = it.at.span(node)
    left = it.eval(node.left)
    operands: list[Node] = [left]
    names = read_names(node.left, left)
    result: bool | None = True
    for operation, right_node in zip(node.ops, node.comparators, strict=True):
        right = it.eval(right_node)
        operands.append(right)
        names |= read_names(right_node, right)
        answer = _compared(operation, left, right)
        if answer is False:
            result = False
        elif answer is None and result is not False:
            result = None
        left = right
    if result is None:
        return Unknown(span, "the condition is not known", names)
    return derived(span, result, *operands)


def _compared(operation: ast.cmpop, left: Node, right: Node) -> bool | None:
    if isinstance(operation, (ast.Is, ast.IsNot)):
        answer: bool | None = None
        if isinstance(right, Scalar) and right.value is None:
            answer = is_none(left)
        elif isinstance(left, Scalar) and isinstance(right, Scalar):
            answer = type(left.value) is type(right.value) and left.value == right.value
        elif same(left, right):
            answer = True
        return answer if answer is None or isinstance(operation, ast.Is) else not answer
    if isinstance(operation, (ast.In, ast.NotIn)):
        answer = _contains(right, left)
        return answer if answer is None or isinstance(operation, ast.In) else not answer
    if isinstance(left, Scalar) and isinstance(right, Scalar):
        try:
            return bool(_COMPARISONS[type(operation)](left.value, right.value))
        except TypeError:
            return None
    if isinstance(operation, (ast.Eq, ast.NotEq)):
        none = next(
            (is_none(b) for a, b in ((left, right), (right, left)) if isinstance(a, Scalar) and a.value is None), None
        )
        if none is not None:
            return none if isinstance(operation, ast.Eq) else not none
    return None


def _contains(container: Node, value: Node) -> bool | None:
    if not isinstance(value, Scalar):
        return None
    items = elements(container)
    if items is not None:
        if any(isinstance(entry, Scalar) and entry.value == value.value for entry in items):
            return True
        return False if all(isinstance(entry, Scalar) for entry in items) else None
    if isinstance(container, Mapping):
        if str(value.value) in container:
            return True
        return None if container.open_ended else False
    if isinstance(container, Scalar) and isinstance(container.value, str) and isinstance(value.value, str):
        return value.value in container.value
    return None


def _conditional(it: Interpreter, node: ast.IfExp) -> Node:
    test = it.eval(node.test)
    known = truth(test)
    if known is None:
        it.guard = Guard(it.guard, "branch")
        first, second = it.eval(node.body), it.eval(node.orelse)
        it.guard = it.guard.parent
        found = join(first, second)
        if isinstance(found, Unknown) and not isinstance(found, Choice):
            return it.unknown(node, found.reason, found.names | names_in(test))
        return found
    value = it.eval(node.body if known else node.orelse)
    return _with_default(value, [test])


def _walrus(it: Interpreter, node: ast.NamedExpr) -> Node:
    value = it.eval(node.value)
    calls.name_target(it, node.value, node.target.id)
    it.bind(node.target.id, value)
    return value


# --- Comprehensions ---------------------------------------------------------------------------------------------------

_Comprehension = (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def _comprehension(it: Interpreter, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Node:
    span = it.at.span(node)
    first = node.generators[0]
    iterable = it.eval(first.iter)
    outer = it.scope
    it.scope = Scope("function", outer)
    try:
        if len(node.generators) == 1:
            rows = datasets.rows_of(it, iterable)
            if rows is not None and not isinstance(node, ast.DictComp):
                return datasets.comprehended(it, rows, first.ifs, span)
            items = iterated(iterable)
            if items is not None and len(items) <= 200:
                return _unrolled(it, node, first, items, span)
        guard = it.guard
        it.guard = Guard(guard, LOOP)
        for generator in node.generators:
            if generator is not first:
                it.eval(generator.iter)
            it.assign(generator.target, it.unknown(generator.target, "it takes one value after another"))
            for test in generator.ifs:
                it.eval(test)
        if isinstance(node, ast.DictComp):
            it.eval(node.key)
            it.eval(node.value)
            it.guard = guard
            return Table(span, [], guard, open_ended=True, reason="it is built in a loop")
        it.eval(node.elt)
        it.guard = guard
        return Items(span, [], guard, unknown=True)
    finally:
        it.scope = outer


def _unrolled(
    it: Interpreter,
    node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp,
    generator: ast.comprehension,
    items: list[Node],
    span: Span,
) -> Node:
    table = Table(span, [], it.guard)
    found: list[Node] = []
    unknown = False
    for value in items:
        it.assign(generator.target, value)
        keep: bool | None = True
        for test in generator.ifs:
            answer = truth(it.eval(test))
            keep = keep if answer else answer
            if answer is not True:
                break
        if keep is False:
            continue
        if isinstance(node, ast.DictComp):
            key, held = it.eval(node.key), it.eval(node.value)
            if keep is None or not isinstance(key, Scalar):
                table.open_ended = True
                table.reason = "a condition on its keys is not known"
            else:
                key_span = value.span if isinstance(value, Items) and value.items else key.span
                table.put(str(key.value), key.span if isinstance(key, Scalar) else key_span, held)
            continue
        element = it.eval(node.elt)
        if keep is None:
            unknown = True
        else:
            found.append(element)
    return table if isinstance(node, ast.DictComp) else Items(span, [] if unknown else found, it.guard, unknown)


# --- The rest ---------------------------------------------------------------------------------------------------------


def _await(it: Interpreter, node: ast.Await | ast.Starred) -> Node:
    return it.eval(node.value)


def _yield(it: Interpreter, node: ast.Yield | ast.YieldFrom) -> Node:
    it.frame.generator = True
    if node.value is not None:
        it.eval(node.value)
    return it.unknown(node, "what is sent to a generator")


def _call(it: Interpreter, node: ast.Call) -> Node:
    return calls.evaluate(it, node)


_EXPRESSIONS: dict[type[ast.expr], Callable[[Interpreter, ast.expr], Node]] = {
    ast.Constant: _constant,  # type: ignore[dict-item]
    ast.Name: _name,  # type: ignore[dict-item]
    ast.Attribute: _attribute,  # type: ignore[dict-item]
    ast.Call: _call,  # type: ignore[dict-item]
    ast.Subscript: _subscript,  # type: ignore[dict-item]
    ast.JoinedStr: _joined,  # type: ignore[dict-item]
    ast.List: _sequence,  # type: ignore[dict-item]
    ast.Tuple: _sequence,  # type: ignore[dict-item]
    ast.Set: _sequence,  # type: ignore[dict-item]
    ast.Dict: _dict,  # type: ignore[dict-item]
    ast.Lambda: _lambda,  # type: ignore[dict-item]
    ast.UnaryOp: _unary,  # type: ignore[dict-item]
    ast.BinOp: _binary,  # type: ignore[dict-item]
    ast.BoolOp: _boolean,  # type: ignore[dict-item]
    ast.Compare: _compare,  # type: ignore[dict-item]
    ast.IfExp: _conditional,  # type: ignore[dict-item]
    ast.NamedExpr: _walrus,  # type: ignore[dict-item]
    ast.ListComp: _comprehension,  # type: ignore[dict-item]
    ast.SetComp: _comprehension,  # type: ignore[dict-item]
    ast.GeneratorExp: _comprehension,  # type: ignore[dict-item]
    ast.DictComp: _comprehension,  # type: ignore[dict-item]
    ast.Await: _await,  # type: ignore[dict-item]
    ast.YieldFrom: _yield,  # type: ignore[dict-item]
    ast.Starred: _await,  # type: ignore[dict-item]
    ast.Yield: _yield,  # type: ignore[dict-item]
}
