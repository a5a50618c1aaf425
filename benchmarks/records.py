"""How quickly training data is counted, as ratios against `wc -l` and a plain `json.loads` loop of the same run.

    python benchmarks/records.py [megabytes]

Absolute speeds depend on the machine and on what else runs there; the ratios move much less. Every measure is the
best of several rounds, in turn, in processor time (wall time for wc).
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from epochlint.records import count, counting, duplicates, iterate, leaks, token_estimate

ROUNDS = 5


def make(path: str, size: int) -> None:
    """Conversations of one to three turns with a system message, about 2 KB each."""
    source = random.Random(7)
    words = [f"w{source.randrange(10**6):x}" for _ in range(2000)]

    def text(number: int) -> str:
        return " ".join(source.choices(words, k=number))

    written = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < size:
            messages = [{"role": "system", "content": "Answer briefly."}]
            for _ in range(source.randrange(1, 4)):
                messages.append({"role": "user", "content": text(30)})
                messages.append({"role": "assistant", "content": text(90) + '\n"quoted" é'})
            written += file.write(json.dumps({"messages": messages}, ensure_ascii=False) + "\n")


def parse(path: str) -> int:
    """The plain loop that everybody writes."""
    messages = 0
    with open(path, "rb") as file:
        for line in file:
            messages += len(json.loads(line)["messages"])
    return messages


def fresh(**options: bool) -> Callable[[str], object]:
    def run(path: str) -> object:
        counting._cache.clear()
        return count(path, **options)  # type: ignore[arg-type]

    return run


def main() -> None:
    size = int(sys.argv[1] if len(sys.argv) > 1 else 64) << 20
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.jsonl")
        array = os.path.join(folder, "train.json")
        make(path, size)
        with open(path, encoding="utf-8") as file, open(array, "w", encoding="utf-8") as out:
            json.dump([json.loads(line) for line in file], out)
        work: dict[str, tuple[Callable[[str], object], str]] = {
            "json.loads per line": (parse, path),
            "count, rows only": (fresh(turns=False), path),
            "count, with messages": (fresh(), path),
            "count, one array": (fresh(), array),
            "iterate": (lambda name: sum(1 for _ in iterate(name)), path),
            "duplicates": (duplicates, path),
            "leaks (itself)": (lambda name: leaks([name], [name]), path),
            "token estimate": (token_estimate, path),
        }
        best = dict.fromkeys([*work, "wc -l"], float("inf"))
        for _ in range(ROUNDS):
            begin = time.perf_counter()
            subprocess.run(["wc", "-l", path], check=True, stdout=subprocess.DEVNULL)
            best["wc -l"] = min(best["wc -l"], (time.perf_counter() - begin) / os.path.getsize(path))
            for name, (run, data) in work.items():
                begin = time.process_time()
                run(data)
                best[name] = min(best[name], (time.process_time() - begin) / os.path.getsize(data))
    print(f"{'':24}{'GB/s':>7}{'x wc -l':>10}{'x json.loads':>14}")
    for name, seconds in best.items():
        print(
            f"{name:24}{1e-9 / seconds:7.2f}{seconds / best['wc -l']:10.1f}"
            f"{seconds / best['json.loads per line']:14.2f}"
        )


if __name__ == "__main__":
    main()
