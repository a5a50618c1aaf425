"""ms-swift: `swift sft`, `swift pt`, `swift rlhf`, with flags or one YAML or JSON file.

Read in ms-swift 4.6.0: `trainers/arguments.py` (defaults; the accumulation that nobody wrote is
max(1, ceil(16 / batch / processes))), `arguments/sft_args.py`, `dataset/dataset_meta.py` (`#N` samples with repetition,
the split takes at least one row), `dataloader/shard.py` (each worker gets floor(N / workers) rows), `cli/main.py` (a
file becomes flags, so numbers that load as text are converted). Defaults by version: data/ms-swift.json.
"""

from __future__ import annotations

from math import ceil

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number, plain_count
from epochlint.run.counting import Batch, Counting, Shape, Steps, by_loader, share_up, times
from epochlint.run.known import COMPANION, DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known, between
from epochlint.run.rows import each
from epochlint.run.run import DataSource
from epochlint.trainers import tables
from epochlint.trainers.hf import generations, keys, refusals
from epochlint.trainers.hf.counting import STEPS_ONLY
from epochlint.trainers.hf.reader import Hf
from epochlint.trainers.mixtures import interleaving, shares_of
from epochlint.trainers.ms_swift_rows import Keep
from epochlint.trainers.on_hf import own_keys, require_transformers, told_by_keys
from epochlint.trainers.settings import MISSING, Loader, text_of
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Warmup
    from epochlint.run.run import Era, Run
    from epochlint.source import Span
    from epochlint.trainers.hf.eras import Segment
    from epochlint.trainers.trainer import Reading

LABEL = "ms-swift"
CALLS: frozenset[str] = frozenset()
OWN_SCRIPTS = True
LOADER = Loader("ms-swift", converts_text=True)
_NEWEST = "<5.20"  # transformers, as 4.6.0 asks for it
_BOTH_WARMUPS_REFUSED = "4.6"
_RLHF_RECORDED = "4.6"
# Methods whose trainers take the loader of transformers: they have no DataLoaderMixin (4.6.0, `rlhf_trainers/`).
_PLAIN_LOADERS = frozenset({"kto", "orpo", "cpo", "simpo", "reward"})
_BETAS = {"simpo": 2.0, "grpo": 0.04, "other": 0.5}  # 4.6.0, `arguments/rlhf_args.py`; 0.1 for the others

_OWN = frozenset({
    "tuner_type", "train_type", "sft_type", "rlhf_type", "split_dataset_ratio", "torch_dtype", "loss_scale",
    "model_author", "model_name", "dataset_num_proc", "load_from_cache_file", "truncation_strategy", "reward_funcs",
    "custom_train_dataset_path", "model_id_or_path", "freeze_vit", "packing_length", "device_groups",
})  # fmt: skip
_TRAINS = frozenset({
    "num_train_epochs", "max_steps", "per_device_train_batch_size", "learning_rate", "gradient_accumulation_steps",
    "micro_batch_size", "global_batch_size", "lr", "max_epochs", "train_iters", "rlhf_type",
})  # fmt: skip
_ELSE = frozenset({"sampler_type", "sampler_engine", "infer_backend", "num_return_sequences"})

_METHODS = {
    "dpo": "dpo", "orpo": "orpo", "simpo": "simpo", "kto": "kto", "cpo": "cpo", "rm": "reward", "ppo": "ppo",
    "grpo": "grpo", "gkd": "other",
}  # fmt: skip
_TUNINGS = {"full": "full", "lora": "lora", "longlora": "lora", "lorap": "lora", "qlora": "qlora"}


