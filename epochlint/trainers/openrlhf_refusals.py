"""What OpenRLHF's commands refuse: flags that their parsers have not, words, and combinations.

Read in openrlhf 0.3.6 to 0.11.2 (the end of each `cli/train_*.py`; flags in data/openrlhf.json) and recorded in
tests/conformance. The first version that was read with a check bounds it, where it is newer than its flags.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.observation import Edit, Fix, Observation
from epochlint.run.versions import VersionRange
from epochlint.trainers import tables
from epochlint.trainers.copies import declared
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker
    from epochlint.trainers.tables import Table
    from epochlint.trainers.trainer import Reading

    Names = tuple[str, ...]

CONSUMER = "OpenRLHF"
_ANSWERS: Names = ("rollout.n_samples_per_prompt", "n_samples_per_prompt")
_ROLLOUT: Names = ("rollout.batch_size", "rollout_batch_size")
_ASYNC: Names = ("train.async_enable", "async_train")
_SLEEP: Names = ("vllm.enable_sleep", "vllm_enable_sleep")
_COLOCATED: Names = ("train.colocate_all", "colocate_all_models")
_PARTIAL: Names = ("train.partial_rollout_enable", "partial_rollout")
_FILTER: Names = ("algo.dynamic_filtering_enable", "dynamic_filtering")
_RANGE: Names = ("algo.dynamic_filtering_range", "dynamic_filtering_reward_range")
_GENERATED: Names = ("rollout.vllm_generate_batch_size", "vllm_generate_batch_size")
_ESTIMATOR: Names = ("algo.advantage.estimator", "advantage_estimator")
_RING: Names = ("ds.ring_attn_size", "ring_attn_size")
_TENSOR: Names = ("ds.tensor_parallel_size", "ds_tensor_parallel_size")
_PACKING: Names = ("ds.packing_samples", "packing_samples")
_MULTITURN: Names = ("data.multiturn", "multiturn")
_TEMPLATE: Names = ("data.apply_chat_template", "apply_chat_template")
_SCHEDULER: Names = ("lr_scheduler", "actor.lr_scheduler", "critic.lr_scheduler")
# Estimators that compare the answers to one prompt, and the first version read that refuses a single one.
_GROUPED = {"rloo": "0.5.4", "reinforce_baseline": "0.6.0", "group_norm": "0.6.0", "dr_grpo": "0.11.0"}


def under_full_names(reading: Reading, table: Table) -> Reading:
    """Flags without the abbreviations that argparse allows."""
    names = table.names()

    def full(entry: Entry) -> Entry:
        if entry.key in names or len(entry.key) < 3 or entry.key.isdigit():
            return entry
        meant = [name for name in names if name.startswith(entry.key)]
        return Entry(meant[0], entry.key_span, entry.value) if len(meant) == 1 else entry

    return reading.over([
        Layer(Mapping(layer.mapping.span, [full(entry) for entry in layer.mapping.entries], layer.mapping.open_ended),
              layer.origin)
        for layer in reading.layers
    ])  # fmt: skip


def told_by_flags(reading: Reading, table: Table) -> VersionRange:
    """The possible versions: as the project says, and those that have the flags."""
    found = reading.versions.of("openrlhf")
    for entry, _ in reading.entries():
        if table.known(entry.key):
            before = table.last_before(table.first(entry.key))  # a version between them may have it
            found = found.narrowed(VersionRange(before, below=table.gone_in(entry.key)))
    return found


def check(taker: Taker, flags: Reading, kind: str, table: Table, versions: VersionRange) -> None:
    """Notes what the command's parser or its own checks refuse."""
    _Check(taker, flags, table, versions).all(kind)


