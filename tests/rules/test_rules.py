"""The conditions of the shipped rules at their borders, on hand-made runs."""

from __future__ import annotations

from typing import Any

import pytest

from epochlint.rules import catalogue, engine
from epochlint.run.known import ESTIMATED, Known
from epochlint.run.observation import Observation
from epochlint.run.run import DataSource, Era
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import VersionRange, Versions, exactly
from epochlint.source import Source
from tests.rules.runs import ERAS, counting, make_run, scenarios

RULES = {rule.code: rule for rule in catalogue.load()}
SEEN = Source("train.yaml", "one: 1\ntwo: 2\n")


def era(version: str) -> tuple[Era, ...]:
    return (Era(version, counting(), {"transformers": exactly(version), "trl": VersionRange("0.24", None)}),)


def level(code: str, *, baseline: Any = None, **run: Any) -> str | None:
    """The level of this rule's finding, None without one."""
    found, _ = engine.check(scenarios(**run), [RULES[code]], baseline=baseline)
    assert len(found) <= 1, found
    return found[0].level if found else None


def seen(name: str, **values: object) -> list[Observation]:
    return [Observation(name, SEEN.span(0, 3), values)]


ONE = {"gpus": 1}


@pytest.mark.parametrize(
    ("code", "run", "expected"),
    [
        # Warmup: 100 records at 8 are 13 steps an epoch.
        ("WRM001", {**ONE, "rows": 100, "warmup_steps": 39}, "error"),
        ("WRM001", {**ONE, "rows": 100, "warmup_steps": 38}, None),
        ("WRM001", {**ONE, "rows": 100, "warmup_steps": 100, "scheduler": "constant"}, None),
        ("WRM001", {**ONE, "rows": 8, "epochs": 1, "warmup_steps": 1}, None),  # one step: no schedule at all
        ("WRM001", {"rows": 100, "warmup_steps": 39}, "error"),  # fewer steps on more GPUs
        ("WRM001", {"rows": 100, "epochs": 1, "warmup_steps": 13}, "error"),  # down to one step on many
        ("WRM001", {"rows": 8, "epochs": 1, "warmup_steps": 1}, None),
        ("WRM001", {"warmup_steps": 100}, None),
        ("WRM001", {"warmup_steps": 100, "max_steps": 100}, "error"),
        ("WRM001", {"warmup_steps": 100, "max_steps": 100, "unknown": ("scheduler",)}, None),
        ("WRM002", {"warmup_steps": 31, "max_steps": 100}, "warning"),
        ("WRM002", {"warmup_steps": 30, "max_steps": 100}, None),
        ("WRM002", {"warmup_ratio": 0.5}, "warning"),
        ("WRM002", {"warmup_ratio": 0.3}, None),
        ("WRM002", {"warmup_ratio": 0.1, "max_steps": 3}, None),  # rounded up to one step
        ("WRM003", {"warmup_steps": 16, "max_steps": 100}, "note"),
        ("WRM003", {"warmup_steps": 15, "max_steps": 100}, None),
        ("WRM003", {"warmup_ratio": 0.25, "max_steps": 100}, None),
        ("WRM004", {"warmup_ratio": 5}, "warning"),
        ("WRM004", {"warmup_ratio": 1}, None),
        ("WRM004", {"observations": seen("warmup_unit", outcome="rejected", key="x", value=5, reads_as="y")}, "error"),
        ("WRM004", {"observations": seen("warmup_unit", outcome="nothing", key="x", value=5, reads_as="y")}, "warning"),
        ("WRM005", {"warmup_steps": 10, "scheduler": "constant"}, "warning"),
        ("WRM005", {"warmup_ratio": 0.03, "scheduler": "reduce_lr_on_plateau"}, "warning"),
        ("WRM005", {"warmup_steps": 0, "scheduler": "constant"}, None),
        ("WRM005", {"scheduler": "constant"}, None),
        ("WRM005", {"warmup_steps": 10, "scheduler": "constant_with_warmup"}, None),
        ("WRM006", {"max_steps": 5145, "schedule_steps": 1000}, "warning"),
        ("WRM006", {"max_steps": 5000, "schedule_steps": 50000}, "warning"),
        ("WRM006", {"max_steps": 1000, "schedule_steps": 1000}, None),
        ("WRM006", {"max_steps": 1000, "schedule_steps": 900, "warmup_steps": 100}, None),
        ("WRM006", {"schedule_steps": 900}, None),
        ("WRM007", {"max_steps": 3, "warmup_steps": 1}, "note"),
        ("WRM007", {"max_steps": 4, "warmup_steps": 1}, None),
        ("WRM007", {"max_steps": 3}, None),
        ("WRM009", {"observations": seen("two_warmups", outcome="rejected")}, "error"),
        ("WRM009", {"observations": seen("two_warmups", outcome="steps win")}, "warning"),
        # Length
        ("STP001", {"max_steps": 10, "epochs": 20}, "warning"),
        ("STP001", {"max_steps": 19, "epochs": 20}, None),  # N unknown: 20 steps at the least
        ("STP001", {"max_steps": 30, "epochs": 20}, None),
        ("STP001", {"max_steps": 10, "epochs": 3}, None),  # the default, written out
        ("STP001", {"max_steps": 10}, None),
        ("STP001", {**ONE, "max_steps": 500, "epochs": 2, "rows": 4000}, "warning"),
        ("STP001", {**ONE, "max_steps": 999, "epochs": 2, "rows": 4000}, None),  # 1,000: one step off
        ("STP001", {"max_steps": 500, "epochs": 2, "rows": 4000}, None),  # on two GPUs both are right
        ("STP001", {"max_steps": 10, "epochs": 20, "packing": True}, "warning"),
        ("STP003", {"epochs": 4, "stop_epochs": 1}, "warning"),
        ("STP003", {"epochs": 4, "stop_epochs": 4}, None),
        ("STP003", {"observations": seen("schedule_longer", reason="x")}, "warning"),
        (
            "STP004",
            {**ONE, "max_steps": 250, "rows": 1000, "per_device_batch": 4, "accumulation": 8, "epochs": 1},
            "note",
        ),
        ("STP004", {**ONE, "max_steps": 250, "rows": 1000, "per_device_batch": 4, "epochs": 1}, None),
        ("STP004", {"gpus": 4, "max_steps": 250, "rows": 1000, "per_device_batch": 4, "epochs": 1}, "note"),
        ("STP006", {"streaming": True}, "error"),
        ("STP006", {"streaming": True, "max_steps": 100}, None),
        ("STP006", {"streaming": True, "unknown": ("max_steps",)}, None),
        ("STP007", {**ONE, "rows": 19 * 8, "epochs": 1}, "warning"),
        ("STP007", {**ONE, "rows": 49 * 8, "epochs": 1}, "warning"),
        ("STP007", {**ONE, "rows": 49 * 8, "epochs": 1, "scheduler": "constant"}, "note"),
        ("STP007", {**ONE, "rows": 19 * 8, "epochs": 1, "scheduler": "constant"}, "warning"),
        ("STP007", {**ONE, "rows": 49 * 8, "epochs": 1, "unknown": ("scheduler",)}, "note"),
        ("STP007", {**ONE, "rows": 50 * 8, "epochs": 1}, "note"),
        ("STP007", {**ONE, "rows": 99 * 8, "epochs": 1}, "note"),
        ("STP007", {**ONE, "rows": 100 * 8, "epochs": 1}, None),
        ("STP007", {**ONE, "rows": 30 * 8, "epochs": 1, "method": "grpo"}, "note"),
        ("STP007", {**ONE, "rows": 60 * 8, "epochs": 1, "method": "grpo"}, None),
        ("STP007", {"max_steps": 10}, "note"),
        ("STP007", {"max_steps": 100}, "note"),
        ("STP007", {"max_steps": 101}, None),
        ("STP007", {"rows": 100}, "warning"),
        ("STP007", {"rows": 100, "packing": True}, None),
        # A number of rows that was asked for with the data, or a very small cap, is a short run on purpose.
        ("STP007", {**ONE, "rows": 19 * 8, "epochs": 1, "sampled": 19 * 8}, "note"),
        ("STP007", {**ONE, "rows": 1000, "per_device_batch": 64, "epochs": 1, "sampled": 1000}, "note"),
        ("STP007", {**ONE, "rows": 1001, "per_device_batch": 64, "epochs": 1, "sampled": 1001}, "warning"),
        ("STP007", {**ONE, "rows": 100, "epochs": 1, "sampled": 500}, "warning"),  # there are not so many
        ("STP007", {**ONE, "rows": 100, "epochs": 1, "sample_cap": 100}, "note"),
        ("STP007", {**ONE, "rows": 101, "epochs": 1, "sample_cap": 101}, "warning"),  # may be a copied one
        ("PCK002", {**ONE, "rows": 100, "epochs": 1, "packing": True}, "warning"),
        ("PCK002", {**ONE, "rows": 100, "epochs": 1, "packing": True, "sampled": 100}, "note"),
        ("STP007", {}, None),
        ("STP008", {"epochs": 0}, "error"),
        ("STP008", {"epochs": -1}, "error"),
        ("STP008", {"epochs": 0, "max_steps": 10}, None),
        ("STP008", {"max_steps": 0}, "error"),
        ("STP008", {"max_steps": 0, "eras": ERAS}, None),  # off before 4.49
        ("STP008", {**ONE, "rows": 6, "drop_last": True}, "error"),
        ("STP008", {**ONE, "rows": 8, "drop_last": True}, None),
        ("STP008", {"rows": 8, "drop_last": True}, None),  # one GPU has a batch
        ("STP008", {"gpus": 2, "rows": 8, "drop_last": True}, "error"),
        ("STP009", {**ONE, "rows": 8}, "note"),
        ("STP009", {**ONE, "rows": 9}, None),
        ("STP009", {"rows": 9}, None),
        ("STP009", {"rows": 8}, "note"),
        ("STP009", {**ONE, "rows": 8, "packing": True}, None),
        # Batch
        ("BAT001", {**ONE, "accumulation": 4, "observations": seen("batch_stated", stated=128)}, "note"),
        ("BAT001", {**ONE, "accumulation": 16, "observations": seen("batch_stated", stated=128)}, None),
        ("BAT001", {"gpus": 2, "accumulation": 4, "observations": seen("batch_stated", stated=32)}, None),  # of one GPU
        ("BAT001", {"accumulation": 16, "observations": seen("batch_stated", stated=256)}, None),  # on two GPUs
        ("BAT002", {"global_batch": 30, "per_device_batch": 4}, "error"),
        ("BAT002", {"global_batch": 32, "per_device_batch": 4, "gpus": 16}, "error"),
        ("BAT002", {"global_batch": 32, "per_device_batch": 4}, None),
        ("BAT004", {"accumulation": 2}, None),
        ("BAT005", {"gpus": 4, "parallel": 4}, "note"),
        ("BAT005", {"gpus": 8, "parallel": 4}, None),
        ("BAT005", {"gpus": 8, "parallel": 4, "observations": seen("batch_stated", stated=64)}, "warning"),
        ("BAT005", {"gpus": 8, "parallel": 4, "observations": seen("batch_stated", stated=16)}, None),
        ("BAT005", {"parallel": 4}, None),
        ("BAT008", {"gpus": 2, "per_device_batch": 32, "rows": 150, "drop_last": True}, "note"),
        ("BAT008", {"gpus": 2, "per_device_batch": 32, "rows": 1300, "drop_last": True}, None),
        ("BAT008", {"gpus": 2, "per_device_batch": 32, "rows": 150}, None),
        ("BAT009", {"auto_batch": True, "warmup_steps": 100}, "warning"),
        ("BAT009", {"auto_batch": True, "save_steps": 0.1, "eval_steps": 0.1}, None),
        ("BAT009", {"auto_batch": True}, None),
        # Epochs
        ("EPO001", {"rows": 49}, "warning"),
        ("EPO001", {"rows": 49, "method": "grpo"}, "note"),
        ("EPO001", {"rows": 50}, None),
        ("EPO001", {}, None),
        ("EPO002", {"epochs": 15, "rows": 100}, None),
        ("EPO002", {"epochs": 16, "rows": 999}, "warning"),
        ("EPO002", {"epochs": 16, "rows": 1000}, "note"),
        ("EPO002", {"epochs": 20}, "note"),
        ("EPO002", {"epochs": 51, "rows": 100000}, "warning"),
        ("EPO002", {"epochs": 51, "language_model": False}, None),
        ("EPO002", {"epochs": 80, "encoder": True}, None),
        ("LRN002", {"learning_rate": 4e-3, "tuning": "lora"}, "warning"),
        ("LRN002", {"learning_rate": 4e-3, "tuning": "lora", "encoder": True}, None),
        ("EPO002", {**ONE, "max_steps": 250, "rows": 100}, "warning"),  # 250 / 13
        ("EPO003", {"epochs": 6, "rows": 1000, "validation": False}, "note"),
        ("EPO003", {"epochs": 6, "rows": 1001, "validation": False}, None),
        ("EPO003", {"epochs": 5, "rows": 500, "validation": False}, None),
        ("EPO003", {"epochs": 16, "rows": 500, "validation": False}, None),
        ("EPO003", {"epochs": 6, "rows": 500, "validation": True, "eval_strategy": "epoch"}, None),
        ("EPO003", {"epochs": 6, "rows": 500, "validation": True}, "note"),  # held out, and never looked at
        ("EPO004", {"epochs": 6, "rows": 100000}, "note"),
        ("EPO004", {"epochs": 5, "rows": 100000}, None),
        ("EPO004", {"epochs": 6, "rows": 99999}, None),
        ("EPO005", {**ONE, "max_steps": 100, "rows": 8000}, "note"),
        ("EPO005", {**ONE, "max_steps": 1000, "rows": 8000}, None),
        ("EPO005", {**ONE, "epochs": 0.5, "rows": 8000}, None),
        ("EPO005", {"max_steps": 100, "rows": 8000}, None),
        # Impossible values
        ("CFG009", {"learning_rate": 0}, "error"),
        ("CFG009", {"learning_rate": 2e5}, "error"),
        ("CFG009", {"learning_rate": 1.0, "tuning": "prefix"}, None),
        ("CFG009", {"learning_rate": 1.0, "optimizer": "prodigy"}, None),
        ("CFG009", {"learning_rate": 2, "rate_multiplier": True}, None),
        ("CFG009", {"learning_rate": 0.9}, None),
        ("CFG009", {"per_device_batch": 0}, "error"),
        ("CFG009", {"accumulation": 0}, "error"),
        ("CFG009", {"epochs": 0}, "error"),
        ("CFG009", {"epochs": 0, "max_steps": 10}, None),
        ("CFG009", {"warmup_ratio": -0.1}, "error"),
        ("CFG009", {"warmup_steps": -5}, "error"),
        ("CFG009", {"validation_split": -1}, "error"),
        ("CFG009", {}, None),
        # Learning rate
        ("LRN002", {"learning_rate": 6e-3, "tuning": "full"}, "warning"),
        ("LRN002", {"learning_rate": 1e-3, "tuning": "full"}, None),
        ("LRN002", {"learning_rate": 1e-3, "tuning": "full", "model": "meta-llama/Llama-3.1-8B"}, "warning"),
        ("LRN002", {"learning_rate": 1e-3, "tuning": "full", "model": "SmolLM2-1.7B"}, None),
        ("LRN002", {"learning_rate": 1e-3, "tuning": "partial", "model": "llava-7b"}, None),
        ("LRN002", {"learning_rate": 5e-8, "tuning": "full"}, "warning"),
        ("LRN002", {"learning_rate": 2e-8, "tuning": "lora"}, "warning"),
        ("LRN002", {"learning_rate": 3e-3, "tuning": "lora"}, "warning"),
        ("LRN002", {"learning_rate": 2e-3, "tuning": "lora"}, None),
        ("LRN002", {"learning_rate": 3e-3, "tuning": "lora", "optimizer": "muon"}, None),
        ("LRN002", {"learning_rate": 5e-7, "tuning": "lora", "method": "dpo"}, None),
        ("LRN002", {"learning_rate": 2e-2, "tuning": "prefix"}, None),
        ("LRN002", {"learning_rate": 2e-2, "unknown": ("tuning",)}, None),
        ("LRN003", {"learning_rate": 1e-5, "tuning": "lora"}, "note"),
        ("LRN003", {"learning_rate": 2e-5, "tuning": "lora"}, None),
        ("LRN003", {"learning_rate": 1e-5, "tuning": "full"}, None),
        ("LRN003", {"learning_rate": 5e-6, "tuning": "lora", "method": "dpo"}, None),
        ("LRN004", {**ONE, "per_device_batch": 257, "tuning": "qlora"}, "note"),
        ("LRN004", {**ONE, "per_device_batch": 256, "tuning": "lora"}, None),
        ("LRN004", {"per_device_batch": 257, "tuning": "lora"}, "note"),
        ("LRN006", {"learning_rate": 2e-5, "min_rate": 5e-5}, "warning"),
        ("LRN006", {"learning_rate": 2e-5, "min_rate": 2e-6}, None),
        ("LRN006", {"learning_rate": 2e-5, "min_rate": 2e-5, "scheduler": "polynomial"}, "error"),
        # Evaluation
        ("EVL001", {"eval_strategy": "steps", "eval_steps": 500, "max_steps": 87}, "warning"),
        ("EVL001", {"eval_strategy": "steps", "eval_steps": 87, "max_steps": 87}, None),
        ("EVL001", {"eval_strategy": "steps", "eval_steps": 500, "max_steps": 87, "load_best": True}, "error"),
        ("EVL001", {"eval_strategy": "steps", "eval_steps": 500, "max_steps": 87, "validation": False}, None),
        ("EVL001", {"eval_strategy": "epoch", "eval_steps": 500, "max_steps": 87}, None),
        ("EVL001", {"eval_strategy": "steps", "eval_steps": 500}, None),
        ("EVL001", {"eval_steps": 50, "observations": seen("evaluation_off", reason="x")}, "warning"),
        ("EVL001", {"observations": seen("evaluation_never", reason="x", key="y")}, "warning"),
        ("EVL002", {"observations": seen("evaluation_off", reason="x")}, "warning"),
        ("EVL002", {"eval_steps": 50, "observations": seen("evaluation_off", reason="x")}, None),
        ("EVL002", {"eval_strategy": "no", "observations": seen("evaluation_off", reason="x")}, None),
        ("EVL003", {"observations": seen("evaluation_without_data")}, "error"),
        ("EVL004", {"eval_strategy": "steps", "eval_steps": 500, "max_steps": 950}, "note"),
        ("EVL004", {"eval_strategy": "steps", "eval_steps": 500, "max_steps": 1050}, None),
        ("EVL004", {"eval_strategy": "steps", "eval_steps": 500, "max_steps": 87}, None),
        ("EVL005", {"observations": seen("best_model", key="strategy", reason="x")}, "error"),
        ("EVL005", {"observations": seen("best_model", key="cadence", reason="x")}, None),
        ("EVL006", {"observations": seen("best_model", key="cadence", reason="x")}, "error"),
        (
            "EVL006",
            {"load_best": True, "eval_strategy": "steps", "eval_steps": 0.02, "save_steps": 0.1, "eras": era("4.51.3")},
            "error",
        ),
        (
            "EVL006",
            {"load_best": True, "eval_strategy": "steps", "eval_steps": 0.02, "save_steps": 0.1, "eras": era("4.57.6")},
            None,
        ),
        (
            "EVL006",
            {"load_best": True, "eval_strategy": "steps", "eval_steps": 0.1, "save_steps": 0.1, "eras": era("4.51.3")},
            None,
        ),
        (
            "EVL007",
            {"eval_strategy": "steps", "eval_steps": 10, "max_steps": 39, "early_stopping_patience": 3},
            "warning",
        ),
        ("EVL007", {"eval_strategy": "steps", "eval_steps": 10, "max_steps": 49, "early_stopping_patience": 3}, None),
        ("EVL007", {"max_steps": 49, "early_stopping_patience": 3}, None),
        ("EVL009", {"eval_strategy": "steps", "eval_steps": 5, "max_steps": 505}, "note"),
        ("EVL009", {"eval_strategy": "steps", "eval_steps": 5, "max_steps": 500, "rows": 100000, "gpus": 1}, None),
        ("EVL009", {**ONE, "rows": 1000, "validation_rows": 900, "eval_strategy": "epoch", "epochs": 3}, None),
        ("EVL009", {**ONE, "rows": 1000, "validation_rows": 1001, "eval_strategy": "epoch", "epochs": 3}, "note"),
        ("EVL010", {"rows": 78, "validation_split": 2000}, "error"),
        ("EVL010", {"rows": 78, "validation_split": 0.1}, None),
        ("EVL010", {"validation_split": 2000}, None),
        ("EVL011", {"validation_split": 1}, "note"),
        ("EVL011", {"validation_split": 1.0}, "note"),
        ("EVL011", {"validation_split": 0.1}, None),
        (
            "EVL012",
            {"eval_strategy": "no", "observations": seen("dead_cadence", key="eval_steps", strategy="no")},
            "note",
        ),
        ("EVL012", {"observations": seen("dead_cadence", key="eval_steps", strategy="no")}, "note"),
        ("EVL012", {"validation": True, "observations": seen("dead_cadence", key="eval_steps", strategy="no")}, None),
        ("EVL012", {"observations": seen("dead_cadence", key="save_steps", strategy="no")}, None),
        ("EVL012", {"observations": seen("dead_cadence", key="save_steps", strategy="epoch")}, "note"),
        # Checkpoints and logging
        ("CKP001", {"save_steps": 2000, "max_steps": 1218}, "note"),
        ("CKP001", {"save_steps": 1218, "max_steps": 1218}, None),
        ("CKP001", {"save_steps": 999999, "max_steps": 1218}, None),
        ("CKP001", {"max_steps": 120}, None),  # nobody wrote the default
        ("CKP001", {"save_steps": 2000, "save_strategy": "epoch", "max_steps": 1218}, None),
        ("CKP002", {"save_steps": 100, "save_strategy": "no"}, "warning"),
        ("CKP002", {"save_steps": 100, "save_strategy": "no", "saved_by_script": True}, "note"),
        ("CKP002", {"save_strategy": "no"}, None),
        (
            "CKP003",
            {
                "save_total_limit": 2,
                "eval_strategy": "steps",
                "eval_steps": 10,
                "save_steps": 10,
                "max_steps": 100,
                "load_best": False,
            },
            "note",
        ),
        (
            "CKP003",
            {
                "save_total_limit": 2,
                "eval_strategy": "steps",
                "eval_steps": 10,
                "save_steps": 10,
                "max_steps": 100,
                "load_best": True,
            },
            None,
        ),
        (
            "CKP003",
            {"save_total_limit": 2, "eval_strategy": "steps", "eval_steps": 10, "save_steps": 10, "max_steps": 100},
            None,
        ),
        ("LOG001", {"logging_steps": 500, "max_steps": 120}, "note"),
        ("LOG001", {"logging_steps": 100, "max_steps": 120}, None),
        ("LOG001", {"max_steps": 120}, None),
        ("LOG001", {"logging_steps": 500, "logging_strategy": "epoch", "max_steps": 120}, None),
        # Versions
        ("VER003", {"accumulation": 2, "eras": era("4.46.3")}, "warning"),
        ("VER003", {"accumulation": 2, "eras": era("4.47.1")}, "warning"),
        ("VER003", {"accumulation": 2, "eras": era("4.48.0")}, None),
        ("VER003", {"accumulation": 2, "eras": era("4.45.2")}, None),
        ("VER003", {"accumulation": 1, "eras": era("4.46.3")}, None),
        ("VER003", {"accumulation": 2, "eras": ERAS}, None),
        # Preferences
        ("PRF001", {"method": "dpo", "learning_rate": 2e-5}, "warning"),
        ("PRF001", {"method": "dpo", "learning_rate": 2e-5, "shipped_rate": 2e-5}, "note"),
        ("PRF001", {"method": "dpo", "learning_rate": 3e-5, "shipped_rate": 2e-5}, "warning"),
        ("PRF001", {"method": "dpo", "learning_rate": 1e-5}, None),
        ("PRF001", {"method": "kto", "learning_rate": 6e-6}, "warning"),
        ("PRF001", {"method": "dpo", "learning_rate": 5e-5, "tuning": "lora"}, None),
        ("PRF001", {"method": "dpo", "learning_rate": 2e-4, "tuning": "lora"}, "note"),
        ("PRF001", {"method": "dpo", "learning_rate": 2e-4, "unknown": ("tuning",)}, "note"),
        ("PRF001", {"method": "dpo", "learning_rate": 5e-5, "unknown": ("tuning",)}, None),
        ("PRF001", {"method": "sft", "learning_rate": 2e-4}, None),
        ("PRF002", {"method": "dpo", "epochs": 3}, None),
        ("PRF002", {"method": "dpo", "epochs": 5}, "note"),
        ("PRF002", {"method": "orpo", "epochs": 6}, "warning"),
        ("PRF002", {"method": "sft", "epochs": 6}, None),
        ("PRF003", {"method": "dpo", "beta": 0}, "error"),
        ("PRF003", {"method": "dpo", "beta": 5, "loss_type": "sigmoid"}, "note"),
        ("PRF003", {"method": "dpo", "beta": 5, "loss_type": "dpo_norm"}, None),
        ("PRF003", {"method": "dpo", "beta": 5}, None),
        ("PRF003", {"method": "simpo", "beta": 0.1}, "note"),
        ("PRF003", {"method": "grpo", "beta": 0}, None),
        ("PRF004", {"method": "grpo", "num_generations": 1}, "error"),
        ("PRF004", {"method": "grpo", "num_generations": 2}, None),
        (
            "PRF005",
            {
                **ONE,
                "method": "grpo",
                "per_device_batch": 1,
                "num_generations": 16,
                "steps_per_generation": 1,
                "eras": era("4.57.6"),
            },
            "error",
        ),
        (
            "PRF005",
            {
                **ONE,
                "method": "grpo",
                "per_device_batch": 8,
                "num_generations": 16,
                "steps_per_generation": 2,
                "eras": era("4.57.6"),
            },
            None,
        ),
        (
            "PRF005",
            {
                "method": "grpo",
                "per_device_batch": 1,
                "num_generations": 16,
                "steps_per_generation": 1,
                "eras": era("4.57.6"),
            },
            None,
        ),
        # Packing
        ("PCK001", {**ONE, "packing": True, "max_steps": 1662, "rows": 8861, "per_device_batch": 16}, "warning"),
        ("PCK001", {**ONE, "packing": True, "max_steps": 500, "rows": 8861, "per_device_batch": 16}, None),
        ("PCK001", {**ONE, "max_steps": 1662, "rows": 8861, "per_device_batch": 16}, None),
        ("PCK002", {**ONE, "packing": True, "rows": 40}, "warning"),
        ("PCK002", {**ONE, "packing": True, "rows": 400}, None),
        ("PCK002", {**ONE, "packing": True, "rows": 40, "method": "pretrain"}, None),
        ("PCK002", {**ONE, "packing": True, "rows": 40, "max_steps": 500}, None),
        # Data
        ("DAT001", {**ONE, "rows": 60, "messages": 480, "max_steps": 180}, "warning"),
        ("DAT001", {**ONE, "rows": 60, "messages": 480, "max_steps": 24}, None),
        ("DAT001", {**ONE, "rows": 60, "messages": 60, "max_steps": 180}, None),
        ("DAT001", {"rows": 20, "messages": 120, "declared_records": 120}, "warning"),
        ("DAT001", {"rows": 20, "messages": 120, "declared_records": 20}, None),
        ("DAT007", {"rows": 120, "sample_cap": 200}, None),
        # Resuming
        ("RES001", {"observations": seen("resume_differs", key="x", theirs=4, ours=8, reason="y")}, "warning"),
        ("RES001", {}, None),
        ("RES002", {"resume_step": 150, "max_steps": 130}, "warning"),
        ("RES002", {"resume_step": 130, "max_steps": 130}, "warning"),
        ("RES002", {"resume_step": 129, "max_steps": 130}, None),
        # Providers
        ("PRV001", {"rows": 9, "least_records": 10}, "error"),
        ("PRV001", {"rows": 10, "least_records": 10}, None),
        ("PRV001", {"rows": 12000, "most_records": 10000}, "error"),
        ("PRV001", {"least_records": 10}, None),
        ("PRV003", {"observations": seen("provider_type", key="x", reason="y")}, "error"),
        ("PRV004", {"observations": seen("provider_unknown", key="x", reason="y", rejected=True)}, "error"),
        ("PRV004", {"observations": seen("provider_unknown", key="x", reason="y")}, "warning"),
        ("PRV005", {"observations": seen("provider_range", key="x", value=1, reason="y")}, "error"),
        ("PRV005", {"observations": seen("provider_range", key="x", value=1, reason="y", documented=True)}, "warning"),
        ("PRV006", {"observations": seen("provider_retired", key="x", reason="y")}, "note"),
        ("PRV007", {"observations": seen("provider_early_stop", reason="y")}, "error"),
    ],
)
def test_at_the_border(code: str, run: dict[str, Any], expected: str | None) -> None:
    assert level(code, **run) == expected


