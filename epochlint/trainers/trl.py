"""TRL: its config classes in calls, its command line and YAML, and recipes in its manner (alignment-handbook, open-r1).

Sources: trl 0.9.6 to 1.16.0, `trainer/*_config.py`, `trainer/*_trainer.py`, `scripts/utils.py` (`TrlParser`).
"""

from __future__ import annotations

import re
from functools import lru_cache

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting, by_loader, share_down
from epochlint.run.known import COMPANION, DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known, between, unknown
from epochlint.run.run import DataSource, Era
from epochlint.run.versions import ANY, VersionRange, specified, version_key
from epochlint.trainers import handbook, tables, trl_rows
from epochlint.trainers.hf import common, generations
from epochlint.trainers.hf.eras import eras
from epochlint.trainers.hf.reader import Hf
from epochlint.trainers.hf.recognise import argument_mappings, holds_arguments, is_trl, may_be_an_example
from epochlint.trainers.hf_args import under_full_names
from epochlint.trainers.mixtures import by_fraction
from epochlint.trainers.settings import MISSING, Loader, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from epochlint.documents.document import Document, Entry, Node
    from epochlint.run.counting import Get, Warmup
    from epochlint.run.run import Run
    from epochlint.trainers.hf.eras import Segment
    from epochlint.trainers.hf.script import Surroundings
    from epochlint.trainers.tables import Table
    from epochlint.trainers.trainer import Reading

LABEL = "trl"

# Class -> method.
METHODS = {
    "SFTConfig": "sft",
    "IterativeSFTConfig": "sft",
    "DPOConfig": "dpo",
    "ORPOConfig": "orpo",
    "KTOConfig": "kto",
    "BCOConfig": "other",
    "CPOConfig": "cpo",
    "TPOConfig": "other",
    "RewardConfig": "reward",
    "PRMConfig": "reward",
    "GRPOConfig": "grpo",
    "RLOOConfig": "rloo",
    "PPOConfig": "ppo",
    "OnlineDPOConfig": "other",
    "XPOConfig": "other",
    "NashMDConfig": "other",
    "GKDConfig": "other",
    "GOLDConfig": "other",
}

# Command of `trl` (and script of `trl.scripts`) -> class.
_COMMANDS = {
    "sft": "SFTConfig",
    "dpo": "DPOConfig",
    "kto": "KTOConfig",
    "orpo": "ORPOConfig",
    "cpo": "CPOConfig",
    "reward": "RewardConfig",
    "grpo": "GRPOConfig",
    "rloo": "RLOOConfig",
    "ppo": "PPOConfig",
    "prm": "PRMConfig",
    "bco": "BCOConfig",
    "gkd": "GKDConfig",
    "gold": "GOLDConfig",
}

# Keys that only one class has, so that a file tells its method; asked in this order.
_MARKS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("GRPOConfig", ("num_generations", "max_completion_length", "reward_funcs", "steps_per_generation")),
    ("KTOConfig", ("desirable_weight", "undesirable_weight")),
    ("CPOConfig", ("cpo_alpha", "simpo_gamma")),
    ("RLOOConfig", ("rloo_k",)),
    ("PPOConfig", ("num_ppo_epochs", "kl_coef")),
    ("DPOConfig", ("precompute_ref_log_probs", "label_smoothing_dpo", "rpo_alpha", "dpo_loss_type", "dpo_beta")),
    (
        "SFTConfig",
        (
            "packing",
            "packing_strategy",
            "dataset_text_field",
            "assistant_only_loss",
            "completion_only_loss",
            "max_seq_length",
        ),
    ),
)

# Losses of DPOConfig in any version (trl 0.9.6 to 1.16, `trainer/dpo_config.py` and `dpo_trainer.py`).
_DPO_LOSSES = frozenset({
    "aot", "aot_pair", "aot_unpaired", "apo_down", "apo_zero", "bco_pair", "discopop", "exo_pair", "hinge",
    "ipo", "nca_pair", "robust", "sigmoid", "sigmoid_norm", "sppo_hard", "kto_pair", "sft",
})  # fmt: skip

# Keys of scripts and launchers around the classes: of `TrlParser`, `accelerate launch`, and of open-r1's scripts.
_SCRIPT_KEYS = frozenset({
    "config", "env", "accelerate_config", "num_processes", "num_machines", "machine_rank",
    "main_process_port", "main_process_ip", "mixed_precision", "config_file", "use_deepspeed",
    "deepspeed_config_file", "zero_stage", "dynamo_backend", "multi_gpu", "gpu_ids", "debug",
    "reward_model_name_or_path", "reward_funcs", "dataset_mixture", "chat_template", "system_prompt",
    "wandb_entity", "wandb_project", "benchmarks", "callbacks", "overwrite_hub_revision",
    "push_to_hub_revision", "hub_model_revision", "cosine_min_value_wrong", "cosine_max_value_wrong",
    "cosine_min_value_correct", "cosine_max_value_correct", "cosine_max_len", "repetition_n_grams",
    "repetition_max_penalty", "code_language", "dataset_prompt_column", "max_prompt_length",
})  # fmt: skip

