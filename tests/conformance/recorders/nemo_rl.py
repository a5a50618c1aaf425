"""Record NeMo-RL's SFT, DPO and reward trainers on the CPU: what is refused, steps, rates, validations, checkpoints.

    python tests/conformance/recorders/nemo_rl.py --package UNPACKED_NEMO_RL --version 7ea279ab --out FILE

Real code: `main` of `examples/run_sft.py`, `run_dpo.py` and `run_rm.py` (inheritance, overrides, pydantic's schema),
`setup` with its loaders, checkpoint manager and `Policy.__init__` (parallel sizes), the training loops, the split of a
batch among workers and micro-batches, and the statements of `DTensorPolicyWorker.__init__` that make the optimizer and
the schedule. Of GRPO only what `setup` checks before it asks for GPUs, and its loader. Stood in for: rows, tokenizer,
Ray and its cluster, loggers, models (one weight), validation itself, files of checkpoints, and what else the modules
import; typing_extensions' TypedDict, since pydantic wants that below Python 3.12.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import os
import sys
import tempfile
import textwrap
import types
import typing
from typing import Any
from unittest import mock

import recording
import stubs

STUBBED = (
    "accelerate", "aiohttp", "av", "blobfile", "cuda", "debugpy", "decord", "fastapi", "math_verify", "matplotlib",
    "megatron", "mlflow", "nemo_automodel", "nemo_gym", "nltk", "num2words", "pandas", "peft", "plotly",
    "prometheus_client", "psutil", "pynvml", "ray", "scipy", "setproctitle", "soundfile", "swanlab", "sympy",
    "tensordict", "torchvision", "uvicorn", "vllm", "wandb", "zmq",
)  # fmt: skip

_SHARED = """\
policy:
  model_name: example/model
  tokenizer: {name: example/model}
  train_global_batch_size: 32
  train_micro_batch_size: 1
  max_total_sequence_length: 64
  precision: bfloat16
  make_sequence_length_divisible_by: 1
  max_grad_norm: 1.0
  dtensor_cfg:
    enabled: true
    cpu_offload: false
    sequence_parallel: false
    activation_checkpointing: false
    tensor_parallel_size: 1
    context_parallel_size: 1
    custom_parallel_plan: null
  megatron_cfg: {enabled: false}
  dynamic_batching: {enabled: false}
  sequence_packing: {enabled: false}
  optimizer:
    name: torch.optim.AdamW
    kwargs: {lr: 5.0e-6, weight_decay: 0.1}
data:
  max_input_seq_length: 64
  shuffle: true
  num_workers: 0
  train: {data_path: train.jsonl}
  validation: {data_path: validation.jsonl}
checkpointing:
  enabled: true
  checkpoint_dir: results
  metric_name: null
  higher_is_better: false
  keep_top_k: 3
  save_period: 10
  checkpoint_must_save_by: null
  save_optimizer: true
logger:
  log_dir: logs
  wandb_enabled: false
  swanlab_enabled: false
  tensorboard_enabled: false
  mlflow_enabled: false
  monitor_gpus: false
  wandb: {project: p, name: n}
  gpu_monitoring: {collection_interval: 10, flush_interval: 10}
cluster: {gpus_per_node: 1, num_nodes: 1}
"""
_VALIDATION = "val_global_batch_size: 32, val_micro_batch_size: 1, val_at_end: false, seed: 42"
_OF = {
    "sft": "sft: {max_num_epochs: 1, max_num_steps: 60, val_period: 10, val_batches: 8, val_at_start: false, "
    f"{_VALIDATION}}}\n",
    "dpo": "dpo: {max_num_epochs: 1, max_num_steps: 150, val_period: 25, val_batches: 8, val_at_start: false, "
    "reference_policy_kl_penalty: 0.05, preference_average_log_probs: false, sft_average_log_probs: false, "
    f"preference_loss_weight: 1, sft_loss_weight: 0, {_VALIDATION}}}\n",
    "rm": "rm: {max_num_epochs: 1, max_num_steps: -1, val_period: 16, val_batches: -1, val_at_start: false, "
    f"{_VALIDATION}}}\n",
    "grpo": """\
grpo:
  num_prompts_per_step: 4
  num_generations_per_prompt: 8
  max_num_epochs: 1
  max_num_steps: 1000
  val_period: 10
  max_val_samples: 64
  val_batch_size: 64
