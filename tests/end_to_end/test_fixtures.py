"""Every project under fixtures/ says what its expected.yaml says."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

FIXTURES = Path(__file__).resolve().parents[2] / "fixtures"
PROJECTS = sorted(path.parent for path in FIXTURES.glob("*/expected.yaml"))


def test_there_are_fixtures() -> None:
    assert len(PROJECTS) >= 5


@pytest.mark.parametrize("project", PROJECTS, ids=lambda path: path.name)
def test_fixture(project: Path, epochlint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    expected: dict[str, Any] = yaml.safe_load((project / "expected.yaml").read_text(encoding="utf-8"))
    assume = [part for key, value in (expected.get("assume") or {}).items() for part in ("--assume", f"{key}={value}")]
    done = epochlint("check", "--output-format", "json", *assume, ".", cwd=project)
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)["findings"]
    for wanted in expected.get("findings") or []:
        assert any(
            finding["code"] == wanted["code"]
            and finding["level"] == wanted["level"]
            and finding["path"] == wanted["file"]
            and finding["line"] == wanted.get("line", finding["line"])
            for finding in found
        ), (wanted, found)
    allowed = {(wanted["code"], wanted["level"]) for wanted in expected.get("findings") or []}
    loud = [
        finding
        for finding in found
        if finding["level"] != "note" and (finding["code"], finding["level"]) not in allowed
    ]
    assert not loud, "an error or warning that the fixture does not expect"
    assert done.returncode == (1 if any(wanted["level"] != "note" for wanted in expected.get("findings") or []) else 0)
    explained = json.loads(epochlint("explain", "--output-format", "json", *assume, ".", cwd=project).stdout)["runs"]
    for name, value in (expected.get("facts") or {}).items():
        assert any(run["facts"][name]["value"] == value for run in explained), (name, value, explained)
