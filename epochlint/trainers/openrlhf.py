"""OpenRLHF: flags of its own commands, old (`--train_batch_size`) and with dots (`--train.batch_size`).

Read in openrlhf 0.11.2 (`cli/train_sft.py`, `train_dpo.py`, `train_rm.py`, `train_ppo_ray.py`, `prepare_datasets` in
`trainer/ppo_trainer.py`, `utils/deepspeed/deepspeed.py`); the flags without dots are those of 0.5 to 0.9. The batch is
that of a step over all workers; a worker takes batch / micro batch / workers micro-batches. Recorded in
tests/conformance:

    SFT, DPO, reward and KTO    floor(E x floor(floor(N / w) / micro) / accumulation) updates, on over the ends of
                                passes; refused where a pass has none (SFT since 0.11.2: where the whole run has none)
    PPO and its kin             floor(N x answers / batch) x episodes x E, of N prompts

The warmup is ceil(share x schedule), 0.03 by default. The schedule is as long as the run in SFT since 0.11.2, else
ceil(E x floor(N / batch)), a few steps less. A save cadence of -1 is none, an evaluation cadence of -1 once a pass.
"""

from __future__ import annotations

from math import ceil

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting, Steps, Warmup, after, by_global_batch, happenings, share_up
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.run.versions import VersionRange
from epochlint.trainers import openrlhf_refusals, tables
from epochlint.trainers.settings import Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
    from epochlint.trainers.trainer import Reading

LABEL = "openrlhf"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("argparse", converts_text=True)

_MODULE = "openrlhf.cli.train_"
# Command -> method, and its defaults of micro batch, epochs and rate (0.11.2; 0.5 to 0.9 have the same).
_COMMANDS: dict[str, tuple[str, int | None, int | None, float | None]] = {
    "sft": ("sft", 8, 2, 5e-6),
    "dpo": ("dpo", 8, 1, 1e-5),
    "rm": ("reward", 1, 1, 9e-6),
    "kto": ("kto", None, 1, None),
    "ppo_ray": ("ppo", None, 1, None),
    "ppo": ("ppo", None, 1, None),
}
_BY_LOADER = "0.11.2"
# Estimators of the advantage that name a method; the others are PPO or REINFORCE.
_ESTIMATORS = {"group_norm": "grpo", "dr_grpo": "grpo", "rloo": "rloo"}
# Sequence (ring attention) and tensor parallel sizes.
_PARALLEL = (
    ("ds", "ring_attn_size"),
    "ring_attn_size",
    ("ds", "tensor_parallel_size"),
    "ds_tensor_parallel_size",
)
_ANSWERS = (("rollout", "n_samples_per_prompt"), "n_samples_per_prompt")


