"""Files that nobody means well with: any bytes give findings, a word or silence, never a traceback, a hang or a crash.

Everything that can stand in one folder stands in one, since a run of the command costs more than the files do.
"""

from __future__ import annotations

import json
import os
import random
import time
from typing import TYPE_CHECKING

import pytest

from epochlint.trouble import KIND
from tests.helpers import check_project

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable
    from pathlib import Path

CONFIG = """\
model_name_or_path: someone/model
output_dir: out
per_device_train_batch_size: 2
gradient_accumulation_steps: 4
learning_rate: 2.0e-5
num_train_epochs: 3
max_steps: 500
warmup_steps: 100
warmup_ratio: 0.1
eval_strategy: steps
eval_steps: 50
save_steps: 50
"""
AXOLOTL = """\
base_model: someone/model
datasets:
  - path: DATA
    type: alpaca
micro_batch_size: 2
gradient_accumulation_steps: 4
num_epochs: 3
learning_rate: 2e-5
"""
LAUNCH = """\
#SBATCH --nodes=N
#SBATCH --gpus-per-node=N
#SBATCH --ntasks-per-node=N
#SBATCH --gres=gpu:N
torchrun --nnodes N --nproc_per_node N train.py --output_dir o --learning_rate 2e-5 --num_train_epochs 3
accelerate launch --num_processes N train.py --output_dir o --per_device_train_batch_size N --learning_rate 2e-5
srun -N N --ntasks-per-node N python train.py --output_dir o --learning_rate 2e-5 --num_train_epochs 3
docker run --gpus N image python train.py --output_dir o --learning_rate 2e-5 --num_train_epochs 3
"""
ROW = '{"instruction": "a", "input": "", "output": "b"}\n'
NUMBERS = [
    "9" * 5000, "-" + "9" * 400, "9" * 40, "1e308", "-1e308", "1e400", "1e-400", ".inf", ".nan", "0x" + "f" * 300,
    "0", "-1", "\u00b2", "\u0663", "1:30", "1_0", "2,000", "~", "[]", "{}", '""', "'8'", "!!float x", "!!int ''",
    "!!python/object/apply:os.system [x]", "2001-99-99", "*nothing", "|\n  3", "=",
]  # fmt: skip
SETTINGS = [line.split(":")[0] for line in CONFIG.splitlines()[2:]]


def quiet_about_itself(files: dict[str, str | bytes]) -> None:
    """No file made the linter fail inside; `check` catches such faults and gives them as skipped files."""
    report = check_project(files, assume={"records": 1000})
    faults = [entry for entry in report.skipped if entry.kind == KIND]
    assert not faults, [(entry.path, entry.reason) for entry in faults]


@pytest.mark.parametrize("setting", SETTINGS)
def test_no_number_is_too_odd_for_a_setting(setting: str) -> None:
    others = "".join(line + "\n" for line in CONFIG.splitlines() if not line.startswith(setting + ":"))
    quiet_about_itself({f"{at}.yaml": f"{others}{setting}: {value}\n" for at, value in enumerate(NUMBERS)})


def test_no_number_is_too_odd_for_a_launch() -> None:
    for value in ("\u00b2", "\u0663", "9" * 5000, "9" * 40, "0", "-1", "", "$((9**9**9))", "{1..99999999}"):
        quiet_about_itself({"run.sh": LAUNCH.replace("=N", f"={value}").replace(" N ", f" {value} ")})


@pytest.mark.parametrize(
    "comment", ["1" * 100_000, "1 " * 50_000, "1 x " * 25_000, "effective batch = " + "2 x " * 25_000, "{{" * 50_000]
)
def test_a_long_comment_is_read_in_passing(comment: str) -> None:
    start = time.perf_counter()
    quiet_about_itself({"train.yaml": f"{CONFIG}# batch {comment}\n"})
    assert time.perf_counter() - start < 5


def test_bytes_that_are_no_text() -> None:
    files: dict[str, str | bytes] = {}
    for ending in ("yaml", "json", "toml", "py", "ipynb", "sh", "jsonl"):
        files[f"random.{ending}"] = random.Random(ending).randbytes(4000)
        files[f"empty.{ending}"] = b""
        files[f"nul.{ending}"] = CONFIG.replace("out", "o\0t")
        files[f"half.{ending}"] = CONFIG.encode() + b"x: \xff\xfe\n"
        files[f"wide.{ending}"] = CONFIG.encode("utf-16")
        files[f"mark.{ending}"] = b"\xef\xbb\xbf" + CONFIG.encode()
        files[f"returns.{ending}"] = CONFIG.replace("\n", "\r")
    quiet_about_itself(files)


def test_shapes_without_a_bottom() -> None:
    aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n"
    for at in range(12):
        aliases += f"{chr(98 + at)}: &{chr(98 + at)} [{', '.join(['*' + chr(97 + at)] * 9)}]\n"
    merges = "x0: &x0 {a: 1}\n" + "".join(f"x{n + 1}: &x{n + 1}\n  <<: [*x{n}, *x{n}]\n" for n in range(40))
    start = "from transformers import TrainingArguments\n"
    quiet_about_itself(
        {
            "aliases.yaml": CONFIG + aliases,
            "merges.yaml": merges + CONFIG,
            "itself.yaml": "a: &a\n  b: *a\n" + CONFIG,
            "merged.yaml": "&x\n<<: *x\n" + CONFIG,
            "deep.yaml": CONFIG + "z: " + "[" * 20_000 + "]" * 20_000,
            "deep.json": '{"learning_rate": 1e-5, "output_dir": "o", "z": ' + "[" * 100_000,
            "deep.toml": "learning_rate = 1e-5\nz = " + "[" * 5000 + "]" * 5000,
            "deep.py": f"{start}x = {'(' * 5000}1{')' * 5000}\nTrainingArguments('o', num_train_epochs=x)\n",
            "wide.py": f"{start}x = {'+'.join(['1'] * 20_000)}\nTrainingArguments('o', num_train_epochs=x)\n",
            "large.py": f"{start}x = 9**9**9\ny = 'a' * 10**12\nz = [0] * 10**11\nTrainingArguments(y, max_steps=x)\n",
            "deep.sh": "(" * 3000 + "torchrun train.py --learning_rate 1" + ")" * 3000,
            "double.sh": "A=1\n" + 'A="$A$A"\n' * 60 + "torchrun train.py --learning_rate $A\n",
            "source.sh": "source ./source.sh\nbash ./source.sh\ntorchrun train.py --learning_rate 1\n",
        }
    )


