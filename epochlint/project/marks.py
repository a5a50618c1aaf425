"""Which texts say something of a training though no trainer's settings stand in them: `accelerate launch src/train.py
config.yaml`, a loop of somebody's own."""

from __future__ import annotations

import re

from epochlint.documents.read import syntax_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.source import Source

_LAUNCHERS = ("accelerate launch", "torchrun", "torch.distributed", "deepspeed", ".py", " -m ")
_CONFIG = re.compile(r"\.(?:ya?ml|json|toml)\b|\$\{?\w*(?:CONFIG|config|YAML|yaml)")
_SCRIPT = re.compile(r"(?:train|tun|sft|dpo|grpo|rlhf|run)\w*\.py\b|\s-m\s+[\w.]*train")


def may_launch(source: Source) -> bool:
    """Whether a shell script, or a Python script that starts others, can start a training script with a config."""
    text = source.text
    if not any(word in text for word in _LAUNCHERS):
        return False
    if source.path.endswith(".py"):
        from epochlint.documents.python.prefilter import may_spawn  # a hook's run on one YAML needs nothing of it

        return may_spawn(text) and _CONFIG.search(text) is not None
    return (
        _CONFIG.search(text) is not None
        and _SCRIPT.search(text) is not None
        and syntax_of(source.path, text) == "shell"
    )


def may_prepare(text: str) -> bool:
    """Whether a script can hold a loop whose schedule accelerate prepares."""
    return "Accelerator" in text and ".prepare" in text and "num_training_steps" in text
