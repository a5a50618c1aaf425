"""Any value under any key that a reader knows gives a run, whose facts can be asked for: never a traceback."""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import epochlint.trainers
from epochlint.documents import yaml_document
from epochlint.run.known import Known
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import Versions
from epochlint.source import Source
from epochlint.trainers.trainer import Layer, Reading

VALUES = (
    "1", "0", "-1", "8", "1.5", "1e400", ".nan", ".inf", "-.inf", "true", "no", "~", '""', '"8"', "[1, 2]", "[]", "{}",
    "{a: 1}", "[[1]]", "[{a: 1}]", "[~]", "None", "010", "1:30", "10%", "'${x}'", "'${'", "<X>", "-0.0", "1.0e+25",
    "99999999999999999999999", "2024-01-01", "epoch", "auto", "text", "{1: 2}", "'{'",
)  # fmt: skip


class Base:
    """A config that its reader takes, whose values are exchanged; `modules` hold the names of its keys."""

    def __init__(self, text: str, *modules: str, command: tuple[str, ...] = (), section: str = "") -> None:
        self.text = text
        self.modules = modules
        self.command = command
        self.section = section

    def __repr__(self) -> str:
        return " ".join((self.modules[0], *self.command[1:]))


_NEMO = """
policy:
  train_global_batch_size: 8
  train_micro_batch_size: 1
  dtensor_cfg: {enabled: true, lora_cfg: {enabled: true}}
  megatron_cfg: {enabled: false, optimizer: {lr: 1}, scheduler: {lr_warmup_iters: 1}, peft: {enabled: true}}
  optimizer: {name: torch.optim.AdamW, kwargs: {lr: 1}}
  scheduler: [{name: torch.optim.lr_scheduler.LinearLR, kwargs: {total_iters: 3}}, {milestones: [3]}]
  dynamic_batching: {enabled: false}
cluster: {gpus_per_node: 1, num_nodes: 1}
data: {train: {a: 1}, validation: {a: 1}, default: {a: 1}}
checkpointing: {enabled: true, save_period: 3}
loss_fn: {force_on_policy_ratio: true}
"""
_CALL = "{effective_batch_size: 8, max_batch_len: 10, num_epochs: 1, lora: {rank: 1}, fsdp_options: {a: 1}}"
_MIXED = "{model_name_or_path: a, dataset_mixer_list: [a, 1.0], use_slow_tokenizer: true, with_tracking: true}"
BASES = (
    Base(_NEMO + "sft: {max_num_steps: 3}", "nemo_rl", "nemo_rl_checks", "omegaconf"),
    Base(_NEMO + "grpo: {num_prompts_per_step: 2, async_grpo: {enabled: no}}", "nemo_rl", "nemo_rl_checks"),
    Base(
        "{step_scheduler: {global_batch_size: 8}, model: {a: 1}, optimizer: {lr: 1}, lr_scheduler: {min_lr: 0},"
        "checkpoint: {enabled: true}, validation_dataset: {a: 1}, distributed: {tp_size: 1}, packed_sequence: {a: 1}}",
        "nemo_automodel", "nemo_automodel_checks",
    ),
    Base(
        "{train: {train_iters: 3, global_batch_size: 8}, scheduler: {lr_warmup_iters: 1}, optimizer: {lr: 1},"
        "model: {tensor_model_parallel_size: 1}}",
        "megatron_bridge", "megatron_bridge_checks",
    ),
    Base(
        "{model_type: llm, base_model: a, input_features: [{name: a, type: text}], output_features: [{name: b}],"
        "trainer: {type: finetune, optimizer: {type: adam}, learning_rate_scheduler: {decay: linear}}, adapter:"
        "{type: lora}, quantization: {bits: 4}, preprocessing: {split: {type: random}}, prompt: {template: '{a}'}}",
        "ludwig", "ludwig_refusals",
    ),
    Base(
        "{llm_backbone: a, training: {epochs: 1}, dataset: {train_dataframe: a.csv}, environment: {gpus: ['0']},"
        "architecture: {backbone_dtype: int4}, logging: {logger: None}}",
        "h2o", "h2o_refusals",
    ),
    Base(
        "{task: llm-sft, base_model: a, project_name: b, backend: local, data: {path: a, column_mapping: {a: b}},"
        "params: {epochs: 1}, hub: {username: a}}",
        "autotrain", "autotrain_refusals",
    ),
    Base(
        "train: {effective_batch_size: 8, max_batch_len: 10, additional_args: {warmup_steps: 1}, lora: {rank: 1}}",
        "instructlab", "instructlab_refusals", section="train",
    ),
    *(
        Base(_CALL, "instructlab", "instructlab_refusals", command=("call", name))
        for name in ("instructlab.training.TrainingArgs", "training_hub.sft", "training_hub.osft", "training_hub.lora_sft")
    ),
    Base(
        "{training_data_path: a, model_name_or_path: b, output_dir: c, num_train_epochs: 1, peft_method: lora}",
        "fms_hf_tuning", "fms_refusals",
    ),
    *(
        Base(_MIXED, "open_instruct", command=("python", f"open_instruct/{name}.py"))
        for name in ("finetune", "dpo", "grpo_fast")
    ),
    Base("{model: a, data: {dataset: b}, training: {num_epochs: 1}, lora: {lora_r: 8}, logging: {a: 1}}", "unsloth"),
    Base("{model_name: a, dataset: b}", "unsloth", command=("python", "unsloth-cli.py")),
    Base(
        "{model: {_component_: torchtune.models.llama3.lora_llama3_8b}, optimizer: {_component_: torch.optim.AdamW},"
        "tokenizer: {_component_: torchtune.models.llama3.llama3_tokenizer}, loss: {_component_: a}, epochs: 1,"
        "dataset: {_component_: torchtune.datasets.alpaca_dataset, packed: true}, lr_scheduler: {_component_: a}}",
        "torchtune", "torchtune_keys", "torchtune_rows",
        command=("cli", "tune", "run", "lora_finetune_single_device"),
    ),
    Base(
        "{model: a, train: true, data: b, iters: 9, lora_parameters: {rank: 8}, hf_dataset: {path: a},"
        "lr_schedule: {name: cosine_decay, warmup: 1, arguments: [1e-5, 9]}}",
        "mlx_lm",
    ),
)  # fmt: skip


