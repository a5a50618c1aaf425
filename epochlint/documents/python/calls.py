"""Calls: what is called, with which arguments, which calls are kept, and what comes back.

Functions and classes of the file are followed; what is imported and known (`os.path.join`, `load_dataset`) gives its
value; everything else gives a reference to the recorded call.
"""

from __future__ import annotations

import ast
import re
from collections import Counter

from epochlint.documents.document import Entry, Mapping, Node, Scalar
from epochlint.documents.python import classes, commands, datasets, files, library, methods, parsers, paths, written
from epochlint.documents.python.model import Call, DatasetNode, Reference, Unknown
from epochlint.documents.python.spawned import SPAWNERS
from epochlint.documents.python.values import (
    DEAD,
    UNCALLED,
    Class,
    Contents,
    File,
    Function,
    Guard,
    Imported,
    Instance,
    Items,
    Method,
    ParserValue,
    Partial,
    Scope,
    Site,
    Table,
    elements,
    expand,
    export,
    join,
    names_in,
    perhaps,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

# A function is read with the arguments of so many of its calls, then once more with unknown ones.
MOST_PASSES = 4
DEEPEST_CALL = 24

# Last names that are recorded wherever they come from and however they are called.
INTERESTING = frozenset(
    (
        "TrainingArgs", "create", "create_model_customization_job", "create_training_job", "create_job",
        "fine_tune", "finetune", "fit", "from_pretrained", "get_peft_model", "lora_sft", "main", "notebook_launcher",
        "osft", "run", "run_training", "sft", "start", "submit", "train", "tune",
    )
)  # fmt: skip
_ENDINGS = ("Config", "Arguments", "Trainer", "Callback", "Parser", "Params", "Args", "Estimator", "Job", "Spec")

_CALLED = re.compile(r"\b(\w+)\(")
# Calls of these without keywords say nothing about training.
_QUIET_ROOTS = frozenset(
    (
        "builtins", "os", "sys", "math", "re", "json", "logging", "pathlib", "random", "time", "datetime", "typing",
        "collections", "functools", "itertools", "warnings", "copy", "shutil", "glob", "string", "pprint", "dotenv",
        "numpy", "torch", "pandas", "matplotlib", "tqdm", "rich", "gc", "subprocess", "io", "hashlib", "uuid", "abc",
        "enum", "contextlib", "dataclasses", "operator", "textwrap", "traceback", "pickle", "csv", "requests",
    )
)  # fmt: skip

_HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **library.HANDLERS,
    **paths.HANDLERS,
    **files.HANDLERS,
    **datasets.HANDLERS,
    **parsers.HANDLERS,
}
# Found by their last name, since programs import them from many places.
_BY_NAME: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **parsers.BY_NAME,
    **datasets.BY_NAME,
}


def evaluate(it: Interpreter, node: ast.Call) -> Node:
    callee = it.eval(node.func)
    if isinstance(callee, Imported) and callee.origin == "builtins.super" and not node.args:
        return classes.super_of(it, it.at.span(node))
    return call(it, callee, site_of(it, node))


def dotted(node: ast.expr) -> str:
    """A callee as written, without the arguments of calls inside it: "Together.fine_tuning.create"."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        elif isinstance(node, ast.Subscript):
            node = node.value
        else:
            break
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def unpacked(it: Interpreter, nodes: Iterable[ast.expr]) -> tuple[list[Node], bool]:
    """The values of arguments or elements, and whether a `*more` among them is not known."""
    found: list[Node] = []
    unknown = False
    for node in nodes:
        if isinstance(node, ast.Starred):
            more = elements(it.eval(node.value))
            if more is None:
                unknown = True
            else:
                found.extend(more)
        else:
            found.append(it.eval(node))
    return found, unknown


def site_of(it: Interpreter, node: ast.Call) -> Site:
    """Evaluate a call's arguments."""
    keywords: list[Entry] = []
    positional, open_ended = unpacked(it, node.args)
    for keyword in node.keywords:
        value = it.eval(keyword.value)
        if keyword.arg is not None:
            keywords.append(Entry(keyword.arg, it.at.keyword(keyword), value))
            continue
        entries, complete = expand(value)
        keywords.extend(entries)
        open_ended = open_ended or not complete
    func = node.func
    name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    return Site(node, name, dotted(func), it.at.last_part(func), it.at.span(node), positional, keywords, open_ended)


