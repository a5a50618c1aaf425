"""The values that exist only while a script is being read, and what can be said of any two or of any one of them.

They are nodes like all others, so one type serves for everything; `export` turns them into the public ones.
"""

from __future__ import annotations

import math

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python.model import Choice, DatasetNode, Derived, Operation, Parsed, Reference, Symbol, Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from epochlint.documents.python.model import Parser
    from epochlint.documents.python.syntax import Locator
    from epochlint.source import Span

NO_NAMES: frozenset[str] = frozenset()

# Guards: why a piece of the program may not run. "dead" is a branch that a default excludes; "loop" and "uncalled"
# are passed more or less often than once.
BRANCH, HANDLER, DEAD, LOOP, UNCALLED = "branch", "handler", "dead", "loop", "uncalled"


class Guard:
    """A condition under which the statements being read run; innermost first."""

    __slots__ = ("depth", "kind", "parent")

    def __init__(self, parent: Guard | None, kind: str) -> None:
        self.parent = parent
        self.kind = kind
        self.depth: int = parent.depth + 1 if parent is not None else 1


def covers(guard: Guard | None, inner: Guard | None) -> bool:
    """Whether whatever exists under `inner` exists only while `guard` holds, too."""
    if guard is None:
        return True
    while inner is not None and inner.depth > guard.depth:
        inner = inner.parent
    return inner is guard


class Scope:
    """The names of the module, a class or a function that is being read."""

    __slots__ = ("kind", "names", "outer", "parent")

    def __init__(self, kind: str, parent: Scope | None) -> None:
        self.kind = kind
        self.parent = parent
        self.names: dict[str, Node] = {}
        # Names that `global` and `nonlocal` bind elsewhere.
        self.outer: dict[str, Scope] = {}

    def module(self) -> Scope:
        """The scope of the module in which this one stands."""
        scope = self
        while scope.parent is not None:
            scope = scope.parent
        return scope


class Table(Mapping):
    """A dict or an object with attributes. `form`: "dict" (keys), "object" (attributes), "config" (both)."""

    __slots__ = ("form", "guard", "reason")

    def __init__(
        self,
        span: Span,
        entries: list[Entry],
        guard: Guard | None,
        form: str = "dict",
        open_ended: bool = False,
        reason: str = "",
    ) -> None:
        super().__init__(span, entries, open_ended)
        self.guard = guard
        self.form = form
        # Why a key that is not here is not known.
        self.reason = reason

    def put(self, key: str, key_span: Span, value: Node) -> None:
        old = self.last.get(key)
        if old is not None:
            self.entries = [entry for entry in self.entries if entry.key != key]
        entry = Entry(key, key_span, value)
        self.entries.append(entry)
        if self._last is not None:
            self._last[key] = entry

    def drop(self, key: str) -> None:
        self.entries = [entry for entry in self.entries if entry.key != key]
        self._last = None

    def copy(self, span: Span, guard: Guard | None) -> Table:
        return Table(span, list(self.last.values()), guard, self.form, self.open_ended, self.reason)

    def forget(self, reason: str) -> None:
        """Any key may have changed."""
        self.entries = [Entry(entry.key, entry.key_span, Unknown(entry.value.span, reason)) for entry in self.entries]
        self.open_ended = True
        self.reason = reason
        self._last = None


class Fields(Node):
    """The attributes of an object as a dict that changes with it: `vars(args)`, `args.__dict__`."""

    __slots__ = ("table",)

    def __init__(self, span: Span, table: Table) -> None:
        super().__init__(span)
        self.table = table


class Items(Sequence):
    """A list or tuple; `unknown` where its length is not known (filled in a loop), `default` as in `Derived`."""

    __slots__ = ("default", "guard", "unknown")

    def __init__(self, span: Span, items: list[Node], guard: Guard | None, unknown: bool = False) -> None:
        super().__init__(span, items)
        self.guard = guard
        self.unknown = unknown
        self.default = False


