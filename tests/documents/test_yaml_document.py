from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents import yaml_document
from epochlint.documents.document import Document, Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.source import Excerpt, Source
from tests.documents.plain_values import nodes, plain, same, scalars


def read(text: str) -> Document:
    return yaml_document.read(Source("train.yaml", text))


def root(text: str) -> Mapping:
    document = read(text)
    assert document.problems == []
    (node,) = document.roots
    assert isinstance(node, Mapping)
    return node


def entry(text: str, *path: str) -> Entry:
    found = root(text).find(*path)
    assert found is not None
    return found


def problem(text: str) -> tuple[str, str, str]:
    (found,) = read(text).problems
    return found.kind, found.reason, repr(found.span.place)


# --- Values and spans -------------------------------------------------------------------------------------------------


def test_every_key_and_value_has_its_place() -> None:
    lr = entry("# a comment\nmodel: x\ntrain:\n  learning_rate: 2e-5  # text for PyYAML\n", "train", "learning_rate")
    assert lr.key_span.text == "learning_rate"
    assert repr(lr.key_span.place) == "4:3"
    assert isinstance(lr.value, Scalar)
    assert (lr.value.raw, lr.value.value, lr.value.plain) == ("2e-5", "2e-5", True)
    assert lr.value.span.text == "2e-5"
    assert repr(lr.value.span.end_place) == "4:22"


def test_characters_are_counted_not_bytes_and_not_utf16_units() -> None:
    value = entry("𝔞é: [ü, 5]\nb: 7\n", "𝔞é").value
    assert isinstance(value, Sequence)
    assert [item.span.text for item in value.items] == ["ü", "5"]
    assert repr(value.items[1].span.place) == "1:9"


def test_next_line_and_line_separator_are_no_lines_of_an_editor() -> None:
    assert repr(entry('a: "x\u2028y\x85z"\nb: 1\n', "b").key_span.place) == "2:1"


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_breaks(newline: str) -> None:
    found = entry(f"a: 1{newline}b:{newline}  c: 2{newline}", "b", "c")
    assert (repr(found.key_span.place), found.value.span.text) == ("3:3", "2")


@pytest.mark.parametrize(
    ("text", "span", "raw", "value"),
    [
        ("'it''s'", "'it''s'", "it's", "it's"),
        ('"8"', '"8"', "8", "8"),
        ("!!float 4e-5", "4e-5", "4e-5", 4e-5),
        ("&lr !!float '4e-5'", "'4e-5'", "4e-5", 4e-5),
        ("!!int '8'", "'8'", "8", 8),
        ("!!str 8", "8", "8", "8"),
        ("!!bool yes", "yes", "yes", True),
        ("!!null ''", "''", "", None),
    ],
)
def test_a_quoted_or_tagged_scalar_is_nothing_to_guess(text: str, span: str, raw: str, value: object) -> None:
    node = entry(f"a: {text}\n", "a").value
    assert isinstance(node, Scalar)
    assert (node.span.text, node.raw, node.value, node.plain) == (span, raw, value, False)


def test_an_anchor_is_no_part_of_the_span_a_fix_would_replace() -> None:
    text = "a: &lr 2e-5\nb: &l [1, 2]\nc: &m\n  d: 1\n"
    assert [e.value.span.text for e in root(text).entries] == ["2e-5", "[1, 2]", "d: 1"]


def test_an_empty_value_stands_behind_its_colon() -> None:
    node = entry("a:\nb: 1\n", "a").value
    assert isinstance(node, Scalar)
    assert (node.value, node.span.start, node.span.end) == (None, 2, 2)


def test_block_scalars_end_with_their_text() -> None:
    text = "a: |\n  one\n  two\n\n\n# c\nb: >-\n  three\n  four\n\n"
    assert [(e.value.span.text, getattr(e.value, "value", None)) for e in root(text).entries] == [
        ("|\n  one\n  two", "one\ntwo\n"),
        (">-\n  three\n  four", "three four"),
    ]


def test_collections_end_where_their_last_child_does() -> None:
    text = "a:\n  b: 1\n\n# about c\nc:\n  - x\n  - y  # why\n\nd: 1\n"
    assert entry(text, "a").value.span.text == "b: 1"
    assert entry(text, "c").value.span.text == "- x\n  - y"
    assert root(text).span.text == text.rstrip()


def test_collections_that_end_in_an_alias() -> None:
    text = "a: &a 1\nb:\n  x: *a\n\n# c\nc:\n  - *a\n\n# d\nd: {x: *a}\ne: 1\n"
    assert entry(text, "b").value.span.text == "x: *a"
    assert entry(text, "c").value.span.text.startswith("- *a")
    assert entry(text, "d").value.span.text == "{x: *a}"


