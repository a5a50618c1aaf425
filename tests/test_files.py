from __future__ import annotations

import os
import stat
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint import files
from epochlint.files import Refusal, real_path
from epochlint.source import Source


def text(data: bytes) -> str:
    source = files.decode(data, "x.yaml")
    assert isinstance(source, Source), source
    return source.text


def refusal(found: Source | Refusal | bytes) -> Refusal:
    assert isinstance(found, Refusal)
    return found


# --- Decoding ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
def test_utf8_and_whatever_a_mark_says(encoding: str) -> None:
    data = "é: 𝔞\r\n".encode(encoding)
    if encoding[-3:] in ("-le", "-be"):
        data = "\ufeff".encode(encoding) + data
    assert text(data) == "é: 𝔞\r\n"
    assert files.encode(text(data), data) == data
    assert files.encode("𝔟", data).removeprefix(data[:4]) != b""


def test_a_byte_that_is_no_utf8_is_named_with_its_line() -> None:
    found = refusal(files.decode("a: 1\nb: é\n".encode("latin-1"), "x.yaml"))
    assert (found.kind, found.line, found.reason) == ("encoding", 2, "not UTF-8: byte 0xe9 at offset 8, line 2")


def test_the_offset_counts_the_mark() -> None:
    assert refusal(files.decode(b"\xef\xbb\xbfa\xff", "x")).reason == "not UTF-8: byte 0xff at offset 4, line 1"


@pytest.mark.parametrize("data", [b"\xff\xfea", b"\xfe\xff\xd8\x00", b"\xff\xfe\x00\x00\xff\xff\xff\xff", b"a\xc3"])
def test_broken_encodings_are_refused(data: bytes) -> None:
    assert refusal(files.decode(data, "x")).kind == "encoding"


@pytest.mark.parametrize("data", [b"PK\x03\x04\x00\xff", b"\x89PNG\r\n\x00", b"text\x00"])
def test_binary_files_are_refused(data: bytes) -> None:
    assert refusal(files.decode(data, "x")).kind == "binary"


@given(st.binary(max_size=60))
def test_any_bytes_are_decoded_or_refused(data: bytes) -> None:
    found = files.decode(data, "x")
    if isinstance(found, Source):
        assert files.encode(found.text, data) == data


# --- Opening ----------------------------------------------------------------------------------------------------------


