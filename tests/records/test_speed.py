"""Counting keeps up with the plain loop: ratios of one run, since absolute times depend on the machine."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from epochlint.records import count, counting


def plain(path: str) -> int:
    messages = 0
    with open(path, "rb") as file:
        for line in file:
            messages += len(json.loads(line)["messages"])
    return messages


@pytest.mark.parametrize("words", [1, 60])
def test_ratios_to_json_loads(tmp_path: Path, words: int) -> None:
    path = str(tmp_path / "data.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        for number in range(200_000 // (words + 9)):
            turn = [
                {"role": "user", "content": f"question {number}"},
                {"role": "assistant", "content": "an answer " * words},
            ]
            file.write(json.dumps({"messages": turn * 2}) + "\n")
    best = dict.fromkeys(("plain", "turns", "rows"), float("inf"))
    for _ in range(5):
        for name in best:
            counting._cache.clear()
            begin = time.process_time()
            if name == "plain":
                plain(path)
            else:
                count(path, turns=name == "turns")
            best[name] = min(best[name], time.process_time() - begin)
    assert best["turns"] < 2 * best["plain"]
    assert best["rows"] < 0.8 * best["plain"]


@pytest.mark.parametrize("piece", ['""', "{}", '"\\\\ud"', "{", "[", '"\\\\u'])
def test_one_long_line_of_many_values_takes_time_in_proportion(tmp_path: Path, piece: str) -> None:
    taken = []
    for size in (500_000, 4_000_000):
        path = tmp_path / f"{size}.jsonl"
        path.write_text(piece * (size // len(piece)))
        begin = time.process_time()
        count(str(path))
        taken.append(time.process_time() - begin)
    assert taken[1] < 25 * taken[0] + 0.1  # eight times as much, and not sixty-four
