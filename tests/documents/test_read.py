from __future__ import annotations

import subprocess
import sys
import time

import pytest

from epochlint import files
from epochlint.documents import read
from epochlint.source import Source
from tests.documents.plain_values import plain


@pytest.mark.parametrize(
    ("path", "syntax"),
    [
        ("a/train.yaml", "yaml"),
        ("train.YML", "yaml"),
        ("ds.json", "json"),
        ("conf.jsonc", "json"),
        ("a.b/pyproject.toml", "toml"),
        ("train.py", "python"),
        ("train.ipynb", "notebook"),
        ("run.sh", "shell"),
        ("run.bash", "shell"),
        ("job.sbatch", "shell"),
        ("job.slurm", "shell"),
        ("job.pbs", "shell"),
        ("x.job", "shell"),
        ("Makefile", "shell"),
        ("docker/Dockerfile", "shell"),
        ("Dockerfile.gpu", "shell"),
        ("gpu.dockerfile", "shell"),
        ("docker-compose.yml", "yaml"),
        ("README.md", None),
        ("data.jsonl", None),
        ("train", None),
        (".yaml", None),
        ("makefile_notes.txt", None),
    ],
)
def test_the_name_tells_the_syntax(path: str, syntax: str | None) -> None:
    assert read.syntax_of_name(path) == syntax
    assert files.readable(path) == (syntax is not None)


@pytest.mark.parametrize(
    ("text", "syntax"),
    [
        ("#!/bin/bash\n", "shell"),
        ("#!/usr/bin/env bash\n", "shell"),
        ("#!/usr/bin/env -S python3.11 -u\n", "python"),
        ("#!/bin/sh", "shell"),
        ("#!/usr/bin/perl\n", None),
        ("# bash\n", None),
        ("", None),
    ],
)
def test_else_the_first_line_does(text: str, syntax: str | None) -> None:
    assert read.syntax_of("scripts/train", text) == syntax


def test_the_name_goes_first() -> None:
    assert read.syntax_of("x.py", "#!/bin/bash\n") == "python"


def test_json_in_a_yaml_file_is_yaml_and_not_the_other_way_round() -> None:
    document = read.read(Source("x.yaml", '{"a": 2e-5}'))
    assert document is not None
    assert (document.syntax, plain(document.roots[0])) == ("yaml", {"a": "2e-5"})
    document = read.read(Source("x.json", "a: 2e-5\n"))
    assert document is not None
    assert (document.syntax, [found.kind for found in document.problems]) == ("json", ["syntax"])


def test_a_syntax_can_be_given() -> None:
    document = read.read(Source("job.yaml", "a = 1\n"), "toml")
    assert document is not None
    assert plain(document.roots[0]) == {"a": 1}


def test_other_files_are_no_documents() -> None:
    assert read.read(Source("README.md", "# a")) is None


_TABLES = "".join(f"[t{i}.b]\nx = 1\n[t{i}]\n" for i in range(10_000))


@pytest.mark.parametrize("syntax", ["yaml", "json", "toml"])
@pytest.mark.parametrize(
    "text", ["\n" * 500_000, " " * 500_000 + "x: [", '"' * 200_000, ", \n" * 100_000 + "]", "{{ " * 100_000, _TABLES]
)
def test_the_time_grows_with_the_text_and_no_faster(syntax: str, text: str) -> None:
    begin = time.process_time()
    assert read.read(Source("x", text), syntax) is not None
    assert time.process_time() - begin < 5


@pytest.mark.parametrize(
    ("name", "text", "absent"),
    [
        ("x.yaml", "a: 1", {"tomli", "json", "tree_sitter", "ast", "pathlib", "typing", "dataclasses", "logging"}),
        ("x.json", "{}", {"yaml", "tomli", "tree_sitter", "ast", "pathlib", "typing", "dataclasses", "logging"}),
        ("x.toml", "a = 1", {"yaml", "json", "tree_sitter", "ast", "dataclasses", "logging"}),
    ],
)
def test_only_what_a_text_needs_is_imported(name: str, text: str, absent: set[str]) -> None:
    # `-S` keeps out what the environment's own .pth files import.
    program = f"""
import sys
sys.path[:0] = {sys.path!r}
before = set(sys.modules)
from epochlint import files
from epochlint.documents.read import read
from epochlint.source import Source
read(Source({name!r}, {text!r}))
print(sorted(set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, check=True)
    assert absent.isdisjoint(eval(done.stdout))
    assert not any(
        name.startswith(("pydantic", "click", "rich", "asyncio", "subprocess")) for name in eval(done.stdout)
    )
