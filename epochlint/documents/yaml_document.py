"""YAML: libyaml composes, and every key and value keeps its span.

Facts measured on pyyaml 6.0.4 with libyaml 0.2: marks count characters; a collection's end mark runs on to the next
token, and a block scalar's over the blank lines behind it; an alias composes to the node of its anchor; nesting is
capped at 1000 levels in C. Scalars are typed as `yaml.SafeLoader` (YAML 1.1) does, see `scalars`.
"""

from __future__ import annotations

import re

from yaml.error import MarkedYAMLError, YAMLError
from yaml.nodes import MappingNode, ScalarNode

from epochlint.documents.document import Document, Entry, Mapping, Node, Problem, Scalar, Sequence, Unresolved
from epochlint.documents.scalars import date, float11, int11, yaml11
from epochlint.documents.templates import REASON, is_template
from epochlint.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

try:
    from yaml._yaml import CParser as _Parser
except ImportError:  # PyYAML without libyaml: the same marks, 13 times slower
    from yaml.composer import Composer
    from yaml.parser import Parser
    from yaml.reader import Reader
    from yaml.scanner import Scanner

    class _Parser(Reader, Scanner, Parser, Composer):  # type: ignore[no-redef]
        def __init__(self, text: str) -> None:
            Reader.__init__(self, text)
            Scanner.__init__(self)
            Parser.__init__(self)
            Composer.__init__(self)


# Configs have a few kilobytes; the largest manifests that people commit have two megabytes.
LARGEST = 5_000_000
MOST_NODES = 200_000
MOST_MERGED = 200_000

_MAP = "tag:yaml.org,2002:map"
_STR = "tag:yaml.org,2002:str"
_YAML_TAG = "tag:yaml.org,2002:"
# Tags whose sequence is a sequence for every loader that knows them.
_SEQUENCE_TAGS = frozenset(
    (_YAML_TAG + "seq", _YAML_TAG + "python/tuple", _YAML_TAG + "python/list", _YAML_TAG + "omap", "!tuple", "!list")
)

_PROPERTIES = re.compile(r"(?:[&!]\S*\s*(?:#[^\r\n]*\s*)?)+")
_ALIAS = re.compile(r"\s*:?\s*\*[^\s,\[\]{}]+")
_SPACE = " \t\r\n"
_NO_BLANK = re.compile(r"[\w.-]+:[^\s:/]")

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class _TooLargeError(Exception):
    pass


class _Composer(_Parser):  # type: ignore[misc, valid-type, unused-ignore]
    """A composer that leaves typing to us: a node's tag is None where it is implicit."""

    def resolve(self, kind: type, value: object, implicit: tuple[bool, bool]) -> str | None:
        return _STR if kind is ScalarNode and not implicit[0] else None

    def descend_resolver(self, parent: object, index: object) -> None:
        pass

    def ascend_resolver(self) -> None:
        pass


class _CountingComposer(_Composer):
    """For large texts: stops before the tree fills the memory."""

    left = MOST_NODES

    def descend_resolver(self, parent: object, index: object) -> None:
        self.left -= 1
        if self.left < 0:
            raise _TooLargeError


def read(source: Source) -> Document:
    """Read a YAML stream: one root a document. Never raises; what is wrong stands in `problems`.

    Documents before a broken one are kept.
    """
    document = Document(source, "yaml")
    text = source.text
    if len(text) > LARGEST:
        document.problems.append(
            Problem("too-large", f"larger than {LARGEST // 1_000_000} MB, which no config is", Span(source, 0, 0))
        )
        return document
    if text.startswith("\ufeff"):
        document.problems.append(Problem("encoding", "a second byte order mark", Span(source, 0, 1)))
        return document
    composer = None
    try:
        composer = (_Composer if len(text) < MOST_NODES else _CountingComposer)(text)
        while composer.check_node():
            document.roots.append(_tree(source, composer.get_node(), document.problems))
    except YAMLError as error:
        document.problems.append(_problem(source, error))
    except RecursionError:
        document.problems.append(Problem("too-deep", "nested too deeply", Span(source, 0, 0)))
    except (_TooLargeError, MemoryError):
        document.problems.append(
            Problem("too-large", f"more than {MOST_NODES} values, which no config has", Span(source, 0, 0))
        )
    except (ValueError, AttributeError, TypeError, IndexError, KeyError) as error:
        # Lone surrogates cannot be encoded for libyaml; the pure parser trips over some broken texts.
        found = _UNPRINTABLE.search(text)
        at = found.start() if found else 0
        document.problems.append(Problem("syntax", f"cannot be read as YAML ({error})", Span(source, at, at)))
    finally:
        if composer is not None:
            composer.dispose()
    return document


