"""The short way: paths in, text out, with the settings' and the options' defaults."""

from __future__ import annotations

import os
import sys

from epochlint.cli.progress import Progress
from epochlint.findings.finding import NOTE
from epochlint.lint import Options, check
from epochlint.project.compare import UNCOMPARED
from epochlint.report.text import check_text
from epochlint.settings import find, load
from epochlint.trouble import KIND

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.lint import Report


def run(paths: Sequence[str], *, force_exclude: bool) -> int:
    missing = [path for path in paths if not os.path.lexists(path)]
    if missing:
        print(f"epochlint: no such file or folder: {missing[0]}", file=sys.stderr)
        return 2
    try:
        settings = load(find(start_of(paths)))
        options = Options(paths, force_exclude=force_exclude, settings=settings, git=not force_exclude, cache=True)
        with Progress():
            report = check(options)
    except known_errors() as problem:
        print(f"epochlint: {problem}", file=sys.stderr)
        return 2
    failed = any(finding.level != NOTE for finding in report.findings)
    if report.findings or not force_exclude:
        print(check_text(report, colour=coloured(sys.stdout.isatty())))
    return 2 if troubled(report) else int(failed)


def troubled(report: Report) -> bool:
    """Tells of epochlint's own faults with single files and of a revision that cannot be had, and whether there were
    any."""
    faults = [skipped for skipped in report.skipped if skipped.kind in (KIND, UNCOMPARED)]
    for skipped in faults:
        print(f"epochlint: {skipped.path}: {skipped.reason}", file=sys.stderr)
    return bool(faults)


def start_of(paths: Sequence[str]) -> str:
    """The folder from which the settings are looked for: the one folder that is given, else the working directory
    where the paths lie below it."""
    here = os.getcwd()
    if len(paths) == 1 and os.path.isdir(paths[0]):
        return os.path.abspath(paths[0])
    first = os.path.abspath(paths[0]) if paths else here
    if (first + os.sep).startswith(here.rstrip(os.sep) + os.sep):
        return here
    return first if os.path.isdir(first) else os.path.dirname(first)


def known_errors() -> tuple[type[Exception], ...]:
    """What the user can mend: told in one line, with status 2."""
    from epochlint.findings.baseline import BaselineError
    from epochlint.project.assumptions import AssumptionError
    from epochlint.project.repository import HistoryError
    from epochlint.rules.chosen import UnknownRuleError
    from epochlint.rules.page import RuleFileError
    from epochlint.settings import SettingsError

    return (SettingsError, BaselineError, HistoryError, UnknownRuleError, RuleFileError, AssumptionError)


def coloured(terminal: bool) -> bool:
    """Colour on a terminal, unless NO_COLOR is set; FORCE_COLOR decides elsewhere."""
    if os.environ.get("NO_COLOR"):
        return False
    return terminal or bool(os.environ.get("FORCE_COLOR"))