def test_a_collection_that_is_met_by_alias_first_ends_right() -> None:
    text = "top:\n  deep:\n    d: &d\n      x: 1\n\n# c\nshallow: *d\n"
    assert entry(text, "top", "deep").value.span.text == "d: &d\n      x: 1"


def test_spans_inside_an_excerpt_lead_to_the_file() -> None:
    outer = Source("job.yaml", "data:\n  train.yaml: |\n    epochs: 3\n")
    start = outer.text.index("epochs")
    inner = Excerpt(outer, "epochs: 3\n", [*range(start, start + 11)], "train.yaml")
    (node,) = yaml_document.read(inner).roots
    assert isinstance(node, Mapping)
    span = node.entries[0].value.span
    assert (span.text, repr(span.place)) == ("3", "3:13")


# --- Keys, merges, aliases, documents ---------------------------------------------------------------------------------


def test_a_key_written_twice_stands_twice_and_the_last_counts() -> None:
    mapping = root("lr: 1\nepochs: 2\nlr: 3\n")
    assert [e.key for e in mapping.entries] == ["lr", "epochs", "lr"]
    assert [repr(e.key_span.place) for e in mapping.entries if e.key == "lr"] == ["1:1", "3:1"]
    assert plain(mapping) == {"lr": 3, "epochs": 2}


def test_merged_entries_keep_their_places_and_own_keys_win() -> None:
    text = "base: &base\n  lr: 1\n  epochs: 2\nrun:\n  lr: 3\n  <<: *base\n"
    mapping = root(text).mapping("run")
    assert mapping is not None
    assert [(e.key, repr(e.key_span.place)) for e in mapping.entries] == [("epochs", "3:3"), ("lr", "5:3")]
    assert "<<" not in mapping


def test_merging_a_list_takes_the_first_and_chains_are_followed() -> None:
    text = "a: &a {lrate: 1}\nb: &b {<<: *a, epochs: 2}\nc: &c {epochs: 5, steps: 6}\nd: {<<: [*b, *c], x: 1}\n"
    assert plain(entry(text, "d").value) == {"lrate": 1, "epochs": 2, "steps": 6, "x": 1}


def test_a_quoted_merge_key_is_a_key() -> None:
    assert plain(root('a: {"<<": 1}\n')) == {"a": {"<<": 1}}


def test_merging_what_is_no_mapping_is_a_problem() -> None:
    assert problem("a:\n  <<: 5\n") == ("syntax", "'<<' merges mappings, and this is not a mapping", "2:3")


@pytest.mark.parametrize("text", ["a: &a\n  <<: *a\n  x: 1\n", "a: &a\n  <<: &b {<<: *a, y: 1}\n  x: 1\n"])
def test_a_mapping_that_merges_itself_gains_nothing_and_ends(text: str) -> None:
    mapping = root(text).mapping("a")
    assert mapping is not None
    assert "x" in mapping


def test_aliases_share_one_node() -> None:
    mapping = root("a: &a [1]\nb: *a\n")
    assert mapping.get("a") is mapping.get("b")


def test_a_node_may_hold_itself() -> None:
    (node,) = read("&x [1, *x]").roots
    assert isinstance(node, Sequence)
    assert node.items[1] is node


def test_several_documents() -> None:
    document = read("a: 1\n---\nb: 2\n---\n- 3\n")
    assert [plain(node) for node in document.roots] == [{"a": 1}, {"b": 2}, [3]]


@pytest.mark.parametrize("text", ["", "\n\n", "# only a comment\n"])
def test_nothing_gives_no_roots(text: str) -> None:
    document = read(text)
    assert (document.roots, document.problems) == ([], [])


@pytest.mark.parametrize(("key", "text"), [("1", "1: x"), ("true", "true: x"), ("[a, b]", "? [a, b]\n: x")])
def test_keys_of_other_types_are_their_text(key: str, text: str) -> None:
    mapping = root(text + "\n")
    assert [e.key for e in mapping.entries] == [key]
    assert mapping.entries[0].key_span.text == key


def test_a_tag_that_only_a_program_knows_leaves_the_value_unknown() -> None:
    mapping = root(
        "a: !include other.yaml\nb: !!python/tuple [0.9, 0.95]\nc: !new:torch.optim.AdamW\n  lr: 1\nd: !ref [x]\n"
    )
    a, b, c, d = (e.value for e in mapping.entries)
    assert isinstance(a, Unresolved)
    assert "!include" in a.reason
    assert plain(b) == [0.9, 0.95]
    assert isinstance(c, Mapping)
    assert c.open_ended
    assert isinstance(d, Unresolved)


