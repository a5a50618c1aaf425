"""DeepSpeed's JSON: a companion that must agree with the trainer beside it.

Read in deepspeed 0.19.8 (`runtime/config.py`, `runtime/lr_schedules.py`) and in transformers'
`integrations/deepspeed.py` (4.36 to 5.24: which values are compared, and that "auto" is filled in), and run.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import number
from epochlint.run.observation import Edit, Fix, Observation

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from epochlint.documents.document import Document, Entry
    from epochlint.run.known import Known
    from epochlint.run.run import Run

LABEL = "deepspeed"

TRAIN, MICRO, ACCUMULATION = "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"

# Keys that only DeepSpeed has: `train_batch_size` alone stands in many other files.
_OWN = ("zero_optimization", MICRO, "zero_allow_untested_optimizer", "wall_clock_breakdown", "steps_per_print")
_BLOCKS = ("fp16", "bf16", "optimizer", "scheduler")
_NUMBERS = (TRAIN, MICRO, ACCUMULATION, "gradient_clipping", "steps_per_print")

# What the schedulers' constructors need (`runtime/lr_schedules.py`).
_NEEDED = {"WarmupDecayLR": "total_num_steps", "WarmupCosineLR": "total_num_steps"}

# path in the JSON -> setting of the run that it must equal where it is a literal (integrations/deepspeed.py)
_COMPARED: tuple[tuple[tuple[str, ...], str], ...] = (
    ((MICRO,), "per_device_batch"),
    ((ACCUMULATION,), "accumulation"),
    (("gradient_clipping",), "max_grad_norm"),
    (("optimizer", "params", "lr"), "learning_rate"),
    (("optimizer", "params", "weight_decay"), "weight_decay"),
    (("scheduler", "params", "warmup_max_lr"), "learning_rate"),
    (("scheduler", "params", "warmup_num_steps"), "warmup_steps"),
    (("scheduler", "params", "total_num_steps"), "total_steps"),
)


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if is_config(mapping)] if document.syntax == "json" else []


def is_config(mapping: Mapping) -> bool:
    if any(key in mapping for key in ("per_device_train_batch_size", "model_name_or_path", "base_model", "output_dir")):
        return False
    if any(key in mapping for key in _OWN[:2]):
        return True
    blocks = sum(isinstance(mapping.get(key), Mapping) for key in _BLOCKS)
    return blocks >= 1 and (TRAIN in mapping or ACCUMULATION in mapping or any(key in mapping for key in _OWN))


def inspect(document: Document, mapping: Mapping) -> list[Observation]:
    """What is wrong with the file whatever run it serves: numbers as text, a batch that no number of workers makes."""
    found = [*_texts(mapping), *_refused(mapping), *_slips(mapping)]
    train, micro, accumulation = (_literal(mapping.entry(key)) for key in (TRAIN, MICRO, ACCUMULATION))
    entry = mapping.entry(TRAIN)
    if train is not None and micro is not None and entry is not None and micro >= 1:
        factor = micro * (accumulation if accumulation is not None else 1)
        whole = accumulation is not None or not _is_auto(mapping.entry(ACCUMULATION))
        if factor >= 1 and (train % factor if whole else train % micro):
            found.append(
                Observation(
                    "deepspeed_batch",
                    entry.key_span,
                    {
                        "key": TRAIN,
                        "theirs": train,
                        "ours": factor,
                        "reason": f"no number of workers makes {_product(micro, accumulation)} equal to {train:,}",
                    },
                    fix=_auto(entry),
                )
            )
    return found


def _slips(mapping: Mapping) -> Iterator[Observation]:
    """Unknown keys are ignored at the top, and refused in the block of ZeRO (`runtime/zero/config.py`, a pydantic model
    that forbids them)."""
    from epochlint.trainers import tables
    from epochlint.trainers.slips import slips

    yield from slips(mapping, [tables.load("deepspeed", "config")], "DeepSpeed", rejected=False)
    block = mapping.mapping("zero_optimization")
    if block is not None:
        yield from slips(block, [tables.load("deepspeed", "zero_optimization")], "DeepSpeed", rejected=True)


def _refused(mapping: Mapping) -> Iterator[Observation]:
    """What DeepSpeed stops at in every version that is read here."""

    def refusal(entry: Entry, reason: str) -> Observation:
        return Observation("rejected", entry.key_span, {"reason": reason, "consumer": "DeepSpeed"})

    for key in (TRAIN, MICRO, ACCUMULATION):
        entry = mapping.entry(key)
        value = _literal(entry)
        if entry is not None and value is not None and value < 1:
            yield refusal(entry, f"{key} must be above 0, not {value:g}")
    both = [mapping.find(word, "enabled") for word in ("fp16", "bf16")]
    if both[0] is not None and all(one is not None and _truth(one) is True for one in both):
        yield refusal(both[0], "fp16 and bf16 are both enabled; only one may be")
    stage = mapping.find("zero_optimization", "stage")
    level = _literal(stage)
    if stage is not None and level is not None and level not in (0, 1, 2, 3):
        yield refusal(stage, f"there is no stage {level:g}: 0 to 3 are possible")
    scheduler, params = mapping.find("scheduler", "type"), mapping.mapping("scheduler", "params")
    name = scheduler.value.raw if scheduler is not None and isinstance(scheduler.value, Scalar) else ""
    if scheduler is not None and name in _NEEDED and params is not None and _NEEDED[name] not in params:
        yield refusal(scheduler, f'{name} needs {_NEEDED[name]}; "auto" lets transformers fill it in')


def _truth(entry: Entry) -> bool | None:
    """A literal true or false; None for "auto" and everything else."""
    value = entry.value.value if isinstance(entry.value, Scalar) else None
    return value if isinstance(value, bool) else None


def compare(run: Run, mapping: Mapping, fact: Callable[[str], Known]) -> list[Observation]:
    """Where the file contradicts the run beside it. `fact` gives those of the run's one scenario, where it has one."""
    found: list[Observation] = []
    for path, name in _COMPARED:
        entry = mapping.find(*path)
        theirs = _literal(entry)
        ours = fact(name)
        if entry is None or theirs is None or ours.number is None:
            continue
        expected = max(1, ours.number) if name == "warmup_steps" else ours.number
        if theirs != expected and not _close(theirs, expected):
            related = [("the run's own value", ours.key_span)] if ours.key_span is not None else []
            found.append(
                Observation(
                    "deepspeed_differs",
                    entry.key_span,
                    {"key": ".".join(path), "theirs": theirs, "ours": ours.value, "setting": name},
                    related=related,
                    fix=_auto(entry),
                )
            )
    found.extend(_precision(run, mapping))
    found.extend(_batches(mapping, fact))
    found.extend(_schedules(run, mapping))
    return found


