from __future__ import annotations

import pytest

from epochlint.run.known import WRITTEN, Known
from epochlint.run.run import Run
from epochlint.trainers import hf_args
from epochlint.trainers.hf import refusals
from tests.trainers.hf.readings import json, names, of_document, said


def read(text: str, via: str = "parse_json_file", **packages: str) -> Run:
    base = '"output_dir": "out", "per_device_train_batch_size": 8, "num_train_epochs": 3'
    return hf_args.read(of_document(json(f"{{{base}, {text}}}" if text else f"{{{base}}}"), via=via, **packages))


def reasons(run: Run) -> list[str]:
    return [str(seen.values["reason"]) for seen in said(run, "rejected")]


def test_nothing_to_say() -> None:
    assert names(read("")) == set()


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ('"fp16": true, "bf16": true', "fp16 and bf16"),
        ('"lr_scheduler_type": "cosine_annealing"', "did you mean cosine"),
        ('"optim": "adamw"', "adamw is no optim that transformers knows; did you mean adamw_torch?"),
        ('"eval_strategy": "step"', "step is no eval_strategy"),
        ('"eval_strategy": false', "takes a word"),
        ('"max_steps": 2.5', "whole number"),
        ('"save_steps": 10.5', "whole number"),
        ('"logging_steps": 0', "above 0"),
        ('"lr_scheduler_type": "reduce_lr_on_plateau"', "evaluation strategy"),
        ('"lr_scheduler_type": "warmup_stable_decay"', "num_decay_steps"),
        ('"dataloader_prefetch_factor": 2', "dataloader_num_workers"),
        ('"save_strategy": "best"', "metric_for_best_model"),
        (
            (
                '"gradient_accumulation_steps": 2,'
                ' "accelerator_config": {"gradient_accumulation_kwargs": {"num_steps": 4}}'
            ),
            "both set",
        ),
    ],
)
def test_refused(text: str, part: str) -> None:
    assert any(part in reason for reason in reasons(read(text)))


@pytest.mark.parametrize(
    "text",
    [
        '"fp16": true, "bf16": false',
        '"bf16": true, "tf32": true',
        '"lr_scheduler_type": "cosine"',
        '"optim": "paged_adamw_8bit"',
        '"eval_steps": 0.1, "eval_strategy": "steps"',
        '"eval_strategy": "${strategy}"',
        '"lr_scheduler_type": "cosine_with_min_lr", "lr_scheduler_kwargs": {"min_lr": 1e-6}',
        '"lr_scheduler_type": "reduce_lr_on_plateau", "eval_strategy": "epoch"',
        '"save_steps": 10.0, "logging_steps": 1',
        '"max_steps": -1',
        '"dataloader_prefetch_factor": 2, "dataloader_num_workers": 4',
        '"save_strategy": "best", "metric_for_best_model": "loss", "eval_strategy": "epoch"',
        '"lr_scheduler_kwargs": null',
    ],
)
def test_accepted(text: str) -> None:
    assert reasons(read(text)) == []


def test_words_are_those_of_the_possible_versions() -> None:
    assert reasons(read('"optim": "adamw_hf"', transformers="==4.49.0")) == []
    assert reasons(read('"optim": "adamw_hf"', transformers="==4.57.6")) != []
    assert reasons(read('"optim": "adamw_hf"')) == []


def test_a_program_that_cannot_be_seen_may_add_arguments() -> None:
    assert reasons(read('"lr_scheduler_type": "cosine_with_min_lr"', via="")) == []


def test_a_batch_with_a_point() -> None:
    run = hf_args.read(
        of_document(json('{"per_device_train_batch_size": 8.0, "output_dir": "out"}'), via="parse_json_file")
    )
    assert reasons(run) == ["per_device_train_batch_size must be a whole number, not 8.0"]


class TestBestModel:
    @pytest.mark.parametrize(
        ("text", "key"),
        [
            ('"eval_strategy": "epoch", "save_strategy": "steps"', "strategy"),
            ('"eval_strategy": "epoch"', "strategy"),
            ('"save_strategy": "epoch"', "strategy"),
            ('"eval_strategy": "steps", "eval_steps": 10, "save_steps": 15', "cadence"),
            ('"eval_strategy": "steps", "eval_steps": 0.1, "save_steps": 100', "cadence"),
        ],
    )
    def test_cannot_be_chosen(self, text: str, key: str) -> None:
        (seen,) = said(read('"load_best_model_at_end": true, ' + text), "best_model")
        assert seen.values["key"] == key

    @pytest.mark.parametrize(
        "text",
        [
            '"eval_strategy": "epoch", "save_strategy": "epoch"',
            '"eval_strategy": "steps", "eval_steps": 10, "save_steps": 30',
            '"eval_strategy": "steps", "eval_steps": 0.1, "save_steps": 0.3',
            '"eval_strategy": "epoch", "save_strategy": "best"',
        ],
    )
    def test_can_be_chosen(self, text: str) -> None:
        assert said(read('"load_best_model_at_end": true, ' + text), "best_model") == []

    def test_the_fix_lets_saving_follow_evaluation(self) -> None:
        run = read('"load_best_model_at_end": true, "eval_strategy": "epoch", "save_strategy": "steps"')
        fix = said(run, "best_model")[0].fix
        assert fix is not None
        assert fix.edits[0].text == '"epoch"'


