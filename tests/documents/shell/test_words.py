"""What the words of a command come to."""

from __future__ import annotations

import pytest

from epochlint.documents.document import Scalar
from epochlint.documents.shell import ShellUnresolved, ShellWord
from tests.documents.shell.helpers import command, commands, flag, raws, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("python train.py --a 1", ["python", "train.py", "--a", "1"]),
        ("python train.py \\\n    --a 1 \\\n    --b 2\n", ["python", "train.py", "--a", "1", "--b", "2"]),
        ("python train.py --na\\\nme x", ["python", "train.py", "--name", "x"]),
        ("python 'a b' \"c d\" e\\ f", ["python", "a b", "c d", "e f"]),
        ('python "a \\"b\\" \\$c" \'$d\'', ["python", 'a "b" $c', "$d"]),
        ("python $'a\\tb\\n' $\"c\"", ["python", "a\tb\n", "c"]),
        ("python a'b'\"c\"d", ["python", "abcd"]),
        ("python --a= --b='' ''", ["python", "--a=", "--b=", ""]),
        ("python x{1..3} {a,b}.json {c}", ["python", "x1", "x2", "x3", "a.json", "b.json", "{c}"]),
        ("python *.json a[0] ~/x", ["python", "*.json", "a[0]", "~/x"]),
        ("python a#b # not this", ["python", "a#b"]),
        ("python a > log 2>&1", ["python", "a"]),
        ("python a &> log", ["python", "a"]),
        ("python a 2> err < in >> out", ["python", "a"]),
        ("python a | tee log", ["python", "a"]),
        ("python a &", ["python", "a"]),
        ("python a; exit", ["python", "a"]),
        ("(cd x && python a)", ["python", "a"]),
        ("{ python a; } 2>&1 | tee x", ["python", "a"]),
        ("! python a", ["python", "a"]),
        ('python \'{"a": {"b": 1}}\'', ["python", '{"a": {"b": 1}}']),
        ("if :; then python a; fi", ["python", "a"]),
    ],
)
def test_words_of_one_command(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("before", "word", "expected"),
    [
        ("LR=2e-4", "$LR", "2e-4"),
        ("LR=2e-4", "${LR}", "2e-4"),
        ("LR=2e-4", "lr-${LR}-x", "lr-2e-4-x"),
        ('LR="2e-4"', '"$LR"', "2e-4"),
        ("export LR=2e-4", "$LR", "2e-4"),
        ("declare -r LR=2e-4", "$LR", "2e-4"),
        ("readonly LR=2e-4", "$LR", "2e-4"),
        ("LR=1e-4\nLR=2e-4", "$LR", "2e-4"),
        ("A=2e-4\nLR=$A", "$LR", "2e-4"),
        ("LR=${LR:-2e-4}", "$LR", "2e-4"),
        ("", "${LR:-2e-4}", "2e-4"),
        ("", "${LR-2e-4}", "2e-4"),
        ("LR=", "${LR:-2e-4}", "2e-4"),
        ("", "${1:-2e-4}", "2e-4"),
        ("LR=$1", "${LR:-2e-4}", "2e-4"),
        (": ${LR:=2e-4}", "$LR", "2e-4"),
        (': "${LR:=2e-4}"', "$LR", "2e-4"),
        ("B=3e-5", "${LR:-$B}", "3e-5"),
        ("LR=1", "${LR:+2}", "2"),
        ("LR=1", "${LR:?needed}", "1"),
        ("G=128\nB=4\nN=8", "$((G / (B * N)))", "4"),
        ("G=128\nB=4\nN=8", "$(( $G / ($B * ${N}) ))", "4"),
        ("N=${N:-8}", "$((N * 2))", "16"),
        ("let N=4*2", "$N", "8"),
        ('let "N = 4 * 2"', "$N", "8"),
        ("N=1\n((N++))\n((N += 2))", "$N", "4"),
        ("", "$(expr 4 \\* 8)", "32"),
        ("N=4", "`expr $N + 1`", "5"),
        ("", "$(echo 8)", "8"),
        ("", "$(echo '4 * 8' | bc)", "32"),
        ("N=4", '$(python -c "print($N*8)")', "32"),
        ("D=0,1,2,3", "$(echo $D | tr ',' '\\n' | wc -l)", "4"),
        ("D=0,1,2,3", "$(echo $D | awk -F',' '{print NF}')", "4"),
        ("P=a/b/model.bin", "$(basename $P)", "model.bin"),
        ("P=a/b/model.bin", "$(dirname $P)", "a/b"),
        ("P=a/b/model.bin", "${P##*/}", "model.bin"),
        ("P=a/b/model.bin", "${P%/*}", "a/b"),
        ("P=a/b/model.bin", "${P//\\//_}", "a_b_model.bin"),
        ("P=a-b-c", "${P//-/_}", "a_b_c"),
        ("P=abc", "${P^^}", "ABC"),
        ("P=abcdef", "${P:1:3}", "bcd"),
        ("P=abc", "${#P}", "3"),
        ("A=(x y z)", "${A[1]}", "y"),
        ("A=(x y z)\nI=2", "${A[$I]}", "z"),
        ("A=(x y z)", "${#A[@]}", "3"),
        ("A=(x y z)", "${A[-1]}", "z"),
        ("A[3]=q", "${A[3]}", "q"),
        ("declare -A M=([7b]=1e-5 [13b]=2e-5)\nS=13b", "${M[$S]}", "2e-5"),
        ("IFS=',' read -ra A <<< '0,1,2'", "${#A[@]}", "3"),
        ("read X Y <<< '1 2 3'", '"$Y"', "2 3"),
        ("R=LR\nLR=5", "${!R}", "5"),
        ("set -- 7 8", "$2", "8"),
        ("printf -v X '%s' 1", "$X", None),
        ("", "$LR", None),
        ("", "$1", None),
        ("LR=$2", "$LR", None),
        ("LR=$(nproc)", "$LR", None),
        ("LR=$(cat x)", "$LR", None),
        ("LR=1\nunset LR", "$LR", None),
        ("LRS=(1 2)", "${LRS[$SLURM_ARRAY_TASK_ID]}", None),
        ("N=0", "$((8 / N))", None),
        ("LR=2e-4", "$((LR * 2))", None),
        ("", "$RANDOM", None),
    ],
)
def test_values(before: str, word: str, expected: str | None) -> None:
    assert words(f"{before}\npython train.py --lr {word}\n")[-1] == expected


