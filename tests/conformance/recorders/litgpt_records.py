"""Record which records of awkward files LitGPT's JSON data trains on.

    PYTHONPATH=... python tests/conformance/recorders/litgpt_records.py

Real code: `litgpt.data.JSON` with its split, every record fetched once. Stood in for: the tokenizer (one token a word).
"""

from __future__ import annotations

import os
import tempfile
import warnings
from pathlib import Path
from typing import Any

import awkward
import recording


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, name of the file and arguments of the data."""
    none = {"val_split_fraction": 0.2}
    return {
        "lines": ("alpaca", {"name": "data.jsonl", "data": none}),
        "document": ("alpaca", {"name": "data.json", "data": none}),
        "array": ("alpaca array", {"name": "data.json", "data": none}),
    }


class Words:
    """A tokenizer: one token a word."""

    def encode(self, text: str, bos: Any = None, eos: Any = None, max_length: int = -1, **rest: Any) -> Any:
        import torch

        ids = [3 + len(word) for word in text.split()] + ([1] if eos else [])
        return torch.tensor(ids[:max_length] if max_length > 0 else ids, dtype=torch.int)


def run(case: dict[str, Any]) -> dict[str, Any]:
    from litgpt.data import JSON

    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.path.join(folder, case["name"]))
        path.write_bytes(awkward.load()[case["file"]].encode())
        data = JSON(path, **case["data"])
        data.connect(Words(), 2, awkward.LIMIT)
        data.setup()
        for part in (data.train_dataset, data.test_dataset):
            for index in range(len(part)):
                part[index]
        return {"records": len(data.train_dataset)}


def main() -> None:
    options = recording.arguments("Record LitGPT's records.", "litgpt_records.json")
    warnings.simplefilter("ignore")
    recording.all_cases(options, awkward.cases(setups(), options.only), run, "litgpt", "lightning")


if __name__ == "__main__":
    main()