def test_a_value_that_does_not_fit_its_tag_is_unknown() -> None:
    assert isinstance(entry("a: !!int x\n", "a").value, Unresolved)


# --- Templates and errors ---------------------------------------------------------------------------------------------


def test_a_placeholder_that_parses_is_an_unknown_value() -> None:
    document = read("a: {{ .Values.lr }}\nb: 1\n")
    assert [found.kind for found in document.problems] == ["template"]
    (node,) = document.roots
    assert isinstance(node, Mapping)
    assert isinstance(node.get("a"), Unresolved)
    assert plain(node.get("b") or node) == 1


@pytest.mark.parametrize(
    "text",
    [
        "{% if lora %}\nr: 8\n{% endif %}\n",
        "a: 1\n{{- range .Values.x }}\nb: 2\n{{- end }}\n",
        "a: {{ x }}-{{ y }}\n",
        "a: 1\n<PARAMETERS>\nb: 2\n",
        "a: @<NAME>\n",
    ],
)
def test_templates_are_called_templates(text: str) -> None:
    assert problem(text)[0] == "template"


def test_a_placeholder_elsewhere_does_not_hide_an_error() -> None:
    text = 'template: "{{ x }}"\ntoken: <TOKEN>\na: 1\nb: 2\nc: [1\nd: 2\n'
    assert problem(text) == ("syntax", "a '[' that is not closed, or a ',' missing", "5:4")


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("a: b: c\n", "a ':' where no key can stand: indent as the lines above, or quote the text", "1:5"),
        ("a: 1\nreport_to:wandb\nb: 2\n", "a blank is missing behind the ':'", "2:1"),
        ("a: 1\njust words\nb: 2\n", "a key without its ':'", "2:1"),
        ("a: 'x\nb: 1\n", "a quotation mark that is not closed", "1:4"),
        ("a:\n\t- b\n", "a tab: YAML indents with spaces", "2:1"),
        ("a: @b\n", "'@' cannot begin a value: quote the text", "1:4"),
        ("a: *b\n", "an alias without an anchor before it", "1:4"),
        ('a: "\\q"\n', "an unknown escape sequence in double quotes", "1:5"),
        ("a: {b: 1\nc: 2\n", "a '{' that is not closed, or a ',' missing", "1:4"),
        ("a:\n  - b\n c: 1\n", "neither a key of this mapping nor the end of it: check the indentation", "3:2"),
        ("a: \x01\n", "a control character, which YAML does not allow", "1:4"),
        ("a: &x 1\nb: &x 2\n", "an anchor that is defined twice", "2:4"),
    ],
)
def test_errors_in_plain_words_where_they_are(text: str, reason: str, place: str) -> None:
    assert problem(text) == ("syntax", reason, place)


def test_documents_before_a_broken_one_are_kept() -> None:
    document = read("a: 1\n---\nb: [\n")
    assert [plain(node) for node in document.roots] == [{"a": 1}]
    assert len(document.problems) == 1


# --- Hostile texts ----------------------------------------------------------------------------------------------------


def test_deep_nesting_is_a_problem() -> None:
    assert [found.kind for found in read("[" * 100_000).problems] == ["too-deep"]


def test_as_deep_as_the_parser_goes_is_read() -> None:
    document = read("[" * 900 + "]" * 900)
    assert document.problems == []
    assert sum(1 for _ in nodes(document)) == 900


def test_an_alias_bomb_stays_small() -> None:
    text = "a: &k0 [x, x]\n" + "".join(f"b{i}: &k{i} [*k{i - 1}, *k{i - 1}]\n" for i in range(1, 60))
    assert sum(1 for _ in nodes(read(text))) < 300


def test_merging_is_bounded() -> None:
    text = "a: &k0 {x: 1}\n" + "".join(f"k{i}: &k{i}\n  <<: *k{i - 1}\n  z{i}: 1\n" for i in range(1, 2000))
    assert [found.kind for found in read(text).problems] == ["too-large"]


def test_too_many_values() -> None:
    assert [found.kind for found in read("[" + "0," * 250_000 + "0]").problems] == ["too-large"]


def test_too_large() -> None:
    assert [found.kind for found in read("a: " + "x" * 5_000_000).problems] == ["too-large"]


@pytest.mark.parametrize(
    "text", ["\x00", "a\ud800: 1", "\ufeffa: 1", "%YAML 9.9\n---\na", "? ", "- - - ", "!<", "&", "*"]
)
def test_odd_texts_give_no_exception(text: str) -> None:
    document = read(text)
    assert document.roots or document.problems


