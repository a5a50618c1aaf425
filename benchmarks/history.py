"""What comparing with an earlier revision costs, beside a plain check of the files that changed since.

    python -m benchmarks.history [--rounds N] [--commits N] [--configs N]

In a repository of 5,000 commits over 2,000 configs. Each pair of commands takes turns; processor time is measured
(git's included), the least of each counts. What changed is handed to both by name, as a hook or a CI step would.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CONFIG = """\
model_name_or_path: meta-llama/Llama-3.1-8B
dataset_name: example/instructions
output_dir: out/{number}
per_device_train_batch_size: {batch}
gradient_accumulation_steps: 4
learning_rate: 2.0e-5
lr_scheduler_type: cosine
num_train_epochs: {epochs}
warmup_ratio: 0.03
"""
LAUNCH = "accelerate launch --num_processes 8 train.py --config configs/{folder:02}/sft_{number:04}.yaml\n"
LIMIT = 2.0  # times the plain check


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commits", type=int, default=5000)
    parser.add_argument("--configs", type=int, default=2000)
    words = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        started = time.perf_counter()
        _history(folder, words.commits, words.configs)
        print(
            f"{words.commits:,} commits over {words.configs:,} configs, made in {time.perf_counter() - started:.1f} s"
        )
        worst = 0.0
        for revision in ("HEAD", "HEAD~1", "HEAD~50", "side", "v1"):
            worst = max(worst, _ratio(folder, revision, words.rounds))
        raise SystemExit(f"more than {LIMIT} times a plain check" if worst > LIMIT else 0)


def _history(folder: Path, commits: int, configs: int) -> None:
    """Commit by commit one config after the other is changed; `side` has left the way 200 commits ago."""
    _git(folder, "init", "-q", "-b", "main")
    stream = []

    def blob(path: str, text: str) -> None:
        stream.append(f"M 100644 inline {path}\ndata {len(text)}\n{text}\n")

    def commit(branch: str, number: int, parent: str = "") -> None:
        who = f"test <test@example.org> {1_700_000_000 + number * 60} +0000"
        stream.append(f"commit refs/heads/{branch}\nmark :{number}\ncommitter {who}\ndata 2\nc\n{parent}")

    for number in range(1, commits + 1):
        commit("main", number)
        if number == 1:
            for one in range(configs):
                blob(_path(one), CONFIG.format(number=one, batch=4, epochs=3))
                if one % 20 == 0:
                    blob(f"scripts/run_{one:04}.sh", LAUNCH.format(folder=one % 40, number=one))
        else:
            one = number * 7 % configs
            batch = 16 if number % 3 == 0 else 4  # every third commit changes the batch
            blob(_path(one), CONFIG.format(number=one, batch=batch, epochs=number))
    commit("side", commits + 1, f"from :{max(1, commits - 200)}\n")
    blob("README.md", "# The other way\n")
    stream.append(f"reset refs/tags/v1\nfrom :{max(1, commits - 500)}\n\n")
    _git(folder, "fast-import", "--quiet", data="".join(stream).encode())
    _git(folder, "reset", "-q", "--hard", "main")


def _path(number: int) -> str:
    return f"configs/{number % 40:02}/sft_{number:04}.yaml"


def _ratio(folder: Path, revision: str, rounds: int) -> float:
    changed = _git(folder, "diff", "--name-only", f"{revision}...HEAD").split() or [_path(0)]
    if revision == "HEAD":
        (folder / _path(0)).write_text(CONFIG.format(number=0, batch=64, epochs=3))
    epochlint = os.path.join(os.path.dirname(sys.executable), "epochlint")
    plain = [epochlint, "check", "--no-git", *changed]
    since = [epochlint, "check", "--since", revision, *changed]
    best = [float("inf"), float("inf")]
    for _ in range(rounds):
        for place, command in enumerate((plain, since)):
            best[place] = min(best[place], _seconds(command, folder))
    found = subprocess.run([*since, "--output-format", "json"], cwd=folder, capture_output=True, check=False).stdout
    _git(folder, "checkout", "-q", "--", ".")
    ratio = best[1] / best[0]
    print(
        f"--since {revision:<10} {len(changed):5,} changed files  plain {best[0] * 1000:7.0f} ms  with it"
        f" {best[1] * 1000:7.0f} ms  {ratio:4.2f} x  ({found.count(b'LRN001')} findings on the rate)"
    )
    return ratio


def _git(folder: Path, *words: str, data: bytes | None = None) -> str:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    return subprocess.run(
        ["git", *words], cwd=folder, env=environment, input=data, check=True, stdout=subprocess.PIPE
    ).stdout.decode()  # fmt: skip


def _seconds(command: list[str], folder: Path) -> float:
    """Processor time of a command and of what it starts: git's, too."""
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    if done.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} failed: {done.stderr.decode()}")
    return seconds


if __name__ == "__main__":
    main()
