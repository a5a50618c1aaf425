"""JUnit XML: one test suite a file, one failure a finding."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

from epochlint.report.places import labelled

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.findings.finding import Finding
    from epochlint.lint import Report


def check_junit(report: Report) -> str:
    by_path: dict[str, list[Finding]] = {path: [] for path in report.sources}
    for finding in report.findings:
        by_path.setdefault(finding.path, []).append(finding)
    failures = len(report.findings)
    tests = sum(max(1, len(findings)) for findings in by_path.values())
    lines = [
        '<?xml version="1.0" encoding="utf-8"?>',
        f'<testsuites name="epochlint" tests="{tests}" failures="{failures}">',
    ]
    for path, findings in by_path.items():
        count = max(1, len(findings))
        lines.append(f'  <testsuite name={quoteattr(_clean(path))} tests="{count}" failures="{len(findings)}">')
        if not findings:
            lines.append(f'    <testcase name="epochlint" classname={quoteattr(_clean(path))}/>')
        lines.extend(_case(path, finding) for finding in findings)
        lines.append("  </testsuite>")
    lines.append("</testsuites>")
    return "\n".join(lines)


def _case(path: str, finding: Finding) -> str:
    place = finding.span.place
    message = _clean(labelled(finding.message, finding.span))
    name = f"{finding.code} {finding.name} line {place.line}"
    return (
        f"    <testcase name={quoteattr(name)} classname={quoteattr(_clean(path))}>"
        f"<failure type={quoteattr(finding.level)} message={quoteattr(message)}>"
        f"{escape(f'{_clean(path)}:{place.line}:{place.column}: {message}')}</failure></testcase>"
    )


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return "".join(
        c
        if c in "\t\n\r" or (ord(c) >= 0x20 and not 0xD800 <= ord(c) <= 0xDFFF and ord(c) not in (0xFFFE, 0xFFFF))
        else "?"
        for c in text
    )