def origin_of(it: Interpreter, node: ast.expr, value: Node) -> str:
    """The dotted origin of a decorator, or its text where it has none."""
    if isinstance(value, Imported):
        return value.origin
    if isinstance(value, Reference):
        return f"{value.call.origin}.{value.attribute}" if value.attribute else value.call.origin
    return dotted(node)


def call(it: Interpreter, callee: Node, site: Site) -> Node:
    """Call a value with evaluated arguments."""
    if isinstance(callee, Imported):
        return _imported(it, callee, site)
    if isinstance(callee, Function):
        return invoke(it, callee, site)
    if isinstance(callee, Class):
        return classes.instantiate(it, callee, site)
    if isinstance(callee, Method):
        return _method(it, callee, site)
    if isinstance(callee, Partial):
        given = callee.site
        merged = Site(
            site.node, given.name or site.name, given.callee, site.span, site.whole,
            [*given.positional, *site.positional],
            [*(entry for entry in given.keywords if site.entry(entry.key) is None), *site.keywords],
            given.open_ended or site.open_ended,
        )  # fmt: skip
        return call(it, callee.callee, merged)
    if isinstance(callee, Reference):
        origin = callee.call.origin
        if site.name == "load" and origin.startswith("ruamel"):
            found = files.ruamel_load(it, site)
            if found is not None:
                return found
        full = f"{origin}.{_plain(callee.attribute)}" if origin and callee.attribute else origin
        return record(it, site, site.name, full, receiver=callee.call)
    return _unknown_callee(it, callee, site)


def _plain(attribute: str) -> str:
    """An attribute path without the indices in it: "jobs[0].create" is "jobs.create"."""
    if "[" not in attribute:
        return attribute
    parts = [part.partition("[")[0] for part in attribute.split(".")]
    return ".".join(part for part in parts if part)


def _imported(it: Interpreter, callee: Imported, site: Site) -> Node:
    origin = callee.origin
    last = origin.rpartition(".")[2]
    handler = _HANDLERS.get(origin) or _BY_NAME.get(last)
    if handler is not None:
        found = handler(it, site, origin)
        if found is not None:
            return found
    if origin.startswith("builtins."):
        return Unknown(site.whole, f"the result of {last}()", names_in(*site.positional))
    if site.keywords or origin in SPAWNERS or origin.partition(".")[0] not in _QUIET_ROOTS:
        return record(it, site, last, origin)
    return Unknown(site.whole, f"the result of {site.callee}()", names_in(*site.positional) | {last})


def _method(it: Interpreter, method: Method, site: Site) -> Node:
    receiver, name = method.receiver, method.name
    found: Node | None = None
    if isinstance(receiver, Table):
        found = methods.dict_method(it, receiver, name, site)
    elif isinstance(receiver, Items):
        found = methods.list_method(it, receiver, name, site)
    elif isinstance(receiver, Scalar):
        found = files.path_method(it, receiver, name, site) or methods.text_method(receiver, name, site)
    elif isinstance(receiver, DatasetNode):
        found = datasets.method(it, receiver, name, site)
    elif isinstance(receiver, ParserValue):
        found = parsers.method(it, receiver, name, site)
    elif isinstance(receiver, Instance):
        found = commands.tap_arguments(it, receiver, site)
    elif isinstance(receiver, (File, Contents)):
        found = files.method(it, receiver, name, site)
    elif isinstance(receiver, written.Target):
        found = written.method(it, receiver, name, site)
    elif isinstance(receiver, Function):
        # @ray.remote, Modal, Celery, click: the function is run somewhere, with these arguments.
        if name in ("remote", "local", "spawn", "delay", "callback", "call", "run"):
            found = invoke(it, receiver, site)
        elif name in ("options", "with_options"):
            found = receiver
    if found is not None:
        return found
    return _unknown_callee(it, receiver, site)


def _unknown_callee(it: Interpreter, callee: Node, site: Site) -> Node:
    if site.keywords or site.name in INTERESTING or site.name.endswith(_ENDINGS):
        return record(it, site, site.name, "")
    return Unknown(site.whole, f"the result of {site.callee or 'a call'}()", names_in(callee))


