"""Options that scripts define: their defaults, what a launch passes, and how both are typed."""

# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import pytest

from epochlint.documents.python import Derived
from tests.documents.python.reading import UNKNOWN, arguments, call, flags, plain, script

ARGPARSE = """
import argparse
parser = argparse.ArgumentParser()
group = parser.add_argument_group("training")
group.add_argument("--learning-rate", "--lr", type=float, default=3e-5)
parser.add_argument("-e", "--epochs", type=int, default="4")
parser.add_argument("--name", default="run")
parser.add_argument("--fp16", action="store_true")
parser.add_argument("--no_save", dest="save", action="store_false")
parser.add_argument("--steps", type=int)
parser.add_argument("--data", required=True)
parser.add_argument("--layers", nargs="+", type=int, default=[1, 2])
parser.add_argument("model")
args = parser.parse_args()
TrainingArguments(
    lr=args.learning_rate, epochs=args.epochs, name=args.name, fp16=args.fp16, save=args.save, steps=args.steps,
    data=args.data, layers=args.layers, model=args.model, other=args.other,
)
"""


def test_argparse_defaults() -> None:
    assert arguments(ARGPARSE) == {
        "lr": 3e-5, "epochs": 4, "name": "run", "fp16": False, "save": True, "steps": None, "data": UNKNOWN,
        "layers": [1, 2], "model": UNKNOWN, "other": UNKNOWN,
    }  # fmt: skip


def test_argparse_with_a_launch() -> None:
    launch = {"lr": "1e-4", "epochs": "2", "fp16": True, "no-save": True, "data": "a.jsonl", "layers": ["3", "4"]}
    assert arguments(ARGPARSE, launch=launch) == {
        "lr": 1e-4, "epochs": 2, "name": "run", "fp16": True, "save": False, "steps": None, "data": "a.jsonl",
        "layers": [3, 4], "model": UNKNOWN, "other": UNKNOWN,
    }  # fmt: skip


def test_defaults_are_certain_only_when_the_launch_is_known() -> None:
    def found(**options: object) -> object:
        return call(script(ARGPARSE, **options), "TrainingArguments").argument("lr")  # type: ignore[arg-type]

    without, known = found(), found(launch={"epochs": "1"})
    assert isinstance(without, Derived)
    assert without.default
    assert not (isinstance(known, Derived) and known.default)
    assert plain(found(launch=flags({"epochs": "1"}, open_ended=True))) == UNKNOWN  # type: ignore[arg-type]


def test_a_flag_may_be_a_unique_prefix() -> None:
    assert arguments(ARGPARSE, launch={"learn": "5", "ep": "9"})["lr"] == 5.0
    text = """
    import argparse
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=1)
    p.add_argument("--epoch_size", type=int, default=2)
    a = p.parse_args()
    TrainingArguments(x=a.epochs)
    """
    assert arguments(text, launch={"epoch": "7"}) == {"x": 1}
    assert arguments(text, launch={"epochs": "7"}) == {"x": 7}


def test_a_flags_value_stands_in_the_launch() -> None:
    document = script(ARGPARSE, launch={"lr": "1e-4"})
    entry = call(document, "TrainingArguments").entry("lr")
    assert entry is not None
    assert entry.value.span.source.path == "launch.sh"
    assert entry.key_span.source.path == "train.py"


@pytest.mark.parametrize(
    ("option", "launch", "expected"),
    [
        ("type=str2bool, default='yes'", None, True),
        ("type=str2bool, default=False", {"x": "true"}, True),
        ("type=bool, default=False", {"x": "False"}, True),
        ("type=lambda s: int(s) * 2, default=1", {"x": "4"}, 8),
        ("type=int, default=1", {"x": "many"}, UNKNOWN),
        ("type=unknown, default='a'", None, UNKNOWN),
        ("action=argparse.BooleanOptionalAction, default=True", {"no-x": True}, False),
        ("action='store_const', const=5, default=1", {"x": True}, 5),
        ("action='count', default=0", {"x": True}, UNKNOWN),
        ("nargs='*', type=int", {"x": "3"}, [3]),
        ("default=BASE * 2", None, 8),
        ("default=unknown", None, UNKNOWN),
        ("default=os.environ.get('X', 3)", None, 3),
    ],
)
def test_types_and_actions(option: str, launch: dict[str, str | bool | list[str]] | None, expected: object) -> None:
    text = f"""
import argparse, os
BASE = 4
def str2bool(v):
    return v.lower() in ("yes", "true")
p = argparse.ArgumentParser()
p.add_argument("--x", {option})
a = p.parse_args()
TrainingArguments(x=a.x)
"""
    assert arguments(text, launch=launch) == {"x": expected}


