"""Configs in their author's own schema: `lr`, `epochs`, `batch_size`, `grad_accum` somewhere in a file.

A quarter of ordinary repositories have one. Nobody can see the program that reads it, so only what holds for any
trainer is taken, by what such keys mostly mean, and the run is `surmised`: nothing about it is an error.

- A file is one only where it gives a learning rate with a batch (or accumulation), speaks of language models, and of
  nothing that uses the same words in other units (vision, games, speech, records of finished runs).
- Keys count at the top and in sections that are named after training (`training:`, `optimizer:`, `hparams:`); one that
  stands twice with different values is unknown.
- `batch_size` may be a device's or the whole step's, with or without the accumulation: the effective batch is a range.
  The last, incomplete batch of a pass may be kept or dropped: both are asked.
- Batches of tokens, packing and streams leave the steps unknown.
- Where steps and epochs are both written, either may end the run: the steps bound it, the epochs are left out.
- The trainer's defaults are unknown, so what is not written is unknown.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Scalar, walk
from epochlint.documents.scalars import number
from epochlint.run.counting import Batch, Counting, ceil_of_rows, epochs_times, fixed, floor_of_rows, limited, share_up
from epochlint.run.known import DERIVED, UNKNOWN, Known, between
from epochlint.run.run import Era, Run
from epochlint.trainers.hf.recognise import FOREIGN, is_record
from epochlint.trainers.omegaconf import loads, resolved
from epochlint.trainers.settings import Loader, Taker
from epochlint.trainers.trainer import Layer, Reading, is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document, Entry
    from epochlint.run.counting import Get, Warmup

LABEL = "custom"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("the file's reader", converts_text=False, visible=False, reads_none=True)
OMEGACONF = Loader("OmegaConf", converts_text=False, visible=False, reads_none=True, reads_plain=True)

# Setting -> the keys that mean it, in lower case with underscores. What has two meanings in common programs
# (num_steps, num_training_steps, warmup, eval_every) is left out.
VOCABULARY: dict[str, tuple[str, ...]] = {
    "learning_rate": ("learning_rate", "lr", "base_lr", "peak_lr", "max_lr", "peak_learning_rate",
                      "base_learning_rate"),
    "epochs": ("epochs", "num_epochs", "n_epochs", "num_train_epochs", "max_epochs", "train_epochs", "epoch"),
    "max_steps": ("max_steps", "max_train_steps", "total_steps", "train_steps", "training_steps", "num_train_steps",
                  "total_train_steps", "total_training_steps", "max_training_steps", "max_iters", "max_iterations",
                  "total_iters"),
    "device_batch": ("per_device_train_batch_size", "per_device_batch_size", "per_gpu_train_batch_size",
                     "per_gpu_batch_size", "micro_batch_size", "microbatch_size", "micro_batch",
                     "train_micro_batch_size_per_gpu", "micro_batch_size_per_gpu", "batch_size_per_gpu",
                     "batch_size_per_device", "device_batch_size", "train_batch_size_per_gpu"),
    "step_batch": ("global_batch_size", "effective_batch_size", "total_batch_size"),
    "open_batch": ("batch_size", "train_batch_size", "batchsize", "bsz", "bs", "training_batch_size"),
    "accumulation": ("gradient_accumulation_steps", "grad_accum", "grad_accum_steps", "gradient_accumulation",
                     "accumulation_steps", "accumulate_grad_batches", "grad_acc", "grad_acc_steps", "grad_acc_size",
                     "grad_accumulation_steps", "gradient_accumulation_step"),
    "warmup_steps": ("warmup_steps", "num_warmup_steps", "lr_warmup_steps", "warmup_iters", "warmup_iterations"),
    "warmup_ratio": ("warmup_ratio", "warmup_fraction", "warmup_proportion", "lr_warmup_ratio"),
    "scheduler": ("lr_scheduler_type", "lr_scheduler", "scheduler", "scheduler_type", "lr_schedule", "lr_decay_style"),
    "eval_steps": ("eval_steps", "eval_interval", "eval_every_n_steps", "eval_every_steps", "evaluation_steps"),
    "weight_decay": ("weight_decay",),
}  # fmt: skip
# Where one of these is set, rows do not lead to steps: batches of tokens, several rows in one sequence, a stream.
_JOINED = re.compile(r"(?:^|_)(?:batch\w*_tokens|tokens_per_(?:batch|step)|packing|packed|pack|streaming)(?:_|$)")
_MEANING = {key: name for name, keys in VOCABULARY.items() for key in keys}
_BATCHES = ("device_batch", "step_batch", "open_batch")

_SECTION = re.compile(
    r"(?:^|_)(?:train|training|trainer|finetune|finetuning|fine_tuning|tuning|sft|dpo|grpo|pretrain|optim|optimi[sz]er"
    r"|optimi[sz]ation|scheduler|schedule|lr|hyperparameters?|hyper_parameters?|hyperparams?|hparams|hp|arguments?|args"
    r"|params?|parameters|kwargs|batch|config|cfg)(?:_|$)"
)
_NO_SECTION = re.compile(
    r"(?:^|_)(?:eval|evaluation|evaluate|val|validation|test|testing|infer|inference|generation|generate|sampling|serve"
    r"|serving|ref|reward|critic|rollout|env|environment|vllm|data|dataset|tokenizer|model|lora|peft|quantization|wandb"
    r"|logging|slurm|deepspeed|accelerate|fsdp|sweep|smoke|debug|diagnostic|distill|teacher|discriminator|generator"
    r"|vae|augmentation)(?:_|$)"
)
_DEPTH = 3
_FOREIGN = FOREIGN - {"micro_batch_size", "effective_batch_size"}
_LOOKED_AT = 2_000  # entries of one file

# Words of which a config for a language model has one, and words of trades with the same keys in other units.
_LANGUAGE = re.compile(
    r"(?i)(?<![a-z])(?:q?lora|dora|peft|tokeni[sz]ers?|llms?|sft|dpo|orpo|kto|grpo|rlhf|causal_?lm|language[ _-]model"
    r"|llama|mistral|mixtral|qwen|gemma|deepseek|falcon|pythia|vicuna|alpaca|baichuan|chatglm|tinyllama|smollm|gpt|opt-\d"
    r"|phi-?\d|flan|instruct(?:ion|ions)?|chat_template|system_prompt|prompt_template|bnb_4bit|load_in_4bit|seq_len(?:gth)?"
    r"|max_seq_len(?:gth)?|max_source_length|block_size|context_length)(?![a-z])"
)
_TUNING = re.compile(
    r"(?i)(?<![a-z])(?:q?lora|dora|peft|sft|dpo|orpo|kto|grpo|rlhf|instruct(?:ion|ions)?|fine[-_]?tun\w*|pretrained\w*"
    r"|base_model|model_name|model_path|chat_template|load_in_4bit|bnb_4bit|chat)(?![a-z])"
)
_OTHER_TRADES = re.compile(
    r"(?i)(?<![a-z])(?:image_size|img_size|imgsz|input_size|crop_size|num_classes|n_classes|anchors?|mosaic|mixup|cutmix"
    r"|coco|imagenet|cifar\d*|mnist|yolo\w*|resnet\w*|unet|vae|diffusion|dreambooth|sdxl|gae_lambda|clip_range|clip_ratio"
    r"|entropy_coef|ent_coef|replay_buffer|n_envs|num_envs|env_id|gym|sample_rate|n_mels|mel_\w+|hop_length|spectrogram"
    r"|node_features|graph_\w+|xgboost|lightgbm|n_estimators|num_leaves)(?![a-z])"
)
_PLACEHOLDER = "{{"

# Schedules by the words that programs use. A constant one may or may not look at the warmup.
_FALLING = {
    word: word for word in ("linear", "cosine", "polynomial", "inverse_sqrt", "cosine_with_restarts", "exponential")
}
_FALLING |= {"cosine_decay": "cosine", "linear_decay": "linear", "cosine_with_min_lr": "cosine_with_min_lr"}
_FALLING |= {"linear_warmup": "linear", "cosine_warmup": "cosine", "constant_with_warmup": "constant_with_warmup"}


def recognise(document: Document) -> list[Mapping]:
    text = document.source.text
    roots = [root for root in document.mappings() if _is_training(root)]
    if not roots or _PLACEHOLDER in text or _OTHER_TRADES.search(text) or not _LANGUAGE.search(text):
        return []
    return roots


def _is_training(root: Mapping) -> bool:
    if not _FOREIGN.isdisjoint(root.last) or is_record(root):
        return False
    if any(isinstance(entry.value, Mapping) and is_record(entry.value) for entry in root.entries):
        return False
    found = {name for name, _ in _meant(root)}
    if "learning_rate" not in found or found.isdisjoint((*_BATCHES, "accumulation")):
        return False
    return not found.isdisjoint(("epochs", "max_steps", "accumulation", "warmup_steps", "warmup_ratio"))


def _meant(root: Mapping) -> Iterator[tuple[str, Entry]]:
    """The entries that the vocabulary knows, with what they mean, at the top and in the sections about training."""
    level = [root]
    left = _LOOKED_AT
    for _ in range(_DEPTH + 1):
        below: list[Mapping] = []
        for mapping in level:
            for entry in mapping.entries:
                left -= 1
                if left < 0:
                    return
                key = _plain(entry.key)
                if isinstance(entry.value, Mapping):
                    if _SECTION.search(key) and not _NO_SECTION.search(key):
                        below.append(entry.value)
                elif key in _MEANING and isinstance(entry.value, Scalar):
                    yield _MEANING[key], entry
        level = below


def _plain(key: str) -> str:
    return key.lower().replace("-", "_")


def read(reading: Reading) -> Run:
    reading = resolved(reading)
    found = _found(reading)
    batch = next((name for name in _BATCHES if name in found), "open_batch")
    run = Run(LABEL, reading.document.source, reading.span, _COUNTINGS[batch], reading.versions)
    run.surmised = True
    if not _TUNING.search(reading.document.source.text):
        # Trained from nothing: what is usual for tuning says little about it.
        run.settings["language_model"] = Known(False, DERIVED)
    _take(run, reading, found, batch)
    return run


def _found(reading: Reading) -> dict[str, tuple[list[Entry], str]]:
    """Meaning -> its entries in the strongest layer that has any, with the layer's origin."""
    found: dict[str, tuple[list[Entry], str]] = {}
    for layer in reading.layers:
        here: dict[str, list[Entry]] = {}
        for name, entry in _meant(layer.mapping):
            if not is_null(entry.value):
                here.setdefault(name, []).append(entry)
        for name, entries in here.items():
            found.setdefault(name, (entries, layer.origin))
    return found


