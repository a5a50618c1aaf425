"""The short way: paths in, text out, with the settings' and the options' defaults."""

from __future__ import annotations

import os
import sys

from epochlint.findings.finding import NOTE
from epochlint.lint import Options, check
from epochlint.report.text import check_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def run(paths: Sequence[str], *, force_exclude: bool) -> int:
    missing = [path for path in paths if not os.path.lexists(path)]
    if missing:
        print(f"epochlint: no such file or folder: {missing[0]}", file=sys.stderr)
        return 2
    report = check(Options(paths, force_exclude=force_exclude))
    failed = any(finding.level != NOTE for finding in report.findings)
    if report.findings or not force_exclude:
        print(check_text(report, colour=coloured(sys.stdout.isatty())))
    return 1 if failed else 0


def coloured(terminal: bool) -> bool:
    """Colour on a terminal, unless NO_COLOR is set; FORCE_COLOR decides elsewhere."""
    if os.environ.get("NO_COLOR"):
        return False
    return terminal or bool(os.environ.get("FORCE_COLOR"))
