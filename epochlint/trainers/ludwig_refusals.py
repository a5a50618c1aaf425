"""What Ludwig's schema and checks refuse of a language model's config, and keys of its trainer that it has not.

Read at 0.11.0 and 0.17.8 (`schema/`, `config_validation/checks.py`) and recorded in tests/conformance at 0.17.8.
"""

from __future__ import annotations

from epochlint.documents.document import Scalar, Sequence
from epochlint.documents.scalars import number
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import Names, slips
from epochlint.trainers.tables import nearest
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.trainers.settings import Taker

CONSUMER = "Ludwig"
# Fields of the trainers for language models, and of their schedule, at 0.17.8.
_TRAINER = Names(
    "base_learning_rate", "batch_size", "bucketing_field", "checkpoints_per_epoch", "compile", "dpo_beta",
    "contrastive_pretrain_epochs", "contrastive_pretrain_learnable_temperature", "contrastive_pretrain_projection_dim",
    "contrastive_pretrain_temperature", "dpo_label_smoothing", "dpo_loss_type", "early_stop", "effective_batch_size",
    "enable_gradient_checkpointing", "enable_profiling", "epochs", "eval_batch_size", "eval_steps",
    "evaluate_training_set", "gradient_accumulation_steps", "gradient_clipping", "grpo_beta", "grpo_epsilon",
    "grpo_num_generations", "increase_batch_size_eval_metric", "increase_batch_size_eval_split",
    "increase_batch_size_on_plateau", "increase_batch_size_on_plateau_patience", "increase_batch_size_on_plateau_rate",
    "kto_beta", "layers_to_freeze_regex", "learning_rate", "learning_rate_scaling", "learning_rate_scheduler",
    "loss_balancing", "loss_balancing_alpha", "loss_balancing_lr", "loss_balancing_preference_vector",
    "loss_balancing_tchebycheff_weight", "max_batch_size", "modality_dropout", "model_soup", "model_soup_top_k",
    "optimizer", "orpo_beta", "packing", "packing_max_sequences_per_pack", "profiler", "regularization_lambda",
    "regularization_type", "rejected_column", "should_shuffle", "skip_all_evaluation", "steps_per_checkpoint",
    "train_steps", "type", "use_mixed_precision", "validation_field", "validation_metric",
)  # fmt: skip
_SCHEDULE = Names(
    "decay", "decay_rate", "decay_steps", "div_factor", "eta_min", "final_div_factor", "inverse_sqrt_warmup_steps",
    "max_lr", "pct_start", "polynomial_end_lr", "polynomial_power", "reduce_eval_metric", "reduce_eval_split",
    "reduce_on_plateau", "reduce_on_plateau_patience", "reduce_on_plateau_rate", "staircase", "t_0", "t_mult",
    "warmup_evaluations", "warmup_fraction", "wsd_decay_fraction", "wsd_stable_fraction", "wsd_warmup_fraction",
)  # fmt: skip
# Words that grow with every version: only a slip of one of them is surely none.
_WORDS = {
    ("trainer", "type"): ("none", "finetune", "dpo", "kto", "orpo", "grpo"),
    ("trainer", "learning_rate_scheduler", "decay"): (
        "linear", "exponential", "cosine", "one_cycle", "inverse_sqrt", "polynomial", "wsd",
    ),
    ("trainer", "optimizer", "type"): (
        "adadelta", "adafactor", "adagrad", "adam", "adamax", "adamw", "ftrl", "lamb", "lars", "lbfgs", "lion", "muon",
        "nadam", "paged_adam", "paged_adamw", "paged_lion", "radam", "rmsprop", "schedule_free_adamw", "sgd",
    ),
    ("adapter", "type"): (
        "adalora", "adaption_prompt", "boft", "c3a", "fourierft", "hra", "ia3", "ln_tuning", "loha", "lokr", "lora",
        "oft", "tinylora", "vblora", "vera", "waveft",
    ),
}  # fmt: skip
_EIGHT_BITS = "_8bit"
_WHOLE = (
    ("trainer", "epochs"), ("trainer", "train_steps"), ("trainer", "batch_size"),
    ("trainer", "gradient_accumulation_steps"), ("adapter", "r"),
)  # fmt: skip
_NUMBERS = (
    ("trainer", "epochs"), ("trainer", "train_steps"), ("trainer", "learning_rate_scheduler", "warmup_fraction"),
    ("trainer", "learning_rate_scheduler", "warmup_evaluations"),
)  # fmt: skip


def check(taker: Taker) -> None:
    """Notes everything; nothing of a config that only predicts."""
    judge = _Judge(taker, CONSUMER)
    judge.keys()
    judge.values()
    judge.words()
    judge.model()
    judge.prompt()


