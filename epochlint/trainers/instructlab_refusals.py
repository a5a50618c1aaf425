"""What InstructLab's training library, Training Hub and `ilab` refuse before anything is trained, and keys that they
drop without a word.

Read in instructlab-training 0.3.2 to 0.16.2 (`config.py`, `utils.py`), training-hub 0.11.2 (`algorithms/`, `utils.py`),
mini-trainer 0.9.0 (`training_types.py`) and instructlab 0.26.1 (`configuration.py`); recorded in tests/conformance.
"""

from __future__ import annotations

from epochlint.documents.document import Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.trainers import tables
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import Names, below, slips
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker
    from epochlint.trainers.tables import Table

# What `**kwargs` of `osft` hand to mini-trainer beside its own names.
_MINI = Names(
    "model_name_or_path", "batch_size", "output_dir", "num_warmup_steps", "beta1", "beta2", "eps", "weight_decay",
    "use_liger_kernels", "osft", "osft_unfreeze_rank_ratio", "osft_target_patterns", "osft_upcast_dtype",
    "min_samples_per_checkpoint", "training_mode", "max_epochs", "max_steps", "max_tokens", "save_dtype", "train_dtype",
    "validation_split", "validation_data_path", "validation_frequency", "validate_at_epoch",
    "min_samples_per_validation", "validate_at_final", "pretraining_config", "save_best_val_loss",
    "val_loss_improvement_threshold", "on_demand_checkpointing", "resume_from_full_state_checkpoint", "rdzv_backend",
)  # fmt: skip
_BACKENDS = ("fsdp", "deepspeed")
_ILAB_WORDS = {
    "pipeline": ("simple", "full", "accelerated"),
    "device": ("cpu", "mps", "cuda", "hpu"),
    "distributed_backend": _BACKENDS,
}
_SHARDINGS = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD")
# Arguments of `sft` that its function leaves open and its backend's class asks for.
_ASKED_LATER = ("effective_batch_size", "learning_rate", "max_seq_len")
# What a class or a function asks for in every version of it.
_ABOVE_ZERO = ("phased_phase1_num_epochs", "phased_phase2_num_epochs")
_NOT_NEGATIVE = (
    "phased_phase1_samples_per_save", "phased_phase2_samples_per_save", "phased_phase1_learning_rate",
    "phased_phase2_learning_rate",
)  # fmt: skip


def check(taker: Taker, name: str) -> None:
    """Notes everything about one of the ways in (`instructlab._WAYS`)."""
    table = _table(name)
    consumer = {"TrainingArgs": "instructlab-training", "ilab": "ilab"}.get(name, "Training Hub")
    judge = _Judge(taker, name, table, consumer)
    judge.keys()
    judge.numbers()
    judge.words()
    judge.together()
    if name != "ilab":
        judge.missing()


def _table(name: str) -> Table:
    if name == "ilab":
        return tables.load("instructlab", "train")
    package = "instructlab-training" if name == "TrainingArgs" else "training-hub"
    return tables.load(package, name)


