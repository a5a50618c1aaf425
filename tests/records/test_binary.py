"""Damaged Parquet and Arrow files: unknown, or a count, never a traceback or a hang."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from epochlint.records import count

BINARY = sorted((Path(__file__).parent / "binary").iterdir())


@pytest.mark.parametrize("path", BINARY, ids=lambda path: path.name)
def test_cut_anywhere(path: Path, tmp_path: Path) -> None:
    data = path.read_bytes()
    whole = count(str(path))
    assert whole is not None
    for length in range(0, len(data), max(1, len(data) // 150)):
        cut = tmp_path / f"{length}{path.suffix}"
        cut.write_bytes(data[:length])
        found = count(str(cut))
        if path.suffix == ".parquet":
            assert found is None
        else:
            assert found is None or found.rows <= whole.rows


@pytest.mark.parametrize("path", BINARY, ids=lambda path: path.name)
def test_changed_bytes(path: Path, tmp_path: Path) -> None:
    chance = random.Random(path.name)
    data = path.read_bytes()
    for number in range(300):
        changed = bytearray(data)
        for _ in range(chance.randrange(1, 6)):
            changed[chance.randrange(len(changed))] = chance.choice((0, 1, 127, 128, 255, chance.randrange(256)))
        damaged = tmp_path / f"{number}{path.suffix}"
        damaged.write_bytes(changed)
        found = count(str(damaged))
        assert found is None or found.rows >= 0


def test_found_by_their_first_bytes(tmp_path: Path) -> None:
    for path in BINARY:
        if path.name in ("chats.parquet", "chats-file.arrow"):
            (tmp_path / path.stem).write_bytes(path.read_bytes())
            assert count(str(tmp_path / path.stem)).rows == 20  # type: ignore[union-attr]


def test_a_length_that_lies(tmp_path: Path) -> None:
    for footer in (b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x29\xf1\xff\xff\xff\xff\x0f" + b"\x01" * 100, b"\xff" * 40, b""):
        path = tmp_path / "data.parquet"
        path.write_bytes(b"PAR1" + footer + len(footer).to_bytes(4, "little") + b"PAR1")
        assert count(str(path)) is None
