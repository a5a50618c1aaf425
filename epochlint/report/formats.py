"""Every output format by its name. To add one: write its module and enter it here."""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Report

# name -> module and function of a report; text is apart, since it depends on the terminal
_FORMATS = {
    "concise": ("lines", "check_concise"),
    "json": ("json_report", "check_json"),
    "sarif": ("sarif", "check_sarif"),
    "github": ("lines", "check_github"),
    "gitlab": ("gitlab", "check_gitlab"),
    "junit": ("junit", "check_junit"),
    "markdown": ("markdown", "check_markdown"),
}

NAMES = ("text", *_FORMATS)


def render(name: str, report: Report, *, notes: bool = False, colour: bool = False) -> str:
    """A report in a format."""
    if name == "text":
        from epochlint.report.text import check_text

        return check_text(report, notes=notes, colour=colour)
    module, function = _FORMATS[name]
    text = getattr(import_module(f"epochlint.report.{module}"), function)(report)
    assert isinstance(text, str)
    return text
