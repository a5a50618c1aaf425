"""TOML: tomli decides validity and values, a scanner of ours finds where each key and value stands.

The scanner runs only on what tomli has accepted. Its tree is compared with tomli's; where the two differ, every span is
the whole text: no position is better than a wrong one.
"""

from __future__ import annotations

import re

import tomli

from epochlint.documents.document import Document, Entry, Mapping, Node, Problem, Scalar, Sequence
from epochlint.documents.templates import REASON, is_template
from epochlint.source import Source, Span

LARGEST = 2_000_000

_GAP = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BLANK = re.compile(r"[ \t]*")
_KEY = re.compile(r"""[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s.=\[\]"'#]+)[ \t]*""")
_STRING = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")|\'\'\'.*?\'{3,5}(?!\')|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'',
    re.DOTALL,
)
# Numbers, words and dates: a date and a time may be parted by one space.
_WORD = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[^\s,\]}#]*|[^\s,\]}#]+")


class _MismatchError(Exception):
    """The scanner does not understand the text as tomli does."""


def read(source: Source) -> Document:
    """Read a TOML text into one root, a mapping. Never raises; what is wrong stands in `problems`."""
    document = Document(source, "toml")
    text = source.text
    if len(text) > LARGEST:
        reason = f"larger than {LARGEST // 1_000_000} MB, which no config is"
        document.problems.append(Problem("too-large", reason, Span(source, 0, 0)))
        return document
    try:
        values = tomli.loads(text)
    except tomli.TOMLDecodeError as error:
        document.problems.append(_problem(source, error))
        return document
    except RecursionError:
        document.problems.append(Problem("too-deep", "nested too deeply", Span(source, 0, 0)))
        return document
    except (ValueError, OverflowError) as error:
        document.problems.append(Problem("syntax", f"cannot be read as TOML ({error})", Span(source, 0, 0)))
        return document
    try:
        root = _Scanner(source).scan()
        _settle(root, values)
    except (_MismatchError, IndexError, RecursionError):
        root = _without_places(source, values)
    document.roots.append(root)
    return document


class _Table:
    """Builds a mapping; `tables` leads on to the mappings that headers and dotted keys name, with their entries."""

    __slots__ = ("mapping", "tables")

    def __init__(self, span: Span) -> None:
        self.mapping = Mapping(span, [])
        self.tables: dict[str, tuple[Entry, _Table | list[_Table]]] = {}

    def add(self, name: str, span: Span, node: Node, table: _Table | list[_Table]) -> None:
        entry = Entry(name, span, node)
        self.mapping.entries.append(entry)
        self.tables[name] = (entry, table)


