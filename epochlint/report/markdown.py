"""Markdown: a job summary or a comment on a pull request."""

from __future__ import annotations

from epochlint.report.places import URL, labelled, printable
from epochlint.report.text import plural

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Report

_MARKS = {"error": "\N{CROSS MARK}", "warning": "\N{WARNING SIGN}", "note": "\N{INFORMATION SOURCE}"}
_MOST = 200  # rows; a job summary holds a megabyte


def check_markdown(report: Report) -> str:
    """A table of findings, then one of the runs and their budgets."""
    runs = f"{plural(len(report.runs), 'run')} in {plural(report.files, 'file')}"
    lines = ["## epochlint", ""]
    if not report.findings:
        lines += [f"No findings: {runs}."]
    else:
        counts = [
            plural(count, level)
            for level in ("error", "warning", "note")
            if (count := sum(finding.level == level for finding in report.findings))
        ]
        lines += [f"{', '.join(counts)}: {runs}.", "", "| | rule | place | |", "|---|---|---|---|"]
        for finding in report.findings[:_MOST]:
            place = code(f"{finding.path}:{finding.span.place.line}")
            message = cell(labelled(finding.message, finding.span))
            lines.append(f"| {_MARKS[finding.level]} | [{finding.code}]({URL}{finding.code}) | {place} | {message} |")
        if len(report.findings) > _MOST:
            lines.append(f"| | | | {len(report.findings) - _MOST:,} more |")
    budgets = _budgets(report)
    return "\n".join([*lines, *budgets])


def _budgets(report: Report) -> list[str]:
    if not report.runs:
        return []
    from epochlint.report.explain import value_text

    names = ("records", "effective_batch", "epochs", "total_steps", "warmup_steps", "learning_rate")
    lines = [
        "",
        "<details><summary>What the runs will do</summary>",
        "",
        f"| run | {' | '.join(name.replace('_', ' ') for name in names)} |",
    ]
    lines.append("|---" * (len(names) + 1) + "|")
    for checked in report.runs[:_MOST]:
        cells = [cell(value_text(checked, name, checked.scenarios.fact(name))) for name in names]
        place = code(f"{checked.run.path}:{checked.run.span.place.line}")
        lines.append(f"| {place} | {' | '.join(cells)} |")
    return [*lines, "", "</details>"]


def code(text: str) -> str:
    """Code in a table's cell. A bar ends the cell even there, a backtick the code."""
    return "`" + printable(text).replace("`", "'").replace("|", "\\|") + "`"


def cell(text: str) -> str:
    """Text in a table's cell."""
    return printable(text).replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;")
