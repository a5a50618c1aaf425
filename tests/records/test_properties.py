"""Counts against the plain loop that everybody writes, on made-up files."""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from epochlint.records import count, digest, duplicates, iterate, record_tokens, tally, text_length

texts = st.text(st.characters(codec="utf-8"), max_size=20)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**20), 10**20) | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
messages = st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": texts})
records = st.dictionaries(texts, values, max_size=4) | st.fixed_dictionaries(
    {"messages": st.lists(messages, max_size=5)}
)
blanks = st.sampled_from(["", "", "", "\n", "\r\n", "  \n", "\t\r\n", "\n\n\n"])
ends = st.sampled_from(["\n", "\r\n"])


def write(text: str | bytes, ending: str) -> str:
    number, path = tempfile.mkstemp(suffix=ending)
    with os.fdopen(number, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode("utf-8"))
    return path


def check(text: str, ending: str, rows: list[Any]) -> None:
    path = write(text, ending)
    try:
        found = count(path)
        assert found is not None
        assert found.rows == len(rows)
        assert found.problems == ()
        assert count(path, turns=False).rows == len(rows)  # type: ignore[union-attr]
        assert [row.value for row in iterate(path)] == rows
        if found.messages is not None and all("messages" in row for row in rows):
            assert found.messages == sum(len(row["messages"]) for row in rows)
            assert found.assistant_turns == sum(m["role"] == "assistant" for row in rows for m in row["messages"])
        lines = text.split("\n")
        for row in iterate(path):
            assert lines[row.line - 1][row.column - 1] == "{"
            if "\n" not in json.dumps(row.value, indent=None):
                assert row.length >= 2
    finally:
        os.unlink(path)


@given(st.lists(st.tuples(blanks, records, st.booleans(), ends), max_size=8), blanks, st.booleans(), st.booleans())
def test_json_lines(rows: list[tuple[str, Any, bool, str]], tail: str, last_end: bool, bom: bool) -> None:
    text = "\ufeff" if bom else ""
    for index, (blank, record, escaped, end) in enumerate(rows):
        text += blank + json.dumps(record, ensure_ascii=escaped)
        text += end if last_end or index < len(rows) - 1 else ""
    if last_end:
        text += tail
    path = write(text, ".jsonl")
    try:
        naive = sum(1 for line in text.removeprefix("\ufeff").split("\n") if line.strip(" \t\r"))
        found = count(path)
        assert found is not None
        assert found.rows == naive == len(rows)
        assert count(path, turns=False).rows == naive  # type: ignore[union-attr]
        assert [row.value for row in iterate(path)] == [record for _, record, _, _ in rows]
    finally:
        os.unlink(path)


@given(
    st.lists(records, max_size=8), st.sampled_from([None, 0, 1, 4]), st.booleans(), st.sampled_from(["", "\n", " \n "])
)
def test_json_arrays(rows: list[Any], indent: int | None, escaped: bool, around: str) -> None:
    check(around + json.dumps(rows, indent=indent, ensure_ascii=escaped) + around, ".json", rows)


@given(st.lists(records, min_size=1, max_size=5), st.sampled_from([1, 2]))
def test_pretty_printed_records(rows: list[Any], indent: int) -> None:
    check("\n".join(json.dumps(row, indent=indent) for row in rows), ".jsonl", rows)


@given(st.binary(max_size=300), st.sampled_from([".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".arrow", ""]))
def test_any_bytes(data: bytes, ending: str) -> None:
    path = write(data, ending)
    try:
        found = count(path, detail=True)
        assert found is None or found.rows >= 0
        assert len(list(iterate(path))) >= 0
        count(path, max_bytes=max(1, len(data) // 2))
    finally:
        os.unlink(path)


@given(st.text(st.sampled_from('{}[]",:ab1 \\\n\r\tn'), max_size=60), st.sampled_from([".jsonl", ".json"]))
def test_almost_json(text: str, ending: str) -> None:
    path = write(text, ending)
    try:
        for row in iterate(path):
            assert row.line <= text.count("\n") + 1
            assert row.column >= 1
            if row.problem is not None:
                assert row.problem.column >= 1
        count(path)
        count(path, turns=False)
    finally:
        os.unlink(path)


@given(
    st.lists(st.sampled_from(["a", "b", "", " ", "c d", '"', "\r"]), max_size=20), st.sampled_from(["\n", "\r\n", "\r"])
)
def test_lines_of_text(lines: list[str], end: str) -> None:
    text = end.join(lines)
    path = write(text, ".txt")
    try:
        with open(path, encoding="utf-8") as file:
            naive = sum(1 for _ in file)
        assert count(path).rows == naive  # type: ignore[union-attr]
        assert len(list(iterate(path))) == naive
    finally:
        os.unlink(path)


@given(st.lists(records, max_size=12), st.lists(st.integers(0, 11), max_size=6))
def test_duplicates_are_counted_like_a_set_of_them(rows: list[Any], again: list[int]) -> None:
    rows = rows + [rows[index] for index in again if index < len(rows)]
    path = write("\n".join(json.dumps(row) for row in rows), ".jsonl")
    try:
        found = duplicates(path)
        unique = len({json.dumps(row, sort_keys=True) for row in rows})
        if not rows:
            assert found is None
        else:
            assert found is not None
            assert (found.rows, found.unique) == (len(rows), unique)
    finally:
        os.unlink(path)


@given(values)
def test_any_value_has_a_shape_a_digest_and_a_length(value: Any) -> None:
    shape, number, turns = tally(value)
    assert isinstance(shape, str)
    assert (number is None) == (turns is None)
    assert digest(value) == digest(json.loads(json.dumps(value)))
    low, high = record_tokens(value)
    assert 0 <= low <= high
    assert text_length(value) >= 0
