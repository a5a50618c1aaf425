"""How quickly and in how much memory training data is counted, as ratios in one run against `wc -l`, plain
`json.loads`, and orjson, duckdb and polars where they are installed.

    pip install --group benchmarks        (orjson, duckdb, polars; without them they are left out)
    python benchmarks/records.py [MEGABYTES] [--rounds N] [--data KIND] [--only WORD ...] [--folder FOLDER]

Every way runs in a process of its own, several rounds in turn; the best wall time counts, without the start of the
interpreter and its imports. Absolute speeds depend on the machine and on what else runs there; the ratios move less.
Memory is the peak of resident memory of each process of a way (interpreter and imports included), and the most that all
of them took together at a time, pages that they share counted once (PSS): on Linux only.

KIND: `conversations` (about 2 KB each), `repeated` (the same, each of them four times), `records` (instruction, input
and output, about 600 bytes). A run over 5 GB: `python benchmarks/records.py 5000 --rounds 1 --only epochlint wc`.
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

MADE = "best of {rounds}, a file of {size:.0f} MB with {lines:,} {kind} of {messages:,} messages, {cores} cores"

# What is measured: name -> (imports, the work on `path`). `cores` = 1 is one process.
ONE = "os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
COUNT = "from epochlint.records.counting import read_through"
LOOKS = COUNT + "; from epochlint.records.repeats import Repeats, settle; from epochlint.records.tokens import Lengths"
ALL = (
    "found = Repeats(prompts=True); read_through(path, (found, Lengths()), max_bytes=1 << 40); "
    "settle(path, found, True, 1 << 40)"
)
WAYS = {
    "wc -l": ("import subprocess", "subprocess.run(['wc', '-l', path], check=True, stdout=subprocess.DEVNULL)"),
    "rows: epochlint": (COUNT, "read_through(path, max_bytes=1 << 40, turns=False)"),
    "rows: for line in file": ("", "sum(1 for line in open(path, 'rb') if not line.isspace())"),
    "rows: polars": ("import polars", "polars.scan_ndjson(path).select(polars.len()).collect()"),
    "rows: duckdb": (
        "import duckdb",
        "duckdb.sql(f\"select count(*) from read_json_auto('{path}', format='nd')\").fetchall()",
    ),
    "messages: epochlint": (COUNT, "read_through(path, max_bytes=1 << 40)"),
    "messages: epochlint, one core": (COUNT + "; " + ONE, "read_through(path, max_bytes=1 << 40)"),
    "messages: json.loads": (
        "import json",
        "sum(len(json.loads(line).get('messages', ())) for line in open(path, 'rb'))",
    ),
    "messages: orjson": (
        "import orjson",
        "sum(len(orjson.loads(line).get('messages', ())) for line in open(path, 'rb'))",
    ),
    "messages: polars": (
        "import polars",
        "polars.scan_ndjson(path).select(polars.col('messages').list.len().sum()).collect()",
    ),
    "messages: duckdb": (
        "import duckdb",
        "duckdb.sql(f\"select sum(len(messages)) from read_json_auto('{path}', format='nd')\").fetchall()",
    ),
    "all that rules ask: epochlint": (LOOKS, ALL),
    "all that rules ask: one core": (LOOKS + "; " + ONE, ALL),
}

MEASURE = """
import os, sys, time
path = sys.argv[1]
{imports}
begin = time.perf_counter()
{work}
print(time.perf_counter() - begin)
"""
_TEXTS = 500


def make(path: str, size: int, kind: str) -> tuple[int, int]:
    """Writes the data; how many rows there are, and their messages. All rows differ unless they are to be repeated."""
    source = random.Random(7)
    words = [f"w{source.randrange(10**6):x}" for _ in range(2000)]

    def text(number: int) -> str:
        return " ".join(source.choices(words, k=number))

    made: list[tuple[bytes, int]] = []
    for _ in range(_TEXTS):
        if kind == "records":
            record = {"instruction": "@ " + text(20), "input": "", "output": text(70)}
            messages = []
        else:
            messages = [{"role": "system", "content": "Answer briefly."}]
            for _ in range(source.randrange(1, 4)):
                messages.append({"role": "user", "content": "@ " + text(30)})
                messages.append({"role": "assistant", "content": text(90) + '\n"quoted" é'})
            record = {"messages": messages}
        made.append((json.dumps(record, ensure_ascii=False).encode() + b"\n", len(messages)))
    times = 4 if kind == "repeated" else 1
    lines = total = 0
    with open(path, "wb") as file:
        for _ in range(times):
            number = written = 0
            while written < size // times:
                row, messages_of_row = made[number % _TEXTS]
                written += file.write(row.replace(b"@", b"%d" % number))
                number += 1
                total += messages_of_row
            lines += number
    return lines, total


def memory(process: int) -> tuple[dict[int, float], float]:
    """The peak of resident memory of a process and its children up to now, and what they share out now, in MiB."""
    peaks: dict[int, float] = {}
    together = 0.0
    for one in (process, *children(process)):
        try:
            with open(f"/proc/{one}/status", encoding="ascii") as file:
                peaks[one] = next(int(line.split()[1]) / 1024 for line in file if line.startswith("VmHWM"))
            with open(f"/proc/{one}/smaps_rollup", encoding="ascii") as file:
                together += next(int(line.split()[1]) / 1024 for line in file if line.startswith("Pss:"))
        except (OSError, StopIteration):  # it has just ended
            continue
    return peaks, together


def children(process: int) -> list[int]:
    try:
        with open(f"/proc/{process}/task/{process}/children", encoding="ascii") as file:
            return [int(one) for one in file.read().split()]
    except OSError:
        return []


class Measured:
    """Seconds, the peaks of memory of the process and those of its children in MiB, and the most of all together."""

    def __init__(self, seconds: float, peaks: list[float], together: float) -> None:
        self.seconds = seconds
        self.peaks = peaks
        self.together = together


def measure(name: str, path: str) -> Measured | None:
    """None where the way is not installed."""
    imports, work = WAYS[name]
    code = MEASURE.format(imports=imports, work=work)
    environment = {**os.environ, "PYTHONPATH": os.path.join(HERE, "..")}
    command = [sys.executable, "-c", code, path]
    peaks: dict[int, float] = {}
    together = 0.0
    with subprocess.Popen(command, stdout=-1, stderr=-1, text=True, env=environment) as done:
        while done.poll() is None:
            now, sum_now = memory(done.pid)
            peaks.update(now)
            together = max(together, sum_now)
            time.sleep(0.1)  # looking costs, too
        output, errors = done.communicate()
    if done.returncode:
        if "ModuleNotFoundError" not in errors:
            print(f"{name}: ended with {done.returncode} {errors.strip()[-300:]}", file=sys.stderr)
        return None
    return Measured(float(output), list(peaks.values()), together)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("megabytes", nargs="?", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--data", choices=("conversations", "repeated", "records"), default="conversations")
    parser.add_argument("--only", nargs="+", default=[""], help="ways with one of these words in their name")
    parser.add_argument("--folder", help="where the data is written (and taken away afterwards)")
    asked = parser.parse_args()
    ways = [name for name in WAYS if any(word in name for word in asked.only)]
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        path = os.path.join(folder, "train.jsonl")
        lines, messages = make(path, asked.megabytes * 10**6, asked.data)
        size = os.path.getsize(path)
        best: dict[str, Measured] = {}
        for _ in range(asked.rounds):
            for name in list(ways):
                found = measure(name, path)
                if found is None:
                    ways.remove(name)
                elif name not in best or found.seconds < best[name].seconds:
                    best[name] = found
                time.sleep(0.05)
    cores = len(os.sched_getaffinity(0))
    said = {"rounds": asked.rounds, "size": size / 1e6, "lines": lines, "messages": messages, "cores": cores}
    print(MADE.format(kind=asked.data, **said))
    print(f"{'':32}{'GB/s':>7}{'of wc -l':>10}{'x json.loads':>14}{'MiB together':>14}  of each process")
    counted, loads = best.get("wc -l"), best.get("messages: json.loads")
    for name, one in best.items():
        ratios = [other.seconds / one.seconds if other is not None else float("nan") for other in (counted, loads)]
        peaks = ", ".join(f"{peak:.1f}" for peak in one.peaks)
        print(
            f"{name:32}{size / one.seconds / 1e9:7.2f}{ratios[0]:10.2f}{ratios[1]:14.2f}{one.together:14.1f}  {peaks}"
        )
    for name in ways:
        if name not in best:
            print(f"{name:32}not installed")


if __name__ == "__main__":
    main()
