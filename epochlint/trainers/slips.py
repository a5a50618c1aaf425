"""Keys of one mapping that its consumer does not have, and mostly a slip of one that it has."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.run.observation import Observation
from epochlint.trainers.tables import Table, load, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from epochlint.documents.document import Node


class Names:
    """The keys of a class that no published package holds."""

    __slots__ = ("names",)

    def __init__(self, *names: str) -> None:
        self.names = frozenset(names)

    def known(self, name: str) -> bool:
        return name in self.names

    def nearest(self, name: str) -> str | None:
        return nearest(name, self.names)


def below(mapping: Mapping, table: Table, consumer: str, *, rejected: bool) -> Iterator[Observation]:
    """`slips` of a mapping and of those below it, as far as the table knows what stands under its keys."""
    yield from slips(mapping, [table], consumer, rejected=rejected)
    for entry in mapping.entries:
        for owner in table.nested(entry.key):
            for inner in _inside(entry.value):
                yield from below(inner, load(table.package, owner), consumer, rejected=rejected)


def _inside(node: Node) -> list[Mapping]:
    items = node.items if isinstance(node, Sequence) else [node]
    return [item for item in items if isinstance(item, Mapping)]


def slips(mapping: Mapping, tables: Iterable[Table | Names], consumer: str, *, rejected: bool) -> Iterator[Observation]:
    """Keys that none of the tables has in any version read, at the key.

    Null values are templates' remains. What is close to a key that stands beside it is no slip of it, unless the
    consumer refuses it all the same.
    """
    for entry in mapping.entries:
        key = entry.key
        empty = isinstance(entry.value, Scalar) and entry.value.value is None
        if empty or key.isdigit() or any(table.known(key) for table in tables):
            continue
        near = next(filter(None, (table.nearest(key) for table in tables)), None)
        values: dict[str, object] = {"key": key, "consumer": consumer, "rejected": rejected}
        if near is None:
            yield Observation("unknown_key", entry.key_span, values)
        elif rejected or near not in mapping:
            yield Observation("misspelt_key", entry.key_span, {**values, "suggestion": near})