def tokens(text: str) -> Iterator[tuple[int, int]]:
    """Where each token of a YAML text begins and ends. Raises YAMLError where the text is broken."""
    scanner: Any = _Composer(text)
    try:
        while scanner.check_token():
            token = scanner.get_token()
            yield token.start_mark.index, token.end_mark.index
    finally:
        scanner.dispose()


def _tree(source: Source, root: Any, problems: list[Problem]) -> Node:
    """Our tree of a composed one. Iterative; a node that several aliases share becomes one node."""
    text = source.text
    made: dict[int, Node] = {}
    aliases = "&" in text
    order: list[tuple[Any, Mapping | Sequence]] = []
    merges: list[tuple[Mapping, list[tuple[Entry, Node]]]] = []

    def make(node: Any) -> Node:
        tag = node.tag
        start = node.start_mark.index
        end = node.end_mark.index
        if start < end and text[start] in "&!":
            start = _bare(text, start, end)
        if node.__class__ is ScalarNode:
            raw = node.value
            if tag is None:
                return Scalar(Span(source, start, end), raw, yaml11(raw), True)
            if start < end and text[end - 1] in _SPACE and text[start] not in "\"'":
                # A block scalar's mark runs on over the blank lines behind it.
                end = start + len(text[start:end].rstrip(_SPACE))
            span = Span(source, start, end)
            return Scalar(span, raw, raw) if tag == _STR else _tagged(span, raw, tag)
        span = Span(source, start, end)
        if node.__class__ is MappingNode:
            if node.flow_style and text.startswith("{{", start):
                problems.append(Problem("template", "a template's placeholder stands where a value belongs", span))
                return Unresolved(span, "a template's placeholder")
            mapping = Mapping(span, [], tag is not None and tag != _MAP)
            order.append((node, mapping))
            return mapping
        if tag is not None and tag not in _SEQUENCE_TAGS:
            return Unresolved(span, f"the tag {_shown(tag)} is for the program that loads the file")
        sequence = Sequence(span, [])
        order.append((node, sequence))
        return sequence

    result = made[id(root)] = make(root)
    # `order` grows as collections are met: every one stands behind the collection that holds it.
    for node, ours in order:
        if isinstance(ours, Sequence):
            items = ours.items
            for item_node in node.value:
                item = made.get(id(item_node))
                if item is None:
                    item = made[id(item_node)] = make(item_node)
                items.append(item)
            continue
        entries = ours.entries
        merged: list[tuple[Entry, Node]] | None = None
        for key_node, value_node in node.value:
            value = made.get(id(value_node)) if aliases else None
            if value is None:
                if value_node.__class__ is ScalarNode and value_node.tag is None:
                    # The common case of `make`, without the call.
                    raw = value_node.value
                    start = value_node.start_mark.index
                    end = value_node.end_mark.index
                    if start < end and text[start] in "&!":
                        start = _bare(text, start, end)
                    value = Scalar(Span(source, start, end), raw, yaml11(raw), True)
                else:
                    value = make(value_node)
                if aliases:
                    made[id(value_node)] = value
            start = key_node.start_mark.index
            end = key_node.end_mark.index
            if start < end and text[start] in "&!":
                start = _bare(text, start, end)
            if key_node.__class__ is ScalarNode:
                key = key_node.value
            else:
                key = text[start:end].rstrip(_SPACE)
                end = start + len(key)
                key = key[:200]
            entry = Entry(key, Span(source, start, end), value)
            if key == "<<" and key_node.tag is None:
                if merged is None:
                    merged = []
                    merges.append((ours, merged))
                merged.append((entry, value))
            else:
                entries.append(entry)
    # What begins later is inside what begins earlier: backwards, every child's end is known.
    for node, ours in sorted(order, key=_beginning, reverse=True):
        if not node.flow_style:
            _trim(text, ours)
    if merges:
        _merge(merges, problems)
    return result


