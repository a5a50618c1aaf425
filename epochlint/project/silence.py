"""Which findings are not reported: silenced by a comment, by the settings for a path, or known to the baseline."""

from __future__ import annotations

import os

from epochlint.documents.document import Document, Mapping, Node, Sequence
from epochlint.documents.scalars import plain_count
from epochlint.findings import baseline, suppression
from epochlint.findings.fingerprint import fingerprints

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.findings.finding import Finding
    from epochlint.rules.chosen import Chosen
    from epochlint.settings import Nearest, Settings

_MARK = "epochlint:"


def silence(
    findings: list[Finding], documents: Iterable[tuple[str, Document]], settings: Nearest, rules: Chosen
) -> tuple[list[Finding], list[Finding]]:
    """The findings that are left, and those that are not reported. Raises BaselineError."""
    by_path = {document.source.path: (path, document) for path, document in documents}
    silenced: list[Finding] = []
    findings, hidden = _by_settings(findings, by_path, settings)
    silenced += hidden
    comments = _suppressions(document for _, document in by_path.values())
    if comments:
        findings, hidden = suppression.apply(findings, comments)
        silenced += hidden
        findings = findings + _leftovers(comments, rules)
        findings.sort(key=lambda finding: finding.sort_key)
    for one in settings.used():
        if one.baseline is not None and os.path.exists(one.baseline):
            # The check's own baseline knows all files, that of a folder's settings its own.
            known = [finding for finding in findings if one is settings.own or settings.of(_whole(finding)) is one]
            _, hidden = baseline.apply(known, _marks(known, one), baseline.read(one.baseline))
            silenced += hidden
            gone = {id(finding) for finding in hidden}
            findings = [finding for finding in findings if id(finding) not in gone]
    return findings, silenced


def _suppressions(documents: Iterable[Document]) -> list[suppression.Suppression]:
    found: list[suppression.Suppression] = []
    for document in documents:
        if _MARK in document.source.text:
            from epochlint.documents.comments import comments

            found += suppression.parse(comments(document))
    return found


def _leftovers(comments: list[suppression.Suppression], rules: Chosen) -> list[Finding]:
    from epochlint.rules import catalogue

    every = {name for rule in [*catalogue.load(), *rules.every()] for name in (rule.code, rule.name)}

    def canonical(word: str) -> str:
        return word.lower() if "-" in word else word.upper()

    def ran(comment: suppression.Suppression, word: str) -> bool:
        return any(canonical(word) in (rule.code, rule.name) for rule in rules.of(comment.path))

    return rules.observed(suppression.leftovers(comments, lambda word: canonical(word) in every, ran))


def _by_settings(
    findings: list[Finding], by_path: dict[str, tuple[str, Document]], settings: Nearest
) -> tuple[list[Finding], list[Finding]]:
    kept: list[Finding] = []
    hidden: list[Finding] = []
    for finding in findings:
        path, document = by_path.get(finding.path, (_whole(finding), None))
        here = settings.of(path)
        for ignored in here.ignored:
            named = any(word.upper() == finding.code or word.lower() == finding.name for word in ignored.codes)
            if named and ignored.matches(here.below(path)) and _points_at(ignored.pointer, document, finding):
                finding.suppressed = f"per-path-ignores of {here.path}"
                hidden.append(finding)
                break
        else:
            kept.append(finding)
    return kept, hidden


def _marks(findings: list[Finding], settings: Settings) -> dict[int, str]:
    return fingerprints(findings, lambda path: settings.below(os.path.abspath(path)))


def _whole(finding: Finding) -> str:
    return os.path.abspath(finding.path)


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
