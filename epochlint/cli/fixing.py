"""Applying fixes, or showing them as a diff."""

from __future__ import annotations

import difflib
import os

from epochlint.documents.read import read
from epochlint.findings.fix import Fixed, fixed, write
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Report


def apply_fixes(report: Report, *, unsafe: bool) -> str:
    """Fixes what can be fixed; what is said about it, a line for a file."""
    return "".join(f"{_written(one)}\n" for one in _changes(report, unsafe))


def show_fixes(report: Report, *, unsafe: bool) -> str:
    """What would be changed, as a diff."""
    return "".join(_diff(one) for one in _changes(report, unsafe))


def _changes(report: Report, unsafe: bool) -> list[Fixed]:
    return [one for one in fixed(report.findings, unsafe) if not _breaks(one)]


def _breaks(one: Fixed) -> bool:
    """Whether a file that could be read could not be read any more."""
    before, after = read(Source(one.path, one.old)), read(Source(one.path, one.new))
    return before is not None and not before.problems and (after is None or bool(after.problems))


def _written(one: Fixed) -> str:
    try:
        done = write(one, os.path.abspath)
    except OSError as problem:
        return f"{one.path}: not fixed, it cannot be written ({problem.strerror})"
    return f"{one.path}: {one.count} fixed" if done else f"{one.path}: not fixed, it has changed meanwhile"


def _diff(one: Fixed) -> str:
    old, new = one.old.split("\n"), one.new.split("\n")
    lines = difflib.unified_diff(_ended(old), _ended(new), f"a/{one.path}", f"b/{one.path}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _ended(lines: list[str]) -> list[str]:
    """Lines with their ends. Only a line feed ends one: `str.splitlines` knows more, and so would not fit a patch."""
    *whole, last = lines
    return [f"{line}\n" for line in whole] + ([last] if last else [])
