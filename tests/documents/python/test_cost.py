"""What reading costs: a file without training a search, a usual script a few milliseconds, no import too early."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import pytest

from epochlint.documents import python
from epochlint.documents.python.prefilter import may_train
from epochlint.source import Source

HEAVY = ("typing", "dataclasses", "pathlib", "logging", "inspect", "ast", "pydantic", "importlib.metadata")


def test_the_package_imports_nothing_heavy() -> None:
    code = (
        "import sys, epochlint.documents.python, epochlint.source\n"
        "python = epochlint.documents.python\n"
        "python.read(epochlint.source.Source('a.py', 'x = 1'))\n"
        "print(*sys.modules)"
    )
    env = {"PYTHONPATH": os.pathsep.join(sys.path)}
    shown = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True, check=True, env=env)
    loaded = shown.stdout.split()
    assert not [name for name in HEAVY if name in loaded]
    assert "epochlint.documents.python.interpreter" not in loaded


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os\nprint('x')", False),
        ("from trl import SFTTrainer", True),
        ("TrainingArguments(output_dir='x')", True),
        ("parser.add_argument('--learning_rate')", True),
        ("client.fine_tuning.jobs.create(model='m')", True),
        ("bedrock.create_model_customization_job()", True),
        ("epochs = 3", True),
        ("LoraConfig(r=8)", True),
        ("from training_hub import osft", True),
        ("TrainingClient().train(name='x')", True),
        ("notebook_launcher(f)", True),
        ("HuggingFace(entry_point='x')", True),
        ("JumpStartEstimator(model_id='m')", True),
    ],
)
def test_which_texts_are_read_at_all(text: str, expected: bool) -> None:
    assert may_train(text) is expected


def test_a_long_file_without_training_costs_a_search() -> None:
    text = "def handler(request, name):\n    return render(request, 'page.html', {'name': name, 'title': 'x'})\n" * 1100
    assert len(text) > 100_000
    source = Source("views.py", text)
    best = min(_timed(lambda: python.read(source)) for _ in range(20))
    # About 0.2 ms on the machine that this was written on.
    assert best < 0.01


def test_a_usual_script_costs_a_few_times_its_parsing() -> None:
    import ast

    text = (
        "from datasets import load_dataset\nfrom peft import LoraConfig\nfrom trl import SFTConfig, SFTTrainer\n"
        "import argparse, os, yaml\n"
        "parser = argparse.ArgumentParser()\n"
        + "".join(f"parser.add_argument('--option{n}', type=float, default={n})\n" for n in range(20))
        + "args = parser.parse_args()\n"
        + "def encode(row):\n    return {'text': row['a'] + row['b']}\n" * 4
        + "data = load_dataset('json', data_files='a.jsonl', split='train').map(encode)\n"
        + "config = SFTConfig(\n" + "".join(f"    option{n}=args.option{n} * 2,\n" for n in range(20)) + ")\n"
        + "SFTTrainer('m', args=config, train_dataset=data, peft_config=LoraConfig(r=8)).train()\n"
    )  # fmt: skip
    source = Source("train.py", text)
    assert len(python.read(source).calls) >= 5
    reading = min(_timed(lambda: python.read(source)) for _ in range(20))
    parsing = min(_timed(lambda: ast.parse(text)) for _ in range(20))
    assert reading < 12 * parsing


def _timed(work: object) -> float:
    assert callable(work)
    started = time.process_time()
    work()
    return time.process_time() - started
