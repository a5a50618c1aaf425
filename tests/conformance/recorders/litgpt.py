"""Record LitGPT's LoRA fine-tuning on the CPU: accumulation, scheduler length, updates, evaluations, checkpoints,
errors.

    python tests/conformance/recorders/litgpt.py --out FILE

Real code: the JSON data module, TrainArgs, ``finetune.lora.main`` and its ``fit`` with a GPT of a few hundred weights.
Stood in for: tokenizer (one token a letter), loading, saving and merging of checkpoints, printing of examples.
"""

from __future__ import annotations

import contextlib
import functools
import io
import json
import pathlib
import tempfile
import warnings
from typing import Any

import recording

TRAIN = {"global_batch_size": 8, "micro_batch_size": 2, "lr_warmup_steps": 2, "epochs": 3, "max_seq_length": 32}
EVAL = {"interval": 1000, "max_new_tokens": 4, "max_iters": 1}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``n`` rows in one file (or ``folder``: rows of train and val), arguments, ``devices``."""
    out: dict[str, dict[str, Any]] = {}

    def add(
        name: str, n: int = 100, fraction: float | None = None, folder: tuple[int, int] | None = None, **more: Any
    ) -> None:
        evaluation = {**EVAL, **more.pop("eval", {})}
        train = {key: value for key, value in {**TRAIN, **more}.items() if value != "(absent)"}
        spec: dict[str, Any] = {"n": n, "train": train, "eval": evaluation, "devices": 1}
        if fraction is not None:
            spec["val_split_fraction"] = fraction
        if folder:
            spec["folder"] = list(folder)
        out[name] = spec

    for n, total, micro, epochs in (
        (100, 8, 2, 3), (100, 8, 2, 1), (100, 8, 8, 3), (31, 8, 2, 3), (31, 8, 8, 1), (500, 8, 2, 1), (10, 6, 2, 3),
        (33, 8, 4, 2), (7, 8, 2, 3),
        (7, 64, 4, 1), (19, 8, 2, 2), (20, 8, 2, 2), (21, 8, 2, 2), (64, 16, 4, 3), (128, 32, 1, 2), (100, 6, 4, 2),
        (100, 7, 2, 2),
    ):  # fmt: skip
        add(
            f"length/n{n} g{total} m{micro} e{epochs}",
            n,
            global_batch_size=total,
            micro_batch_size=micro,
            epochs=epochs,
        )
    for fraction in (0.0, 0.01, 0.1, 0.5, 0.99, 1.0):
        add(f"split/{fraction}", fraction=fraction)
    add("split/0.1 of 11", 11, 0.1)
    add("split/folder", folder=(40, 8))
    for warmup in (0, 1, 5, 10, 35, 36, 37, 100, None):
        add(f"warmup/{warmup} of 36", lr_warmup_steps=warmup)
    add("warmup/100 of 3", 31, epochs=1, lr_warmup_steps=100)
    add("warmup/3 of 3", 31, epochs=1, lr_warmup_steps=3)
    add("warmup/fraction", lr_warmup_steps=None, lr_warmup_fraction=0.1)
    add("warmup/fraction and steps", lr_warmup_fraction=0.1)
    add("warmup/fraction above 1", lr_warmup_steps=None, lr_warmup_fraction=1.5)
    for steps in (1, 5, 20, 100):
        add(f"max/{steps}", max_steps=steps)
    add("max/5, warmup 10", max_steps=5, lr_warmup_steps=10)
    add("max/0", max_steps=0)
    add("max/without epochs", epochs=None, max_steps=5)
    add("epochs/absent", epochs="(absent)")
    add("epochs/0", epochs=0)
    add("epochs/1.5", epochs=1.5)
    add("batch/global below micro", global_batch_size=2, micro_batch_size=4)
    add("batch/global 0", global_batch_size=0)
    add("batch/micro 0", micro_batch_size=0)
    add(
        "batch/defaults of the class",
        global_batch_size="(absent)",
        micro_batch_size="(absent)",
        lr_warmup_steps="(absent)",
    )
    add("unsupported/max_tokens", max_tokens=1000)
    add("unsupported/max_norm", max_norm=1.0)
    add("unsupported/tie_embeddings", tie_embeddings=True)
    add("unsupported/no new tokens", eval={"max_new_tokens": None})
    add("unknown/key", warmup=5)
    for interval in (5, 10, 33, 100):
        add(f"cadence/eval {interval}", eval={"interval": interval})
    for interval in (5, 10, 100, None):
        add(f"cadence/save {interval}", save_interval=interval)
    add("cadence/first and no last", eval={"initial_validation": True, "final_validation": False})
    add("cadence/eval 0", eval={"interval": 0})
    for devices, total, micro in ((2, 8, 2), (4, 8, 2), (8, 8, 2), (2, 6, 2), (3, 8, 2), (8, 64, 4), (16, 8, 1)):
        name = f"devices/{devices} g{total} m{micro}"
        add(name, global_batch_size=total, micro_batch_size=micro)
        out[name]["devices"] = devices
    return out


class Letters:
    """A tokenizer: one token a letter, 0 for padding."""

    eos_id = 1

    def __init__(self, folder: Any) -> None:
        pass

    def encode(self, text: str, device: Any = None, bos: Any = None, eos: bool = False, max_length: int = -1) -> Any:
        import torch

        tokens = [2 + ord(letter) % 29 for letter in text] + [1] * eos
        return torch.tensor(tokens[:max_length] if max_length > 0 else tokens, dtype=torch.int32)


def train(spec: dict[str, Any]) -> dict[str, Any]:
    """Run one case. ``scheduled``: the length the schedule was built for. ``evaluations``: after which update."""
    import lightning
    import torch
    from litgpt.args import EvalArgs, TrainArgs
    from litgpt.data import JSON
    from litgpt.finetune import lora as real

    arguments = TrainArgs(**spec["train"])
    if spec["devices"] > 1:  # one process has no replicas: only the division of the batch
        return {"accumulation": arguments.gradient_accumulation_iters(spec["devices"])}
    rates: list[float] = []
    seen: dict[str, Any] = {"evaluations": [], "checkpoints": []}

    def optimizer(name: Any, parameters: Any) -> Any:
        made = torch.optim.SGD(parameters, lr=1.0)
        made.register_step_pre_hook(lambda *rest: rates.append(float(f"{made.param_groups[0]['lr']:.4g}")))
        return made

    def scheduler(optimizer: Any, warmup_steps: int, max_steps: int) -> Any:
        seen["scheduled"] = max_steps
        return kept["get_lr_scheduler"](optimizer, warmup_steps, max_steps)

    def validate(fabric: Any, model: Any, loader: Any, evaluation: Any, verbose: bool = True) -> Any:
        if verbose:
            seen["evaluations"].append(len(rates))
        return kept["validate"](fabric, model, loader, evaluation, verbose=False)

    def loaders(fabric: Any, data: Any, tokenizer: Any, settings: Any) -> Any:
        made = kept["get_dataloaders"](fabric, data, tokenizer, settings)
        seen.update(records=len(data.train_dataset), eval_records=len(data.test_dataset), batches=len(made[0]))
        return made

    nothing = lambda *args, **kwargs: None  # noqa: E731
    kept = {name: getattr(real, name) for name in ("get_lr_scheduler", "validate", "get_dataloaders")}
    changed = {
        "Tokenizer": Letters,
        "instantiate_torch_optimizer": optimizer,
        "get_lr_scheduler": scheduler,
        "validate": validate,
        "get_dataloaders": loaders,
        "save_lora_checkpoint": lambda fabric, model, path: seen["checkpoints"].append(len(rates)),
        **dict.fromkeys(
            (
                "load_checkpoint",
                "copy_config_files",
                "save_hyperparameters",
                "save_prompt_style",
                "merge_lora",
                "generate_example",
            ),
            nothing,
        ),
        "create_finetuning_performance_report": lambda *rest: "",
    }
    before = {name: getattr(real, name) for name in changed}
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)

        def write(name: str, count: int) -> None:
            rows = [{"instruction": "ab", "output": "cd"} for _ in range(count)]
            (place / name).write_text(json.dumps(rows), encoding="utf-8")

        if "folder" in spec:
            write("train.json", spec["folder"][0])
            write("val.json", spec["folder"][1])
            data = JSON(json_path=place, prompt_style="alpaca", num_workers=0)
        else:
            write("data.json", spec["n"])
            fraction = {"val_split_fraction": spec["val_split_fraction"]} if "val_split_fraction" in spec else {}
            data = JSON(json_path=place / "data.json", prompt_style="alpaca", num_workers=0, **fraction)
        config = real.Config(
            n_layer=1, n_head=1, n_embd=8, vocab_size=32, padded_vocab_size=32, block_size=64, lora_r=1, lora_query=True
        )  # fmt: skip
        fabric = lightning.Fabric(accelerator="cpu", devices=1, precision="32-true")
        for name, value in changed.items():
            setattr(real, name, value)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                real.main(fabric, 1, 1, config, data, place, place / "out", arguments, EvalArgs(**spec["eval"]), "SGD")
        except Exception as problem:
            return {
                **recording.error(problem),
                "updates": len(rates),
                **{key: value for key, value in seen.items() if value},
            }
        finally:
            for name, value in before.items():
                setattr(real, name, value)
    return {
        "accumulation": arguments.gradient_accumulation_iters(1),
        "updates": len(rates),
        **seen,
        **({"peak_share": max(rates), "peak_step": rates.index(max(rates)) + 1} if rates else {}),
        **({"shares": rates} if spec.get("shares") else {}),
    }


def main() -> None:
    """Run all cases and add them to the recording."""
    options = recording.arguments("Record LitGPT's fine-tuning.", "litgpt.json")
    import logging

    import torch

    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    torch.set_num_threads(1)
    chosen = {name: spec for name, spec in cases().items() if name.startswith(options.only)}
    runs = {}
    for name, spec in chosen.items():
        runs[name] = recording.attempt(functools.partial(train, {**spec, "shares": name.startswith("warmup/")}))
        if options.show:
            print(name, runs[name])
    installed = recording.packages("litgpt", "lightning", "torch")
    recording.report(installed["litgpt"], runs)
    if not options.show:
        recording.save(options.out, "recorders/litgpt.py", chosen, installed["litgpt"], runs, installed)


if __name__ == "__main__":
    main()
