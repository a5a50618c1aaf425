"""What NeMo-RL refuses, and keys that it does not have.

Read in 0.4.0 to 0.7.0 and at commit 7ea279ab: `models/policy/lm_policy.py` (backends, parallel sizes),
`algorithms/dpo.py` and `grpo.py` (`setup`), the statements that make the schedule (`dtensor_policy_worker.py`,
`models/automodel/setup.py`), `utils/config.py` (overrides of a launch must name keys of the config, `+` adds one);
recorded in tests/conformance. The schemas drop or keep unknown keys without a word. Keys by version: data/nemo-rl.json.
"""

from __future__ import annotations

from epochlint.documents.document import Inherited, Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import LAUNCH
from epochlint.trainers import tables
from epochlint.trainers.copies import declared
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import Names, slips
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Entry, Node
    from epochlint.source import Span
    from epochlint.trainers.settings import Taker

CONSUMER = "NeMo-RL"
_PYDANTIC = "0.7.0"  # from then on a schema checks types
_SECTIONS: dict[tuple[str, ...], str] = {
    (): "config",
    ("policy",): "policy",
    ("policy", "dtensor_cfg"): "dtensor_cfg",
    ("policy", "megatron_cfg"): "megatron_cfg",
    ("policy", "megatron_cfg", "scheduler"): "megatron_scheduler",
    ("policy", "megatron_cfg", "optimizer"): "megatron_optimizer",
    ("checkpointing",): "checkpointing",
    ("cluster",): "cluster",
    ("data",): "data",
    ("logger",): "logger",
    **{(name,): name for name in ("sft", "dpo", "rm", "grpo", "ppo", "distillation")},
}
# The arguments of PyTorch's classes that configs name: they come to them as they are written.
_ADAM = Names(
    "lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused",
)  # fmt: skip
_CLASSES = {
    "torch.optim.AdamW": _ADAM,
    "torch.optim.Adam": Names(*_ADAM.names, "decoupled_weight_decay"),
    "torch.optim.lr_scheduler.LinearLR": Names("start_factor", "end_factor", "total_iters", "last_epoch"),
    "torch.optim.lr_scheduler.ConstantLR": Names("factor", "total_iters", "last_epoch"),
    "torch.optim.lr_scheduler.CosineAnnealingLR": Names("T_max", "eta_min", "last_epoch"),
}


class Schedule:
    """One class of a list of schedules, with its arguments."""

    __slots__ = ("arguments", "name")

    def __init__(self, name: str, arguments: Mapping) -> None:
        self.name = name
        self.arguments = arguments

    def number(self, key: str, usual: float) -> float | None:
        node = self.arguments.get(key)
        if node is None:
            return None if self.arguments.open_ended else usual
        return number(node)


class Schedules:
    """A list of schedules. `place` is where the milestones stand; `unclear`: a part cannot be read."""

    __slots__ = ("classes", "milestones", "place", "strange", "unclear")

    def __init__(self) -> None:
        self.classes: list[Schedule] = []
        self.milestones: list[float] = []
        self.place: Span | None = None
        self.strange: Span | None = None  # an entry that is neither a class nor milestones
        self.unclear = False


def schedules(node: Node) -> Schedules:
    found = Schedules()
    if not isinstance(node, Sequence):
        found.unclear = True
        return found
    for item in node.items:
        if not isinstance(item, Mapping):
            found.unclear = True
            continue
        name, arguments, marks = text_of(item.get("name")), item.mapping("kwargs"), item.entry("milestones")
        if "name" in item:
            if name is None or arguments is None:
                found.unclear = True
            else:
                found.classes.append(Schedule(name, arguments))
        elif marks is not None:
            found.place = marks.key_span
            values = marks.value.items if isinstance(marks.value, Sequence) else []
            numbers = [number(value) for value in values if isinstance(value, Scalar)]
            found.unclear |= not isinstance(marks.value, Sequence) or None in numbers or len(numbers) != len(values)
            found.milestones = [value for value in numbers if value is not None]
        else:
            found.strange = item.span
            found.unclear |= item.open_ended
    return found


def check(taker: Taker, algorithm: str, backend: str) -> None:
    """Notes what NeMo-RL refuses of a config whose files are all here, and what it does not know of any."""
    _Check(taker, algorithm, backend).all()


