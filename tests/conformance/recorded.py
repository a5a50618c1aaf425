"""Recordings of real trainers, and the same projects read by epochlint."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from tests.helpers import check_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from _pytest.mark.structures import ParameterSet

    from epochlint.lint import Checked, Report

    _Run = tuple[str, str, dict[str, Any], dict[str, Any]]

DATA = Path(__file__).parent / "data"


def load(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))
    return found


def runs(name: str) -> Iterator[tuple[str, str, dict[str, Any], dict[str, Any]]]:
    """(version, case, what was asked, what happened)"""
    recording = load(name)
    for version, result in recording["results"].items():
        for case, happened in result["runs"].items():
            yield version, case, recording["cases"][case], happened


def trained(recorded: Iterable[_Run]) -> list[ParameterSet]:
    """(version, what was asked, what happened) of those that went through."""
    return [
        pytest.param(version, case, happened, id=f"{version} {name}")
        for version, name, case, happened in recorded
        if "error" not in happened
    ]


def refused(recorded: Iterable[_Run], unforeseen: Callable[[str, str], object]) -> list[ParameterSet]:
    """(version, case, what was asked) of those that did not, but for those that nobody could foresee."""
    return [
        pytest.param(version, name, case, id=f"{version} {name}")
        for version, name, case, happened in recorded
        if "error" in happened and not unforeseen(version, name)
    ]


def rows(count: int, form: str = "alpaca") -> str:
    """Lines of data that no filter drops."""
    if form == "messages":
        line = {"messages": [{"role": "user", "content": "a question"}, {"role": "assistant", "content": "an answer"}]}
    else:
        line = {"instruction": "a question", "input": "", "output": "an answer"}
    return "".join(json.dumps({**line, "id": index}) + "\n" for index in range(count))


def text(config: dict[str, Any]) -> str:
    """A config as YAML; what YAML 1.1 would load as another type keeps its quotes."""
    return yaml.safe_dump(config, sort_keys=False)


def explained(
    files: dict[str, str], assume: dict[str, object], paths: list[str] | None = None
) -> tuple[Checked, Report]:
    """The one run of a project."""
    report = check_project(files, assume, paths)
    assert len(report.runs) == 1, [run.run.path for run in report.runs]
    return report.runs[0], report


def value(checked: Checked, name: str) -> object:
    return checked.scenarios.fact(name).value