# Predefined files of `accelerate_config`, and the processes that each starts (trl 0.24 and 1.16, `accelerate_configs/`;
# single_gpu has distributed_type NO).
_ACCELERATE = {"fsdp1": 8, "fsdp2": 8, "multi_gpu": 8, "single_gpu": 1, "zero1": 8, "zero2": 8, "zero3": 8}


_OLDEST = "0.9.6"  # version of trl that was read

# Packing strategies that only some versions have -> the versions that refuse them, from the first to before the second
# (trl 0.19.1 to 1.16, `data_utils.py`, `pack_dataset`).
_STRATEGIES: dict[str, tuple[str | None, str | None]] = {
    "ffd": ("0.20", None),
    "bfd": (None, "0.20"),
    "bfd-requeue": (None, "0.25"),
    "bfd_split": (None, "0.30"),
}

_EPISODES = re.compile(r"gym(?:_|$)|(?:^|_)(?:env|environment|episode)s?_")

# Settings whose default is another after `import unsloth`.
_PATCHED = (
    "per_device_batch",
    "per_device_eval_batch",
    "accumulation",
    "learning_rate",
    "weight_decay",
    "logging_steps",
    "eval_strategy",
    "eval_steps",
    "save_strategy",
)


class _Origins:
    """Every dotted name under which a class can be imported from trl ("trl.trainer.sft_config.SFTConfig")."""

    __slots__ = ()

    def __contains__(self, origin: object) -> bool:
        return isinstance(origin, str) and origin.startswith("trl.") and _class_of(origin) in METHODS


CALLS = _Origins()


def _class_of(origin: str) -> str:
    name = origin.rpartition(".")[2]
    return "PPOConfig" if name == "PPOv2Config" else "RLOOConfig" if name == "RLOOv2Config" else name


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in argument_mappings(document) if is_trl(mapping)]


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`trl sft`, `python -m trl.scripts.sft`, and scripts that are given TRL's arguments."""
    if _command_class(program) is not None:
        return True
    mapping = under_full_names(arguments)
    if not holds_arguments(mapping) or not is_trl(mapping):
        return False
    return not may_be_an_example(mapping) or _by_path(" ".join(program)) is not None


def _by_own_script(reading: Reading) -> bool:
    """Whether TRL's own command or script takes the arguments: then all of its keys are known."""
    return reading.via != "call" and _command_class(reading.command) is not None


def _stops_at_unknown(reading: Reading) -> bool:
    """Whether every possible version stops at a key that nobody knows.

    `trl COMMAND` hands it on to `accelerate launch`, which refuses it (0.19.1 and 0.24 `cli.py`: only of `sft`; 1.16
    `cli/commands/training.py`: of all). The scripts themselves drop it without a word (`scripts/sft.py`).
    """
    program = reading.command
    if "trl" not in program:
        return False
    since = "0.19" if program[program.index("trl") + 1 :][:1] == ("sft",) else "1.16"
    return reading.versions.of("trl").at_least(since) is True


def _command_class(program: tuple[str, ...]) -> str | None:
    """The class that a command fills, for `("trl", "sft")` and modules of trl itself."""
    for index, word in enumerate(program):
        if word == "trl" and index + 1 < len(program):
            return _COMMANDS.get(program[index + 1])
        if word.startswith(("trl.scripts.", "trl.commands.")):
            return _COMMANDS.get(word.rpartition(".")[2])
    return None


def read(reading: Reading) -> Run:
    owner = owner_of(reading)
    if _may_be_first_ppo(reading, owner):
        return _read_first_ppo(reading)
    table = tables.load("trl", owner if owner is not None else "SFTConfig")
    hf = Hf(reading, LABEL, table, _extra(reading, owner), _loader(reading))
    hf.consumer.complete = owner is not None and (hf.consumer.complete or _by_own_script(reading))
    if _by_own_script(reading):
        hf.consumer.rejects = _stops_at_unknown(reading)
    trl = Trl(hf, owner, table)
    if trl.patched:
        hf.consumer.rejects = False  # unslothai/unsloth@015bdef0, `models/rl_config_compat.py`: dropped with a word
    trl.take()
    return trl.finish()