def test_fixed_steps_follow_the_number_of_gpus() -> None:
    """3,235 steps on one GPU, a hundredth of that on a hundred: nothing holds for all; at eight it is a quarter."""
    run = {"rows": 51760, "epochs": 1, "per_device_batch": 2, "accumulation": 8, "warmup_steps": 100}
    assert [level(code, **run) for code in ("WRM001", "WRM002", "WRM003")] == [None, None, None]
    assert level("WRM003", gpus=8, **run) == "note"
    assert level("WRM001", gpus=64, **run) == "error"


def test_the_steps_of_two_versions() -> None:
    odd = {"rows": 100, "per_device_batch": 2, "accumulation": 4}
    assert level("VER002", eras=ERAS, gpus=1, **odd) == "note"
    assert level("VER002", eras=ERAS[1:], gpus=1, **odd) is None
    assert level("VER002", eras=ERAS, gpus=1, rows=800, per_device_batch=2, accumulation=4) is None
    assert level("VER002", eras=ERAS, per_device_batch=2, accumulation=4) is None


@pytest.mark.parametrize(
    ("stated", "expected"),
    [("4.57.6", "error"), (None, "note"), ("4.45.0", "note")],
)
def test_a_renamed_setting(stated: str | None, expected: str | None) -> None:
    """The era is narrowed by the old key itself; what the project says decides."""
    versions = Versions({"transformers": exactly(stated)} if stated else {})
    old = seen("renamed", package="transformers", old="evaluation_strategy", new="eval_strategy", gone_in="4.51")
    assert level("VER001", eras=ERAS[:1], versions=versions, observations=old) == expected


