"""The earlier revision of a run, read from git's objects, without touching the work tree.

`epochlint check --since REV` compares each run with what it was at the merge base of REV and HEAD: its config, its
launch and its accelerate file as they were then, under the name that it had then.
"""

from __future__ import annotations

import os

from epochlint.documents.read import read
from epochlint.files import decode
from epochlint.project.join import Joined, Joiner
from epochlint.project.lookup import Lookup
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.run.versions import Versions

_READ = (".yaml", ".yml", ".json", ".toml", ".py", ".ipynb", ".sh", ".bash", ".sbatch", ".slurm", ".pbs", ".job")
_SIZE = 8 * 1024 * 1024


class HistoryError(Exception):
    """Why an earlier revision cannot be read; the text says what to do."""


class NoCommitError(HistoryError):
    """A repository in which nothing has been committed yet."""


class Git:
    """A work tree. Asks git only to read; a repository's own settings run nothing."""

    __slots__ = ("top",)

    def __init__(self, folder: str) -> None:
        """Raises HistoryError where `folder` lies in no work tree."""
        self.top = folder
        found = self.ask("rev-parse", "--show-toplevel")
        if found is None:
            raise HistoryError("not inside a git work tree")
        self.top = found.decode("utf-8", "surrogateescape").rstrip("\n")

    def ask(self, *arguments: str) -> bytes | None:
        """What git prints; None where it fails or is not there."""
        import subprocess

        environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
        environment["LC_ALL"] = "C"
        environment["GIT_OPTIONAL_LOCKS"] = "0"
        command = ["git", "-c", "core.fsmonitor=false", "-c", "diff.external=", "-C", self.top, *arguments]
        try:
            done = subprocess.run(command, capture_output=True, check=False, env=environment, timeout=60)  # noqa: S603
        except (OSError, subprocess.SubprocessError):
            return None
        return done.stdout if done.returncode == 0 else None

    def commit(self, revision: str) -> str:
        """The commit to compare with: the merge base of the revision and HEAD. Raises HistoryError."""
        if revision.startswith("-"):
            raise HistoryError(f"{revision!r} is no revision")
        found = self.ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        if found is None:
            if self.ask("rev-parse", "--verify", "--quiet", "HEAD") is None:
                raise NoCommitError("the repository has no commit yet")
            shallow = self.ask("rev-parse", "--is-shallow-repository") == b"true\n"
            hint = "; the clone is shallow: fetch more of the history (fetch-depth: 0)" if shallow else ""
            raise HistoryError(f"there is no revision {revision!r}{hint}")
        commit = found.decode().strip()
        base = self.ask("merge-base", commit, "HEAD")
        return base.decode().split("\n")[0] if base else commit

    def changed(self, commit: str, staged: bool = False) -> dict[str, str]:
        """Path now -> path then, for every file that differs from the commit and was there then; absolute paths.
        `staged`: the index instead of the work tree."""
        arguments = ["diff", "--name-status", "-z", "-M", "--no-ext-diff", "--no-textconv", "--ignore-submodules"]
        if staged:
            arguments.append("--cached")
        found = self.ask(*arguments, commit, "--")
        if found is None:
            raise HistoryError("git cannot compare the work tree with that revision")
        words = found.decode("utf-8", "surrogateescape").split("\0")
        pairs: dict[str, str] = {}
        place = 0
        while place + 1 < len(words):
            status = words[place]
            if status[:1] in ("R", "C"):
                pairs[self.path(words[place + 2])] = self.path(words[place + 1])
                place += 3
                continue
            if status[:1] == "M":
                pairs[self.path(words[place + 1])] = self.path(words[place + 1])
            elif status[:1] == "A":
                pairs[self.path(words[place + 1])] = ""
            place += 2
        return pairs

    def path(self, inside: str) -> str:
        return os.path.join(self.top, *inside.split("/"))


