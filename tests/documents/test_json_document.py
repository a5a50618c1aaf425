from __future__ import annotations

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents import json_document
from epochlint.documents.document import Document, Entry, Mapping, Scalar, Sequence
from epochlint.source import Excerpt, Source
from tests.documents.plain_values import nodes, plain, same, scalars


def read(text: str, path: str = "ds.json") -> Document:
    return json_document.read(Source(path, text))


def problem(text: str) -> tuple[str, str, str]:
    (found,) = read(text).problems
    return found.kind, found.reason, repr(found.span.place)


# --- Values and spans -------------------------------------------------------------------------------------------------


def test_every_key_and_value_has_its_place() -> None:
    (root,) = read('{\n  "optimizer": {"params": {"lr": 2e-5}},\n  "list": [1, {"a": "b"}]\n}\n').roots
    assert isinstance(root, Mapping)
    lr = root.find("optimizer", "params", "lr")
    assert lr is not None
    assert isinstance(lr.value, Scalar)
    assert (lr.key_span.text, lr.value.span.text, repr(lr.value.span.place)) == ('"lr"', "2e-5", "2:34")
    assert (lr.value.raw, lr.value.value, lr.value.plain) == ("2e-5", 2e-5, False)
    optimizer, numbers = root.get("optimizer"), root.get("list")
    assert optimizer is not None
    assert optimizer.span.text == '{"params": {"lr": 2e-5}}'
    assert isinstance(numbers, Sequence)
    assert [item.span.text for item in numbers.items] == ["1", '{"a": "b"}']


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ('"x"', "x"), ("null", None), ("true", True), ("-0.5", -0.5), ("[]", []), ("{}", {}), (" 1e5 ", 1e5)],
)
def test_a_value_alone(text: str, value: object) -> None:
    (root,) = read(text).roots
    assert same(plain(root), value)
    assert root.span.text == text.strip()


def test_not_a_number_and_infinity_as_the_loader_has_them() -> None:
    (root,) = read("[NaN, Infinity, -Infinity]").roots
    assert isinstance(root, Sequence)
    values = plain(root)
    assert isinstance(values, list)
    assert math.isnan(values[0])
    assert values[1:] == [math.inf, -math.inf]


def test_a_text_is_raw_with_its_escapes_resolved() -> None:
    (root,) = read(r'{"\u0061\n": "\ud83d\ude00 \"x\""}').roots
    assert isinstance(root, Mapping)
    (entry,) = root.entries
    assert isinstance(entry.value, Scalar)
    assert (entry.key, entry.value.raw, entry.value.value) == ("a\n", '😀 "x"', '😀 "x"')
    assert entry.value.span.text == r'"\ud83d\ude00 \"x\""'


def test_a_key_written_twice_stands_twice_and_the_last_counts() -> None:
    (root,) = read('{"lr": 1, "b": {}, "lr": 2}').roots
    assert isinstance(root, Mapping)
    assert [(entry.key, repr(entry.key_span.place)) for entry in root.entries] == [
        ("lr", "1:2"),
        ("b", "1:11"),
        ("lr", "1:20"),
    ]
    assert plain(root) == {"lr": 2, "b": {}}


def test_spans_inside_an_excerpt_lead_to_the_file() -> None:
    outer = Source("job.yaml", 'data:\n  ds.json: |\n    {"a": 3}\n')
    start = outer.text.index("{")
    inner = Excerpt(outer, '{"a": 3}', list(range(start, start + 9)), "ds.json")
    (root,) = json_document.read(inner).roots
    assert isinstance(root, Mapping)
    span = root.entries[0].value.span
    assert (span.text, repr(span.place)) == ("3", "3:11")


# --- Comments and trailing commas -------------------------------------------------------------------------------------

_RELAXED = '{\n  // "b": 2,\n  "a": 1, # one\n  "url": "http://x", /* two\n lines */\n  "l": [1, 2,],\n}\n'


def test_comments_are_a_problem_of_their_own_and_the_tree_is_there() -> None:
    document = read(_RELAXED)
    assert [(found.kind, found.reason) for found in document.problems] == [
        ("relaxed", "a comment, which JSON does not have")
    ]
    assert repr(document.problems[0].span.place) == "2:3"
    assert plain(document.roots[0]) == {"a": 1, "url": "http://x", "l": [1, 2]}
    assert [scalar.span.text for scalar in scalars(document) if scalar.value == 2] == ["2"]


def test_in_jsonc_they_are_none() -> None:
    document = read(_RELAXED, "conf.jsonc")
    assert document.problems == []
    assert plain(document.roots[0]) == {"a": 1, "url": "http://x", "l": [1, 2]}


