"""Keys at the top of torchtune's configs: those that its recipes ask for (data/torchtune.json).

OmegaConf takes any key, and a recipe looks only at its own: one that is misspelt is ignored, and where the right one is
asked for without a default, the recipe stops. Keys may be made up to be referred to (`${output}`).
"""

from __future__ import annotations

from functools import lru_cache

from epochlint.run.known import LAUNCH
from epochlint.run.observation import Observation
from epochlint.trainers import tables
from epochlint.trainers.abbreviated import as_written
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Entry
    from epochlint.trainers.settings import Taker
    from epochlint.trainers.trainer import Reading

LABEL = "torchtune"
# Where one is absent the recipe stops with ConfigAttributeError, in all versions read.
_NEEDED = ("epochs", "batch_size", "gradient_accumulation_steps", "max_steps_per_epoch")


@lru_cache(maxsize=1)
def _names() -> frozenset[str]:
    """The keys that some recipe asks for in some version."""
    return frozenset(name for owner in tables.owners(LABEL) for name in tables.load(LABEL, owner).names())


def check(taker: Taker, recipe: str) -> None:
    """Notes misspelt keys, and needed ones that a launched recipe is not given."""
    reading = taker.reading
    own = not recipe or recipe in tables.owners(LABEL)
    if not own:  # a recipe of somebody else's asks for other keys
        return
    for entry, origin in reading.entries():
        near = _meant(entry, reading)
        # An override is there to change what the config has; in the config both may be wanted.
        beside = [layer.mapping for layer in reading.layers if layer.origin == LAUNCH or origin != LAUNCH]
        if near is not None and not any(near in mapping for mapping in beside):
            stops = bool(recipe) and _always_needed(recipe, near) and near not in reading
            values = {"key": entry.key, "suggestion": near, "consumer": LABEL, "rejected": stops}
            taker.run.observations.append(Observation("misspelt_key", entry.key_span, values))
    if not recipe or reading.open_ended or not _complete(reading):
        return
    for name in _NEEDED:
        if name not in reading and _always_needed(recipe, name):
            reason = f"{recipe} asks for {name}, and neither the config nor the launch has it"
            taker.observe("rejected", reading.span, reason=reason, consumer=LABEL)
    if recipe.startswith("lora_finetune") and is_null(reading.node("lr_scheduler")):
        taker.refuse(("lr_scheduler",), f"{recipe} needs a schedule", LABEL)


def _meant(entry: Entry, reading: Reading) -> str | None:
    key = entry.key
    if key in _names() or key.startswith("~") or as_written(entry) is not None or is_null(entry.value):
        return None
    near = tables.nearest(key, _names())
    if near is None:
        return None
    referred = f"${{{key}"
    return None if any(referred in layer.mapping.span.source.text for layer in reading.layers) else near


def _always_needed(recipe: str, name: str) -> bool:
    """Whether every version read that has the recipe asks for the key without a default."""
    table = tables.load(LABEL, recipe)
    return all(table.required(name, version) for version in table.versions)


def _complete(reading: Reading) -> bool:
    """Whether the launch's config is there, and is one of this recipe: the parts that each has."""
    return all(key in reading for key in ("optimizer", "loss", "model", "dataset", "tokenizer"))
