"""Applying fixes, or showing them as a diff."""

from __future__ import annotations

import difflib
import os

from epochlint.documents.read import read
from epochlint.findings.fix import Fixed, fixed, write
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.lint import Report


MOST_ROUNDS = 8


def apply_fixes(report: Report, again: Callable[[], Report], *, unsafe: bool) -> tuple[str, Report]:
    """Fixes what can be fixed, and what only shows then (a misspelt key's value is judged under its right name);
    what is said about it, a line for a file, and what is found by `again` afterwards."""
    counts: dict[str, int] = {}
    troubles: dict[str, str] = {}
    for _ in range(MOST_ROUNDS):
        done = False
        for one in _changes(report, unsafe):
            trouble = _write(one)
            if trouble:
                troubles[one.path] = f"{one.path}: not fixed, {trouble}"
            else:
                counts[one.path] = counts.get(one.path, 0) + one.count
                done = True
        if not done:
            break
        report = again()
    lines = [*(f"{path}: {count} fixed" for path, count in counts.items()), *troubles.values()]
    return "".join(f"{line}\n" for line in sorted(lines)), report


def show_fixes(report: Report, *, unsafe: bool) -> str:
    """What would be changed, as a diff."""
    return "".join(_diff(one) for one in _changes(report, unsafe))


def _changes(report: Report, unsafe: bool) -> list[Fixed]:
    return [one for one in fixed(report.findings, unsafe) if not _breaks(one)]


def _breaks(one: Fixed) -> bool:
    """Whether a file that could be read could not be read any more."""
    before, after = read(Source(one.path, one.old)), read(Source(one.path, one.new))
    return before is not None and not before.problems and (after is None or bool(after.problems))


def _write(one: Fixed) -> str:
    """Writes a file; what kept it from being written."""
    try:
        return "" if write(one, os.path.abspath) else "it has changed meanwhile"
    except OSError as problem:
        return f"it cannot be written ({problem.strerror})"


def _diff(one: Fixed) -> str:
    old, new = one.old.split("\n"), one.new.split("\n")
    lines = difflib.unified_diff(_ended(old), _ended(new), f"a/{one.path}", f"b/{one.path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _ended(lines: list[str]) -> list[str]:
    """Lines with their ends. Only a line feed ends one: `str.splitlines` knows more, and so would not fit a patch."""
    *whole, last = lines
    return [f"{line}\n" for line in whole] + ([last] if last else [])
