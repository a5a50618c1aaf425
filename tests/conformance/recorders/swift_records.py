"""Record which records of awkward files ms-swift trains on.

    PYTHONPATH=... python tests/conformance/recorders/swift_records.py --package FOLDER --version 4.6.0

Real code: flags, arguments, the preprocessors of the data, and the encoding of every record with its template as the
trainer's data set does it. Stood in for: the model (random) and the tokenizer (one token a word).
"""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
from typing import Any

import awkward
import recording
from swift_ready import ready

BASE: dict[str, Any] = {
    "use_hf": True,
    "dataset": "data.jsonl",
    "tuner_type": "full",
    "max_length": awkward.LIMIT,
    "split_dataset_ratio": 0,
    "report_to": "none",
    "dataset_num_proc": 1,
}


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, command and config."""

    def one(form: str, command: str = "sft", **more: Any) -> tuple[str, dict[str, Any]]:
        return form, {"command": command, "config": {**BASE, **more}}

    return {
        "messages": one("messages"),
        "messages, strict": one("messages", strict=True),
        "messages, cut": one("messages", truncation_strategy="left"),
        "messages, eager": one("messages", lazy_tokenize=False),
        "sharegpt": one("sharegpt"),
        "alpaca": one("alpaca"),
        "query": one("query-response"),
        "text": one("text", "pt"),
    }


def run(case: dict[str, Any], model: str) -> dict[str, Any]:
    import yaml
    from swift.cli.main import parse_yaml_args
    from swift.pipelines.train.pretrain import SwiftPretrain
    from swift.pipelines.train.sft import SwiftSft

    here = os.getcwd()
    quiet = contextlib.redirect_stderr(io.StringIO())
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()), quiet:
        os.chdir(folder)
        try:
            with open("data.jsonl", "w", encoding="utf-8", newline="") as stream:
                stream.write(awkward.load()[case["file"]])
            fixed = {"model": model, "model_type": "llama", "template": "chatml", "torch_dtype": "float32",
                     "output_dir": "out", "load_from_cache_file": False}  # fmt: skip
            with open("config.yaml", "w", encoding="utf-8") as stream:
                yaml.safe_dump({**fixed, **case["config"]}, stream)
            flags = ["config.yaml"]
            parse_yaml_args(flags)
            pipeline = {"sft": SwiftSft, "pt": SwiftPretrain}[case["command"]](flags)
            training, _ = pipeline._prepare_dataset()
            return {"records": len(training)}
        finally:
            os.chdir(here)


def main() -> None:
    options = recording.arguments("Record ms-swift's records.", "swift_records.json")
    with ready() as (model, stubbed):
        cases = awkward.cases(setups(), options.only)
        recording.all_cases(options, cases, lambda case: run(case, model), "ms-swift", "transformers", "datasets",
                            stubbed=stubbed)  # fmt: skip


if __name__ == "__main__":
    main()
