"""Keys and flags that are written twice in one place."""

from __future__ import annotations

from epochlint.documents.document import Scalar, mappings_in
from epochlint.documents.scalars import number
from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Mapping


def duplicates(mapping: Mapping, flags: bool = False) -> list[Observation]:
    """Keys that one mapping sets twice, at the second place. Flags: only where both give one value."""
    found: list[Observation] = []
    for one in [mapping] if flags else [inner for _, inner in mappings_in(mapping, 20_000)]:
        if len(one.last) == len(one.entries):
            continue
        first: dict[str, object] = {}
        for entry in one.entries:
            if entry.key in first and not entry.key.isdigit():
                before = first[entry.key]
                if flags and not (isinstance(before, Scalar) and isinstance(entry.value, Scalar)):
                    continue
                same = isinstance(before, Scalar) and isinstance(entry.value, Scalar) and _equal(before, entry.value)
                found.append(Observation("duplicate_key", entry.key_span, {"key": entry.key, "same": same}))
            first[entry.key] = entry.value
    return found


def _equal(first: Scalar, second: Scalar) -> bool:
    """The same text, or one number written in two ways (2.0e-5, 0.00002; 2e-5 without quotes, whatever it loads as)."""
    if first.raw == second.raw:
        return True
    one, two = (number(node) if node.plain or not isinstance(node.value, str) else None for node in (first, second))
    return one is not None and one == two