def test_a_default_that_accumulates() -> None:
    run = make_run()
    run.settings["accumulation"] = Known(16, "default")
    assert [one.code for one in engine.check(Scenarios(run), [RULES["BAT004"]])[0]] == ["BAT004"]


def test_epochs_that_the_provider_chooses() -> None:
    run = make_run(rows=24)
    run.settings["epochs"] = Known(4, ESTIMATED, basis=4)
    found = engine.check(Scenarios(run), [RULES["PRV002"]])[0]
    assert [(one.level, "4" in one.message) for one in found] == [("note", True)]


# Baselines ------------------------------------------------------------------------------------------------------------


def against(kind: str = "revision", **run: Any) -> engine.Baseline:
    return engine.Baseline(scenarios(**run), kind, "before")


SAME_RATE: dict[str, Any] = {"learning_rate": 2e-5}


@pytest.mark.parametrize(
    ("before", "after", "kind", "expected"),
    [
        ({"per_device_batch": 4}, {"per_device_batch": 8}, "revision", "note"),
        ({"per_device_batch": 4}, {"per_device_batch": 7}, "revision", None),
        ({"per_device_batch": 4}, {"per_device_batch": 16}, "revision", "note"),  # GPUs open on both sides
        ({"per_device_batch": 4, "gpus": 1}, {"per_device_batch": 16, "gpus": 1}, "revision", "warning"),
        ({"per_device_batch": 16, "gpus": 1}, {"per_device_batch": 4, "gpus": 1}, "revision", "warning"),
        ({"per_device_batch": 4, "gpus": 1}, {"per_device_batch": 16}, "revision", None),
        ({"gpus": 4}, {"gpus": 8}, "revision", "note"),
        ({"per_device_batch": 4, "accumulation": 8}, {"per_device_batch": 8, "accumulation": 4}, "revision", None),
        ({"per_device_batch": 2}, {"per_device_batch": 8}, "sibling", None),
        ({"per_device_batch": 2, "gpus": 1}, {"per_device_batch": 8, "gpus": 1}, "reference", "warning"),
        ({"per_device_batch": 2, "gpus": 1}, {"per_device_batch": 8, "gpus": 1}, "sibling", None),
        (
            {"per_device_batch": 2, "num_generations": 8},
            {"per_device_batch": 8, "num_generations": 8},
            "revision",
            "note",
        ),
        (
            {"per_device_batch": 2, "num_generations": 2},
            {"per_device_batch": 16, "num_generations": 7},
            "revision",
            None,
        ),
    ],
)
def test_a_rate_that_stayed(before: dict[str, Any], after: dict[str, Any], kind: str, expected: str | None) -> None:
    assert level("LRN001", baseline=against(kind, **SAME_RATE, **before), **SAME_RATE, **after) == expected


