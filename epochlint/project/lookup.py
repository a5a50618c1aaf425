"""The project's files: where it begins, and what stands beside a config.

Paths written in a file are tried from its own folder, the project's root, the working directory and the folders in
between (`training/scripts/run.sh` is started in `training`), and never outside the root: a hook that is given one file
and a run over the whole repository must say the same about it.
"""

from __future__ import annotations

import os

from epochlint.documents.read import read
from epochlint.files import open_source, real_path
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document
    from epochlint.files import Refusal

_MARKS = (".git", "epochlint.toml")
_COMPANION_SIZE = 200 * 1024
_COMPANION_COUNT = 200
_SHORT = 16 * 1024
_LAUNCHES = (
    ".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".job",
    "Makefile", "makefile", "justfile", "Dockerfile", "compose.yml", "compose.yaml",
)  # fmt: skip


class Lookup:
    """Documents by path, each read once."""

    __slots__ = (
        "_documents", "_folders", "_near", "_real", "_real_folders", "_roots", "_scripts", "_shown", "_written",
        "given_root", "working",
    )  # fmt: skip

    def __init__(self, given_root: str | None = None) -> None:
        self.working = os.getcwd()
        self.given_root = given_root
        self._documents: dict[str, Document | None] = {}  # by real path
        self._real: dict[str, str] = {}
        self._real_folders: dict[str, str] = {}
        self._roots: dict[str, str] = {}
        self._shown: dict[str, str] = {}  # path as shown -> absolute path, of the documents that were read
        self._folders: dict[str, list[str]] = {}
        self._scripts: dict[str, bytes] = {}
        self._near: dict[tuple[str, tuple[str, ...]], list[str]] = {}
        self._written: set[str] = set()  # files that a script writes when it runs

    def shown(self, path: str) -> str:
        """A path as the reports show it: relative to the working directory, forward slashes."""
        relative = os.path.relpath(path, self.working)
        if relative.startswith(".."):
            relative = path
        return relative.replace(os.sep, "/")

    def absolute(self, shown: str) -> str:
        """The path that is shown as another. A name that is not UTF-8 is shown with marks in its place."""
        return self._shown.get(shown) or os.path.normpath(os.path.join(self.working, shown))

    def root(self, folder: str) -> str:
        """The nearest folder above with `.git` or epochlint settings, else the folder that was given."""
        found = self._roots.get(folder)
        if found is None:
            found = self._roots[folder] = self._find_root(folder)
        return found

    def _find_root(self, folder: str) -> str:
        current = folder
        while True:
            if any(os.path.exists(os.path.join(current, mark)) for mark in _MARKS) or self._has_settings(current):
                return current
            upper = os.path.dirname(current)
            if upper == current:
                break
            current = upper
        given = self.given_root
        if given is not None and (folder + os.sep).startswith(given.rstrip(os.sep) + os.sep):
            return given
        return folder

    def _has_settings(self, folder: str) -> bool:
        path = os.path.join(folder, "pyproject.toml")
        return os.path.isfile(path) and b"[tool.epochlint" in self.start_of(path, _COMPANION_SIZE)

    def resolve(self, path: str, base: str) -> str | None:
        """The absolute path of an existing file or folder that is meant by `path`; None where there is none inside."""
        if not path or "\0" in path or "://" in path:
            return None
        expanded = os.path.expanduser(path) if path.startswith("~") else path
        root = self.root(base)
        for start in dict.fromkeys((base, root, self.working, *above(base, root))):
            candidate = os.path.normpath(os.path.join(start, expanded))
            if candidate in self._written or (self.is_there(candidate) and self.is_inside(candidate, root)):
                return candidate
        return None

    def is_inside(self, path: str, root: str) -> bool:
        """Whether a path, its links followed, lies below a root."""
        try:
            real, top = self.real(path), self.real(root)
        except (OSError, ValueError):
            return False
        return (real + os.sep).startswith(top.rstrip(os.sep) + os.sep)

    def real(self, path: str) -> str:
        """A path with its links followed; each is looked at once."""
        found = self._real.get(path)
        if found is None:
            found = self._real[path] = real_path(path, self._real_folders)
        return found

    def is_there(self, path: str) -> bool:
        return os.path.exists(path)

    def is_file(self, path: str) -> bool:
        return os.path.isfile(path)

    def has_file(self, path: str) -> bool:
        """Whether a file is there, or written by a script when it runs."""
        return path in self._written or self.is_file(path)

    def write(self, path: str, document: Document) -> None:
        """A file that a script writes when it runs. What lies on disk already stays."""
        if not self.is_there(path):
            self._written.add(path)
            self._documents[self.real(path)] = document

    def exists(self, path: str, base: str) -> bool | None:
        """Whether the file is there; None where it lies outside the project and is not looked at."""
        if self.resolve(path, base) is not None:
            return True
        return None if os.path.isabs(path) or path.startswith(("~", "..")) or "://" in path else False

    def document(self, path: str, base: str) -> Document | None:
        """The document that a path in a file means; None where it is not there or cannot be read."""
        found = self.resolve(path, base)
        return self.read(found) if found is not None and self.has_file(found) else None

    def read(self, path: str) -> Document | None:
        """The document at an absolute path."""
        key = self.real(path)
        if key not in self._documents:
            self._documents[key] = None  # a file that includes itself finds nothing
            source = self.source(path)
            self._documents[key] = read(source) if source is not None else None
        return self._documents[key]

    def source(self, path: str) -> Source | None:
        """The text of a file; None where it cannot be read."""
        source = self.opened(path, self.shown(path))
        return source if isinstance(source, Source) else None

    def opened(self, path: str, shown: str) -> Source | Refusal:
        """The text of a file, or why there is none."""
        return open_source(path, shown)

    def is_current(self, path: str) -> bool:
        """Whether a file on disk is what is meant here by its path."""
        return True

    def on_disk(self, path: str) -> str | None:
        """Where the file or folder that is meant here by a path can be read from disk; None where it cannot be had."""
        return path

    def start_of(self, path: str, most: int) -> bytes:
        """The bytes of a file of at most `most` bytes; nothing of a larger one."""
        try:
            if os.path.getsize(path) > most:
                return b""
            with open(path, "rb") as file:
                return file.read(most)
        except OSError:
            return b""

    def keep(self, path: str, document: Document) -> None:
        """A document that was read already."""
        self._documents[self.real(path)] = document
        self._shown[document.source.path] = path

    def holding(self, word: str) -> Iterator[str]:
        """The files among those kept whose text holds a word."""
        for path in self._shown.values():
            document = self.read(path)
            if document is not None and word in document.source.text:
                yield path

    def naming(self, path: str, suffixes: tuple[str, ...] = _LAUNCHES) -> Iterator[str]:
        """The launch scripts (or files with other suffixes) that hold a file's name (or a module's), near it: in its
        folder, in its parents up to the root, and in `scripts` folders there. A byte search over at most 200 files of
        200 KB."""
        path = os.path.abspath(path)
        folder, shown = os.path.split(path)
        names = [os.fsencode(shown)]
        if shown.endswith(".py"):
            names += [os.fsencode(f"{before}{shown[:-3]}") for before in (f"{os.path.basename(folder)}.", "-m ")]
        for candidate in self._candidates(folder, suffixes):
            text = self._script(candidate) if candidate != path else b""
            for name in names:
                if name in text:
                    yield candidate
                    break

    def _script(self, path: str) -> bytes:
        """The bytes of a launch script. Short ones are kept: the same scripts are searched for every config's name."""
        found = self._scripts.get(path)
        if found is None:
            found = self.start_of(path, _COMPANION_SIZE)
            if len(found) <= _SHORT:
                self._scripts[path] = found
        return found

    def _candidates(self, folder: str, suffixes: tuple[str, ...]) -> list[str]:
        """The files that may name those of a folder; kept, since a folder of a thousand configs is asked for each."""
        found = self._near.get((folder, suffixes))
        if found is None:
            places = [inner for place in above(folder, self.root(folder)) for inner in (place, f"{place}/scripts")]
            found = [path for place in places for path in self.files(place) if path.endswith(suffixes)]
            found = self._near[folder, suffixes] = found[:_COMPANION_COUNT]
        return found

    def held(self, folder: str) -> list[str] | None:
        """The sorted names of the files below a folder; None where those count that lie there."""
        return None

    def files(self, folder: str) -> list[str]:
        """The files of a folder, sorted."""
        found = self._folders.get(folder)
        if found is None:
            try:
                with os.scandir(folder) as entries:
                    found = sorted(entry.path for entry in entries if entry.is_file())
            except OSError:
                found = []
            self._folders[folder] = found
        return found


def above(folder: str, root: str) -> Iterator[str]:
    """A folder and those above it, up to the root."""
    current = folder
    while True:
        yield current
        upper = os.path.dirname(current)
        if current == root or upper == current:
            return
        current = upper
