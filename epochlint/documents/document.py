"""The tree of values that every syntax is read into, each key and value with its span.

A document is one file (or an excerpt of one) in one syntax. Its values are typed by the rules of the tool that will
load the file, so a scalar keeps its raw text, and `documents.scalars` says what a loader makes of it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.source import Source, Span


class Node:
    """A value and where it stands."""

    __slots__ = ("span",)

    def __init__(self, span: Span) -> None:
        self.span = span


class Scalar(Node):
    """A single value.

    `raw` is its text as written, without quotes and with escapes resolved. `plain` says that it stands unquoted in a
    syntax where the loader guesses the type (YAML, a shell word): such a scalar's type is the loader's to decide, and
    `value` is what PyYAML's safe loader (YAML 1.1) or the syntax itself makes of it.
    """

    __slots__ = ("plain", "raw", "value")

    def __init__(self, span: Span, raw: str, value: object, plain: bool = False) -> None:
        self.span = span
        self.raw = raw
        self.value = value
        self.plain = plain

    def __repr__(self) -> str:
        return f"Scalar({self.value!r})"


class Unresolved(Node):
    """A value that is there but cannot be known without running something; `reason` is for `explain`."""

    __slots__ = ("reason",)

    def __init__(self, span: Span, reason: str) -> None:
        self.span = span
        self.reason = reason

    def __repr__(self) -> str:
        return f"Unresolved({self.reason!r})"


class Sequence(Node):
    """A list."""

    __slots__ = ("items",)

    def __init__(self, span: Span, items: list[Node]) -> None:
        self.span = span
        self.items = items


class Entry:
    """A key of a mapping, a keyword of a call or a flag of a launch, with its value."""

    __slots__ = ("key", "key_span", "value")

    def __init__(self, key: str, key_span: Span, value: Node) -> None:
        self.key = key
        self.key_span = key_span
        self.value = value

    def __repr__(self) -> str:
        return f"Entry({self.key!r}, {self.value!r})"


class Inherited(Entry):
    """An entry of another file that this one is based on: `key_span` is where this file names the other."""

    __slots__ = ()


class Mapping(Node):
    """Keys with values, in the order written; a key written twice stands twice, and the last one counts.

    `open_ended` is True where further keys may exist that cannot be seen (`**kwargs`, an include): then a key that is
    not here is unknown, not left to its default.
    """

    __slots__ = ("_last", "entries", "open_ended")

    def __init__(self, span: Span, entries: list[Entry], open_ended: bool = False) -> None:
        self.span = span
        self.entries = entries
        self.open_ended = open_ended
        self._last: dict[str, Entry] | None = None

    @property
    def last(self) -> dict[str, Entry]:
        """Key -> the entry that counts."""
        if self._last is None:
            self._last = {entry.key: entry for entry in self.entries}
        return self._last

    def get(self, key: str) -> Node | None:
        entry = self.last.get(key)
        return entry.value if entry is not None else None

    def entry(self, key: str) -> Entry | None:
        return self.last.get(key)

    def mapping(self, *path: str) -> Mapping | None:
        """The mapping under a path of keys, if there is one."""
        node: Node | None = self
        for key in path:
            node = node.get(key) if isinstance(node, Mapping) else None
        return node if isinstance(node, Mapping) else None

    def find(self, *path: str) -> Entry | None:
        """The entry under a path of keys: find("train", "epochs")."""
        inner = self.mapping(*path[:-1])
        return inner.entry(path[-1]) if inner is not None else None

    def __contains__(self, key: object) -> bool:
        return key in self.last

    def __repr__(self) -> str:
        return f"Mapping({self.entries!r})"


class Problem:
    """Why a text, or a part of it, could not be read.

    `kind` is "syntax" (broken), "template" (Jinja, Helm: placeholders keep it from parsing), "relaxed" (JSON with
    comments or trailing commas: `json.loads` refuses it, hjson and JSON5 do not, so the tree is there all the same),
    "lines" (JSON Lines under a config's name), "newer" (than this Python), "too-deep", "too-large" or "encoding".
    """

    __slots__ = ("kind", "reason", "span")

    def __init__(self, kind: str, reason: str, span: Span) -> None:
        self.kind = kind
        self.reason = reason
        self.span = span


class Comment:
    """A comment: `text` without its marker; `span` covers it with the marker."""

    __slots__ = ("span", "text")

    def __init__(self, span: Span, text: str) -> None:
        self.span = span
        self.text = text


class Document:
    """A text read in one syntax.

    `syntax` is "yaml", "json", "toml", "python", "notebook", "shell", "hcl" or "sql". `roots` holds the top-level
    values: one for JSON and TOML, one a document for YAML, one a resource or call for HCL and SQL. Python, notebooks
    and shell have none: see `PythonDocument` and `ShellDocument` in their modules for the calls and launches there.
    """

    __slots__ = ("comments", "problems", "roots", "source", "syntax")

    def __init__(
        self,
        source: Source,
        syntax: str,
        roots: list[Node] | None = None,
        problems: list[Problem] | None = None,
        comments: list[Comment] | None = None,
    ) -> None:
        self.source = source
        self.syntax = syntax
        self.roots = roots if roots is not None else []
        self.problems = problems if problems is not None else []
        self.comments = comments if comments is not None else []

    def mappings(self) -> Iterator[Mapping]:
        """The top-level mappings."""
        return (root for root in self.roots if isinstance(root, Mapping))


def walk(node: Node, limit: int = 100_000) -> Iterator[tuple[tuple[str, ...], Entry]]:
    """Every entry below a node with its path of keys, depth first, each shared (aliased) node once, at most `limit`."""
    for path, mapping in mappings_in(node, limit):
        for entry in mapping.entries:
            yield (*path, entry.key), entry


def mappings_in(node: Node, limit: int = 100_000) -> Iterator[tuple[tuple[str, ...], Mapping]]:
    """Every mapping in a node, itself too, with its path of keys, depth first, each shared node once, up to `limit`
    entries.

    Iterative, since documents can nest as deeply as their parser lets them.
    """
    seen: set[int] = set()
    stack: list[tuple[tuple[str, ...], Node]] = [((), node)]
    while stack and limit > 0:
        path, current = stack.pop()
        if id(current) in seen:
            continue
        seen.add(id(current))
        if isinstance(current, Mapping):
            limit -= len(current.entries)
            yield path, current
            below = [entry for entry in current.entries if isinstance(entry.value, (Mapping, Sequence))]
            stack.extend(((*path, entry.key), entry.value) for entry in reversed(below))
        elif isinstance(current, Sequence):
            stack.extend((path, item) for item in reversed(current.items) if isinstance(item, (Mapping, Sequence)))
