"""Small data files with something odd in them. Shared by the test that counts them and by the recorder
(tests/conformance/recorders/datasets_rows.py) that asks the real `datasets` loaders how many rows each has."""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any, NamedTuple


class Case(NamedTuple):
    """One file: its name (the ending decides the loader), its bytes, and the loader's own options."""

    name: str
    data: bytes
    options: Mapping[str, Any] = {}


BOM = b"\xef\xbb\xbf"


def _rows(number: int, end: bytes = b"\n") -> bytes:
    return b"".join(b'{"text": "row %d"}' % i + end for i in range(number))


def _chat(number: int) -> list[dict[str, Any]]:
    return [
        {"messages": [{"role": "user", "content": f"q{i}"}, {"role": "assistant", "content": f"a{i}"}]}
        for i in range(number)
    ]


def _pretty(value: Any) -> bytes:
    return json.dumps(value, indent=2).encode()


def cases() -> dict[str, Case]:
    """Every case by its key."""
    chat = _chat(3)
    chat_lines = b"\n".join(json.dumps(row).encode() for row in chat) + b"\n"
    found: dict[str, Case] = {}

    def add(key: str, ending: str, data: bytes, **options: Any) -> None:
        found[key] = Case(f"data.{ending}", data, options)

    # JSON Lines
    add("jsonl-plain", "jsonl", _rows(5))
    add("jsonl-no-final-newline", "jsonl", _rows(5)[:-1])
    add("jsonl-blank-lines", "jsonl", b"\n" + _rows(2) + b"\n\n" + _rows(3) + b"\n\n")
    add("jsonl-blank-with-spaces", "jsonl", b"  \n" + _rows(2) + b" \t \n" + _rows(1) + b"   ")
    add("jsonl-form-feed-line", "jsonl", _rows(2) + b"\x0c\n" + _rows(1))
    add("jsonl-vertical-tab-line", "jsonl", _rows(2) + b"\x0b\n" + _rows(1))
    add("jsonl-nbsp-line", "jsonl", _rows(2) + "\u00a0\n".encode() + _rows(1))
    add("jsonl-crlf", "jsonl", _rows(5, b"\r\n"))
    add("jsonl-crlf-blank", "jsonl", _rows(2, b"\r\n") + b"\r\n\r\n" + _rows(2, b"\r\n"))
    add("jsonl-cr-only", "jsonl", _rows(4, b"\r"))
    add("jsonl-bom", "jsonl", BOM + _rows(4))
    add("jsonl-bom-crlf-blank", "jsonl", BOM + b"\r\n" + _rows(4, b"\r\n"))
    add("jsonl-bom-only", "jsonl", BOM)
    add("jsonl-empty", "jsonl", b"")
    add("jsonl-one-newline", "jsonl", b"\n")
    add("jsonl-spaces-only", "jsonl", b"  \n  \n")
    add("jsonl-null-line", "jsonl", _rows(2) + b"null\n" + _rows(1))
    add("jsonl-null-first", "jsonl", b"null\n" + _rows(2))
    add("jsonl-number-line", "jsonl", _rows(2) + b"7\n")
    add("jsonl-string-lines", "jsonl", b'"a"\n"b"\n')
    add("jsonl-array-lines", "jsonl", b'[{"role": "user", "content": "q"}]\n[{"role": "user", "content": "r"}]\n')
    add("jsonl-array-later", "jsonl", _rows(2) + b'[{"a": 1}]\n')
    add("jsonl-one-line-array", "jsonl", b'[{"a": 1}, {"a": 2}, {"a": 3}]\n')
    add("jsonl-one-line-array-bom", "jsonl", BOM + b'[{"a": 1}, {"a": 2}, {"a": 3}]\n')
    add("jsonl-one-line-array-leading-newline", "jsonl", b'\n[{"a": 1}, {"a": 2}, {"a": 3}]\n')
    add("jsonl-two-on-a-line", "jsonl", b'{"a": 1}{"a": 2}\n{"a": 3}\n')
    add("jsonl-two-on-a-line-spaced", "jsonl", b'{"a": 1} {"a": 2}\n{"a": 3}\n')
    add("jsonl-two-on-a-line-comma", "jsonl", b'{"a": 1}, {"a": 2}\n{"a": 3}\n')
    add("jsonl-trailing-commas", "jsonl", b'{"a": 1},\n{"a": 2},\n')
    add("jsonl-pretty-two", "jsonl", _pretty(chat[0]) + b"\n" + _pretty(chat[1]) + b"\n")
    add("jsonl-pretty-one", "jsonl", _pretty(chat[0]))
    add("jsonl-broken-middle", "jsonl", _rows(2) + b'{"text": "x\n' + _rows(2))
    add("jsonl-broken-last", "jsonl", _rows(3) + b'{"text": "x')
    add("jsonl-garbage-after", "jsonl", _rows(2) + b'{"text": "x"} y\n')
    add("jsonl-empty-objects", "jsonl", b"{}\n{}\n{}\n")
    add("jsonl-empty-object-between", "jsonl", _rows(1) + b"{}\n" + _rows(1))
    add("jsonl-line-separators", "jsonl", '{"text": "a\u2028b\u2029c\u0085d"}\n{"text": "e"}\n'.encode())
    add("jsonl-cr-in-line", "jsonl", b'{"text": "a"}\r{"text": "b"}\n{"text": "c"}\n')
    add("jsonl-raw-newline-in-string", "jsonl", b'{"text": "a\nb"}\n{"text": "c"}\n')
    add("jsonl-raw-tab-in-string", "jsonl", b'{"text": "a\tb"}\n{"text": "c"}\n')
    add("jsonl-nul-in-string", "jsonl", b'{"text": "a\x00b"}\n{"text": "c"}\n')
    add("jsonl-nul-line", "jsonl", _rows(2) + b"\x00\n" + _rows(1))
    add("jsonl-escaped-nul", "jsonl", b'{"text": "a\\u0000b"}\n{"text": "c"}\n')
    add("jsonl-invalid-utf8", "jsonl", b'{"text": "a\xff"}\n{"text": "c"}\n')
    add("jsonl-latin1", "jsonl", '{"text": "für"}\n{"text": "c"}\n'.encode("latin-1"))
    add("jsonl-lone-surrogate", "jsonl", b'{"text": "\\ud800"}\n{"text": "c"}\n')
    add("jsonl-nan", "jsonl", b'{"x": NaN}\n{"x": 1.0}\n')
    add("jsonl-infinity", "jsonl", b'{"x": Infinity}\n{"x": -Infinity}\n')
    add("jsonl-single-quotes", "jsonl", b"{'text': 'a'}\n{'text': 'b'}\n")
    add("jsonl-comment-line", "jsonl", b"# made by hand\n" + _rows(2))
    add("jsonl-long-int", "jsonl", b'{"x": ' + b"9" * 30 + b'}\n{"x": 1}\n')
    add("jsonl-very-long-int", "jsonl", b'{"x": ' + b"9" * 5000 + b'}\n{"x": 1}\n')
    add("jsonl-deep", "jsonl", b'{"x": ' + b"[" * 500 + b"]" * 500 + b'}\n{"x": []}\n')
    add("jsonl-duplicate-keys", "jsonl", b'{"a": 1, "a": 2}\n{"a": 3}\n')
    add("jsonl-other-keys", "jsonl", b'{"a": 1}\n{"b": 2}\n{"c": 3}\n')
    add("jsonl-mixed-types", "jsonl", b'{"a": 1}\n{"a": "x"}\n{"a": [1]}\n')
    add("jsonl-mixed-content", "jsonl", b'{"m": [{"c": "x"}]}\n{"m": [{"c": [{"type": "text"}]}]}\n')
    add("jsonl-null-values", "jsonl", b'{"a": null}\n{"a": null}\n')
    add("jsonl-leading-space", "jsonl", b'  {"a": 1}\n\t{"a": 2}\n')
    add("jsonl-chat", "jsonl", chat_lines)
    add("jsonl-utf16", "jsonl", _rows(2).decode().encode("utf-16"))
    add("jsonl-gz", "jsonl.gz", gzip.compress(_rows(5), mtime=0))
    add("jsonl-gz-named-jsonl", "jsonl", gzip.compress(_rows(5), mtime=0))
    add("jsonl-gz-two-members", "jsonl.gz", gzip.compress(_rows(5), mtime=0) + gzip.compress(_rows(2), mtime=0))
    add("jsonl-gz-cut", "jsonl.gz", gzip.compress(_rows(500), mtime=0)[:-20])
    add("jsonl-ends-without-object", "jsonl", _rows(2) + b"{")

    # one JSON document
    add("json-lines", "json", _rows(5))
    add("json-lines-blank", "json", _rows(2) + b"\n\n" + _rows(3))
    add("json-array", "json", json.dumps(chat).encode())
    add("json-array-pretty", "json", _pretty(chat))
    add("json-array-crlf", "json", _pretty(chat).replace(b"\n", b"\r\n"))
    add("json-array-bom", "json", BOM + _pretty(chat))
    add("json-array-leading-newline", "json", b"\n" + _pretty(chat))
    add("json-array-leading-space", "json", b"  " + json.dumps(chat).encode())
    add("json-array-trailing-newlines", "json", _pretty(chat) + b"\n\n\n")
    add("json-array-trailing-comma", "json", b'[{"a": 1}, {"a": 2},]')
    add("json-array-garbage-after", "json", b'[{"a": 1}, {"a": 2}] x')
    add("json-array-cut", "json", b'[{"a": 1}, {"a": 2}')
    add("json-array-empty", "json", b"[]")
    add("json-array-empty-object", "json", b"[{}]")
    add("json-array-empty-objects", "json", b"[{}, {}]")
    add("json-array-strings", "json", b'["a", "b", "c"]')
    add("json-array-numbers", "json", b"[1, 2, 3]")
    add("json-array-arrays", "json", b"[[1, 2], [3, 4], [5, 6]]")
    add("json-array-array-objects", "json", b'[[{"a": 1}], [{"a": 2}]]')
    add("json-array-nulls", "json", b"[null, null]")
    add("json-array-null-between", "json", b'[{"a": 1}, null, {"a": 2}]')
    add("json-array-null-first", "json", b'[null, {"a": 1}, {"a": 2}]')
    add("json-array-string-between", "json", b'[{"a": 1}, "x"]')
    add("json-array-other-keys", "json", b'[{"a": 1}, {"b": 2}]')
    add("json-array-mixed-types", "json", b'[{"a": 1}, {"a": "x"}]')
    add("json-array-two", "json", b'[{"a": 1}]\n[{"a": 2}]\n')
    add("json-empty", "json", b"")
    add("json-null", "json", b"null")
    add("json-number", "json", b"5")
    add("json-string", "json", b'"x"')
    add("json-object-one-line", "json", b'{"a": 1, "b": "x"}')
    add("json-object-pretty-scalars", "json", _pretty({"a": 1, "b": "x"}))
    add("json-object-pretty-one-list", "json", _pretty({"messages": [1, 2, 3]}))
    add("json-object-pretty-record", "json", _pretty(chat[0]))
    add("json-object-pretty-lists", "json", _pretty({"a": [1, 2, 3], "b": ["x", "y", "z"]}))
    add("json-object-pretty-uneven", "json", _pretty({"a": [1, 2, 3], "b": [1]}))
    add("json-object-pretty-list-and-scalar", "json", _pretty({"version": "v1", "data": [{"a": 1}, {"a": 2}]}))
    add("json-object-pretty-columns", "json", _pretty({"a": {"0": 1, "1": 2}, "b": {"0": "x", "1": "y"}}))
    add("json-object-pretty-columns-other", "json", _pretty({"a": {"0": 1, "1": 2}, "b": {"1": "x", "2": "y"}}))
    add("json-object-pretty-dict-and-scalar", "json", _pretty({"a": {"x": 1, "y": 2}, "b": 5}))
    add("json-object-pretty-dict-and-list", "json", _pretty({"a": {"x": 1, "y": 2}, "b": [5, 6]}))
    add("json-object-pretty-splits", "json", _pretty({"train": [{"a": 1}, {"a": 2}], "test": [{"a": 3}, {"a": 4}]}))
    add("json-object-pretty-empty-list", "json", _pretty({"data": []}))
    add("json-object-empty", "json", b"{}")
    add("json-object-two-pretty", "json", _pretty(chat[0]) + b"\n" + _pretty(chat[1]))
    add("json-object-split-over-two-lines", "json", b'{"a": 1,\n "b": 2}\n')
    add("json-columns-one-line", "json", b'{"a": [1, 2, 3], "b": ["x", "y", "z"]}')
    add("json-data-one-line", "json", b'{"data": [{"a": 1}, {"a": 2}]}')
    add("json-data-field", "json", b'{"data": [{"a": 1}, {"a": 2}]}', field="data")
    add("json-data-field-pretty", "json", _pretty({"version": "1", "data": [{"a": 1}, {"a": 2}]}), field="data")
    add("json-data-field-columns", "json", b'{"data": {"a": [1, 2, 3]}}', field="data")
    add("json-data-field-strings", "json", b'{"data": ["a", "b"]}', field="data")
    add("json-data-field-missing", "json", b'{"data": [{"a": 1}]}', field="rows")
    add("json-split-orient", "json", _pretty({"columns": ["a"], "index": [0, 1], "data": [[1], [2]]}))
    add("json-two-lines-second-broken", "json", b'{"a": 1}\n{"a": }\n')

    # CSV
    add("csv-plain", "csv", b"a,b\n1,2\n3,4\n")
    add("csv-no-final-newline", "csv", b"a,b\n1,2\n3,4")
    add("csv-blank-lines", "csv", b"\na,b\n\n1,2\n\n3,4\n\n")
    add("csv-space-line", "csv", b"a,b\n1,2\n   \n3,4\n")
    add("csv-comma-line", "csv", b"a,b\n1,2\n,\n3,4\n")
    add("csv-crlf", "csv", b"a,b\r\n1,2\r\n\r\n3,4\r\n")
    add("csv-cr", "csv", b"a,b\r1,2\r3,4\r")
    add("csv-bom", "csv", BOM + b"a,b\n1,2\n")
    add("csv-quoted-newline", "csv", b'a,b\n"x\ny",2\n"x\n\nz",4\n')
    add("csv-quoted-quote", "csv", b'a,b\n"x ""y"" z",2\n"",4\n')
    add("csv-quote-inside", "csv", b'a,b\n5" disk,2\nx,4\n')
    add("csv-quote-after-space", "csv", b'a,b\n1, "x\n2,3\n')
    add("csv-quote-unclosed", "csv", b'a,b\n1,"x\n2,3\n')
    add("csv-text-after-quote", "csv", b'a,b\n"x" y,2\n3,4\n')
    add("csv-header-only", "csv", b"a,b\n")
    add("csv-empty", "csv", b"")
    add("csv-newline-only", "csv", b"\n\n")
    add("csv-short-row", "csv", b"a,b,c\n1,2\n3,4,5\n")
    add("csv-long-row", "csv", b"a,b\n1,2\n3,4,5\n")
    add("csv-long-rows-all", "csv", b"a,b\n1,2,3\n3,4,5\n")
    add("csv-one-column", "csv", b"text\nhello\nworld\n")
    add("csv-one-column-empty-quoted", "csv", b'text\nhello\n""\nworld\n')
    add("csv-duplicate-header", "csv", b"a,a\n1,2\n")
    add("csv-invalid-utf8", "csv", b"a,b\n\xff,2\n")
    add("csv-nul", "csv", b"a,b\n1\x00,2\n3,4\n")
    add("csv-comment", "csv", b"a,b\n# x,1\n2,3\n")
    add("csv-semicolon", "csv", b"a;b\n1;2\n3;4\n")
    add("csv-semicolon-with-comma", "csv", b"a;b\n1,5;2\n3,5;4\n")
    add("csv-big-field", "csv", b"a,b\n" + b"x" * 300_000 + b",2\n")
    add("csv-gz", "csv.gz", gzip.compress(b"a,b\n1,2\n3,4\n", mtime=0))
    add("tsv-plain", "tsv", b"a\tb\n1\t2\n3\t4\n", sep="\t")
    add("tsv-commas-uneven", "tsv", b"a\tb\n1,2,3\t2\n3\t4,5\n", sep="\t")

    # plain text
    add("txt-plain", "txt", b"a\nb\nc\n")
    add("txt-no-final-newline", "txt", b"a\nb\nc")
    add("txt-blank-lines", "txt", b"\na\n\n\nb\n\n")
    add("txt-crlf", "txt", b"a\r\n\r\nb\r\n")
    add("txt-cr", "txt", b"a\rb\rc")
    add("txt-separators", "txt", "a\u2028b\x0bc\x0cd\n".encode())
    add("txt-empty", "txt", b"")
    add("txt-newline-only", "txt", b"\n\n")
    add("txt-bom", "txt", BOM + b"a\nb\n")
    add("txt-invalid-utf8", "txt", b"a\xff\nb\n")
    add("txt-nul", "txt", b"a\x00b\nc\n")
    return found