class _Scanner:
    """Finds spans in a text that is known to be valid TOML. `text` has its CRLFs; offsets are the source's."""

    __slots__ = ("at", "source", "text")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.text = source.text
        self.at = 0

    def scan(self) -> Mapping:
        text = self.text
        root = _Table(Span(self.source, 0, len(text.rstrip())))
        table = root
        opened: list[_Table] = []
        while True:
            self.skip()
            if self.at >= len(text):
                return root.mapping
            start = self.at
            if text[start] == "[":
                several = text.startswith("[[", start)
                self.at += 2 if several else 1
                parts = self.key("]")
                self.at += 2 if several else 1
                table = self.enter(root, parts[:-1])
                table = self.open(table, parts[-1], start, several)
                opened = [table]
            else:
                parts = self.key("=")
                self.at += 1
                inner = self.enter(table, parts[:-1])
                value = self.value()
                inner.mapping.entries.append(Entry(parts[-1][0], parts[-1][1], value))
                for above in opened:
                    above.mapping.span.end = max(above.mapping.span.end, self.at)

    def key(self, end: str) -> list[tuple[str, Span]]:
        """The parts of a dotted key, up to (not over) the mark that ends it."""
        parts: list[tuple[str, Span]] = []
        text = self.text
        while True:
            found = _KEY.match(text, self.at)
            if found is None:
                raise _MismatchError
            word = found[1]
            name = word
            if word[0] == '"':
                name = _text(word)
            elif word[0] == "'":
                name = word[1:-1]
            parts.append((name, Span(self.source, found.start(1), found.end(1))))
            self.at = found.end()
            mark = text[self.at]
            if mark == end:
                return parts
            if mark != ".":
                raise _MismatchError
            self.at += 1

    def enter(self, table: _Table, parts: list[tuple[str, Span]]) -> _Table:
        """The table that a dotted prefix leads to, made where it is not there."""
        for name, span in parts:
            if name not in table.tables:
                made = _Table(Span(self.source, span.start, span.end))
                table.add(name, span, made.mapping, made)
            inner = table.tables[name][1]
            table = inner[-1] if isinstance(inner, list) else inner
        return table

    def open(self, table: _Table, part: tuple[str, Span], start: int, several: bool) -> _Table:
        """The table of a `[header]` or the next one of a `[[header]]`."""
        name, span = part
        entry, inner = table.tables.get(name, (None, None))
        made = _Table(Span(self.source, start, self.at))
        if several:
            if entry is None:
                entry, inner = Entry(name, span, Sequence(Span(self.source, start, self.at), [])), []
                table.mapping.entries.append(entry)
                table.tables[name] = (entry, inner)
            if not isinstance(inner, list) or not isinstance(entry.value, Sequence):
                raise _MismatchError
            inner.append(made)
            entry.value.items.append(made.mapping)
            entry.value.span.end = self.at
            return made
        if entry is None:
            table.add(name, span, made.mapping, made)
            return made
        if not isinstance(inner, _Table):
            raise _MismatchError
        # `[a]` behind `[a.b]`: the header is a better place than the inner key's.
        inner.mapping.span = made.mapping.span
        entry.key_span = span
        return inner

    def skip(self) -> None:
        """Over blanks, line breaks and comments."""
        self.at = _GAP.match(self.text, self.at).end()  # type: ignore[union-attr]

    def value(self) -> Node:
        """The value at the current place. Iterative, since arrays can nest."""
        text = self.text
        opened: list[Sequence | _Table] = []
        # For each opened container, the key that its next value is for; None in an array.
        places: list[tuple[_Table, str, Span] | None] = []
        while True:
            self.skip()
            start = self.at
            node: Node | None = None
            if text[start] in "[{":
                self.at += 1
                span = Span(self.source, start, start)
                opened.append(Sequence(span, []) if text[start] == "[" else _Table(span))
                places.append(None)
            else:
                node = self.scalar()
            while True:
                if node is not None:
                    if not opened:
                        return node
                    container, place = opened[-1], places[-1]
                    if isinstance(container, Sequence):
                        container.items.append(node)
                    elif place is not None:
                        place[0].mapping.entries.append(Entry(place[1], place[2], node))
                    self.skip()
                    if text[self.at] == ",":
                        self.at += 1
                self.skip()
                container = opened[-1]
                if text[self.at] in "]}":
                    self.at += 1
                    opened.pop()
                    places.pop()
                    node = container if isinstance(container, Sequence) else container.mapping
                    node.span.end = self.at
                    continue
                if isinstance(container, _Table):
                    parts = self.key("=")
                    self.at += 1
                    places[-1] = (self.enter(container, parts[:-1]), *parts[-1])
                break

    def scalar(self) -> Scalar:
        quoted = self.text[self.at] in "\"'"
        found = (_STRING if quoted else _WORD).match(self.text, self.at)
        if found is None:
            raise _MismatchError
        self.at = found.end()
        # The value is tomli's, see `_settle`.
        return Scalar(Span(self.source, found.start(), found.end()), found[0], None)


def _text(word: str) -> str:
    text: str = tomli.loads(f"k={word}")["k"]
    return text