class Snapshot(Lookup):
    """The project's files as they were at a commit; data files are those of the work tree."""

    __slots__ = ("_blobs", "_folders_then", "_top", "git")

    def __init__(self, git: Git, commit: str, given_root: str | None) -> None:
        super().__init__(given_root)
        self.git = git
        self._top = git.top
        self._blobs: dict[str, str] = {}
        self._folders_then: set[str] = set()
        listed = git.ask("ls-tree", "-r", "-z", commit) or b""
        for line in listed.split(b"\0"):
            head, tab, name = line.partition(b"\t")
            words = head.split()
            if not tab or len(words) < 3 or words[1] != b"blob" or words[0] == b"120000":
                continue
            path = git.path(name.decode("utf-8", "surrogateescape"))
            self._blobs[path] = words[2].decode()
            folder = os.path.dirname(path)
            while folder not in self._folders_then and len(folder) >= len(self._top):
                self._folders_then.add(folder)
                folder = os.path.dirname(folder)

    def is_inside(self, path: str, root: str) -> bool:
        return (os.path.normpath(path) + os.sep).startswith(self._top.rstrip(os.sep) + os.sep)

    def is_there(self, path: str) -> bool:
        return path in self._blobs or path in self._folders_then

    def is_file(self, path: str) -> bool:
        return path in self._blobs

    def files(self, folder: str) -> list[str]:
        if folder not in self._folders_then:
            return []
        return sorted(path for path in self._blobs if os.path.dirname(path) == folder)

    def source(self, path: str) -> Source | None:
        found = decode(self.start_of(path, _SIZE), self.shown(path)) if path in self._blobs else None
        return found if isinstance(found, Source) else None

    def start_of(self, path: str, most: int) -> bytes:
        blob = self._blobs.get(path)
        if blob is None:
            return b""
        data = self.git.ask("cat-file", "blob", blob) or b""
        return data if len(data) <= most else b""

    def differs(self, path: str) -> bool:
        """Whether a file of the work tree has other bytes than it had at the commit."""
        blob = self._blobs.get(path)
        if blob is None:
            return False
        from hashlib import sha1, sha256

        try:
            with open(path, "rb") as file:
                data = file.read(_SIZE)
        except OSError:
            return False
        made = sha256 if len(blob) == 64 else sha1
        return made(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest() != blob

    def below(self, folders: Iterable[str]) -> list[str]:
        """The readable files at or below some paths, sorted."""
        tops = [os.path.normpath(folder) for folder in folders]
        return sorted(
            path
            for path in self._blobs
            if path.endswith(_READ) and any(path == top or path.startswith(top.rstrip(os.sep) + os.sep) for top in tops)
        )

    def document_then(self, path: str) -> Document | None:
        source = self.source(path)
        document = read(source) if source is not None else None
        if document is not None:
            self.keep(path, document)
        return document


class Earlier:
    """The runs of an earlier revision that belong to files changed since."""

    __slots__ = ("changed", "commit", "joined", "snapshot")

    def __init__(
        self, git: Git, revision: str, lookup: Lookup, runs: Iterable[Run], assumed: Versions, staged: bool = False
    ) -> None:
        """`runs` are those of today. Raises HistoryError."""
        self.commit = git.commit(revision)
        self.changed = git.changed(self.commit, staged)
        self.joined = Joined()
        self.snapshot = Snapshot(git, self.commit, lookup.given_root)
        if not staged:
            self._compare_contents({path for run in runs for path in _files_of(run, lookup.working)})
        touched = [run for run in runs if self.touches(run, lookup.working)]
        then = [path for path in self.changed.values() if path.endswith(_READ)]
        now = [os.path.normpath(os.path.join(lookup.working, run.path)) for run in touched]
        then += [self.changed.get(path, path) for path in now]
        documents = [
            (path, document)
            for path in dict.fromkeys(then)
            if path and (document := self.snapshot.document_then(path)) is not None
        ]
        self.joined = Joiner(self.snapshot, assumed).join(documents)

    def _compare_contents(self, paths: Iterable[str]) -> None:
        """Adds files whose bytes differ though git, which goes by size and time, takes them for the same."""
        for path in paths:
            if path not in self.changed and self.snapshot.differs(path):
                self.changed[path] = path

    def touches(self, run: Run, working: str) -> bool:
        """Whether a changed file has a part in a run: it is the run's own, or a setting stands there."""
        return any(path in self.changed for path in _files_of(run, working))

    def of(self, run: Run, working: str, siblings: Iterable[Run]) -> Run | None:
        """The earlier form of a run: the same trainer, path (or the path it was renamed from) and place among the
        runs of its file; None where the run is new or nothing of it changed."""
        now = os.path.normpath(os.path.join(working, run.path))
        then = self.snapshot.shown(self.changed.get(now, now) or now)
        earlier = [one for one in self.joined.runs if one.path == then and one.trainer == run.trainer]
        if not earlier:
            return None
        mine = [one for one in siblings if one.path == run.path and one.trainer == run.trainer]
        if len(mine) == len(earlier):
            return earlier[mine.index(run)]
        same = [one for one in earlier if one.label == run.label and one.command == run.command]
        return same[0] if len(same) == 1 else None


def _files_of(run: Run, working: str) -> set[str]:
    """The files that a run was read from: its own, and those in which its settings stand."""
    paths = {run.path}
    for known in run.settings.values():
        span = known.span or known.key_span
        if span is not None:
            paths.add(span.source.path)
    return {os.path.normpath(os.path.join(working, path)) for path in paths}


def work_tree(folder: str) -> Git | None:
    """The work tree around a folder, told without starting git where there is none."""
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        upper = os.path.dirname(current)
        if upper == current:
            return None
        current = upper
    try:
        return Git(folder)
    except HistoryError:
        return None