loss_fn:
  reference_policy_kl_penalty: 0.01
  ratio_clip_min: 0.2
  ratio_clip_max: 0.2
  ratio_clip_c: null
  use_on_policy_kl_approximation: false
  use_importance_sampling_correction: false
  token_level_loss: true
env: {}
""",
}
_REWARD = "  reward_model_cfg: {enabled: true, reward_model_type: bradley_terry}\n"
_GENERATION = """\
  generation:
    backend: vllm
    max_new_tokens: 64
    temperature: 1.0
    top_p: 1.0
    top_k: null
    val_temperature: 1.0
    val_top_p: 1.0
    val_top_k: null
    stop_token_ids: null
    stop_strings: null
    colocated: {enabled: true, resources: {gpus_per_node: null, num_nodes: null}}
    vllm_cfg:
      async_engine: false
      precision: bfloat16
      tensor_parallel_size: 1
      pipeline_parallel_size: 1
      expert_parallel_size: 1
      gpu_memory_utilization: 0.6
      max_model_len: 64
"""


def base(algorithm: str) -> str:
    """A whole config, that a case inherits from."""
    shared = _SHARED
    if algorithm == "grpo":
        more = f"  logprob_batch_size: 1\n{_GENERATION}"
        shared = shared.replace("  precision: bfloat16\n", f"  precision: bfloat16\n{more}", 1)
        shared = shared.replace("  num_workers: 0\n", "  num_workers: 0\n  use_multiple_dataloader: false\n")
        shared = shared.replace("  monitor_gpus", "  num_val_samples_to_print: 0\n  monitor_gpus")
    if algorithm == "rm":
        shared = shared.replace("  dynamic_batching", f"{_REWARD}  dynamic_batching", 1)
    return shared + _OF[algorithm]


_WARM = """\
policy:
  scheduler:
    - name: torch.optim.lr_scheduler.LinearLR
      kwargs: {{start_factor: 0.1, end_factor: 1.0, total_iters: {0}}}
    - name: torch.optim.lr_scheduler.ConstantLR
      kwargs: {{factor: 1.0, total_iters: 10000000000}}
    - milestones: [{1}]
"""
_MEGATRON = """\
policy:
  dtensor_cfg: {enabled: false}
  megatron_cfg:
    enabled: true
    empty_unused_memory_level: 1
    activation_checkpointing: false
    tensor_model_parallel_size: 1
    pipeline_model_parallel_size: 1
    context_parallel_size: 1
    expert_tensor_parallel_size: 1
    expert_model_parallel_size: 1
    num_layers_in_first_pipeline_stage: null
    num_layers_in_last_pipeline_stage: null
    pipeline_dtype: bfloat16
    sequence_parallel: false
    freeze_moe_router: false
    moe_router_dtype: null
    moe_router_load_balancing_type: aux_loss
    moe_router_bias_update_rate: 1.0e-3
    moe_permute_fusion: true
    moe_per_layer_logging: false
    moe_enable_deepep: false
    moe_token_dispatcher_type: alltoall
    moe_shared_expert_overlap: false
    apply_rope_fusion: true
    bias_activation_fusion: true
    use_fused_linear_logprobs: false
    use_linear_ce_fusion_loss: false
    use_gloo_process_groups: false
    gradient_accumulation_fusion: false
    use_fused_weighted_squared_relu: false
    peft: {{enabled: false}}
    optimizer:
      optimizer: adam
      lr: 5.0e-6
      min_lr: 5.0e-7
      weight_decay: 0.1
      bf16: true
      fp16: false
      params_dtype: float32
      adam_beta1: 0.9
      adam_beta2: 0.98
      adam_eps: 1.0e-5
      sgd_momentum: 0.9
      use_distributed_optimizer: true
      use_precision_aware_optimizer: true
      clip_grad: 1.0
      optimizer_cpu_offload: false
      optimizer_offload_fraction: 0.0
    scheduler:
      start_weight_decay: 0.1
      end_weight_decay: 0.1
      weight_decay_incr_style: constant
      lr_decay_style: constant
      lr_decay_iters: 1000
      lr_warmup_iters: 13
      lr_warmup_init: 5.0e-7
    distributed_data_parallel_config:
      grad_reduce_in_fp32: false
      overlap_grad_reduce: true
      overlap_param_gather: true
      use_custom_fsdp: false
      data_parallel_sharding_strategy: optim_grads_params
    fp8_cfg: {{enabled: false}}
