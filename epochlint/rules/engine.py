"""The engine: which rules hold for a run, at which level, and what they say.

A finding holds in every scenario that the run's unknowns leave open; its level is the weakest among them. The engine
knows no rule by name: everything stands in the rules themselves.
"""

from __future__ import annotations

from epochlint.findings.finding import ERROR, NOTE, STRENGTH, WARNING, Finding, weaker
from epochlint.rules.alike import by_era, fixed, same, unsettled
from epochlint.rules.expression import Context, closure
from epochlint.rules.message import by_version, fill
from epochlint.rules.shortlist import Shortlist
from epochlint.run.known import ON_ESTIMATE, ON_PLACEHOLDER, ON_TABLE
from epochlint.run.observation import Edit, Fix, Observation
from epochlint.run.scenarios import SHOWN
from epochlint.run.versions import ANY
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from epochlint.rules.expression import Function
    from epochlint.rules.rule import Check, Parts, Rule, Tier
    from epochlint.run.budget import Budget
    from epochlint.run.scenarios import Scenarios

    NotEvaluated = tuple[str, tuple[str, ...]]  # a rule's code, and the names that it would need to know

# A derived fact is unknown because one of these is.
_ROOTS = {
    "records": ("rows",),
    "effective_batch": ("per_device_batch", "accumulation", "gpus"),
    "steps_per_epoch": ("rows", "per_device_batch", "accumulation", "gpus"),
}
_ROOTS["natural_steps"] = (*_ROOTS["steps_per_epoch"], "epochs")
_ROOTS["total_steps"] = (*_ROOTS["natural_steps"], "max_steps")
_ROOTS["epochs"] = _ROOTS["total_steps"]
for _fact in (
    "warmup_steps",
    "warmup_fraction",
    "evaluations",
    "checkpoints",
    "eval_every",
    "save_every",
    "logging_every",
):
    _ROOTS[_fact] = _ROOTS["total_steps"]
for _fact in ("warmup_used", "decays"):
    _ROOTS[_fact] = ("scheduler",)

# What a person can tell about any run.
_TOLD = frozenset({"gpus", "rows", "tokens", "messages", "validation", "epochs", "max_steps", "method", "tuning"})


class Baseline:
    """A run that this one is compared with. `kind`: "revision", "reference" or "sibling"; `label` names it.

    `same_gpus`: where neither says on how many GPUs, it is on as many.
    """

    __slots__ = ("kind", "label", "same_gpus", "scenarios")

    def __init__(
        self, scenarios: Scenarios, kind: str = "reference", label: str = "", *, same_gpus: bool = True
    ) -> None:
        self.scenarios = scenarios
        self.same_gpus = same_gpus
        self.kind = kind
        self.label = label or scenarios.run.path


