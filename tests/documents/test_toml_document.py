from __future__ import annotations

import datetime
import math

import pytest
import tomli
from hypothesis import assume, given
from hypothesis import strategies as st

from epochlint.documents import toml_document
from epochlint.documents.document import Document, Entry, Mapping, Scalar, Sequence
from epochlint.source import Source
from tests.documents.plain_values import nodes, plain, same, scalars


def read(text: str) -> Document:
    return toml_document.read(Source("train.toml", text))


def root(text: str) -> Mapping:
    document = read(text)
    assert document.problems == []
    (node,) = document.roots
    assert isinstance(node, Mapping)
    assert same(plain(node), tomli.loads(text))
    return node


def problem(text: str) -> tuple[str, str, str]:
    (found,) = read(text).problems
    return found.kind, found.reason, repr(found.span.place)


# --- Values and spans -------------------------------------------------------------------------------------------------

_TEXT = """\
# a comment
title = "x"
optim.lr = 2e-5
optim."beta.2" = 0.95
'single' = 1_000

[train]  # the run
epochs = 3
steps = [
  10, # ten
  [20, { a.b = 1, c = 'd' }],
]

[[data]]
path = "a.jsonl"
[data.options]
seed = 1

[[data]]
path = '''
b.jsonl'''

[train.eval]
every = 5
"""


@pytest.mark.parametrize(
    ("path", "key", "value", "place"),
    [
        (("title",), "title", '"x"', "2:9"),
        (("optim", "lr"), "lr", "2e-5", "3:12"),
        (("optim", "beta.2"), '"beta.2"', "0.95", "4:18"),
        (("single",), "'single'", "1_000", "5:12"),
        (("train", "epochs"), "epochs", "3", "8:10"),
        (("train", "eval", "every"), "every", "5", "24:9"),
    ],
)
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_every_key_and_value_has_its_place(
    path: tuple[str, ...], key: str, value: str, place: str, newline: str
) -> None:
    found = root(_TEXT.replace("\n", newline)).find(*path)
    assert found is not None
    assert (found.key_span.text, found.value.span.text, repr(found.value.span.place)) == (key, value, place)


def test_arrays_and_inline_tables_have_places_inside() -> None:
    steps = root(_TEXT).mapping("train").get("steps")  # type: ignore[union-attr]
    assert isinstance(steps, Sequence)
    assert steps.span.text.startswith("[\n  10, # ten")
    assert steps.span.text.endswith("],\n]")
    inner = steps.items[1]
    assert isinstance(inner, Sequence)
    assert [item.span.text for item in inner.items] == ["20", "{ a.b = 1, c = 'd' }"]
    table = inner.items[1]
    assert isinstance(table, Mapping)
    found = table.find("a", "b")
    assert found is not None
    assert repr(found.key_span.place) == "11:12"


def test_arrays_of_tables_have_the_tables_under_one_key() -> None:
    data = root(_TEXT).get("data")
    assert isinstance(data, Sequence)
    first, second = data.items
    assert isinstance(first, Mapping)
    assert isinstance(second, Mapping)
    assert first.find("options", "seed") is not None
    path = second.find("path")
    assert path is not None
    assert isinstance(path.value, Scalar)
    assert (path.value.raw, repr(path.value.span.place)) == ("b.jsonl", "20:8")


def test_a_table_reaches_from_its_header_to_its_last_value() -> None:
    data = root(_TEXT).get("data")
    assert isinstance(data, Sequence)
    assert data.items[1].span.text == "[[data]]\npath = '''\nb.jsonl'''"


