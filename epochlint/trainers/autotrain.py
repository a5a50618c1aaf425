"""AutoTrain: one YAML with `task`, `base_model`, `data` and `params`.

Read in autotrain-advanced 0.7.129 to 0.8.36, `trainers/clm/params.py` (defaults) and `trainers/clm/utils.py`
(`configure_training_args`), and recorded in tests/conformance. `trainers/clm/train_clm_sft.py` packs always. No version
evaluates or saves a language model while it trains: `process_data_with_chat_template` forgets the validation data; with
local files (`llm_munge_data`) the split is forgotten, too, else the run stops. Its requirements pin transformers 4.48.0
and TRL 0.13.0.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean
from epochlint.run.known import DEFAULT, UNKNOWN, WRITTEN, Known
from epochlint.run.run import DataSource, Run
from epochlint.trainers import autotrain_refusals as refusals
from epochlint.trainers import tables
from epochlint.trainers.hf.eras import eras
from epochlint.trainers.on_hf import require_transformers, sectioned
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import slips
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.trainers.trainer import Reading

LABEL = "autotrain"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("AutoTrain", converts_text=True)
_NEWEST = "<=4.48.0"  # transformers, as 0.8.36 pins it

_METHODS = {
    "sft": "sft", "dpo": "dpo", "orpo": "orpo", "reward": "reward", "generic": "pretrain", "default": "pretrain",
}  # fmt: skip
_KEYS = {
    "per_device_batch": "batch_size",
    "accumulation": "gradient_accumulation",
    "epochs": "epochs",
    "learning_rate": "lr",
    "weight_decay": "weight_decay",
    "optimizer": "optimizer",
    "scheduler": "scheduler",
    "warmup_ratio": "warmup_ratio",
    "logging_steps": "logging_steps",
    "save_total_limit": "save_total_limit",
}
_DEFAULTS: dict[str, object] = {
    "per_device_batch": 2,
    "accumulation": 4,
    "epochs": 1,
    "learning_rate": 3e-5,
    "warmup_ratio": 0.1,
    "logging_steps": MISSING,
    "logging_strategy": MISSING,
    "eval_strategy": MISSING,
    "save_strategy": MISSING,
    "save_steps": MISSING,
    "save_total_limit": 1,
}


_DATA = frozenset({"chat_template", "column_mapping", "train_split", "valid_split"})


def recognise(document: Document) -> list[Mapping]:
    """A mapping with a task, a model, and data in its manner, or parameters and a place to train in."""
    return [
        mapping
        for mapping in document.mappings()
        if isinstance(mapping.get("task"), Scalar)
        and ("base_model" in mapping or "project_name" in mapping)
        and (
            mapping.find("data", "column_mapping") is not None
            if mapping.mapping("params") is None
            else "backend" in mapping
            or ((data := mapping.mapping("data")) is not None and not _DATA.isdisjoint(data.last))
        )
    ]


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`autotrain --config x.yml`, `autotrain llm --train`."""
    return program[:2] == ("cli", "autotrain")


def read(reading: Reading) -> Run:
    require_transformers(reading, "autotrain-advanced", _NEWEST)
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    run.command = reading.command
    versions = reading.versions.of("autotrain-advanced")
    run.version = versions.low if versions.pinned else None
    taker = Taker(run, reading, LOADER)
    task = text_of(reading.node("task")) or ""
    language = task.startswith("llm") or (not task and "llm" in reading.command)
    sectioned(taker, "params", _KEYS, _DEFAULTS if language else {})
    run.settings["max_steps"] = Known(None, DEFAULT)  # there is no such key
    if run.setting("logging_steps").number == -1:
        del run.settings["logging_steps"]
    auto = reading.entry("params", "auto_find_batch_size")
    if auto is not None and boolean(auto[0].value):
        run.settings["batch_unknown"] = Known(True, WRITTEN, key_span=auto[0].key_span)
    _method(taker, task, language)
    _data(taker, language)
    taker.whole("lora_rank", ("params", "lora_r"), default=MISSING)
    taker.number("beta", ("params", "dpo_beta"), default=MISSING)
    taker.word("model", "base_model", default=MISSING)
    if language:
        _keys(taker)
        if reading.entry("params") is not None or reading.mapping("data") is not None:
            refusals.check(taker)
    run.eras = tuple(eras(reading.versions, run.settings))
    return run


def _method(taker: Taker, task: str, language: bool) -> None:
    if not language:
        taker.derive("method", Known("other", WRITTEN))
        taker.derive("language_model", Known(task == "seq2seq", WRITTEN))
        return
    reading = taker.reading
    entry = reading.entry("params", "trainer") or reading.entry("trainer") or reading.entry("task")
    kind = text_of(entry[0].value) if entry is not None else None
    name = (kind or "default").removeprefix("llm-")
    method = _METHODS.get("default" if name == "llm" else name)
    place = entry[0].key_span if entry is not None else None
    taker.derive("method", Known(method, WRITTEN, key_span=place) if method is not None else UNKNOWN)
    peft = taker.reading.entry("params", "peft") or taker.reading.entry("peft")
    on = boolean(peft[0].value) if peft is not None else False
    quantization = taker.reading.node("params", "quantization")
    quantized = quantization is None or not is_null(quantization)
    tuning = ("qlora" if quantized else "lora") if on else "full"
    place = peft[0].key_span if peft is not None else None
    known = Known(tuning, WRITTEN if peft is not None else DEFAULT, key_span=place)
    taker.derive("tuning", known if on is not None and not taker.reading.open_ended else UNKNOWN)


def _data(taker: Taker, language: bool) -> None:
    run, reading = taker.run, taker.reading
    method = run.setting("method").value
    if language and method in ("sft", "pretrain"):
        run.settings["packing"] = Known(True, DEFAULT)
    node = reading.node("data", "path")
    path = text_of(node)
    split = text_of(reading.node("data", "train_split")) or "train"
    if node is not None and path:
        local = reading.lookup is not None and reading.lookup.exists(path, reading.base) is True
        names = tuple(f"{path}/{split}.{end}" for end in ("csv", "jsonl")) if local else ()
        found = tuple(one for one in names if reading.lookup is not None and reading.lookup.exists(one, reading.base))
        run.training.append(DataSource(node.span, paths=found[:1], base=reading.base, hub=path, split=split))
    valid = reading.entry("data", "valid_split")
    present = valid is not None and not is_null(valid[0].value)
    if reading.mapping("data") is None:
        return
    if language:
        taker.derive("validation", Known(False, DEFAULT))
        if present and valid is not None:
            reason = "AutoTrain forgets the validation data of language models, or stops over them"
            taker.observe("evaluation_off", valid[0].key_span, reason=reason)
        for name in ("eval_strategy", "save_strategy"):
            taker.derive(name, Known("no", DEFAULT))
        return
    taker.derive("validation", Known(present, WRITTEN))
    strategy = text_of(reading.node("params", "eval_strategy")) or "epoch"
    for name in ("eval_strategy", "save_strategy"):
        taker.derive(name, Known(strategy if present else "no", DEFAULT))
    taker.derive("load_best", Known(present, DEFAULT))


def _keys(taker: Taker) -> None:
    """Keys under `params` that are a slip of one; others only raise a warning (`AutoTrainParams`)."""
    params = taker.reading.mapping("params")
    if params is None:
        return
    taker.run.observations += slips(params, [tables.load("autotrain-advanced", "llm")], "AutoTrain", rejected=False)
