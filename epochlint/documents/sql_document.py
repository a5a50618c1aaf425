"""SQL: the arguments of calls that a few services take as SQL functions. Everything else is passed over.

A text in SQL stands in single quotes, which are doubled inside, or between two `$$`. Each call is a root, its arguments
under "0", "1", ...; whatever is no text is unresolved. The same reading finds such calls in the texts of a program.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Document, Entry, Mapping, Node, Scalar, Unresolved
from epochlint.source import Source, Span

CALL = re.compile(r"\bCORTEX\s*\.\s*FINETUNE\s*\(", re.IGNORECASE)
_ARGUMENT = re.compile(
    r"\s*(?:"
    r"'(?P<text>(?:[^']|'')*)'"
    r"|\$\$(?P<dollars>.*?)\$\$"
    r"|(?P<other>(?:[^',()]|\([^()]*\))+)"
    r")\s*(?P<end>[,)])",
    re.DOTALL,
)
_MOST = 12  # arguments


def read(source: Source) -> Document:
    """Reads the calls in a text. Never raises; a call that is not closed is left out."""
    document = Document(source, "sql")
    for found in CALL.finditer(source.text):
        root = _arguments(source, found.start(), found.end())
        if root is not None:
            document.roots.append(root)
    return document


def _arguments(source: Source, start: int, at: int) -> Mapping | None:
    entries: list[Entry] = []
    while len(entries) < _MOST:
        found = _ARGUMENT.match(source.text, at)
        if found is None:
            return None
        at = found.end()
        kind = "text" if found["text"] is not None else "dollars" if found["dollars"] is not None else "other"
        span = Span(source, *found.span(kind))
        node: Node
        if kind == "other":
            node = Unresolved(span, "an expression in SQL")
        else:
            raw = found[kind].replace("''", "'") if kind == "text" else found[kind]
            node = Scalar(span, raw, raw)
        entries.append(Entry(str(len(entries)), span, node))
        if found["end"] == ")":
            return Mapping(Span(source, start, at), entries)
    return None
