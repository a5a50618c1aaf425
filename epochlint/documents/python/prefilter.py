"""Which texts can hold training code at all: a few searches for fixed words, which is quicker than one expression."""

from __future__ import annotations

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


def may_train(text: str) -> bool:
    """False for a text in which no trainer or provider can find anything."""
    return any(word in text for word in WORDS)
