"""Reading an Axolotl config into a run."""

from __future__ import annotations

import os

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting
from epochlint.run.known import DERIVED, UNKNOWN, Known, unknown
from epochlint.run.run import DataSource, Run
from epochlint.run.versions import version_key
from epochlint.trainers import tables
from epochlint.trainers.axolotl import shards
from epochlint.trainers.axolotl.counting import eras, possible_versions
from epochlint.trainers.axolotl.refusals import refusals
from epochlint.trainers.axolotl.rows import PREAMBLE, Rows
from epochlint.trainers.row_checks import Fits
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Document, Node
    from epochlint.run.versions import VersionRange
    from epochlint.trainers.trainer import Reading

LABEL = "axolotl"

# `yaml.safe_load`, then pydantic, which makes numbers of text (cli/config.py, schemas; 0.5 to 0.19).
LOADER = Loader("Axolotl", converts_text=True)

_BESIDE_MODEL = (
    "datasets",
    "pretraining_dataset",
    "test_datasets",
    "micro_batch_size",
    "sequence_len",
    "rl",
    "adapter",
    "dataset_prepared_path",
    "val_set_size",
    "sample_packing",
)
# Keys of other trainers' files that have a `base_model`, too: Ludwig, AutoTrain, merges, Predibase.
_OTHERS = (
    "input_features", "output_features", "merge_method", "task", "backend", "params", "slices", "models",
    "model_provider", "effective_batch_size", "hyperparameters",
)  # fmt: skip

_METHODS = {
    "dpo": "dpo", "gdpo": "grpo", "ipo": "ipo", "orpo": "orpo", "kto": "kto", "simpo": "simpo", "grpo": "grpo",
    "ebft": "other",
}  # fmt: skip
_ADAPTERS = {"lora": "lora", "qlora": "qlora", "llama-adapter": "prefix"}


_SINCE_CUTS = "0.12.2"  # 0.12.2 knows `excess_length_strategy`, 0.8.0 does not


def recognise(document: Document) -> list[Mapping]:
    """A mapping with `base_model` and something to train on or with."""
    found = []
    for mapping in document.mappings():
        if "base_model" in mapping and isinstance(mapping.get("base_model"), Scalar):
            beside = sum(key in mapping for key in _BESIDE_MODEL)
            if (beside >= 2 or "datasets" in mapping or "pretraining_dataset" in mapping) and not any(
                key in mapping for key in _OTHERS
            ):
                found.append(mapping)
    return found


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`axolotl train`, `python -m axolotl.cli.train`."""
    return (program[:2] == ("cli", "axolotl") and program[2:3] in (("train",), ())) or (
        program[0] == "module" and len(program) > 1 and program[1].startswith("axolotl.") and "train" in program[1]
    )


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    possible = possible_versions(reading.versions, _newest_key(reading))
    versions = reading.versions.of("axolotl")
    run.version = versions.low if versions.pinned else None
    _batch(taker)
    _method(taker)
    taker.number("learning_rate", "learning_rate", default=None)
    taker.word("scheduler", "lr_scheduler", default="cosine")
    taker.word("optimizer", "optimizer", default="adamw_torch_fused")
    taker.number("weight_decay", "weight_decay", default=0.0)
    taker.number("warmup_steps", "warmup_steps")
    taker.number("warmup_ratio", "warmup_ratio")
    _data(taker)
    _cadence(taker, possible)
    taker.whole("lora_rank", "lora_r")
    taker.word("model", "base_model")
    taker.number("beta", "rl_beta", "dpo_beta", ("trl", "beta"))
    taker.whole("num_generations", ("trl", "num_generations"))
    _keys(taker)
    refusals(taker)
    run.eras = tuple(eras(reading.versions, run.setting("method"), possible))
    if run.setting("method").value in ("grpo", "other"):
        # TRL counts these itself, in completions: see `trainers.hf`.
        for era in run.eras:
            era.counting = Counting(None, era.counting.warmup, era.counting.batch, era.counting.records)
    return run


def _newest_key(reading: Reading) -> str | None:
    """The first version that has all of the config's known keys."""
    table = tables.load("axolotl", "config")
    firsts = {table.first(entry.key) for entry, _ in reading.entries() if table.known(entry.key)}
    return max(firsts, key=version_key, default=None)


