"""Which texts may start a training whose settings stand elsewhere: `accelerate launch src/train.py config.yaml`."""

from __future__ import annotations

import re

from epochlint.documents.python import may_spawn
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
        return may_spawn(text) and _CONFIG.search(text) is not None
    return (
        _CONFIG.search(text) is not None
        and _SCRIPT.search(text) is not None
        and syntax_of(source.path, text) == "shell"
    )