def test_a_file_is_opened_under_the_path_it_is_shown_by(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_bytes(b"\xef\xbb\xbfa: 1\r\n")
    source = files.open_source(str(tmp_path / "x.yaml"), "shown/x.yaml")
    assert isinstance(source, Source)
    assert (source.path, source.text) == ("shown/x.yaml", "a: 1\r\n")


def test_what_is_not_there_or_no_file(tmp_path: Path) -> None:
    assert refusal(files.open_source(str(tmp_path / "no"), "no")).kind == "missing"
    assert refusal(files.open_source(str(tmp_path), ".")).reason == "a folder"
    assert refusal(files.open_source("a\0b", "x")).kind == "unreadable"
    assert refusal(files.open_source("/dev/zero", "/dev/zero")).kind == "not-a-file"
    (tmp_path / "loop").symlink_to("loop")
    assert refusal(files.open_source(str(tmp_path / "loop"), "loop")).kind == "unreadable"


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.yaml")
    assert refusal(files.open_source(str(tmp_path / "pipe.yaml"), "pipe.yaml")).kind == "not-a-file"


def test_a_pipe_that_takes_a_files_place_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    os.mkfifo(tmp_path / "pipe")
    status = os.stat(tmp_path / "file")
    monkeypatch.setattr(files.os, "stat", lambda path: status)
    assert refusal(files.open_source(str(tmp_path / "pipe"), "pipe")).kind == "not-a-file"


@pytest.mark.skipif(getattr(os, "geteuid", int)() == 0, reason="the superuser reads everything")
def test_a_file_without_permission(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1")
    path.chmod(0)
    assert refusal(files.open_source(str(path), "x.yaml")).reason == "cannot be read (permission denied)"


def test_large_files_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    with path.open("wb") as file:
        file.truncate(50_000_000_000)
    assert refusal(files.open_source(str(path), "x.json")).kind == "too-large"
    with path.open("wb") as file:
        file.truncate(files.LARGEST)
    assert isinstance(files.read_bytes(str(path), "x.json"), bytes)


def test_a_file_that_says_it_is_empty_is_read_all_the_same() -> None:
    if not os.path.exists("/proc/self/status"):
        pytest.skip("no /proc here")
    source = files.open_source("/proc/self/status", "status")
    assert isinstance(source, Source)
    assert len(source.text) > 100


# --- Patterns ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("patterns", "path", "matches"),
    [
        (["*.json"], "a/b.json", True),
        (["*.json"], "a/b.jsonc", False),
        (["old"], "a/old/b/c.yaml", True),
        (["old/"], "a/old/b.yaml", True),
        (["old"], "older/b.yaml", False),
        (["configs/*.yaml"], "configs/a.yaml", True),
        (["configs/*.yaml"], "x/configs/a.yaml", False),
        (["configs/*.yaml"], "configs/a/b.yaml", False),
        (["configs/**/b.yaml"], "configs/b.yaml", True),
        (["configs/**/b.yaml"], "configs/a/c/b.yaml", True),
        (["**/old/**"], "a/old/b", True),
        (["configs/**"], "configs/a/b.yaml", True),
        (["/a.yaml"], "a.yaml", True),
        (["/a.yaml"], "b/a.yaml", False),
        (["./a/"], "a/b.yaml", True),
        (["run-?.yaml"], "run-1.yaml", True),
        (["run-[0-4].yaml"], "run-3.yaml", True),
        (["run-[!0-4].yaml"], "run-3.yaml", False),
        (["run-[.yaml"], "run-[.yaml", True),
        (["*.yaml", "!keep.yaml"], "a/keep.yaml", False),
        (["*.yaml", "!keep.yaml"], "a/other.yaml", True),
        (["", "  ", "/"], "a.yaml", False),
        (["a+b(c).yaml"], "a+b(c).yaml", True),
        (["[z-a]"], "b", False),
    ],
)
def test_patterns_mean_what_they_mean_in_gitignore(patterns: list[str], path: str, matches: bool) -> None:
    assert files.matcher(patterns)(path) is matches


@given(st.lists(st.text(alphabet="ab*?[]!/.\\(", max_size=8), max_size=3), st.text(alphabet="ab/.", max_size=12))
def test_any_pattern_gives_an_answer(patterns: list[str], path: str) -> None:
    assert files.matcher(patterns)(path) in (True, False)


# --- Finding ----------------------------------------------------------------------------------------------------------

Tree = Callable[..., Path]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tree:
    """Makes files below a folder that becomes the working directory."""

    def make(*names: str) -> Path:
        for name in names:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text("a: 1\n")
        return tmp_path

    monkeypatch.chdir(tmp_path)
    return make


def git(folder: Path, *arguments: str) -> None:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, env=environment, check=True, capture_output=True)


def shown(*paths: str, **options: object) -> list[str]:
    return [found.shown for found in files.discover(paths, **options)]  # type: ignore[arg-type]


_LEFT_OUT = [
    ".git2/a.yaml",
    ".hidden/a.yaml",
    ".ipynb_checkpoints/a.ipynb",
    "__pycache__/a.py",
    "node_modules/x/a.json",
    "env/lib/site-packages/axolotl/a.yaml",
    "venv/a.py",
    "third_party/trl/a.py",
    "vendor/a.yaml",
    "pkg/tests/a.yaml",
    "test/a.yaml",
    "pkg/test_train.py",
    "pkg/train_test.py",
    "conftest.py",
    "wandb/run-1/config.yaml",
    "out/checkpoint-500/trainer_state.json",
    "{{ cookiecutter.name }}/a.yaml",
]
_TAKEN = [
    ".github/workflows/train.yml",
    "Makefile",
    "a-b.yaml",
    "a/b.yaml",
    "a/checkpoint-best/a.json",
    "a/testing/a.yaml",
    "contest.py",
    "scripts/run.sh",
    "train.ipynb",
]
_OTHER = ["README.md", "data.jsonl", "model.safetensors", "a/b"]


@pytest.mark.parametrize("with_git", [False, True])
def test_a_folder_is_walked_in_order_and_without_what_nobody_wants_judged(tree: Tree, with_git: bool) -> None:
    folder = tree(*_LEFT_OUT, *_TAKEN, *[name for name in _OTHER if name != "a/b"])
    if with_git:
        git(folder, "init", "-q")
        git(folder, "add", "-A", "-f")
    assert shown(".") == _TAKEN
    assert shown("./") == _TAKEN
    assert shown(str(folder)) == _TAKEN
    assert [found.named for found in files.discover(["."])] == [False] * len(_TAKEN)


