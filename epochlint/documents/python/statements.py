"""What each kind of statement does to the state."""

from __future__ import annotations

import ast

from epochlint.documents.document import Node, Scalar, Unresolved
from epochlint.documents.python import calls, classes, datasets, library, modules
from epochlint.documents.python.model import DatasetNode
from epochlint.documents.python.values import (
    HANDLER,
    LOOP,
    Decorator,
    Function,
    Guard,
    Imported,
    Instance,
    Table,
    elements,
    join_names,
    rests_on_default,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter


# How a block of statements ends.
NORMAL, CONTINUE, BREAK, RETURN, RAISE = range(5)

# Blocks under these are meant to fail: `with pytest.raises(ValueError)`.
_EXPECT_FAILURE = ("raises", "assertRaises", "suppress")


def read_statement(it: Interpreter, node: ast.stmt) -> int:
    """Read one statement; how it ends. Kinds that are not known here do nothing."""
    reader = STATEMENTS.get(type(node))
    return reader(it, node) if reader is not None else NORMAL


def _expression(it: Interpreter, node: ast.Expr) -> int:
    value = node.value
    if isinstance(value, ast.Constant):
        return NORMAL
    result = it.eval(value)
    if isinstance(value, ast.Call) and isinstance(result, Unresolved) and result.reason == "exit":
        return RAISE
    return NORMAL


def _assign(it: Interpreter, node: ast.Assign) -> int:
    value = it.eval(node.value)
    target = node.targets[-1]
    if isinstance(target, (ast.Name, ast.Attribute)):
        calls.name_target(it, node.value, it.at.text(target))
    for target in node.targets:
        it.assign(target, value)
    return NORMAL


def _annotated(it: Interpreter, node: ast.AnnAssign) -> int:
    if it.scope.kind == "class" and isinstance(node.target, ast.Name):
        it.scope.names.setdefault("__annotations__", Table(it.at.span(node), [], it.guard))
        fields = it.scope.names["__annotations__"]
        if isinstance(fields, Table):
            text = it.at.text(node.annotation)
            span = it.at.span(node.target)
            fields.put(node.target.id, span, Scalar(span, text, text))
    if node.value is not None:
        value = it.eval(node.value)
        if isinstance(node.target, (ast.Name, ast.Attribute)):
            calls.name_target(it, node.value, it.at.text(node.target))
        it.assign(node.target, value)
    return NORMAL


def _augmented(it: Interpreter, node: ast.AugAssign) -> int:
    target = node.target
    loaded: ast.expr
    if isinstance(target, ast.Name):
        loaded = ast.copy_location(ast.Name(target.id, ast.Load()), target)
    elif isinstance(target, ast.Attribute):
        loaded = ast.copy_location(ast.Attribute(target.value, target.attr, ast.Load()), target)
    else:
        loaded = ast.copy_location(ast.Subscript(target.value, target.slice, ast.Load()), target)
    operation = ast.BinOp(loaded, node.op, node.value)
    operation.lineno, operation.col_offset = node.lineno, node.col_offset
    operation.end_lineno, operation.end_col_offset = node.end_lineno, node.end_col_offset
    it.assign(target, it.eval(operation))
    return NORMAL


def _if(it: Interpreter, node: ast.If) -> int:
    test = it.eval(node.test)
    known = truth(test)
    if known is None:
        return it.alternatives([lambda: it.block(node.body), lambda: it.block(node.orelse)])
    live, dead = (node.body, node.orelse) if known else (node.orelse, node.body)
    if rests_on_default(test):
        return it.decided_by_default(lambda: it.block(live), lambda: it.block(dead))
    return it.block(live)


def _loop(it: Interpreter, node: ast.For | ast.AsyncFor | ast.While) -> int:
    assigned = it.assigned_in(node)
    before = dict(it.scope.names)
    rows: DatasetNode | None = None
    guard = it.guard
    if isinstance(node, ast.While):
        for name in assigned:
            if name in it.scope.names:
                it.bind(name, it.unknown(node, "it is set in a loop"))
        test = it.eval(node.test)
        if truth(test) is False:
            if rests_on_default(test):
                it.dead(lambda: it.block(node.body))
            it.scope.names = before
            return it.block(node.orelse)
        it.guard = Guard(guard, LOOP)
    else:
        iterable = it.eval(node.iter)
        rows = datasets.rows_of(it, iterable)
        for name in assigned:
            if name in it.scope.names:
                it.bind(name, it.unknown(node, "it is set in a loop"))
        it.guard = Guard(guard, LOOP)
        it.assign(node.target, it.unknown(node.target, "it takes one value after another in a loop"))
        _forget_in_pairs(it, node, iterable)
    flow = it.block(node.body)
    it.guard = guard
    for name, places in assigned.items():
        if places > 1 and name in it.scope.names:
            it.bind(name, it.unknown(node, "it is set in a loop"))
    it.scope.names = join_names([it.scope.names, before])
    if rows is not None and isinstance(node, (ast.For, ast.AsyncFor)):
        datasets.collect_rows(it, node, rows, before)
    if isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and flow == RETURN:
        return RETURN
    return it.block(node.orelse) if node.orelse else NORMAL


def _forget_in_pairs(it: Interpreter, node: ast.For | ast.AsyncFor, iterable: Node) -> None:
    """`for group in parser...`: a loop over objects hands each of them to the body, which may change it."""
    for item in elements(iterable) or ():
        if isinstance(item, (Table, Instance)) and not isinstance(node.target, ast.Tuple):
            it.forget(item, "it is handed to a loop")


def _try(it: Interpreter, node: ast.Try) -> int:
    before = dict(it.scope.names)
    flow = it.block(node.body)
    if flow == NORMAL:
        flow = it.block(node.orelse)
    tried = it.scope.names
    imported = {
        alias.asname or alias.name.partition(".")[0]
        for statement in node.body
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for alias in statement.names
    }
    ends = [tried] if flow == NORMAL else []
    flows = [flow]
    guard = it.guard
    for handler in node.handlers:
        # The exception may have come at any point of the body.
        it.scope.names = join_names([dict(tried), before])
        it.guard = Guard(guard, HANDLER)
        if handler.type is not None:
            it.eval(handler.type)
        if handler.name:
            it.scope.names[handler.name] = it.unknown(node, "an exception")
        ended = it.block(handler.body)
        flows.append(ended)
        if ended == NORMAL:
            names = it.scope.names
            # What the body imports is what a reader means: the handler is for an environment without it.
            for name in imported & names.keys() & tried.keys():
                names[name] = tried[name]
            ends.append(names)
    it.guard = guard
    if ends:
        it.scope.names = join_names([dict(ends[0]), *ends[1:]])
        flow = NORMAL
    else:
        it.scope.names = tried
        flow = min(flows)
    last = it.block(node.finalbody)
    return last if last != NORMAL else flow


def _with(it: Interpreter, node: ast.With | ast.AsyncWith) -> int:
    expected_to_fail = False
    for item in node.items:
        value = it.eval(item.context_expr)
        if isinstance(item.context_expr, ast.Call) and calls.dotted(item.context_expr.func).endswith(_EXPECT_FAILURE):
            expected_to_fail = True
        if item.optional_vars is not None:
            it.assign(item.optional_vars, value)
    if expected_to_fail:
        return it.alternatives([lambda: it.block(node.body), lambda: NORMAL], HANDLER)
    return it.block(node.body)


def _match(it: Interpreter, node: ast.Match) -> int:
    subject = it.eval(node.subject)
    bodies: list[Callable[[], int]] = []
    open_ended = True
    for case in node.cases:
        fits = _fits(it, case.pattern, subject) if case.guard is None else None
        if fits is False and not rests_on_default(subject):
            continue

        def read(case: ast.match_case = case) -> int:
            for name in (part for part in ast.walk(case.pattern) if isinstance(part, (ast.MatchAs, ast.MatchStar))):
                if name.name:
                    it.scope.names[name.name] = it.unknown(node, "it is bound by a pattern")
            return it.block(case.body)

        if fits is False:
            it.dead(read)
            continue
        bodies.append(read)
        if fits is True:
            open_ended = False
            break
    if open_ended:
        bodies.append(lambda: NORMAL)
    return bodies[0]() if len(bodies) == 1 else it.alternatives(bodies)


def _fits(it: Interpreter, pattern: ast.pattern, subject: Node) -> bool | None:
    if isinstance(pattern, ast.MatchAs) and pattern.pattern is None:
        return True
    if isinstance(pattern, ast.MatchOr):
        answers = [_fits(it, option, subject) for option in pattern.patterns]
        return True if True in answers else None if None in answers else False
    if not isinstance(subject, Scalar):
        return None
    if isinstance(pattern, ast.MatchValue):
        value = it.eval(pattern.value)
        return value.value == subject.value if isinstance(value, Scalar) else None
    if isinstance(pattern, ast.MatchSingleton):
        return subject.value is pattern.value
    return None


def _function(it: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    decorators = [_decorator(it, decorator) for decorator in node.decorator_list]
    defaults = it.defaults(node.args)
    start = it.at.start(node)
    span = it.at.source.span(start, start)
    function = Function(span, node.name, node, it.scope, it.at, defaults, decorators)
    it.functions.append(function)
    it.bind(node.name, function)
    return NORMAL


def _decorator(it: Interpreter, node: ast.expr) -> Decorator:
    """A decorator; its arguments are kept, for options of a command line are declared in them."""
    if isinstance(node, ast.Call):
        callee = it.eval(node.func)
        site = calls.site_of(it, node)
        return Decorator(calls.origin_of(it, node.func, callee), it.at.span(node), callee, site)
    callee = it.eval(node)
    return Decorator(calls.origin_of(it, node, callee), it.at.span(node), callee, None)


def _class(it: Interpreter, node: ast.ClassDef) -> int:
    classes.define(it, node, [_decorator(it, decorator) for decorator in node.decorator_list])
    return NORMAL


def _return(it: Interpreter, node: ast.Return) -> int:
    value: Node
    if node.value is None:
        value = Scalar(it.at.span(node), "None", None)
    else:
        value = it.eval(node.value)
    it.frame.returns.append(value)
    return RETURN


def _raise(it: Interpreter, node: ast.Raise) -> int:
    return RAISE


def _break(it: Interpreter, node: ast.Break) -> int:
    return BREAK


def _continue(it: Interpreter, node: ast.Continue) -> int:
    return CONTINUE


def _delete(it: Interpreter, node: ast.Delete) -> int:
    for target in node.targets:
        if isinstance(target, ast.Name):
            it.scope.names.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            base, key = it.eval(target.value), it.eval(target.slice)
            if isinstance(base, Table) and isinstance(key, Scalar) and it.strength(base.guard) == "strong":
                base.drop(str(key.value))
            else:
                it.forget(base, "an item is deleted")
    return NORMAL


def _global(it: Interpreter, node: ast.Global) -> int:
    for name in node.names:
        module = it.scope.module()
        if it.scope is not module:
            it.scope.outer[name] = module
    return NORMAL


def _nonlocal(it: Interpreter, node: ast.Nonlocal) -> int:
    for name in node.names:
        scope = it.scope.parent
        while scope is not None and (scope.kind != "function" or name not in scope.names):
            scope = scope.parent
        if scope is not None:
            it.scope.outer[name] = scope
    return NORMAL


def _import(it: Interpreter, node: ast.Import) -> int:
    for alias in node.names:
        name = alias.asname or alias.name.partition(".")[0]
        origin = alias.name if alias.asname else name
        it.bind(name, Imported(it.at.span(alias), origin, modules.scope_of(it, origin), whole=True))
        it.imports.setdefault(name, origin)
    return NORMAL


def _import_from(it: Interpreter, node: ast.ImportFrom) -> int:
    module = "." * node.level + (node.module or "")
    if module == "__future__":
        return NORMAL
    for alias in node.names:
        if alias.name == "*":
            scope = modules.scope_of(it, node.module or "", node.level)
            if scope is not None:
                for name, value in list(scope.names.items()):
                    if not name.startswith("_"):
                        it.bind(name, value)
                continue
            if module not in it.stars:
                it.stars.append(module)
            if not library.is_library(module):
                it.forget_names("a star import may replace it")
            continue
        origin = module + alias.name if module.endswith(".") else f"{module}.{alias.name}"
        name = alias.asname or alias.name
        span = it.at.span(alias)
        found = modules.member(it, node.module or "", node.level, alias.name, span)
        it.bind(name, found if found is not None else Imported(span, origin))
        it.imports.setdefault(name, origin)
    return NORMAL


STATEMENTS: dict[type[ast.stmt], Callable[[Interpreter, ast.stmt], int]] = {
    ast.Expr: _expression,  # type: ignore[dict-item]
    ast.Assign: _assign,  # type: ignore[dict-item]
    ast.AnnAssign: _annotated,  # type: ignore[dict-item]
    ast.AugAssign: _augmented,  # type: ignore[dict-item]
    ast.If: _if,  # type: ignore[dict-item]
    ast.For: _loop,  # type: ignore[dict-item]
    ast.AsyncFor: _loop,  # type: ignore[dict-item]
    ast.While: _loop,  # type: ignore[dict-item]
    ast.Try: _try,  # type: ignore[dict-item]
    ast.With: _with,  # type: ignore[dict-item]
    ast.AsyncWith: _with,  # type: ignore[dict-item]
    ast.Match: _match,  # type: ignore[dict-item]
    ast.FunctionDef: _function,  # type: ignore[dict-item]
    ast.AsyncFunctionDef: _function,  # type: ignore[dict-item]
    ast.ClassDef: _class,  # type: ignore[dict-item]
    ast.Return: _return,  # type: ignore[dict-item]
    ast.Raise: _raise,  # type: ignore[dict-item]
    ast.Break: _break,  # type: ignore[dict-item]
    ast.Continue: _continue,  # type: ignore[dict-item]
    ast.Delete: _delete,  # type: ignore[dict-item]
    ast.Global: _global,  # type: ignore[dict-item]
    ast.Nonlocal: _nonlocal,  # type: ignore[dict-item]
    ast.Import: _import,  # type: ignore[dict-item]
    ast.ImportFrom: _import_from,  # type: ignore[dict-item]
}
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = _try  # type: ignore[assignment]
