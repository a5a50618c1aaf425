"""The published JSON Schema of the settings says what the settings' reader says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest
import tomli

from epochlint.settings import SettingsError, load
from tools.settings_schema import PATH, text

SCHEMA = json.loads(PATH.read_text(encoding="utf-8"))

GOOD = """
select = ["WRM"]
ignore = ["WRM005"]
exclude = ["old/"]
baseline = "known.json"
per-path-ignores = { "a.json#/x" = ["WRM001"] }
levels = { WRM002 = "note", WRM003 = "off" }
thresholds = { WRM003 = { most = 0.2, least = 1 } }
assume = { gpus = 8, transformers = "4.57.6" }
[[overrides]]
paths = ["small/**"]
assume = { gpus = 1 }
trainer = "axolotl"
"""
BAD = (
    "selct = []",
    "select = 'WRM'",
    "levels = { WRM001 = 'fatal' }",
    "thresholds = { WRM001 = { a = 'x' } }",
    "assume = { gpus = [] }",
    "[[overrides]]\npaths = []",
    "[[overrides]]\nassume = {}",
    "[[overrides]]\npaths = ['a']\nassum = {}",
    "per_path_ignores = {}",
)


def _judged(content: str, folder: Path) -> tuple[bool, bool]:
    """Whether the schema and the reader take it."""
    valid = jsonschema.Draft202012Validator(SCHEMA).is_valid(tomli.loads(content))
    (folder / "epochlint.toml").write_text(content, encoding="utf-8")
    try:
        load(str(folder / "epochlint.toml"))
    except SettingsError:
        return valid, False
    return valid, True


def test_it_is_up_to_date() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), "run python -m tools.settings_schema"


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for name, setting in SCHEMA["properties"].items():
        assert setting.get("description"), name


def test_good_settings(tmp_path: Path) -> None:
    assert _judged(GOOD, tmp_path) == (True, True)
    assert _judged("", tmp_path) == (True, True)


@pytest.mark.parametrize("content", BAD)
def test_bad_settings(tmp_path: Path, content: str) -> None:
    assert _judged(content, tmp_path) == (False, False)
