"""Families: configs of one folder for the same model, trainer and kind of tuning whose names differ in a part."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.run.run import Run

_LARGEST = 40  # a folder with more runs is a sweep, not a family


def siblings(runs: Iterable[Run]) -> dict[int, list[Run]]:
    """By `id` of a run: the others of its family."""
    folders: dict[tuple[object, ...], list[Run]] = {}
    for run in runs:
        model = run.setting("model")
        if model.exact and model.value is not None:
            kind = (run.setting("method").value, run.setting("tuning").value)
            key = (os.path.dirname(run.path), run.trainer, model.value, *kind)
            folders.setdefault(key, []).append(run)
    found: dict[int, list[Run]] = {}
    for family in folders.values():
        if 1 < len(family) <= _LARGEST:
            parts = {run.path: _parts(run.path) for run in family}
            for run in family:
                one = parts[run.path]
                others = [other for other in family if other.path != run.path and _alike(one, parts[other.path])]
                if others:
                    found[id(run)] = others
    return found


def _alike(one: set[str], other: set[str]) -> bool:
    """Whether two file names have most of their parts in common: sft_small and sft_large."""
    common = len(one & other)
    return common >= 1 and common >= max(len(one), len(other)) - 1


def _parts(path: str) -> set[str]:
    stem = os.path.splitext(os.path.basename(path))[0]
    return {part for part in re.split(r"[^a-z0-9]+", stem.lower()) if part}