def test_flags_in_one_string_are_split() -> None:
    text = 'ARGS="--lr 1e-5 --bf16 --epochs 3"\npython train.py $ARGS --seed 1\n'
    assert words(text) == ["python", "train.py", "--lr", "1e-5", "--bf16", "--epochs", "3", "--seed", "1"]


def test_a_quoted_string_is_one_word() -> None:
    assert words('A="--lr 1"\npython train.py "$A"\n') == ["python", "train.py", "--lr 1"]


def test_strings_and_arrays_grow() -> None:
    text = """
ARGS="--lr 1e-5"
ARGS+=" --epochs 3"
LIST=(--bf16)
LIST+=(--seed "1 2")
python train.py $ARGS "${LIST[@]}"
"""
    assert words(text) == ["python", "train.py", "--lr", "1e-5", "--epochs", "3", "--bf16", "--seed", "1 2"]


def test_arrays_with_comments_and_variables() -> None:
    text = """
LR=2e-5
declare -a ARGS=(
    --learning_rate "$LR"   # the rate
    # --epochs 9
    --epochs 3
)
torchrun "${ARGS[@]}" ${ARGS[*]}
"""
    flags = ["--learning_rate", "2e-5", "--epochs", "3"]
    assert words(text) == ["torchrun", *flags, *flags]


def test_an_empty_array_and_an_empty_variable_give_no_word() -> None:
    assert words('A=()\nB=\npython train.py "${A[@]}" $B x\n') == ["python", "train.py", "x"]


def test_assignments_hold_from_their_line_on() -> None:
    found = commands("python train.py --lr $LR\nLR=1\npython train.py --lr $LR\nLR=2\npython train.py --lr $LR\n")
    assert [raws(one)[-1] for one in found] == [None, "1", "2"]


def test_duplicate_flags_are_both_kept() -> None:
    assert words("python train.py --lr 1 --lr 2")[2:] == ["--lr", "1", "--lr", "2"]


def test_a_value_that_is_half_known_keeps_its_flag() -> None:
    word = command("python train.py --nproc_per_node=$NGPUS").words[-1]
    assert isinstance(word, ShellUnresolved)
    assert word.prefix == "--nproc_per_node="
    assert "NGPUS is not set in this file" in word.reason
    assert flag(command("python train.py --out run-$X --lr 1"), "lr") == "1"


