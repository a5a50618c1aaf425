"""Training jobs in Kubernetes manifests: how many processes they start, and the configs in their ConfigMaps.

Read in kubeflow/trainer v2.3.0 (`TrainJob`: spec.trainer.numNodes, numProcPerNode, resourcesPerNode) and the v1
`PyTorchJob` (spec.pytorchReplicaSpecs, nprocPerNode). A container's GPUs are its `nvidia.com/gpu` limit.
"""

from __future__ import annotations

from epochlint.documents.document import Document, Mapping, Scalar, walk
from epochlint.documents.embedded import document_of
from epochlint.documents.scalars import number
from epochlint.run.known import COMPANION, Known
from epochlint.trainers.kubernetes_job import GPU, RUNTIMES, is_training, kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.shell import Command


def manifests(document: Document) -> Iterator[Command]:
    """The commands in a document that starts containers or runs scripts; the same command once (a job's master and its
    workers start alike)."""
    text = document.source.text
    known = ("kind" in text and "apiVersion" in text) or "runs-on" in text or "services:" in text
    task = "run:" in text and any(word in text for word in ("accelerators:", "num_nodes:", "setup:"))
    job = "command" in text and "compute" in text
    if not known and not task and not job and not ("script:" in text and "gitlab-ci" in document.source.path):
        return
    from epochlint.documents.commands import commands

    seen: set[tuple[str, ...]] = set()
    for command in commands(document):
        words = tuple(word.span.text for word in command.words)
        if words not in seen:
            seen.add(words)
            yield command


def embedded(document: Document) -> Iterator[Document]:
    """The JSON and YAML documents in a file's ConfigMaps."""
    for mapping in document.mappings():
        data = mapping.mapping("data") if kind_of(mapping) == "ConfigMap" else None
        for entry in data.entries if data is not None else ():
            found = document_of(entry)
            if found is not None:
                yield found


def processes(document: Document) -> Known | None:
    """The processes that the file's one training job starts, over all its nodes; None where that is not certain."""
    jobs = [mapping for mapping in document.mappings() if is_training(mapping) and kind_of(mapping) not in RUNTIMES]
    if len(jobs) != 1:
        return None
    job = jobs[0]
    kind = kind_of(job)
    if kind == "TrainJob":
        return _train_job(job)
    if kind == "PyTorchJob":
        return _pytorch_job(job)
    return _plain_job(job)


def _train_job(job: Mapping) -> Known | None:
    trainer = job.mapping("spec", "trainer")
    if trainer is None:
        return None
    per_node = _count(trainer.get("numProcPerNode"))
    if per_node is None:
        per_node = _gpus(trainer.mapping("resourcesPerNode"))
    nodes = _count(trainer.get("numNodes")) or 1
    if per_node is None:
        return None
    entry = trainer.entry("numProcPerNode") or trainer.entry("numNodes")
    return Known(
        nodes * per_node, COMPANION, formula=("{} x {}", (nodes, per_node)), key_span=entry.key_span if entry else None
    )


def _pytorch_job(job: Mapping) -> Known | None:
    spec = job.mapping("spec")
    replicas = job.mapping("spec", "pytorchReplicaSpecs")
    if spec is None or replicas is None:
        return None
    stated = _count(spec.get("nprocPerNode"))
    total = 0
    place = None
    for entry in replicas.entries:
        if not isinstance(entry.value, Mapping):
            return None
        pods = entry.value.get("replicas")
        count = _count(pods) if pods is not None else 1
        per_pod = stated or _gpus(entry.value) or 0
        if count is None or not per_pod:
            return None
        total += count * per_pod
        place = place or entry.key_span
    return Known(total, COMPANION, key_span=place) if total else None


def _plain_job(job: Mapping) -> Known | None:
    """A Job of one pod: its GPU limit. More pods start in ways that the manifest does not tell."""
    pods = _count((job.mapping("spec") or job).get("parallelism")) or 1
    gpus = _gpus(job)
    return Known(gpus, COMPANION) if gpus and pods == 1 and kind_of(job) == "Job" else None


def _gpus(node: Mapping | None) -> int | None:
    """The GPU limit of the first container below a node."""
    if node is None:
        return None
    for _, entry in walk(node, 5_000):
        if entry.key in GPU:
            return _count(entry.value)
    return None


def _count(node: object) -> int | None:
    value = number(node) if isinstance(node, Scalar) else None
    return int(value) if value is not None and value >= 1 else None


__all__ = ["embedded", "manifests", "processes"]
