"""transformers' own arguments: `TrainingArguments` and `Seq2SeqTrainingArguments`, in files, calls and flags."""

from __future__ import annotations

from epochlint.documents.document import Scalar
from epochlint.documents.scalars import boolean
from epochlint.run.known import DEFAULT, WRITTEN, Known
from epochlint.trainers import tables
from epochlint.trainers.hf.loading import full_name
from epochlint.trainers.hf.reader import Hf
from epochlint.trainers.hf.recognise import CORE, SHARED, argument_mappings, holds_arguments, is_trl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document, Mapping
    from epochlint.run.run import Run
    from epochlint.trainers.hf.script import Surroundings
    from epochlint.trainers.trainer import Reading

LABEL = "hf-args"

CALLS = frozenset(
    {
        "transformers.TrainingArguments",
        "transformers.Seq2SeqTrainingArguments",
        "transformers.training_args.TrainingArguments",
        "transformers.training_args_seq2seq.Seq2SeqTrainingArguments",
        "transformers.trainer.TrainingArguments",
        "unsloth.UnslothTrainingArguments",
        "unsloth.trainer.UnslothTrainingArguments",
        "unsloth.TrainingArguments",
    }
)

# Trainers of other libraries that take plain TrainingArguments -> the method they train by.
METHODS = {
    "SFTTrainer": "sft",
    "UnslothTrainer": "sft",
    "IterativeSFTTrainer": "sft",
    "DPOTrainer": "dpo",
    "ORPOTrainer": "orpo",
    "KTOTrainer": "kto",
    "CPOTrainer": "cpo",
    "RewardTrainer": "reward",
    "GRPOTrainer": "grpo",
    "RLOOTrainer": "rloo",
    "PPOTrainer": "ppo",
}


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in argument_mappings(document) if not is_trl(mapping)]


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """Any program that is given these arguments: a script that cannot be seen."""
    return holds_arguments(under_full_names(arguments))


def under_full_names(arguments: Mapping) -> Mapping:
    """Flags with underscores for dashes, and without the abbreviations that argparse allows."""
    from epochlint.documents.document import Entry, Mapping

    every = {*CORE, *SHARED}
    entries = [Entry(full_name(entry.key, every), entry.key_span, entry.value) for entry in arguments.entries]
    return Mapping(arguments.span, entries, arguments.open_ended)


def read(reading: Reading) -> Run:
    hf = Hf(reading, LABEL, tables.load("transformers", _owner(reading)), _extra(reading))
    hf.take_common()
    _take_precision(hf)
    if reading.python is None:  # the cap of transformers' example scripts, which cannot be seen here
        hf.taker.whole("sample_cap", "max_train_samples", default=None)
    around = hf.look_around()
    if around is not None:
        _take_trainer(hf.run, around)
    hf.check(metrics=() if around is None or around.name in ("Trainer", "Seq2SeqTrainer") else None)
    return hf.finish()


# What makes DeepSpeed's `fp16.enabled` and `bf16.enabled` anything but false (transformers 4.36.2 to 5.24.0,
# `integrations/deepspeed.py`, `trainer_config_process`).
_PRECISIONS = ("fp16", "bf16", "fp16_full_eval", "bf16_full_eval", "fp16_backend", "half_precision_backend")


def _take_precision(hf: Hf) -> None:
    """32 bits, where a script that can be seen asks for nothing else."""
    reading = hf.reading
    if reading.python is None or reading.open_ended or "half_precision" in hf.run.settings or _unsloth(reading):
        return
    asked = (reading.node(key) for key in _PRECISIONS)
    if all(node is None or (isinstance(node, Scalar) and boolean(node) is False) for node in asked):
        hf.run.settings["half_precision"] = Known("no", DEFAULT)


def _owner(reading: Reading) -> str:
    name = reading.command[1].rpartition(".")[2] if len(reading.command) > 1 and reading.command[0] == "call" else ""
    if name == "Seq2SeqTrainingArguments" or "predict_with_generate" in reading:
        return "Seq2SeqTrainingArguments"
    return "TrainingArguments"


def _extra(reading: Reading) -> tuple[str, ...]:
    """Fields that Unsloth's class adds (unsloth 2026.10, `trainer.py`)."""
    return ("embedding_learning_rate",) if _unsloth(reading) else ()


def _unsloth(reading: Reading) -> bool:
    return len(reading.command) > 1 and "unsloth" in reading.command[1]


def _take_trainer(run: Run, around: Surroundings) -> None:
    """What TRL's trainers once took as keywords of their own beside plain arguments (trl <= 0.12)."""
    method = METHODS.get(around.name)
    if method is None:
        return
    run.settings["method"] = Known(method, WRITTEN, span=around.trainer.span if around.trainer is not None else None)
    for keyword, name in (("packing", "packing"), ("max_seq_length", "sequence_length"), ("beta", "beta")):
        entry = around.trainer.entry(keyword) if around.trainer is not None else None
        if entry is None:
            continue
        if isinstance(entry.value, Scalar):
            run.settings[name] = Known(entry.value.value, WRITTEN, key_span=entry.key_span, span=entry.value.span)
        elif name == "packing":
            run.settings[name] = Known(None, WRITTEN, exact=False, key_span=entry.key_span)