def recognise(document: Document) -> list[Mapping]:
    """A mapping with a model and data, keys that only ms-swift has, and something that trains."""
    found = []
    for mapping in document.mappings():
        names = mapping.last.keys()
        if "model" not in names and "model_type" not in names and "model_id_or_path" not in names:
            continue
        own = len(_OWN & names)
        certain = bool({"tuner_type", "split_dataset_ratio", "rlhf_type", "sft_type"} & names) and own >= 2
        data = "dataset" in names or "cached_dataset" in names or "custom_train_dataset_path" in names
        if certain and data and _TRAINS & names and not _ELSE & names:
            found.append(mapping)
    return found


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`swift sft`, and the scripts and modules behind it."""
    if program[:2] in (("cli", "swift"), ("cli", "megatron")):
        return program[2:3] in (("sft",), ("pt",), ("rlhf",))
    if program[0] == "module" and len(program) > 1:
        return program[1] in ("swift.cli.sft", "swift.cli.pt", "swift.cli.rlhf")
    name = program[1].replace("\\", "/") if len(program) > 1 else ""
    return program[0] == "script" and name.endswith(("swift/cli/sft.py", "swift/cli/pt.py", "swift/cli/rlhf.py"))


def read(reading: Reading) -> Run:
    return _Reader(reading).read()


class _Reader:
    """One start of ms-swift on its way to a run. `kind`: "sft", "pt", "rlhf"."""

    __slots__ = ("hf", "kind", "megatron", "table", "versions")

    def __init__(self, reading: Reading) -> None:
        require_transformers(reading, "ms-swift", _NEWEST)
        self.kind = _kind(reading)
        self.table = table = tables.load("ms-swift", self.kind)
        self.versions = reading.versions.of("ms-swift")
        started = _processes(reading)
        environment = reading.mapping("ENV")
        reading = reading.over([_without_environment(layer) for layer in reading.layers])
        reading.via = "argparse"
        self.hf = hf = Hf(reading, LABEL, table, (), LOADER)
        hf.run.environment = environment
        if started is not None:
            hf.taker.derive("gpus", started)
        own = own_keys(hf, table)
        hf.within = told_by_keys(hf, table, own)
        self.megatron = reading.command[:2] == ("cli", "megatron") or any(
            key in hf.reading for key in ("micro_batch_size", "global_batch_size", "train_iters")
        )
        # Ray's keys and Megatron's arguments are another parser's.
        complete = not self.megatron and not any(key in hf.reading for key in ("use_ray", "ignore_args_error"))
        # Keys that ms-swift declares itself by now were transformers' before: one of them takes them.
        either = {key for key in own if table.home(key) is not table and table.still_own(key)}
        hf.consumer = keys.Consumer("ms-swift", (table,), either, complete=complete, rejects=True)

    def _default(self, key: str, fallback: object = MISSING) -> object:
        """A default where every possible version has the same."""
        low, high = self.versions.low, self.versions.high or self.versions.below
        found = self.table.defaults(key, low if low is not None else "3.6", high)
        return found[0] if len(found) == 1 else fallback

    def read(self) -> Run:
        hf = self.hf
        self._method()
        if self.megatron:
            return self._megatron()
        usual = {
            "per_device_batch": 1,
            "per_device_eval_batch": 1,
            "accumulation": MISSING,
            "epochs": self._default("num_train_epochs"),
            "learning_rate": self._rate(),
            "weight_decay": 0.1,
            "scheduler": "cosine",
            "logging_steps": 5,
            "eval_strategy": MISSING,
        }
        hf.take_common(defaults=usual)
        self._accumulation()
        self._cadence()
        hf.taker.whole("sequence_length", "max_length", default=MISSING)
        self._data()
        self._rest()
        hf.check(metrics=None)
        self._warmups()
        refusals.early_stopping(hf.run)
        self._refused()
        return hf.finish(self._eras())

    def _megatron(self) -> Run:
        """Megatron's arguments in ms-swift's file: the batch is global, and its own loop counts."""
        hf = self.hf
        hf.taker.whole("per_device_batch", "micro_batch_size", default=1)
        hf.taker.whole("global_batch", "global_batch_size", default=16)
        sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
        hf.taker.product("parallel", *sizes)
        hf.taker.number("epochs", "num_train_epochs", "max_epochs", default=MISSING)
        hf.taker.whole("max_steps", "train_iters", default=None)
        hf.taker.number("learning_rate", "lr", "learning_rate", default=MISSING)
        hf.taker.number("warmup_ratio", "lr_warmup_fraction", default=MISSING)
        found = hf.eras(lambda counting, segment: Counting(None, None, _global_batch))
        return hf.finish(found[-1:])

    # Settings -----------------------------------------------------------------------------------------------------

    def _method(self) -> None:
        hf = self.hf
        method = {"sft": "sft", "pt": "pretrain", "rlhf": None}[self.kind]
        entry = hf.entry("rlhf_type")
        if self.kind == "rlhf":
            method = _METHODS.get(text_of(entry.value) or "") if entry is not None else "dpo"
        place = entry.key_span if entry is not None else None
        hf.taker.derive("method", Known(method, WRITTEN, key_span=place) if method is not None else UNKNOWN)
        kind = next((one for key in ("tuner_type", "train_type", "sft_type") if (one := hf.entry(key))), None)
        word = text_of(kind.value) if kind is not None else "lora"
        tuning = _TUNINGS.get(word or "", "other") if word is not None else None
        quantized = hf.entry("quant_bits") is not None or hf.entry("quantization_bit") is not None
        if tuning == "lora" and quantized:
            tuning = "qlora"
        if kind is None and hf.reading.open_ended:
            tuning = None
        place = kind.key_span if kind is not None else None
        origin = WRITTEN if kind is not None else DEFAULT
        hf.taker.derive("tuning", Known(tuning, origin, key_span=place) if tuning is not None else UNKNOWN)

    def _rate(self) -> object:
        tuning = self.hf.setting("tuning")
        if not tuning.exact:
            return MISSING
        return 1e-5 if tuning.value == "full" else 1e-4

    @property
    def _recorded(self) -> bool:
        """Whether only versions remain whose preference tuning is recorded in tests/conformance."""
        return self.versions.at_least(_RLHF_RECORDED) is True

    def _accumulation(self) -> None:
        """Left to the counting where nobody wrote it: it depends on the number of processes."""
        hf = self.hf
        default = self._default("gradient_accumulation_steps", UNKNOWN)
        if hf.entry("gradient_accumulation_steps") is None:
            known = Known(None, DEFAULT) if default is None else UNKNOWN
            if isinstance(default, int):
                known = Known(default, DEFAULT)
            if hf.setting("method").value == "grpo" and default is None:  # one, in 4.6 (`_set_default`)
                known = Known(1, DEFAULT) if self._recorded else between(1, 16, DEFAULT)
            hf.run.settings["accumulation"] = known if not hf.reading.open_ended else UNKNOWN

    def _cadence(self) -> None:
        """Evaluation goes as saving does, unless it is written."""
        settings = self.hf.run.settings
        if "eval_strategy" not in settings:
            saving = settings["save_strategy"]
            settings["eval_strategy"] = Known(saving.value, DEFAULT, exact=saving.exact)
        if self.hf.entry("eval_steps") is None:
            every = settings["save_steps"]
            settings["eval_steps"] = Known(every.value, DEFAULT, exact=every.exact)

    def _rest(self) -> None:
        taker, hf = self.hf.taker, self.hf
        taker.number("stop_epochs", "max_epochs", default=MISSING)
        taker.whole("early_stopping_patience", "early_stop_interval", default=MISSING)
        taker.whole("lora_rank", "lora_rank", default=MISSING)
        taker.word("model", "model", "model_id_or_path", default=MISSING)
        method = hf.setting("method").value
        told = self.kind == "rlhf" and self._recorded and method is not None
        taker.number("beta", "beta", default=_BETAS.get(str(method), 0.1) if told else MISSING)
        generates = told and method == "grpo"
        taker.whole("num_generations", "num_generations", default=8 if generates else MISSING)
        if generates:
            taker.whole("num_iterations", "num_iterations", default=1)
            taker.whole("generation_batch_size", "generation_batch_size", default=None)
            written = taker.whole("steps_per_generation", "steps_per_generation", default=None)
            if written.exact and written.value is None:
                taker.derive("steps_per_generation", hf.setting("accumulation"))
        count = hf.setting("num_generations")
        # Distillation from a teacher (`teacher_model`, `teacher_kl_coef`) does without a group to compare with.
        distills = any(entry.key.startswith("teacher_") for entry, _ in hf.reading.entries())
        grouped = hf.setting("method").value == "grpo" and not distills
        if distills:
            hf.run.settings.pop("num_generations", None)
        if grouped and count.number is not None and count.number < 2 and count.key_span:
            reason = f"GRPO needs at least 2 completions of each prompt, not {count.number:g}"
            taker.observe("too_few_generations", count.key_span, reason=reason)
        sizes = ["sequence_parallel_size"]
        if hf.entry("deepspeed") is not None or hf.reading.open_ended:  # without it, the size is not looked at
            sizes.append("deepspeed_autotp_size")
        self.hf.taker.product("parallel", *sizes)

    def _warmups(self) -> None:
        """Both warmups at once are refused from 4.6 on, and a ratio of 1 or more."""
        run = self.hf.run
        steps, ratio = self.hf.setting("warmup_steps"), self.hf.setting("warmup_ratio")
        newer = self.versions.at_least(_BOTH_WARMUPS_REFUSED)
        where: dict[str, object] = {"package": "ms-swift", "since": _BOTH_WARMUPS_REFUSED}
        if newer is True:
            run.observations[:] = [one for one in run.observations if one.name not in ("two_warmups", "warmup_unit")]
            if ratio.by_hand and ratio.number and ratio.number >= 1 and ratio.key_span is not None:
                values = {"value": ratio.value, "key": "warmup_ratio", "reads_as": "a share of the run"}
                self.hf.taker.observe("warmup_unit", ratio.key_span, None, **values, outcome="rejected", **where)
        place = steps.key_span
        if newer is True and steps.by_hand and ratio.by_hand and steps.number and ratio.number and place is not None:
            self.hf.taker.observe("two_warmups", place, None, wins="none", outcome="rejected", **where)

    def _refused(self) -> None:
        """What ms-swift's own checks refuse (recorded in tests/conformance)."""
        hf, taker = self.hf, self.hf.taker
        taker.refuse_fractions(
            "ms-swift", "per_device_train_batch_size", "per_device_eval_batch_size", "gradient_accumulation_steps"
        )
        share = hf.setting("validation_split")
        if share.number is not None and share.number > 1:
            taker.refuse(("split_dataset_ratio",), "split_dataset_ratio is a share, at most 1", "ms-swift")
        if self.kind == "rlhf" and self._recorded:
            self._refused_preferences()
        lazy = hf.entry("lazy_tokenize")
        if lazy is not None and isinstance(lazy.value, Scalar) and boolean(lazy.value) is True:
            for key in ("packing", "streaming"):
                if hf.setting(key).value is True:
                    taker.refuse(("lazy_tokenize",), f"lazy_tokenize and {key} cannot be set together", "ms-swift")

    def _refused_preferences(self) -> None:
        """What `arguments/rlhf_args.py` and `pipelines/train/kto.py` of 4.6.0 refuse."""
        hf, taker = self.hf, self.hf.taker
        method = hf.setting("method").value
        tuning = hf.setting("tuning")
        adapts = tuning.exact and tuning.value != "full" and hf.setting("beta").value != 0
        if hf.entry("ref_model") is not None and (adapts or method in ("orpo", "cpo", "simpo")):
            taker.refuse(("ref_model",), "ref_model is only for full tuning with dpo, kto, ppo or grpo", "ms-swift")
        strategy = text_of(hf.reading.node("truncation_strategy"))
        if method == "grpo" and strategy in ("right", "split"):
            taker.refuse(("truncation_strategy",), f"GRPO cuts with left or delete, not {strategy}", "ms-swift")
        if method in ("orpo", "cpo", "simpo", "reward", "ppo"):
            if hf.setting("packing").value is True:
                taker.refuse(("packing",), "this rlhf_type does not pack", "ms-swift")
            parallel = hf.reading.node("sequence_parallel_size")
            if isinstance(parallel, Scalar) and (number(parallel) or 1) > 1:
                taker.refuse(("sequence_parallel_size",), "this rlhf_type has no sequence parallelism", "ms-swift")
        unpaired = text_of(hf.reading.node("loss_type")) == "apo_zero_unpaired"
        absent = hf.entry("gradient_accumulation_steps") is None and not hf.reading.open_ended
        if method == "kto" and self.versions.high == self.versions.low == "4.6.0" and absent and not unpaired:
            reason = "KTO ends in a TypeError without gradient_accumulation_steps (4.6.0)"
            taker.refuse(("rlhf_type",), reason, "ms-swift")

    # Data ---------------------------------------------------------------------------------------------------------

    def _data(self) -> None:
        hf, run, taker = self.hf, self.hf.run, self.hf.taker
        if hf.entry("packing") is not None:
            taker.flag("packing", "packing")
            run.settings["packing_joins"] = Known(text_of(hf.reading.node("truncation_strategy")) != "split")
        elif text_of(hf.reading.node("truncation_strategy")) == "split":
            run.settings["batch_unknown"] = Known(True, WRITTEN)  # long texts become several records
        if hf.entry("streaming") is not None:
            taker.flag("streaming", "streaming")
        share = self._split()
        for text, span in _names(hf, "dataset"):
            run.training.append(_source(text, span, hf.reading, share))
        for text, span in _names(hf, "val_dataset"):
            run.validation.append(_source(text, span, hf.reading, 0.0))
        keep = self._keep()
        for source in (*run.training, *run.validation):
            source.keep = keep
        if hf.entry("cached_dataset") is not None or not self._mix():
            run.training.clear()
            run.settings["batch_unknown"] = Known(True, WRITTEN)
        self._validation(share)

    def _mix(self) -> bool:
        """Whether it is known how several sets are put together. Rows that cannot be encoded are left out before or
        after."""
        node = self.hf.reading.node("interleave_prob")
        if node is None or (isinstance(node, Scalar) and node.value is None):
            return True
        shares = shares_of(node)
        entry = self.hf.entry("stopping_strategy")
        strategy = "first_exhausted" if entry is None else text_of(entry.value)
        if shares is None or strategy is None:
            return False
        self.hf.run.mix = interleaving(strategy, shares, dropping=True)
        return True

    def _keep(self) -> Keep | None:
        """Rows that cannot be encoded, over-long ones among them, are left out (or, in lazy loading, taken again)."""
        known = self.hf.entry("custom_dataset_info") is None and self.hf.entry("columns") is None
        strategy = text_of(self.hf.reading.node("truncation_strategy"))
        limit = self.hf.run.settings.get("sequence_length", UNKNOWN).number if strategy in (None, "delete") else None
        return Keep(limit, pairs=self.kind == "rlhf", texts=self.kind == "pt") if known else None

    def _split(self) -> float | None:
        """The share that each data set gives to validation; None where it cannot be known.

        It is 0 without a word where evaluation is off, where validation data is given, and for a stream.
        """
        hf = self.hf
        known = hf.taker.number("split", "split_dataset_ratio", default=self._default("split_dataset_ratio"))
        del hf.run.settings["split"]
        if known.by_hand:
            hf.run.settings["validation_split"] = known
        strategy = hf.setting("eval_strategy")
        streaming = hf.setting("streaming").value is True
        if strategy.value == "no" or hf.entry("val_dataset") is not None or streaming:
            return 0.0
        if known.number == 0:
            return 0.0
        return known.number if strategy.exact else None

    def _validation(self, share: float | None) -> None:
        hf, settings = self.hf, self.hf.run.settings
        entry = hf.entry("val_dataset")
        split = settings.get("validation_split", UNKNOWN)
        if entry is not None:
            hf.run.writes["validation"] = entry.key_span
        if entry is not None or share:
            settings["validation"] = Known(True, WRITTEN)
        elif share is None or hf.reading.open_ended or hf.entry("cached_val_dataset") is not None:
            settings["validation"] = UNKNOWN
        else:
            settings["validation"] = Known(False, DERIVED)
            strategy = settings["eval_strategy"]
            if strategy.exact and strategy.value != "no" and hf.entry("eval_dataset") is None:
                settings["eval_strategy"] = Known("no", DEFAULT)  # nothing to evaluate: it is switched off
        if split.number and settings["eval_strategy"].value == "no" and entry is None and split.key_span is not None:
            key = "eval_strategy" if hf.entry("eval_strategy") is not None else "save_strategy"
            reason = f"{key} is no, so split_dataset_ratio holds out nothing"
            hf.taker.observe("evaluation_off", split.key_span, reason=reason)

    # Counting -----------------------------------------------------------------------------------------------------

    def _eras(self) -> list[Era]:
        method = self.hf.setting("method").value

        def adapt(counting: Counting, segment: Segment) -> Counting:
            counting.batch = _batch
            if segment.warmup == STEPS_ONLY and counting.warmup is not None:
                counting.warmup = _warmup(counting.warmup)
            if method in _PLAIN_LOADERS:
                counting.steps = by_loader(segment.up, segment.zero_limits)
            else:
                counting.steps = _steps(segment.up, segment.zero_limits)
            if method == "grpo" and self._recorded:
                counting.steps = generations.steps(generations.ROUNDS, segment.up, segment.zero_limits)
            elif method in ("grpo", "ppo", None):  # counted in completions, by loops of their own
                counting.steps = None
            return counting

        paired = method == "kto" and text_of(self.hf.reading.node("loss_type")) != "apo_zero_unpaired"
        found = self.hf.eras(adapt)
        for era in found:  # each source's split is taken off its own rows already
            era.counting.records = _paired if paired else _records
            if self._recorded:
                era.versions["ms-swift"] = self.versions
        return found


