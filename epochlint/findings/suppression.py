"""Comments that silence findings: `# epochlint: ignore[WRM005] reason` on the line or the line above, and
`# epochlint: ignore-file[...]`. A comment that silences nothing, or names no rule, is told."""

from __future__ import annotations

import re

from epochlint.run.observation import Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from epochlint.documents.document import Comment
    from epochlint.findings.finding import Finding

_COMMENT = re.compile(r"epochlint:\s*(ignore-file|ignore)\b\s*(?:\[([^\]]*)\])?\s*(.*)", re.DOTALL)


class Suppression:
    """One comment. `words` are codes or names as written; `line` is the comment's own, on which it may be `alone`."""

    __slots__ = ("alone", "comment", "line", "path", "reason", "used", "whole_file", "words")

    def __init__(self, comment: Comment, whole_file: bool, words: list[str], reason: str) -> None:
        span = comment.span.in_file()
        self.comment = comment
        self.path = span.source.path
        self.line = span.source.place(span.start).line
        own = comment.span.source
        place = own.place(comment.span.start)
        self.alone = not own.line(place.line)[: place.column - 1].strip()
        self.whole_file = whole_file
        self.words = words
        self.reason = reason
        self.used: set[str] = set()

    def word_for(self, finding: Finding) -> str | None:
        """The word by which it silences a finding."""
        if finding.path != self.path:
            return None
        if not self.whole_file:
            first, last = finding.span.place.line, finding.span.end_place.line
            # A comment behind a value is about that line; one that stands alone is about the line below, too.
            if not (first - self.alone <= self.line <= last):
                return None
        for word in self.words:
            if word.upper() == finding.code or word.lower() == finding.name:
                return word
        return None


def parse(comments: Iterable[Comment]) -> list[Suppression]:
    """The suppressions among a file's comments."""
    found = []
    for comment in comments:
        match = _COMMENT.search(comment.text)
        if match is not None:
            words = [word.strip() for word in (match[2] or "").split(",") if word.strip()]
            found.append(Suppression(comment, match[1] == "ignore-file", words, match[3].strip()))
    return found


def apply(findings: Iterable[Finding], suppressions: list[Suppression]) -> tuple[list[Finding], list[Finding]]:
    """The findings that are left, and those that are silenced (with the reason given)."""
    kept: list[Finding] = []
    silenced: list[Finding] = []
    for finding in findings:
        for suppression in suppressions:
            word = suppression.word_for(finding)
            if word is not None:
                suppression.used.add(word)
                finding.suppressed = suppression.reason
                finding.in_source = True
                silenced.append(finding)
                break
        else:
            kept.append(finding)
    return kept, silenced


def leftovers(
    suppressions: Iterable[Suppression], known: Callable[[str], bool], ran: Callable[[Suppression, str], bool]
) -> list[Observation]:
    """Comments that name no rule, and those that silenced nothing. `known`: a word names a rule; `ran`: that rule was
    among those that were asked for where the comment stands."""
    found = []
    for suppression in suppressions:
        span = suppression.comment.span
        if not suppression.words:
            found.append(
                Observation(
                    "unknown_suppression", span, {"word": "", "reason": "name the rules in brackets: ignore[WRM005]"}
                )
            )
        for word in suppression.words:
            if not known(word):
                found.append(
                    Observation("unknown_suppression", span, {"word": word, "reason": "there is no such rule"})
                )
            elif word not in suppression.used and ran(suppression, word):
                found.append(Observation("unused_suppression", span, {"word": word}))
    return found
