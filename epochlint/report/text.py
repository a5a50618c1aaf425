"""Text for people: each finding with the lines it is about, then one line that sums up."""

from __future__ import annotations

from epochlint.findings.finding import ERROR, NOTE, WARNING
from epochlint.report.places import labelled, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.findings.finding import Finding
    from epochlint.lint import Report
    from epochlint.source import Span

_COLOURS = {ERROR: "\x1b[1;31m", WARNING: "\x1b[1;33m", NOTE: "\x1b[1;36m"}
_BOLD, _DIM, _RESET = "\x1b[1m", "\x1b[2m", "\x1b[0m"
_WIDTH = 160  # longer lines are cut around the place


def check_text(report: Report, *, notes: bool = False, colour: bool = False) -> str:
    """Errors and warnings in full, and notes about a change that was asked for; the others are counted."""
    shown = [finding for finding in report.findings if notes or finding.level != NOTE or finding.code in report.changes]
    parts = [_finding(finding, colour) for finding in shown]
    parts.append(_summary(report, hidden=len(report.findings) - len(shown)))
    return "\n".join(parts)


def _finding(finding: Finding, colour: bool) -> str:
    place = finding.span.place
    head, bold, dim, reset = (_COLOURS[finding.level], _BOLD, _DIM, _RESET) if colour else ("", "", "", "")
    message = printable(labelled(finding.message, finding.span))
    lines = [
        (
            f"{bold}{printable(finding.path)}:{place.line}:{place.column}{reset}: {head}{finding.level}{reset} "
            f"{finding.code} {dim}{finding.name}{reset}"
        ),
        f"  {message}",
        *_frame(finding.span, "", head, reset),
    ]
    for word, span in finding.related:
        where = span.place
        lines.append(
            f"  {dim}{printable(span.in_file().source.path)}:{where.line}:{where.column}{reset}: {printable(word)}"
        )
        lines.extend(_frame(span, "", dim, reset))
    if finding.fix is not None:
        lines.append(
            f"  {dim}fix{'' if finding.fix.safe else ' (changes the run)'}:{reset} {printable(finding.fix.title)}"
        )
    return "\n".join(lines) + "\n"


def _frame(span: Span, word: str, colour: str, reset: str) -> list[str]:
    """The line of a span with its characters underlined; of several lines, the first."""
    inner = span.in_file()
    start, end = inner.source.place(inner.start), inner.source.place(inner.end)
    text = inner.source.line(start.line)
    first = start.column - 1
    last = end.column - 1 if end.line == start.line else len(text)
    cut = max(0, first - _WIDTH // 2) if len(text) > _WIDTH else 0
    text = printable(text[cut : cut + _WIDTH])
    first, last = first - cut, min(last - cut, len(text))
    number = str(start.line)
    margin = " " * (len(number) + 1)
    mark = "^" * max(1, last - first)
    return [
        f"  {margin}|",
        f"  {number} | {text}",
        f"  {margin}| {' ' * first}{colour}{mark}{reset}{' ' + word if word else ''}",
    ]


def _summary(report: Report, hidden: int) -> str:
    counts = {level: sum(finding.level == level for finding in report.findings) for level in (ERROR, WARNING, NOTE)}
    runs = f"{plural(len(report.runs), 'run')} in {plural(report.files, 'file')}"
    if not any(counts.values()):
        return f"No findings: {runs}."
    parts = [plural(counts[level], level) for level in (ERROR, WARNING, NOTE) if counts[level]]
    hint = " (--notes shows the notes)" if hidden else ""
    return f"{', '.join(parts)}: {runs}.{hint}"


def plural(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"
