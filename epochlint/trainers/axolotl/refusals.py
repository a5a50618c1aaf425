"""What Axolotl's own schema refuses, said before it does.

Read in `utils/schemas/validation.py`, `config.py`, `peft.py`, `training.py` (0.5 to 0.19) and measured by passing
configs through the real schemas.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.trainers.settings import text_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.trainers.settings import Taker

_WHOLE = (
    "micro_batch_size", "gradient_accumulation_steps", "batch_size", "max_steps", "evals_per_epoch", "saves_per_epoch",
    "sequence_len", "save_total_limit", "lora_r", "lora_alpha",
)  # fmt: skip
_PREFERENCE = ("dpo", "ipo", "orpo", "kto", "simpo", "gdpo")


def refusals(taker: Taker) -> None:
    """Notes each combination that is refused, and warmups that the schema cannot take."""
    _warmups(taker)
    _early_stopping(taker)
    _unfed(taker)
    taker.refuse_fractions("Axolotl", *_WHOLE)
    _parts_beyond(taker)
    for key, reason in _Checks(taker):
        found = taker.reading.entry(*key.split("."))
        span = found[0].key_span if found is not None else taker.run.span
        taker.observe("rejected", span, reason=reason, consumer="Axolotl")


def _warmups(taker: Taker) -> None:
    run = taker.run
    steps, ratio = run.setting("warmup_steps"), run.setting("warmup_ratio")
    if steps.number is not None and steps.number != int(steps.number) and steps.key_span is not None:
        taker.observe(
            "warmup_unit",
            steps.key_span,
            value=steps.value,
            key="warmup_steps",
            reads_as="a number of steps",
            outcome="rejected",
        )
    elif steps.number and ratio.number and ratio.key_span is not None:
        taker.observe("two_warmups", ratio.key_span, wins="neither", outcome="rejected")


def _early_stopping(taker: Taker) -> None:
    """Only the builder for supervised tuning adds the callback (0.8.0 to 0.19.0, core/builders; HFRLTrainerBuilder)."""
    patience, rl = taker.run.setting("early_stopping_patience"), taker.reading.text("rl")
    if patience.number and patience.key_span is not None and rl:
        reason = f"Axolotl's trainer for {rl} is built without it"
        taker.observe("early_stopping_ignored", patience.key_span, reason=reason)


def _unfed(taker: Taker) -> None:
    """An evaluation cadence beside a written `val_set_size: 0` (`check_eval_validation_set_size`)."""
    checks = _Checks(taker)
    if checks.number("val_set_size") != 0 or checks.given("test_datasets"):
        return
    strategies = [key for key in ("eval_strategy", "evaluation_strategy") if checks.word(key) not in (None, "no")]
    found = taker.reading.entry("eval_steps" if checks.number("eval_steps") else (*strategies, "eval_strategy")[0])
    if found is not None and (strategies or checks.number("eval_steps")):
        reason = "Axolotl refuses an evaluation cadence beside val_set_size 0"
        taker.observe("evaluation_without_data", found[0].key_span, reason=reason)


class _Checks:
    """The checks, each giving (key to point at, reason)."""

    def __init__(self, taker: Taker) -> None:
        self.reading = taker.reading
        self.run = taker.run

    def given(self, *path: str) -> bool:
        """Written and not null."""
        node = self.reading.node(*path)
        return node is not None and not is_null(node)

    def true(self, *path: str) -> bool:
        node = self.reading.node(*path)
        return isinstance(node, Scalar) and boolean(node) is True

    def false(self, *path: str) -> bool:
        """Left out, null, or written as false; a word that some other tool replaces is neither."""
        node = self.reading.node(*path)
        return node is None or is_null(node) or (isinstance(node, Scalar) and boolean(node) is False)

    def number(self, *path: str) -> float | None:
        node = self.reading.node(*path)
        return number(node)

    def word(self, *path: str) -> str | None:
        text = text_of(self.reading.node(*path))
        return text.lower() if text is not None else None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield from self._batches()
        yield from self._cadence()
        yield from self._data()
        yield from self._adapters()
        yield from self._optimizer()
        yield from self._preference()

    def _batches(self) -> Iterator[tuple[str, str]]:
        if self.given("batch_size") and self.given("gradient_accumulation_steps"):
            yield "batch_size", "batch_size and gradient_accumulation_steps are both set; only one may be"
        elif self.given("batch_size") and not self.given("micro_batch_size") and not self.reading.open_ended:
            yield "batch_size", "batch_size needs micro_batch_size beside it"
        if is_null(self.reading.node("num_epochs")):
            yield "num_epochs", "num_epochs is there without a value; leave it out for the default"

    def _cadence(self) -> Iterator[tuple[str, str]]:
        evaluation = self.word("eval_strategy") or self.word("evaluation_strategy")
        saving = self.word("save_strategy")
        if self.given("save_steps") and self.number("save_steps"):
            if saving is not None and saving != "steps":
                yield "save_strategy", f"save_steps is set, so save_strategy must be steps, not {saving}"
            if self.given("saves_per_epoch"):
                yield "saves_per_epoch", "save_steps and saves_per_epoch are both set"
        elif self.given("saves_per_epoch") and saving is not None and saving != "steps":
            yield "saves_per_epoch", f"saves_per_epoch needs save_strategy steps, not {saving}"
        if self.given("eval_steps") and self.number("eval_steps"):
            if evaluation is not None and evaluation != "steps":
                yield "eval_steps", f"eval_steps is set, so eval_strategy must be steps, not {evaluation}"
            if self.given("evals_per_epoch"):
                yield "evals_per_epoch", "eval_steps and evals_per_epoch are both set"
        elif self.given("evals_per_epoch") and evaluation is not None and evaluation != "steps":
            yield "evals_per_epoch", f"evals_per_epoch needs eval_strategy steps, not {evaluation}"
        if saving == "best" and not self.given("metric_for_best_model"):
            yield "save_strategy", "save_strategy best needs metric_for_best_model"
        yield from self._early_stopping()

    def _early_stopping(self) -> Iterator[tuple[str, str]]:
        if not self.number("early_stopping_patience"):
            return
        save, evaluate = self.number("save_steps"), self.number("eval_steps")
        if not save or not evaluate:
            yield (
                "early_stopping_patience",
                "early_stopping_patience needs save_steps and eval_steps (evals_per_epoch does not count)",
            )
        elif save % evaluate != 0:
            yield "early_stopping_patience", "early_stopping_patience needs save_steps to be a multiple of eval_steps"

    def _data(self) -> Iterator[tuple[str, str]]:
        if is_null(self.reading.node("val_set_size")) and self.word("rl") is None:
            yield "val_set_size", "val_set_size is there without a value, and a comparison with it fails; write 0"
        elif self.number("val_set_size") == 1:
            yield "val_set_size", "val_set_size 1 is neither a share below 1 nor a number of rows above it"
        if isinstance(self.reading.node("test_datasets"), Sequence) and self.number("val_set_size"):
            yield "val_set_size", "test_datasets and val_set_size are both set"
        pretraining = self.given("pretraining_dataset")
        streaming = pretraining or self.true("streaming")
        if streaming and self.number("val_set_size"):
            yield "val_set_size", "a stream cannot be split: val_set_size must be 0 with streaming data"
        if (
            not pretraining
            and not self.given("datasets")
            and not self.reading.open_ended
            and "datasets" not in self.reading
        ):
            yield "datasets", "neither datasets nor pretraining_dataset is set"
        datasets = self.reading.node("datasets")
        if isinstance(datasets, Sequence):
            from epochlint.documents.document import Mapping

            for item in datasets.items:
                kind = text_of(item.get("type")) if isinstance(item, Mapping) else None
                if kind is not None and kind.startswith("sharegpt") and self._at_least("0.8"):
                    yield "datasets", "the type sharegpt was removed; chat_template takes its place"
                    break

    def _at_least(self, version: str) -> bool:
        return self.reading.versions.of("axolotl").at_least(version) is True

    def _adapters(self) -> Iterator[tuple[str, str]]:
        adapter = self.word("adapter")
        four, eight = self.true("load_in_4bit"), self.true("load_in_8bit")
        if adapter is None and "adapter" not in self.reading and (four or eight):
            key = "load_in_4bit" if four else "load_in_8bit"
            if not self.true("gptq") and not self.given("relora"):
                yield key, f"{key} without an adapter: quantized weights cannot be trained"
        if adapter == "qlora" and not self.true("merge_lora"):
            if eight:
                yield "load_in_8bit", "qlora cannot load in 8 bit"
            elif self.false("load_in_4bit") and not self.true("gptq") and not self._quantized_model():
                yield "adapter", "qlora needs load_in_4bit: true"
        if self.given("deepspeed") and (self.given("fsdp") or self.given("fsdp_config")):
            yield "deepspeed", "deepspeed and fsdp are both set"

    def _optimizer(self) -> Iterator[tuple[str, str]]:
        if self.given("lr_groups") and self.number("loraplus_lr_ratio"):
            yield "lr_groups", "lr_groups and loraplus_lr_ratio are both set"
        noise = self.number("neftune_noise_alpha")
        if noise is not None and noise <= 0:
            yield "neftune_noise_alpha", f"neftune_noise_alpha must be above 0, not {noise:g}; leave it out for none"
        packed = self.true("sample_packing") and not self._written_false("eval_sample_packing")
        if packed and self.number("eval_table_size"):
            yield (
                "eval_table_size",
                "eval_table_size needs eval_sample_packing: false beside sample_packing",
            )

    def _written_false(self, *path: str) -> bool:
        node = self.reading.node(*path)
        return isinstance(node, Scalar) and boolean(node) is False

    def _quantized_model(self) -> bool:
        """A base model that is published in four bits may be loaded as it is."""
        model = (self.word("base_model") or "").replace("_", "-")
        return self.given("model_quantization_config") or self.given("quantization") or "gptq" in model

    def _preference(self) -> Iterator[tuple[str, str]]:
        method = self.word("rl")
        if method in _PREFERENCE and self.true("sample_packing"):
            yield "sample_packing", f"sample_packing does not go with rl: {method}"
        if method == "simpo" and self.number("warmup_ratio"):
            yield "warmup_ratio", "rl: simpo does not take warmup_ratio"
        if method == "grpo":
            yield from self._groups()
        if method == "kto" and not self._kto_columns():
            yield "rl", "rl: kto needs remove_unused_columns: false"

    def _groups(self) -> Iterator[tuple[str, str]]:
        """The generation batch of GRPO must hold whole groups (0.19.0, `check_grpo_batch_size_divisibility`, which
        counts one process)."""
        size = self.number("trl", "num_generations")
        if size is None or size < 1 or size != int(size) or not self._at_least("0.19"):
            return
        batch = self.number("trl", "generation_batch_size")
        if batch is None and not self.given("trl", "generation_batch_size"):
            micro, accumulation = self._or_one("micro_batch_size"), self._or_one("gradient_accumulation_steps")
            batch = micro * accumulation if micro is not None and accumulation is not None else None
        if batch is not None and batch % size:
            yield (
                "trl.num_generations",
                f"the generation batch of {batch:g} (micro batch x accumulation) holds no whole groups of {size:g}",
            )

    def _or_one(self, key: str) -> float | None:
        """A number, 1 where nothing or 0 is written, None where it cannot be known."""
        return (self.number(key) or 1) if not self.given(key) or self.number(key) is not None else None

    def _kto_columns(self) -> bool:
        return self._written_false("remove_unused_columns")


def _parts_beyond(taker: Taker) -> None:
    """`datasets` has parts 0 to shards - 1."""
    node = taker.reading.node("datasets")
    for item in node.items if isinstance(node, Sequence) else []:
        if not isinstance(item, Mapping):
            continue
        parts, entry = item.get("shards"), item.entry("shards_idx")
        many = number(parts)
        place = number(entry.value) if entry is not None and isinstance(entry.value, Scalar) else None
        if entry is not None and many and place is not None and place >= many:
            reason = f"of {many:g} shards the last one is {many - 1:g}, not {place:g}"
            taker.observe("rejected", entry.key_span, reason=reason, consumer="Axolotl")