@pytest.mark.parametrize(("data", "expected"), [("data.jsonl", "note"), ("other.jsonl", None), ("", None)])
def test_siblings_are_compared_where_they_are_one_recipe(data: str, expected: str | None) -> None:
    runs = [make_run(per_device_batch=size, gpus=1, **SAME_RATE) for size in (2, 16)]
    for run, path in zip(runs, ("data.jsonl", data), strict=True):
        run.training = [DataSource(run.span, paths=(path,))] if path else []
    beside = engine.Baseline(Scenarios(runs[0]), "sibling", "sft_one.yaml")
    found = engine.check(Scenarios(runs[1]), [RULES["LRN001"]], baseline=beside)[0]
    assert [one.level for one in found] == ([expected] if expected else [])
    if found:
        assert found[0].message.startswith(
            "the effective batch is 16, that of sft_one.yaml is 2, and the learning rate"
        )


def test_data_that_nothing_names_are_not_the_same_for_siblings() -> None:
    runs = [make_run(per_device_batch=size, gpus=1, **SAME_RATE) for size in (2, 16)]
    for run in runs:
        run.training = [DataSource(run.span)]  # a file that each launch names in a flag of the program's own
    for kind, codes in (("revision", ["LRN001"]), ("sibling", [])):
        before = engine.Baseline(Scenarios(runs[0]), kind, "before")
        assert [one.code for one in engine.check(Scenarios(runs[1]), [RULES["LRN001"]], baseline=before)[0]] == codes


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (None, "adamw_torch_fused", "note"),
        ("adamw_torch", "paged_adamw_8bit", "note"),
        ("lion", "lion", "note"),
        (None, "lion", None),
        ("rmsprop", "adamw_torch", None),
        ("adafactor", None, None),
    ],
)
def test_a_rate_of_another_optimizer_did_not_stay(before: str | None, after: str | None, expected: str | None) -> None:
    was, now = ({"optimizer": name} if name is not None else {} for name in (before, after))
    then = against(per_device_batch=4, **SAME_RATE, **was)
    assert level("LRN001", baseline=then, per_device_batch=8, **SAME_RATE, **now) == expected


