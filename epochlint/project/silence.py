"""Which findings are not reported: silenced by a comment, by the settings for a path, or known to the baseline."""

from __future__ import annotations

import os

from epochlint.documents.document import Document, Mapping, Node, Sequence
from epochlint.documents.scalars import plain_count
from epochlint.findings import baseline, suppression
from epochlint.findings.fingerprint import fingerprints
from epochlint.rules import engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.findings.finding import Finding
    from epochlint.rules.rule import Rule
    from epochlint.settings import Settings

_MARK = "epochlint:"


def silence(
    findings: list[Finding], documents: Iterable[tuple[str, Document]], settings: Settings, rules: list[Rule]
) -> tuple[list[Finding], list[Finding]]:
    """The findings that are left, and those that are not reported. Raises BaselineError."""
    by_path = {document.source.path: (path, document) for path, document in documents}
    silenced: list[Finding] = []
    if settings.ignored:
        findings, hidden = _by_settings(findings, by_path, settings)
        silenced += hidden
    comments = _suppressions(document for _, document in by_path.values())
    if comments:
        findings, hidden = suppression.apply(findings, comments)
        silenced += hidden
        findings = findings + _leftovers(comments, rules)
        findings.sort(key=lambda finding: finding.sort_key)
    if settings.baseline is not None and os.path.exists(settings.baseline):
        marks = fingerprints(findings, lambda path: settings.below(os.path.abspath(path)))
        findings, hidden = baseline.apply(findings, marks, baseline.read(settings.baseline))
        silenced += hidden
    return findings, silenced


def _suppressions(documents: Iterable[Document]) -> list[suppression.Suppression]:
    found: list[suppression.Suppression] = []
    for document in documents:
        if _MARK in document.source.text:
            from epochlint.documents.comments import comments

            found += suppression.parse(comments(document))
    return found


def _leftovers(comments: list[suppression.Suppression], rules: list[Rule]) -> list[Finding]:
    from epochlint.rules import catalogue

    every = {name for rule in catalogue.load() for name in (rule.code, rule.name)}
    every |= {name for rule in rules for name in (rule.code, rule.name)}
    ran = {name for rule in rules for name in (rule.code, rule.name)}

    def canonical(word: str) -> str:
        return word.lower() if "-" in word else word.upper()

    observations = suppression.leftovers(
        comments, lambda word: canonical(word) in every, lambda word: canonical(word) in ran
    )
    return engine.observed(observations, rules)


def _by_settings(
    findings: list[Finding], by_path: dict[str, tuple[str, Document]], settings: Settings
) -> tuple[list[Finding], list[Finding]]:
    kept: list[Finding] = []
    hidden: list[Finding] = []
    for finding in findings:
        path, document = by_path.get(finding.path, (os.path.abspath(finding.path), None))
        for ignored in settings.ignored:
            named = any(word.upper() == finding.code or word.lower() == finding.name for word in ignored.codes)
            if named and ignored.matches(settings.below(path)) and _points_at(ignored.pointer, document, finding):
                finding.suppressed = f"per-path-ignores of {settings.path}"
                hidden.append(finding)
                break
        else:
            kept.append(finding)
    return kept, hidden


def _points_at(pointer: str | None, document: Document | None, finding: Finding) -> bool:
    """Whether a JSON pointer (`/training/warmup_steps`) means the place of a finding."""
    if pointer is None:
        return True
    if document is None or not document.roots:
        return False
    node: Node = document.roots[0]
    start, end = node.span.start, node.span.end
    for part in pointer.strip("/").split("/") if pointer.strip("/") else ():
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            entry = node.entry(name)
            if entry is None:
                return False
            node, start, end = entry.value, entry.key_span.start, entry.value.span.end
        elif isinstance(node, Sequence) and plain_count(name) and int(name) < len(node.items):
            node = node.items[int(name)]
            start, end = node.span.start, node.span.end
        else:
            return False
    return start <= finding.span.in_file().start < end
