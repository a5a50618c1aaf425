"""Any text gives an answer, soon."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

from epochlint.documents import shell
from epochlint.documents.document import Scalar
from epochlint.documents.shell.reading import LARGEST
from epochlint.source import Excerpt, Source
from tests.documents.shell.helpers import read


def test_a_script_without_a_word_of_training_is_not_followed() -> None:
    document = read("#!/bin/bash\nfor i in 1 2; do echo $i; done\njava -jar serve.jar --port 1\n")
    assert (document.syntax, document.launches, document.cuts, document.problems) == ("shell", [], [], [])


def test_it_costs_nothing_to_say_so() -> None:
    code = "import sys; from epochlint.documents import shell; from epochlint.source import Source; "
    code += (
        "shell.read(Source('a.sh', 'echo x')); print([m for m in sys.modules if m.endswith(('.follow', '.syntax'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("# train\n" + "x" * LARGEST, "too-large"),
        ("# train\n\0", "encoding"),
        ("# train\n" + "(" * 1000, "too-deep"),
        ("# train\n" + "if x; then " * 1000, "too-deep"),
        ("# train\npython train.py 'a\n", "syntax"),
        ("# train\npython train.py $(a\n", "syntax"),
        ("# train\nif x; then python train.py\n", "syntax"),
        ("# train\nfor x in a b\npython train.py\n", "syntax"),
        ("# train\npython train.py )\n", "syntax"),
        ("# train\n" + "for i in {1..60}; do python train.py --i $i; A=$i; done\n" * 500, "too-large"),
    ],
)
def test_problems(text: str, kind: str) -> None:
    assert kind in {problem.kind for problem in read(text).problems}


def test_what_stands_before_a_problem_is_kept() -> None:
    document = read("# train\npython a.py --x 1\npython b.py 'never closed\n")
    assert [launch.text for launch in document.launches] == ["python a.py --x 1"]
    assert document.problems[0].span.place.line == 3


def test_what_stands_behind_a_stray_word_is_kept() -> None:
    document = read("# train\nfi\ndone\n)\npython a.py --x 1\n")
    assert [launch.text for launch in document.launches] == ["python a.py --x 1"]


def test_an_excerpt() -> None:
    outer = Source("book.ipynb", "....!python train.py --lr 1....")
    start = outer.text.index("python")
    text = "python train.py --lr 1"
    excerpt = Excerpt(outer, text, range(start, start + len(text) + 1), "cell 1")
    launch = shell.read(excerpt).launches[0]
    assert [word.span.in_file().text for word in launch.words] == ["python", "train.py", "--lr", "1"]
    assert launch.words[0].span.place.column == start + 1


HOSTILE = {
    "doubling": "A=x\n" + "A=$A$A\n" * 2_000 + "python train.py $A\n",
    "doubling with blanks": "A=x\n" + 'A="$A $A"\n' * 2_000 + "python train.py $A\n",
    "a function in itself": "f() { f $1$1; f $1; }\nf a\n" * 300,
    "eval of eval": 'A="eval \\$A"\neval $A\n' * 500,
    "branches": "".join(f"V{i}={i}\n" for i in range(2_000)) + "if [ -f x ]; then A=1; fi\n" * 500,
    "pipes": "a | " * 20_000,
    "brackets": "((" * 20_000,
    "arrays": "A+=(x y z)\n" * 5_000 + 'python train.py "${A[@]}"\n',
    "loops": "for a in 1 2 3 4 5 6 7 8; do\n" * 12 + "python train.py $a\n" + "done\n" * 12,
    "braces": "python train.py " + "{a,b}" * 40 + "\n",
    "substitutions": "python train.py " + "$(echo " * 35 + ")" * 35 + "\n",
    "patterns": "A=" + "a" * 2_000 + "\npython train.py ${A%%*a*a*a*b} ${A//a*a*a*b/x}\n",
    "here-documents": "cat <<EOF\n" * 5_000,
    "arithmetic": "python train.py $((" + "(" * 500 + "1" + ")" * 500 + ")) $((9**9**9)) $((1<<99999))\n",
    "nul-like": "\x01\x02\ufffd" * 5_000,
}


@pytest.mark.parametrize("name", list(HOSTILE))
def test_hostile_scripts_end_soon(name: str) -> None:
    before = time.process_time()
    document = read("# train\n" + HOSTILE[name])
    assert time.process_time() - before < 5
    assert len(document.launches) <= 1_000
    assert all(len(word.raw) <= 70_000 for one in document.launches for word in one.words if isinstance(word, Scalar))


TOKENS = [
    "$",
    "${",
    "}",
    "(",
    ")",
    "((",
    "))",
    "$(",
    "$((",
    "`",
    '"',
    "'",
    "\\",
    "\n",
    "\\\n",
    "#",
    "train",
    "python",
    "--a",
    "=",
    "1",
    "A=",
    "A+=",
    "[",
    "[[",
    "]]",
    "]",
    "if",
    "then",
    "fi",
    "else",
    "for",
    "in",
    "do",
    "done",
    "while",
    "case",
    "esac",
    ";;",
    ";",
    "&",
    "&&",
    "||",
    "|",
    "<",
    ">",
    "<<EOF\n",
    "EOF\n",
    "<<<",
    "eval",
    "bash",
    "-c",
    "export",
    "local",
    "read",
    "shift",
    "$@",
    '"$@"',
    "${A[@]}",
    "A=(",
    "*",
    "{1..3}",
    "f()",
    "{",
    "exit",
    "break",
    "srun",
    "$1",
    "$#",
    "${A:-x}",
    "${A//a/b}",
    "${#A[@]}",
    "let",
    "expr",
    "é",
    "\r\n",
    "#SBATCH",
    "sbatch",
    "--wrap",
    "!",
    "%",
    "{{",
    "}}",
    "<p>",
]


@pytest.mark.parametrize("seed", range(8))
def test_any_text_gives_an_answer(seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(120):
        text = "train " + "".join(chance.choice(TOKENS) + chance.choice(["", " ", " ", "\n"]) for _ in range(60))
        document = read(text)
        for launch in document.launches:
            for word in launch.words:
                assert 0 <= word.span.start <= word.span.end <= len(text)
        for problem in document.problems:
            assert problem.span.place.line >= 1
        for cut in document.cuts:
            assert cut.flags or cut.words
