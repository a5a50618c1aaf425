"""What requirement and lock files leave possible."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from epochlint.documents.notebook import read
from epochlint.project.lookup import Lookup
from epochlint.project.requirements import of_notebook, required
from epochlint.source import Source
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


SFT = """\
from trl import SFTConfig, SFTTrainer
args = SFTConfig(output_dir="out", max_length=512, learning_rate=2e-5)
SFTTrainer(model="m", args=args, train_dataset=data).train()
"""


def notebook(*cells: str) -> str:
    code = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": cell} for cell in cells]
    return json.dumps({"cells": code, "metadata": {"kernelspec": {"language": "python"}}, "nbformat": 4})


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("requirements.txt", True),
        ("dev-requirements.txt", False),
        ("requirements-dev.txt", False),
        ("requirements_test.txt", False),
        ("docs-requirements.txt", False),
        ("requirements/train.txt", True),
        ("requirements/docs.txt", False),
    ],
)
def test_what_only_developers_install_is_left_out(tmp_path: Path, name: str, counts: bool) -> None:
    found = versions(tmp_path, name, "transformers==4.34.0\n")
    assert found == (("4.34.0", "4.34.0", None) if counts else (None, None, None))


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("!pip install trl==0.22.2", ("0.22.2", "0.22.2", None)),
        ("%pip install -qU 'trl>=0.22' peft", ("0.22", None, None)),
        ('!uv pip install --no-deps "trl[vllm]==0.22.2" && echo', ("0.22.2", "0.22.2", None)),
        ("!pip install torch \\\n  trl==0.22.2", ("0.22.2", "0.22.2", None)),
        ("%%bash\npip install trl==0.22.2", ("0.22.2", "0.22.2", None)),
        ("!pip install git+https://github.com/huggingface/trl.git@v0.22.2", ("0.22.2", "0.22.2", None)),
        ("!pip install trl==0.22.2\n!pip install transformers trl", ("0.22.2", "0.22.2", None)),
        ("!pip install 'trl>=0.20'\n!pip install trl==0.22.2", ("0.22.2", "0.22.2", None)),
        # Nobody knows which of these is there in the end.
        ("if colab:\n    !pip install trl==0.22.2\nelse:\n    !pip install trl==0.24.0", (None, None, None)),
        ("!pip install trl==0.22.2\n!pip install -U trl", (None, None, None)),
        ("!pip install trl=={version}", (None, None, None)),
        ("!pip install git+https://github.com/huggingface/trl.git", (None, None, None)),
        # These are no commands.
        ("# !pip install trl==0.22.2", None),
        ("text = 'pip install trl==0.22.2'", None),
        ("!pip install trlx==0.22.2", None),
    ],
)
def test_what_a_notebook_installs(lines: str, expected: tuple[str | None, ...] | None) -> None:
    document = read(Source("a.ipynb", notebook(lines, SFT)))
    found = of_notebook(document).get("trl")
    assert (None if found is None else (found.low, found.high, found.below)) == expected


class TestOwnInstallations:
    def test_they_count_in_place_of_the_project_s_files(self) -> None:
        files = {"requirements.txt": "trl==0.12.1\ntransformers==4.46.3\n", ".git/HEAD": ""}
        for line in ("!pip install 'trl>=0.22.1' 'transformers>=4.55'", "!pip install trl transformers"):
            assert lint_project({**files, "a.ipynb": notebook(line, SFT)}) == []
        found = lint_project({**files, "a.ipynb": notebook("print(1)", SFT)})
        assert [one.code for one in found] == ["CFG011"]
        found = lint_project({**files, "a.ipynb": notebook("!pip install trl==0.13.0", SFT)})
        assert [one.code for one in found] == ["CFG011"]

    def test_the_command_line_counts_before_them(self) -> None:
        cells = notebook("!pip install trl==0.24.0", SFT)
        assert lint_project({"a.ipynb": cells}) == []
        assert [one.code for one in lint_project({"a.ipynb": cells}, {"trl": "0.12.1"})] == ["CFG011"]

    def test_a_notebook_kept_as_a_script_has_them_too(self) -> None:
        script = f"# Databricks notebook source\n%pip install trl==0.12.1\n%pip install -U datasets\n{SFT}"
        assert [one.code for one in lint_project({"a.py": script})] == ["CFG011"]
