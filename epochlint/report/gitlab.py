"""GitLab's code quality report: a list of issues with fingerprints."""

from __future__ import annotations

import json

from epochlint.findings.fingerprint import fingerprints
from epochlint.report.places import labelled, region

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Report

_SEVERITY = {"error": "critical", "warning": "major", "note": "info"}


def check_gitlab(report: Report) -> str:
    marks = fingerprints(report.findings)
    issues = []
    for finding in report.findings:
        place = region(finding.span)
        issues.append(
            {
                "description": f"{finding.code}: {labelled(finding.message, finding.span)}",
                "check_name": finding.code,
                "fingerprint": marks[id(finding)],
                "severity": _SEVERITY[finding.level],
                "location": {
                    "path": place["path"],
                    "positions": {
                        "begin": {"line": place["line"], "column": place["column"]},
                        "end": {"line": place["end_line"], "column": place["end_column"]},
                    },
                },
            }
        )
    return json.dumps(issues, indent=2, ensure_ascii=False)
