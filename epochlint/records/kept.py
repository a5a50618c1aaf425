"""What was found in long data files, kept on disk in the user's own cache folder, so that a second look costs nothing.

One small JSON file for each data file, valid for its path, size, time of change, inode and the code that counts. Any
bytes in the folder are good: what cannot be understood is not there.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    State = tuple[int, int, int, int]

FROM_BYTES = 1 << 20
"""Files below are read again as quickly as their entry."""
_MOST_ENTRIES = 200
_BIGGEST_ENTRY = 1 << 20
_SETTLED_NS = 2_000_000_000
"""A file that changed less than this ago could change again without another time of change."""

VARIABLE = "EPOCHLINT_CACHE"
"""Names another folder, or is `off`."""
_OFF = frozenset(("", "0", "off", "no", "none", "false"))


def folder(environment: Mapping[str, str] = os.environ) -> str | None:
    """Where to keep counts: $EPOCHLINT_CACHE, else the platform's folder for caches; None where that is switched off
    or cannot be told."""
    named = environment.get(VARIABLE)
    if named is not None:
        return None if named.strip().lower() in _OFF else os.path.abspath(os.path.expanduser(named))
    if sys.platform == "win32":
        base = environment.get("LOCALAPPDATA", "")
    elif sys.platform == "darwin":
        base = os.path.expanduser("~/Library/Caches")
    else:
        base = environment.get("XDG_CACHE_HOME", "")  # a relative one is to be ignored (XDG base directories)
        base = base if os.path.isabs(base) else os.path.expanduser("~/.cache")
    return os.path.join(base, "epochlint") if os.path.isabs(base) else None


def state_of(path: str) -> State | None:
    """What tells a file from another and from its earlier self; None where it is not there."""
    try:
        state = os.stat(path)
    except (OSError, ValueError):
        return None
    return state.st_size, state.st_mtime_ns, state.st_ino, state.st_dev


class Kept:
    """The entries of one folder. Raises nothing: a folder that cannot be used holds nothing and takes nothing."""

    __slots__ = ("_version", "folder")

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self._version: str | None = None

    def load(self, path: str, state: State) -> dict[str, Any]:
        """What is kept of a file in this state, as `save` was given it."""
        try:
            with open(self._entry(path), "rb") as file:
                data = file.read(_BIGGEST_ENTRY + 1)
            entry = json.loads(data) if len(data) <= _BIGGEST_ENTRY else None
        except (OSError, ValueError, RecursionError):
            return {}
        if type(entry) is not dict or entry.get("key") != self._key(path, state):
            return {}
        found = entry.get("found")
        return found if type(found) is dict else {}

    def save(self, path: str, state: State, found: dict[str, Any]) -> None:
        """Keeps what was found, if the file has rested for a while."""
        import time

        if time.time_ns() - state[1] < _SETTLED_NS:
            return
        text = json.dumps({"key": self._key(path, state), "found": found}, separators=(",", ":"))
        if len(text) > _BIGGEST_ENTRY:
            return
        try:
            if self._is_ours():
                self._write(self._entry(path), text.encode())
                self._prune()
        except (OSError, ValueError):
            pass

    def _key(self, path: str, state: State) -> list[object]:
        if self._version is None:
            self._version = _version()
        return [self._version, os.fsdecode(os.fsencode(path)).encode("utf-8", "replace").decode(), *state]

    def _entry(self, path: str) -> str:
        """Two paths may share an entry, which then belongs to the later one: the path stands in it."""
        from binascii import crc32

        name = path.encode("utf-8", "surrogatepass")
        return os.path.join(self.folder, f"{crc32(name):08x}{crc32(name[::-1]):08x}.json")

    def _is_ours(self) -> bool:
        """Whether the folder, made where it is missing, belongs to the user and nobody else may write there."""
        os.makedirs(self.folder, mode=0o700, exist_ok=True)
        if os.name != "posix":
            return True
        state = os.stat(self.folder)
        return state.st_uid == os.getuid() and not state.st_mode & 0o022

    def _write(self, path: str, data: bytes) -> None:
        """All of it or nothing: other processes see the old entry or the new one."""
        draft = f"{path}.{os.getpid()}-{os.urandom(4).hex()}"
        number = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        try:
            with os.fdopen(number, "wb") as file:
                file.write(data)
            os.replace(draft, path)
        except BaseException:
            os.unlink(draft)
            raise

    def _prune(self) -> None:
        """Takes the oldest entries out where there are too many."""
        with os.scandir(self.folder) as entries:
            found = [(entry.stat().st_mtime_ns, entry.path) for entry in entries if ".json" in entry.name]
        for _, path in sorted(found)[: max(0, len(found) - _MOST_ENTRIES)]:
            try:
                os.unlink(path)
            except OSError:  # another process was quicker
                pass


def _version() -> str:
    """Changes with the code that counts, also in a checkout that is worked on."""
    from epochlint import __version__

    newest = size = 0
    with os.scandir(os.path.dirname(os.path.abspath(__file__))) as entries:
        for entry in entries:
            if entry.name.endswith(".py"):
                state = entry.stat()
                newest, size = max(newest, state.st_mtime_ns), size + state.st_size
    return f"{__version__} {newest} {size}"
