"""What is opened and what is not: nothing may block, nothing may raise."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import sys
from pathlib import Path

import pytest

from epochlint.records import count, counting, duplicates, expand, iterate, leaks, token_estimate

ROWS = b'{"text": "a"}\n{"text": "b"}\n\n{"text": "c"}\n'


def nothing(path: str) -> None:
    assert count(path) is None
    assert count(path, turns=False, detail=True) is None
    assert list(iterate(path)) == []
    assert duplicates(path) is None
    assert leaks([path], [path]) is None
    assert token_estimate(path) is None


def test_missing_and_strange_names(tmp_path: Path) -> None:
    for name in (
        "nothing.jsonl",
        "a\0b.jsonl",
        "",
        "x" * 5000 + ".jsonl",
        "\udcff.jsonl",
        "nothing-*.jsonl",
        "[",
        "*[",
    ):
        nothing(os.path.join(tmp_path, name) if name else name)
        assert expand(os.path.join(tmp_path, name) if name else name) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    nothing(str(tmp_path / "pipe.jsonl"))
    assert count(str(tmp_path)) is None
    for device in ("/dev/zero", "/dev/stdin", "/dev/null"):
        nothing(device)
        link = tmp_path / f"{os.path.basename(device)}.jsonl"
        link.symlink_to(device)
        nothing(str(link))


def test_no_permission(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(ROWS)
    path.chmod(0)
    try:
        if not os.access(path, os.R_OK):
            nothing(str(path))
    finally:
        path.chmod(0o600)


def test_a_link_to_itself(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").symlink_to(tmp_path / "b.jsonl")
    (tmp_path / "b.jsonl").symlink_to(tmp_path / "a.jsonl")
    nothing(str(tmp_path / "a.jsonl"))


def test_an_unknown_ending(tmp_path: Path) -> None:
    (tmp_path / "data.xyz").write_bytes(b"a,b\n")
    nothing(str(tmp_path / "data.xyz"))
    (tmp_path / "data").write_bytes(b"\xef\xbb\xbf\n " + ROWS)
    assert count(str(tmp_path / "data")).rows == 3  # type: ignore[union-attr]


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gzip", "bzip2", "xz"])
def test_packed_files(tmp_path: Path, pack) -> None:  # type: ignore[no-untyped-def]
    data = pack(ROWS * 1000)
    for name in ("data.jsonl.gz", "data.jsonl"):
        path = tmp_path / name
        path.write_bytes(data)
        assert count(str(path)).rows == 3000  # type: ignore[union-attr]
        assert count(str(path), turns=False).rows == 3000  # type: ignore[union-attr]
    for cut in (1, 7, len(data) // 2, len(data) - 1):
        path = tmp_path / f"cut-{cut}.jsonl"
        path.write_bytes(data[:cut])
        found = count(str(path))
        assert found is None or (cut == 1 and found.rows == 1 and found.problems)
    damaged = tmp_path / "damaged.jsonl"
    damaged.write_bytes(data[:20] + b"xxxxxxxx" + data[28:])
    assert count(str(damaged)) is None


def test_zstandard_without_its_package_is_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    monkeypatch.setitem(sys.modules, "compression", None)
    path = tmp_path / "data.jsonl.zst"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x04\x00" + b"x" * 40)
    nothing(str(path))


def test_zstandard_with_its_package(tmp_path: Path) -> None:
    zstandard = pytest.importorskip("zstandard")
    path = tmp_path / "data.jsonl.zst"
    path.write_bytes(zstandard.ZstdCompressor().compress(ROWS * 1000))
    assert count(str(path)).rows == 3000  # type: ignore[union-attr]
    path.write_bytes(b"\x28\xb5\x2f\xfd" + b"x" * 40)
    assert count(str(path)) is None


def test_a_changed_file_is_counted_again(tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(ROWS)
    assert count(str(path)).rows == 3  # type: ignore[union-attr]
    path.write_bytes(ROWS * 2)
    assert count(str(path)).rows == 6  # type: ignore[union-attr]


def test_the_same_file_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.jsonl"
    path.write_bytes(ROWS)
    first = count(str(path))
    monkeypatch.setattr(counting, "_count_file", lambda *_: pytest.fail("read again"))
    monkeypatch.chdir(tmp_path)
    again = count("data.jsonl")
    assert first is not None
    assert again is not None
    assert (again.path, again.rows, again.shape) == ("data.jsonl", first.rows, first.shape)
    assert count(str(path)) is first


@pytest.mark.parametrize(
    "data",
    [
        b"", b"\0" * 1000, b"[" * 100_000, b'{"a":' * 20_000, b'{"a":[\n' * 20_000, b"[\n" * 30_000,
        b"\n" * 50_000,
        b"\r" * 50_000, b" " * 50_000, b"1\n" * 20_000, b"1 " * 30_000, b'"a" ' * 20_000, b"{}" * 20_000,
        b"[" + b"1," * 30_000 + b"1]", b'["' + b"\\" * 50_001, b'{"a": "' + b"x" * 50_000, b"\xff" * 10_000,
        b"\xef\xbb\xbf" * 1000, b"\xff\xfe{\0}\0", b'{"a": 1}\n' + b'{"a":\n' * 20_000, b",\n" * 100_000,
        b'[{"a": 1}' + b"," * 100_000, b'"' * 30_001, b"'" * 1000, b"\\" * 1000, b"\x1f\x8b", b"BZh9", b"PAR1PAR1PAR1",
        bytes(range(256)) * 500,
    ],
    ids=range(27 + 2),
)  # fmt: skip
@pytest.mark.parametrize("ending", ["jsonl", "json", "csv", "tsv", "txt", "parquet", "arrow", "unknown"])
def test_any_bytes(tmp_path: Path, data: bytes, ending: str) -> None:
    path = tmp_path / f"data.{ending}"
    path.write_bytes(data)
    found = count(str(path), detail=True)
    assert found is None or (found.rows >= 0 and len(found.problems) <= 100)
    count(str(path), turns=False)
    count(str(path), field="a")
    count(str(path), max_bytes=1000)
    for row in iterate(str(path)):
        assert row.line >= 1
        assert row.column >= 1
