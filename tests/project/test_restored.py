"""Data of an earlier revision, written out to be counted."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from epochlint.git import Blobs
from epochlint.project.restored import Restored


class Stored:
    def read(self, name: str, most: int) -> bytes | None:
        return name.encode() if len(name) <= most else None


def _restored() -> Restored:
    return Restored(cast("Blobs", Stored()))


def test_a_file_and_a_folder() -> None:
    restored = _restored()
    one = restored.place("/project/a.jsonl", [("/project/a.jsonl", "first")])
    assert one is not None
    assert Path(one).name == "a.jsonl"
    assert Path(one).read_bytes() == b"first"
    folder = restored.place("/project/data", [("/project/data/x/b.jsonl", "second")])
    assert folder is not None
    assert (Path(folder) / "x" / "b.jsonl").read_bytes() == b"second"


def test_nothing_is_written_outside_the_folder() -> None:
    restored = _restored()
    assert restored.place("/project/data", [("/project/data/../../../../out.jsonl", "x")]) is None
    assert restored.place("/project/more", [("/project/more/b.jsonl", "y")]) is not None
