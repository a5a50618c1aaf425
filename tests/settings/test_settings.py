"""The settings file: where it is found, what it says, and errors with their place."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path

import pytest

from epochlint.lint import Options, Report, check
from epochlint.rules import catalogue
from epochlint.rules.chosen import chosen
from epochlint.settings import Settings, SettingsError, find, load
from tests.helpers import check_project, lint_project

CONFIG = (
    "model_name_or_path: m\nper_device_train_batch_size: 8\nlearning_rate: 2.0e-4\n"
    "lr_scheduler_type: constant\nwarmup_steps: 100\nmax_steps: 500\n"
)


def _load(folder: Path, text: str, name: str = "epochlint.toml") -> Settings:
    (folder / name).write_text(text, encoding="utf-8")
    return load(str(folder / name))


def _error(folder: Path, text: str, name: str = "epochlint.toml") -> str:
    with pytest.raises(SettingsError) as caught:
        _load(folder, text, name)
    said = str(caught.value)
    assert said.startswith(str(folder / name))
    return said.removeprefix(str(folder / name))


def test_the_nearest_file_wins_up_to_the_repository(tmp_path: Path) -> None:
    (tmp_path / "epochlint.toml").write_text("")
    inner = tmp_path / "repository" / "a" / "b"
    inner.mkdir(parents=True)
    assert find(str(inner)) == str(tmp_path / "epochlint.toml")
    (tmp_path / "repository" / ".git").mkdir()
    assert find(str(inner)) is None, "beyond the repository is somebody else's"
    (tmp_path / "repository" / "pyproject.toml").write_text("[tool.epochlint]\n")
    (tmp_path / "repository" / "a" / "pyproject.toml").write_text("[tool.other]\n")
    assert find(str(inner)) == str(tmp_path / "repository" / "pyproject.toml")
    (tmp_path / "repository" / "a" / "epochlint.toml").write_text("")
    assert find(str(inner)) == str(tmp_path / "repository" / "a" / "epochlint.toml")


def test_everything_a_table_can_say(tmp_path: Path) -> None:
    (tmp_path / "own").mkdir()
    settings = _load(
        tmp_path,
        """
[project]
name = "x"

[tool.epochlint]
select = ["WRM"]
ignore = ["WRM005"]
exclude = ["old/"]
rules = ["own"]
baseline = "known.json"
[tool.epochlint.per-path-ignores]
"a/*.json#/training/warmup_steps" = ["WRM001"]
[tool.epochlint.levels]
WRM002 = "note"
[tool.epochlint.thresholds]
WRM003 = { most = 0.2 }
[tool.epochlint.assume]
gpus = 8
transformers = "4.57.6"
[[tool.epochlint.overrides]]
paths = ["small/**"]
assume = { gpus = 1 }
trainer = "axolotl"
""",
        "pyproject.toml",
    )
    assert (settings.select, settings.ignore, settings.exclude) == (["WRM"], ["WRM005"], ["old/"])
    assert settings.rules == [str(tmp_path / "own")]
    assert settings.baseline == str(tmp_path / "known.json")
    assert settings.levels == {"WRM002": "note"}
    assert settings.thresholds == {"WRM003": {"most": 0.2}}
    assert settings.assumed(str(tmp_path / "x.yaml")) == {"gpus": "8", "transformers": "4.57.6"}
    assert settings.assumed(str(tmp_path / "small" / "x.yaml")) == {"gpus": "1", "transformers": "4.57.6"}
    assert settings.trainer(str(tmp_path / "small" / "x.yaml")) == "axolotl"
    assert settings.trainer(str(tmp_path / "x.yaml")) is None
    (ignored,) = settings.ignored
    assert ignored.pointer == "/training/warmup_steps"
    assert ignored.matches("a/x.json")
    assert not ignored.matches("b/x.json")


def test_without_a_table_everything_is_as_it_comes(tmp_path: Path) -> None:
    settings = _load(tmp_path, "# [tool.epochlint]\n[project]\nname = 'x'\n", "pyproject.toml")
    assert (settings.select, settings.ignored, settings.baseline) == ([], [], None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nselct = ['WRM']\n", ":2:1: unknown setting 'selct'; did you mean 'select'?"),
        ("select = 'WRM'\n", ":1:1: select: Input should be a valid list"),
        ("[levels]\nWRM001 = 'fatal'\n", ":2:1: levels.WRM001: Input should be 'error', 'warning', 'note' or 'off'"),
        ("[thresholds]\nWRM001 = 3\n", ":2:1: thresholds.WRM001: Input should be a valid dictionary"),
        ("[[overrides]]\npaths = ['a']\nassum = {}\n", ":3:1: unknown setting 'assum'; did you mean 'assume'?"),
        ("[[overrides]]\npaths = []\n", ":2:1: overrides.paths: List should have at least 1 item"),
        ("rules = ['nowhere']\n", ":1:10: rules: there is no folder 'nowhere'"),
        ("a = = 1\n", ":1:5: "),
        ("wholly_unlike_any_setting = 1\n", ":1:1: unknown setting 'wholly_unlike_any_setting'; possible are select"),
    ],
)
def test_errors_have_their_place(tmp_path: Path, text: str, said: str) -> None:
    assert _error(tmp_path, text).startswith(said)


def test_errors_in_pyproject_have_their_place(tmp_path: Path) -> None:
    said = _error(tmp_path, "[project]\n\n[tool.epochlint]\n  ignor = []\n", "pyproject.toml")
    assert said == ":4:3: unknown setting 'ignor'; did you mean 'ignore'?"


def test_a_settings_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "epochlint.toml").write_bytes(b"\xff\x00\x80" * 50)
    with pytest.raises(SettingsError, match=r"epochlint\.toml"):
        load(str(tmp_path / "epochlint.toml"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[assume]\ngpus = 'many'\n", ":2:1: assume: gpus must be a whole number"),
        ("[assume]\ngpuz = 3\n", ":2:1: assume: unknown key 'gpuz'; did you mean 'gpus'?"),
        ("[[overrides]]\npaths = ['*']\nassume = { gpus = 0 }\n", ":3:12: assume: gpus must be"),
        ("[[overrides]]\npaths = ['*']\ntrainer = 'axolotll'\n", ":3:1: there is no trainer 'axolotll'; did you mean"),
        ("ignore = ['WRM005', 'WRM999']\n", ":1:21: there is no rule 'WRM999'"),
        ("[levels]\nWRM5 = 'off'\n", ":2:1: there is no rule 'WRM5'; did you mean 'WRM005'?"),
        ("[thresholds]\nWRM005 = { x = 1 }\n", ":2:12: WRM005 has no threshold 'x'"),
        ("[per-path-ignores]\n'*' = ['WRM005', 'nope']\n", ":2:18: there is no rule 'nope'"),
    ],
)
def test_words_that_mean_nothing_have_their_place(tmp_path: Path, text: str, said: str) -> None:
    settings = _load(tmp_path, text)
    with pytest.raises(SettingsError) as caught:
        check_project({"a.yaml": CONFIG}, settings=settings)
    assert str(caught.value).removeprefix(str(tmp_path / "epochlint.toml")).startswith(said), caught.value


def _report(files: dict[str, str], text: str) -> Report:
    """The check of a project whose settings stand in its folder."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        for name, content in {**files, "epochlint.toml": text}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, encoding="utf-8")
        os.chdir(folder)
        try:
            return check(Options(["."], settings=load(str(folder / "epochlint.toml"))))
        finally:
            os.chdir(here)