class _Check(Judge):
    __slots__ = ("algorithm", "backend")

    def __init__(self, taker: Taker, algorithm: str, backend: str) -> None:
        super().__init__(taker, CONSUMER, "nemo-rl")
        self.algorithm = algorithm
        self.backend = backend

    def all(self) -> None:
        self._keys()
        self._values()
        if self.backend == "dtensor_cfg":
            self._schedule()
        if self.reading.open_ended:
            return
        self._overrides()
        self._backends()
        self._batches()
        if self.algorithm in ("sft", "grpo"):
            self._validation()
        if self.algorithm == "grpo":
            self._online()

    # Keys ---------------------------------------------------------------------------------------------------------

    def _keys(self) -> None:
        """Keys that no version read has, in the blocks that they are written in."""
        for path, owner in _SECTIONS.items():
            table = tables.load("nemo-rl", owner)
            for layer in self.reading.layers:
                if layer.origin == LAUNCH:
                    continue  # see `_overrides`
                place = layer.mapping.find(*path) if path else None
                block = place.value if place is not None else layer.mapping
                if not isinstance(block, Mapping) or (path and place is None):
                    continue
                own = [entry for entry in block.entries if not isinstance(entry, Inherited)]
                found = list(slips(Mapping(block.span, own), [table], CONSUMER, rejected=False))
                theirs = declared(self.reading, {str(one.values["key"]) for one in found}, ("nemo_rl",))
                self.taker.run.observations += [one for one in found if one.values["key"] not in theirs]
        for name, names in _CLASSES.items():
            for block in self._arguments(name):
                self.taker.run.observations += slips(block, [names], name.rpartition(".")[2], rejected=True)

    def _arguments(self, name: str) -> list[Mapping]:
        """The arguments of a class, as far as they reach it and stand in this file."""
        if self.backend != "dtensor_cfg":
            return []
        found = []
        optimizer = self.reading.mapping("policy", "optimizer")
        if optimizer is not None and text_of(optimizer.get("name")) == name:
            found.append(optimizer.mapping("kwargs"))
        listed = self.reading.entry("policy", "scheduler")
        if listed is not None and not isinstance(listed[0], Inherited):
            found += [one.arguments for one in schedules(listed[0].value).classes if one.name == name]
        return [
            Mapping(block.span, [entry for entry in block.entries if not isinstance(entry, Inherited)])
            for block in found
            if block is not None
        ]

    def _overrides(self) -> None:
        """Hydra refuses to override what the config does not have."""
        written = [layer.mapping for layer in self.reading.layers if layer.origin != LAUNCH]
        for layer in self.reading.layers:
            if layer.origin == LAUNCH:
                for entry in layer.mapping.entries:
                    if isinstance(entry.value, Mapping):
                        self._override(entry, (), written)

    def _override(self, entry: Entry, path: tuple[str, ...], written: list[Mapping]) -> None:
        here = (*path, entry.key)
        if isinstance(entry.value, Mapping):
            for inner in entry.value.entries:
                self._override(inner, here, written)
            return
        text = entry.key_span.source.text[entry.key_span.start : entry.key_span.end]
        blocks = [mapping.find(*path) for mapping in written]
        block = next((found.value for found in blocks if found is not None), None)
        if text.lstrip("'\"").startswith(("+", "~", "-")) or not isinstance(block, Mapping) or block.open_ended:
            return
        if entry.key in block or "@" in entry.key:
            return
        near = tables.nearest(entry.key, {one.key for one in block.entries})
        values: dict[str, object] = {"key": ".".join(here), "consumer": CONSUMER, "rejected": True}
        if near is None:
            self.taker.observe("unknown_key", entry.key_span, None, **values)
        else:
            self.taker.observe("misspelt_key", entry.key_span, None, **values, suggestion=".".join((*path, near)))

    # Values -------------------------------------------------------------------------------------------------------

    def _values(self) -> None:
        """Whole numbers that must be given; from 0.7 on nothing else is taken for one."""
        limits = [(self.algorithm, "max_num_steps"), (self.algorithm, "max_num_epochs")]
        sizes = [("policy", "train_global_batch_size"), ("policy", "train_micro_batch_size")]
        for path in (*limits, *sizes):
            node = self.reading.node(*path)
            value = number(node)
            if is_null(node):
                self.refuse(path, f"{path[-1]} must be a number")
            elif value is not None and value != int(value):
                self.refuse(path, f"{path[-1]} must be a whole number, not {value:g}", _PYDANTIC)
        if self.algorithm and is_null(self.reading.node("policy", "scheduler")) and self.backend == "dtensor_cfg":
            self.refuse(("policy", "scheduler"), "a schedule is a list; leave it out for a constant rate")
        if self.number("checkpointing", "save_period") == 0:
            self.refuse(("checkpointing", "save_period"), "it divides by save_period")

    def _schedule(self) -> None:
        node = self.reading.node("policy", "scheduler")
        if node is None or not isinstance(node, Sequence):
            return
        found = schedules(node)
        key = ("policy", "scheduler")
        if found.strange is not None and not found.unclear:
            self.refuse(key, "each entry of the list has a `name` with `kwargs`, or `milestones`")
        elif found.place is None and not found.unclear:
            self.refuse(key, "a list of schedules needs an entry with `milestones`")
        elif not found.unclear and len(found.classes) != len(found.milestones) + 1:
            count, marks = len(found.classes), len(found.milestones)
            self.refuse(key, f"{count} schedules need {count - 1} milestones between them, not {marks}")
        for one in found.classes:
            start = one.number("start_factor", 1 / 3)
            if one.name.endswith(".LinearLR") and start is not None and not 0 < start <= 1:
                self.refuse(key, f"start_factor must be above 0 and at most 1, not {start:g}")

    # Combinations -------------------------------------------------------------------------------------------------

    def _backends(self) -> None:
        megatron, dtensor = (
            self._flag("policy", "megatron_cfg", "enabled"),
            self._flag("policy", "dtensor_cfg", "enabled"),
        )
        if megatron is True and dtensor is True:
            self.refuse(("policy", "megatron_cfg"), "megatron_cfg stands beside dtensor_cfg; only one may be enabled")
        elif megatron is False and dtensor is False:
            self.refuse(("policy", "dtensor_cfg"), "either dtensor_cfg or megatron_cfg must be enabled")
        first = dtensor is True and megatron is False and self._flag("policy", "dtensor_cfg", "_v2") is False
        if first and self._flag("policy", "dtensor_cfg", "lora_cfg", "enabled") is True:
            self.refuse(("policy", "dtensor_cfg", "lora_cfg"), "LoRA needs `_v2: true`", "0.5.0")

    def _batches(self) -> None:
        dynamic, packed = (self._flag("policy", name, "enabled") for name in ("dynamic_batching", "sequence_packing"))
        if self.algorithm == "dpo":
            for on, name in ((dynamic, "dynamic_batching"), (packed, "sequence_packing")):
                if on is True:
                    self.refuse(("policy", name), f"{name} does not go with DPO")
        elif dynamic is True and packed is True:
            self.refuse(("policy", "dynamic_batching"), "dynamic_batching does not go with sequence_packing")
        for key in ("gpus_per_node", "num_nodes"):
            if self.number("cluster", key) == 0:
                self.refuse(("cluster", key), f"{key} leaves no GPU to train on")
        settings = self.taker.run.settings
        gpus, size = settings.get("gpus"), settings.get("parallel")
        if gpus is not None and size is not None and gpus.number and size.number and gpus.number % size.number:
            span = size.key_span or gpus.key_span
            if span is not None:
                reason = f"{gpus.number:g} GPUs are no multiple of {size.number:g}, the product of the parallel sizes"
                self.taker.observe("rejected", span, reason=reason, consumer=CONSUMER)

    def _validation(self) -> None:
        """Both trainers ask for data where they are to validate every so many steps."""
        settings = self.taker.run.settings
        steps, data = settings.get("eval_steps"), settings.get("validation")
        if data is not None and data.value is False and steps is not None and steps.number and steps.number > 0:
            reason = "data.validation is not given, and val_period is above 0"
            self.taker.observe("evaluation_without_data", steps.key_span or self.taker.run.span, reason=reason)

    def _online(self) -> None:
        answers, prompts = (
            self.number("grpo", "num_generations_per_prompt"),
            self.number("grpo", "num_prompts_per_step"),
        )
        batch = self.number("policy", "train_global_batch_size")
        forced = ("loss_fn", "force_on_policy_ratio")
        if self._flag(*forced) is True and answers and prompts and batch and answers * prompts != batch:
            reason = f"force_on_policy_ratio needs a batch of {prompts:g} prompts x {answers:g} answers, not {batch:g}"
            self.refuse(forced, reason, "0.5.0")
        factor = ("grpo", "batch_multiplier")
        if self._flag("grpo", "use_dynamic_sampling") is False and (self.number(*factor) or 1) != 1:
            self.refuse(factor, "batch_multiplier needs use_dynamic_sampling")
        unread = ("grpo", "skip_reference_policy_logprobs_calculation")
        if self._flag(*unread) is True and (self.number("loss_fn", "reference_policy_kl_penalty") or 0) != 0:
            self.refuse(
                unread, "skip_reference_policy_logprobs_calculation needs reference_policy_kl_penalty: 0", _PYDANTIC
            )
        several = ("grpo", "val_num_generations_per_prompt")
        count, metric = self.number(*several), ("grpo", "stop_at_validation_metric")
        if count is not None and count < 1:
            self.refuse(several, "val_num_generations_per_prompt must be at least 1", "0.8.0")
        stop = text_of(self.reading.node(*metric))
        if stop == "pass_k" and (count is None or count <= 1):
            self.refuse(metric, "pass_k needs val_num_generations_per_prompt above 1", "0.8.0")
        elif stop is not None and self._absent("grpo", "stop_at_validation_threshold"):
            self.refuse(metric, "stop_at_validation_threshold must be set beside it", "0.8.0")

    # What is written ----------------------------------------------------------------------------------------------

    def _absent(self, *path: str) -> bool:
        node = self.reading.node(*path)
        return node is None or is_null(node)

    def _flag(self, *path: str) -> bool | None:
        """Off where it is not written; None where it cannot be known."""
        node = self.reading.node(*path)
        return boolean(node) if node is not None else False
