"""What a hook costs beside the interpreter's own start and beside yamllint, and how many files a second are checked.

    python -m benchmarks.hook [--rounds N] [--yamllint COMMAND]

The commands take turns, so that a machine's moods meet all of them; the fastest of each counts. Files a second are
those of one core: by the processor time that the command takes, its start included, whatever else runs meanwhile.
yamllint is installed in a virtual environment of its own, unless its command is given.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.configs import LINES, configs, others

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

# What any tool does that reads the files: the least that can be asked for.
PARSE = """
import sys, yaml
for name in sys.argv[1:]:
    with open(name, encoding="utf-8") as file:
        yaml.load(file.read(), yaml.CSafeLoader)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--yamllint", help="the command to run; by default it is installed for the occasion")
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        plain, settled, training, other = (folder / name for name in ("plain", "settled", "training", "other"))
        for one in (plain, settled, training, other):
            one.mkdir()
            (one / ".git").mkdir()  # the project begins here
        (plain / "train.yaml").write_text(CONFIG)
        (settled / "train.yaml").write_text(CONFIG)
        (settled / "pyproject.toml").write_text(SETTINGS)
        for inside, files in ((training, configs(FILES)), (other, others(FILES))):
            for name, text in files.items():
                (inside / name).write_text(text)
        yamllint = words.yamllint or _installed(folder, "yamllint")
        _commands(words.rounds, plain, settled, yamllint)
        _throughput("training configs", training, yamllint, max(2, words.rounds // 4))
        _throughput("other YAMLs", other, yamllint, max(2, words.rounds // 4))


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
    commands = {
        "epochlint": [epochlint, "--force-exclude", *names],
        "yaml.CSafeLoader": [sys.executable, "-c", PARSE, *names],
        "yamllint": [yamllint, "-d", "relaxed", *names],
    }
    best = {name: (float("inf"), float("inf")) for name in commands}
    for turn in range(rounds):
        for name, command in commands.items():
            if name != "yamllint" or turn < 2:  # it takes its time
                best[name] = min(best[name], _core_seconds(command, many))
    print(f"{FILES:,} {what} of {LINES} lines on one core")
    for name, (seconds, wall) in best.items():
        ratio = seconds / best["yaml.CSafeLoader"][0]
        speed = f"{FILES / seconds:6,.0f} files/s  {ratio:5.1f} x"
        print(f"  {name:<26} {seconds:7.2f} s  {speed}  ({wall:.2f} s by the clock)")


def _core_seconds(command: list[str], folder: Path) -> tuple[float, float]:
    """The processor's seconds, and those of the clock."""
    before = os.times()
    wall = _seconds(command, folder)
    after = os.times()
    spent = after.children_user - before.children_user + after.children_system - before.children_system
    return (spent if spent > 0 else wall), wall  # Windows does not tell


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