@pytest.mark.parametrize(
    ("word", "several", "loose"),
    [
        ('"$@"', True, False),
        ("$@", True, False),
        ("$*", True, False),
        ('"${@:2}"', True, False),
        ('"${ARGS[@]}"', True, False),
        ("$EXTRA_ARGS", True, False),
        ("$LR", False, True),
        ('"$LR"', False, False),
        ("x$LR", False, False),
    ],
)
def test_how_many_words_an_unknown_may_be(word: str, several: bool, loose: bool) -> None:
    found = command(f"python train.py {word}").words[-1]
    assert isinstance(found, ShellUnresolved)
    assert (found.several, found.loose) == (several, loose)


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("<model_path>", "<model_path> is a placeholder"),
        ("--lr=<lr>", "<lr> is a placeholder"),
        ("{{ lr }}", None),
        ('"{{ lr }}"', "a template's placeholder"),
        ("$(nvidia-smi -L | wc -l)", "it is what `nvidia-smi -L | wc -l` prints"),
        ("<(cat x)", "it is what a command prints"),
    ],
)
def test_what_cannot_be_known_says_why(word: str, reason: str | None) -> None:
    found = command(f"python train.py {word}").words[-1]
    if reason is None:
        assert isinstance(found, Scalar)
    else:
        assert isinstance(found, ShellUnresolved)
        assert found.reason == reason


def test_a_placeholder_is_no_redirection() -> None:
    assert words("python train.py --model <path> --lr 1 < input") == [
        "python",
        "train.py",
        "--model",
        None,
        "--lr",
        "1",
    ]


# Where words stand ----------------------------------------------------------------------------------------------------


def test_a_words_span_is_as_written() -> None:
    found = command('python train.py --a "x y" --b=z')
    assert [word.span.text for word in found.words] == ["python", "train.py", "--a", '"x y"', "--b=z"]


def test_a_variables_word_stands_in_the_command_and_was_written_elsewhere() -> None:
    word = command("LR=2e-4\nRATE=$LR\npython train.py --lr $RATE").words[-1]
    assert isinstance(word, ShellWord)
    assert (word.raw, word.span.text, word.written.text) == ("2e-4", "$RATE", "2e-4")
    assert (word.span.place.line, word.written.place.line) == (4, 2)


def test_words_of_a_split_string_stand_in_the_string() -> None:
    found = command('ARGS="--lr 1e-5 --epochs 3"\npython train.py $ARGS')
    assert [word.span.text for word in found.words[2:]] == ["--lr", "1e-5", "--epochs", "3"]
    assert {word.span.place.line for word in found.words[2:]} == {2}


def test_elements_of_an_array_stand_in_the_array() -> None:
    found = command('LR=1e-5\nARGS=(\n  --lr "$LR"\n)\npython train.py "${ARGS[@]}"')
    flag_word, value = found.words[2:]
    assert (flag_word.span.text, flag_word.span.place.line) == ("--lr", 4)
    assert isinstance(value, ShellWord)
    assert (value.span.text, value.written.text, value.written.place.line) == ("$LR", "1e-5", 2)


@pytest.mark.parametrize("text", ["LR=${LR:-2e-4}", "LR=${1:-2e-4}", ': "${LR:=2e-4}"'])
def test_a_default_is_assumed(text: str) -> None:
    word = command(f"{text}\npython train.py --lr $LR").words[-1]
    assert isinstance(word, ShellWord)
    assert word.assumed
    assert word.written.text == "2e-4"


def test_a_plain_assignment_is_not_assumed() -> None:
    word = command("LR=2e-4\npython train.py --lr $LR").words[-1]
    assert isinstance(word, ShellWord)
    assert not word.assumed


def test_the_value_behind_a_flag() -> None:
    word = command("LR=2e-4\npython train.py --lr=$LR").words[-1]
    assert isinstance(word, ShellWord)
    value = word.behind(len("--lr="))
    assert (value.raw, value.span.text, value.written.text) == ("2e-4", "$LR", "2e-4")
    quoted = command("python train.py '--lr=2e-4'").words[-1]
    assert isinstance(quoted, ShellWord)
    assert quoted.behind(5).span.text == "2e-4"


def test_windows_line_ends_and_letters_beyond_ascii() -> None:
    found = command("# Übung\r\nLR=2e-4\r\npython train.py \\\r\n  --näme é \\\r\n  --lr $LR\r\n")
    assert raws(found) == ["python", "train.py", "--näme", "é", "--lr", "2e-4"]
    assert [word.span.text for word in found.words[2:]] == ["--näme", "é", "--lr", "$LR"]
    assert found.words[-1].span.place.line == 6
    word = found.words[-1]
    assert isinstance(word, ShellWord)
    assert word.written.text == "2e-4"


def test_words_are_text() -> None:
    word = command("python train.py 8").words[-1]
    assert isinstance(word, Scalar)
    assert (word.value, word.plain) == ("8", True)
