"""Modules of the project that a script imports: their classes, functions and settings are read where they stand.

A module is read once, when it is first imported; none is executed. Which file a name means is the caller's to say.
"""

from __future__ import annotations

from epochlint.documents.python.values import Imported, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Node
    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.source import Span

# Modules that are followed for one script, and their characters; what lies behind them stays unknown.
MOST_MODULES = 16
MOST_TEXT = 300_000


def scope_of(it: Interpreter, name: str, level: int = 0) -> Scope | None:
    """The names of a module of the project; None for any other, and for one that cannot be read.

    `level` counts the dots of a relative import. A module that imports itself in a circle is seen as far as it has
    been read.
    """
    found = it.find(name, level, it.at.source) if it.find is not None else None
    if found is None:
        return None
    at, tree = found
    source = at.source
    if source.path in it.imported:
        return it.imported[source.path]
    it.others.append(source.text)
    if len(it.imported) >= MOST_MODULES or sum(map(len, it.others)) > MOST_TEXT:
        it.imported[source.path] = None
        return None
    scope = it.imported[source.path] = Scope("module", None)
    if not it.apart(scope, at, tree.body):
        it.imported[source.path] = None
        return None
    return scope


def member(it: Interpreter, module: str, level: int, name: str, span: Span) -> Node | None:
    """What `from module import name` binds, where the module is the project's; None where it is not visible."""
    scope = scope_of(it, module, level) if module or level else None
    if scope is not None and name in scope.names:
        return scope.names[name]
    dotted = f"{module}.{name}" if module else name
    inner = scope_of(it, dotted, level)
    return Imported(span, "." * level + dotted, inner) if inner is not None else None


def attribute(it: Interpreter, base: Imported, name: str, span: Span) -> Node | None:
    """`module.name` after `import module`."""
    if base.scope is not None and name in base.scope.names:
        return base.scope.names[name]
    if base.scope is None and not base.whole:
        return None
    inner = scope_of(it, f"{base.origin}.{name}") if not base.origin.startswith(".") else None
    return Imported(span, f"{base.origin}.{name}", inner) if inner is not None else None
