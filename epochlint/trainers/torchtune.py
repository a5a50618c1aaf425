"""torchtune: YAML whose parts name their Python builders under `_component_`.

Read in torchtune 0.6.1 (`recipes/lora_finetune_single_device.py`, `recipes/lora_finetune_distributed.py`,
`training/lr_schedulers.py`, `config/_parse.py`) and recorded in tests/conformance: a pass has
floor(floor(ceil(N / w) / b) / a) steps, the loader drops its last batch, and a step cap counts per epoch.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.run.counting import Counting, Steps, fixed
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, WRITTEN, Known, between
from epochlint.run.observation import Edit, Fix
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import torchtune_command, torchtune_keys
from epochlint.trainers.omegaconf import resolved
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.tables import nearest
from epochlint.trainers.torchtune_rows import check_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document, Node
    from epochlint.run.counting import Get, Shape, Warmup
    from epochlint.trainers.trainer import Reading

# torchtune 0.2 to 0.6.1, `training/lr_schedulers.py`; the recipes add the optimizer, the length and where it goes on.
_SCHEDULE_BUILDERS = (
    "torchtune.training.lr_schedulers.get_cosine_schedule_with_warmup",
    "torchtune.training.get_cosine_schedule_with_warmup",
    "torchtune.modules.get_cosine_schedule_with_warmup",
)
_SCHEDULE_ARGUMENTS = frozenset({"num_warmup_steps", "num_training_steps", "num_cycles", "last_epoch"})
# torchtune 0.2 to 0.6.1, `models/*/_model_builders.py`: what the builders of LoRA models share.
_LORA_ARGUMENTS = frozenset({
    "lora_attn_modules", "apply_lora_to_mlp", "apply_lora_to_output", "lora_rank", "lora_alpha", "lora_dropout",
    "use_dora", "quantize_base",
})  # fmt: skip
# torch 2.2 to 2.13, `optim/adamw.py`.
_ADAM_ARGUMENTS = frozenset({
    "lr", "betas", "eps", "weight_decay", "amsgrad", "maximize", "foreach", "capturable", "differentiable", "fused",
})  # fmt: skip
_ARGUMENTS: tuple[tuple[str, Callable[[str], bool], frozenset[str]], ...] = (
    ("lr_scheduler", lambda builder: builder in _SCHEDULE_BUILDERS, _SCHEDULE_ARGUMENTS),
    (
        "model",
        lambda builder: builder.startswith("torchtune.models.") and "lora_" in builder.rpartition(".")[2],
        _LORA_ARGUMENTS,
    ),
    ("optimizer", lambda builder: builder in ("torch.optim.AdamW", "torch.optim.Adam"), _ADAM_ARGUMENTS),
)

LABEL = "torchtune"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=False, reads_plain=True)

_COMPONENT = "_component_"
_WORKERS = "training"  # the section of the workers that train, in recipes that orchestrate several kinds
_TRAINS = ("optimizer", "epochs", "batch_size", "max_steps_per_epoch", "gradient_accumulation_steps", "loss")
_PARTS = ("model", "tokenizer", "checkpointer", "dataset", "optimizer", "loss", "lr_scheduler")


def recognise(document: Document) -> list[Mapping]:
    """A mapping whose parts name components, with something that trains; generation and evaluation files have neither
    optimizer nor loss."""
    return [
        mapping
        for mapping in document.mappings()
        if any(part.get(_COMPONENT) for key in _PARTS if (part := mapping.mapping(key)) is not None)
        and any(
            sum(key in part for key in _TRAINS) >= 2 and part.mapping("optimizer") is not None
            for part in (mapping, mapping.mapping(_WORKERS))
            if part is not None
        )
    ]


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`tune run RECIPE`."""
    return program[:3] == ("cli", "tune", "run")


