"""The examples of every rule's page, through the whole pipeline: the bad ones are reported, the good ones are not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from epochlint.rules.page import read_page, rule_files
from tests.helpers import lint_project

if TYPE_CHECKING:
    from epochlint.rules.page import Example

PAGES = [read_page(path)[0] for path in rule_files(str(Path(__file__).parents[2] / "rules"))]


def _examples(kind: str) -> list[object]:
    return [
        pytest.param(page.code, example, id=f"{page.code}-{number}")
        for page in PAGES
        for number, example in enumerate(getattr(page.examples, kind))
    ]


@pytest.mark.parametrize(("code", "example"), _examples("bad"))
def test_bad(code: str, example: Example) -> None:
    found = lint_project(example.files, example.assume, select=[code])
    shown = [(one.code, one.level, one.path, one.span.place.line, one.message) for one in found]
    assert any(
        one.code == code
        and example.level in (None, one.level)
        and (example.file is None or one.path == example.file)
        and example.line in (None, one.span.place.line)
        for one in found
    ), shown


@pytest.mark.parametrize(("code", "example"), _examples("good"))
def test_good(code: str, example: Example) -> None:
    found = lint_project(example.files, example.assume, select=[code])
    assert [(one.level, one.message) for one in found if one.code == code] == []