@lru_cache(maxsize=None)
def _names(modules: tuple[str, ...]) -> list[str]:
    """All words in the code of the modules: their keys are among them."""
    folder = Path(epochlint.trainers.__file__).parent
    trees = [ast.parse((folder / f"{module}.py").read_text(encoding="utf-8")) for module in modules]
    constants = [node.value for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    return sorted({one for one in constants if isinstance(one, str) and re.fullmatch(r"[A-Za-z_]\w*", one)})


def _places(base: Base) -> list[tuple[str, ...]]:
    """Every key that is there, and every key of the reader's in every section that is there."""

    def below(tree: dict[str, Any], path: tuple[str, ...]) -> list[tuple[str, ...]]:
        own = [(*path, key) for key in sorted({*tree, *_names(base.modules)})]
        return own + [
            place for key, one in tree.items() if isinstance(one, dict) for place in below(one, (*path, key))
        ]

    tree = yaml.safe_load(base.text)
    return below(tree[base.section] if base.section else tree, (base.section,) if base.section else ())


class _Raw(str):
    """A value as it is written."""


def _text(node: object) -> str:
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key}: {_text(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(map(_text, node)) + "]"
    return node if isinstance(node, _Raw) else yaml.safe_dump(node, default_style='"', width=10_000).strip()


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_a_run_comes_of_it(base: Base) -> None:
    trainer = import_module(f"epochlint.trainers.{base.modules[0]}")

    @settings(max_examples=40)
    @given(st.dictionaries(st.sampled_from(_places(base)), st.sampled_from(VALUES), min_size=1, max_size=8))
    def comes(changes: dict[tuple[str, ...], str]) -> None:
        tree = yaml.safe_load(base.text)
        for path, value in changes.items():
            block = tree
            for key in path[:-1]:
                block = block[key] if isinstance(block, dict) else None
            if isinstance(block, dict):
                block[path[-1]] = _Raw(value)
        document = yaml_document.read(Source("config.yaml", _text(tree)))
        trainer.recognise(document)
        mapping = next(document.mappings())
        inner = mapping.mapping(base.section) if base.section else mapping
        if inner is None:
            return
        via = "call" if base.command[:1] == ("call",) else ""
        run = trainer.read(Reading(document, [Layer(inner)], Versions({}), command=base.command, via=via))
        run.settings["rows"] = Known(1000)
        for budget in Scenarios(run):
            for name in ("total_steps", "warmup_steps", "evaluations", "checkpoints"):
                budget.fact(name)

    comes()
