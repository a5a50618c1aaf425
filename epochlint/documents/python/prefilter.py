"""Which texts can hold training code at all: a few searches for fixed words, which is quicker than one expression."""

from __future__ import annotations

import re

from epochlint.patterns import Pattern

# Every file with a call that some trainer or provider reads holds one of these.
WORDS = (
    "Trainer",
    "TrainingArg",
    "TrainingClient",
    "learning_rate",
    "LEARNING_RATE",
    "epochs",
    "epochCount",
    "trainings.create",
    "qianfan",
    "EPOCHS",
    "batch_size",
    "BATCH_SIZE",
    "fine_tun",
    "fine-tun",
    "finetun",
    "fine_Tun",
    "FineTun",
    "Finetun",
    "FINETUN",
    "customization",
    "Lora",
    "LoRA",
    "lora",
    "SFT",
    "sft",
    "DPO",
    "GRPO",
    "max_steps",
    "warmup",
    "gradient_acc",
    "notebook_launcher",
    "tinker",
    "HuggingFace(",
    "JumpStart",
    "tuning",
    "training_job",
    "auto_ml_job",
)


# What a script starts other programs with, and how they are called where they train.
_SPAWNING = ("subprocess.", "os.system(", "os.popen(", "os.exec", "Popen(", "check_call(")
_STARTED = (
    "accelerate", "torchrun", "torch.distributed", "deepspeed", "llamafactory", "axolotl", "swift",
    "train.py", "train_", '"tune"', "'tune'", "tune run ",
)  # fmt: skip


def may_train(text: str) -> bool:
    """False for a text in which no trainer or provider can find anything."""
    return any(word in text for word in WORDS) or may_spawn(text)


def may_spawn(text: str) -> bool:
    """Whether a script can start a training program."""
    return any(word in text for word in _SPAWNING) and any(word in text for word in _STARTED)


# What opens a config file: a module of helpers that does so says nothing of training, and hands settings on.
_OPENERS = ("yaml", "json.load", "toml", "OmegaConf", "pydantic", "dataclass")


_CONSTANT = Pattern(r"^[A-Z][A-Z0-9_]*[ \t]*(?::[^=\n]*)?=[^=]", re.MULTILINE)


def may_set(text: str) -> bool:
    """Whether a module that a training script imports can say anything about its settings."""
    return may_train(text) or any(word in text for word in _OPENERS) or _CONSTANT.search(text) is not None
