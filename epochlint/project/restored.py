"""Data of an earlier revision, written out so that they can be counted: a copy in a folder that goes with us."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from tempfile import TemporaryDirectory

    from epochlint.git import Blobs

_MOST_BYTES = 64 * 1024 * 1024  # in all: what is committed to git is small, and what is not need not be copied


class Restored:
    """Files of a revision on disk. Each file or folder is written once."""

    __slots__ = ("_blobs", "_folder", "_left", "_places")

    def __init__(self, blobs: Blobs) -> None:
        self._blobs = blobs
        self._folder: TemporaryDirectory[str] | None = None
        self._left = _MOST_BYTES
        self._places: dict[str, str | None] = {}

    def place(self, path: str, files: Sequence[tuple[str, str]]) -> str | None:
        """Where a file or folder lies. `files`: path and object name of what it holds. None where it cannot be had."""
        if path not in self._places:
            self._places[path] = self._write(path, files)
        return self._places[path]

    def _write(self, path: str, files: Sequence[tuple[str, str]]) -> str | None:
        import tempfile  # only where data have changed

        try:
            if self._folder is None:
                self._folder = tempfile.TemporaryDirectory(prefix="epochlint-", ignore_cleanup_errors=True)
            top = os.path.join(self._folder.name, str(len(self._places)), os.path.basename(path))
            for file, name in files:
                data = self._blobs.read(name, self._left)
                if data is None:
                    return None
                self._left -= len(data)
                inside = os.path.relpath(file, path)
                if inside.split(os.sep)[0] == os.pardir:
                    return None  # a tree that was made by hand, with names that lead out of it
                target = top if file == path else os.path.join(top, inside)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "xb") as made:
                    made.write(data)
        except (OSError, ValueError):
            return None
        return top