def read(reading: Reading) -> Run:
    removed = list(torchtune_command.refused(reading))
    reading = resolved(torchtune_command.edited(reading).nested())
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    for entry, reason in removed:
        taker.observe("rejected", entry.key_span, reason=reason, consumer=LABEL)
    recipe = _recipe(reading)
    versions = reading.versions.of("torchtune")
    run.version = versions.low if versions.pinned else None
    run.eras = (Era("", _COUNTING, {"torchtune": versions}),)
    if reading.mapping(_WORKERS, "optimizer") is not None:
        return _read_orchestrated(taker)
    taker.whole("per_device_batch", "batch_size")
    taker.whole("accumulation", "gradient_accumulation_steps", default=1)
    taker.number("epochs", "epochs")
    taker.derive("max_steps", Known(None, DERIVED))  # there is only a cap per epoch
    cap = taker.whole("steps_per_epoch_cap", "max_steps_per_epoch")
    if cap.number is not None and cap.key_span is not None:
        run.writes["max_steps"] = cap.key_span
    taker.number("learning_rate", ("optimizer", "lr"))
    taker.number("weight_decay", ("optimizer", "weight_decay"))
    taker.number("warmup_steps", ("lr_scheduler", "num_warmup_steps"))
    taker.derive("scheduler", _schedule(reading))
    taker.derive("drop_last", Known(True, DERIVED))
    if "single_device" in recipe:
        taker.derive("gpus", Known(1, DERIVED))
    _method(taker, recipe)
    _data(taker)
    taker.word("optimizer", ("optimizer", _COMPONENT))
    taker.number("beta", ("loss", "beta"))
    taker.derive("save_strategy", Known("epoch", DERIVED))
    taker.derive("eval_strategy", _evaluation(taker))
    taker.number("logging_steps", "log_every_n_steps", default=1)
    whole = ("epochs", "batch_size", "gradient_accumulation_steps", "max_steps_per_epoch")
    taker.refuse_fractions("torchtune", *whole)
    _refuse_arguments(taker)
    _refuse_packs(taker)
    torchtune_keys.check(taker, recipe)
    if recipe.startswith(("lora_finetune", "full_finetune")) and text_of(reading.node("dtype")) == "fp16":
        taker.refuse(("dtype",), "this recipe takes fp32 or bf16, not fp16", "torchtune")
    return run


def _read_orchestrated(taker: Taker) -> Run:
    """`recipes/dev/async_grpo_full_finetune_distributed.py`: workers that train beside others that generate; the run
    ends after `orchestration.num_steps`, and its batch counts completions."""
    run = taker.run
    run.eras = (Era("", Counting(None), run.eras[0].versions),)
    taker.whole("max_steps", ("orchestration", "num_steps"), default=UNKNOWN)
    taker.number("learning_rate", (_WORKERS, "optimizer", "lr"), default=UNKNOWN)
    taker.derive("batch_unknown", Known(True, DERIVED))
    taker.derive("method", Known("grpo", DERIVED))
    taker.derive("gpus", UNKNOWN)
    return run


def _refuse_arguments(taker: Taker) -> None:
    """Arguments that stop a recipe with a TypeError: misspelt ones of builders that are known here, and any other of
    torchtune's own schedule. Anybody else's builder may have them."""
    for part, owns, arguments in _ARGUMENTS:
        block = taker.reading.mapping(part)
        builder = text_of(block.get(_COMPONENT)) if block is not None else None
        if block is None or builder is None or not owns(builder):
            continue
        for entry in block.entries:
            if entry.key in arguments or entry.key == _COMPONENT or is_null(entry.value):
                continue
            near = nearest(entry.key, arguments)
            if near is not None and near not in block:
                values = {"key": entry.key, "suggestion": near, "consumer": builder, "rejected": True}
                fix = Fix(f"write {near}", [Edit(entry.key_span, near)], safe=True)
                taker.observe("misspelt_key", entry.key_span, fix, **values)
            elif arguments is _SCHEDULE_ARGUMENTS:
                taker.refuse((part, entry.key), f"{builder} has no argument {entry.key}", "torchtune")


def _refuse_packs(taker: Taker) -> None:
    """A builder that packs needs the length of its tokenizer (0.6.1, `datasets/_chat.py`), which its configs
    write as null."""
    reading = taker.reading
    builder = text_of(reading.node("dataset", _COMPONENT)) or ""
    tokenizer = text_of(reading.node("tokenizer", _COMPONENT)) or ""
    packs = taker.run.setting("packing").value is True and builder.startswith("torchtune.datasets.")
    if not packs or not _UNLIMITED.fullmatch(tokenizer) or not is_null(reading.node("tokenizer", "max_seq_len")):
        return
    taker.refuse(("dataset", "packed"), "packed needs a max_seq_len at the tokenizer", "torchtune")


def _recipe(reading: Reading) -> str:
    """The recipe that the launch names ("lora_finetune_single_device")."""
    return reading.command[3] if len(reading.command) > 3 else ""


def _schedule(reading: Reading) -> Known:
    """The schedule builder's kind; no `lr_scheduler` means a constant rate."""
    entry = reading.entry("lr_scheduler", _COMPONENT)
    if entry is None:
        found = reading.entry("lr_scheduler")
        absent = found is None or (isinstance(found[0].value, Scalar) and found[0].value.value is None)
        return Known("constant", DEFAULT) if absent and not reading.open_ended else UNKNOWN
    text = text_of(entry[0].value) or ""
    if "cosine" in text:
        return Known("cosine", WRITTEN, key_span=entry[0].key_span)
    return Known("linear", WRITTEN, key_span=entry[0].key_span) if "linear" in text else UNKNOWN


