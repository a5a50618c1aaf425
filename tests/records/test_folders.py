"""Folders, patterns, and what lies outside of the root."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from epochlint.records import count, expand, folders, inside, splits, training_files
from tests.records.row_cases import write_layout


def names(folder: Path, paths: list[str]) -> list[str]:
    return [os.path.relpath(path, folder).replace(os.sep, "/") for path in paths]


def test_all_data_files_of_a_folder(tmp_path: Path) -> None:
    write_layout(
        str(tmp_path), {"b.jsonl": 1, "a.csv": 1, "test/c.json": 1, "x.py": "", "README.md": "", ".h/d.jsonl": 1}
    )
    assert names(tmp_path, expand(str(tmp_path))) == ["a.csv", "b.jsonl", "test/c.json"]
    assert expand(str(tmp_path / "b.jsonl")) == [str(tmp_path / "b.jsonl")]
    assert expand(str(tmp_path / "nothing")) == []


def test_relative_paths_stay_relative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_layout(str(tmp_path), {"data/b.jsonl": 1, "data/a.jsonl": 1})
    monkeypatch.chdir(tmp_path)
    assert expand("data/*.jsonl") == ["data/a.jsonl", "data/b.jsonl"]
    assert expand("*/a.jsonl") == ["data/a.jsonl"]
    assert expand("data") == [os.path.join("data", "a.jsonl"), os.path.join("data", "b.jsonl")]


def test_nothing_outside_of_the_root(tmp_path: Path) -> None:
    inner = tmp_path / "project"
    write_layout(str(tmp_path), {"outside.jsonl": 1, "project/a.jsonl": 2, "project/link.jsonl": "-> ../outside.jsonl"})
    assert names(inner, expand(str(inner), root=str(inner))) == ["a.jsonl"]
    assert names(inner, expand(str(inner))) == ["a.jsonl", "link.jsonl"]
    assert expand(str(inner / ".." / "outside.jsonl"), root=str(inner)) == []
    assert expand(str(inner / ".." / "*.jsonl"), root=str(inner)) == []
    assert splits(str(inner), root=str(inner)) == {}
    assert training_files(str(inner), root=str(inner)) == []
    assert inside(str(inner / "a.jsonl"), str(inner))
    assert not inside(str(inner / "link.jsonl"), str(inner))
    assert not inside(str(tmp_path / "project-2" / "a.jsonl"), str(inner))


def test_a_loop_of_links(tmp_path: Path) -> None:
    write_layout(str(tmp_path), {"a.jsonl": 1, "sub/b.jsonl": 1, "sub/up": "-> ..", "sub/self": "-> self"})
    assert names(tmp_path, expand(str(tmp_path))) == ["a.jsonl", "sub/b.jsonl"]
    assert names(tmp_path, expand(str(tmp_path / "**" / "*.jsonl"))) == ["a.jsonl", "sub/b.jsonl"]


def test_too_many_entries_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_layout(str(tmp_path), {f"{number}.jsonl": 1 for number in range(20)})
    assert len(expand(str(tmp_path))) == 20
    monkeypatch.setattr(folders, "MOST_ENTRIES", 10)
    assert expand(str(tmp_path)) == []
    assert expand(str(tmp_path / "*.jsonl")) == []
    assert count(str(tmp_path)) is None


def test_one_unknown_file_makes_the_folder_unknown(tmp_path: Path) -> None:
    write_layout(str(tmp_path), {"a.jsonl": 1, "b.jsonl": 2})
    assert count(str(tmp_path)).rows == 3  # type: ignore[union-attr]
    (tmp_path / "c.jsonl").write_bytes(b"\xff\xfe{}")
    assert count(str(tmp_path)) is None


def test_messages_of_a_folder(tmp_path: Path) -> None:
    chat = '{"messages": [{"role": "user"}, {"role": "assistant"}]}\n'
    write_layout(str(tmp_path), {"a.jsonl": chat, "b.jsonl": chat * 2})
    found = count(str(tmp_path))
    assert found is not None
    assert (found.rows, found.messages, found.assistant_turns, found.shape) == (3, 6, 3, "messages")
    write_layout(str(tmp_path), {"c.jsonl": 1})
    found = count(str(tmp_path))
    assert found is not None
    assert (found.rows, found.messages, found.shape) == (4, None, "messages")


def test_a_dataset_saved_to_disk(tmp_path: Path) -> None:
    binary = Path(__file__).parent / "binary"
    for name in ("data-00000-of-00002.arrow", "data-00001-of-00002.arrow", "cache-1234.arrow"):
        (tmp_path / name).write_bytes((binary / "chats-stream.arrow").read_bytes())
    write_layout(
        str(tmp_path),
        {
            "dataset_info.json": "{}",
            "state.json": '{"_data_files": [{"filename": "data-00000-of-00002.arrow"},'
            ' {"filename": "data-00001-of-00002.arrow"}], "_fingerprint": "x", "_split": "train"}',
        },
    )
    assert count(str(tmp_path)).rows == 40  # type: ignore[union-attr]
    for state in ('{"_data_files": [{"filename": "../x.arrow"}]}', "[", "[]", '{"_data_files": [1]}'):
        write_layout(str(tmp_path), {"state.json": state})
        splits(str(tmp_path))
        assert ".." not in "".join(training_files(str(tmp_path)))


def test_several_splits_saved_to_disk(tmp_path: Path) -> None:
    data = (Path(__file__).parent / "binary" / "chats-stream.arrow").read_bytes()
    for split in ("train", "test"):
        write_layout(str(tmp_path / split), {"state.json": "{}", "dataset_info.json": "{}"}) if (
            (tmp_path / split).mkdir() is None
        ) else None
        (tmp_path / split / "data-00000-of-00001.arrow").write_bytes(data)
    write_layout(str(tmp_path), {"dataset_dict.json": '{"splits": ["train", "test"]}'})
    assert count(str(tmp_path)).rows == 20  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "pattern", ["[", "[]", "[!", "[z-a].jsonl", "**/**/**", "*" * 50 + ".jsonl", "\\*.jsonl", "?" * 30]
)
def test_odd_patterns(tmp_path: Path, pattern: str) -> None:
    write_layout(str(tmp_path), {"a.jsonl": 1, "sub/" + "b" * 100 + ".jsonl": 1})
    found = expand(os.path.join(tmp_path, pattern))
    assert all(os.path.isfile(path) for path in found)