def _batch(taker: Taker) -> None:
    run = taker.run
    per_device = taker.whole("per_device_batch", "micro_batch_size", default=1)
    taker.whole("accumulation", "gradient_accumulation_steps", default=1)
    stated = taker.whole("stated_batch", "batch_size")
    if (
        (
            stated.number is not None
            and not run.has("accumulation")
            and per_device.by_hand
            and per_device.number is not None
        )
        and stated.number != per_device.number
        and stated.key_span is not None
    ):
        taker.observe("batch_size_unused", stated.key_span, written=stated.value, used=per_device.value)
    taker.number("epochs", "num_epochs", default=1.0)
    limit = taker.reading.node("max_steps")
    if isinstance(limit, Scalar) and (number(limit) or 0) < 0:
        taker.derive("trainer_counts", Known(True, DERIVED))  # handed on, and the Trainer counts by epochs
    taker.whole("max_steps", "max_steps", off=(0, -1))
    taker.flag("ddp", "ddp", default=None)
    taker.flag("deduplicated", "dataset_exact_deduplication")
    taker.whole("shards", "dataset_shard_num")
    taker.whole("shard", "dataset_shard_idx", default=0)
    taker.flag("drop_last", "dataloader_drop_last")
    taker.whole("gpus", "ray_num_workers") if taker.reading.entry("use_ray") else None
    taker.product("parallel", "tensor_parallel_size", "context_parallel_size", "sequence_parallel_degree")
    automatic = taker.reading.node("auto_find_batch_size")
    if isinstance(automatic, Scalar) and boolean(automatic):
        taker.derive("batch_unknown", Known(True, DERIVED))


def _is_on(taker: Taker, key: str) -> bool:
    node = taker.reading.node(key)
    return isinstance(node, Scalar) and boolean(node) is True


def _method(taker: Taker) -> None:
    rl = taker.word("rl", "rl", words=_METHODS)
    streaming = taker.flag("streaming", "streaming")
    pretraining = taker.reading.entry("pretraining_dataset")
    if pretraining is not None and not is_null(pretraining[0].value):
        entry, origin = pretraining
        method = Known("pretrain", origin, key_span=entry.key_span)
        taker.derive("streaming", Known(True, origin, key_span=entry.key_span))
        taker.run.writes["streaming"] = entry.key_span
    elif rl.exact and rl.value is not None:
        method = Known(rl.value, rl.origin, key_span=rl.key_span)
    elif _is_on(taker, "reward_model") or _is_on(taker, "process_reward_model"):
        method = Known("reward", DERIVED)
    else:
        method = UNKNOWN if not rl.exact else Known("sft", DERIVED)
    if streaming.by_hand and streaming.key_span is not None and streaming.value is True:
        taker.run.writes["streaming"] = streaming.key_span
    taker.derive("method", method)
    adapter = taker.word("adapter", "adapter", words=_ADAPTERS)
    if not adapter.exact:
        tuning = UNKNOWN
    elif adapter.value is None:
        frozen = taker.entry(("unfrozen_parameters",))
        tuning = Known("partial" if frozen is not None and not is_null(frozen[0].value) else "full", DERIVED)
    else:
        tuning = Known(adapter.value if adapter.value in ("lora", "qlora", "prefix") else "other", adapter.origin)
    taker.derive("tuning", tuning)
    packing = taker.flag("packing", "sample_packing")
    taker.flag("eval_packing", "eval_sample_packing", default=packing if packing.exact else UNKNOWN)
    if packing.value is True and method.value in ("dpo", "ipo", "orpo", "kto", "simpo"):
        taker.derive("packing", Known(False, DERIVED))


def _data(taker: Taker) -> None:
    """Training and validation rows: local files of `datasets` and `test_datasets`, `val_set_size`."""
    run, reading = taker.run, taker.reading
    split = taker.number("validation_split", "val_set_size", default=0.0)
    excess = text_of(reading.node("excess_length_strategy"))
    run.overlong = "cut" if excess == "truncate" else "dropped"
    limit = taker.whole("sequence_length", "sequence_len", default=512).number
    if run.overlong == "cut" and reading.versions.of("axolotl").at_least(_SINCE_CUTS) is not True:
        run.overlong = ""  # older ones drop them, whatever is written
    judge = _judge(run, None if run.overlong == "cut" and run.setting("packing").value is not True else limit)
    run.training = _sources(reading.node("datasets"), reading, judge)
    tests = reading.node("test_datasets")
    if isinstance(tests, Sequence) and tests.items:
        run.validation = _sources(tests, reading, judge)
        entry = reading.entry("test_datasets")
        assert entry is not None
        run.writes["validation"] = entry[0].key_span
        taker.derive("validation", Known(True, entry[1], key_span=entry[0].key_span))
    elif split.unknown or reading.open_ended:
        taker.derive("validation", UNKNOWN)
    elif split.number:
        if split.key_span is not None:
            run.writes["validation"] = split.key_span
        taker.derive("validation", Known(True, split.origin, key_span=split.key_span))
    else:
        taker.derive("validation", Known(False, DERIVED))


