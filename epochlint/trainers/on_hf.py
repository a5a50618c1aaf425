"""What frameworks that wrap transformers' Trainer share: their own requirement of transformers, their own keys."""

from __future__ import annotations

from epochlint.run.versions import VersionRange, specified
from epochlint.trainers import tables
from epochlint.trainers.hf import keys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping as AnyMapping
    from typing import Any

    from epochlint.trainers.hf.reader import Hf
    from epochlint.trainers.settings import Taker
    from epochlint.trainers.trainer import Reading


def require_transformers(reading: Reading, package: str, newest: str) -> None:
    """Narrows transformers to what the pinned version of a framework asks for, or to `newest`, which no release
    goes beyond (both as its METADATA specifies)."""
    own = reading.versions.of(package)
    needs = tables.required_version(package, "transformers", own.low) if own.pinned and own.low else None
    reading.versions.add("transformers", specified(needs or newest))


def own_keys(hf: Hf, table: tables.Table) -> frozenset[str]:
    """The keys of a reading that the framework declares itself, in some version."""
    return frozenset(entry.key for entry, _ in hf.reading.entries() if table.own(entry.key))


def told_by_keys(hf: Hf, table: tables.Table, own: frozenset[str]) -> VersionRange:
    """What keys tell of transformers' version; the framework's own do not (`overwrite_output_dir` is LLaMA-Factory's,
    `warmup_ratio` ms-swift's since transformers dropped them)."""
    return keys.told_by_keys(hf.reading, table, own)


def sectioned(taker: Taker, section: str, names: AnyMapping[str, str], defaults: AnyMapping[str, object]) -> None:
    """Takes the common settings from keys of one section (`training: {num_epochs: 3}`), or from flags of the same
    names. `names`: the key of each setting; a setting without one has only its default. An empty `defaults` leaves out
    whatever is not written: then others set it.
    """
    from epochlint.trainers.hf import common
    from epochlint.trainers.settings import MISSING

    keys: dict[str, Any] = {}
    for setting in common.KEYS:
        name = names.get(setting)
        keys[setting] = (name, name.replace("_", "-"), (section, name)) if name is not None else ()
    usual = defaults or dict.fromkeys(common.DEFAULTS, MISSING)
    common.take_common(taker, keys=keys, defaults=usual)
