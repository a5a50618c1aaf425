"""Which scenarios are one as good as the other for a condition: judged by the names that decided it."""

from __future__ import annotations

from epochlint.rules.expression import closure
from epochlint.run.budget import COMPUTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.rules.expression import Context, Function, Node
    from epochlint.run.budget import Budget
    from epochlint.run.known import Known
    from epochlint.run.run import Run


def fixed(context: Context) -> bool:
    """Whether all that was touched is the same in every scenario: then one is as good as all."""
    budget = context.budget
    if budget is None:
        return True
    for name in context.touched:
        if name[0] == "@":
            if len(budget.run.eras) > 1:
                return False
        elif name.startswith("baseline."):
            rest = name[9:]
            if rest not in ("kind", "label") and context.baseline is not None and not _settled(context.baseline, rest):
                return False
        elif not _settled(budget, name):
            return False
    return True


def unsettled(when: Node | None, context: Context) -> tuple[list[Function], frozenset[str]]:
    """What of a condition that holds in one scenario must be asked in the others, too: parts, all of which must hold;
    and the names that decided the other parts, in all scenarios alike."""
    left: list[Function] = []
    names: set[str] = set()
    if when is not None:
        touched = context.touched[:]
        for part in when[1:] if when[0] == "and" else (when,):
            context.touched.clear()
            function = closure(part)
            function(context)
            if fixed(context):
                names.update(context.touched)
            else:
                left.append(function)
        context.touched[:] = touched
    return left, frozenset(names)


def by_era(context: Context) -> list[str] | None:
    """The touched names that can differ between scenarios with as many workers; None where versions decided."""
    assert context.budget is not None
    found = []
    for name in set(context.touched):
        if name[0] == "@":
            return None
        plain, run = name, context.budget.run
        if plain.startswith("baseline."):
            plain = plain[9:]
            if plain in ("kind", "label") or context.baseline is None:
                continue
            run = context.baseline.run
        setting = plain.removeprefix("settings.")
        if _by_default(run, setting) or (setting is plain and plain in COMPUTED and plain != "trainer"):
            found.append(name)
    return found


def same(names: Iterable[str], one: Context, other: Context) -> bool:
    """Whether nothing that a condition can see tells two scenarios apart, as far as some names go."""
    for name in names:
        known, there = one.known(name), other.known(name)
        if known is not there and not _alike(known, there):
            return False
    return True


def _settled(budget: Budget, name: str) -> bool:
    """Whether a setting ("settings.x") or a fact is the same in all scenarios of its run."""
    run = budget.run
    if name.startswith("settings."):
        return not _by_default(run, name[9:])
    fact = budget.derived(name)
    if fact is not None:
        return fact is run.settings.get(name) or name == "trainer"
    return not _by_default(run, name)


def _by_default(run: Run, setting: str) -> bool:
    """Whether a setting is left to defaults that differ by version."""
    return setting not in run.settings and any(setting in era.defaults for era in run.eras)


def _alike(known: Known, other: Known) -> bool:
    return (
        known.value == other.value
        and type(known.value) is type(other.value)
        and (known.low, known.high, known.exact) == (other.low, other.high, other.exact)
        and (known.origin, known.basis) == (other.origin, other.basis)
    )
