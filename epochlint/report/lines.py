"""One line a finding: `concise` for terminals and editors, `github` for workflow commands."""

from __future__ import annotations

from epochlint.report.places import labelled, printable, region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Report

_GITHUB = {"error": "error", "warning": "warning", "note": "notice"}


def check_concise(report: Report) -> str:
    """path:line:column: level CODE message"""
    lines = []
    for finding in report.findings:
        place = finding.span.place
        message = printable(labelled(finding.message, finding.span))
        lines.append(f"{printable(finding.path)}:{place.line}:{place.column}: {finding.level} {finding.code} {message}")
    return "\n".join(lines)


def check_github(report: Report) -> str:
    """Workflow commands: annotations on a pull request's files, with no right needed but to run."""
    lines = []
    for finding in report.findings:
        place = region(finding.span)
        properties = {
            "file": place["path"],
            "line": place["line"],
            "endLine": place["end_line"],
            "title": f"{finding.code} {finding.name}",
        }
        if place["line"] == place["end_line"]:  # columns are only allowed on one line
            properties["col"], properties["endColumn"] = place["column"], place["end_column"]
        said = ",".join(f"{key}={_property(str(value))}" for key, value in properties.items())
        lines.append(f"::{_GITHUB[finding.level]} {said}::{_data(labelled(finding.message, finding.span))}")
    return "\n".join(lines)


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
