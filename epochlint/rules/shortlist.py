"""Which conditions a run cannot meet, told from single values.

Most conditions are an `and` with parts that ask one name alone ("the optimizer is muon", "max_steps is given"), and one
part that does not hold decides. What such a part says hangs on that name's value only, and runs share most of their
values (all that nobody wrote): so each answer is kept by the value, and most conditions are never computed at all.
"""

from __future__ import annotations

from epochlint.rules.expression import closure
from epochlint.run.known import UNKNOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.rules.expression import Context, Node
    from epochlint.rules.rule import Check, Rule
    from epochlint.run.known import Known

_PLAIN = frozenset({bool, int, float, str, type(None)})
_OTHER = object()


class _Name:
    """A name with the parts that ask it alone. `every`: the bits of their checks; `answers`: value -> (the bits of the
    parts that were computed for it, those that do not hold)."""

    __slots__ = ("answers", "every", "name", "parts")

    def __init__(self, name: str) -> None:
        self.name = name
        self.parts: list[tuple[int, Rule, Node]] = []
        self.every = 0
        self.answers: dict[object, tuple[int, int]] = {}


class Shortlist:
    """Made of checks with their rules; a check's bit is 1 << its place among them."""

    __slots__ = ("_facts", "_settings")

    def __init__(self, checks: Iterable[tuple[Rule, Check]]) -> None:
        names: dict[str, _Name] = {}
        for place, (rule, check) in enumerate(checks):
            for name, path in check.required:
                found = names.get(name)
                if found is None:
                    found = names[name] = _Name(name)
                node = check.when
                for index in path:
                    node = node[index]  # type: ignore[index] # a path leads through what is there
                found.parts.append((1 << place, rule, node))  # type: ignore[arg-type] # likewise
                found.every |= 1 << place
        # Settings first: facts must be computed.
        self._settings = [found for name, found in names.items() if name.startswith("settings.")]
        self._facts = [found for name, found in names.items() if not name.startswith("settings.")]
        for found in self._settings:
            found.name = found.name[9:]

    def impossible(self, context: Context) -> int:
        """The bits of the checks whose condition is false or undecided in a scenario."""
        assert context.budget is not None
        fails = 0
        for names, look in ((self._settings, context.budget.get), (self._facts, context.budget.fact)):
            for one in names:
                left = one.every & ~fails
                if not left:
                    continue
                known = look(one.name)
                key = None if known is UNKNOWN else _key(known)
                if key is _OTHER:
                    continue
                computed, failing = one.answers.get(key, (0, 0))
                missing = left & ~computed
                if missing:
                    failing |= _failing(one, missing, context)
                    one.answers[key] = computed | missing, failing
                fails |= failing
        return fails


def _key(known: Known) -> object:
    """What an expression can see of a value."""
    kind = type(known.value)
    if kind not in _PLAIN:
        return _OTHER
    return known.value, kind, known.exact, known.low, known.high, known.origin, known.key_span is None


def _failing(name: _Name, wanted: int, context: Context) -> int:
    """The bits of the parts that do not hold here, among the wanted ones."""
    failing = 0
    for bit, rule, node in name.parts:
        if bit & wanted and not bit & failing:
            context.thresholds = rule.thresholds
            if closure(node)(context) is not True:
                failing |= bit
    return failing
