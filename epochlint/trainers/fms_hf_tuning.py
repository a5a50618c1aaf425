"""fms-hf-tuning: one JSON of transformers' arguments with data paths, often inside a ConfigMap.

`accelerate_launch_args.num_processes` says nothing: the image starts as many processes as it finds GPUs, unless
SET_NUM_PROCESSES_TO_NUM_GPUS is false in its environment (`build/utils.py`, recorded in tests/conformance).

Read in fms-hf-tuning 3.2.2: `tuning/config/configs.py` (saves and logs once an epoch, does not evaluate unless told),
`tuning/sft_trainer.py` (`parse_dict(..., allow_extra_keys=True)`: keys that it does not know are dropped without a
word). Defaults and keys by version: data/fms-hf-tuning.json.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.known import DEFAULT, UNKNOWN, WRITTEN, Known
from epochlint.run.run import DataSource
from epochlint.trainers import fms_refusals, tables
from epochlint.trainers.hf import keys, refusals
from epochlint.trainers.hf.reader import Hf
from epochlint.trainers.on_hf import own_keys, require_transformers, told_by_keys
from epochlint.trainers.settings import MISSING, Loader, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.trainers.trainer import Reading

LABEL = "fms-hf-tuning"
CALLS: frozenset[str] = frozenset()
OWN_SCRIPTS = True

# `json.load`, then fields that are not cast.
LOADER = Loader("HfArgumentParser.parse_dict", converts_text=False)
_NEWEST = "<=4.55.4"  # transformers, as 3.2.2 asks for it

_OWN = frozenset({"training_data_path", "accelerate_launch_args", "data_config_path", "validation_data_path"})
_BESIDE = frozenset({
    "model_name_or_path", "output_dir", "num_train_epochs", "per_device_train_batch_size", "learning_rate",
    "response_template", "dataset_text_field", "peft_method", "gradient_accumulation_steps", "max_seq_length",
    "use_flash_attn", "save_model_dir", "max_steps", "data_formatter_template",
})  # fmt: skip

# Keys that only the wrapper around the tuning takes (`accelerate_launch.py` in the image's `build/`).
_WRAPPER = frozenset({"accelerate_launch_args", "multi_gpu", "lora_post_process_for_vllm", "merge_model"})


def recognise(document: Document) -> list[Mapping]:
    """A flat mapping with one of the paths that only fms-hf-tuning has, and what it is to tune."""
    if document.syntax not in ("json", "yaml"):
        return []
    return [
        mapping
        for mapping in document.mappings()
        if _OWN & mapping.last.keys() and len(_BESIDE & mapping.last.keys()) >= 3
    ]


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`python tuning/sft_trainer.py`, `python -m tuning.sft_trainer`."""
    if len(program) < 2 or program[0] == "cli":
        return False
    return program[1] == "tuning.sft_trainer" or program[1].endswith("tuning/sft_trainer.py")


def read(reading: Reading) -> Run:
    require_transformers(reading, "fms-hf-tuning", _NEWEST)
    table = tables.load("fms-hf-tuning", "config")
    flags = reading.via == "argparse"
    reading = reading.over(reading.layers)
    reading.via = "argparse" if flags else "parse_dict"
    hf = Hf(reading, LABEL, table, (), Loader("argparse", converts_text=True) if flags else LOADER)
    own = own_keys(hf, table)
    hf.within = told_by_keys(hf, table, own)
    hf.consumer = keys.Consumer("fms-hf-tuning", (table,), own | _WRAPPER, complete=True, rejects=flags)
    hf.take_common(defaults={"save_strategy": "epoch", "logging_strategy": "epoch", "eval_strategy": "no"})
    _method(hf)
    _data(hf)
    taker = hf.taker
    taker.whole("sequence_length", "max_seq_length", default=MISSING)
    taker.word("model", "model_name_or_path", default=MISSING)
    taker.whole("lora_rank", "r", default=MISSING)
    if hf.entry("packing") is not None:
        taker.flag("packing", "packing")
    hf.check(metrics=None)
    refusals.evaluation_data(hf.run)
    fms_refusals.check(hf)
    return hf.finish()


def _method(hf: Hf) -> None:
    hf.taker.derive("method", Known("sft", DEFAULT))
    entry = hf.entry("peft_method")
    tuning = fms_refusals.method(hf)
    if tuning == "lora" and (hf.entry("auto_gptq") is not None or hf.entry("bnb_qlora") is not None):
        tuning = "qlora"
    place = entry.key_span if entry is not None else None
    known = Known(tuning, WRITTEN if entry is not None else DEFAULT, key_span=place)
    hf.taker.derive("tuning", known if tuning is not None else UNKNOWN)


def _data(hf: Hf) -> None:
    """One file for each side, or a recipe of several sets in a file of its own, which may sample and split."""
    run, base = hf.run, hf.reading.base
    recipe = hf.entry("data_config_path")
    for key, sources in (("training_data_path", run.training), ("validation_data_path", run.validation)):
        entry = hf.entry(key)
        path = text_of(entry.value) if entry is not None else None
        if entry is not None and path is not None and recipe is None:
            sources.append(DataSource(entry.value.span, paths=(path,), base=base))
    validation = hf.entry("validation_data_path")
    if validation is not None:
        run.writes["validation"] = validation.key_span
        run.settings["validation"] = Known(True, WRITTEN, key_span=validation.key_span)
    elif recipe is not None or hf.reading.open_ended:
        run.settings["validation"] = UNKNOWN
    else:
        run.settings["validation"] = Known(False, DEFAULT)
