"""Numbers that hang on the rows of a dataset: `len(data)`, `int(0.9 * len(data))`, `range(min(500, len(data)))`.

They stay unknown to everybody but to what takes rows of the same dataset by them.
"""

from __future__ import annotations

from epochlint.documents.python.model import DatasetNode, Operation, Unknown
from epochlint.documents.python.values import number_of, with_operations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.documents.document import Node
    from epochlint.source import Span

    Number = int | float

_DEEPEST = 20
"""Steps of arithmetic from the length to a number."""

# What is left of as many rows is the same number, wherever it stands.
_CERTAIN = frozenset(("select", "slice", "sample", "split-train", "split-test", "repeat", "shard"))


class RowCount(Unknown):
    """A number by the rows of a dataset: `of` gives it, or None."""

    __slots__ = ("dataset", "depth", "of")

    def __init__(
        self,
        span: Span,
        names: frozenset[str],
        dataset: DatasetNode,
        of: Callable[[int], Number | None],
        depth: int = 0,
    ) -> None:
        super().__init__(span, "the length is known from the data only", names)
        self.dataset = dataset
        self.of = of
        self.depth = depth


class RowRange(Unknown):
    """`range(start, stop)` by the rows of a dataset."""

    __slots__ = ("dataset", "start", "stop")

    def __init__(self, span: Span, stop: RowCount, start: RowCount | None, first: int) -> None:
        super().__init__(span, stop.reason, stop.names)
        self.dataset = stop.dataset
        self.start = start.of if start is not None else lambda rows: first
        self.stop = stop.of


def count_of(span: Span, names: frozenset[str], dataset: DatasetNode) -> RowCount:
    """`len(data)`."""
    now = with_operations(dataset, dataset.operations)  # a list may grow afterwards
    return RowCount(span, names, now, lambda rows: rows)


def combined(
    span: Span, names: frozenset[str], operands: Sequence[Node], function: Callable[..., object]
) -> RowCount | None:
    """A function of numbers, of which some are by the rows of one dataset; None where they are anything else."""
    counts = [operand for operand in operands if isinstance(operand, RowCount)]
    if not counts:
        return None
    plain = [number_of(operand) for operand in operands]
    if any(a is None and not isinstance(b, RowCount) for a, b in zip(plain, operands, strict=True)):
        return None
    depth = 1 + max(count.depth for count in counts)
    if depth > _DEEPEST or not all(same_rows(count.dataset, counts[0].dataset) for count in counts):
        return None

    def of(rows: int) -> Number | None:
        values = [
            operand.of(rows) if isinstance(operand, RowCount) else value
            for operand, value in zip(operands, plain, strict=True)
        ]
        if any(value is None for value in values):
            return None
        try:
            found = function(*values)
        except (ArithmeticError, ValueError, TypeError):
            return None
        return found if isinstance(found, (int, float)) else None

    return RowCount(span, names, counts[0].dataset, of, depth)


def same_rows(one: DatasetNode, other: DatasetNode) -> bool:
    """Whether two datasets certainly have as many rows."""
    if one is other:
        return True
    if not (one.files or one.hub or one.rows is not None or one.parts):
        return False
    told = ("files", "hub", "subset", "split", "rows", "mixing")
    if any(getattr(one, name) != getattr(other, name) for name in told) or len(one.parts) != len(other.parts):
        return False
    if not all(same_rows(left, right) for left, right in zip(one.parts, other.parts, strict=True)):
        return False
    first, second = ([step for step in data.operations if step.kind != "shuffle"] for data in (one, other))
    return len(first) == len(second) and all(map(_same, first, second))


def _same(one: Operation, other: Operation) -> bool:
    if one is other:
        return True
    return one.kind in _CERTAIN and one.of is other.of is None and (one.kind, one.amount, one.start, one.stop) == (
        other.kind, other.amount, other.start, other.stop
    )  # fmt: skip


def by_places(dataset: DatasetNode, value: Node | None, span: Span) -> Operation | None:
    """The operation of `data.select(range(...))` by its own length; None where the range is none of it."""
    if not isinstance(value, RowRange) or not same_rows(value.dataset, dataset):
        return None
    start, stop = value.start, value.stop

    def of(rows: int) -> int | None:
        first, last = start(rows), stop(rows)
        if not isinstance(first, int) or not isinstance(last, int) or first < 0 or last > rows:
            return None
        return max(0, last - first)

    return Operation("places", None, span, of=of)


def cut(dataset: DatasetNode, bounds: Sequence[Node | None], span: Span) -> Operation | None:
    """The operation of `rows[:n]` by the rows' own length; None where a bound is neither that nor a number."""
    if not any(isinstance(bound, RowCount) for bound in bounds):
        return None
    functions: list[Callable[[int], Number | None] | None] = []
    for bound in bounds:
        if bound is None:
            functions.append(None)
        elif isinstance(bound, RowCount) and same_rows(bound.dataset, dataset):
            functions.append(bound.of)
        else:
            number = number_of(bound)
            if not isinstance(number, int):
                return None
            functions.append(lambda rows, fixed=number: fixed)  # type: ignore[misc]

    def of(rows: int) -> int | None:
        values: list[int | None] = []
        for function in functions:
            value = function(rows) if function is not None else None
            if function is not None and not isinstance(value, int):
                return None
            values.append(value if isinstance(value, int) else None)
        first, last, step = (*values, None, None)[:3]
        return len(range(rows)[slice(first, last, step)]) if step != 0 else None

    return Operation("places", None, span, of=of)
