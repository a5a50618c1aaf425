"""Each data file is read once for everything that is asked, and not at all where the user's cache knows it."""

from __future__ import annotations

import json
import os
import stat
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from epochlint import lint
from epochlint.cli.entry import main
from epochlint.project import readings
from epochlint.project.lookup import Lookup
from epochlint.records import kept

CONFIG = """\
base_model: someone/model
datasets:
  - path: data/train.jsonl
    type: alpaca
test_datasets:
  - path: data/held.jsonl
    type: alpaca
    split: train
sequence_len: 512
micro_batch_size: 2
num_epochs: 1
learning_rate: 2e-5
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two configs that train on the same file of more than a megabyte, which has rested for a while."""
    folder = tmp_path / "project"
    (folder / "data").mkdir(parents=True)
    rows = [{"instruction": f"Add {number} and 1.", "output": "word " * 60} for number in range(4000)]
    rows += rows[:400]
    (folder / "data/train.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "data/held.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[10:30]))
    for name in ("a.yaml", "b.yaml"):
        (folder / name).write_text(CONFIG)
    (folder / "epochlint.toml").write_text("")
    for name in ("train", "held"):
        os.utime(folder / f"data/{name}.jsonl", (1_600_000_000, 1_600_000_000))
    monkeypatch.chdir(folder)
    monkeypatch.setenv("EPOCHLINT_CACHE", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were counted, in order."""
    names: list[str] = []
    whole = readings.read_through

    def counted(path: str, *words: Any, **named: Any) -> Any:
        names.append(os.path.basename(path))
        return whole(path, *words, **named)

    monkeypatch.setattr(readings, "read_through", counted)
    return names


def check(paths: tuple[str, ...] = (".",), **options: Any) -> list[str]:
    report = lint.check(lint.Options(paths, cache=True, **options))
    return [f"{finding.path} {finding.code} {finding.message}" for finding in report.findings]


def test_one_reading_serves_all_rules_and_runs(project: Path, read: list[str]) -> None:
    found = check()
    assert read.count("train.jsonl") == 1
    assert {finding.split()[1] for finding in found} >= {"DAT003", "DAT004"}
    assert any("without the copies 4,400 records are 4,000 records" in finding for finding in found)
    assert any("1, 4001; 2, 4002" in finding for finding in found)
    assert any("20 of 20 validation records" in finding and "1 = 11" in finding for finding in found)


def test_the_next_run_reads_nothing_long(project: Path, tmp_path: Path, read: list[str]) -> None:
    before = check()
    assert os.listdir(tmp_path / "cache"), "something is kept"
    read.clear()
    assert check() == before
    assert "train.jsonl" not in read


def test_nothing_is_kept_without_being_asked(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lint.check(lint.Options(["."]))
    assert main(["--no-cache", "."]) == 1
    monkeypatch.setenv("EPOCHLINT_CACHE", "off")
    assert main(["check", "."]) == 1
    assert not (tmp_path / "cache").exists()


def test_a_changed_file_is_read_again(project: Path, read: list[str]) -> None:
    before = check()
    with open(project / "data/train.jsonl", "r+") as file:
        file.write(file.readline().replace("Add 0", "Sub 0") and '{"instruction": "Sub 0')
    read.clear()
    assert check() != before
    assert "train.jsonl" in read


def test_what_changed_just_now_is_not_kept(project: Path, tmp_path: Path) -> None:
    os.utime(project / "data/train.jsonl")
    check()
    assert not (tmp_path / "cache").exists()


def test_never_inside_the_project(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHLINT_CACHE", str(project / "cache"))
    check()
    assert not (project / "cache").exists()


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_it_is_private(project: Path, tmp_path: Path) -> None:
    check()
    folder = tmp_path / "cache"
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {0o600}


@pytest.mark.skipif(os.name != "posix", reason="permissions of POSIX")
def test_a_folder_in_which_others_may_write_is_not_used(project: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache").chmod(0o777)
    check()
    assert os.listdir(tmp_path / "cache") == []


def _entry(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


@pytest.mark.parametrize(
    "harm",
    [
        lambda text: b"",
        lambda text: text[: len(text) // 2],
        lambda text: b"\xff\xfe\x00garbage",
        lambda text: b"[" * 200_000,
        lambda text: b"null",
        lambda text: b'{"key": 7, "found": []}',
        lambda text: json.dumps(
            {**json.loads(text), "found": {"count": ["x"], "lengths": 7, "repeats": [[]]}}
        ).encode(),
        lambda text: json.dumps({**json.loads(text), "found": {"count": [["jsonl"]] * 8, "x": 1}}).encode(),
        lambda text: b"x" * 3_000_000,
    ],
)
def test_any_bytes_are_no_cache(project: Path, tmp_path: Path, read: list[str], harm: Callable[[bytes], bytes]) -> None:
    before = check()
    entry = _entry(tmp_path / "cache")
    entry.write_bytes(harm(entry.read_bytes()))
    read.clear()
    assert check() == before
    assert "train.jsonl" in read
    read.clear()
    assert check() == before
    assert "train.jsonl" not in read, "it was written again"


def test_it_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "_MOST_ENTRIES", 5)
    store = kept.Kept(str(tmp_path / "cache"))
    for number in range(20):
        store.save(f"file {number}", (1, 1, number, 1), {"count": number})
        time.sleep(0.002)
    assert len(os.listdir(tmp_path / "cache")) == 5
    assert store.load("file 19", (1, 1, 19, 1)) == {"count": 19}
    assert store.load("file 19", (1, 2, 19, 1)) == {}, "another time of change"
    assert store.load("file 18", (1, 1, 19, 1)) == {}
    store.save("long", (1, 1, 1, 1), {"count": "x" * 2_000_000})
    assert store.load("long", (1, 1, 1, 1)) == {}


def test_the_code_that_counts_is_a_part_of_the_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept.Kept(str(tmp_path)).save("file", (1, 1, 1, 1), {"count": 1})
    assert kept.Kept(str(tmp_path)).load("file", (1, 1, 1, 1)) == {"count": 1}
    monkeypatch.setattr(kept, "_version", lambda: "another")
    assert kept.Kept(str(tmp_path)).load("file", (1, 1, 1, 1)) == {}


def test_many_processes_write_at_once(tmp_path: Path) -> None:
    import subprocess

    code = (
        "import sys; from epochlint.records.kept import Kept\n"
        "store = Kept(sys.argv[1])\n"
        "for number in range(300):\n"
        "    store.save('file', (1, 1, 1, 1), {'count': 'x' * 5000})\n"
        "    assert store.load('file', (1, 1, 1, 1)) == {'count': 'x' * 5000}\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "cache")]) for _ in range(3)]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(os.listdir(tmp_path / "cache")) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the folder of this platform")
def test_where_it_lies() -> None:
    home = os.path.expanduser("~")
    assert kept.folder({}) == os.path.join(home, ".cache", "epochlint")
    assert kept.folder({"XDG_CACHE_HOME": "/var/caches"}) == "/var/caches/epochlint"
    assert kept.folder({"XDG_CACHE_HOME": "relative"}) == os.path.join(home, ".cache", "epochlint")
    assert kept.folder({"EPOCHLINT_CACHE": "/other"}) == "/other"
    assert [kept.folder({"EPOCHLINT_CACHE": word}) for word in ("", "0", "off", "OFF")] == [None] * 4


def test_a_folder_that_cannot_be_made_is_no_trouble(project: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert check()


def test_copies_are_looked_for_in_as_much_as_is_read(tmp_path: Path) -> None:
    """What may stand there twice is read again: as far as the data were read, however long they are."""
    path = tmp_path / "data.jsonl"
    path.write_text('{"text": "the same"}\n' * 20)
    read = readings.Readings(Lookup(str(tmp_path)), 1 << 30)
    for most, complete in ((1 << 30, True), (100, False)):
        want = readings.repeats_want(most)
        look = want.look()
        for line in range(1, 21):
            look.see(line, {"text": "the same"})
        found = readings.repeats(want.told(str(path), look))
        assert found is not None
        assert (found[0].complete, found[0].later_copies) == ((True, 19) if complete else (False, 0))
    assert read.of(str(path), 1 << 30, [readings.repeats_want(1 << 30)])["repeats"][0][1] == 1
