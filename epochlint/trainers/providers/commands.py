"""The flags of a service's own program (`aws bedrock ...`, `together fine-tuning create`) as the request that it sends.

aws-cli: a structure is JSON, shorthand (`epochCount=2,batchSize=1`) or `file://`; openai 1.109 `cli/_api/fine_tuning`;
together 3.1.1 `lib/cli/api/fine_tuning`; firectl and gcloud by their reference pages.
"""

from __future__ import annotations

from epochlint.documents import scalars
from epochlint.documents.document import Entry, Mapping, Node, Scalar, Unresolved
from epochlint.documents.embedded import written_inside
from epochlint.source import Span
from epochlint.trainers.providers.body import fold
from epochlint.trainers.trainer import LAUNCH, Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping as Dict
    from typing import Any

    from epochlint.trainers.trainer import Reading

_BLOCKS = ("object", "map", "list", "any")


def as_request(reading: Reading, fields: dict[str, Any], short: Dict[str, str] | None = None) -> None:
    """Makes a launch's flags a layer of the request. `short` are flags that go by another name than their field."""
    if reading.command[:1] != ("cli",):
        return
    names = {fold(name): name for name in fields} | dict(short or {})
    layers = []
    for layer in reading.layers:
        if layer.origin == LAUNCH:
            entries = []
            for entry in layer.mapping.entries:
                name = names.get(entry.key) or names.get(fold(entry.key))
                if name is not None:
                    entries.append(Entry(name, entry.key_span, _value(reading, entry.value, fields[name])))
            layer = Layer(Mapping(layer.mapping.span, entries, layer.mapping.open_ended), LAUNCH)
        layers.append(layer)
    reading.layers = layers


def _value(reading: Reading, node: Node, field: dict[str, Any]) -> Node:
    """A flag's value by the type of its field."""
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        return node
    kinds = field["type"].split(" or ")
    if any(kind in _BLOCKS for kind in kinds):
        return _structure(reading, node, field)
    return _typed(node, kinds)


def _typed(node: Scalar, kinds: list[str]) -> Scalar:
    """A word as the type that the service has for it."""
    if "bool" in kinds and (truth := scalars.boolean(node)) is not None:
        return Scalar(node.span, node.raw, truth, True)
    if ("int" in kinds or "number" in kinds) and (value := scalars.number(node)) is not None:
        return Scalar(node.span, node.raw, value, True)
    return node


def _structure(reading: Reading, word: Scalar, field: dict[str, Any]) -> Node:
    """A structure: in a file, as JSON, or in shorthand."""
    raw = word.raw.strip()
    if raw.startswith("file://"):
        named = raw[len("file://") :]
        document = reading.lookup.document(named, reading.base) if reading.lookup is not None else None
        return document.roots[0] if document is not None and document.roots else Unresolved(word.span, "in a file")
    if raw.startswith(("{", "[")):
        from epochlint.documents import json_document

        document = json_document.read(written_inside(word))
        return document.roots[0] if document.roots else Unresolved(word.span, "no JSON")
    return _shorthand(word, field)


def _shorthand(word: Scalar, field: dict[str, Any]) -> Node:
    """`epochCount=2,batchSize=1`, of the types that the service has for them. Nested shorthand stays unknown."""
    if any(mark in word.raw for mark in "{}[]\"'`") or "=" not in word.raw:
        return Unresolved(word.span, "nested shorthand")
    excerpt = written_inside(word)
    entries: list[Entry] = []
    at = 0
    for part in word.raw.split(","):
        key, equals, value = part.partition("=")
        start = at + len(key) + 1
        if not equals:
            return Unresolved(word.span, "a list in shorthand")
        span = Span(excerpt, start, start + len(value))
        name = key.strip()
        inner = field.get("fields", {}).get(name) or field.get("values") or {}
        typed = _typed(Scalar(span, value, value), inner.get("type", "text").split(" or "))
        entries.append(Entry(name, Span(excerpt, at, at + len(key)), typed))
        at += len(part) + 1
    return Mapping(Span(excerpt, 0, len(word.raw)), entries)