def test_named_files_are_taken_as_they_are(tree: Tree) -> None:
    tree(*_LEFT_OUT, *_OTHER[:2])
    names = [*_LEFT_OUT, *_OTHER[:2], "not-there.yaml"]
    assert shown(*names) == names
    assert all(found.named for found in files.discover(names))


def test_unless_exclusion_is_forced(tree: Tree) -> None:
    tree(*_LEFT_OUT, *_TAKEN)
    assert shown(*_LEFT_OUT, *_TAKEN, force_exclude=True) == _TAKEN
    assert shown(*_TAKEN, exclude=["a/"], force_exclude=True) == [name for name in _TAKEN if not name.startswith("a/")]
    assert shown(*_TAKEN, exclude=["a/"]) == _TAKEN


def test_a_folder_named_like_one_left_out_is_walked_where_it_is_given(tree: Tree) -> None:
    tree("tests/a.yaml", "tests/tests/b.yaml", ".hidden/c.yaml")
    assert shown("tests", ".hidden") == ["tests/a.yaml", ".hidden/c.yaml"]


def test_excluded_files_are_left_out_of_a_walk(tree: Tree) -> None:
    folder = tree("a/x.yaml", "b/old/x.yaml", "b/x.yaml", "c.json")
    assert shown(".", exclude=["*.json", "b/old"]) == ["a/x.yaml", "b/x.yaml"]
    assert shown("b", exclude=["b/old"]) == ["b/x.yaml"]
    # Patterns of a settings file count from its folder.
    assert shown(".", exclude=["old"], base=str(folder / "b")) == ["a/x.yaml", "b/x.yaml", "c.json"]
    assert shown("b", exclude=["/old"], base=str(folder / "b")) == ["b/x.yaml"]


def test_git_leaves_out_what_is_ignored_and_keeps_what_is_untracked(tree: Tree) -> None:
    folder = tree("a.yaml", "new.yaml", "out/a.yaml", "deep/out/b.yaml", "gone.yaml", "keep/é b.yaml")
    git(folder, "init", "-q")
    (folder / ".gitignore").write_text("out/\n")
    git(folder, "add", "a.yaml", "gone.yaml", "keep")
    (folder / "gone.yaml").unlink()
    assert shown(".") == ["a.yaml", "keep/é b.yaml", "new.yaml"]
    assert shown("keep") == ["keep/é b.yaml"]
    # Somebody asked for an ignored folder.
    assert shown("out") == ["out/a.yaml"]


def test_a_repository_inside_is_walked_too_but_no_submodule(tree: Tree) -> None:
    folder = tree("a.yaml", "inner/b.yaml", "inner/skip/c.yaml", "sub/d.yaml")
    for inside in ("inner", "sub"):
        git(folder / inside, "init", "-q")
    (folder / "inner/.gitignore").write_text("skip\n")
    git(folder / "sub", "add", "-A")
    git(folder / "sub", "commit", "-qm", "x")
    git(folder, "init", "-q")
    git(folder, "add", "sub")
    assert shown(".") == ["a.yaml", "inner/b.yaml"]


def test_nothing_in_a_repositorys_settings_is_run(tree: Tree) -> None:
    folder = tree("a.yaml")
    git(folder, "init", "-q")
    hook = folder / "hook.sh"
    hook.write_text(f"#!/bin/sh\ntouch {folder}/was-run\n")
    hook.chmod(0o755)
    git(folder, "config", "core.fsmonitor", str(hook))
    assert shown(".") == ["a.yaml", "hook.sh"]
    assert not (folder / "was-run").exists()


