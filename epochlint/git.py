"""Asking git. It only reads: nothing that a repository's own settings name is executed, and nothing is fetched.

No command is used that looks into the work tree's files, for that would start the filter drivers, the text converters
and the file system monitor that a repository can configure. A clone that left blobs out (`--filter`) would fetch them
on the way; GIT_NO_LAZY_FETCH forbids it since git 2.45, and no protocol being allowed does so before.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from subprocess import Popen

_SECONDS = 60
_CHUNK = 1 << 20


class GitError(Exception):
    """Why git gave no answer: its own first line, or that it is not there."""


def _environment(index: str | None) -> dict[str, str]:
    """Of a hook that may run us, nothing may change which repository is asked, but for the index where it is meant."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0"}
    environment |= {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": ""}
    if index is not None:
        environment["GIT_INDEX_FILE"] = index
    return environment


def _command(arguments: tuple[str, ...]) -> list[str]:
    return ["git", "-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false", *arguments]


def ask(folder: str, *arguments: str, index: str | None = None) -> bytes:
    """What git prints. `index`: the index file to look at instead of the repository's own. Raises GitError."""
    import subprocess  # only where git is asked

    try:
        done = subprocess.run(  # noqa: S603
            _command(arguments),
            cwd=folder,
            env=_environment(index),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        missing = "there is no such folder" if not os.path.isdir(folder) else "git is not installed, or not on PATH"
        raise GitError(missing) from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git took more than {_SECONDS} seconds") from None
    except (OSError, ValueError, subprocess.SubprocessError) as problem:
        raise GitError(f"git cannot be started ({problem})") from None
    if done.returncode != 0:
        said = done.stderr.decode("utf-8", "replace").strip().partition("\n")[0]
        raise GitError(said.removeprefix("fatal: ") or f"git ended with status {done.returncode}")
    return done.stdout


class Blobs:
    """The contents of git's objects, read through one process however many they are."""

    __slots__ = ("_folder", "_process")

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._process: Popen[bytes] | None = None

    def read(self, name: str, most: int) -> bytes | None:
        """A blob of at most `most` bytes by its object name; None for a larger one, and where it is not there."""
        process = self._process if self._process is not None else self._start()
        if process is None or process.stdin is None or process.stdout is None:
            return None
        try:
            process.stdin.write(name.encode() + b"\n")
            process.stdin.flush()
            words = process.stdout.readline().split()  # name, type, size; or name, "missing"
            if len(words) != 3 or not words[2].isdigit():
                if not words:
                    self._end()  # it died of what was asked: a promised object that nobody may fetch
                return None
            size = int(words[2])
            if size > most:
                left = size + 1
                while left > 0 and (chunk := process.stdout.read(min(left, _CHUNK))):
                    left -= len(chunk)
                return None
            data = process.stdout.read(size + 1)
        except (OSError, ValueError):
            self._end()
            return None
        return data[:-1] if len(data) == size + 1 and words[1] == b"blob" else None

    def _start(self) -> Popen[bytes] | None:
        import subprocess

        try:
            self._process = subprocess.Popen(  # noqa: S603
                _command(("cat-file", "--batch")),
                cwd=self._folder,
                env=_environment(None),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
        except (OSError, ValueError, subprocess.SubprocessError):
            return None
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            for pipe in (process.stdin, process.stdout):
                try:
                    if pipe is not None:
                        pipe.close()
                except OSError:
                    pass
            process.kill()
            process.wait()

    def __del__(self) -> None:
        self._end()
