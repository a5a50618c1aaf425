"""The language of conditions, as it runs: three-valued logic over exact values, ranges and unknowns.

A compiled expression is a nested tuple of constants (made by `grammar.py`); `closure` turns it into a function of a
`Context`. Values are plain Python objects where they are exact (None = switched off) and a `Known` where they are not;
truths are True, False or None for "undecided". What is switched off compares False and makes a sum None; what is
unknown leaves a comparison undecided unless its bounds decide it.
"""

from __future__ import annotations

from math import ceil, floor, inf

from epochlint.run.known import DEFAULT, DERIVED, ESTIMATED, UNKNOWN, Known
from epochlint.run.versions import canonical

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from epochlint.run.budget import Budget
    from epochlint.run.observation import Observation
    from epochlint.run.run import Run
    from epochlint.run.scenarios import Scenarios

    Node = tuple[Any, ...]
    Function = Callable[["Context"], Any]


class Context:
    """What an expression can see: one scenario, the observation at hand, a baseline, the rule's thresholds.

    `touched` collects the names that decided the result; "settings.x" and "baseline.x" keep their prefix, "@package"
    stands for the versions of a package.
    """

    __slots__ = (
        "baseline",
        "baseline_kind",
        "baseline_label",
        "budget",
        "observation",
        "scenarios",
        "thresholds",
        "touched",
    )

    def __init__(
        self,
        budget: Budget | None,
        scenarios: Scenarios | None = None,
        observation: Observation | None = None,
        thresholds: Mapping[str, float] | None = None,
    ) -> None:
        self.budget = budget
        self.scenarios = scenarios
        self.observation = observation
        self.thresholds: Mapping[str, float] = thresholds if thresholds is not None else {}
        self.baseline: Budget | None = None
        self.baseline_kind: str | None = None
        self.baseline_label: str | None = None
        self.touched: list[str] = []

    def known(self, name: str) -> Known:
        """A name of `touched`, looked up again."""
        head, _, rest = name.partition(".")
        if head == "settings":
            return self.budget.get(rest) if self.budget is not None else UNKNOWN
        if head == "baseline":
            return _of_baseline(self, rest)
        return self.budget.fact(name) if self.budget is not None else UNKNOWN


def _of_baseline(context: Context, name: str) -> Known:
    budget = context.baseline
    if budget is None:
        return UNKNOWN
    return budget.get(name[9:]) if name.startswith("settings.") else budget.fact(name)


_made: dict[int, tuple[Node, Function]] = {}  # by the identity of the expression, which is kept beside its function


def closure(node: Node) -> Function:
    """The function of a compiled expression, made once."""
    found = _made.get(id(node))
    if found is None:
        found = _made[id(node)] = node, _MAKERS[node[0]](*node[1:])
    return found[1]


# Names --------------------------------------------------------------------------------------------------------------


def _constant(value: object) -> Function:
    return lambda context: value


def _name(name: str) -> Function:
    def look(context: Context) -> object:
        context.touched.append(name)
        budget = context.budget
        if budget is None:
            return UNKNOWN
        known = budget.fact(name)
        return known.value if known.exact else known

    return look


def _setting(name: str) -> Function:
    touched = f"settings.{name}"

    def look(context: Context) -> object:
        context.touched.append(touched)
        if context.budget is None:
            return UNKNOWN
        known = context.budget.get(name)
        return known.value if known.exact else known

    return look


def _observed(key: str) -> Function:
    def look(context: Context) -> object:
        return context.observation.values.get(key) if context.observation is not None else None

    return look


def _baseline(name: str) -> Function:
    touched = f"baseline.{name}"

    def look(context: Context) -> object:
        context.touched.append(touched)
        if name == "kind":
            return context.baseline_kind
        if name == "label":
            return context.baseline_label
        known = _of_baseline(context, name)
        return known.value if known.exact else known

    return look


def _threshold(name: str) -> Function:
    return lambda context: context.thresholds[name]


# Logic --------------------------------------------------------------------------------------------------------------


