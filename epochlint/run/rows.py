"""Numbers of rows on their way from the files to the trainer, as (fewest, most); most is None where nothing bounds it.

Source of the mixtures: datasets 5.2.0, arrow_dataset.py (`_interleave_map_style_datasets`), compared with its runs in
tests/conformance (dataset_steps.json).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Rows = tuple[int, "int | None"]
    Step = Callable[[Rows], "Rows | None"]
    """What is done to rows; None where nobody can tell how many are left."""
    Mix = Callable[[Sequence["Rows | None"]], "Rows | None"]
    """How many rows several sources give together, of each one's."""

STRATEGIES = ("first_exhausted", "all_exhausted", "all_exhausted_without_replacement")


def each(change: Callable[[int], int | None]) -> Step:
    """A step by what it does to a number of rows, which never makes fewer of more."""

    def step(rows: Rows) -> Rows | None:
        fewest = change(rows[0])
        most = change(rows[1]) if rows[1] is not None else None
        if fewest is None or (rows[1] is not None and most is None):
            return None
        return fewest, most

    return step


def at_most(limit: int) -> Step:
    """No more than so many."""
    return lambda rows: (min(rows[0], limit), min(rows[1], limit) if rows[1] is not None else limit)


def taken(number: int, last: int) -> Step:
    """So many rows, chosen by their places before `last`: where there are fewer, `select` stops with an error."""
    return lambda rows: (number, number) if rows[1] is None or last <= rows[1] else None


def some(rows: Rows) -> Rows:
    """A filter: any number of them may be left."""
    return 0, rows[1]


def together(parts: Sequence[Rows | None]) -> Rows | None:
    """One after the other."""
    fewest, most = 0, 0
    bounded = True
    for part in parts:
        if part is None:
            return None
        fewest += part[0]
        most += part[1] or 0
        bounded = bounded and part[1] is not None
    return fewest, most if bounded else None


def interleaved(parts: Sequence[Rows | None], strategy: str, shares: Sequence[float] | None) -> Rows | None:
    """`interleave_datasets`: in turn, or by chance where there are shares; then how many rows it comes to hangs on the
    seed."""
    known = [part for part in parts if part is not None]
    if len(known) != len(parts) or not known or strategy not in STRATEGIES:
        return None
    if shares is not None and (len(shares) != len(known) or any(share < 0 for share in shares)):
        return None
    if strategy == "all_exhausted_without_replacement":
        return together(known) if shares is None or all(shares) else None
    if shares is None:
        return _in_turn(known, strategy)
    if strategy == "all_exhausted":  # rows are taken again until each has been there once
        return (sum(part[0] for part in known), None) if all(shares) else None
    drawn = [part for part, share in zip(known, shares, strict=True) if share]
    if len(drawn) == 1:
        return drawn[0]
    whole = together(drawn)
    assert whole is not None
    fewest = min((part[0] for part in drawn), default=0)
    return fewest, max(fewest, whole[1] - len(drawn) + 1) if whole[1] is not None else None


def _in_turn(parts: Sequence[Rows], strategy: str) -> Rows:
    number = len(parts)
    bounds = [part[1] for part in parts if part[1] is not None]
    if strategy == "all_exhausted":
        most = number * max(bounds) if len(bounds) == number else None
        return number * max(part[0] for part in parts), most
    return number * min(part[0] for part in parts), number * min(bounds) if bounds else None
