# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents.document import Scalar
from epochlint.documents.python import Derived
from tests.documents.python.reading import UNKNOWN, call, script, value


@pytest.mark.parametrize(
    "expression",
    [
        "3", "2e-5", "-1", "1_000", "0x10", "True", "None", "'a\\tb'", "'a' 'b'", "+5", "~3", "not 0", "1e400",
        "128 // 4", "7 // 2 * 3", "7 % 4", "2 ** 10", "2 ** -1", "1 / 4", "3 - 5", "1 << 4", "6 & 3", "6 | 1", "6 ^ 3",
        "min(3, 1, 2)", "max([1, 5, 2])", "sum([1, 2, 3])", "round(2.5)", "round(0.123, 2)", "abs(-3)", "int('12')",
        "float('2e-5')", "int(3.9)", "str(4)", "bool(0)", "len([1, 2])", "len('abc')", "len({'a': 1})", "int(True)",
        "math.ceil(10 / 4)", "math.floor(2.7)", "math.sqrt(16)", "pow(2, 5)", "math.log2(8)", "divmod(7, 2)[0] if 0 else 1",
        "f'lr{1e-4}-{3:03d}'", "f'{0.5:.2f}'", "f'{5!r}{\"a\"!s}'", "'%s-%d' % ('a', 3)", "'%d%%' % 5", "'x-{}-{n}'.format(1, n=2)",
        "'a' + 'b'", "'ab' * 3", "[1] + [2]", "[0] * 3", "{'a': 1} | {'b': 2}", "{**{'a': 1}, 'a': 2}", "dict(a=1, b=2)",
        "dict({'a': 1}, a=3)", "[1, *[2, 3]]", "(1, 2)[1]", "[1, 2, 3][-1]", "[1, 2, 3][:2]", "'abcdef'[1:3]", "{'a': {'b': 2}}['a']['b']",
        "{'a': 1}.get('a', 5)", "{'a': 1}.get('b', 5)", "{'a': 1}.get('b')", "1 if True else 2", "1 if 2 > 3 else 2", "0 or 5", "3 and 4",
        "None or 'x'", "2 < 3 < 4", "2 < 3 > 5", "'a' in ['a']", "'b' not in ['a']", "'a' in {'a': 1}", "1 == 1.0", "None is None",
        "os.path.join('a', 'b.yaml')", "os.path.dirname('a/b/c.py')", "os.path.basename('a/b.py')", "'A'.lower()", "' x '.strip()",
        "'a,b'.split(',')", "'-'.join(['a', 'b'])", "'a.jsonl'.endswith('.jsonl')", "[x * 2 for x in [1, 2]]", "[x for x in range(5) if x % 2]",
        "{k: v for k, v in {'a': 1, 'b': None}.items() if v is not None}", "list(range(3))", "any([0, 1])", "all([1, 0])", "isinstance('a', str)",
        "(lambda a, b=2: a * b)(3)", "list(zip([1, 2], 'ab'))[0] if 0 else 7", "list(enumerate(['a']))[0][0]", "[*map(int, [])] if 0 else 8",
    ],
)  # fmt: skip
def test_known_expressions_have_pythons_value(expression: str) -> None:
    expected = eval(expression, {"math": math, "os": __import__("os")})
    found = value(expression)
    if isinstance(expected, tuple):
        expected = list(expected)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "expression",
    [
        "missing", "missing + 1", "missing.x", "missing['x']", "missing()", "1 / 0", "int('x')", "[1][5]", "{}['a']",
        "'a' + 1", "2 ** 100000", "'a' * 10 ** 9", "1 << 100000", "10 ** 10 ** 10", "f'{missing}'", "'%s' % missing",
        "1 if missing else 2", "os.path.join('a', missing)", "open('x').read()", "input()", "len(open('x'))",
        "f'{1:>999999999}'", "'%999999999d' % 1", "'{:>99999999}'.format(1)", "'{0.__class__}'.format(1)", "int('9' * 9000)", "1j",
        "b'x'", "...", "os.path.exists('a')", "os.environ['NOT_SET']", "round(missing)", "max(1, missing)", "float('inf') // 0",
    ],
)  # fmt: skip
def test_what_cannot_be_known_or_is_no_setting_is_unknown(expression: str) -> None:
    found = value(expression)
    assert found == UNKNOWN or found == {"one of": [1, 2]}


