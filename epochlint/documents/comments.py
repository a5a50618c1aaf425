"""Comments with their spans.

No reader looks for comments on its own: they are found when somebody asks, for a suppression ("epochlint:" stands in
the text) or for a rule that compares a comment with a number.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Comment
from epochlint.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document

_HASH = re.compile(r"#[^\r\n]*")
# A `#` outside quotes on one line, where the scanner has given up.
_BROKEN = re.compile(r"\"(?:[^\"\\\r\n]|\\.)*\"|'[^'\r\n]*'|(?<![^\s])#[^\r\n]*")
_BLOCK_HEADER = re.compile(r"[|>][-+0-9]*[ \t]+(#[^\r\n]*)")
_QUOTES = r'"""(?:[^\\]|\\.)*?"""|' + r"'''(?:[^\\]|\\.)*?'''|" + r'"(?:[^"\\\r\n]|\\.)*"|' + r"'(?:[^'\\\r\n]|\\.)*'|"
_PYTHON = re.compile(_QUOTES + r"(#[^\r\n]*)", re.DOTALL)
_TOML = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")|' + r"'''.*?'{3,5}(?!')|" + r'"(?:[^"\\\r\n]|\\.)*"|' + r"'[^'\r\n]*'|(#[^\r\n]*)",
    re.DOTALL,
)
_JSON = re.compile(r'"(?:[^"\\\r\n]|\\.)*"|(//[^\r\n]*|#[^\r\n]*|/\*.*?\*/)', re.DOTALL)
# `#` begins a comment only where a word may begin: not in `$#`, `${#a}` or `a#b`.
_SHELL = re.compile(
    r"\\.|'[^']*'|\"(?:[^\"\\]|\\.)*\""
    r"|<<<"
    r"|<<(?P<tabs>-?)[ \t]*(?P<quote>['\"\\]?)(?P<end>[A-Za-z_][A-Za-z0-9_]*)['\"]?"
    r"|(?<![^\s;&|()`])(?P<comment>#[^\r\n]*)",
    re.DOTALL,
)


def comments(document: Document) -> list[Comment]:
    """The comments of a document, found at the first call. An empty list for JSON, unless it has comments after all."""
    if not document.comments:
        document.comments = find(document.source, document.syntax)
    return document.comments


def find(source: Source, syntax: str) -> list[Comment]:
    """The comments of a text in a syntax ("yaml", "toml", "json", "python", "shell"), in order. Never raises."""
    text = source.text
    if "#" not in text and (syntax != "json" or "/" not in text):
        return []
    if syntax == "yaml":
        places = _yaml(text)
    elif syntax == "shell":
        places = _shell(text)
    elif syntax in ("toml", "hcl", "json", "python"):
        expression = {"toml": _TOML, "hcl": _TOML, "json": _JSON, "python": _PYTHON}[syntax]
        places = (found.span(1) for found in expression.finditer(text) if found[1] is not None)
    else:
        return []
    return [Comment(Span(source, start, end), _words(text[start:end])) for start, end in places]


def _words(comment: str) -> str:
    if comment.startswith("/*"):
        return comment[2:-2].strip().lstrip("*").strip()
    return comment.lstrip("#/").strip()


def _yaml(text: str) -> Iterator[tuple[int, int]]:
    """Comments stand between the scanner's tokens; a block scalar's header, inside its token, may end in one, too."""
    from yaml.error import YAMLError

    from epochlint.documents.yaml_document import tokens

    at = 0
    try:
        for start, end in tokens(text):
            if end <= start:
                continue
            yield from (found.span() for found in _HASH.finditer(text, at, start))
            if text[start] in "|>" and (header := _BLOCK_HEADER.match(text, start, end)):
                yield header.span(1)
            at = end
    except (YAMLError, ValueError, RecursionError, AttributeError, TypeError, IndexError, KeyError):
        yield from (found.span() for found in _BROKEN.finditer(text, at) if found[0][0] == "#")
        return
    yield from (found.span() for found in _HASH.finditer(text, at))


def _shell(text: str) -> Iterator[tuple[int, int]]:
    at = 0
    bodies: list[tuple[str, bool]] = []  # here-documents that begin at the next line break
    while found := _SHELL.search(text, at):
        if bodies and (line := text.find("\n", at, found.start())) >= 0:
            at = _behind_bodies(text, line + 1, bodies)
            continue
        at = found.end()
        if found["comment"] is not None:
            yield found.span("comment")
        elif found["end"] is not None:
            bodies.append((found["end"], found["tabs"] == "-"))


def _behind_bodies(text: str, at: int, bodies: list[tuple[str, bool]]) -> int:
    """The offset behind the here-documents that begin at `at`; empties `bodies`."""
    for end, tabs in bodies:
        closing = re.compile(rf"^{chr(9) + '*' if tabs else ''}{end}\r?$", re.MULTILINE).search(text, at)
        at = closing.end() if closing else len(text)
    bodies.clear()
    return at
