"""How epochlint counts the awkward files, against what a trainer's own loader made of them.

Each recorded run falls into one word:

- equal: the loader's number, exactly;
- open: no number, or a range that holds the loader's;
- foreseen: the loader gives up, and epochlint says so;
- silent: the loader gives up, and epochlint names no number either;
- missed: the loader gives up, and epochlint names a number;
- wrong: another number, or an error that says the trainer stops where it does not.
"""

from __future__ import annotations

import json
import zlib
from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.conformance.recorded import DATA, runs, value
from tests.helpers import check_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.lint import Report

    # (case, text of the file, version) -> files of a project, assumptions, the paths that are checked
    Project = Callable[[dict[str, Any], str, str], tuple[dict[str, str], dict[str, object], list[str]]]


@cache
def texts() -> dict[str, str]:
    found: dict[str, str] = json.loads((DATA / "awkward.json").read_text(encoding="utf-8"))
    return found


def judge(happened: dict[str, Any], report: Report) -> str:
    """The word for a run, with what is wrong."""
    said = [one for one in report.findings if one.level in ("error", "warning") and one.code.startswith(SPEAKING)]
    records = value(report.runs[0], "records") if report.runs else None
    fact = report.runs[0].scenarios.fact("records") if report.runs else None
    if "error" in happened:
        if any(one.level == "error" for one in said):
            return "foreseen"
        return "silent" if fact is None or not fact.exact or records == 0 else f"missed: {happened}"
    real = happened["records"]
    stops = next((one for one in said if one.level == "error" and one.message.endswith("stops there")), None)
    if stops is not None:
        return f"wrong: {stops.message}, and {real} were taken"
    if fact is None or fact.unknown:
        return "open"
    if fact.exact:
        return "equal" if records == real else f"wrong: {records}, not {real}"
    inside = (fact.low or 0) <= real and (fact.high is None or real <= fact.high)
    return "open" if inside else f"wrong: {fact}, not {real}"


SPEAKING = ("DAT", "CFG", "EPO", "STP")
"""Families of rules that can say that a loader gives up."""


def judged(name: str, project: Project, version: str = "") -> dict[str, str]:
    """Case -> word, of one version (or of the only one)."""
    found = {}
    for recorded, case, asked, happened in runs(name):
        if "file" not in asked or version not in ("", recorded):
            continue
        text = texts()[asked["file"]]
        assert zlib.crc32(text.encode()) == asked["checksum"], "recorded with an older file"
        files, assume, paths = project(asked, text, recorded)
        report = check_project(files, assume, paths)
        found[case] = judge(happened, report)
    return found


def compare(found: dict[str, str], unforeseen: dict[str, str], expected: dict[str, int]) -> None:
    """No number is wrong, what is missed stands among the exceptions (by the file's name), and so many fall into each
    word: an open number is an honest one, but it must not become the rule unseen."""
    assert {case: word for case, word in found.items() if word.startswith("wrong")} == {}
    missed = {case: word for case, word in found.items() if word.startswith("missed")}
    assert {case: word for case, word in missed.items() if case.partition("/")[2] not in unforeseen} == {}
    assert dict(Counter(word.partition(":")[0] for word in found.values())) == expected