""".replace("{{", "{").replace("}}", "}")


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: `algorithm`, the `config` that inherits from the base (or `files` with it), `overrides`, `n` and
    `validation` rows. A case without `defaults` in its config stands alone."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, config: str = "", algorithm: str = "sft", n: int = 1000, **more: Any) -> None:
        text = config if "defaults:" in config or more.pop("alone", False) else f"defaults: base.yaml\n{config}"
        out[f"{algorithm}/{name}"] = {"algorithm": algorithm, "config": text, "n": n, **more}

    def told(name: str, overrides: str, algorithm: str = "sft", n: int = 1000, **more: Any) -> None:
        add(name, "", algorithm, n, overrides=overrides, **more)

    add("length/default")
    for n, batch, epochs, steps in (
        (1000, 32, 1, 1000), (1000, 32, 2, 1000), (1000, 32, 3, 60), (1001, 7, 1, 1000), (31, 32, 3, 60),
        (64, 32, 5, 3), (320, 32, 10, 100), (320, 32, 10, 99), (1000, 32, 1, 0), (1000, 32, 0, 60), (1000, 32, -1, 60),
        (1000, 32, 1, -1),
    ):  # fmt: skip
        add(f"length/n{n} b{batch} e{epochs} s{steps}",
            f"policy: {{train_global_batch_size: {batch}}}\n"
            f"sft: {{max_num_epochs: {epochs}, max_num_steps: {steps}}}\n",
            n=n)  # fmt: skip
    for n, epochs, steps in ((1000, 1, -1), (1000, 3, -1), (1000, 3, 50), (1000, 2, 0), (31, 2, -1), (100, 2, -2)):
        add(f"length/n{n} e{epochs} s{steps}", f"rm: {{max_num_epochs: {epochs}, max_num_steps: {steps}}}\n", "rm", n)
    for n, epochs, steps in ((1000, 1, 150), (1000, 5, 150), (1000, 5, 10), (31, 2, 150)):
        add(f"length/n{n} e{epochs} s{steps}", f"dpo: {{max_num_epochs: {epochs}, max_num_steps: {steps}}}\n", "dpo", n)
    for n, prompts, epochs, steps in ((1000, 4, 1, 1000), (1003, 32, 2, 1000), (3, 4, 1, 1000), (1000, 4, 1, 10)):
        add(f"length/n{n} p{prompts} e{epochs} s{steps}", f"grpo: {{num_prompts_per_step: {prompts}, "
            f"max_num_epochs: {epochs}, max_num_steps: {steps}}}\n", "grpo", n)  # fmt: skip

    for total, milestone in ((13, 13), (50, 50), (20, 10), (10, 20), (0, 0), (31, 31), (30, 30), (100, 100), (1, 1)):
        add(f"warmup/{total} at {milestone}", _WARM.format(total, milestone))
    add("warmup/alone", "policy:\n  scheduler:\n    name: torch.optim.lr_scheduler.LinearLR\n"
        "    kwargs: {start_factor: 0.1, end_factor: 1.0, total_iters: 10}\n")  # fmt: skip
    add("warmup/one of a list", _WARM.format(10, 10).split("    - name: torch.optim.lr_scheduler.ConstantLR")[0]
        + "    - milestones: []\n")  # fmt: skip
    add("warmup/no milestones", _WARM.format(10, 10).split("    - milestones")[0])
    add("warmup/too many milestones", _WARM.format(10, "10, 20"))
    add("warmup/misspelt milestones", _WARM.format(10, 10).replace("milestones", "milestone"))
    add("warmup/unknown argument", _WARM.format(10, 10).replace("total_iters: 10}", "total_iter: 10}"))
    add("warmup/unknown class", _WARM.format(10, 10).replace("ConstantLR", "ConstLR"))
    add("warmup/start factor 0", _WARM.format(10, 10).replace("start_factor: 0.1", "start_factor: 0.0"))
    add("warmup/start factor above 1", _WARM.format(10, 10).replace("start_factor: 0.1", "start_factor: 1.5"))
    add("warmup/default factors", _WARM.format(10, 10).replace("start_factor: 0.1, end_factor: 1.0, ", ""))
    add("warmup/cosine", _WARM.format(5, 5).replace("ConstantLR", "CosineAnnealingLR").replace(
        "factor: 1.0, total_iters: 10000000000", "T_max: 26, eta_min: 0"))  # fmt: skip
    add("warmup/null", "policy: {scheduler: null}\n")

    for key, value in (("gpus_per_node", 8), ("gpus_per_node", 3), ("num_nodes", 2), ("gpus_per_node", 0)):
        add(f"cluster/{key} {value}", f"cluster: {{{key}: {value}}}\n")
    add("cluster/tp 2 of 8", "policy: {dtensor_cfg: {tensor_parallel_size: 2}}\ncluster: {gpus_per_node: 8}\n")
    add("cluster/tp 2 of 1", "policy: {dtensor_cfg: {tensor_parallel_size: 2}}\n")
    add("cluster/tp 3 of 8", "policy: {dtensor_cfg: {tensor_parallel_size: 3}}\ncluster: {gpus_per_node: 8}\n")
    add("cluster/tp 2 cp 2 of 8", "policy: {dtensor_cfg: {tensor_parallel_size: 2, context_parallel_size: 2}}\n"
        "cluster: {gpus_per_node: 8}\n")  # fmt: skip
    add("cluster/tp 4 with log-probabilities", "policy: {logprob_batch_size: 4, dtensor_cfg: "
        "{tensor_parallel_size: 4}}\ncluster: {gpus_per_node: 8}\n")  # fmt: skip
    add("batch/micro 5", "policy: {train_micro_batch_size: 5}\n")
    add("batch/micro 4", "policy: {train_micro_batch_size: 4}\n")
    add("batch/micro 8 of 4 each", "policy: {train_micro_batch_size: 8}\ncluster: {gpus_per_node: 8}\n")
    add("batch/micro 0", "policy: {train_micro_batch_size: 0}\n")
    add("batch/0", "policy: {train_global_batch_size: 0}\n")
    add("batch/-8", "policy: {train_global_batch_size: -8}\n")
    add("batch/12 on 8", "policy: {train_global_batch_size: 12}\ncluster: {gpus_per_node: 8}\n")
    add("batch/12 on 8", "policy: {train_global_batch_size: 12}\ncluster: {gpus_per_node: 8}\n", "dpo")
    add("batch/4 on 8", "policy: {train_global_batch_size: 4}\ncluster: {gpus_per_node: 8}\n", "dpo")
    add("batch/micro 3", "policy: {train_micro_batch_size: 3}\n", "dpo")
    add("batch/dynamic", "policy: {dynamic_batching: {enabled: true, train_mb_tokens: 64, sequence_length_round: 4}}\n",
        "dpo")  # fmt: skip
    add("batch/packed", "policy: {sequence_packing: {enabled: true, train_mb_tokens: 64, "
        "algorithm: modified_first_fit_decreasing, sequence_length_round: 4}}\n", "dpo")  # fmt: skip
    add("batch/dynamic and packed", "policy: {dynamic_batching: {enabled: true, train_mb_tokens: 64, "
        "sequence_length_round: 4}, sequence_packing: {enabled: true, train_mb_tokens: 64, "
        "algorithm: modified_first_fit_decreasing, sequence_length_round: 4}}\n")  # fmt: skip
    for algorithm in ("sft", "dpo", "rm"):
        add("backend/Megatron", _MEGATRON, algorithm)
    add("backend/Megatron, steps", _MEGATRON + "rm: {max_num_steps: 20}\n", "rm")
    add("backend/Megatron, tp 2 of 8", _MEGATRON.replace("tensor_model_parallel_size: 1",
        "tensor_model_parallel_size: 2")
        + "cluster: {gpus_per_node: 8}\n")  # fmt: skip
    add("backend/both", _MEGATRON.replace("  dtensor_cfg: {enabled: false}\n", ""))
    add("backend/Megatron half written", "policy: {megatron_cfg: {enabled: true}, dtensor_cfg: {enabled: false}}\n")
    add("backend/neither", "policy: {dtensor_cfg: {enabled: false}}\n")
    add("backend/LoRA in the first worker", "policy: {dtensor_cfg: {lora_cfg: {enabled: true, target_modules: [], "
        "exclude_modules: [], dim: 8, alpha: 32, dropout: 0.0, dropout_position: post, lora_A_init: xavier}}}"
        "\n")  # fmt: skip

    for period in (7, 31, 100, 0, -1):
        add(f"validation/every {period}", f"sft: {{val_period: {period}}}\n")
    add("validation/at start and end", "sft: {val_at_start: true, val_at_end: true, val_period: 20}\n")
    add("validation/none at all", "sft: {val_period: 0}\ndata: {validation: null}\n", validation=0)
    add("validation/without data", "data: {validation: null}\n", validation=0)
    add("validation/without data at start", "sft: {val_at_start: true}\ndata: {validation: null}\n", validation=0)
    add("validation/at the start alone without data", "sft: {val_at_start: true, val_period: 0}\n"
        "data: {validation: null}\n", validation=0)  # fmt: skip
    add("validation/without data", "data: {validation: null}\n", "dpo", validation=0)
    add("validation/without data", "data: {validation: null}\n", "grpo", validation=0)
    for period in (7, 31, 100):
        add(f"checkpoint/every {period}", f"checkpointing: {{save_period: {period}}}\n")
    add("checkpoint/every 0", "checkpointing: {save_period: 0}\n")
    add("checkpoint/off", "checkpointing: {enabled: false}\n")
    add("checkpoint/metric without its part", "checkpointing: {metric_name: val_loss}\n")
    add("checkpoint/unknown metric", "checkpointing: {metric_name: 'val:nothing'}\n")
    add(
        "checkpoint/val metric, never validated", "checkpointing: {metric_name: 'val:val_loss'}\nsft: {val_period: 0}\n"
    )

    add("key/misspelt in policy", "policy: {train_global_batch_sze: 64}\n")
    add("key/misspelt in sft", "sft: {max_num_step: 10}\n")
    add("key/misspelt section", "chekpointing: {enabled: false}\n")
    add("key/far", "policy: {whatever: 1}\n")
    told("key/misspelt override", "policy.train_global_batch_sze=64")
    told("key/misspelt override of sft", "sft.max_num_step=10")
    told("key/far override", "policy.whatever=1")
    told("key/added override", "+policy.whatever=1")
    told("key/unwritten override", "sft.only_unmask_final=true")
    told("key/added unwritten override", "+sft.only_unmask_final=true")
    told("key/good override", "sft.max_num_steps=7 policy.train_global_batch_size=16")
    add("value/steps word", "sft: {max_num_steps: many}\n")
    add("value/steps text", "sft: {max_num_steps: '7'}\n")
    add("value/steps 7.0", "sft: {max_num_steps: 7.0}\n")
    add("value/steps 7.5", "sft: {max_num_steps: 7.5}\n")
    add("value/steps null", "sft: {max_num_steps: null}\n")
    add("value/epochs 1.5", "sft: {max_num_epochs: 1.5}\n")
    add("value/batch null", "policy: {train_global_batch_size: null}\n")
    add("value/batch 1e1", "policy: {train_global_batch_size: 1e1}\n")
    add("value/rate 2e-5", "policy: {optimizer: {kwargs: {lr: 2e-5}}}\n")
    add("value/rate '2e-5'", "policy: {optimizer: {kwargs: {lr: '2e-5'}}}\n")
    add("value/rate -1", "policy: {optimizer: {kwargs: {lr: -1.0}}}\n")
    add("value/misspelt optimizer argument", "policy: {optimizer: {kwargs: {wight_decay: 0.0}}}\n")
    add("value/reference", "sft: {max_num_steps: '${sft.val_period}'}\n")
    add("value/broken reference", "sft: {max_num_steps: '${sft.nothing}'}\n")
    add("value/product", "policy: {train_global_batch_size: '${mul:4, 4}'}\n")
    add("value/must be given", "sft: {max_num_steps: '???'}\n")

    child = "defaults: base.yaml\nsft: {max_num_steps: 7}\n"
    add("inherit/two levels", "defaults: middle.yaml\nsft: {max_num_epochs: 2}\n", files={"middle.yaml": child})
    add("inherit/folder", "defaults: sub/middle.yaml\n", files={"sub/middle.yaml": child.replace("base", "../base")})
    add("inherit/last of a list wins", "defaults: [base.yaml, one.yaml, two.yaml]\n",
        files={"one.yaml": "sft: {max_num_steps: 7}\n", "two.yaml": "sft: {max_num_steps: 9}\n"})  # fmt: skip
    add("inherit/first of a list keeps its own", "defaults: [base.yaml, one.yaml, two.yaml]\n",
        files={"one.yaml": "sft: {max_num_steps: 7}\n", "two.yaml": "sft: {max_num_epochs: 9}\n"})  # fmt: skip
    add("inherit/section replaced", "defaults: base.yaml\nsft: {_override_: true, max_num_epochs: 2}\n")
    add("inherit/section null", "sft: null\n")
    add("inherit/no such file", "defaults: nothing.yaml\n")
    add("inherit/no algorithm", "defaults: shared.yaml\n", files={"shared.yaml": _SHARED})
    add("inherit/itself", "defaults: config.yaml\n")

    add("batch/ratio forced", "loss_fn: {force_on_policy_ratio: true}\npolicy: {train_global_batch_size: 16}\n", "grpo")
    add("batch/ratio forced and right", "loss_fn: {force_on_policy_ratio: true}\n", "grpo")
    add("batch/multiplier alone", "grpo: {batch_multiplier: 2}\n", "grpo")
    add("batch/multiplier with sampling", "grpo: {batch_multiplier: 2, use_dynamic_sampling: true}\n", "grpo")
    add("validation/generations 0", "grpo: {val_num_generations_per_prompt: 0}\n", "grpo")
    add("validation/pass at k of one", "grpo: {stop_at_validation_metric: pass_k, stop_at_validation_threshold: 1}\n",
        "grpo")  # fmt: skip
    add("validation/stop without a threshold", "grpo: {stop_at_validation_metric: accuracy}\n", "grpo")
    add("validation/off without data", "grpo: {val_period: 0}\ndata: {validation: null}\n", "grpo", validation=0)
    add("loss/no reference with a penalty", "grpo: {skip_reference_policy_logprobs_calculation: true}\n", "grpo")
    add("loss/no reference", "grpo: {skip_reference_policy_logprobs_calculation: true}\n"
        "loss_fn: {reference_policy_kl_penalty: 0}\n", "grpo")  # fmt: skip
    add("generations/1", "grpo: {num_generations_per_prompt: 1}\n", "grpo")
    add("prompts/0", "grpo: {num_prompts_per_step: 0}\n", "grpo")
    return out


class Rows:
    """A number of rows: one question, one answer, of four tokens each."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> Any:
        import torch

        if not 0 <= index < self.count:
            raise IndexError(index)
        roles = ("user", "assistant")
        return [{"role": role, "content": "words", "token_ids": torch.ones(4, dtype=torch.int64)} for role in roles]