def test_parsers_are_followed_through_functions_and_attributes_set_on_the_result_count() -> None:
    text = """
    import argparse
    def add(parser):
        parser.add_argument("--lr", type=float, default=1e-4)
        return parser
    def parse():
        parser = add(argparse.ArgumentParser())
        parser.set_defaults(epochs=5)
        args, rest = parser.parse_known_args()
        args.batch = 4
        return args
    a = parse()
    a.lr = a.lr * 2
    TrainingArguments(lr=a.lr, epochs=a.epochs, batch=a.batch)
    """
    assert arguments(text) == {"lr": 2e-4, "epochs": 5, "batch": 4}


def test_a_command_line_written_in_the_script_replaces_the_launch() -> None:
    text = """
    import argparse
    p = argparse.ArgumentParser()
    p.add_argument("--lr", type=float, default=1e-4)
    p.add_argument("--on", action="store_true")
    a = p.parse_args(["--lr", "5e-5", "--on"])
    TrainingArguments(lr=a.lr, on=a.on)
    """
    assert arguments(text, launch={"lr": "1"}) == {"lr": 5e-5, "on": True}
    assert arguments(text.replace('["--lr", "5e-5", "--on"]', "args=[]"), launch={"lr": "1"}) == {
        "lr": 1e-4,
        "on": False,
    }


def test_options_that_exist_under_a_condition_are_unknown() -> None:
    text = """
    import argparse
    p = argparse.ArgumentParser()
    if unknown:
        p.add_argument("--lr", type=float, default=1e-4)
    else:
        p.add_argument("--lr", type=float, default=2e-4)
    TrainingArguments(lr=p.parse_args().lr)
    """
    assert arguments(text) == {"lr": UNKNOWN}


def test_subcommands_that_agree_and_that_do_not() -> None:
    text = """
    import argparse
    p = argparse.ArgumentParser()
    s = p.add_subparsers(dest="command")
    a = s.add_parser("a")
    a.add_argument("--lr", type=float, default=1.0)
    b = s.add_parser("b")
    b.add_argument("--lr", type=float, default=1.0)
    args = p.parse_args()
    TrainingArguments(lr=args.lr, command=args.command)
    """
    assert arguments(text) == {"lr": 1.0, "command": UNKNOWN}


def test_what_a_parser_defines() -> None:
    parser = script(ARGPARSE).parsers[0]
    assert (parser.kind, [feed.kind for feed in parser.feeds]) == ("argparse", ["argv"])
    flag = parser.flags["learning_rate"]
    assert (flag.names, flag.dest, flag.type, plain(flag.default), flag.required) == (
        ("--learning-rate", "--lr"), "learning_rate", "float", 3e-5, False,
    )  # fmt: skip
    assert (parser.flags["data"].required, parser.flags["fp16"].action, parser.flags["model"].names) == (
        True,
        "store_true",
        (),
    )


# --- Functions as command lines ---------------------------------------------------------------------------------------

