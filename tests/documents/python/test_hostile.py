# ruff: noqa: E501 (one case a line)
"""Texts that are no scripts, or scripts that want to do harm: nothing runs, nothing is raised, nothing takes long."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents import python
from epochlint.documents.python import PythonDocument
from epochlint.source import Source
from tests.documents.python.reading import call, plain, script

MARK = "\n# learning_rate\n"


def read(text: str) -> PythonDocument:
    return python.read(Source("train.py", text + MARK))


def test_a_booby_trapped_script_is_read_and_not_run(tmp_path: Path) -> None:
    trap = tmp_path / "sprung"
    text = f"""
        import os, subprocess, pathlib, importlib, sys
        from transformers import TrainingArguments
        TRAP = {str(trap)!r}
        open(TRAP, "w").write("x")
        pathlib.Path(TRAP).write_text("x")
        os.system("touch " + TRAP)
        subprocess.run(["touch", TRAP])
        exec("open(TRAP, 'w')")
        eval("open(TRAP, 'w')")
        importlib.import_module("antigravity")
        __import__("antigravity")
        class Rate:
            def __float__(self): open(TRAP, "w"); return 1.0
            def __str__(self): open(TRAP, "w"); return "x"
            def __format__(self, spec): open(TRAP, "w"); return "x"
            def __add__(self, other): open(TRAP, "w"); return 1
        f"{{Rate()}}" + str(Rate()); float(Rate()); Rate() + 1
        def boom(x=open(TRAP, "w")): pass
        @boom
        def decorated(): open(TRAP, "w")
        decorated()
        sys.exit(open(TRAP, "w")) if False else None
        TrainingArguments(learning_rate=1e-4)
    """
    before = set(sys.modules)
    document = script(text)
    assert plain(call(document, "TrainingArguments").arguments) == {"learning_rate": 1e-4}
    assert not trap.exists()
    assert "antigravity" not in sys.modules
    assert not any(name.startswith(("transformers", "importlib.metadata")) for name in set(sys.modules) - before)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("def f(:\n", "syntax"),
        ("print 'python 2'", "syntax"),
        ("x = {{ rate }}\ny = 2 2", "template"),
        ("rate = {{ cookiecutter.rate }\n", "template"),
        ("{% if x %}\nrate = 1\n{% endif %}", "template"),
        ("x = 1\0", "encoding"),
        ("x = '\ud800'", "encoding"),
        ("x = " + "(" * 5000 + "1" + ")" * 5000, "syntax"),
        ("x = " + "-" * 100_000 + "1", "too-deep"),
        ("x = a" + ".b" * 100_000, "too-deep"),
        ("x = 1" + "+1" * 100_000, "too-deep"),
        ("x = " + "9" * 10_000, "syntax"),
        ("x" * 4_000_000, "too-large"),
        ("<<<<<<< HEAD\nrate = 1\n=======\nrate = 2\n>>>>>>> other", "syntax"),
        ("  indented = 1", "syntax"),
    ],
)
def test_what_cannot_be_read_is_a_problem_that_says_where(text: str, kind: str) -> None:
    document = read(text)
    (problem,) = document.problems
    assert problem.kind == kind
    assert problem.reason
    assert 0 <= problem.span.start <= len(document.source.text)
    assert document.calls == []


def test_the_place_of_a_syntax_error() -> None:
    document = read("x = 1\ny = = 2\n")
    (problem,) = document.problems
    assert problem.span.place.line == 2
    assert "cannot parse" in problem.reason
    assert f"{sys.version_info[0]}.{sys.version_info[1]}" in problem.reason


def test_deep_but_legal_nesting() -> None:
    document = read("".join(" " * n + "if unknown:\n" for n in range(90)) + " " * 90 + "TrainingArguments(x=1)")
    assert [made.guarded for made in document.calls] == [True]


@pytest.mark.parametrize(
    "text",
    [
        # Doubling lists, texts, choices, tables, datasets and functions.
        "x = [1]\n" + "x = [x, x]\n" * 60 + "TrainingArguments(a=x)",
        "x = [1]\n" + "x = x + x\n" * 60 + "TrainingArguments(a=x)",
        "x = 'a'\n" + "x = x + x\n" * 200 + "TrainingArguments(a=x)",
        "x = 'a'\n" + "x = f'{x}{x}'\n" * 200 + "TrainingArguments(a=x)",
        "x = 2\n" + "x = x * x\n" * 200 + "TrainingArguments(a=x)",
        "x = 2\n" + "x = x ** x\n" * 20 + "TrainingArguments(a=x)",
        "import copy\nx = [1]\n" + "x = [x, copy.deepcopy(x)]\n" * 60 + "TrainingArguments(a=x)",
        "from easydict import EasyDict\nx = {'a': 1}\n" + "x = {'a': x, 'b': x}\n" * 60 + "TrainingArguments(a=EasyDict(x))",
        "from omegaconf import OmegaConf\nx = {'a': 1}\n" + "x = {'a': x, 'b': x}\n" * 60 + "TrainingArguments(a=OmegaConf.create(x))",
        "x = 0\n" + "x = x if unknown else [x, x]\n" * 60 + "TrainingArguments(a=x)",
        "from datasets import *\nd = load_dataset('a/b', split='train')\n" + "d = concatenate_datasets([d, d])\n" * 60 + "if u: d = d.map(f)\nTrainingArguments(a=d)",
        "def f0(): return 1\n" + "".join(f"def f{n}(): return f{n - 1}() + f{n - 1}()\n" for n in range(1, 200)) + "TrainingArguments(a=f199())",
        "def f(): return g()\ndef g(): return f()\nTrainingArguments(a=f())",
        "f = lambda: f()\nTrainingArguments(a=f())",
        "class A(A): pass\nclass B(A): pass\nTrainingArguments(a=B().x)",
        "x = {}\nx['x'] = x\nTrainingArguments(**x)",
        "x = []\nx.append(x)\nTrainingArguments(a=x, b=str(x), c=x == x)",
        "TrainingArguments(a=[[[x for x in range(200)] for y in range(200)] for z in range(200)])",
        "TrainingArguments(a=[x for x in range(10 ** 18)], b=list(range(10 ** 9)), c=[0] * 10 ** 9)",
        "TrainingArguments(a='%0999999999d' % 1, b=f'{1:0999999999}', c='x'.ljust(10 ** 9), d='a'.replace('', 'b' * 10000))",
        "for a in b:\n" + "".join(" " * n + f"for x{n} in y:\n" for n in range(1, 18)) + " " * 18 + "TrainingArguments(a=1)",
        "\n".join(f"if u{n}: x{n} = {n}" for n in range(3000)) + "\nTrainingArguments(a=1)",
        "x = [\n" + "{'a': 1, 'b': 'text', 'c': [1, 2, 3]},\n" * 20_000 + "]\nTrainingArguments(a=len(x))",
        "class A:\n" + "".join(f"    def m{n}(self): return self.m{n + 1}() + self.m{n + 2}()\n" for n in range(200)) + "TrainingArguments(a=A().m0())",
    ],
    ids=range(24),
)  # fmt: skip
def test_nothing_grows_without_bound(text: str) -> None:
    started = time.process_time()
    document = read(text)
    assert time.process_time() - started < 20
    assert document.calls or document.problems


def test_a_large_script_is_read() -> None:
    lines = [
        f"def f{n}(a, b={n}):\n    x = a + b\n    if x > 3:\n        return g(x, key={n})\n    return x\n"
        for n in range(9000)
    ]
    text = "".join(lines) + "TrainingArguments(learning_rate=1e-4)"
    assert len(text) > 400_000
    document = read(text)
    assert document.problems or plain(call(document, "TrainingArguments").arguments) == {"learning_rate": 1e-4}


def test_invalid_escapes_make_no_noise(recwarn: pytest.WarningsRecorder) -> None:
    document = read(r"pattern = '\d+\ '" + "\nTrainingArguments(a=pattern)")
    assert len(document.calls) == 1
    assert not recwarn.list


_WORDS = st.sampled_from(
    ["x", "y", "=", "(", ")", "[", "]", "{", "}", ",", ":", "\n", "\n    ", "1", "'a'", "f'{x}'", "if", "else", "for",
     "in", "def", "class", "return", "lambda", "*", "**", ".", "+", "TrainingArguments", "import", "from", "as", "try",
     "except", "with", "open", "load_dataset", "dict", "not", "None", "and", "self", "@", "yield", "global", "del"]
)  # fmt: skip


@given(st.lists(_WORDS, max_size=40))
def test_any_words(words: list[str]) -> None:
    read(" ".join(words))


@given(st.text())
def test_any_text(text: str) -> None:
    read(text)


# Statements that parse, in any order: the interpreter's own paths.
_STATEMENTS = st.sampled_from(
    [
        "x = 1", "x += y", "x, y = y, x", "x = [x, y]", "x = {'a': x}", "x['a'] = y", "x.a = y", "del x", "y = x.a", "y = x[0]",
        "y = x['a']", "y = f'{x}'", "y = x(y)", "y = x + y", "y = x if y else 3", "y = x or y", "y = [a for a in x]",
        "y = {a: x for a in y}", "y = x[1:]", "y = -x", "y = not x", "y = x < y", "y = x in y", "y = lambda a=x: a", "y = str(x)",
        "y = int(x)", "y = len(x)", "y = max(x, y)", "y = round(x)", "x.append(y)", "x.update(y)", "y = x.get('a', y)", "y = x.items()",
        "y = dict(x)", "y = vars(x)", "setattr(x, 'a', y)", "y = getattr(x, 'a', y)", "y = open(x)", "y = x.read()", "for x in y: pass",
        "for a in x: y.append(a)", "while x: y = 1", "with x as y: pass", "try: x = y\nexcept E: y = 1", "if x: y = 1\nelse: y = 2",
        "def x(a, *b, c=1, **d): return a, b, c, d", "class x: a = 1", "class x(y):\n    def f(self): return self.a", "x = y()",
        "y = x.f()", "import x", "from x import *", "from x import y", "global x", "match x:\n    case {'a': y}: pass\n    case [1, *y]: pass",
        "y = x.map(y, batched=True)", "y = x.select(range(3))", "y = x.train_test_split(0.1)", "x = load_dataset('json', data_files=x)",
        "import argparse\nx = argparse.ArgumentParser()", "x.add_argument('--y', default=y)", "y = x.parse_args()", "y = x @ y",
        "from datasets import load_dataset", "y = x % y", "y = x % (y,)", "y = '%s' % x", "y = '{}'.format(x)", "x |= y", "y = {**x, **y}",
        "y = [*x, *y]", "x(*y, **x)", "from dataclasses import dataclass, asdict, replace", "y = asdict(x)", "y = replace(x, a=1)",
        "@dataclass\nclass x:\n    a: int = 1", "from functools import partial", "y = partial(x, a=1)", "y = super()", "y = x.parents[1]",
        "from pathlib import Path\ny = Path(x) / y", "from omegaconf import OmegaConf\ny = OmegaConf.merge(x, y)", "x.y = x", "x = x.y",
        "TrainingArguments(x, y=y)", "TrainingArguments(**x)", "x = TrainingArguments(a=x)", "async def x(): await y", "y = (x := y)",
        "import pandas as pd\nx = pd.DataFrame(y)", "y = x.drop('a', inplace=True)", "x = y.values()", "from sys import exit\nexit(x)",
    ]
)  # fmt: skip


@given(st.lists(_STATEMENTS, max_size=14))
def test_any_statements(statements: list[str]) -> None:
    document = read("\n".join(statements))
    for made in document.calls:
        plain(made.arguments)
        assert made.span.text.isidentifier()
        for entry in made.arguments.entries:
            assert entry.key_span.start <= entry.key_span.end


def test_one_statement_that_is_too_deep_costs_only_what_it_binds() -> None:
    document = read("rate = 1e-4\nx = a" + ".b()" * 400 + "\nTrainingArguments(learning_rate=rate, x=x)")
    assert document.problems == []
    assert plain(call(document, "TrainingArguments").arguments) == {"learning_rate": 1e-4, "x": "?"}


def test_long_sums_are_no_problem() -> None:
    document = read("x = 1" + " + 1" * 900 + "\nTrainingArguments(x=x, y='a'" + " + 'b'" * 500 + ")")
    found = plain(call(document, "TrainingArguments").arguments)
    assert found == {"x": 901, "y": "a" + "b" * 500}
