"""NeMo-RL: a policy with a global batch and one of sft, dpo, grpo, ...; `defaults:` inherits from another file.

Read in 0.4.0 to 0.7.0 and at commit 7ea279ab (`nemo_rl/algorithms/sft.py`, `dpo.py`, `rm.py`, `grpo.py`,
`models/policy/lm_policy.py`, `utils/config.py`) and recorded in tests/conformance: the loader drops its last batch, a
run ends at min(max_num_steps, max_num_epochs x steps of a pass), it is validated every `val_period` steps and saved
every `save_period` and at the end. GRPO and its like take `num_prompts_per_step` records in a step. The cluster of
what generates is shared out between the policy, its generation, teachers and environments; that of sft, dpo and rm
trains as a whole.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Inherited, Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting, Steps, by_global_batch, fixed, floor_of_rows, happenings
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers import nemo_rl_checks
from epochlint.trainers.omegaconf import merged, resolved
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.trainer import Layer, Reading, is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document, Node
    from epochlint.run.counting import Get, Shape, Warmup
    from epochlint.source import Span

LABEL = "nemo-rl"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=True)
_KEPT = Loader("OmegaConf", converts_text=False, reads_plain=True)  # what goes to a class of PyTorch as it is

_ALGORITHMS = {
    "sft": "sft", "dpo": "dpo", "grpo": "grpo", "rm": "reward", "distillation": "other", "ppo": "ppo"
}  # fmt: skip
# max_num_steps, max_num_epochs and val_period where they are left out (from 0.7 on; before, all had to be written)
_USUAL = {
    "sft": (60, 1, 10), "dpo": (150, 1, 25), "rm": (None, 1, 16), "grpo": (1_000_000, 1, 10),
    "distillation": (1000, 10, 20), "ppo": (100_000, 100_000, UNKNOWN),
}  # fmt: skip
_WHOLE_CLUSTER = ("sft", "dpo", "rm")
_MEGATRON = ("tensor_model_parallel_size", "context_parallel_size", "pipeline_model_parallel_size")
_DTENSOR = ("tensor_parallel_size", "context_parallel_size")
_DEEPEST = 8
_FILES = (".yaml", ".yml")


_OF_POLICY = frozenset({
    "dtensor_cfg", "generation", "logprob_batch_size", "max_total_sequence_length", "megatron_cfg", "model_name",
    "train_global_batch_size", "train_micro_batch_size",
})  # fmt: skip
_OF_ALGORITHM = frozenset({"max_num_steps", "max_num_epochs", "val_period", "num_prompts_per_step"})


def recognise(document: Document) -> list[Mapping]:
    """A policy of its own beside an algorithm or a cluster; or a file that inherits from one and changes such blocks.
    Programs for robots and games have policies, too."""
    found = []
    for mapping in document.mappings():
        policy = mapping.mapping("policy")
        algorithms = [one for name in _ALGORITHMS if (one := mapping.mapping(name)) is not None]
        inherits = any(name.endswith(_FILES) for name in _names(mapping.entry("defaults")))
        blocks = algorithms or any(mapping.mapping(name) is not None for name in ("checkpointing", "cluster"))
        own = policy is not None and (
            not _OF_POLICY.isdisjoint(policy.last) or any(not _OF_ALGORITHM.isdisjoint(one.last) for one in algorithms)
        )
        if (own and (algorithms or "cluster" in mapping)) or ((blocks or policy is not None) and inherits):
            found.append(mapping)
    return found


def read(reading: Reading) -> Run:
    reading = resolved(_inherited(reading.nested()))
    versions = reading.versions.of("nemo-rl")
    era = Era("", _COUNTING, {"nemo-rl": versions})
    run = Run(LABEL, reading.document.source, reading.span, (era,), reading.versions)
    run.version = versions.low if versions.pinned else None
    taker = Taker(run, reading, LOADER)
    algorithm = next((name for name in _ALGORITHMS if reading.mapping(name) is not None), "")
    steps, epochs, period = _USUAL.get(algorithm, (UNKNOWN, UNKNOWN, UNKNOWN))
    taker.number("epochs", (algorithm, "max_num_epochs"), default=epochs)
    taker.whole("max_steps", (algorithm, "max_num_steps"), default=steps, off=(-1,) if algorithm == "rm" else ())
    taker.derive("shortest_counts", Known(True, DERIVED))
    taker.derive("method", Known(_ALGORITHMS[algorithm], DERIVED) if algorithm else UNKNOWN)
    _cadence(taker, algorithm, period)
    backend, sizes = _backend(taker)
    _rate(taker, backend)
    if algorithm in _WHOLE_CLUSTER:
        _shared_out(taker, backend, sizes)
    else:
        _prompts(taker, algorithm)
    nemo_rl_checks.check(taker, algorithm, backend)
    return run


def _shared_out(taker: Taker, backend: str, sizes: tuple[str, ...]) -> None:
    """The batch of what only trains, among all GPUs of the cluster."""
    run, reading = taker.run, taker.reading
    taker.whole("global_batch", ("policy", "train_global_batch_size"), default=UNKNOWN)
    by_tokens = [reading.node("policy", name, "enabled") for name in ("dynamic_batching", "sequence_packing")]
    if not reading.open_ended and all(node is None or boolean(node) is False for node in by_tokens):
        taker.whole("per_device_batch", ("policy", "train_micro_batch_size"), default=UNKNOWN)
    per_node, nodes = (
        taker.whole("per_node", ("cluster", "gpus_per_node")),
        taker.whole("nodes", ("cluster", "num_nodes")),
    )
    if per_node.number and nodes.number and backend:
        taker.product("parallel", *(("policy", backend, size) for size in sizes))
        run.settings["gpus"] = Known(int(per_node.number * nodes.number), "written", key_span=per_node.key_span)


def _prompts(taker: Taker, algorithm: str) -> None:
    """What generates takes prompts; how many batches are made of them in a step is another number."""
    reading = taker.reading
    sampled = reading.node(algorithm, "use_dynamic_sampling")
    if sampled is None or boolean(sampled) is False:  # else a step takes as many as it needs
        taker.whole("global_batch", (algorithm, "num_prompts_per_step"), default=UNKNOWN)
    several, alone = reading.node("data", "use_multiple_dataloader"), reading.node(algorithm, "async_grpo", "enabled")
    if not algorithm or any(node is not None and boolean(node) is not False for node in (several, alone)):
        taker.derive("batch_unknown", Known(True, DERIVED))  # passes do not count


def _backend(taker: Taker) -> tuple[str, tuple[str, ...]]:
    """What trains the policy, and the keys of its parallel sizes; "" where that cannot be known."""
    megatron = taker.flag("megatron", ("policy", "megatron_cfg", "enabled"))
    if not megatron.exact:
        return "", ()
    return ("megatron_cfg", _MEGATRON) if megatron.value else ("dtensor_cfg", _DTENSOR)


# Cadence ------------------------------------------------------------------------------------------------------------


def _cadence(taker: Taker, algorithm: str, period: object) -> None:
    """Validation every so many steps, at the end where asked for; checkpoints likewise, and always at the end."""
    reading = taker.reading
    steps = taker.whole("eval_steps", (algorithm, "val_period"), default=period)
    if steps.number is not None:
        taker.derive("eval_strategy", Known("steps" if steps.number > 0 else "no", DERIVED))
    taker.flag("eval_at_end", (algorithm, "val_at_end"))
    if _none_to_validate(reading):
        taker.derive("validation", Known(False, DERIVED))
    elif reading.node("data", "validation") is not None and not is_null(reading.node("data", "validation")):
        taker.derive("validation", Known(True, DERIVED))
    saved = taker.flag("saved", ("checkpointing", "enabled"), default=UNKNOWN)
    if saved.value is not False:  # else nobody asks how often
        taker.whole("save_steps", ("checkpointing", "save_period"), default=UNKNOWN)
    if isinstance(saved.value, bool):
        taker.derive("save_strategy", Known("steps" if saved.value else "no", DERIVED))


def _none_to_validate(reading: Reading) -> bool:
    """Certainly no validation data: none is named, and none is held out of the training data."""
    train, given = reading.node("data", "train"), reading.node("data", "validation")
    if reading.open_ended or not (given is None or is_null(given)):
        return False
    sets = [train] if isinstance(train, Mapping) else train.items if isinstance(train, Sequence) else []
    usual = reading.mapping("data", "default")
    every = [one for one in (*sets, usual) if one is not None]
    return bool(sets) and all(
        isinstance(one, Mapping) and not one.open_ended and "split_validation_size" not in one for one in every
    )


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    strategy, every, at_end = get("eval_strategy"), get("eval_steps").number, get("eval_at_end")
    if get("validation").value is False:
        return 0
    if not strategy.exact or not at_end.exact or every is None:
        return None
    if strategy.value == "no":
        return 1 if at_end.value and total else 0
    return happenings("steps", every, total, per_epoch, at_end.value is True)


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    strategy, every = get("save_strategy"), get("save_steps").number
    return happenings(str(strategy.value), every, total, per_epoch, at_end=True) if strategy.exact else None


# Rates --------------------------------------------------------------------------------------------------------------


def _rate(taker: Taker, backend: str) -> None:
    """The rate and its schedule: of Megatron's own settings, or of PyTorch's classes."""
    reading = taker.reading
    plain = Taker(taker.run, reading, _KEPT)
    if backend == "megatron_cfg":
        optimizer, schedule = ("policy", backend, "optimizer"), ("policy", backend, "scheduler")
        taker.number("learning_rate", (*optimizer, "lr"), default=UNKNOWN)
        taker.number("weight_decay", (*optimizer, "weight_decay"), default=UNKNOWN)
        taker.whole("warmup_steps", (*schedule, "lr_warmup_iters"), default=UNKNOWN)
        taker.word("scheduler", (*schedule, "lr_decay_style"), default=UNKNOWN)
        tuned = reading.node("policy", backend, "peft", "enabled")
    else:
        optimizer = ("policy", "optimizer", "kwargs")
        plain.number("learning_rate", (*optimizer, "lr"), default=UNKNOWN)
        plain.number("weight_decay", (*optimizer, "weight_decay"), default=UNKNOWN)
        if backend:
            _schedule(taker)
        tuned = reading.node("policy", "dtensor_cfg", "lora_cfg", "enabled")
    if backend and not (reading.open_ended and tuned is None):
        lora = boolean(tuned) if tuned is not None else False
        if lora is not None:
            taker.derive("tuning", Known("lora" if lora else "full", DERIVED))


def _schedule(taker: Taker) -> None:
    """A list of PyTorch's schedules, each of which ends at a milestone; the rate stays as it is without one."""
    reading = taker.reading
    found = reading.entry("policy", "scheduler")
    if found is None:
        if not reading.open_ended:
            taker.derive("scheduler", Known("constant", DERIVED))
        return
    parts = nemo_rl_checks.schedules(found[0].value)
    if not parts.classes or parts.unclear:
        return
    first = parts.classes[0]
    if not first.name.endswith(".LinearLR"):
        return
    ends, starts = first.number("end_factor", 1.0), first.number("start_factor", 1 / 3)
    entry = first.arguments.entry("total_iters")
    length = number(entry.value) if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or length is None or ends is None or starts is None or ends <= starts:
        return
    last = min(length, parts.milestones[0]) if parts.milestones else length
    where = entry.key_span if length == last or parts.place is None else parts.place
    if isinstance(found[0], Inherited):
        where = found[0].key_span
    taker.derive("warmup_steps", Known(int(last), "written", key_span=where, span=entry.value.span))
    names = [one.name.rpartition(".")[2] for one in parts.classes[1:]]
    if not names or names == ["ConstantLR"]:
        taker.derive("scheduler", Known("constant_with_warmup", DERIVED))
    elif names == ["CosineAnnealingLR"]:
        taker.derive("scheduler", Known("cosine", DERIVED))


