"""Records what Unsloth's command and its older script refuse, and what its trainer hands to transformers.

    PYTHONPATH=... python tests/conformance/recorders/unsloth.py --package UNPACKED_WHEEL --version 2026.10.9
    ... --script FILE        # with the repository's unsloth-cli.py: its cases too

Real code: the command's options and config classes (typer, pydantic), the studio's `UnslothTrainer` from
`start_training` to `SFTConfig(...)`, transformers' `TrainingArguments` and `Trainer` behind it; of the script its
argparse and `run`. Stood in for: models, tokenizers, the loading of data (a number of rows), TRL's packing and masks
(`SFTConfig` is TrainingArguments with the keys it has), kernels, and what else the studio imports.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import os
import runpy
import sys
import tempfile
from typing import Any
from unittest import mock

import recording
import stubs

STUBBED = (
    "aiofiles", "bitsandbytes", "cryptography", "easydict", "evaluate", "fastapi", "jwt", "matplotlib", "mlx",
    "modelscope", "multipart", "peft", "PIL", "pwdlib", "sentence_transformers", "snac", "soundfile", "starlette",
    "structlog", "unsloth", "unsloth_zoo", "uvicorn", "wandb",
)  # fmt: skip

_HEAD = "model: some/model\ndata:\n  dataset: some/data\n"


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: `kind` (command or script), the config's `text` and its `file` name, `flags`, `n` rows."""
    out: dict[str, dict[str, Any]] = {}

    def config(name: str, training: str = "", more: str = "", flags: str = "", n: int = 1000, head: str = _HEAD,
               file: str = "config.yaml") -> None:  # fmt: skip
        section = "training:\n" + "".join(f"  {line}\n" for line in training.split("; ")) if training else ""
        text = head + section + more
        out[f"config/{name}"] = {"kind": "command", "file": file, "text": text, "flags": flags, "n": n}

    def plain(name: str, flags: str, n: int = 1000) -> None:
        told = f"--model some/model --dataset some/data {flags}".strip()
        out[f"flags/{name}"] = {"kind": "command", "flags": told, "n": n}

    def script(name: str, flags: str, n: int = 1000) -> None:
        out[f"script/{name}"] = {"kind": "script", "flags": flags, "n": n}

    config("defaults")
    for n, batch, accumulation, epochs in (
        (1000, 2, 4, 1), (1000, 8, 1, 3), (1001, 2, 4, 3), (39, 4, 16, 2), (7, 2, 4, 3), (100, 1, 1, 1), (5, 8, 4, 2),
    ):  # fmt: skip
        config(f"length/n{n} b{batch} a{accumulation} e{epochs}",
               f"batch_size: {batch}; gradient_accumulation_steps: {accumulation}; num_epochs: {epochs}",
               n=n)  # fmt: skip
    for limit in (0, 1, 30, 500, -1):
        config(f"limit/{limit}", f"max_steps: {limit}; num_epochs: 2", n=100)
    config("limit/without epochs", "num_epochs: 0; max_steps: 30", n=100)
    config("epochs/0", "num_epochs: 0", n=100)
    config("epochs/negative", "num_epochs: -1", n=100)
    config("epochs/fraction", "num_epochs: 1.5", n=100)
    config("epochs/whole float", "num_epochs: 2.0", n=100)
    config("epochs/text", "num_epochs: '2'", n=100)
    config("epochs/word", "num_epochs: three", n=100)
    config("epochs/null", "num_epochs: null", n=100)
    for warm in (0, 5, 100, -1):
        config(f"warmup/{warm}", f"warmup_steps: {warm}; num_epochs: 1")
    config("warmup/fraction", "warmup_steps: 0.1; num_epochs: 1")
    config("warmup/ratio", "warmup_ratio: 0.1; num_epochs: 1")
    config("rate/plain", "learning_rate: 2e-5; num_epochs: 1")
    config("rate/text", "learning_rate: '2e-5'; num_epochs: 1")
    config("rate/negative", "learning_rate: -1.0e-4; num_epochs: 1")
    config("rate/zero", "learning_rate: 0; num_epochs: 1")
    config("rate/word", "learning_rate: high; num_epochs: 1")
    config("batch/0", "batch_size: 0")
    config("batch/negative", "batch_size: -2")
    config("batch/fraction", "batch_size: 2.5")
    config("accumulation/0", "gradient_accumulation_steps: 0; num_epochs: 1", n=100)
    config("accumulation/negative", "gradient_accumulation_steps: -1; num_epochs: 1", n=100)
    for steps in (0, 10, -5):
        config(f"save/{steps}", f"save_steps: {steps}; num_epochs: 1")
    config("save/fraction", "save_steps: 0.5; num_epochs: 1")
    config("decay/text", "weight_decay: '0.1'; num_epochs: 1")
    config("key/misspelt", "gradient_acumulation_steps: 8")
    config("key/far", "whatever: 8")
    config("key/of another section", "lora_r: 8")
    config("key/dashes", "batch-size: 4")
    config("key/optimizer", "optim: adamw_8bit")
    config("key/scheduler", "lr_scheduler_type: cosine")
    config("key/at the top", more="batch_size: 4\n")
    config("key/section misspelt", more="trainig:\n  batch_size: 4\n")
    config("key/section unknown", more="inference:\n  temperature: 1.5\n")
    config("key/twice", "batch_size: 4; batch_size: 8")
    config("type/full", "training_type: full; num_epochs: 1")
    config("type/upper", "training_type: LoRA; num_epochs: 1")
    config("type/qlora", "training_type: qlora; num_epochs: 1")
    config("checkpointing/true", "gradient_checkpointing: true; num_epochs: 1")
    config("checkpointing/false", "gradient_checkpointing: false; num_epochs: 1")
    config("modules/list", more="lora:\n  target_modules: [q_proj, v_proj]\n")
    config("modules/text", more="lora:\n  target_modules: q_proj,v_proj\n")
    config("rank/0", more="lora:\n  lora_r: 0\n", n=10)
    config("data/none", head="model: some/model\n")
    config("data/one file as text", head="model: some/model\ndata:\n  local_dataset: data.json\n")
    config("data/files", head="model: some/model\ndata:\n  local_dataset: [data.json]\n")
    config("data/format", head=f"{_HEAD}  format_type: sharegpt\n")
    config("data/format raw", head=f"{_HEAD}  format_type: raw\n")
    config("data/format unknown", head=f"{_HEAD}  format_type: openai\n")
    config("model/none", head="data:\n  dataset: some/data\n")
    config("section/null", more="training:\n")
    config("section/list", more="training: [1]\n")
    config("file/json", head='{"model": "some/model", "data": {"dataset": "some/data"}, '
           '"training": {"num_epochs": 1}}', file="config.json")  # fmt: skip
    config("file/list", head="- model: some/model\n")
    config("file/yaml named json", "num_epochs: 1", file="config.json")
    config("file/json named toml", head="model = 'some/model'\n", file="config.toml")
    config("overridden", "num_epochs: 3; max_steps: 50", flags="--max-steps 0 --num-epochs 1")
    config("overridden type", "num_epochs: 3", flags="--training-type qlora")

    plain("defaults", "")
    plain("epochs", "--num-epochs 1 --batch-size 4 --gradient-accumulation-steps 2")
    plain("limit", "--max-steps 60 --warmup-steps 10")
    plain("underscores", "--num_epochs 1")
    plain("misspelt", "--num-epoch 1")
    plain("of transformers", "--num-train-epochs 1")
    plain("epochs fraction", "--num-epochs 1.5")
    plain("switch", "--packing --no-load-in-4bit --num-epochs 1")
    plain("switch with a value", "--packing true --num-epochs 1")
    plain("rate word", "--learning-rate high")
    plain("rate", "--learning-rate 5e-5 --num-epochs 1")
    plain("type unknown", "--training-type qlora --num-epochs 1")
    plain("no value", "--num-epochs")

    script("defaults", "")
    script("limit", "--max_steps 60")
    script("limit/0", "--max_steps 0", 100)
    script("limit/-1", "--max_steps -1", 1000)
    script("batch", "--per_device_train_batch_size 4 --gradient_accumulation_steps 2 --max_steps -1")
    script("warmup", "--warmup_steps 50 --max_steps 40")
    script("warmup/ratio", "--warmup_ratio 0.1")
    script("epochs", "--num_train_epochs 3")
    script("abbreviated", "--max_step 60")
    script("dashes", "--max-steps 60")
    script("4bit with a value", "--load_in_4bit true")
    script("rate word", "--learning_rate high")
    script("report unknown", "--report_to nothing")
    script("schedule unknown", "--lr_scheduler_type cosin --max_steps 10")
    script("schedule", "--lr_scheduler_type cosine --max_steps 10")
    script("batch/fraction", "--per_device_train_batch_size 2.5")
    return out