class _Judge(Judge):
    __slots__ = ("name", "table")

    def __init__(self, taker: Taker, name: str, table: Table, consumer: str) -> None:
        super().__init__(taker, consumer)
        self.name = name
        self.table = table

    # Keys -----------------------------------------------------------------------------------------------------------

    def keys(self) -> None:
        """Keys that nobody takes are dropped: by pydantic, or by `**kwargs`."""
        observations = self.taker.run.observations
        for layer in self.reading.layers:
            if self.name == "TrainingArgs":
                observations += below(layer.mapping, self.table, self.consumer, rejected=False)
            else:
                observations += slips(layer.mapping, [self.table, *self._others()], self.consumer, rejected=False)

    def _others(self) -> list[Table | Names]:
        if self.name == "sft":
            return [tables.load("instructlab-training", one) for one in ("TrainingArgs", "TorchrunArgs")]
        return [_MINI] if self.name == "osft" else []

    # Values ---------------------------------------------------------------------------------------------------------

    def numbers(self) -> None:
        strict = self.name == "osft"  # `isinstance`, where the others cast
        for key, (entry, _) in self.reading.top.items():
            node = entry.value
            types = self.table.type(key).split("|") if self.table.known(key) else []
            if not isinstance(node, Scalar) or node.value is None or not types or "str" in types:
                continue
            value = number(node)
            if strict:
                self._exactly(key, node, types)
            elif types == ["int"] and value is not None and value != int(value) and self.name != "lora_sft":
                self.refuse((key,), f"{key} must be a whole number, not {value:g}")
        if self.name == "lora_sft":
            self._of_lora()
        if self.name == "osft":
            self._of_osft()
        self._limits()

    def _exactly(self, key: str, node: Scalar, types: list[str]) -> None:
        """`learning_rate=1` is no float to it, `num_epochs=2.0` no int."""
        value = node.value
        found = type(value).__name__
        fits = found in types or (found == "bool" and "int" in types)
        if found in ("int", "float", "bool") and not fits and {"int", "float", "bool"} & set(types):
            self.refuse((key,), f"{key} must be {_article(types[0])}, not {node.raw}, which is {_article(found)}")
        elif isinstance(value, str) and number(node) is not None and {"int", "float"} & set(types):
            self.refuse((key,), f"{key} must be {_article(types[0])}, not a text")
        elif isinstance(value, str) and types == ["bool"] and boolean(node) is not None:
            self.refuse((key,), f"{key} must be True or False, not a text")

    def _of_lora(self) -> None:
        consumer = "transformers"
        self.taker.refuse_fractions(consumer, "micro_batch_size", "gradient_accumulation_steps", "effective_batch_size")
        for key in ("num_epochs", "micro_batch_size", "learning_rate", "warmup_steps", "effective_batch_size"):
            node = self.reading.node(key)
            if isinstance(node, Scalar) and isinstance(node.value, str) and number(node) is not None:
                self.refuse((key,), f"{key} must be a number, not a text")

    def _of_osft(self) -> None:
        ratio = self.reading.node("unfreeze_rank_ratio")
        value = number(ratio)
        if value is not None and not 0 <= value <= 1:
            self.refuse(("unfreeze_rank_ratio",), f"unfreeze_rank_ratio must lie between 0 and 1, not {value:g}")

    def _limits(self) -> None:
        length = self.taker.run.setting("sequence_length")
        if length.by_hand and length.number is not None and length.number < 1:
            self.refuse(("max_seq_len",), "no record is shorter than that")
        if self.name != "ilab":
            return
        for keys, least, told in ((_ABOVE_ZERO, 1, "above 0"), (_NOT_NEGATIVE, 0, "at least 0")):
            for key in keys:
                node = self.reading.node(key)
                value = number(node)
                if value is not None and value < least:
                    self.refuse((key,), f"{key} must be {told}")
        epochs = self.reading.entry("num_epochs")
        if epochs is not None and is_null(epochs[0].value):
            self.refuse(("num_epochs",), "num_epochs must be a number, not null")

    # Words ----------------------------------------------------------------------------------------------------------

    def words(self) -> None:
        if self.name == "ilab":
            for key, words in _ILAB_WORDS.items():
                self._word(key, words)
            if text_of(self.reading.node("nproc_per_node")) in ("gpu", "auto"):
                self.refuse(("nproc_per_node",), "nproc_per_node must be a number")
            return
        if self.name == "TrainingArgs":
            self._word("log_level", self.table.words("log_level"))
            self._word("distributed_backend", _BACKENDS)
            sharding = text_of(self.reading.node("fsdp_options", "sharding_strategy"))
            if sharding is not None and sharding.isupper() and sharding not in _SHARDINGS:
                self.taker.refuse(
                    ("fsdp_options", "sharding_strategy"),
                    f"{sharding} is none of {', '.join(_SHARDINGS)}",
                    self.consumer,
                )
            quantized = text_of(self.reading.node("lora", "quantize_data_type"))
            if quantized is not None and quantized.isalnum() and quantized != "nf4":
                reason = f"{quantized} is no quantization that it knows, only nf4"
                self.taker.refuse(("lora", "quantize_data_type"), reason, self.consumer)
            betas = self.reading.node("adamw_betas")
            if isinstance(betas, Sequence) and len(betas.items) != 2:
                self.refuse(("adamw_betas",), "adamw_betas must be two numbers")
            return
        if self.name in ("osft", "lora_sft"):
            self._word("lr_scheduler", tables.load("transformers", "TrainingArguments").words("lr_scheduler_type"))
        if self.name in ("sft", "osft"):
            processes = text_of(self.reading.node("nproc_per_node"))
            if processes is not None and processes.isalpha() and processes.lower() not in ("auto", "gpu"):
                self.refuse(("nproc_per_node",), f"nproc_per_node must be auto, gpu or a number, not {processes}")
        usual = {"sft": "instructlab-training", "osft": "mini-trainer", "lora_sft": "unsloth"}[self.name]
        others = {"instructlab-training", "mini-trainer", "unsloth"} - {usual}
        backend = text_of(self.reading.node("backend"))
        if backend in others:
            self.refuse(("backend",), f"{self.name} has no backend {backend}, but {usual}")

    def _word(self, key: str, words: tuple[str, ...]) -> None:
        word = text_of(self.reading.node(key))
        if words and word is not None and word.replace("_", "").isalnum() and word not in words:
            self.refuse((key,), f"{word} is none of {', '.join(words)}")

    # Together -------------------------------------------------------------------------------------------------------

    def together(self) -> None:
        if self._given("rdzv_endpoint") and self._given("master_addr"):
            self.refuse(("master_addr",), "master_addr and rdzv_endpoint exclude each other")
        if self.name in ("sft", "osft") and self._true("is_pretraining"):
            if not self.reading.open_ended and self.reading.entry("block_size") is None:
                self.refuse(("is_pretraining",), "is_pretraining needs block_size")
            if self.name == "osft" and self._true("unmask_messages"):
                self.refuse(("unmask_messages",), "unmask_messages and is_pretraining exclude each other")
        limit = "max_tokens_per_gpu" if self.name == "sft" else "max_batch_len"
        if self.name in ("TrainingArgs", "sft", "ilab"):
            most, length = self.number(limit), self.number("max_seq_len")
            if most is not None and length is not None and most < length:
                self.refuse((limit,), f"{limit} {most:g} holds no record of max_seq_len {length:g}")
        if self.name in ("TrainingArgs", "sft"):
            self._validation()
        if self.name == "TrainingArgs":
            self._lora()

    def _validation(self) -> None:
        split, every = self.number("validation_split"), self.reading.entry("validation_frequency")
        if split is None:
            return
        if not 0 <= split < 1:
            self.refuse(("validation_split",), f"validation_split must be at least 0 and below 1, not {split:g}")
        elif split > 0 and every is None and not self.reading.open_ended:
            self.refuse(("validation_split",), "validation_split needs validation_frequency")
        elif split > 0 and every is not None:
            value = self.number("validation_frequency")
            if is_null(every[0].value) or (value is not None and value <= 0):
                self.refuse(("validation_frequency",), "validation_frequency must be above 0 beside validation_split")

    def _lora(self) -> None:
        block = self.reading.mapping("lora")
        if block is None or self.reading.open_ended or block.open_ended:
            return
        rank = block.get("rank")
        value = number(rank) if isinstance(rank, Scalar) else 4 if rank is None else None
        if value is None or value <= 0:
            return
        full = self.reading.node("accelerate_full_state_at_epoch")
        if full is None or (isinstance(full, Scalar) and boolean(full) is True):
            self.refuse(("lora",), "LoRA needs accelerate_full_state_at_epoch to be False")
        elif self._true("use_liger"):
            self.refuse(("use_liger",), "use_liger and LoRA exclude each other")

    # Missing --------------------------------------------------------------------------------------------------------

    def missing(self) -> None:
        """Arguments that every version asks for. Where some are given by place alone, nothing is said."""
        top = self.reading.top
        if self.reading.open_ended or any(key.isdigit() for key in top):
            return
        needed = [key for key in self.table.names() if self._always_required(key)]
        if self.name == "sft":
            needed += _ASKED_LATER
        for key in sorted(needed):
            if key not in top:
                span = self.reading.span
                self.taker.observe("rejected", span, reason=f"{key} is missing", consumer=self.consumer)

    def _always_required(self, key: str) -> bool:
        return all(self.table.required(key, version) for version in self.table.versions)

    # Reading --------------------------------------------------------------------------------------------------------

    def _given(self, key: str) -> bool:
        return bool(text_of(self.reading.node(key)))

    def _true(self, key: str) -> bool:
        node = self.reading.node(key)
        return isinstance(node, Scalar) and boolean(node) is True


def _article(kind: str) -> str:
    return f"an {kind}" if kind == "int" else f"a {kind}"
