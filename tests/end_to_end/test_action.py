"""The GitHub Action: its form, and its steps run as the runner would run them."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
GIT = ("git", "-c", "user.email=test@example.org", "-c", "user.name=test", "-c", "commit.gpgsign=false")
GOOD = """\
learning_rate: 0.0002
per_device_train_batch_size: 8
lr_scheduler_type: cosine
max_steps: 500
warmup_steps: 20
"""
BAD = GOOD.replace("cosine", "constant")

pytestmark = pytest.mark.skipif(shutil.which("bash") is None, reason="the action's steps are bash")


def test_it_is_an_action_by_the_schema() -> None:
    pytest.importorskip("check_jsonschema")
    words = ["-m", "check_jsonschema", "--builtin-schema", "vendor.github-actions", str(ROOT / "action.yml")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_input_is_put_into_a_script() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", ""), "what a stranger writes comes by the environment"


def test_other_actions_are_pinned() -> None:
    for step in STEPS:
        if "uses" in step:
            assert re.fullmatch(r"[\w-]+/[\w./-]+@[0-9a-f]{40}", step["uses"])
            assert step["continue-on-error"], "forks may not upload"
            assert "inputs.upload-sarif == 'true'" in step["if"]
    assert ACTION["inputs"]["upload-sarif"]["default"] == "false"


def test_everything_is_described() -> None:
    for one in (*ACTION["inputs"].values(), *ACTION["outputs"].values()):
        assert one["description"]


class _Runner:
    """As much of a runner as the steps need."""

    def __init__(self, workspace: Path, temporary: Path) -> None:
        self.workspace = workspace
        self.temporary = temporary
        self.summary = ""

    def check(self, base: str = "", **inputs: str) -> tuple[str, dict[str, str]]:
        """What the check prints, and its outputs."""
        given = {name: str(one["default"]) for name, one in ACTION["inputs"].items()}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        (step,) = [step for step in STEPS if step.get("id") == "check"]
        values = {
            "steps.install.outputs.bin": os.path.dirname(sys.executable),
            "steps.install.outputs.folder": str(self.temporary),
            "github.event.pull_request.base.sha": base,
            **{f"inputs.{name}": value for name, value in given.items()},
        }
        environment = {
            name: re.sub(r"\$\{\{ (.*?) \}\}", lambda match: values[match[1]], value)
            for name, value in step["env"].items()
        }
        return self._run(step["run"], environment)

    def _run(self, script: str, environment: dict[str, str]) -> tuple[str, dict[str, str]]:
        output, summary = self.temporary / "output", self.temporary / "summary"
        output.write_text("")
        summary.write_text("")
        files = {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary), "RUNNER_TEMP": str(self.temporary)}
        # As the runner calls it.
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.workspace, env={**os.environ, **files, **environment}, capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        self.summary = summary.read_text(encoding="utf-8")
        return done.stdout, dict(line.split("=", 1) for line in output.read_text().splitlines())


@pytest.fixture
def runner(tmp_path: Path) -> _Runner:
    workspace, temporary = tmp_path / "workspace", tmp_path / "temporary"
    workspace.mkdir()
    temporary.mkdir()
    _git(workspace, "init", "-q")
    return _Runner(workspace, temporary)


def _git(folder: Path, *words: str) -> str:
    return subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


def _commit(folder: Path, files: dict[str, str]) -> str:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    _git(folder, "add", "-A")
    _git(folder, "commit", "-qm", "more")
    return _git(folder, "rev-parse", "HEAD")


def test_a_finding(runner: _Runner) -> None:
    _commit(runner.workspace, {"configs/a.yaml": BAD})
    said, outputs = runner.check()
    assert said.startswith("::")
    assert "::warning file=configs/a.yaml,line=5,endLine=5,title=WRM005 warmup-ignored," in said
    assert (outputs["status"], outputs["errors"], outputs["warnings"]) == ("1", "0", "1")
    assert "sarif" not in outputs
    assert "configs/a.yaml:5" in runner.summary


def test_none(runner: _Runner) -> None:
    _commit(runner.workspace, {"configs/a.yaml": GOOD})
    said, outputs = runner.check()
    assert "::error" not in said
    assert "::warning" not in said
    assert (outputs["status"], outputs["warnings"]) == ("0", "0")
    assert runner.summary.startswith("## epochlint")


def test_the_inputs(runner: _Runner) -> None:
    _commit(runner.workspace, {"deep/configs/a.yaml": BAD, "deep/more/b c.yaml": BAD, "other/c.yaml": BAD})
    said, outputs = runner.check(
        paths="configs 'more/b c.yaml'\n", working_directory="deep", args="--select WRM005 --notes",
        assume="gpus=8 records=52002",
        fail_on="error", sarif_file="out.sarif",
    )  # fmt: skip
    assert set(re.findall("file=([^,]+)", said)) == {"deep/configs/a.yaml", "deep/more/b c.yaml"}
    assert (outputs["status"], outputs["warnings"], outputs["sarif"]) == ("0", "2", "out.sarif")
    log = json.loads((runner.workspace / "out.sarif").read_text(encoding="utf-8"))
    places = {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in log["runs"][0]["results"]}
    assert places == {"deep/configs/a.yaml", "deep/more/b%20c.yaml"}


def test_a_report_to_upload_needs_no_name(runner: _Runner) -> None:
    _commit(runner.workspace, {"a.yaml": BAD})
    _, outputs = runner.check(upload_sarif="true")
    assert json.loads(Path(outputs["sarif"]).read_text(encoding="utf-8"))["version"] == "2.1.0"


def test_a_pull_request_is_compared(runner: _Runner) -> None:
    base = _commit(runner.workspace, {"a.yaml": GOOD, "b.yaml": GOOD})
    _commit(runner.workspace, {"a.yaml": GOOD.replace("size: 8", "size: 64")})
    said, outputs = runner.check(base)
    assert outputs["status"] in ("0", "1")
    assert "title=LRN" in said
    assert "### `a.yaml`" in runner.summary
    assert "| per-device batch | 8 | 64 |" in runner.summary
    assert "### `b.yaml`" not in runner.summary
    assert "### " not in _again(runner, base, since="none")


def _again(runner: _Runner, base: str, **inputs: str) -> str:
    runner.check(base, **inputs)
    return runner.summary


def test_a_pull_request_is_compared_with_where_it_parted(runner: _Runner) -> None:
    _commit(runner.workspace, {"a.yaml": GOOD, "b.yaml": GOOD})
    _git(runner.workspace, "switch", "-qc", "work")
    head = _commit(runner.workspace, {"a.yaml": GOOD.replace("size: 8", "size: 64")})
    _git(runner.workspace, "switch", "-q", "-")
    base = _commit(runner.workspace, {"b.yaml": GOOD.replace("size: 8", "size: 2")})
    _git(runner.workspace, "switch", "-q", "--detach", head)
    runner.check(base)
    assert "### `a.yaml`" in runner.summary
    assert "### `b.yaml`" not in runner.summary, "that is what others did"
    _git(runner.workspace, "switch", "-q", "--detach", base)
    _git(runner.workspace, "merge", "-q", "--no-ff", "--no-edit", head)  # as the runner checks it out
    summary = _again(runner, base)
    assert "### `a.yaml`" in summary
    assert "### `b.yaml`" not in summary


def test_quotes_that_never_end(runner: _Runner) -> None:
    _commit(runner.workspace, {"a.yaml": GOOD})
    said, outputs = runner.check(paths="'a.yaml")
    assert "has no other end" in said
    assert outputs["status"] == "2"


def test_a_base_that_is_not_there(runner: _Runner) -> None:
    _commit(runner.workspace, {"a.yaml": GOOD})
    said, outputs = runner.check("0123456789012345678901234567890123456789")
    assert "::notice title=epochlint::nothing is compared" in said
    assert outputs["status"] == "0"


def test_an_error(runner: _Runner) -> None:
    _commit(runner.workspace, {"a.yaml": GOOD})
    _, outputs = runner.check(args="--no-such-option")
    assert (outputs["status"], outputs["errors"]) == ("2", "0")


def test_hostile_inputs_start_nothing(runner: _Runner) -> None:
    _commit(runner.workspace, {"a.yaml": GOOD})
    for name in ("paths", "args", "assume", "since", "fail-on", "sarif-file", "working-directory"):
        for quote in ("", '"', "'", "\\"):
            runner.check(**{name: f"{quote}; touch hacked; $(touch hacked) `touch hacked` && touch hacked"})
    assert not (runner.workspace / "hacked").exists()


@pytest.mark.parametrize(("status", "expected"), [("0", 0), ("1", 1), ("2", 2), ("", 2)])
def test_the_last_step_ends_with_the_status(status: str, expected: int) -> None:
    done = subprocess.run(["bash", "-c", STEPS[-1]["run"]], env={**os.environ, "STATUS": status}, check=False)
    assert done.returncode == expected
