"""Keys of one mapping that its consumer does not have, and mostly a slip of one that it has."""

from __future__ import annotations

from epochlint.documents.document import Scalar
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from epochlint.documents.document import Mapping
    from epochlint.trainers.tables import Table


def slips(mapping: Mapping, tables: Sequence[Table], consumer: str, *, rejected: bool) -> Iterator[Observation]:
    """Keys that none of the tables has in any version read, at the key.

    Null values are templates' remains, and what is close to a key that stands beside it is no slip of it.
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
        elif near not in mapping:
            yield Observation("misspelt_key", entry.key_span, {**values, "suggestion": near})