def _and(*nodes: Node) -> Function:
    parts: list[Any] = list(nodes)  # each made a function when it is first reached: most rules end at their first part
    places = range(len(parts))

    def all_(context: Context) -> bool | None:
        result: bool | None = True
        touched = context.touched
        mark = len(touched)
        for place in places:
            part = parts[place]
            if type(part) is tuple:
                part = parts[place] = closure(part)
            start = len(touched)
            truth = part(context)
            if truth is False:
                del touched[mark:start]  # the one that fails is reason enough
                return False
            if truth is None:
                if result is True:
                    del touched[mark:start]  # what is true is not what is missing
                result = None
            elif result is None:
                del touched[start:]
        return result

    return all_


def _or(*nodes: Node) -> Function:
    parts: list[Any] = list(nodes)
    places = range(len(parts))

    def any_(context: Context) -> bool | None:
        result: bool | None = False
        touched = context.touched
        mark = len(touched)
        for place in places:
            part = parts[place]
            if type(part) is tuple:
                part = parts[place] = closure(part)
            start = len(touched)
            truth = part(context)
            if truth is True:
                del touched[mark:start]  # the one that holds is reason enough
                return True
            if truth is None:
                result = None
        return result

    return any_


def _not(node: Node) -> Function:
    part = closure(node)

    def negation(context: Context) -> bool | None:
        truth = part(context)
        return None if truth is None else not truth

    return negation


def _truth(node: Node) -> Function:
    """A value taken as a yes or no: off, false, zero and empty are no."""
    part = closure(node)

    def truth(context: Context) -> bool | None:
        value = part(context)
        if type(value) is Known:
            if (value.low is not None and value.low > 0) or (value.high is not None and value.high < 0):
                return True
            return None
        return bool(value)

    return truth


def _value(node: Node) -> Function:
    """A yes or no taken as a value."""
    part = closure(node)

    def value(context: Context) -> object:
        truth = part(context)
        return UNKNOWN if truth is None else truth

    return value


def _maybe(node: Node) -> Function:
    part = closure(node)
    return lambda context: part(context) is not False


def _surely(node: Node) -> Function:
    part = closure(node)
    return lambda context: part(context) is True


def _choose(condition: Node, yes: Node, no: Node) -> Function:
    test, first, second = closure(condition), closure(yes), closure(no)

    def choose(context: Context) -> object:
        truth = test(context)
        if truth is None:
            return _hull(first(context), second(context))
        return first(context) if truth else second(context)

    return choose


def _choose_truth(condition: Node, yes: Node, no: Node) -> Function:
    test, first, second = closure(condition), closure(yes), closure(no)

    def choose(context: Context) -> bool | None:
        truth = test(context)
        if truth is not None:
            return first(context) if truth else second(context)  # type: ignore[no-any-return] # a truth by its kind
        one, other = first(context), second(context)
        return one if one is other else None

    return choose


# Comparisons --------------------------------------------------------------------------------------------------------


def _less(context: Context, first: Function, second: Function, strict: bool) -> bool | None:
    x, y = first(context), second(context)
    if type(x) is Known or type(y) is Known:
        return _less_ranges(x, y, strict)
    if x is None or y is None:
        return False
    try:
        return bool(x < y if strict else x <= y)
    except TypeError:
        return None


def _less_ranges(x: object, y: object, strict: bool) -> bool | None:
    if x is None or y is None:
        return False
    x_low, x_high = _ends(x)
    y_low, y_high = _ends(y)
    if x_high < y_low or (not strict and x_high == y_low):
        return True
    if x_low > y_high or (strict and x_low == y_high):
        return False
    return None


def _compare(operator: str, first: Node, second: Node) -> Function:
    one, two = closure(first), closure(second)
    if operator == "<":
        return lambda context: _less(context, one, two, True)
    if operator == "<=":
        return lambda context: _less(context, one, two, False)
    if operator == ">":
        return lambda context: _less(context, two, one, True)
    if operator == ">=":
        return lambda context: _less(context, two, one, False)
    wanted = operator == "=="

    def equal(context: Context) -> bool | None:
        x, y = one(context), two(context)
        if type(x) is Known or type(y) is Known:
            truth = _equal_ranges(x, y)
            return None if truth is None else truth is wanted
        return (x is not None and x == y) is wanted

    return equal


