"""Config files that scripts load: where they are found, how their values are typed, what a program makes of them."""

# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import pytest

from epochlint.documents.document import Scalar
from epochlint.documents.scalars import misread
from tests.documents.python.reading import UNKNOWN, arguments, call, plain, script

YAML = 'training:\n  lr: 2e-5\n  dotted: 2.0e-5\n  epochs: 3\n  on: yes\n  octal: 010\n  name: "3"\n'


@pytest.mark.parametrize(
    ("loading", "lr", "octal"),
    [
        ("import yaml\nc = yaml.safe_load(open('c.yaml'))", "2e-5", 8),
        ("import yaml\nwith open('c.yaml') as f:\n    c = yaml.safe_load(f)", "2e-5", 8),
        ("import yaml\nc = yaml.load(open('c.yaml').read(), Loader=yaml.FullLoader)", "2e-5", 8),
        ("import yaml\nfrom pathlib import Path\nc = yaml.safe_load(Path('c.yaml').read_text())", "2e-5", 8),
        ("import yaml, os\nPATH = os.path.join('.', 'c.yaml')\nc = yaml.safe_load(open(PATH))", "2e-5", 8),
        ("import yaml\ndef load(p):\n    with open(p, 'r', encoding='utf-8') as f:\n        return yaml.safe_load(f)\nc = load('c.yaml')", "2e-5", 8),
        ("from ruamel.yaml import YAML\nc = YAML(typ='safe').load(open('c.yaml'))", 2e-5, 10),
        ("from omegaconf import OmegaConf\nc = OmegaConf.load('c.yaml')", 2e-5, 8),
        ("from omegaconf import OmegaConf\nc = OmegaConf.to_container(OmegaConf.load('c.yaml'), resolve=True)", 2e-5, 8),
    ],
)  # fmt: skip
def test_yaml_is_typed_by_its_loader(loading: str, lr: object, octal: object) -> None:
    text = f"{loading}\nt = c['training']\nTrainingArguments(lr=t['lr'], dotted=t['dotted'], octal=t['octal'], name=t['name'])"
    files = {"c.yaml": YAML, "./c.yaml": YAML}
    assert arguments(text, files=files) == {"lr": lr, "dotted": 2e-5, "octal": octal, "name": "3"}


@pytest.mark.parametrize(
    ("loading", "name", "content"),
    [
        ("import json\nc = json.load(open('c.json'))", "c.json", '{"a": {"b": 3}}'),
        ("import json\nc = json.loads(open('c.json').read())", "c.json", '{"a": {"b": 3}}'),
        ("import tomllib\nc = tomllib.load(open('c.toml', 'rb'))", "c.toml", "[a]\nb = 3\n"),
        ("import tomli as tomllib\nc = tomllib.load(open('c.toml', 'rb'))", "c.toml", "[a]\nb = 3\n"),
        ("import toml\nc = toml.load('c.toml')", "c.toml", "[a]\nb = 3\n"),
    ],
)
def test_other_formats(loading: str, name: str, content: str) -> None:
    document = script(f"{loading}\nTrainingArguments(**c['a'])", files={name: content})
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == {"b": 3}
    entry = made.entry("b")
    assert entry is not None
    assert (entry.key_span.source.path, entry.value.span.text) == (name, "3")
    (found,) = document.loads
    assert (plain(found.path), found.document is not None) == (name, True)


def test_casts_and_defaults_over_a_loaded_file() -> None:
    text = """
    import yaml
    c = yaml.safe_load(open("c.yaml"))
    t = c["training"]
    TrainingArguments(lr=float(t["lr"]), epochs=t.get("epochs", 1), batch=t.get("batch", 8), steps=c.get("steps"), missing=t["missing"])
    """
    files = {"c.yaml": YAML}
    assert arguments(text, files=files) == {"lr": 2e-5, "epochs": 3, "batch": 8, "steps": None, "missing": UNKNOWN}
    # Without the file even a default is not known: the file most likely has the key.
    assert arguments(text) == dict.fromkeys(("lr", "epochs", "batch", "steps", "missing"), UNKNOWN)


def test_a_loaded_scalar_still_shows_how_it_was_written() -> None:
    text = "import yaml\nc = yaml.safe_load(open('c.yaml'))\nTrainingArguments(a=c['training']['octal'])"
    found = call(script(text, files={"c.yaml": YAML}), "TrainingArguments").argument("a")
    assert isinstance(found, Scalar)
    assert (found.raw, found.span.source.path, misread(found)) == ("010", "c.yaml", "octal")


def test_a_loaded_config_can_be_changed() -> None:
    text = """
    import yaml
    c = yaml.safe_load(open("c.yaml"))
    c["training"]["epochs"] = 9
    c["training"].pop("lr")
    TrainingArguments(**{k: v for k, v in c["training"].items() if k in ("lr", "epochs")})
    """
    assert arguments(text, files={"c.yaml": YAML}) == {"epochs": 9}


def test_an_unseen_file_leaves_a_call_open() -> None:
    text = "import yaml\nc = yaml.safe_load(open('c.yaml'))\nTrainingArguments(a=1, **c['training'])"
    document = script(text)
    assert plain(call(document, "TrainingArguments").arguments) == {"a": 1, "...": True}
    (found,) = document.loads
    assert (found.via, found.document) == ("yaml.safe_load", None)


