"""One file read by several processes gives the same as by one."""

from __future__ import annotations

import gzip
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from epochlint.records import count, counting, duplicates, json_stream, leaks, parts
from epochlint.records.counting import read_through
from epochlint.records.looks import Judged, Records
from epochlint.records.repeats import Repeats
from epochlint.records.strict import Strict
from epochlint.records.tokens import Lengths
from epochlint.trainers.row_checks import Form

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")


@pytest.fixture
def path(tmp_path: Path) -> str:
    source = random.Random(3)
    lines = []
    for number in range(6000):
        turns = [
            {"role": "user", "content": f"q{number % 5000}"},
            {"role": "assistant", "content": "é" * (number % 70)},
        ]
        lines.append(json.dumps({"messages": turns * source.randrange(1, 3)}, ensure_ascii=number % 2 == 0))
        if number % 97 == 0:
            lines.append(source.choice(["", "  ", "{broken}", "7", '{"a": 1}{"a": 2}']))
    name = tmp_path / "data.jsonl"
    name.write_text("\n".join(lines), encoding="utf-8")
    return str(name)


def odd(row: object) -> tuple[str, str] | None:
    return None if isinstance(row, dict) and "messages" in row else ("data_invalid", "no messages")


def everything(path: str) -> tuple[object, ...]:
    """What one reading tells."""
    repeats, lengths, records = Repeats(), Lengths(), Records(bool, None)
    judged, strict = Judged(Form(lambda first: odd if "messages" in first else None), 30), Strict(document=False)
    found = read_through(path, (repeats, lengths, records, judged, strict))
    assert found is not None
    twice, same = duplicates(path), leaks([path], [path])
    assert twice is not None
    assert same is not None
    told = tuple(getattr(found, name) for name in found.__slots__)
    return (
        told, repeats.rows, lengths.low, lengths.high, lengths.longest, sorted(lengths.lows.items()),
        (records.least, records.most), judged.found, strict.told(path),
        twice.later_copies, twice.groups, same.leaked, [repr(leak) for leak in same.first],
    )  # fmt: skip


