"""Data files that nobody means well with: a finding or silence, in bounded memory, and never an error of our own."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from epochlint.findings.finding import Finding
from epochlint.lint import Options, check
from epochlint.project import survey
from epochlint.records import opening
from epochlint.trouble import KIND
from tests.helpers import check_project

ROW = b'{"instruction": "a", "output": "b"}\n'
CONFIG = """\
base_model: someone/model
datasets:
  - path: DATA
    type: alpaca
sequence_len: 512
micro_batch_size: 2
num_epochs: 3
learning_rate: 2e-5
"""
DEEP = b"[" * 100_000 + b"]" * 100_000


def parquet(metadata: bytes) -> bytes:
    return b"PAR1" + b"\0" * 20 + metadata + len(metadata).to_bytes(4, "little") + b"PAR1"


def footer(rest: bytes, children: bytes = b"\x02") -> bytes:
    """A footer with a schema of one column, and more."""
    root, leaf = b"\x48\x04root\x15" + children + b"\0", b"\x15\x0c\x25\x02\x18\x04text\0"
    return parquet(b"\x15\x04\x19\x2c" + root + leaf + rest)


def invalid(name: str, data: bytes) -> list[Finding]:
    report = check_project({"sft.yaml": CONFIG.replace("DATA", name), name: data}, assume={"gpus": 1})
    assert not [entry.reason for entry in report.skipped if entry.kind == KIND]
    return [finding for finding in report.findings if finding.code == "DAT005"]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("cut.jsonl.gz", gzip.compress(ROW * 1000, mtime=0)[:60], "cut.jsonl.gz is broken"),
        ("cut.jsonl.bz2", bz2.compress(ROW * 1000)[:60], "cut.jsonl.bz2 is broken"),
        ("lying.parquet", b"PAR1" + b"\0" * 100 + b"\xff\xff\xff\x7fPAR1", "lying.parquet is broken"),
        ("lying.parquet", b"PAR1\x15\x04\x19" + b"\xff" * 60 + b"\x3f\0\0\0PAR1", "lying.parquet is broken"),
        ("lying.arrow", b"ARROW1\0\0" + b"\xff" * 200, "lying.arrow is broken"),
        ("huge.parquet", footer(b"\x16" + b"\xfe" * 8 + b"\x7f" + b"\x19\x0c\x00"), "no number of rows"),
        ("children.parquet", footer(b"", children=b"\xfe\xff\xff\xff\x0f"), "a damaged Parquet footer"),
        ("list.parquet", parquet(b"\x15\x04\x19\xf1\xff\xff\xff\xff\x07"), "a damaged Parquet footer"),
        ("text.parquet", parquet(b"\x15\x04\x18" + b"\xff" * 5 + b"\x0f"), "a damaged Parquet footer"),
        ("nested.parquet", parquet(b"\x15\x04\x19\x1c" + b"\x1c" * 5000), "a damaged Parquet footer"),
        ("long.arrow", b"ARROW1\0\0\xff\xff\xff\xff\xf8\xff\xff\x7f" + b"\0" * 100, "no Arrow message"),
        ("junk.jsonl.gz", gzip.compress(ROW * 10, mtime=0) + b"junk" * 10, "junk.jsonl.gz is broken"),
        ("deep.json", DEEP, "nested too deeply"),
        ("open.json", b"[" + ROW + b"," + ROW, "the array does not end"),
        ("deep.jsonl", ROW + b'{"a": ' + DEEP + b"}\n" + ROW, "line 2: nested too deeply"),
        ("bytes.jsonl", ROW * 3 + b'{"instruction": "\xff", "output": "b"}\n' + ROW, "line 4: not valid UTF-8"),
        ("blank.jsonl", b"\n" * 1_000_000, "holds no record"),
    ],
    ids=lambda part: part if isinstance(part, str) else "",
)
def test_a_clear_finding(name: str, data: bytes, message: str) -> None:
    found = invalid(name, data)
    assert [finding.level for finding in found] == ["error"]
    assert message in found[0].message


def test_numbers_that_are_none_are_read() -> None:
    assert invalid("nan.jsonl", ROW + b'{"instruction": "a", "output": "b", "n": NaN, "m": -Infinity}\n' + ROW) == []


def test_an_empty_file_may_be_a_placeholder() -> None:
    assert [finding.level for finding in invalid("train.jsonl", b"")] == ["note"]


@pytest.mark.skipif(sys.platform != "linux", reason="limits of address space")
@pytest.mark.parametrize("kind", ["line", "bomb"])
def test_memory_is_bounded(tmp_path: Path, kind: str) -> None:
    """A line, or a packed line, of 200 million characters within 256 MiB of address space."""
    name = "data.jsonl" if kind == "line" else "data.jsonl.gz"
    with open(tmp_path / name, "wb") if kind == "line" else gzip.open(tmp_path / name, "wb", 1) as file:
        file.write(b'{"text": "')
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n')
    code = (
        "import resource, sys\n"
        "from epochlint.records import counting, repeats, tokens\n"
        "import gzip, hashlib\n"
        "resource.setrlimit(resource.RLIMIT_AS, (256 << 20, 256 << 20))\n"
        "why = []\n"
        "looks = (repeats.Repeats(), tokens.Lengths())\n"
        "print(counting.read_through(sys.argv[1], looks, max_bytes=1 << 30, why=why), why)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, check=True
    )
    assert "a record of more than 16 million characters" in done.stdout


def test_good_rows_are_no_finding() -> None:
    text = "".join(json.dumps({"instruction": str(number), "output": "b"}) + "\n" for number in range(60))
    assert invalid("train.jsonl", text.encode()) == []


def test_members_of_a_packed_file_follow_each_other() -> None:
    rows = [f'{{"instruction": "{number}", "output": "b"}}\n'.encode() for number in range(60)]
    packed = b"".join(gzip.compress(row, mtime=0) for row in rows)
    report = check_project({"sft.yaml": CONFIG.replace("DATA", "d.jsonl.gz"), "d.jsonl.gz": packed}, {"gpus": 1})
    assert report.runs[0].scenarios.fact("records").value == 60


def test_millions_of_structures_in_a_footer_are_not_held() -> None:
    flood = b"\x15\x04\x19\xfc" + b"\xc0\x84\x3d" + b"\0" * 1_000_000 + b"\x16\x14\x19\x0c\0"
    tracemalloc.start()
    try:
        assert [finding.level for finding in invalid("flood.parquet", parquet(flood))] in ([], ["note"])
        assert tracemalloc.get_traced_memory()[1] < 40 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.skipif(sys.platform != "linux", reason="kinds of files")
@pytest.mark.parametrize("kind", ["fifo", "socket", "device", "loop", "gone", "unreadable"])
def test_what_is_no_file_is_not_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".git").mkdir()
    if kind == "fifo":
        os.mkfifo("train.jsonl")
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as one:
            one.bind("train.jsonl")
    elif kind == "unreadable":
        Path("train.jsonl").write_bytes(ROW)
        Path("train.jsonl").chmod(0)
        if os.access("train.jsonl", os.R_OK):
            pytest.skip("root reads everything")
    elif kind != "gone":
        Path("train.jsonl").symlink_to("/dev/zero" if kind == "device" else "train.jsonl")
    Path("sft.yaml").write_text(CONFIG.replace("DATA", "train.jsonl"))
    report = check(Options(["sft.yaml"]))
    assert not [entry for entry in report.skipped if entry.kind == KIND]
    assert not [finding for finding in report.findings if finding.code == "DAT005" and finding.level != "note"]
    assert report.runs[0].scenarios.fact("records").value is None


def test_a_folder_that_holds_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "train.jsonl").write_bytes(ROW * 3)
    (tmp_path / "data" / "again").symlink_to(".")
    Path("sft.yaml").write_text(CONFIG.replace("DATA", "data"))
    assert check(Options(["sft.yaml"])).runs[0].scenarios.fact("records").value == 3


def test_a_file_that_shrinks_or_goes_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "train.jsonl"
    read = opening.DataFile.read

    def cut(self: opening.DataFile, size: int) -> bytes:
        data = read(self, size)
        if path.exists():
            os.truncate(path, 1000)
            path.unlink()
        return data

    monkeypatch.chdir(tmp_path)
    path.write_bytes(ROW * 100_000)
    Path("sft.yaml").write_text(CONFIG.replace("DATA", "train.jsonl"))
    monkeypatch.setattr(opening.DataFile, "read", cut)
    report = check(Options(["sft.yaml"]))
    assert not [entry for entry in report.skipped if entry.kind == KIND]


def test_thousands_of_files_take_no_square_of_their_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(survey, "_size", lambda path: asked.append(path) or 1)  # type: ignore[func-returns-value]
    files = {f"data/train-{number}.jsonl": ROW for number in range(50)}
    check_project({**files, "sft.yaml": CONFIG.replace("DATA", "data")}, {"gpus": 1})
    assert len(asked) < 50 * 6
