"""The room is cheap to enter, and needs nothing of the rest of the project."""

from __future__ import annotations

import subprocess
import sys

LATE = (
    "csv", "gzip", "bz2", "lzma", "zlib", "hashlib", "struct", "concurrent", "multiprocessing", "io.StringIO", "typing",
    "dataclasses", "pathlib", "logging", "inspect", "random", "tempfile", "glob", "fnmatch", "subprocess", "zstandard",
    "pydantic", "yaml",
)  # fmt: skip


def test_what_is_imported() -> None:
    code = (
        "import sys; before = set(sys.modules); import epochlint.records;"
        "print(*sorted(set(sys.modules) - before), sep='\\n')"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert "epochlint.records.counting" in loaded
    assert [name for name in LATE if name in loaded] == []
    ours = [name for name in loaded if name.startswith("epochlint")]
    assert [name for name in ours if not name.startswith("epochlint.records") and name != "epochlint"] == []
    assert "epochlint.records.parquet" not in ours
