"""NeMo-RL: a policy with a global batch and one of sft, dpo, grpo, ...; `defaults:` inherits from another file.

Read at commit 7ea279ab (`nemo_rl/algorithms/sft.py`, `dpo.py`, `grpo.py`, `models/policy/lm_policy.py`): the loader
drops its last batch, a run ends at min(max_num_steps, max_num_epochs x steps of a pass). The cluster of what generates
is shared out between the policy, its generation, teachers and environments; that of sft and dpo trains as a whole.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar, Sequence
from epochlint.run.counting import Counting, by_global_batch, epochs_times, floor_of_rows, limited
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers.omegaconf import resolved
from epochlint.trainers.settings import Loader, Taker
from epochlint.trainers.trainer import Layer, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document

LABEL = "nemo-rl"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("OmegaConf", converts_text=True)
_ALGORITHMS = {"sft": "sft", "dpo": "dpo", "grpo": "grpo", "rm": "reward", "distillation": "other"}
_WHOLE_CLUSTER = ("sft", "dpo", "rm")
_MEGATRON = ("tensor_model_parallel_size", "context_parallel_size", "pipeline_model_parallel_size")
_DTENSOR = ("tensor_parallel_size", "context_parallel_size")
_DEEPEST = 8


def recognise(document: Document) -> list[Mapping]:
    """A policy beside an algorithm or a cluster; or a file that inherits from one and changes such blocks."""
    found = []
    for mapping in document.mappings():
        policy = mapping.mapping("policy")
        algorithm = any(mapping.mapping(name) is not None for name in _ALGORITHMS)
        inherits = "defaults" in mapping and ("checkpointing" in mapping or "cluster" in mapping or "logger" in mapping)
        if (policy is not None and (algorithm or inherits or "cluster" in mapping)) or (algorithm and inherits):
            found.append(mapping)
    return found


def read(reading: Reading) -> Run:
    layers, complete = _inherited(reading)
    reading = resolved(reading.over(layers))
    run = Run(LABEL, reading.document.source, reading.span, (Era("", _COUNTING),), reading.versions)
    taker = Taker(run, reading, LOADER)
    algorithm = next((name for name in _ALGORITHMS if reading.mapping(name) is not None), "")
    absent: object = None if complete else UNKNOWN
    taker.whole("global_batch", ("policy", "train_global_batch_size"), default=UNKNOWN)
    taker.whole("per_device_batch", ("policy", "train_micro_batch_size"), default=UNKNOWN)
    taker.number("epochs", (algorithm, "max_num_epochs"), default=UNKNOWN)
    taker.whole("max_steps", (algorithm, "max_num_steps"), default=absent)
    taker.number("learning_rate", ("policy", "optimizer", "kwargs", "lr"), default=UNKNOWN)
    taker.derive("method", Known(_ALGORITHMS[algorithm], DERIVED) if algorithm else UNKNOWN)
    taker.derive("shortest_counts", Known(True, DERIVED))
    if algorithm not in _WHOLE_CLUSTER:
        taker.derive("batch_unknown", Known(True, DERIVED))  # the batch counts samples of prompts
        return run
    per_node = taker.whole("per_node", ("cluster", "gpus_per_node"))
    nodes = taker.whole("nodes", ("cluster", "num_nodes"))
    backend, sizes = _backend(taker) if complete else ("", ())
    if per_node.number and nodes.number and backend:
        taker.product("parallel", *(("policy", backend, size) for size in sizes))
        taker.derive("gpus", Known(int(per_node.number * nodes.number), "written", key_span=per_node.key_span))
    return run


def _backend(taker: Taker) -> tuple[str, tuple[str, ...]]:
    """What trains the policy, and the keys of its parallel sizes; "" where that cannot be known."""
    megatron = taker.flag("megatron", ("policy", "megatron_cfg", "enabled"))
    if not megatron.exact:
        return "", ()
    return ("megatron_cfg", _MEGATRON) if megatron.value else ("dtensor_cfg", _DTENSOR)


def _inherited(reading: Reading) -> tuple[list[Layer], bool]:
    """The layers with those of the files that `defaults` names below them; False where one cannot be found."""
    layers = list(reading.layers)
    pending = [(layers[-1].mapping, reading.base)]
    seen = 0
    while pending and seen < _DEEPEST:
        mapping, base = pending.pop()
        seen += 1
        entry = mapping.entry("defaults")
        for name in _names(entry):
            document = reading.lookup.document(name, base) if reading.lookup is not None else None
            found = next(document.mappings(), None) if document is not None else None
            if found is None:
                return [Layer(_opened(layer.mapping), layer.origin) for layer in layers], False
            layers.append(Layer(found))
            pending.append((found, f"{base}/{name.rpartition('/')[0]}" if "/" in name else base))
    return layers, True


def _names(entry: Entry | None) -> list[str]:
    node = entry.value if entry is not None else None
    items = node.items if isinstance(node, Sequence) else [node] if node is not None else []
    return [item.value for item in items if isinstance(item, Scalar) and isinstance(item.value, str)]


def _opened(mapping: Mapping) -> Mapping:
    return Mapping(mapping.span, mapping.entries, open_ended=True)


_COUNTING = Counting(limited(floor_of_rows, epochs_times, cap=True), None, by_global_batch)
