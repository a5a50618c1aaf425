"""Versions and what a project's words leave possible."""

from __future__ import annotations

import pytest

from epochlint.run.versions import ANY, VersionRange, Versions, exactly, specified, version_key


def test_versions_are_ordered_as_people_mean_them() -> None:
    order = ["4.9", "4.46.0.dev0", "4.46.0rc1", "4.46", "4.46.1", "4.57.6", "5.0.0", "5.15"]
    assert sorted(set(order), key=version_key) == order
    assert version_key("4.46") == version_key("4.46.0")


@pytest.mark.parametrize("text", ["", "abc", "¼", "9" * 5000, "1..2", "v1", "1!2"])
def test_odd_version_texts_never_raise(text: str) -> None:
    version_key(text)


@pytest.mark.parametrize(
    ("text", "inside", "outside"),
    [
        (">=4.46,<5", "4.57.6", "5.0"),
        ("==4.57.6", "4.57.6", "4.57.7"),
        ("~=4.52.1", "4.52.4", "4.53"),
        ("==4.57.*", "4.57.3", "4.58"),
        ("<=4.51", "4.36", "4.52"),
        ("~=4.40", "4.99", "5.0"),
        ("<5.0", "4.57", "5.0"),
    ],
)
def test_specifiers(text: str, inside: str, outside: str) -> None:
    found = specified(text)
    assert exactly(inside).narrowed(found).pinned
    assert not found.meets(outside, None) or found.at_least(outside) is False


def test_at_least_is_three_valued() -> None:
    assert specified(">=4.52").at_least("4.52") is True
    assert specified("<4.52").at_least("4.52") is False
    assert specified("<=4.51").at_least("4.52") is False
    assert specified(">=4.46").at_least("4.52") is None
    assert ANY.at_least("4.52") is None


def test_contradicting_words_leave_the_first() -> None:
    versions = Versions({"transformers": exactly("4.57.6")})
    versions.add("transformers", specified("<4.50"))
    assert versions.of("Transformers").pinned
    assert versions.of("transformers").low == "4.57.6"


def test_meets_is_half_open() -> None:
    assert VersionRange("4.52", None).meets("4.52", "5.0")
    assert not VersionRange(None, None, "4.52").meets("4.52", None)
    assert not VersionRange("5.0", None).meets("4.52", "5.0")
