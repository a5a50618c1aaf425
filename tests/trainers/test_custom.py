"""Configs in their author's own schema: what is one, what is taken from it, and what is never said."""

from __future__ import annotations

import pytest

from epochlint.documents.read import read
from epochlint.settings import Override, Settings
from epochlint.source import Source
from epochlint.trainers import registry
from tests.helpers import check_project, lint_project

NESTED = """\
model: {name: Qwen/Qwen2.5-0.5B, max_seq_len: 1024}
optimizer:
  lr: 2.0e-4
train:
  batch_size: 8
  grad_accum: 4
  epochs: 2
"""


def labels(text: str, name: str = "train.yaml") -> set[str]:
    return {entry.label for entry, _ in registry.recognise(read(Source(name, text)))}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("train.yaml", NESTED),
        ("train.yaml", "model: gpt2\nlr: 0.001\nbs: 4\nbatch_size: 4\nepochs: 1\ntokenizer: gpt2\n"),
        ("conf.json", '{"hparams": {"lr": 2e-5, "batch_size": 4, "max_steps": 900}, "lora": {"rank": 8}}'),
        (
            "conf.toml",
            '[training]\nlr = 2e-5\nbatch_size = 4\nn_epochs = 2\n[model]\nname = "meta-llama/Llama-3.2-1B"\n',
        ),
    ],
)
def test_a_training_config_is_told_by_its_words(name: str, text: str) -> None:
    assert labels(text, name) == {"custom"}


@pytest.mark.parametrize(
    "text",
    [
        "lr: 0.1\nbatch_size: 128\nepochs: 90\n",  # no word about language
        NESTED + "num_classes: 10\n",
        NESTED + "gae_lambda: 0.95\n",
        NESTED.replace("lr: 2.0e-4", "lr: '{{ lr }}'"),
        NESTED + "train_runtime: 301.2\n",
        NESTED + "final_metrics: {loss: 1.2}\n",
        "on: push\njobs: {train: {env: {LR: 1e-4, BATCH_SIZE: 4, EPOCHS: 3, MODEL: llama}}}\n",
        "services: {train: {environment: {lr: 1e-4, batch_size: 4, epochs: 3, model: llama}}}\n",
        "models: {llama: {lr: 1e-4, batch_size: 4, epochs: 3}, qwen: {lr: 1e-4, batch_size: 4, epochs: 3}}\n",
        "eval: {lr: 1e-4, batch_size: 4, epochs: 3}\nmodel: llama\n",
    ],
)
def test_other_files_with_the_same_words_are_none(text: str) -> None:
    assert labels(text) == set()


def test_a_known_trainers_file_stays_its_own() -> None:
    text = (
        "base_model: Qwen/Qwen2.5-0.5B\ndatasets: [{path: d, type: alpaca}]\nmicro_batch_size: 1\nlearning_rate: 1e-4\n"
    )
    assert labels(text + "num_epochs: 1\n") == {"axolotl"}


def found(text: str, **assume: object) -> set[tuple[str, str, int]]:
    findings = lint_project({"train.yaml": text}, assume or None)
    return {(finding.code, finding.level, finding.span.place.line) for finding in findings if finding.level != "note"}


def test_a_warmup_longer_than_the_written_run() -> None:
    text = NESTED.replace("  epochs: 2\n", "  max_steps: 300\n  warmup_steps: 500\n")
    assert found(text) == {("WRM001", "warning", 8)}


def test_a_warmup_longer_than_the_counted_run_in_every_reading() -> None:
    text = NESTED + "  warmup_steps: 100\n"
    assert ("WRM001", "warning", 8) in found(text, gpus=1, records=200)  # 12 to 50 steps
    assert found(text, gpus=1, records=8000) == set()  # 498 to 2,000
    assert found(text, gpus=1) == set()


def test_the_schedule_may_ignore_the_warmup() -> None:
    text = NESTED.replace("  epochs: 2\n", "  max_steps: 300\n  warmup_steps: 500\n")
    assert found(text + "  scheduler: constant\n") == set()
    assert found(text + "  scheduler: cosine\n") == {("WRM001", "warning", 8)}


def test_units_that_may_differ_are_not_compared() -> None:
    text = NESTED.replace("  epochs: 2\n", "  max_iters: 300\n  warmup_steps: 500\n")
    assert found(text) == set()
    assert found(text.replace("grad_accum: 4", "grad_accum: 1")) == {("WRM001", "warning", 8)}


def test_steps_and_epochs_together_may_both_end_the_run() -> None:
    assert found(NESTED + "  max_steps: 300\n") == set()
    assert found(NESTED.replace("epochs: 2", "epochs: 900") + "  max_steps: 300\n") == set()


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("batch_size: 8", "batch_size: 0", {("CFG009", "warning", 5)}),
        ("batch_size: 8", "batch_size: -4", {("CFG009", "warning", 5)}),
        ("batch_size: 8", "batch_size: -1", set()),  # a way to say "find it"
        ("grad_accum: 4", "grad_accum: 0", set()),  # a way to say "none"
        ("epochs: 2", "epochs: 0", {("STP008", "warning", 7)}),
        ("epochs: 2", "epochs: -1", set()),
        ("lr: 2.0e-4", "lr: 2.0e+4", {("CFG009", "warning", 3)}),
        ("lr: 2.0e-4", "lr: 0.0", {("CFG009", "warning", 3)}),
        ("epochs: 2", "epochs: 2\n  warmup_ratio: 3", {("WRM004", "warning", 8)}),
        ("epochs: 2", "epochs: 2\n  warmup_ratio: 0.03", set()),
        ("epochs: 2", "epochs: 2\n  warmup_steps: 0.05", set()),
        ("epochs: 2", "max_steps: 300\n  eval_interval: 1000", {("EVL001", "warning", 8)}),
        ("epochs: 2", "max_steps: 300\n  eval_interval: 100", set()),
        ("epochs: 2", "epochs: 200", {("EPO002", "warning", 7)}),
    ],
)
def test_what_holds_for_any_trainer(old: str, new: str, expected: set[tuple[str, str, int]]) -> None:
    text = NESTED.replace("max_seq_len: 1024", "lora_rank: 8")
    assert found(text.replace(old, new)) == expected


