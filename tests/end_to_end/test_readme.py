"""Every command in the README does what the README shows."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import tomli
import yaml

from epochlint.rules import catalogue
from epochlint.settings import load

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, re.DOTALL)


def shown() -> list[tuple[str, str]]:
    """(command, output) of the console blocks."""
    found = []
    for block in blocks("console"):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.partition("\n")
            found.append((command, output.rstrip("\n")))
    return found


def test_the_readme_shows_commands() -> None:
    assert len(shown()) >= 4


@pytest.mark.parametrize(("command", "output"), shown(), ids=lambda text: text[:40])
def test_command(command: str, output: str, epochlint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    words = shlex.split(command)
    assert words[0] == "epochlint"
    done = epochlint(*words[1:], cwd=ROOT)
    assert done.returncode in (0, 1), done.stderr
    assert output in done.stdout


def test_the_set_up_is_what_continuous_integration_does() -> None:
    commands = "\n".join(blocks("sh"))
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "--editable . --group dev" in commands
    assert "--editable . --group dev" in script
    assert "python -m tools.check" in commands
    assert "python -m tools.check" in script


def test_the_families_are_counted() -> None:
    rows = {code: int(count) for code, count in re.findall(r"(?m)^\| ([A-Z]{3}) \| [^|]+ \| (\d+) \|", README)}
    assert rows == Counter(rule.family for rule in catalogue.load())
    assert f"{sum(rows.values())} rules in {len(rows)} families" in README


def test_every_command_is_there(epochlint: Callable[..., subprocess.CompletedProcess[str]]) -> None:
    for name in ("check", "explain", "compare", "rule"):
        assert f"epochlint {name}" in README
        assert epochlint(name, "--help").returncode == 0


def test_the_settings_are_valid(tmp_path: Path) -> None:
    (block,) = blocks("toml")
    tomli.loads(block)
    path = tmp_path / "pyproject.toml"
    path.write_text(block, encoding="utf-8")
    settings = load(str(path))
    assert settings.levels == {"STP007": "note", "WRM003": "off"}
    assert settings.thresholds["EPO001"] == {"records": 30}
    assert settings.assumed(str(tmp_path / "configs" / "large" / "a.yaml"))["gpus"] == "64"


def test_the_yaml_examples_are_yaml() -> None:
    hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
    examples = [yaml.safe_load(block) for block in blocks("yaml")]
    assert examples[0]["repos"][0]["hooks"][0]["id"] in hooks
    for name in hooks:
        assert f"`{name}`" in README