def record(
    it: Interpreter,
    site: Site,
    name: str,
    origin: str,
    *,
    receiver: Call | None = None,
    local: bool = False,
    methods: frozenset[str] = frozenset(),
    defaults: list[Entry] | None = None,
) -> Reference:
    """Keep a call; the result stands for what it returns."""
    budget = [4000]
    arguments = site.node.args if site.node is not None else []
    plain = len(arguments) == len(site.positional) and not any(isinstance(part, ast.Starred) for part in arguments)
    entries: list[Entry] = []
    written = {entry.key for entry in site.keywords}
    entries.extend(
        Entry(entry.key, entry.key_span, export(entry.value, budget))
        for entry in defaults or ()
        if entry.key not in written
    )
    for index, value in enumerate(site.positional):
        place = it.at.span(arguments[index]) if plain else value.span
        entries.append(Entry(str(index), place, export(value, budget)))
    entries.extend(Entry(entry.key, entry.key_span, export(entry.value, budget)) for entry in site.keywords)
    made = Call(
        name,
        origin,
        Mapping(site.whole, entries, site.open_ended),
        site.span,
        callee=site.callee,
        guarded=it.is_guarded(),
        function=it.frame.name,
        local=local,
        receiver=receiver,
        methods=methods,
    )
    it.remember(site, made)
    return it.refer(site.whole, made)


def name_target(it: Interpreter, node: ast.expr, target: str) -> None:
    """Say to which variable the call that was just read is assigned."""
    while isinstance(node, ast.Await):
        node = node.value
    if isinstance(node, ast.Call):
        for kept in reversed(it.calls[-8:]):
            if kept.key == id(node) and kept.call.target is None:
                kept.call.target = target
                return


def override(it: Interpreter, made: Call, name: str, name_span: Span, value: Node) -> None:
    """`args.learning_rate = 1e-4` after `args = TrainingArguments(...)`."""
    if not made.name[:1].isupper():
        return
    strength = it.strength(it.guard_of.get(id(made)))
    if strength == "none":
        return
    old = made.arguments.get(name)
    shown = export(value)
    if strength == "weak":
        shown = perhaps(old, shown)
    entries = [entry for entry in made.arguments.entries if entry.key != name]
    entries.append(Entry(name, name_span, shown))
    made.arguments = Mapping(made.arguments.span, entries, made.arguments.open_ended)


# --- Functions of the file --------------------------------------------------------------------------------------------


def empty_site(it: Interpreter, function: Function) -> Site:
    return Site(None, function.name, function.name, function.span, function.span, [], [], False)


def invoke(it: Interpreter, function: Function, site: Site, uncalled: bool = False) -> Node:
    """Read a function's body with the arguments of a call; what it returns."""
    node = function.node
    special = None if uncalled else commands.decorated(it, function, site)
    if special is not None:
        site = special
    passes = it.passes.get(id(node), 0)
    if id(node) in it.active or it.depth >= DEEPEST_CALL or passes > MOST_PASSES:
        for value in [*site.positional, *(entry.value for entry in site.keywords)]:
            it.forget(value, f"it is handed to {function.name}()")
        return Unknown(site.whole, f"the result of {function.name}()")
    it.passes[id(node)] = passes + 1
    scope = Scope("function", function.scope)
    _bind_parameters(it, function, site, scope, uncalled, vague=passes == MOST_PASSES)
    saved = it.scope, it.frame, it.at
    it.scope, it.at = scope, function.at
    it.active.add(id(node))
    it.depth += 1
    try:
        if isinstance(node, ast.Lambda):
            return it.eval(node.body)
        return it.body(function, node, site)
    finally:
        it.active.discard(id(node))
        it.depth -= 1
        it.scope, it.frame, it.at = saved


def _bind_parameters(
    it: Interpreter, function: Function, site: Site, scope: Scope, uncalled: bool, vague: bool
) -> None:
    arguments = function.node.args
    positional = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args)]
    given = list(site.positional)
    if function.receiver is not None and not function.decorated("staticmethod"):
        given.insert(0, function.receiver)
    keywords = {entry.key: entry for entry in site.keywords}
    names = scope.names
    for index, name in enumerate(positional):
        if index < len(given):
            names[name] = given[index]
    names.update({name: keywords.pop(name).value for name in _parameters(arguments) if name in keywords})
    for name in _parameters(arguments):
        default = function.defaults.get(name)
        if vague and not (function.receiver is not None and positional[:1] == [name]):
            names[name] = Unknown(site.whole, f"{function.name}() is called in many ways", frozenset((name,)))
        elif name in names:
            continue
        elif site.open_ended or default is None:
            reason = f"the argument {name} of {function.name}() is not visible"
            names[name] = Unknown(site.whole, reason, frozenset((name,)))
        else:
            names[name] = library.as_default(default) if uncalled else default
    if arguments.vararg is not None:
        rest = given[len(positional) :]
        names[arguments.vararg.arg] = Items(site.whole, rest, it.guard, unknown=site.open_ended or vague or uncalled)
    if arguments.kwarg is not None:
        unseen = site.open_ended or vague or uncalled
        entries = [] if vague else list(keywords.values())
        names[arguments.kwarg.arg] = Table(
            site.whole, entries, it.guard, open_ended=unseen, reason="the caller may pass it" if unseen else ""
        )


