"""Which mappings are arguments of a Hugging Face trainer, told by their keys alone.

Flat files and sections of a file (`training:`, `training_args:`, ...) are found alike: a section is what holds the
keys, whatever it is called. Records of finished runs, model and adapter configurations, DeepSpeed files and other
trainers' formats hold some of the same keys and are none.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document, Node

# Names that hardly anything else has.
CORE = frozenset({
    "per_device_train_batch_size", "per_gpu_train_batch_size", "num_train_epochs",
    "per_device_eval_batch_size", "evaluation_strategy", "eval_strategy",
})  # fmt: skip

# Names that other formats share.
SHARED = frozenset({
    "gradient_accumulation_steps", "learning_rate", "lr_scheduler_type", "warmup_ratio", "warmup_steps",
    "max_steps", "weight_decay", "logging_steps", "logging_strategy", "save_steps", "save_strategy",
    "save_total_limit", "eval_steps", "output_dir", "load_best_model_at_end", "metric_for_best_model",
    "gradient_checkpointing", "bf16", "fp16", "optim", "max_grad_norm", "report_to", "seed",
    "overwrite_output_dir", "group_by_length", "dataloader_num_workers", "remove_unused_columns",
    "lr_scheduler_kwargs", "do_train", "do_eval", "logging_first_step", "adam_beta1", "adam_beta2",
})  # fmt: skip

_KNOWN = CORE | SHARED

# Names that only TRL's classes, its scripts, or the collections of recipes on top of it have.
TRL = frozenset({
    "dataset_train_split", "dataset_test_split", "use_peft", "lora_target_modules", "dataset_mixer",
    "dataset_mixer_list", "dataset_mixture", "dataset_splits", "dataset_configs", "dataset_eval_mixer_list",
    "assistant_only_loss", "completion_only_loss", "packing_strategy", "num_generations",
    "max_completion_length", "max_prompt_length", "precompute_ref_log_probs", "loss_type", "reward_funcs",
    "reward_weights", "dataset_text_field", "dataset_kwargs", "desirable_weight", "undesirable_weight",
    "max_target_length", "cpo_alpha", "simpo_gamma", "rloo_k", "use_vllm", "ref_model_sync_steps",
    "sync_ref_model", "steps_per_generation", "num_iterations", "generation_batch_size", "dataset_name",
    "beta", "lora_r", "max_length", "max_seq_length", "chat_template", "packing", "preprocessing_num_workers",
    "trainer_type", "sft_trainer", "response_template", "instruction_template", "dataset_num_proc",
    "dataset_batch_size", "vllm_mode", "rollout_batch_size", "kl_coef", "reward_model_path",
    "tokenizer_name_or_path", "model_revision",
})  # fmt: skip

# Those of them that the example scripts of transformers have as well (4.36.2 to 5.24.0, `examples/pytorch/*/run_*.py`).
_OF_EXAMPLES = frozenset({
    "dataset_name", "max_seq_length", "max_target_length", "model_revision", "preprocessing_num_workers",
})  # fmt: skip

# A mapping with one of these is another format, even where it holds arguments: its own reader, or none, takes it.
FOREIGN = frozenset({
    "finetuning_type", "_component_", "zero_optimization", "train_micro_batch_size_per_gpu",
    "distributed_type", "micro_batch_size", "training_data_path", "apiVersion", "architectures",
    "peft_type", "log_history", "global_step", "tuner_type", "train_type", "rlhf_type", "split_dataset_ratio",
    "effective_batch_size", "recipes", "jobs", "TrainingJobName", "AlgorithmSpecification",
})  # fmt: skip

# Signs of a record of a run that is over.
_RECORD = frozenset({
    "log_history", "train_runtime", "train_loss", "train_samples_per_second", "train_steps_per_second",
    "eval_runtime", "total_flos", "final_loss", "_wandb", "wandb_version",
    "training_time", "finished_at", "completed_at", "started_at", "ended_at", "start_time", "end_time",
    "duration_seconds", "elapsed_seconds", "git_commit", "environment_info", "package_versions",
    "library_versions", "train_metrics", "eval_metrics", "best_metric", "best_model_checkpoint",
    "test_results", "artifacts_sha256", "manifest_version",
})  # fmt: skip

# Keys that end so hold values in a record, and a list of names at most in a config.
_VALUES = ("metrics", "results")

# What TrainingArguments does not know, and other programs call these settings: a file that writes one instead is read
# by a program of its own.
_OTHER_NAMES = {
    "per_device_train_batch_size": frozenset({"train_batch_size", "batch_size"}),
    "num_train_epochs": frozenset({"epochs"}),
    "learning_rate": frozenset({"lr"}),
}

_DEPTH = 3
_SECTIONS = 200


def holds_arguments(mapping: Mapping) -> bool:
    """Whether a mapping's own keys are those of TrainingArguments."""
    keys = mapping.last
    known = len(_KNOWN.intersection(keys))
    if any(not keys.keys().isdisjoint(others) and key not in keys for key, others in _OTHER_NAMES.items()):
        return False
    if not CORE.isdisjoint(keys):
        return known >= 3 and _plain(mapping)
    if "model_name_or_path" in keys and "dataset_name" in keys and "learning_rate" in keys:
        return known >= 2 and _plain(mapping)
    return known >= 6 and _plain(mapping) and ("lr_scheduler_type" in keys or "save_total_limit" in keys)


