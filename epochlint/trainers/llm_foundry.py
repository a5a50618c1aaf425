"""LLM Foundry on Composer: durations with units ("3ep", "100ba", "0.02dur") and a global batch.

Read in llm-foundry 0.22.0 (`llmfoundry/command_utils/train.py`) and composer 0.32.1 (`core/time.py`,
`optim/scheduler.py`): a pass has ceil(N / global batch) batches, or the floor with `train_loader.drop_last`; a share of
the duration is rounded down.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import number
from epochlint.run.counting import Counting, Steps, Warmup, by_global_batch, fixed
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import llm_foundry_rows, tables
from epochlint.trainers.omegaconf import resolved
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of
from epochlint.trainers.slips import slips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document, Node
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "llm-foundry"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=True)

_DURATION = re.compile(r"([0-9_]*\.?[0-9_]+(?:e[+-]?[0-9]+)?)\s*(ep|ba|sp|tok|dur|sec|iter)?", re.IGNORECASE)
_SCHEDULES = {
    "linear_decay_with_warmup": "linear",
    "cosine_with_warmup": "cosine",
    "constant_with_warmup": "constant_with_warmup",
    "inv_sqrt_with_warmup": "inverse_sqrt",
}


def recognise(document: Document) -> list[Mapping]:
    """`max_duration`, `train_loader` and `global_train_batch_size`, at the top or under MCLI's `parameters`."""
    found = []
    for mapping in document.mappings():
        for inner in (mapping, mapping.mapping("parameters")):
            if inner is not None and "max_duration" in inner and "train_loader" in inner:
                found.append(inner)
                break
    return found


def duration(node: object) -> tuple[float, str] | None:
    """A number and its unit; a bare number counts epochs."""
    if not isinstance(node, Scalar) or node.value is None:
        return None
    match = _DURATION.fullmatch(str(node.raw).strip())
    value = float(match[1].replace("_", "")) if match is not None else float("inf")
    return (value, (match[2] or "ep").lower()) if match is not None and value < float("inf") else None


def read(reading: Reading) -> Run:
    reading = resolved(reading)
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    run.eras = (Era("", _COUNTING, {"llm-foundry": reading.versions.of("llm-foundry")}),)
    taker.whole("global_batch", "global_train_batch_size")
    taker.whole("per_device_batch", "device_train_microbatch_size")
    length = reading.entry("max_duration")
    taker.derive("epochs", UNKNOWN)
    taker.derive("max_steps", Known(None, DERIVED))
    parsed = duration(length[0].value) if length is not None else None
    if length is not None and parsed is not None:
        value, unit = parsed
        known = Known(int(value) if value == int(value) else value, length[1], key_span=length[0].key_span)
        if unit == "ep":
            taker.derive("epochs", known)
        elif unit == "ba":
            taker.derive("max_steps", known)
        else:
            taker.derive("batch_unknown", Known(True, DERIVED))
    taker.flag("drop_last", ("train_loader", "drop_last"), default=True)
    taker.word("optimizer", ("optimizer", "name"), default=MISSING)
    taker.number("learning_rate", ("optimizer", "lr"))
    taker.number("weight_decay", ("optimizer", "weight_decay"))
    taker.word("scheduler", ("scheduler", "name"), words=_SCHEDULES)
    _warmup_settings(taker)
    packing = reading.entry("train_loader", "dataset", "packing_ratio")
    if packing is not None and isinstance(packing[0].value, Scalar) and packing[0].value.value is not None:
        taker.derive("packing", UNKNOWN)
    kind = text_of(reading.node("train_loader", "name"))
    taker.derive("method", Known("sft" if kind == "finetuning" else "pretrain", DERIVED) if kind else UNKNOWN)
    if kind == "finetuning":
        _take_data(run, reading)
    if kind == "text":
        taker.derive("batch_unknown", Known(True, DERIVED))  # rows of a text loader are cut to length
    for layer in reading.layers:
        # Older ones warn about keys that they do not know; 0.9 and newer take them under `variables` only.
        table = tables.load("llm-foundry", "config")
        run.observations.extend(
            slips(layer.mapping, [table], "LLM Foundry", rejected=reading.versions.of("llm-foundry").pinned)
        )
    taker.derive("tuning", Known("lora" if reading.mapping("model", "peft_config") is not None else "full", DERIVED))
    return run


