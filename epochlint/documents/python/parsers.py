"""Command line parsers of every kind: which calls make one, and the methods of a parser object."""

from __future__ import annotations

from epochlint.documents.python import argparser, commands, dataclass_parsers
from epochlint.documents.python.model import Unknown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Node
    from epochlint.documents.python.interpreter import Interpreter
    from epochlint.documents.python.values import ParserValue, Site

_METHODS = {**argparser.METHODS, **commands.METHODS, **dataclass_parsers.METHODS}
HANDLERS = {**argparser.HANDLERS, **commands.HANDLERS}
BY_NAME = dataclass_parsers.BY_NAME


def method(it: Interpreter, parser: ParserValue, name: str, site: Site) -> Node | None:
    """Methods of a parser object."""
    handler = _METHODS.get(name)
    if handler is not None:
        return handler(it, parser, site)
    return Unknown(site.whole, f"the result of {name}()")