def test_what_a_hook_has_in_its_environment_changes_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree("one/a.yaml", "two/b.yaml")
    for inside in ("one", "two"):
        git(folder / inside, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(folder / "one/.git"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(folder / "nowhere"))
    assert shown("two") == ["two/b.yaml"]


def test_without_git_the_folder_is_walked_itself(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree("a.yaml", "b/c.yaml")
    git(folder, "init", "-q")
    monkeypatch.setenv("PATH", str(folder / "nowhere"))
    assert shown(".") == ["a.yaml", "b/c.yaml"]


def test_an_environment_by_its_mark(tree: Tree) -> None:
    tree("a.yaml", "my-env/pyvenv.cfg", "my-env/lib/x.py")
    assert shown(".") == ["a.yaml"]


@pytest.mark.parametrize("with_git", [False, True])
def test_links(tree: Tree, with_git: bool) -> None:
    folder = tree("a/x.yaml", "z/y.yaml")
    (folder / "a/loop").symlink_to("..")
    (folder / "a/link.yaml").symlink_to("x.yaml")
    (folder / "a/dead.yaml").symlink_to("nowhere.yaml")
    (folder / "b").symlink_to("z")
    if with_git:
        git(folder, "init", "-q")
        git(folder, "add", "-A")
    # One file has one place: whichever name comes first.
    assert shown(".") == ["a/link.yaml", "z/y.yaml"]
    assert shown("b") == ["b/y.yaml"]


def test_each_file_once(tree: Tree) -> None:
    folder = tree("a/x.yaml", "y.yaml")
    (folder / "link.yaml").symlink_to("y.yaml")
    assert shown("y.yaml", "a", "link.yaml", ".", "./a/x.yaml", str(folder / "a")) == ["y.yaml", "a/x.yaml"]


def test_paths_are_shown_from_the_working_directory(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tree("a/x.yaml", "b/y.yaml")
    monkeypatch.chdir(folder / "a")
    assert shown("x.yaml", "../b", "../b/../a/./x.yaml") == ["x.yaml", "../b/y.yaml"]
    assert shown(str(folder / "b")) == [f"{folder}/b/y.yaml"]
    assert shown(str(folder / "a" / "x.yaml")) == ["x.yaml"]


def test_the_path_below_the_given_folder_is_known(tree: Tree) -> None:
    tree("smoke/real/x.yaml")
    assert [found.below for found in files.discover(["smoke"])] == ["real/x.yaml"]
    assert [found.below for found in files.discover(["smoke/real/x.yaml"])] == ["smoke/real/x.yaml"]


def test_a_name_that_is_no_utf8(tree: Tree) -> None:
    folder = tree()
    with open(os.fsencode(folder) + b"/\xff.yaml", "wb") as file:
        file.write(b"a: 1")
    for with_git in (False, True):
        if with_git:
            git(folder, "init", "-q")
        (found,) = files.discover(["."])
        assert found.shown == "\ufffd.yaml"
        assert isinstance(files.open_source(found.path, found.shown), Source)


def test_a_thousand_files_are_found_in_no_time(tree: Tree) -> None:
    tree(*[f"d{i % 20}/f{i}.yaml" for i in range(1000)])
    begin = time.process_time()
    assert len(shown(".")) == 1000
    assert time.process_time() - begin < 1


# --- Writing ----------------------------------------------------------------------------------------------------------


def test_a_file_is_replaced_with_its_mode_kept(tmp_path: Path) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1\n")
    path.chmod(0o640)
    files.replace(str(path), b"a: 2\r\n")
    assert path.read_bytes() == b"a: 2\r\n"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.yaml"]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real/x.yaml").write_text("a: 1\n")
    (tmp_path / "link.yaml").symlink_to("real/x.yaml")
    files.replace(str(tmp_path / "link.yaml"), b"a: 2\n")
    assert (tmp_path / "link.yaml").is_symlink()
    assert (tmp_path / "real/x.yaml").read_bytes() == b"a: 2\n"


def test_where_writing_fails_nothing_has_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.yaml"
    path.write_text("a: 1\n")

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        files.replace(str(path), b"a: 2\n")
    assert path.read_text() == "a: 1\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["x.yaml"]


def test_a_file_that_is_not_there_cannot_be_replaced(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        files.replace(str(tmp_path / "x.yaml"), b"")
    assert list(tmp_path.iterdir()) == []


def test_real_paths_are_those_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "b" / "one.yaml").write_text("a: 1\n")
    (tmp_path / "link").symlink_to(tmp_path / "a", target_is_directory=True)
    (tmp_path / "a" / "two.yaml").symlink_to(tmp_path / "a" / "b" / "one.yaml")
    folders: dict[str, str] = {}
    for name in ("a/b/one.yaml", "link/b/one.yaml", "a/two.yaml", "link/two.yaml", "link/../a/none.yaml", "link", "."):
        path = str(tmp_path / name)
        assert real_path(path, folders) == os.path.realpath(os.path.abspath(path)), name
