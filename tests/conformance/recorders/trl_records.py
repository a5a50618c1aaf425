"""Record which records of awkward files TRL's trainers train on.

    PYTHONPATH=... python tests/conformance/recorders/trl_records.py

Real code: `load_dataset("json")`, and the trainer's own preparation of the rows (tokenizing, filters, packing) as it is
built, with a tokenizer of one token a word and a random Llama.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import warnings
from typing import Any

import awkward
import recording
import tiny
import trl as steps  # the recorder of steps beside this file, not the package

del sys.modules["trl"]


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, and kind of trainer with its arguments."""

    def one(form: str, kind: str, **args: Any) -> tuple[str, dict[str, Any]]:
        return form, {"kind": kind, "args": {"per_device_train_batch_size": 2, **args}}

    return {
        "sft messages": one("messages", "sft", length=awkward.LIMIT),
        "sft answers only": one("messages", "sft", length=awkward.LIMIT, assistant_only_loss=True),
        "sft pairs": one("prompt-completion", "sft", length=awkward.LIMIT),
        "sft text": one("text", "sft", length=awkward.LIMIT),
        "sft packed": one("text", "sft", length=awkward.LIMIT, packing=True),
        "dpo": one("preference", "dpo", max_length=awkward.LIMIT),
        "dpo messages": one("preference messages", "dpo", max_length=awkward.LIMIT),
        "kto": one("unpaired", "kto", max_length=awkward.LIMIT),
        "reward": one("preference messages", "reward", max_length=awkward.LIMIT),
        "orpo": one("preference", "orpo", max_length=awkward.LIMIT),
    }


def run(case: dict[str, Any]) -> dict[str, Any]:
    from datasets import load_dataset

    config, trainer_class = steps.classes(case["kind"])
    fields = config.__dataclass_fields__
    args = dict(case["args"])
    if "length" in args:
        args["max_length" if "max_length" in fields else "max_seq_length"] = args.pop("length")
    if any(key not in fields for key in args):
        raise LookupError("an argument that this version does not have")
    quiet = {"report_to": "none", "use_cpu": True, "bf16": False, "gradient_checkpointing": False, "disable_tqdm": True}
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.jsonl")
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(awkward.load()[case["file"]])
        data = load_dataset("json", data_files=path, split="train", cache_dir=folder)
        more: dict[str, Any] = {}
        if case["kind"] in ("dpo", "kto"):
            more["ref_model"] = tiny.model(folder)
        trainer = trainer_class(
            tiny.model(folder, case["kind"] == "reward"),
            args=config(output_dir=folder, **quiet, **args),
            train_dataset=data,
            processing_class=tiny.tokenizer(),
            **more,
        )
        return {"records": len(trainer.train_dataset)}


def main() -> None:
    options = recording.arguments("Record TRL's records.", "trl_records.json")
    import datasets
    import torch
    import transformers

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    transformers.logging.set_verbosity_error()
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    recording.all_cases(
        options, awkward.cases(setups(), options.only), run, "trl", "transformers", "accelerate", "datasets"
    )


if __name__ == "__main__":
    main()
