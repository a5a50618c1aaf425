"""A set's `shards` and `shards_idx`: one of so many parts of its rows, drawn by chance.

Read in axolotl 0.8.0 to 0.19.0 (`utils/data/sft.py`), recorded in tests/conformance. `preprocess_shards` alone reads
one part after the other: all rows.
"""

from __future__ import annotations

from epochlint.documents.scalars import number
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Mapping, Node
    from epochlint.run.rows import Rows


class Shard:
    """The rows of one part, of those that are certainly or perhaps trained on."""

    __slots__ = ("number", "place")

    def __init__(self, parts: int, place: int) -> None:
        self.number = parts
        self.place = place

    def __call__(self, rows: Rows) -> Rows | None:
        fewest, most = rows
        if most is None:
            return None
        size = most // self.number + (self.place < most % self.number)
        return max(0, size - (most - fewest)), size  # what is dropped may all lie in this part


class Perhaps:
    """What is dropped may lie in another part: then it counts for nothing."""

    __slots__ = ("judge", "key")

    def __init__(self, judge: Callable[[object], bool | None]) -> None:
        self.judge = judge
        owner = getattr(judge, "__self__", judge)
        self.key = getattr(owner, "key", None)

    def __call__(self, row: object) -> bool | None:
        return True if self.judge(row) else None


UNCLEAR = object()


def of(item: Mapping) -> Shard | object | None:
    """The part that is read; None where all rows are, `UNCLEAR` where nobody can tell."""
    node = item.get("shards")
    if node is None or is_null(node):
        return None
    parts, place = _whole(node), _whole(item.get("shards_idx")) if "shards_idx" in item else 0
    if parts == 0:
        return None
    return Shard(parts, place) if parts is not None and place is not None and 0 <= place < parts else UNCLEAR


def _whole(node: Node | None) -> int | None:
    value = number(node)
    return int(value) if value is not None and value == int(value) and value >= 0 else None