def test_a_rate_that_nobody_wrote_was_no_choice() -> None:
    runs = [make_run(per_device_batch=size) for size in (2, 16)]
    for run in runs:
        run.settings["learning_rate"] = Known(5e-5, "default")
    before = engine.Baseline(Scenarios(runs[0]), "revision", "before")
    assert engine.check(Scenarios(runs[1]), [RULES["LRN001"]], baseline=before)[0] == []


def test_a_rate_that_moved_is_no_rate_that_stayed() -> None:
    before = against(per_device_batch=4, learning_rate=1e-5)
    assert level("LRN001", baseline=before, per_device_batch=16, learning_rate=2e-5) is None


def test_the_rules_of_scaling_are_shown() -> None:
    before = against(per_device_batch=4, gpus=1, **SAME_RATE)
    found = engine.check(scenarios(per_device_batch=16, gpus=1, **SAME_RATE), [RULES["LRN001"]], baseline=before)[0]
    assert "from 4 to 16" in found[0].message
    assert "4e-05" in found[0].message
    assert "8e-05" in found[0].message


@pytest.mark.parametrize(
    ("rate", "batch", "expected"),
    [
        (16e-5, 8, "warning"),
        (5e-5, 8, None),  # rounded up
        (4e-5, 8, None),
        (2.8e-5, 8, None),
        (16e-5, 4, None),
        (0.1e-5, 2, None),  # careful
        (1e-5, 2, None),
    ],
)
def test_a_rate_that_changed_by_more_than_the_batch(rate: float, batch: int, expected: str | None) -> None:
    before = against(per_device_batch=4, learning_rate=2e-5)
    assert level("LRN008", baseline=before, per_device_batch=batch, learning_rate=rate) == expected


