"""The commands in the recipes of a Makefile or a justfile.

Make hands each recipe line to a shell of its own, after putting its variables in: `$(LR)` where a literal is assigned
once. What make computes otherwise becomes a shell variable that nothing sets, so it is not known.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Scalar
from epochlint.source import Excerpt, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.shell.document import Command
    from epochlint.source import Source

_MOST_RECIPES = 2_000
_ASSIGNMENT = re.compile(r"(export[ \t]+)?([A-Za-z_][\w.-]*)[ \t]*(\?|::?|\+)?=[ \t]*(.*)")
_JUST_ASSIGNMENT = re.compile(r"(export[ \t]+)?([A-Za-z_][\w-]*)[ \t]*:=[ \t]*(\"[^\"{}]*\"|'[^'{}]*')[ \t]*\Z")
_TARGET = re.compile(r"([^\s:=#][^:=#]*?)[ \t]*::?(?!=)")
_JUST_TARGET = re.compile(r"@?([A-Za-z_][\w-]*)([^:]*):(?!=)")
_PARAMETER = re.compile(r"(?<![\w-])[*+$]?([A-Za-z_][\w-]*)=(\"[^\"]*\"|'[^']*'|[^\s'\"]+)")
_VARIABLE = re.compile(r"\$\$|\$\(([^()$]*)\)|\$\{([^{}$]*)\}|\$([@<^*?+%|])|\$\(")
_JUST_VARIABLE = re.compile(r"\{\{\s*(.*?)\s*\}\}")
_NAME = re.compile(r"[A-Za-z_][\w.-]*\Z")


class _Line:
    """A logical line: its text with the offset of each character, continuations still in it."""

    __slots__ = ("offsets", "text")

    def __init__(self, text: str, offsets: list[int]) -> None:
        self.text = text
        self.offsets = offsets


def commands(source: Source, just: bool = False) -> list[Command]:
    """The commands of all recipes."""
    from epochlint.documents.shell import reading

    lines = _lines(source)
    variables = _variables(lines, just)
    exported = Mapping(Span(source, 0, 0), _exported(source, variables))
    found: list[Command] = []
    target = ""
    parameters: dict[str, tuple[str, bool, int]] = {}
    recipes = 0
    for line in lines:
        if not _is_recipe(line, just):
            heading = (_JUST_TARGET if just else _TARGET).match(line.text)
            if heading and not line.text.startswith("#"):
                target = heading[1].strip()
                parameters = _parameters(heading[2], line.offsets[0]) if just else {}
            continue
        if not target:
            continue
        recipes += 1
        if recipes > _MOST_RECIPES:
            break
        excerpt = _recipe(source, line, {**variables, **parameters}, target, just)
        found += reading.script(excerpt, exported).launches
    return found


def _exported(source: Source, variables: dict[str, tuple[str, bool, int]]) -> list[Entry]:
    entries = []
    for name, (value, exported, at) in variables.items():
        if exported:
            span = Span(source, at, at + len(value))
            entries.append(Entry(name, span, Scalar(span, value, value, True)))
    return entries


def _lines(source: Source) -> list[_Line]:
    """Physical lines joined where a backslash ends one; the backslash and the break stay, a recipe's tab goes."""
    text = source.text
    lines: list[_Line] = []
    at = 0
    parts: list[str] = []
    offsets: list[int] = []
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        stop = end - 1 if text[end - 1 : end] == "\r" and end > at else end
        start = at + 1 if parts and text.startswith("\t", at) else at
        parts.append(text[start:stop])
        offsets.extend(range(start, stop))
        at = end + 1
        if stop > start and text[stop - 1] == "\\" and at < len(text):
            parts.append("\n")
            offsets.append(end)
            continue
        lines.append(_Line("".join(parts), [*offsets, stop]))
        parts, offsets = [], []
    if parts:
        lines.append(_Line("".join(parts), [*offsets, len(text)]))
    return lines


def _is_recipe(line: _Line, just: bool) -> bool:
    return line.text.startswith("\t") or (just and line.text.startswith(" "))


def _variables(lines: list[_Line], just: bool) -> dict[str, tuple[str, bool, int]]:
    """Variables with one literal assignment: value, whether exported, offset of the value."""
    found: dict[str, tuple[str, bool, int]] = {}
    several: set[str] = set()
    for line in lines:
        if _is_recipe(line, just):
            continue
        assigned = (_JUST_ASSIGNMENT if just else _ASSIGNMENT).match(line.text)
        if assigned is None:
            continue
        name = assigned[2]
        value = assigned[3][1:-1] if just else assigned[4].partition(" #")[0].strip().replace("\\\n", " ")
        operator = "" if just else assigned[3] or ""
        if name in found or operator == "+":
            several.add(name)
        at = line.offsets[assigned.start(3) + 1] if just else line.offsets[assigned.start(4)]
        found[name] = (value, bool(assigned[1]), at)
    return {name: entry for name, entry in found.items() if name not in several}


def _parameters(text: str, at: int) -> dict[str, tuple[str, bool, int]]:
    """A just recipe's parameters with their defaults."""
    return {found[1]: (found[2].strip("\"'"), False, at) for found in _PARAMETER.finditer(text)}


def _recipe(
    source: Source, line: _Line, variables: dict[str, tuple[str, bool, int]], target: str, just: bool
) -> Excerpt:
    """A recipe's line as the shell gets it."""
    start = len(line.text) - len(line.text.lstrip(" \t"))
    while line.text[start : start + 1] in ("@", "-", "+") and not line.text.startswith("--", start):
        start += 1
    parts: list[str] = []
    offsets: list[int] = []
    at = start
    for found in (_JUST_VARIABLE if just else _VARIABLE).finditer(line.text, start):
        if found.start() < at:
            continue
        parts.append(line.text[at : found.start()])
        offsets += line.offsets[at : found.start()]
        at = found.end()
        if found[0] == "$(":  # a function with something inside: behind its closing bracket
            at = _closing(line.text, found.end())
            value = "${make_function}"
        elif just:
            value = _value(found[1], variables)
        elif found[0] == "$$":
            value = "$"
        else:
            value = _value(found[1] or found[2] or "", variables)
        parts.append(value)
        offsets += [line.offsets[found.start()]] * len(value)
    parts.append(line.text[at:])
    offsets += line.offsets[at : len(line.text)]
    offsets.append(line.offsets[-1])
    return Excerpt(source, "".join(parts), offsets, f"target {target}")


def _value(name: str, variables: dict[str, tuple[str, bool, int]], depth: int = 0) -> str:
    """A variable's text; a shell variable of that name where it is not known."""
    entry = variables.get(name)
    if entry is None or depth > 5 or len(entry[0]) > 10_000:
        return f"${{{re.sub(r'[^A-Za-z0-9_]', '_', name) or 'make_function'}}}" if name else "${make_variable}"
    total = 0

    def put(found: re.Match[str]) -> str:
        nonlocal total
        total += 1
        if found[0] == "$$":
            return "$"
        inner = found[1] or found[2] or ""
        return _value(inner, variables, depth + 1) if _NAME.match(inner) and total < 50 else "${make_function}"

    value = _VARIABLE.sub(put, entry[0])
    return value if len(value) < 10_000 else "${make_function}"


def _closing(text: str, at: int) -> int:
    open_brackets = 1
    while at < len(text) and open_brackets:
        open_brackets += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    return at