def _judge(run: Run, limit: float | None) -> Callable[[Mapping, str], Rows | Fits | None]:
    """What becomes of the rows of a data set, by its item and type."""
    method = run.setting("method").value
    drops = run.overlong == "dropped"

    def judge(item: Mapping, kind: str) -> Rows | Fits | None:
        if method in ("sft", None):
            return Rows(item, kind, limit, drops=drops)
        return Fits(limit, extra=PREAMBLE) if limit is not None else None

    return judge


def _sources(
    node: Node | None, reading: Reading, judge: Callable[[Mapping, str], Rows | Fits | None]
) -> list[DataSource]:
    """One source a data set; a data set that cannot be counted from its file stands there without a path."""
    if not isinstance(node, Sequence):
        return []
    found = []
    for item in node.items:
        if not isinstance(item, Mapping):
            return [DataSource(node.span)]
        found.append(_source(item, reading, judge))
    return found


def _source(item: Mapping, reading: Reading, judge: Callable[[Mapping, str], Rows | Fits | None]) -> DataSource:
    path_entry = item.entry("path")
    span = path_entry.value.span if path_entry is not None else item.span
    path = text_of(item.get("path"))
    kind = text_of(item.get("type")) or ""
    if path == "_synthetic" or kind == "_synthetic":
        length = item.get("length")
        rows = number(length) if isinstance(length, Scalar) else 1000
        return DataSource(span, rows=Known(int(rows), DERIVED, span=span) if rows is not None else UNKNOWN)
    # A document of `type: completion` is cut into windows of the sequence length: rows say nothing.
    if path is None or kind.startswith("completion"):
        return DataSource(span)
    shard = shards.of(item)
    if shard is shards.UNCLEAR:
        return DataSource(span)
    local = reading.lookup is not None and bool(reading.lookup.exists(path, reading.base))
    files = _files(item, path, reading) if local else ()
    hub, split = None if local else path, text_of(item.get("split"))
    found = judge(item, kind) if files else None
    check = found.check if isinstance(found, Rows) else None
    keep = found.keep if isinstance(found, Rows) else found
    subset = text_of(item.get("name")) or ""
    if isinstance(shard, shards.Shard) and keep is not None:
        keep = shards.Perhaps(keep)
    return DataSource(
        span, paths=files, base=reading.base, hub=hub, split=split, subset=subset, check=check, keep=keep, arrow=True,
        operations=[shard] if isinstance(shard, shards.Shard) else [],
    )  # fmt: skip


def _files(item: Mapping, path: str, reading: Reading) -> tuple[str, ...]:
    """The files that a path inside the project means. `data_files` beside a folder are looked for from where
    Axolotl is started, not in the folder; beside a file they are passed over (`utils/data/shared.py`, 0.4 to 0.19)."""
    data_files = item.get("data_files")
    lookup = reading.lookup
    if lookup is None or data_files is None or is_null(data_files) or os.path.splitext(path)[1]:
        return (path,)
    items = data_files.items if isinstance(data_files, Sequence) else [data_files]
    named = tuple(text_of(entry) or "" for entry in items)
    return named if all(name and lookup.exists(name, reading.base) for name in named) else ()


def _cadence(taker: Taker, possible: VersionRange) -> None:
    """Evaluations and checkpoints, as `normalize_config` derives them from `evals_per_epoch` and `saves_per_epoch`."""
    run = taker.run
    epochs = run.setting("epochs").number
    validation = run.setting("validation")
    _strategy(taker, "eval_strategy", "eval_strategy", "evaluation_strategy")
    taker.number("eval_steps", "eval_steps")
    per_epoch = taker.whole("evals_per_epoch", "evals_per_epoch")
    if per_epoch.number and epochs and validation.value is not False:
        share = 1 / (per_epoch.number * epochs)
        if share < 1 and "eval_steps" in run.settings and run.settings["eval_steps"].number is None:
            taker.derive("eval_steps", Known(share, DERIVED, key_span=per_epoch.key_span, span=per_epoch.span))
    strategy = run.settings["eval_strategy"]
    if validation.exact and validation.value is False:
        taker.derive("eval_strategy", Known("no", DERIVED, key_span=strategy.key_span))
    elif strategy.exact and strategy.value is None:
        steps = run.settings["eval_steps"]
        taker.derive("eval_strategy", _default_evaluation(possible, steps, per_epoch))
    _strategy(taker, "save_strategy", "save_strategy")
    taker.number("save_steps", "save_steps")
    saves = taker.whole("saves_per_epoch", "saves_per_epoch")
    if saves.number and epochs and run.settings["save_steps"].number is None:
        share = 1 / (saves.number * epochs)
        if share < 1:
            taker.derive("save_steps", Known(share, DERIVED, key_span=saves.key_span, span=saves.span))
    if run.settings["save_strategy"].exact and run.settings["save_strategy"].value is None:
        taker.derive(
            "save_strategy", Known("steps" if run.settings["save_steps"].number is not None else "epoch", DERIVED)
        )
    taker.number("logging_steps", "logging_steps")
    taker.derive("logging_strategy", Known("steps", DERIVED))
    taker.whole("save_total_limit", "save_total_limit", default=4)
    taker.flag("load_best", "load_best_model_at_end")
    taker.word("metric_for_best", "metric_for_best_model")
    taker.whole("early_stopping_patience", "early_stopping_patience")
    _validation_unused(taker)


