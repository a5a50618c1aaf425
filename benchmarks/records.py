"""How quickly and in how much memory training data is counted, as ratios in one run against `wc -l`, plain
`json.loads`, and orjson, duckdb and polars where they are installed.

    pip install --group benchmarks        (orjson, duckdb, polars; without them they are left out)
    python benchmarks/records.py [MEGABYTES] [--rounds N]

Every way runs in a process of its own, several rounds in turn; the best wall time counts, without the start of the
interpreter and its imports. Absolute speeds depend on the machine and on what else runs there; the ratios move less.
Memory is the peak of the process (and of its children, added up as they stand), above that of the same process before
it opened the file.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))

MADE = "best of {rounds}, a file of {size:.0f} MB with {lines:,} conversations of {messages:,} messages, {cores} cores"

# What is measured: name -> (imports, the work on `path`). `cores` = 1 is one process.
ONE = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
COUNT = "from epochlint.records.counting import read_through"
WAYS = {
    "wc -l": ("import subprocess", "subprocess.run(['wc', '-l', path], check=True, stdout=subprocess.DEVNULL)"),
    "rows: epochlint": (COUNT, "read_through(path, turns=False)"),
    "rows: for line in file": ("", "sum(1 for line in open(path, 'rb') if not line.isspace())"),
    "rows: polars": ("import polars", "polars.scan_ndjson(path).select(polars.len()).collect()"),
    "rows: duckdb": (
        "import duckdb",
        "duckdb.sql(f\"select count(*) from read_json_auto('{path}', format='nd')\").fetchall()",
    ),
    "messages: epochlint": (COUNT, "read_through(path)"),
    "messages: epochlint, one core": (COUNT + "; " + ONE, "read_through(path)"),
    "messages: json.loads": ("import json", "sum(len(json.loads(line)['messages']) for line in open(path, 'rb'))"),
    "messages: orjson": ("import orjson", "sum(len(orjson.loads(line)['messages']) for line in open(path, 'rb'))"),
    "messages: polars": (
        "import polars",
        "polars.scan_ndjson(path).select(polars.col('messages').list.len().sum()).collect()",
    ),
    "messages: duckdb": (
        "import duckdb",
        "duckdb.sql(f\"select sum(len(messages)) from read_json_auto('{path}', format='nd')\").fetchall()",
    ),
    "all that rules ask: epochlint": (
        COUNT + "; from epochlint.records.repeats import Repeats, settle; from epochlint.records.tokens import Lengths",
        "found = Repeats(prompts=True); read_through(path, (found, Lengths())); settle(path, found, True)",
    ),
    "all that rules ask: one core": (
        COUNT
        + "; from epochlint.records.repeats import Repeats, settle; from epochlint.records.tokens import Lengths; "
        + ONE,
        "found = Repeats(prompts=True); read_through(path, (found, Lengths())); settle(path, found, True)",
    ),
}

MEASURE = """
import os, resource, sys, time
path = sys.argv[1]
{imports}
def peak():
    return max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)) / 1024
before = peak()
begin = time.perf_counter()
{work}
print(time.perf_counter() - begin, before, peak())
"""


def make(path: str, size: int) -> tuple[int, int]:
    """Conversations of one to three turns with a system message, about 2 KB each; how many, and their messages."""
    source = random.Random(7)
    words = [f"w{source.randrange(10**6):x}" for _ in range(2000)]

    def text(number: int) -> str:
        return " ".join(source.choices(words, k=number))

    written = lines = total = 0
    with open(path, "w", encoding="utf-8") as file:
        while written < size:
            messages = [{"role": "system", "content": "Answer briefly."}]
            for _ in range(source.randrange(1, 4)):
                messages.append({"role": "user", "content": text(30)})
                messages.append({"role": "assistant", "content": text(90) + '\n"quoted" é'})
            written += file.write(json.dumps({"messages": messages}, ensure_ascii=False) + "\n")
            lines += 1
            total += len(messages)
    return lines, total


def measure(name: str, path: str) -> tuple[float, float, float] | None:
    """Seconds, and the peak of memory before and after in MiB; None where the way is not installed."""
    imports, work = WAYS[name]
    code = MEASURE.format(imports=imports, work=work)
    environment = {**os.environ, "PYTHONPATH": os.path.join(HERE, "..")}
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, env=environment, check=False
    )
    if done.returncode:
        if "ModuleNotFoundError" not in done.stderr:
            print(f"{name}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
        return None
    seconds, before, peak = map(float, done.stdout.split())
    return seconds, before, peak


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("megabytes", nargs="?", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.jsonl")
        lines, messages = make(path, asked.megabytes << 20)
        size = os.path.getsize(path)
        best: dict[str, tuple[float, float, float]] = {}
        ways = list(WAYS)
        for _ in range(asked.rounds):
            for name in list(ways):
                found = measure(name, path)
                if found is None:
                    ways.remove(name)
                elif name not in best or found[0] < best[name][0]:
                    best[name] = found
                time.sleep(0.05)
    cores = len(os.sched_getaffinity(0))
    print(MADE.format(rounds=asked.rounds, size=size / 1e6, lines=lines, messages=messages, cores=cores))
    print(f"{'':32}{'GB/s':>7}{'of wc -l':>10}{'x json.loads':>14}{'MiB more':>10}{'of json.loads':>15}")
    counted, loads = best["wc -l"], best["messages: json.loads"]
    plain = max(0.1, loads[2] - loads[1])
    for name, (seconds, before, peak) in best.items():
        print(
            f"{name:32}{size / seconds / 1e9:7.2f}{counted[0] / seconds:10.2f}{loads[0] / seconds:14.2f}"
            f"{peak - before:10.1f}{(peak - before) / plain:15.1f}"
        )
    for name in WAYS:
        if name not in best:
            print(f"{name:32}not installed")


if __name__ == "__main__":
    main()