FIRE = """
import fire
def train(rate: float = 3e-4, batch: int = 128, micro=4, name="x", data: str = None):
    TrainingArguments(rate=rate, steps=batch // micro, name=name, data=data)
if __name__ == "__main__":
    fire.Fire(train)
"""
CLICK = """
import click
@click.command()
@click.option("--lr", "rate", default=3e-4, type=float)
@click.option("--max-steps", default=-1, show_default=True)
@click.option("--pack/--no-pack", default=False)
@click.option("--verbose", is_flag=True)
@click.option("--data", required=True)
@click.argument("model")
def main(rate, max_steps, pack, verbose, data, model):
    TrainingArguments(rate=rate, max_steps=max_steps, pack=pack, verbose=verbose, data=data, model=model)
if __name__ == "__main__":
    main()
"""
TYPER = """
import typer
from typing import Optional
app = typer.Typer()
@app.command()
def train(rate: float = typer.Option(3e-4, "--lr"), epochs: int = 3, data: str = typer.Argument(...), bf16: bool = False):
    TrainingArguments(rate=rate, epochs=epochs, data=data, bf16=bf16)
if __name__ == "__main__":
    app()
"""
TYRO = """
import tyro
from dataclasses import dataclass
@dataclass
class Options:
    rate: float = 3e-4
    epochs: int = 3
    data: str = "a"
options = tyro.cli(Options)
TrainingArguments(rate=options.rate, epochs=options.epochs, data=options.data)
"""
ABSL = """
from absl import app, flags
FLAGS = flags.FLAGS
flags.DEFINE_float("rate", 3e-4, "the rate")
flags.DEFINE_integer("epochs", 3, "passes")
def main(_):
    TrainingArguments(rate=FLAGS.rate, epochs=FLAGS.epochs)
if __name__ == "__main__":
    app.run(main)
"""
TAP = """
from tap import Tap
class Options(Tap):
    rate: float = 3e-4
    epochs: int = 3
options = Options().parse_args()
TrainingArguments(rate=options.rate, epochs=options.epochs)
"""


@pytest.mark.parametrize(
    ("text", "launch", "expected"),
    [
        (FIRE, None, {"rate": 3e-4, "steps": 32, "name": "x", "data": None}),
        (FIRE, {"rate": "1e-5", "micro": "8", "name": "2"}, {"rate": 1e-5, "steps": 16, "name": 2, "data": None}),
        (CLICK, None, {"rate": 3e-4, "max_steps": -1, "pack": False, "verbose": False, "data": UNKNOWN, "model": UNKNOWN}),
        (CLICK, {"lr": "1", "max-steps": "5", "pack": True, "data": "d"}, {"rate": 1.0, "max_steps": 5, "pack": True, "verbose": False, "data": "d", "model": UNKNOWN}),
        (CLICK, {"no-pack": True, "verbose": True}, {"rate": 3e-4, "max_steps": -1, "pack": False, "verbose": True, "data": UNKNOWN, "model": UNKNOWN}),
        (TYPER, None, {"rate": 3e-4, "epochs": 3, "data": UNKNOWN, "bf16": False}),
        (TYPER, {"lr": "1e-5", "epochs": "1", "bf16": True}, {"rate": 1e-5, "epochs": 1, "data": UNKNOWN, "bf16": True}),
        (TYRO, None, {"rate": 3e-4, "epochs": 3, "data": "a"}),
        (TYRO, {"rate": "1", "data": "b"}, {"rate": 1.0, "epochs": 3, "data": "b"}),
        (ABSL, None, {"rate": 3e-4, "epochs": 3}),
        (ABSL, {"rate": "1", "epochs": "2"}, {"rate": 1.0, "epochs": 2}),
        (TAP, None, {"rate": 3e-4, "epochs": 3}),
        (TAP, {"rate": "1"}, {"rate": 1.0, "epochs": 3}),
    ],
)  # fmt: skip
def test_other_command_lines(text: str, launch: dict[str, str | bool | list[str]] | None, expected: object) -> None:
    assert arguments(text, launch=launch) == expected


@pytest.mark.parametrize(
    ("text", "kind"),
    [(FIRE, "fire"), (CLICK, "click"), (TYPER, "typer"), (TYRO, "tyro"), (ABSL, "absl"), (TAP, "tap")],
)
def test_kinds_of_parsers(text: str, kind: str) -> None:
    (parser,) = script(text).parsers
    assert parser.kind == kind
    assert parser.flags


def test_a_click_command_that_another_file_starts_is_read_too() -> None:
    text = CLICK.replace('if __name__ == "__main__":\n    main()\n', "")
    assert arguments(text, launch={"lr": "2"})["rate"] == 2.0


def test_simple_parsing_gives_a_dataclass_under_its_destination() -> None:
    text = """
    from dataclasses import dataclass
    from simple_parsing import ArgumentParser
    @dataclass
    class Options:
        rate: float = 3e-4
    parser = ArgumentParser()
    parser.add_arguments(Options, dest="options")
    args = parser.parse_args()
    TrainingArguments(rate=args.options.rate)
    """
    assert arguments(text) == {"rate": 3e-4}
    assert arguments(text, launch={"rate": "1"}) == {"rate": 1.0}


