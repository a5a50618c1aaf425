"""Every output format: what it shows of findings, and that hostile texts do not break it."""

from __future__ import annotations

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest

from epochlint.findings.finding import Finding
from epochlint.lint import Report
from epochlint.report.formats import NAMES, render
from epochlint.run.observation import Edit, Fix
from epochlint.source import Excerpt, Source
from tests.helpers import check_project
from tests.report.bad_examples import report as every_rule

TEXT = "# sft\nlr_scheduler_type: constant\nwarmup_steps: 100\n"


def _report(*findings: Finding) -> Report:
    report = Report()
    report.findings = list(findings)
    report.files = 1
    for finding in findings:
        report.sources[finding.path] = finding.span.in_file().source
    return report


def _finding(
    message: str = "ten is more than nine", level: str = "warning", path: str = "a.yaml", text: str = TEXT
) -> Finding:
    source = Source(path, text)
    start = text.index("warmup")
    other = text.index("lr_")
    return Finding(
        "WRM005",
        "warmup-ignored",
        level,
        message,
        source.span(start, start + 12),
        [("this schedule", source.span(other, other + 17))],
        Fix("warm up", [Edit(source.span(other + 19, other + 27), "constant_with_warmup")], False),
    )


HOSTILE = "50%, a\r\n::error::x|<b>\x00\x1b[31m\ud800]]>&\"' `\\"


@pytest.mark.parametrize("name", NAMES)
def test_hostile_texts_break_no_format(name: str) -> None:
    rendered = render(name, _report(_finding(HOSTILE, path='a "<|>,:%`.yaml')), notes=True)
    assert rendered
    if name in ("json", "sarif", "gitlab"):
        json.loads(rendered)
    elif name == "junit":
        ElementTree.fromstring(rendered)
    elif name in ("github", "concise"):
        assert len(rendered.splitlines()) == 1, "one line a finding"


@pytest.mark.parametrize("name", NAMES)
def test_nothing_found(name: str) -> None:
    rendered = render(name, Report())
    assert rendered if name not in ("concise", "github") else rendered == ""


@pytest.mark.parametrize("name", [name for name in NAMES if name != "text"])
def test_every_rule_is_in_every_format(name: str) -> None:
    rendered = render(name, every_rule())
    for rule in every_rule().rules:
        assert rule.code in rendered


# Text ---------------------------------------------------------------------------------------------------------------


def test_text_shows_the_lines() -> None:
    assert render("text", _report(_finding())) == (
        "a.yaml:3:1: warning WRM005 warmup-ignored\n"
        "  ten is more than nine\n"
        "    |\n"
        "  3 | warmup_steps: 100\n"
        "    | ^^^^^^^^^^^^\n"
        "  a.yaml:2:1: this schedule\n"
        "    |\n"
        "  2 | lr_scheduler_type: constant\n"
        "    | ^^^^^^^^^^^^^^^^^\n"
        "  fix (changes the run): warm up\n"
        "\n"
        "1 warning: 0 runs in 1 file."
    )


def test_text_counts_notes_and_shows_them_when_asked() -> None:
    report = _report(_finding(level="note"))
    assert render("text", report) == "1 note: 0 runs in 1 file. (--notes shows the notes)"
    assert "a.yaml:3:1: note WRM005" in render("text", report, notes=True)


def test_text_has_colours_only_when_asked() -> None:
    report = _report(_finding(level="error"))
    plain, coloured = render("text", report), render("text", report, colour=True)
    assert "\x1b" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_text_lets_no_control_character_through() -> None:
    rendered = render(
        "text",
        _report(
            _finding(
                text="a: \x1b[31mred\x07\twarmup \u202e\n lr_scheduler_type: x", message=HOSTILE, path="a\x1b[1m\n.yaml"
            )
        ),
    )
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", rendered)


def test_text_cuts_long_lines_around_the_place() -> None:
    text = "x: " + "a" * 5000 + " warmup lr_scheduler_type: x " + "b" * 5000
    rendered = render("text", _report(_finding(text=text)))
    assert max(map(len, rendered.splitlines())) < 200
    line, mark = rendered.splitlines()[3:5]
    assert line[mark.index("^") :].startswith("warmup")


def test_text_underlines_the_first_of_several_lines() -> None:
    source = Source("a.py", "args = A(\n    warmup=1,\n)\n")
    finding = Finding("WRM005", "warmup-ignored", "error", "m", source.span(7, len(source.text) - 1))
    assert "  1 | args = A(\n    |        ^^" in render("text", _report(finding))


def test_text_at_the_end_of_an_empty_file() -> None:
    source = Source("a.yaml", "")
    assert "  1 | \n    | ^" in render("text", _report(Finding("CFG010", "x", "error", "m", source.span(0, 0))))


# One line a finding -------------------------------------------------------------------------------------------------


def test_concise() -> None:
    assert render("concise", _report(_finding())) == "a.yaml:3:1: warning WRM005 ten is more than nine"


