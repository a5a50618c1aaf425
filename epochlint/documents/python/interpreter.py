"""Reads a script's statements in the order in which they would run, keeping what each name holds.

An abstract interpreter: a value is known or it is `Unknown`; where a branch cannot be decided both are read and what
they leave in a name is joined; what a loop changes is unknown. Nothing of the script is executed.
"""

from __future__ import annotations

import ast
from functools import partial

from epochlint.documents.document import Entry, Mapping, Node, Scalar
from epochlint.documents.python import calls, dataclass_parsers, datasets, expressions, library
from epochlint.documents.python.model import Choice, DatasetNode, Parsed, Reference, Unknown
from epochlint.documents.python.statements import NORMAL, RAISE, RETURN, read_statement
from epochlint.documents.python.syntax import bound_in
from epochlint.documents.python.values import (
    BRANCH,
    DEAD,
    HANDLER,
    UNCALLED,
    Class,
    Contents,
    Fields,
    Function,
    Guard,
    Imported,
    Instance,
    Items,
    Scope,
    Table,
    covers,
    elements,
    join,
    join_names,
    perhaps,
    same,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, TypeAlias

    from epochlint.documents.document import Document
    from epochlint.documents.python.calls import Kept
    from epochlint.documents.python.model import Call, Load, Parser
    from epochlint.documents.python.syntax import Locator
    from epochlint.documents.python.values import ParserValue, Site
    from epochlint.documents.python.written import Target
    from epochlint.source import Source, Span

    # (dotted name, dots in front, the importing text) -> the module's locator and tree, where it is the project's.
    Find: TypeAlias = Callable[[str, int, Source], tuple[Locator, ast.Module] | None]

# Nodes that may be looked at for one script: a usual one takes a fifth of what its length gives it.
BUDGET = 50_000
BUDGET_A_CHARACTER = 0.5


class BudgetError(Exception):
    """The script asks for more work than it is worth."""


class Frame:
    """A function whose body is being read."""

    __slots__ = ("function", "generator", "name", "returns")

    def __init__(self, name: str, function: Function | None) -> None:
        self.name = name
        self.function = function
        self.returns: list[Node] = []
        self.generator = False


class Interpreter:
    """The state of reading one script; `calls`, `parsers` and `loads` are its result."""

    def __init__(
        self,
        at: Locator,
        load: Callable[[str], Document | None] | None,
        flags: Mapping | None,
        environment: dict[str, str] | None,
        find: Find | None = None,
    ) -> None:
        self.at = at
        self.load = load
        self.find = find
        # Shown path of an imported module of the project -> its names; None for one that cannot be read.
        self.imported: dict[str, Scope | None] = {}
        self.others: list[str] = []  # the texts of those modules
        self.flags = flags
        self.environment = environment if environment is not None else {}
        self.module = Scope("module", None)
        self.scope = self.module
        self.guard: Guard | None = None
        self.frame = Frame("", None)
        self.depth = 0
        self.steps = BUDGET + int(len(at.source.text) * BUDGET_A_CHARACTER)
        self.calls: list[Kept] = []
        # id of a call -> the guard under which it was made.
        self.guard_of: dict[int, Guard | None] = {}
        self.references: list[Reference] = []
        self.replaced: set[int] = set()  # ids of calls of whose results a changed copy was made
        self.parsers: list[Parser] = []
        self.loads: list[Load] = []
        self.loaded: dict[str, Document | None] = {}
        self.targets: list[Target] = []  # files that the script writes
        self.imports: dict[str, str] = {}
        self.stars: list[str] = []
        self.set_variables = Table(at.source.span(0, 0), [], None)
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        # id of a function's syntax node -> how often it has been read; ids of those being read now.
        self.passes: dict[int, int] = {}
        self.active: set[int] = set()
        self.instances: dict[int, list[Instance]] = {}
        self.flag_store: ParserValue | None = None
        # id of a parser's record -> the parser, for what its results hold.
        self.parsed_by: dict[int, ParserValue] = {}
        # Where a parser of dataclasses is built, and of which -> the parser.
        self.built: dict[tuple[object, ...], ParserValue] = {}
        self.texts: list[str] = [at.source.text]
        self._assigned: set[int] = set()  # ids of the statements whose names have been asked for
        self.left_by_default = False  # the block being read is left where a default says so
        self._loads: set[tuple[int, int, str, object]] = set()

    # --- Work done ----------------------------------------------------------------------------------------------------

    def spend(self) -> None:
        self.steps -= 1
        if self.steps < 0:
            raise BudgetError

    def unknown(self, node: ast.expr | ast.stmt, reason: str, names: frozenset[str] = frozenset()) -> Unknown:
        return Unknown(self.at.span(node), reason, names)

    def eval(self, node: ast.expr) -> Node:
        self.spend()
        return expressions.evaluate(self, node)

    # --- Names --------------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Node | None:
        scope: Scope | None = self.scope
        while scope is not None:
            if scope.kind != "class" or scope is self.scope:
                outer = scope.outer.get(name)
                found = (outer or scope).names.get(name)
                if found is not None:
                    return found
            scope = scope.parent
        return None

    def bind(self, name: str, value: Node) -> None:
        outer = self.scope.outer.get(name)
        if outer is None:
            self.scope.names[name] = value
            return
        old = outer.names.get(name)
        if self.guard is None or old is None:
            outer.names[name] = value
        elif self.guard.kind != DEAD:
            outer.names[name] = join(old, value, "it is set in a function")

    # --- Other modules of the project ---------------------------------------------------------------------------------

    def apart(self, scope: Scope, at: Locator, body: list[ast.stmt]) -> bool:
        """Read a module's statements in a scope of its own; False where they are nested too deeply.

        What it defines counts when something uses it: functions and classes that nothing calls are not read here.
        """
        saved = self.scope, self.at, self.frame, self.guard, self.stars
        functions, classes = len(self.functions), len(self.classes)
        self.scope, self.at, self.frame, self.guard, self.stars = scope, at, Frame("", None), None, []
        try:
            for statement in body:
                if self.block([statement]) != NORMAL:
                    break
        except RecursionError:
            return False
        finally:
            self.scope, self.at, self.frame, self.guard, self.stars = saved
            del self.functions[functions:], self.classes[classes:]
        return True

    # --- Blocks and branches ------------------------------------------------------------------------------------------

    def block(self, body: Iterable[ast.stmt]) -> int:
        statements = list(body)
        for at, statement in enumerate(statements):
            self.spend()
            flow = read_statement(self, statement)
            if flow != NORMAL:
                if self.left_by_default:  # `if not args.train: return`
                    self.left_by_default = False
                    self.dead(partial(self.block, statements[at + 1 :]))
                return flow
        return NORMAL

    def statement(self, node: ast.stmt) -> int:
        """Read a statement at the top; one that is too deep to read leaves what it binds unknown."""
        at, recorded = self.at, len(self.calls)
        try:
            return self.block([node])
        except RecursionError:
            self.reset(at)
            del self.calls[recorded:]
            for name in self.assigned_in(node):
                self.bind(name, self.unknown(node, "it is nested too deeply"))
            return NORMAL

    def reset(self, at: Locator) -> None:
        """Back to the top after a statement or function that was given up."""
        self.scope, self.at, self.guard, self.frame, self.depth = self.module, at, None, Frame("", None), 0
        self.active.clear()

    def alternatives(self, bodies: list[Callable[[], int]], kind: str = BRANCH) -> int:
        """Read each of several pieces from the same state; one of them runs. Names are joined afterwards."""
        before, guard = self.scope.names, self.guard
        self.steps -= len(before) // 16
        ends: list[dict[str, Node]] = []
        flows: list[int] = []
        for body in bodies:
            self.scope.names = dict(before)
            self.guard = Guard(guard, kind)
            flows.append(body())
            if flows[-1] == NORMAL:
                ends.append(self.scope.names)
        self.guard = guard
        if not ends:
            self.scope.names = before
            return min(flows)
        self.scope.names = join_names(ends)
        return NORMAL

    def dead(self, body: Callable[[], int]) -> dict[str, Node]:
        """Read a piece that a default excludes, for the calls in it; it leaves no trace in the state.

        Returns what names would hold after it.
        """
        before, guard, returns = self.scope.names, self.guard, len(self.frame.returns)
        self.scope.names = dict(before)
        self.guard = Guard(guard, DEAD)
        flow = body()
        after = self.scope.names if flow == NORMAL else before
        self.scope.names, self.guard = before, guard
        del self.frame.returns[returns:]
        return after

    def decided_by_default(self, live: Callable[[], int], dead: Callable[[], int]) -> int:
        """Read a piece that a default chooses over another: what both would set rests on that default, too.

        Nobody runs a program that ends in an error by its default: `if not args.data: raise` asks for another value.
        """
        before = dict(self.scope.names)
        otherwise = self.dead(dead)
        flow = live()
        if flow == RAISE:
            self.scope.names = before
            return dead()
        self.left_by_default = flow == RETURN
        names = self.scope.names
        for name, value in otherwise.items():
            held = names.get(name)
            if isinstance(held, Scalar) and held is not value and not same(held, value):
                names[name] = library.as_default(held)
        return flow

    def strength(self, owner: Guard | None) -> str:
        """How a change to an object made under `owner` counts here: "strong", "weak" (perhaps), "none"."""
        guard, weak = self.guard, False
        while not covers(guard, owner):
            if guard is None:
                break
            if guard.kind == DEAD:
                return "none"
            weak = True
            guard = guard.parent
        return "weak" if weak else "strong"

    def outermost(self) -> Guard | None:
        """The guard of everything that is read now: of a function that nothing calls, or none."""
        guard = self.guard
        while guard is not None and guard.parent is not None:
            guard = guard.parent
        return guard if guard is not None and guard.kind == UNCALLED else None

    def is_guarded(self) -> bool:
        guard = self.guard
        while guard is not None:
            if guard.kind in (BRANCH, HANDLER, DEAD):
                return True
            guard = guard.parent
        return False

    # --- Changing objects ---------------------------------------------------------------------------------------------

    def put(self, table: Table, key: str, key_span: Span, value: Node) -> None:
        strength = self.strength(table.guard)
        if strength == "none":
            return
        old = table.last.get(key)
        table.put(key, key_span, value if strength == "strong" else perhaps(old.value if old else None, value))

    def forget(self, value: Node, reason: str) -> None:
        """Anything in an object may have been changed."""
        if isinstance(value, Table):
            value.forget(reason)
        elif isinstance(value, Fields):
            value.table.forget(reason)
        elif isinstance(value, Items):
            value.items, value.unknown = [], True
        elif isinstance(value, Instance):
            value.attributes.forget(reason)
        elif isinstance(value, Contents):
            value.changed = True
        elif isinstance(value, DatasetNode):
            datasets.change(self, value, "unknown", value.span)
        elif isinstance(value, Choice):
            for option in value.options:
                self.forget(option, reason)

    def forget_call(self, reference: Reference, reason: str) -> None:
        """Any attribute of a call's result may have been set."""
        made = reference.call
        if not reference.attribute and made.name[:1].isupper() and self.strength(self.guard_of.get(id(made))) != "none":
            arguments = made.arguments
            entries = [Entry(e.key, e.key_span, Unknown(e.value.span, reason)) for e in arguments.last.values()]
            made.arguments = Mapping(arguments.span, entries, open_ended=True)

    def forget_names(self, reason: str) -> None:
        """Any name of the module may have been bound anew."""
        names = self.scope.module().names
        for name, value in names.items():
            if isinstance(value, (Scalar, Table, Items)):
                names[name] = Unknown(value.span, reason, frozenset((name,)))

    def set_attribute(self, base: Node, name: str, name_span: Span, value: Node) -> None:
        if isinstance(base, Instance):
            self.put(base.attributes, name, name_span, value)
        elif isinstance(base, Table):
            self.put(base, name, name_span, value)
        elif isinstance(base, Class):
            base.members[name] = (
                value if self.strength(None) == "strong" else Unknown(value.span, "it is set under a condition")
            )
        elif isinstance(base, Imported) and base.scope is not None:
            strong = self.strength(None) == "strong"
            base.scope.names[name] = value if strong else Unknown(value.span, "it is set under a condition")
        elif isinstance(base, Reference) and not base.attribute:
            calls.override(self, base.call, name, name_span, value)
        elif isinstance(base, Parsed):
            table = base.parser.overrides
            if isinstance(table, Table):
                self.put(table, name, name_span, value)
        elif isinstance(base, Choice):
            for option in base.options:
                self.set_attribute(option, name, name_span, Unknown(value.span, "it is set under a condition"))

    def set_item(self, base: Node, key: Node, key_span: Span, value: Node) -> None:
        if isinstance(base, Imported) and base.origin == "os.environ":
            if isinstance(key, Scalar):
                self.put(self.set_variables, str(key.value), key_span, value)
        elif isinstance(base, Fields):
            self.set_item(base.table, key, key_span, value)
        elif isinstance(base, Table):
            if isinstance(key, Scalar):
                self.put(base, str(key.value), key_span, value)
            elif self.strength(base.guard) != "none":
                base.forget("a key that is not known here is set")
        elif isinstance(base, Items):
            if (
                isinstance(key, Scalar)
                and isinstance(key.value, int)
                and -len(base.items) <= key.value < len(base.items)
            ):
                if self.strength(base.guard) == "strong":
                    base.items[key.value] = value
                elif self.strength(base.guard) == "weak":
                    base.items[key.value] = Unknown(value.span, "it is set under a condition")
            else:
                self.forget(base, "an item is set")
        elif isinstance(base, DatasetNode):
            datasets.set_split(self, base, key, value)
        elif isinstance(base, Instance):
            base.attributes.open_ended = True
        elif isinstance(base, Choice):
            for option in base.options:
                self.forget(option, "it is set under a condition")

    # --- Assignment ---------------------------------------------------------------------------------------------------

    def assign(self, target: ast.expr, value: Node) -> None:
        self.spend()
        if isinstance(target, ast.Name):
            self.bind(target.id, value)
        elif isinstance(target, (ast.Tuple, ast.List)):
            self._unpack(target.elts, value)
        elif isinstance(target, ast.Attribute):
            self.set_attribute(self.eval(target.value), target.attr, self.at.last_part(target), value)
        elif isinstance(target, ast.Subscript):
            base = self.eval(target.value)
            key = self.eval(target.slice)
            self.set_item(base, key, self.at.span(target.slice), value)
        elif isinstance(target, ast.Starred):
            self.assign(target.value, value)

    def _unpack(self, targets: list[ast.expr], value: Node) -> None:
        items = elements(value)
        if isinstance(value, DatasetNode):
            items = datasets.unpacked(value, len(targets))
        star = next((i for i, target in enumerate(targets) if isinstance(target, ast.Starred)), None)
        if items is not None and star is None and len(items) == len(targets):
            for target, item in zip(targets, items, strict=True):
                self.assign(target, item)
            return
        if items is not None and star is not None and len(items) >= len(targets) - 1:
            after = len(targets) - star - 1
            parts: list[Node] = list(items[:star])
            parts.append(Items(value.span, list(items[star : len(items) - after]), self.guard))
            parts.extend(items[len(items) - after :])
            for target, item in zip(targets, parts, strict=True):
                self.assign(target, item)
            return
        for index, target in enumerate(targets):
            if isinstance(value, Reference):
                self.assign(target, self.refer(value.span, value.call, f"{value.attribute}[{index}]"))
            else:
                self.assign(target, self.unknown(target, "it is unpacked from a value that is not known"))

    def refer(self, span: Span, call: Call, attribute: str = "") -> Reference:
        reference = Reference(span, call, attribute)
        self.references.append(reference)
        return reference

    def defaults(self, arguments: ast.arguments) -> dict[str, Node]:
        """The defaults of a function's parameters, as they are where it is defined."""
        found: dict[str, Node] = {}
        positional = [*arguments.posonlyargs, *arguments.args]
        if arguments.defaults:
            for parameter, default in zip(positional[-len(arguments.defaults) :], arguments.defaults, strict=True):
                found[parameter.arg] = self.eval(default)
        for parameter, given in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            if given is not None:
                found[parameter.arg] = self.eval(given)
        return found

    def remember(self, site: Site, made: Call) -> None:
        key = id(site.node) if site.node is not None else id(made)
        self.calls.append(calls.Kept(key, made, calls.is_dead(self.guard)))
        self.guard_of[id(made)] = self.guard

    def remember_load(self, path: Node, via: str, span: Span) -> bool:
        """False where this place has been noted with the same path before."""
        key = (id(span.source), span.start, via, getattr(path, "value", None))
        if key in self._loads:
            return False
        self._loads.add(key)
        return True

    def body(self, function: Function, node: ast.FunctionDef | ast.AsyncFunctionDef, site: Site) -> Node:
        """Read a function's statements; what it returns."""
        self.frame = frame = Frame(function.name, function)
        flow = self.block(node.body)
        if frame.generator:
            return Unknown(site.whole, f"the result of {function.name}()")
        returns = frame.returns
        if flow == NORMAL:
            returns.append(Scalar(site.whole, "None", None))
        if not returns:
            return Unknown(site.whole, f"{function.name}() does not return")
        result = returns[0]
        for other in returns[1:]:
            result = join(result, other)
        return result

    # --- For the modules below ----------------------------------------------------------------------------------------

    def call(self, callee: Node, site: Site) -> Node:
        return calls.call(self, callee, site)

    def read_function(self, function: Function) -> None:
        """Read a function that nothing calls."""
        calls.read_one_uncalled(self, function)

    def record(self, site: Site, name: str, origin: str, **options: Any) -> Reference:
        return calls.record(self, site, name, origin, **options)

    def parsed_fields(self, parsed: Parsed, span: Span) -> Table:
        return dataclass_parsers.fields(self, parsed, span)

    def attribute(self, base: Node, name: str, span: Span) -> Node:
        return expressions.attribute(self, base, name, span)

    def item(self, base: Node, key: Node, span: Span) -> Node:
        return expressions.item(self, base, key, span)

    def assigned_in(self, node: ast.stmt) -> dict[str, int]:
        """The names that a statement binds, with the number of places that do: the first time, at its price."""
        found, seen = bound_in(node)
        if id(node) not in self._assigned:
            self._assigned.add(id(node))
            self.steps -= seen
            self.spend()
        return found
