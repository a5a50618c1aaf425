"""SARIF 2.1.0, complete for GitHub's code scanning.

Columns count characters (`columnKind: unicodeCodePoints`). Every rule that ran is listed with its help; a finding has a
fingerprint that survives a moved line; what was not read is a notification.
"""

from __future__ import annotations

import json

from epochlint import __version__
from epochlint.findings.fingerprint import fingerprints
from epochlint.findings.fix import usable
from epochlint.report.places import URL, labelled, region
from epochlint.report.rule_page import markdown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.findings.finding import Finding
    from epochlint.lint import Report
    from epochlint.rules.rule import Rule
    from epochlint.run.observation import Fix
    from epochlint.source import Span

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_SHORT, _FULL = 1024, 1024  # GitHub's limits on descriptions, in characters
_SEVERITY = {"error": "error", "warning": "warning", "note": "recommendation"}


def check_sarif(report: Report) -> str:
    """The whole log: one run, with all rules that ran."""
    index = {rule.code: place for place, rule in enumerate(report.rules)}
    marks = fingerprints([*report.findings, *report.suppressed])
    results = [_result(finding, index, marks) for finding in [*report.findings, *report.suppressed]]
    log = {
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "epochlint",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "informationUri": URL.removesuffix("rules/"),
                        "rules": [_rule(rule) for rule in report.rules],
                    }
                },
                "columnKind": "unicodeCodePoints",
                "automationDetails": {"id": "epochlint/"},
                "invocations": [{"executionSuccessful": True, "toolExecutionNotifications": _notifications(report)}],
                "results": results,
            }
        ],
    }
    return json.dumps(log, indent=2, ensure_ascii=False)


def _rule(rule: Rule) -> dict[str, Any]:
    help_ = markdown(rule)
    return {
        "id": rule.code,
        "name": "".join(part.capitalize() for part in rule.name.split("-")),
        "shortDescription": {"text": rule.summary[:_SHORT]},
        "fullDescription": {"text": (help_.why or rule.summary)[:_FULL]},
        "help": {"text": help_.text, "markdown": help_.markdown},
        "helpUri": f"{URL}{rule.code}",
        "defaultConfiguration": {"level": help_.level, "enabled": not rule.off},
        "properties": {
            "tags": ["fine-tuning", rule.family],
            "precision": "very-high" if help_.level == "error" else "high",
            "problem.severity": _SEVERITY[help_.level],
        },
    }


def _result(finding: Finding, index: dict[str, int], marks: dict[int, str]) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": finding.code,
        "level": finding.level,
        "message": {"text": labelled(finding.message, finding.span)},
        "locations": [_location(finding.span)],
        "partialFingerprints": {"epochlint/v1": marks[id(finding)], "primaryLocationLineHash": marks[id(finding)]},
    }
    if finding.code in index:
        result["ruleIndex"] = index[finding.code]
    if finding.related:
        result["relatedLocations"] = [
            {"id": place, "message": {"text": word}, **_location(span)}
            for place, (word, span) in enumerate(finding.related, 1)
        ]
    fix = usable(finding)
    if fix is not None:
        result["fixes"] = [_fix(fix)]
    if finding.suppressed is not None:
        kind = "inSource" if finding.in_source else "external"
        result["suppressions"] = [{"kind": kind, "justification": finding.suppressed or "no reason given"}]
    return result


def _location(span: Span) -> dict[str, Any]:
    place = region(span)
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": _uri(str(place["path"])), "uriBaseId": "%SRCROOT%"},
            "region": _region(place),
        }
    }


def _region(place: dict[str, object]) -> dict[str, object]:
    return {
        "startLine": place["line"],
        "startColumn": place["column"],
        "endLine": place["end_line"],
        "endColumn": place["end_column"],
    }


def _fix(fix: Fix) -> dict[str, Any]:
    changes: dict[str, list[dict[str, Any]]] = {}
    for edit in fix.edits:
        place = region(edit.span)
        replacement = {"deletedRegion": _region(place), "insertedContent": {"text": edit.text}}
        changes.setdefault(str(place["path"]), []).append(replacement)
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {"artifactLocation": {"uri": _uri(path), "uriBaseId": "%SRCROOT%"}, "replacements": replacements}
            for path, replacements in changes.items()
        ],
    }


def _notifications(report: Report) -> list[dict[str, Any]]:
    return [
        {
            "level": "note",
            "message": {"text": f"{skipped.path}: {skipped.reason}"},
            "locations": [
                {"physicalLocation": {"artifactLocation": {"uri": _uri(skipped.path), "uriBaseId": "%SRCROOT%"}}}
            ],
        }
        for skipped in report.skipped
    ]


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path.removeprefix("./"), safe="/-._~!$&'()*+,;=@")