# The fields of the PPOConfig that was no child of TrainingArguments (trl 0.11.4, trainer/ppo_config.py).
_FIRST_PPO = frozenset(
    (
        "exp_name", "seed", "log_with", "task_name", "model_name", "query_dataset", "reward_model",
        "remove_unused_columns", "tracker_kwargs", "accelerator_kwargs", "project_kwargs", "tracker_project_name",
        "push_to_hub_if_best_kwargs", "steps", "learning_rate", "adap_kl_ctrl", "init_kl_coef", "kl_penalty", "target",
        "horizon", "gamma", "lam", "cliprange", "cliprange_value", "vf_coef", "batch_size", "forward_batch_size",
        "mini_batch_size", "gradient_accumulation_steps", "ppo_epochs", "max_grad_norm", "optimize_cuda_cache",
        "optimize_device_cache", "early_stopping", "target_kl", "compare_steps", "ratio_threshold", "use_score_scaling",
        "use_score_norm", "score_clip", "whiten_rewards", "gradient_checkpointing", "is_encoder_decoder",
        "is_peft_model", "dataset_num_proc",
    )
)  # fmt: skip


def _may_be_first_ppo(reading: Reading, owner: str | None) -> bool:
    """Whether a call may fill the first PPOConfig, which trl has had until 0.11."""
    if owner != "PPOConfig" or reading.via != "call" or reading.command[1].endswith(".PPOv2Config"):
        return False
    return not possible_trl(reading).at_least("0.12") and reading.top.keys() <= _FIRST_PPO


def _read_first_ppo(reading: Reading) -> Run:
    """The first PPO: a loop of the user's own around `step()`, whose batches and length stand in that loop."""
    hf = Hf(reading, LABEL, tables.load("trl", "PPOConfig"), _FIRST_PPO, _loader(reading))
    hf.take_common(dict.fromkeys(common.DEFAULTS, UNKNOWN))
    for name in ("per_device_batch", "accumulation"):
        hf.run.settings[name] = UNKNOWN
    hf.run.settings["method"] = Known("ppo", WRITTEN)
    return hf.finish([Era("", Counting(by_loader(up=True, zero_limits=False), _rounded_down))])


def _rounded_down(get: Get) -> Warmup | None:
    ratio = get("warmup_ratio").number
    return share_down(ratio) if ratio is not None else None


def _loader(reading: Reading) -> Loader | None:
    """TrlParser for TRL's own scripts, and where nothing else can be seen: values are cast by the fields' types."""
    return Loader("TrlParser", converts_text=True, visible=bool(reading.command)) if not reading.via else None


def _extra(reading: Reading, owner: str | None) -> frozenset[str]:
    """Keys beside the class's own: all of TRL's dataclasses where a command or file may hold them."""
    if reading.via == "call":
        return frozenset({"max_seq_length"} if _unsloth(reading) else ())
    return _beside_any() if owner is None else _beside_one()


@lru_cache(maxsize=1)
def _beside_one() -> frozenset[str]:
    """Keys that TRL's scripts take beside those of one config class."""
    names = ("ScriptArguments", "ModelConfig", "DatasetMixtureConfig")
    return frozenset(_SCRIPT_KEYS).union(*(tables.load("trl", name).names() for name in names))


@lru_cache(maxsize=1)
def _beside_any() -> frozenset[str]:
    """Keys that one of TRL's scripts takes."""
    return _beside_one().union(*(tables.load("trl", name).names() for name in METHODS))


def _unsloth(reading: Reading) -> bool:
    """Whether the script imports Unsloth, which puts classes of its own in the place of TRL's."""
    imports = getattr(reading.python, "imports", {})
    return any(origin.partition(".")[0] == "unsloth" for origin in imports.values())


# The method ----------------------------------------------------------------------------------------------------------


def owner_of(reading: Reading) -> str | None:
    """The config class that a reading fills; None where it cannot be told."""
    if reading.command[:1] == ("call",) and len(reading.command) > 1:
        name = _class_of(reading.command[1])
        return name if name in METHODS else None
    found = _command_class(reading.command) or _by_target(reading) or _by_keys(reading)
    return found or _by_path(reading.document.source.path) or (_by_path(" ".join(reading.command)))


def _by_target(reading: Reading) -> str | None:
    """Hydra's `_target_: trl.SFTConfig`."""
    name = _class_of(reading.text("_target_") or "")
    return name if name in METHODS else None


def _by_keys(reading: Reading) -> str | None:
    for owner, marks in _MARKS:
        if not reading.top.keys().isdisjoint(marks) and any(_written(reading, mark) for mark in marks):
            named = _by_path(reading.document.source.path)
            return named if named is not None and _has(named, marks) else owner
    loss = reading.text("loss_type")
    if loss == "simpo":
        return "CPOConfig"
    if loss in _DPO_LOSSES:
        return "DPOConfig"
    return None


def _has(owner: str, keys: tuple[str, ...]) -> bool:
    """Whether a class has one of the keys, too."""
    try:
        table = tables.load("trl", owner)
    except KeyError:
        return False
    return any(table.known(key) for key in keys)


def _written(reading: Reading, key: str) -> bool:
    return common.written(found[0] if (found := reading.entry(key)) is not None else None)


