"""LLaMA-Factory: one flat YAML for model, data and transformers' arguments; a newer, nested-by-file format beside it.

Facts were read in llamafactory 0.9.5 (`hparams/`, `data/`, `v1/`) and earlier releases down to 0.7.1.
"""

from epochlint.trainers.llamafactory.config import LABEL, claims, read, recognise

CALLS: frozenset[str] = frozenset()
OWN_SCRIPTS = True

__all__ = ["CALLS", "LABEL", "OWN_SCRIPTS", "claims", "read", "recognise"]
