"""Python training scripts, read and never run: which calls are made, with which values.

A file without any word of training costs a search through its text. `ast` and the interpreter are imported only for
the others.
"""

from __future__ import annotations

from epochlint.documents.python.model import (
    Call,
    Cell,
    Choice,
    Dataclass,
    DatasetNode,
    Derived,
    Feed,
    Flag,
    Load,
    Operation,
    Output,
    Parsed,
    Parser,
    PythonDocument,
    Reference,
    Symbol,
    Unknown,
)
from epochlint.documents.python.prefilter import may_set, may_spawn, may_train

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document, Mapping
    from epochlint.documents.python.interpreter import Find
    from epochlint.source import Source

__all__ = [
    "Call",
    "Cell",
    "Choice",
    "Dataclass",
    "DatasetNode",
    "Derived",
    "Feed",
    "Flag",
    "Load",
    "Operation",
    "Output",
    "Parsed",
    "Parser",
    "PythonDocument",
    "Reference",
    "Symbol",
    "Unknown",
    "may_set",
    "may_spawn",
    "may_train",
    "read",
]


def read(
    source: Source,
    *,
    load: Callable[[str], Document | None] | None = None,
    flags: Mapping | None = None,
    environment: dict[str, str] | None = None,
    find: Find | None = None,
    names: bool = False,
) -> PythonDocument:
    """Read a script; nothing in it is run.

    `load` gives the config file under a path as the script writes it, None where there is none. `flags` are what a
    launch passes (keys without dashes); without them a flag's default counts. `environment` holds the variables that
    a launch sets. `find` gives the modules of the project that the script imports; without it they are unknown.
    `names`: keep what the module's names hold, for a module that is itself a config. What cannot be read is a
    `Problem`; nothing is raised.
    """
    if flags is None and not may_train(source.text):
        return PythonDocument(source)
    from epochlint.documents.python.script import read_script

    return read_script(source, load=load, flags=flags, environment=environment, find=find, names=names)
