"""Git repositories to compare in."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

CONFIG = """\
model_name_or_path: Qwen/Qwen2.5-0.5B
output_dir: out
per_device_train_batch_size: {batch}
gradient_accumulation_steps: 1
learning_rate: 2.0e-5
max_steps: 500
"""


def git(folder: Path, *words: str, **environment: str) -> str:
    """Runs git as a person without any settings of their own. Raises CalledProcessError."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_TERMINAL_PROMPT": "0"}
    identity = ("-c", "user.email=test@example.org", "-c", "user.name=test", "-c", "init.defaultBranch=main")
    options = (*identity, "-c", "protocol.file.allow=always", "-c", "commit.gpgsign=false")
    done = subprocess.run(
        ["git", *options, *words], cwd=folder, env=clean | environment, check=True, capture_output=True
    )  # fmt: skip
    return done.stdout.decode("utf-8", "surrogateescape").strip()


def commit(folder: Path, message: str = "more") -> str:
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", message)
    return git(folder, "rev-parse", "HEAD")


def config(batch: int, more: str = "") -> str:
    return CONFIG.format(batch=batch) + more


def repository(folder: Path, *options: str) -> Path:
    """A repository whose one commit holds sft.yaml with a batch of 2."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", *options)
    (folder / "sft.yaml").write_text(config(2))
    commit(folder, "first")
    return folder