def _by_path(path: str) -> str | None:
    """A method that a part of the path names, where only one does."""
    words = set(re.split(r"[^a-z]+", path.lower()))
    named = {owner for word, owner in _COMMANDS.items() if word in words}
    return named.pop() if len(named) == 1 else None


# Reading -------------------------------------------------------------------------------------------------------------


class Trl:
    """One TRL run being read."""

    __slots__ = ("hf", "owner", "patched", "run", "table", "trl")

    def __init__(self, hf: Hf, owner: str | None, table: Table) -> None:
        self.hf = hf
        self.run = hf.run
        self.owner = owner
        self.table = table
        self.trl = possible_trl(hf.reading)
        self.patched = _unsloth(hf.reading)
        pinned = hf.reading.versions.of("trl")
        self.run.version = pinned.low if pinned.pinned else None

    # Settings ---------------------------------------------------------------------------------------------------------

    def take(self) -> None:
        taker = self.hf.taker
        self.hf.take_common(self._defaults())
        self._take_method()
        self._take_limit()
        self._take_packing()
        self._take_length()
        taker.number("beta", "beta", "dpo_beta", default=self.default("beta"))
        if self.owner in ("GRPOConfig", "RLOOConfig") or _written(self.hf.reading, "num_generations"):
            self._take_generations()
        self._take_model()
        self._take_processes()
        around = self.hf.look_around()
        if around is None:
            self._take_files()
        else:
            self._take_script_data(around)

    def default(self, name: str) -> Known:
        """The default of a key that is not written, if it is the same in every version that is possible."""
        if self.owner is None or self.patched or name in self.hf.reading:
            return UNKNOWN
        low, high = bounds(self.trl)
        values = self.table.defaults(name, low, high)
        if len(values) != 1 or self.table.exists(name, low, high) is False:
            return UNKNOWN
        return Known(values[0], DEFAULT)

    def _defaults(self) -> dict[str, object]:
        """TRL's defaults where they are not those of TrainingArguments.

        After `import unsloth` the classes have other defaults by Unsloth's version (batch 4, accumulation 2, a warmup
        of a tenth, a log line each step; unsloth 2026.10, `models/rl.py`): then they are unknown.
        """
        if self.patched:
            changed: dict[str, object] = dict.fromkeys(_PATCHED, UNKNOWN)
            if not any(_written(self.hf.reading, key) for key in ("warmup_steps", "warmup_ratio")):
                changed.update(warmup_steps=UNKNOWN, warmup_ratio=UNKNOWN)
            return changed
        rate = self.default("learning_rate")
        found: dict[str, object] = {"logging_steps": self.default("logging_steps")}
        # Where the default differs between versions it is left to the eras.
        found["learning_rate"] = rate if rate.exact or self.owner is None else MISSING
        return found

    def _take_method(self) -> None:
        settings = self.run.settings
        if self.owner is not None:
            method = METHODS[self.owner]
            loss = self.hf.entry("loss_type") or self.hf.entry("dpo_loss_type")
            text = _word(loss)
            if method == "dpo" and text == "ipo":
                method = "ipo"
            elif method == "cpo" and text == "simpo":
                method = "simpo"
            if text is not None and loss is not None:
                settings["loss_type"] = Known(text, WRITTEN, key_span=loss.key_span, span=loss.value.span)
            elif method == "dpo" and loss is None and self._told() and not self.hf.reading.open_ended:
                settings["loss_type"] = Known("sigmoid", DEFAULT)  # in every version read, `dpo_config.py`
            settings["method"] = Known(method, WRITTEN)

    def _take_limit(self) -> None:
        """In a program of its author's own, beside an environment, `max_steps` may be that of an episode."""
        reading = self.hf.reading
        limit = self.hf.setting("max_steps")
        if reading.via or limit.number is None or METHODS.get(self.owner or "") not in ("grpo", "rloo", "ppo"):
            return
        if any(_EPISODES.search(entry.key) and not self.hf.consumer.knows(entry.key) for entry, _ in reading.entries()):
            self.hf.taker.derive("max_steps", unknown(limit.key_span, limit.span, limit.origin))

    def _told(self) -> bool:
        """Whether a call or TRL's own command says which class it is, and not keys that may be another script's."""
        return self.hf.reading.via == "call" or _command_class(self.hf.reading.command) is not None

    def _take_packing(self) -> None:
        if self.owner not in (None, "SFTConfig", "IterativeSFTConfig"):
            return
        packing = self.hf.taker.flag("packing", "packing")
        strategy = _word(self.hf.entry("packing_strategy"))
        # "bfd" and "ffd" only join rows (trl >= 0.19); others cut them anywhere, so there can be more than before.
        joins = strategy in ("bfd", "ffd") or (strategy is None and self.trl.at_least("0.19") is True)
        if packing.value is True and joins and not self.patched:
            self.run.settings["packing_joins"] = Known(True)
        if packing.value is True and self.trl.at_least("0.15") is False:
            # `ConstantLengthDataset` gives whole sequences only (trl 0.12.2 and 0.14, `trainer/utils.py`).
            self.run.settings["packing_drops"] = Known(True)

    def _take_length(self) -> None:
        """Texts are cut at `max_length`, once `max_seq_length`: 1,024 by default in most versions."""
        default = self.default("max_length")
        if not default.exact:
            default = self.default("max_seq_length")
        self.hf.taker.whole("sequence_length", "max_seq_length", "max_length", default=default)

    def _take_generations(self) -> None:
        taker = self.hf.taker
        taker.whole("num_generations", "num_generations", "rloo_k", default=self.default("num_generations"))
        taker.whole("num_iterations", "num_iterations", default=1)
        taker.whole("generation_batch_size", "generation_batch_size", default=None)
        written = taker.whole("steps_per_generation", "steps_per_generation", default=None)
        if written.exact and written.value is None:
            # One round of generation for each step (>= 0.17); before, its batch did not count the accumulation.
            newer = self.trl.at_least("0.17")
            accumulation = self.hf.setting("accumulation")
            known = accumulation if newer is True else Known(1, DEFAULT) if newer is False else UNKNOWN
            taker.derive("steps_per_generation", known)
        count = self.hf.setting("num_generations")
        if self.patched:
            self._fill_groups(count)
        compares = self.owner in (None, "GRPOConfig", "RLOOConfig")  # completions of one prompt with each other
        if compares and count.by_hand and count.number is not None and count.number < 2 and count.key_span is not None:
            reason = f"{self.owner or 'GRPOConfig'} needs at least 2 completions of each prompt, not {count.number:g}"
            taker.observe("too_few_generations", count.key_span, reason=reason)
        automatic = self.hf.entry("auto_find_batch_size")
        if automatic is not None and boolean(automatic.value):
            reason = "auto_find_batch_size: the batch must hold whole groups of completions"
            where = {"consumer": "trl", "package": "trl", "since": "1.16"}
            taker.observe("rejected", automatic.key_span, reason=reason, **where)  # type: ignore[arg-type] # texts
        both = self.hf.entry("steps_per_generation"), self.hf.entry("generation_batch_size")
        if both[0] is not None and both[1] is not None:
            reason = "generation_batch_size and steps_per_generation cannot both be set"
            taker.observe("rejected", both[1].key_span, reason=reason, consumer="trl")

    def _fill_groups(self, count: Known) -> None:
        """After `import unsloth` a batch that does not hold whole groups of completions becomes one group.

        unsloth 2025.2 to 2026.8, `models/rl.py`: first the device's batch had to be a multiple, later batch x
        accumulation x WORLD_SIZE (1 without a launcher).
        """
        batch, accumulation = self.hf.setting("per_device_batch"), self.hf.setting("accumulation")
        size, group = batch.number, count.number
        if size is None or group is None or size < 1 or group < 2 or size % group == 0:
            return
        if any(_written(self.hf.reading, key) for key in ("steps_per_generation", "generation_batch_size")):
            return
        whole = accumulation.number is None or size * accumulation.number % group == 0
        changed = (
            between(min(size, group), max(size, group))
            if whole or self.hf.reading.command[:1] not in ((), ("call",))
            else Known(int(group), DERIVED, formula=f"one group of {group:g}, by Unsloth")
        )
        changed.key_span, changed.span = batch.key_span, batch.span
        self.run.settings["per_device_batch"] = changed

    def _take_model(self) -> None:
        """Model and adapter as the scripts' ModelConfig names them."""
        taker, reading = self.hf.taker, self.hf.reading
        if reading.via == "call":
            return
        model = reading.entry("model_name_or_path")
        if model is not None and isinstance(model[0].value, Scalar) and isinstance(model[0].value.value, str):
            settings = self.run.settings
            settings["model"] = Known(model[0].value.value, model[1], key_span=model[0].key_span)
        adapter = self.hf.entry("use_peft")
        rank = self.hf.entry("lora_r")
        four_bits = self.hf.entry("load_in_4bit")
        wanted = boolean(adapter.value) if adapter is not None else None
        place = adapter or rank
        if wanted is True or (adapter is None and rank is not None and not self._is_trl_itself()):
            quantized = four_bits is not None and boolean(four_bits.value)
            where = place.key_span if place is not None else None
            taker.derive("tuning", Known("qlora" if quantized else "lora", WRITTEN, key_span=where))
            if rank is not None:
                value = number(rank.value)
                taker.derive("lora_rank", Known(value, WRITTEN, exact=value is not None, key_span=rank.key_span))
        elif wanted is False or (adapter is None and self._is_trl_itself()):
            taker.derive("tuning", Known("full", WRITTEN if adapter is not None else DEFAULT))

    def _is_trl_itself(self) -> bool:
        """Whether TRL's own scripts, or recipes that take its ModelConfig, read the arguments."""
        if _command_class(self.hf.reading.command) is not None:
            return True
        reading = self.hf.reading
        recipe = ("dataset_name", "dataset_mixer", "dataset_mixture", "datasets")
        return not reading.via and "model_name_or_path" in reading and any(key in reading for key in recipe)

    def _take_processes(self) -> None:
        """`num_processes` and `accelerate_config` in a config of the `trl` command."""
        reading = self.hf.reading
        if reading.via == "call" or (reading.command and "trl" not in reading.command[:2]):  # ("cli", "trl", "sft")
            return
        entry = self.hf.entry("num_processes")
        if entry is not None:
            self.hf.taker.whole("gpus", "num_processes")
            return
        entry = self.hf.entry("accelerate_config")
        name = _word(entry)
        if entry is None or name is None:
            return
        if name in _ACCELERATE:
            found = Known(_ACCELERATE[name], COMPANION, key_span=entry.key_span, span=entry.value.span)
            self.run.settings["gpus"] = found
            return
        document = reading.lookup.document(name, reading.base) if reading.lookup is not None else None
        mapping = next(document.mappings(), None) if document is not None else None
        count = mapping.entry("num_processes") if mapping is not None else None
        value = number(count.value) if count is not None else None
        if count is not None and value is not None and value >= 1:
            self.run.settings["gpus"] = Known(int(value), COMPANION, key_span=count.key_span, span=count.value.span)

    # Data -------------------------------------------------------------------------------------------------------------

    def _take_files(self) -> None:
        """The scripts' `dataset_name`: a public name mostly, a file sometimes."""
        reading = self.hf.reading
        if any(_written(reading, key) for key in ("dataset_mixer", "dataset_mixer_list", "dataset_mixture")):
            if handbook.take(self.hf.taker):
                self._judge_rows()
            return
        if _written(reading, "datasets"):
            self._take_mixture()
            return
        entry = self.hf.entry("dataset_name")
        name = _word(entry)
        if entry is None or name is None:
            return
        sides = [(self.run.training, reading.text("dataset_train_split") or "train")]
        if self._is_trl_itself() and self._evaluates():
            sides.append((self.run.validation, reading.text("dataset_test_split") or "test"))
        paths = (name,) if name.endswith((".json", ".jsonl", ".csv", ".parquet")) else ()
        subset = reading.text("dataset_config") or ""
        for sources, split in sides:
            if "[" not in split:  # the scripts look a split up by its name
                sources.append(
                    DataSource(
                        entry.value.span,
                        paths=paths,
                        base=reading.base,
                        hub=name,
                        split=split,
                        subset=subset,
                        arrow=True,
                    )
                )
        self._judge_rows()
        streaming = self.hf.entry("dataset_streaming")
        if streaming is not None and boolean(streaming.value):
            self.run.settings["streaming"] = Known(True, WRITTEN, key_span=streaming.key_span)

    def _evaluates(self) -> bool:
        """Only then do the scripts take the other split."""
        strategy = self.hf.setting("eval_strategy")
        return strategy.exact and strategy.value not in (None, "no")

    def _take_mixture(self) -> None:
        """`datasets` of TRL's scripts, put one after the other, or by their `fraction`; `test_split_size` of them is
        held out (trl 1.16.0, `scripts/utils.py`, `get_dataset`)."""
        reading, run = self.hf.reading, self.run
        node = reading.node("datasets")
        items = node.items if isinstance(node, Sequence) else []
        maps = [item for item in items if isinstance(item, Mapping)]
        if not maps or len(maps) != len(items) or not self._is_trl_itself():
            return
        fractions = [number(item.get("fraction")) for item in maps if _is_given(item.get("fraction"))]
        if fractions and (len(fractions) != len(maps) or None in fractions):
            return
        run.training.extend(self._part(item) for item in maps)
        if fractions:
            run.mix = by_fraction([float(one) for one in fractions if one is not None])
        else:
            self._judge_rows()
        held = self.hf.entry("test_split_size")
        if held is not None and number(held.value) is not None:
            known = Known(number(held.value), WRITTEN, key_span=held.key_span, span=held.value.span)
            run.settings["validation_split"] = known

    def _part(self, item: Mapping) -> DataSource:
        place = item.get("path")
        span = place.span if place is not None else item.span
        path, split = text_of(place), text_of(item.get("split")) or "train"
        if path is None or _is_given(item.get("data_dir")):
            return DataSource(span)
        files = item.get("data_files")
        if not _is_given(files):
            local = path.startswith(("./", "../"))
            return DataSource(
                span, paths=(path,) if local else (), base=self.hf.reading.base, hub=path, split=split,
                subset=text_of(item.get("name")) or "", arrow=True,
            )  # fmt: skip
        named = [text_of(one) for one in files.items] if isinstance(files, Sequence) else [text_of(files)]
        if path not in ("json", "csv", "text", "parquet") or any(name is None for name in named):
            return DataSource(span)
        paths = [name for name in named if name is not None]
        return DataSource(span, paths=paths, base=self.hf.reading.base, split=split, arrow=True)

    def _take_script_data(self, around: Surroundings) -> None:
        """Rows that TRL's own trainers leave out or join are no rows of the loader any more."""
        if around.trainer is not None and self.patched and self.run.settings.get("packing") is None:
            self.run.settings["packing"] = Known(False)
        if around.trainer is not None and around.whole and around.argument("formatting_func") is None:
            self._judge_rows()

    def _judge_rows(self) -> None:
        """The rows of files that a trainer of TRL is given as they are."""
        if self.patched or self.hf.entry("dataset_kwargs") is not None:
            return
        reading, settings = self.hf.reading, self.run.settings

        def on(key: str) -> bool:
            entry = self.hf.entry(key)
            return entry is not None and boolean(entry.value) is True

        answers_only = on("assistant_only_loss")
        field = self.hf.entry("dataset_text_field")
        text = reading.text("dataset_text_field") if field is not None else "text"
        packs = settings.get("packing", UNKNOWN).value is True
        limit = None if packs else settings.get("sequence_length", UNKNOWN).number
        for source in (*self.run.training, *self.run.validation):
            if not source.rewritten and text is not None:
                source.check = trl_rows.check_of(self.owner, answers_only=answers_only, text=text)
            source.keep = trl_rows.keep_of(self.owner, self.trl, limit, answers_only or on("completion_only_loss"))

    # Finishing --------------------------------------------------------------------------------------------------------

    def finish(self) -> Run:
        self._refuse()
        self.hf.check(metrics=None)
        return self.hf.finish(self._eras())

    def _refuse(self) -> None:
        """What TRL's own validation refuses."""
        strategy = self.hf.entry("packing_strategy")
        since, until = _STRATEGIES.get(_word(strategy) or "", (None, None))
        if strategy is not None and (since is not None or until is not None):
            bounds_: dict[str, Any] = {key: end for key, end in (("since", since), ("until", until)) if end is not None}
            reason = f"packing_strategy {_word(strategy)} does not exist in this version of TRL"
            observe = self.hf.taker.observe
            observe("rejected", strategy.key_span, reason=reason, consumer="trl", package="trl", **bounds_)
        loss = self.hf.setting("loss_type")
        odd = loss.by_hand and loss.value not in _DPO_LOSSES and str(loss.value).isidentifier()
        if self.owner == "DPOConfig" and self._told() and odd and loss.key_span is not None:
            reason = f"{loss.value} is no loss_type of DPOConfig"
            self.hf.taker.observe("rejected", loss.key_span, reason=reason, consumer="trl")
        first = self.table.versions[0]
        if self.owner is not None and self.trl.at_least(first) is False and version_key(first) > version_key(_OLDEST):
            reason = f"{self.owner} came with trl {first}"
            self.hf.taker.observe("rejected", self.run.span, reason=reason, consumer="trl")
        # KTO's estimate of the divergence needs two rows on each device (trl 0.9.6 to 0.24, `kto_trainer.py`).
        batch = self.hf.setting("per_device_batch")
        plain = self.hf.setting("loss_type").value in (None, "kto")
        if self.owner == "KTOConfig" and batch.number == 1 and batch.key_span is not None and plain:
            reason = "KTO needs a per-device batch of at least 2 for its KL term"
            self.hf.taker.observe("too_few_generations", batch.key_span, reason=reason, package="trl")

    def _eras(self) -> list[Era]:
        """The eras of TRL's versions and of transformers' together; neighbours that count alike are one."""
        found: list[tuple[Group, list[Era]]] = []
        for group in self._groups():
            within = self.hf.within.narrowed(group.transformers)
            settings = {**self.run.settings, **group.defaults}
            part = self.hf.split(eras(self.hf.reading.versions, settings, within=within, adapt=self._adapt(group)))
            for era in part:
                era.defaults = {**group.defaults, **era.defaults}
                era.versions["trl"] = group.range
            found.append((group, part))
        if len(found) == 1:
            return found[0][1]
        result = []
        for group, part in found:
            for era in part:
                era.label = f"trl {group.label}" + (f", transformers {era.label}" if era.label else "")
                result.append(era)
        return result

    def _adapt(self, group: Group) -> Callable[[Counting, Segment], Counting]:
        owner = self.owner
        joins = "packing_joins" in self.run.settings
        packs = owner == "SFTConfig" and self.run.settings.get("packing", UNKNOWN).value is True

        def adapt(counting: Counting, segment: Segment) -> Counting:
            if owner in ("GRPOConfig", "RLOOConfig") and group.style:
                counting.steps = generations.steps(group.style, segment.up, segment.zero_limits)
            elif owner in ("PPOConfig", "RLOOConfig"):
                counting.steps = None
            if joins:
                counting.records = _packed
            elif packs:  # cut and joined, so that rows tell nothing
                counting.records = _cut
            return counting

        return adapt

    def _groups(self) -> list[Group]:
        """Stretches of TRL's versions that differ for this run: in a default that is not written, or in counting."""
        low, high = bounds(self.trl)
        versions = _versions_inside(self.table, low, high)
        if not self._varies():
            return self._ranged([Group(versions[0], versions[-1], {}, "", None)])
        groups: list[Group] = []
        for version in versions:
            defaults = self._varying(version)
            style = _style(self.owner, version)
            mark = (sorted((name, known.value) for name, known in defaults.items()), style)
            if groups and groups[-1].mark == mark:
                groups[-1].last = version
            else:
                groups.append(Group(version, version, defaults, style, mark))
        return self._ranged(groups)

    def _ranged(self, groups: list[Group]) -> list[Group]:
        for index, group in enumerate(groups):
            first, last = index == 0, index == len(groups) - 1
            below = None if last else groups[index + 1].first
            group.range = self.trl.narrowed(VersionRange(None if first else group.first, None, below))
            group.label = (
                f"<= {group.last}" if first else f">= {group.first}" if last else f"{group.first}-{group.last}"
            )
            if version_key(group.last) < version_key("0.12"):
                # transformers 5 has no `tokenizer` argument any more, which these pass to it.
                group.transformers = group.transformers.narrowed(VersionRange(None, None, "5.0"))
        stated = self.hf.reading.versions.of("transformers").narrowed(self.hf.within)
        fitting = [group for group in groups if _fits(group.transformers, stated)]
        return fitting or groups[-1:]

    def _varies(self) -> bool:
        """Whether anything that this run rests on changed between TRL's versions."""
        if self.owner in ("GRPOConfig", "RLOOConfig", "PPOConfig"):
            return True
        return "learning_rate" not in self.run.settings and not self.patched and self.owner is not None

    def _varying(self, version: str) -> dict[str, Known]:
        """Defaults of this version, for settings whose default is not the same in all that are possible."""
        if self.owner is None or self.patched:
            return {}
        found = {}
        if "learning_rate" not in self.run.settings and not self.hf.reading.open_ended:
            value = self.table.default("learning_rate", version)
            if value is not tables.MISSING:
                found["learning_rate"] = Known(value, DEFAULT)
        return found


