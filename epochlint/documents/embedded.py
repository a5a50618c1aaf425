"""Texts that stand inside a value: JSON or YAML in a ConfigMap's block scalar."""

from __future__ import annotations

from epochlint.source import Excerpt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.documents.document import Document, Entry, Scalar
    from epochlint.source import Span


def document_of(entry: Entry) -> Document | None:
    """The JSON or YAML document that a key's text holds, told by the key's ending or by its first character."""
    from epochlint.documents.document import Scalar

    if not isinstance(entry.value, Scalar) or not isinstance(entry.value.value, str):
        return None
    text = entry.value.value.lstrip()
    name = entry.key.lower()
    if not (name.endswith((".json", ".yaml", ".yml")) or text.startswith("{")):
        return None
    excerpt = block(entry.value, entry.key)
    if excerpt is None:
        return None
    if name.endswith((".yaml", ".yml")) and not text.startswith("{"):
        from epochlint.documents import yaml_document

        return yaml_document.read(excerpt)
    from epochlint.documents import json_document

    return json_document.read(excerpt)


def written_inside(word: Scalar) -> Excerpt:
    """The text of a word of a command, each character with its place; of a part with escapes all at its beginning."""
    span = getattr(word, "written", word.span)
    parts: Sequence[tuple[str, Span]] = getattr(word, "parts", ())
    if len(parts) > 1:
        offsets: list[int] = []
        for text, part in parts:
            start = part.text.find(text)
            first = part.start + max(start, 0)
            offsets += range(first, first + len(text)) if start >= 0 else [first] * len(text)
        return Excerpt(span.source, word.raw, [*offsets, parts[-1][1].end], "")
    start = span.text.find(word.raw)
    places = range(span.start + start, span.start + start + len(word.raw) + 1)
    return Excerpt(span.source, word.raw, places if start >= 0 else [span.start] * (len(word.raw) + 1), "")


def block(scalar: Scalar, label: str) -> Excerpt | None:
    """The text of a literal block scalar (`|`), each character with its place; None for other styles."""
    span = scalar.span
    written = span.text
    if not written.startswith("|"):
        return None
    first = written.find("\n")
    if first < 0:
        return None
    lines = written[first + 1 :].splitlines(keepends=True)
    indents = [len(line) - len(line.lstrip(" ")) for line in lines if line.strip()]
    if not indents:
        return None
    indent = indents[0]
    text: list[str] = []
    offsets: list[int] = []
    at = span.start + first + 1
    for line in lines:
        start = min(indent, len(line.rstrip("\r\n")))
        text.append(line[start:])
        offsets.extend(range(at + start, at + len(line)))
        at += len(line)
    offsets.append(at)
    return Excerpt(span.source, "".join(text), offsets, label)