class Imported(Node):
    """A module, or a name from one, under its dotted origin; builtins as "builtins.len".

    `scope`: the names of a module of the project. `whole`: it is a module, by `import a.b`.
    """

    __slots__ = ("origin", "scope", "whole")

    def __init__(self, span: Span, origin: str, scope: Scope | None = None, whole: bool = False) -> None:
        super().__init__(span)
        self.origin = origin
        self.scope = scope
        self.whole = whole

    def __repr__(self) -> str:
        return f"Imported({self.origin!r})"


class Decorator:
    __slots__ = ("arguments", "origin", "span", "value")

    def __init__(self, origin: str, span: Span, value: Node, arguments: Site | None) -> None:
        self.origin = origin
        self.span = span
        self.value = value
        self.arguments = arguments


class Function(Node):
    """A function or lambda of the file, with the defaults that it had when it was defined."""

    __slots__ = ("at", "decorators", "defaults", "generator", "name", "node", "owner", "receiver", "scope")

    def __init__(
        self,
        span: Span,
        name: str,
        node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda,
        scope: Scope,
        at: Locator,
        defaults: dict[str, Node],
        decorators: list[Decorator],
        receiver: Node | None = None,
        owner: Class | None = None,
    ) -> None:
        super().__init__(span)
        self.name = name
        self.node = node
        self.scope = scope
        self.at = at
        self.defaults = defaults
        self.decorators = decorators
        self.receiver = receiver
        self.owner = owner

    def bound(self, receiver: Node) -> Function:
        return Function(
            self.span, self.name, self.node, self.scope, self.at, self.defaults, self.decorators, receiver, self.owner
        )

    def decorated(self, *endings: str) -> Decorator | None:
        return next((found for found in self.decorators if found.origin.endswith(endings)), None)


class Class(Node):
    """A class of the file. `origin`: the imported class that it derives from, empty for none."""

    __slots__ = ("annotated", "at", "bases", "decorators", "members", "name", "node", "origin", "scope")

    def __init__(self, span: Span, name: str, node: ast.ClassDef, bases: list[Node], at: Locator) -> None:
        super().__init__(span)
        self.name = name
        self.node = node
        self.bases = bases
        self.at = at
        self.decorators: list[Decorator] = []
        self.members: dict[str, Node] = {}
        # Field -> (its annotation, the span of its name), in order.
        self.annotated: dict[str, tuple[str, Span]] = {}
        self.origin = ""
        self.scope: Scope | None = None

    def lineage(self) -> list[Class]:
        """The class and the classes of the file that it derives from, nearest first."""
        found: list[Class] = []
        waiting: list[Class] = [self]
        while waiting and len(found) < 20:
            current = waiting.pop(0)
            if current not in found:
                found.append(current)
                waiting.extend(base for base in current.bases if isinstance(base, Class))
        return found

    def member(self, name: str) -> Node | None:
        return next((cls.members[name] for cls in self.lineage() if name in cls.members), None)


class Instance(Node):
    """An object of a class of the file; `reference` to its call where the class derives from an imported one."""

    __slots__ = ("attributes", "cls", "reference")

    def __init__(self, span: Span, cls: Class, attributes: Table, reference: Reference | None = None) -> None:
        super().__init__(span)
        self.cls = cls
        self.attributes = attributes
        self.reference = reference


class Field(Node):
    """`dataclasses.field(...)`, pydantic's `Field(...)`: a default, or a function that makes one."""

    __slots__ = ("default", "factory", "site")

    def __init__(self, span: Span, default: Node | None, factory: Node | None, site: Site) -> None:
        super().__init__(span)
        self.default = default
        self.factory = factory
        self.site = site


class Super(Node):
    __slots__ = ("cls", "receiver")

    def __init__(self, span: Span, cls: Class, receiver: Node | None) -> None:
        super().__init__(span)
        self.cls = cls
        self.receiver = receiver


class Partial(Node):
    """`functools.partial`: a callable with arguments given already."""

    __slots__ = ("callee", "site")

    def __init__(self, span: Span, callee: Node, site: Site) -> None:
        super().__init__(span)
        self.callee = callee
        self.site = site