def _kind(reading: Reading) -> str:
    """The command, or what the keys tell."""
    for word in reading.command:
        name = word.replace("\\", "/").rpartition("/")[2].removesuffix(".py").rpartition(".")[2]
        if name in ("sft", "pt", "rlhf"):
            return name
    return "rlhf" if "rlhf_type" in reading else "sft"


def _processes(reading: Reading) -> Known | None:
    """`ENV: {NPROC_PER_NODE: 8}` in a file: variables that are set, each where it is not yet, before torchrun is chosen
    (`cli/main.py`). This is the count where no launch is seen; a launch counts again over them."""
    per_node, nodes = reading.entry("ENV", "NPROC_PER_NODE"), reading.entry("ENV", "NNODES")
    if per_node is None and nodes is None:
        return None
    product = 1
    for entry in (per_node, nodes):
        node = entry[0].value if entry is not None else None
        count = number(node)
        if entry is not None and (count is None or count < 1 or count != int(count)):
            return UNKNOWN
        product *= int(count or 1)
    place = per_node or nodes
    assert place is not None
    return Known(product, COMPANION, key_span=place[0].key_span, span=place[0].value.span)


def _without_environment(layer: Layer) -> Layer:
    """A layer without `ENV`, which becomes environment variables (`cli/main.py`)."""
    mapping = layer.mapping
    if "ENV" not in mapping:
        return layer
    entries = [entry for entry in mapping.entries if entry.key != "ENV"]
    return Layer(Mapping(mapping.span, entries, mapping.open_ended), layer.origin)


