"""Records how many rows of each set the mixtures of alignment-handbook, open-r1 and Axolotl take.

    python tests/conformance/recorders/mixtures.py --package CHECKOUT/src --version NAME

NAME: `handbook c8f5bdf` (the last commit with `dataset_mixer`), `handbook 925acdf`, `open-r1 1416fa0`, `axolotl 0.19.0`
(an unpacked wheel). Real code: `get_datasets`, `get_dataset`; of Axolotl `datasets_with_name_generator` and
`_load_and_process_single_dataset`, on small local folders. Stood in for: whatever else the modules import, and what
Axolotl makes of each row.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.machinery
import io
import json
import os
import sys
import tempfile
from typing import Any
from unittest import mock

import recording
import stubs

STUBBED = (
    "art", "bitsandbytes", "deepspeed", "distilabel", "evaluate", "gradio", "jieba", "langdetect",
    "latex2sympy2_extended", "lighteval", "liger_kernel", "math_verify", "mistral_common", "numba", "peft",
    "posthog", "pylatexenc", "torchao", "transformers_stream_generator", "trackio", "triton", "trl", "wandb",
    "xformers",
)  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: rows of each set's splits, and the mixture."""
    out: dict[str, dict[str, Any]] = {}
    sets = {
        "a": {"train": 100, "test": 20},
        "b": {"train": 37, "test": 5},
        "c": {"train": 7, "test": 3},
    }

    def mixer(name: str, shares: dict[str, float], **more: Any) -> None:
        out[f"mixer/{name}"] = {"sets": sets, "dataset_mixer": shares, **more}

    mixer("one", {"a": 1.0})
    mixer("whole number", {"a": 1})
    mixer("half", {"a": 0.5}, dataset_splits=["train", "test"])
    mixer("two", {"a": 1.0, "b": 1.0}, dataset_splits=["train", "test"])
    mixer("two shares", {"a": 0.33, "b": 0.25}, dataset_splits=["train", "test"])
    mixer("three shares", {"a": 0.1, "b": 0.5, "c": 0.3}, dataset_splits=["train", "test"])
    mixer("rounds down to nothing", {"a": 1.0, "c": 0.1}, dataset_splits=["train", "test"])
    mixer("none of one", {"a": 1.0, "b": 0.0}, dataset_splits=["train", "test"])
    mixer("only training", {"a": 0.5, "b": 0.5}, dataset_splits=["train"])
    mixer("two training splits", {"a": 0.5, "b": 1.0}, dataset_splits=["train", "train", "test"])
    mixer("another split's name", {"a": 1.0}, dataset_splits=["validation"])
    mixer("only test", {"a": 1.0}, dataset_splits=["test"])
    mixer("above one", {"a": 1.5}, dataset_splits=["train", "test"])
    mixer("negative", {"a": -0.5}, dataset_splits=["train", "test"])
    mixer("configs of another number", {"a": 1.0, "b": 1.0}, dataset_configs=["default"])

    def mixture(name: str, parts: list[dict[str, Any]], **more: Any) -> None:
        out[f"mixture/{name}"] = {"sets": sets, "dataset_mixture": {"datasets": parts, **more}}

    mixture("one", [{"id": "a"}])
    mixture("weight", [{"id": "a", "weight": 0.5}])
    mixture("weights", [{"id": "a", "weight": 0.33}, {"id": "b", "weight": 0.25}, {"id": "c", "weight": 0.3}])
    mixture("one weight", [{"id": "a", "weight": 0.5}, {"id": "b"}], seed=7)
    mixture("no weight left", [{"id": "a"}, {"id": "b", "weight": None}])
    mixture("zero", [{"id": "a"}, {"id": "b", "weight": 0.0}])
    mixture("split", [{"id": "a", "split": "test"}, {"id": "c", "split": "test"}])
    mixture("slice", [{"id": "a", "split": "train[:10%]"}, {"id": "b", "split": "train[5:]", "weight": 0.5}])
    mixture("held out share", [{"id": "a"}, {"id": "b"}], test_split_size=0.1)
    mixture("held out rows", [{"id": "a"}, {"id": "b"}], test_split_size=12)
    mixture("held out of weights", [{"id": "a", "weight": 0.5}, {"id": "c"}], test_split_size=0.25, seed=3)
    mixture("held out all", [{"id": "c"}], test_split_size=1.0)
    mixture("held out more", [{"id": "c"}], test_split_size=100)
    mixture("held out nothing", [{"id": "c"}], test_split_size=0.0)
    mixture("above one", [{"id": "a", "weight": 1.5}])
    mixture("negative", [{"id": "a", "weight": -0.5}])
    mixture("no sets", [])
    mixture("key unknown", [{"id": "a", "wieght": 0.5}])

    def shards(name: str, **told: Any) -> None:
        out[f"shards/{name}"] = {"sets": sets, "item": {"path": "a", "type": "alpaca", **told}}

    shards("none")
    shards("3 of 100", shards=3, shards_idx=0)
    shards("2 of 3", shards=3, shards_idx=2)
    shards("without place", shards=3)
    shards("more than rows", shards=150, shards_idx=0)
    shards("an empty one", shards=150, shards_idx=120)
    shards("place beyond", shards=3, shards_idx=3)
    shards("preprocessed", preprocess_shards=4)
    shards("preprocessed and one", preprocess_shards=4, shards=2, shards_idx=1)
    return out


