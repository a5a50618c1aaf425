"""Parsers that fill dataclasses: HfArgumentParser, TrlParser and their kin."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Node, Scalar
from epochlint.documents.python import classes, files
from epochlint.documents.python.argparser import add_feed, written_words
from epochlint.documents.python.model import Dataclass, Feed, Flag, Parsed, Parser, Unknown
from epochlint.documents.python.options import default_value, named, truth_word, typed
from epochlint.documents.python.values import (
    Items,
    ParserValue,
    Site,
    Table,
    elements,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

# Parsers that fill dataclasses.
DATACLASS_PARSERS = frozenset(
    ("HfArgumentParser", "TrlParser", "H4ArgumentParser", "ArgumentParserPlus", "DataclassArgumentParser")
)


def _dataclass_parser(it: Interpreter, site: Site, origin: str) -> Node | None:
    kind = origin.rpartition(".")[2]
    value = ParserValue(site.whole, Parser(kind, site.span), it.guard)
    value.record.overrides = Table(site.span, [], it.guard)
    wanted = site.get("dataclass_types", 0)
    for part in (elements(wanted) or [wanted]) if wanted is not None else ():
        found = classes.dataclass_of(it, part)
        if found is None:
            found = Dataclass("", "", part.span)
        value.record.dataclasses.append(found)
        value.classes.append(part)
    value.open_ended = wanted is None or (isinstance(wanted, Items) and wanted.unknown)
    return _built_once(it, value)


def _built_once(it: Interpreter, value: ParserValue) -> ParserValue:
    """The parser that this place built before for the same classes: `main()` is read again where others call it."""
    place = value.record.span
    classes_ = tuple((one.name, one.origin, one.span.start) for one in value.record.dataclasses)
    known = it.built.setdefault((id(place.source), place.start, *classes_), value)
    if known is value:
        it.parsers.append(value.record)
    return known


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
        add_feed(parser.record, feed)
        parser.fed.append(("file", root if isinstance(root, Mapping) else None))
    elif name == "parse_dict":
        node = site.get("args", 0)
        add_feed(parser.record, Feed("dict", site.span, None, node if isinstance(node, Mapping) else None, extra))
        parser.fed.append(("dict", node if isinstance(node, Mapping) else None))
    else:
        words = site.get("args", 0)
        if words is not None and not (isinstance(words, Scalar) and words.value is None):
            written = written_words(it, words)
            add_feed(parser.record, Feed("dict", site.span, None, written, extra))
            parser.fed.append(("dict", written if not written.open_ended else None))
        else:
            kind = "argv" if name == "parse_args_into_dataclasses" else "config"
            add_feed(parser.record, Feed(kind, site.span))
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
    return named(default_value(it, flag.default), names)


METHODS: dict[str, Callable[[Interpreter, ParserValue, Site], Node]] = dict.fromkeys(
    (
        "parse_args_into_dataclasses",
        "parse_args_and_config",
        "parse_json_file",
        "parse_yaml_file",
        "parse_dict",
        "parse",
    ),
    _parse_dataclasses,
)
BY_NAME: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **dict.fromkeys(DATACLASS_PARSERS, _dataclass_parser),
    **dict.fromkeys(("field", "Field", "HfArg", "ib"), classes.field),
}