def _take(run: Run, reading: Reading, found: dict[str, tuple[list[Entry], str]], batch: str) -> None:
    """What the entries come to, under the run's names."""
    chosen = {name: entries[0] for name, (entries, _) in found.items() if _agree(entries)}
    layers = [
        Layer(Mapping(reading.span, [entry for name, entry in chosen.items() if found[name][1] == origin]), origin)
        for origin in {origin: None for _, origin in found.values()}
    ]
    loader = OMEGACONF if loads(reading.document) else LOADER
    taker = Taker(run, Reading(reading.document, layers, reading.versions, span=reading.span), loader)

    def key(name: str) -> str:
        return chosen[name].key if name in chosen else name

    taker.number("learning_rate", key("learning_rate"), default=UNKNOWN)
    taker.number("weight_decay", key("weight_decay"), default=UNKNOWN)
    steps = taker.whole("max_steps", key("max_steps"), off=(-1, 0))
    if "max_steps" in found and "max_steps" not in chosen:
        run.settings["max_steps"] = UNKNOWN
    elif steps.number is None and steps.exact:
        taker.number("epochs", key("epochs"), default=UNKNOWN, off=(-1,))
    batches = "per_device_batch" if batch == "device_batch" else "global_batch"
    taker.whole(batches, key(batch), default=UNKNOWN, off=(-1,))
    taker.whole("accumulation", key("accumulation"), default=UNKNOWN, off=(-1, 0))
    if any(_joins(entry) for layer in reading.layers for _, entry in walk(layer.mapping, _LOOKED_AT)):
        taker.derive("batch_unknown", Known(True, DERIVED))
    _schedule(taker, chosen)
    if _same_unit(chosen, "eval_steps", run):
        taker.whole("eval_steps", key("eval_steps"), default=UNKNOWN, off=(-1, 0))
        if run.has("eval_steps"):
            taker.derive("eval_strategy", Known("steps", DERIVED))