class Kept:
    """What the trainer was given and did."""

    def __init__(self) -> None:
        self.told: dict[str, Any] = {}


def _trainer(kept: Kept) -> tuple[Any, Any]:
    """`SFTConfig` and `SFTTrainer`: transformers' own, with one weight."""
    import torch
    import transformers

    saved: list[int] = []

    def config(**given: Any) -> Any:
        names = transformers.TrainingArguments.__dataclass_fields__
        known = {key: value for key, value in given.items() if key in names}
        known.update(fp16=False, bf16=False, use_cpu=True, report_to="none", optim="adamw_torch", disable_tqdm=True)
        known.update(gradient_checkpointing=False, include_num_input_tokens_seen=False)
        arguments = transformers.TrainingArguments(**known)
        for key, value in given.items():
            if key not in names:
                setattr(arguments, key, value)
        return arguments

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))

        def forward(self, x: Any = None, labels: Any = None) -> Any:
            return {"loss": (self.weight * x.float()).mean()}

    class Trainer(transformers.Trainer):  # type: ignore[misc] # of another environment
        def __init__(self, args: Any = None, train_dataset: Any = None, **more: Any) -> None:
            self._rows = len(train_dataset)
            super().__init__(Model(), args, train_dataset=[{"x": torch.ones(1)}] * self._rows)

        def train(self, *inputs: Any, **more: Any) -> Any:
            super().train()
            total = self.state.max_steps
            kept.told = {
                "updates": self.state.global_step,
                "scheduled": total,
                "warmup": self.args.get_warmup_steps(total),
                "batch": self.args.per_device_train_batch_size,
                "accumulation": self.args.gradient_accumulation_steps,
                "rate": self.args.learning_rate,
                "decay": self.args.weight_decay,
                "scheduler": str(getattr(self.args.lr_scheduler_type, "value", self.args.lr_scheduler_type)),
                "saved": saved,
            }

        def _save_checkpoint(self, *inputs: Any, **more: Any) -> None:
            saved.append(self.state.global_step)

        def save_model(self, *inputs: Any, **more: Any) -> None:
            pass

    return config, Trainer


