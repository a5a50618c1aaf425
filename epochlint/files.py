"""Which files to look at, reading them, and writing one back.

Reading is careful: only regular files, never a pipe or a device; text only, in UTF-8 or in what a byte order mark
says; at most 8 MB. Walking a folder asks git where there is one, and skips what nobody wants judged unasked.
"""

from __future__ import annotations

import os
import re
import stat
from os import path as paths

from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

# Configs have kilobytes; notebooks with pictures in them have megabytes.
LARGEST = 8_000_000

# What a walk looks at; `documents.read` knows what each of them is.
READABLE_SUFFIXES = frozenset(
    [
        ".yaml",
        ".yml",
        ".json",
        ".jsonc",
        ".toml",
        ".py",
        ".ipynb",
        ".sh",
        ".bash",
        ".zsh",
        ".ksh",
        ".sbatch",
        ".slurm",
        ".pbs",
        ".job",
        ".tf",
        ".sql",
        ".mk",
        ".dockerfile",
    ]
)
READABLE_NAMES = frozenset(("makefile", "gnumakefile", "dockerfile", "containerfile", "justfile"))

# Folders that a walk leaves out: installed packages, copies of other people's code, tests, what runs have written.
_SKIPPED_FOLDERS = frozenset(
    [
        "__pycache__",
        "node_modules",
        "site-packages",
        "dist-packages",
        "venv",
        "virtualenv",
        "third_party",
        "third-party",
        "thirdparty",
        "3rdparty",
        "3rd_party",
        "vendor",
        "vendored",
        "tests",
        "test",
        "wandb",
        "mlruns",
        "lightning_logs",
    ]
)
# Hidden folders are left out but for those that hold workflows.
_SHOWN_FOLDERS = frozenset((".github", ".gitlab", ".circleci", ".azure", ".azureml", ".buildkite"))
_RUN_FOLDER = re.compile(r"checkpoint-\d+\Z")
_TEST_FILE = re.compile(r"(?:test_.*|.*_test|conftest)\.py\Z")


class Refusal:
    """Why a file cannot be read.

    `kind` is "missing", "not-a-file", "unreadable", "too-large", "encoding" or "binary"; `reason` completes the
    sentence "PATH: ..."; `line` is the 1-based line of the first bad byte, where that is the reason.
    """

    __slots__ = ("kind", "line", "path", "reason")

    def __init__(self, path: str, kind: str, reason: str, line: int | None = None) -> None:
        self.path = path
        self.kind = kind
        self.reason = reason
        self.line = line

    def __repr__(self) -> str:
        return f"Refusal({self.path!r}, {self.kind!r}, {self.reason!r})"


class Found:
    """A file to look at.

    `path` opens it, `shown` is what people see (relative to the working directory, forward slashes), `below` is the
    path below the folder that was given, or `shown` for a file that was named itself; `named` tells the two apart.
    """

    __slots__ = ("below", "named", "path", "shown")

    def __init__(self, path: str, shown: str, below: str, named: bool) -> None:
        self.path = path
        self.shown = shown
        self.below = below
        self.named = named

    def __repr__(self) -> str:
        return f"Found({self.shown!r}, named={self.named})"


# --- Reading ----------------------------------------------------------------------------------------------------------

# UTF-32's mark begins with UTF-16's, so it stands first.
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8"),
    (b"\xff\xfe\x00\x00", "utf-32-le"),
    (b"\x00\x00\xfe\xff", "utf-32-be"),
    (b"\xff\xfe", "utf-16-le"),
    (b"\xfe\xff", "utf-16-be"),
)


def _encoding(data: bytes) -> tuple[bytes, str]:
    """The byte order mark that bytes begin with (or nothing) and their encoding."""
    if data[:1] in (b"\xef", b"\xff", b"\xfe", b"\x00"):
        for mark, encoding in _MARKS:
            if data.startswith(mark):
                return mark, encoding
    return b"", "utf-8"