def _warmup(get: Get) -> Warmup | None:
    if get("scheduler").value == "constant" and get("warmup_steps").unknown:
        return fixed(0)  # no schedule at all
    steps = get("warmup_steps")
    return None if steps.number is None else fixed(int(steps.number))


# Inheritance --------------------------------------------------------------------------------------------------------


def _inherited(reading: Reading) -> Reading:
    """The config merged with the files that its `defaults` name; open-ended where one of them cannot be found."""
    layers = list(reading.layers)
    if not _names(layers[-1].mapping.entry("defaults")):
        return reading
    place = layers[-1].mapping.last["defaults"].key_span
    whole, complete = _with_defaults(reading, layers[-1].mapping, reading.base, 0)
    whole = _marked(whole, place)
    if not complete:
        layers = [Layer(_opened(layer.mapping), layer.origin) for layer in layers]
        whole = _opened(whole)
    return reading.over([*layers[:-1], Layer(whole, layers[-1].origin)])


def _with_defaults(reading: Reading, mapping: Mapping, base: str, depth: int) -> tuple[Mapping, bool]:
    """`load_config_with_inheritance`: each of the files goes over those before it, the file itself over all."""
    found, complete = Mapping(mapping.span, []), depth < _DEEPEST
    for name in _names(mapping.entry("defaults")) if complete else ():
        document = reading.lookup.document(name, base) if reading.lookup is not None else None
        parent = next(document.mappings(), None) if document is not None else None
        if parent is None:
            complete = False
            continue
        folder = f"{base}/{name.rpartition('/')[0]}" if "/" in name else base
        above, whole = _with_defaults(reading, parent, folder, depth + 1)
        found, complete = _over(found, above), complete and whole
    own = Mapping(mapping.span, [entry for entry in mapping.entries if entry.key != "defaults"], mapping.open_ended)
    return _over(found, own), complete


