"""Applying fixes, or showing them as a diff."""

from __future__ import annotations

import difflib
import os

from epochlint.findings.fix import Fixed, fixed, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Report


def apply_fixes(report: Report, *, unsafe: bool, write: bool) -> str:
    """Fixes what can be fixed; what is said about it. Without `write` the changes are only shown."""
    changes = fixed(report.findings, unsafe)
    if not write:
        return "".join(_diff(one) for one in changes)
    lines = [_written(one) for one in changes]
    return "".join(f"{line}\n" for line in lines)


def _written(one: Fixed) -> str:
    if write(one, os.path.abspath):
        return f"{one.path}: {one.count} fixed"
    return f"{one.path}: not fixed, it has changed meanwhile"


def _diff(one: Fixed) -> str:
    lines = difflib.unified_diff(
        one.old.splitlines(keepends=True), one.new.splitlines(keepends=True), f"a/{one.path}", f"b/{one.path}"
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)