def test_the_path_may_come_from_the_command_line() -> None:
    text = """
    import argparse, yaml
    p = argparse.ArgumentParser()
    p.add_argument("--config", default="c.yaml")
    a = p.parse_args()
    c = yaml.safe_load(open(a.config))
    TrainingArguments(epochs=c["training"]["epochs"])
    """
    files = {"c.yaml": YAML, "d.yaml": YAML.replace("epochs: 3", "epochs: 4")}
    assert arguments(text, files=files) == {"epochs": 3}
    assert arguments(text, files=files, launch={"config": "d.yaml"}) == {"epochs": 4}


def test_omegaconf_merges_and_interpolates() -> None:
    text = """
    from omegaconf import OmegaConf
    base = OmegaConf.load("base.yaml")
    c = OmegaConf.merge(base, OmegaConf.create({"train": {"epochs": 5}}), OmegaConf.from_cli())
    TrainingArguments(lr=c.train.lr, epochs=c.train.epochs, same=c.train.same, env=c.train.env)
    """
    base = "lr: 1e-4\ntrain:\n  lr: ${lr}\n  epochs: 3\n  same: ${train.epochs}\n  env: ${oc.env:HOME}\n"
    files = {"base.yaml": base}
    assert arguments(text, files=files) == {"lr": 1e-4, "epochs": 5, "same": 3, "env": UNKNOWN}
    assert arguments(text, files=files, launch={"train.lr": "2e-4"})["lr"] == 2e-4


HYDRA = """
import hydra
from transformers import TrainingArguments
@hydra.main(version_base=None, config_path="conf", config_name="config")
def main(cfg):
    TrainingArguments(**cfg.train)
if __name__ == "__main__":
    main()
"""


@pytest.mark.parametrize(
    ("files", "launch", "expected"),
    [
        ({"conf/config.yaml": "train:\n  lr: 2e-4\n  epochs: 3\n"}, None, {"lr": 2e-4, "epochs": 3}),
        ({"conf/config.yaml": "train:\n  lr: 2e-4\n"}, {"train.lr": "1e-5"}, {"lr": 1e-5}),
        ({"conf/config.yaml": "train:\n  lr: 2e-4\n"}, {"+train.epochs": "2"}, {"lr": 2e-4, "epochs": 2}),
        ({"conf/config.yaml": "defaults:\n  - _self_\ntrain:\n  lr: 2e-4\n"}, None, {"lr": 2e-4}),
        ({"conf/config.yaml": "defaults:\n  - train: sft\n  - _self_\ntrain:\n  lr: 1\n", "conf/train/sft.yaml": "lr: 2\nepochs: 3\n"}, None, {"lr": 1, "epochs": 3}),
        ({"conf/config.yaml": "defaults:\n  - _self_\n  - train: sft\ntrain:\n  lr: 1\n", "conf/train/sft.yaml": "lr: 2\nepochs: 3\n"}, None, {"lr": 2, "epochs": 3}),
        ({"conf/config.yaml": "defaults:\n  - train: sft\ntrain:\n  epochs: 9\n", "conf/train/sft.yaml": "lr: 2\nepochs: 3\n"}, None, {"lr": 2, "epochs": 9}),
        ({"conf/config.yaml": "defaults:\n  - _self_\n  - train: sft\n", "conf/train/sft.yaml": "lr: 2\n", "conf/train/lora.yaml": "lr: 5\n"}, {"train": "lora"}, {"lr": 5}),
        ({"conf/config.yaml": "train:\n  lr: 1\n  epochs: 1\n", "conf/experiment/small.yaml": "# @package _global_\ntrain:\n  epochs: 7\n"}, {"experiment": "small"}, {"lr": 1, "epochs": 7}),
        ({"conf/config.yaml": "defaults:\n  - train: null\n  - override hydra/launcher: local\n  - _self_\ntrain:\n  lr: 1\n"}, None, {"lr": 1}),
        ({"conf/config.yaml": "defaults:\n  - _self_\n  - train: unseen\ntrain:\n  lr: 1\n"}, None, {"...": True}),
        ({}, None, {"...": True}),
    ],
)  # fmt: skip
def test_hydra(files: dict[str, str], launch: dict[str, str | bool | list[str]] | None, expected: object) -> None:
    document = script(HYDRA, files=files, launch=launch)
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == expected
    assert made.function == "main"
    assert document.parsers[0].kind == "hydra"
    assert document.loads[0].via == "hydra"


def test_hydra_looks_beside_the_script() -> None:
    document = script(HYDRA, files={"src/conf/config.yaml": "train:\n  lr: 1\n"}, path="src/train.py")
    assert plain(call(document, "TrainingArguments").arguments) == {"lr": 1}


@pytest.mark.parametrize("content", ["a: &x [*x]", "a: [1, 2", "- 1\n- 2", "", "a: {{ b }}", "a: &a [1]\nb: [*a, *a]"])
def test_strange_files_do_no_harm(content: str) -> None:
    text = "import yaml\nc = yaml.safe_load(open('c.yaml'))\nTrainingArguments(x=c['a'], **c)"
    assert script(text, files={"c.yaml": content}).problems == []


def test_aliases_that_multiply_cost_nothing() -> None:
    bomb = "a0: &a0 [1]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
    text = "import yaml, copy\nc = copy.deepcopy(yaml.safe_load(open('c.yaml')))\nTrainingArguments(**c)"
    document = script(text, files={"c.yaml": bomb})
    assert document.calls or document.problems
