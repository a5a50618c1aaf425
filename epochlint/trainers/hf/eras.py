"""The stretches of transformers' versions that count differently, and which of them are possible for a run.

`eras` gives those that the project's files and the keys of the run leave possible, neighbours joined where nothing that
the run sets tells them apart: then messages name only borders that matter, and less is computed.
"""

from __future__ import annotations

from epochlint.run.counting import Counting
from epochlint.run.known import UNKNOWN
from epochlint.run.run import Era
from epochlint.run.versions import ANY, VersionRange
from epochlint.trainers.hf import counting as hf

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from epochlint.run.known import Known
    from epochlint.run.versions import Versions

OLDEST = "4.36"


class Segment:
    """Versions from `low` up to, not including, `below`; `last` is the newest of them as people write it ("4.51").

    `up`, `zero_limits`: see `run.counting.by_loader`. `warmup`, `loop`: see `hf.counting`. `plugin`: accelerate's
    accumulation is looked at. `last_evaluation`, `last_checkpoint`: the last step is evaluated, saved.
    """

    __slots__ = (
        "below",
        "last",
        "last_checkpoint",
        "last_evaluation",
        "loop",
        "low",
        "plugin",
        "up",
        "warmup",
        "zero_limits",
    )

    def __init__(
        self,
        low: str,
        below: str | None,
        last: str,
        *,
        last_checkpoint: bool = True,
        loop: str = hf.AT_END,
        plugin: bool = True,
        zero_limits: bool = True,
        up: bool = True,
        warmup: str = hf.STEPS_FIRST,
        last_evaluation: bool = False,
    ) -> None:
        self.low = low
        self.below = below
        self.last = last
        self.last_checkpoint = last_checkpoint
        self.loop = loop
        self.plugin = plugin
        self.zero_limits = zero_limits
        self.up = up
        self.warmup = warmup
        self.last_evaluation = last_evaluation

    def counting(self, plain: bool) -> Counting:
        """`plain`: nothing is written for accelerate to accumulate, so that it does not matter who looks at it."""
        evaluation = ("eval_strategy", "eval_steps", self.last_evaluation)
        return Counting(
            hf.steps(self.up, self.zero_limits),
            hf.warmup(self.warmup),
            hf.batch if self.plugin or plain else hf.batch_without_plugin,
            evaluations=hf.happens(*evaluation, self.loop, delay_key="eval_delay", whole=self.up),
            checkpoints=hf.happens("save_strategy", "save_steps", self.last_checkpoint, self.loop, whole=self.up),
            unwarmed=hf.UNWARMED,
        )


SEGMENTS = (
    Segment(OLDEST, "4.42", "4.41", last_checkpoint=False, loop=hf.ACROSS, plugin=False, zero_limits=False, up=False),
    Segment("4.42", "4.46", "4.45", loop=hf.ACROSS, plugin=False, zero_limits=False, up=False),
    Segment("4.46", "4.47", "4.46", loop=hf.UNCLEAR, zero_limits=False, up=False),
    Segment("4.47", "4.49", "4.48", zero_limits=False, up=False),
    Segment("4.49", "4.52", "4.51", up=False),
    Segment("4.52", "5.0", "4.57"),
    Segment("5.0", "5.4", "5.3", warmup=hf.RATIO_FIRST),
    Segment("5.4", "5.15", "5.14", warmup=hf.RATIO_FIRST, last_evaluation=True),
    Segment("5.15", None, "", warmup=hf.STEPS_ONLY, last_evaluation=True),
)


def eras(
    versions: Versions,
    settings: Mapping[str, Known],
    *,
    within: VersionRange = ANY,
    adapt: Callable[[Counting, Segment], Counting] | None = None,
) -> list[Era]:
    """The possible eras for a run with these settings, oldest first; never none.

    `within` is a further bound (the trainer's own requirement, keys that only some versions know): it gives way where
    it contradicts the project's. `adapt` changes the counting of a segment for a trainer with ways of its own (packing,
    a sampler).
    """
    range_ = versions.of("transformers").narrowed(within)
    possible = [segment for segment in SEGMENTS if range_.meets(segment.low, segment.below)]
    if not possible:  # older than everything considered
        possible = [SEGMENTS[0]]
    groups: list[list[Segment]] = []
    marks: list[object] = []
    mark_of = _marks(settings)
    for segment in possible:
        mark = mark_of(segment)
        if marks and marks[-1] == mark:
            groups[-1].append(segment)
        else:
            groups.append([segment])
            marks.append(mark)
    found = []
    for index, group in enumerate(groups):
        counting = group[-1].counting("accelerator_accumulation" not in settings)
        found.append(
            Era(
                _label(group, range_, first=index == 0, last=index == len(groups) - 1),
                adapt(counting, group[-1]) if adapt is not None else counting,
                {"transformers": range_.narrowed(VersionRange(_low(group), None, group[-1].below))},
            )
        )
    return found


def _low(group: list[Segment]) -> str | None:
    return None if group[0] is SEGMENTS[0] else group[0].low


def _label(group: list[Segment], range_: VersionRange, first: bool, last: bool) -> str:
    """What a message calls this era: "<= 4.51", "4.52-4.57", ">= 5.15", one version; empty where there is only one."""
    if range_.pinned:
        return range_.low or ""
    if first and last:
        return ""
    if first:
        return f"<= {group[-1].last}"
    if last:
        return f">= {group[0].low}"
    return group[0].low if group[0].low == group[-1].last else f"{group[0].low}-{group[-1].last}"


def _marks(settings: Mapping[str, Known]) -> Callable[[Segment], object]:
    """What this run can tell of a segment: equal for two segments that count alike for it."""
    accumulation = _get(settings, "accumulation")
    plain = "accelerator_accumulation" not in settings
    alone = accumulation.number == 1 and plain
    limit = _get(settings, "max_steps")
    limited = limit.exact and limit.number != 0
    evaluation, saving = _get(settings, "eval_strategy"), _get(settings, "save_strategy")
    by_epoch = any(not known.exact or known.value == "epoch" for known in (evaluation, saving))
    evaluates = not evaluation.exact or evaluation.value == "steps"
    saves = not saving.exact or saving.value == "steps"
    warmths = {way: _warmth(way, settings) for way in (hf.STEPS_FIRST, hf.RATIO_FIRST, hf.STEPS_ONLY)}

    def mark(segment: Segment) -> object:
        return (
            segment.up or alone,
            segment.zero_limits or limited,
            segment.plugin or plain,
            segment.loop if by_epoch and not alone else "",
            segment.last_evaluation if evaluates else False,
            segment.last_checkpoint if saves else True,
            warmths[segment.warmup],
        )

    return mark


def _warmth(way: str, settings: Mapping[str, Known]) -> object:
    """The warmup as it is read in this way, or the way where the settings cannot be known."""
    warmup = hf.warmup(way)(lambda name: _get(settings, name))
    if warmup is None:
        return way
    return warmup.key, warmup.share, warmup.steps(1, 1), warmup.steps(1000, 1000)


def _get(settings: Mapping[str, Known], name: str) -> Known:
    return settings.get(name, UNKNOWN)