def _parameters(arguments: ast.arguments) -> list[str]:
    return [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def read_uncalled(it: Interpreter) -> None:
    """Read the functions that nothing in the file calls: another file may, and leave their defaults as they are."""
    it.guard = Guard(None, UNCALLED)
    waiting = [function for function in it.functions if not it.passes.get(id(function.node))]
    # What others of them call comes after those others, since its arguments may be visible there.
    mentions = Counter(name for text in it.texts for name in _CALLED.findall(text)) if waiting else Counter()
    waiting.sort(key=lambda function: mentions[function.name] > 1)
    for function in waiting:
        if function.owner is None:
            read_one_uncalled(it, function)
    classes.read_uncalled(it)
    # Functions that were defined inside the ones just read.
    for function in list(it.functions):
        if function.owner is None:
            read_one_uncalled(it, function)
    it.guard = None


def read_one_uncalled(it: Interpreter, function: Function) -> None:
    """Read a function or bound method that nothing calls, unless something has meanwhile."""
    if it.passes.get(id(function.node)):
        return
    at, guard, recorded = it.at, it.guard, len(it.calls)
    try:
        commands.read_uncalled(it, function) or invoke(it, function, empty_site(it, function), uncalled=True)
    except RecursionError:
        it.reset(at)
        it.guard = guard
        del it.calls[recorded:]


# --- One call a place -------------------------------------------------------------------------------------------------


class Kept:
    """One pass over a place that calls something. `key` identifies the place."""

    __slots__ = ("call", "dead", "key")

    def __init__(self, key: int, made: Call, dead: bool) -> None:
        self.key = key
        self.call = made
        self.dead = dead


def merged(it: Interpreter) -> list[Call]:
    """The recorded calls, one a place: passes with different arguments leave them unresolved."""
    places: dict[int, list[Kept]] = {}
    for kept in it.calls:
        places.setdefault(kept.key, []).append(kept)
    survivor: dict[int, Call] = {}
    groups: list[list[Call]] = []
    for passes in places.values():
        # A pass that a default excludes says nothing where the place is also reached otherwise.
        alive = [kept.call for kept in passes if not kept.dead] or [kept.call for kept in passes]
        for kept in passes:
            survivor[id(kept.call)] = alive[0]
        groups.append(alive)
    for reference in it.references:
        reference.call = survivor.get(id(reference.call), reference.call)
    calls: list[Call] = []
    for group in groups:
        first = group[0]
        if first.receiver is not None:
            first.receiver = survivor.get(id(first.receiver), first.receiver)
        for other in group[1:]:
            _merge(first, other)
        calls.append(first)
    replaced = {id(survivor[key]) for key in it.replaced if key in survivor}
    if replaced:  # the copy is what counts, unless a trainer is given the original as well
        replaced -= {
            id(entry.value.call)
            for made in calls
            if made.name.endswith("Trainer")
            for entry in made.arguments.entries
            if isinstance(entry.value, Reference)
        }
    calls = [made for made in calls if id(made) not in replaced]
    calls.sort(key=lambda made: made.span.in_file().start)
    return calls


def _merge(first: Call, other: Call) -> None:
    entries: list[Entry] = []
    for key, entry in first.arguments.last.items():
        twin = other.arguments.entry(key)
        if twin is None:
            value: Node = Unknown(entry.value.span, "it is passed in some of the calls only")
        else:
            value = join(entry.value, twin.value, "the place is reached with different values")
        entries.append(Entry(key, entry.key_span, value))
    for key, entry in other.arguments.last.items():
        if key not in first.arguments:
            unknown = Unknown(entry.value.span, "it is passed in some of the calls only")
            entries.append(Entry(key, entry.key_span, unknown))
    open_ended = first.arguments.open_ended or other.arguments.open_ended
    first.arguments = Mapping(first.arguments.span, entries, open_ended)
    first.guarded = first.guarded and other.guarded
    first.target = first.target or other.target


def is_dead(guard: Guard | None) -> bool:
    while guard is not None:
        if guard.kind == DEAD:
            return True
        guard = guard.parent
    return False
