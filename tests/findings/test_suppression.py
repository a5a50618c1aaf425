"""Comments that silence findings, in every syntax that has comments."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.helpers import check_project

if TYPE_CHECKING:
    from epochlint.lint import Report

HEAD = "model_name_or_path: m\nper_device_train_batch_size: 8\nlearning_rate: 2.0e-4\nmax_steps: 500\n"
ASKED = ["WRM005", "SUP001", "SUP002"]


def _yaml(rate: str, warmup: str = "warmup_steps: 100") -> Report:
    return check_project({"a.yaml": f"{HEAD}{rate}\n{warmup}\n"}, select=ASKED)


def _codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def test_without_a_comment() -> None:
    report = _yaml("lr_scheduler_type: constant")
    assert _codes(report) == ["WRM005"]
    assert report.findings[0].span.place.line == 6


@pytest.mark.parametrize(
    "warmup",
    [
        "warmup_steps: 100  # epochlint: ignore[WRM005] as in the paper",
        "warmup_steps: 100  #epochlint:ignore[ WRM005 ]as in the paper",
        "warmup_steps: 100  # epochlint: ignore[wrm005] as in the paper",
        "warmup_steps: 100  # epochlint: ignore[warmup-ignored] as in the paper",
        "# epochlint: ignore[WRM005] as in the paper\nwarmup_steps: 100",
        "# epochlint: ignore-file[WRM005] as in the paper\nwarmup_steps: 100",
        "warmup_steps: 100\n\n\n# epochlint: ignore-file[WRM005] as in the paper",
    ],
)
def test_a_comment_silences(warmup: str) -> None:
    report = _yaml("lr_scheduler_type: constant", warmup)
    assert _codes(report) == []
    (silenced,) = report.suppressed
    assert (silenced.suppressed, silenced.in_source) == ("as in the paper", True)


def test_a_comment_behind_a_value_means_its_own_line_only() -> None:
    report = _yaml("lr_scheduler_type: constant  # epochlint: ignore[WRM005]")
    assert _codes(report) == ["SUP001", "WRM005"]


def test_a_comment_two_lines_above_is_too_far() -> None:
    assert _codes(_yaml("lr_scheduler_type: constant", "# epochlint: ignore[WRM005]\n\nwarmup_steps: 100")) == [
        "SUP001",
        "WRM005",
    ]


def test_a_hash_in_a_string_is_no_comment() -> None:
    assert "WRM005" in _codes(
        _yaml("lr_scheduler_type: constant", 'x: "# epochlint: ignore-file[WRM005]"\nwarmup_steps: 100')
    )


def test_unused_and_unknown_ones_are_told() -> None:
    report = _yaml("lr_scheduler_type: cosine", "warmup_steps: 10  # epochlint: ignore[WRM005, WRM999, EPO001]")
    said = [(finding.code, finding.message) for finding in report.findings]
    assert [code for code, _ in said] == ["SUP001", "SUP002"]
    assert "WRM005" in said[0][1]
    assert "WRM999" in said[1][1]


def test_a_rule_that_did_not_run_is_not_called_unused() -> None:
    files = {"a.yaml": HEAD + "lr_scheduler_type: cosine\nwarmup_steps: 10  # epochlint: ignore[WRM005]\n"}
    assert _codes(check_project(files, select=["SUP001", "SUP002"])) == []


def test_a_comment_without_brackets_names_no_rule() -> None:
    report = _yaml("lr_scheduler_type: constant", "warmup_steps: 100  # epochlint: ignore")
    assert sorted(_codes(report)) == ["SUP002", "WRM005"]


def test_in_toml() -> None:
    text = (
        'per_device_train_batch_size = 8\nlearning_rate = 2e-4\nmax_steps = 500\nlr_scheduler_type = "constant"\n'
        "warmup_steps = 100{}\n"
    )
    assert _codes(check_project({"a.toml": text.format("")}, select=ASKED)) == ["WRM005"]
    silenced = check_project({"a.toml": text.format(" # epochlint: ignore[WRM005]")}, select=ASKED)
    assert _codes(silenced) == []
    assert len(silenced.suppressed) == 1


SCRIPT = """from transformers import TrainingArguments, Trainer
{above}args = TrainingArguments(
    output_dir="out",
    max_steps=500,
    lr_scheduler_type="constant",
    warmup_steps=100,{comment}
)
Trainer(args=args).train()
"""


def test_in_python() -> None:
    assert _codes(check_project({"a.py": SCRIPT.format(above="", comment="")}, select=ASKED)) == ["WRM005"]
    comment = "  # epochlint: ignore[WRM005] meant"
    assert _codes(check_project({"a.py": SCRIPT.format(above="", comment=comment)}, select=ASKED)) == []


def test_in_a_notebook() -> None:
    def notebook(comment: str) -> str:
        source = SCRIPT.format(above="", comment=comment).splitlines(keepends=True)
        cell: dict[str, object] = {
            "cell_type": "code",
            "metadata": {},
            "execution_count": None,
            "outputs": [],
            "source": source,
        }
        return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)

    assert _codes(check_project({"a.ipynb": notebook("")}, select=ASKED)) == ["WRM005"]
    assert _codes(check_project({"a.ipynb": notebook("  # epochlint: ignore[WRM005]")}, select=ASKED)) == []
    below = notebook("\n    # epochlint: ignore[WRM005]")
    assert sorted(_codes(check_project({"a.ipynb": below}, select=ASKED))) == ["SUP001", "WRM005"]


def test_in_shell() -> None:
    launch = (
        "# epochlint: ignore-file[WRM005]\n"
        "python -m trl.scripts.sft --max_steps 500 --lr_scheduler_type constant --warmup_steps 100\n"
    )
    assert _codes(check_project({"a.sh": launch.split("\n", 1)[1]}, select=ASKED)) == ["WRM005"]
    assert _codes(check_project({"a.sh": launch}, select=ASKED)) == []