def decode(data: bytes, path: str) -> Source | Refusal:
    """A text of bytes: UTF-8, or what a byte order mark says. The mark is no part of the text."""
    mark, encoding = _encoding(data)
    try:
        text = data[len(mark) :].decode(encoding)
    except UnicodeDecodeError as error:
        if encoding == "utf-8" and b"\0" in data[:8192]:
            return Refusal(path, "binary", "a binary file")
        good = data[len(mark) : len(mark) + error.start].decode(encoding, "replace")
        line = Source(path, good).place(len(good)).line
        shown = f"0x{error.object[error.start]:02x}" if error.start < len(error.object) else "the end"
        name = encoding[:6].upper().rstrip("-")
        return Refusal(
            path, "encoding", f"not {name}: byte {shown} at offset {error.start + len(mark)}, line {line}", line
        )
    if "\0" in text[:8192]:
        return Refusal(path, "binary", "a binary file")
    return Source(path, text)


def encode(text: str, like: bytes) -> bytes:
    """A text as bytes in the encoding of the bytes it was read from, with their byte order mark."""
    mark, encoding = _encoding(like)
    return mark + text.encode(encoding)


def read_bytes(path: str, shown: str, largest: int = LARGEST) -> bytes | Refusal:
    """The bytes of a regular file of at most `largest` bytes."""
    try:
        # Opening a device can do things, so it is looked at first; opening a pipe must not wait for its other end.
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            what = "a folder" if stat.S_ISDIR(status.st_mode) else "not a regular file"
            return Refusal(shown, "not-a-file", what)
        if status.st_size > largest:
            return _too_large(shown, largest)
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return Refusal(shown, "not-a-file", "not a regular file")
            data = os.read(handle, status.st_size + 1)
            # One more read tells the end, whatever the size said: files in /proc say 0.
            if data and len(data) != status.st_size:
                parts = [data]
                size = len(data)
                while size <= largest and (data := os.read(handle, 65_536)):
                    parts.append(data)
                    size += len(data)
                data = b"".join(parts)
        finally:
            os.close(handle)
    except FileNotFoundError:
        return Refusal(shown, "missing", "there is no such file")
    except (OSError, ValueError) as error:
        # ValueError: a NUL in the path.
        said = getattr(error, "strerror", None) or str(error)
        return Refusal(shown, "unreadable", f"cannot be read ({said[:1].lower()}{said[1:]})")
    return _too_large(shown, largest) if len(data) > largest else data


def _too_large(shown: str, largest: int) -> Refusal:
    return Refusal(shown, "too-large", f"larger than {largest // 1_000_000} MB, which no config is")


def open_source(path: str, shown: str) -> Source | Refusal:
    """The text of a file, or why there is none."""
    data = read_bytes(path, shown)
    return data if isinstance(data, Refusal) else decode(data, shown)


def real_path(path: str, folders: dict[str, str]) -> str:
    """The path with its links followed, as `os.path.realpath` gives it. `folders` keeps what was found for folders:
    those of a thousand files are few."""
    folder, name = paths.split(paths.abspath(path))
    real = folders.get(folder)
    if real is None:
        real = folders[folder] = paths.realpath(folder)
    joined = paths.join(real, name)
    return paths.realpath(joined) if paths.islink(joined) else joined


# --- Finding ----------------------------------------------------------------------------------------------------------


def shown_path(path: str, cwd: str) -> str:
    """A path as people see it: relative to the working directory where it lies inside, with forward slashes."""
    whole = paths.normpath(paths.join(cwd, path))
    if whole == cwd:
        shown = "."
    elif whole.startswith(cwd.rstrip(os.sep) + os.sep):
        shown = whole[len(cwd.rstrip(os.sep)) + 1 :]
    else:
        shown = path
    if os.sep != "/":
        shown = shown.replace(os.sep, "/")
    # A name that is not UTF-8 must not break the printing of its findings.
    return shown if shown.isascii() else shown.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    """Whether a path (forward slashes) or a folder above it is meant by one of some patterns as in `.gitignore`.

    `*` and `?` stop at a slash, `**` does not; a pattern without a slash means a name at any depth, one with a slash a
    path from the top; `!` at the front takes back what the patterns before it have matched.
    """
    compiled = [(pattern[:1] == "!", _glob(pattern.lstrip("!"))) for pattern in patterns if pattern.strip("!/ ")]
    if not compiled:
        return lambda path: False

    def matches(path: str) -> bool:
        found = False
        for taken_back, expression in compiled:
            if expression.match(path):
                found = not taken_back
        return found

    return matches