def _warmup(otherwise: Callable[[Get], Warmup | None]) -> Callable[[Get], Warmup | None]:
    """A ratio becomes `warmup_steps` before a transformers without ratios sees it (recorded in 4.6.0)."""

    def count(get: Get) -> Warmup | None:
        ratio = get("warmup_ratio")
        if not ratio.exact:
            return None
        return share_up(ratio.number) if ratio.number and ratio.number < 1 else otherwise(get)

    return count


# Batch and steps ----------------------------------------------------------------------------------------------------


def _batch(get: Get, workers: int | None) -> Batch:
    """Per-device batch x accumulation x workers, where the accumulation that nobody wrote makes about 16 of it.

    The default counts every process, also those that share the work on one sequence.
    """
    per_device, accumulation = get("per_device_batch"), get("accumulation")
    if accumulation.exact and accumulation.value is None:
        size = per_device.number
        if size is None or size < 1 or workers is None:
            accumulation = between(1, 16, DEFAULT)
        else:
            processes = int(workers * (get("parallel").number or 1))
            value = max(1, ceil(16 / size / processes))
            formula = ("max(1, ceil(16 / {} / {}))", (size, processes))
            accumulation = Known(value, DEFAULT, formula=formula)
    return Batch(per_device, accumulation, times(per_device, accumulation, workers))


