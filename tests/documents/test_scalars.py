from __future__ import annotations

import datetime
import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents import scalars, yaml_document
from epochlint.documents.document import Mapping, Node, Scalar
from epochlint.documents.scalars import ARGPARSE, OMEGACONF, PYDANTIC, PYYAML, STRICT, YAML12, loaded
from epochlint.source import Source, Span
from tests.documents.plain_values import same


def scalar(text: str) -> Scalar:
    """The value of `k: TEXT` in YAML."""
    (root,) = yaml_document.read(Source("x.yaml", f"k: {text}")).roots
    assert isinstance(root, Mapping)
    node = root.get("k")
    assert isinstance(node, Scalar)
    return node


def given_value(value: object) -> Scalar:
    """A value of a syntax that leaves nothing to guess."""
    return Scalar(Span(Source("x.json", ""), 0, 0), str(value), value)


# --- Loaders ----------------------------------------------------------------------------------------------------------

# Recorded from pyyaml 6.0.4 (safe_load), ruamel.yaml 0.19.1 (typ="safe", pure) and omegaconf 2.4.0 (its YAML loader).
_DAY = datetime.date(2024, 1, 2)
_LOADED = [
    ("2e-4", "2e-4", 2e-4, 2e-4),
    ("5e-5", "5e-5", 5e-5, 5e-5),
    ("1e5", "1e5", 1e5, 1e5),
    ("1e+5", "1e+5", 1e5, 1e5),
    ("1.e5", "1.e5", 1e5, 1e5),
    ("2E-04", "2E-04", 2e-4, 2e-4),
    ("1.5e5", "1.5e5", 1.5e5, 1.5e5),
    ("-.5", "-.5", -0.5, "-.5"),
    (".5", 0.5, 0.5, 0.5),
    ("1e400", "1e400", math.inf, math.inf),
    ("2.0e-4", 2e-4, 2e-4, 2e-4),
    ("3.0e+5", 3e5, 3e5, 3e5),
    ("010", 8, 10, 8),
    ("0o10", "0o10", 8, "0o10"),
    ("08", "08", 8, "08"),
    ("0x1F", 31, 31, 31),
    ("0b11", 3, 3, 3),
    ("1:30", 90, "1:30", 90),
    ("12:30:45", 45045, "12:30:45", 45045),
    ("1:30.5", 90.5, "1:30.5", 90.5),
    ("yes", True, "yes", True),
    ("No", False, "No", False),
    ("off", False, "off", False),
    ("true", True, True, True),
    ("y", "y", "y", "y"),
    ("1_000", 1000, 1000, 1000),
    ("2024-01-02", _DAY, _DAY, "2024-01-02"),
    ("2024-13-45", "2024-13-45", "2024-13-45", "2024-13-45"),
    ("~", None, None, None),
    ("null", None, None, None),
    ("None", "None", "None", "None"),
    (".inf", math.inf, math.inf, math.inf),
    (".nan", math.nan, math.nan, math.nan),
    ("=", "=", "=", "="),
    ("2,000", "2,000", "2,000", "2,000"),
    ("'2e-5'", "2e-5", "2e-5", "2e-5"),
    ("!!float 2e-5", 2e-5, 2e-5, 2e-5),
]


@pytest.mark.parametrize(("text", "pyyaml", "yaml12", "omegaconf"), _LOADED)
def test_what_the_yaml_loaders_make_of_a_scalar(text: str, pyyaml: object, yaml12: object, omegaconf: object) -> None:
    node = scalar(text)
    assert same(loaded(node, PYYAML), pyyaml)
    assert same(loaded(node, STRICT), pyyaml)
    assert same(loaded(node, YAML12), yaml12)
    assert same(loaded(node, OMEGACONF), omegaconf)