@pytest.mark.parametrize("number", [2, 3])
def test_parts_of_a_packed_file_give_what_the_whole_gives(
    path: str, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    packed = path + ".gz"
    Path(packed).write_bytes(gzip.compress(Path(path).read_bytes()))
    monkeypatch.setattr(counting, "processes", lambda: 1)
    whole = everything(packed)
    forked: list[int] = []

    def in_parts(count: int, *more: Any) -> bool:
        forked.append(count)
        return parts.in_parts(count, *more)

    monkeypatch.setattr(counting, "in_parts", in_parts)
    monkeypatch.setattr(counting, "processes", lambda: number)
    for name, value in (("PARTS_FROM", 1 << 16), ("_STEP", 1 << 13), ("_CHUNK", 1 << 12)):
        monkeypatch.setattr(counting, name, value)
    assert everything(packed) == whole
    assert set(forked) == {number}
    assert counting.read_through(packed, max_bytes=1 << 17).estimated  # more than may be read: not in parts


@pytest.mark.parametrize("number", [2, 3, 8])
def test_parts_give_what_the_whole_gives(path: str, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(counting, "processes", lambda: 1)
    whole = everything(path)
    forked = []
    monkeypatch.setattr(counting, "processes", lambda: number)
    monkeypatch.setattr(counting, "PARTS_FROM", 10_000)
    monkeypatch.setattr(counting, "BLOCK", 4096)
    monkeypatch.setattr(counting, "_SENT_AFTER", 100)
    monkeypatch.setattr(counting, "in_parts", lambda *words: (forked.append(words[0]), parts.in_parts(*words))[1])
    assert everything(path) == whole
    assert forked
    assert set(forked) == {number}


@pytest.mark.parametrize("why", ["one core", "long lines"])
def test_a_file_that_is_not_read_in_parts_after_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    row = '{"text": "x"}\n'
    text = row * 100_000
    if why == "long lines":
        text += json.dumps({"text": "y" * 1_500_000}) + "\n"
    (tmp_path / "data.jsonl").write_text(text)
    monkeypatch.setattr(counting, "PARTS_FROM", 10_000)
    monkeypatch.setattr(counting, "processes", lambda: 1 if why == "one core" else 2)
    found = count(str(tmp_path / "data.jsonl"))
    assert found is not None
    assert found.rows == text.count("\n")


def test_what_hangs_on_the_lines_before_is_read_in_order(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PARTS_FROM", 10_000)
    monkeypatch.setattr(counting, "processes", lambda: 2)
    monkeypatch.setattr(counting, "in_parts", lambda *_: pytest.fail("forked"))

    class Check:
        settled = False

        def __call__(self, row: object) -> tuple[str, str] | None:
            return None if row else ("data_invalid", "nothing")

    for look in (Judged(Check(), 3), Judged(Form(lambda first: None, columns=True), 3), Strict(document=True)):
        assert read_through(path, (look,)) is not None


@pytest.mark.parametrize("number", [2, 5])
@pytest.mark.parametrize(
    "change",
    [
        {},
        {0: "\n"},
        {1: '{"a": 1}{"a": 2}\n'},
        {150: "\n"},
        {700: "\n", 30: "\n"},
        {2999: '{"a": 1} {"a": 2}\n'},
        {2999: "\n"},
        {1500: " \n", 1499: '{"a": 1}{"a": 2}\n'},
        dict.fromkeys(range(1400, 1600), "\n"),
        dict.fromkeys(range(2900, 3000), "\n"),
    ],
)
def test_where_a_reader_by_lines_stops_is_the_same_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, change: dict[int, str]
) -> None:
    lines = [change.get(line, f'{{"text": "row {line}"}}\n') for line in range(3000)]
    path = str(tmp_path / "data.jsonl")
    Path(path).write_text("".join(lines))
    told = []
    monkeypatch.setattr(counting, "_SENT_AFTER", 50)
    monkeypatch.setattr(counting, "PARTS_FROM", 10_000)
    for processes in (1, number):
        monkeypatch.setattr(counting, "processes", lambda processes=processes: processes)
        strict = Strict(document=False)
        assert read_through(path, (strict,)) is not None
        told.append(strict.told(path))
    assert told[0] == told[1]
    assert bool(told[0]) == bool(change)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
@pytest.mark.parametrize("block", range(8190, 8196))  # some cut a character
def test_characters_of_several_bytes_around_the_first_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mark: str, block: int
) -> None:
    path = str(tmp_path / "data.jsonl")
    monkeypatch.setattr(counting, "PARTS_FROM", 10_000)
    monkeypatch.setattr(json_stream, "BLOCK", block)
    text = mark + "".join(f'{{"text": "{"é漢" * (number % 9)}{number}"}}\n' for number in range(3000))
    Path(path).write_text(text, encoding="utf-8")
    found = []
    for processes in (1, 3):
        monkeypatch.setattr(counting, "processes", lambda processes=processes: processes)
        lengths = Lengths()
        count = read_through(path, (lengths,))
        assert count is not None
        found.append((count.rows, len(count.problems), lengths.low, lengths.high))
    assert found[0] == found[1]
    assert found[0][:2] == (3000, 0)


def test_a_part_that_fails_makes_the_file_unknown(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "PARTS_FROM", 10_000)
    monkeypatch.setattr(counting, "processes", lambda: 2)

    class Failing(Records):
        def see(self, line: int, value: object) -> None:
            if line > 5000:
                os._exit(7)

    assert read_through(path, (Failing(None, None),)) is None
    assert count(path) is not None


def test_a_failure_here_ends_the_children(tmp_path: Path) -> None:
    def work(index: int, send: Callable[[object], None]) -> None:
        while True:
            send([index] * 100)

    def take(value: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        parts.in_parts(2, work, take)


def test_large_messages_arrive_whole() -> None:
    def work(index: int, send: Callable[[object], None]) -> None:
        send(b"x" * 3_000_000)
        send(index)

    arrived: list[object] = []
    assert parts.in_parts(3, work, arrived.append)
    assert sorted(value for value in arrived if isinstance(value, int)) == [0, 1, 2]
    assert sum(value == b"x" * 3_000_000 for value in arrived) == 3
