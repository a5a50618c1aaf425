"""Record verl's SFT and PPO trainers on the CPU: what Hydra and their own checks refuse, steps, the warmup.

    python tests/conformance/recorders/verl.py --package UNPACKED_VERL_WHEEL --version 0.9.1 --out FILE

in an environment with the transformers that this version asks for.

Real code: the package's configs composed by Hydra with the overrides of a launch (its refusals of keys that are not
there), ``validate_config`` with the dataclasses behind it, ``SFTTrainer`` (loader, length, loop), the loaders of the
PPO trainer (of 0.9 the newer one's, and the loop of its ``fit``) and the FSDP engine's schedule. Stood in for: models,
rows, Ray, the process group, what one step does, and what else the modules import.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import io
import os
import types
from typing import Any
from unittest import mock

import recording
import stubs

STUBBED = (
    "accelerate", "aiohttp", "apex", "cachetools", "datasets", "fastapi", "liger_kernel", "mbridge", "megatron",
    "orjson", "pandas", "peft", "PIL", "pylatexenc", "qwen_vl_utils", "ray", "sglang", "transfer_queue", "uvicorn",
    "vllm", "wandb",
)  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: `kind` of trainer, its `overrides`, `n` rows, `world` data-parallel workers (SFT)."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, kind: str, overrides: str, n: int = 1000, world: int = 8) -> None:
        out[f"{kind}/{name}"] = {"kind": kind, "overrides": overrides, "n": n, "world": world}

    def sft(name: str, overrides: str, n: int = 1000, world: int = 8) -> None:
        add(name, "sft", overrides, n, world)

    def ppo(name: str, overrides: str, n: int = 1000) -> None:
        last = {word.partition("=")[0]: word for word in f"{_MICRO} {overrides}".split()}
        add(name, "ppo", " ".join(last.values()), n, 1)

    for n, world, batch, epochs in (
        (1000, 8, 64, 1), (1000, 8, 64, 2), (1000, 1, 64, 3), (1001, 8, 64, 3), (127, 1, 64, 4), (130, 8, 128, 2),
        (999, 3, 12, 2), (31, 2, 4, 3), (100, 4, 32, 5),
    ):  # fmt: skip
        sft(f"length/n{n} w{world} b{batch} e{epochs}", f"data.train_batch_size={batch} trainer.total_epochs={epochs}",
            n, world)  # fmt: skip
    sft("length/default", "", 1000)
    for limit in (1, 10, 60, 61, 500):
        sft(f"limit/{limit}", f"data.train_batch_size=64 trainer.total_training_steps={limit}")
    for warm in ("lr_warmup_steps_ratio=0.1", "lr_warmup_steps=7", "lr_warmup_steps=0", "lr_warmup_steps_ratio=0.5"):
        sft(f"warmup/{warm}", f"data.train_batch_size=64 optim.{warm}")
    sft("warmup/both", "data.train_batch_size=64 optim.lr_warmup_steps=7 optim.lr_warmup_steps_ratio=0.5")
    sft("warmup/zero and ratio", "data.train_batch_size=64 optim.lr_warmup_steps=0 optim.lr_warmup_steps_ratio=0.5")
    sft("warmup/limit", "data.train_batch_size=64 trainer.total_training_steps=40 optim.lr_warmup_steps_ratio=0.1")
    sft("warmup/longer limit", "data.train_batch_size=64 trainer.total_training_steps=400 "
        "optim.lr_warmup_steps_ratio=0.2")  # fmt: skip
    sft("cosine", "data.train_batch_size=64 optim.lr_scheduler_type=cosine")
    sft("linear", "data.train_batch_size=64 optim.lr_scheduler_type=linear")
    sft("too few rows", "data.train_batch_size=64", 60)
    sft("batch below the workers", "data.train_batch_size=4")
    sft("epochs/0", "data.train_batch_size=64 trainer.total_epochs=0")
    sft("key/misspelt", "data.train_batch_sze=64")
    sft("key/far", "data.whatever=64")
    sft("key/section", "trainr.total_epochs=2")
    sft("key/of ppo", "actor_rollout_ref.actor.optim.lr=1e-6")
    sft("key/added", "+data.whatever=64")
    sft("key/misspelt and added", "+data.train_batch_sze=64")

    for n, batch, epochs in ((1000, 64, 1), (1000, 64, 3), (7473, 1024, 15), (1023, 1024, 1), (100, 32, 5)):
        told = f"data.train_batch_size={batch} trainer.total_epochs={epochs}"
        ppo(f"length/n{n} b{batch} e{epochs}", f"{told} actor_rollout_ref.actor.ppo_mini_batch_size=32", n)
    mini = "data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=32"
    ppo("length/default", "", 20000)
    for limit in (1, 10, 450, 451, 5000):
        ppo(f"limit/{limit}", f"{mini} trainer.total_training_steps={limit}")
    for warm in ("lr_warmup_steps_ratio=0.1", "lr_warmup_steps=7", "lr_warmup_steps=0"):
        ppo(f"warmup/{warm}", f"{mini} trainer.total_epochs=3 actor_rollout_ref.actor.optim.{warm}")
    ppo("cap/300", f"{mini} data.train_max_samples=300 trainer.total_epochs=1")
    ppo("batch/mini above", "data.train_batch_size=64 actor_rollout_ref.actor.ppo_mini_batch_size=128")
    ppo("batch/critic's mini above", f"{mini} critic.ppo_mini_batch_size=128")
    ppo("batch/micro does not divide mini", f"{mini} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null "
        "actor_rollout_ref.actor.ppo_micro_batch_size=24")  # fmt: skip
    ppo("batch/micro below the GPUs", f"{mini} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null "
        "actor_rollout_ref.actor.ppo_micro_batch_size=4")  # fmt: skip
    ppo("batch/both micros", f"{mini} actor_rollout_ref.actor.ppo_micro_batch_size=32")
    ppo("batch/no micro", f"{mini} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null")
    ppo("batch/dynamic without micro", f"{mini} actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=null "
        "actor_rollout_ref.actor.use_dynamic_bsz=true")  # fmt: skip
    ppo("batch/no micro of the rollout", f"{mini} actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=null")
    ppo("batch/both of the rollout", f"{mini} actor_rollout_ref.rollout.log_prob_micro_batch_size=8")
    ppo("batch/not divisible", "data.train_batch_size=60 actor_rollout_ref.actor.ppo_mini_batch_size=30")
    ppo("batch/answers make it divisible", "data.train_batch_size=60 actor_rollout_ref.actor.ppo_mini_batch_size=30 "
        "actor_rollout_ref.rollout.n=2")  # fmt: skip
    ppo("batch/nodes", f"{mini} trainer.n_gpus_per_node=8 trainer.nnodes=3")
    ppo("sequence parallel with padding", f"{mini} actor_rollout_ref.actor.ulysses_sequence_parallel_size=2 "
        "actor_rollout_ref.model.use_remove_padding=false")  # fmt: skip
    ppo("loss mode", f"{mini} actor_rollout_ref.actor.loss_agg_mode=mean")
    ppo("cold validation", f"{mini} actor_rollout_ref.rollout.val_kwargs.do_sample=true "
        "actor_rollout_ref.rollout.temperature=0")  # fmt: skip
    ppo("key/misspelt", f"{mini} actor_rollout_ref.actor.ppo_minibatch_size=32")
    ppo("key/far", f"{mini} actor_rollout_ref.whatever=1")
    ppo("key/level", f"{mini} actor_rollout_ref.optim.lr=1e-6")
    ppo("key/added", f"{mini} +trainer.whatever=1")
    ppo("key/group", f"{mini} trainer.total_epoch=3")
    ppo("value/epochs word", f"{mini} trainer.total_epochs=three")
    return out


_MICRO = (
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 critic.ppo_micro_batch_size_per_gpu=4 "
    "critic.ppo_mini_batch_size=32 "
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=4 "
    "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu=4"
)


class Rows:
    """A number of rows."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        return index