def _glob(pattern: str) -> re.Pattern[str]:
    pattern = pattern.replace("\\", "/").strip()
    pattern = pattern.removeprefix("./")
    inside = pattern.rstrip("/")
    anchored = "/" in inside
    inside = inside.lstrip("/")
    out = "" if anchored else "(?:.*/)?"
    at = 0
    while at < len(inside):
        if inside.startswith("**/", at):
            out += "(?:.*/)?"
            at += 3
        elif inside.startswith("**", at):
            out += ".*"
            at += 2
        elif inside[at] == "*":
            out += "[^/]*"
            at += 1
        elif inside[at] == "?":
            out += "[^/]"
            at += 1
        elif inside[at] == "[" and (end := inside.find("]", at + 2)) > 0:
            body = inside[at + 1 : end].replace("\\", "\\\\").replace("[", "\\[")
            out += "[" + ("^" + body[1:] if body[0] == "!" else body) + "]"
            at = end + 1
        else:
            out += re.escape(inside[at])
            at += 1
    try:
        # A folder's pattern means everything below it.
        return re.compile(out + r"(?:/.*)?\Z", re.DOTALL)
    except re.error:
        return re.compile(re.escape(inside) + r"\Z")


def readable(name: str) -> bool:
    """Whether a walk looks at a file of this name."""
    name = name.rsplit("/", 1)[-1].lower()
    dot = name.rfind(".")
    if dot > 0 and name[dot:] in READABLE_SUFFIXES:
        return True
    return name.split(".", 1)[0] in READABLE_NAMES


def skipped_folder(name: str) -> bool:
    """Whether a walk leaves out a folder of this name."""
    if name[:1] == ".":
        return name not in _SHOWN_FOLDERS and name not in (".", "..")
    return name in _SKIPPED_FOLDERS or "{{" in name or _RUN_FOLDER.match(name) is not None


def skipped_path(path: str) -> bool:
    """Whether a walk from the top of a relative path (forward slashes) would leave the file out."""
    *folders, name = path.split("/")
    return _TEST_FILE.match(name) is not None or any(skipped_folder(folder) for folder in folders)


def discover(
    given: Iterable[str],
    *,
    exclude: Iterable[str] = (),
    base: str | None = None,
    force_exclude: bool = False,
    held: Callable[[str], list[str] | None] = lambda _: None,
) -> Iterator[Found]:
    """The files that some paths mean, each once, folders in a fixed order.

    A file that is named is taken as it is, even where it does not exist: `open_source` says why it cannot be read. A
    folder is walked: as git lists it (tracked, or untracked and not ignored) inside a work tree, else without hidden
    folders; installed packages, vendored code, tests and what runs have written are left out, so are files that
    `exclude` means (patterns as in `matcher`, from the folder `base`, else from the working directory).
    `force_exclude` leaves all of these out where they are named, too: a hook is given every changed file by name.
    `held`: the sorted names of the files below a folder, where those count that git's index holds; None where those do
    that lie there.
    """
    cwd = os.getcwd()
    patterns = list(exclude)
    excluded = matcher(patterns) if patterns else None
    top = paths.abspath(base) if base is not None else cwd
    seen: set[str] = set()
    folders: dict[str, str] = {}
    for path in given:
        if paths.isdir(path):
            real = paths.realpath(path)
            names = held(path)
            for below, here in _walk(path, real) if names is None else _of_index(real, names):
                if here in seen:
                    continue
                inner = paths.join(path, below) if path not in (".", "") else below
                if excluded is not None and excluded(_from(top, cwd, inner)):
                    continue
                seen.add(here)
                yield Found(inner, shown_path(inner, cwd), _slashes(below), False)
            continue
        shown = shown_path(path, cwd)
        if force_exclude:
            # Outside the working directory only the file's own folder and name can tell.
            inside = shown if not paths.isabs(path) and not shown.startswith("..") else shown.rsplit("/", 1)[-1]
            if skipped_path(inside) or (excluded is not None and excluded(_from(top, cwd, path))):
                continue
        real = real_path(path, folders)
        if real not in seen:
            seen.add(real)
            yield Found(path, shown, shown, True)


def _slashes(path: str) -> str:
    return path if os.sep == "/" else path.replace(os.sep, "/")


def _from(top: str, cwd: str, path: str) -> str:
    """A path from the folder that patterns start at; above that folder, as it is."""
    whole = paths.normpath(paths.join(cwd, path))
    prefix = top.rstrip(os.sep) + os.sep
    return _slashes(whole[len(prefix) :] if whole.startswith(prefix) else path)


