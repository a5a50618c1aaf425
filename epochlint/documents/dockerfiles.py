"""The commands of a Dockerfile: RUN, CMD and ENTRYPOINT, as a shell's text or as a JSON list of words.

Docker joins continued lines and drops comment lines between them (docs.docker.com, Dockerfile reference), so such a
comment cuts nothing here.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Sequence
from epochlint.source import Excerpt, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.shell.document import Command
    from epochlint.source import Source

_INSTRUCTION = re.compile(r"[ \t]*(FROM|RUN|CMD|ENTRYPOINT|ENV|ARG|WORKDIR|COPY|ADD)[ \t]+", re.IGNORECASE)
_PAIR = re.compile(r"(?<!\w)([A-Za-z_]\w*)=(\"(?:[^\"\\]|\\.)*\"|'[^']*'|(?:[^\s\\]|\\.)*)")
_OLD_PAIR = re.compile(r"([A-Za-z_]\w*)[ \t]+(.*)", re.DOTALL)
_RUN_OPTION = re.compile(r"(?:--[a-z]+=\S+[ \t]+)+")
_HEREDOC = re.compile(r"<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1")


class _Stage:
    """What a stage has set by now."""

    __slots__ = ("command", "entry", "folder", "variables")

    def __init__(self) -> None:
        self.variables: list[Entry] = []
        self.command: Excerpt | None = None
        self.entry: Excerpt | None = None
        self.folder = ""


def commands(source: Source) -> list[Command]:
    """The commands of a Dockerfile; of several CMDs in a stage the last."""
    found: list[Command] = []
    stage = _Stage()
    for name, excerpt in _instructions(source):
        if name == "FROM":
            found += _finish(stage)
            stage = _Stage()
        elif name in ("ENV", "ARG"):
            stage.variables += _pairs(excerpt)
        elif name == "WORKDIR":
            stage.folder = excerpt.text.strip().strip("\"'")
        elif name == "CMD":
            stage.command = excerpt
        elif name == "ENTRYPOINT":
            stage.entry = excerpt
            stage.command = None
        elif name == "RUN":
            options = _RUN_OPTION.match(excerpt.text)
            found += _given(_cut(excerpt, options.end()) if options else excerpt, None, stage)
        if len(found) > 500:
            break
    return found + _finish(stage)


def _finish(stage: _Stage) -> list[Command]:
    if stage.entry is None and stage.command is None:
        return []
    return _given(stage.entry, stage.command, stage)


def _given(first: Excerpt | None, second: Excerpt | None, stage: _Stage) -> list[Command]:
    from epochlint.documents.commands import of_words
    from epochlint.documents.shell import reading

    excerpt = first if first is not None else second
    if excerpt is None:
        return []
    variables = Mapping(Span(excerpt, 0, 0), stage.variables)
    words = _words(excerpt)
    if words is None:
        found = reading.script(excerpt, variables).launches
    else:
        more = _words(second) if second is not None and second is not excerpt else None
        found = of_words([*words, *(more or [])], "", variables)
    for command in found:
        command.folder = command.folder or stage.folder
    return found


def _instructions(source: Source) -> list[tuple[str, Excerpt]]:
    """Each instruction with what stands behind its name, continued lines joined."""
    text = source.text
    found: list[tuple[str, Excerpt]] = []
    at = 0
    while at < len(text):
        end = _line_end(text, at)
        named = _INSTRUCTION.match(text, at, end)
        if named is None:
            at = end + 1
            continue
        parts: list[str] = []
        offsets: list[int] = []
        start = named.end()
        while True:
            stop = end - 1 if end > start and text[end - 1] == "\r" else end
            comment = bool(parts) and text[start:stop].lstrip().startswith("#")
            trimmed = text[start:stop].rstrip()
            goes_on = trimmed.endswith("\\")
            if not comment:
                parts.append(text[start : start + len(trimmed)])
                offsets.extend(range(start, start + len(trimmed)))
            if end >= len(text) or not (goes_on or comment):
                break
            if not comment:
                parts.append("\n")
                offsets.append(start + len(trimmed))
            start = end + 1
            end = _line_end(text, start)
        document = _HEREDOC.search(text, named.end(), end) if named[1].upper() == "RUN" else None
        if document:
            close = re.compile(rf"^\t*{document[2]}[ \t\r]*$", re.MULTILINE).search(text, end)
            stop = close.start() if close else len(text)
            parts, offsets = [text[end + 1 : stop]], list(range(min(end + 1, stop), stop))
            end = close.end() if close else len(text)
        joined = "".join(parts)
        offsets = [*offsets[: len(joined)], offsets[-1] + 1 if offsets else named.end()]
        found.append((named[1].upper(), Excerpt(source, joined, offsets, named[1].upper())))
        at = end + 1
        if len(found) > 2_000:
            break
    return found


def _line_end(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _words(excerpt: Excerpt) -> list[Node] | None:
    """The words of `["python", "train.py"]`; None where it is a shell's text."""
    if not excerpt.text.lstrip().startswith("["):
        return None
    from epochlint.documents import json_document

    document = json_document.read(excerpt)
    root = document.roots[0] if document.roots and not document.problems else None
    if not isinstance(root, Sequence) or not all(isinstance(item, Scalar) for item in root.items):
        return None
    return root.items


def _pairs(excerpt: Excerpt) -> list[Entry]:
    """`ENV A=1 B="x y"`, `ENV A 1`, `ARG A=1`."""
    pairs = list(_PAIR.finditer(excerpt.text)) or [pair for pair in [_OLD_PAIR.match(excerpt.text)] if pair]
    entries = []
    for pair in pairs:
        raw = pair[2].strip().strip("\"'")
        if "$" not in raw:
            value = Scalar(Span(excerpt, pair.start(2), pair.end(2)), raw, raw, True)
            entries.append(Entry(pair[1], Span(excerpt, pair.start(1), pair.end(1)), value))
    return entries


def _cut(excerpt: Excerpt, start: int) -> Excerpt:
    return Excerpt(excerpt.within, excerpt.text[start:], excerpt.offsets[start:], excerpt.label)
