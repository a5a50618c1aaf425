"""Where a command ends before its author meant it to.

A backslash continues a command only on the very next line. A comment there, a blank line or a blank behind the
backslash ends it: the flags below are run as a command of their own, which does not exist, and are never passed.
"""

from __future__ import annotations

import re

from epochlint.documents.shell.document import Command, Cut, ShellWord
from epochlint.documents.shell.syntax import (
    Case,
    Chain,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Simple,
    Statement,
    While,
)
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from epochlint.documents.document import Node
    from epochlint.documents.shell.text import Text
    from epochlint.source import Source

_FLAG = re.compile(r"--?[A-Za-z]")
_OVERRIDE = re.compile(r"[~+]{0,2}[A-Za-z_][\w.@/-]*=")
# What stands between the last word of a command and the flags that are lost.
_CONTINUED = re.compile(r"[ \t]*\\\n(?P<line>[ \t]*(?:#[^\n]*)?)\n")
_SPACED = re.compile(r"(?:[ \t]*\\(?=[ \t])|(?<=\\ ))[ \t]*(?P<line>(?:#[^\n]*)?)\n")


def find(source: Source, text: Text, statements: Sequence[Statement], origins: dict[int, list[Command]]) -> list[Cut]:
    """The cuts in the commands that were kept (`origins`: by id of their statement); each command gets its own."""
    found: list[Cut] = []
    for block in _blocks(statements):
        for index in range(1, len(block)):
            last = _edge(block[index - 1], -1)
            if last is None or id(last) not in origins:
                continue
            commands = origins[id(last)]
            lost: list[tuple[int, int]] = []
            for statement in block[index:]:
                first = _edge(statement, 0)
                words = _words(first) if first is not None else []
                if not words or not _is_orphan(source, text, words[0], last):
                    break
                lost += words
            if not lost:
                continue
            cut = _cut(source, text, last, lost, commands[0])
            if cut is not None:
                found.append(cut)
                for command in commands:
                    command.cuts.append(cut)
    return found


def _cut(source: Source, text: Text, last: Simple, lost: list[tuple[int, int]], command: Command) -> Cut | None:
    whole = text.text
    continued = _CONTINUED.match(whole, last.end)
    spaced = _SPACED.match(whole, last.end)
    if continued:
        kind = "comment" if continued["line"].strip() else "blank"
        start, end = continued.span("line")
    elif spaced:
        kind = "comment" if spaced["line"] else "space"
        start, end = spaced.span("line") if spaced["line"] else (last.end - 1, spaced.end() - 1)
    else:
        kind = "missing"
        end = whole.find("\n", last.end)
        start = max(whole.rfind("\n", 0, last.end) + 1, last.start)
    if kind != "comment" and not _FLAG.match(whole, lost[0][0]):
        return None
    start += len(whole[start:end]) - len(whole[start:end].lstrip())
    words: list[Node] = [ShellWord(Span(source, *text.place(*word)), whole[slice(*word)]) for word in lost[:200]]
    flags = []
    for word in lost[:200]:
        raw = whole[slice(*word)]
        if _FLAG.match(raw) or _OVERRIDE.match(raw):
            flags.append(raw.partition("=")[0])
    return Cut(kind, Span(source, *text.place(start, max(start, end))), flags, words, command.span)


def _is_orphan(source: Source, text: Text, word: tuple[int, int], last: Simple) -> bool:
    """Whether a statement's first word is a flag, or an override beside overrides, in a continued command's column."""
    if _FLAG.match(text.text, word[0]):
        return True
    if not _OVERRIDE.match(text.text, word[0]) or not _CONTINUED.match(text.text, last.end):
        return False
    column = text.text[text.text.rfind("\n", 0, word[0]) + 1 : word[0]]
    return bool(column) and not column.strip() and any(_OVERRIDE.match(text.text, start) for start, _ in last.words[1:])


def _words(node: Simple) -> list[tuple[int, int]]:
    ranges = [(assignment.start, assignment.end) for assignment in node.assignments] + node.words
    return sorted(ranges)


def _edge(node: Statement, side: int) -> Simple | None:
    """The first or last simple command of a statement."""
    while not isinstance(node, Simple):
        if isinstance(node, Pipeline):
            node = node.parts[side]
        elif isinstance(node, Chain):
            node = node.parts[side][1]
        else:
            return None
    return node


def _blocks(statements: Sequence[Statement]) -> Iterator[Sequence[Statement]]:
    """Every list of statements below."""
    pending: list[Sequence[Statement]] = [statements]
    while pending:
        block = pending.pop()
        yield block
        for node in block:
            if isinstance(node, If):
                pending += [part for branch in node.branches for part in branch]
                pending.append(node.otherwise or [])
            elif isinstance(node, (For, Group)):
                pending.append(node.body)
            elif isinstance(node, While):
                pending += [node.condition, node.body]
            elif isinstance(node, Case):
                pending += [body for _, body in node.items]
            elif isinstance(node, Function) and node.body is not None:
                pending.append([node.body])
            elif isinstance(node, Pipeline):
                pending.append(node.parts) if any(isinstance(part, Group) for part in node.parts) else None