def _precision(run: Run, mapping: Mapping) -> Iterator[Observation]:
    """`fp16.enabled` and `bf16.enabled` beside the one that the run switches on, or beside neither."""
    ours = run.setting("half_precision")
    if not ours.exact or ours.value is None:
        return
    for word in ("fp16", "bf16"):
        entry = mapping.find(word, "enabled")
        theirs = _truth(entry) if entry is not None else None
        if entry is None or theirs is None or theirs == (ours.value == word):
            continue
        related = [("the run's own value", ours.key_span)] if ours.key_span is not None else []
        values = {
            "key": f"{word}.enabled",
            "theirs": str(theirs).lower(),
            "ours": "false" if ours.value == "no" else ours.value,
            "setting": "half_precision",
        }
        # Where the run asks for neither, "auto" would train in 32 bits, which nobody has written.
        fix = _auto(entry) if ours.by_hand else None
        yield Observation("deepspeed_differs", entry.key_span, values, related=related, fix=fix)


def _batches(mapping: Mapping, fact: Callable[[str], Known]) -> list[Observation]:
    """train_batch_size = micro x accumulation x workers, with the run's own factors for those that are "auto"."""
    entry = mapping.entry(TRAIN)
    train = _literal(entry)
    workers = fact("gpus").number
    if entry is None or train is None or workers is None:
        return []
    micro = _literal(mapping.entry(MICRO)) or fact("per_device_batch").number
    accumulation = _literal(mapping.entry(ACCUMULATION)) or fact("accumulation").number
    if micro is None or accumulation is None or train == micro * accumulation * workers:
        return []
    ours = micro * accumulation * workers
    reason = f"micro batch {micro:g} x accumulation {accumulation:g} x {workers:g} workers is {ours:,g}"
    values = {"key": TRAIN, "theirs": train, "ours": ours, "reason": reason}
    return [Observation("deepspeed_batch", entry.key_span, values, fix=_auto(entry))]


def _schedules(run: Run, mapping: Mapping) -> list[Observation]:
    """A `scheduler` section takes the place of the schedule that the trainer was asked for."""
    entry = mapping.entry("scheduler")
    if entry is None or not isinstance(entry.value, Mapping):
        return []
    kind = entry.value.get("type")
    name = kind.raw if isinstance(kind, Scalar) else ""
    ours = run.setting("scheduler")
    if not name or not ours.by_hand or not ours.exact or _same_schedule(name, str(ours.value)):
        return []
    params = entry.value.mapping("params")
    shape = params.get("warmup_type") if params is not None else None
    warmup = shape.raw if isinstance(shape, Scalar) else "log"
    related = [("the schedule that is replaced", ours.key_span)] if ours.key_span is not None else []
    values = {"key": "scheduler", "theirs": name, "ours": ours.value, "warmup_type": warmup}
    return [Observation("deepspeed_schedule", entry.key_span, values, related=related)]


def _same_schedule(theirs: str, ours: str) -> bool:
    """WarmupDecayLR is the linear schedule, WarmupLR the constant one after a warmup, WarmupCosineLR the cosine."""
    return {"WarmupDecayLR": "linear", "WarmupLR": "constant_with_warmup", "WarmupCosineLR": "cosine"}.get(
        theirs
    ) == ours


def _texts(mapping: Mapping) -> list[Observation]:
    found = []
    for key in _NUMBERS:
        entry = mapping.entry(key)
        if entry is None or not isinstance(entry.value, Scalar) or not isinstance(entry.value.value, str):
            continue
        value = number(entry.value)
        if value is not None:
            edit = Edit(entry.value.span, entry.value.raw.strip())
            found.append(
                Observation(
                    "deepspeed_text",
                    entry.key_span,
                    {"key": key, "theirs": entry.value.raw},
                    fix=Fix("write the number without quotes", [edit], safe=True),
                )
            )
    return found


def _literal(entry: Entry | None) -> float | None:
    """A number that is no text; None for "auto" and everything else."""
    if entry is None or not isinstance(entry.value, Scalar) or isinstance(entry.value.value, (str, bool)):
        return None
    value = entry.value.value
    return value if isinstance(value, (int, float)) else None


def _is_auto(entry: Entry | None) -> bool:
    return entry is not None and isinstance(entry.value, Scalar) and entry.value.value == "auto"


def _auto(entry: Entry) -> Fix:
    return Fix('let the trainer fill it in: "auto"', [Edit(entry.value.span, '"auto"')], safe=True)


def _close(first: float, second: float) -> bool:
    return abs(first - second) <= 1e-9 * max(abs(first), abs(second))


def _product(micro: float, accumulation: float | None) -> str:
    return f"{micro:g} x {accumulation:g} x workers" if accumulation is not None else f"{micro:g} x workers"