def test_a_header_behind_that_of_an_inner_table() -> None:
    mapping = root("[a.b]\nx = 1\n[a]\ny = 2\n")
    (entry,) = mapping.entries
    assert repr(entry.key_span.place) == "3:2"
    assert [(e.key, repr(e.key_span.place)) for e in entry.value.entries] == [  # type: ignore[attr-defined]
        ("b", "1:4"),
        ("y", "4:1"),
    ]


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ('"""a\n"b""""', 'a\n"b"'),
        ("'''''a'''", "''a"),
        ('"""\\\n   x"""', "x"),
        ('"\\u00e9 \\" #"', 'é " #'),
        ("'# no'", "# no"),
        ("0x1F", 31),
        ("-inf", -math.inf),
        ("1979-05-27", datetime.date(1979, 5, 27)),
        ("1979-05-27 07:32:00", datetime.datetime(1979, 5, 27, 7, 32)),  # noqa: DTZ001
        ("07:32:00", datetime.time(7, 32)),
        ("true", True),
    ],
)
def test_every_kind_of_value(word: str, value: object) -> None:
    for text in (f"k = {word}\n", f"k = [ {word} , ] # c", f"k = {{ a = {word} }}"):
        (scalar,) = (node for node in nodes(well_read(text)) if isinstance(node, Scalar))
        assert scalar.span.text == word
        assert same(scalar.value, value)
        assert not scalar.plain
        if isinstance(value, str):
            assert scalar.raw == value
        else:
            assert scalar.raw == word


def well_read(text: str) -> Document:
    document = read(text)
    assert same(plain(document.roots[0]), tomli.loads(text))
    return document


def test_an_empty_text_is_an_empty_table() -> None:
    assert plain(root("")) == {}
    assert plain(root("# only a comment\n")) == {}


def test_a_scanner_that_disagrees_gives_no_places(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a = 1\n[t]\nb = ['x']\n"
    monkeypatch.setattr(toml_document._Scanner, "scan", lambda self: Mapping(self.source.span(0, 1), []))
    document = read(text)
    assert plain(document.roots[0]) == {"a": 1, "t": {"b": ["x"]}}
    assert {scalar.span.text for scalar in scalars(document)} == {text}


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("a = 1\n\n  a = 2\n", "a key that is set twice", "3:3"),
        ("a = 1\r\na = 2\r\n", "a key that is set twice", "2:1"),
        ("[a]\n[a]\n", "a table that is declared twice", "2:3"),
        ("a = x\n", "this is no TOML value: texts need quotation marks", "1:5"),
        ("a 1\n", "a '=' is missing behind the key", "1:3"),
        ('a = "x\n', "a quotation mark that is not closed on its line", "1:7"),
        ("a = 1 b = 2\n", "text behind the end of the value", "1:7"),
        ("a = [1\nb = 2\n", "a '[' that is not closed, or a ',' missing", "2:1"),
    ],
)
def test_errors_in_plain_words_where_they_are(text: str, reason: str, place: str) -> None:
    assert problem(text) == ("syntax", reason, place)


@pytest.mark.parametrize("text", ["a = {{ lr }}\n", "a = <LR>\n", "{% if x %}\na = 1\n{% endif %}\n"])
def test_templates_are_called_templates(text: str) -> None:
    assert problem(text)[0] == "template"


@pytest.mark.parametrize(
    ("text", "kind"), [("x=" + "[" * 100_000, "too-deep"), ('a = "' + "x" * 2_000_000 + '"', "too-large")]
)
def test_hostile_texts(text: str, kind: str) -> None:
    document = read(text)
    assert [found.kind for found in document.problems] == [kind]


@pytest.mark.parametrize("text", ["x=" + "[" * 300 + "]" * 300, "a." * 300 + "b = 1", "[" + "a." * 300 + "b]"])
def test_what_nests_deeply_ends(text: str) -> None:
    document = read(text)
    assert document.roots or document.problems


# --- Against the loader -----------------------------------------------------------------------------------------------

