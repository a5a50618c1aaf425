"""AWS's jobs as Terraform resources: `aws_bedrock_custom_model` and `aws_sagemaker_training_job`; in Pulumi likewise.

Names are in snake case there, blocks that may repeat are lists, and numbers become the text that the API demands
(terraform-provider-aws, `internal/service/bedrock` and `sagemaker`).
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence
from epochlint.trainers.providers.body import fold
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.trainers.trainer import Reading

# The provider's own arguments, and the one name that it changes.
_OWN = frozenset({"resource", "count", "for_each", "provider", "depends_on", "lifecycle", "timeouts", "tags", "region"})
_RENAMED = {"validator": "validators"}


def is_resource(mapping: Mapping, kind: str) -> bool:
    return text_of(mapping.get("resource")) == kind


def as_request(reading: Reading, fields: dict[str, Any]) -> None:
    """Makes a resource's arguments the request's fields, where the reading is one of a resource."""
    if "resource" in reading or any(word.startswith("pulumi_aws.") for word in reading.command):
        reading.layers = [Layer(request(layer.mapping, fields), layer.origin) for layer in reading.layers]


def request(block: Mapping, fields: dict[str, Any], texts: bool = True) -> Mapping:
    """A block with its arguments under the names that the API has for them. `texts`: numbers become text by itself."""
    names = {fold(name): name for name in fields}
    entries = []
    for entry in block.entries:
        if entry.key in _OWN:
            continue
        name = names.get(fold(_RENAMED.get(entry.key, entry.key)))
        if name is not None:
            entries.append(Entry(name, entry.key_span, _value(entry.value, fields[name], texts)))
    return Mapping(block.span, entries, block.open_ended)


def _value(node: Node, field: dict[str, Any], texts: bool) -> Node:
    kind = field["type"]
    if kind == "list" and not isinstance(node, Sequence):
        node = Sequence(node.span, [node])
    if kind == "object" and isinstance(node, Mapping):
        return request(node, field["fields"], texts)
    if kind == "map" and isinstance(node, Mapping):
        values = field["values"]
        entries = [Entry(entry.key, entry.key_span, _value(entry.value, values, texts)) for entry in node.entries]
        return Mapping(node.span, entries, node.open_ended)
    if kind == "list" and isinstance(node, Sequence):
        return Sequence(node.span, [_value(item, field["items"], texts) for item in node.items])
    if texts and kind == "text" and isinstance(node, Scalar) and isinstance(node.value, (int, float)):
        return Scalar(node.span, node.raw, node.raw)
    return node