def test_github() -> None:
    finding = _finding("100 % of it:\nall", path="a,b:c.yaml")
    assert render("github", _report(finding)) == (
        "::warning file=a%2Cb%3Ac.yaml,line=3,endLine=3,title=WRM005 warmup-ignored,col=1,endColumn=13"
        "::100 %25 of it:%0Aall"
    )
    assert render("github", _report(_finding(level="note"))).startswith("::notice ")


def test_github_has_no_columns_over_several_lines() -> None:
    source = Source("a.py", "args = A(\n    warmup=1,\n)\n")
    finding = Finding("WRM005", "warmup-ignored", "error", "m", source.span(7, len(source.text) - 1))
    rendered = render("github", _report(finding))
    assert "line=1,endLine=3," in rendered
    assert "col" not in rendered


# Documents ----------------------------------------------------------------------------------------------------------


def test_json() -> None:
    document: dict[str, Any] = json.loads(render("json", _report(_finding())))
    (finding,) = document.pop("findings")
    assert document == {"version": 1, "runs": 0, "files": 1, "skipped": []}
    place = {"path": "a.yaml", "line": 2, "end_line": 2}
    assert finding == {
        "code": "WRM005",
        "name": "warmup-ignored",
        "level": "warning",
        "message": "ten is more than nine",
        "path": "a.yaml",
        "line": 3,
        "column": 1,
        "end_line": 3,
        "end_column": 13,
        "related": [{"message": "this schedule", **place, "column": 1, "end_column": 18}],
        "fix": {
            "title": "warm up",
            "safe": False,
            "edits": [{**place, "column": 20, "end_column": 28, "text": "constant_with_warmup"}],
        },
        "url": "https://epochlint.readthedocs.io/rules/WRM005",
    }


def test_json_says_what_was_skipped() -> None:
    document = json.loads(render("json", check_project({"a.bin": b"\0\1"}, paths=["a.bin"])))
    assert document["skipped"] == [{"path": "a.bin", "reason": "a binary file", "kind": ""}]


def test_a_place_inside_a_cell_is_labelled() -> None:
    outer = Source("a.ipynb", '["warmup = 1"]')
    inner = Excerpt(outer, "warmup = 1", list(range(2, 13)), "cell 1")
    finding = Finding("WRM005", "warmup-ignored", "error", "ten is more", inner.span(0, 6))
    shown = json.loads(render("json", _report(finding)))["findings"][0]
    assert (shown["message"], shown["column"]) == ("ten is more (cell 1)", 3)


def test_gitlab() -> None:
    (issue,) = json.loads(render("gitlab", _report(_finding(level="error"))))
    assert re.fullmatch("[0-9a-f]{32}", issue.pop("fingerprint"))
    assert issue == {
        "description": "WRM005: ten is more than nine",
        "check_name": "WRM005",
        "severity": "critical",
        "location": {
            "path": "a.yaml",
            "positions": {"begin": {"line": 3, "column": 1}, "end": {"line": 3, "column": 13}},
        },
    }


def test_gitlab_fingerprints_are_unique() -> None:
    issues = json.loads(render("gitlab", every_rule()))
    assert len({issue["fingerprint"] for issue in issues}) == len(issues)


def test_junit() -> None:
    report = _report(_finding(), _finding("another"))
    report.sources["clean.yaml"] = Source("clean.yaml", "")
    suites = ElementTree.fromstring(render("junit", report))
    assert (suites.get("tests"), suites.get("failures")) == ("3", "2")
    assert [(suite.get("name"), suite.get("tests"), suite.get("failures")) for suite in suites] == [
        ("a.yaml", "2", "2"),
        ("clean.yaml", "1", "0"),
    ]
    failure = suites[0][0][0]
    assert (failure.get("type"), failure.text) == ("warning", "a.yaml:3:1: ten is more than nine")


def test_markdown() -> None:
    rendered = render("markdown", _report(_finding("a | b <i>\nc"), _finding(level="note")))
    lines = rendered.splitlines()
    assert lines[0] == "## epochlint"
    assert "1 warning, 1 note: 0 runs in 1 file." in lines
    (row,) = [line for line in lines if "&lt;i>" in line]
    assert r"a \| b &lt;i> c" in row
    assert "`a.yaml:3`" in row
    assert row.count("|") - row.count(r"\|") == 5, "four cells"


def test_markdown_shows_the_budget_of_each_run() -> None:
    text = "per_device_train_batch_size: 8\ngradient_accumulation_steps: 4\nmax_steps: 500\nlearning_rate: 0.0002\n"
    rendered = render("markdown", check_project({"a|b.yaml": text}, {"gpus": 2}))
    (row,) = [line for line in rendered.splitlines() if "b.yaml:1" in line and "500" in line]
    assert "64" in row
    assert len(re.findall(r"(?<!\\)\|", row)) == 8, "seven cells"


def test_markdown_has_an_end() -> None:
    rendered = render("markdown", _report(*[_finding() for _ in range(500)]))
    assert "300 more" in rendered
    assert rendered.count("a.yaml:3") == 200
