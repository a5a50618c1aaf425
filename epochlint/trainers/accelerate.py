"""accelerate's YAML: the companion that says on how many processes a run starts.

Read in accelerate 1.15.0 (`commands/config/config_args.py`, `commands/launch.py`).
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.documents.scalars import number
from epochlint.run.known import COMPANION, Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document

LABEL = "accelerate"

_BESIDE = (
    "compute_environment",
    "num_processes",
    "machine_rank",
    "num_machines",
    "mixed_precision",
    "use_cpu",
    "downcast_bf16",
    "fsdp_config",
    "deepspeed_config",
)


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if is_config(mapping)]


def is_config(mapping: Mapping) -> bool:
    return ("distributed_type" in mapping or "compute_environment" in mapping) and any(
        key in mapping for key in _BESIDE
    )


def processes(mapping: Mapping) -> Known | None:
    """`num_processes` counts all machines together."""
    entry = mapping.entry("num_processes")
    value = number(entry.value) if entry is not None and isinstance(entry.value, Scalar) else None
    if entry is None or value is None or value < 1:
        return None
    return Known(int(value), COMPANION, key_span=entry.key_span, span=entry.value.span)


def parallel(mapping: Mapping) -> Known | None:
    """The product of the sizes of `parallelism_config` that take workers from data parallelism; None where it is 1."""
    found = mapping.find("parallelism_config")
    block = found.value if found is not None and isinstance(found.value, Mapping) else None
    product = 1
    if block is not None:
        for name in ("tp_size", "cp_size", "sp_size"):
            node = block.get(f"parallelism_config_{name}") or block.get(name)
            size = number(node)
            if size is not None and size > 1:
                product *= int(size)
    return Known(product, COMPANION, key_span=found.key_span) if found is not None and product > 1 else None


def deepspeed_block(mapping: Mapping) -> Mapping | None:
    """What it sets of DeepSpeed's own keys, under the same names. Without `deepspeed` among its arguments, the Trainer
    takes them and compares them as it does a file's (transformers 4.57.6, trainer.py, propagate_args_to_deepspeed)."""
    kind = mapping.get("distributed_type")
    used = isinstance(kind, Scalar) and kind.raw.strip("\"'").upper() == "DEEPSPEED"
    return mapping.mapping("deepspeed_config") if used else None


def deepspeed_file(mapping: Mapping) -> Scalar | None:
    """The DeepSpeed JSON that it names."""
    found = mapping.find("deepspeed_config", "deepspeed_config_file")
    return found.value if found is not None and isinstance(found.value, Scalar) else None
