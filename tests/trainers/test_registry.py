"""The marks by which a text is known to be worth a trainer's look."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from epochlint.trainers.registry import TRAINERS, Entry, any_may_hold


@pytest.mark.parametrize("entry", TRAINERS, ids=lambda entry: entry.module)
def test_whatever_the_marks_match_is_looked_at(entry: Entry) -> None:
    @settings(max_examples=40)
    @given(st.from_regex(entry.marks))
    def matched(text: str) -> None:
        assert entry.may_hold(text)
        assert any_may_hold(text)

    matched()


@given(st.text("abcdefghijklmnopqrstuvwxyz_ :\n", max_size=60))
def test_nothing_else_is(text: str) -> None:
    for entry in TRAINERS:
        assert entry.may_hold(text) == (re.search(entry.marks, text) is not None)


def test_every_core_is_worth_looking_for() -> None:
    vague = [entry.module for entry in TRAINERS if min(map(len, (*entry.words, *entry.cores))) < 3]
    assert vague == ["llamafactory.dataset_info"]  # it begins with a quote, which is quick to look for
