"""Patterns that are compiled when they are first asked."""

from __future__ import annotations

import re

import pytest

from epochlint.documents.python.calls import _CALLED
from epochlint.documents.python.prefilter import may_set
from epochlint.patterns import Pattern
from epochlint.project.requirements import _INSTALL
from epochlint.trainers.trl import _EPISODES


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
