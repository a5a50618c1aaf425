"""Sorting in constant memory."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from epochlint.records import sorting
from epochlint.records.sorting import Sorted


@pytest.mark.parametrize("number", [0, 1, 6, 7, 8, 100])
@pytest.mark.parametrize("in_memory", [0, 1 << 20])
def test_sorted(monkeypatch: pytest.MonkeyPatch, number: int, in_memory: int) -> None:
    monkeypatch.setattr(sorting, "RUN", 7)
    monkeypatch.setattr(sorting, "_READ", 2)
    monkeypatch.setattr(sorting, "_IN_MEMORY", in_memory)
    entries = [random.Random(number + place).randbytes(3) for place in range(number)]
    kept = Sorted(3, 100)
    kept.add(b"".join(entries[:20]))
    for entry in entries[20:]:
        kept.add(entry)
    assert len(kept) == number
    assert list(kept) == sorted(entries)
    assert list(kept) == sorted(entries), "again"
    assert not kept.full


def test_more_than_are_taken() -> None:
    kept = Sorted(2, 3)
    kept.add(b"aabbcc")
    assert not kept.full
    kept.add(b"dd")
    assert kept.full
    assert list(kept) == []


def test_no_place_on_the_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    class Full:
        def __init__(self, *_: object) -> None:
            pass

        def seek(self, place: int) -> int:
            return place

        def write(self, data: bytes) -> int:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr(sorting, "RUN", 2)
    monkeypatch.setattr(tempfile, "SpooledTemporaryFile", Full)
    kept = Sorted(1, 100)
    kept.add(b"a")
    assert not kept.full
    kept.add(b"b")
    assert kept.full
    assert list(kept) == []


def test_a_file_that_cannot_be_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sorting, "RUN", 2)
    kept = Sorted(1, 100)
    kept.add(b"abcde")
    file: Any = kept._file
    file.truncate(1)
    list(kept)
    assert kept.full
