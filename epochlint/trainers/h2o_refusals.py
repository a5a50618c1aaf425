"""What H2O LLM Studio refuses of an experiment's YAML, or breaks over; keys of its training that it has not.

Read at commit a4971c11 (`python_configs/`, `src/utils/data_utils.py`, `src/schedulers.py`) and recorded in
tests/conformance.
"""

from __future__ import annotations

from epochlint.documents.document import Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.trainers.judge import Judge
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import Names, slips
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.trainers.settings import Taker

CONSUMER = "H2O LLM Studio"
# Fields of `training` of every problem type, at a4971c11 and before.
_TRAINING = Names(
    "adaptive_kl_control", "advantages_gamma", "advantages_lambda", "attention_implementation", "batch_size", "beta",
    "differential_learning_rate", "differential_learning_rate_layers", "drop_last_batch", "epochs",
    "evaluate_before_training", "evaluation_epochs", "ppo_epochs", "rollout_steps", "use_rlhf", "reward_model",
    "freeze_layers", "full_kl_penalty", "grad_accumulation", "gradient_clip", "initial_kl_coefficient", "kl_horizon",
    "kl_target", "learning_rate", "lora", "lora_alpha", "lora_dropout", "lora_r", "lora_target_modules",
    "lora_unfreeze_layers", "loss_class", "loss_function", "min_learning_rate_ratio", "offload_reward_model",
    "optimizer", "ppo_batch_size", "ppo_clip_policy", "ppo_clip_value", "ppo_generate_temperature",
    "save_best_checkpoint", "save_checkpoint", "scaling_factor_value_loss", "schedule", "simpo_gamma",
    "train_validation_data", "use_dora", "use_flash_attention_2", "use_rslora", "warmup_epochs", "weight_decay",
    "num_classes", "value_clip",
)  # fmt: skip
_SCHEDULES = ("Cosine", "Linear", "Constant")
_NUMBERS = ("epochs", "batch_size", "grad_accumulation", "learning_rate", "warmup_epochs", "evaluation_epochs")
_ENDINGS = (".csv", ".pq", ".parquet")
_QUANTIZED = ("int4", "int8")


def check(taker: Taker) -> None:
    """Notes everything."""
    judge = _Judge(taker, CONSUMER)
    judge.keys()
    judge.training()
    judge.data()
    judge.together()


class _Judge(Judge):
    __slots__ = ()

    def keys(self) -> None:
        block = self.reading.mapping("training")
        if block is not None:
            self.taker.run.observations += slips(block, [_TRAINING], CONSUMER, rejected=False)

    def training(self) -> None:
        self.taker.refuse_fractions(CONSUMER, ("training", "epochs"), ("training", "batch_size"))
        for key in _NUMBERS:
            node = self.reading.node("training", key)
            if isinstance(node, Scalar) and isinstance(node.value, str) and number(node) is not None:
                self.refuse(("training", key), f"{key} must be a number, not a text")
        epochs = self.reading.node("training", "epochs")
        if is_null(epochs):
            self.refuse(("training", "epochs"), "epochs must be a number, not null")
        elif isinstance(epochs, Scalar) and isinstance(epochs.value, float) and epochs.value.is_integer():
            self.refuse(("training", "epochs"), f"epochs must be a whole number, not {epochs.raw}")
        word = text_of(self.reading.node("training", "schedule"))
        if word is not None and word.isalpha() and word not in _SCHEDULES:
            self.refuse(("training", "schedule"), f"{word} is none of {', '.join(_SCHEDULES)}")

    def data(self) -> None:
        strategy = text_of(self.reading.node("dataset", "validation_strategy"))
        if strategy is not None and strategy.isalpha() and strategy not in ("automatic", "custom"):
            self.refuse(("dataset", "validation_strategy"), f"{strategy} is no strategy, only automatic and custom")
        frame = text_of(self.reading.node("dataset", "validation_dataframe"))
        if strategy == "custom" and frame == "None":
            self.refuse(("dataset", "validation_dataframe"), "the strategy custom needs a validation_dataframe")
        size = self.number("dataset", "validation_size")
        if strategy == "automatic" and size is not None and size == 1 and "." in self._raw("validation_size"):
            self.refuse(("dataset", "validation_size"), "a share of 1 leaves nothing to train on")
        table = text_of(self.reading.node("dataset", "train_dataframe"))
        if table and "." in table.rpartition("/")[2] and not table.lower().endswith(_ENDINGS):
            self.refuse(("dataset", "train_dataframe"), f"a table ends in {', '.join(_ENDINGS)}")

    def together(self) -> None:
        gpus = self.reading.node("environment", "gpus")
        count = len(gpus.items) if isinstance(gpus, Sequence) else None
        if count == 0:
            self.refuse(("environment", "gpus"), "at least one GPU must be named")
        dtype = text_of(self.reading.node("architecture", "backbone_dtype"))
        if self._flag("environment", "use_deepspeed") is True:
            if dtype in _QUANTIZED:
                self.refuse(("architecture", "backbone_dtype"), f"DeepSpeed does not go with {dtype}")
            if count == 1:
                self.refuse(("environment", "use_deepspeed"), "DeepSpeed needs more than one GPU")
        if dtype in _QUANTIZED and self._flag("architecture", "pretrained") is False:
            self.refuse(("architecture", "pretrained"), f"{dtype} needs a pretrained model")
        relative = text_of(self.reading.node("logging", "log_step_size")) == "relative"
        if relative and text_of(self.reading.node("logging", "logger")) == "W&B":
            self.refuse(("logging", "log_step_size"), "W&B takes absolute step sizes only")

    def _flag(self, *path: str) -> bool | None:
        node = self.reading.node(*path)
        return boolean(node) if isinstance(node, Scalar) else None

    def _raw(self, key: str) -> str:
        node = self.reading.node("dataset", key)
        return node.raw if isinstance(node, Scalar) else ""
