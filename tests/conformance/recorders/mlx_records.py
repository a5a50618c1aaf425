"""Record which records of awkward files MLX-LM trains on.

    PYTHONPATH=... python tests/conformance/recorders/mlx_records.py --package FOLDER --version 0.32.2

Real code: `load_dataset` of a folder, and every record made into tokens once, as training does at the latest.
Tokenizer: one token a word.
"""

from __future__ import annotations

import os
import tempfile
import types
import warnings
from typing import Any

import awkward
import recording
import tiny


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form and what the config adds."""
    return {
        "messages": ("messages", {"config": {}}),
        "messages, masked": ("messages", {"config": {"mask_prompt": True}}),
        "completions": ("prompt-completion", {"config": {}}),
        "completions, masked": ("prompt-completion", {"config": {"mask_prompt": True}}),
        "text": ("text", {"config": {}}),
    }


def run(case: dict[str, Any]) -> dict[str, Any]:
    from mlx_lm.tuner.datasets import CacheDataset, load_dataset

    tokenizer = tiny.tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "train.jsonl"), "w", encoding="utf-8", newline="") as stream:
            stream.write(awkward.load()[case["file"]])
        args = types.SimpleNamespace(data=folder, train=True, test=False, hf_dataset=False, **case["config"])
        data = CacheDataset(load_dataset(args, tokenizer)[0])
        for index in range(len(data)):
            data[index]
        return {"records": len(data)}


def main() -> None:
    options = recording.arguments("Record MLX-LM's records.", "mlx_records.json")
    warnings.simplefilter("ignore")
    recording.all_cases(options, awkward.cases(setups(), options.only), run, "mlx-lm", "mlx", "transformers")


if __name__ == "__main__":
    main()
