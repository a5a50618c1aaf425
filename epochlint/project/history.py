"""The earlier revision of a run, read from git's objects, without touching the work tree.

`epochlint check --since REV` compares each run with what it was at the merge base of REV and HEAD: its config, its
launch and its accelerate file as they were then, under the names that they had then.
"""

from __future__ import annotations

import os

from epochlint.documents.read import read
from epochlint.files import LARGEST, Refusal, decode, read_bytes
from epochlint.project.join import Joiner
from epochlint.project.lookup import Lookup
from epochlint.project.repository import HistoryError, folder_of, repository
from epochlint.project.restored import Restored
from epochlint.project.same_gpus import PROCESSES, moved
from epochlint.project.survey import data_files, data_tops
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

    from epochlint.documents.document import Document
    from epochlint.project.inline import Said
    from epochlint.project.joined import Joined
    from epochlint.project.repository import Repository
    from epochlint.run.run import Run
    from epochlint.run.versions import Versions

_HASHED = 256 * 1024 * 1024  # a larger file is not compared, and taken for another
_POINTER = b"version https://git-lfs.github.com/spec/"


class Stored(Lookup):
    """The project's files as git holds them: those of a commit, or of the index.

    `tracked`: the paths that git holds now. Of other files (data that is ignored, a note of one's own) git knows
    nothing; they are taken to have been what they are.
    """

    __slots__ = ("_below", "_current", "_files", "_restored", "_tracked", "repository")

    def __init__(
        self, repository: Repository, files: dict[str, str], tracked: Collection[str], given_root: str | None
    ) -> None:
        """`files`: absolute path -> object name."""
        super().__init__(given_root)
        self.repository = repository
        self._files = files
        self._tracked = tracked
        self._current: dict[str, bool] = {}
        self._restored = Restored(repository.blobs)
        self._below: dict[str, list[str]] = {}
        for path in files:
            folder = os.path.dirname(path)
            if folder not in self._below:
                self._add_folder(folder)
            self._below[folder].append(path)

    def _add_folder(self, folder: str) -> None:
        while folder not in self._below and len(folder) >= len(self.repository.top):
            self._below[folder] = []
            folder = os.path.dirname(folder)

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def is_inside(self, path: str, root: str) -> bool:
        if path in self._files or path in self._below:
            return (path + os.sep).startswith(self.repository.top.rstrip(os.sep) + os.sep)
        return super().is_inside(path, root)

    def is_there(self, path: str) -> bool:
        return path in self._files or path in self._below or (self._is_unknown(path) and super().is_there(path))

    def is_file(self, path: str) -> bool:
        return path in self._files or (self._is_unknown(path) and super().is_file(path))

    def _is_unknown(self, path: str) -> bool:
        """Whether git holds no such file, then or now."""
        return path not in self._files and path not in self._tracked

    def files(self, folder: str) -> list[str]:
        return sorted([*self._below.get(folder, ()), *filter(self._is_unknown, super().files(folder))])

    def source(self, path: str) -> Source | None:
        found = self.opened(path, self.shown(path)) if path in self._files else None
        if path not in self._files and self._is_unknown(path):
            return super().source(path)
        return found if isinstance(found, Source) else None

    def opened(self, path: str, shown: str) -> Source | Refusal:
        name = self._files.get(path)
        data = self.repository.blobs.read(name, LARGEST) if name is not None else None
        return decode(data, shown) if data is not None else Refusal(shown, "missing", "git does not hold it")

    def start_of(self, path: str, most: int) -> bytes:
        name = self._files.get(path)
        if name is not None:
            return self.repository.blobs.read(name, most) or b""
        return super().start_of(path, most) if self._is_unknown(path) else b""

    def is_current(self, path: str) -> bool:
        found = self._current.get(path)
        if found is None:
            name = self._files.get(path)
            found = self._current[path] = self._same(path, name) if name is not None else self._is_unknown(path)
        return found

    def on_disk(self, path: str) -> str | None:
        name = self._files.get(path)
        if name is not None:
            return path if self.is_current(path) else self._restored.place(path, [(path, name)])
        if path not in self._below and self._is_unknown(path):
            return path
        # A folder is what it was where its data are, and where none has come to them or gone from them. Of what git
        # does not hold in it nothing is known then.
        then = [file for file in self.below([path]) if _matters(file)]
        if all(map(self.is_current, then)) and not any(self._is_new(file, path) for file in self._tracked):
            return path
        from epochlint.records import expand

        mixed = any(map(self._is_unknown, expand(path)))
        return None if mixed else self._restored.place(path, [(file, self._files[file]) for file in then])

    def _is_new(self, path: str, folder: str) -> bool:
        """Whether a file of data lies in a folder that was not there then."""
        return path.startswith(folder + os.sep) and path not in self._files and _matters(path) and os.path.exists(path)

    def _same(self, path: str, name: str) -> bool:
        """Whether a file on disk holds what an object does: its bytes, the same lines with other ends, or what a
        pointer of Git LFS stands for."""
        from hashlib import sha1, sha256

        data = read_bytes(path, path, _HASHED)
        if isinstance(data, Refusal):
            return False
        made = sha256 if len(name) == 64 else sha1
        for form in (data, data.replace(b"\r\n", b"\n")):
            if made(b"blob %d\0" % len(form) + form, usedforsecurity=False).hexdigest() == name:
                return True
        stored = self.repository.blobs.read(name, 1024) or b""
        return stored.startswith(_POINTER) and b"oid sha256:" + sha256(data).hexdigest().encode() in stored

    def held(self, folder: str) -> list[str]:
        top = os.path.abspath(folder)
        return [os.path.relpath(path, top).replace(os.sep, "/") for path in self.below([top])]

    def below(self, folders: Iterable[str]) -> Iterator[str]:
        """The files at or below some paths, sorted."""
        tops = [os.path.normpath(folder).rstrip(os.sep) for folder in folders]
        for path in sorted(self._files):
            if any(path == top or path.startswith(top + os.sep) for top in tops):
                yield path

    def document_then(self, path: str) -> Document | None:
        """What a file held, read anew (the same name may be kept for another form of it)."""
        source = self.source(path)
        document = read(source) if source is not None else None
        if document is not None:
            self.keep(path, document)
        return document


