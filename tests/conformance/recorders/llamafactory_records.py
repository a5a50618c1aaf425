"""Record which records of awkward files LLaMA-Factory trains on.

    PYTHONPATH=... python tests/conformance/recorders/llamafactory_records.py --package FOLDER --version 0.9.5

Real code: dataset_info.json, get_dataset with a real template and a tokenizer of one token a word. Version checks are
off.
"""

from __future__ import annotations

import contextlib
import io
import json
import logging
import os
import tempfile
import warnings
from typing import Any

import awkward
import recording
import stubs
import tiny

BASE: dict[str, Any] = {
    "model_name_or_path": "org/tiny",
    "stage": "sft",
    "do_train": True,
    "finetuning_type": "lora",
    "dataset": "a",
    "template": "default",
    "cutoff_len": awkward.LIMIT,
    "output_dir": "out",
    "report_to": "none",
}
TAGS = {"role_tag": "role", "content_tag": "content", "user_tag": "user", "assistant_tag": "assistant",
        "system_tag": "system", "observation_tag": "tool"}  # fmt: skip
PAIR = {"prompt": "prompt", "chosen": "chosen", "rejected": "rejected"}


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, and config and entry of dataset_info.json."""

    def one(form: str, info: dict[str, Any] | None = None, **more: Any) -> tuple[str, dict[str, Any]]:
        return form, {"config": {**BASE, **more}, "info": {"file_name": "data.jsonl", **(info or {})}}

    openai: dict[str, Any] = {"formatting": "openai", "columns": {"messages": "messages"}, "tags": TAGS}
    pairs = {"formatting": "sharegpt", "ranking": True,
             "columns": {"messages": "conversations", "chosen": "chosen", "rejected": "rejected"}}  # fmt: skip
    labelled = {"columns": {"prompt": "prompt", "response": "completion", "kto_tag": "label"}}
    return {
        "alpaca": one("alpaca"),
        "alpaca, array": one("alpaca array", {"file_name": "data.json"}),
        "alpaca, packed": one("alpaca", packing=True),
        "sharegpt": one("sharegpt", {"formatting": "sharegpt"}),
        "openai": one("messages", openai),
        "dpo": one("preference", {"ranking": True, "columns": PAIR}, stage="dpo"),
        "rm": one("sharegpt preference", pairs, stage="rm"),
        "kto": one("unpaired", labelled, stage="kto"),
        "pt": one("text", {"columns": {"prompt": "text"}}, stage="pt"),
        "pt, not packed": one("text", {"columns": {"prompt": "text"}}, stage="pt", packing=False),
    }


def run(case: dict[str, Any]) -> dict[str, Any]:
    from llamafactory.data import get_dataset, get_template_and_fix_tokenizer
    from llamafactory.hparams.parser import get_train_args

    here = os.getcwd()
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        os.chdir(folder)
        os.environ["HF_HOME"] = folder
        try:
            os.mkdir("data")
            with open("data/" + case["info"]["file_name"], "w", encoding="utf-8", newline="") as stream:
                stream.write(awkward.load()[case["file"]])
            with open("data/dataset_info.json", "w", encoding="utf-8") as stream:
                json.dump({"a": case["info"]}, stream)
            args = {"overwrite_cache": True, "use_cpu": True, **case["config"]}
            model_args, data_args, training_args, finetuning_args, _ = get_train_args(args)
            model_args.cache_dir = folder
            tokenizer = tiny.tokenizer()
            template = get_template_and_fix_tokenizer(tokenizer, data_args)
            kind = {"dpo": "rm"}.get(finetuning_args.stage, finetuning_args.stage)
            made = get_dataset(
                template, model_args, data_args, training_args, stage=kind, tokenizer=tokenizer, processor=None
            )
            return {"records": len(made["train_dataset"])}
        finally:
            os.chdir(here)


def main() -> None:
    options = recording.arguments("Record LLaMA-Factory's records.", "llamafactory_records.json")
    os.environ["DISABLE_VERSION_CHECK"] = "1"
    import datasets
    import peft  # noqa: F401  (with all that it imports of transformers: before anything is stood in for)

    stubs.install("torchaudio")
    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    logging.disable(logging.CRITICAL)
    recording.all_cases(options, awkward.cases(setups(), options.only), run, "llamafactory",
                        "transformers", "datasets")  # fmt: skip


if __name__ == "__main__":
    main()
