"""Record how many samples mistral-finetune makes of awkward files.

    PYTHONPATH=... python tests/conformance/recorders/mistral_finetune_records.py --package FOLDER --version 1943535

Real code: the loading, chunking and tokenizing of finetune/data (commit 1943535), with the third tokenizer that
mistral-common brings along. A sample is what is packed into sequences: there are no rows after that.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import Any

import awkward
import recording


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form and data of the config."""
    return {
        "instruct": ("messages", {"config": {"data": {"instruct_data": "data.jsonl"}}}),
        "tools": ("messages with tools", {"config": {"data": {"instruct_data": "data.jsonl"}}}),
        "pretrain": ("text", {"config": {"data": {"data": "data.jsonl"}}}),
    }


def run(case: dict[str, Any], tokenizer: Any) -> dict[str, Any]:
    from finetune.data import dataset
    from finetune.data.tokenize import SampleType

    instruct = "instruct_data" in case["config"]["data"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(os.path.join(folder, "data.jsonl"))
        path.write_bytes(awkward.load()[case["file"]].encode())
        kind = SampleType.INSTRUCT if instruct else SampleType.PRETRAIN
        found = dataset.maybe_load_local_dataset(path, instruct, 0, 1, tokenizer, kind)
        if not found:
            raise StopIteration("an endless loop over no samples")  # its training iterator never yields
        return {"records": len(found)}


def main() -> None:
    options = recording.arguments("Record mistral-finetune's samples.", "mistral_finetune_records.json")
    from mistral_common.tokens.tokenizers.mistral import MistralTokenizer

    tokenizer = MistralTokenizer.v3().instruct_tokenizer
    cases = awkward.cases(setups(), options.only)
    recording.all_cases(options, cases, lambda case: run(case, tokenizer), "mistral-finetune", "mistral-common")


if __name__ == "__main__":
    main()