def _matters(path: str) -> bool:
    """Whether a file of a folder of data has a part in what is loaded from it."""
    from epochlint.records import format_of

    return os.path.basename(path) in ("README.md", ".huggingface.yaml") or format_of(path) is not None


class Earlier:
    """The runs of an earlier revision that belong to files changed since.

    `changed`: path now -> path then of what differs; "" for what is new. `elsewhere`: folders of runs that belong to
    another repository (a submodule), of which nothing can be told. `moved`: the change is one to other GPUs.
    """

    __slots__ = (
        "_now",
        "_pairs",
        "_read_data",
        "changed",
        "elsewhere",
        "joined",
        "lookup",
        "moved",
        "said",
        "then",
    )

    def __init__(
        self,
        repository: Repository,
        revision: str,
        lookup: Lookup,
        now: Joined,
        assumed: Versions,
        said: Said,
        *,
        staged: bool = False,
        asked: bool = True,
        given: str | None = None,
    ) -> None:
        """`now` are the runs of today; `staged`: they stand in the index; `asked`: somebody asked for the comparison;
        `given`: one run is read from standard input under that path. Raises HistoryError."""
        self._read_data = asked and not staged
        self._now = now
        commit = repository.base(revision)
        self.lookup = lookup
        self.changed = repository.changes(commit, None)
        files = repository.files(commit)
        self.then = Stored(repository, files, files.keys() | self.changed.keys(), lookup.given_root)
        self.elsewhere: set[str] = set()
        if not staged:
            self._compare(path for run in now.runs for path in self._files_of(run))
            self._compare(path for path in lookup.holding(PROCESSES) if path in self.then)
        if given is not None and given in files:
            self.changed[given] = given
        touched = [run for run in now.runs if self.touches(run)]
        wanted = [self._then(path) for run in touched for path in self._written_in(run)]
        documents = [
            (path, document)
            for path in dict.fromkeys(wanted)
            if path in self.then and (document := self.then.document_then(path)) is not None
        ]
        self.moved = bool(documents) and moved(self.changed, lookup, self.then)
        self.said = said.anew()  # what comments assume is what they said then
        self.joined = Joiner(self.then, assumed, self.said).join(documents)
        self._pairs = paired(touched, self.joined.runs, self._place_now, self._place_then)

    def _compare(self, paths: Iterable[str]) -> None:
        """Adds what differs on disk, which the index does not tell, and what git does not hold."""
        for path in set(paths):
            if path in self.changed or not path.startswith(self.then.repository.top.rstrip(os.sep) + os.sep):
                continue
            if path in self.then:
                if not self.then.is_current(path):
                    self.changed[path] = path
            elif self.lookup.is_file(path):
                other = self._other_repository(path)
                if other is None:
                    self.changed[path] = ""
                else:
                    self.elsewhere.add(other)

    def _other_repository(self, path: str) -> str | None:
        """The folder of a repository inside this one that a file belongs to."""
        folder = os.path.dirname(path)
        while len(folder) > len(self.then.repository.top):
            if os.path.exists(os.path.join(folder, ".git")):
                return folder
            folder = os.path.dirname(folder)
        return None

    def touches(self, run: Run) -> bool:
        """Whether a changed file has a part in a run: it is the run's own, a setting stands there, or it is data."""
        return self._in_files(run) or self._in_data(run)

    def _in_data(self, run: Run) -> bool:
        for source in (*run.training, *run.validation):
            for path in source.paths:
                if any(map(self._differs, (top for top, _ in data_tops(source, path, self.lookup)))):
                    return True
                # Whether a large file is what it was takes reading it: not where nobody asked for a comparison.
                if self._read_data and not all(map(self.then.is_current, data_files(source, path, self.lookup))):
                    return True
        return False

    def _differs(self, top: str) -> bool:
        """Whether a file of data is another than then, or one has come to a folder or gone from it, as git knows it."""
        if top in self.changed or top in self.then:
            return top in self.changed
        return any(path.startswith(top + os.sep) and _matters(path) for path in self.changed) or any(
            _matters(path) and not self.lookup.is_file(path) for path in self.then.below([top])
        )

    def of(self, run: Run) -> Run | None:
        """The earlier form of a run; None where it is new or nothing of it changed."""
        return self._pairs.get(id(run))

    def _in_files(self, run: Run) -> bool:
        return any(path in self.changed for path in self._files_of(run))

    def _files_of(self, run: Run) -> Iterator[str]:
        """The files that a run was read from."""
        return map(self._absolute, self._now.files_of(run))

    def _written_in(self, run: Run) -> tuple[str, ...]:
        return tuple(self._absolute(path) for path in (run.path, run.launch) if path)

    def _absolute(self, shown: str) -> str:
        return self.lookup.absolute(shown)

    def _then(self, path: str) -> str:
        return self.changed.get(path, path)

    def _place_now(self, run: Run) -> tuple[str, ...]:
        """Where a run of today stood then: its file and its launch's."""
        return tuple(self._then(self._absolute(path)) if path else "" for path in (run.path, run.launch))

    def _place_then(self, run: Run) -> tuple[str, ...]:
        return tuple(self.then.absolute(path) if path else "" for path in (run.path, run.launch))


