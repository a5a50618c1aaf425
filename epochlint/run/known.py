"""Known and unknown values.

An unknown is a value of its own, never a default in disguise. A `Known` is in one of three states: exact (`exact` is
True, `value` holds it, which may be None for "switched off"), a range (`low` and `high`, either of which may be None
for "no bound"), or unknown (no bound at all).
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.source import Span

# Where a value comes from, in the words of the JSON output. The first that is there wins, in this order.
ASSUMED = "assumed"  # on the command line, or (weaker, after `recorded`) in the file or the settings
LAUNCH = "launch"  # a flag of the launch
WRITTEN = "written"  # in the config
COMPANION = "companion"  # DeepSpeed file, accelerate file, manifest
COUNTED = "counted"  # counted data
RECORDED = "recorded"  # a log or trainer_state
ESTIMATED = "estimated"
DEFAULT = "default"  # of the trainer's version
DERIVED = "derived"  # by a formula

BY_HAND = frozenset({ASSUMED, LAUNCH, WRITTEN, COMPANION})

# What a value rests on (bits of `basis`): rules say less where the ground is soft.
ON_RECORDS = 1  # the number of records
ON_PLACEHOLDER = 2  # records of a file that only stands for private data
ON_ESTIMATE = 4  # an estimate: never carries an error
ON_TABLE = 8  # a bundled table of public data sets: carries notes only
ON_WORKERS = 16  # the number of workers


class Known:
    """A value with its origin, or its bounds, or nothing.

    `key_span` is what a person would edit (the key, flag or keyword), `span` the value itself. `formula` is the sum as
    text with numbers filled in, or a pair (template, values) that `text()` fills in only when somebody asks.
    """

    __slots__ = ("basis", "exact", "formula", "high", "key_span", "low", "origin", "span", "value")

    def __init__(
        self,
        value: object = None,
        origin: str = DERIVED,
        *,
        exact: bool = True,
        low: float | None = None,
        high: float | None = None,
        formula: str | tuple[str, tuple[object, ...]] | None = None,
        key_span: Span | None = None,
        span: Span | None = None,
        basis: int = 0,
    ) -> None:
        self.value = value
        self.origin = origin
        self.exact = exact
        if exact and isinstance(value, (int, float)) and not isinstance(value, bool):
            low = high = value
        self.low = low
        self.high = high
        self.formula = formula
        self.key_span = key_span
        self.span = span
        self.basis = basis

    @property
    def unknown(self) -> bool:
        """Nothing is known, not even a bound."""
        return not self.exact and self.low is None and self.high is None

    @property
    def by_hand(self) -> bool:
        """Somebody wrote or said it; it is no default and no result."""
        return self.origin in BY_HAND

    @property
    def number(self) -> float | None:
        """The exact number, if it is one."""
        value = self.value
        return value if self.exact and isinstance(value, (int, float)) and not isinstance(value, bool) else None

    def text(self) -> str | None:
        """The formula with its numbers."""
        if isinstance(self.formula, tuple):
            template, values = self.formula
            return template.format(*(show(value) for value in values))
        return self.formula

    def __repr__(self) -> str:
        if self.exact:
            return f"Known({self.value!r}, {self.origin})"
        return "Unknown" if self.unknown else f"Known({self.low}..{self.high}, {self.origin})"


UNKNOWN = Known(exact=False)


def unknown(key_span: Span | None = None, span: Span | None = None, origin: str = WRITTEN, basis: int = 0) -> Known:
    """A value that is written and cannot be read: unknown, but it stands somewhere."""
    return Known(None, origin, exact=False, key_span=key_span, span=span, basis=basis)


def between(low: float | None, high: float | None, origin: str = DERIVED, **more: object) -> Known:
    """A range; exact where its ends meet."""
    if low is not None and low == high:
        return Known(low, origin, **more)  # type: ignore[arg-type] # the keywords of Known, passed on
    return Known(None, origin, exact=False, low=low, high=high, **more)  # type: ignore[arg-type] # likewise


def resting(known: Known, basis: int) -> Known:
    """The same value, resting on more; the given one stays as it is, since settings are shared between scenarios."""
    if known.basis | basis == known.basis:
        return known
    return Known(
        known.value,
        known.origin,
        exact=known.exact,
        low=known.low,
        high=known.high,
        formula=known.formula,
        key_span=known.key_span,
        span=known.span,
        basis=known.basis | basis,
    )


def hull(values: Iterable[Known]) -> Known:
    """The one value that all share, or the bounds that hold for all of them."""
    every = list(values)
    first = every[0]
    if all(known is first for known in every) or all(known.exact and known.value == first.value for known in every):
        return first
    lows = [known.low for known in every]
    highs = [known.high for known in every]
    low = None if None in lows else min(low for low in lows if low is not None)
    high = None if None in highs else max(high for high in highs if high is not None)
    if any(known.exact and known.low is None for known in every):
        low = high = None  # a word in one scenario, a number or another word in the next
    merged = Known(None, first.origin, exact=False, low=low, high=high, key_span=first.key_span, span=first.span)
    for known in every:
        merged.basis |= known.basis
    merged.formula = first.formula if first.exact else None
    return merged


def show(value: object) -> str:
    """A number as people write it: 52,002; 2e-05; 3.5; whole floats without their point."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            return str(value)
        if value == int(value) and abs(value) < 1e15:
            return f"{int(value):,}"
        return f"{value:.4g}"
    if isinstance(value, int):
        return f"{value:,}"
    return str(value)