def _settle(root: Mapping, values: dict[str, object]) -> None:
    """Give every scalar tomli's value; raises _MismatchError where the two trees differ."""
    stack: list[tuple[Node, object]] = [(root, values)]
    while stack:
        node, value = stack.pop()
        if isinstance(node, Mapping):
            if not isinstance(value, dict) or len(value) != len(node.entries):
                raise _MismatchError
            for entry in node.entries:
                if entry.key not in value:
                    raise _MismatchError
                stack.append((entry.value, value[entry.key]))
        elif isinstance(node, Sequence):
            if not isinstance(value, list) or len(value) != len(node.items):
                raise _MismatchError
            stack.extend(zip(node.items, value, strict=True))
        elif isinstance(node, Scalar):
            text = isinstance(value, str)
            if isinstance(value, (dict, list)) or text != (node.raw[0] in "\"'"):
                raise _MismatchError
            node.value = value
            if isinstance(value, str):
                node.raw = value


def _without_places(source: Source, values: dict[str, object]) -> Mapping:
    """tomli's values in a tree whose every span is the whole text."""
    span = Span(source, 0, len(source.text))
    root = Mapping(span, [])
    stack: list[tuple[Mapping | Sequence, object]] = [(root, values)]

    def node(value: object) -> Node:
        if isinstance(value, (dict, list)):
            container = Mapping(span, []) if isinstance(value, dict) else Sequence(span, [])
            stack.append((container, value))
            return container
        return Scalar(span, value if isinstance(value, str) else str(value), value)

    while stack:
        container, value = stack.pop()
        if isinstance(container, Mapping) and isinstance(value, dict):
            container.entries.extend(Entry(key, span, node(inner)) for key, inner in value.items())
        elif isinstance(container, Sequence) and isinstance(value, list):
            container.items.extend(node(inner) for inner in value)
    return root


# tomli's words -> ours, first match wins.
_REASONS = (
    ("Cannot overwrite a value", "a key that is set twice"),
    ("Cannot declare", "a table that is declared twice"),
    ("Cannot mutate immutable namespace", "a table that is closed already"),
    ("Duplicate inline table key", "a key that is set twice"),
    ("Cannot redefine namespace", "a key that is set twice"),
    ("Expected '=' after a key", "a '=' is missing behind the key"),
    ("Expected ']' at the end of a table", "a ']' is missing"),
    ("Expected ']]' at the end", "a ']]' is missing"),
    ("Unclosed array", "a '[' that is not closed, or a ',' missing"),
    ("Unclosed inline table", "a '{' that is not closed, or a ',' missing"),
    ("Unterminated string", "a quotation mark that is not closed"),
    ("Illegal character '\\n'", "a quotation mark that is not closed on its line"),
    ("Illegal character", "a character that is not allowed here"),
    ("Unescaped '\\' in a string", "an unknown escape sequence"),
    ("Expected newline or end of document", "text behind the end of the value"),
    ("Invalid initial character for a key", "a key cannot begin like this"),
    ("Invalid statement", "neither a key nor a table"),
    ("Invalid value", "this is no TOML value: texts need quotation marks"),
    ("Invalid date or datetime", "this is no date"),
    ("Expected", "something else belongs here"),
)


def _problem(source: Source, error: tomli.TOMLDecodeError) -> Problem:
    text = source.text
    said = str(getattr(error, "msg", "") or error)
    # tomli counts in a text whose CRLFs it has made LFs, so its line and column are the ones to trust.
    line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
    start = 0
    for _ in range(line - 1):
        start = text.find("\n", start) + 1
    at = min(start + column - 1, len(text))
    if "set twice" in (reason := next((ours for theirs, ours in _REASONS if theirs in said), said)):
        # tomli points behind the value; the key is what a person looks for.
        begin = text.rfind("\n", 0, max(0, at)) + 1
        at = _BLANK.match(text, begin).end()  # type: ignore[union-attr]
    if at >= len(text.rstrip()):
        at = len(text.rstrip())
    span = Span(source, at, min(at + 1, len(text)))
    if is_template(text, at, quotes_matter=True):
        return Problem("template", REASON, span)
    return Problem("syntax", reason, span)