def _equal_ranges(x: object, y: object) -> bool | None:
    for value, other in ((x, y), (y, x)):
        if value is None or (isinstance(value, str) and type(other) is Known and not other.unknown):
            return False
        if isinstance(value, str):
            return None
    x_low, x_high = _ends(x)
    y_low, y_high = _ends(y)
    return False if x_high < y_low or y_high < x_low else None


def _among(node: Node, values: tuple[object, ...]) -> Function:
    part = closure(node)

    def among(context: Context) -> bool | None:
        value = part(context)
        if type(value) is Known:
            if value.unknown:
                return None
            low, high = _ends(value)
            return None if any(isinstance(one, (int, float)) and low <= one <= high for one in values) else False
        return value in values

    return among


# Sums ---------------------------------------------------------------------------------------------------------------


def _ends(value: object) -> tuple[float, float]:
    if type(value) is Known:
        return (value.low if value.low is not None else -inf, value.high if value.high is not None else inf)
    if isinstance(value, (int, float)):
        return value, value
    return -inf, inf


def _range(low: float, high: float) -> object:
    """The value with these ends: a number where they meet."""
    if low == high:
        return low
    return (
        Known(None, exact=False, low=None if low == -inf else low, high=None if high == inf else high)
        if low > -inf or high < inf
        else UNKNOWN
    )


def _hull(x: object, y: object) -> object:
    if type(x) is not Known and type(y) is not Known and x == y:
        return x
    if isinstance(x, str) or isinstance(y, str) or x is None or y is None:
        return UNKNOWN
    x_low, x_high = _ends(x)
    y_low, y_high = _ends(y)
    return _range(min(x_low, y_low), max(x_high, y_high))


def _times(x: float, y: float) -> float:
    return 0 if x == 0 or y == 0 else x * y  # a bound that is missing times nothing is nothing


