"""A git work tree: which commit a revision means, which files it held, and what differs from it.

Everything is read from git's objects and its index. What the work tree holds is compared by its bytes, file by file
(`Stored.is_current` in `history.py`), since git itself would start a repository's filters for it.
"""

from __future__ import annotations

import os

from epochlint.git import Blobs, GitError, ask

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_RENAMES = "-M"
_EXACT_RENAMES = "-M100%"  # needs no contents, which a partial clone may lack


class HistoryError(Exception):
    """Why an earlier revision cannot be read; the text says what to do."""


class NoCommitError(HistoryError):
    """A repository in which nothing has been committed yet."""


class Repository:
    """A work tree with its repository. `top` is its top folder."""

    __slots__ = ("blobs", "top")

    def __init__(self, top: str) -> None:
        self.top = top
        self.blobs = Blobs(top)

    def commit(self, revision: str) -> str:
        """The commit that a revision (a branch, tag or commit) means. Raises HistoryError."""
        if revision.startswith("-") or "\0" in revision:
            raise HistoryError(f"{revision!r} is no revision")
        try:
            name = revision
            if ":" in revision or "{" in revision:  # `:/text` takes all that follows for text
                name = self._one("rev-parse", "--verify", "--quiet", revision)
            return self._one("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
        except GitError as problem:
            said = str(problem)
        if "expected commit" in said:
            raise HistoryError(f"{revision!r} is no commit")
        if not said.startswith("git ended"):  # --quiet: git says nothing where only the revision is missing
            raise HistoryError(f"git cannot tell what {revision!r} is: {said}")
        if not self._has_commit():
            raise NoCommitError("the repository has no commit yet")
        raise HistoryError(f"there is no revision {revision!r}{self._hint()}")

    def base(self, revision: str) -> str:
        """The commit to compare with: the merge base of a revision and HEAD, or where they have none in common the
        revision itself. Raises HistoryError."""
        commit = self.commit(revision)
        try:
            return self._one("merge-base", commit, "HEAD")
        except GitError:
            if self._is_shallow():
                raise HistoryError(
                    f"where {revision!r} and HEAD part lies beyond what was cloned{self._hint()}"
                ) from None
            return commit

    def files(self, commit: str | None) -> dict[str, str]:
        """Path -> object name of every regular file of a commit, or (None) of the index. Raises HistoryError."""
        index = ["ls-files", "--stage", "-z"]
        tree = ["ls-tree", "-r", "--full-tree", "-z", commit or ""]
        try:
            listed = ask(self.top, *(index if commit is None else tree), index=_index(self.top))
        except GitError as problem:
            raise HistoryError(f"git cannot list the files of {commit or 'the index'}: {problem}") from None
        found: dict[str, str] = {}
        place = 1 if commit is None else 2  # "mode name stage", "mode type name"
        for line in listed.split(b"\0"):
            head, tab, name = line.partition(b"\t")
            words = head.split()
            # Regular files; no links, no submodules, nothing that a merge has left undecided.
            if tab and words[0] in (b"100644", b"100755") and (commit is not None or words[2] == b"0"):
                found[self.path(os.fsdecode(name))] = words[place].decode()
        return found

    def held(self, commit: str, path: str) -> bool:
        """Whether a commit held a file, or a folder with files."""
        inside = os.path.relpath(os.path.abspath(path), self.top).replace(os.sep, "/")
        try:
            ask(self.top, "cat-file", "-e", f"{commit}:{inside}")
        except GitError:
            return False
        return True

    def changes(self, old: str, new: str | None) -> dict[str, str]:
        """Path now -> path then of what differs between a commit and another, or (None) the index; "" for a file that
        was not there then. Raises HistoryError."""
        compared = ["diff-index", "--cached", old, "--"] if new is None else ["diff-tree", "-r", old, new, "--"]
        command, *rest = compared
        options = ["-z", "--name-status", "--no-ext-diff", "--no-textconv", "--ignore-submodules"]
        try:
            try:
                listed = ask(self.top, command, *options, _RENAMES, *rest, index=_index(self.top))
            except GitError:
                listed = ask(self.top, command, *options, _EXACT_RENAMES, *rest, index=_index(self.top))
        except GitError as problem:
            raise HistoryError(f"git cannot compare with {old}: {problem}") from None
        words = os.fsdecode(listed).split("\0")
        pairs: dict[str, str] = {}
        place = 0
        while place + 1 < len(words):
            status, names = words[place][:1], words[place + 1 :]
            if status in ("R", "C"):
                pairs[self.path(names[1])] = self.path(names[0])
                place += 1
            elif status in ("M", "T", "A"):
                pairs[self.path(names[0])] = "" if status == "A" else self.path(names[0])
            place += 2
        return pairs

    def path(self, inside: str) -> str:
        """The absolute path of a name as git gives it."""
        return os.path.join(self.top, *inside.split("/"))

    def _one(self, *arguments: str) -> str:
        """The first line of what git prints."""
        return ask(self.top, *arguments).decode("ascii", "replace").partition("\n")[0]

    def _has_commit(self) -> bool:
        try:
            return bool(self._one("rev-parse", "--verify", "--quiet", "HEAD"))
        except GitError:
            return False

    def _is_shallow(self) -> bool:
        try:
            return self._one("rev-parse", "--is-shallow-repository") == "true"
        except GitError:
            return False

    def _hint(self) -> str:
        return "; the clone is shallow: fetch more of the history (fetch-depth: 0)" if self._is_shallow() else ""


def _index(top: str) -> str | None:
    """The index that git prepares for the commit at hand, as it tells its hooks: `git commit -a` and `git commit FILE`
    use another than the repository's own. Only where it lies in this repository."""
    named = os.environ.get("GIT_INDEX_FILE")
    if not named:
        return None
    path = os.path.abspath(named)
    try:
        folder = os.fsdecode(ask(top, "rev-parse", "--absolute-git-dir")).rstrip("\n")
    except GitError:
        return None
    return (
        path if os.path.isfile(path) and os.path.realpath(os.path.dirname(path)) == os.path.realpath(folder) else None
    )


def repository(folder: str) -> Repository | None:
    """The work tree around a folder, told without starting git where there is none. Raises HistoryError where there is
    one that git cannot or will not read."""
    current = folder
    while not os.path.exists(os.path.join(current, ".git")):
        upper = os.path.dirname(current)
        if upper == current:
            return None
        current = upper
    try:
        top = os.fsdecode(ask(current, "rev-parse", "--show-toplevel")).rstrip("\n")
    except GitError as problem:
        said = str(problem)
        if "dubious ownership" in said:  # a container's work tree: whoever trusts it says so to git
            said += f" (`git config --global --add safe.directory {current}` trusts it)"
        raise HistoryError(said) from None
    # A repository can name any folder as its work tree; ours is the one that was found, by whatever name it goes.
    if not top or os.path.realpath(top) != os.path.realpath(current):
        raise HistoryError(f"{current} is not the work tree of its repository")
    return Repository(current)


def gone(path: str, revision: str) -> bool:
    """Whether a path that is not there now was there at an earlier revision: a list of changed files names it, too."""
    folder = os.path.dirname(os.path.abspath(path))
    while not os.path.isdir(folder):
        folder = os.path.dirname(folder)
    try:
        tree = repository(folder)
        return tree is not None and tree.held(tree.base(revision), path)
    except HistoryError:
        return False


def folder_of(paths: Sequence[str]) -> str:
    """The folder whose repository is asked about some paths."""
    given = os.path.abspath(paths[0] if paths else ".")
    return given if os.path.isdir(given) else os.path.dirname(given)