def handbook_old(case: dict[str, Any]) -> dict[str, Any]:
    """`get_datasets` as the scripts call it."""
    module = importlib.import_module("alignment.data")
    made = module.get_datasets(
        case["dataset_mixer"],
        splits=case.get("dataset_splits", ["train", "test"]),
        configs=case.get("dataset_configs"),
        columns_to_keep=["messages"],
    )
    return {"rows": {name: len(rows) for name, rows in made.items()}}


def mixture(case: dict[str, Any], package: str) -> dict[str, Any]:
    """`get_dataset` of alignment-handbook or open-r1."""
    module = importlib.import_module(f"{package}.data" if package == "alignment" else "open_r1.utils.data")
    configs = importlib.import_module(f"{package}.configs")
    arguments = configs.ScriptArguments(dataset_name=None, dataset_mixture=case["dataset_mixture"])
    made = module.get_dataset(arguments)
    return {"rows": {name: len(rows) for name, rows in made.items()}}


def axolotl(case: dict[str, Any]) -> dict[str, Any]:
    """The sets that `datasets` in a config becomes."""
    from datasets import load_dataset

    module = importlib.import_module("axolotl.utils.data.sft")
    shared = importlib.import_module("axolotl.utils.data.shared")
    kind = importlib.import_module("axolotl.utils.dict").DictDefault
    rows = 0
    item = kind(case["item"])
    settings = kind({"seed": 42})
    for one in shared.datasets_with_name_generator([item]):
        with (
            mock.patch.object(module, "load_dataset_with_config", return_value=load_dataset("a")),
            mock.patch.object(module, "get_dataset_wrapper", lambda dataset, **more: (dataset, None)),
        ):
            made, _ = module._load_and_process_single_dataset(one, settings, None, "train", 42)
        rows += len(made)
    return {"rows": {"train": rows}}


def run(case: dict[str, Any], version: str) -> dict[str, Any]:
    """One mixture in a folder of its own."""
    kind = "mixer" if "dataset_mixer" in case else "mixture" if "dataset_mixture" in case else "shards"
    reader = {"handbook c8f5bdf": "mixer", "axolotl 0.19.0": "shards"}.get(version, "mixture")
    if kind != reader:
        raise LookupError(kind)
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        os.environ["HF_HOME"] = os.path.join(folder, "home")
        for name, splits in case["sets"].items():
            os.makedirs(name)
            for split, count in splits.items():
                with open(os.path.join(name, f"{split}.jsonl"), "w", encoding="utf-8") as file:
                    file.writelines(
                        json.dumps({"messages": [{"role": "user", "content": f"{name} {row}"}]}) + "\n"
                        for row in range(count)
                    )
        try:
            if kind == "mixer":
                return handbook_old(case)
            if kind == "shards":
                return axolotl(case)
            return mixture(case, "open_r1" if version.startswith("open-r1") else "alignment")
        finally:
            os.chdir(here)


def _older_names() -> None:
    """A config class that trl has given up, and that the handbook imports."""
    with contextlib.suppress(ImportError):
        trl = importlib.import_module("trl")
        if not hasattr(trl, "ORPOConfig"):
            trl.ORPOConfig = trl.SFTConfig  # type: ignore[attr-defined] # for the import


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "mixtures.json")
    os.environ.update(HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="")
    finder = stubs.install(*STUBBED)
    other = "alignment.decontaminate"  # it loads data of a hub when it is imported
    sys.modules[other] = finder.create_module(importlib.machinery.ModuleSpec(other, finder))
    _older_names()
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, lambda case: run(case, options.version), "mixtures", "datasets", "trl")


if __name__ == "__main__":
    main()
