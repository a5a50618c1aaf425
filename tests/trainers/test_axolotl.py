"""What Axolotl does not do with what is written."""

from __future__ import annotations

import pytest

from tests.helpers import check_project, lint_project

_CONFIG = """\
base_model: example/model
datasets:
  - path: example/pairs
    type: chat_template.default
micro_batch_size: 2
learning_rate: 5e-6
val_set_size: 0.1
eval_steps: 100
save_steps: 100
early_stopping_patience: 3
"""


@pytest.mark.parametrize(("rl", "codes"), [("rl: dpo\n", ["EVL007"]), ("", [])])
def test_preference_tuning_has_no_early_stopping(rl: str, codes: list[str]) -> None:
    found = lint_project({"dpo.yml": _CONFIG + rl}, {"gpus": 1, "records": 8000, "axolotl": "0.16.0"})
    assert [finding.code for finding in found if finding.level != "note"] == codes


@pytest.mark.parametrize(
    ("more", "records", "codes"), [("", 4, ["DAT003"]), ("true", None, []), ("false", 4, ["DAT003"])]
)
def test_its_own_deduplication_leaves_an_unknown_number(more: str, records: int | None, codes: list[str]) -> None:
    rows = '{"instruction": "Add 1.", "output": "1"}\n{"instruction": "Add 2.", "output": "2"}\n' * 2
    config = (
        "base_model: example/model\ndatasets:\n  - path: rows.jsonl\n    type: alpaca\nmicro_batch_size: 1\n"
        "learning_rate: 2.0e-5\n"
    )
    config += f"dataset_exact_deduplication: {more}\n" if more else ""
    report = check_project({"c.yml": config, "rows.jsonl": rows}, {"gpus": 1, "axolotl": "0.16.0"})
    known = report.runs[0].scenarios.fact("records")
    assert (known.value, known.high) == (records, 4)
    assert [finding.code for finding in report.findings if finding.code == "DAT003"] == codes


@pytest.mark.parametrize(
    ("line", "method"),
    [("reward_model: true\n", "reward"), ("process_reward_model: true\n", "reward"), ("reward_model: false\n", "sft")],
)
def test_a_reward_model_is_no_supervised_tuning(line: str, method: str) -> None:
    config = _CONFIG.replace("early_stopping_patience: 3\n", line)
    [run] = check_project({"a.yml": config}, {"axolotl": "0.16.0"}).runs
    assert run.scenarios.run.settings["method"].value == method


@pytest.mark.parametrize(
    ("more", "records"),
    [
        ("roles_to_train: [assistant]\n    train_on_eos: turn", 6),
        ("roles_to_train: [gpt]", 6),
        ("train_on_eos: last", 6),
        ("roles_to_train: [user]", None),
        ("roles_to_train: []", None),
        ("roles:\n      assistant: [bot]", None),
    ],
)
def test_roles_that_are_trained_do_not_change_the_count(more: str, records: int | None) -> None:
    """`prompt_strategies/chat_template.py`: the text of a trained role is, whatever happens to the ends of turns."""
    row = '{"messages": [{"role": "user", "content": "Add 1."}, {"role": "assistant", "content": "1"}]}\n'
    config = (
        "base_model: example/model\ndatasets:\n  - path: rows.jsonl\n    type: chat_template\n"
        f"    {more}\nmicro_batch_size: 1\nlearning_rate: 2.0e-5\n"
    )
    report = check_project({"c.yml": config, "rows.jsonl": row * 6}, {"gpus": 1, "axolotl": "0.16.0"})
    assert report.runs[0].scenarios.fact("records").value == records


@pytest.mark.parametrize(
    ("item", "records"),
    [
        ("path: rows\n    data_files: rows/a.jsonl", 3),
        ("path: rows\n    data_files: [rows/a.jsonl, rows/b.jsonl]", 8),
        ("path: rows\n    data_files: b.jsonl", None),  # of the working directory, where there is none
        ("path: rows/a.jsonl\n    data_files: rows/b.jsonl", 3),
        ("path: rows", 8),
        ("path: json\n    data_files: rows/a.jsonl", None),  # asked of the hub
    ],
)
def test_data_files_are_looked_for_from_the_working_directory(item: str, records: int | None) -> None:
    """`utils/data/shared.py`, `_load_from_local_path` (0.4.0, 0.8.0, 0.19.0)."""
    row = '{"instruction": "Add 1.", "output": "1"}\n'
    config = (
        f"base_model: example/model\ndatasets:\n  - {item}\n    ds_type: json\n    type: alpaca\n"
        "micro_batch_size: 1\nlearning_rate: 2.0e-5\n"
    )
    report = check_project(
        {"c.yml": config, "rows/a.jsonl": row * 3, "rows/b.jsonl": row * 5}, {"gpus": 1, "axolotl": "0.16.0"}
    )
    assert report.runs[0].scenarios.fact("records").value == records
