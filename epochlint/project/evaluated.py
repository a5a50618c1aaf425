"""Python documents evaluated as a launch starts them: with its flags, the configs at hand, the project's modules."""

from __future__ import annotations

import os

from epochlint.documents.document import Scalar
from epochlint.trainers import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast

    from epochlint.documents.document import Document
    from epochlint.documents.python import PythonDocument
    from epochlint.documents.python.model import Call
    from epochlint.documents.python.syntax import Locator
    from epochlint.project.joined import Joined, Launch
    from epochlint.project.lookup import Lookup
    from epochlint.project.modules import Modules
    from epochlint.source import Source

PYTHONS = ("python", "notebook")
"""The syntaxes of documents that can be evaluated."""


class Evaluated:
    """Evaluates the Python documents of one check; `joined` is told which files were read for which."""

    __slots__ = ("_joined", "_lookup", "_modules")

    def __init__(self, lookup: Lookup, joined: Joined) -> None:
        self._lookup = lookup
        self._joined = joined
        self._modules: Modules | None = None

    @property
    def modules(self) -> Modules:
        """The project's own modules; made only for a script."""
        if self._modules is None:
            from epochlint.project.modules import Modules

            self._modules = Modules(self._lookup)
        return self._modules

    def python(self, document: Document | None, launch: Launch | None = None) -> PythonDocument | None:
        """A Python document evaluated with config files at hand, and with a launch's flags."""
        if document is None or document.syntax not in PYTHONS:
            return None
        folder = os.path.dirname(os.path.join(self._lookup.working, document.source.path))
        bases = [folder] if launch is None else [folder, launch.folder]

        def load(named: str) -> Document | None:
            for base in bases:
                found = self._lookup.document(named, base)
                if found is not None:
                    self._joined.note(document.source.path, found.source.path)
                    return found
            return None

        def imported(name: str, level: int, importing: Source) -> tuple[Locator, ast.Module] | None:
            found = look_up(name, level, importing)
            if found is not None:
                self._joined.note(document.source.path, found[0].source.path)
            return found

        flags = launch.start.arguments if launch is not None else None
        environment = _environment(launch) if launch is not None else None
        look_up = self.modules.finder(os.path.join(folder, os.path.basename(document.source.path)), *bases[1:])
        if document.syntax == "notebook":
            from epochlint.documents import notebook

            return notebook.read(document.source, load=load, flags=flags, environment=environment, find=imported)
        from epochlint.documents import python

        names = bool(registry.of_module(document.source.text))
        return python.read(document.source, load=load, flags=flags, environment=environment, find=imported, names=names)

    def home_of(self, call: Call, python: PythonDocument) -> Document:
        """The document in which a call stands: the script's, or that of a module that it imports."""
        path = call.span.source.path
        home = self._lookup.read(os.path.join(self._lookup.working, path)) if path != python.source.path else None
        return home if home is not None else python


def _environment(launch: Launch) -> dict[str, str]:
    found = {}
    for entry in launch.start.command.environment.entries:
        if isinstance(entry.value, Scalar):
            found[entry.key] = entry.value.raw
    return found
