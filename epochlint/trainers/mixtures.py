"""Data sets that a config puts together: by interleaving (LLaMA-Factory, ms-swift), or by shares (TRL's `datasets`)."""

from __future__ import annotations

from epochlint.documents.document import Scalar, Sequence
from epochlint.documents.scalars import number
from epochlint.run.rows import interleaved
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence as Several

    from epochlint.documents.document import Node
    from epochlint.run.rows import Mix, Rows


def shares_of(node: Node | None) -> list[float] | None:
    """Numbers in a list, or in a text with commas; None where they cannot be read."""
    if isinstance(node, Sequence):
        found = [number(item) for item in node.items]
    elif isinstance(node, Scalar) and text_of(node) is not None:
        found = [_number(part) for part in (text_of(node) or "").split(",")]
    else:
        return None
    return [float(one) for one in found if one is not None] if all(one is not None for one in found) else None


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def interleaving(strategy: str, shares: Several[float] | None, *, dropping: bool) -> Mix:
    """`interleave_datasets`. dropping: some of the rows may be left out after they are put together."""

    def mix(parts: Several[Rows | None]) -> Rows | None:
        rows = interleaved(parts, strategy, shares)
        return (0, rows[1]) if dropping and rows is not None else rows

    return mix


def by_fraction(fractions: Several[float]) -> Mix:
    """TRL's `get_dataset` (trl 1.16.0, scripts/utils.py): the fractions are shares of the mixture, which is as large as
    the set that runs out first allows."""

    def taken(lengths: Several[int]) -> int | None:
        if not sum(fractions) or any(one < 0 for one in fractions):
            return None
        weights = [fraction / sum(fractions) for fraction in fractions]
        whole = min(length / weight for length, weight in zip(lengths, weights, strict=True) if weight > 0)
        return sum(round(weight * whole) for weight in weights)

    def mix(parts: Several[Rows | None]) -> Rows | None:
        known = [part for part in parts if part is not None]
        if len(known) != len(fractions):
            return None
        fewest = taken([part[0] for part in known])
        highs = [part[1] for part in known if part[1] is not None]
        most = taken(highs) if len(highs) == len(known) else None
        return (fewest, most) if fewest is not None else None

    return mix