@pytest.mark.parametrize(("text", "value"), [("2e-5", 2e-5), ("'8'", 8), ("8.5", 8.5), ("auto", "auto"), ("no", False)])
def test_pydantic_makes_numbers_of_numeric_texts(text: str, value: object) -> None:
    assert same(loaded(scalar(text), PYDANTIC), value)


def test_argparse_gets_texts() -> None:
    assert [loaded(scalar(text), ARGPARSE) for text in ("2e-5", "8", "no", "'x'")] == ["2e-5", "8", "no", "x"]


def test_values_that_leave_nothing_to_guess_stay() -> None:
    for typing in (PYYAML, YAML12, OMEGACONF, STRICT):
        assert loaded(given_value("2e-5"), typing) == "2e-5"
        assert loaded(given_value(10), typing) == 10


@given(st.text(alphabet="0123456789._-+:eExXoObBTZ ainf~", min_size=1, max_size=12).map(str.strip).filter(bool))
def test_plain_scalars_are_typed_as_by_pyyaml(text: str) -> None:
    node = yaml.ScalarNode(tag="", value=text)
    loader = yaml.SafeLoader("")
    node.tag = loader.resolve(yaml.ScalarNode, text, (True, False))
    try:
        expected = loader.construct_object(node)
    except (ValueError, IndexError, OverflowError, yaml.YAMLError):
        expected = text
    assert same(scalars.yaml11(text), expected)


@pytest.mark.parametrize(
    "text", ["9" * 5000, "1:" + ":".join(["30"] * 3000), "1" * 300 + ":30.5", "9" * 399 + "." + "1"]
)
def test_monstrous_numbers_end(text: str) -> None:
    for typed in (scalars.yaml11, scalars.yaml12, scalars.omegaconf):
        typed(text)
    scalars.number(scalar(text))
    scalars.misread(scalar(text))


# --- What was meant ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("2e-5", 2e-5),
        ("'8'", 8),
        ('" 8 "', 8),
        ("1_000", 1000),
        ("'1_000.5'", 1000.5),
        ("010", 10),
        ("-010", -10),
        ("0x10", 16),
        ("'0x10'", 16),
        ("2,000", 2000),
        ("1,234,567.5", 1234567.5),
        ("10%", 0.1),
        (".5", 0.5),
        ("5.", 5.0),
        ("+3", 3),
        ("1:30", None),
        ("1:30.5", None),
        ("20,00", None),
        ("None", None),
        ("auto", None),
        ("", None),
        ("true", None),
        ("no", None),
        (".inf", None),
        (".nan", None),
        ("1e400", None),
        ("9" * 350, None),
        ("-" + "9" * 350, None),
        ("1e31", None),
        ("1_000_000_000_000", 10**12),
        ("2024-01-02", None),
        ("8 GPUs", None),
        ("${lr}", None),
    ],
)
def test_the_number_that_a_person_meant(text: str, meant: float | None) -> None:
    assert same(scalars.number(scalar(text)), meant)


def test_numbers_of_other_syntaxes() -> None:
    assert scalars.number(given_value(8)) == 8
    assert scalars.number(given_value("2e-5")) == 2e-5
    assert scalars.number(given_value(True)) is None
    assert scalars.number(None) is None
    assert scalars.number(Node(Span(Source("x", ""), 0, 0))) is None


@pytest.mark.parametrize("text", ["2e-5", "8", "1_000", ".5", "5.", "-3", "+1E5", "0x1f", " 8 "])
def test_numeric_texts(text: str) -> None:
    assert scalars.looks_numeric(text)


@pytest.mark.parametrize(
    "text", ["", "auto", "2,000", "10%", "1:30", "e5", ".", "-", "_1", "1__0", "nan", "٣", "1e", "v2"]
)
def test_other_texts(text: str) -> None:
    assert not scalars.looks_numeric(text)


