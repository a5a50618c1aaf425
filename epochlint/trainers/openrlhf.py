"""OpenRLHF: flags of its own commands, old (`--train_batch_size`) and with dots (`--train.batch_size`).

Read in openrlhf 0.11.2 (`cli/train_sft.py`, `train_dpo.py`, `train_rm.py`, `train_ppo_ray.py`, `prepare_datasets` in
`trainer/ppo_trainer.py`, `utils/deepspeed/deepspeed.py`); the flags without dots are those of 0.5 to 0.9. The batch is
that of a step over all workers; a worker takes batch / micro batch / workers micro-batches. The length of the schedule:

    SFT with dots    floor(E x floor(floor(N / w) / micro) / accumulation)
    SFT before, DPO, reward and KTO    ceil(E x floor(N / batch))
    PPO and its kin  floor(N x answers / batch) x episodes x E, of N prompts

The warmup is ceil(share x length), 0.03 by default; a save cadence of -1 is none, an evaluation cadence of -1 is once a
pass.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import (
    Counting,
    Steps,
    after,
    by_global_batch,
    epochs_times,
    floor_of_rows,
    happenings,
    limited,
    share_up,
)
from epochlint.run.known import DEFAULT, DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.settings import Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape, Warmup
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
# Estimators of the advantage that name a method; the others are PPO or REINFORCE.
_ESTIMATORS = {"group_norm": "grpo", "dr_grpo": "grpo", "rloo": "rloo"}
_ANSWERS = (("rollout", "n_samples_per_prompt"), "n_samples_per_prompt")


def recognise(document: Document) -> list[Mapping]:
    return []  # it reads no files


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`deepspeed --module openrlhf.cli.train_sft`, `ray job submit -- python3 -m openrlhf.cli.train_ppo_ray`."""
    return program[0] == "module" and len(program) > 1 and program[1].removeprefix(_MODULE) in _COMMANDS


def read(reading: Reading) -> Run:
    kind = reading.command[1].removeprefix(_MODULE) if len(reading.command) > 1 else "sft"
    dotted = any("." in entry.key for entry, _ in reading.entries())
    reading = reading.nested()
    versions = reading.versions.of("openrlhf")
    run = Run(LABEL, reading.document.source, reading.span, (), reading.versions)
    run.version = versions.low if versions.pinned else None
    method, micro, epochs, rate = _COMMANDS.get(kind, _COMMANDS["sft"])
    taker = Taker(run, reading, LOADER)
    online = kind.startswith("ppo")
    counting = _ONLINE if online else _SFT if kind == "sft" and dotted else _PAIRS
    run.eras = (Era("", counting, {"openrlhf": versions}),)
    taker.whole("global_batch", ("train", "batch_size"), "train_batch_size", default=128)
    size = Known(micro, DEFAULT) if micro is not None else UNKNOWN
    taker.whole("per_device_batch", ("train", "micro_batch_size"), "micro_train_batch_size", default=size)
    taker.number("epochs", ("train", "max_epochs"), "max_epochs", default=epochs)
    taker.whole("sample_cap", ("data", "max_samples"), "max_samples")
    taker.number("warmup_ratio", "lr_warmup_ratio", ("actor", "lr_warmup_ratio"), default=0.03)
    taker.number("weight_decay", ("adam", "weight_decay"), ("actor", "adam", "weight_decay"), "l2", default=UNKNOWN)
    scheduler = "cosine_with_min_lr" if dotted else UNKNOWN
    taker.word("scheduler", "lr_scheduler", ("actor", "lr_scheduler"), default=scheduler)
    keys = (("actor", "adam", "lr"), "actor_learning_rate") if online else (("adam", "lr"), "learning_rate")
    taker.number("learning_rate", *keys, default=Known(rate, DEFAULT) if rate is not None else UNKNOWN)
    taker.number("beta", ("model", "beta"), "beta", default=0.1 if method == "dpo" else UNKNOWN)
    _method(taker, method, online)
    _parallel(taker)
    _cadences(taker, online)
    _data(taker, online)
    return run


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


def _parallel(taker: Taker) -> None:
    """Sequence (ring attention) and tensor parallel sizes."""
    product = 1
    for name in ("ring_attn_size", "tensor_parallel_size"):
        size = taker.whole("parallel_size", ("ds", name), name, f"ds_{name}", default=1)
        product *= int(size.number) if size.number and size.number >= 1 else 1
    taker.run.settings.pop("parallel_size", None)
    if product > 1:
        taker.derive("parallel", Known(product, DERIVED))


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


def _sft(shape: Shape) -> Steps:
    batches = (shape.records // shape.workers) // shape.per_device
    natural = int(batches * shape.epochs) // shape.accumulation
    return Steps(max(1, batches // shape.accumulation) if natural else 0, natural, natural)


def _online(shape: Shape) -> Steps:
    answers, episodes = shape.get("num_generations").number, shape.get("episodes").number
    per_episode = int(shape.records * (answers or 1)) // shape.effective
    total = int(per_episode * (episodes if episodes is not None else 1) * shape.epochs)
    return Steps(int(per_episode * shape.epochs), total, total)


def _warmup(get: Get) -> Warmup | None:
    share = get("warmup_ratio").number
    return share_up(share) if share is not None and share >= 0 else None


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
_PAIRS = Counting(
    limited(floor_of_rows, epochs_times), _warmup, by_global_batch, _records, _evaluations, _checkpoints
)  # fmt: skip
_ONLINE = Counting(_online, _warmup, by_global_batch, _records, None, _checkpoints)
