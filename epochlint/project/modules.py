"""Where a module lies that a script imports: in the project, found as Python would find it, and only read.

The script's own folder comes first, as it does in `sys.path`. Behind it a name counts where just one file can be meant:
from the folder of the launch, from a folder above the script, or from `src` in one of them (`PYTHONPATH=src`).
"""

from __future__ import annotations

import os

from epochlint.documents.document import Problem
from epochlint.documents.python import may_set
from epochlint.project.lookup import above
from epochlint.trainers import registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from epochlint.documents.python.syntax import Locator
    from epochlint.project.lookup import Lookup
    from epochlint.source import Source

_LARGEST = 200 * 1024
# Libraries that people keep a copy of: what comes from them is told by its name, the copy is not read.
_LIBRARIES = frozenset(
    ("torch", "datasets", "peft", "accelerate", "deepspeed", "bitsandbytes", "llamafactory", "llmtuner", "swift",
     "axolotl", "torchtune", "openrlhf", "verl", "litgpt", "mlx_lm", "oumi", "xtuner", "fastchat", "evaluate")
)  # fmt: skip


class Modules:
    """The modules of a project by path, each parsed once."""

    __slots__ = ("_files", "_libraries", "_lookup", "_paths", "_trees")

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._trees: dict[str, tuple[Locator, ast.Module] | None] = {}
        self._files: dict[tuple[str, str], str | None] = {}
        self._paths: dict[tuple[str, ...], str | None] = {}
        self._libraries = _LIBRARIES.union(*(entry.packages for entry in registry.TRAINERS))

    def finder(self, script: str, *folders: str) -> Callable[[str, int, Source], tuple[Locator, ast.Module] | None]:
        """What looks modules up for a script that is started from one of some folders."""

        def find(name: str, level: int, importing: Source) -> tuple[Locator, ast.Module] | None:
            if level:
                base = os.path.dirname(os.path.join(self._lookup.working, importing.path))
                for _ in range(level - 1):
                    base = os.path.dirname(base)
                path = self.in_folder(name, base)
            else:
                path = self.path(name, script, *folders)
            return self._read(path) if path is not None else None

        return find

    def path(self, name: str, script: str, *folders: str) -> str | None:
        """The file of a module that a script (or, by a path that ends in a separator, a folder) imports by its name."""
        if name.partition(".")[0] in self._libraries:
            return None
        own = os.path.dirname(script)
        key = (name, own, *folders)
        if key not in self._paths:
            self._paths[key] = self.in_folder(name, own) or self._elsewhere(name, own, folders)
        return self._paths[key]

    def _elsewhere(self, name: str, own: str, folders: tuple[str, ...]) -> str | None:
        places = dict.fromkeys([*folders, *above(own, self._lookup.root(own))])
        paths = {self.in_folder(name, os.path.join(place, part)) for place in places for part in ("", "src")} - {None}
        return paths.pop() if len(paths) == 1 else None

    def in_folder(self, name: str, folder: str) -> str | None:
        """The file of a module below a folder."""
        key = (name, folder)
        if key not in self._files:
            self._files[key] = self._in_folder(name, folder)
        return self._files[key]

    def _in_folder(self, name: str, folder: str) -> str | None:
        stem = os.path.join(folder, *name.split(".")) if name else folder
        for path in (f"{stem}.py", os.path.join(stem, "__init__.py")):
            if self._lookup.is_file(path) and self._lookup.is_inside(path, self._lookup.root(folder)):
                return os.path.normpath(path)
        return None

    def _read(self, path: str) -> tuple[Locator, ast.Module] | None:
        """A module's text and tree; None where it says nothing about settings, or cannot be read."""
        if path not in self._trees:
            self._trees[path] = None
            source = self._lookup.source(path)
            worth = source is not None and len(source.text) <= _LARGEST
            if source is not None and worth and (may_set(source.text) or path.endswith("__init__.py")):
                from epochlint.documents.python.syntax import Locator, parse

                tree = parse(source)
                self._trees[path] = None if isinstance(tree, Problem) else (Locator(source), tree)
        return self._trees[path]
