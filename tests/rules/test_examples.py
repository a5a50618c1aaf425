"""The examples of every rule's page, through the whole pipeline: the bad ones are reported, the good ones are not."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from epochlint.lint import Options, check
from epochlint.project.assumptions import parse
from epochlint.rules.page import read_page, rule_files

if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.findings.finding import Finding
    from epochlint.rules.page import Example

PAGES = [read_page(path)[0] for path in rule_files(str(Path(__file__).parents[2] / "rules"))]
GIT = ("git", "-c", "user.email=test@example.org", "-c", "user.name=test", "-c", "commit.gpgsign=false")


def _examples(kind: str) -> list[object]:
    return [
        pytest.param(page.code, example, id=f"{page.code}-{number}")
        for page in PAGES
        for number, example in enumerate(getattr(page.examples, kind))
    ]


def _write(folder: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _lint(folder: Path, code: str, example: Example) -> list[Finding]:
    _write(folder, example.files)
    since = None
    if example.before:
        _write(folder, example.before)
        for words in (("init", "-q"), ("add", "-A"), ("commit", "-qm", "before")):
            subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)
        _write(folder, example.files)
        since = "HEAD"
    here = os.getcwd()
    os.chdir(folder)
    try:
        assume = parse([f"{key}={value}" for key, value in example.assume.items()])
        return check(Options(["."], assume=assume, select=[code], since=since)).findings
    finally:
        os.chdir(here)


@pytest.mark.parametrize(("code", "example"), _examples("bad"))
def test_bad(code: str, example: Example, tmp_path: Path) -> None:
    found = _lint(tmp_path, code, example)
    shown = [(one.code, one.level, one.path, one.span.place.line, one.message) for one in found]
    assert any(
        one.code == code
        and example.level in (None, one.level)
        and (example.file is None or one.path == example.file)
        and example.line in (None, one.span.place.line)
        for one in found
    ), shown


@pytest.mark.parametrize(("code", "example"), _examples("good"))
def test_good(code: str, example: Example, tmp_path: Path) -> None:
    found = _lint(tmp_path, code, example)
    assert [(one.level, one.message) for one in found if one.code == code] == []