def _plain(mapping: Mapping) -> bool:
    """Whether the values stand there themselves: a sweep or a log wraps each in a mapping."""
    return not any(isinstance(mapping.get(key), (Mapping, Sequence)) for key in CORE)


def is_foreign(root: Mapping) -> bool:
    """Whether the whole file is another format's, or a record of a finished run."""
    keys = root.last
    return not FOREIGN.isdisjoint(keys) or ("stage" in keys and "template" in keys) or is_record(root)


def is_record(mapping: Mapping) -> bool:
    """Whether a mapping tells of a run that is over."""
    if not _RECORD.isdisjoint(mapping.last):
        return True
    blocks = [entry.key for entry in mapping.entries if isinstance(entry.value, Mapping)]
    return any(key.endswith(_VALUES) for key in blocks)


def argument_mappings(document: Document) -> Iterator[Mapping]:
    """The mappings that hold arguments, outermost first; none below one that does."""
    for root in document.mappings():
        if is_foreign(root):
            continue
        if holds_arguments(root):
            yield root
            continue
        found = list(_sections(root))
        yield from (mapping for mapping in found if not any(_is_merged(mapping, other) for other in found))


def _is_merged(mapping: Mapping, other: Mapping) -> bool:
    """Whether a section is only there to be merged into another one (`<<: *common`)."""
    own = mapping.span
    return other is not mapping and any(
        own.start <= entry.key_span.start < own.end and other.span.start != own.start for entry in other.entries
    )


def _sections(root: Mapping) -> Iterator[Mapping]:
    level: list[Node] = [root]
    seen = 0
    for _ in range(_DEPTH):
        below: list[Node] = []
        for mapping in level:
            if not isinstance(mapping, Mapping):
                continue
            for entry in mapping.entries:
                seen += 1
                inner = entry.value
                if not isinstance(inner, Mapping) or seen > _SECTIONS:
                    continue
                if is_foreign(inner):
                    continue
                if holds_arguments(inner):
                    yield inner
                else:
                    below.append(inner)
        level = below


def is_trl(mapping: Mapping) -> bool:
    """Whether a mapping of arguments is meant for TRL or for recipes in its manner."""
    return not TRL.isdisjoint(mapping.last) or _target(mapping).startswith("trl.")


def may_be_an_example(mapping: Mapping) -> bool:
    """Whether all that tells of TRL are names that the example scripts of transformers have, too."""
    return TRL.intersection(mapping.last) <= _OF_EXAMPLES and not _target(mapping)


def _target(mapping: Mapping) -> str:
    node = mapping.get("_target_")
    return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else ""
