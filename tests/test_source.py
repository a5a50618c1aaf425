from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.source import Excerpt, Source


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_places_are_one_based_and_count_characters(newline: str) -> None:
    source = Source("x", f"a𝔞b{newline}{newline}cd")
    assert [repr(source.place(source.text.index(letter))) for letter in "abcd"] == ["1:1", "1:3", "3:1", "3:2"]
    assert [source.line(number) for number in range(5)] == ["", "a𝔞b", "", "cd", ""]


def test_the_end_of_a_text_is_a_place() -> None:
    assert repr(Source("x", "a\n").place(2)) == "2:1"
    assert repr(Source("x", "").place(0)) == "1:1"


@given(st.text(alphabet="a\r\n\x85\u2028", max_size=30))
def test_lines_and_places_agree(text: str) -> None:
    source = Source("x", text)
    for offset, character in enumerate(text):
        place = source.place(offset)
        if character not in "\r\n":
            assert source.line(place.line)[place.column - 1] == character


def test_a_span_of_an_excerpt_of_an_excerpt_is_one_of_the_file() -> None:
    file = Source("f.yaml", 'x: "a\\nlr: 5\\n"\n')
    outer = Excerpt(file, "a\nlr: 5\n", [4, 5, 7, 8, 9, 10, 11, 12, 14], "x")
    inner = Excerpt(outer, "lr: 5", list(range(2, 8)), "cell 1")
    span = inner.span(4, 5).in_file()
    assert span.source is file
    assert (span.text, repr(span.place), repr(span.end_place)) == ("5", "1:12", "1:13")
    assert (inner.path, inner.label, outer.label, file.label) == ("f.yaml", "cell 1", "x", "")


def test_the_end_of_an_excerpts_span_covers_an_escape() -> None:
    file = Source("f.json", '"a\\u00e9"')
    excerpt = Excerpt(file, "aé", [1, 2, 8], "text")
    assert excerpt.span(1, 2).in_file().text == "\\u00e9"


def test_an_excerpt_needs_an_offset_for_every_character_and_the_end() -> None:
    with pytest.raises(ValueError, match="need 3 offsets"):
        Excerpt(Source("x", "ab"), "ab", [0, 1], "x")