def composed(name: str, overrides: list[str]) -> Any:
    """The package's config with the overrides of a launch."""
    from hydra import compose, initialize_config_dir

    folder = os.path.join(os.path.dirname(importlib.import_module("verl").__file__ or ""), "trainer", "config")
    with initialize_config_dir(config_dir=os.path.abspath(folder), version_base=None):
        return compose(name, overrides=overrides)


def warmup(optimizer: Any) -> int:
    """What the FSDP engine makes of the settings."""
    import torch

    engine = importlib.import_module("verl.workers.engine.fsdp.transformer_impl")
    functional = importlib.import_module("verl.utils.torch_functional")
    told: dict[str, int] = {}

    def kept(name: str) -> Any:
        real = getattr(functional, name)

        def built(*inputs: Any, **more: Any) -> Any:
            told["steps"] = more["num_warmup_steps"]
            return real(*inputs, **more)

        return mock.patch.object(functional, name, built)

    with kept("get_constant_schedule_with_warmup"), kept("get_cosine_schedule_with_warmup"):
        itself = types.SimpleNamespace(optimizer_config=optimizer, rank=1)
        steps = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
        engine.FSDPEngine._build_lr_scheduler(itself, steps)
    return told["steps"]


def sft(case: dict[str, Any]) -> dict[str, Any]:
    """``SFTTrainer`` without its models."""
    config = composed("sft_trainer_engine", [*case["overrides"].split(), *_QUIET])
    module = importlib.import_module("verl.trainer.sft_trainer")
    convert = importlib.import_module("verl.utils.config").omega_conf_to_dataclass
    world, done = case["world"], [0]

    class Client:
        def train_batch(self, data: Any) -> Any:
            done[0] += 1

        def infer_batch(self, data: Any) -> Any:
            return None

        def __getattr__(self, name: str) -> Any:
            return lambda *inputs, **more: None

    trainer = module.SFTTrainer.__new__(module.SFTTrainer)
    trainer.config, trainer.rank, trainer.device_name = config, 0, "cpu"
    trainer.train_dataset, trainer.val_dataset = Rows(case["n"]), None
    trainer.training_client, trainer.resume_global_step = Client(), 0
    trainer.optimizer_config = convert(config.optim)
    trainer.model_config = types.SimpleNamespace(tokenizer=types.SimpleNamespace(pad_token_id=0))
    trainer.start_profile_step = trainer.end_profile_step = -1
    trainer.ckpt_handler = types.SimpleNamespace(save_checkpoint=lambda **more: None)
    trainer.engine = types.SimpleNamespace(
        get_data_parallel_rank=lambda: 0,
        get_data_parallel_size=lambda: world,
        get_data_parallel_group=lambda: None,
        is_mp_src_rank_with_outputs=lambda: False,
    )
    with (
        mock.patch.object(module, "SFTTensorCollator", return_value=list),
        mock.patch.object(module.tu, "get_tensordict", return_value={}),
        mock.patch.object(module.tu, "assign_non_tensor", return_value=None),
        mock.patch.object(module.SFTTrainer, "_get_batch_seqlens", return_value=[], create=True),
        mock.patch.object(module, "aggressive_empty_cache", return_value=None),
        mock.patch.object(module, "log_with_rank", return_value=None),
        mock.patch.object(module, "log_gpu_memory_usage", return_value=None),
        mock.patch.object(module, "get_device_name", return_value="cpu"),
    ):
        trainer._build_dataloader()
        trainer._init_engine()
        trainer.fit()
    optimizer = trainer.optimizer_config
    return {"updates": done[0], "schedule": trainer.total_training_steps, "warmup": warmup(optimizer)}


