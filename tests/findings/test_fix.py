"""Fixes change the characters of their edits and nothing else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.findings.finding import Finding
from epochlint.findings.fix import Fixed, fixed, write
from epochlint.run.observation import Edit, Fix
from epochlint.source import Excerpt, Source, Span


def _finding(span: Span, text: str, *, safe: bool = True, more: list[Edit] | None = None) -> Finding:
    edits = [Edit(span, text), *(more or [])]
    return Finding("A001", "name", "warning", "message", span, fix=Fix("title", edits, safe))


def _one(findings: list[Finding], unsafe: bool = False) -> Fixed:
    (one,) = fixed(findings, unsafe)
    return one


def test_several_edits_in_one_file() -> None:
    source = Source("a.yaml", "abcdef")
    one = _one([_finding(source.span(0, 1), "XX"), _finding(source.span(4, 5), ""), _finding(source.span(2, 2), "-")])
    assert (one.new, one.count) == ("XXb-cdf", 3)


def test_unsafe_ones_only_when_asked() -> None:
    source = Source("a.yaml", "abcdef")
    findings = [_finding(source.span(0, 1), "X", safe=False)]
    assert fixed(findings) == []
    assert _one(findings, unsafe=True).new == "Xbcdef"


def test_overlapping_edits_wait_for_the_next_run() -> None:
    source = Source("a.yaml", "abcdef")
    one = _one([_finding(source.span(0, 3), "X"), _finding(source.span(2, 4), "Y"), _finding(source.span(0, 0), "Z")])
    assert (one.new, one.count) == ("Xdef", 1)


def test_a_fix_is_made_whole_or_not_at_all() -> None:
    source = Source("a.yaml", "abcdef")
    whole = _finding(source.span(5, 6), "Y", more=[Edit(source.span(0, 2), "Z")])
    assert _one([_finding(source.span(1, 2), "X"), whole]).new == "aXcdef"


def test_the_same_fix_of_two_findings_is_made_once() -> None:
    source = Source("a.yaml", "abcdef")
    assert _one([_finding(source.span(0, 1), "X"), _finding(source.span(0, 1), "X")]).new == "Xbcdef"


def test_text_inside_another_is_only_written_where_it_needs_no_escape() -> None:
    outer = Source("a.ipynb", '["a = 1\\n", "b"]')
    inner = Excerpt(outer, "a = 1\n", [2, 3, 4, 5, 6, 7, 9], "cell 1")
    assert _one([_finding(inner.span(4, 5), "2e-4")]).new == '["a = 2e-4\\n", "b"]'
    assert fixed([_finding(inner.span(4, 5), '"x"')]) == []
    assert fixed([_finding(inner.span(4, 6), "2")]) == [], "what is replaced is written with an escape"


@given(
    st.text("ab\r\n\u2028\U0001f600é", max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5)), max_size=6),
)
def test_nothing_but_the_edits_changes(text: str, places: list[tuple[int, int]]) -> None:
    source = Source("a.yaml", text)
    spans = [source.span(min(at, len(text)), min(at + length, len(text))) for at, length in places]
    changes = fixed([_finding(span, "#") for span in spans])
    new = changes[0].new if changes else text
    assert new.replace("#", "") in _subsequences(text, new)
    if changes:
        assert new.count("#") == changes[0].count


def _subsequences(text: str, new: str) -> set[str]:
    """The kept characters stand in the text in their order."""
    rest = iter(text)
    kept = new.replace("#", "")
    return {kept} if all(character in rest for character in kept) else set()


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"),
     (b"\xff\xfe\x00\x00", "utf-32-le")],
)  # fmt: skip
@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_bytes_are_kept(tmp_path: Path, mark: bytes, encoding: str, ending: str) -> None:
    path = tmp_path / "a.yaml"
    old, new = f"é: 1{ending}b: 2{ending}", f"é: 1{ending}b: 33{ending}"
    path.write_bytes(mark + old.encode(encoding))
    path.chmod(0o640)
    assert write(Fixed("a.yaml", old, new, 1), lambda _: str(path))
    assert path.read_bytes() == mark + new.encode(encoding)
    assert path.stat().st_mode & 0o777 == 0o640
    assert os.listdir(tmp_path) == ["a.yaml"], "nothing is left behind"


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.yaml").write_text("a")
    (tmp_path / "link.yaml").symlink_to("real.yaml")
    assert write(Fixed("link.yaml", "a", "b", 1), lambda _: str(tmp_path / "link.yaml"))
    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "real.yaml").read_text() == "b"


def test_a_file_that_has_changed_meanwhile_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("newer")
    assert not write(Fixed("a.yaml", "old", "new", 1), lambda _: str(path))
    assert path.read_text() == "newer"


def test_a_write_that_fails_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("old")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        write(Fixed("a.yaml", "old", "new", 1), lambda _: str(path))
    monkeypatch.undo()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.yaml"]
