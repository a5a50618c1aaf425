"""Patterns that are compiled when they are first asked."""

from __future__ import annotations

import re

import pytest

from epochlint.documents.python.calls import _CALLED
from epochlint.documents.python.prefilter import may_set
from epochlint.patterns import Pattern, first_pair
from epochlint.project.assumptions import AssumptionError, parse
from epochlint.project.requirements import _INSTALL
from epochlint.trainers.registry import looks_known
from epochlint.trainers.trl import _EPISODES
from tests.helpers import check_project


def test_it_finds_what_the_compiled_one_finds() -> None:
    pattern, compiled = Pattern(r"(a+)b", re.IGNORECASE), re.compile(r"(a+)b", re.IGNORECASE)
    for text in ("", "aab", "xAB", "abab aB", "ba"):
        assert [found.span() for found in pattern.finditer(text)] == [found.span() for found in compiled.finditer(text)]
        assert bool(pattern.search(text)) == bool(compiled.search(text))
        assert bool(pattern.match(text)) == bool(compiled.match(text))
        assert bool(pattern.match(text, 1)) == bool(compiled.match(text, 1))


def test_a_mistake_shows_at_the_first_use() -> None:
    pattern = Pattern("(")
    with pytest.raises(re.error):
        pattern.search("")


def test_long_hostile_texts_are_searched_in_one_pass() -> None:
    """Patterns that could try every pair of places would need minutes for these."""
    assert not may_set("A:" + " " * 200_000)
    assert may_set("PARTS: int = 4\n")
    assert may_set("PARTS = 4\n")
    assert not may_set("PARTS == 4\n")
    assert _INSTALL.search("install" + "\n" + " " * 200_000) is None
    assert _INSTALL.search("  !pip install trl") is not None
    assert _EPISODES.search("a_" * 500_000) is None
    assert _EPISODES.search("nemo_gym_path") is not None


def test_calls_are_looked_for_in_one_pass() -> None:
    text = "def train(rate=1e-5):\n    TrainingArguments(learning_rate=rate)\n\n\nname = " + "x" * 200_000 + "\n"
    assert _CALLED.findall(text) == ["train", "TrainingArguments"]


def test_the_first_pair_is_what_a_lazy_expression_finds() -> None:
    marks = (("{{", "}}"), ("{%", "%}"), ("<%", "%>"))
    pattern = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<%.*?%>", re.DOTALL)
    for text in (
        "",
        "a",
        "{{ a }}",
        "a {{",
        "}} {{",
        "{% x {{ y }}",
        "a<% b %>{{c}}",
        "{{}}",
        "{{}",
        "{{{ }}",
        "{%}",
        "{%%}",
    ):
        found = pattern.search(text)
        assert first_pair(text, marks) == (found.start() if found else -1), text
    assert first_pair("}}" + "{{" * 500_000, marks) == -1


def test_what_nothing_closes_keeps_nobody_busy() -> None:
    with pytest.raises(AssumptionError):
        parse(["e" * 200_000])
    assert parse(["gpus=8, records=5"]).values.keys() == {"gpus", "records"}
    assert not looks_known("\n" * 200_000)
    assert looks_known('\n  "warmup_ratio" : 0.1')
    loop = f"for at in {'[' * 100_000}; do\n  python train.py --learning_rate $at\ndone\n"
    assert check_project({"run.sh": loop + "python t.py --a " + "{{" * 100_000 + "\n"}).files == 1