_METRICS = (
    "sft_loss", "preference_loss", "accuracy", "rewards_chosen_mean", "rewards_rejected_mean", "num_valid_samples",
    "global_valid_seqs", "global_valid_toks",
)  # fmt: skip


class Reached(BaseException):
    """As far as a run goes."""


class _Watch:
    """What happened in one run."""

    def __init__(self) -> None:
        self.updates = 0
        self.rates: list[float] = []
        self.validations: list[int] = []
        self.checkpoints: list[int] = []
        self.loader: Any = None
        self.trainer: dict[str, Any] = {}


def schedule(cfg: Any) -> Any:
    """The optimizer and the schedule, by the worker's own statements."""
    import torch

    module = importlib.import_module("nemo_rl.models.policy.workers.dtensor_policy_worker")
    kinds = [value for name, value in vars(module).items() if name.startswith("DTensorPolicyWorker")]
    source = max((inspect.getsource(kind.__init__) for kind in kinds if inspect.isclass(kind)), key=len)
    wanted = []
    for node in ast.walk(ast.parse(textwrap.dedent(source))):
        if isinstance(node, ast.If):
            head = ast.unparse(node.test)
            builds = head == "init_optimizer" and "optimizer_cls" in ast.unparse(node)
            if builds or head.startswith("'scheduler' in self.cfg"):
                wanted.append(node)
    assert len(wanted) == 2, [ast.unparse(node.test) for node in wanted]
    wanted.sort(key=lambda node: node.lineno)
    itself = types.SimpleNamespace(cfg=cfg, model=torch.nn.Linear(1, 1))
    space = {"self": itself, "init_optimizer": True, "get_class": module.get_class, "torch": torch, "cast": typing.cast}
    exec(compile(ast.Module(wanted, []), "worker", "exec"), space)  # the trainer's own statements
    return itself


