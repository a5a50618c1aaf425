"""CSV, TSV and plain text."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from epochlint.records import count, iterate


def put(folder: Path, text: str, name: str) -> str:
    path = folder / name
    path.write_bytes(text.encode())
    return str(path)


def test_rows_of_a_csv(tmp_path: Path) -> None:
    path = put(tmp_path, 'instruction,output\r\n"a\r\nb",c\r\n\r\nd,"e ""f"""\r\n', "data.csv")
    found = count(path)
    assert found is not None
    assert (found.format, found.rows, found.shape) == ("csv", 2, "alpaca")
    assert [(row.line, row.value) for row in iterate(path)] == [
        (2, {"instruction": "a\r\nb", "output": "c"}),
        (5, {"instruction": "d", "output": 'e "f"'}),
    ]


def test_a_short_row_is_a_row(tmp_path: Path) -> None:
    path = put(tmp_path, "a,b\n1\n2,3\n", "data.csv")
    assert [row.value for row in iterate(path)] == [{"a": "1"}, {"a": "2", "b": "3"}]


def test_a_tab_separated_file(tmp_path: Path) -> None:
    path = put(tmp_path, "text\tsource\na, b\tc\n", "data.tsv")
    assert [row.value for row in iterate(path)] == [{"text": "a, b", "source": "c"}]
    assert count(path).format == "tsv"  # type: ignore[union-attr]


def test_the_field_limit_is_put_back(tmp_path: Path) -> None:
    before = csv.field_size_limit()
    assert count(put(tmp_path, "text\n" + "x" * 300_000 + "\n", "data.csv")).rows == 1  # type: ignore[union-attr]
    rows = iterate(put(tmp_path, "text\na\nb\n", "data.csv"))
    next(rows)
    rows.close()  # type: ignore[attr-defined]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize("text", ["", "\n", '"', 'a,b\n"', "a,b\n1,2\n3,4,5\n"])
def test_what_pandas_refuses_is_unknown(tmp_path: Path, text: str) -> None:
    assert count(put(tmp_path, text, "data.csv")) is None


def test_lines_of_text(tmp_path: Path) -> None:
    path = put(tmp_path, "a\r\n\r\nb\rc", "data.txt")
    assert [(row.line, row.value["text"]) for row in iterate(path)] == [(1, "a"), (2, ""), (3, "b"), (4, "c")]
    found = count(path)
    assert found is not None
    assert (found.format, found.rows, found.shape) == ("text", 4, "text")


def test_a_cut_crlf_is_one_line_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import epochlint.records.tables as tables

    for size in range(1, 9):
        monkeypatch.setattr(tables, "BLOCK", size)
        path = put(tmp_path, "a\r\n\r\nb\r\u00e9\r\n", f"{size}.txt")
        assert count(path).rows == 4  # type: ignore[union-attr]
        path = put(tmp_path, 'a,b\r\n"\r\n\u00e9",1\r\n', f"{size}.csv")
        assert count(path).rows == 1  # type: ignore[union-attr]