def _joins(entry: Entry) -> bool:
    """Whether a key anywhere in the file says that a batch is not made of rows."""
    node = entry.value
    return (
        isinstance(node, Scalar)
        and node.value not in (None, False, 0, "false", "none")
        and _JOINED.search(_plain(entry.key)) is not None
    )


def _agree(entries: list[Entry]) -> bool:
    """Whether all places say the same."""
    return len({entry.value.raw for entry in entries if isinstance(entry.value, Scalar)}) == 1


def _schedule(taker: Taker, chosen: dict[str, Entry]) -> None:
    """The warmup, where the schedule is certain to look at it."""
    entry = chosen.get("scheduler")
    if entry is not None:
        if not isinstance(entry.value, Scalar) or entry.value.raw.lower() not in _FALLING:
            return  # a schedule of somebody's own, or a constant one
        taker.word("scheduler", entry.key, words=_FALLING)
    taker.derive("warmup_used", Known(True, DERIVED))
    steps, share = chosen.get("warmup_steps"), chosen.get("warmup_ratio")
    value = number(steps.value) if steps is not None else None
    if steps is not None and value != 0:
        # Below one it is a share in the steps' field, as newer libraries take it.
        if (
            share is None
            and not (value is not None and 0 < value < 1)
            and _same_unit(chosen, "warmup_steps", taker.run)
        ):
            taker.number("warmup_steps", steps.key, off=(-1,))
    elif share is not None:
        taker.number("warmup_ratio", share.key, off=(-1,))