def policy_class(watch: _Watch) -> Any:
    """NeMo-RL's policy, whose workers only take their share of each batch."""
    import torch

    module = importlib.import_module("nemo_rl.models.policy.lm_policy")

    class Counting(module.Policy):  # type: ignore[misc,name-defined] # not here when this is checked
        def __init__(self, *inputs: Any, **more: Any) -> None:
            super().__init__(*inputs, **more)
            self.megatron = self.cfg.get("megatron_cfg", {}).get("enabled", False)
            self.worker = None if self.megatron else schedule(self.cfg)

        def print_node_ip_and_gpu_id(self) -> None:
            pass

        def prepare_for_training(self, *inputs: Any, **more: Any) -> None:
            pass

        def save_checkpoint(self, *inputs: Any, **more: Any) -> None:
            pass

        def get_reference_policy_logprobs(self, data: Any, micro_batch_size: int = 1, **more: Any) -> Any:
            self._shares(data, data.size, micro_batch_size)
            return {"reference_logprobs": torch.zeros(data["input_ids"].shape)}

        def _shares(self, data: Any, batch: int, micro: int) -> None:
            for shard in self._shard_for_train(data, batch):
                if not (self.use_dynamic_batches or self.use_sequence_packing):
                    for _ in shard.make_microbatch_iterator(micro):
                        pass

        def train(self, data: Any, loss_fn: Any, *inputs: Any, **more: Any) -> Any:
            batch = more.get("gbs") or self.cfg["train_global_batch_size"]
            self._shares(data, batch, more.get("mbs") or self.cfg["train_micro_batch_size"])
            if not more.get("eval_mode"):
                watch.updates += 1
                if self.worker is not None:
                    watch.rates.append(self.worker.optimizer.param_groups[0]["lr"])
                    self.worker.optimizer.step()
                    self.worker.scheduler.step()
            one = torch.ones(1)
            return {"loss": one, "grad_norm": one, "all_mb_metrics": {name: [1.0] for name in _METRICS}}

    return Counting