class Engine:
    """The rules of a check, made ready for its runs.

    `pedantic` also gives what holds in some scenarios only, saying in which.
    """

    __slots__ = ("_checks", "_gated", "_observing", "_pedantic", "_shortlist")

    def __init__(self, rules: Iterable[Rule], pedantic: bool = False) -> None:
        self._pedantic = pedantic
        self._checks = [(rule, one) for rule in rules for one in rule.checks]
        self._gated: list[int] = []  # places of the checks that look at the run itself
        self._observing: dict[str, list[int]] = {}  # observation -> places of the checks on it
        for place, (_, one) in enumerate(self._checks):
            where = self._gated if one.observation is None else self._observing.setdefault(one.observation, [])
            where.append(place)
        self._shortlist = Shortlist(self._checks)

    def check(self, scenarios: Scenarios, baselines: Sequence[Baseline] = ()) -> list[Finding]:
        """The findings of one run. Of several baselines the first with a finding speaks."""
        places = self._gated
        if not (self._pedantic and len(scenarios.workers) * len(scenarios.run.eras) > 1):
            # Most rules end here: what does not hold in the likeliest scenario to contradict is no finding.
            first = Context(scenarios.first, scenarios)
            impossible = self._shortlist.impossible(first)
            places = [place for place in places if not impossible >> place & 1 and self._may_hold(place, first)]
        return _joined([(case.rule, found) for case, found in self._judged(scenarios, baselines, places) if found])

    def _may_hold(self, place: int, first: Context) -> bool:
        rule, one = self._checks[place]
        if one.when is None or one.compares:
            return True
        first.thresholds = rule.thresholds
        first.touched.clear()
        return closure(one.when)(first) is True

    def not_evaluated(self, scenarios: Scenarios, baselines: Sequence[Baseline] = ()) -> list[NotEvaluated]:
        """The rules that can neither hold nor be excluded for one run, with what they would need to know."""
        needed: dict[str, tuple[str, ...]] = {}
        settled = set()
        for case, found in self._judged(scenarios, baselines, self._gated):
            if found is not None:
                settled.add(case.rule.code)
            elif needs := case.needs():
                needed[case.rule.code] = needs
        return [(code, needs) for code, needs in needed.items() if code not in settled]

    def _judged(
        self, scenarios: Scenarios, baselines: Sequence[Baseline], gated: list[int]
    ) -> Iterator[tuple[_Case, Finding | None]]:
        """The cases of a run, in the order of the rules: its observations, and the checks at some places."""
        noticed: dict[str, list[Observation | None]] = {}
        for observation in scenarios.run.observations:
            noticed.setdefault(observation.name, []).append(observation)
        alone: list[Observation | None] = [None]
        settled = None  # the last rule with a finding
        for place in sorted([*gated, *(place for name in noticed for place in self._observing.get(name, ()))]):
            rule, one = self._checks[place]
            if rule.first_only and settled is rule:
                continue
            for noted in noticed[one.observation] if one.observation is not None else alone:
                for baseline in baselines if one.compares else (None,):
                    case = _Case(scenarios, rule, one, noted, baseline)
                    finding = case.finding(self._pedantic)
                    yield case, finding
                    if finding is not None:
                        settled = rule
                        break


def check(
    scenarios: Scenarios,
    rules: Iterable[Rule],
    *,
    pedantic: bool = False,
    baseline: Scenarios | Baseline | Sequence[Baseline] | None = None,
) -> tuple[list[Finding], list[NotEvaluated]]:
    """One run by itself: its findings, and the rules that could not be evaluated with what they would need to know."""
    engine, baselines = Engine(rules, pedantic), _baselines(baseline)
    return engine.check(scenarios, baselines), engine.not_evaluated(scenarios, baselines)


def observed(observations: Iterable[Observation], rules: Iterable[Rule]) -> list[Finding]:
    """The findings on observations that belong to no run: a file that cannot be read, a companion without a config."""
    found = []
    every = list(observations)
    for rule in rules:
        for one in rule.checks:
            for observation in every:
                if observation.name == one.observation and not one.compares:
                    finding = _Case(None, rule, one, observation, None).finding(False)
                    if finding is not None:
                        found.append((rule, finding))
    return _joined(found)


def _baselines(given: Scenarios | Baseline | Sequence[Baseline] | None) -> Sequence[Baseline]:
    if given is None:
        return ()
    if isinstance(given, Baseline):
        return (given,)
    if isinstance(given, (list, tuple)):
        return tuple(given)
    return (Baseline(given),)  # type: ignore[arg-type] # what is left is Scenarios


def _joined(found: list[tuple[Rule, Finding]]) -> list[Finding]:
    """Each finding once, without those that another one replaces at the same place."""
    strongest: dict[tuple[str, int, int, int, str], tuple[Rule, Finding]] = {}
    for rule, finding in found:
        # A rule that computes itself what a reader may observe, too, says one thing twice; observations alone do not.
        one_cause = any(one.observation is None for one in rule.checks)
        span = finding.span
        key = (finding.code, id(span.source), span.start, span.end, "" if one_cause else finding.message)
        there = strongest.get(key)
        if there is None or STRENGTH[there[1].level] < STRENGTH[finding.level]:
            strongest[key] = (rule, finding)
    kept = list(strongest.values())
    replaced = {
        (code, id(finding.span.source), finding.span.start) for rule, finding in kept for code in rule.supersedes
    }
    if replaced:
        kept = [
            (rule, finding)
            for rule, finding in kept
            if (finding.code, id(finding.span.source), finding.span.start) not in replaced
        ]
    return [finding for _, finding in kept]