def test_a_trailing_comma() -> None:
    document = read('{"a": [1,]\n ,}')
    assert [(found.kind, found.reason) for found in document.problems] == [("relaxed", "a ',' behind the last value")]
    assert plain(document.roots[0]) == {"a": [1]}


def test_comments_do_not_hide_an_error() -> None:
    document = read('{"a": 1, // one\n "b" 2}')
    assert document.roots == []
    assert [(found.kind, repr(found.span.place)) for found in document.problems] == [("syntax", "2:6")]


# --- Errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ('{"a" 1}', "a ':' is missing behind the key", "1:6"),
        ('{"a": 1 "b": 2}', "a ',' is missing before this", "1:9"),
        ('{"a": 1', "the text ends before everything is closed", "1:8"),
        ('{"a":\n', "the text ends where a value belongs", "1:6"),
        ("{'a': 1}", "a key in single quotes: JSON has double quotes only", "1:2"),
        ('{"a": True}', "True, False and None are Python's words: JSON has true, false and null", "1:7"),
        ("{\"a\": 'x'}", "a text in single quotes: JSON has double quotes only", "1:7"),
        ('{"a": }', "a value is missing", "1:7"),
        ('{"a": x}', "this is no JSON value", "1:7"),
        ("epochs: 3\n", "this is no JSON value", "1:1"),
        ('{"a": "x}', "a quotation mark that is not closed", "1:7"),
        ('{"a": "x\n"}', "a line break or control character inside a text", "1:9"),
        ('{"a": "\\q"}', "an unknown escape sequence", "1:8"),
        ('{"a": 1}\n}\n', "text behind the end of the value", "2:1"),
        ("", "the file is empty", "1:1"),
    ],
)
def test_errors_in_plain_words_where_they_are(text: str, reason: str, place: str) -> None:
    assert problem(text) == ("syntax", reason, place)


def test_json_lines_are_data() -> None:
    assert problem('{"a": 1}\n\n{"a": 2}\n')[0] == "lines"


@pytest.mark.parametrize(
    "text",
    [
        '{"a": {{ lr }}}',
        '{"a": <LR>}',
        '{"a": $LR}',
        '{"a": ${LR}}',
        '{% if x %}{"a": 1}{% endif %}',
        '{\n  "train_batch_size" : GB_SIZE,\n  "a": MICRO_BATCH\n}\n',
    ],
)
def test_templates_are_called_templates(text: str) -> None:
    assert problem(text)[0] == "template"


@pytest.mark.parametrize("text", ['{"a": abc}', '{"a": None}', '{"a": "B_C", "d": e}', '{"A_B": 1 "c": 2}'])
def test_a_slip_is_no_template(text: str) -> None:
    assert problem(text)[0] == "syntax"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("[" * 200_000, "too-deep"),
        ('{"a":' * 200_000, "too-deep"),
        ("9" * 5000, "syntax"),
        ('{"a": "' + "x" * 5_000_000 + '"}', "too-large"),
        ("[" + '{"a": 1},' * 60_000 + "0]", "too-large"),
    ],
)
def test_hostile_texts(text: str, kind: str) -> None:
    document = read(text)
    assert [found.kind for found in document.problems] == [kind]
    assert document.roots == []


def test_a_large_object_is_read() -> None:
    document = read(json.dumps({f"k{i}": i for i in range(40_000)}))
    assert document.problems == []
    assert sum(1 for _ in nodes(document)) == 80_001


# --- Against the loader -----------------------------------------------------------------------------------------------

_DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


@given(_DATA, st.sampled_from([None, 0, 2, "\t"]), st.booleans(), st.sampled_from([(",", ":"), (" , ", "\r\n:\t")]))
def test_values_are_the_loaders_and_spans_hold_the_tokens(
    data: object, indent: int | str | None, ascii_only: bool, separators: tuple[str, str]
) -> None:
    text = json.dumps(data, indent=indent, ensure_ascii=ascii_only, separators=separators)
    document = read(text)
    assert document.problems == []
    assert same(plain(document.roots[0]), json.loads(text))
    for node in nodes(document):
        if isinstance(node, Entry):
            assert json.loads(node.key_span.text) == node.key
        elif isinstance(node, Scalar):
            assert same(json.loads(node.span.text), node.value)
        else:
            assert same(json.loads(node.span.text), plain(node))


@given(st.text(alphabet="{}[],:\"\\ \n\t0123.-eE+truefalsnNI/*#'ux", max_size=40) | st.text(max_size=60))
def test_any_text_is_read_or_refused_as_the_loader_does(text: str) -> None:
    document = read(text)
    try:
        expected = json.loads(text)
    except ValueError:
        assert document.problems
        for found in document.problems:
            assert 0 <= found.span.start <= found.span.end <= len(text)
    else:
        assert document.problems == []
        assert same(plain(document.roots[0]), expected)