def _same_unit(chosen: dict[str, Entry], name: str, run: Run) -> bool:
    """Whether a number of steps and the run's length count the same: both optimizer steps, or both iterations, of which
    several may make a step."""
    if name not in chosen or "max_steps" not in chosen or run.setting("accumulation").number == 1:
        return True
    return ("iter" in _plain(chosen[name].key)) == ("iter" in _plain(chosen["max_steps"].key))


def _by_device(get: Get, workers: int | None) -> Batch:
    per_device, accumulation = get("per_device_batch"), get("accumulation")
    return Batch(per_device, accumulation, _range(per_device, accumulation, workers, least=False))


def _by_step(get: Get, workers: int | None) -> Batch:
    whole = get("global_batch")
    return Batch(UNKNOWN, get("accumulation"), Known(whole.value, DERIVED) if whole.number is not None else UNKNOWN)


def _by_either(get: Get, workers: int | None) -> Batch:
    """A batch that may be a device's or the whole step's."""
    batch, accumulation = get("global_batch"), get("accumulation")
    return Batch(UNKNOWN, accumulation, _range(batch, accumulation, workers, least=True))


def _range(batch: Known, accumulation: Known, workers: int | None, least: bool) -> Known:
    """The effective batch of b sequences a device, or at least b sequences where they may be the whole step's."""
    b, g = batch.number, accumulation.number
    if b is None or b < 1 or workers is None:
        return UNKNOWN
    most = b * g * workers if g is not None and g >= 1 else None
    return between(b if least else b * (g or 1) * workers, most)


def _warmup(get: Get) -> Warmup | None:
    steps, share = get("warmup_steps").number, get("warmup_ratio").number
    if steps is not None and steps >= 0:
        return fixed(steps)
    return share_up(share) if share is not None and 0 <= share <= 1 else None


def _counted(batch: object) -> tuple[Era, ...]:
    def era(label: str, per_epoch: object) -> Era:
        return Era(label, Counting(limited(per_epoch, epochs_times), _warmup, batch))  # type: ignore[arg-type] # functions

    return era("the last batch dropped", floor_of_rows), era("the last batch kept", ceil_of_rows)


_COUNTINGS = {
    "device_batch": _counted(_by_device),
    "step_batch": _counted(_by_step),
    "open_batch": _counted(_by_either),
}
