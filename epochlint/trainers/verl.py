"""verl's trainers (SFT, PPO, GRPO): Hydra configs with a global batch, of which incomplete ones are dropped.

Read in verl 0.2.0.post2 to 0.9.1 (`trainer/fsdp_sft_trainer.py`, `trainer/sft_trainer.py`,
`trainer/ppo/ray_trainer.py`, `trainer/ppo/v1/trainer_base.py`) and recorded in tests/conformance: a pass has
floor(N / batch) steps, the run ends after `total_epochs` or `total_training_steps`, whichever comes first. The schedule
is as long as `total_training_steps`, where it is written; the warmup is int(ratio x schedule), or `lr_warmup_steps`
above 0.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.documents.scalars import boolean
from epochlint.run.counting import Batch, Counting, Warmup, after, epochs_times, fixed, limited, share_down
from epochlint.run.known import DERIVED, UNKNOWN, Known, between
from epochlint.run.run import DataSource, Era, Run
from epochlint.trainers import verl_launch
from epochlint.trainers.omegaconf import is_composed, resolved
from epochlint.trainers.settings import Loader, Taker, text_of
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.run.counting import Get, Shape
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
    launch = verl_launch.shipped(reading)
    reading = resolved(reading.nested())
    versions = reading.versions.of("verl")
    run = Run(LABEL, reading.document.source, reading.span, (Era("", _COUNTING, {"verl": versions}),), reading.versions)
    run.version = versions.low if versions.pinned else None
    taker = Taker(run, reading, LOADER)
    taker.whole("global_batch", ("data", "train_batch_size"), default=UNKNOWN)
    limit = taker.whole("max_steps", ("trainer", "total_training_steps"))
    online = verl_launch.owner(reading.command) == "ppo"
    usual = launch.usual("trainer.total_epochs") if launch is not None else UNKNOWN
    if online and limit.number is None:  # 30 passes: nobody who leaves them means so many, and no rule should say so
        usual = UNKNOWN
    taker.number("epochs", ("trainer", "total_epochs"), default=usual)
    taker.derive("shortest_counts", Known(True, DERIVED))
    sft = reading.mapping("actor_rollout_ref") is None and not online
    optimizer = ("optim",) if sft else ("actor_rollout_ref", "actor", "optim")
    taker.number("learning_rate", (*optimizer, "lr"), default=UNKNOWN)
    taker.number(
        "warmup_ratio", (*optimizer, "lr_warmup_steps_ratio"), (*optimizer, "warmup_steps_ratio"), default=UNKNOWN
    )
    taker.number("warmup_steps", (*optimizer, "lr_warmup_steps"), off=(-1,))
    # One trainer for all: what it estimates the advantage by says which of them it is.
    method = _BY_ADVANTAGE.get(text_of(reading.node("algorithm", "adv_estimator")) or "", "ppo")
    taker.derive("method", Known("sft" if sft else method, DERIVED))
    taker.derive("by_worker", Known(sft, DERIVED))
    nodes = taker.whole("nodes", ("trainer", "nnodes"))
    per_node = taker.whole("per_node", ("trainer", "n_gpus_per_node"))
    if nodes.number and per_node.number:
        taker.derive("gpus", Known(int(nodes.number * per_node.number), "written", key_span=per_node.key_span))
    _data(taker)
    if launch is not None:
        launch.check(taker)
    return run


def _data(taker: Taker) -> None:
    run, reading = taker.run, taker.reading
    entry = reading.entry("data", "train_files")
    path = text_of(entry[0].value) if entry is not None else None
    if entry is not None and path:
        run.training = [DataSource(entry[0].value.span, paths=(path,), base=reading.base)]
    taker.whole("sample_cap", ("data", "train_max_samples"), off=(-1,))
    filtered = reading.node("data", "filter_overlong_prompts")
    if filtered is not None and boolean(filtered) is not False:
        taker.derive("overlong_dropped", Known(True, DERIVED))
    generated = reading.node("data", "gen_batch_size")
    if generated is not None and not is_null(generated):  # the loader's batch, in some versions
        taker.derive("batch_unknown", Known(True, DERIVED))


def _records(rows: Known, get: Get) -> Known:
    """Rows up to the cap, without prompts that are too long."""
    cap = get("sample_cap").number
    if cap is not None and cap > 0:
        rows = after(rows, lambda count: min(count, int(cap)))
    if get("overlong_dropped").value is True:
        return between(0, rows.high, basis=rows.basis)
    return rows


def _per_epoch(shape: Shape) -> int:
    """Whole batches; SFT gives each worker its share of rows and of the batch, both rounded down."""
    workers = shape.workers
    shared = shape.get("by_worker").value is True
    if not shared or shape.get("gpus").number is None or shape.get("global_batch").number is None:
        return shape.records // shape.effective
    share = shape.effective // workers
    return shape.records // workers // share if share else 0  # a loader with batches of 0 is refused


def _batch(get: Get, workers: int | None) -> Batch:
    whole = get("global_batch")
    return Batch(UNKNOWN, UNKNOWN, Known(whole.value, DERIVED, key_span=whole.key_span) if whole.number else UNKNOWN)


def _warmup(get: Get) -> Warmup | None:
    share, steps, limit = get("warmup_ratio").number, get("warmup_steps"), get("max_steps")
    if steps.unknown or limit.unknown:
        return None
    if steps.number is not None and steps.number > 0:
        return fixed(int(steps.number))
    if share is None or share < 0 or (steps.number == 0 and share):  # 0 steps: by version the ratio counts, or not
        return None
    if limit.number is not None:  # the schedule is as long, however soon the run ends
        of_limit = int(share * limit.number)
        return Warmup(lambda total, natural: of_limit, "warmup_ratio", None, f"floor({limit.number} x {share:g})")
    return share_down(share)


_COUNTING = Counting(limited(_per_epoch, epochs_times, cap=True), _warmup, _batch, _records)