class Group:
    """A stretch of TRL's versions that this run cannot tell apart."""

    __slots__ = ("defaults", "first", "label", "last", "mark", "range", "style", "transformers")

    def __init__(self, first: str, last: str, defaults: dict[str, Known], style: str, mark: object) -> None:
        self.first = first
        self.last = last
        self.defaults = defaults
        self.style = style
        self.mark = mark
        needs = tables.required_version("trl", "transformers", first)
        self.transformers = specified(needs) if needs else ANY
        self.range = ANY
        self.label = ""


def possible_trl(reading: Reading) -> VersionRange:
    """TRL's versions that project and keys leave possible."""
    return reading.versions.of("trl")


def bounds(range_: VersionRange) -> tuple[str | None, str | None]:
    """A range as the key tables take it: both ends included."""
    return range_.low, range_.high if range_.high is not None else range_.below


@lru_cache(maxsize=1000)
def _versions_inside(table: Table, low: str | None, high: str | None) -> list[str]:
    """The versions read in a range; the newest where there is none."""
    return [one for one in table.versions if _inside(one, low, high)] or [table.versions[-1]]


def _inside(version: str, low: str | None, high: str | None) -> bool:
    key = version_key(version)
    return (low is None or key >= version_key(low)) and (high is None or key <= version_key(high))


