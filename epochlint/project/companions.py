"""The files that belong to a run: accelerate's config gives its processes, DeepSpeed's must agree with it."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, mappings_in
from epochlint.run.budget import Budget
from epochlint.run.known import UNKNOWN, Known
from epochlint.run.observation import Observation
from epochlint.trainers import accelerate, deepspeed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

# Trainers that hand their DeepSpeed file to transformers, which compares it with its own arguments.
_COMPARING = frozenset({"hf-args", "trl", "llamafactory", "axolotl", "ms-swift", "fms-hf-tuning", "oumi"})


class Companions:
    """The companion files of one run: documents' mappings with the paths they were found under."""

    __slots__ = ("accelerate", "deepspeed")

    def __init__(self) -> None:
        self.accelerate: Mapping | None = None
        self.deepspeed: Mapping | None = None

    def files(self) -> list[str]:
        """The shown paths of the files."""
        return [one.span.source.path for one in (self.accelerate, self.deepspeed) if one is not None]


def find(lookup: Lookup, base: str, mappings: Sequence[Mapping], named: dict[str, list[Scalar]]) -> Companions:
    """What a run's settings and its launch name. `named` are the launch's files by role."""
    found = Companions()
    for scalar in named.get("accelerate", ()):
        found.accelerate = _mapping(lookup, scalar.raw, base)
    for scalar in named.get("deepspeed", ()):
        found.deepspeed = _mapping(lookup, scalar.raw, base)
    for mapping in mappings:
        if found.deepspeed is None:
            found.deepspeed = _deepspeed(lookup, mapping, base)
        if found.accelerate is None:
            entry = mapping.entry("accelerate_config")
            if entry is not None and isinstance(entry.value, Scalar):
                found.accelerate = _mapping(lookup, entry.value.raw, base)
    if found.deepspeed is None and found.accelerate is not None:
        inner = accelerate.deepspeed_file(found.accelerate)
        if inner is not None:
            found.deepspeed = _mapping(lookup, inner.raw, base)
        elif not any(mapping.last.get("deepspeed") for mapping in mappings):
            found.deepspeed = accelerate.deepspeed_block(found.accelerate)
    return found


def _deepspeed(lookup: Lookup, mapping: Mapping, base: str) -> Mapping | None:
    """The file or the block under `deepspeed`, at the top or in a section."""
    for path, inner in mappings_in(mapping, 2_000):
        if len(path) > 1 or not ("deepspeed" in inner or "deepspeed_config" in inner):
            continue
        for entry in inner.entries:
            if entry.key not in ("deepspeed", "deepspeed_config"):
                continue
            if isinstance(entry.value, Mapping):
                return entry.value if deepspeed.is_config(entry.value) else None
            if isinstance(entry.value, Scalar) and isinstance(entry.value.value, str):
                return _mapping(lookup, entry.value.value, base)
    return None


def _mapping(lookup: Lookup, path: str, base: str) -> Mapping | None:
    document = lookup.document(path, base) if path.endswith((".json", ".yaml", ".yml", ".hjson")) else None
    return next(document.mappings(), None) if document is not None else None


def place(run: Run, companions: Companions) -> None:
    """The number of processes of the accelerate file, where nothing stronger says one."""
    mapping = companions.accelerate
    if mapping is None:
        return
    known = accelerate.processes(mapping)
    if known is not None and run.setting("gpus").unknown:
        run.settings["gpus"] = known
    parallel = accelerate.parallel(mapping)
    if parallel is not None and run.setting("parallel").unknown:
        run.settings["parallel"] = parallel


def disagreements(run: Run, companions: Companions) -> list[Observation]:
    """Where the DeepSpeed file contradicts the run, in every scenario that is possible for it."""
    mapping = companions.deepspeed
    if mapping is None or run.trainer not in _COMPARING or not run.eras:
        return []
    gpus = run.setting("gpus").number
    parallel = run.setting("parallel").number or 1
    workers = max(1, int(gpus // parallel)) if gpus is not None else None
    budget = Budget(run, run.eras[-1], workers)
    others = [Budget(run, era, workers) for era in run.eras[:-1]]

    def fact(name: str) -> Known:
        known = budget.fact(name)
        if name in ("warmup_steps", "total_steps") and any(other.fact(name).value != known.value for other in others):
            return UNKNOWN  # a number that depends on the version contradicts nothing
        return known

    return deepspeed.compare(run, mapping, fact)
