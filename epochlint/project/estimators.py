"""Jobs of Amazon SageMaker's Python SDK that run a script of the project: hyperparameters are its flags.

sagemaker 2.257.7 `estimator.py` and sagemaker-training's `mapping.to_cmd_args`: each hyperparameter becomes
`--name value`. sagemaker-train 1.27.0 `model_trainer.py` does the same with `SourceCode(entry_script=...)`. A
distribution of PyTorch's starts one process for each GPU of each instance.
"""

from __future__ import annotations

import re

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Unresolved
from epochlint.documents.shell.document import Command
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.python.model import Call, PythonDocument
    from epochlint.source import Span

_SMALL = {"12xlarge": 4, "24xlarge": 4, "48xlarge": 8, "metal": 8}
# GPUs of an instance by family and size; sizes that are not named have one (AWS, accelerated computing instances).
_GPUS: dict[str, dict[str, int]] = {
    "p3": {"8xlarge": 4, "16xlarge": 8},
    "p3dn": {"24xlarge": 8},
    "p4d": {"24xlarge": 8},
    "p4de": {"24xlarge": 8},
    "p5": {"48xlarge": 8},
    "p5e": {"48xlarge": 8},
    "p5en": {"48xlarge": 8},
    "p6-b200": {"48xlarge": 8},
    "g4dn": {"12xlarge": 4, "metal": 8},
    "g5": _SMALL,
    "g6": _SMALL,
    "g6e": _SMALL,
}
_INSTANCE = re.compile(r"ml\.([a-z0-9-]+)\.(\w+)\Z")
_ALL_GPUS = ("torch_distributed", "pytorchddp")


class Job:
    """A script that an estimator starts: its path as written, the command, and the versions that the job pins."""

    __slots__ = ("command", "script", "versions")

    def __init__(self, script: str, command: Command, versions: dict[str, str]) -> None:
        self.script = script
        self.command = command
        self.versions = versions


def jobs(python: PythonDocument) -> Iterator[Job]:
    """The scripts that a program's estimators start."""
    for call in python.calls:
        if call.origin.startswith("sagemaker.") and call.name != "SourceCode" and not call.arguments.open_ended:
            found = _job(call, python)
            if found is not None:
                yield found


def _job(call: Call, python: PythonDocument) -> Job | None:
    source = _block(call.argument("source_code")) or call.arguments
    script = text_of(source.get("entry_point")) or text_of(source.get("entry_script"))
    flags = call.argument("hyperparameters")
    if script is None or not script.endswith(".py") or (flags is not None and not isinstance(flags, Mapping)):
        return None
    folder = text_of(source.get("source_dir"))
    if folder is None and "source_dir" in source:
        return None
    compute = _block(call.argument("compute")) or call.arguments
    path = f"{folder.rstrip('/')}/{script}" if folder else script
    later = [
        other.arguments
        for other in python.calls
        if other.name == "set_hyperparameters" and other.receiver is call and not other.arguments.open_ended
    ]
    words: list[Node] = _launcher(call, compute)
    words.append(Scalar(call.span, path, path, True))
    for block in (*([flags] if isinstance(flags, Mapping) else []), *later):
        for entry in block.last.values():
            words += _flag(entry)
    return Job(path, Command(words, call.span, environment=_visible(compute)), _versions(call))


def _launcher(call: Call, compute: Mapping) -> list[Node]:
    """`torchrun` on all GPUs where the job is distributed, else one Python process."""
    gpus = _gpus(compute)
    entry = call.entry("distribution") or call.entry("distributed")
    if entry is None:
        return [_word(call.span, "python")]
    count = compute.entry("instance_count")
    nodes = _word(count.value.span, str(count.value.value)) if count and isinstance(count.value, Scalar) else None
    per_node: Node = Unresolved(entry.key_span, "how many processes the distribution starts is not known")
    if gpus is not None and _on_all_gpus(entry.value):
        per_node = _word(gpus[1], str(gpus[0]))
    flags: list[Node] = [_word(entry.key_span, "--nproc_per_node"), per_node]
    if count is not None:
        flags += [_word(count.key_span, "--nnodes"), nodes or Unresolved(count.value.span, "not known")]
    return [_word(entry.key_span, "torchrun"), *flags]


def _on_all_gpus(node: Node) -> bool:
    """Whether a distribution starts a process for each GPU (`{"torch_distributed": {"enabled": True}}`)."""
    call = getattr(node, "call", None)
    if call is not None:
        return call.name == "Torchrun" and "process_count_per_node" not in call.arguments
    if not isinstance(node, Mapping):
        return False
    data = node.mapping("smdistributed", "dataparallel")
    for block in (*(node.mapping(key) for key in _ALL_GPUS), data):
        enabled = block.get("enabled") if block is not None else None
        if isinstance(enabled, Scalar) and enabled.value is True:
            return True
    return False


def _visible(compute: Mapping) -> Mapping | None:
    """The one GPU that an instance shows; what a single process does on several is the script's affair."""
    gpus = _gpus(compute)
    count = compute.get("instance_count")
    if gpus is None or gpus[0] != 1 or not (count is None or (isinstance(count, Scalar) and count.value == 1)):
        return None
    return Mapping(gpus[1], [Entry("CUDA_VISIBLE_DEVICES", gpus[1], _word(gpus[1], "0"))])


def _gpus(compute: Mapping) -> tuple[int, Span] | None:
    """The GPUs of an instance, and where its type stands."""
    node = compute.get("instance_type")
    found = _INSTANCE.match(text_of(node) or "")
    sizes = _GPUS.get(found[1]) if found is not None else None
    return (sizes.get(found[2], 1), node.span) if node is not None and found is not None and sizes is not None else None


def _flag(entry: Entry) -> list[Node]:
    name = _word(entry.key_span, f"--{entry.key}")
    if not isinstance(entry.value, Scalar):
        return [name, Unresolved(entry.value.span, "not known")]
    return [name, _word(entry.value.span, str(entry.value.value))]


def _versions(call: Call) -> dict[str, str]:
    pinned = text_of(call.argument("transformers_version"))
    return {"transformers": pinned} if pinned is not None and pinned.count(".") == 2 else {}


def _block(node: Node | None) -> Mapping | None:
    """The keywords of an object of the SDK's: `Compute(instance_type=...)`."""
    call = getattr(node, "call", None)
    return call.arguments if call is not None and not call.arguments.open_ended else None


def _word(span: Span, text: str) -> Scalar:
    return Scalar(span, text, text, True)