def test_a_schedule_without_the_minimum_that_it_needs() -> None:
    (seen,) = said(read('"lr_scheduler_type": "cosine_with_min_lr"'), "min_rate")
    assert seen.values["raises"] is True
    assert said(read('"lr_scheduler_type": "cosine_with_min_lr"', via=""), "min_rate") == []  # a program may add it


class TestWarmups:
    def both(self, text: str, **packages: str) -> list[str]:
        return [str(seen.values["outcome"]) for seen in said(read(text, **packages), "two_warmups")]

    def test_steps_win_in_4(self) -> None:
        assert self.both('"warmup_steps": 10, "warmup_ratio": 0.1', transformers="==4.57.6") == ["steps win"]

    def test_the_ratio_wins_in_5_even_as_0(self) -> None:
        assert self.both('"warmup_steps": 10, "warmup_ratio": 0.0', transformers="==5.0.0") == ["ratio wins"]
        assert self.both('"warmup_steps": 10, "warmup_ratio": 0.0', transformers="==4.57.6") == []

    def test_one_that_is_0_is_not_two(self) -> None:
        assert self.both('"warmup_steps": 0, "warmup_ratio": 0.1', transformers="==4.57.6") == []
        assert self.both('"warmup_steps": 0, "warmup_ratio": 0.1') == []

    @pytest.mark.parametrize(
        ("text", "outcomes"),
        [
            ('"warmup_ratio": 5', ["rejected", "steps"]),
            ('"warmup_ratio": 1.5', ["rejected", "one step"]),
            ('"warmup_ratio": 1.0', ["one step"]),
            ('"warmup_ratio": 0.1', []),
            ('"warmup_steps": 0.1', ["nothing", "rejected"]),
            ('"warmup_steps": 2.5', ["rejected"]),
            ('"warmup_steps": 1.0', ["rejected", "one step"]),
            ('"warmup_steps": -1', []),  # an impossible value, in whatever unit
            ('"warmup_ratio": -0.1', []),
            ('"warmup_steps": 100', []),
        ],
    )
    def test_units(self, text: str, outcomes: list[str]) -> None:
        assert [seen.values["outcome"] for seen in said(read(text), "warmup_unit")] == outcomes


class TestCadences:
    def test_eval_steps_without_a_strategy(self) -> None:
        (seen,) = said(read('"eval_steps": 100'), "dead_cadence")
        assert seen.values == {"key": "eval_steps", "strategy": "no"}

    def test_save_steps_under_epochs(self) -> None:
        assert len(said(read('"save_steps": 100, "save_strategy": "epoch"'), "dead_cadence")) == 1

    def test_a_strategy_of_no_is_another_rules(self) -> None:
        assert said(read('"save_steps": 100, "save_strategy": "no"'), "dead_cadence") == []

    def test_living_ones(self) -> None:
        assert said(read('"save_steps": 100, "eval_strategy": "steps", "eval_steps": 50'), "dead_cadence") == []


class TestData:
    def test_validation_data_that_nothing_evaluates(self) -> None:
        run = read("")
        run.settings["validation"] = Known(True, WRITTEN)
        refusals.evaluation_data(run)
        assert len(said(run, "evaluation_off")) == 1

    def test_a_script_that_evaluates_itself(self) -> None:
        run = read("")
        run.settings["validation"] = Known(True, WRITTEN)
        refusals.evaluation_data(run, judged=False)
        assert said(run, "evaluation_off") == []

    def test_a_strategy_without_data(self) -> None:
        run = read('"eval_strategy": "steps"')
        run.settings["validation"] = Known(False)
        refusals.evaluation_data(run)
        assert len(said(run, "evaluation_without_data")) == 1

    def test_unknown_data_is_no_finding(self) -> None:
        run = read('"eval_strategy": "steps"')
        refusals.evaluation_data(run)
        assert said(run, "evaluation_without_data") == []


@pytest.mark.parametrize(
    ("save", "every", "fits"),
    [(100, 50, True), (100, 30, False), (0.2, 0.1, True), (0.3, 0.1, True), (0.25, 0.1, False), (100, 0.1, False)],
)
def test_cadences_that_go_together(save: float, every: float, fits: bool) -> None:
    assert (refusals.cadence_problem(save, every) is None) is fits


def test_a_best_model_where_nothing_is_evaluated_or_saved() -> None:
    run = read('"load_best_model_at_end": true, "save_strategy": "no", "eval_strategy": "no"')
    assert [seen.values["reason"] for seen in said(run, "best_model")] == ["nothing is evaluated, and nothing is saved"]