def _over(base: Mapping, own: Mapping) -> Mapping:
    """A section that is marked with `_override_` takes the place of the one below it."""
    replaced = set()
    entries = []
    for entry in own.entries:
        value = entry.value
        mark = value.get("_override_") if isinstance(value, Mapping) else None
        if isinstance(value, Mapping) and mark is not None and boolean(mark):
            replaced.add(entry.key)
            kept = [inner for inner in value.entries if inner.key != "_override_"]
            value = Mapping(value.span, kept, value.open_ended)
        entries.append(Entry(entry.key, entry.key_span, value))
    below = [entry for entry in base.entries if entry.key not in replaced]
    return merged(Mapping(base.span, below, base.open_ended), Mapping(own.span, entries, own.open_ended))


def _marked(mapping: Mapping, place: Span) -> Mapping:
    """The same, where what comes from another file stands at the place that names it."""
    entries = []
    for entry in mapping.entries:
        value = _marked(entry.value, place) if isinstance(entry.value, Mapping) else entry.value
        own = entry.key_span.source is place.source
        entries.append(Entry(entry.key, entry.key_span, value) if own else Inherited(entry.key, place, value))
    return Mapping(mapping.span, entries, mapping.open_ended)


def _names(entry: Entry | None) -> list[str]:
    node: Node | None = entry.value if entry is not None else None
    items = node.items if isinstance(node, Sequence) else [node] if node is not None else []
    return [name for item in items if (name := text_of(item))]


def _opened(mapping: Mapping) -> Mapping:
    return Mapping(mapping.span, mapping.entries, open_ended=True)


# Steps --------------------------------------------------------------------------------------------------------------


def _steps(shape: Shape) -> Steps:
    """Whole passes of floor(N / B) steps, up to the limit; a limit of 0 or below makes none."""
    per_epoch = floor_of_rows(shape)
    natural = max(0, int(shape.epochs * per_epoch))
    total = natural if shape.limit is None else max(0, min(natural, shape.limit))
    return Steps(per_epoch, natural, total)


_COUNTING = Counting(_steps, _warmup, by_global_batch, None, _evaluations, _checkpoints)