# --- Parsers of dataclasses -------------------------------------------------------------------------------------------

HF = """
import sys
from dataclasses import dataclass, field
from typing import Optional
from transformers import HfArgumentParser, Trainer, TrainingArguments

@dataclass
class DataArguments:
    data_path: str = field(default="data.jsonl", metadata={"help": "data"})
    max_rows: Optional[int] = field(default=None)
    pack: bool = False
    needed: float = field(metadata={})

parser = HfArgumentParser((DataArguments, TrainingArguments))
data_args, training_args = parser.parse_args_into_dataclasses()
training_args.eval_steps = 7
Probe(a=data_args.data_path, b=data_args.max_rows, c=data_args.pack, d=data_args.needed,
      e=training_args.learning_rate, f=training_args.eval_steps)
Trainer(args=training_args)
"""


def test_dataclass_parsers_without_a_launch() -> None:
    assert arguments(HF, "Probe") == {"a": "data.jsonl", "b": None, "c": False, "d": UNKNOWN, "e": UNKNOWN, "f": 7}


def test_dataclass_parsers_with_a_launch() -> None:
    launch = {"data_path": "b.jsonl", "max_rows": "10", "pack": "True", "learning_rate": "1e-4"}
    found = arguments(HF, "Probe", launch=launch)
    assert found == {"a": "b.jsonl", "b": 10, "c": True, "d": UNKNOWN, "e": "1e-4", "f": 7} or found["e"] == 1e-4


def test_what_a_dataclass_parser_fills() -> None:
    (parser,) = script(HF).parsers
    assert parser.kind == "HfArgumentParser"
    data, training = parser.dataclasses
    assert (data.name, data.origin, list(data.fields)) == (
        "DataArguments",
        "",
        ["data_path", "max_rows", "pack", "needed"],
    )
    assert (data.fields["max_rows"].type, data.fields["pack"].type, data.fields["needed"].required) == (
        "int",
        "bool",
        True,
    )
    assert (training.name, training.origin, training.fields) == (
        "TrainingArguments",
        "transformers.TrainingArguments",
        {},
    )
    assert [feed.kind for feed in parser.feeds] == ["argv"]
    assert plain(parser.overrides) == {"eval_steps": 7}


def test_a_config_file_where_it_is_the_only_argument_and_flags_otherwise() -> None:
    text = HF.replace(
        "data_args, training_args = parser.parse_args_into_dataclasses()",
        "if len(sys.argv) == 2 and sys.argv[1].endswith('.json'):\n"
        "    data_args, training_args = parser.parse_json_file(json_file=sys.argv[1])\n"
        "else:\n"
        "    data_args, training_args = parser.parse_args_into_dataclasses()",
    )
    document = script(text)
    assert [feed.kind for feed in document.parsers[0].feeds] == ["json", "argv"]
    assert plain(call(document, "Trainer").argument("args")) == "parsed transformers.TrainingArguments"
    assert plain(call(document, "Probe").argument("a")) == "data.jsonl"


@pytest.mark.parametrize(
    ("method", "name", "content", "kind"),
    [
        ("parse_json_file('args.json')", "args.json", '{"data_path": "c", "learning_rate": 0.1}', "json"),
        ("parse_json_file(json_file='args.json')", "args.json", '{"data_path": "c", "learning_rate": 0.1}', "json"),
        (
            "parse_yaml_file('args.yaml', allow_extra_keys=True)",
            "args.yaml",
            "data_path: c\nlearning_rate: 0.1\n",
            "yaml",
        ),
        ("parse_dict({'data_path': 'c', 'learning_rate': 0.1})", "", "", "dict"),
        ("parse_args_into_dataclasses(args=['--data_path', 'c', '--learning_rate', '0.1'])", "", "", "dict"),
    ],
)
def test_dataclass_parsers_fed_otherwise(method: str, name: str, content: str, kind: str) -> None:
    text = HF.replace("parse_args_into_dataclasses()", method)
    document = script(text, files={name: content})
    (feed,) = document.parsers[0].feeds
    assert feed.kind == kind
    assert (plain(feed.path) or "") == name
    assert feed.allow_extra_keys == ("extra" in method)
    probe = plain(call(document, "Probe").arguments)
    assert isinstance(probe, dict)
    assert (probe["a"], float(probe["e"]), probe["b"]) == ("c", 0.1, None)
    assert len(document.loads) == (1 if name else 0)


