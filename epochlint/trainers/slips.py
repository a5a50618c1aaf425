"""Keys of one mapping that its consumer does not have, and mostly a slip of one that it has."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.run.observation import Observation
from epochlint.trainers.tables import Table, load, nearest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from epochlint.documents.document import Node

# Whose settings people know by heart, and write where they are not taken.
_WELL_KNOWN = (("transformers", "TrainingArguments"), ("trl", "SFTConfig"), ("trl", "DPOConfig"), ("trl", "GRPOConfig"))


def borrowed(key: str) -> str | None:
    """The library that has a setting of that name."""
    return next((package for package, owner in _WELL_KNOWN if load(package, owner).known(key)), None)


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


def slips(
    mapping: Mapping, tables: Iterable[Table | Names], consumer: str, *, rejected: bool, own_parser: bool = False
) -> Iterator[Observation]:
    """Keys that none of the tables has in any version read, at the key. `own_parser`: the consumer takes nothing of
    other libraries, so that a setting of theirs is refused like any other word, and certainly meant.

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
        library = borrowed(key) if near is None and rejected and own_parser else None
        if library is not None:
            reason = f"it has no {key}, which is a setting of {library}"
            yield Observation("rejected", entry.key_span, {"reason": reason, "consumer": consumer})
        elif near is None:
            yield Observation("unknown_key", entry.key_span, values)
        elif rejected or near not in mapping:
            yield Observation("misspelt_key", entry.key_span, {**values, "suggestion": near})