class _Check:
    def __init__(self, taker: Taker, flags: Reading, table: Table, versions: VersionRange) -> None:
        self.taker = taker
        self.flags = flags
        self.table = table
        below = table.last_before(versions.below) if versions.below is not None else None
        self.range = (versions.low, versions.high or below)

    def all(self, kind: str) -> None:
        self._keys()
        self._values()
        if kind == "ppo_ray":
            self._online()
        elif (self._number(_RING, 1) or 0) > 1 and self._absent(_PACKING):
            since = "0.5.4" if kind == "sft" else "0.4.6"
            self._refuse(_RING, "ring attention needs packed samples (`packing_samples`)", since)
        if kind == "sft" and self._on(_MULTITURN) and self._absent(_TEMPLATE):
            self._refuse(_MULTITURN, "multiturn needs apply_chat_template", "0.5.9")

    # Flags --------------------------------------------------------------------------------------------------------

    def _keys(self) -> None:
        """Flags that the parser has in no version; those of a copy in the project are its own."""
        table, (low, high) = self.table, self.range
        entries = [entry for layer in self.flags.layers for entry in layer.mapping.entries]
        odd = {entry.key for entry in entries if not table.known(entry.key) and not entry.key.isdigit()}
        odd -= {key for key in odd if any(name.startswith(key) for name in table.names())}  # ambiguous
        odd -= declared(self.flags, odd, ("openrlhf",)) if odd else frozenset()
        possible = {name for name in table.names() if table.exists(name, low, high) is not False}
        for entry in entries:
            if table.known(entry.key) and entry.key not in possible:
                first, last = table.first(entry.key), table.last(entry.key)
                told = f"it is a flag of {first} to {last}, which the other flags or the project's requirement rule out"
                self.taker.observe("rejected", entry.key_span, reason=f"{entry.key}: {told}", consumer=CONSUMER)
            if entry.key not in odd:
                continue
            near = tables.nearest(entry.key, possible)
            values: dict[str, object] = {"key": entry.key, "consumer": CONSUMER, "rejected": True}
            if near is None:
                self.taker.observe("unknown_key", entry.key_span, None, **values)
            else:
                self.taker.observe("misspelt_key", entry.key_span, self._fix(entry, near), **values, suggestion=near)

    def _fix(self, entry: Entry, near: str) -> Fix | None:
        span = entry.key_span
        text = span.source.text[span.start : span.end]
        if text.lstrip("-") != entry.key:
            return None
        dashes = text[: len(text) - len(entry.key)]
        return Fix(f"write {dashes}{near}", [Edit(span, dashes + near)], safe=True)

    def _values(self) -> None:
        """Words that are no choice in any possible version, and whole numbers that are written otherwise."""
        low, high = self.range
        schedules = tables.load("transformers", "TrainingArguments").words("lr_scheduler_type")
        for entry, _ in self.flags.entries():
            node = entry.value
            if not isinstance(node, Scalar) or not isinstance(node.raw, str) or not self.table.known(entry.key):
                continue
            words = schedules if entry.key in _SCHEDULER else self.table.words(entry.key, low, high)
            if words and isinstance(node.value, str) and node.raw.replace("_", "").isalnum() and node.raw not in words:
                reason = f"{node.raw} is no {entry.key} that it knows; it takes {', '.join(words)}"
                self.taker.observe("rejected", entry.key_span, reason=reason, consumer=CONSUMER)
            elif self.table.type(entry.key) == "int" and number(node) is not None and not _whole(node.raw):
                reason = f"{entry.key} must be a whole number, not {node.raw}"
                self.taker.observe("rejected", entry.key_span, reason=reason, consumer=CONSUMER)

    # Combinations -------------------------------------------------------------------------------------------------

    def _online(self) -> None:
        """The end of `cli/train_ppo_ray.py`."""
        answers = self._number(_ANSWERS, 1)
        estimator = self._text(_ESTIMATOR)
        if estimator in _GROUPED and answers is not None and answers <= 1:
            place = _ANSWERS if self._entry(_ANSWERS) is not None else _ESTIMATOR
            entry = self._entry(place)
            if entry is not None:
                reason = f"{estimator} compares the answers to one prompt, and n_samples_per_prompt is {answers:g}"
                since = _GROUPED[estimator]
                self.taker.observe(
                    "too_few_generations", entry.key_span, reason=reason, package="openrlhf", since=since
                )
        asynchronous, absent = self._on(_ASYNC), self._absent(_ASYNC)
        if self._on(_PARTIAL) and absent:
            self._refuse(_PARTIAL, "a partial rollout needs asynchronous training", "0.9.8")
        if asynchronous and self._on(_SLEEP) and self._on(_COLOCATED):
            self._refuse(_SLEEP, "engines that sleep are not for asynchronous training", "0.8.0")
        generated, rollout = self._number(_GENERATED, None), self._number(_ROLLOUT, 1024)
        if generated is not None and rollout is not None and generated > rollout and absent:
            reason = f"{generated:,g} are generated for rollouts of {rollout:,g}, which only asynchronous training uses"
            self._refuse(_GENERATED, reason, "0.10.0")
        self._filtered(answers)
        self._spread(answers, rollout)
        images = self._number(("data.max_images_per_prompt", "max_images_per_prompt"), 0)
        if images and images > 0 and (estimator == "gae" or self._absent(_ESTIMATOR)):
            where = ("data.max_images_per_prompt", "max_images_per_prompt")
            self._refuse(where, "with images there is no critic, which the estimator gae needs", "0.10.0")
        engines = ("vllm.num_engines", "vllm_num_engines")
        if self._on(_PACKING) and self._number(engines, None) == 0:
            self._refuse(_PACKING, "packed samples need engines of vLLM, and num_engines is 0", "0.4.6")
        rewards = ("reward.remote_url", "remote_rm_url"), ("train.agent_func_path", "agent_func_path")
        evaluated = ("eval.dataset", "eval_dataset")
        if self._entry(evaluated) is not None and all(map(self._absent, rewards)):
            self._refuse(evaluated, "an evaluation needs a remote reward or an agent", "0.7.0")

    def _filtered(self, answers: float | None) -> None:
        if not self._on(_FILTER):
            return
        if answers is not None and answers <= 1:
            self._refuse(_FILTER, "filtering compares the answers to one prompt: more than one are needed", "0.8.3")
        entry = self._entry(_RANGE)
        ends = entry.value.items if entry is not None and isinstance(entry.value, Sequence) else []
        values = [value for end in ends if isinstance(end, Scalar) and (value := number(end)) is not None]
        if len(values) == len(ends) == 2 and values[0] >= values[1]:
            self._refuse(_RANGE, f"the range from {values[0]:g} to {values[1]:g} holds no reward", "0.8.3")

    def _spread(self, answers: float | None, rollout: float | None) -> None:
        """Each actor needs a batch of samples."""
        micro = self._number(("rollout.micro_batch_size", "micro_rollout_batch_size"), None)
        nodes = self._number(("actor.num_nodes", "actor_num_nodes"), 1)
        per_node = self._number(("actor.num_gpus_per_node", "actor_num_gpus_per_node"), 8)
        ring, tensor = self._number(_RING, 1), self._number(_TENSOR, 1)
        if not (answers and rollout and micro and nodes and per_node and ring and tensor):
            return
        batches, actors = answers * rollout // micro, nodes * per_node // ring // tensor
        if batches < actors:
            where = _ROLLOUT if self._entry(_ROLLOUT) is not None else ("actor.num_gpus_per_node",)
            self._refuse(where, f"a rollout gives {batches:g} batches of samples for {actors:g} actors", "0.7.5")

    # What is written ----------------------------------------------------------------------------------------------

    def _entry(self, names: Names) -> Entry | None:
        return next((self.flags.top[name][0] for name in names if name in self.flags.top), None)

    def _absent(self, names: Names) -> bool:
        """Certainly not given: no flag, and nothing that may hold further ones."""
        return self._entry(names) is None and not self.flags.open_ended

    def _on(self, names: Names) -> bool:
        entry = self._entry(names)
        return entry is not None and boolean(entry.value) is True

    def _text(self, names: Names) -> str | None:
        entry = self._entry(names)
        return text_of(entry.value) if entry is not None else None

    def _number(self, names: Names, default: float | None) -> float | None:
        """None where nobody can tell. Without a default: the parser's, if it is one in all possible versions."""
        entry = self._entry(names)
        if entry is None:
            if self.flags.open_ended:
                return None
            found = [value for name in names for value in self.table.defaults(name, *self.range)]
            usual = found[0] if len(found) == 1 else default
            return usual if isinstance(usual, (int, float)) else None
        value = number(entry.value)
        return value if value is None or value >= 0 else None

    def _refuse(self, names: Names, reason: str, since: str) -> None:
        entry = self._entry(names)
        if entry is not None:
            values = {"reason": reason, "consumer": CONSUMER, "package": "openrlhf", "since": since}
            self.taker.run.observations.append(Observation("rejected", entry.key_span, values))


def _whole(text: str) -> bool:
    try:
        int(text)
    except ValueError:
        return False
    return True
