"""Record OpenRLHF's commands on the CPU: what its parsers and checks refuse, the schedule's length, the real updates.

    python tests/conformance/recorders/openrlhf.py --package UNPACKED_OPENRLHF_WHEEL --version 0.11.2 --out FILE

Real code: the script of each command from its first line (argparse, its own assertions, `train`), DeepspeedStrategy
with its accumulation, loaders and sampler, the trainers' loops, DeepSpeed's own config class (its batch checks),
transformers' schedules; of ``train_ppo_ray`` the parser, the checks and ``prepare_datasets``. Stood in for: the model
(one weight), the rows, the process group (its size is what the case says), Ray, and DeepSpeed's engine, which here as
there updates after each ``gradient_accumulation_steps`` micro-batches, over the ends of epochs.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import runpy
import shlex
import sys
import tempfile
import types
from typing import Any
from unittest import mock

import recording
import stubs

STUBBED = (
    "PIL", "aiohttp", "bitsandbytes", "datasets", "flash_attn", "jsonlines", "liger_kernel", "modelscope", "optree",
    "peft", "pylatexenc", "ray", "ring_flash_attn", "vllm", "wandb",
)  # fmt: skip
# The flags since 0.10.2 and their names before.
_OLD = {
    "--train.batch_size": "--train_batch_size",
    "--train.micro_batch_size": "--micro_train_batch_size",
    "--train.max_epochs": "--max_epochs",
    "--data.max_samples": "--max_samples",
    "--ds.ring_attn_size": "--ring_attn_size",
    "--ds.tensor_parallel_size": "--ds_tensor_parallel_size",
    "--ds.packing_samples": "--packing_samples",
    "--ds.param_dtype": "--param_dtype",
    "--data.multiturn": "--multiturn",
    "--adam.lr": "--learning_rate",
    "--actor.adam.lr": "--actor_learning_rate",
    "--train.num_episodes": "--num_episodes",
    "--rollout.batch_size": "--rollout_batch_size",
    "--rollout.micro_batch_size": "--micro_rollout_batch_size",
    "--rollout.n_samples_per_prompt": "--n_samples_per_prompt",
    "--rollout.vllm_generate_batch_size": "--vllm_generate_batch_size",
    "--algo.advantage.estimator": "--advantage_estimator",
    "--actor.num_nodes": "--actor_num_nodes",
    "--actor.num_gpus_per_node": "--actor_num_gpus_per_node",
    "--actor.model_name_or_path": "--pretrain",
    "--reward.remote_url": "--remote_rm_url",
    "--eval.dataset": "--eval_dataset",
    "--eval.steps": "--eval_steps",
    "--train.async_enable": "--async_train",
    "--train.partial_rollout_enable": "--partial_rollout",
    "--algo.dynamic_filtering_enable": "--dynamic_filtering",
    "--algo.dynamic_filtering_range": "--dynamic_filtering_reward_range",
    "--vllm.num_engines": "--vllm_num_engines",
    "--vllm.enable_sleep": "--vllm_enable_sleep",
    "--train.colocate_all": "--colocate_all_models",
    "--data.max_images_per_prompt": "--max_images_per_prompt",
    "--ckpt.save_steps": "--save_steps",
    "--algo.kl.estimator": "--kl_estimator",
    "--train.max_epchs": "--max_epchs",
    "--rollout.batchsize": "--rollout_batchsize",
    "--rollout.n_samples": "--n_samples",
    "--reward.model_name_or_path": "--reward_pretrain",
}


def before(flags: str) -> str:
    """A case's flags as they were spelt up to 0.10.1."""
    return " ".join(_OLD.get(word, word) for word in flags.split(" "))