class Cluster:
    """As many GPUs as the config asks for."""

    _sorted_bundle_indices = None

    def __init__(self, bundle_ct_per_node_list: list[int], num_gpus_per_node: int, **more: Any) -> None:
        self.count = sum(bundle_ct_per_node_list)
        self.num_gpus_per_node = num_gpus_per_node

    def world_size(self) -> int:
        return self.count


def collate(rows: list[Any], *inputs: Any, **more: Any) -> Any:
    import torch

    batches = importlib.import_module("nemo_rl.distributed.batched_data_dict").BatchedDataDict
    return batches({"message_log": rows, "loss_multiplier": torch.ones(len(rows))})


def collate_pairs(rows: list[Any], *inputs: Any, **more: Any) -> Any:
    import torch

    batches = importlib.import_module("nemo_rl.distributed.batched_data_dict").BatchedDataDict
    count = 2 * len(rows)
    return batches({
        "input_ids": torch.ones((count, 8), dtype=torch.int64),
        "input_lengths": torch.full((count,), 8),
        "token_mask": torch.ones((count, 8)),
        "sample_mask": torch.ones(count),
    })  # fmt: skip


def trained(case: dict[str, Any], folder: str) -> dict[str, Any]:
    """`main` of a script in the folder."""
    algorithm = case["algorithm"]
    watch = _Watch()
    script = importlib.import_module(f"examples.run_{algorithm}")
    module = importlib.import_module(f"nemo_rl.algorithms.{algorithm}")
    policies = importlib.import_module("nemo_rl.models.policy.lm_policy")
    tokenizers = importlib.import_module("transformers").PreTrainedTokenizerBase
    tokenizer = mock.MagicMock(spec=tokenizers, pad_token_id=0)
    rows, checks = Rows(case["n"]), Rows(case.get("validation", 64))
    pairs = algorithm != "sft"
    data: Any = ({"default": checks} if checks.count else {}) if pairs else (checks if checks.count else None)
    real_validate, real_train = module.validate, getattr(script, f"{algorithm}_train")

    def validate(policy: Any, loader: Any, *inputs: Any, **more: Any) -> Any:
        if not loader:
            return real_validate(policy, loader, *inputs, **more)
        watch.validations.append(more["step"])
        return {"val_loss": 1.0}, {}

    def train(policy: Any, loader: Any, *inputs: Any) -> Any:
        watch.loader = loader
        watch.trainer = policy.cfg.get("megatron_cfg", {}) if policy.megatron else {}
        return real_train(policy, loader, *inputs)

    class Manager(module.CheckpointManager):  # type: ignore[misc,name-defined] # not here when this is checked
        def init_tmp_checkpoint(self, step: int, *inputs: Any, **more: Any) -> str:
            watch.checkpoints.append(step)
            return folder

        def begin_finalization(self, *inputs: Any, **more: Any) -> None:
            pass

        finalize_checkpoint = begin_finalization  # up to 0.7

    words = ["run", "--config", os.path.join(folder, "config.yaml"), *case.get("overrides", "").split()]
    patches = [
        mock.patch.object(sys, "argv", words),
        mock.patch.object(script, "init_ray"),
        mock.patch.object(script, "get_tokenizer", return_value=tokenizer),
        mock.patch.object(script, "setup_preference_data" if pairs else "setup_data", return_value=(rows, data)),
        mock.patch.object(script, f"{algorithm}_train", train),
        mock.patch.object(module, "validate", validate),
        mock.patch.object(module, "RayVirtualCluster", Cluster),
        mock.patch.object(module, "Policy", policy_class(watch)),
        mock.patch.object(module, "Logger"),
        mock.patch.object(module, "CheckpointManager", Manager),
        mock.patch.object(module, "preference_collate_fn" if pairs else "rl_collate_fn",
                          collate_pairs if pairs else collate),
        mock.patch.object(policies, "RayWorkerGroup"),
        mock.patch.object(policies, "RayWorkerBuilder"),
        mock.patch.object(policies, "get_default_hf_config"),
        mock.patch.object(policies.FLOPTracker, "from_config", side_effect=ValueError("no model")),
    ]  # fmt: skip
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        script.main()
    top = max(watch.rates, default=0.0)
    told: dict[str, Any] = {
        "steps_per_epoch": len(watch.loader),
        "updates": watch.updates,
        "validations": watch.validations,
        "checkpoints": watch.checkpoints,
    }
    if watch.rates and len(set(watch.rates)) > 1:
        told["peak_step"] = watch.rates.index(top) + 1
        told["shares"] = [round(rate / 5e-6, 4) for rate in watch.rates[:60]]
    if watch.trainer:
        told["megatron"] = {"train_iters": watch.trainer["train_iters"], **watch.trainer.get("scheduler", {})}
    return told


