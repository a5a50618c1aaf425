"""Terraform's language: the resource blocks of a file, with the values that are written out.

Only as much of HCL as a job's settings need (by its syntax specification): blocks, attributes, texts, numbers, lists,
objects. Any other expression is unresolved. Each resource is a root, whose first entry `resource` is its type. Nothing
is evaluated; the scanner takes one pass and nests at most `DEEPEST` blocks.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Document, Entry, Mapping, Node, Problem, Scalar, Sequence, Unresolved
from epochlint.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LARGEST = 1_000_000
DEEPEST = 40

_TOKEN = re.compile(
    r"[ \t\r]*(?:"
    r"(?P<comment>(?:\#|//)[^\n]*|/\*.*?(?:\*/|\Z))"
    r"|(?P<heredoc><<-?(?P<tag>\w+)\n.*?(?:\n[ \t]*(?P=tag)(?=\n|\Z)|\Z))"
    r"|(?P<text>\"(?:[^\"\\\n$%]|\\.|[$%](?!\{)|[$%]\{[^{}\n]*\})*\")"
    r"|(?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![\w.]))"
    r"|(?P<word>[A-Za-z_][\w-]*)"
    r"|(?P<line>\n)"
    r"|(?P<mark>=>|==|!=|>=|<=|&&|\|\||.)"
    r")",
    re.DOTALL,
)
_OPENING, _CLOSING = "{[(", "}])"
_WORDS = {"true": True, "false": False, "null": None}


class _Token:
    __slots__ = ("end", "kind", "start", "text")

    def __init__(self, kind: str, text: str, start: int, end: int) -> None:
        self.kind = kind
        self.text = text
        self.start = start
        self.end = end


class _BrokenError(Exception):
    pass


def read(source: Source) -> Document:
    """Reads the resources of a Terraform file. Never raises; what is wrong stands in `problems`."""
    document = Document(source, "hcl")
    if len(source.text) > LARGEST:
        reason = f"larger than {LARGEST // 1_000_000} MB, which no configuration is"
        document.problems.append(Problem("too-large", reason, Span(source, 0, 0)))
        return document
    try:
        document.roots.extend(_Parser(source).resources())
    except _BrokenError as broken:
        document.problems.append(Problem("syntax", str(broken), Span(source, 0, 0)))
    return document


class _Parser:
    __slots__ = ("at", "source", "tokens")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.tokens = list(_tokens(source.text))
        self.at = 0

    @property
    def token(self) -> _Token:
        return self.tokens[min(self.at, len(self.tokens) - 1)]

    def next(self) -> _Token:
        found = self.token
        self.at += 1
        return found

    def lines(self) -> None:
        while self.token.kind == "line":
            self.at += 1

    def span(self, first: _Token, last: _Token | None = None) -> Span:
        return Span(self.source, first.start, (last or first).end)

    def resources(self) -> Iterator[Mapping]:
        """The top-level blocks `resource "type" "name" { ... }`; everything else is passed over."""
        while self.token.kind != "end":
            first = self.next()
            if first.kind == "word" and first.text == "resource" and self.token.kind == "text":
                label = self.next()
                while self.token.kind in ("text", "word"):
                    self.next()
                if self.token.text == "{":
                    body = self.block(1)
                    kind = Scalar(self.span(label), label.text[1:-1], label.text[1:-1])
                    yield Mapping(
                        body.span, [Entry("resource", self.span(first), kind), *body.entries], body.open_ended
                    )
            elif first.text in _OPENING and first.kind == "mark":
                self.skip(1)

    def skip(self, depth: int) -> None:
        """Behind the bracket that closes an open one."""
        while depth and self.token.kind != "end":
            token = self.next()
            if token.kind == "mark":
                depth += (token.text in _OPENING) - (token.text in _CLOSING)

    def block(self, depth: int) -> Mapping:
        """`{ name = value, name { ... } }`. Blocks of one name are a list, where there are several."""
        if depth > DEEPEST:
            raise _BrokenError("nested too deeply")
        first = self.next()
        entries: list[Entry] = []
        open_ended = False
        while True:
            self.lines()
            token = self.next()
            if token.kind == "end":
                raise _BrokenError("a block is not closed")
            if token.text == "}" and token.kind == "mark":
                return Mapping(self.span(first, token), entries, open_ended)
            if token.text == "," and token.kind == "mark":
                continue
            key = self.key(token)
            if key is None:  # `(computed) = value`, `for ...`
                open_ended = True
                self.rest_of_line()
                continue
            if self.token.text in ("=", ":") and self.token.kind == "mark":
                self.next()
                entries.append(Entry(key, self.span(token), self.value(depth + 1)))
                continue
            labels = 0
            while self.token.kind in ("text", "word"):
                self.next()
                labels += 1
            if self.token.text != "{":
                open_ended = True
                self.rest_of_line()
                continue
            inner = self.block(depth + 1)
            open_ended = open_ended or key == "dynamic"
            if key != "dynamic":
                _add(entries, Entry(key, self.span(token), inner))

    def key(self, token: _Token) -> str | None:
        if token.kind == "word":
            return None if token.text == "for" else token.text
        return token.text[1:-1] if token.kind == "text" and "${" not in token.text else None

    def value(self, depth: int) -> Node:
        """An expression up to the end of its line, comma or bracket."""
        self.lines()
        start = self.at
        first = self.token
        node: Node | None = None
        if first.kind == "text" and not re.search(r"[$%]\{", first.text):
            self.next()
            raw = re.sub(r"\\(.)", r"\1", first.text[1:-1])
            node = Scalar(self.span(first), raw, raw)
        elif first.kind == "number":
            self.next()
            value = float(first.text)
            whole = re.fullmatch(r"-?\d+", first.text) is not None
            node = Scalar(self.span(first), first.text, int(first.text[:4000]) if whole else value)
        elif first.kind == "word" and first.text in _WORDS:
            self.next()
            node = Scalar(self.span(first), first.text, _WORDS[first.text])
        elif first.text == "{" and first.kind == "mark":
            node = self.block(depth)
        elif first.text == "[" and first.kind == "mark":
            node = self.items(depth)
        token = self.token
        if node is not None and (token.kind in ("line", "end") or token.text in ",}])"):
            return node
        self.at = start
        self.rest_of_line()
        return Unresolved(self.span(first, self.tokens[max(start, self.at - 1)]), "an expression of Terraform's")

    def items(self, depth: int) -> Node:
        if depth > DEEPEST:
            raise _BrokenError("nested too deeply")
        first = self.next()
        items: list[Node] = []
        while True:
            self.lines()
            token = self.token
            if token.kind == "end":
                raise _BrokenError("a list is not closed")
            if token.text == "]" and token.kind == "mark":
                return Sequence(self.span(first, self.next()), items)
            if token.text == "," and token.kind == "mark":
                self.next()
                continue
            before = self.at
            items.append(self.value(depth + 1))
            if self.at == before:
                self.next()

    def rest_of_line(self) -> None:
        """To the end of an expression: a line's end, a comma or a closing bracket that is not its own."""
        depth = 0
        while self.token.kind != "end":
            token = self.token
            if token.kind == "mark" and token.text in _CLOSING:
                if not depth:
                    return
                depth -= 1
            elif token.kind == "mark" and token.text in _OPENING:
                depth += 1
            elif not depth and (token.kind == "line" or (token.kind == "mark" and token.text == ",")):
                return
            self.next()


def _tokens(text: str) -> Iterator[_Token]:
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            break
        kind = found.lastgroup if found.lastgroup != "tag" else "heredoc"
        at = found.end()
        if kind == "comment":
            continue
        value = found[kind or 0]
        start = found.start(kind or 0)
        yield _Token(kind or "mark", value, start, found.end())
    yield _Token("end", "", len(text), len(text))


def _add(entries: list[Entry], entry: Entry) -> None:
    """A block; where one of that name is there already, both as a list."""
    for index, other in enumerate(entries):
        if other.key == entry.key:
            items = other.value.items if isinstance(other.value, Sequence) else [other.value]
            entries[index] = Entry(other.key, other.key_span, Sequence(other.value.span, [*items, entry.value]))
            return
    entries.append(entry)