def dotted(version: str) -> bool:
    return tuple(int(part) for part in version.split(".")[:3]) >= (0, 10, 2)


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: `kind` of command, its `flags` (since 0.10.2, and `before`), `n` rows, `world` processes."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, kind: str, flags: str, n: int = 1000, world: int = 8) -> None:
        out[f"{kind}/{name}"] = {"kind": kind, "flags": flags, "before": before(flags), "n": n, "world": world}

    def sizes(batch: Any, micro: Any, epochs: Any, more: str = "") -> str:
        return f"--train.batch_size {batch} --train.micro_batch_size {micro} --train.max_epochs {epochs} {more}".strip()

    for kind in ("sft", "dpo", "rm"):
        for n, world, batch, micro, epochs in (
            (1000, 8, 64, 2, 1), (1000, 8, 64, 2, 2), (1000, 1, 64, 2, 3), (1000, 1, 64, 64, 3), (130, 1, 128, 8, 2),
            (127, 1, 128, 8, 2), (127, 1, 128, 8, 1), (100, 2, 16, 2, 3), (101, 3, 12, 1, 2), (1000, 4, 128, 4, 5),
            (33, 8, 32, 4, 4), (31, 2, 4, 1, 3), (999, 8, 8, 1, 1),
        ):  # fmt: skip
            add(f"length/n{n} w{world} b{batch} m{micro} e{epochs}", kind, sizes(batch, micro, epochs), n, world)
        for ratio in ("0", "0.1", "0.5", "1.0"):
            add(f"warmup/{ratio}", kind, sizes(64, 2, 2, f"--lr_warmup_ratio {ratio}"))
        add("warmup/constant", kind, sizes(64, 2, 2, "--lr_scheduler constant"))
        add("cap/300", kind, sizes(64, 2, 1, "--data.max_samples 300"))
        add("cap/5000", kind, sizes(64, 2, 1, "--data.max_samples 5000"))
        add("ring/2", kind, sizes(64, 2, 1, "--ds.ring_attn_size 2 --ds.packing_samples"))
        add("defaults", kind, "", 1000, 1)
        # refusals
        add("batch/not divisible", kind, sizes(100, 8, 1))
        add("batch/six workers", kind, sizes(64, 2, 1), 1000, 6)
        add("batch/too small", kind, sizes(8, 4, 1))
        add("batch/0", kind, sizes(0, 2, 1))
        add("batch/micro 0", kind, sizes(64, 0, 1))
        add("epochs/0", kind, sizes(64, 2, 0))
        add("epochs/fraction", kind, sizes(64, 2, 1.5))
        add("epochs/word", kind, sizes(64, 2, "three"))
        add("batch/fraction", kind, sizes("64.0", 2, 1))
        add("rate/word", kind, sizes(64, 2, 1, "--adam.lr 1e-5x"))
        add("key/misspelt", kind, sizes(64, 2, 1, "--train.max_epchs 2"))
        add("key/far", kind, sizes(64, 2, 1, "--whatever 2"))
        add("key/abbreviated", kind, sizes(64, 2, 1, "--lr_warmup 0.1"))
        add("key/of transformers", kind, sizes(64, 2, 1, "--num_train_epochs 2"))
        add("value/missing", kind, sizes(64, 2, 1, "--lr_scheduler"))
        add("value/dtype", kind, sizes(64, 2, 1, "--ds.param_dtype fp32"))
        add("value/scheduler", kind, sizes(64, 2, 1, "--lr_scheduler cosine_with_mn_lr"))
        add("ring/not packed", kind, sizes(64, 2, 1, "--ds.ring_attn_size 2"))
        add("too few rows", kind, sizes(64, 2, 1), 20, 8)
    add("multiturn without template", "sft", sizes(64, 2, 1, "--data.multiturn"))

    base = "--actor.model_name_or_path m --reward.remote_url r --vllm.num_engines 2"

    def online(name: str, flags: str, n: int = 1000) -> None:
        add(name, "ppo_ray", f"{base} {flags}", n, 1)

    sizes_ = "--train.batch_size {} --rollout.batch_size {} --rollout.n_samples_per_prompt {} --train.num_episodes {}"
    for n, batch, rollout, answers, episodes, epochs in (
        (1000, 128, 1024, 8, 2, 1), (1000, 128, 128, 1, 1, 1), (1000, 128, 128, 8, 1, 2), (100, 128, 1024, 1, 20, 1),
        (16, 128, 128, 8, 3, 1), (999, 64, 128, 3, 1, 1), (20000, 128, 1024, 1, 1, 1),
    ):  # fmt: skip
        told = sizes_.format(batch, rollout, answers, episodes) + f" --train.max_epochs {epochs}"
        told += "" if answers < 2 else " --algo.advantage.estimator group_norm"
        online(f"length/n{n} b{batch} r{rollout} a{answers} ep{episodes} e{epochs}", told, n)
    online("cap/100", "--data.max_samples 100 --train.batch_size 16")
    for estimator in ("rloo", "reinforce_baseline", "group_norm", "gae", "reinforce"):
        online(f"one answer/{estimator}", f"--algo.advantage.estimator {estimator}")
    online("answers/dr_grpo", "--algo.advantage.estimator dr_grpo")
    online("estimator/grpo", "--algo.advantage.estimator grpo --rollout.n_samples_per_prompt 8")
    online("partial without async", "--train.partial_rollout_enable")
    online("async with sleep", "--train.async_enable --vllm.enable_sleep --train.colocate_all")
    online("more generated", "--rollout.vllm_generate_batch_size 2048")
    online("filter/one answer", "--algo.dynamic_filtering_enable")
    online("filter/range", "--algo.dynamic_filtering_enable --algo.dynamic_filtering_range 1 0 "
           "--rollout.n_samples_per_prompt 8")  # fmt: skip
    online("few batches", "--rollout.batch_size 4 --actor.num_gpus_per_node 8")
    online("few batches, micro", "--rollout.batch_size 16 --rollout.micro_batch_size 4 --actor.num_gpus_per_node 8")
    online("images and critic", "--data.max_images_per_prompt 2")
    online("packing without engines", "--ds.packing_samples --vllm.num_engines 0")
    online("key/misspelt", "--rollout.batchsize 128")
    online("key/of sft", "--learning_rate 1e-6")
    online("key/abbreviated", "--rollout.n_samples 8 --algo.advantage.estimator rloo")
    online("kl/k4", "--algo.kl.estimator k4")
    add("evaluation without reward", "ppo_ray", "--actor.model_name_or_path m --vllm.num_engines 2 --eval.dataset e "
        "--reward.model_name_or_path r")  # fmt: skip
    return out


