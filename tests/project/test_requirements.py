"""What requirement and lock files leave possible."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from epochlint.project.lookup import Lookup
from epochlint.project.requirements import required
from tests.helpers import lint_project

if TYPE_CHECKING:
    from pathlib import Path


def versions(folder: Path, name: str, text: str, package: str = "transformers") -> tuple[str | None, ...]:
    (folder / ".git").mkdir(exist_ok=True)
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")
    before = os.getcwd()
    os.chdir(folder)
    try:
        found = required(Lookup(), str(folder)).of(package)
    finally:
        os.chdir(before)
    return found.low, found.high, found.below


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("transformers==4.57.6", ("4.57.6", "4.57.6", None)),
        ("transformers[torch]>=4.46,<5", ("4.46", None, "5")),
        ("Transformers ~= 4.52.1 ; python_version < '3.13'", ("4.52.1", None, "4.53")),
        ("transformers==4.57.*", ("4.57", None, "4.58")),
        ("transformers @ git+https://github.com/huggingface/transformers.git@v4.45.0", ("4.45.0", "4.45.0", None)),
        ("git+https://github.com/huggingface/transformers@v4.45.0", ("4.45.0", "4.45.0", None)),
        ("git+https://github.com/huggingface/transformers@main", (None, None, None)),
        ("git+https://github.com/huggingface/transformers@0123abcd", (None, None, None)),
        ("# transformers==4.57.6", (None, None, None)),
        ("# git+https://github.com/huggingface/transformers@v4.45.0", (None, None, None)),
        ("sentence-transformers==4.57.6", (None, None, None)),
    ],
)
def test_lines(tmp_path: Path, line: str, expected: tuple[str | None, ...]) -> None:
    assert versions(tmp_path, "requirements.txt", f"torch\n{line}\n") == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("pyproject.toml", '[project]\ndependencies = [\n  "transformers>=4.46",\n]\n', ("4.46", None, None)),
        ("pyproject.toml", '[project]\ndependencies = ["trl", "transformers>=4.46,<5"]\n', ("4.46", None, "5")),
        ("pyproject.toml", '[project]\n# dependencies = ["transformers>=4.46"]\n', (None, None, None)),
        (
            "pyproject.toml",
            '[project.optional-dependencies]\ntrain = ["transformers==4.46.3"]\n',
            ("4.46.3", "4.46.3", None),
        ),
        ("setup.py", 'setup(install_requires=["trl", "transformers>=4.46"])\n', ("4.46", None, None)),
        ("pyproject.toml", '[tool.poetry.dependencies]\ntransformers = "^4.40"\n', ("4.40", None, "5")),
        ("uv.lock", '[[package]]\nname = "transformers"\nversion = "4.57.6"\n', ("4.57.6", "4.57.6", None)),
        ("environment.yml", "dependencies:\n  - transformers=4.46.3\n", ("4.46.3", "4.46.3", None)),
        ("requirements/train.txt", "transformers==4.46.3\n", ("4.46.3", "4.46.3", None)),
        ("notes.txt", "transformers==4.46.3\n", (None, None, None)),
    ],
)
def test_files(tmp_path: Path, name: str, text: str, expected: tuple[str | None, ...]) -> None:
    assert versions(tmp_path, name, text) == expected


def test_two_files_narrow_each_other(tmp_path: Path) -> None:
    (tmp_path / "setup.py").write_text('setup(install_requires=["transformers>=4.46"])\n')
    assert versions(tmp_path, "requirements.txt", "transformers<5\n") == ("4.46", None, "5")


def test_a_script_that_asks_for_its_own() -> None:
    asked = ['requires-python = ">=3.10"', "dependencies = [", '    "trl==0.24.0",', '    "peft",', "]"]
    head = "".join(f"# {line}\n" for line in ("/// script", *asked, "///"))
    call = 'from trl import SFTConfig\nSFTConfig("out", max_seq_length=512)\n'
    levels = {}
    for name, text in (("with", head + call), ("without", call)):
        levels[name] = [one.level for one in lint_project({"train.py": text}) if one.code == "VER001"]
    assert levels == {"with": ["error"], "without": ["note"]}
