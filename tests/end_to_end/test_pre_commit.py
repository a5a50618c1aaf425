"""The hooks, run by pre-commit itself in a real repository."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
GIT = ("git", "-c", "user.email=test@example.org", "-c", "user.name=test", "-c", "commit.gpgsign=false")
IDS = ("epochlint", "epochlint-project", "epochlint-changes")
GOOD = """\
learning_rate: 0.0002
per_device_train_batch_size: 8
lr_scheduler_type: cosine
max_steps: 500
warmup_steps: 20
"""
BAD = GOOD.replace("cosine", "constant")


def test_the_hooks_that_are_offered() -> None:
    hooks = {hook["id"]: hook for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    assert tuple(hooks) == IDS
    for hook in hooks.values():
        assert hook["language"] == "python"
        assert hook["require_serial"], "parallel batches would tear apart what belongs together"
    assert hooks["epochlint-changes"]["entry"].endswith("--since HEAD --staged")


def _git(folder: Path, *words: str) -> None:
    subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(scope="session")
def hooks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project's tracked files as a repository of its own, so that a hook is installed as users install it."""
    folder = tmp_path_factory.mktemp("hooks")
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True).stdout
    for name in filter(None, os.fsdecode(listed).split("\0")):
        if (ROOT / name).is_file() and not name.startswith(("tests/", "fixtures/", "benchmarks/")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "hooks")):
        _git(folder, *words)
    return folder


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


def _repository(folder: Path, files: dict[str, str]) -> None:
    folder.mkdir()
    _git(folder, "init", "-q")
    _write(folder, files)


def _write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (folder / name).write_text(text)
    _git(folder, "add", "-A")


def _pre_commit(folder: Path, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("GIT_", "PRE_COMMIT"))}
    environment |= {"PRE_COMMIT_HOME": str(home), "PYTHONDONTWRITEBYTECODE": "1", "PRE_COMMIT_COLOR": "never"}
    return subprocess.run(
        [sys.executable, "-m", "pre_commit", *words, "--verbose", "--all-files"],
        cwd=folder, env=environment, capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip


@pytest.mark.network
def test_the_hooks_in_a_repository(tmp_path: Path, hooks: Path, home: Path) -> None:
    folder = tmp_path / "repository"
    other = {"compose.yaml": "services: {}\n", "setup.py": "print('hello')\n", "x.json": "{}", "broken.yaml": "a: ["}
    _repository(folder, {"train.yaml": GOOD, **other})

    clean = _pre_commit(folder, home, "try-repo", str(hooks))
    assert clean.returncode == 0, clean.stdout + clean.stderr
    assert clean.stdout.count("Passed") == 3
    said = clean.stdout.partition("(whole project)")[0]
    assert "compose" not in said, "quiet about files that are no training config"
    assert "broken" not in said

    # As users have it: installed once, by revision.
    revision = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=hooks, check=True, capture_output=True, text=True
    ).stdout
    config = {"repo": str(hooks), "rev": revision.strip(), "hooks": [{"id": one} for one in IDS]}
    _write(folder, {".pre-commit-config.yaml": yaml.safe_dump({"repos": [config]})})
    _git(folder, "commit", "-qm", "clean")

    _write(folder, {"train.yaml": BAD})
    failed = _pre_commit(folder, home, "run")
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert failed.stdout.count("train.yaml:5:1: warning WRM005") == 3
    assert failed.stdout.count("Failed") == 3

    _git(folder, "commit", "-qm", "bad")
    _write(folder, {"train.yaml": GOOD.replace("_size: 8", "_size: 64")})
    _git(folder, "commit", "-qm", "larger")
    _write(folder, {"train.yaml": GOOD.replace("_size: 8", "_size: 512")})
    changed = _pre_commit(folder, home, "run", "epochlint-changes")
    assert "train.yaml" in changed.stdout, changed.stdout + changed.stderr
    assert "LRN" in changed.stdout