def test_nothing_is_an_error() -> None:
    assert {level for _, level, _ in found(NESTED + "  batch_size: 16\n  max_steps: 3\n  warmup_steps: 9\n")} == {
        "warning"
    }


def test_many_passes_are_usual_for_a_model_that_starts_from_nothing() -> None:
    text = "tokenizer: ours\nblock_size: 256\nlr: 3.0e-4\nbatch_size: 64\nepochs: 200\n"
    assert labels(text) == {"custom"}
    assert found(text) == set()


def test_a_number_in_quotes_is_told_as_a_note() -> None:
    findings = lint_project({"train.yaml": NESTED.replace("2.0e-4", '"2e-4"')})
    assert [(finding.code, finding.level) for finding in findings] == [("CFG001", "note")]
    assert "gives text to lr" in findings[0].message


def test_places_that_disagree_are_unknown() -> None:
    report = check_project({"train.yaml": NESTED + "dpo:\n  lr: 5.0e-6\n  batch_size: 8\n"})
    facts = report.runs[0].scenarios.fact
    assert facts("learning_rate").unknown
    assert facts("accumulation").value == 4


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [("batch_size", 8, 64), ("per_device_batch_size", 64, 64), ("global_batch_size", 8, 8)],
)
def test_the_batch_may_be_a_devices_or_the_whole_steps(key: str, low: int, high: int) -> None:
    text = NESTED.replace("batch_size", key)
    report = check_project({"train.yaml": text}, {"gpus": 2})
    effective = report.runs[0].scenarios.fact("effective_batch")
    assert (effective.low, effective.high) == (low, high)


def test_the_steps_of_a_pass_lie_between_both_ways_to_round() -> None:
    report = check_project({"train.yaml": NESTED.replace("batch_size", "global_batch_size")}, {"records": 1001})
    total = report.runs[0].scenarios.fact("total_steps")
    assert (total.low, total.high) == (250, 252)


QLORA_PIPE = """\
model = '/models/Llama-3.1-8B'
lora_rank = 64
epochs = 2
lr_scheduler = 'constant'
warmup_steps = 100
{batch}
pipeline_stages = 1
gradient_accumulation_steps = 4
[optimizer]
type = 'adamw_kahan'
lr = 5e-5
"""


@pytest.mark.parametrize(
    ("batch", "total"),
    [
        ("micro_batch_size_per_gpu = 1", (200, 200)),
        ("micro_batch_size_per_gpu = 1\nbatch_size_tokens = 5000", (None, None)),
        ("micro_batch_size_per_gpu = 1\npacking = true", (None, None)),
        ("micro_batch_size_per_gpu = 1\npacking = false", (200, 200)),
        ("micro_batch_size_per_gpu = 1\n[data]\nsample_packing = true\n[training]", (None, None)),
    ],
)
def test_batches_of_tokens_leave_the_steps_unknown(batch: str, total: tuple[int | None, int | None]) -> None:
    """The parts of a qlora-pipe config: it reads `batch_size_tokens` instead of the batch."""
    text = QLORA_PIPE.format(batch=batch)
    assert labels(text, "config.toml") == {"custom"}
    report = check_project({"config.toml": text}, {"records": 400, "gpus": 1})
    steps = report.runs[0].scenarios.fact("total_steps")
    assert (steps.low, steps.high) == total
    assert [one for one in report.findings if one.level != "note"] == []  # the warmup is put before a constant rate


def named(trainer: str) -> Settings:
    settings = Settings()
    settings.overrides.append(Override(lambda path: True, {}, trainer))
    return settings


def test_the_settings_name_a_trainer_for_a_file_without_its_marks() -> None:
    files = {"run.yaml": "steps_of_warmup: 3\nweight_decay: 0.1\n"}
    assert check_project(files).runs == []
    assert [one.run.trainer for one in check_project(files, settings=named("hf-args")).runs] == ["hf-args"]
    assert [one.run.trainer for one in check_project(files, settings=named("custom")).runs] == ["custom"]


def test_a_named_trainer_reads_the_section_that_it_knows() -> None:
    text = "name: x\ntraining:\n  num_train_epochs: 2\n  per_device_train_batch_size: 4\n  learning_rate: 1.0e-5\n"
    report = check_project({"conf.yaml": text}, settings=named("hf-args"))
    assert [one.scenarios.fact("epochs").value for one in report.runs] == [2]


@pytest.mark.parametrize(
    ("more", "codes"),
    [
        ("", ["CFG001"]),
        ("# @package _global_\n", []),
        ("defaults:\n  - model: base\n  - _self_\n", []),
        ("out: runs/${model.name}\n", []),
    ],
)
def test_a_rate_without_a_point_is_a_number_to_omegaconf(more: str, codes: list[str]) -> None:
    """omegaconf 2.3.0, `_utils.py`, `get_yaml_loader`: its floats need no point."""
    report = check_project({"train.yaml": more + NESTED.replace("2.0e-4", "2e-4")}, {})
    assert [finding.code for finding in report.findings if finding.code == "CFG001"] == codes
    assert report.runs[0].run.setting("learning_rate").value == 2e-4
