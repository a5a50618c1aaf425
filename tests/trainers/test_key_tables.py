"""The maker of the key tables reads sources as Python would, without running them."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from tools.key_tables import collect, dumped, runs
from tools.keys.asked import reads_of
from tools.keys.parts import Part, Recipe, classes, dictionary, flags, function, init, subscripts, union
from tools.keys.sources import Store

CONFIG = """
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, Optional, Union
from transformers import TrainingArguments
from .base import Base, WIDTH

raise SystemExit("imported!")


class Mode(str, Enum):
    FAST = "fast"
    SLOW = "slow"


@dataclass
class Config(Base, TrainingArguments):
    default_kind = "a"
    if WIDTH:
        default_kind = "b"
    needed: str
    kind: str = field(default=default_kind)
    width: int = WIDTH * 2
    rate: "float" = 1e-3
    either: Optional[Union[int, float]] = None
    mode: Mode = Mode.FAST
    open_mode: Union[Mode, str] = "fast"
    word: Literal["x", "y"] | None = None
    items: list[str] = field(default_factory=lambda: ["q"])
    late: dict = field(default_factory=make)
    hidden: int = field(init=False, default=1)
    inherited: int = 5
    block: "Block" = field(default_factory=lambda: Block())


@dataclass
class Block:
    size: int = 1
"""

BASE = """
from dataclasses import dataclass
WIDTH = 3
WIDTH = 4

@dataclass
class Base:
    inherited: int = 1
    from_base: bool = True
"""

SCHEMA = """
from typing import Annotated, ClassVar
from pydantic import BaseModel, Field, AliasChoices

class Mixin:
    not_a_key: int = 1

class Schema(Mixin, BaseModel):
    model_config = {"extra": "forbid"}
    count: ClassVar[int] = 0
    must: int = Field(...)
    also_must: Annotated[int, Field(ge=1)]
    renamed: int = Field(default=2, validation_alias=AliasChoices("old_name", "new_name"))
"""

PROGRAM = """
import argparse
DEFAULTS = {"iters": 1000, "lora": {"rank": 8}, "seed": None}
KEY = "gradient_clipping"

def get(mapping, name=KEY):
    return get_scalar_param(mapping, name, 1.0)

class Runner:
    def __init__(self, model, optimizer=None, **kwargs):
        pass

class Config:
    def __init__(self, given):
        self._given = given
        params = dict(self._given)
        self.clip = get(params)
        self.on = params["fp16"].get("enabled", False)
        for key in ("wandb", "tensorboard"):
            if key in params:
                pass

def setup(path: str, epochs: int = 3, block: Block = Block(size=7)):
    pass

def ask():
    config = {}
    config["plain"] = 1
    prefix = "fsdp_"
    config[prefix + "policy"] = 2

parser = argparse.ArgumentParser()
parser.add_argument("--learning-rate", "-l", type=float, default=1e-5)
parser.add_argument("--test", action="store_true")
parser.add_argument("--fsdp_size", choices=["s", "m"])

from .config import Block
"""


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Two versions of one package, laid into the cache as pip would; nothing is fetched."""
    for version, config in (("1.0", CONFIG), ("2.0", CONFIG.replace("1e-3", "2e-3").replace("    needed: str\n", ""))):
        folder = tmp_path / "demo" / version
        folder.mkdir(parents=True)
        with zipfile.ZipFile(folder / f"demo-{version}-py3-none-any.whl", "w") as wheel:
            wheel.writestr("demo/config.py", config)
            wheel.writestr("demo/base.py", BASE)
            wheel.writestr("demo/schema.py", SCHEMA)
            wheel.writestr("demo/program.py", PROGRAM)
            wheel.writestr("demo/broken.py", "def (")
            metadata = "Name: demo\nRequires-Dist: transformers<5,>=4.46\nRequires-Dist: trl>=1 ; extra == 'x'\n\nbody"
            wheel.writestr(f"demo-{version}.dist-info/METADATA", metadata)
    return Store(str(tmp_path))


def made(store: Store, part: Part, **more: Any) -> dict[str, Any]:
    recipe = Recipe("demo", "1.0 2.0", {"config": part}, root="demo/", **more)
    table = collect(recipe, store)
    assert json.loads(dumped(table)) == table
    return table


def fields(store: Store, part: Part) -> dict[str, Any]:
    found: dict[str, Any] = made(store, part)["owners"]["config"]["fields"]
    return found