# --- Against the loader -----------------------------------------------------------------------------------------------

_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.text(max_size=12),
    st.sampled_from(
        ["2e-5", "1e5", "no", "8", "010", "1:30", "1_000", "", " ", "#x", "a: b", "{{ x }}", "<<", "=", "~"]
    ),
)
_DATA = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=20,
)


def _checked(text: str, expected: object) -> None:
    document = read(text)
    assert document.problems == []
    (node,) = document.roots
    assert same(plain(node), expected)
    for scalar in scalars(document):
        token = scalar.span.text
        if token[:1] in ("|", ">"):
            continue
        if scalar.plain and "\n" not in token:
            assert token == scalar.raw
        elif token:
            assert yaml.compose(token, Loader=yaml.SafeLoader).value == scalar.raw


@given(
    _DATA,
    st.sampled_from([None, True, False]),
    st.sampled_from([None, "'", '"', "|", ">"]),
    st.sampled_from([2, 4]),
    st.booleans(),
)
def test_values_are_the_loaders_and_spans_hold_the_tokens(
    data: object, flow: bool | None, style: str | None, indent: int, unicode: bool
) -> None:
    text = yaml.safe_dump(data, default_flow_style=flow, default_style=style, indent=indent, allow_unicode=unicode)
    _checked(text, yaml.safe_load(text))


_WORDS = """a|b: |- |[|]|{|}|, |'|"|>|&x |*x |!!int |<<: |? |: |#| |%|@|{{|}}|1|2e-5|010|é|𝔞"""
_FRAGMENTS = st.lists(
    st.sampled_from([*_WORDS.split("|"), "|\n", "\n", "\n  ", "\n    ", "\t", "---\n", "...\n", "\x00"]), max_size=30
).map("".join)


@given(_FRAGMENTS)
def test_any_text_is_read_or_refused_as_the_loader_does(text: str) -> None:
    document = read(text)
    size = len(text)
    for node in nodes(document):
        span = node.key_span if isinstance(node, Entry) else node.span
        assert 0 <= span.start <= span.end <= size
    for found in document.problems:
        assert 0 <= found.span.start <= found.span.end <= size
        assert found.reason
    try:
        list(yaml.compose_all(text, Loader=yaml.CSafeLoader))
    except yaml.YAMLError:
        assert document.problems
        return
    assert all(found.kind == "template" or "<<" in found.reason for found in document.problems)
    try:
        expected = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError, IndexError, RecursionError):
        return
    if not document.problems and all(_text_keys(value) for value in expected) and not _circular(document):
        assert all(map(same, map(plain, document.roots), expected))


def _text_keys(value: object, depth: int = 0) -> bool:
    if depth > 20:
        return False
    if isinstance(value, dict):
        return all(isinstance(key, str) and _text_keys(inner, depth + 1) for key, inner in value.items())
    return all(_text_keys(item, depth + 1) for item in value) if isinstance(value, list) else True


def _circular(document: Document) -> bool:
    def below(node: Node, above: frozenset[int]) -> bool:
        if id(node) in above:
            return True
        inner = [e.value for e in node.entries] if isinstance(node, Mapping) else getattr(node, "items", [])
        return any(below(item, above | {id(node)}) for item in inner)

    return any(below(node, frozenset()) for node in document.roots)


@given(st.binary(max_size=200))
def test_any_bytes_give_no_exception(data: bytes) -> None:
    read(data.decode("latin-1"))
    read(data.decode("utf-8", "surrogateescape"))


def test_without_libyaml_the_same_is_read() -> None:
    program = textwrap.dedent(
        """
        import sys
        sys.modules["yaml._yaml"] = None
        from epochlint.documents import yaml_document
        from epochlint.source import Source
        from tests.documents.plain_values import plain
        text = "a: &a {lr: 2e-5, n: 8}\\nb: {<<: *a, c: 'x'}\\n--- \\nd: |\\n  t\\n\\n"
        document = yaml_document.read(Source("x.yaml", text))
        print([plain(node) for node in document.roots], document.problems)
        print([entry.value.span.text for entry in document.roots[1].entries])
        for broken in ("[" * 1500, "a: {% x %}", "a: [1", "a: 'x"):
            (problem,) = yaml_document.read(Source("x.yaml", broken)).problems
            print(problem.kind, problem.span.start)
        """
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        "[{'a': {'lr': '2e-5', 'n': 8}, 'b': {'lr': '2e-5', 'n': 8, 'c': 'x'}}, {'d': 't\\n'}] []",
        "['|\\n  t']",
        "too-deep 0",
        "template 4",
        "syntax 3",
        "syntax 3",
    ]