def folders() -> dict[str, dict[str, Any]]:
    """Folder layouts: path -> number of rows of a JSONL, JSON, CSV or text file, or "-> target" for a symbolic link,
    or a text that the file holds."""
    return {
        "flat": {"a.jsonl": 3, "b.jsonl": 4},
        "train-only": {"train.jsonl": 3},
        "train-and-test": {"train.jsonl": 3, "test.jsonl": 4},
        "train-valid-test": {"train.jsonl": 3, "valid.jsonl": 4, "test.jsonl": 5},
        "train-and-other": {"train.jsonl": 3, "notes.jsonl": 4},
        "validation-words": {"train.jsonl": 3, "dev.jsonl": 4, "val-2.jsonl": 5, "validation.jsonl": 6},
        "eval-and-other": {"eval.jsonl": 3, "mine.jsonl": 4},
        "train-in-the-middle": {"my_train_data.jsonl": 3, "my-test.jsonl": 4},
        "train-twice-in-name": {"train-train.jsonl": 3},
        "training-word": {"training.jsonl": 3, "trainer.jsonl": 4, "xtrain.jsonl": 5},
        "upper-case": {"Train.jsonl": 3, "TEST.jsonl": 4},
        "split-folders": {"train/a.jsonl": 3, "train/b.jsonl": 4, "test/a.jsonl": 5},
        "split-folders-and-files": {"train/a.jsonl": 3, "test.jsonl": 5},
        "split-folders-nested": {"data/train/x/a.jsonl": 3, "data/train-2/a.jsonl": 4, "other/a.jsonl": 5},
        "numbered-shards": {
            "data/train-00000-of-00002.jsonl": 3,
            "data/train-00001-of-00002.jsonl": 4,
            "data/test-00000-of-00001.jsonl": 5,
            "extra.jsonl": 6,
        },
        "numbered-shards-custom": {"data/good-00000-of-00001.jsonl": 3, "data/train-00000-of-00001.jsonl": 4},
        "numbered-shards-on-top": {"train-00000-of-00002.jsonl": 3, "train-00001-of-00002.jsonl": 4},
        "hidden": {"a.jsonl": 3, ".b.jsonl": 4, ".hidden/c.jsonl": 5, "__pycache__/d.jsonl": 6, "sub/e.jsonl": 7},
        "ignored-names": {"a.json": 3, "config.json": 4, "dataset_info.json": 5, "dataset_dict.json": 6},
        "readme": {"a.jsonl": 3, "README.md": "# about\n", "LICENSE": "text", "make.py": "1"},
        "other-markdown": {"a.jsonl": 3, "NOTES.md": "# about\n"},
        "mixed-formats": {"a.jsonl": 3, "b.jsonl": 4, "c.csv": 5},
        "mixed-formats-even": {"a.jsonl": 3, "c.csv": 5},
        "mixed-json-jsonl": {"a.jsonl": 3, "b.json": 4},
        "mixed-txt": {"a.jsonl": 3, "b.txt": 4, "c.txt": 4},
        "mixed-across-splits": {"train.jsonl": 3, "test.csv": 4},
        "zipped": {"a.jsonl.gz": 3, "b.jsonl": 4},
        "configs-in-readme": {
            "a.jsonl": 3,
            "b.jsonl": 4,
            "README.md": "---\nconfigs:\n- config_name: default\n  data_files: a.jsonl\n---\n",
        },
        "linked-file": {"a.jsonl": 3, "b.jsonl": "-> a.jsonl"},
        "linked-folder": {"real/a.jsonl": 3, "again": "-> real"},
        "linked-loop": {"a.jsonl": 3, "sub/b.jsonl": 4, "sub/up": "-> .."},
        "dotted-folder": {"v1.0/a.jsonl": 3, "b.jsonl": 4},
        "space-in-name": {"my train.jsonl": 3, "b c.jsonl": 4},
        "number-after": {"train2.jsonl": 3, "train1.jsonl": 4},
        "empty": {},
        "unsupported": {"a.xyz": "x"},
        "dotted-name": {"a.b.jsonl": 3, "a.csv.jsonl": 4},
        "backup": {"a.jsonl": 3, "a.jsonl.bak": 4, "b.jsonl~": 5},
    }