class _Case:
    """One check of one rule, on one observation if it is about observations, against one baseline if there is one."""

    __slots__ = (
        "_apart",
        "_contexts",
        "_varying",
        "baseline",
        "check",
        "observation",
        "open",
        "rule",
        "scenarios",
        "split",
    )

    def __init__(
        self,
        scenarios: Scenarios | None,
        rule: Rule,
        check: Check,
        observation: Observation | None,
        baseline: Baseline | None,
    ) -> None:
        self.scenarios = scenarios
        self.rule = rule
        self.check = check
        self.observation = observation
        self.baseline = baseline
        self.open = False  # for want of knowledge
        self.split = False  # scenarios decide it differently
        self._contexts: list[Context] | None = None
        self._apart: list[tuple[Context, frozenset[str]]] = []  # each scenario was decided like one of these, by these
        self._varying: dict[tuple[str, ...], list[str] | None] = {}

    # Deciding ---------------------------------------------------------------------------------------------------

    def finding(self, pedantic: bool) -> Finding | None:
        """The finding, if there is one."""
        first = self.context(self.scenarios.first if self.scenarios is not None else None)
        tier = self.tier(first)
        if tier is None:
            return self._sometimes(first) if pedantic and self.scenarios is not None else None
        self._apart = [(first, frozenset(first.touched))]
        level, weakest = tier.level, tier
        if self.scenarios is not None and not fixed(first):
            last = first
            left, settled = unsettled(self.check.when, first)
            for budget in self.scenarios:  # computed one by one: most of what does not hold everywhere fails early
                if budget is first.budget:
                    continue
                context = self.context(budget)
                if self._decides_alike(last, context):
                    continue  # an era in which everything that decided the last scenario is the same
                tier = self.tier(context, left)
                last = context
                if tier is None:
                    self.open, self.split = False, True
                    return self.sometimes() if pedantic else None
                self._apart.append((context, settled.union(context.touched)))
                if STRENGTH[tier.level] < STRENGTH[level]:
                    level, weakest = tier.level, tier
        first.touched[:] = {name for _, names in self._apart for name in names}
        return self.tell(self.soften(level, first), weakest, first)

    def _decides_alike(self, one: Context, other: Context) -> bool:
        """Whether two scenarios with as many workers hold the same of all that decided the first."""
        if one.budget is None or other.budget is None or one.budget.workers != other.budget.workers:
            return False
        key = tuple(one.touched)
        if key not in self._varying:
            self._varying[key] = by_era(one)
        names = self._varying[key]
        return names is not None and same(names, one, other)

    def tier(self, context: Context, left: Sequence[Function] | None = None) -> Tier | None:
        """The strongest tier that holds in a scenario; None, with `open` set where that is for want of knowledge.

        `left`: the parts of the condition that are not known to hold.
        """
        self.open = False
        if self.observation is not None and not self.meant(context):
            return None
        if left is None:
            gate = self.check.gate
            left = (gate,) if gate is not None else ()
        for part in left:
            holds = part(context)
            if not holds:
                self.open = holds is None
                return None
        undecided = False
        for tier in self.check.tiers:
            holds = tier.holds(context)
            if holds:
                return tier
            undecided = undecided or holds is None
        self.open = undecided
        return None

    def meant(self, context: Context) -> bool:
        """Whether an observation that holds in some versions only holds in all that are possible here."""
        assert self.observation is not None
        values = self.observation.values
        since, until = values.get("since"), values.get("until")
        if since is None and until is None:
            return True
        package = str(values.get("package"))
        budget = context.budget
        if budget is None:
            possible = ANY
        else:
            possible = budget.era.versions.get(package) or budget.run.versions.of(package)
            context.touched.append(f"@{package}")
        if not possible.meets(str(since) if since else None, str(until) if until else None):
            return False
        if (since is None or possible.at_least(str(since))) and (
            until is None or possible.at_least(str(until)) is False
        ):
            return True
        self.open = True
        return False

    def context(self, budget: Budget | None) -> Context:
        context = Context(budget, self.scenarios, self.observation, self.rule.thresholds)
        if self.baseline is not None and budget is not None:
            context.baseline = _beside(self.baseline, budget, self.scenarios)
            context.baseline_kind = self.baseline.kind
            context.baseline_label = self.baseline.label
        return context

    def contexts(self) -> list[Context]:
        """A context for each scenario, made once."""
        if self._contexts is None:
            assert self.scenarios is not None
            self._contexts = [self.context(budget) for budget in self.scenarios]
        return self._contexts

    # What is missing --------------------------------------------------------------------------------------------

    def needs(self) -> tuple[str, ...]:
        """What would decide the check, where it is open or its scenarios decide it differently."""
        if self.split:
            return self.vague()
        if not self.open:
            return ()
        first = self.context(self.scenarios.first if self.scenarios is not None else None)
        self.tier(first)
        return self.missing(first)

    def missing(self, context: Context) -> tuple[str, ...]:
        """The unknown names that a scenario's condition met, traced back to what a person could tell."""
        run = context.budget.run if context.budget is not None else None
        names: dict[str, None] = {}
        for touched in context.touched:
            if touched.startswith("@"):
                names[touched[1:]] = None
                continue
            if run is None or context.known(touched).exact:
                continue
            name = touched.removeprefix("settings.")
            if name not in _ROOTS:
                # What a trainer does not have is nothing that anybody could tell.
                if name in run.settings or name in _TOLD:
                    names["records" if name == "rows" else name] = None
                continue
            assert context.budget is not None
            roots = [root for root in _ROOTS[name] if not context.budget.get(root).exact]
            if not roots and run.setting("packing").value is True:
                roots = ["tokens"]
            for root in roots:
                names["records" if root == "rows" else root] = None
        return tuple(names)

    def vague(self) -> tuple[str, ...]:
        """What differs between scenarios that decide a rule differently."""
        assert self.scenarios is not None
        names = ["gpus"] if len(self.scenarios.workers) > 1 else []
        if len(self.scenarios.run.eras) > 1:
            names += sorted({package for era in self.scenarios.run.eras for package in era.versions})
        return tuple(names)

    # Softening --------------------------------------------------------------------------------------------------

    def soften(self, level: str, context: Context) -> str:
        """What a finding may still claim, given what it rests on."""
        rule = self.rule
        run = self.scenarios.run if self.scenarios is not None else None
        if run is not None and run.smoke and rule.smoke is not None:
            level = weaker(level, rule.smoke)
        if run is not None and run.surmised:
            level = weaker(level, WARNING)
        basis = 0
        for name in context.touched:
            if not name.startswith("@"):
                basis |= context.known(name).basis
        if self.observation is not None:
            noted = self.observation.values.get("basis")
            basis |= noted if isinstance(noted, int) else 0
        if basis & (ON_PLACEHOLDER | ON_TABLE):
            level = NOTE
        if basis & ON_ESTIMATE and level == ERROR:
            level = WARNING
        return rule.limited(level)

    # Telling ----------------------------------------------------------------------------------------------------

    def tell(self, level: str, tier: Tier, first: Context, only: str = "") -> Finding:
        span = self.place(self.check.at, first) or self._somewhere(first)
        message = self.say(self._parts(tier, first), first)
        related = []
        for at, parts in self.check.related:
            place = self.place(at, first)
            if place is not None and (place.source is not span.source or place.start != span.start):
                related.append((self.say(parts, first), place))
        if self.observation is not None:
            related += self.observation.related
        fix = self.observation.fix if self.observation is not None else None
        run = self.scenarios.run.label if self.scenarios is not None else ""
        return Finding(
            self.rule.code, self.rule.name, level, message + only, span, related, fix or self.edit(first), run
        )

    def _parts(self, tier: Tier, first: Context) -> Parts:
        if tier.message is not None:
            return tier.message
        for when, parts in self.check.messages[:-1]:
            if when is None or closure(when)(first):
                return parts
        return self.check.messages[-1][1]

    def say(self, parts: Parts, first: Context) -> str:
        return fill(parts, first, self._apart, self.contexts)

    def place(self, names: tuple[str, ...], context: Context) -> Span | None:
        """The first of the named things that stands somewhere: a fact's deciding key, a setting, a further place."""
        budget = context.budget
        for name in names:
            if name == "observation":
                if self.observation is not None:
                    return self.observation.span
                continue
            if budget is None:
                continue
            plain = name.removeprefix("settings.")
            if plain is name:
                fact = budget.derived(name)
                if fact is not None and fact.key_span is not None:
                    return fact.key_span
            setting = budget.run.settings.get(plain)
            if setting is not None and setting.key_span is not None:
                return setting.key_span
            if plain in budget.run.writes:
                return budget.run.writes[plain]
        return None

    def _somewhere(self, context: Context) -> Span:
        if self.observation is not None:
            return self.observation.span
        assert context.budget is not None
        return context.budget.run.span

    def edit(self, context: Context) -> Fix | None:
        """The rule's own fix: another value for one setting, where it is written as a plain word or number."""
        if self.check.edit is None or context.budget is None:
            return None
        setting, text, title, safe, when = self.check.edit
        known = context.budget.run.settings.get(setting)
        if known is None or not known.by_hand or known.span is None or not known.exact:
            return None
        if when is not None and not closure(when)(context):
            return None
        span = known.span
        if len(span.text) > 1 and span.text[0] in "\"'" and span.text[-1] == span.text[0]:
            span = Span(span.source, span.start + 1, span.end - 1)
        if not _is_written(span.text, known.value):
            return None
        new = self.say(text, context)
        return Fix(self.say(title, context), [Edit(span, new.replace(",", ""))], safe)

    # Pedantry ---------------------------------------------------------------------------------------------------

    def _sometimes(self, first: Context) -> Finding | None:
        """`sometimes`, where it does not hold in the first scenario."""
        if self.open and not set(self.missing(first)) <= set(self.vague()):
            return None  # no number of GPUs and no version would decide it
        if fixed(first):
            return None
        open_ = self.open
        finding = self.sometimes()
        self.open = open_  # trying the other scenarios changed it
        return finding

    def sometimes(self) -> Finding | None:
        """The finding where it holds in some scenarios, saying in which."""
        scenarios = self.scenarios
        assert scenarios is not None
        holding = []
        for context in self.contexts():
            context.touched.clear()
            tier = self.tier(context)
            if tier is not None:
                holding.append((context, tier))
        if not holding or len(holding) == len(self.contexts()):
            return None
        counts = sorted({one.budget.workers for one, _ in holding if one.budget is not None and one.budget.workers})
        every = sorted({count for count in scenarios.workers if count is not None})
        said = []
        if 1 < len(every) > len(counts):
            low, high = self._ends(counts, every)
            if low > SHOWN:
                return None  # nobody has as many
            said.append(_on(low, high, counts, every, int(scenarios.run.setting("parallel").number or 1)))
            if low not in counts:
                eras = {id(one.budget.era) for one, _ in holding if one.budget is not None}
                found = [
                    self.context(scenarios.budget(index, low))
                    for index, era in enumerate(scenarios.run.eras)
                    if id(era) in eras
                ]
                judged = [(context, self.tier(context)) for context in reversed(found)]
                holding = [(context, tier) for context, tier in judged if tier is not None] or holding
            else:
                holding = [pair for pair in holding if pair[0].budget is not None and pair[0].budget.workers == low]
        said += self._versions([context for context, _ in holding])
        level = min((tier.level for _, tier in holding), key=STRENGTH.__getitem__)
        context, tier = holding[0]
        self._contexts, self._apart = [one for one, _ in holding], []  # the message speaks of these alone
        return self.tell(self.soften(level, context), tier, context, f" ({', '.join(said) or 'in some cases'})")

    def _versions(self, holding: list[Context]) -> list[str]:
        """The versions in which it holds, where that is not in all."""
        assert self.scenarios is not None
        eras = self.scenarios.run.eras
        flags = [
            (era, any(one.budget is not None and one.budget.era is era for one in holding)) for era in reversed(eras)
        ]
        if all(holds for _, holds in flags):
            return []
        groups = [label for label, holds in by_version(flags) if holds]
        package = next(iter(eras[0].versions), "")
        if any(label[:1].isalpha() for label in groups):
            package = ""  # the labels name their packages themselves
        return [f"{package} {' or '.join(groups)}".strip()]

    def _ends(self, counts: list[int], every: list[int]) -> tuple[int, int]:
        """The exact ends of the numbers of workers for which it holds, searched between those that were tried."""
        low, high = counts[0], counts[-1]
        below = max((count for count in every if count < low), default=None)
        above = min((count for count in every if count > high), default=None)
        while below is not None and low - below > 1:
            middle = (low + below) // 2
            low, below = (middle, below) if self._holds(middle) else (low, middle)
        while above is not None and above - high > 1:
            middle = (high + above) // 2
            high, above = (middle, above) if self._holds(middle) else (high, middle)
        return low, high

    def _holds(self, workers: int) -> bool:
        scenarios = self.scenarios
        assert scenarios is not None
        return any(
            self.tier(self.context(scenarios.budget(index, workers))) is not None
            for index in range(len(scenarios.run.eras) - 1, -1, -1)
        )