def recognise(document: Document) -> list[Mapping]:
    return []  # it reads no files


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`deepspeed --module openrlhf.cli.train_sft`, `ray job submit -- python3 -m openrlhf.cli.train_ppo_ray`."""
    return program[0] == "module" and len(program) > 1 and program[1].removeprefix(_MODULE) in _COMMANDS


def read(reading: Reading) -> Run:
    kind = reading.command[1].removeprefix(_MODULE) if len(reading.command) > 1 else "sft"
    dotted = any("." in entry.key for entry, _ in reading.entries())
    table = tables.load("openrlhf", kind)
    flags = reading = openrlhf_refusals.under_full_names(reading, table)
    reading = reading.nested()
    versions = openrlhf_refusals.told_by_flags(flags, table)
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    run.version = versions.low if versions.pinned else None
    method, micro, epochs, rate = _COMMANDS.get(kind, _COMMANDS["sft"])
    taker = Taker(run, reading, LOADER)
    online = kind.startswith("ppo")
    run.eras = _eras(kind, versions)
    taker.whole("global_batch", ("train", "batch_size"), "train_batch_size", default=128)
    size = Known(micro, DEFAULT) if micro is not None else UNKNOWN
    taker.whole("per_device_batch", ("train", "micro_batch_size"), "micro_train_batch_size", default=size)
    taker.number("epochs", ("train", "max_epochs"), "max_epochs", default=epochs)
    taker.derive("max_steps", Known(None, DERIVED))  # there is none
    taker.whole("sample_cap", ("data", "max_samples"), "max_samples")
    taker.number("warmup_ratio", "lr_warmup_ratio", ("actor", "lr_warmup_ratio"), default=0.03)
    taker.number("weight_decay", ("adam", "weight_decay"), ("actor", "adam", "weight_decay"), "l2", default=UNKNOWN)
    scheduler = "cosine_with_min_lr" if dotted else UNKNOWN
    taker.word("scheduler", "lr_scheduler", ("actor", "lr_scheduler"), default=scheduler)
    keys = (("actor", "adam", "lr"), "actor_learning_rate") if online else (("adam", "lr"), "learning_rate")
    taker.number("learning_rate", *keys, default=Known(rate, DEFAULT) if rate is not None else UNKNOWN)
    taker.number("beta", ("model", "beta"), "beta", default=0.1 if method == "dpo" else UNKNOWN)
    _method(taker, method, online)
    taker.product("parallel", *_PARALLEL)
    _cadences(taker, online)
    _data(taker, online)
    openrlhf_refusals.check(taker, flags, kind, table, versions)
    return run


def _eras(kind: str, versions: VersionRange) -> tuple[Era, ...]:
    """SFT counts by its loader since 0.11.2 (`cli/train_sft.py`)."""
    if kind != "sft":
        return (Era("", _ONLINE if kind.startswith("ppo") else _PAIRS, {"openrlhf": versions}),)
    found = []
    if versions.meets(None, _BY_LOADER):
        older = versions.narrowed(VersionRange(below=_BY_LOADER))
        found.append(Era("<= 0.11.1", _PAIRS, {"openrlhf": older}))
    if versions.meets(_BY_LOADER, None):
        newer = versions.narrowed(VersionRange(_BY_LOADER))
        found.append(Era(f">= {_BY_LOADER}", _SFT, {"openrlhf": newer}))
    return tuple(found)


def _method(taker: Taker, method: str, online: bool) -> None:
    run = taker.run
    if online:
        estimator = taker.reading.text("algo", "advantage", "estimator") or taker.reading.text("advantage_estimator")
        method = _ESTIMATORS.get(estimator or "", method)
        taker.whole("num_generations", *_ANSWERS, default=1)
        taker.number("episodes", ("train", "num_episodes"), "num_episodes", default=1)
        nodes = taker.whole("nodes", ("actor", "num_nodes"), "actor_num_nodes", default=1)
        per_node = taker.whole("per_node", ("actor", "num_gpus_per_node"), "actor_num_gpus_per_node", default=8)
        if nodes.number and per_node.number:
            gpus = Known(int(nodes.number * per_node.number), per_node.origin, key_span=per_node.key_span)
            taker.derive("gpus", gpus)
        filtering = taker.flag("filtering", ("algo", "dynamic_filtering_enable"), "dynamic_filtering")
        dynamic = taker.flag("dynamic", ("train", "dynamic_batch_enable"), "use_dynamic_batch")
        if filtering.value is not False or dynamic.value is not False:
            taker.derive("batch_unknown", Known(True, DERIVED))
    taker.derive("method", Known(method, DERIVED))
    rank = taker.whole("lora_rank", ("ds", "lora", "rank"), "lora_rank", default=0)
    four = taker.flag("four_bits", ("ds", "load_in_4bit"), "load_in_4bit")
    if rank.number is not None:
        taker.derive("tuning", Known("full" if rank.number < 1 else "qlora" if four.value else "lora", DERIVED))
    run.settings.pop("four_bits", None)


def _cadences(taker: Taker, online: bool) -> None:
    saving = taker.whole("save_steps", ("ckpt", "save_steps"), "save_steps", default=-1)
    if saving.number is not None:
        taker.derive("save_strategy", Known("steps" if saving.number > 0 else "no", saving.origin))
    taker.number("logging_steps", ("logger", "logging_steps"), "logging_steps", default=1)
    if taker.entry((("eval", "dataset"), "eval_dataset")) is None:
        return  # older versions take a split of the training data's set
    steps = taker.whole("eval_steps", ("eval", "steps"), "eval_steps", default=-1)
    if steps.number is not None:
        word = "steps" if steps.number > 0 else "no" if online else "epoch"
        taker.derive("eval_strategy", Known(word, steps.origin))


def _data(taker: Taker, online: bool) -> None:
    """A local file; several sets are mixed by shares, and names on the hub have rows that nobody counts here."""
    names = (("data", "prompt_dataset"), "prompt_data") if online else (("data", "dataset"), "dataset")
    found = taker.entry(names)
    path = text_of(found[0].value) if found is not None else None
    if found is not None and path and "," not in path and path.endswith((".jsonl", ".json", ".csv", ".parquet")):
        taker.run.training = [DataSource(found[0].value.span, paths=(path,), base=taker.reading.base)]


def _records(rows: Known, get: Get) -> Known:
    cap = get("sample_cap").number
    return after(rows, lambda count: min(count, int(cap))) if cap is not None and cap >= 0 else rows


def _updates(shape: Shape) -> int:
    """Micro-batches of all passes over those of an update."""
    accumulation, rest = divmod(shape.effective, shape.per_device * shape.workers)
    if rest or accumulation < 1:  # refused; or the micro-batch is not known
        return int(shape.epochs * (shape.records // shape.effective))
    batches = shape.records // shape.workers // shape.per_device
    return int(shape.epochs * batches) // accumulation


def _sft(shape: Shape) -> Steps:
    total = _updates(shape)
    return Steps(max(1, shape.records // shape.effective) if total else 0, total, total)


def _pairs(shape: Shape) -> Steps:
    """Data that does not fill one batch is refused (`trainer/dpo_trainer.py`, `fit`)."""
    per_epoch = shape.records // shape.effective
    total = _updates(shape) if per_epoch else 0
    return Steps(per_epoch, total, total)


def _online(shape: Shape) -> Steps:
    answers, episodes = shape.get("num_generations").number, shape.get("episodes").number
    per_episode = int(shape.records * (answers or 1)) // shape.effective
    total = int(per_episode * (episodes if episodes is not None else 1) * shape.epochs)
    return Steps(int(per_episode * shape.epochs), total, total)


def _warmup(get: Get) -> Warmup | None:
    share = get("warmup_ratio").number
    return share_up(share) if share is not None and share >= 0 else None


def _warmup_of_schedule(get: Get) -> Warmup | None:
    """Of the schedule's own length, where the rows are known; else that of the run, which is close to it."""
    found, share = _warmup(get), get("warmup_ratio").number
    rows, whole, epochs = _records(get("rows"), get).number, get("global_batch").number, get("epochs").number
    if found is None or share is None or rows is None or not whole or whole < 1 or epochs is None:
        return found
    length = ceil(epochs * (rows // whole))
    steps = ceil(length * share)
    return Warmup(lambda total, natural: steps, found.key, found.share, f"ceil({length} x {share:g})")


def _evaluations(get: Get, total: int, per_epoch: int) -> int | None:
    strategy, every = get("eval_strategy"), get("eval_steps").number
    if not strategy.exact:
        return None
    if strategy.value == "epoch":  # a cadence of one pass in whole steps
        return total // per_epoch if per_epoch > 0 else None
    return happenings(str(strategy.value), every, total, per_epoch, False)


def _checkpoints(get: Get, total: int, per_epoch: int) -> int | None:
    """Those on the way; the model is saved once more at the end."""
    strategy = get("save_strategy")
    if not strategy.exact:
        return None
    return (happenings(str(strategy.value), get("save_steps").number, total, per_epoch, False) or 0) + 1


_SFT = Counting(_sft, _warmup, by_global_batch, _records, _evaluations, _checkpoints)
_PAIRS = Counting(_pairs, _warmup_of_schedule, by_global_batch, _records, _evaluations, _checkpoints)
_ONLINE = Counting(_online, _warmup, by_global_batch, _records, None, _checkpoints)
