"""Files that are too long to be read whole, and estimates of tokens."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path

import pytest

from epochlint.records import count, counting, record_tokens, text_length, token_estimate


def chats(number: int) -> bytes:
    rows = (
        {"messages": [{"role": "user", "content": "q" * (i % 50)}, {"role": "assistant", "content": "a"}] * (1 + i % 2)}
        for i in range(number)
    )
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


@pytest.mark.parametrize("turns", [True, False])
@pytest.mark.parametrize("limit", [100_000, 400_000, 3_000_000])
def test_a_long_file_is_estimated(tmp_path: Path, limit: int, turns: bool) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(chats(40_000))
    found = count(str(path), max_bytes=limit, turns=turns)
    assert found is not None
    assert found.estimated
    assert found.rows == pytest.approx(40_000, rel=0.03)
    assert found.shape == "messages"
    if turns:
        assert found.messages == pytest.approx(120_000, rel=0.03)
        assert found.assistant_turns == pytest.approx(60_000, rel=0.03)
        assert found.conversations_multi == pytest.approx(20_000, rel=0.03)
    exact = count(str(path))
    assert exact is not None
    assert (exact.rows, exact.estimated) == (40_000, False)


def test_a_file_sorted_by_length_is_looked_at_in_several_places(tmp_path: Path) -> None:
    lines = [json.dumps({"text": "x" * (number // 20)}).encode() + b"\n" for number in range(60_000)]
    path = tmp_path / "data.jsonl"
    path.write_bytes(b"".join(lines))
    found = count(str(path), max_bytes=16 << 20)
    assert found is not None
    assert found.estimated
    assert found.rows == pytest.approx(60_000, rel=0.15)


def test_the_limit_itself_is_still_exact(tmp_path: Path) -> None:
    data = chats(100)
    for name, content in {
        "a.jsonl": data,
        "b.jsonl": data.rstrip(b"\n"),
        "c.txt": b"a\nb\n",
        "d.csv": b"a\n1\n2\n",
    }.items():
        path = tmp_path / name
        path.write_bytes(content)
        for turns in (True, False):
            found = count(str(path), max_bytes=len(content), turns=turns)
            assert found is not None
            assert not found.estimated
            assert found.rows == {"c.txt": 2, "d.csv": 2}.get(name, 100)
            less = count(str(path), max_bytes=len(content) - 1, turns=turns)
            assert less is not None
            assert less.estimated


@pytest.mark.parametrize(
    ("name", "data", "rows"),
    [
        ("data.json", json.dumps([{"text": "x" * 20}] * 30_000).encode(), 30_000),
        ("pretty.json", json.dumps([{"text": "x" * 20}] * 30_000, indent=1).encode(), 30_000),
        ("data.csv", b"text,n\n" + b'"some, text",1\n' * 60_000, 60_000),
        ("data.txt", b"a line of text\r\n" * 60_000, 60_000),
    ],
)
def test_other_formats_are_estimated_from_their_beginning(tmp_path: Path, name: str, data: bytes, rows: int) -> None:
    path = tmp_path / name
    path.write_bytes(data)
    found = count(str(path), max_bytes=100_000)
    assert found is not None
    assert found.estimated
    assert found.rows == pytest.approx(rows, rel=0.03)


def test_a_packed_file_is_estimated(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl.gz"
    chance = random.Random(1)
    lines = (b'{"text": "%x"}\n' % chance.getrandbits(1600) for _ in range(20_000))
    path.write_bytes(gzip.compress(b"".join(lines), 1))
    found = count(str(path), max_bytes=4 << 20)
    assert found is not None
    assert found.estimated
    assert found.rows == pytest.approx(20_000, rel=0.1)


def test_no_whole_record_in_the_part_that_is_read(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(json.dumps({"text": "x" * 100_000}).encode() + b"\n")
    assert count(str(path), max_bytes=1000) is None


def test_many_tiny_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "MOST_ROWS", 5000)
    for name, data in {"a.jsonl": b'{"a": 1}\n' * 20_000, "a.json": b"[" + b'{"a":1},' * 19_999 + b'{"a":1}]'}.items():
        path = tmp_path / name
        path.write_bytes(data)
        found = count(str(path))
        assert found is not None
        assert found.estimated
        assert found.rows == pytest.approx(20_000, rel=0.01)


def test_the_bytes_of_a_folder_are_shared_out(tmp_path: Path) -> None:
    for number in range(4):
        (tmp_path / f"part-{number}.jsonl").write_bytes(chats(20_000))
    found = count(str(tmp_path), max_bytes=3_000_000)
    assert found is not None
    assert found.estimated
    assert found.rows == pytest.approx(80_000, rel=0.03)
    assert count(str(tmp_path)).rows == 80_000  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        # counted with cl100k_base
        ("The quick brown fox jumps over the lazy dog.", 10),
        ("def add(first: int, second: int) -> int:\n    return first + second\n", 19),
        ("4 + 4 = 8, 16 + 16 = 32, (2/5)*500 = 200", 26),
        ("Die Donaudampfschifffahrtsgesellschaft f\u00e4hrt heute nicht.", 19),
    ],
)
def test_the_band_holds_for_usual_text(text: str, tokens: int) -> None:
    low, high = record_tokens({"text": text})
    assert low <= tokens <= high


def test_only_texts_are_measured() -> None:
    record = {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "abc"}]},
            {"role": "assistant", "content": "d\u00e9"},
        ]
    }
    assert text_length(record) == 5
    assert text_length([1, None, {"n": True}]) == 0
    low, high = record_tokens({"text": "x" * 600})
    assert (low, high) == (100, 441)


def test_tokens_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(b'{"text": "%s"}\n' % (b"x" * 600) * 10)
    assert token_estimate(str(path)) == (1000, 4410)
    assert token_estimate(str(path), max_bytes=700) is None
