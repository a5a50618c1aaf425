"""verl's trainers (SFT, PPO, GRPO): Hydra configs with a global batch, of which incomplete ones are dropped.

Read at commit b178a3cd (`trainer/fsdp_sft_trainer.py`, `trainer/ppo/ray_trainer.py`): a pass has floor(N / batch)
steps; `total_training_steps` takes the place of `total_epochs`; the warmup is int(ratio x total).
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Batch, Counting, Warmup, epochs_times, floor_of_rows, limited, share_down
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers.omegaconf import is_composed, resolved
from epochlint.trainers.settings import Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get
    from epochlint.trainers.trainer import Reading

LABEL = "verl"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("Hydra", converts_text=True)


def recognise(document: Document) -> list[Mapping]:
    found = []
    for mapping in document.mappings():
        data, trainer = mapping.mapping("data"), mapping.mapping("trainer")
        if trainer is None or not ("total_epochs" in trainer or "total_training_steps" in trainer):
            continue
        has_data = data is not None and ("train_batch_size" in data or "train_files" in data)
        actor = "actor_rollout_ref" in mapping and (data is not None or is_composed(mapping))
        if has_data or actor:
            found.append(mapping)
    return found


_BY_ADVANTAGE = {"grpo": "grpo", "grpo_passk": "grpo", "rloo": "rloo"}


def claims(program: tuple[str, ...], arguments: Mapping) -> bool:
    """`python -m verl.trainer.main_ppo data.train_batch_size=...`."""
    return program[0] == "module" and len(program) > 1 and program[1].startswith("verl.trainer")


def read(reading: Reading) -> Run:
    reading = resolved(reading.nested())
    run = Run(LABEL, reading.document.source, reading.span, (Era("", _COUNTING),), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("global_batch", ("data", "train_batch_size"), default=UNKNOWN)
    taker.number("epochs", ("trainer", "total_epochs"), default=UNKNOWN)
    taker.whole("max_steps", ("trainer", "total_training_steps"))
    sft = reading.mapping("actor_rollout_ref") is None
    rate = ("optim", "lr") if sft else ("actor_rollout_ref", "actor", "optim", "lr")
    share = (
        ("optim", "lr_warmup_steps_ratio") if sft else ("actor_rollout_ref", "actor", "optim", "lr_warmup_steps_ratio")
    )
    taker.number("learning_rate", rate, default=UNKNOWN)
    taker.number("warmup_ratio", share, default=UNKNOWN)
    # One trainer for all: what it estimates the advantage by says which of them it is.
    method = _BY_ADVANTAGE.get(text_of(reading.node("algorithm", "adv_estimator")) or "", "ppo")
    taker.derive("method", Known("sft" if sft and "verl.trainer.main_ppo" not in reading.command else method, DERIVED))
    nodes = taker.whole("nodes", ("trainer", "nnodes"))
    per_node = taker.whole("per_node", ("trainer", "n_gpus_per_node"))
    if nodes.number and per_node.number:
        taker.derive("gpus", Known(int(nodes.number * per_node.number), "written", key_span=per_node.key_span))
    entry = reading.entry("data", "train_files")
    path = text_of(entry[0].value) if entry is not None else None
    if entry is not None and path:
        run.training = [DataSource(entry[0].value.span, paths=(path,), base=reading.base)]
    return run


def _batch(get: Get, workers: int | None) -> Batch:
    whole = get("global_batch")
    return Batch(UNKNOWN, UNKNOWN, Known(whole.value, DERIVED, key_span=whole.key_span) if whole.number else UNKNOWN)


def _warmup(get: Get) -> Warmup | None:
    share = get("warmup_ratio").number
    return share_down(share) if share is not None and share >= 0 else None


_COUNTING = Counting(limited(floor_of_rows, epochs_times), _warmup, _batch)