def ppo(case: dict[str, Any]) -> dict[str, Any]:
    """The checks, the loader and the length of the PPO trainer."""
    config = composed("ppo_trainer", [*case["overrides"].split(), *_QUIET])
    checks = importlib.import_module("verl.utils.config")
    utilities = importlib.import_module("verl.trainer.ppo.utils")
    critic = utilities.need_critic(config)
    models = importlib.import_module("verl.workers.config.model").HFModelConfig
    with mock.patch.object(models, "__post_init__", return_value=None):  # it opens the model's folder
        checks.validate_config(config, True, critic)
    cap = config.data.get("train_max_samples", -1)
    rows = Rows(min(case["n"], cap) if cap > 0 else case["n"])
    newer = config.trainer.get("use_v1", False)
    told: dict[str, Any] = {}
    if newer:
        module = importlib.import_module("verl.trainer.ppo.v1.trainer_base")
        base = module.PPOTrainer
        trainer = base.__new__(type("Trainer", (base,), dict.fromkeys(base.__abstractmethods__)))
        trainer.config, trainer.tokenizer, trainer.processor = config, None, None
        trainer.trainer_mode, trainer.global_steps, trainer.parameter_sync_step = "sync", 0, 1
        build = next(
            method
            for name, method in inspect.getmembers(base, inspect.isfunction)
            if "self.steps_per_epoch = len" in inspect.getsource(method)
        )
        with mock.patch.object(module, "create_rl_dataset", return_value=rows):
            build(trainer)
        told["updates"] = _loop(module, trainer)
    else:
        module = importlib.import_module("verl.trainer.ppo.ray_trainer")
        trainer = module.RayPPOTrainer.__new__(module.RayPPOTrainer)
        trainer.config = config
        main = importlib.import_module("verl.trainer.main_ppo")
        sampler = main.create_rl_sampler(config.data, rows)
        trainer._create_dataloader(rows, rows, lambda items: items, sampler)
    convert = checks.omega_conf_to_dataclass
    optimizer = convert(config.actor_rollout_ref.actor.optim)
    return {**told, "schedule": trainer.total_training_steps, "warmup": warmup(optimizer)}