def command(case: dict[str, Any]) -> dict[str, Any]:
    """`unsloth train`, as far as its trainer's end."""
    import datasets
    from typer.testing import CliRunner

    cli = importlib.import_module("unsloth_cli")
    train = importlib.import_module("unsloth_cli.commands.train")
    trainers = importlib.import_module("studio.backend.core.training.trainer")
    kept = Kept()
    config, trainer = _trainer(kept)
    rows = datasets.Dataset.from_dict({"text": ["a text"] * case["n"]})
    real = trainers.UnslothTrainer
    told: dict[str, Any] = {}

    def ready(self: Any, **more: Any) -> bool:
        self.model, self.tokenizer, self.model_name = object(), mock.MagicMock(), "some/model"
        told.update({key: more[key] for key in ("full_finetuning", "load_in_4bit") if key in more})
        return True

    def loaded(self: Any, **more: Any) -> Any:
        return {"dataset": rows, "final_format": "text"}, None

    flags = case["flags"].split()
    if "file" in case:
        with open(case["file"], "w", encoding="utf-8") as file:
            file.write(case["text"])
        flags = ["-c", case["file"], *flags]
    with contextlib.ExitStack() as stack:
        for owner, name, value in (
            (real, "load_model", ready),
            (real, "prepare_model_for_training", lambda self, **more: True),
            (real, "load_and_format_dataset", loaded),
            (real, "_configure_online_tokenization", lambda self, **more: mock.MagicMock(enabled=False)),
            (real, "_finalize_training", lambda self, *inputs, **more: None),
            (real, "_preflight_first_batch", lambda self, *inputs: None),
            (trainers, "SFTConfig", config),
            (trainers, "SFTTrainer", trainer),
            (trainers, "is_bfloat16_supported", lambda: True),
            (trainers, "get_training_chat_template", lambda tokenizer, *inputs: tokenizer),
            (trainers, "resolve_output_dir", lambda name: os.path.abspath("out")),
            (train, "_dataset_modalities", lambda *inputs: (False, False)),
            (train, "_optimizer_for_host", lambda *inputs: "adamw_8bit"),
            (train, "_default_output_dir", lambda *inputs: os.path.abspath("out")),
            (train, "_create_cli_trainer", lambda *inputs: real()),
            (train.time, "sleep", lambda seconds: None),
        ):
            if hasattr(owner, name):  # older versions have fewer of them
                stack.enter_context(mock.patch.object(owner, name, value))
        result = CliRunner().invoke(cli.app, ["train", *flags])
    if result.exit_code:
        raised = result.exception
        if raised is not None and not isinstance(raised, SystemExit):
            raise raised
        return {"error": f"exit {result.exit_code}", "text": _told(result.output)}
    return {**kept.told, **told}


