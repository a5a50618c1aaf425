"""Command line parsers: the options a script defines, and what they hold for a launch, or without one by default.

argparse, click, typer, fire, absl, tyro, simple_parsing, jsonargparse, Tap, Hydra, and the dataclass parsers of
transformers and trl.
"""

from __future__ import annotations

import ast

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python import classes, files
from epochlint.documents.python.library import as_default, cast
from epochlint.documents.python.model import Dataclass, Derived, Feed, Flag, Parsed, Parser, Unknown
from epochlint.documents.python.values import (
    Class,
    Decorator,
    Function,
    Imported,
    Instance,
    Items,
    ParserValue,
    Site,
    Table,
    elements,
    names_in,
    text_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

_TRUE = frozenset(("true", "yes", "on", "1", "t", "y"))
_FALSE = frozenset(("false", "no", "off", "0", "f", "n"))
_PLAIN_TYPES = {"builtins.int": "int", "builtins.float": "float", "builtins.str": "str", "builtins.bool": "bool"}

# Parsers that fill dataclasses.
DATACLASS_PARSERS = frozenset(
    ("HfArgumentParser", "TrlParser", "H4ArgumentParser", "ArgumentParserPlus", "DataclassArgumentParser")
)


# --- The launch's flags -----------------------------------------------------------------------------------------------


def given(it: Interpreter, names: list[str], known: list[str]) -> Entry | None:
    """What the launch passes for an option. `known` are all option names: an unambiguous prefix counts, as argparse
    has it."""
    if it.flags is None:
        return None
    wanted = {_normal(name) for name in names}
    found: Entry | None = None
    for entry in it.flags.entries:
        key = _normal(entry.key)
        if key in wanted:
            found = entry
        elif len(key) > 1 and any(name.startswith(key) for name in wanted):
            fitting = {name for name in map(_normal, known) if name.startswith(key)}
            if key not in map(_normal, known) and fitting <= wanted:
                found = entry
    return found


def _normal(name: str) -> str:
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


# --- argparse ---------------------------------------------------------------------------------------------------------


def _argument_parser(it: Interpreter, site: Site, origin: str) -> Node | None:
    kind = "simple_parsing" if origin.startswith("simple_parsing") else "argparse"
    if origin.startswith("jsonargparse"):
        kind = "jsonargparse"
    value = ParserValue(site.whole, Parser(kind, site.span), it.guard)
    it.parsers.append(value.record)
    for parent in elements(site.get("parents") or value) or ():
        if isinstance(parent, ParserValue):
            value.record.flags.update(parent.record.flags)
            value.types.update(parent.types)
    return value


def method(it: Interpreter, parser: ParserValue, name: str, site: Site) -> Node | None:
    """Methods of a parser object."""
    handler = _METHODS.get(name)
    if handler is not None:
        return handler(it, parser, site)
    return Unknown(site.whole, f"the result of {name}()")


def _add_argument(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    names = [text_of(part) for part in site.positional]
    known = tuple(name for name in names if name is not None)
    if len(known) != len(names) or not known:
        parser.open_ended = True
        return Unknown(site.whole, "an option whose name is not known")
    options = tuple(name for name in known if name.startswith("-"))
    longest = next((name for name in options if name.startswith("--")), known[0])
    dest = text_of(site.get("dest")) or _normal(longest)
    kind_node = site.get("type")
    action = text_of(site.get("action")) or "store"
    action_node = site.get("action")
    if isinstance(action_node, Imported):
        action = action_node.origin.rpartition(".")[2]
    nargs_node = site.get("nargs")
    flag = Flag(
        options,
        dest,
        site.span,
        default=site.get("default"),
        type=_type_name(kind_node),
        action=action,
        required=truth(site.get("required") or Scalar(site.span, "False", False)) is True,
        nargs=str(nargs_node.value) if isinstance(nargs_node, Scalar) and nargs_node.value is not None else None,
        choices=site.get("choices"),
        constant=site.get("const"),
    )
    parser.types[dest] = kind_node
    if it.strength(parser.guard) != "strong":
        parser.conditional.add(dest)
    parser.record.flags[_normal(longest) if options else known[0]] = flag
    return Unknown(site.whole, "an option")


def _type_name(node: Node | None) -> str:
    if node is None:
        return ""
    if isinstance(node, Imported):
        return _PLAIN_TYPES.get(node.origin, node.origin.rpartition(".")[2])
    return node.name if isinstance(node, (Function, Class)) else "?"


def _group(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    return parser


def _subparsers(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    dest = text_of(site.get("dest"))
    if dest:
        parser.conditional.add(dest)
    return parser


def _set_defaults(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    for entry in site.keywords:
        flag = next((flag for flag in parser.record.flags.values() if flag.dest == entry.key), None)
        if flag is None:
            flag = Flag((), entry.key, entry.key_span)
            parser.record.flags[entry.key] = flag
        flag.default = entry.value
        if it.strength(parser.guard) != "strong":
            parser.conditional.add(entry.key)
    if site.open_ended:
        parser.conditional.update(flag.dest for flag in parser.record.flags.values())
    return Unknown(site.whole, "set_defaults() returns nothing")


def _parse_args(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    """parse_args and parse_known_args."""
    _feed(parser.record, Feed("argv", site.span))
    words = site.get("args", 0)
    flags = it.flags
    if words is not None and not (isinstance(words, Scalar) and words.value is None):
        it.flags = _words(it, words)
    try:
        result = parser.state.get(site.name) if words is None else None
        if result is None:
            result = namespace(it, parser, site.whole)
            parser.state[site.name] = result
    finally:
        it.flags = flags
    if site.name == "parse_known_args":
        rest = Unknown(site.whole, "flags that the parser does not know")
        return Items(site.whole, [result, rest], it.guard)
    return result


def _feed(parser: Parser, feed: Feed) -> None:
    if not any(known.span.start == feed.span.start and known.kind == feed.kind for known in parser.feeds):
        parser.feeds.append(feed)


def _words(it: Interpreter, words: Node) -> Mapping:
    """A command line that is written in the script: `parse_args(["--lr", "1e-4"])`."""
    items = elements(words)
    if items is None:
        return Mapping(words.span, [], open_ended=True)
    entries: list[Entry] = []
    key: Scalar | None = None
    for item in items:
        if not isinstance(item, Scalar):
            return Mapping(words.span, [], open_ended=True)
        word = str(item.value)
        if word.startswith("--") or (word.startswith("-") and word[1:2].isalpha()):
            if key is not None:
                entries.append(Entry(_normal(key.raw), key.span, Scalar(key.span, "", True)))
            name, equals, value = word.partition("=")
            key = None if equals else item
            if equals:
                entries.append(Entry(_normal(name), item.span, Scalar(item.span, value, value)))
        elif key is not None:
            entries.append(Entry(_normal(key.raw), key.span, Scalar(item.span, word, word)))
            key = None
    if key is not None:
        entries.append(Entry(_normal(key.raw), key.span, Scalar(key.span, "", True)))
    return Mapping(words.span, entries)


def namespace(it: Interpreter, parser: ParserValue, span: Span) -> Table:
    """What `parse_args` returns."""
    table = Table(span, [], it.guard, "object", open_ended=True, reason="it is no option that the script defines")
    known = [name for flag in parser.record.flags.values() for name in flag.names]
    positional = [flag.dest for flag in parser.record.flags.values() if not flag.names]
    for flag in parser.record.flags.values():
        place = str(positional.index(flag.dest)) if flag.dest in positional and flag.nargs is None else ""
        value = option(it, flag, parser.types.get(flag.dest), known, place)
        if flag.dest in parser.conditional:
            value = Unknown(value.span, "the option is defined under a condition", frozenset((flag.dest,)))
        elif flag.dest in table:
            # Two subcommands with the same option.
            held = table.get(flag.dest)
            if held is not None and not (
                isinstance(held, Scalar) and isinstance(value, Scalar) and held.value == value.value
            ):
                value = Unknown(value.span, "subcommands give it different values")
        table.put(flag.dest, flag.span, value)
    return table


def option(it: Interpreter, flag: Flag, kind: Node | None, known: list[str], place: str = "") -> Node:
    """The value of one option; `place` counts the positional ones."""
    names = frozenset((flag.dest,))
    function = kind if isinstance(kind, Function) else None
    passed = given(it, list(flag.names) or [flag.dest], known)
    if passed is None and place and it.flags is not None and not it.flags.open_ended:
        passed = it.flags.entry(place)
    switch = flag.action in ("store_true", "store_false", "BooleanOptionalAction")
    if flag.action == "BooleanOptionalAction" and passed is None:
        negative = given(it, [f"no-{_normal(name)}" for name in flag.names], known)
        if negative is not None:
            return Derived(negative.value.span, "False", False, names=names)
    if passed is not None:
        if switch:
            return Derived(passed.key_span, passed.key, flag.action != "store_false", names=names)
        if flag.action in ("store_const", "append_const"):
            return flag.constant or Unknown(passed.key_span, "a constant that is not known", names)
        if flag.action not in ("store", "extend", "append") or flag.action == "append":
            return Unknown(passed.value.span, f"the action {flag.action} makes it", names)
        words = passed.value
        if flag.nargs in (None, "?", "1") and isinstance(words, Sequence) and words.items:
            words = words.items[0]  # What follows are positional arguments.
        value = typed(it, words, flag.type, function)
        if flag.nargs in ("*", "+") and isinstance(value, Scalar):
            return Items(value.span, [value], it.guard)
        return _named(value, names)
    if flag.default is None:
        if switch:
            return default_value(
                it, Derived(flag.span, str(flag.action == "store_false"), flag.action == "store_false", names=names)
            )
        if flag.required or not flag.names:
            return Unknown(flag.span, f"{flag.dest} is passed on the command line", names)
        return default_value(it, Derived(flag.span, "None", None, names=names))
    default = flag.default
    if isinstance(default, Scalar) and isinstance(default.value, str) and flag.type not in ("", "str"):
        # argparse converts defaults that are text.
        default = typed(it, default, flag.type, function)
    return _named(default_value(it, default), names)


def _named(value: Node, names: frozenset[str]) -> Node:
    if isinstance(value, Derived):
        value.names = value.names | names
    elif isinstance(value, Unknown):
        return Unknown(value.span, value.reason, value.names | names)
    return value


# --- Functions as command lines: fire, click, typer, tyro -------------------------------------------------------------


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
        keywords.append(Entry(parameter.arg, start, _named(value, frozenset((parameter.arg,)))))
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


_CLICK = ("click.command", "click.group")


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
        dest = bare[0] if bare else _normal(longest).lower()
        if not dest:
            continue
        kind_node = site.get("type")
        default = site.get("default")
        kind = _type_name(kind_node)
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
        parser.flags[_normal(longest) or dest] = flag
        keywords.append(Entry(dest, site.span, _click_value(it, flag, switch)))
    return Site(None, function.name, function.name, found.span, found.span, [], keywords, False)


def _click_value(it: Interpreter, flag: Flag, switch: bool) -> Node:
    passed = given(it, list(flag.names) or [flag.dest], [])
    names = frozenset((flag.dest,))
    if passed is not None:
        if switch:
            return Derived(passed.key_span, passed.key, not _normal(passed.key).startswith("no_"), names=names)
        return _named(typed(it, passed.value, flag.type if flag.type != "bool" else "str"), names)
    if flag.default is None:
        if flag.required or not flag.names:
            return Unknown(flag.span, f"{flag.dest} is passed on the command line", names)
        return default_value(
            it, Derived(flag.span, "False" if switch else "None", False if switch else None, names=names)
        )
    default = flag.default
    if isinstance(default, Scalar) and isinstance(default.value, str) and flag.type in ("int", "float"):
        default = typed(it, default, flag.type)
    return _named(default_value(it, default), names)


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
        return _named(truth_word(passed.value) if flag.type == "bool" else typed(it, passed.value, flag.type), names)
    if flag.default is None:
        return Unknown(flag.span, f"{flag.dest} has no default", names)
    return _named(default_value(it, flag.default), names)


def absl_flag(it: Interpreter, name: str, span: Span) -> Node | None:
    """`FLAGS.learning_rate`."""
    if it.flag_store is None:
        return None
    flag = it.flag_store.record.flags.get(name)
    return _absl_value(it, flag) if flag is not None else None


# --- Parsers of dataclasses -------------------------------------------------------------------------------------------


def _dataclass_parser(it: Interpreter, site: Site, origin: str) -> Node | None:
    kind = origin.rpartition(".")[2]
    value = ParserValue(site.whole, Parser(kind, site.span), it.guard)
    value.record.overrides = Table(site.span, [], it.guard)
    it.parsers.append(value.record)
    wanted = site.get("dataclass_types", 0)
    for part in (elements(wanted) or [wanted]) if wanted is not None else ():
        found = classes.dataclass_of(it, part)
        if found is None:
            found = Dataclass("", "", part.span)
        value.record.dataclasses.append(found)
        value.classes.append(part)
    value.open_ended = wanted is None or (isinstance(wanted, Items) and wanted.unknown)
    return value


def _parsed(it: Interpreter, parser: ParserValue, span: Span) -> list[Node]:
    """One object for each dataclass, the same ones wherever the parser is asked."""
    results: list[Node] = []
    for index in range(len(parser.record.dataclasses)):
        held = parser.state.get(str(index))
        if held is None:
            held = Parsed(span, parser.record, index)
            parser.state[str(index)] = held
            it.parsed_by[id(parser.record)] = parser
        results.append(held)
    return results


def _parse_dataclasses(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    """parse_args_into_dataclasses, parse_args_and_config, parse_json_file, parse_yaml_file, parse_dict, parse."""
    name = site.name
    extra = truth(site.get("allow_extra_keys") or Scalar(site.span, "False", False)) is True
    if name in ("parse_json_file", "parse_yaml_file"):
        path = site.get("json_file" if name == "parse_json_file" else "yaml_file", 0) or site.get("yaml_arg")
        path = path if path is not None else Unknown(site.whole, "the path is not known")
        document = files.fetch(it, path, name, site.span)
        feed = Feed("json" if name == "parse_json_file" else "yaml", site.span, path, None, extra)
        root = document.roots[0] if document is not None and document.roots else None
        _feed(parser.record, feed)
        parser.fed.append(("file", root if isinstance(root, Mapping) else None))
    elif name == "parse_dict":
        node = site.get("args", 0)
        _feed(parser.record, Feed("dict", site.span, None, node if isinstance(node, Mapping) else None, extra))
        parser.fed.append(("dict", node if isinstance(node, Mapping) else None))
    else:
        words = site.get("args", 0)
        if words is not None and not (isinstance(words, Scalar) and words.value is None):
            written = _words(it, words)
            _feed(parser.record, Feed("dict", site.span, None, written, extra))
            parser.fed.append(("dict", written if not written.open_ended else None))
        else:
            kind = "argv" if name == "parse_args_into_dataclasses" else "config"
            _feed(parser.record, Feed(kind, site.span))
            parser.fed.append(("launch", it.flags))
    results = _parsed(it, parser, site.whole)
    if name == "parse" and len(results) == 1:
        return results[0]
    remaining = site.get("return_remaining_strings") or site.get("return_unknown_args")
    unknown = parser.open_ended
    if remaining is not None and truth(remaining) is not False:
        results = [*results, Unknown(site.whole, "flags that the parser does not know")]
    return Items(site.whole, results, it.guard, unknown)


def parsed_attribute(it: Interpreter, base: Parsed, name: str, span: Span) -> Node:
    """A field of what a dataclass parser returned."""
    overridden = base.parser.overrides.entry(name)
    if overridden is not None:
        return overridden.value
    names = frozenset((name,))
    flag = base.dataclass.fields.get(name)
    kind, source = _source(it, base)
    if source is None:
        if kind == "launch" and flag is not None:
            return _field_default(it, flag, names)
        return Unknown(span, f"{name} comes from the launch", names)
    entry = source.entry(name) or source.entry(name.replace("_", "-"))
    if entry is not None:
        kind = flag.type if flag is not None else ""
        if not (isinstance(entry.value, Scalar) and kind in ("int", "float", "bool")):
            return entry.value
        if kind == "bool":
            return truth_word(entry.value) if isinstance(entry.value.value, str) else entry.value
        return typed(it, entry.value, kind)
    if source.open_ended or flag is None:
        return Unknown(span, f"the default of {base.dataclass.origin or base.dataclass.name} applies", names)
    return flag.default if flag.default is not None else Unknown(span, f"{name} has no default", names)


def _source(it: Interpreter, parsed: Parsed) -> tuple[str, Mapping | None]:
    """What a parser's values come from: the launch, a file, a dict; None for what is not visible.

    Many scripts take a config file where it is the only argument and flags otherwise: the flags count, unless the file
    is known.
    """
    parser = it.parsed_by.get(id(parsed.parser))
    ways = [way for way in parser.fed if way[0] == "launch" or way[1] is not None] if parser is not None else []
    distinct = {id(source) for _, source in ways}
    if len(distinct) == 1:
        return ways[0]
    return "unknown", None


def fields(it: Interpreter, parsed: Parsed, span: Span) -> Table:
    """`vars(training_args)`: the fields of what a dataclass parser returned, as far as they are visible."""
    known = dict.fromkeys(parsed.dataclass.fields)
    _, source = _source(it, parsed)
    others = {name for other in parsed.parser.dataclasses for name in other.fields if other is not parsed.dataclass}
    if source is not None and parsed.dataclass.origin:
        known.update(dict.fromkeys(key.replace("-", "_") for key in source.last if key.replace("-", "_") not in others))
    table = Table(span, [], it.guard, "object", open_ended=bool(parsed.dataclass.origin))
    table.reason = f"the default of {parsed.dataclass.origin} applies" if parsed.dataclass.origin else ""
    for name in known:
        value = parsed_attribute(it, parsed, name, span)
        table.put(name, value.span, value)
    return table


def _field_default(it: Interpreter, flag: Flag, names: frozenset[str]) -> Node:
    if flag.default is None:
        return Unknown(flag.span, f"{flag.dest} comes from the launch", names)
    return _named(default_value(it, flag.default), names)


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


_METHODS: dict[str, Callable[[Interpreter, ParserValue, Site], Node]] = {
    "add_argument": _add_argument,
    "add_argument_group": _group,
    "add_mutually_exclusive_group": _group,
    "add_subparsers": _subparsers,
    "add_parser": _group,
    "set_defaults": _set_defaults,
    "parse_args": _parse_args,
    "parse_known_args": _parse_args,
    "parse_intermixed_args": _parse_args,
    "add_arguments": _add_arguments,
    "parse_args_into_dataclasses": _parse_dataclasses,
    "parse_args_and_config": _parse_dataclasses,
    "parse_json_file": _parse_dataclasses,
    "parse_yaml_file": _parse_dataclasses,
    "parse_dict": _parse_dataclasses,
    "parse": _parse_dataclasses,
}

HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **dict.fromkeys(
        ("argparse.ArgumentParser", "simple_parsing.ArgumentParser", "jsonargparse.ArgumentParser",
         "configargparse.ArgumentParser", "configargparse.ArgParser"),
        _argument_parser,
    ),
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
BY_NAME: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **dict.fromkeys(DATACLASS_PARSERS, _dataclass_parser),
    **dict.fromkeys(("field", "Field", "HfArg", "ib"), classes.field),
}
