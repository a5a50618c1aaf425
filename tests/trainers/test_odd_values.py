"""Any value under any key that a reader knows gives a run, whose facts can be asked for: never a traceback."""

from __future__ import annotations

from importlib import import_module
from typing import Any, ClassVar

import pytest
import yaml

from epochlint.documents import yaml_document
from epochlint.documents.document import Mapping
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
    """A config that its reader takes, whose values are exchanged."""

    def __init__(self, text: str, module: str, command: tuple[str, ...] = (), section: str = "") -> None:
        self.text = text
        self.module = module
        self.command = command
        self.section = section

    def __repr__(self) -> str:
        return " ".join((self.module, *self.command[1:]))


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
    Base(_NEMO + "sft: {max_num_steps: 3}", "nemo_rl"),
    Base(_NEMO + "grpo: {num_prompts_per_step: 2, async_grpo: {enabled: no}}", "nemo_rl"),
    Base(
        "{step_scheduler: {global_batch_size: 8}, model: {a: 1}, optimizer: {lr: 1}, lr_scheduler: {min_lr: 0},"
        "checkpoint: {enabled: true}, validation_dataset: {a: 1}, distributed: {tp_size: 1}, packed_sequence: {a: 1}}",
        "nemo_automodel",
    ),
    Base(
        "{train: {train_iters: 3, global_batch_size: 8}, scheduler: {lr_warmup_iters: 1}, optimizer: {lr: 1},"
        "model: {tensor_model_parallel_size: 1}}",
        "megatron_bridge",
    ),
    Base(
        "{model_type: llm, base_model: a, input_features: [{name: a, type: text}], output_features: [{name: b}],"
        "trainer: {type: finetune, optimizer: {type: adam}, learning_rate_scheduler: {decay: linear}}, adapter:"
        "{type: lora}, quantization: {bits: 4}, preprocessing: {split: {type: random}}, prompt: {template: '{a}'}}",
        "ludwig",
    ),
    Base(
        "{llm_backbone: a, training: {epochs: 1}, dataset: {train_dataframe: a.csv}, environment: {gpus: ['0']},"
        "architecture: {backbone_dtype: int4}, logging: {logger: None}}",
        "h2o",
    ),
    Base(
        "{task: llm-sft, base_model: a, project_name: b, backend: local, data: {path: a, column_mapping: {a: b}},"
        "params: {epochs: 1}, hub: {username: a}}",
        "autotrain",
    ),
    Base(
        "train: {effective_batch_size: 8, max_batch_len: 10, additional_args: {warmup_steps: 1}, lora: {rank: 1}}",
        "instructlab", section="train",
    ),
    *(
        Base(_CALL, "instructlab", command=("call", f"training_hub.{name}"))
        for name in ("TrainingArgs", "sft", "osft", "lora_sft")
    ),
    Base(
        "{training_data_path: a, model_name_or_path: b, output_dir: c, num_train_epochs: 1, peft_method: lora}",
        "fms_hf_tuning",
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
        "dataset_val: {_component_: a}, run_val_every_n_steps: 5, batch_size: 2, max_steps_per_epoch: 50,"
        "dataset: {_component_: torchtune.datasets.alpaca_dataset, packed: false}, lr_scheduler: {_component_: a}}",
        "torchtune",
        command=("cli", "tune", "run", "lora_finetune_single_device"),
    ),
    Base(
        "{model: a, train: true, data: b, iters: 9, lora_parameters: {rank: 8}, hf_dataset: {path: a},"
        "lr_schedule: {name: cosine_decay, warmup: 1, arguments: [1e-5, 9]}}",
        "mlx_lm",
    ),
)  # fmt: skip


class _Asked(dict[str, Any]):
    """The top of a reading, which notes the keys that are looked for."""

    def __init__(self, top: dict[str, Any], asked: set[tuple[str, ...]]) -> None:
        super().__init__(top)
        self.asked = asked

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add((key,))
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add((str(key),))
        return super().__contains__(key)


class _Noting(Reading):
    """A reading that notes the paths that are looked for; those made of it do so, too."""

    asked: ClassVar[set[tuple[str, ...]]] = set()
    __slots__ = ()

    @property
    def top(self) -> dict[str, Any]:
        return _Asked(super().top, self.asked)

    def entry(self, *path: str) -> Any:
        self.asked.add(path)
        return super().entry(*path)

    def over(self, layers: Any) -> Reading:
        made = super().over(layers)
        made.__class__ = _Noting
        return made


class _Raw(str):
    """A value as it is written."""


def _text(node: object) -> str:
    if isinstance(node, dict):
        return "{" + ", ".join(f"{key}: {_text(value)}" for key, value in node.items()) + "}"
    if isinstance(node, list):
        return "[" + ", ".join(map(_text, node)) + "]"
    return node if isinstance(node, _Raw) else yaml.safe_dump(node, default_style='"', width=10_000).strip()


def _below(tree: dict[str, Any], path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """All that is written."""
    return [
        place
        for key, one in tree.items()
        for place in ((*path, key), *(_below(one, (*path, key)) if isinstance(one, dict) else ()))
    ]


def _read(base: Base, tree: dict[str, Any], kind: type[Reading] = Reading) -> None:
    trainer = import_module(f"epochlint.trainers.{base.module}")
    document = yaml_document.read(Source("config.yaml", _text({base.section: tree} if base.section else tree)))
    trainer.recognise(document)
    mapping = next(document.mappings())
    inner = mapping.mapping(base.section) if base.section else mapping
    assert isinstance(inner, Mapping)
    via = "call" if base.command[:1] == ("call",) else ""
    run = trainer.read(kind(document, [Layer(inner)], Versions({}), command=base.command, via=via))
    run.settings["rows"] = Known(1000)
    for budget in Scenarios(run):
        for name in ("total_steps", "warmup_steps", "evaluations", "checkpoints"):
            budget.fact(name)


def _changed(base: Base, changes: dict[tuple[str, ...], str]) -> dict[str, Any]:
    tree: dict[str, Any] = yaml.safe_load(base.text)
    tree = tree[base.section] if base.section else tree
    for path, value in changes.items():
        block: Any = tree
        for key in path[:-1]:
            block = block.setdefault(key, {}) if isinstance(block, dict) else None
        if isinstance(block, dict):
            block[path[-1]] = _Raw(value)
    return tree


TOGETHER = 6
"""Values that are exchanged at a time: more would hide each other, fewer take longer."""


@pytest.mark.parametrize("base", BASES, ids=repr)
def test_a_run_comes_of_it(base: Base) -> None:
    _Noting.asked = set(_below(_changed(base, {})))
    _read(base, _changed(base, {}), _Noting)
    places = sorted(path for path in _Noting.asked if path and all(path))
    assert len(places) > len(_below(_changed(base, {})))
    groups = -(-len(places) // TOGETHER)  # those of one section stand in different ones
    for shift in range(len(VALUES)):
        for begin in range(groups):
            some = places[begin::groups]
            changes = {path: VALUES[(at + shift) % len(VALUES)] for at, path in enumerate(some)}
            try:
                _read(base, _changed(base, changes))
            except Exception as wrong:
                raise AssertionError(f"{base} with {changes}") from wrong
