"""The flags of a command line as a mapping."""

from __future__ import annotations

import pytest

from epochlint.documents.document import Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.flags import parse
from epochlint.source import Source, Span
from tests.documents.shell.helpers import command


def flags(line: str, before: str = "") -> Mapping:
    return parse(command(f"{before}\nprogram {line}").words[1:])


def shown(node: Node) -> object:
    if isinstance(node, Sequence):
        return [shown(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else None


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--lr 1e-4", [("lr", "1e-4")]),
        ("--lr=1e-4", [("lr", "1e-4")]),
        ("--learning-rate 1e-4", [("learning_rate", "1e-4")]),
        ("--bf16 --lr 1", [("bf16", True), ("lr", "1")]),
        ("--bf16", [("bf16", True)]),
        ("--bf16 True", [("bf16", "True")]),
        ("--no_cuda --no-x", [("no_cuda", True), ("no_x", True)]),
        ("--modules q_proj k_proj --r 8", [("modules", ["q_proj", "k_proj"]), ("r", "8")]),
        (
            "--max_steps -1 --lr -1e-4 --x -.5 --y -inf",
            [("max_steps", "-1"), ("lr", "-1e-4"), ("x", "-.5"), ("y", "-inf")],
        ),
        ("-c train.yaml -n 8 -x", [("c", "train.yaml"), ("n", "8"), ("x", True)]),
        ("train.yaml data", [("0", "train.yaml"), ("1", "data")]),
        ("train.yaml --lr 1", [("0", "train.yaml"), ("lr", "1")]),
        ("--lr 1 --lr 2", [("lr", "1"), ("lr", "2")]),
        ("lr=1 optimizer.lr=2 ++a.b=3 +c=4", [("lr", "1"), ("optimizer.lr", "2"), ("a.b", "3"), ("c", "4")]),
        ("~warmup ~a.b=1", [("~warmup", True), ("~a.b", "1")]),
        ("model/lora=x data[0].path=y", [("model/lora", "x"), ("data[0].path", "y")]),
        ("--config a.yaml batch_size=4", [("config", "a.yaml"), ("batch_size", "4")]),
        ("--config-name sft trainer.lr=1", [("config_name", "sft"), ("trainer.lr", "1")]),
        ("--env A=1", [("env", "A=1")]),
        ("--override a=1 b=2 --x 3", [("a", "1"), ("b", "2"), ("override", True), ("x", "3")]),
        ("--multirun lr=1,2", [("lr", "1,2"), ("multirun", True)]),
        ("--train.batch_size 128 --data.max_len=1", [("train.batch_size", "128"), ("data.max_len", "1")]),
        ("--a=b=c --d=", [("a", "b=c"), ("d", "")]),
        ("--text '' --q \"x y\"", [("text", ""), ("q", "x y")]),
        ("--a 1 -- --b 2", [("a", "1"), ("0", "--b"), ("1", "2")]),
        ("- --a 1", [("0", "-"), ("a", "1")]),
        ("'{\"a\": 1}' --k '{\"lr\": 1e-5}'", [("0", '{"a": 1}'), ("k", '{"lr": 1e-5}')]),
        ("", []),
    ],
)
def test_flags(line: str, expected: list[tuple[str, object]]) -> None:
    mapping = flags(line)
    found = [(entry.key, shown(entry.value)) for entry in mapping.entries]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert not mapping.open_ended


def test_the_last_of_two_counts() -> None:
    node = flags("--lr 1 --lr 2").get("lr")
    assert isinstance(node, Scalar)
    assert node.raw == "2"


def test_spans() -> None:
    found = {
        entry.key: (entry.key_span.text, entry.value.span.text)
        for entry in flags(
            '--lr 1 --learning-rate=2e-4 ++m.x=$A "--q=a b" --w="c d" --bf16 p.yaml --list a b', "A=5"
        ).entries
    }
    assert found == {
        "lr": ("--lr", "1"),
        "learning_rate": ("--learning-rate", "2e-4"),
        "m.x": ("++m.x", "$A"),
        "q": ("--q", "a b"),
        "w": ("--w", '"c d"'),
        "bf16": ("--bf16", "p.yaml"),
        "list": ("--list", "a b"),
    }