def _default_evaluation(possible: VersionRange, steps: Known, per_epoch: Known) -> Known:
    """Without a strategy: by steps where `eval_steps` came out, else (since 0.10) never; before, by epoch."""
    if steps.unknown or per_epoch.unknown:
        return UNKNOWN
    if steps.number is not None:
        return Known("steps", DERIVED, key_span=steps.key_span)
    newer = possible.at_least("0.10")
    if newer is None:
        return unknown()
    return Known("no" if newer else "epoch", DERIVED)


def _strategy(taker: Taker, name: str, *keys: str) -> None:
    """A strategy word; an unquoted `no` loads as False, which the schema refuses."""
    found = taker.entry(keys)
    if found is not None and isinstance(found[0].value, Scalar) and isinstance(found[0].value.value, bool):
        entry, origin = found
        scalar = found[0].value
        word = "no" if scalar.value is False else scalar.raw
        boolean_trap(taker, entry.key, entry.key_span, scalar)
        taker.derive(name, Known(word, origin, key_span=entry.key_span, span=scalar.span))
        return
    taker.word(name, *keys, words={"no": "no", "steps": "steps", "epoch": "epoch", "best": "best"})


def boolean_trap(taker: Taker, key: str, span: object, scalar: Scalar) -> None:
    from epochlint.run.observation import Edit, Fix
    from epochlint.source import Span

    assert isinstance(span, Span)
    fix = Fix(f'quote it: "{scalar.raw}"', [Edit(scalar.span, f'"{scalar.raw}"')], safe=True)
    taker.observe("boolean_trap", span, fix, key=key, raw=scalar.raw, loaded=scalar.value, consumer="Axolotl")


def _validation_unused(taker: Taker) -> None:
    """Validation data is held out, and no cadence comes of what is written: since 0.10 nothing is ever evaluated."""
    run = taker.run
    strategy = run.settings["eval_strategy"]
    if run.setting("validation").value is not True or strategy.value != "no" or strategy.by_hand:
        return
    written = [
        key for key in ("eval_steps", "evals_per_epoch", "eval_strategy", "evaluation_strategy") if _given(taker, key)
    ]
    if not written:
        taker.observe(
            "evaluation_off",
            run.where("validation"),
            reason="no evaluation cadence is written",
            package="axolotl",
            since="0.10",
        )
    elif written == ["evals_per_epoch"]:
        per_epoch = run.settings["evals_per_epoch"]
        if per_epoch.number and per_epoch.key_span is not None:
            taker.observe(
                "evaluation_never",
                per_epoch.key_span,
                key="evals_per_epoch",
                reason=f"evals_per_epoch {per_epoch.number:g} here is one evaluation for the whole run, which Axolotl "
                "leaves out: nothing is ever evaluated",
                package="axolotl",
                since="0.10",
            )


def _given(taker: Taker, key: str) -> bool:
    node = taker.reading.node(key)
    return node is not None and not is_null(node)


def _keys(taker: Taker) -> None:
    """Keys that no schema ever had and that are close to one that has: they are ignored without a word."""
    table, plugins = tables.load("axolotl", "config"), tables.load("axolotl", "plugin")
    run = taker.run
    if "plugins" in taker.reading:
        plugin_keys = True
    else:
        plugin_keys = False
    for entry, _ in taker.reading.entries():
        if (
            table.known(entry.key)
            or plugins.known(entry.key)
            or is_null(entry.value)
            or entry.key.isdigit()
            or entry.key.startswith(("_", "x-", "."))
        ):
            continue
        if entry.key_span.source is not run.source or isinstance(entry.value, Mapping):
            continue  # a flag of the launch, or an anchor's block
        suggestion = table.nearest(entry.key)
        if suggestion is not None:
            taker.observe(
                "misspelt_key", entry.key_span, key=entry.key, suggestion=suggestion, consumer="Axolotl", rejected=False
            )
        elif not plugin_keys:
            taker.observe("unknown_key", entry.key_span, key=entry.key, consumer="Axolotl", rejected=False)