def test_notebooks_that_are_none() -> None:
    call = "from transformers import TrainingArguments\nTrainingArguments('o')"
    cells = [
        {"cell_type": "code", "source": 5},
        {"cell_type": "code"},
        7,
        None,
        {"cell_type": ["code"], "source": "TrainingArguments("},
        {"cell_type": "code", "source": ["TrainingArguments(learning_rate=1)", 3, None]},
    ]
    quiet_about_itself(
        {
            "cut.ipynb": json.dumps({"cells": [{"cell_type": "code", "source": call}]})[:-9],
            "number.ipynb": '{"cells": 5, "x": "TrainingArguments"}',
            "list.ipynb": '[1, "TrainingArguments"]',
            "cells.ipynb": json.dumps({"cells": cells}),
            "surrogate.ipynb": '{"cells": [{"cell_type": "code", "source": "TrainingArguments(\'\\ud800\')"}]}',
        }
    )


def test_data_that_is_none() -> None:
    rows: dict[str, bytes] = {
        "long.jsonl": (ROW.replace('"b"', '"' + "b" * 5_000_000 + '"') * 2).encode(),
        "cut.jsonl": b'{"instruction": "' + b"a" * 3_000_000,
        "odd.jsonl": b'\xff\xfe\0\n{"instruction": 1}\n{"a":' + b"[" * 50_000 + b"\n[1]\nnull\n" + b"9" * 9000 + b"\n",
        "deep.json": b"[" * 200_000,
        "magic.parquet": b"PAR1" + random.Random(1).randbytes(2000) + b"\xff\xff\xff\x7fPAR1",
        "magic.arrow": b"ARROW1\0\0" + random.Random(2).randbytes(2000) + b"ARROW1",
        "magic.jsonl.gz": b"\x1f\x8b\x08" + random.Random(3).randbytes(300),
    }
    elsewhere = ["../../../../etc", "/etc/passwd", "/dev/zero", "/dev/stdin", "https://example.org/x.jsonl", "~root/x",
                 ".", '"**/*"', '"\\0"', '"' + "a/" * 3000 + '"', "[a, b]", "{}"]  # fmt: skip
    files: dict[str, str | bytes] = dict(rows)
    for at, place in enumerate([*rows, *elsewhere]):
        files[f"{at}.yaml"] = AXOLOTL.replace("DATA", place)
    quiet_about_itself(files)


def test_things_that_are_no_files(epochlint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text(AXOLOTL.replace("DATA", "data.jsonl") + "deepspeed: ds.json\n")
    (tmp_path / "folder.yaml").mkdir()
    (tmp_path / "ds.json").mkdir()
    (tmp_path / "llama.yaml").write_text(CONFIG + "stage: sft\nfinetuning_type: lora\nlerning_rate: 1\nmy_own_key: 2\n")
    for name in ("pipe.yaml", "data.jsonl", "requirements.txt", "run.sh", "train.py", "dataset_info.json"):
        os.mkfifo(tmp_path / name)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "one.yaml").symlink_to("other.yaml")
    (tmp_path / "other.yaml").symlink_to("one.yaml")
    (tmp_path / "zero.yaml").symlink_to("/dev/zero")
    for arguments in ([".", "--no-git"], ["pipe.yaml"], ["zero.yaml"], ["folder.yaml"], ["one.yaml"]):
        done = epochlint("check", *arguments, cwd=tmp_path)
        assert done.returncode in (0, 1, 2)
        assert "Traceback" not in done.stderr
        assert "internal error" not in done.stderr


def test_names_that_no_text_can_hold(
    epochlint: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    for name in (b"\xff\xfe.yaml", b"new\nline.yaml", b"-x.yaml", b"%s.yaml", b"[x].yaml", "\u202e.yaml".encode()):
        with open(os.path.join(os.fsencode(tmp_path), name), "w") as file:
            file.write(CONFIG)
    for form in ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown"):
        done = epochlint("check", ".", "--output-format", form, cwd=tmp_path)
        assert done.returncode == 1, done.stderr
        assert done.stderr == ""


def test_names_in_configs_that_no_file_can_have() -> None:
    for name in ('"\\ud800"', '"\\0"', '"a\\udcffb.jsonl"', "x" * 5000):
        quiet_about_itself(
            {
                "axolotl.yaml": AXOLOTL.replace("DATA", name) + f"deepspeed: {name}\n",
                "train.yaml": CONFIG + f"train_file: {name}\ndeepspeed: {name}\nresume_from_checkpoint: {name}\n",
                "llama.yaml": f"stage: sft\nfinetuning_type: lora\ndataset: {name}\ndataset_dir: {name}\n{CONFIG}",
                "llama.json": '{"stage": "sft", "finetuning_type": "lora", "\\ud800x": 1, "output_dir": "o"}',
                "dataset_info.json": '{"\\ud800": {"file_name": "\\ud800"}}',
                "run.sh": f"torchrun train.py --output_dir o --learning_rate 1e-5 --train_file {name}\n",
            }
        )