class Asked(Exception):  # noqa: N818 # no error
    """The steps are known: `train` ends here."""


class Rows:
    """A number of rows: the data set, what is selected of it, and the trainer's own wrapper."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def select(self, chosen: Any) -> Rows:
        return Rows(len(chosen))

    def __getitem__(self, index: int) -> int:
        return index

    def collate_fn(self, items: Any) -> Any:
        import torch

        one = torch.ones(len(items), 4)
        return (one, one, one, one, one) if self.wide else (one, one, one)

    wide = True


def run(case: dict[str, Any], version: str) -> dict[str, Any]:
    """One command, from its flags to the end of its training."""
    import torch

    kind, world = case["kind"], case["world"]
    told: dict[str, Any] = {}
    rows = Rows(case["n"])
    script = importlib.util.find_spec(f"openrlhf.cli.train_{kind}")  # type: ignore[attr-defined] # of importlib
    if script is None:
        raise LookupError(kind)
    strategy_module = importlib.import_module("openrlhf.utils.deepspeed.deepspeed")

    class Weight(torch.nn.Module):  # type: ignore[misc] # torch is not here when this is checked
        def __init__(self, *inputs: Any, **more: Any) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(1))
            self.model = self.weight_holder = torch.nn.Module()
            self.model.weight = self.weight
            self.model.config = types.SimpleNamespace()

        def forward(self, *inputs: Any, **more: Any) -> Any:
            out = inputs[0] * self.weight
            return (out, types.SimpleNamespace(aux_loss=0, logits=out)) if more.get("return_output") else out

        def gradient_checkpointing_enable(self, *inputs: Any, **more: Any) -> None:
            pass

    class Engine(torch.nn.Module):  # type: ignore[misc] # likewise
        def __init__(self, model: Any, config: Any, lr_scheduler: Any) -> None:
            super().__init__()
            self.module = model
            self.optimizer = optimizer(())
            self.scheduler = lr_scheduler(self.optimizer) if callable(lr_scheduler) else lr_scheduler
            self.gas, self.micro, self.global_steps = accumulation(config, world), 0, 0

        def forward(self, *inputs: Any, **more: Any) -> Any:
            return self.module(*inputs, **more)

        def backward(self, loss: Any) -> None:
            pass

        def step(self) -> None:
            self.micro += 1
            if self.micro % self.gas == 0:
                self.global_steps += 1
                self.optimizer.step()
                self.scheduler.step()
            told["updates"] = self.global_steps

    def initialize(model: Any, config: Any, lr_scheduler: Any = None, **more: Any) -> Any:
        if lr_scheduler is None:
            return model, None, None, None
        engine = Engine(model, config, lr_scheduler)
        return engine, engine.optimizer, None, engine.scheduler

    def optimizer(parameters: Any, *inputs: Any, **more: Any) -> Any:
        return torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)

    schedule = importlib.import_module("transformers.optimization").get_scheduler

    def scheduled(name: str, *inputs: Any, **more: Any) -> Any:
        told.update(warmup=more["num_warmup_steps"], schedule=more["num_training_steps"])
        return schedule(name, *inputs, **more)

    class Mesh:
        def __init__(self, device: str, shape: tuple[int, ...], mesh_dim_names: tuple[str, ...]) -> None:
            self.sizes = dict(zip(mesh_dim_names, shape, strict=True))

        def __getitem__(self, name: str) -> Any:
            return types.SimpleNamespace(get_group=lambda: self.sizes[name])

    patches = [
        mock.patch("torch.distributed.is_initialized", return_value=True),
        mock.patch("torch.distributed.get_world_size", lambda group=None: world if group is None else group),
        mock.patch("torch.distributed.get_rank", return_value=0),
        mock.patch("torch.distributed.all_reduce", return_value=None),
        mock.patch("torch.distributed.barrier", return_value=None),
        mock.patch("torch.cuda.current_device", return_value="cpu"),
        mock.patch("torch.cuda.empty_cache", return_value=None),
        mock.patch("torch.cuda.synchronize", return_value=None),
        mock.patch.object(strategy_module, "init_device_mesh", Mesh),
        mock.patch.object(strategy_module.DeepspeedStrategy, "setup_ring_attn", return_value=None),
        mock.patch.object(strategy_module.DeepspeedStrategy, "all_reduce", lambda self, data, op="mean": data),
        mock.patch.object(strategy_module.DeepspeedStrategy, "all_gather", lambda self, data: data),
        mock.patch.object(strategy_module.DeepspeedStrategy, "save_model", return_value=None),
        mock.patch.object(strategy_module.DeepspeedStrategy, "save_ckpt", return_value=None),
        mock.patch.object(strategy_module.DeepspeedStrategy, "get_grad_norm", return_value=0.0),
        mock.patch.object(strategy_module, "Actor", Weight),
        mock.patch.object(strategy_module, "FusedAdam", optimizer, create=True),
        mock.patch.object(strategy_module, "get_scheduler", scheduled, create=True),
        mock.patch("transformers.trainer.get_scheduler", scheduled),
        mock.patch("deepspeed.initialize", initialize),
        mock.patch("deepspeed.init_distributed", return_value=None),
        mock.patch("openrlhf.models.Actor", Weight),
        mock.patch("openrlhf.models.get_llm_for_sequence_regression", return_value=Weight(), create=True),
        mock.patch("openrlhf.utils.get_tokenizer", return_value=types.SimpleNamespace(pad_token_id=0)),
        mock.patch("openrlhf.datasets.utils.blending_datasets", return_value=rows),
        mock.patch("openrlhf.datasets.SFTDataset", lambda data, *inputs, **more: wrapped(data, wide=False)),
        mock.patch("openrlhf.datasets.RewardDataset", lambda data, *inputs, **more: wrapped(data, wide=True)),
        mock.patch("transformers.set_seed", return_value=None),
        *losses(),
    ]
    argv = [f"train_{kind}.py", *shlex.split(case["flags" if dotted(version) else "before"])]
    heard = io.StringIO()
    with contextlib.ExitStack() as stack, tempfile.TemporaryDirectory() as folder:
        stack.enter_context(contextlib.redirect_stderr(heard))
        stack.enter_context(contextlib.redirect_stdout(io.StringIO()))
        for patch in patches:
            stack.enter_context(patch)
        if kind == "ppo_ray":
            for patch in _online(told, rows):
                stack.enter_context(patch)
        stack.enter_context(mock.patch.object(sys, "argv", argv))
        here = os.getcwd()
        os.chdir(folder)
        try:
            with contextlib.suppress(Asked):
                runpy.run_path(script.origin, run_name="__main__")
        except SystemExit as stopped:
            said = heard.getvalue().strip().splitlines()
            raise ValueError(said[-1].partition("error: ")[2] if said else str(stopped)) from None
        finally:
            os.chdir(here)
    return {**told, **({"updates": 0} if kind != "ppo_ray" and "updates" not in told else {})}


def wrapped(data: Rows, wide: bool) -> Rows:
    found = Rows(len(data))
    found.wide = wide
    return found


def losses() -> list[Any]:
    """What the loops compute of one weight does not matter: they call it once a micro-batch."""
    import torch

    value = torch.ones(1, requires_grad=True).sum()
    three = (value, torch.zeros(1), torch.zeros(1))
    four = (torch.zeros(1), torch.zeros(1), 0, torch.zeros(1))
    loops = {name: importlib.import_module(f"openrlhf.trainer.{name}_trainer") for name in ("sft", "dpo", "rm")}

    class Loss(torch.nn.Module):  # type: ignore[misc] # torch is not here when this is checked
        def __init__(self, *inputs: Any, **more: Any) -> None:
            super().__init__()

        def forward(self, *inputs: Any, **more: Any) -> Any:
            return self.gives

    def giving(gives: Any) -> Any:
        return type("Loss", (Loss,), {"gives": gives})

    found = [mock.patch.object(loops["sft"], loss, giving(value)) for loss in ("SFTLoss", "GPTLMLoss")
             if hasattr(loops["sft"], loss)]  # fmt: skip
    found.append(mock.patch.object(loops["dpo"], "DPOLoss", giving(three)))
    found += [mock.patch.object(loops["rm"], loss, giving(value)) for loss in ("PairWiseLoss", "LogExpLoss")]
    for name, trainer in (("dpo", "DPOTrainer"), ("rm", "RewardModelTrainer")):
        answer = four if name == "dpo" else (torch.zeros(1), torch.zeros(1), 0)
        cls = getattr(loops[name], trainer)
        found.append(mock.patch.object(cls, "concatenated_forward", lambda *inputs, gives=answer, **more: gives))
    return found


def accumulation(config: dict[str, Any], world: int) -> int:
    """Micro-batches of an update, by DeepSpeed's own config class, which refuses batches that do not come out."""
    from deepspeed.runtime.config import DeepSpeedConfig

    told = {key: value for key, value in config.items() if "batch" in key or "accumulation" in key}
    sizes = {"get_world_size": lambda *inputs: world, "get_rank": lambda *inputs: 0}
    with mock.patch.multiple("deepspeed.comm", **sizes):
        return int(DeepSpeedConfig({**told, "zero_optimization": {"stage": 2}}).gradient_accumulation_steps)


def _online(told: dict[str, Any], rows: Rows) -> list[Any]:
    """The command's `train` asks the trainer for its steps, and stops there."""
    trainer = importlib.import_module("openrlhf.trainer.ppo_trainer")
    utilities = importlib.import_module("openrlhf.utils")

    def strategy(args: Any) -> Any:
        def loader(data: Any, *inputs: Any, **more: Any) -> Any:
            return data

        return types.SimpleNamespace(args=args, print=lambda *inputs: None, setup_dataloader=loader)

    def counted(args: Any) -> None:
        told["schedule"] = trainer.prepare_datasets(strategy(args), None)[2]
        raise Asked

    return [
        mock.patch.object(trainer, "blending_datasets", return_value=rows),
        mock.patch.object(trainer, "PromptDataset", lambda data, *inputs, **more: wrapped(data, wide=False)),
        mock.patch.object(utilities, "get_strategy", counted),
    ]


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "openrlhf.json")
    os.environ.update(LOCAL_RANK="-1", DS_ACCELERATOR="cpu")
    stubs.install(*STUBBED)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, lambda case: run(case, options.version), "openrlhf", "deepspeed", "torch",
                        "transformers")  # fmt: skip


if __name__ == "__main__":
    main()