def _fits(one: VersionRange, other: VersionRange) -> bool:
    """Whether two ranges have a version in common."""
    low = max((end for end in (one.low, other.low) if end is not None), key=version_key, default=None)
    return one.meets(low, None) and other.meets(low, None)


def _style(owner: str | None, version: str) -> str:
    key = version_key(version)
    if owner == "GRPOConfig":
        if key < version_key("0.15"):
            return generations.PROMPTS
        return generations.REPEATED if key < version_key("0.16") else generations.ROUNDS
    if owner == "RLOOConfig" and key >= version_key("0.22"):
        return generations.ROUNDS
    return ""


def _packed(rows: Known, get: Get) -> Known:
    """Packs of rows that are only joined: at most as many as there are rows."""
    if get("packing").value is not True:
        return rows
    return between(1 if rows.low else 0, rows.high, basis=rows.basis)


def _cut(rows: Known, get: Get) -> Known:
    return between(1 if rows.low else 0, None, basis=rows.basis)


def _word(entry: Entry | None) -> str | None:
    node = entry.value if entry is not None else None
    if isinstance(node, Sequence) and len(node.items) == 1:
        node = node.items[0]
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None


def _is_given(node: Node | None) -> bool:
    return node is not None and not (isinstance(node, Scalar) and node.value is None)
