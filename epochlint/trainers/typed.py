"""Values that a schema of types refuses, whatever it converts: no text for a list, no half of a count, no null.

Pydantic makes a number of a text and a whole number of 2.0. A word in a number's place may be a placeholder, and is let
alone.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Entry, Node
    from epochlint.trainers.tables import Table

    Ends = tuple[str | None, str | None]


def misfits(mapping: Mapping, table: Table, ends: Ends = (None, None)) -> Iterator[tuple[Entry, str]]:
    """Entries of one mapping whose value no version of the range takes, with the reason."""
    for entry in mapping.entries:
        if table.known(entry.key):
            reason = _misfit(entry, table, ends)
            if reason is not None:
                yield entry, reason


def _misfit(entry: Entry, table: Table, ends: Ends) -> str | None:
    key, node = entry.key, entry.value
    section = bool(table.nested(key))
    kind = "dict" if section else table.type(key)
    if isinstance(node, Scalar) and node.value is None:
        return None if table.optional(key) or kind == "any" else f"{key} is null, which is no value for it"
    if kind in _SHAPES and isinstance(node, (Scalar, Sequence, Mapping)) and not isinstance(node, _SHAPES[kind]):
        return f"{key} must be {_NAMES[kind]}"
    if kind == "int" and (value := number(node)) is not None and value != int(value):
        return f"{key} must be a whole number, not {value:g}"
    words = table.words(key, *ends)
    if words and isinstance(node, Scalar) and isinstance(node.value, str):
        plain = node.value.strip().lower()
        if plain.replace("_", "").isalnum() and plain not in words:
            return f"{key} can be {', '.join(words)}, not {node.value}"
    return None


_SHAPES: dict[str, type[Node] | tuple[type[Node], ...]] = {
    "dict": Mapping, "list": Sequence, "str": Scalar, "int": Scalar, "float": Scalar, "number": Scalar, "bool": Scalar,
}  # fmt: skip
_NAMES = {
    "dict": "a section", "list": "a list", "str": "a text", "int": "a whole number", "float": "a number",
    "number": "a number", "bool": "true or false",
}  # fmt: skip