def _codes(files: dict[str, str], text: str) -> set[tuple[str, str]]:
    """(path, code/level) of the findings."""
    return {(one.path, f"{one.code}/{one.level}") for one in _report(files, text).findings}


def test_select_ignore_and_levels() -> None:
    files = {"a.yaml": CONFIG}
    assert ("a.yaml", "WRM005/warning") in _codes(files, "")
    assert _codes(files, "select = ['EPO']") & {("a.yaml", "WRM005/warning")} == set()
    assert ("a.yaml", "WRM005/warning") not in _codes(files, "ignore = ['warmup-ignored']")
    assert ("a.yaml", "WRM005/note") in _codes(files, "[levels]\nwarmup-ignored = 'note'")
    assert ("a.yaml", "WRM005/warning") in _codes(files, "[levels]\nWRM005 = 'error'"), "a level is a ceiling"
    assert not [one for one in _codes(files, "[levels]\nWRM005 = 'off'") if "WRM005" in one[1]]


def test_per_path_ignores() -> None:
    files = {"new/a.yaml": CONFIG, "old/a.yaml": CONFIG}
    found = _codes(files, "[per-path-ignores]\n'old/**' = ['WRM005']")
    assert ("new/a.yaml", "WRM005/warning") in found
    assert ("old/a.yaml", "WRM005/warning") not in found


def test_per_path_ignores_with_a_pointer() -> None:
    one = {"per_device_train_batch_size": 8, "lr_scheduler_type": "constant", "warmup_steps": 100, "max_steps": 500}
    files = {"a.json": json.dumps(one, indent=1), "b.json": json.dumps(one, indent=1)}
    found = _codes(files, "[per-path-ignores]\n'a.json#/warmup_steps' = ['WRM005']\n'b.json#/max_steps' = ['WRM005']")
    assert ("a.json", "WRM005/warning") not in found
    assert ("b.json", "WRM005/warning") in found


def test_exclude_starts_at_the_settings() -> None:
    files = {"new/a.yaml": CONFIG, "old/a.yaml": CONFIG}
    assert {path for path, _ in _codes(files, "exclude = ['/old/']")} == {"new/a.yaml"}


