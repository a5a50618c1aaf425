"""Classes of the file: plain ones, dataclasses, and those that derive from a trainer's."""

from __future__ import annotations

from epochlint.documents.document import Entry, Node, Scalar
from epochlint.documents.python.model import Dataclass, Flag, Unknown
from epochlint.documents.python.values import (
    Class,
    Decorator,
    Field,
    Fields,
    Function,
    Imported,
    Instance,
    Items,
    Method,
    Scope,
    Site,
    Super,
    Table,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

# Bases that say nothing about what an object is for.
_PLAIN_BASES = frozenset(
    (
        "builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol", "typing.NamedTuple", "enum.Enum",
        "enum.IntEnum", "enum.StrEnum", "builtins.str", "builtins.int", "builtins.dict", "builtins.list",
        "pydantic.BaseModel", "pydantic_settings.BaseSettings", "typing.TypedDict", "builtins.Exception",
        "builtins.ValueError", "builtins.RuntimeError", "tap.Tap", "tap.tap.Tap",
    )
)  # fmt: skip
# Bases whose subclasses take their annotated fields as keywords.
_MODEL_BASES = ("BaseModel", "BaseSettings", "NamedTuple", "Tap", "Arguments", "Config", "Args", "Struct", "TypedDict")


def define(it: Interpreter, node: ast.ClassDef, decorators: list[Decorator]) -> None:
    bases = [it.eval(base) for base in node.bases]
    start = it.at.start(node)
    cls = Class(it.at.source.span(start, start), node.name, node, bases, it.at)
    cls.decorators = decorators
    cls.origin = _origin(bases)
    outer = it.scope
    it.scope = scope = Scope("class", outer)
    cls.scope = scope
    before = len(it.functions)
    it.block(node.body)
    it.scope = outer
    for function in it.functions[before:]:
        if function.owner is None:
            function.owner = cls
    fields = scope.names.pop("__annotations__", None)
    if isinstance(fields, Table):
        for entry in fields.entries:
            if isinstance(entry.value, Scalar):
                cls.annotated[entry.key] = (entry.value.raw, entry.key_span)
    cls.members = scope.names
    it.classes.append(cls)
    it.bind(node.name, cls)


def _origin(bases: list[Node]) -> str:
    for base in bases:
        if isinstance(base, Imported) and base.origin not in _PLAIN_BASES:
            return base.origin
        if isinstance(base, Class) and base.origin:
            return base.origin
    return ""


def _is_model(cls: Class) -> bool:
    """Whether annotated fields become keywords: a dataclass, a pydantic model, a subclass of an imported dataclass."""
    for current in cls.lineage():
        if any(found.origin.endswith(("dataclass", "attrs", "define", "frozen", ".s")) for found in current.decorators):
            return True
        for base in current.bases:
            if isinstance(base, Imported) and base.origin.endswith(_MODEL_BASES):
                return True
    return False


def fields_of(cls: Class) -> dict[str, tuple[Class, str, Span]]:
    """The annotated fields in order, bases first: name -> (class, annotation, span of the name)."""
    found: dict[str, tuple[Class, str, Span]] = {}
    for current in reversed(cls.lineage()):
        for name, (annotation, span) in current.annotated.items():
            if not annotation.startswith(("ClassVar", "typing.ClassVar")):
                found[name] = (current, annotation, span)
    return found


def default_of(it: Interpreter, owner: Class, name: str) -> Node | None:
    """The default of a field, None where it has none."""
    value = owner.member(name)
    if not isinstance(value, Field):
        return value
    if value.default is not None:
        return value.default
    if value.factory is not None:
        factory = value.factory
        site = Site(None, name, name, value.span, value.span, [], [], False)
        if isinstance(factory, Imported) and factory.origin in ("builtins.dict", "builtins.list"):
            return (
                Table(value.span, [], it.guard) if factory.origin.endswith("dict") else Items(value.span, [], it.guard)
            )
        return it.call(factory, site)
    return None


def field(it: Interpreter, site: Site, origin: str) -> Node | None:
    """`field(default=...)`, `Field(1e-4, ge=0)` in a class body."""
    if it.scope.kind != "class":
        return None
    default = site.get("default")
    if default is None and not origin.startswith("dataclasses."):
        default = site.get("0", 0)
        if isinstance(default, Unknown) and default.reason == "not a setting":
            default = None  # Field(...) says that it is required.
    factory = site.get("default_factory") or site.get("factory")
    return Field(site.whole, default, factory, site)


def instantiate(it: Interpreter, cls: Class, site: Site) -> Node:
    """`Mine(...)`."""
    attributes = Table(site.whole, [], it.guard, "object")
    instance = Instance(site.whole, cls, attributes)
    methods = frozenset(
        name for current in cls.lineage() for name, member in current.members.items() if isinstance(member, Function)
    )
    initialiser = cls.member("__init__")
    model = _is_model(cls) and not isinstance(initialiser, Function)
    defaults = _fill(it, cls, site, attributes) if model else []
    if cls.origin:
        name = cls.origin.rpartition(".")[2]
        instance.reference = it.record(site, name, cls.origin, methods=methods, defaults=defaults)
    elif site.keywords or cls.name.endswith(("Trainer", "Arguments", "Config")):
        it.record(site, cls.name, "", local=True, methods=methods)
    it.instances.setdefault(id(cls.node), []).append(instance)
    if isinstance(initialiser, Function):
        it.call(initialiser.bound(instance), site)
    elif not model and site.open_ended:
        attributes.open_ended = True
    started = cls.member("__post_init__") if model else None
    if isinstance(started, Function):
        it.call(started.bound(instance), Site(None, "__post_init__", "", site.span, site.whole, [], [], False))
    return instance


def _fill(it: Interpreter, cls: Class, site: Site, attributes: Table) -> list[Entry]:
    """The fields of a dataclass: arguments over defaults. Returns the defaults that count."""
    fields = fields_of(cls)
    defaults: list[Entry] = []
    # With an imported base the file does not show which field comes first.
    given = dict(zip(fields, site.positional, strict=False)) if not cls.origin else {}
    for name, (owner, _, span) in fields.items():
        if site.entry(name) is not None:
            continue
        if name in given:
            attributes.put(name, span, given[name])
        elif site.open_ended:
            attributes.put(name, span, Unknown(span, f"whether {name} is passed is not visible"))
        else:
            default = default_of(it, owner, name)
            if default is not None:
                attributes.put(name, span, default)
                defaults.append(Entry(name, span, default))
            else:
                attributes.put(name, span, Unknown(span, f"{name} has no default", frozenset((name,))))
    for entry in site.keywords:
        attributes.put(entry.key, entry.key_span, entry.value)
    return defaults


def _is_tap(cls: Class) -> bool:
    """Whether a class declares a command line by its fields (typed-argument-parser)."""
    bases = [base for current in cls.lineage() for base in current.bases]
    return any(isinstance(base, Imported) and base.origin in ("tap.Tap", "tap.tap.Tap") for base in bases)


def instance_attribute(it: Interpreter, instance: Instance, name: str, span: Span) -> Node:
    if name == "__dict__":
        return Fields(span, instance.attributes)
    if name == "__class__":
        return instance.cls
    found = instance.attributes.get(name)
    if found is not None:
        return found
    member = instance.cls.member(name)
    if isinstance(member, Function):
        if member.decorated("property"):
            return it.call(member.bound(instance), Site(None, name, name, span, span, [], [], False))
        return member.bound(instance.cls if member.decorated("classmethod") else instance)
    if isinstance(member, Field):
        default = default_of(it, next(c for c in instance.cls.lineage() if name in c.members), name)
        if default is not None:
            return default
    elif member is not None and not instance.attributes.open_ended:
        return member
    if name == "parse_args" and _is_tap(instance.cls):
        return Method(span, instance, name)
    if instance.reference is not None:
        return it.refer(span, instance.reference.call, name)
    return Unknown(span, instance.attributes.reason or f"{name} is not set where it can be seen", frozenset((name,)))


def class_attribute(it: Interpreter, cls: Class, name: str, span: Span) -> Node:
    if name == "__dict__":
        entries = [Entry(key, value.span, value) for key, value in cls.members.items() if not key.startswith("__")]
        return Table(span, [entry for entry in entries if not isinstance(entry.value, Function)], it.guard)
    member = cls.member(name)
    if isinstance(member, Function):
        return member.bound(cls) if member.decorated("classmethod") else member
    if isinstance(member, Field):
        return default_of(it, cls, name) or Unknown(span, f"{name} has no default")
    if member is not None:
        return member
    if cls.origin:
        return Imported(span, f"{cls.origin}.{name}")
    return Unknown(span, f"{name} is not a member that can be seen", frozenset((name,)))


def super_of(it: Interpreter, span: Span) -> Node:
    """`super()` inside a method."""
    function = it.frame.function
    if function is None or function.owner is None:
        return Unknown(span, "super() outside a method")
    return Super(span, function.owner, function.receiver)


def super_attribute(it: Interpreter, base: Super, name: str, span: Span) -> Node:
    for cls in base.cls.lineage()[1:]:
        member = cls.members.get(name)
        if isinstance(member, Function) and base.receiver is not None:
            return member.bound(base.receiver)
    if base.cls.origin:
        return Imported(span, f"{base.cls.origin}.{name}")
    return Imported(span, f"builtins.object.{name}")


def read_uncalled(it: Interpreter) -> None:
    """Read the methods that nothing in the file calls, on objects whose arguments are left to their defaults."""
    for cls in list(it.classes):
        waiting = [
            member
            for member in cls.members.values()
            if isinstance(member, Function) and not it.passes.get(id(member.node))
        ]
        if not waiting:
            continue
        made = it.instances.get(id(cls.node), [])
        if len(made) == 1:
            instance = made[0]
        else:
            instance = _imagined(it, cls, made)
        for function in sorted(waiting, key=lambda member: member.name != "__init__"):
            if not it.passes.get(id(function.node)):
                it.read_function(function.bound(instance))


def _imagined(it: Interpreter, cls: Class, made: list[Instance]) -> Instance:
    """An object of a class that the file never makes, or makes in several ways."""
    attributes = Table(cls.span, [], it.guard, "object")
    instance = Instance(cls.span, cls, attributes)
    if made:
        attributes.open_ended = True
        attributes.reason = "there are several objects of this class"
    elif _is_model(cls):
        _fill(it, cls, Site(None, cls.name, cls.name, cls.span, cls.span, [], [], False), attributes)
    return instance


def dataclass_of(it: Interpreter, value: Node) -> Dataclass | None:
    """A class that a parser is asked to fill."""
    if isinstance(value, Imported):
        return Dataclass(value.origin.rpartition(".")[2], value.origin, value.span)
    if not isinstance(value, Class):
        return None
    flags: dict[str, Flag] = {}
    for name, (owner, annotation, span) in fields_of(value).items():
        default = default_of(it, owner, name)
        flags[name] = Flag(
            (f"--{name}",), name, span, default=default, type=field_type(annotation), required=default is None
        )
    bases = tuple(base.origin for cls in value.lineage() for base in cls.bases if isinstance(base, Imported))
    return Dataclass(value.name, value.origin, value.span, flags, bases)


def field_type(annotation: str) -> str:
    """The plain type behind an annotation: "Optional[float]" and "float | None" are "float"."""
    text = annotation.strip().strip("\"'")
    for wrapper in ("typing.", "t."):
        text = text.removeprefix(wrapper)
    if text.startswith(("Optional[", "Annotated[")):
        text = text.partition("[")[2].rpartition("]")[0].partition(",")[0]
    parts = [part.strip() for part in text.split("|") if part.strip() != "None"]
    if text.startswith("Union["):
        parts = [part.strip() for part in text[6:-1].split(",") if part.strip() != "None"]
    return parts[0].removeprefix("typing.") if len(parts) == 1 else ""