def _loop(module: Any, trainer: Any) -> int:
    """The steps that ``fit`` makes."""
    made = [0]

    def step(metrics: Any, timing: Any) -> Any:
        made[0] += 1
        return types.SimpleNamespace(keys=[], partition_id="train", tags=[])

    names = ("on_train_begin", "on_train_end", "on_step_begin", "on_step_end", "_start_profiling", "_stop_profiling",
             "_compute_metrics", "_shutdown_dump_executor", "_reissue_inflight_prompts", "_load_checkpoint",
             "on_init_end", "_save_checkpoint")  # fmt: skip
    for name in names:
        setattr(trainer, name, lambda *inputs, **more: None)
    trainer._consume_sync_metrics = dict
    trainer.step = step
    with mock.patch.object(module, "Tracking", mock.MagicMock()), mock.patch.object(module, "tqdm", mock.MagicMock()):
        trainer.fit(mock.MagicMock())
    return made[0]


_QUIET = ("trainer.logger=[]",)


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One launch, as far as its counting goes."""
    overrides = case["overrides"]
    if case["kind"] == "ppo":
        more = "actor_rollout_ref.model.path=m critic.model.path=m trainer.val_before_train=false"
        overrides = f"{more} data.dataloader_num_workers=0 {overrides}"
    else:
        overrides = f"model.path=m data.num_workers=0 {overrides}"
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        return {"ppo": ppo, "sft": sft}[case["kind"]]({**case, "overrides": overrides.strip()})


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "verl.json")
    stubs.install(*STUBBED)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "verl", "hydra-core", "omegaconf", "torch")


if __name__ == "__main__":
    main()