def test_a_dataclass(store: Store) -> None:
    table = made(store, classes("Config"))
    owner = table["owners"]["config"]
    assert owner["base"] == [["1.0", "2.0", "transformers.TrainingArguments"]]
    assert owner["source"] == ["demo/config.py", "demo/base.py"]
    assert table["requires"] == {"transformers": [["1.0", "2.0", "<5,>=4.46"]]}
    assert owner["fields"] == {
        "needed": [["1.0", "1.0", "str", None, "required"]],
        "kind": [["1.0", "2.0", "str", ["a", "b"], "either"]],
        "width": [["1.0", "2.0", "int", 8]],
        "rate": [["1.0", "1.0", "float", 0.001], ["2.0", "2.0", "float", 0.002]],
        "either": [["1.0", "2.0", "number?", None]],
        "mode": [["1.0", "2.0", "str", "fast"]],
        "open_mode": [["1.0", "2.0", "str", "fast"]],
        "word": [["1.0", "2.0", "str?", None]],
        "items": [["1.0", "2.0", "list", ["q"]]],
        "late": [["1.0", "2.0", "dict", None, "factory"]],
        "inherited": [["1.0", "2.0", "int", 5]],
        "from_base": [["1.0", "2.0", "bool", True]],
        "block": [["1.0", "2.0", "dict", None, "factory"]],
    }
    assert owner["words"] == {"mode": [["1.0", "2.0", ["fast", "slow"]]], "word": [["1.0", "2.0", ["x", "y"]]]}
    assert owner["hints"] == {"open_mode": [["1.0", "2.0", ["fast", "slow"]]]}
    assert owner["nested"] == {"block": ["Block"]}
    assert table["owners"]["Block"]["fields"] == {"size": [["1.0", "2.0", "int", 1]]}


def test_an_enum_or_text_that_the_class_makes_an_enum_of(store: Store) -> None:
    owner = made(store, classes("Config"), enum_or_text_closed=True)["owners"]["config"]
    assert owner["words"]["open_mode"] == [["1.0", "2.0", ["fast", "slow"]]]


def test_a_pydantic_model(store: Store) -> None:
    assert fields(store, classes("Schema")) == {
        "must": [["1.0", "2.0", "int", None, "required"]],
        "also_must": [["1.0", "2.0", "int", None, "required"]],
        "renamed": [["1.0", "2.0", "int", 2]],
        "old_name": [["1.0", "2.0", "int", 2]],
        "new_name": [["1.0", "2.0", "int", 2]],
    }


def test_a_function_with_a_block(store: Store) -> None:
    owners = made(store, function("demo.program", "setup"))["owners"]
    assert owners["config"]["fields"]["epochs"] == [["1.0", "2.0", "int", 3]]
    assert owners["config"]["nested"] == {"block": ["config.block"]}
    assert owners["config.block"]["fields"] == {"size": [["1.0", "2.0", "int", 7]]}


def test_other_places_of_keys(store: Store) -> None:
    assert fields(store, init("Runner", drop=("optimizer",))) == {"model": [["1.0", "2.0", "any", None, "required"]]}
    assert fields(store, dictionary("demo.program", "DEFAULTS"))["iters"] == [["1.0", "2.0", "int", 1000]]
    asked = fields(
        store, union(flags("demo.program", "parser", "fsdp_"), subscripts("demo.program", "config", "fsdp_"))
    )
    assert set(asked) == {"learning_rate", "test", "fsdp_size", "size", "plain", "fsdp_policy", "policy"}
    assert asked["learning_rate"] == [["1.0", "2.0", "float", 1e-05]]
    assert asked["test"] == [["1.0", "2.0", "bool", False]]


def test_keys_that_code_asks_for(store: Store) -> None:
    owners = made(store, reads_of("demo.program", "Config", "self._given"), prefixed=False)["owners"]
    assert set(owners["config"]["fields"]) == {"gradient_clipping", "fp16", "wandb", "tensorboard"}
    assert owners["config"]["fields"]["gradient_clipping"] == [["1.0", "2.0", "float", 1.0]]
    assert owners["fp16"]["fields"] == {"enabled": [["1.0", "2.0", "bool", False]]}


def test_runs() -> None:
    versions = ["1", "2", "3", "4"]
    assert runs(versions, {"1": "a", "2": "a", "4": "a"}) == [["1", "2", "a"], ["4", "4", "a"]]
    assert runs(versions, {"2": "a", "3": "b"}) == [["2", "2", "a"], ["3", "3", "b"]]
