"""Functions and classes whose parameters are a command line: fire, click, typer, Hydra, absl, tyro, Tap."""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Unresolved
from epochlint.documents.python import classes, files
from epochlint.documents.python.model import Derived, Feed, Flag, Parser, Unknown
from epochlint.documents.python.options import (
    default_value,
    given,
    literal,
    named,
    plain_name,
    truth_word,
    type_name,
    typed,
)
from epochlint.documents.python.values import (
    Class,
    Decorator,
    Function,
    Instance,
    Items,
    ParserValue,
    Site,
    Table,
    elements,
    text_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span


def _fire(it: Interpreter, site: Site, origin: str) -> Node | None:
    target = site.get("component", 0)
    kind = origin.partition(".")[0]
    if isinstance(target, Function):
        return it.call(target, function_site(it, target, kind, site.span))
    if isinstance(target, Mapping):
        for entry in target.last.values():
            if isinstance(entry.value, Function):
                it.call(entry.value, function_site(it, entry.value, kind, site.span))
        return Unknown(site.whole, "the result of a command")
    if isinstance(target, Class) and kind == "tyro":
        return _filled_class(it, target, "tyro", site)
    return Unknown(site.whole, "the result of a command")


def function_site(it: Interpreter, function: Function, kind: str, span: Span) -> Site:
    """The arguments that a launch gives to a function whose parameters are its options."""
    parser = Parser(kind, span)
    it.parsers.append(parser)
    parser.feeds.append(Feed("argv", span))
    node = function.node
    keywords: list[Entry] = []
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    known = [parameter.arg for parameter in parameters]
    for parameter in parameters:
        if parameter.arg in ("self", "cls") and function.receiver is not None:
            continue
        annotation = function.at.text(parameter.annotation) if parameter.annotation is not None else ""
        default = function.defaults.get(parameter.arg)
        start = function.at.span(parameter)
        names: tuple[str, ...] = (f"--{parameter.arg}",)
        if kind == "typer":
            default, declared = _typer_default(default)
            names = declared or (f"--{parameter.arg.replace('_', '-')}",)
        plain = classes.field_type(annotation)
        flag = Flag(names, parameter.arg, start, default=default, type=plain, required=default is None)
        parser.flags[parameter.arg] = flag
        passed = given(it, [*names, parameter.arg], known if kind == "argparse" else [])
        value: Node
        if passed is not None:
            value = literal(passed.value) if kind == "fire" else _by_annotation(it, passed.value, plain)
        elif default is not None:
            value = default_value(it, default)
        else:
            value = Unknown(start, f"{parameter.arg} is passed on the command line", frozenset((parameter.arg,)))
        keywords.append(Entry(parameter.arg, start, named(value, frozenset((parameter.arg,)))))
    return Site(None, function.name, function.name, span, span, [], keywords, False)


def _by_annotation(it: Interpreter, value: Node, plain: str) -> Node:
    if plain == "bool":
        return truth_word(value)
    if plain in ("int", "float", "str"):
        return typed(it, value, plain)
    return literal(value) if plain == "" else Unknown(value.span, f"{plain} makes it")


def _typer_default(default: Node | None) -> tuple[Node | None, tuple[str, ...]]:
    """`typer.Option(3e-4, "--lr")`."""
    if isinstance(default, Option):
        site = default.option
        names = tuple(text for text in map(text_of, site.positional[1:]) if text is not None and text.startswith("-"))
        value = site.get("default", 0)
        if isinstance(value, Unknown) and value.reason == "not a setting":
            value = None  # typer.Option(...) says that it is required.
        return value, names
    return default, ()


class Option(Unresolved):
    """`typer.Option(...)` as a parameter's default."""

    __slots__ = ("option",)

    def __init__(self, span: Span, option: Site) -> None:
        super().__init__(span, "an option of the command line")
        self.option = option


def _typer_option(it: Interpreter, site: Site, origin: str) -> Node | None:
    return Option(site.whole, site)


def _command(function: Function) -> Decorator | None:
    """The decorator that makes a function a command line: click, typer, Hydra, cyclopts."""
    for found in function.decorators:
        origin = found.origin
        if origin.startswith(("click.", "rich_click.")) and origin.endswith((".command", ".group")):
            return found
        if origin.endswith(("hydra.main", "hydra_runner")) or (origin == "main" and "hydra" in origin):
            return found
        if origin.startswith(("typer.Typer", "cyclopts.App")) and origin.endswith(
            (".command", ".default", ".callback", "Typer", "App")
        ):
            return found
        if origin.endswith((".command",)) and not origin.startswith(("discord", "bot")):
            return found
    return None


def decorated(it: Interpreter, function: Function, site: Site) -> Site | None:
    """For a call without arguments of a function that a decorator feeds: the arguments it gets."""
    if not function.decorators or site.positional or site.keywords:
        return None
    found = _command(function)
    if found is None:
        return None
    return command_site(it, function, found)


def command_site(it: Interpreter, function: Function, found: Decorator) -> Site:
    if found.origin.endswith(("hydra.main", "hydra_runner")):
        return _hydra_site(it, function, found)
    if found.origin.startswith(("click.", "rich_click.")):
        return _click_site(it, function, found)
    return function_site(it, function, "typer", found.span)


def _hydra_site(it: Interpreter, function: Function, found: Decorator) -> Site:
    parser = Parser("hydra", found.span)
    parser.feeds.append(Feed("argv", found.span))
    it.parsers.append(parser)
    config = files.hydra_config(it, found.arguments, found.span)
    return Site(None, function.name, function.name, found.span, found.span, [config], [], False)


def _click_site(it: Interpreter, function: Function, found: Decorator) -> Site:
    parser = Parser("click", found.span)
    parser.feeds.append(Feed("argv", found.span))
    it.parsers.append(parser)
    keywords: list[Entry] = []
    for decorator in function.decorators:
        site = decorator.arguments
        if site is None or not decorator.origin.endswith((".option", ".argument")):
            continue
        names = tuple(text for text in map(text_of, site.positional) if text is not None)
        options = tuple(part for name in names for part in name.split("/") if part.startswith("-"))
        bare = [name for name in names if not name.startswith("-")]
        longest = next((name for name in options if name.startswith("--")), options[0] if options else "")
        dest = bare[0] if bare else plain_name(longest).lower()
        if not dest:
            continue
        kind_node = site.get("type")
        default = site.get("default")
        kind = type_name(kind_node)
        if kind in ("INT", "IntRange"):
            kind = "int"
        elif kind in ("FLOAT", "FloatRange"):
            kind = "float"
        elif kind in ("STRING", "Path", "Choice"):
            kind = "str"
        switch = truth(site.get("is_flag") or Scalar(site.span, "False", False)) is True or any(
            "/" in name for name in names
        )
        if not kind and isinstance(default, Scalar) and default.value is not None:
            kind = type(default.value).__name__
        flag = Flag(
            options, dest, site.span, default=default, type=kind, action="store_true" if switch else "store",
            required=truth(site.get("required") or Scalar(site.span, "False", False)) is True,
        )  # fmt: skip
        parser.flags[plain_name(longest) or dest] = flag
        keywords.append(Entry(dest, site.span, _click_value(it, flag, switch)))
    return Site(None, function.name, function.name, found.span, found.span, [], keywords, False)


def _click_value(it: Interpreter, flag: Flag, switch: bool) -> Node:
    passed = given(it, list(flag.names) or [flag.dest], [])
    names = frozenset((flag.dest,))
    if passed is not None:
        if switch:
            return Derived(passed.key_span, passed.key, not plain_name(passed.key).startswith("no_"), names=names)
        return named(typed(it, passed.value, flag.type if flag.type != "bool" else "str"), names)
    if flag.default is None:
        if flag.required or not flag.names:
            return Unknown(flag.span, f"{flag.dest} is passed on the command line", names)
        return default_value(
            it, Derived(flag.span, "False" if switch else "None", False if switch else None, names=names)
        )
    default = flag.default
    if isinstance(default, Scalar) and isinstance(default.value, str) and flag.type in ("int", "float"):
        default = typed(it, default, flag.type)
    return named(default_value(it, default), names)


def read_uncalled(it: Interpreter, function: Function) -> bool:
    """Read a command that nothing in the file calls (an entry point of the package, `app()`)."""
    found = _command(function)
    if found is None:
        return False
    it.call(function, command_site(it, function, found))
    return True


# --- absl -------------------------------------------------------------------------------------------------------------


def _absl(it: Interpreter, site: Site, origin: str) -> Node | None:
    name = text_of(site.get("name", 0))
    if name is None:
        return None
    if it.flag_store is None:
        it.flag_store = ParserValue(site.whole, Parser("absl", site.span))
        it.parsers.append(it.flag_store.record)
        it.flag_store.record.feeds.append(Feed("argv", site.span))
    kind = {"integer": "int", "float": "float", "string": "str", "bool": "bool", "boolean": "bool"}
    word = origin.rpartition("DEFINE_")[2]
    flag = Flag((f"--{name}",), name, site.span, default=site.get("default", 1), type=kind.get(word, "str"))
    it.flag_store.record.flags[name] = flag
    holder = Table(site.whole, [], it.guard, "object")
    holder.put("value", site.span, _absl_value(it, flag))
    return holder


def _absl_value(it: Interpreter, flag: Flag) -> Node:
    passed = given(it, list(flag.names), [])
    names = frozenset((flag.dest,))
    if passed is not None:
        return named(truth_word(passed.value) if flag.type == "bool" else typed(it, passed.value, flag.type), names)
    if flag.default is None:
        return Unknown(flag.span, f"{flag.dest} has no default", names)
    return named(default_value(it, flag.default), names)


def absl_flag(it: Interpreter, name: str, span: Span) -> Node | None:
    """`FLAGS.learning_rate`."""
    if it.flag_store is None:
        return None
    flag = it.flag_store.record.flags.get(name)
    return _absl_value(it, flag) if flag is not None else None


# --- Classes as command lines: tyro, simple_parsing, jsonargparse, Tap ------------------------------------------------


def _filled_class(it: Interpreter, cls: Class, kind: str, site: Site) -> Node:
    """An object of a class of the file, with the launch's flags over its defaults."""
    parser = Parser(kind, site.span)
    parser.feeds.append(Feed("argv", site.span))
    it.parsers.append(parser)
    found = classes.dataclass_of(it, cls)
    keywords: list[Entry] = []
    if found is not None:
        parser.dataclasses.append(found)
        for flag in found.fields.values():
            parser.flags[flag.dest] = flag
            passed = given(it, list(flag.names), [])
            if passed is not None:
                value = truth_word(passed.value) if flag.type == "bool" else typed(it, passed.value, flag.type)
                keywords.append(Entry(flag.dest, passed.key_span, value))
            elif flag.default is not None:
                keywords.append(Entry(flag.dest, flag.span, default_value(it, flag.default)))
            else:
                unknown = Unknown(flag.span, f"{flag.dest} is passed on the command line", frozenset((flag.dest,)))
                keywords.append(Entry(flag.dest, flag.span, unknown))
    fresh = Site(site.node, cls.name, cls.name, site.span, site.whole, [], keywords, False)
    return classes.instantiate(it, cls, fresh)


def _parse_class(it: Interpreter, site: Site, origin: str) -> Node | None:
    """simple_parsing.parse(Options), jsonargparse.CLI(main), pyrallis.parse(config_class=Options)."""
    target = site.get("config_class", 0)
    if isinstance(target, Class):
        return _filled_class(it, target, origin.partition(".")[0], site)
    if isinstance(target, Function):
        return it.call(target, function_site(it, target, origin.partition(".")[0], site.span))
    return None


def _add_arguments(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    """simple_parsing: parser.add_arguments(Options, dest="options")."""
    cls, dest = site.get("dataclass", 0), text_of(site.get("dest", 1))
    if isinstance(cls, Class) and dest is not None:
        held = _filled_class(it, cls, "simple_parsing", site)
        parser.record.flags[dest] = Flag((), dest, site.span, default=held)
    return Unknown(site.whole, "options")


def tap_arguments(it: Interpreter, instance: Instance, site: Site) -> Node:
    """Tap: `Options().parse_args()`."""
    return _filled_class(it, instance.cls, "tap", site)


# --- Functions that run other functions -------------------------------------------------------------------------------


def _spawn(it: Interpreter, site: Site, origin: str) -> Node | None:
    """accelerate.notebook_launcher(train, args=(...)), torch.multiprocessing.spawn(train, args=(...))."""
    target = site.get("function", 0) or site.get("fn") or site.get("train_loop_per_worker", 0)
    if isinstance(target, Function):
        words = elements(site.get("args", 1) or Items(site.whole, [], it.guard)) or []
        if origin.endswith("spawn"):
            words = [Unknown(site.whole, "the process's number"), *words]
        config = site.get("train_loop_config")
        if config is not None:
            words = [config]
        inner = Site(None, target.name, target.name, target.span, site.whole, list(words), [], False)
        it.call(target, inner)
    return it.record(site, origin.rpartition(".")[2], origin)


METHODS: dict[str, Callable[[Interpreter, ParserValue, Site], Node]] = {"add_arguments": _add_arguments}

HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **dict.fromkeys(("fire.Fire", "typer.run", "tyro.cli", "defopt.run", "plac.call"), _fire),
    **dict.fromkeys(("typer.Option", "typer.Argument"), _typer_option),
    **dict.fromkeys(
        (f"absl.flags.DEFINE_{kind}" for kind in ("integer", "float", "string", "bool", "boolean", "enum")), _absl
    ),
    **dict.fromkeys(
        ("simple_parsing.parse", "jsonargparse.CLI", "jsonargparse.auto_cli", "pyrallis.parse", "draccus.parse"),
        _parse_class,
    ),
    **dict.fromkeys(
        ("accelerate.notebook_launcher", "accelerate.launchers.notebook_launcher", "torch.multiprocessing.spawn",
         "torch_xla.distributed.xla_multiprocessing.spawn", "ray.train.torch.TorchTrainer"),
        _spawn,
    ),
}  # fmt: skip
