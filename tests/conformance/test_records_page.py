"""The table of docs/records.md says what the recordings and their tests say."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.conformance.recorded import load

PAGE = (Path(__file__).parents[2] / "docs" / "records.md").read_text(encoding="utf-8")
TRAINERS = {
    "trl": "TRL", "axolotl": "Axolotl", "llamafactory": "LLaMA-Factory", "swift": "ms-swift", "torchtune": "torchtune",
    "litgpt": "LitGPT", "mlx": "MLX-LM", "mistral_finetune": "mistral-finetune", "oumi": "Oumi",
    "llm_foundry": "LLM Foundry",
}  # fmt: skip
WORDS = ("equal", "open", "wrong", "foreseen", "silent", "missed")


def rows(name: str) -> list[str]:
    """The lines of the table for a trainer: each version, its forms with how many files each, and the words."""
    forms: dict[str, set[str]] = {}
    for case in load(f"{name}_records")["cases"].values():
        if "file" in case:
            forms.setdefault(case["file"].partition("/")[0], set()).add(case["file"])
    told = ", ".join(f"{form} {len(files)}" for form, files in sorted(forms.items()))
    counts = importlib.import_module(f"tests.conformance.test_{name}_records").COUNTS
    lines = []
    for version, found in counts.items():
        numbers = " | ".join(f"{found.get(word, 0):,}" for word in WORDS)
        lines.append(f"| {TRAINERS[name]} {version} | {told} | {sum(found.values()):,} | {numbers} |")
        told = "the same"
    return lines


@pytest.mark.parametrize("name", TRAINERS)
def test_the_page_holds_the_numbers(name: str) -> None:
    for line in rows(name):
        assert line in PAGE