class Method(Node):
    """A method of a value that is not of the file: `"...".join`, `rows.append`."""

    __slots__ = ("name", "receiver")

    def __init__(self, span: Span, receiver: Node, name: str) -> None:
        super().__init__(span)
        self.receiver = receiver
        self.name = name


class File(Node):
    """An opened file; `reference` to the recorded `open`."""

    __slots__ = ("path", "reference")

    def __init__(self, span: Span, path: Node, reference: Reference | None = None) -> None:
        super().__init__(span)
        self.path = path
        self.reference = reference


class Contents(Node):
    """The text of a file (`read`), or what a loader made of one that cannot be seen.

    `changed`: the program has changed what was loaded since.
    """

    __slots__ = ("changed", "path", "via")

    def __init__(self, span: Span, path: Node, via: str = "") -> None:
        super().__init__(span)
        self.path = path
        self.via = via
        self.changed = False


class PathText(Derived):
    """A `pathlib.Path` as its text. `resolved`: made absolute, so that the parent of "." is ".."."""

    __slots__ = ()


class Range(Node):
    __slots__ = ("start", "step", "stop")

    def __init__(self, span: Span, start: int, stop: int, step: int) -> None:
        super().__init__(span)
        self.start = start
        self.stop = stop
        self.step = step

    def count(self) -> int:
        if self.step > 0:
            return max(0, -(-(self.stop - self.start) // self.step))
        return max(0, -(-(self.start - self.stop) // -self.step))


class ParserValue(Node):
    """A parser object of the program; the groups of an argparse parser are the parser itself."""

    __slots__ = (
        "classes", "command", "commands", "conditional", "fed", "guard", "open_ended", "record", "state", "types",
    )  # fmt: skip

    def __init__(self, span: Span, record: Parser, guard: Guard | None = None) -> None:
        super().__init__(span)
        self.record = record
        self.guard = guard
        # What parsing returned, so that every mention of it is one object.
        self.state: dict[str, Node] = {}
        # Option -> the value given as its `type`.
        self.types: dict[str, Node | None] = {}
        # Options that exist, or have their default, only under a condition.
        self.conditional: set[str] = set()
        # The names of its subcommands, and the attribute that says which was chosen.
        self.commands: set[str] = set()
        self.command = ""
        self.open_ended = False
        # For parsers of dataclasses: the classes, and the ways of feeding it with what they give (None: not visible).
        self.classes: list[Node] = []
        self.fed: list[tuple[str, Mapping | None]] = []


class Site:
    """The arguments of a call, evaluated."""

    __slots__ = ("callee", "keywords", "name", "node", "open_ended", "positional", "span", "whole")

    def __init__(
        self,
        node: ast.Call | None,
        name: str,
        callee: str,
        span: Span,
        whole: Span,
        positional: list[Node],
        keywords: list[Entry],
        open_ended: bool,
    ) -> None:
        self.node = node
        self.name = name
        self.callee = callee
        self.span = span
        self.whole = whole
        self.positional = positional
        self.keywords = keywords
        self.open_ended = open_ended

    def get(self, keyword: str, position: int | None = None) -> Node | None:
        for entry in reversed(self.keywords):
            if entry.key == keyword:
                return entry.value
        if position is not None and position < len(self.positional):
            return self.positional[position]
        return None

    def entry(self, keyword: str) -> Entry | None:
        return next((entry for entry in reversed(self.keywords) if entry.key == keyword), None)


# --- Comparing and joining --------------------------------------------------------------------------------------------


def rests_on_default(*nodes: Node) -> bool:
    return any(isinstance(node, (Derived, Items)) and node.default for node in nodes)


def same(one: Node, other: Node, depth: int = 0) -> bool:
    """Whether two values are certainly the same."""
    if one is other:
        return True
    if depth > 6:
        return False
    if isinstance(one, Scalar) and isinstance(other, Scalar):
        return type(one.value) is type(other.value) and one.value == other.value
    if isinstance(one, Imported) and isinstance(other, Imported):
        return one.origin == other.origin
    if isinstance(one, Reference) and isinstance(other, Reference):
        return one.call is other.call and one.attribute == other.attribute
    if isinstance(one, Parsed) and isinstance(other, Parsed):
        return one.parser is other.parser and one.index == other.index
    if isinstance(one, DatasetNode) and isinstance(other, DatasetNode):
        return same_source(one, other, depth) and same_operations(one, other)
    if isinstance(one, Function) and isinstance(other, Function):
        return one.node is other.node and one.receiver is other.receiver
    if isinstance(one, Sequence) and isinstance(other, Sequence):
        return (
            not (getattr(one, "unknown", False) or getattr(other, "unknown", False))
            and len(one.items) == len(other.items) <= 64
            and all(same(a, b, depth + 1) for a, b in zip(one.items, other.items, strict=True))
        )
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return (
            not (one.open_ended or other.open_ended)
            and len(one.last) == len(other.last) <= 64
            and all(
                key in other.last and same(entry.value, other.last[key].value, depth + 1)
                for key, entry in one.last.items()
            )
        )
    return False


def same_source(one: DatasetNode, other: DatasetNode, depth: int = 0) -> bool:
    if (one.files, one.field, one.hub, one.subset, one.split, one.streaming, one.rows, one.form) != (
        other.files, other.field, other.hub, other.subset, other.split, other.streaming, other.rows, other.form,
    ):  # fmt: skip
        return False
    if one.members is not other.members or one.replaced or other.replaced or len(one.parts) != len(other.parts):
        return False
    known = one.files is not None or one.hub is not None or one.rows is not None or bool(one.parts)
    return known and all(same(a, b, depth + 1) for a, b in zip(one.parts, other.parts, strict=True))


def same_operations(one: DatasetNode, other: DatasetNode) -> bool:
    return len(one.operations) == len(other.operations) and all(
        a.same(b) for a, b in zip(one.operations, other.operations, strict=True)
    )


def names_in(*nodes: Node) -> frozenset[str]:
    """The variables and fields behind values."""
    found = NO_NAMES
    for node in nodes:
        names = getattr(node, "names", NO_NAMES)
        if names:
            found = found | names
    return found if len(found) <= 40 else NO_NAMES


def join(one: Node, other: Node, reason: str = "it depends on a condition") -> Node:
    """What a variable holds where it holds one of two values."""
    if same(one, other):
        if isinstance(one, Scalar) and rests_on_default(other) and not rests_on_default(one):
            return other
        return other if isinstance(other, DatasetNode) and other.rewritten else one
    if isinstance(one, DatasetNode) and isinstance(other, DatasetNode) and same_source(one, other):
        return _join_datasets(one, other)
    options: list[Node] = []
    for node in (one, other):
        if isinstance(node, Choice) and len(node.options) == 1:
            # "Or not given at all" cannot be told together with other values.
            return Unknown(one.span, node.reason, names_in(one, other))
        if isinstance(node, Choice):
            options.extend(option for option in node.options if not any(same(option, seen) for seen in options))
        elif not any(same(node, seen) for seen in options):
            options.append(node)
    names = names_in(one, other)
    if len(options) > 8 or any(isinstance(option, Unresolved) and not isinstance(option, Symbol) for option in options):
        known = next((option for option in (one, other) if isinstance(option, Unknown)), None)
        return Unknown(one.span, known.reason if known is not None else reason, names)
    return Choice(one.span, reason, tuple(options), names)


def _join_datasets(one: DatasetNode, other: DatasetNode) -> DatasetNode:
    shared = 0
    for a, b in zip(one.operations, other.operations, strict=False):
        if not a.same(b):
            break
        shared += 1
    longer = one if len(one.operations) >= len(other.operations) else other
    return with_operations(
        longer,
        (*one.operations[:shared], Operation("unknown", None, longer.operations[shared].span)),
        rewritten=one.rewritten or other.rewritten,
    )


_COPIED = (
    "field", "files", "form", "hub", "loaded", "members", "mixing", "parts", "rewritten", "rows", "split", "streaming",
    "subset",
)  # fmt: skip


def with_operations(dataset: DatasetNode, operations: tuple[Operation, ...], **changes: object) -> DatasetNode:
    """A copy of a dataset with other operations."""
    fields: dict[str, object] = {name: getattr(dataset, name) for name in _COPIED}
    fields.update(changes)
    made = DatasetNode(dataset.span, operations=operations, **fields)  # type: ignore[arg-type]
    added = operations[len(dataset.operations) :]
    for name, held in dataset.replaced.items():
        if isinstance(held, DatasetNode):
            held = with_operations(held, (*held.operations, *added))
        made.replaced[name] = held
    return made


def perhaps(old: Node | None, value: Node) -> Node:
    """What holds where a value may have been set, or not."""
    reason = "it is set under a condition"
    if old is not None:
        return join(old, value, reason)
    if isinstance(value, (Scalar, Reference)):
        return Choice(value.span, reason, (value,), names_in(value))
    return Unknown(value.span, reason, names_in(value))


def join_names(ends: list[dict[str, Node]]) -> dict[str, Node]:
    """What names hold after one of several pieces has run; a name that some of them leave unbound keeps its value."""
    merged = ends[0]
    for names in ends[1:]:
        for name, value in names.items():
            old = merged.get(name)
            if old is None:
                merged[name] = value
            elif old is not value:
                merged[name] = join(old, value)
    return merged


def truth(node: Node) -> bool | None:
    """Whether a value counts as true; None where that is not known."""
    if isinstance(node, Scalar):
        return bool(node.value)
    if isinstance(node, Items):
        return None if node.unknown and not node.items else bool(node.items)
    if isinstance(node, Sequence):
        return bool(node.items)
    if isinstance(node, Mapping):
        if isinstance(node, Table) and node.form == "object":
            return True
        return True if node.last else None if node.open_ended else False
    if isinstance(node, (Function, Class, Instance, File, Parsed, ParserValue)):
        return True
    if isinstance(node, Imported):
        return True if names_a_class(node.origin) else None
    if isinstance(node, Reference) and not node.attribute and node.call.name[:1].isupper():
        return True
    if isinstance(node, Range):
        return node.count() > 0
    if isinstance(node, Choice) and len(node.options) > 1:
        answers = {truth(option) for option in node.options}
        return answers.pop() if len(answers) == 1 else None
    return None


def is_none(node: Node) -> bool | None:
    """Whether a value is None; None where that is not known."""
    if isinstance(node, Scalar):
        return node.value is None
    if isinstance(node, Choice) and len(node.options) > 1:
        answers = {is_none(option) for option in node.options}
        return answers.pop() if len(answers) == 1 else None
    if isinstance(node, Reference):
        return False if not node.attribute and node.call.name[:1].isupper() else None
    if isinstance(node, Imported):
        return False if names_a_class(node.origin) else None
    return None if isinstance(node, (Unresolved, Contents)) else False


def names_a_class(origin: str) -> bool:
    """Whether a dotted origin is spelt like a class: "trl.SFTConfig", not "config.DEBUG" or "yaml"."""
    last = origin.rpartition(".")[2]
    return last[:1].isupper() and not last.isupper()


# --- Asking a value --------------------------------------------------------------------------------------------------


def derived(
    span: Span, value: object, *operands: Node, names: frozenset[str] = NO_NAMES, raw: str | None = None
) -> Derived:
    """A value computed from others."""
    return Derived(
        span,
        raw if raw is not None else str(value),
        value,
        names=names | names_in(*operands),
        default=rests_on_default(*operands),
    )


def elements(value: Node) -> list[Node] | None:
    """The elements of a list or tuple, None where they are not known."""
    if isinstance(value, Items):
        return None if value.unknown else value.items
    return value.items if isinstance(value, Sequence) else None


def number_of(value: Node | None) -> int | float | None:
    """A known finite number."""
    if isinstance(value, Scalar) and isinstance(value.value, (int, float)) and not isinstance(value.value, bool):
        return value.value if isinstance(value.value, int) or math.isfinite(value.value) else None
    return None


def text_of(value: Node | None) -> str | None:
    return value.value if isinstance(value, Scalar) and isinstance(value.value, str) else None


def expand(value: Node) -> tuple[list[Entry], bool]:
    """The keys of `**value`, and whether they are all of them."""
    if isinstance(value, Instance):
        value = value.attributes
    elif isinstance(value, Fields):
        value = value.table
    if isinstance(value, Mapping):
        return list(value.last.values()), not value.open_ended
    if isinstance(value, Parsed):
        return [], False
    if isinstance(value, Choice):
        tables = [option for option in value.options if isinstance(option, Mapping)]
        keys = {key: entry for table in tables for key, entry in table.last.items()}
        return [
            Entry(key, entry.key_span, Unknown(entry.value.span, value.reason)) for key, entry in keys.items()
        ], False
    return [], False


def iterated(value: Node) -> list[Node] | None:
    """What a loop over a value would see, None where that is not known."""
    items = elements(value)
    if items is not None:
        return items
    if isinstance(value, Fields):
        value = value.table
        return None if value.open_ended else [Scalar(e.key_span, e.key, e.key) for e in value.last.values()]
    if isinstance(value, Table) and value.form != "object" and not value.open_ended:
        return [Scalar(entry.key_span, entry.key, entry.key) for entry in value.last.values()]
    if isinstance(value, Range) and value.count() <= 200:
        return [derived(value.span, number) for number in range(value.start, value.stop, value.step)]
    return None


# --- What a reader of the document sees -------------------------------------------------------------------------------


def export(node: Node, budget: list[int] | None = None, depth: int = 0) -> Node:
    """The public form of a value, detached from what the program does to it later."""
    if isinstance(node, (Scalar, Reference, Parsed, Symbol)):
        return node
    if isinstance(node, DatasetNode):
        return with_operations(node, node.operations)
    if budget is None:
        budget = [4000]
    budget[0] -= 1
    if budget[0] < 0 or depth > 40:
        return Unknown(node.span, "too large")
    if isinstance(node, Choice):
        return Choice(
            node.span, node.reason, tuple(export(option, budget, depth + 1) for option in node.options), node.names
        )
    if isinstance(node, Unresolved):
        return node
    if isinstance(node, Mapping):
        entries = [
            Entry(entry.key, entry.key_span, export(entry.value, budget, depth + 1)) for entry in node.last.values()
        ]
        return Mapping(node.span, entries, node.open_ended)
    if isinstance(node, Sequence):
        if isinstance(node, Items) and node.unknown:
            return Unknown(node.span, "a list that is filled while the program runs")
        return Sequence(node.span, [export(item, budget, depth + 1) for item in node.items])
    return _export_other(node, budget, depth)


def _export_other(node: Node, budget: list[int], depth: int) -> Node:
    if isinstance(node, Imported):
        return Symbol(node.span, node.origin.removeprefix("builtins."))
    if isinstance(node, (Function, Class)):
        return Symbol(node.span, node.name)
    if isinstance(node, File):
        return node.reference or Unknown(node.span, "an opened file")
    if isinstance(node, Instance):
        if node.reference is not None:
            return node.reference
        if any(str(getattr(base, "origin", "")).endswith("Dataset") for base in node.cls.lineage()):
            return DatasetNode(node.span)
        return export(node.attributes, budget, depth + 1)
    if isinstance(node, Fields):
        return export(node.table, budget, depth + 1)
    if isinstance(node, Partial):
        return export(node.callee, budget, depth + 1)
    if isinstance(node, Contents):
        return Unknown(node.span, "what a file holds")
    return Unknown(node.span, "known only when the program runs")