def _plus_ends(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    return x[0] + y[0], x[1] + y[1]


def _minus_ends(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    return x[0] - y[1], x[1] - y[0]


def _times_ends(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    corners = [_times(a, b) for a in x for b in y]
    return min(corners), max(corners)


def _over_ends(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    if y[0] <= 0 <= y[1]:
        return -inf, inf
    return _times_ends(x, (1 / y[1] if y[1] not in (inf, -inf) else 0.0, 1 / y[0] if y[0] not in (inf, -inf) else 0.0))


def _floor_ends(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    low, high = _over_ends(x, y)
    return (floor(low) if low > -inf else low), (floor(high) if high < inf else high)


def _rest_ends(x: tuple[float, float], y: tuple[float, float]) -> tuple[float, float]:
    return (0.0, y[1]) if y[0] > 0 else (-inf, inf)


_SUMS: dict[str, tuple[Any, Any]] = {
    "+": (lambda x, y: x + y, _plus_ends),
    "-": (lambda x, y: x - y, _minus_ends),
    "*": (lambda x, y: x * y, _times_ends),
    "/": (lambda x, y: x / y, _over_ends),
    "//": (lambda x, y: x // y, _floor_ends),
    "%": (lambda x, y: x % y, _rest_ends),
}


def _sum(operator: str, first: Node, second: Node) -> Function:
    one, two = closure(first), closure(second)
    exact, ends = _SUMS[operator]

    def compute(context: Context) -> object:
        x, y = one(context), two(context)
        if x is None or y is None:
            return None
        if isinstance(x, str) or isinstance(y, str):
            return UNKNOWN
        if type(x) is Known or type(y) is Known:
            return _range(*ends(_ends(x), _ends(y)))
        try:
            return exact(x, y)
        except (ArithmeticError, TypeError):
            return UNKNOWN

    return compute


def _negative(node: Node) -> Function:
    part = closure(node)

    def negative(context: Context) -> object:
        value = part(context)
        if type(value) is Known:
            low, high = _ends(value)
            return _range(-high, -low)
        return -value if isinstance(value, (int, float)) else value

    return negative


def _monotone(function: Callable[[float], float]) -> Callable[..., Function]:
    def make(node: Node) -> Function:
        part = closure(node)

        def compute(context: Context) -> object:
            value = part(context)
            if type(value) is Known:
                low, high = _ends(value)
                return _range(*(end if end in (inf, -inf) else function(end) for end in (low, high)))
            if not isinstance(value, (int, float)):
                return None if value is None else UNKNOWN
            return value if value in (inf, -inf) or value != value else function(value)

        return compute

    return make


def _absolute(node: Node) -> Function:
    part = closure(node)

    def compute(context: Context) -> object:
        value = part(context)
        if type(value) is Known:
            low, high = _ends(value)
            least = 0 if low <= 0 <= high else min(abs(low), abs(high))
            return _range(least, max(abs(low), abs(high)))
        return abs(value) if isinstance(value, (int, float)) else (None if value is None else UNKNOWN)

    return compute


def _extreme(choose: Callable[[float, float], float]) -> Callable[..., Function]:
    def make(*nodes: Node) -> Function:
        parts = [closure(node) for node in nodes]

        def compute(context: Context) -> object:
            low = high = None
            for part in parts:
                value = part(context)
                if value is None:
                    return None
                ends = _ends(value)
                low = ends[0] if low is None else choose(low, ends[0])
                high = ends[1] if high is None else choose(high, ends[1])
            assert low is not None
            assert high is not None
            return _range(low, high)

        return compute

    return make


def _default(node: Node, otherwise: Node) -> Function:
    part, other = closure(node), closure(otherwise)

    def compute(context: Context) -> object:
        value = part(context)
        return other(context) if value is None or type(value) is Known else value

    return compute


# Questions about names ------------------------------------------------------------------------------------------------


def _asking(question: Callable[[Known], bool | None]) -> Callable[..., Function]:
    """A question about a fact or setting itself, not about its value. "settings.x" asks for the setting."""

    def make(name: str) -> Function:
        def ask(context: Context) -> bool | None:
            context.touched.append(name)
            return question(context.known(name))

        return ask

    return make


def _is_default(name: str) -> Function:
    """Whether a written value is what the trainer would take anyway."""

    def ask(context: Context) -> bool | None:
        context.touched.append(f"settings.{name}")
        if context.budget is None:
            return None
        known = context.budget.get(name)
        run = context.budget.run
        if not known.exact:
            return None
        era_default = context.budget.era.defaults.get(name)
        if era_default is not None and era_default.exact:
            return bool(era_default.value == known.value)
        return name in run.defaults and bool(run.defaults[name] == known.value)

    return ask


def _versions(make_answer: Callable[[Context, str, object], bool | None]) -> Callable[..., Function]:
    def make(package: Node, version: Node = ("constant", None)) -> Function:
        one, two = closure(package), closure(version)

        def ask(context: Context) -> bool | None:
            name = one(context)
            if not isinstance(name, str):
                return None
            return make_answer(context, name, two(context))

        return ask

    return make


def _possible_versions(context: Context, package: str) -> Any:
    budget = context.budget
    if budget is None:
        return None
    found = budget.era.versions.get(package)
    return found if found is not None else budget.run.versions.of(package)


def _at_least(context: Context, package: str, version: object) -> bool | None:
    context.touched.append(f"@{package}")
    possible = _possible_versions(context, package)
    return possible.at_least(version) if possible is not None and isinstance(version, str) else None


def _stated_at_least(context: Context, package: str, version: object) -> bool | None:
    """By what the project's files say alone: a key's presence narrows the eras, never this."""
    if context.budget is None or not isinstance(version, str):
        return None
    return context.budget.run.versions.of(package).at_least(version)


def _pinned(context: Context, package: str, version: object) -> bool | None:
    context.touched.append(f"@{package}")
    possible = _possible_versions(context, package)
    return bool(possible.pinned) if possible is not None else False


def _uses(context: Context, package: str, version: object) -> bool | None:
    return context.budget is not None and (
        package in context.budget.era.versions or canonical(package) in context.budget.era.versions
    )


def _differs_by_version(name: str) -> Function:
    """Whether the possible eras give different values at the same number of workers."""

    def ask(context: Context) -> bool | None:
        context.touched.append(name)
        scenarios, budget = context.scenarios, context.budget
        if scenarios is None or budget is None:
            return None
        if not any(era.versions for era in scenarios.run.eras) or len(scenarios.run.eras) == 1:
            return False
        ours = budget.fact(name)
        if not ours.exact:
            return None
        values = [scenarios.budget(era, budget.workers).fact(name) for era in range(len(scenarios.run.eras))]
        return any(known.value != ours.value for known in values) if all(known.exact for known in values) else None

    return ask


def _same_data() -> Function:
    """Whether the baseline trains on the same rows: then their unknown number cancels."""

    def ask(context: Context) -> bool | None:
        context.touched.append("baseline.rows")
        if context.budget is None or context.baseline is None:
            return None
        run, other = context.budget.run, context.baseline.run
        ours, theirs = _data(run), _data(other)
        if context.baseline_kind == "revision":
            if not ours and not theirs:
                return True  # named elsewhere, before as now
        elif not all(paths or hub for paths, hub, *_ in ours + theirs):
            return None  # two files may each load something that no file names
        if not ours or not theirs:
            return None
        rows, before = run.setting("rows"), other.setting("rows")
        if ours != theirs:
            return False
        if rows.unknown != before.unknown:
            return None  # the data of one side alone could be counted
        return rows.unknown or (rows.low, rows.high) == (before.low, before.high)

    return ask


def _data(run: Run) -> list[tuple[object, ...]]:
    return [(source.paths, source.hub, source.subset, source.split) for source in run.training]


def _text(answer: Callable[[str, str], bool]) -> Callable[..., Function]:
    def make(whole: Node, part: Node) -> Function:
        one, two = closure(whole), closure(part)

        def ask(context: Context) -> bool | None:
            text, wanted = one(context), two(context)
            if type(text) is Known or type(wanted) is Known:
                return None
            return text is not None and answer(str(text).lower(), str(wanted).lower())

        return ask

    return make


def _billions(node: Node) -> Function:
    """The size that a model's name tells: "Qwen2.5-7B" has 7 billion parameters; unknown where it tells none."""
    part = closure(node)

    def compute(context: Context) -> object:
        value = part(context)
        if not isinstance(value, str):
            return UNKNOWN
        import re

        found = re.search(
            r"(?<![A-Za-z0-9.])(?:(\d+)x)?(\d+(?:\.\d+)?)([bm])(?![a-z0-9])", value.rpartition("/")[2], re.IGNORECASE
        )
        if found is None:
            return UNKNOWN
        size = float(found[2]) * (int(found[1]) if found[1] else 1)
        return size / 1000 if found[3].lower() == "m" else size

    return compute


_MAKERS: dict[str, Callable[..., Function]] = {
    "constant": _constant,
    "name": _name,
    "setting": _setting,
    "observation": _observed,
    "baseline": _baseline,
    "threshold": _threshold,
    "and": _and,
    "or": _or,
    "not": _not,
    "truth": _truth,
    "value": _value,
    "if": _choose,
    "if_truth": _choose_truth,
    "compare": _compare,
    "in": _among,
    "sum": _sum,
    "negative": _negative,
    # Functions: their names are those of the language.
    "maybe": _maybe,
    "surely": _surely,
    "written": _asking(lambda known: known.by_hand or (known.origin == DERIVED and known.key_span is not None)),
    "given": _asking(lambda known: known.exact and known.value is not None),
    "known": _asking(lambda known: known.exact),
    "unknown": _asking(lambda known: not known.exact),
    "off": _asking(lambda known: known.value is None if known.exact else None),
    "by_default": _asking(lambda known: known.exact and known.origin == DEFAULT),
    "estimated": _asking(lambda known: known.origin == ESTIMATED),
    "is_default": _is_default,
    "default": _default,
    "min": _extreme(min),
    "max": _extreme(max),
    "ceil": _monotone(ceil),
    "floor": _monotone(floor),
    "round": _monotone(round),
    "root": _monotone(lambda value: value**0.5 if value >= 0 else 0.0),
    "abs": _absolute,
    "contains": _text(lambda text, part: part in text),
    "starts": _text(lambda text, part: text.startswith(part)),
    "billions": _billions,
    "at_least": _versions(_at_least),
    "stated_at_least": _versions(_stated_at_least),
    "pinned": _versions(_pinned),
    "uses": _versions(_uses),
    "differs_by_version": _differs_by_version,
    "same_data": _same_data,
}
