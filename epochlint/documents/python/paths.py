"""Paths, with os.path or pathlib: as the script writes them, relative to where it is started."""

from __future__ import annotations

import ast
import posixpath

from epochlint.documents.document import Node, Scalar, Unresolved
from epochlint.documents.python.methods import as_text
from epochlint.documents.python.model import Unknown
from epochlint.documents.python.values import (
    Items,
    Method,
    PathText,
    Site,
    derived,
    names_in,
    rests_on_default,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span


def as_path(span: Span, text: str) -> PathText:
    """What `pathlib.Path` makes of a text."""
    return _path(span, posixpath.normpath(text) if text else ".")


def _path(span: Span, text: str, *operands: Node) -> PathText:
    return PathText(span, text, text, names=names_in(*operands), default=rests_on_default(*operands))


def _make_path(it: Interpreter, site: Site, origin: str) -> Node | None:
    if site.keywords or not site.positional:
        return _path(site.whole, ".") if not site.positional else None
    return _join_paths(site.whole, site.positional)


def _join_paths(span: Span, parts: list[Node]) -> Node:
    texts = [as_text(part) for part in parts]
    if any(text is None for text in texts):
        unknown = next((part for part in parts if isinstance(part, Unresolved)), None)
        return Unknown(
            span, unknown.reason if unknown is not None else "a part of the path is not known", names_in(*parts)
        )
    known = [text for text in texts if text is not None]
    joined = posixpath.join(*known) if known else "."
    span = parts[0].span if len(parts) == 1 else span
    return _path(span, posixpath.normpath(joined) if joined else ".", *parts)


def _os_join(it: Interpreter, site: Site, origin: str) -> Node | None:
    if not site.positional or site.open_ended:
        return None
    texts = [as_text(part) for part in site.positional]
    if any(text is None for text in texts):
        return Unknown(site.whole, "a part of the path is not known", names_in(*site.positional))
    joined = posixpath.join(*(text for text in texts if text is not None))
    return derived(site.whole, joined, *site.positional)


def _os_path(it: Interpreter, site: Site, origin: str) -> Node | None:
    text = as_text(site.get("path", 0))
    if text is None:
        return Unknown(site.whole, "the path is not known", names_in(*site.positional))
    name = origin.rpartition(".")[2]
    if name == "dirname":
        # Of a file in the working directory: "" says the same as ".", and joins to the bare name.
        result = ".." if text == "." else posixpath.dirname(text)
    elif name == "basename":
        result = posixpath.basename(text)
    elif name == "splitext":
        return Items(site.whole, [derived(site.whole, part) for part in posixpath.splitext(text)], it.guard)
    elif name == "normpath":
        result = posixpath.normpath(text)
    elif name == "abspath" and text == "":
        result = "."
    else:
        # abspath, realpath, expanduser, expandvars: the path as written is what can be looked for.
        if text.startswith("~") or "$" in text:
            return Unknown(site.whole, "the path depends on the user", names_in(*site.positional))
        return site.positional[0] if site.positional else None
    return derived(site.whole, result, *site.positional)


def path_attribute(path: PathText, name: str, span: Span) -> Node:
    text = str(path.value)
    if name == "parent":
        if text in (".", "..") or text.endswith("/.."):
            return _path(span, posixpath.normpath(posixpath.join(text, "..")), path)
        return _path(span, posixpath.dirname(text) or ".", path)
    if name == "parents":
        return Method(span, path, "parents")
    if name == "name":
        return derived(span, posixpath.basename(text), path)
    if name in ("stem", "suffix"):
        stem, suffix = posixpath.splitext(posixpath.basename(text))
        return derived(span, stem if name == "stem" else suffix, path)
    return Method(span, path, name)


def path_parent(path: PathText, key: Node, span: Span) -> Node:
    """`Path(__file__).parents[1]`."""
    steps = key.value if isinstance(key, Scalar) else None
    if not isinstance(steps, int) or not 0 <= steps < 20:
        return Unknown(span, "which parent is not known")
    found: Node = path
    for _ in range(steps + 1):
        if isinstance(found, PathText):
            found = path_attribute(found, "parent", span)
    return found


def path_operation(operation: ast.operator, left: Scalar, right: Scalar, span: Span) -> Node | None:
    if isinstance(operation, ast.Div) and isinstance(left.value, str) and isinstance(right.value, str):
        return _join_paths(span, [left, right])
    return None


def _unknown_condition(it: Interpreter, site: Site, origin: str) -> Node | None:
    return Unknown(site.whole, "what exists on the disk is not known")


HANDLERS: dict[str, Callable[[Interpreter, Site, str], Node | None]] = {
    **{f"os.path.{name}": _os_path for name in ("dirname", "basename", "abspath", "realpath", "normpath", "expanduser", "expandvars", "splitext")},  # noqa: E501
    **{f"os.path.{name}": _unknown_condition for name in ("exists", "isfile", "isdir")},
    "os.path.join": _os_join,
    "pathlib.Path": _make_path,
    "pathlib.PurePath": _make_path,
}  # fmt: skip
