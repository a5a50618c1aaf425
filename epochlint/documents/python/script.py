"""A script from text to document."""

from __future__ import annotations

import ast

from epochlint.documents.document import Entry, Mapping, Problem
from epochlint.documents.python.calls import merged, read_uncalled
from epochlint.documents.python.interpreter import BudgetError, Interpreter
from epochlint.documents.python.model import PythonDocument
from epochlint.documents.python.syntax import program
from epochlint.documents.python.values import export
from epochlint.documents.python.written import keep_all

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document
    from epochlint.documents.python.interpreter import Find
    from epochlint.documents.python.syntax import Locator
    from epochlint.source import Source


def read_script(
    source: Source,
    *,
    load: Callable[[str], Document | None] | None = None,
    flags: Mapping | None = None,
    environment: dict[str, str] | None = None,
    find: Find | None = None,
    names: bool = False,
) -> PythonDocument:
    """See `documents.python.read`."""
    document = PythonDocument(source)
    found = program(source)
    if isinstance(found, Problem):
        document.problems.append(found)
        return document
    interpreter = Interpreter(found[0], load, flags, environment, find)
    run(interpreter, [found], document)
    if interpreter.imported and any(problem.kind == "too-large" for problem in document.problems):
        # with the others it is too much
        return read_script(source, load=load, flags=flags, environment=environment, names=names)
    if names and not document.problems:
        document.names = _names(interpreter, found[1])
    return document


def _names(interpreter: Interpreter, tree: ast.Module) -> Mapping:
    """What the names of a module hold at its end; those of another module that it imports whole may be missing."""
    at, held = interpreter.at, interpreter.module.names
    places = {
        target.id: at.span(target)
        for statement in tree.body
        for target in getattr(statement, "targets", [getattr(statement, "target", None)])
        if isinstance(target, ast.Name)
    }
    entries = [Entry(name, places.get(name, value.span), export(value)) for name, value in held.items()]
    return Mapping(at.source.span(0, 0), entries, open_ended=bool(interpreter.stars))


def run(interpreter: Interpreter, pieces: list[tuple[Locator, ast.Module]], document: PythonDocument) -> None:
    """Read pieces of one program (a script, or a notebook's cells) in order, and fill in the document."""
    span = document.source.span(0, 0)
    try:
        for at, tree in pieces:
            interpreter.at = at
            for statement in tree.body:
                if interpreter.statement(statement):
                    break
        read_uncalled(interpreter)
        document.calls = merged(interpreter)
        document.environment = interpreter.set_variables
        keep_all(interpreter, document)
    except BudgetError:
        document.problems.append(Problem("too-large", "not analysed: it would take too long", span))
    except (RecursionError, MemoryError):
        document.problems.append(Problem("too-deep", "not analysed: nested too deeply", span))
    if document.problems and not document.calls:
        interpreter.parsers.clear()
        interpreter.loads.clear()
    document.texts.extend(interpreter.others)
    document.imports = interpreter.imports
    document.stars = interpreter.stars
    document.parsers = interpreter.parsers
    document.loads = interpreter.loads
    for parser in document.parsers:
        for flag in parser.flags.values():
            flag.default = export(flag.default) if flag.default is not None else None
        for feed in parser.feeds:
            feed.node = export(feed.node) if feed.node is not None else None
            feed.path = export(feed.path) if feed.path is not None else None
    for found in document.loads:
        found.path = export(found.path)