def test_a_switch_is_its_own_value() -> None:
    entry = parse(command("program --bf16 --x 1").words[1:]).entries[0]
    assert entry.value.span.text == "--bf16"
    assert isinstance(entry.value, Scalar)
    assert (entry.value.raw, entry.value.plain) == ("True", True)


def test_known_switches_take_no_value() -> None:
    mapping = parse(command("program --module a.b --lr 1").words[1:], switches=frozenset({"module"}))
    assert [(entry.key, shown(entry.value)) for entry in mapping.entries] == [
        ("module", True),
        ("0", "a.b"),
        ("lr", "1"),
    ]


def test_where_a_variables_value_was_written() -> None:
    value = flags("--lr=$LR", "LR=2e-4").get("lr")
    assert value is not None
    assert value.written.text == "2e-4"  # type: ignore[attr-defined] # a ShellWord


# What is not known ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line", ["--lr $LR --b 1", "--lr=$LR --b 1", '--lr "$LR" --b 1', "lr=$LR --b 1", "--lr x$LR --b 1"]
)
def test_an_unknown_value(line: str) -> None:
    mapping = flags(line)
    assert isinstance(mapping.get("lr"), Unresolved)
    assert shown(mapping.entries[1].value) == "1"
    assert not mapping.open_ended


@pytest.mark.parametrize(
    "line",
    [
        '--lr 1 "$@"',
        "--lr 1 $*",
        "--lr 1 $EXTRA_ARGS",
        '--lr 1 "${ARGS[@]}"',
        "$OPTIONS --lr 1",
        "--lr 1 $X",
        "--lr 1 --$X",
    ],
)
def test_unknown_words_may_hold_further_flags(line: str) -> None:
    mapping = flags(line)
    assert mapping.open_ended
    assert [(entry.key, shown(entry.value)) for entry in mapping.entries] == [("lr", "1")]


def test_unknown_words_are_no_value_of_the_flag_in_front() -> None:
    mapping = flags('--bf16 "$@"')
    assert [(entry.key, shown(entry.value)) for entry in mapping.entries] == [("bf16", True)]
    assert mapping.open_ended


def test_an_unknown_positional_word() -> None:
    mapping = flags("$CONFIG --lr 1")
    assert isinstance(mapping.get("0"), Unresolved)
    assert not mapping.open_ended


def test_placeholders_are_values() -> None:
    mapping = flags("--hosts <first> <second> --lr 1")
    assert isinstance(mapping.get("hosts"), Sequence)
    assert shown(mapping.entries[1].value) == "1"
    assert not mapping.open_ended


def test_half_known_values() -> None:
    mapping = flags("--out=run-$X a.b=c$Y")
    out, dotted = mapping.get("out"), mapping.get("a.b")
    assert isinstance(out, Unresolved)
    assert isinstance(dotted, Unresolved)
    assert (out.span.text, dotted.span.text) == ("run-$X", "c$Y")


def test_words_from_elsewhere() -> None:
    source = Source("job.yaml", 'args: ["--lr=1e-4", --epochs, 3]')
    where = [(7, 18, "--lr=1e-4", "--lr=1e-4"), (20, 28, "--epochs", "--epochs"), (30, 31, "3", 3)]
    words: list[Node] = [Scalar(Span(source, start, end), raw, value) for start, end, raw, value in where]
    mapping = parse(words)
    assert [(entry.key, shown(entry.value)) for entry in mapping.entries] == [("lr", "1e-4"), ("epochs", 3)]
    assert [(entry.key_span.text, entry.value.span.text) for entry in mapping.entries] == [
        ("--lr", "1e-4"),
        ("--epochs", "3"),
    ]
