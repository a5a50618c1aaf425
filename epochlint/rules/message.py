"""What a finding says: templates filled with the values of all scenarios.

A value that is the same everywhere is written as it is. Where it depends on the number of GPUs, the message gives the
best case ("at most 39 on one GPU"); where it depends on the version, both ("36 (<= 4.51) or 39 (>= 4.52)").
"""

from __future__ import annotations

from epochlint.rules.alike import fixed
from epochlint.rules.expression import closure
from epochlint.run.known import Known, hull, show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.rules.expression import Context, Function
    from epochlint.rules.rule import Parts
    from epochlint.run.run import Era
    from epochlint.run.scenarios import Scenarios

    Apart = Sequence[tuple[Context, frozenset[str]]]


def fill(parts: Parts, context: Context, apart: Apart, contexts: Callable[[], Sequence[Context]]) -> str:
    """The text of a template. `contexts` gives one context for each scenario, `context` is the shown one.

    `apart`: contexts with names, such that in each scenario all of one's names have the values that they have there.
    """
    said = []
    place = ""  # "(on one GPU)" is said once
    for part in parts:
        if isinstance(part, str):
            said.append(part)
            continue
        node, style = part
        text, where = _spread(closure(node), "" if style == "sum" else style, context, apart, contexts)
        if style == "sum":
            text = _sum(node, context) if not where else ""
        elif where.startswith("on ") and where != place:
            place = where
            text += f" ({where})"
        said.append(text)
    return "".join(said)


def _sum(node: object, context: Context) -> str:
    """How the number came about, in parentheses with a blank before it; empty where there is nothing to show."""
    name = node[1] if isinstance(node, tuple) and node[0] == "name" else None
    if name is None or context.budget is None:
        return ""
    known = context.known(str(name))
    text = known.text() if known.exact else None
    return f" ({text})" if text else ""


def _spread(
    value: Function, style: str, context: Context, apart: Apart, contexts: Callable[[], Sequence[Context]]
) -> tuple[str, str]:
    """A value's words over all scenarios, and for which number of GPUs they are the best case (if that matters)."""
    context.touched.clear()
    first = value(context)
    if context.scenarios is None or not context.touched or fixed(context):
        return words(first, style), ""
    shared = _shared(value, apart)
    if shared is not None:
        return words(shared.value, style), ""
    every = contexts()
    values = [_known(value(one)) for one in every]
    whole = hull(values)
    if whole.exact:
        return words(whole.value, style), ""
    counts = {one.budget.workers for one in every if one.budget is not None}
    if len(counts) > 1:
        fewest = min(count for count in counts if count is not None)
        shown = hull(
            known
            for one, known in zip(every, values, strict=True)
            if one.budget is not None and one.budget.workers == fewest
        )
        place = _gpus(context.scenarios, fewest)
        if shown.high is not None and shown.high == whole.high and shown.low != whole.low:
            return f"at most {words(shown.high, style)}", place
        if shown.low is not None and shown.low == whole.low and shown.high != whole.high:
            return f"at least {words(shown.low, style)}", place
    elif all(known.exact for known in values):
        groups = by_version(
            [(one.budget.era, known.value) for one, known in zip(every, values, strict=True) if one.budget is not None]
        )
        if len(groups) <= 3:
            return " or ".join(f"{words(amount, style)} ({label})" for label, amount in groups), "versions"
    return words(whole, style), ""


def _shared(value: Function, apart: Apart) -> Known | None:
    """The value that all scenarios share, where those that stand for them show it."""
    values = []
    for one, names in apart:
        one.touched.clear()
        values.append(_known(value(one)))
        if not values[-1].exact or not names.issuperset(one.touched):
            return None
    whole = hull(values) if values else None
    return whole if whole is not None and whole.exact else None


def _gpus(scenarios: Scenarios, workers: int) -> str:
    devices = int(workers * (scenarios.run.setting("parallel").number or 1))
    return "on one GPU" if devices == 1 else f"on {devices} GPUs"


def _known(value: object) -> Known:
    return value if type(value) is Known else Known(value)


def by_version(values: Sequence[tuple[Era, object]]) -> list[tuple[str, object]]:
    """Neighbouring eras of one value put together: (versions, value), the oldest first."""
    groups: list[tuple[str, str, object]] = []
    for era, value in reversed(values):  # scenarios come newest first
        low, high = _bounds(era.label)
        if groups and groups[-1][2] == value and not era.label[:1].isalpha():
            groups[-1] = (groups[-1][0], high, value)
        else:
            groups.append((low, high, value))
    return [(_label(low, high), value) for low, high, value in groups]


def _bounds(label: str) -> tuple[str, str]:
    if label.startswith("<= "):
        return "", label[3:]
    if label.startswith(">= "):
        return label[3:], ""
    low, dash, high = label.partition("-")
    return (low, high) if dash else (label, label)


def _label(low: str, high: str) -> str:
    if low and high:
        return low if low == high else f"{low}-{high}"
    return f"<= {high}" if high else f">= {low}"


def words(value: object, style: str) -> str:
    """A value in a sentence. `style`: "" as it is, "percent", or a noun that is counted."""
    if type(value) is Known:
        if value.exact:
            return words(value.value, style)
        if value.low is not None and value.high is not None:
            # A bound that says next to nothing is left out.
            if value.low <= 1 < value.high and style != "percent":
                return f"at most {words(value.high, style)}"
            if 0 < value.low * 20 < value.high:
                return f"at least {words(value.low, style)}"
            return f"{words(value.low, '' if style != 'percent' else style)} to {words(value.high, style)}"
        if value.low is not None:
            return f"at least {words(value.low, style)}"
        if value.high is not None:
            return f"at most {words(value.high, style)}"
        return "unknown" if style in ("", "percent") else f"an unknown number of {plural(style)}"
    if style == "percent" and isinstance(value, (int, float)):
        share = value * 100
        return f"{show(round(share) if abs(share) >= 10 else float(f'{share:.2g}'))} %"
    if value is None:
        return "off"
    if not style or style == "percent":
        return show(value)
    return f"{show(value)} {style if value == 1 else plural(style)}"


def plural(noun: str) -> str:
    return f"{noun}es" if noun.endswith(("s", "sh", "tch", "x")) else f"{noun}s"
