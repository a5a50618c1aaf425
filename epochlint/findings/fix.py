"""Fixes: byte-exact edits, written atomically.

A fix changes the characters of its edits and nothing else. Edits that overlap are not applied together: the first wins,
and a second run does the rest.
"""

from __future__ import annotations

import re

from epochlint.files import encode, open_source, replace
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from epochlint.findings.finding import Finding
    from epochlint.run.observation import Edit, Fix


_PLAIN = re.compile(r"[\w.+-]*")


class Fixed:
    """A file's new text, beside the old one, and how many findings it mends."""

    __slots__ = ("count", "new", "old", "path")

    def __init__(self, path: str, old: str, new: str, count: int) -> None:
        self.path = path
        self.old = old
        self.new = new
        self.count = count


def fixed(findings: Iterable[Finding], unsafe: bool = False) -> list[Fixed]:
    """What the files would be. Only whole fixes are taken: all edits of one, or none."""
    edits: dict[str, list[tuple[int, int, str]]] = {}
    counts: dict[str, int] = {}
    sources: dict[str, Source] = {}
    seen: set[tuple[str, int, int, str]] = set()
    for finding in findings:
        fix = usable(finding)
        if fix is None or not (fix.safe or unsafe):
            continue
        wanted = [_placed(edit) for edit in fix.edits]
        if all((source.path, start, end, text) in seen for source, start, end, text in wanted):
            continue
        if any(_overlaps(edits.get(source.path, ()), start, end) for source, start, end, _ in wanted):
            continue
        for source, start, end, text in wanted:
            seen.add((source.path, start, end, text))
            edits.setdefault(source.path, []).append((start, end, text))
            sources[source.path] = source
        counts[wanted[0][0].path] = counts.get(wanted[0][0].path, 0) + 1
    found = []
    for path, changes in edits.items():
        text = sources[path].text
        for start, end, new in sorted(changes, reverse=True):
            text = text[:start] + new + text[end:]
        found.append(Fixed(path, sources[path].text, text, counts.get(path, 0)))
    return found


def usable(finding: Finding) -> Fix | None:
    """The fix that can be written as it stands, by us or by who reads our reports."""
    fix = finding.fix
    return fix if fix is not None and fix.edits and all(map(_fits, fix.edits)) else None


def _fits(edit: Edit) -> bool:
    """Inside another text (a notebook's cell, a ConfigMap) only what needs no escaping is written."""
    inner = edit.span.in_file()
    if inner.source is edit.span.source:
        return True
    return _PLAIN.fullmatch(edit.text) is not None and inner.text == edit.span.text


def _placed(edit: Edit) -> tuple[Source, int, int, str]:
    span = edit.span.in_file()
    return span.source, span.start, span.end, edit.text


def _overlaps(taken: Iterable[tuple[int, int, str]], start: int, end: int) -> bool:
    return any((start < other_end and other_start < end) or start == other_start for other_start, other_end, _ in taken)


def write(one: Fixed, absolute: Callable[[str], str]) -> bool:
    """Writes a file anew, keeping its encoding, byte order mark, mode and links. False where it has changed since.
    Raises OSError."""
    path = absolute(one.path)
    source = open_source(path, one.path)
    if not isinstance(source, Source) or source.text != one.old:
        return False
    with open(path, "rb") as file:
        before = file.read()
    replace(path, encode(one.new, like=before))
    return True
