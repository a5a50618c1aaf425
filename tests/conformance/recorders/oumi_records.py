"""Record which records of awkward files Oumi's own data sets of files hold.

    PYTHONPATH=... python tests/conformance/recorders/oumi_records.py --package FOLDER --version 0.9

Real code: the data set that a config names under `dataset_name`, its reading of the file, and every record made into
tokens once. Stood in for: the tokenizer (one token a word), what STUBBED names if not installed.
"""

from __future__ import annotations

import logging
import os
import tempfile
import warnings
from typing import Any

import awkward
import recording
import stubs
import tiny

STUBBED = ("lm_eval", "sglang", "skypilot", "sky", "wandb", "mlflow", "bitsandbytes", "peft", "trl", "liger_kernel",
           "PIL", "pdf2image", "responses", "nvidia", "pynvml", "backoff", "torchdata", "omegaconf", "typer", "rich",
           "lm_format_enforcer", "vllm", "llama_cpp", "pexpect")  # fmt: skip


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, and the data set of the config."""

    def one(form: str, name: str, file: str = "data.jsonl", **more: Any) -> tuple[str, dict[str, Any]]:
        return form, {"dataset": {"dataset_name": name, "dataset_path": file, **more}}

    return {
        "messages": one("messages", "text_sft"),
        "alpaca": one("alpaca", "text_sft"),
        "alpaca, array": one("alpaca array", "text_sft", "data.json"),
        "alpaca, named": one("alpaca", "text_sft_jsonl", dataset_kwargs={"format": "alpaca"}),
    }


def run(case: dict[str, Any]) -> dict[str, Any]:
    from oumi.core.registry import REGISTRY

    told = case["dataset"]
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, told["dataset_path"])
        with open(path, "w", encoding="utf-8", newline="") as stream:
            stream.write(awkward.load()[case["file"]])
        kind = REGISTRY.get_dataset(told["dataset_name"])
        data = kind(dataset_path=path, tokenizer=tiny.tokenizer(), **told.get("dataset_kwargs", {}))
        for index in range(len(data)):
            data[index]
        return {"records": len(data)}


def main() -> None:
    options = recording.arguments("Record Oumi's records.", "oumi_records.json")
    stubs.install(*STUBBED)
    import oumi.datasets  # noqa: F401 # registers its data sets

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    recording.all_cases(options, awkward.cases(setups(), options.only), run, "oumi", "transformers", "pandas",
                        "jsonlines")  # fmt: skip


if __name__ == "__main__":
    main()
