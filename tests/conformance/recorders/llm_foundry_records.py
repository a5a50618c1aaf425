"""Record which records of awkward files LLM Foundry's finetuning loader trains on.

    PYTHONPATH=... python tests/conformance/recorders/llm_foundry_records.py --package FOLDER --version 0.22.0

Real code: `DatasetConstructor.build_from_hf` with a preprocessing function of its own or none, its tokenizing and its
filter. Stood in for: the tokenizer (one token a word), composer, streaming, and the packages' `__init__`, which import
everything that the trainer trains with.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import types
import warnings
from typing import Any

import awkward
import recording
import stubs
import tiny

BARE = ("llmfoundry", "llmfoundry.data", "llmfoundry.data.finetuning", "llmfoundry.utils", "llmfoundry.tokenizers")


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, and the data set of the config."""

    def one(form: str, file: str = "data.jsonl", **more: Any) -> tuple[str, dict[str, Any]]:
        told = {"hf_name": "json", "hf_kwargs": {"data_files": file}, "split": "train", "max_seq_len": awkward.LIMIT}
        return form, {"dataset": {**told, **more}}

    own = "llmfoundry.data.finetuning.tasks:"
    return {
        "pairs": one("prompt-completion"),
        "pairs, all": one("prompt-completion", target_prompts="all", target_responses="all"),
        "messages": one("messages"),
        "messages, all": one("messages", target_responses="all"),
        "alpaca": one("alpaca", preprocessing_fn=own + "alpaca_preprocessing_function"),
        "sharegpt": one("sharegpt", preprocessing_fn=own + "shareGPT_format_preprocessor"),
    }


def prepare(folder: str) -> Any:
    """The real module of the tasks, without the packages around it."""
    for name in BARE:
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = [os.path.join(folder, *name.split("."))]
    data: Any = sys.modules["llmfoundry.data"]
    data.SUPPORTED_MDS_ENCODING_TYPES = []
    data.stream_remote_local_validate = None
    tokenizers: Any = sys.modules["llmfoundry.tokenizers"]
    tokenizers.get_date_string = lambda: "1 Jan 2026"
    stubs.install("composer", "streaming", "omegaconf", "mlflow", "catalogue")
    from composer.utils import dist

    dist.get_node_signal_file_name = lambda: "signal"
    dist.get_local_rank = lambda: 0
    dist.get_global_rank = lambda: 0
    dist.get_world_size = lambda: 1
    dist.all_gather_object = lambda value: [value]
    dist.barrier = lambda: None
    dist.broadcast_object_list = lambda *args, **kwargs: None
    from llmfoundry.data.finetuning import tasks

    tasks._get_num_processes = lambda: 1
    tasks.dist_mkdtemp = tempfile.mkdtemp
    return tasks


def run(case: dict[str, Any], tasks: Any) -> dict[str, Any]:
    told = dict(case["dataset"])
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            path = told["hf_kwargs"]["data_files"]
            with open(path, "w", encoding="utf-8", newline="") as stream:
                stream.write(awkward.load()[case["file"]])
            made = tasks.dataset_constructor
            asked = told.get("preprocessing_fn")
            data = made.build_from_hf(
                dataset_name=told["hf_name"],
                split=told["split"],
                safe_load=False,
                max_seq_len=told["max_seq_len"],
                preprocessing_fn=made.get_preprocessing_fn_from_str(asked, "json") if asked else None,
                tokenizer=tiny.tokenizer(),
                target_prompts=told.get("target_prompts", "none"),
                target_responses=told.get("target_responses", "last"),
                decoder_only_format=True,
                hf_kwargs={**told["hf_kwargs"], "cache_dir": folder},
            )
            return {"records": len(data)}
        finally:
            os.chdir(here)


def main() -> None:
    options = recording.arguments("Record LLM Foundry's records.", "llm_foundry_records.json")
    import datasets

    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    tasks = prepare(os.path.abspath(options.package))
    logging.disable(logging.CRITICAL)
    recording.all_cases(options, awkward.cases(setups(), options.only), lambda case: run(case, tasks), "llm-foundry",
                        "transformers", "datasets")  # fmt: skip


if __name__ == "__main__":
    main()
