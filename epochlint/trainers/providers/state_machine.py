"""AWS's jobs as tasks of a Step Functions state machine: `arn:aws:states:::sagemaker:createTrainingJob.sync`.

Amazon States Language: `Parameters` are the request with `"Name.$"` for what the input gives; with JSONata it is
`Arguments`, and `"{% ... %}"`. An AWS SDK integration spells every name in Pascal case.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence, Unresolved, mappings_in
from epochlint.trainers.providers.terraform import request
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from epochlint.documents.document import Document

MOST = 200  # tasks of one document


def tasks(document: Document, action: str, fields: dict[str, Any]) -> Iterator[Mapping]:
    """The requests of a document's state machines that start an action, under the names of `fields`."""
    left = MOST
    for root in document.mappings():
        if not isinstance(root.get("States"), Mapping):
            continue
        for _, state in mappings_in(root):
            if action in (text_of(state.get("Resource")) or ""):
                block = state.mapping("Parameters") or state.mapping("Arguments")
                left -= 1
                if block is not None and left >= 0:
                    yield request(_filled(block), fields, texts=False)


def _filled(node: Mapping) -> Mapping:
    """A block without what the machine's input gives."""
    entries = []
    for entry in node.entries:
        if entry.key.endswith(".$"):
            entries.append(Entry(entry.key[:-2], entry.key_span, Unresolved(entry.value.span, "the input gives it")))
        else:
            entries.append(Entry(entry.key, entry.key_span, _value(entry.value)))
    return Mapping(node.span, entries, node.open_ended)


def _value(node: Node) -> Node:
    if isinstance(node, Mapping):
        return _filled(node)
    if isinstance(node, Sequence):
        return Sequence(node.span, [_value(item) for item in node.items])
    if isinstance(node, Scalar) and isinstance(node.value, str) and node.value.startswith("{%"):
        return Unresolved(node.span, "the input gives it")
    return node