def _told(output: str) -> str:
    """What a command says when it refuses, without frames and usage."""
    words = " ".join(output.replace("│", " ").split())
    for start in ("Error: ", "Error ─"):
        if start in words:
            words = words[words.rindex(start) + len(start) :].strip("─╮╯╰ ")
            break
    return words[: recording.TEXT_LIMIT]


def script(case: dict[str, Any], path: str) -> dict[str, Any]:
    """The repository's script, from argparse to the trainer's end."""
    import datasets
    import transformers
    import trl

    kept = Kept()
    config, trainer = _trainer(kept)
    rows = datasets.Dataset.from_dict({"instruction": ["a"] * case["n"], "input": ["b"] * case["n"],
                                       "output": ["c"] * case["n"]})  # fmt: skip
    stand = mock.MagicMock()
    stand.is_bfloat16_supported.return_value = True
    stand.FastLanguageModel.from_pretrained.return_value = (mock.MagicMock(), mock.MagicMock(eos_token="</s>"))
    stand._IS_MLX = False
    loader = mock.MagicMock()
    loader.prepare_device_map.return_value = (None, False)
    modules = {"unsloth": stand, "unsloth.models": loader, "unsloth.models.loader_utils": loader}
    errors = io.StringIO()
    with (
        mock.patch.object(trl, "SFTConfig", config),
        mock.patch.object(trl, "SFTTrainer", trainer),
        mock.patch.object(datasets, "load_dataset", return_value=rows),
        mock.patch.object(transformers.utils, "strtobool", return_value=False, create=True),
        mock.patch.dict(sys.modules, modules),
        mock.patch.object(sys, "argv", [os.path.basename(path), *case["flags"].split()]),
        contextlib.redirect_stderr(errors),
    ):
        try:
            runpy.run_path(path, run_name="__main__")
        except SystemExit as stopped:
            return {"error": f"exit {stopped.code}", "text": errors.getvalue().rpartition("error: ")[2].strip()}
    return kept.told


def run(case: dict[str, Any], path: str | None) -> dict[str, Any]:
    """One launch."""
    if case["kind"] == "script" and path is None:
        raise LookupError("the script is not there")
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()):
        os.chdir(folder)
        try:
            return script(case, path) if case["kind"] == "script" and path else command(case)
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases that are asked for."""
    asked = argparse.ArgumentParser(add_help=False)
    asked.add_argument("--script")
    told, rest = asked.parse_known_args()
    sys.argv[1:] = rest
    options = recording.arguments(__doc__ or "", "unsloth.json")
    home = tempfile.mkdtemp()
    os.environ.update(UNSLOTH_STUDIO_HOME=home, HF_HUB_OFFLINE="1", CUDA_VISIBLE_DEVICES="", COLUMNS="400")
    if options.package:
        sys.path.insert(1, os.path.join(os.path.abspath(options.package), "studio", "backend"))
    finder = stubs.install(*STUBBED)
    spec = finder.find_spec("unsloth", None, None)
    sys.modules["unsloth"] = finder.create_module(spec)  # before the wheel's own, which wants a GPU
    path = os.path.abspath(told.script) if told.script else None
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, lambda case: run(case, path), "unsloth", "transformers", "pydantic", "typer")


if __name__ == "__main__":
    main()
