"""What the standard library's functions and the methods of plain values give: the part that settings are made with."""

from __future__ import annotations

import ast
import math
import shlex
import textwrap

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python.lengths import RowCount, RowRange, combined, count_of
from epochlint.documents.python.methods import FORMS, merge_into, nested
from epochlint.documents.python.model import Choice, DatasetNode, Derived, Parsed, Reference, Unknown
from epochlint.documents.python.values import (
    NO_NAMES,
    Contents,
    Fields,
    Imported,
    Instance,
    Items,
    Partial,
    PathText,
    Range,
    Site,
    Table,
    derived,
    elements,
    expand,
    iterated,
    names_in,
    number_of,
    text_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

BUILTINS = frozenset(
    (
        "abs", "all", "any", "ascii", "bin", "bool", "breakpoint", "bytes", "callable", "chr", "classmethod", "dict",
        "dir", "divmod", "enumerate", "eval", "exec", "exit", "filter", "float", "format", "frozenset", "getattr",
        "globals", "hasattr", "hash", "hex", "id", "input", "int", "isinstance", "issubclass", "iter", "len", "list",
        "locals", "map", "max", "min", "next", "object", "oct", "open", "ord", "pow", "print", "property", "quit",
        "range", "repr", "reversed", "round", "set", "setattr", "slice", "sorted", "staticmethod", "str", "sum",
        "super", "tuple", "type", "vars", "zip", "Exception", "ImportError", "ModuleNotFoundError", "KeyError",
        "ValueError", "TypeError", "FileNotFoundError", "RuntimeError", "KeyboardInterrupt", "AttributeError",
        "OSError", "IndexError", "NotImplementedError", "StopIteration", "AssertionError", "BaseException",
        "DeprecationWarning", "UserWarning", "FutureWarning", "TimeoutError", "PermissionError",
    )
)  # fmt: skip
# Variables that launchers set: without a launch that is known, a default in the script says nothing about them.
LAUNCHER_VARIABLES = frozenset(
    (
        "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK", "NPROC_PER_NODE", "NNODES",
        "NUM_GPUS", "CUDA_VISIBLE_DEVICES", "SM_NUM_GPUS", "SM_HOSTS", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS",
        "SLURM_NNODES", "SLURM_GPUS_ON_NODE", "SLURM_PROCID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_NUM_NODES",
    )
)  # fmt: skip

# Enumerations of transformers and peft whose members stand for a word; exceptions to "the name in lower case".
_ENUMERATIONS = frozenset(
    ("IntervalStrategy", "EvaluationStrategy", "SaveStrategy", "SchedulerType", "OptimizerNames", "HubStrategy")
)
_MEMBERS = {"REDUCE_ON_PLATEAU": "reduce_lr_on_plateau", "ADAMW_HF": "adamw_hf"}

# Star imports: which modules people import whole, and the names that are meant.
_STARS = ("transformers", "trl", "datasets", "peft", "unsloth")
_STAR_NAMES = {
    "load_dataset": "datasets", "Dataset": "datasets", "DatasetDict": "datasets", "concatenate_datasets": "datasets",
    "LoraConfig": "peft", "get_peft_model": "peft", "SFTTrainer": "trl", "SFTConfig": "trl", "DPOTrainer": "trl",
    "DPOConfig": "trl", "TrlParser": "trl", "TrainingArguments": "transformers", "Trainer": "transformers",
    "HfArgumentParser": "transformers", "EarlyStoppingCallback": "transformers",
}  # fmt: skip


def is_library(module: str) -> bool:
    """Whether a star import brings the names of a library rather than settings of the project."""
    return module.partition(".")[0] in (*_STARS, "tkinter", "typing", "math", "torch", "fastai", "numpy", "os")


def star_origin(stars: list[str], name: str) -> str:
    """Where a name that nothing defines comes from, if a star import can have brought it; empty otherwise."""
    if not stars:
        return ""
    home = _STAR_NAMES.get(name)
    for module in stars:
        if home is not None and module.partition(".")[0] == home:
            return f"{module}.{name}"
    candidates = [module for module in stars if module.partition(".")[0] in _STARS]
    if len(stars) == 1 and (candidates or not stars[0].startswith(".")):
        return f"{stars[0]}.{name}"
    return f"{candidates[0]}.{name}" if len(candidates) == 1 and len(stars) == 1 else ""


def imported_attribute(it: Interpreter, base: Imported, name: str, span: Span) -> Node:
    origin = f"{base.origin}.{name}"
    if origin == "math.pi":
        return derived(span, math.pi)
    if origin == "sys.argv":
        return _command_line(it, span)
    if origin in ("math.inf", "numpy.inf", "sys.maxsize"):
        return derived(span, math.inf if origin != "sys.maxsize" else 2**63 - 1)
    owner = base.origin.rpartition(".")[2]
    if owner in _ENUMERATIONS and name.isupper():
        word = _MEMBERS.get(name, name.lower())
        return Derived(span, word, word)
    if owner == "TaskType" and name.isupper():
        return Derived(span, name, name)
    return Imported(span, origin)


def _command_line(it: Interpreter, span: Span) -> Node:
    """`sys.argv`, where the launch passes nothing but plain words: the script and those."""
    if it.flags is None or it.flags.open_ended or not all(entry.key.isdigit() for entry in it.flags.entries):
        return Unknown(span, "the command line is not known", frozenset(("argv",)))
    path = it.at.source.path
    return Items(span, [PathText(span, path, path), *(entry.value for entry in it.flags.entries)], it.guard)


# --- Environment ------------------------------------------------------------------------------------------------------


def variable(it: Interpreter, name: str, default: Node | None, span: Span) -> Node:
    """An environment variable: as the launch sets it, as the script sets it, or a default that a shell may replace."""
    entry = it.set_variables.entry(name)
    if entry is not None:
        return entry.value
    if name in it.environment:
        value = it.environment[name]
        return Derived(span, value, value, names=frozenset((name,)))
    if default is None or name in LAUNCHER_VARIABLES:
        return Unknown(span, f"the environment variable {name} is not known", frozenset((name,)))
    if isinstance(default, Scalar):
        return Derived(default.span, default.raw, default.value, names=names_in(default) | {name}, default=True)
    return default


def _environ_get(it: Interpreter, site: Site, origin: str) -> Node | None:
    name = text_of(site.get("key", 0))
    if name is None:
        return Unknown(site.whole, "which environment variable is not known")
    default = site.get("default", 1)
    if default is None:
        default = Scalar(site.whole, "None", None)
    return variable(it, name, default, site.whole)


def _environ_setdefault(it: Interpreter, site: Site, origin: str) -> Node | None:
    name = text_of(site.get("key", 0))
    value = site.get("value", 1)
    if name is None or value is None:
        return None
    if name not in it.environment and it.set_variables.entry(name) is None:
        it.put(it.set_variables, name, site.span, value)
    return variable(it, name, value, site.whole)


def _environ_update(it: Interpreter, site: Site, origin: str) -> Node | None:
    for value in site.positional:
        entries, _ = expand(value)
        for entry in entries:
            it.put(it.set_variables, entry.key, entry.key_span, entry.value)
    for entry in site.keywords:
        it.put(it.set_variables, entry.key, entry.key_span, entry.value)
    return Unknown(site.whole, "update() returns nothing")


# --- Builtins ---------------------------------------------------------------------------------------------------------


def _cast(it: Interpreter, site: Site, origin: str) -> Node | None:
    if len(site.positional) != 1 or site.keywords:
        return None if site.positional else _empty(site, origin)
    value = site.positional[0]
    if isinstance(value, Choice):
        return Unknown(site.whole, value.reason, value.names)
    if not isinstance(value, Scalar):
        known = truth(value) if origin == "builtins.bool" else None
        if known is not None:
            return derived(site.whole, known, value)
        kind = origin.rpartition(".")[2]
        by_rows = combined(site.whole, names_in(value), [value], lambda number: cast(kind, number))
        if by_rows is not None and kind in ("int", "float"):
            return by_rows
        reason = value.reason if isinstance(value, Unresolved) else "the value is not known"
        return Unknown(site.whole, reason, names_in(value))
    result = cast(origin.rpartition(".")[2], value.value)
    if result is None:
        return Unknown(site.whole, f"it is not a value that {origin.rpartition('.')[2]}() takes", names_in(value))
    # The value still stands where it was written.
    return Derived(
        value.span, value.raw, result, names=names_in(value), default=isinstance(value, Derived) and value.default
    )


def _empty(site: Site, origin: str) -> Node:
    value: object = {"int": 0, "float": 0.0, "bool": False, "str": ""}[origin.rpartition(".")[2]]
    return derived(site.whole, value)


def cast(kind: str, value: object) -> object | None:
    """`int(value)` and so on; None where that raises."""
    try:
        if kind == "int":
            if isinstance(value, str):
                return int(value) if len(value) <= 400 else None
            return int(value) if isinstance(value, (int, float)) else None
        if kind == "float":
            return float(value) if isinstance(value, (int, float, str)) else None
        if kind == "bool":
            return bool(value)
        return str(value)
    except (ValueError, OverflowError):
        return None


def _numeric(it: Interpreter, site: Site, origin: str) -> Node | None:
    """round, abs, min, max, sum, pow, divmod, math.ceil, ..."""
    name = origin.rpartition(".")[2]
    operands = site.positional
    if len(operands) == 1 and name in ("min", "max", "sum"):
        listed = iterated(operands[0])
        if listed is None:
            return Unknown(site.whole, "the numbers are not known", names_in(*operands))
        operands = listed
    names = names_in(*operands) | _argument_names(site)
    if site.open_ended or site.keywords:
        return Unknown(site.whole, f"the result of {name}()", names)
    by_rows = combined(site.whole, names, operands, lambda *numbers: _NUMERIC[name](*_as_given(name, numbers)))
    if by_rows is not None:
        return by_rows
    numbers: list[int | float] = []
    for operand in operands:
        number = number_of(operand)
        if number is None and isinstance(operand, Scalar) and isinstance(operand.value, bool):
            number = int(operand.value)
        if number is None:
            if name == "round" and isinstance(operand, Scalar) and operand.value is None:
                continue
            reason = operand.reason if isinstance(operand, Unresolved) else "a number is not known"
            return Unknown(site.whole, reason, names)
        numbers.append(number)
    try:
        value = _NUMERIC[name](*_as_given(name, numbers))
    except (ArithmeticError, ValueError, TypeError):
        return Unknown(site.whole, f"{name}() fails", names)
    if isinstance(value, int) and value.bit_length() > 4096:
        return Unknown(site.whole, "the number is too large", names)
    return derived(site.whole, value, *operands, names=names)


def _as_given(name: str, numbers: Iterable[int | float]) -> Iterable[Any]:
    return (numbers,) if name in ("min", "max", "sum") else numbers


def _argument_names(site: Site) -> frozenset[str]:
    if site.node is None:
        return NO_NAMES
    found = [
        part.id if isinstance(part, ast.Name) else part.attr
        for part in site.node.args
        if isinstance(part, (ast.Name, ast.Attribute))
    ]
    return frozenset(found)


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and base.bit_length() * max(abs(exponent), 1) > 4096:
        raise ValueError
    result: float = base**exponent
    return result


_NUMERIC: dict[str, Callable[..., int | float]] = {
    "round": round, "abs": abs, "min": min, "max": max, "sum": sum, "pow": _power, "ceil": math.ceil,
    "floor": math.floor, "sqrt": math.sqrt, "log": math.log, "log2": math.log2, "log10": math.log10, "exp": math.exp,
    "trunc": math.trunc, "gcd": math.gcd, "prod": math.prod, "fabs": math.fabs,
}  # fmt: skip


def _length(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[0] if site.positional else None
    items = elements(value) if value is not None else None
    if items is not None:
        return derived(site.whole, len(items), *site.positional)
    if isinstance(value, Table) and not value.open_ended:
        return derived(site.whole, len(value.last))
    if isinstance(value, Scalar) and isinstance(value.value, str):
        return derived(site.whole, len(value.value), value)
    if isinstance(value, Range):
        return derived(site.whole, value.count())
    if isinstance(value, DatasetNode) and value.rows is not None and not value.operations:
        return derived(site.whole, value.rows)
    names = names_in(*site.positional) | {"len"}
    if isinstance(value, DatasetNode) and value.form not in ("splits", "halves"):
        return count_of(site.whole, names, value)
    return Unknown(site.whole, "the length is known from the data only", names)


def _range(it: Interpreter, site: Site, origin: str) -> Node | None:
    numbers = [number_of(value) for value in site.positional]
    if len(numbers) in (1, 2) and isinstance(site.positional[-1], RowCount):
        first = site.positional[0] if len(numbers) == 2 else None
        by_rows = first if isinstance(first, RowCount) else None
        if first is None or by_rows is not None or isinstance(numbers[0], int):
            return RowRange(site.whole, site.positional[-1], by_rows, int(numbers[0] or 0))
    if not 1 <= len(numbers) <= 3 or not all(isinstance(number, int) for number in numbers):
        return Unknown(site.whole, "a range that is not known", names_in(*site.positional))
    bounds = [int(number) for number in numbers if number is not None]
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    return Range(site.whole, start, stop, step) if step else Unknown(site.whole, "a range without steps")


def _dict(it: Interpreter, site: Site, origin: str) -> Node | None:
    form = FORMS.get(origin.rpartition(".")[2], "dict")
    table = Table(site.whole, [], it.guard, form)
    for value in site.positional[:1]:
        merge_into(it, table, value, keep_open=True)
    for entry in site.keywords:
        table.put(entry.key, entry.key_span, nested(it, entry.value, form))
    if site.open_ended:
        table.open_ended = True
        table.reason = table.reason or "some of its keys are not visible"
    return table


def _list(it: Interpreter, site: Site, origin: str) -> Node | None:
    if not site.positional:
        return Items(site.whole, [], it.guard)
    value = site.positional[0]
    if isinstance(value, (DatasetNode, Contents)):
        return value
    items = iterated(value)
    if items is None:
        return Items(site.whole, [], it.guard, unknown=True)
    if origin.endswith("reversed"):
        items = items[::-1]
    return Items(site.whole, list(items), it.guard)


def _sorted(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[0] if site.positional else None
    return value if isinstance(value, (DatasetNode, Contents)) else Items(site.whole, [], it.guard, unknown=True)


def _pairs(it: Interpreter, site: Site, origin: str) -> Node | None:
    """zip and enumerate."""
    columns = [iterated(value) for value in site.positional]
    if not columns or any(column is None for column in columns) or site.keywords:
        return Items(site.whole, [], it.guard, unknown=True)
    known = [column for column in columns if column is not None]
    if origin == "builtins.enumerate":
        known = [[derived(site.whole, index) for index in range(len(known[0]))], known[0]]
    rows = [Items(site.whole, list(row), it.guard) for row in zip(*known, strict=False)]
    return Items(site.whole, list(rows), it.guard)


def _truths(it: Interpreter, site: Site, origin: str) -> Node | None:
    items = iterated(site.positional[0]) if site.positional else None
    if items is None:
        return Unknown(site.whole, "the condition is not known", names_in(*site.positional))
    answers = [truth(item) for item in items]
    decided = origin == "builtins.any"
    if decided in answers:
        return derived(site.whole, decided, *items)
    if None in answers:
        return Unknown(site.whole, "the condition is not known", names_in(*items))
    return derived(site.whole, not decided, *items)


def _getattr(it: Interpreter, site: Site, origin: str) -> Node | None:
    if len(site.positional) < 2:
        return None
    name = text_of(site.positional[1])
    if name is None:
        return Unknown(site.whole, "which attribute is not known")
    base = site.positional[0]
    default = site.get("default", 2)
    if default is not None and isinstance(base, (Table, Instance)):
        table = base.attributes if isinstance(base, Instance) else base
        missing = table.get(name) is None and not table.open_ended
        if missing and (isinstance(base, Table) or base.cls.member(name) is None):
            return default
    return it.attribute(base, name, site.whole)


def _hasattr(it: Interpreter, site: Site, origin: str) -> Node | None:
    name = text_of(site.get("name", 1))
    base = site.positional[0] if site.positional else None
    if name is not None and isinstance(base, Table) and base.form != "dict":
        if base.get(name) is not None:
            return derived(site.whole, True)
        if not base.open_ended:
            return derived(site.whole, False)
    return Unknown(site.whole, "whether it has the attribute is not known")


def _setattr(it: Interpreter, site: Site, origin: str) -> Node | None:
    if len(site.positional) == 3:
        base, name, value = site.positional
        known = text_of(name)
        if known is not None:
            it.set_attribute(base, known, site.span, value)
        elif isinstance(base, Reference):
            it.forget_call(base, "attributes are set by name")
        elif it.strength(getattr(base, "guard", None)) != "none":
            it.forget(base, "attributes are set by name")
    return Unknown(site.whole, "setattr() returns nothing")


def _vars(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[0] if site.positional else None
    if isinstance(value, Instance):
        return Fields(site.whole, value.attributes)
    if isinstance(value, Table):
        return Fields(site.whole, value)
    if isinstance(value, Parsed):
        return it.parsed_fields(value, site.whole)
    return Unknown(site.whole, "the fields are not known", names_in(*site.positional))


def _isinstance(it: Interpreter, site: Site, origin: str) -> Node | None:
    if len(site.positional) == 2:
        value, kinds = site.positional
        listed = elements(kinds) or [kinds]
        names = {kind.origin for kind in listed if isinstance(kind, Imported)}
        if isinstance(value, Scalar) and len(names) == len(listed) and all(n.startswith("builtins.") for n in names):
            return derived(site.whole, f"builtins.{type(value.value).__name__}" in names, value)
        if isinstance(value, Mapping) and names == {"builtins.dict"} and getattr(value, "form", "dict") == "dict":
            return derived(site.whole, True)
        if isinstance(value, Sequence) and names == {"builtins.list"}:
            return derived(site.whole, True)
    return Unknown(site.whole, "the type is not known", names_in(*site.positional))


def _exit(it: Interpreter, site: Site, origin: str) -> Node | None:
    return Unknown(site.whole, "exit")


def _partial(it: Interpreter, site: Site, origin: str) -> Node | None:
    if not site.positional:
        return None
    callee, *given = site.positional
    name = getattr(callee, "origin", "").rpartition(".")[2] or getattr(callee, "name", "")
    kept = Site(None, name, name, site.span, site.whole, given, site.keywords, site.open_ended)
    return Partial(site.whole, callee, kept)


def _same(it: Interpreter, site: Site, origin: str) -> Node | None:
    """copy.deepcopy, typing.cast, OmegaConf.to_container: the value, apart from the original."""
    value = site.positional[-1] if origin.endswith("typing.cast") and site.positional else None
    if value is None and site.positional:
        value = site.positional[0]
    return duplicate(it, value) if value is not None else None


def duplicate(it: Interpreter, value: Node, depth: int = 0) -> Node:
    it.spend()
    if isinstance(value, Fields):
        value = value.table
    if isinstance(value, Table) and depth < 20:
        entries = [Entry(e.key, e.key_span, duplicate(it, e.value, depth + 1)) for e in value.last.values()]
        return Table(value.span, entries, it.guard, value.form, value.open_ended, value.reason)
    if isinstance(value, Items) and depth < 20:
        return Items(value.span, [duplicate(it, item, depth + 1) for item in value.items], it.guard, value.unknown)
    if isinstance(value, Instance):
        table = duplicate(it, value.attributes, depth + 1)
        if isinstance(table, Table):
            return Instance(value.span, value.cls, table, value.reference)
    return value


def _fields(it: Interpreter, site: Site, origin: str) -> Node | None:
    """dataclasses.asdict."""
    value = site.positional[0] if site.positional else None
    if isinstance(value, Parsed):
        return it.parsed_fields(value, site.whole)
    if isinstance(value, Instance):
        value = value.attributes
    if isinstance(value, Table):
        table = duplicate(it, value)
        if isinstance(table, Table):
            table.form = "dict"
        return table
    return Unknown(site.whole, "the fields are not known", names_in(*site.positional))


def _replace(it: Interpreter, site: Site, origin: str) -> Node | None:
    """dataclasses.replace(config, learning_rate=...)."""
    value = site.positional[0] if site.positional else None
    if isinstance(value, Instance):
        copied = duplicate(it, value)
        if isinstance(copied, Instance):
            for entry in site.keywords:
                copied.attributes.put(entry.key, entry.key_span, entry.value)
            return copied
    if isinstance(value, Reference) and not value.attribute:
        made = value.call
        entries = [Entry(e.key, e.key_span, e.value) for e in made.arguments.last.values() if site.entry(e.key) is None]
        fresh = Site(
            site.node, made.name, made.callee, site.span, site.whole, [], [*entries, *site.keywords],
            site.open_ended or made.arguments.open_ended,
        )  # fmt: skip
        it.replaced.add(id(made))
        return it.record(fresh, made.name, made.origin)
    return None


def _dedent(it: Interpreter, site: Site, origin: str) -> Node | None:
    """textwrap.dedent, inspect.cleandoc and io.StringIO: a text is the same text, as far as it is a config."""
    value = site.positional[0] if site.positional else None
    if not isinstance(value, Scalar) or not isinstance(value.value, str):
        return None
    return derived(value.span, textwrap.dedent(value.value), value) if origin != "io.StringIO" else value


def _gpus(it: Interpreter, site: Site, origin: str) -> Node | None:
    return Unknown(site.whole, "the number of GPUs is not known", frozenset(("gpus",)))


def _execute(it: Interpreter, site: Site, origin: str) -> Node | None:
    """exec and globals: what a launch passes may bind names of the module (`exec(open("configurator.py").read())`)."""
    if it.flags is not None or origin.endswith("locals"):
        it.forget_names(f"{origin.rpartition('.')[2]}() may replace it")
    else:
        names = it.scope.module().names
        names.update({name: as_default(value) for name, value in names.items()})
    return Unknown(site.whole, "it is known only when the program runs")


def as_default(value: Node) -> Node:
    """A default that whoever calls a function or launches the program may replace."""
    if isinstance(value, Scalar) and not (isinstance(value, Derived) and value.default):
        kind = PathText if isinstance(value, PathText) else Derived
        return kind(value.span, value.raw, value.value, value.plain, names=names_in(value), default=True)
    if isinstance(value, Items):
        copied = Items(value.span, [as_default(item) for item in value.items], value.guard, value.unknown)
        copied.default = True
        return copied
    return value


def _split_words(it: Interpreter, site: Site, origin: str) -> Node | None:
    """`shlex.split`: the words of a command line."""
    line = site.get("s", 0)
    try:
        words = shlex.split(line.value) if isinstance(line, Scalar) and isinstance(line.value, str) else None
    except ValueError:
        words = None
    if line is None or words is None:
        return Unknown(site.whole, "the line that is split is not known")
    return Items(site.whole, [derived(line.span, word, line) for word in words], it.guard)


def _map(it: Interpreter, site: Site, origin: str) -> Node | None:
    value = site.positional[1] if len(site.positional) > 1 else None
    if isinstance(value, DatasetNode):
        return value
    return Items(site.whole, [], it.guard, unknown=True)


HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **{f"builtins.{name}": _cast for name in ("int", "float", "bool", "str")},
    **{f"builtins.{name}": _numeric for name in ("round", "abs", "min", "max", "sum", "pow")},
    **{f"math.{name}": _numeric for name in ("ceil", "floor", "sqrt", "log", "log2", "log10", "exp", "trunc", "gcd", "prod", "pow", "fabs")},  # noqa: E501
    **{f"numpy.{name}": _numeric for name in ("sqrt", "log", "log2", "log10", "exp")},
    "os.environ.get": _environ_get,
    "os.getenv": _environ_get,
    **dict.fromkeys(("textwrap.dedent", "inspect.cleandoc", "io.StringIO"), _dedent),
    "os.environ.setdefault": _environ_setdefault,
    "os.environ.update": _environ_update,
    "shlex.split": _split_words,
    "builtins.len": _length,
    "builtins.range": _range,
    "builtins.dict": _dict,
    "builtins.list": _list,
    "builtins.tuple": _list,
    "builtins.iter": _list,
    "builtins.reversed": _list,
    "builtins.set": _sorted,
    "builtins.sorted": _sorted,
    "builtins.filter": _sorted,
    "builtins.map": _map,
    "builtins.zip": _pairs,
    "builtins.enumerate": _pairs,
    "builtins.any": _truths,
    "builtins.all": _truths,
    "builtins.getattr": _getattr,
    "builtins.hasattr": _hasattr,
    "builtins.setattr": _setattr,
    "builtins.exec": _execute,
    "builtins.globals": _execute,
    "builtins.vars": _vars,
    "builtins.isinstance": _isinstance,
    **dict.fromkeys(("builtins.exit", "builtins.quit", "sys.exit", "os._exit", "os.abort"), _exit),
    "functools.partial": _partial,
    **dict.fromkeys(("copy.copy", "copy.deepcopy", "typing.cast"), _same),
    "dataclasses.asdict": _fields,
    "dataclasses.replace": _replace,
    **dict.fromkeys(
        ("types.SimpleNamespace", "argparse.Namespace", "easydict.EasyDict", "addict.Dict", "box.Box", "munch.Munch",
         "munch.DefaultMunch", "ml_collections.ConfigDict", "ml_collections.config_dict.ConfigDict", "dotmap.DotMap",
         "collections.OrderedDict", "munch.munchify", "ml_collections.config_dict.create"),
        _dict,
    ),
    **dict.fromkeys(("torch.cuda.device_count", "multiprocessing.cpu_count", "os.cpu_count"), _gpus),
}  # fmt: skip
