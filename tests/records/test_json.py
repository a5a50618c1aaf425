"""JSON and JSON Lines: places, problems, values."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from epochlint.records import Problem, count, iterate

GOOD = '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}'


def put(folder: Path, text: str | bytes, name: str = "data.jsonl") -> str:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return str(path)


def test_places_of_lines(tmp_path: Path) -> None:
    path = put(tmp_path, '\n{"a": 1}\r\n  {"a": "\u00e9"}\n\n\n{"a": 3} {"a": 4}')
    rows = [(row.line, row.column, row.value, row.length) for row in iterate(path)]
    assert rows == [(2, 1, {"a": 1}, 8), (3, 3, {"a": "\u00e9"}, 10), (6, 1, {"a": 3}, 8), (6, 10, {"a": 4}, 8)]


def test_places_in_an_array(tmp_path: Path) -> None:
    path = put(tmp_path, '[\n  {"a": 1},\n  {"a":\n    2}\n  ,{"a": 3}, {"a": 4}\n]\n', "data.json")
    assert [(row.line, row.column, row.value["a"]) for row in iterate(path)] == [
        (2, 3, 1), (3, 3, 2), (5, 4, 3), (5, 14, 4),
    ]  # fmt: skip


def test_places_of_pretty_printed_records(tmp_path: Path) -> None:
    path = put(tmp_path, '{\n "a": 1\n}\n{\n "a": 2\n}\n')
    assert [(row.line, row.value) for row in iterate(path)] == [(1, {"a": 1}), (4, {"a": 2})]


@pytest.mark.parametrize(
    ("line", "column", "reason"),
    [
        ('{"a": 1', 8, "the record breaks off"),
        ('{"a": 1}}', 9, "expecting a value"),
        ('{"a": 1} x', 10, "expecting a value"),
        ("{'a': 1}", 2, "expecting a key in double quotes"),
        ('{"a": "x}', 10, "a line break inside a text"),
        ('{"a": "x\ty"}', 9, "a control character"),
        ('{"a" 1}', 6, "expecting ':' delimiter"),
        ('{"a": 1 "b": 2}', 9, "expecting ',' delimiter"),
        ('{"a": "\\x"}', 8, "invalid \\escape"),
        ('{"a": ' + "[" * 100_000 + "]" * 100_000 + "}", 1, "nested too deeply"),
        ("7", 1, "the record is no object"),
        ('"text"', 1, "the record is no object"),
        ("nothing", 1, "expecting a value"),
    ],
)
def test_a_broken_line_is_one_row_with_its_place(tmp_path: Path, line: str, column: int, reason: str) -> None:
    path = put(tmp_path, f"{GOOD}\n{line}\n{GOOD}\n{GOOD}\n")
    found = count(path)
    assert found is not None
    assert (found.rows, found.problems) == (4, (Problem(2, column, reason),))
    assert (found.messages, found.assistant_turns) == (6, 3)
    rows = list(iterate(path))
    assert [row.line for row in rows] == [1, 2, 3, 4]
    assert [row.problem for row in rows] == [None, Problem(2, column, reason), None, None]


def test_a_broken_last_line(tmp_path: Path) -> None:
    found = count(put(tmp_path, f'{GOOD}\n{GOOD}\n{{"messages": [{{"role"'))
    assert found is not None
    assert (found.rows, found.problems) == (3, (Problem(3, 22, "the record breaks off"),))


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    found = count(put(tmp_path, b'{"text": "a"}\n{"text": "f\xfcr"}\n{"text": "\xc3\xbc"}\n'))
    assert found is not None
    assert (found.rows, found.shape, found.problems) == (3, "text", (Problem(2, 12, "not valid UTF-8"),))


def test_bytes_that_are_no_utf8_in_an_array(tmp_path: Path) -> None:
    found = count(put(tmp_path, b'[{"text": "a"},\n {"text": "f\xfcr"}]', "data.json"))
    assert found is not None
    assert (found.rows, found.problems) == (2, (Problem(2, 13, "not valid UTF-8"),))


def test_problems_are_capped(tmp_path: Path) -> None:
    found = count(put(tmp_path, "{bad}\n" * 500 + f"{GOOD}\n" * 10))
    assert found is not None
    assert (found.rows, len(found.problems)) == (510, 100)
    assert found.problems[99].line == 100


def test_lines_of_a_broken_document_are_no_records(tmp_path: Path) -> None:
    text = json.dumps({"a": [1, 2], "b": {"c": 1}}, indent=1).replace("2", "2,")
    assert count(put(tmp_path, text)) is None
    assert next(iterate(put(tmp_path, text))).value is None


def test_a_long_file_is_not_read_as_spread_values(tmp_path: Path) -> None:
    # where the loader's parser cuts such a file decides what becomes of it
    record = json.dumps({"a": ["x" * 20] * 20}, indent=1) + "\n"
    assert count(put(tmp_path, record * 10)).rows == 10  # type: ignore[union-attr]
    assert count(put(tmp_path, record * 2000, "long.jsonl")) is None


def test_many_pretty_printed_records(tmp_path: Path) -> None:
    path = put(tmp_path, '{\n "a": 1\n}\n' * 1000)
    assert [row.line for row in iterate(path)] == list(range(1, 3001, 3))


def test_whole_numbers_too_long_for_python(tmp_path: Path) -> None:
    found = count(put(tmp_path, '{"a": %s}\n{"a": 1}\n' % ("9" * 5000)))
    assert found is not None
    assert (found.rows, found.problems) == (2, ())


def test_a_record_over_several_blocks(tmp_path: Path) -> None:
    long = json.dumps({"text": "x\u00e9" * 3_000_000}, ensure_ascii=False)
    path = put(tmp_path, f"{GOOD}\n{long}\n{GOOD}\n")
    assert [(row.line, row.length) for row in iterate(path)] == [(1, len(GOOD)), (2, len(long)), (3, len(GOOD))]
    assert count(path).rows == count(path, turns=False).rows == 3  # type: ignore[union-attr]
    array = put(tmp_path, f"[{GOOD},\n{long},{GOOD}]", "data.json")
    assert [(row.line, row.column) for row in iterate(array)] == [(1, 2), (2, 1), (2, len(long) + 2)]
    assert count(array).rows == 3  # type: ignore[union-attr]


def test_an_array_cut_by_blocks_at_every_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import epochlint.records.json_stream as json_stream

    monkeypatch.setattr(json_stream, "BLOCK", 7)
    rows = [{"n": 123456789, "s": 'a\u00e9\\"\u1234\U0001f600', "t": True, "f": -1.5e10, "z": None}] * 9
    path = put(tmp_path, json.dumps(rows, ensure_ascii=False), "a.json")
    assert [row.value for row in iterate(path)] == rows
    path = put(tmp_path, json.dumps(rows, indent=1), "b.json")
    assert [row.value for row in iterate(path)] == rows
    path = put(tmp_path, "\n\n".join(json.dumps(row) for row in rows), "c.jsonl")
    assert [row.value for row in iterate(path)] == rows


def test_a_field(tmp_path: Path) -> None:
    path = put(tmp_path, '{"version": {"a": [1]}, "data": [\n{"text": "a"},\n{"text": "b"}]}', "data.json")
    assert count(path).rows == 1  # type: ignore[union-attr]
    assert count(path, field="data").rows == 2  # type: ignore[union-attr]
    assert [(row.line, row.value["text"]) for row in iterate(path, field="data")] == [(2, "a"), (3, "b")]
    assert count(path, field="nothing") is None


def test_reading_can_stop_early(tmp_path: Path) -> None:
    path = put(tmp_path, f"{GOOD}\n" * 5)
    first = next(iterate(path))
    assert (first.line, first.column, first.length) == (1, 1, len(GOOD))
    assert len(list(iterate(path, max_bytes=2 * len(GOOD) + 5))) == 2


def test_what_only_the_reader_of_datasets_refuses(tmp_path: Path) -> None:
    lines = [
        '{"a": "\\ud83d\\ude00"}',
        '{"a": "cut \\ud83d"}',
        '{"a": "\\\\ud83d"}',
        '{"\\ude00": 1}',
        '{"a": 1, "b": {"c": 1, "c": 2}}',
        '{"a": 1}',
    ]
    path = tmp_path / "odd.jsonl"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = count(str(path))
    assert found is not None
    assert found.rows == len(lines)
    assert [(problem.line, problem.arrow) for problem in found.problems] == [(2, True), (4, True), (5, True)]
    assert "the key c stands there twice" in found.problems[2].reason
