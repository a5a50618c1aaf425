"""Asks the real `datasets` loaders how many rows the files of tests/records/row_cases.py have, and records the numbers.

    python -m venv venv && venv/bin/pip install datasets
    venv/bin/python tests/conformance/recorders/datasets_rows.py

An older version is recorded under a name of its own (datasets==2.20.0 with numpy<2, pandas<2.3, pyarrow<18):

    old/bin/python tests/conformance/recorders/datasets_rows.py datasets_rows_2.20.0.json

Writes tests/records/datasets_rows.json: per case the number of rows, or the class of the error where the loader
gives up. Also writes the small Parquet and Arrow files of tests/records/binary/ (they need pyarrow to be made).
Nothing of epochlint is imported here.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import tempfile
from collections.abc import Callable

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDS = os.path.join(HERE, "..", "..", "records")
sys.path.insert(0, RECORDS)
os.environ.setdefault("HF_DATASETS_OFFLINE", "1")
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import datasets  # noqa: E402
import pandas  # noqa: E402
import pyarrow  # noqa: E402
from row_cases import cases, folders, globs, write_layout  # noqa: E402

LOADERS = {"jsonl": "json", "json": "json", "csv": "csv", "tsv": "csv", "txt": "text"}


def count(folder: str, key: str, name: str, data: bytes, options: dict[str, object]) -> dict[str, object]:
    """Rows that load_dataset gives for one file, or the class name of the error behind its refusal."""
    place = os.path.join(folder, key)
    os.makedirs(place)
    path = os.path.join(place, name)
    with open(path, "wb") as file:
        file.write(data)
    loader = LOADERS[name.split(".")[1]]
    try:
        rows = datasets.load_dataset(
            loader, data_files=path, split="train", cache_dir=os.path.join(place, "cache"), **options
        )
    except Exception as error:  # whatever the loader does is the result
        cause: BaseException = error
        while cause.__cause__ is not None:
            cause = cause.__cause__
        return {"rows": None, "error": type(cause).__name__}
    return {"rows": len(rows)}


def folder_rows(place: str, layout: dict[str, object], data_files: object = None) -> dict[str, object]:
    """Rows of each split of load_dataset on a folder, or of one pattern below it."""
    root = os.path.join(place, "root")
    os.makedirs(root)
    write_layout(root, layout)
    try:
        if data_files is None:
            loaded = datasets.load_dataset(root, cache_dir=os.path.join(place, "cache"))
        else:
            patterns = [data_files] if isinstance(data_files, str) else data_files
            full = [os.path.join(root, pattern) for pattern in patterns]
            loaded = datasets.load_dataset("json", data_files=full, cache_dir=os.path.join(place, "cache"))
    except Exception as error:  # whatever the loader does is the result
        return {"rows": None, "error": type(error).__name__}
    return {"rows": {str(split): len(rows) for split, rows in loaded.items()}}


def write_binary(folder: str) -> dict[str, dict[str, object]]:
    """Makes the small Parquet and Arrow files, and says how many rows and messages the real readers find in them."""
    import pyarrow.feather
    import pyarrow.parquet

    def message(role: str) -> dict[str, str]:
        return {"role": role, "content": role[0]}

    turns = [[message("user"), message("assistant")] * (1 + number % 3) for number in range(20)]
    chats = pyarrow.table({"messages": turns})
    holes = pyarrow.table({"messages": [*turns[:5], [], None, *turns[:3]], "source": ["x"] * 10})
    shared = pyarrow.table({"conversations": [[{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]] * 6})
    alpaca = pyarrow.table({"instruction": ["i"] * 7, "input": [""] * 7, "output": ["o"] * 7})
    labelled = pyarrow.table({"prompt": ["p"] * 4, "completion": ["c"] * 4, "label": [True, False] * 2})
    words = pyarrow.table({"text": pyarrow.array(["a", "b", "a", "c"] * 3).dictionary_encode()})
    ids = pyarrow.table({"input_ids": [[1, 2], [3]], "labels": [[1, 2], [3]]})

    def parquet(name: str, table: pyarrow.Table, **options: object) -> None:
        pyarrow.parquet.write_table(table, os.path.join(folder, name), **options)

    def arrow(name: str, table: pyarrow.Table, kind: str, **options: object) -> None:
        new = pyarrow.ipc.new_stream if kind == "stream" else pyarrow.ipc.new_file
        with new(os.path.join(folder, name), table.schema, options=pyarrow.ipc.IpcWriteOptions(**options)) as writer:
            writer.write_table(table, max_chunksize=3)

    os.makedirs(folder, exist_ok=True)
    parquet("chats.parquet", chats)
    parquet("chats-groups.parquet", chats, row_group_size=6, compression="zstd")
    parquet("chats-holes.parquet", holes)
    parquet("chats-no-statistics.parquet", chats, write_statistics=False)
    parquet("sharegpt.parquet", shared, version="1.0", data_page_version="2.0")
    parquet("alpaca.parquet", alpaca, compression="none")
    parquet("labelled.parquet", labelled)
    parquet("ids.parquet", ids)
    parquet("empty.parquet", chats.slice(0, 0))
    arrow("chats-stream.arrow", chats, "stream")
    arrow("chats-file.arrow", chats, "file")
    arrow("chats-lz4.arrow", holes, "stream", compression="lz4")
    arrow("chats-before-0.15.arrow", shared, "stream", use_legacy_format=True)
    arrow("words-dictionary.arrow", words, "stream", emit_dictionary_deltas=True)
    arrow("words-file.arrow", words, "file")
    arrow("empty.arrow", chats.slice(0, 0), "stream")
    pyarrow.feather.write_feather(alpaca, os.path.join(folder, "alpaca-feather.arrow"))
    found: dict[str, dict[str, object]] = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if name.endswith(".parquet"):
            table = pyarrow.parquet.read_table(path)
        else:
            with pyarrow.OSFile(path) as file:
                opening = pyarrow.ipc.open_file if file.read(6) == b"ARROW1" else pyarrow.ipc.open_stream
            with pyarrow.OSFile(path) as file:
                table = opening(file).read_all()
        lists = [column for column in ("messages", "conversations") if column in table.column_names]
        messages = sum(len(value.as_py() or ()) for value in table[lists[0]]) if lists else None
        found[name] = {"rows": table.num_rows, "messages": messages}
    return found


def guarded(work: Callable[..., dict[str, object]], *arguments: object) -> dict[str, object]:
    """The same in a child: some files make pyarrow itself crash (an Infinity among the numbers does)."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, json.dumps(work(*arguments)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        answer = pipe.read()
    os.waitpid(child, 0)
    return json.loads(answer) if answer else {"rows": None, "error": "crash"}