def _global_batch(get: Get, workers: int | None) -> Batch:
    micro, whole = get("per_device_batch"), get("global_batch")
    accumulation: Known = between(1, None)
    if micro.number and whole.number is not None and workers is not None:
        accumulation = Known(max(1, int(whole.number // (micro.number * workers))), DERIVED)
    return Batch(micro, accumulation, whole if whole.number is not None else between(1, None))


def _steps(up: bool, zero_limits: bool) -> Callable[[Shape], Steps]:
    """Each worker takes floor(N / workers) rows; then as transformers counts."""
    count = by_loader(up, zero_limits)

    def run(shape: Shape) -> Steps:
        each = shape.records // shape.workers
        alone = Shape(
            each,
            shape.per_device,
            shape.accumulation,
            1,
            shape.epochs,
            shape.limit,
            shape.drop_last,
            shape.per_device * shape.accumulation,
            shape.get,
        )
        return count(alone)

    return run


def _records(rows: Known, get: Get) -> Known:
    """Packs are of whole rows: at most as many."""
    if get("packing").value is True:
        return between(1 if rows.low else 0, rows.high, basis=rows.basis)
    return rows


def _paired(rows: Known, get: Get) -> Known:
    """KTO pairs each row with the answer before it in its batch: a row left alone has its own, and is left out."""
    workers = get("gpus").number
    batch = times(get("per_device_batch"), get("accumulation"), int(workers) if workers is not None else None).number
    if rows.number is None or not batch:
        return between(max(0, int(rows.low or 0) - 1), rows.high, basis=rows.basis)
    return rows if rows.number % batch != 1 else Known(int(rows.number) - 1, DERIVED, basis=rows.basis)


# Data -----------------------------------------------------------------------------------------------------------------


def _names(hf: Hf, key: str) -> list[tuple[str | None, Span]]:
    entry = hf.entry(key)
    node = entry.value if entry is not None else None
    if node is None:
        return []
    if isinstance(node, Sequence):
        return [(text_of(item), item.span) for item in node.items]
    text = text_of(node)
    if text is not None and isinstance(node, Scalar) and " " in text.strip():
        return [(part, node.span) for part in text.split()]
    return [(text, node.span)]


def _source(text: str | None, span: Span, reading: Reading, share: float | None) -> DataSource:
    """`id_or_path[:subset]#N`: N rows, with repetition where there are fewer."""
    if text is None or share is None:
        return DataSource(span)
    name, mark, count = text.rpartition("#")
    if not mark or not plain_count(count):
        name, sample = text, None
    else:
        sample = int(count)

    def change(rows: int) -> int | None:
        whole = rows if sample is None else sample
        if not share or share >= 1:
            return whole if share != 1 else 0
        return max(0, whole - max(int(min(rows, whole) * share), 1))

    operations = [each(change)] if sample is not None or share else []
    file = name.endswith((".jsonl", ".json", ".csv", ".parquet", ".txt"))
    local = file or (reading.lookup is not None and reading.lookup.exists(name, reading.base) is True)
    if local:
        return DataSource(span, paths=(name,), base=reading.base, operations=operations, sample=sample, arrow=True)
    rows = Known(sample, WRITTEN, span=span) if sample is not None and not share else UNKNOWN
    hub, _, subset = name.removeprefix("HF::").partition(":")
    return DataSource(span, hub=hub, subset=subset or None, rows=rows, operations=operations, sample=sample)
