"""What a hook costs beside the interpreter's own start and beside yamllint, and how many files a second are checked.

    python -m benchmarks.hook [--rounds N] [--yamllint COMMAND]

The commands take turns, so that a machine's moods meet all of them; the fastest of each counts. yamllint is installed
in a virtual environment of its own, unless its command is given.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = """\
model_name_or_path: meta-llama/Llama-3.1-8B
per_device_train_batch_size: 8
gradient_accumulation_steps: 4
learning_rate: 0.0002
lr_scheduler_type: cosine
max_steps: 500
warmup_steps: 20
weight_decay: 0.01
"""
SETTINGS = '[tool.epochlint]\nignore = ["WRM005"]\n[tool.epochlint.assume]\ngpus = 8\n'
FILES = 1000

# Sixty lines each, of which the half means nothing to any trainer.
LONG = CONFIG + "".join(f"save_option_{number}: value {number}  # a comment\n" for number in range(52))
OTHER = "".join(f"service_{number}:\n  image: registry/{number}\n  replicas: 3  # enough\n" for number in range(20))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--yamllint", help="the command to run; by default it is installed for the occasion")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        plain, settled, many, others = (folder / name for name in ("plain", "settled", "many", "others"))
        for one in (plain, settled, many, others):
            one.mkdir()
            (one / ".git").mkdir()  # the project begins here
        (plain / "train.yaml").write_text(CONFIG)
        (settled / "train.yaml").write_text(CONFIG)
        (settled / "pyproject.toml").write_text(SETTINGS)
        for number in range(FILES):
            (many / f"train{number:04}.yaml").write_text(LONG.replace("500", str(500 + number)))
            (others / f"values{number:04}.yaml").write_text(OTHER)
        yamllint = words.yamllint or _installed(folder, "yamllint")
        _commands(words.rounds, plain, settled, yamllint)
        _throughput("training configs", many, yamllint, max(2, words.rounds // 7))
        _throughput("other YAMLs", others, yamllint, max(2, words.rounds // 7))


def _commands(rounds: int, plain: Path, settled: Path, yamllint: str) -> None:
    epochlint = os.path.join(os.path.dirname(sys.executable), "epochlint")
    commands = {
        "python -c pass": ([sys.executable, "-c", "pass"], plain),
        "python -c 'import yaml'": ([sys.executable, "-c", "import yaml"], plain),
        "epochlint, one YAML": ([epochlint, "--force-exclude", "train.yaml"], plain),
        "epochlint, with settings": ([epochlint, "--force-exclude", "train.yaml"], settled),
        "yamllint, one YAML": ([yamllint, "-d", "relaxed", "train.yaml"], plain),
    }
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds + 1):  # the first writes byte code
        for name, (command, folder) in commands.items():
            best[name] = min(best[name], _seconds(command, folder))
    base = best["python -c pass"]
    for name, seconds in best.items():
        print(f"{name:<28} {seconds * 1000:7.1f} ms  {seconds / base:5.1f} x")


def _throughput(what: str, many: Path, yamllint: str, rounds: int) -> None:
    epochlint = os.path.join(os.path.dirname(sys.executable), "epochlint")
    names = sorted(path.name for path in many.iterdir() if path.suffix == ".yaml")
    commands = {"epochlint": [epochlint, "--force-exclude", *names], "yamllint": [yamllint, "-d", "relaxed", *names]}
    best = dict.fromkeys(commands, float("inf"))
    for _ in range(rounds):
        for name, command in commands.items():
            best[name] = min(best[name], _seconds(command, many))
    for name, seconds in best.items():
        print(f"{name + f', {FILES:,} {what} of 60 lines':<46} {seconds:6.2f} s  {FILES / seconds:6,.0f} files/s")


def _seconds(command: list[str], folder: Path) -> float:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    seconds = time.perf_counter() - started
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed: {done.stderr.decode()}")
    return seconds


def _installed(folder: Path, package: str) -> str:
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    pip = [str(scripts / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", package]
    subprocess.run(pip, check=True)
    return str(scripts / package)


if __name__ == "__main__":
    main()