def asked(case: dict[str, Any], folder: str) -> dict[str, Any]:
    """GRPO's config and loader, up to where it asks for GPUs."""
    from omegaconf import OmegaConf

    config = importlib.import_module("nemo_rl.utils.config")
    module = importlib.import_module("nemo_rl.algorithms.grpo")
    config.register_omegaconf_resolvers()
    found = config.load_config(os.path.join(folder, "config.yaml"))
    if case.get("overrides"):
        found = config.parse_hydra_overrides(found, case["overrides"].split())
    master = module.MasterConfig(**OmegaConf.to_container(found, resolve=True))
    checks = Rows(case.get("validation", 64))
    told: dict[str, Any] = {}

    def reached(*inputs: Any, **more: Any) -> Any:
        frame = inspect.currentframe()
        while frame is not None and "dataloader" not in frame.f_locals:
            frame = frame.f_back
        assert frame is not None
        told["steps_per_epoch"] = len(frame.f_locals["dataloader"])
        raise Reached

    patches = [
        mock.patch.object(module, "RayVirtualCluster", reached),
        mock.patch.object(module, "Logger"),
        mock.patch.object(module, "CheckpointManager"),
    ]
    with contextlib.ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch)
        module.CheckpointManager.return_value.get_latest_checkpoint_path.return_value = None
        module.CheckpointManager.return_value.load_training_info.return_value = None
        with contextlib.suppress(Reached):
            module.setup(master, mock.MagicMock(), Rows(case["n"]), checks if checks.count else None)
    return told


def run(case: dict[str, Any]) -> dict[str, Any]:
    """One run in a folder of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
        mock.patch.dict(os.environ, {"TORCH_CUDA_ARCH_LIST": "9.0"}),
    ):
        files = {"base.yaml": base(case["algorithm"]), "config.yaml": case["config"], **case.get("files", {})}
        for name, text in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as stream:
                stream.write(text)
        here = os.getcwd()
        os.chdir(folder)
        try:
            return (asked if case["algorithm"] == "grpo" else trained)(case, folder)
        finally:
            os.chdir(here)


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "nemo_rl.json")
    import typing_extensions
    from transformers import AutoProcessor, AutoTokenizer, PreTrainedTokenizerBase  # noqa: F401 # before stand-ins do

    typing.TypedDict = typing_extensions.TypedDict  # type: ignore[misc,assignment] # pydantic asks for it
    stubs.install(*STUBBED)
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "nemo-rl", "hydra-core", "omegaconf", "pydantic", "torch")
    if not options.show:
        recording.note(options.out, "base", {algorithm: base(algorithm) for algorithm in _OF})


if __name__ == "__main__":
    main()