def paired(
    now: Iterable[Run],
    then: Iterable[Run],
    place_now: Callable[[Run], tuple[str, ...]],
    place_then: Callable[[Run], tuple[str, ...]],
) -> dict[int, Run]:
    """By `id` of a run: its earlier form.

    `place_now` and `place_then` give (file, launch) in the names of then. Runs belong together where trainer, file and
    launch are the same; several of one place in their order, if there are as many. A run whose launch is another is
    the only one of its trainer and file on both sides.
    """
    pairs: dict[int, Run] = {}
    left_now, left_then = list(now), list(then)
    for parts in (2, 1):  # file and launch, then the file alone
        olds: dict[tuple[str, ...], list[Run]] = {}
        news: dict[tuple[str, ...], list[Run]] = {}
        for run in left_then:
            olds.setdefault((run.trainer, *place_then(run)[:parts]), []).append(run)
        for run in left_now:
            news.setdefault((run.trainer, *place_now(run)[:parts]), []).append(run)
        for key, runs in news.items():
            others = olds.get(key, [])
            if parts == 1 and (len(runs) > 1 or len(others) > 1):
                continue
            pairs.update(_in_order(runs, others))
        taken = {id(old) for old in pairs.values()}
        left_now = [run for run in left_now if id(run) not in pairs]
        left_then = [run for run in left_then if id(run) not in taken]
    return pairs


def _in_order(runs: list[Run], others: list[Run]) -> Iterator[tuple[int, Run]]:
    """As many on both sides: one by one. Else those that command, method, model and rate tell apart."""
    if len(runs) == len(others):
        yield from zip(map(id, runs), others, strict=True)
        return
    for run in runs:
        same = [other for other in others if _mark(other) == _mark(run)]
        if len(same) == 1 and sum(_mark(one) == _mark(run) for one in runs) == 1:
            yield id(run), same[0]


def _mark(run: Run) -> tuple[object, ...]:
    return run.command, *(run.setting(name).value for name in ("method", "model", "learning_rate"))


def staged(paths: Sequence[str], given_root: str | None) -> Stored | None:
    """The files of the index; None outside a work tree, or where it cannot be read."""
    try:
        found = repository(folder_of(paths))
        files = found.files(None) if found is not None else {}
    except HistoryError:
        return None  # said by who compares
    return Stored(found, files, files.keys(), given_root) if found is not None else None
