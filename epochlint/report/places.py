"""Findings and places as the plain values that the machine-readable formats share."""

from __future__ import annotations

from epochlint.findings.fix import usable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.findings.finding import Finding
    from epochlint.source import Span

URL = "https://epochlint.readthedocs.io/rules/"


def region(span: Span) -> dict[str, object]:
    """path, line, column, end_line, end_column: 1-based, in characters, the end after the last character."""
    inner = span.in_file()
    start, end = inner.source.place(inner.start), inner.source.place(inner.end)
    return {
        "path": inner.source.path,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
    }


def labelled(message: str, span: Span) -> str:
    """A message with the cell or inner file that the place lies in."""
    label = span.source.label
    return f"{message} ({label})" if label and label not in message else message


def printable(text: str) -> str:
    """A text for one line of a terminal: values and names of strangers' files must not break or colour it."""
    if text.isprintable():
        return text
    text = " ".join(text.splitlines()) if "\n" in text or "\r" in text else text
    return "".join(one if one.isprintable() else "\N{REPLACEMENT CHARACTER}" for one in text.replace("\t", " "))


def as_dict(finding: Finding) -> dict[str, object]:
    """A finding in the form of the JSON output."""
    fix = usable(finding)
    return {
        "code": finding.code,
        "name": finding.name,
        "level": finding.level,
        "message": labelled(finding.message, finding.span),
        **region(finding.span),
        "related": [{"message": word, **region(span)} for word, span in finding.related],
        "fix": None
        if fix is None
        else {
            "title": fix.title,
            "safe": fix.safe,
            "edits": [{**region(edit.span), "text": edit.text} for edit in fix.edits],
        },
        "url": f"{URL}{finding.code}",
    }