_BUILDERS = ("json", "csv", "parquet", "arrow")


def _take_data(run: Run, reading: Reading) -> None:
    """The rows of a finetuning loader: files of a builder (`hf_name: json`), or a data set's name."""
    path = ("train_loader", "dataset")
    name = reading.entry(*path, "hf_name")
    hf_name = text_of(name[0].value) if name is not None else None
    if name is None or not hf_name or reading.entry(*path, "streams") is not None:
        return
    split = text_of(reading.node(*path, "split"))
    files = _files(reading.node(*path, "hf_kwargs", "data_files"), split)
    if hf_name in _BUILDERS and not files:
        return
    preprocessed = reading.node(*path, "preprocessing_fn") is not None
    run.training.append(
        DataSource(
            name[0].value.span,
            paths=files,
            base=reading.base,
            arrow=True,
            hub=None if hf_name in _BUILDERS else hf_name,
            split=split,
            subset=text_of(reading.node(*path, "hf_kwargs", "name")) or "",
            check=None if preprocessed else llm_foundry_rows.Rows(),
            keep=_Kept(number(reading.node(*path, "max_seq_len")), preprocessed),
        )
    )


def _files(node: Node | None, split: str | None) -> list[str]:
    if isinstance(node, Mapping):
        node = node.get(split or "train")
    nodes = node.items if isinstance(node, Sequence) else [node]
    found = [text_of(one) for one in nodes]
    return [text for text in found if text] if all(found) else []


class _Kept:
    """Whether a row is trained on: one without a target left after it is cut is dropped (`is_valid_ift_example`).

    A text has no more tokens than bytes and a few for its frame; what a preprocessing function makes of it is not seen.
    """

    __slots__ = ("key", "limit")

    def __init__(self, limit: float | None, preprocessed: bool) -> None:
        self.limit = limit if limit is not None and not preprocessed else 0
        self.key = f"{self.limit:g}"

    def __call__(self, row: object) -> bool | None:
        if not isinstance(row, dict):
            return None
        target = next((row[key] for key in ("response", "completion") if isinstance(row.get(key), str)), "")
        messages = row.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[-1], dict):
            target = messages[-1].get("content") or ""
        if not str(target).strip() or not str(row.get("prompt", "w")).strip():
            return None  # whether it has tokens is the tokenizer's word
        size = len(repr(row).encode("utf-8", "replace"))
        return True if size <= self.limit else None


def _warmup_settings(taker: Taker) -> None:
    entry = taker.reading.entry("scheduler", "t_warmup")
    parsed = duration(entry[0].value) if entry is not None else None
    taker.derive("warmup_steps", Known(None, DERIVED))
    taker.derive("warmup_ratio", Known(None, DERIVED))
    if entry is None or parsed is None:
        return
    value, unit = parsed
    if unit == "ba":
        taker.derive("warmup_steps", Known(int(value), entry[1], key_span=entry[0].key_span, span=entry[0].value.span))
    elif unit == "dur":
        taker.derive("warmup_ratio", Known(value, entry[1], key_span=entry[0].key_span, span=entry[0].value.span))
    else:
        taker.derive("warmup_steps", UNKNOWN)


def _steps(shape: Shape) -> Steps:
    batch = shape.effective
    per_epoch = shape.records // batch if shape.drop_last else -(-shape.records // batch)
    natural = int(shape.epochs * per_epoch)
    return Steps(per_epoch, natural, natural if shape.limit is None else shape.limit)


def _warmup(get: Get) -> Warmup | None:
    steps, share = get("warmup_steps"), get("warmup_ratio")
    if share.number is not None:
        ratio = share.number
        return Warmup(
            lambda total, natural: int(total * ratio), "warmup_ratio", (ratio, "floor"), f"floor({{}} x {ratio:g})"
        )
    if steps.unknown:
        return None
    return fixed(int(steps.number or 0))


_COUNTING = Counting(_steps, _warmup, by_global_batch)
