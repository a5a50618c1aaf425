"""Fingerprints: the same where a line only moves, another where the finding is another."""

from __future__ import annotations

from epochlint.findings.finding import Finding
from epochlint.findings.fingerprint import fingerprints
from epochlint.source import Source

TEXT = "a: 1\nwarmup_steps: 100\nb: 2\n"


def _finding(text: str = TEXT, code: str = "WRM001", path: str = "a.yaml", run: str = "") -> Finding:
    source = Source(path, text)
    start = text.index("warmup")
    return Finding(code, "x-y", "warning", "message", source.span(start, start + 6), run=run)


def _mark(finding: Finding) -> str:
    return fingerprints([finding])[id(finding)]


def test_a_moved_line_keeps_it() -> None:
    assert _mark(_finding()) == _mark(_finding("# new\n\n\n" + TEXT))


def test_white_space_keeps_it() -> None:
    assert _mark(_finding()) == _mark(_finding(TEXT.replace("warmup_steps: 100", "  warmup_steps:   100  ")))


def test_another_value_rule_path_or_run_changes_it() -> None:
    marks = [
        _finding(),
        _finding(TEXT.replace("100", "200")),
        _finding(code="WRM002"),
        _finding(path="b.yaml"),
        _finding(run="second"),
    ]
    assert len({_mark(one) for one in marks}) == len(marks)


def test_equal_findings_are_told_apart_by_their_order() -> None:
    first, second = _finding(), _finding()
    marks = fingerprints([first, second])
    assert marks[id(first)] != marks[id(second)]
    assert marks[id(first)] == _mark(_finding())


def test_the_path_from_another_folder() -> None:
    one = _finding(path="configs/a.yaml")
    assert fingerprints([one], lambda path: path.removeprefix("configs/"))[id(one)] == _mark(_finding())


def test_lone_surrogates_do_not_break_it() -> None:
    assert len(_mark(_finding(path="\udcff.yaml"))) == 32
