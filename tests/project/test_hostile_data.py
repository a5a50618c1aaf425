"""Data files that nobody means well with: a finding or silence, in bounded memory, and never an error of our own."""

from __future__ import annotations

import bz2
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from epochlint.findings.finding import Finding
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
