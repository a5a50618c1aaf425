"""Text to syntax tree, and the tree's positions to spans. Nothing is compiled or run."""

from __future__ import annotations

import ast
import contextlib
import functools
import re
import sys
import warnings

from epochlint.documents.document import Problem
from epochlint.documents.templates import REASON, is_template
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.source import Source

# Scripts that people write stay far below; a tree takes about a hundred times its text.
LARGEST = 3_000_000


class Locator:
    """Turns the positions of `ast` (1-based lines, columns in bytes of UTF-8) into spans of a source.

    What it has told of a node is kept at the node.
    """

    __slots__ = ("_ascii", "_starts", "source")

    def __init__(self, source: Source) -> None:
        self.source = source
        self._ascii = source.text.isascii()
        self._starts = source.line_starts

    def offset(self, line: int, column: int) -> int:
        start = self._starts[min(line, len(self._starts)) - 1]
        if self._ascii:
            return min(start + column, len(self.source.text))
        text = self.source.text[start : start + column]
        if text.isascii() and len(text) == column:
            return start + column
        encoded = text.encode("utf-8", "surrogatepass")[:column]
        return start + len(encoded.decode("utf-8", "ignore"))

    def start(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg | ast.alias | ast.ExceptHandler) -> int:
        return self.offset(node.lineno, node.col_offset)

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.arg | ast.alias | ast.ExceptHandler) -> Span:
        found: Span | None = node.__dict__.get("span")
        if found is None:
            start = self.offset(node.lineno, node.col_offset)
            end = self.offset(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
            found = node.__dict__["span"] = Span(self.source, start, max(start, end))
        return found

    def text(self, node: ast.expr) -> str:
        return self.span(node).text

    def last_part(self, node: ast.expr) -> Span:
        """The span of a name, or of the last part of a dotted one."""
        span = self.span(node)
        if isinstance(node, ast.Attribute):
            return Span(self.source, max(span.start, span.end - len(node.attr)), span.end)
        return span

    def keyword(self, node: ast.keyword) -> Span:
        start = self.offset(node.lineno, node.col_offset)
        return Span(self.source, start, start + len(node.arg or "**"))


def bound_in(node: ast.stmt) -> tuple[dict[str, int], int]:
    """The names that a statement binds, with the number of places that do; and how many nodes were looked at."""
    known: tuple[dict[str, int], int] | None = node.__dict__.get("bound")
    if known is not None:
        return known
    found: dict[str, int] = {}
    seen = 0
    waiting: list[ast.AST] = [node]
    while waiting:
        current = waiting.pop()
        seen += 1
        name = ""
        if isinstance(current, ast.Name) and isinstance(current.ctx, (ast.Store, ast.Del)):
            name = current.id
        elif isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            name = current.name
        elif isinstance(current, ast.alias):
            name = current.asname or current.name.partition(".")[0]
        if name:
            found[name] = found.get(name, 0) + 1
        if not isinstance(current, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(current))
    known = node.__dict__["bound"] = (found, seen)
    return known


# What Python before 3.12 says of the f-strings (PEP 701) and the type parameters (PEP 695) that it does not know.
# IPython's own lines, as notebooks have them that are kept as scripts (Databricks, "# %%").
_MAGIC = re.compile(r"(?m)^([ \t]*)([%!][A-Za-z][^\n]*)$")
_NEWER = re.compile(r"f-string|expected '\('")


@functools.lru_cache(maxsize=8)
def program(source: Source) -> tuple[Locator, ast.Module] | Problem:
    """A script's tree with its locator. Launches of one script come one after the other: the last few are kept."""
    tree = parse(source)
    return tree if isinstance(tree, Problem) else (Locator(source), tree)


def parse(source: Source) -> ast.Module | Problem:
    """The tree of a script, or why there is none: "syntax", "newer" (than this Python), "template", "encoding",
    "too-deep", "too-large"."""
    text = source.text
    if len(text) > LARGEST:
        return Problem("too-large", f"not analysed: {len(text):,} characters", source.span(0, 0))
    try:
        with warnings.catch_warnings():
            # Strangers' invalid escapes are no news to the person who lints.
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except SyntaxError as error:
        plain = _MAGIC.sub(_blank, text)
        if plain != text:
            with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return ast.parse(plain)
        return _syntax_problem(source, error)
    except UnicodeError:
        return Problem("encoding", "not analysed: the text is not valid Unicode", source.span(0, 0))
    except ValueError as error:  # NUL bytes (before 3.12), numbers of thousands of digits
        at = max(text.find("\0"), 0)
        return Problem("encoding" if "\0" in text else "syntax", f"not analysed: {error}", Span(source, at, at))
    except (RecursionError, MemoryError):
        return Problem("too-deep", "not analysed: nested too deeply", source.span(0, 0))


def _blank(found: re.Match[str]) -> str:
    """A statement that does nothing, as long as the line was."""
    width = len(found[2])
    return found[1] + ("pass" if width >= 4 else "0").ljust(width)


def _syntax_problem(source: Source, error: SyntaxError) -> Problem:
    lines = source.line_starts
    line = min(max(error.lineno or 1, 1), len(lines))
    start = lines[line - 1]
    length = len(source.line(line))
    at = start + min(max((error.offset or 1) - 1, 0), length)
    if "\0" in source.text:
        at = source.text.find("\0")
        return Problem("encoding", "not analysed: the text holds NUL bytes", Span(source, at, at))
    if is_template(source.text, at, quotes_matter=True):
        return Problem("template", REASON, Span(source, at, at))
    version = f"{sys.version_info[0]}.{sys.version_info[1]}"
    kind = "newer" if sys.version_info < (3, 12) and _NEWER.search(error.msg) else "syntax"
    return Problem(kind, f"not analysed: Python {version} cannot parse it ({error.msg})", Span(source, at, at))