_NUMBERS = st.one_of(st.integers(-1000, 1000), st.floats(-1e6, 1e6, allow_nan=False))


@st.composite
def _arithmetic(draw: st.DrawFn, depth: int = 3) -> str:
    if depth == 0 or draw(st.booleans()):
        return repr(draw(_NUMBERS))
    operation = draw(st.sampled_from(["+", "-", "*", "/", "//", "%"]))
    return f"({draw(_arithmetic(depth - 1))} {operation} {draw(_arithmetic(depth - 1))})"


@given(_arithmetic())
def test_arithmetic_agrees_with_python(expression: str) -> None:
    try:
        expected = eval(expression)
    except ArithmeticError:
        expected = UNKNOWN
    found = value(expression)
    assert found == expected or (found != found and expected != expected)


def test_a_literals_span_is_the_literal_and_the_keywords_is_its_name() -> None:
    document = script("rate = 2e-5\nargs = TrainingArguments(learning_rate=rate, \n    epochs = -3)")
    entry = call(document, "TrainingArguments").entry("learning_rate")
    assert entry is not None
    assert (entry.key_span.text, entry.key_span.place.line) == ("learning_rate", 2)
    assert isinstance(entry.value, Scalar)
    assert (entry.value.span.text, entry.value.span.place.line, entry.value.raw) == ("2e-5", 1, "2e-5")
    other = call(document, "TrainingArguments").entry("epochs")
    assert other is not None
    assert (other.key_span.text, other.value.span.text, other.key_span.place.line) == ("epochs", "-3", 3)


def test_columns_count_characters_not_bytes() -> None:
    document = script('x = "äöü𝄞"; args = TrainingArguments(note="é", learning_rate=1e-4)')
    entry = call(document, "TrainingArguments").entry("learning_rate")
    assert entry is not None
    assert entry.key_span.text == "learning_rate"
    assert entry.value.span.text == "1e-4"
    assert call(document, "TrainingArguments").span.text == "TrainingArguments"


def test_a_computed_value_knows_the_names_behind_it() -> None:
    document = script(
        """
        micro = 4
        total = 128
        steps = total // micro
        args = TrainingArguments(gradient_accumulation_steps=max(1, steps))
        """
    )
    found = call(document, "TrainingArguments").argument("gradient_accumulation_steps")
    assert isinstance(found, Derived)
    assert found.value == 32
    assert {"micro", "total", "steps"} <= found.names
    assert not found.default


def test_a_cast_keeps_the_place_where_the_value_is_written() -> None:
    document = script("text = '3e-4'\nargs = TrainingArguments(learning_rate=float(text))")
    found = call(document, "TrainingArguments").argument("learning_rate")
    assert isinstance(found, Scalar)
    assert (found.value, found.raw, found.span.place.line) == (3e-4, "3e-4", 1)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("str(Path('a') / 'b' / 'c.yaml')", "a/b/c.yaml"),
        ("Path('a', 'b')", "a/b"),
        ("Path('a/b.json').name", "b.json"),
        ("Path('a/b.json').stem", "b"),
        ("Path('a/b.json').suffix", ".json"),
        ("Path('a/b').parent", "a"),
        ("Path(__file__).parent / 'conf.yaml'", "scripts/conf.yaml"),
        ("Path(__file__).resolve().parent.parent / 'conf.yaml'", "conf.yaml"),
        ("Path(__file__).parents[1] / 'x'", "x"),
        ("os.path.join(os.path.dirname(os.path.abspath(__file__)), 'x.yaml')", "scripts/x.yaml"),
        ("os.path.splitext('a/b.py')[0]", "a/b"),
    ],
)
def test_paths(expression: str, expected: str) -> None:
    assert value(expression, path="scripts/train.py") == expected


def test_enumerations_of_transformers_are_their_words() -> None:
    before = "from transformers import IntervalStrategy, SchedulerType"
    assert value("IntervalStrategy.STEPS", before) == "steps"
    assert value("SchedulerType.COSINE_WITH_RESTARTS", before) == "cosine_with_restarts"
    assert value("SchedulerType.REDUCE_ON_PLATEAU", before) == "reduce_lr_on_plateau"


def test_a_constant_of_a_library_is_a_symbol() -> None:
    assert value("torch.bfloat16", "import torch") == "<torch.bfloat16>"
    assert value("metrics", "def metrics(p): return {}") == "<metrics>"