def _walk(folder: str, real: str) -> Iterator[tuple[str, str]]:
    """The readable files below a folder: path below it, and real path. Sorted by path."""
    listed = _git_files(real) if _in_work_tree(real) else None
    # Nothing listed: an ignored folder, which somebody asked for all the same.
    yield from _listed(real, listed) if listed else _scanned(real, "")


def _in_work_tree(real: str) -> bool:
    while True:
        if paths.exists(paths.join(real, ".git")):
            return True
        above = paths.dirname(real)
        if above == real:
            return False
        real = above


def _git_files(real: str) -> list[str] | None:
    """What git lists below a folder, None where git cannot tell."""
    from epochlint.git import GitError, ask  # only where a folder is walked

    try:
        listed = ask(real, "ls-files", "-z", "--cached", "--others", "--exclude-standard")
    except GitError:
        return None
    return sorted(filter(None, os.fsdecode(listed).split("\0")))


def _listed(real: str, names: list[str]) -> Iterator[tuple[str, str]]:
    kept: dict[str, bool] = {"": True}
    for name in names:
        folder, _, last = name.rpartition("/")
        if name and not last:
            # A repository inside this one: it is asked itself. (A submodule has no slash; it is not ours to judge.)
            if _kept(folder, kept):
                inner = paths.join(real, folder)
                for below, here in _walk(inner, paths.realpath(inner)):
                    yield paths.join(folder, below), here
            continue
        if not readable(last) or _TEST_FILE.match(last) or not _kept(folder, kept):
            continue
        path = paths.join(real, name)
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode):
            yield name, path
        elif stat.S_ISLNK(mode) and paths.isfile(path):
            yield name, paths.realpath(path)


def _of_index(real: str, names: list[str]) -> Iterator[tuple[str, str]]:
    """As `_listed`, of files that need not lie there."""
    kept: dict[str, bool] = {"": True}
    for name in names:
        folder, _, last = name.rpartition("/")
        if readable(last) and not _TEST_FILE.match(last) and _kept(folder, kept):
            yield name, paths.join(real, name)


def _kept(folder: str, known: dict[str, bool]) -> bool:
    kept = known.get(folder)
    if kept is None:
        above, _, name = folder.rpartition("/")
        kept = known[folder] = not skipped_folder(name) and _kept(above, known)
    return kept


def _scanned(real: str, below: str) -> Iterator[tuple[str, str]]:
    """Without git. Links to folders are not followed, so there are no loops."""
    stack = [(real, below)]
    while stack:
        path, below = stack.pop()
        if below.endswith(os.sep) or not below:
            try:
                with os.scandir(path) as entries:
                    inside = list(entries)
            except OSError:
                continue
            if below and any(entry.name == "pyvenv.cfg" for entry in inside):
                continue
            found: list[tuple[str, str]] = []
            for entry in inside:
                name = entry.name
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if not skipped_folder(name):
                            found.append((entry.path, below + name + os.sep))
                    elif readable(name) and not _TEST_FILE.match(name) and entry.is_file():
                        here = paths.realpath(entry.path) if entry.is_symlink() else entry.path
                        found.append((here, below + name))
                except OSError:
                    continue
            found.sort(key=lambda pair: pair[1], reverse=True)
            stack.extend(found)
        else:
            yield below, path


# --- Writing ----------------------------------------------------------------------------------------------------------


def replace(path: str, data: bytes) -> None:
    """Give a file new contents at one stroke: no reader sees half of them. Raises OSError; then nothing has changed.

    The file's mode is kept, and so is a link to it: what it points to is written.
    """
    target = paths.realpath(path)
    folder, name = paths.split(target)
    status = os.stat(target)
    beside = paths.join(folder, f".{name[:100]}.{os.getpid()}.epochlint")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(beside, flags, 0o600)
    try:
        try:
            view = memoryview(data)
            while view:
                view = view[os.write(handle, view) :]
            os.fsync(handle)
        finally:
            os.close(handle)
        os.chmod(beside, stat.S_IMODE(status.st_mode))
        os.replace(beside, target)
    except BaseException:
        try:
            os.unlink(beside)
        except OSError:
            pass
        raise
