"""Our counts against what the real `datasets` loaders said (datasets_rows.json, made by
tests/conformance/recorders/datasets_rows.py)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from epochlint.records import Count, combine, count, expand, iterate, splits
from tests.records.row_cases import cases, folders, globs, write_layout

HERE = Path(__file__).parent
RECORDED: dict[str, Any] = json.loads((HERE / "datasets_rows.json").read_text(encoding="utf-8"))
CASES = cases()

OLDER: dict[str, Any] = json.loads((HERE / "datasets_rows_2.20.0.json").read_text(encoding="utf-8"))

KNOWN_OTHERWISE = {"configs-in-readme": "the README's configurations decide; we do not read them, and stay silent"}


@pytest.fixture
def write(tmp_path: Path):
    def write(key: str) -> str:
        path = tmp_path / CASES[key].name
        path.write_bytes(CASES[key].data)
        return str(path)

    return write


def test_the_recording_covers_the_cases() -> None:
    assert RECORDED["cases"].keys() == CASES.keys()
    assert RECORDED["folders"].keys() == folders().keys()
    assert RECORDED["globs"].keys() == globs().keys()
    assert sum(result["rows"] is not None for result in RECORDED["cases"].values()) > 100


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("turns", [True, False])
def test_rows(key: str, turns: bool, write: Any) -> None:
    field = CASES[key].options.get("field")
    found = count(write(key), field=field, turns=turns)
    expected = RECORDED["cases"][key]["rows"]
    if expected is not None:
        assert isinstance(found, Count)
        assert found.rows == expected
        assert not found.estimated
    # what the loader refuses is unknown, or a count of lines with their problems: never a traceback


@pytest.mark.parametrize("key", CASES)
def test_rows_of_an_older_loader(key: str, write: Any) -> None:
    # it refuses some files that the newest reads, and the other way round; where it loads a file it has our rows
    expected = OLDER["cases"][key]["rows"]
    if expected is not None:
        found = count(write(key), field=CASES[key].options.get("field"))
        assert found is not None
        assert found.rows == expected


def test_older_folders() -> None:
    # links to files inside of folders are followed since a later version
    for part in ("folders", "globs"):
        older = {key: result["rows"] for key, result in OLDER[part].items()}
        newest = {key: result["rows"] for key, result in RECORDED[part].items()}
        assert older == newest | ({"linked-file": {"train": 3}} if part == "folders" else {})


@pytest.mark.parametrize("key", CASES)
def test_iterate_yields_as_many(key: str, write: Any) -> None:
    rows = list(iterate(write(key), field=CASES[key].options.get("field")))
    expected = RECORDED["cases"][key]["rows"]
    if expected is not None:
        assert len(rows) == expected
        assert [row.line for row in rows] == sorted(row.line for row in rows)


@pytest.mark.parametrize(
    "key",
    [
        "json-array-cut", "json-array-trailing-comma", "json-array-garbage-after", "jsonl-trailing-commas",
        "jsonl-gz-cut", "jsonl-utf16", "csv-quote-unclosed", "csv-long-row", "csv-empty", "csv-invalid-utf8",
        "txt-invalid-utf8", "json-data-field-missing",
    ],
)  # fmt: skip
def test_what_the_loader_refuses_whole_is_unknown(key: str, write: Any) -> None:
    assert RECORDED["cases"][key]["rows"] is None
    assert count(write(key), field=CASES[key].options.get("field")) is None


@pytest.mark.parametrize("key", folders())
def test_folders(key: str, tmp_path: Path) -> None:
    write_layout(str(tmp_path), folders()[key])
    found = {split: combine(split, map(count, files)) for split, files in splits(str(tmp_path)).items()}
    expected = RECORDED["folders"][key]["rows"]
    if key in KNOWN_OTHERWISE or expected is None:
        assert found == {}
        assert count(str(tmp_path)) is None
        return
    assert {split: part and part.rows for split, part in found.items()} == expected
    whole = count(str(tmp_path))
    if "train" in expected or len(expected) == 1:
        assert whole is not None
        assert (whole.rows, whole.format) == (expected.get("train", sum(expected.values())), "folder")


@pytest.mark.parametrize("key", globs())
def test_globs(key: str, tmp_path: Path) -> None:
    layout, patterns = globs()[key]
    write_layout(str(tmp_path), layout)
    total = 0
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        files = expand(os.path.join(tmp_path, pattern))
        assert files == sorted(files)
        part = combine(pattern, map(count, files))
        total += part.rows if part else 0
    assert total == ((RECORDED["globs"][key]["rows"] or {}).get("train", 0))


@pytest.mark.parametrize("name", RECORDED["binary"])
def test_parquet_and_arrow(name: str) -> None:
    found = count(str(HERE / "binary" / name))
    assert found is not None
    assert found.rows == RECORDED["binary"][name]["rows"]
    if found.messages is not None:
        assert found.messages == RECORDED["binary"][name]["messages"]


@pytest.mark.parametrize(
    ("name", "shape", "messages"),
    [
        ("chats.parquet", "messages", 78), ("chats-groups.parquet", "messages", 78),
        ("chats-holes.parquet", "messages", 30), ("chats-no-statistics.parquet", "messages", None),
        ("sharegpt.parquet", "sharegpt", 12), ("alpaca.parquet", "alpaca", None), ("labelled.parquet", "kto", None),
        ("ids.parquet", "tokenized", None), ("chats-stream.arrow", "messages", None),
        ("chats-before-0.15.arrow", "sharegpt", None), ("words-dictionary.arrow", "text", None),
        ("alpaca-feather.arrow", "alpaca", None),
    ],
)  # fmt: skip
def test_shapes_of_parquet_and_arrow(name: str, shape: str, messages: int | None) -> None:
    found = count(str(HERE / "binary" / name))
    assert found is not None
    assert (found.shape, found.messages, found.assistant_turns) == (shape, messages, None)