@given(st.text(alphabet="0123456789._-+eExob ", max_size=10))
def test_what_looks_numeric_converts(text: str) -> None:
    if scalars.looks_numeric(text):
        try:
            float(text)
        except ValueError:
            int(text, 0)
    else:
        with pytest.raises(ValueError):  # noqa: PT011
            float(text)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("true", True),
        ("no", False),
        ("'True'", True),
        ("'off'", False),
        ("1", True),
        ("0", False),
        ("'y'", True),
        ("2", None),
        ("auto", None),
        ("", None),
        ("1.0", None),
    ],
)
def test_the_truth_value_that_a_person_meant(text: str, meant: bool | None) -> None:
    assert scalars.boolean(scalar(text)) is meant


@pytest.mark.parametrize(
    ("text", "word"), [("no", "no"), ("Off", "Off"), ("YES", "YES"), ("false", None), ("'no'", None), ("steps", None)]
)
def test_words_that_load_as_truth_values(text: str, word: str | None) -> None:
    assert scalars.boolean_word(scalar(text)) == word


@pytest.mark.parametrize(
    ("text", "how"),
    [
        ("010", "octal"),
        ("-0100", "octal"),
        ("07", None),
        ("0", None),
        ("00", None),
        ("'010'", None),
        ("0x10", None),
        ("1:30", "sexagesimal"),
        ("12:30:45", "sexagesimal"),
        ("'1:30'", None),
        ("None", "none-word"),
        ("'none'", "none-word"),
        ("null", None),
        ("2,000", "thousands"),
        ("'1,000,000'", "thousands"),
        ("1,2", None),
        ("10%", "percent"),
        ("0.5 %", "percent"),
        ("%s", None),
        ("2e-5", None),
        ("8", None),
        ("no", None),
    ],
)
def test_misread_numbers(text: str, how: str | None) -> None:
    if text == "%s":
        assert scalars.misread(given_value(text)) is None
        return
    assert scalars.misread(scalar(text)) == how


def test_numbers_of_other_syntaxes_are_not_misread() -> None:
    assert scalars.misread(given_value(10)) is None
    assert scalars.misread(given_value("2,000")) == "thousands"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("${model.lr}", "interpolation"),
        ("outputs/$USER/x", "interpolation"),
        ('"{{ lr }}"', "jinja"),
        ("'{% if x %}'", "jinja"),
        ("<YOUR_TOKEN>", "angle"),
        ("<path to data>", "angle"),
        ("a < b > c", None),
        ("$5", None),
        ("{x}", None),
        ("8", None),
    ],
)
def test_placeholders(text: str, kind: str | None) -> None:
    if text == "{x}":
        assert scalars.placeholder(given_value(text)) is None
        return
    assert scalars.placeholder(scalar(text)) == kind


@pytest.mark.parametrize("text", ["8", "0", "9" * 18])
def test_a_plain_count(text: str) -> None:
    assert scalars.plain_count(text)


@pytest.mark.parametrize("text", ["", "-1", "8.0", "\u00b2", "\u0663", "9" * 5000])
def test_what_int_refuses_or_nobody_counts_is_no_plain_count(text: str) -> None:
    assert not scalars.plain_count(text)


WRITTEN = st.from_regex(r"[-+]?[0-9_]{1,8}([.:][0-9]{1,4})?(e[-+]?[0-9]{1,2})?", fullmatch=True)


@given(st.one_of(st.integers().map(str), st.floats().map(str), WRITTEN))
def test_a_plain_number_is_its_value_and_misread_by_nobody(text: str) -> None:
    node = scalar(text)
    if scalars.plain_number(node):
        assert scalars.number(node) == node.value
        assert scalars.misread(node) is None


def test_usual_numbers_are_plain() -> None:
    for text in ("8", "0", "500", "2.0e-4", "0.05", "-0.1"):
        assert scalars.plain_number(scalar(text)), text
    for text in ("010", "1:30", "2e-4", "true", ".nan", ".inf", "1_000"):
        assert not scalars.plain_number(scalar(text)), text