def test_assumptions_and_trainers_by_path() -> None:
    # Without `base_model` nothing recognises it.
    odd = "some_model: m\nmicro_batch_size: 8\nnum_epochs: 3\nlearning_rate: 0.0002\n"
    report = _report(
        {"big.yaml": CONFIG, "small.yaml": CONFIG, "odd.yaml": odd},
        """
        assume = { gpus = 8, transformers = ">=4.52" }
        [[overrides]]
        paths = ["small.yaml"]
        assume = { gpus = 1 }
        [[overrides]]
        paths = ["odd.yaml"]
        trainer = "axolotl"
        """,
    )
    runs = {checked.run.path: checked.run for checked in report.runs}
    assert {path: run.setting("gpus").value for path, run in runs.items()} == {
        "big.yaml": 8,
        "small.yaml": 1,
        "odd.yaml": 8,
    }
    assert runs["odd.yaml"].trainer == "axolotl"
    assert runs["big.yaml"].trainer == "hf-args"
    assert runs["big.yaml"].versions.of("transformers").at_least("4.52")


def test_thresholds() -> None:
    rule = next(rule for rule in catalogue.load() if rule.thresholds)
    name, value = next(iter(rule.thresholds.items()))
    settings = Settings()
    settings.thresholds = {rule.code: {name: value + 1}}
    changed = next(one for one in chosen(settings) if one.code == rule.code)
    assert changed.thresholds[name] == value + 1
    assert next(one for one in catalogue.load() if one.code == rule.code).thresholds[name] == value


def test_findings_without_settings() -> None:
    assert any(one.code == "WRM005" for one in lint_project({"a.yaml": CONFIG}))


def test_a_nearer_file_holds_for_what_lies_below_it() -> None:
    files = {
        "a.yaml": CONFIG,
        "inner/a.yaml": CONFIG,
        "inner/deep/a.yaml": CONFIG,
        "inner/old/a.yaml": CONFIG,
        "inner/epochlint.toml": "exclude = ['old/']\n[levels]\nwarmup-ignored = 'note'\n",
    }
    assert {(path, code) for path, code in _codes(files, "ignore = ['CFG']") if code.startswith("WRM005")} == {
        ("a.yaml", "WRM005/warning"),
        ("inner/a.yaml", "WRM005/note"),
        ("inner/deep/a.yaml", "WRM005/note"),
    }
    report = _report(files, "select = ['EPO']")
    assert {one.path for one in report.findings if one.code == "WRM005"} == {"inner/a.yaml", "inner/deep/a.yaml"}
    assert {rule.code for rule in report.rules} > {"WRM005", "EPO001"}, "a report lists each rule that ran somewhere"


def test_settings_named_by_the_user_hold_for_every_file(tmp_path: Path) -> None:
    files = {"inner/a.yaml": CONFIG, "inner/epochlint.toml": "ignore = ['WRM005']"}
    assert "WRM005" not in {one.code for one in lint_project(files)}
    assert "WRM005" in {one.code for one in lint_project(files, settings_fixed=True)}


def test_a_nearer_file_says_what_its_runs_are_assumed_to_be() -> None:
    files = {"a.yaml": CONFIG, "inner/a.yaml": CONFIG, "inner/epochlint.toml": "[assume]\ngpus = 4\n"}
    batches = {run.run.path: run.scenarios.fact("gpus").value for run in _report(files, "").runs}
    assert batches == {"a.yaml": None, "inner/a.yaml": 4}


def test_comments_are_judged_by_the_rules_of_their_file() -> None:
    config = CONFIG.replace("lr_scheduler_type", "# epochlint: ignore[WRM001] why\nlr_scheduler_type")
    files = {"a.yaml": config, "inner/a.yaml": config, "inner/epochlint.toml": "ignore = ['WRM001']"}
    assert {path for path, code in _codes(files, "") if code.startswith("SUP001")} == {"a.yaml"}


def test_a_baseline_of_the_whole_and_one_of_a_folder(tmp_path: Path) -> None:
    from epochlint.findings import baseline
    from epochlint.findings.fingerprint import fingerprints

    files = {"a.yaml": CONFIG, "inner/a.yaml": CONFIG, "inner/epochlint.toml": ""}
    marks = fingerprints(_report(files, "").findings)
    whole = _report({**files, "known.json": baseline.render(marks.values())}, "baseline = 'known.json'")
    assert (whole.findings, len(whole.suppressed)) == ([], len(marks))
    own = fingerprints(_report({"a.yaml": CONFIG}, "").findings)
    files |= {"inner/epochlint.toml": "baseline = 'known.json'", "inner/known.json": baseline.render(own.values())}
    assert {one.path for one in _report(files, "").findings} == {"a.yaml"}


def test_what_is_wrong_in_a_nearer_file_is_told() -> None:
    with pytest.raises(SettingsError, match=r"inner.epochlint\.toml:1:1: unknown setting"):
        lint_project({"inner/a.yaml": CONFIG, "inner/epochlint.toml": "ignored = ['WRM005']"})
    with pytest.raises(SettingsError, match="there is no rule"):
        lint_project({"inner/a.yaml": CONFIG, "inner/epochlint.toml": "ignore = ['WRM999']"})