def _bare(text: str, start: int, end: int) -> int:
    """Where a node begins behind its anchor and tag."""
    found = _PROPERTIES.match(text, start, end)
    return found.end() if found and found.end() < end else start


def _trim(text: str, node: Mapping | Sequence) -> None:
    """Let a block collection end where its last child does."""
    span = node.span
    last = at = span.start
    if isinstance(node, Mapping):
        if node.entries:
            entry = node.entries[-1]
            at = entry.key_span.end
            last = entry.value.span.end
    elif node.items:
        last = node.items[-1].span.end
    if at <= last <= span.end and span.start < last:
        span.end = last
        return
    # The last child is an alias: its node stands elsewhere.
    found = _ALIAS.match(text, at, span.end)
    span.end = found.end() if found and at > span.start else at + len(text[at : span.end].rstrip(_SPACE))


def _beginning(pair: tuple[Any, Mapping | Sequence]) -> int:
    return pair[1].span.start


def _merge(merges: list[tuple[Mapping, list[tuple[Entry, Node]]]], problems: list[Problem]) -> None:
    """Put the entries that `<<` brings in front of a mapping's own ones.

    A mapping's own key wins; among merged mappings the first one of a list does (YAML 1.1, "merge"), the later `<<`
    over the earlier. Entries keep their own spans. (pyyaml 6.0.4 lets the last one of a list win; 6.0.3 does not.)
    """
    waiting = {id(mapping): (mapping, merged) for mapping, merged in merges}
    budget = MOST_MERGED
    for first, _ in merges:
        # Depth first, since what is merged may merge in its turn. A mapping that merges itself, at whatever distance,
        # gets nothing from the circle.
        stack: list[tuple[Mapping, list[Mapping], Iterator[Mapping]]] = []
        following: Mapping | None = first
        while stack or following is not None:
            if following is not None:
                _, merged = waiting.pop(id(following), (following, []))
                targets: list[Mapping] = []
                for entry, value in reversed(merged):
                    parts = value.items if isinstance(value, Sequence) else [value]
                    budget -= len(parts)
                    if budget < 0:
                        break
                    targets.extend(part for part in parts if isinstance(part, Mapping))
                    if any(isinstance(part, Unresolved) for part in parts):
                        following.open_ended = True
                    if any(isinstance(part, (Scalar, Sequence)) for part in parts) and len(problems) < 20:
                        reason = "'<<' merges mappings, and this is not a mapping"
                        problems.append(Problem("syntax", reason, entry.key_span))
                stack.append((following, targets, iter(targets)))
            mapping, targets, rest = stack[-1]
            following = next((target for target in rest if id(target) in waiting), None)
            if following is not None:
                continue
            stack.pop()
            taken = {entry.key for entry in mapping.entries}
            brought: list[Entry] = []
            circle = {id(above[0]) for above in stack} if targets else set()
            for target in targets:
                if target is mapping or id(target) in circle:
                    continue
                mapping.open_ended = mapping.open_ended or target.open_ended
                budget -= len(target.entries) + 1
                if budget < 0:
                    break
                fresh = [entry for entry in target.last.values() if entry.key not in taken]
                taken.update(entry.key for entry in fresh)
                brought.extend(fresh)
            mapping.entries[:0] = brought
            mapping._last = None
            if budget < 0:
                problems.append(Problem("too-large", "'<<' multiplies the keys beyond any config", mapping.span))
                for left in (mapping, *(above[0] for above in stack), *(pair[0] for pair in waiting.values())):
                    left.open_ended = True
                return


def _tagged(span: Span, raw: str, tag: str) -> Node:
    """A scalar with an explicit tag: the tag says the type, no loader guesses."""
    kind = tag[len(_YAML_TAG) :] if tag.startswith(_YAML_TAG) else ""
    value: object
    try:
        if kind in ("float", "python/float"):
            value = float11(raw)
        elif kind in ("int", "python/int", "python/long"):
            value = int11(raw)
        elif kind in ("bool", "python/bool"):
            value = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}[raw.lower()]
        elif kind in ("null", "python/none"):
            value = None
        elif kind in ("python/str", "python/unicode", "binary", "value"):
            value = raw
        elif kind == "timestamp":
            value = date(raw)
        else:
            return Unresolved(span, f"the tag {_shown(tag)} is for the program that loads the file")
    except (ValueError, KeyError, OverflowError):
        return Unresolved(span, f"{raw[:40]!r} does not fit its tag {_shown(tag)}")
    return Scalar(span, raw, value)


