"""The training launches that stand in documents, and what they name: a script, its configs, modules as configs."""

from __future__ import annotations

import os

from epochlint.documents.document import Node
from epochlint.project.evaluated import PYTHONS
from epochlint.project.joined import Launch
from epochlint.project.kubernetes import manifests
from epochlint.project.sweeps import started

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document
    from epochlint.documents.python import PythonDocument
    from epochlint.documents.shell import Command
    from epochlint.project.evaluated import Evaluated
    from epochlint.project.joined import Joined
    from epochlint.project.lookup import Lookup
    from epochlint.project.sweeps import Corner
    from epochlint.source import Excerpt, Source

VALUES = ("yaml", "json", "toml", "hcl", "sql")
"""The syntaxes of documents that hold values: configs."""
CONFIG_NAMES = (".yaml", ".yml", ".json", ".toml")


class Starts:
    """Finds launches; each document is searched once."""

    __slots__ = ("_evaluated", "_joined", "_launches", "_lookup")

    def __init__(self, lookup: Lookup, evaluated: Evaluated, joined: Joined) -> None:
        self._lookup = lookup
        self._evaluated = evaluated
        self._joined = joined
        self._launches: dict[str, list[Launch]] = {}

    def launches(self, path: str, document: Document) -> list[Launch]:
        """The training launches in a document: a shell script, a notebook's `!` lines, a manifest, a workflow."""
        found = self._launches.get(path)
        if found is None:
            found = self._launches[path] = list(self._find_launches(path, document))
        return found

    def _find_launches(self, path: str, document: Document) -> Iterator[Launch]:
        if document.syntax in PYTHONS and "sagemaker" in document.source.text and "entry_" in document.source.text:
            yield from self._jobs(path, document)
        document = self._with_sourced(path, document)
        commands = list(_commands(document))
        if commands or document.syntax == "shell":
            self._keep_written(path, document)
        if not commands:
            return
        from epochlint.project.launch import interpret

        for command, corner in commands:
            start = interpret(command, corner.entries if corner is not None else ())
            if start is not None:
                folder = os.path.dirname(path)  # where nothing says where it is started from
                yield Launch(start, document, os.path.join(folder, command.folder or ""), corner)

    def _keep_written(self, path: str, document: Document) -> None:
        """The configs that a script or a notebook writes before it starts something with them."""
        for name, content in getattr(document, "files", {}).items():
            from epochlint.documents.read import syntax_of_name

            syntax = syntax_of_name(name)
            if syntax in VALUES and not name.startswith("~"):
                held = _held(content, syntax)
                if held is not None:
                    self._lookup.write(os.path.normpath(os.path.join(os.path.dirname(path), name)), held)

    def _jobs(self, path: str, document: Document) -> Iterator[Launch]:
        """The scripts of the project that a program's estimators start elsewhere."""
        from epochlint.project import estimators
        from epochlint.project.launch import interpret

        python = self._evaluated.python(document)
        folder = os.path.dirname(path)
        for job in estimators.jobs(python) if python is not None else ():
            script = self._lookup.resolve(job.script, folder)
            start = interpret(job.command) if script is not None and self._lookup.is_file(script) else None
            if start is not None:
                yield Launch(start, document, folder, versions=job.versions)

    def _with_sourced(self, path: str, document: Document) -> Document:
        """A shell script read with the scripts of the project that it reads itself; any other document as it is."""
        if not getattr(document, "sourced", None):
            return document
        from epochlint.documents import shell

        def load(name: str, inside: str | None) -> Source | None:
            folder = os.path.join(os.path.dirname(path), inside or "")
            found = self._lookup.resolve(name, folder) if inside is not None else None
            source = self._lookup.source(found) if found is not None and self._lookup.is_file(found) else None
            if source is not None:
                self._joined.note(document.source.path, source.path)
            return source

        return shell.read(document.source, load=load)

    def spawned(self, path: str, python: PythonDocument) -> Iterator[Launch]:
        """The launches that a script makes itself (`subprocess.run([...])`), as it has been read."""
        from epochlint.documents.python import spawned
        from epochlint.project.launch import interpret

        folder = os.path.dirname(path)
        self._keep_written(path, python)
        for command in spawned.commands(python):
            start = interpret(command)
            if start is not None:
                yield Launch(start, python, os.path.join(folder, command.folder or ""))

    def configs_of(self, launch: Launch) -> list[tuple[str, Document]]:
        found = []
        for named in launch.start.configs("config"):
            path = self._lookup.resolve(named.raw, launch.folder)
            document = self._lookup.read(path) if path is not None and self._lookup.has_file(path) else None
            if path is not None and document is not None and document.syntax in VALUES:
                if not self._lookup.is_inside(path, self._lookup.root(launch.folder)):
                    path = os.path.join(launch.folder, os.path.basename(path))  # it writes `/content/x.yaml` itself
                found.append((path, document))
        for named in launch.start.configs("body"):
            from epochlint.documents import json_document
            from epochlint.documents.embedded import written_inside

            path = os.path.join(launch.folder, os.path.basename(launch.document.source.path))
            found.append((path, json_document.read(written_inside(named))))
        return found

    def script_of(self, launch: Launch) -> str | None:
        for named in launch.start.configs("script"):
            path = self._lookup.resolve(named.raw, launch.folder)
            if path is not None and self._lookup.is_file(path) and path.endswith(".py"):
                return path
        program = launch.start.program
        if program[:1] == ("module",):  # python -m package.train: the working directory is where it looks
            return self._evaluated.modules.path(program[1], os.path.join(launch.folder, ""), self._lookup.working)
        return None

    def modules_of(self, launch: Launch) -> list[str]:
        """The Python modules that a launch names as configs (`xtuner train config.py`)."""
        found = [self._lookup.resolve(named.raw, launch.folder) for named in launch.start.configs("module")]
        return [path for path in found if path is not None and self._lookup.is_file(path)]


def _held(content: Node | Excerpt, syntax: str) -> Document | None:
    """The document of a file that is written: with a text, or with a value that is dumped."""
    from epochlint.documents.document import Document, Mapping
    from epochlint.documents.embedded import written_inside
    from epochlint.documents.read import read
    from epochlint.documents.shell.document import filled

    if isinstance(content, Mapping):
        return Document(content.span.source, syntax, [content])
    if not isinstance(content, Node):
        return read(content, syntax)
    word = filled(content)
    return read(written_inside(word), syntax) if word is not None else None


def config_elsewhere(launch: Launch) -> bool:
    """Whether a launch names a config; asked where none of those that it names is here."""
    return any(named.raw.endswith(CONFIG_NAMES) for named in launch.start.configs("config"))


def _commands(document: Document) -> Iterator[tuple[Command, Corner | None]]:
    """Every command that a document starts; those of a sweep with their corners."""
    if document.syntax == "shell":
        for command in getattr(document, "launches", ()):
            yield command, None
    elif document.syntax == "notebook":
        excerpts = getattr(document, "commands", ())
        if excerpts:
            from epochlint.documents import shell

            for excerpt in excerpts:
                for command in shell.read(excerpt).launches:
                    yield command, None
        from epochlint.documents.python import PythonDocument, may_spawn, spawned

        if isinstance(document, PythonDocument) and may_spawn(document.source.text):
            for command in spawned.commands(document):
                yield command, None
    elif document.syntax in ("yaml", "json"):
        for command in manifests(document):
            yield command, None
        yield from started(document)