@pytest.mark.parametrize(
    "other", [{"tuning": "lora"}, {"method": "dpo"}, {"model": "other/model"}, {"optimizer": "adafactor"}]
)
def test_a_rate_is_another_for_another_kind_of_run(other: dict[str, Any]) -> None:
    before = against(per_device_batch=4, learning_rate=2e-5)
    assert level("LRN008", baseline=before, per_device_batch=8, learning_rate=16e-5, **other) is None


@pytest.mark.parametrize(
    ("before", "after", "kind", "expected"),
    [
        ({"max_steps": 4000}, {"max_steps": 800}, "revision", "warning"),
        ({"max_steps": 1000}, {"max_steps": 800}, "revision", None),
        ({"max_steps": 2000}, {"max_steps": 800}, "revision", "warning"),
        ({"max_steps": 4000}, {"max_steps": 2000}, "revision", "warning"),
        ({"max_steps": 3900}, {"max_steps": 1990}, "revision", None),
        ({"max_steps": 1000}, {"max_steps": 4000}, "revision", "note"),
        ({"max_steps": 1000}, {"max_steps": 2000}, "revision", "note"),
        ({"max_steps": 1000}, {"max_steps": 1900}, "revision", None),
        ({"max_steps": 1000}, {"max_steps": 4000}, "sibling", None),
        ({"max_steps": 5000}, {"max_steps": 1000}, "sibling", "warning"),
        ({"max_steps": 5000}, {"max_steps": 2000}, "sibling", "note"),  # 10 % is usual
        ({"max_steps": 5000}, {"max_steps": 1900}, "sibling", "warning"),
        ({"max_steps": 500}, {"max_steps": 100}, "sibling", "note"),  # a smoke run
        ({"max_steps": 500}, {"max_steps": 100}, "revision", "warning"),
        ({"max_steps": 4000, "warmup_steps": 100}, {"max_steps": 800}, "revision", None),
        ({"per_device_batch": 4}, {"per_device_batch": 16}, "revision", "warning"),  # the same unknown data
        ({"per_device_batch": 4}, {"per_device_batch": 6}, "revision", None),
        ({"epochs": 4}, {"epochs": 1}, "revision", "warning"),
    ],
)
def test_a_warmup_that_was_copied(
    before: dict[str, Any], after: dict[str, Any], kind: str, expected: str | None
) -> None:
    runs = [make_run(**{"warmup_steps": 200, **settings}) for settings in (before, after)]
    for run in runs:
        run.training = [DataSource(run.span, paths=("data.jsonl",))]
    baseline = engine.Baseline(Scenarios(runs[0]), kind, "before")
    found = engine.check(Scenarios(runs[1]), [RULES["WRM010"]], baseline=baseline)[0]
    assert [one.level for one in found] == ([expected] if expected else [])