def globs() -> dict[str, tuple[dict[str, Any], Any]]:
    """A folder layout and the `data_files` pattern (below the folder) given to the loader."""
    layout = {
        "a.jsonl": 3,
        "b.jsonl": 4,
        "sub/c.jsonl": 5,
        "sub/deep/d.jsonl": 6,
        ".h.jsonl": 7,
        "__x__/e.jsonl": 8,
        "sub/test.json": 9,
    }
    return {
        "star": (layout, "*.jsonl"),
        "star-all": (layout, "*"),
        "double-star": (layout, "**/*.jsonl"),
        "double-star-bare": (layout, "**"),
        "double-star-end": (layout, "sub/**"),
        "folder-star": (layout, "*/c.jsonl"),
        "question": (layout, "?.jsonl"),
        "class": (layout, "[ab].jsonl"),
        "class-not": (layout, "[!a].jsonl"),
        "hidden-asked": (layout, ".*.jsonl"),
        "special-asked": (layout, "__*/e.jsonl"),
        "two-patterns": (layout, ["*.jsonl", "a.jsonl"]),
        "none": (layout, "*.nothing"),
        "braces": (layout, "{a,b}.jsonl"),
    }


def write_layout(folder: str, layout: dict[str, Any]) -> None:
    """Makes the files of a layout below an existing folder."""
    import os

    for name, what in layout.items():
        path = os.path.join(folder, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if isinstance(what, str) and what.startswith("-> "):
            os.symlink(what[3:], path)
            continue
        if isinstance(what, str):
            data = what.encode()
        elif ".csv" in name and ".jsonl" not in name:
            data = b"text\n" + b"".join(b"%s %d\n" % (name.encode(), i) for i in range(what))
        elif name.endswith(".txt"):
            data = b"".join(b"%d\n" % i for i in range(what))
        else:
            data = b"".join(b'{"text": "%s %d"}\n' % (name.encode(), i) for i in range(what))
        if name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        with open(path, "wb") as file:
            file.write(data)