# Its tokenizers whose `max_seq_len` is none by default.
_UNLIMITED = re.compile(r"torchtune\.models\.(?!t5|clip)\w+\.\w+_tokenizer")
# Builders whose packs hold whole records (`PackedDataset`, split_across_pack off); texts are cut anywhere.
_JOINING = frozenset(
    ("alpaca_dataset", "alpaca_cleaned_dataset", "chat_dataset", "grammar_dataset", "instruct_dataset",
     "samsum_dataset", "slimorca_dataset")
)  # fmt: skip


def _packs(rows: Known, get: Get) -> Known:
    """Packs of whole records are at most as many as these."""
    if get("packing").value is not True:
        return rows
    most = rows.high if get("packing_joins").value is True else None
    return between(1 if rows.low else 0, most, basis=rows.basis)


# torchtune 0.6.1, recipes/configs/llama3_1/8B_full_dpo.yaml
_SHIPPED_RATES = {"dpo": 2e-5}


def _method(taker: Taker, recipe: str) -> None:
    loss = text_of(taker.reading.node("loss", _COMPONENT)) or ""
    model = text_of(taker.reading.node("model", _COMPONENT)) or ""
    words = f"{recipe} {loss}".lower()
    method = next((name for name in ("dpo", "grpo", "ppo", "kto") if name in words), None)
    if "knowledge_distillation" in words or "kd" in words.split("_"):
        method = "other"
    taker.derive("method", Known(method or "sft", DERIVED))
    builder = model.rpartition(".")[2]
    tuning = (
        "qlora" if builder.startswith("qlora") else "lora" if builder.startswith(("lora", "dora", "qdora")) else "full"
    )
    taker.derive("tuning", Known(tuning, DERIVED) if model else UNKNOWN)
    if method in _SHIPPED_RATES:
        taker.derive("shipped_rate", Known(_SHIPPED_RATES[method], DERIVED))


def _data(taker: Taker) -> None:
    run, reading = taker.run, taker.reading
    packed = reading.node("dataset", "packed")
    if packed is not None:
        taker.flag("packing", ("dataset", "packed"))
        builder = text_of(reading.node("dataset", _COMPONENT)) or ""
        if builder.removeprefix("torchtune.datasets.") in _JOINING:
            taker.derive("packing_joins", Known(True, DERIVED))
    for key, sources in (("dataset", run.training), ("dataset_val", run.validation)):
        node = reading.node(key)
        items = node.items if isinstance(node, Sequence) else [node] if node is not None else []
        for item in items:
            if isinstance(item, Mapping):
                sources.append(_source(item, reading))
    entry = reading.entry("dataset_val")
    taker.derive("validation", Known(entry is not None, DERIVED) if not reading.open_ended else UNKNOWN)


def _source(item: Mapping, reading: Reading) -> DataSource:
    source = text_of(item.get("source"))
    files = _texts(item.get("data_files"))
    split = text_of(item.get("split"))
    place = item.get("data_files") or item.get("source")
    span = place.span if place is not None else item.span
    if files and source in ("json", "csv", "text", "parquet"):
        check = check_of(item) if "filter_fn" not in item else None
        return DataSource(span, paths=files, base=reading.base, split=split, check=check, arrow=True)
    part = any(key in item for key in ("data_dir", "data_files"))  # of the repository
    return DataSource(span, hub=source if not part else None, split=split, subset=text_of(item.get("name")) or "")


def _texts(node: Node | None) -> tuple[str, ...]:
    if isinstance(node, Sequence):
        found = [text_of(item) for item in node.items]
        return tuple(text for text in found if text) if all(found) else ()
    text = text_of(node)
    return (text,) if text else ()


def _evaluation(taker: Taker) -> Known:
    """`run_val_every_n_steps` beside `dataset_val` (newer than 0.6.1)."""
    steps = taker.number("eval_steps", "run_val_every_n_steps")
    if steps.unknown:
        return UNKNOWN
    return Known("steps" if steps.number and taker.run.setting("validation").value else "no", DERIVED)


def _steps(shape: Shape) -> Steps:
    batches = -(-shape.records // shape.workers) // shape.per_device
    per_epoch = batches // shape.accumulation
    cap = shape.get("steps_per_epoch_cap").number
    if cap is not None and cap >= 0:
        per_epoch = min(per_epoch, int(cap))
    natural = int(shape.epochs) * per_epoch
    return Steps(per_epoch, natural, natural)


def _warmup(get: Get) -> Warmup | None:
    steps = get("warmup_steps")
    if steps.unknown:
        return None
    return fixed(int(steps.number or 0))


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    return -(-total // per_epoch) if per_epoch > 0 else None


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    strategy, steps = get("eval_strategy"), get("eval_steps").number
    if not strategy.exact or strategy.value != "steps" or not steps:
        return 0 if strategy.exact else None
    return total // int(steps) if steps >= 1 else None


_COUNTING = Counting(
    _steps,
    _warmup,
    records=_packs,
    evaluations=_evaluations,
    checkpoints=_checkpoints,
    unwarmed=frozenset({"constant"}),
)