def main() -> None:
    datasets.disable_progress_bars()
    logging.disable(logging.CRITICAL)
    datasets.logging.set_verbosity(datasets.logging.CRITICAL)
    results: dict[str, object] = {}
    with tempfile.TemporaryDirectory() as folder:
        for key, case in cases().items():
            results[key] = guarded(count, folder, key, case.name, case.data, dict(case.options))
        layouts = {
            key: guarded(folder_rows, os.path.join(folder, "folder-" + key), layout)
            for key, layout in folders().items()
        }
        patterns = {
            key: guarded(folder_rows, os.path.join(folder, "glob-" + key), layout, data_files)
            for key, (layout, data_files) in globs().items()
        }
    report = {
        "versions": {
            "datasets": datasets.__version__,
            "pyarrow": pyarrow.__version__,
            "pandas": pandas.__version__,
            "python": ".".join(map(str, sys.version_info[:3])),
        },
        "cases": results,
        "folders": layouts,
        "globs": patterns,
    }
    if len(sys.argv) == 1:
        report["binary"] = write_binary(os.path.join(RECORDS, "binary"))
    name = sys.argv[1] if len(sys.argv) > 1 else "datasets_rows.json"
    with open(os.path.join(RECORDS, name), "w", encoding="utf-8") as file:
        json.dump(report, file, indent=1, sort_keys=True)
        file.write("\n")
    known = sum(1 for result in results.values() if result["rows"] is not None)  # type: ignore[index]
    print(f"{len(results)} cases, {known} load, {len(results) - known} are refused")


if __name__ == "__main__":
    main()