def _shown(tag: str) -> str:
    return "!!" + tag[len(_YAML_TAG) :] if tag.startswith(_YAML_TAG) else tag


# --- Problems ---------------------------------------------------------------------------------------------------------

# libyaml's and PyYAML's words -> ours, first match wins.
_REASONS = (
    ("mapping values are not allowed", "a ':' where no key can stand: indent as the lines above, or quote the text"),
    ("could not find expected ':'", "a key without its ':'"),
    ("did not find expected key", "neither a key of this mapping nor the end of it: check the indentation"),
    ("expected <block end>", "neither a key of this mapping nor the end of it: check the indentation"),
    ("did not find expected '-' indicator", "a list item without its '-': check the indentation"),
    ("block sequence entries are not allowed", "a '-' where no list can begin"),
    ("block mapping", "a key where no mapping can begin"),
    ("did not find expected ',' or ']'", "a '[' that is not closed, or a ',' missing"),
    ("expected ',' or ']'", "a '[' that is not closed, or a ',' missing"),
    ("did not find expected ',' or '}'", "a '{' that is not closed, or a ',' missing"),
    ("expected ',' or '}'", "a '{' that is not closed, or a ',' missing"),
    ("did not find expected node content", "a value is missing"),
    ("expected the node content", "a value is missing"),
    ("unexpected end of stream", "a quotation mark that is not closed"),
    ("unexpected document", "a quotation mark that is not closed"),
    ("unknown escape character", "an unknown escape sequence in double quotes"),
    ("tab character", "a tab: YAML indents with spaces"),
    ("'\\t' that cannot start", "a tab: YAML indents with spaces"),
    ("undefined alias", "an alias without an anchor before it"),
    ("duplicate anchor", "an anchor that is defined twice"),
    ("undefined tag handle", "a tag with an unknown prefix"),
    ("expected <document start>", "text behind the end of the document"),
    ("control characters are not allowed", "a control character, which YAML does not allow"),
    ("special characters are not allowed", "a control character, which YAML does not allow"),
    ("incompatible YAML document", "a %YAML version that cannot be read"),
)


def _problem(source: Source, error: YAMLError) -> Problem:
    text = source.text
    said = str(getattr(error, "problem", None) or getattr(error, "reason", None) or error)
    context = str(getattr(error, "context", None) or "")
    at: int
    if isinstance(error, MarkedYAMLError):
        mark = error.problem_mark or error.context_mark
        at = mark.index if mark is not None else 0
        if error.context_mark is not None and ("unexpected" in said or "' or '" in said or "expected ':'" in said):
            # What was left open is what needs the repair, not the place where it shows.
            at = error.context_mark.index
    else:
        found = _UNPRINTABLE.search(text)
        at = found.start() if found else 0
    at = _solid(text, min(at, len(text)))
    span = Span(source, at, min(at + 1, len(text)))
    if "nesting" in said or "nesting" in context:
        return Problem("too-deep", "nested too deeply", span)
    if is_template(text, at, quotes_matter=False):
        return Problem("template", REASON, span)
    if "expected ':'" in said and _NO_BLANK.match(text, at):
        return Problem("syntax", "a blank is missing behind the ':'", span)
    if text[at : at + 1] == "\t":
        said = "tab character"
    elif "cannot start any token" in said and at < len(text):
        return Problem("syntax", f"{text[at]!r} cannot begin a value: quote the text", span)
    reason = next((ours for theirs, ours in _REASONS if theirs in said), None)
    if reason is None:
        reason = next((ours for theirs, ours in _REASONS if theirs in context), said)
    return Problem("syntax", reason, span)


def _solid(text: str, at: int) -> int:
    """An offset that shows something: at the end of the text, the end of the last line that is not blank."""
    return at if at < len(text) else len(text.rstrip(_SPACE))
