"""What a program writes to files: `PythonDocument.files`, compared with what the real dumpers write."""

from __future__ import annotations

import json

import pytest
import yaml

from epochlint.documents.document import Mapping, Node, Scalar, Unresolved
from epochlint.documents.python import read
from epochlint.documents.read import read as read_text
from epochlint.source import Excerpt, Source

ARGS = "import json, yaml\nfrom pathlib import Path\nlora = {}\nargs = dict(learning_rate=5e-5, num_train_epochs=3)\n"


def files(code: str, before: str = ARGS) -> dict[str, Node | Excerpt]:
    document = read(Source("train.py", before + code))
    assert document.problems == []
    return document.files


def plain(node: Node | Excerpt | None) -> object:
    if isinstance(node, Mapping):
        return {entry.key: plain(entry.value) for entry in node.entries}
    return node.value if isinstance(node, Scalar) else None


@pytest.mark.parametrize(
    ("code", "path"),
    [
        ('json.dump(args, open("a.json", "w", encoding="utf-8"), indent=2)', "a.json"),
        ('with open("a.json", "w") as f:\n    json.dump(args, f)', "a.json"),
        ('with open("a.json", mode="w") as f:\n    json.dump(obj=args, fp=f)', "a.json"),
        ('with open("a.json", "w") as f:\n    f.write(json.dumps(args, indent=2))', "a.json"),
        ('Path("a.json").write_text(json.dumps(args))', "a.json"),
        ('(Path("conf") / "a.yaml").write_text(yaml.safe_dump(args, sort_keys=False))', "conf/a.yaml"),
        ('with Path("a.json").open("w") as f:\n    json.dump(args, f)', "a.json"),
        ('with open("./a.yaml", "w") as f:\n    yaml.dump(args, f, default_flow_style=False)', "a.yaml"),
        ('with open("a.yml", "w") as f:\n    yaml.safe_dump(data=args, stream=f)', "a.yml"),
        ('with open("a.yml", "w") as f:\n    f.write(yaml.dump(args, None))', "a.yml"),
        ('import toml\ntoml.dump(args, open("a.toml", "w"))', "a.toml"),
        ('from omegaconf import OmegaConf\nOmegaConf.save(OmegaConf.create(args), "a.yaml")', "a.yaml"),
        ('from omegaconf import OmegaConf\nOmegaConf.save(config=args, f="a.yaml")', "a.yaml"),
        ('def save(what, where):\n    with open(where, "w") as f:\n        json.dump(what, f)\nsave(args, "a.json")',
         "a.json"),
        ('path = "a" + ".json"\njson.dump(args, open(path, "w"))\nargs["learning_rate"] = 1', "a.json"),
        ('json.dump(args, open("a.json", "w"))\njson.dump(dict(args), open("a.json", "w"))', "a.json"),
    ],
)  # fmt: skip
def test_what_is_dumped(code: str, path: str) -> None:
    assert {name: plain(node) for name, node in files(code).items()} == {
        path: {"learning_rate": 5e-5, "num_train_epochs": 3}
    }


@pytest.mark.parametrize(
    "code",
    [
        'open("a.yaml", "w").write("""learning_rate: 5e-5\n""")',
        'text = """learning_rate: 5e-5\n"""\nwith open("a.yaml", "w") as f:\n    f.write(text)',
        'Path("a.yaml").write_text("""learning_rate: 5e-5\n""", encoding="utf-8")',
    ],
)
def test_texts(code: str) -> None:
    written = files(code)["a.yaml"]
    assert plain(written) == "learning_rate: 5e-5\n"


@pytest.mark.parametrize(
    "code",
    [
        'json.dump(args, open("a.json", "w"))\nargs["learning_rate"] = 1\njson.dump(args, open("a.json", "w"))',
        'if who():\n    json.dump(args, open("a.json", "w"))\nelse:\n    json.dump({"lr": 1}, open("a.json", "w"))',
        'json.dump(args, open("a.json", "a"))',
        'json.dump(args, open("a.json", "w"))\nopen("a.json", "a").write("x")',
        'with open("a.json", "w") as f:\n    json.dump(args, f)\n    f.write("x")',
        'with open("a.json", "w") as f:\n    other(args, f)',
        'json.dump(args, open("a.json", "w"))\nwith open("a.json", "w") as f:\n    f.writelines(lines)',
        'open("a.json", "w").write(template.format(**args))',
        'open("a.json", "w").write(f"{who()}")',
        'open("a.json", "w").write(yaml.dump(args))',
        'open("a.json", "wb").write(data)',
        'import os\nopen("a.json", "w").write(os.environ.get("CONFIG", "{}"))',
        'import subprocess\nsubprocess.run(["axolotl", "train", "a.json"])\njson.dump(args, open("a.json", "w"))',
    ],
)
def test_what_is_not_one_thing_is_not_known(code: str) -> None:
    assert isinstance(files(code)["a.json"], Unresolved)


@pytest.mark.parametrize(
    "code",
    [
        'json.dump(args, open(where(), "w"))',
        'json.load(open("a.json"))',
        "print(json.dumps(args, indent=2))",
        'import os\njson.dump(args, open(os.environ.get("OUT", "a.json"), "w"))',
    ],
)
def test_no_file(code: str) -> None:
    assert files(code) == {}


def test_what_the_program_does_not_know_stays_open() -> None:
    code = (
        'import torch\nargs["learning_rate"] = rate()\nargs["bf16"] = torch.cuda.is_bf16_supported()\n'
        'args.update(more())\njson.dump(args, open("a.json", "w"))\n'
    )
    written = files(code)["a.json"]
    assert isinstance(written, Mapping)
    assert written.open_ended
    assert isinstance(written.get("learning_rate"), Unresolved)


def test_values_stand_where_the_program_writes_them() -> None:
    written = files('args["seed"] = 7\njson.dump(args, open("a.json", "w"))')["a.json"]
    assert isinstance(written, Mapping)
    places = {entry.key: (entry.key_span.place.line, entry.key_span.text) for entry in written.entries}
    assert places == {
        "learning_rate": (4, "learning_rate"),
        "num_train_epochs": (4, "num_train_epochs"),
        "seed": (5, '"seed"'),
    }


VALUES = (
    5e-5,
    1e22,
    0.1,
    3,
    True,
    False,
    None,
    "5e-5",
    "no",
    "1_000",
    "null",
    "",
    "text",
    "2e-4x",
    "0x10",
    [1e-6],
    {"a": 1e-7},
)


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("form", ["json.dump", "yaml.dump"])
@pytest.mark.parametrize("suffix", ["json", "yaml"])
def test_a_value_is_read_as_from_the_real_text(value: object, form: str, suffix: str) -> None:
    """A number that json writes as `5e-05` is a word for PyYAML, and PyYAML's `5.0e-05` is none."""
    if (form, suffix) == ("yaml.dump", "json"):
        return
    real = json.dumps({"k": value}) if form == "json.dump" else yaml.dump({"k": value})
    document = read_text(Source(f"a.{suffix}", real))
    assert document is not None
    (expected,) = document.roots
    given = files(f'{form}({{"k": {value!r}}}, open("a.{suffix}", "w"))')[f"a.{suffix}"]
    assert isinstance(given, Mapping)
    assert scalars(given) == scalars(expected)


def scalars(node: Node | None) -> object:
    if isinstance(node, Mapping):
        return {entry.key: scalars(entry.value) for entry in node.entries}
    items = getattr(node, "items", None)
    if items is not None:
        return [scalars(item) for item in items]
    assert isinstance(node, Scalar)
    return node.raw, node.value, type(node.value), node.plain
