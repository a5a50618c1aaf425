"""Record which records of awkward files torchtune's data sets hold.

    PYTHONPATH=... python tests/conformance/recorders/torchtune_records.py --package FOLDER --version 0.6.1

Real code: the builders that a config names, `load_dataset("json")`, and every record fetched once. Stood in for: the
tokenizer (one token a word, as the project's own do it with messages), torchao.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from typing import Any

import awkward
import recording
import stubs


def setups() -> dict[str, tuple[str, dict[str, Any]]]:
    """Setup -> form, and the data set of the config."""

    def one(form: str, builder: str, **more: Any) -> tuple[str, dict[str, Any]]:
        told = {"_component_": f"torchtune.datasets.{builder}", "source": "json", "split": "train"}
        return form, {"dataset": {**told, "data_files": "data.jsonl", **more}}

    return {
        "alpaca": one("alpaca", "alpaca_dataset"),
        "alpaca, packed": one("alpaca", "alpaca_dataset", packed=True),
        "instruct": one("prompt-completion", "instruct_dataset", column_map={"input": "prompt", "output":
            "completion"}),
        "openai": one("messages", "chat_dataset", conversation_column="messages", conversation_style="openai"),
        "sharegpt": one("sharegpt", "chat_dataset", conversation_column="conversations",
            conversation_style="sharegpt"),
        "alpaca, array": one("alpaca array", "alpaca_dataset", data_files="data.json"),
        "text": one("text", "text_completion_dataset", column="text"),
        "text, packed": one("text", "text_completion_dataset", column="text", packed=True),
        "preference": one("preference messages", "preference_dataset"),
    }  # fmt: skip


def tokenizer(limit: int) -> Any:
    """One token a word; what the assistant says is trained on, and long conversations are cut."""
    from torchtune.data import truncate
    from torchtune.modules.transforms import Transform

    class Words(Transform):  # type: ignore[misc]
        max_seq_len = limit
        pad_id = 0
        eos_id = 1

        def encode(self, text: str, add_bos: bool = True, add_eos: bool = True) -> list[int]:
            return [3 + len(word) for word in text.split()] + ([1] if add_eos else [])

        def tokenize_messages(self, messages: Any, add_eos: bool = True) -> tuple[list[int], list[bool]]:
            tokens: list[int] = []
            mask: list[bool] = []
            for message in messages:
                ids = self.encode(message.text_content)
                tokens += ids
                mask += [message.masked] * len(ids)
            return truncate(tokens, self.max_seq_len, 1), truncate(mask, self.max_seq_len, True)

        def __call__(self, sample: Any, inference: bool = False) -> Any:
            tokens, mask = self.tokenize_messages(sample.pop("messages"))
            return {**sample, "tokens": tokens, "mask": mask}

    return Words()


def run(case: dict[str, Any]) -> dict[str, Any]:
    from torchtune import datasets

    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            with open(case["dataset"]["data_files"], "w", encoding="utf-8", newline="") as stream:
                stream.write(awkward.load()[case["file"]])
            told = dict(case["dataset"])
            builder = getattr(datasets, told.pop("_component_").rpartition(".")[2])
            data = builder(tokenizer(awkward.LIMIT), cache_dir=folder, **told)
            for index in range(len(data)):
                data[index]
            return {"records": len(data)}
        finally:
            os.chdir(here)


def main() -> None:
    options = recording.arguments("Record torchtune's records.", "torchtune_records.json")
    import datasets

    stubs.install("torchao", "PIL")
    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    recording.all_cases(options, awkward.cases(setups(), options.only), run, "torchtune", "datasets")


if __name__ == "__main__":
    main()