class _Judge(Judge):
    __slots__ = ()

    def keys(self) -> None:
        for path, names in ((("trainer",), _TRAINER), (("trainer", "learning_rate_scheduler"), _SCHEDULE)):
            block = self.reading.mapping(*path)
            if block is not None:
                self.taker.run.observations += slips(block, [names], CONSUMER, rejected=False)

    def values(self) -> None:
        self.taker.refuse_fractions(CONSUMER, *_WHOLE)
        for path in _NUMBERS:
            node = self.reading.node(*path)
            if isinstance(node, Scalar) and isinstance(node.value, str) and number(node) is not None:
                self.refuse(path, f"{path[-1]} must be a number, not a text")
        if is_null(self.reading.node("trainer", "epochs")):
            self.refuse(("trainer", "epochs"), "epochs must be a number, not null")
        limit = self.number("trainer", "train_steps")
        if limit is not None and limit < 0:
            self.refuse(("trainer", "train_steps"), "train_steps must be above 0; leave it out for all epochs")
        evaluations = self.number("trainer", "learning_rate_scheduler", "warmup_evaluations")
        if evaluations is not None and evaluations < 0:
            path = ("trainer", "learning_rate_scheduler", "warmup_evaluations")
            self.refuse(path, "warmup_evaluations must be at least 0")
        rank = self.number("adapter", "r")
        if rank is not None and rank < 1:
            self.refuse(("adapter", "r"), "the rank of an adapter must be at least 1")
        bits = self.number("quantization", "bits")
        if bits is not None and bits not in (4, 8):
            self.refuse(("quantization", "bits"), f"Ludwig quantizes to 4 or 8 bits, not {bits:g}")
        cadences = [self.number("trainer", key) for key in ("steps_per_checkpoint", "checkpoints_per_epoch")]
        if all(one is not None and one > 0 for one in cadences):
            reason = "steps_per_checkpoint and checkpoints_per_epoch exclude each other"
            self.refuse(("trainer", "checkpoints_per_epoch"), reason)

    def words(self) -> None:
        for path, words in _WORDS.items():
            word = text_of(self.reading.node(*path))
            near = nearest(word.removesuffix(_EIGHT_BITS), words, 0.75) if word is not None else None
            if word is not None and word.removesuffix(_EIGHT_BITS) not in words and near is not None:
                self.refuse(path, f"{word} is no {path[-1]} that it knows; did you mean {near}?")
        if text_of(self.reading.node("adapter")) in _WORDS["adapter", "type"]:
            self.refuse(("adapter",), f"adapter must be a mapping: {{type: {text_of(self.reading.node('adapter'))}}}")

    def model(self) -> None:
        reading = self.reading
        if reading.open_ended:
            return
        kind = text_of(reading.node("trainer", "type"))
        adapter, trainer = reading.entry("adapter"), reading.mapping("trainer")
        adapted = adapter is not None and not is_null(adapter[0].value)
        if reading.entry("base_model") is None:
            self.refuse(("model_type",), "base_model is missing")
        if reading.entry("output_features") is None:
            self.refuse(("input_features",), "output_features is missing")
        if trainer is not None and "type" not in trainer and not trainer.open_ended:
            self.refuse(("trainer",), "the type of the trainer is missing")
        weights = reading.node("adapter", "pretrained_adapter_weights")
        if adapted and (weights is None or is_null(weights)):
            if reading.entry("trainer") is None:
                self.refuse(("adapter",), "an adapter needs a trainer of type finetune")
            elif kind in ("none", "dpo", "kto", "orpo", "grpo"):
                self.refuse(("trainer", "type"), f"beside an adapter the trainer's type must be finetune, not {kind}")
        quantized = reading.mapping("quantization")
        if quantized is not None and kind not in (None, "none"):
            if not adapted:
                self.refuse(("quantization",), "quantization needs an adapter of type lora")
            elif text_of(reading.node("adapter", "type")) not in ("lora", None):
                self.refuse(("adapter", "type"), "quantization needs an adapter of type lora")
        self._features(kind)

    def _features(self, kind: str | None) -> None:
        inputs, outputs = self.reading.node("input_features"), self.reading.node("output_features")
        if isinstance(inputs, Sequence) and len(inputs.items) > 1 and not self._true("is_multimodal"):
            self.refuse(("input_features",), "a language model takes exactly one text")
        first = self._type_of(inputs)
        if first is not None and first.isalpha() and first not in ("text", "image"):
            self.refuse(("input_features",), f"a language model takes a text, not a {first}")
        last = self._type_of(outputs)
        if kind == "finetune" and last is not None and last.isalpha() and last != "text":
            self.refuse(("output_features",), f"finetune needs a text as its output, not a {last}")

    def _type_of(self, node: object) -> str | None:
        items = node.items if isinstance(node, Sequence) else []
        return text_of(getattr(items[0], "get", lambda key: None)("type")) if items else None

    def _true(self, key: str) -> bool:
        node = self.reading.node(key)
        return isinstance(node, Scalar) and node.value is True

    def prompt(self) -> None:
        template = text_of(self.reading.node("prompt", "template"))
        task = self.reading.node("prompt", "task")
        if not template:
            return
        named = set(_named(template))
        if not named and (task is None or is_null(task)):
            self.refuse(("prompt", "template"), "the template names no column, and not {__sample__}")
        outputs = self.reading.node("output_features")
        items = outputs.items if isinstance(outputs, Sequence) else []
        first = items[0] if items else None
        get = getattr(first, "get", None)
        answer = text_of(get("column") or get("name")) if get is not None else None
        if answer is not None and answer in named:
            self.refuse(("prompt", "template"), f"the template names {answer}, which is the answer")


def _named(template: str) -> Iterator[str]:
    """What its check takes for columns: the text from a brace to the next closing one of the line. Of `{{b}}`, which
    stands for itself, that is no column."""
    for line in template.split("\n"):
        begin = line.find("{")
        while begin >= 0 and (end := line.find("}", begin)) >= 0:
            yield line[begin + 1 : end]
            begin = line.find("{", end)
