"""argparse, and what is built like it: a parser object that options are added to."""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence
from epochlint.documents.python.model import Derived, Feed, Flag, Parser, Unknown
from epochlint.documents.python.options import default_value, given, named, plain_name, type_name, typed
from epochlint.documents.python.values import (
    Function,
    Imported,
    Items,
    ParserValue,
    Site,
    Table,
    elements,
    same,
    text_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span


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


def _add_argument(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    names = [text_of(part) for part in site.positional]
    known = tuple(name for name in names if name is not None)
    if len(known) != len(names) or not known:
        parser.open_ended = True
        return Unknown(site.whole, "an option whose name is not known")
    options = tuple(name for name in known if name.startswith("-"))
    longest = next((name for name in options if name.startswith("--")), known[0])
    dest = text_of(site.get("dest")) or plain_name(longest)
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
        type=type_name(kind_node),
        action=action,
        required=truth(site.get("required") or Scalar(site.span, "False", False)) is True,
        nargs=str(nargs_node.value) if isinstance(nargs_node, Scalar) and nargs_node.value is not None else None,
        choices=site.get("choices"),
        constant=site.get("const"),
    )
    parser.types[dest] = kind_node
    if it.strength(parser.guard) != "strong":
        parser.conditional.add(dest)
    name = plain_name(longest) if options else known[0]
    other = parser.record.flags.get(name)
    if other is not None and other.span.start != flag.span.start and not _alike(other.default, flag.default):
        parser.conditional.add(dest)  # each subcommand has its own
    parser.record.flags[name] = flag
    return Unknown(site.whole, "an option")


def _alike(one: Node | None, other: Node | None) -> bool:
    return one is other or (one is not None and other is not None and same(one, other))


def _group(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    return parser


def _subparsers(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    parser.command = text_of(site.get("dest")) or ""
    return parser


def _add_parser(it: Interpreter, parser: ParserValue, site: Site) -> Node:
    names = [site.get("name", 0)]
    aliases = site.get("aliases")
    names.extend((elements(aliases) if aliases is not None else None) or ())
    parser.commands.update(text for text in map(text_of, names) if text)
    return parser


def _chosen(it: Interpreter, parser: ParserValue) -> Entry | None:
    """The subcommand that a launch names; None where it names none, or there is no launch."""
    first = it.flags.entry("0") if it.flags is not None and parser.commands else None
    return first if first is not None and text_of(first.value) in parser.commands else None


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
    add_feed(parser.record, Feed("argv", site.span))
    words = site.get("args", 0)
    flags = it.flags
    if words is not None and not (isinstance(words, Scalar) and words.value is None):
        it.flags = written_words(it, words)
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


def add_feed(parser: Parser, feed: Feed) -> None:
    if not any(known.span.start == feed.span.start and known.kind == feed.kind for known in parser.feeds):
        parser.feeds.append(feed)


def written_words(it: Interpreter, words: Node) -> Mapping:
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
                entries.append(Entry(plain_name(key.raw), key.span, Scalar(key.span, "", True)))
            name, equals, value = word.partition("=")
            key = None if equals else item
            if equals:
                entries.append(Entry(plain_name(name), item.span, Scalar(item.span, value, value)))
        elif key is not None:
            entries.append(Entry(plain_name(key.raw), key.span, Scalar(item.span, word, word)))
            key = None
    if key is not None:
        entries.append(Entry(plain_name(key.raw), key.span, Scalar(key.span, "", True)))
    return Mapping(words.span, entries)


def namespace(it: Interpreter, parser: ParserValue, span: Span) -> Table:
    """What `parse_args` returns."""
    table = Table(span, [], it.guard, "object", open_ended=True, reason="it is no option that the script defines")
    known = [name for flag in parser.record.flags.values() for name in flag.names]
    positional = [flag.dest for flag in parser.record.flags.values() if not flag.names]
    chosen = _chosen(it, parser)
    if chosen is not None:
        positional.insert(0, parser.command)
    if parser.command:
        names = frozenset((parser.command,))
        command = chosen.value if chosen is not None else Unknown(span, "the subcommand is not known", names)
        table.put(parser.command, span, command)
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
        negative = given(it, [f"no-{plain_name(name)}" for name in flag.names], known)
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
        return named(value, names)
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
    return named(default_value(it, default), names)


METHODS: dict[str, Callable[[Interpreter, ParserValue, Site], Node]] = {
    "add_argument": _add_argument,
    "add_argument_group": _group,
    "add_mutually_exclusive_group": _group,
    "add_subparsers": _subparsers,
    "add_parser": _add_parser,
    "set_defaults": _set_defaults,
    "parse_args": _parse_args,
    "parse_known_args": _parse_args,
    "parse_intermixed_args": _parse_args,
}

HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = dict.fromkeys(
    ("argparse.ArgumentParser", "simple_parsing.ArgumentParser", "jsonargparse.ArgumentParser",
     "configargparse.ArgumentParser", "configargparse.ArgParser"),
    _argument_parser,
)  # fmt: skip