_BARE = st.text(alphabet="abcXYZ019_-", min_size=1, max_size=5)
_KEYS = _BARE | _BARE.map(lambda key: f'"{key}.é"') | _BARE.map(lambda key: f"'{key} #'")
_SPACE = st.sampled_from(["", " ", "\t "])
_STRINGS = st.text(alphabet="ab #\"'\\\n[]{}=,é", max_size=8)
_WORDS = st.one_of(
    st.integers(-(2**63), 2**63 - 1).map(str),
    st.floats(allow_nan=False).map(repr),
    st.booleans().map(lambda value: "true" if value else "false"),
    st.datetimes().map(lambda value: value.isoformat(sep=" ")),
    st.dates().map(str),
    st.times().map(str),
    _STRINGS.map(lambda text: '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'),
    _STRINGS.filter(lambda text: "'" not in text and "\n" not in text).map(lambda text: f"'{text}'"),
    _STRINGS.filter(lambda text: "'''" not in text and not text.endswith("'")).map(lambda text: f"'''{text}'''"),
    _STRINGS.map(lambda text: '"""' + text.replace("\\", "\\\\").replace('"""', '""\\"') + '"""').filter(
        lambda word: not word.endswith('\\""""') and not word.endswith('""""""""')
    ),
    st.sampled_from(["0x1f", "1_000", "1e5", "nan", "+inf", '""""a""""', "1979-05-27T07:32:00Z"]),
)
_GAP = st.sampled_from(["", " ", "\n", " # c ]}\n\t"])


@st.composite
def _values(draw: st.DrawFn, depth: int = 2) -> str:
    kind = draw(st.integers(0, 5)) if depth else 0
    if kind == 4:
        gap = draw(_GAP)
        items = draw(st.lists(_values(depth - 1), max_size=3))
        return (
            "[" + gap + (gap + "," + gap).join(items) + gap + ("," if items and draw(st.booleans()) else "") + gap + "]"
        )
    if kind == 5:
        space = draw(_SPACE)
        items = [f"{draw(_KEYS)}{space}={space}{draw(_values(depth - 1))}" for _ in range(draw(st.integers(0, 3)))]
        return "{" + space + f"{space},{space}".join(items) + space + "}"
    return draw(_WORDS)


@st.composite
def _tomls(draw: st.DrawFn) -> str:
    lines = []
    for _ in range(draw(st.integers(0, 8))):
        space = draw(_SPACE)
        key = f"{space}.{space}".join(draw(st.lists(_KEYS, min_size=1, max_size=3)))
        kind = draw(st.integers(0, 5))
        comment = draw(st.sampled_from(["", " # c", "#'\""]))
        if kind == 4:
            lines.append(f"{space}[{space}{key}{space}]{comment}")
        elif kind == 5:
            lines.append(f"{space}[[{space}{key}{space}]]{comment}")
        else:
            lines.append(f"{space}{key}{space}={space}{draw(_values())}{comment}")
    return draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(lines)


@given(_tomls())
def test_values_are_the_loaders_and_spans_hold_the_tokens(text: str) -> None:
    try:
        expected = tomli.loads(text)
    except tomli.TOMLDecodeError:
        assert [found.kind for found in read(text).problems] in (["syntax"], ["template"])
        assume(False)
    document = read(text)
    assert document.problems == []
    assert same(plain(document.roots[0]), expected)
    for node in nodes(document):
        if isinstance(node, Entry):
            assert tomli.loads(f"{node.key_span.text} = 1") == {node.key: 1}
        elif isinstance(node, Scalar):
            assert same(tomli.loads(f"k = {node.span.text}")["k"], node.value)
    # None of these came from the fallback.
    toml_document._settle(toml_document._Scanner(document.source).scan(), expected)


@given(st.text(alphabet="ab.=[]{}\"'#\n\r ,012-:\\é_", max_size=40) | st.text(max_size=60))
def test_any_text_is_read_or_refused_as_the_loader_does(text: str) -> None:
    document = read(text)
    try:
        expected = tomli.loads(text)
    except (tomli.TOMLDecodeError, RecursionError):
        assert document.problems
        for found in document.problems:
            assert 0 <= found.span.start <= found.span.end <= len(text)
    else:
        assert document.problems == []
        assert same(plain(document.roots[0]), expected)