def test_trl_parser() -> None:
    document = script(
        """
        from trl import ModelConfig, ScriptArguments, SFTConfig, SFTTrainer, TrlParser
        parser = TrlParser((ScriptArguments, SFTConfig, ModelConfig))
        script_args, training_args, model_args = parser.parse_args_and_config()
        SFTTrainer(model_args.model_name_or_path, args=training_args)
        """
    )
    (parser,) = document.parsers
    assert (parser.kind, [made.origin for made in parser.dataclasses]) == (
        "TrlParser",
        ["trl.ScriptArguments", "trl.SFTConfig", "trl.ModelConfig"],
    )
    assert [feed.kind for feed in parser.feeds] == ["config"]
    assert plain(call(document, "SFTTrainer").argument("args")) == "parsed trl.SFTConfig"


def test_the_fields_of_parsed_dataclasses_can_be_merged() -> None:
    text = HF + (
        "\nimport argparse\nargs = argparse.Namespace(**vars(data_args), **vars(training_args))\n"
        "Second(a=args.data_path, b=args.pack, c=args.weight_decay)\n"
    )
    assert arguments(text, "Second") == {"a": "data.jsonl", "b": False, "c": UNKNOWN}


def test_positional_arguments_of_a_launch() -> None:
    text = """
    import argparse, sys
    p = argparse.ArgumentParser()
    p.add_argument("model")
    p.add_argument("rate", type=float)
    p.add_argument("--epochs", type=int)
    a = p.parse_args()
    TrainingArguments(model=a.model, rate=a.rate, epochs=a.epochs)
    """
    assert arguments(text, launch={"0": "m", "1": "1e-4", "epochs": ["3", "x"]}) == {
        "model": "m",
        "rate": 1e-4,
        "epochs": 3,
    }
    assert arguments(text) == {"model": UNKNOWN, "rate": UNKNOWN, "epochs": None}


def test_the_words_of_a_launch() -> None:
    text = """
    import sys
    name = sys.argv[1] if len(sys.argv) > 1 else "default"
    TrainingArguments(name=name)
    """
    assert arguments(text, launch={"0": "a"}) == {"name": "a"}
    assert arguments(text, launch={}) == {"name": "default"}
    assert arguments(text, launch={"x": "a"})["name"] != "default"
    assert arguments(text)["name"] != "default"


def test_a_list_that_is_a_default_is_one_in_all_that_is_made_of_it() -> None:
    text = """
    import argparse
    p = argparse.ArgumentParser()
    p.add_argument("--urls", nargs="+", default=["a"])
    a = p.parse_args()
    TrainingArguments(n=len(a.urls), first=a.urls[0], some=1 if a.urls else 2)
    """
    for value in call(script(text), "TrainingArguments").arguments.last.values():
        assert isinstance(value.value, Derived)
        assert value.value.default
    assert arguments(text, launch={"urls": ["x", "y"]}) == {"n": 2, "first": "x", "some": 1}


def test_a_parser_is_one_however_many_ways_lead_to_it() -> None:
    text = """
        from transformers import HfArgumentParser, Trainer, TrainingArguments

        def main():
            (training_args,) = HfArgumentParser((TrainingArguments,)).parse_args_into_dataclasses()
            trainer = Trainer(args=training_args)

        def spawned(index):
            main()

        if __name__ == "__main__":
            main()
    """
    document = script(text)
    assert [[feed.kind for feed in parser.feeds] for parser in document.parsers] == [["argv"]]
    assert plain(call(document, "Trainer").argument("args")) == "parsed transformers.TrainingArguments"


def test_one_place_may_build_parsers_of_different_classes() -> None:
    text = """
        from transformers import HfArgumentParser, Seq2SeqTrainingArguments, TrainingArguments

        def parse(kind):
            return HfArgumentParser((kind,)).parse_args_into_dataclasses()

        (one,) = parse(TrainingArguments)
        (other,) = parse(Seq2SeqTrainingArguments)
    """
    names = [parser.dataclasses[0].origin for parser in script(text).parsers]
    assert names == ["transformers.TrainingArguments", "transformers.Seq2SeqTrainingArguments"]
