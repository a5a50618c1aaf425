"""mistral-finetune: a number of steps over packed sequences; rows with tools become one record an assistant message.

Read at commit 1943535 (`finetune/args.py`, `finetune/data/dataset.py` `maybe_chunk_lines`, `train.py`). The batch
counts sequences of `seq_len` tokens, so rows say nothing about passes.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Batch, Counting, Steps, Warmup
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.settings import Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "mistral-finetune"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("simple_parsing", converts_text=True)


def recognise(document: Document) -> list[Mapping]:
    return [
        mapping
        for mapping in document.mappings()
        if "model_id_or_path" in mapping and ("run_dir" in mapping or mapping.mapping("data") is not None)
    ]


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    taker = Taker(run, reading, LOADER)
    run.eras = (Era("", _COUNTING),)
    taker.whole("per_device_batch", "batch_size", default=1)
    taker.whole("accumulation", "num_microbatches", default=1)
    taker.whole("max_steps", "max_steps", default=100)
    taker.number("learning_rate", ("optim", "lr"), default=1e-4)
    taker.number("weight_decay", ("optim", "weight_decay"), default=0.1)
    taker.number("warmup_ratio", ("optim", "pct_start"), default=0.05)
    taker.derive("scheduler", Known("one_cycle", DERIVED))
    taker.whole("sequence_length", "seq_len", default=2048)
    taker.derive("packing", Known(True, DERIVED))
    taker.whole("save_steps", "ckpt_freq")
    taker.derive("method", Known("sft", DERIVED))
    rank = taker.whole("lora_rank", ("lora", "rank"), default=16)
    taker.derive("tuning", Known("lora" if rank.exact else None, DERIVED) if rank.exact else UNKNOWN)
    taker.whole("eval_steps", "eval_freq")
    off = taker.flag("no_eval", "no_eval", default=True)
    taker.derive("eval_strategy", Known("no" if off.value else "steps", DERIVED) if off.exact else UNKNOWN)
    _data(taker)
    return run


def _data(taker: Taker) -> None:
    """`instruct_data`: a file or folder, or several with weights ("a.jsonl:3,b.jsonl:1")."""
    run, reading = taker.run, taker.reading
    for key, sources in (("instruct_data", run.training), ("eval_instruct_data", run.validation)):
        entry = reading.entry("data", key)
        text = text_of(entry[0].value) if entry is not None else None
        if entry is None or not text:
            continue
        paths = [part.partition(":")[0].strip() for part in text.split(",")]
        source = DataSource(entry[0].value.span, paths=paths, base=reading.base, records_of=records_of)
        sources.append(source)


def records_of(row: object) -> int:
    """Records that one line becomes: with tools, one for each assistant message."""
    if not isinstance(row, dict) or not row.get("tools"):
        return 1
    messages = row.get("messages") or row.get("interactions")
    if not isinstance(messages, list):
        return 1
    answers = [message for message in messages if isinstance(message, dict) and message.get("role") == "assistant"]
    return max(1, len(answers))


def _batch(get: Get, workers: int | None) -> Batch:
    """In packed sequences, not records."""
    return Batch(get("per_device_batch"), get("accumulation"), UNKNOWN)


def _steps(shape: Shape) -> Steps:
    return Steps(0, 0, shape.limit or 0)


def _warmup(get: Get) -> Warmup | None:
    share = get("warmup_ratio").number
    if share is None:
        return None
    return Warmup(
        lambda total, natural: int(total * share), "warmup_ratio", (share, "floor"), f"floor({{}} x {share:g})"
    )


_COUNTING = Counting(_steps, _warmup, _batch)
