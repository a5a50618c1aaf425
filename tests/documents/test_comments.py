from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents import comments
from epochlint.documents.read import read
from epochlint.source import Source


def found(text: str, syntax: str) -> list[str]:
    return [comment.text for comment in comments.find(Source("x", text), syntax)]


_YAML = """\
# top
a: 1 # one
b: 'x # no' # two
c: |  # three
  # no
  no
# four
d: a#b
e: "# no"
f: >2- # five
    x

    # no

g: [1, # six
  2]
h: &x#y plain text
  goes # seven
"""
_SHELL = """\
#!/bin/bash
echo $# ${#a} a#b '#' "# no" \\# # one
cat <<EOF > x # two
# no
it's $#
EOF
cat <<-'A'; cat << "B"
\t# no
\tA
# no
B
x=1 # it's three
wc <<< "# no" # four
python train.py \\
  --lr 1 \\
  # --epochs 3
  --batch 8;# five
"""


@pytest.mark.parametrize(
    ("syntax", "text", "expected"),
    [
        ("yaml", _YAML, ["top", "one", "two", "three", "four", "five", "six", "seven"]),
        ("yaml", "a: b: c # one\nd: '# no' # two\n", ["one", "two"]),
        ("yaml", "# one\na: 'x\n# no\n", ["one", "no"]),
        ("yaml", "\ufeff# one\n", ["one"]),
        ("shell", _SHELL, ["!/bin/bash", "one", "two", "it's three", "four", "--epochs 3", "five"]),
        ("shell", "cat <<EOF\n# never closed", []),
        (
            "toml",
            "a = 1 # one\nb = '# no'\nc = \"\"\"\n# no\n\"\"\" ## two\nd = '''#no''' # three",
            ["one", "two", "three"],
        ),
        ("python", "x = '#' # one\n'''\n# no\n'''\nf(\"\"\"# no\"\"\") #: two\ns = 'it\\'s # no'\n", ["one", ": two"]),
        ("json", '{"a": "// no", // one\n "b": 1 /* two\n */ }', ["one", "two"]),
        ("json", '{"a": 1}', []),
        ("notebook", "# x", []),
    ],
)
def test_comments_are_found_outside_of_texts(syntax: str, text: str, expected: list[str]) -> None:
    assert found(text, syntax) == expected


def test_spans_cover_the_marker() -> None:
    (comment,) = comments.find(Source("x", "é: 1\r\nb: 2  ## why not \r\n"), "yaml")
    assert (comment.span.text, comment.text, repr(comment.span.place)) == ("## why not ", "why not", "2:7")


def test_a_document_remembers_its_comments() -> None:
    document = read(Source("x.yaml", "a: 1 # one\n"))
    assert document is not None
    assert [comment.text for comment in comments.comments(document)] == ["one"]
    assert comments.comments(document) is document.comments


@given(
    st.text(alphabet="ab:-#[]{}'\"|>&*!\\ \n\t<E", max_size=60) | st.text(max_size=40),
    st.sampled_from(["yaml", "toml", "json", "python", "shell"]),
)
def test_any_text_gives_comments_in_order(text: str, syntax: str) -> None:
    at = 0
    for comment in comments.find(Source("x", text), syntax):
        assert at <= comment.span.start < comment.span.end
        assert comment.span.text[0] in "#/"
        at = comment.span.end
