"""Axolotl: one YAML for data, model and training, checked by its own pydantic schema.

Facts were read in the tags 0.3.0 to 0.19.0 and partly run; `counting` names the files.
"""

from epochlint.trainers.axolotl.config import LABEL, claims, read, recognise

CALLS: frozenset[str] = frozenset()

__all__ = ["CALLS", "LABEL", "claims", "read", "recognise"]
