"""A hook on one file is cheap and harmless: few imports, nothing executed, no network, nothing written."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

GOOD = """\
learning_rate: 0.0002
per_device_train_batch_size: 8
lr_scheduler_type: cosine
max_steps: 500
warmup_steps: 20
"""
BAD = GOOD.replace("cosine", "constant")

# What costs time, and is only wanted where there is something for it.
LATE = (
    "asyncio", "click", "concurrent", "ctypes", "dataclasses", "email", "http", "importlib.metadata",
    "importlib.resources", "inspect", "jsonschema", "logging", "multiprocessing", "pathlib", "pydantic", "rich",
    "socket", "ssl", "subprocess", "tempfile", "tomli", "tree_sitter", "typing", "typing_extensions", "urllib.request",
)  # fmt: skip

_LISTED = """
import sys
from epochlint.cli.entry import main
status = main(sys.argv[1:])
print(status, *sorted(sys.modules), sep="\\n", file=sys.stderr)
"""


def _modules(folder: Path, *words: str) -> tuple[int, set[str]]:
    done = subprocess.run(
        [sys.executable, "-I", "-c", _LISTED, *words], cwd=folder, capture_output=True, text=True, check=True
    )
    status, *names = done.stderr.splitlines()
    return int(status), set(names)


@pytest.mark.parametrize(("text", "status"), [(GOOD, 0), (BAD, 1), ("services: {}\n", 0)], ids=["good", "bad", "other"])
def test_a_hook_on_one_yaml_imports_little(tmp_path: Path, text: str, status: int) -> None:
    (tmp_path / "a.yaml").write_text(text)
    found, names = _modules(tmp_path, "--force-exclude", "a.yaml")
    assert found == status
    # What the interpreter's own start has loaded (a .pth file of an editable install) is not ours.
    start = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; print(*sys.modules)"], capture_output=True, text=True, check=True
    )
    assert [name for name in LATE if name in names - set(start.stdout.split())] == []


def test_a_file_that_is_no_config_asks_no_trainer(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("services: {}\n")
    _, names = _modules(tmp_path, "--force-exclude", "a.yaml")
    assert "yaml" not in names
    assert [name for name in names if name.startswith(("epochlint.trainers.hf", "epochlint.trainers.tables"))] == []


def test_settings_are_read_by_pydantic_only_where_there_are_some(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text(GOOD)
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\n")
    assert "pydantic" not in _modules(tmp_path, "--force-exclude", "a.yaml")[1]
    (tmp_path / "pyproject.toml").write_text("[tool.epochlint]\n")
    assert "pydantic" in _modules(tmp_path, "--force-exclude", "a.yaml")[1]


# Harmless -------------------------------------------------------------------------------------------------------------

TRAP = "import os\nopen(os.path.join(os.environ['TRAPS'], {name!r}), 'w').close()\n"
TRAIN = """
from transformers import Trainer, TrainingArguments
args = TrainingArguments(output_dir="out", max_steps=500, lr_scheduler_type="constant", warmup_steps=100)
Trainer(args=args).train()
"""

# Anything that would leave the process or the files as they were ends the test.
_GUARDED = """
import os, sys
def guard(event, words):
    network = event.startswith(("socket.", "urllib.", "http.", "ftplib.", "smtplib."))
    process = event in ("os.system", "os.exec", "os.posix_spawn", "os.spawn", "ctypes.dlopen", "pickle.find_class")
    process = process or (event == "subprocess.Popen" and words[0] != "git")
    changes = event in ("os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate", "os.link")
    changes = changes or (event == "open" and isinstance(words[1], str) and set(words[1]) & set("wax+"))
    opened = event == "open" and words[0] != os.devnull and isinstance(words[2], int)
    changes = changes or (opened and words[2] & (os.O_WRONLY | os.O_RDWR))
    if network or process or changes:
        print("GUARD", event, words, file=sys.stderr, flush=True)
        os._exit(99)
from epochlint.cli.entry import main
sys.dont_write_bytecode = True
sys.addaudithook(guard)
sys.exit(main(sys.argv[1:]))
"""


class _Trap:
    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return os.system, ("touch $TRAPS/pickle",)


@pytest.fixture
def trapped(tmp_path: Path) -> Path:
    """A project in which everything that can be executed leaves a file behind."""
    folder = tmp_path / "project"
    folder.mkdir()
    for name in ("train.py", "conftest.py", "setup.py", "sitecustomize.py", "yaml.py", "transformers.py", "click.py"):
        (folder / name).write_text(TRAP.format(name=name) + (TRAIN if name == "train.py" else ""))
    (folder / "a.yaml").write_text(BAD + "x: !!python/object/apply:os.system ['touch $TRAPS/yaml']\n")
    (folder / "b.yaml").write_text(BAD)
    (folder / "run.sh").write_text(
        "touch $TRAPS/shell\npython train.py --max_steps $(touch $TRAPS/substitution; echo 5)\n"
    )
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "execution_count": None, "outputs": []}
    cells = [{**cell, "source": [TRAP.format(name="notebook") + TRAIN]}, {**cell, "source": ["!touch $TRAPS/magic"]}]
    (folder / "a.ipynb").write_text(json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    for name in ("training_args.bin", "data.pkl", "optimizer.pt"):
        (folder / name).write_bytes(pickle.dumps(_Trap()))
    (folder / "c.yaml").write_text(BAD + "dataset_path: data.pkl\nresume_from_checkpoint: .\ntrain_file: data.pkl\n")
    (folder / "pyproject.toml").write_text("[build-system]\nbuild-backend = 'setup'\nbackend-path = ['.']\n")
    return folder


@pytest.mark.parametrize(
    "words", [(".",), ("--force-exclude", "a.yaml", "train.py", "run.sh", "a.ipynb", "c.yaml"), ("explain", ".")]
)
@pytest.mark.parametrize("git", [False, True])
def test_nothing_is_executed_sent_or_written(trapped: Path, tmp_path: Path, words: tuple[str, ...], git: bool) -> None:
    traps = tmp_path / "traps"
    traps.mkdir()
    environment = {**os.environ, "TRAPS": str(traps)}
    if git:
        subprocess.run(["git", "init", "-q"], cwd=trapped, check=True)
        for key in ("core.fsmonitor", "core.pager", "diff.external", "core.hooksPath"):
            subprocess.run(["git", "config", key, f"touch {traps}/git"], cwd=trapped, check=True)
    before = {path: path.stat().st_mtime_ns for path in sorted(trapped.rglob("*"))}
    done = subprocess.run(
        [sys.executable, "-I", "-c", _GUARDED, *words],
        cwd=trapped, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode in (0, 1), done.stderr
    assert "a.ipynb" in done.stdout, "it was looked at"
    assert os.listdir(traps) == []
    assert {path: path.stat().st_mtime_ns for path in sorted(trapped.rglob("*"))} == before


def test_the_guard_bites(tmp_path: Path) -> None:
    for code in ("open('x', 'w')", "__import__('socket').socket()", "__import__('os').system('true')"):
        script = _GUARDED.replace("sys.exit(main(sys.argv[1:]))", code)
        assert subprocess.run([sys.executable, "-I", "-c", script], cwd=tmp_path, check=False).returncode == 99


def test_python_m_is_the_command(tmp_path: Path) -> None:
    (tmp_path / "args.yaml").write_text(BAD)
    done = subprocess.run(
        [sys.executable, "-m", "epochlint", "args.yaml"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert "WRM005" in done.stdout
