"""Files that change while they are read: no traceback, and nothing is kept of what was seen halfway."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from epochlint.project.lookup import Lookup
from epochlint.project.readings import Readings, repeats_want
from epochlint.records import count, opening
from epochlint.records import counting as counting_module

LINE = b'{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}\n'
ROWS = 20_000


def grow(path: Path) -> None:
    with path.open("ab") as file:
        file.write(LINE * 100)


def shrink(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 3)


def empty(path: Path) -> None:
    os.truncate(path, 0)


def become_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


CHANGES: list[Callable[[Path], None]] = [grow, shrink, empty, Path.unlink, become_a_folder]


@pytest.fixture
def changing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, Callable[[Path], None], int], Path]:
    """Writes a file that changes at its reading number so and so."""

    def make(name: str, change: Callable[[Path], None], at: int) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(LINE * ROWS) if name.endswith(".gz") else LINE * ROWS)
        old = path.stat().st_mtime - 60
        os.utime(path, (old, old))  # it has rested: it could be kept
        left = [at]

        def watch(_: str, place: int, size: int) -> None:
            left[0] -= 1
            if left[0] == 0:
                change(path)

        monkeypatch.setattr(opening, "watch", watch)
        return path

    return make


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", ["data.jsonl", "data.jsonl.gz", "data.txt", "data.csv"])
@pytest.mark.parametrize("at", [1, 2, 4])
def test_a_count_is_given_or_not_and_nothing_raises(
    changing: Callable[..., Path], name: str, change: Callable[[Path], None], at: int
) -> None:
    path = changing(name, change, at)
    found = count(str(path))
    assert found is None or found.rows >= 0


@pytest.mark.parametrize("change", CHANGES)
def test_in_several_processes(
    changing: Callable[..., Path], change: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting_module, "PARTS_FROM", 1 << 18)
    path = changing("data.jsonl", change, 2)
    found = count(str(path))
    assert found is None or found.rows >= 0


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("at", [1, 3])
def test_nothing_is_kept_of_it(
    changing: Callable[..., Path],
    change: Callable[[Path], None],
    at: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kept = tmp_path / "kept"
    monkeypatch.setenv("EPOCHLINT_CACHE", str(kept))
    project = tmp_path / "project"
    project.mkdir()
    (project / ".git").mkdir()
    path = changing("project/data.jsonl", change, at)
    readings = Readings(Lookup(str(project)), 1 << 30, cache=True)
    readings.of(str(path), 1 << 30, [repeats_want(1 << 30)])
    assert not kept.exists() or not list(kept.iterdir())


def test_a_file_that_rests_is_kept(
    changing: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EPOCHLINT_CACHE", str(tmp_path / "kept"))
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / ".git").mkdir()
    path = changing("project/data.jsonl", grow, 1 << 30)
    Readings(Lookup(str(tmp_path / "project")), 1 << 30, cache=True).of(str(path), 1 << 30, [repeats_want(1 << 30)])
    assert list((tmp_path / "kept").iterdir())
