"""The runs that sweeps start, recorded with Weights & Biases' own search and agent, against epochlint's corners."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from epochlint.documents.document import Scalar
from epochlint.documents.read import read
from epochlint.documents.scalars import number
from epochlint.project.launch import interpret
from epochlint.project.sweeps import MOST, started
from epochlint.source import Source
from tests.conformance.recorded import runs

if TYPE_CHECKING:
    from epochlint.documents.document import Mapping, Node

RUNS = list(runs("sweeps"))

# Values that come in one text, or in a file: no flags of their own.
_NO_FLAGS = ("command/args_json",)


def corners(case: dict[str, Any]) -> list[Mapping]:
    document = read(Source("sweep.yaml", yaml.safe_dump(case["sweep"], sort_keys=False)))
    assert document is not None
    starts = [interpret(command, corner.entries) for command, corner in started(document)]
    return [start.arguments for start in starts if start is not None]


def flags(words: list[str]) -> dict[str, str]:
    """The flags of a recorded command."""
    found: dict[str, str] = {}
    at = next(index for index, word in enumerate(words) if word.endswith(".py")) + 1
    while at < len(words):
        word = words[at]
        key, mark, value = word.partition("=")
        if not mark and at + 1 < len(words) and "=" not in words[at + 1] and not words[at + 1].startswith("--"):
            at, value = at + 1, words[at + 1]
        found[key.lstrip("-+")] = value or "True"
        at += 1
    return found


def agrees(node: Node | None, value: str) -> bool:
    """Whether a corner's value is the agent's, or unknown."""
    if not isinstance(node, Scalar):
        return node is not None
    known = number(node)
    return str(node.value) == value or node.raw == value or (known is not None and known == float(value))


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["sweep"]["method"] == "grid" and not name.startswith(_NO_FLAGS)
    ],
)
def test_every_run_of_a_grid_is_a_corner(case: dict[str, Any], happened: dict[str, Any]) -> None:
    found = corners(case)
    for words in happened["commands"]:
        told = flags(words)
        assert any(
            told.keys() == corner.last.keys() and all(agrees(corner.get(key), value) for key, value in told.items())
            for corner in found
        ), told
    assert len(found) <= MOST


@pytest.mark.parametrize(
    ("case", "happened"),
    [
        pytest.param(case, happened, id=name)
        for _, name, case, happened in RUNS
        if "error" not in happened and case["sweep"]["method"] == "random"
    ],
)
def test_what_is_drawn_lies_between_the_corners(case: dict[str, Any], happened: dict[str, Any]) -> None:
    found = [corner.get("x") for corner in corners(case)]
    ends = [number(node) for node in found if isinstance(node, Scalar)]
    for words in happened["commands"]:
        drawn = float(flags(words)["x"])
        if ends:
            assert min(end for end in ends if end is not None) <= drawn <= max(end for end in ends if end is not None)
        else:
            assert found  # nothing is claimed


def test_values_in_a_file_or_in_one_text_are_no_flags() -> None:
    for _, name, case, _ in RUNS:
        if name.startswith(_NO_FLAGS):
            assert corners(case) == []
