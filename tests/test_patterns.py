"""Patterns that are compiled when they are first asked."""

from __future__ import annotations

import re

import pytest

from epochlint.patterns import Pattern


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
