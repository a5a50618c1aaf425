"""Which mappings are LLaMA-Factory's training configs, of the old and of the new kind."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.trainers.trainer import Reading

# Names that no other trainer's flat file has beside `model_name_or_path` (llamafactory 0.9.5, `hparams/`).
_OWN = frozenset({"stage", "finetuning_type", "template", "cutoff_len", "dataset_dir", "lora_target", "plot_loss"})
_TRAINS = frozenset({
    "num_train_epochs", "max_steps", "per_device_train_batch_size", "learning_rate", "gradient_accumulation_steps",
    "lr_scheduler_type", "save_steps",
})  # fmt: skip
# What only inference, evaluation and merging take.
_ELSE = frozenset({"infer_backend", "export_dir", "export_size", "task", "infer_dtype"})

# Names of the newer format (`USE_V1`, `v1/config/`).
_V1 = frozenset({"model_class", "kernel_config", "dist_config", "sample_backend", "peft_config", "quant_config"})
_V1_TRAINS = frozenset({
    "train_dataset", "micro_batch_size", "global_batch_size", "learning_rate", "num_train_epochs", "max_steps",
    "batching_strategy",
})  # fmt: skip


def is_v0(mapping: Mapping) -> bool:
    keys = mapping.last.keys()
    if "model_name_or_path" not in keys and not ({"stage", "finetuning_type"} <= keys):
        return False
    if len(_OWN & keys) < 2 or boolean(mapping.get("do_train")) is False:
        return False
    if "do_train" in keys:
        return True
    evaluates = any(boolean(mapping.get(key)) for key in ("do_predict", "do_eval", "predict_with_generate"))
    return not evaluates and not _ELSE & keys and len(_TRAINS & keys) >= 2


def is_v1(mapping: Mapping) -> bool:
    keys = mapping.last.keys()
    model = mapping.get("model")
    return (
        isinstance(model, Scalar)
        and bool(_V1 & keys)
        and len(_V1_TRAINS & keys) >= 2
        and ("train_dataset" in keys or "model_class" in keys)
        and "training" not in keys
    )


# What `USE_V1=1 llamafactory-cli` starts beside `train` (`v1/launcher.py`).
_V1_COMMANDS = ("sft", "dpo", "rm")


def is_launched_v1(reading: Reading) -> bool:
    """A launch of the newer format: by its own command, or with the keys that only it gives to model and data."""
    program, *rest = reading.command or ("",)
    if program != "cli" or rest[:1] not in (["llamafactory-cli"], ["lmf"]) or len(rest) < 2:
        return False
    return rest[1] in _V1_COMMANDS or ("model" in reading and "train_dataset" in reading)


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if is_v0(mapping) or is_v1(mapping)]


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`llamafactory-cli train` (of the newer format also `sft`, ...), or a `train.py` that is given its flags."""
    if program[0] == "cli":
        ours = len(program) > 2 and program[1] in ("llamafactory-cli", "lmf")
        return ours and program[2] in ("train", *_V1_COMMANDS)
    keys = {entry.key.replace("-", "_") for entry in arguments.entries}
    if program[0] == "module":
        return len(program) > 1 and program[1].startswith(("llamafactory.", "llmtuner."))
    return "finetuning_type" in keys and ("stage" in keys or "template" in keys or "dataset_dir" in keys)