def _on(low: int, high: int, counts: list[int], every: list[int], parallel: int) -> str:
    """ "on 8 or more GPUs", "on at most 4 GPUs", "on 4 to 16 GPUs", "on 3, 5, 6 ... GPUs"."""
    first = every.index(counts[0])
    if counts != every[first : first + len(counts)]:
        some = ", ".join(str(count * parallel) for count in counts[:4])
        return f"on {some}{' ...' if len(counts) > 4 else ''} GPUs"
    if high == every[-1]:
        return f"on {low * parallel} or more GPUs"
    if low == every[0]:
        return "on one GPU" if high * parallel == 1 else f"on at most {high * parallel} GPUs"
    if low == high:
        return f"on {low * parallel} GPUs"
    return f"on {low * parallel} to {min(high, SHOWN) * parallel} GPUs"


def _is_written(text: str, value: object) -> bool:
    """Whether a value stands there as itself, not as a name or a sum."""
    if isinstance(value, bool) or value is None:
        return False
    if isinstance(value, (int, float)):
        try:
            return float(text.replace("_", "")) == value
        except ValueError:
            return False
    return text == value


def _beside(baseline: Baseline, budget: Budget, ours: Scenarios | None) -> Budget:
    """The baseline's scenario that belongs to one of ours: the same unknown number of GPUs, the same era."""
    theirs = baseline.scenarios
    era = len(theirs.run.eras) - 1
    if ours is not None and len(theirs.run.eras) == len(ours.run.eras):
        era = next((index for index, one in enumerate(ours.run.eras) if one is budget.era), era)
    if len(theirs.workers) == 1:
        if ours is None or len(ours.workers) == 1:
            return theirs.budget(era, theirs.workers[0])
    elif ours is not None and len(ours.workers) > 1 and baseline.same_gpus:
        return theirs.budget(era, budget.workers)
    return theirs.budget(era, None)  # known on one side only: nothing can be said about the change
