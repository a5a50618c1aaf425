"""The baseline: a file of known findings, which are not reported again."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.findings.finding import Finding

VERSION = 1


class BaselineError(Exception):
    """A baseline file that cannot be used."""


def read(path: str) -> set[str]:
    """The fingerprints of a baseline file. Raises BaselineError."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as problem:
        raise BaselineError(f"baseline {path}: {problem.strerror}") from None
    except (ValueError, RecursionError):
        raise BaselineError(f"baseline {path}: not JSON") from None
    marks = document.get("fingerprints") if isinstance(document, dict) else None
    if not isinstance(document, dict) or document.get("version") != VERSION or not isinstance(marks, list):
        raise BaselineError(f"baseline {path}: not a baseline of epochlint")
    return {str(mark) for mark in marks}


def render(marks: Iterable[str]) -> str:
    return json.dumps({"version": VERSION, "fingerprints": sorted(marks)}, indent=1) + "\n"


def apply(findings: Iterable[Finding], marks: dict[int, str], known: set[str]) -> tuple[list[Finding], list[Finding]]:
    """The new findings, and the known ones. `marks` are fingerprints by `id` of the finding."""
    kept: list[Finding] = []
    old: list[Finding] = []
    for finding in findings:
        if marks[id(finding)] in known:
            finding.suppressed = "known when the baseline was written"
            old.append(finding)
        else:
            kept.append(finding)
    return kept, old
