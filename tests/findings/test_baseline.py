"""The baseline file: written, read, and refused where it is none."""

from __future__ import annotations

from pathlib import Path

import pytest

from epochlint.findings import baseline
from epochlint.findings.finding import Finding
from epochlint.source import Source


def test_there_and_back(tmp_path: Path) -> None:
    path = tmp_path / "known.json"
    path.write_text(baseline.render(["b", "a"]), encoding="utf-8")
    assert baseline.read(str(path)) == {"a", "b"}
    assert path.read_text() == baseline.render(["a", "b"]), "sorted, so that a diff is small"


@pytest.mark.parametrize(
    "content",
    ["", "[]", "{", "null", '{"version": 2, "fingerprints": []}', '{"version": 1}', '{"version": 1, "fingerprints": 3}',
     "[" * 100_000],
)  # fmt: skip
def test_what_is_no_baseline(tmp_path: Path, content: str) -> None:
    path = tmp_path / "known.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(baseline.BaselineError, match=r"known\.json"):
        baseline.read(str(path))


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "known.json").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(baseline.BaselineError):
        baseline.read(str(tmp_path / "known.json"))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(baseline.BaselineError, match="No such file"):
        baseline.read(str(tmp_path / "none.json"))


def test_known_findings_are_kept_apart() -> None:
    source = Source("a.yaml", "x: 1\n")
    old, new = (Finding(code, "n", "error", "m", source.span(0, 1)) for code in ("A001", "B001"))
    kept, known = baseline.apply([old, new], {id(old): "1", id(new): "2"}, {"1"})
    assert (kept, known) == ([new], [old])
    assert old.suppressed
    assert not old.in_source
