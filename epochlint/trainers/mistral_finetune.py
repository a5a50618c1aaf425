"""mistral-finetune: a number of steps over packed sequences; rows with tools become one record an assistant message.

Read at commit 1943535 (`finetune/args.py`, `finetune/data/dataset.py` `maybe_chunk_lines`, `train.py`). The batch
counts sequences of `seq_len` tokens, so rows say nothing about passes.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import boolean
from epochlint.run.counting import Batch, Counting, Steps, Warmup
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.row_checks import invalid, messages_missing, texts_missing
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.slips import Names, slips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.row_checks import Verdict
    from epochlint.trainers.trainer import Reading

LABEL = "mistral-finetune"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("simple_parsing", converts_text=True)

# The dataclasses of `finetune/args.py`, `finetune/data/args.py` and `model/args.py`; there is no published package.
_SCHEMA = {
    (): Names(
        "data", "model_id_or_path", "run_dir", "optim", "seed", "num_microbatches", "seq_len", "batch_size", "max_norm",
        "max_steps", "log_freq", "ckpt_freq", "save_adapters", "no_ckpt", "num_ckpt_keep", "eval_freq", "no_eval",
        "checkpoint", "wandb", "mlflow", "lora", "world_size",
    ),
    ("optim",): Names("lr", "weight_decay", "pct_start"),
    ("lora",): Names("enable", "rank", "dropout", "scaling"),
    ("wandb",): Names("project", "offline", "run_name", "key"),
    ("mlflow",): Names("tracking_uri", "experiment_name"),
    ("data",): Names("data", "shuffle", "instruct_data", "eval_instruct_data", "instruct"),
    ("data", "instruct"): Names("shuffle", "dynamic_chunk_fn_call"),
}  # fmt: skip


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
    _check(taker)
    return run


def _check(taker: Taker) -> None:
    """What `TrainArgs.load(path, drop_extra_fields=False)` refuses (recorded in tests/conformance)."""
    run, reading = taker.run, taker.reading
    for layer in reading.layers:
        for path, names in _SCHEMA.items():
            block = layer.mapping.mapping(*path)
            if block is not None:
                refused = path != ("lora",)  # there simple_parsing drops what it does not know
                run.observations.extend(slips(block, [names], LABEL, rejected=refused))
    if boolean(reading.node("data", "instruct", "shuffle")) is False:
        chunks = reading.node("data", "instruct", "dynamic_chunk_fn_call")
        if chunks is None or boolean(chunks) is True:
            taker.refuse(
                ("data", "instruct", "shuffle"), "shuffle: false needs dynamic_chunk_fn_call: false beside it", LABEL
            )
    for path, reason in (
        (("num_ckpt_keep",), "num_ckpt_keep must be at least 1, or null"),
        (("lora", "rank"), "the rank of an adapter must be at least 1"),
    ):
        node = reading.node(*path)
        if isinstance(node, Scalar) and isinstance(node.value, int) and node.value < 1:
            taker.refuse(path, reason, LABEL)


def _data(taker: Taker) -> None:
    """`instruct_data` and `data` (pretraining texts): a file or folder, or several with weights
    ("a.jsonl:3,b.jsonl:1"). Long conversations with tools are cut into several unless `dynamic_chunk_fn_call` is off.
    """
    run, reading = taker.run, taker.reading
    chunks = reading.node("data", "instruct", "dynamic_chunk_fn_call")
    whole = isinstance(chunks, Scalar) and chunks.value is False
    for key, sources in (
        ("instruct_data", run.training),
        ("eval_instruct_data", run.validation),
        ("data", run.training),
    ):
        entry = reading.entry("data", key)
        text = text_of(entry[0].value) if entry is not None else None
        if entry is None or not text:
            continue
        paths = [part.partition(":")[0].strip() for part in text.split(",")]
        instruct = key != "data"
        several = records_of if instruct and not whole and sources is run.training else None
        check = conversation_problem if instruct else text_problem
        span = entry[0].value.span
        sources.append(
            DataSource(span, paths=paths, base=reading.base, records_of=several, check=check, strict="lines")
        )


def records_of(row: object) -> int:
    """Records that one line becomes: one for each assistant message, where only the last is trained on."""
    if not isinstance(row, dict) or not (row.get("only_last") or row.get("tools") or "available_tools" in row):
        return 1
    messages = row.get("messages") or row.get("interactions")
    if not isinstance(messages, list):
        return 1
    answers = [message for message in messages if isinstance(message, dict) and message.get("role") == "assistant"]
    return max(1, len(answers))


_ROLES = ("system", "user", "assistant", "tool")


def conversation_problem(row: object) -> Verdict | None:
    """What `build_instruct_sample` and mistral-common's validator refuse (`finetune/data/tokenize.py`)."""
    key = "interactions" if isinstance(row, dict) and "interactions" in row else "messages"
    found = messages_missing(row, key, LABEL)
    if found is not None:
        return found
    assert isinstance(row, dict)
    for at, message in enumerate(row[key], 1):
        reason = _message_problem(message)
        if reason is not None:
            return invalid(f"message {at} {reason}: {LABEL} stops there")
    roles = [message["role"] for message in row[key] if message["role"] != "system"]
    if len(roles) < 2 or "user" not in roles:
        return invalid(f"the conversation has no question and answer: {LABEL} stops there")
    if roles[-1] != "assistant":
        return invalid(f"the conversation does not end with the assistant: {LABEL} stops there")
    return None


def _message_problem(message: dict[object, object]) -> str | None:
    role = message.get("role")
    if role not in _ROLES:
        return f"has the role {role!r}, not one of {', '.join(_ROLES)}"
    content = message.get("content") if message.get("content") is not None else message.get("text")
    if role == "assistant" and message.get("tool_calls"):
        return None
    if not isinstance(content, str):
        return "has no text as its content"
    if role == "assistant" and not content:
        return "is an empty answer"
    return "has no tool_call_id" if role == "tool" and "tool_call_id" not in message else None


def text_problem(row: object) -> Verdict | None:
    """What `get_pretrain_sample` refuses: one of `text` and `content`, and a text."""
    return texts_missing(row, ("content" if isinstance(row, dict) and "content" in row else "text",), LABEL)


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
