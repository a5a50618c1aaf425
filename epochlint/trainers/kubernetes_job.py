"""Kubernetes manifests of training jobs: companions of the runs that their commands and ConfigMaps hold."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, walk

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document

LABEL = "kubernetes-job"

# kubeflow/trainer v2.3.0 and training-operator v1, Ray, Volcano, and core Jobs that ask for GPUs.
JOBS = frozenset({"PyTorchJob", "TrainJob", "JobSet", "RayJob", "RayCluster", "MPIJob", "Job", "PaddleJob", "VCJob"})
RUNTIMES = frozenset({"ClusterTrainingRuntime", "TrainingRuntime"})
GPU = ("nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915")


def recognise(document: Document) -> list[Mapping]:
    return [mapping for mapping in document.mappings() if is_training(mapping)]


def kind_of(mapping: Mapping) -> str:
    node = mapping.get("kind")
    return node.raw if isinstance(node, Scalar) else ""


def is_training(mapping: Mapping) -> bool:
    """A job that trains: a training kind, or a Job whose containers ask for GPUs."""
    kind = kind_of(mapping)
    if "apiVersion" not in mapping or not kind:
        return False
    if kind in RUNTIMES or (kind in JOBS and kind not in ("Job", "JobSet", "RayCluster")):
        return True
    return kind in JOBS and any(entry.key in GPU for _, entry in walk(mapping, 5_000))