def test_data_that_no_revision_names_is_the_same_in_both() -> None:
    runs = [make_run(warmup_steps=200, epochs=epochs) for epochs in (4, 1)]
    before = Scenarios(runs[0])
    for kind, codes in (("revision", ["WRM010"]), ("reference", []), ("sibling", [])):
        found = engine.check(Scenarios(runs[1]), [RULES["WRM010"]], baseline=engine.Baseline(before, kind, "before"))[0]
        assert [one.code for one in found] == codes


def test_other_data_of_unknown_size_says_nothing_about_the_warmup() -> None:
    runs = [make_run(warmup_steps=200, per_device_batch=size) for size in (4, 16)]
    for run, name in zip(runs, ("one.jsonl", "two.jsonl"), strict=True):
        run.training = [DataSource(run.span, paths=(name,))]
    assert engine.check(Scenarios(runs[1]), [RULES["WRM010"]], baseline=Scenarios(runs[0]))[0] == []


# Precedence -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("run", "expected"),
    [
        ({"warmup_steps": 100, "max_steps": 50}, {"WRM001", "STP007"}),
        ({"epochs": 0}, {"STP008"}),
        ({"warmup_ratio": 5}, {"WRM004"}),
        ({"save_steps": 100, "save_strategy": "no"}, {"CKP002"}),
        (
            {
                "eval_steps": 50,
                "validation": True,
                "observations": [
                    *seen("evaluation_off", reason="x"),
                    *seen("dead_cadence", key="eval_steps", strategy="no"),
                ],
            },
            {"EVL001"},
        ),
    ],
)
def test_one_cause_is_one_finding(run: dict[str, Any], expected: set[str]) -> None:
    found = engine.check(scenarios(**run), catalogue.chosen())[0]
    assert {one.code for one in found} == expected


def test_a_usual_run_is_silent() -> None:
    usual = {
        "gpus": 8, "rows": 60000, "per_device_batch": 2, "accumulation": 8, "epochs": 2, "learning_rate": 2e-5,
        "scheduler": "cosine", "warmup_ratio": 0.1, "eval_strategy": "epoch", "save_strategy": "epoch",
        "logging_steps": 10, "validation": True,
    }  # fmt: skip
    assert engine.check(scenarios(**usual), catalogue.load())[0] == []
    assert engine.check(scenarios(), catalogue.load())[0] == []
