"""Mixtures of alignment-handbook and open-r1, whose scripts hand TRL's trainers what they put together.

`dataset_mixture` (alignment-handbook@925acdf, open-r1@1416fa0, `get_dataset`): sets with a weight, the share of each
that is taken; `test_split_size` of all is held out. `dataset_mixer` beside `dataset_splits` (alignment-handbook up to
c8f5bdf, `mix_datasets`): a share of each set's training split. Both round down, and recorded in tests/conformance.
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import number
from epochlint.run.known import WRITTEN, Known
from epochlint.run.rows import each
from epochlint.run.run import DataSource
from epochlint.trainers.settings import text_of
from epochlint.trainers.slips import Names, slips
from epochlint.trainers.trainer import is_null

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Node
    from epochlint.trainers.settings import Taker
    from epochlint.trainers.trainer import Reading

CONSUMER = "get_dataset"
_PART = Names("id", "config", "split", "columns", "weight")


def take(taker: Taker) -> bool:
    """Takes the sets of a mixture; whether their rows come to the trainer whole."""
    mixture = taker.reading.mapping("dataset_mixture")
    if mixture is not None:
        return _weighted(taker, mixture)
    if taker.reading.mapping("dataset_mixer") is not None and "dataset_splits" in taker.reading:
        _mixed(taker)
    return False


def _weighted(taker: Taker, mixture: Mapping) -> bool:
    node = mixture.get("datasets")
    items = node.items if isinstance(node, Sequence) else []
    maps = [item for item in items if isinstance(item, Mapping)]
    if not maps or len(maps) != len(items):
        return False
    whole = True
    for item in maps:
        place = item.get("id")
        weight = item.get("weight")
        given = weight is not None and not is_null(weight)
        whole = whole and not given
        source = _source(taker, place, item, text_of(item.get("split")) or "train", text_of(item.get("config")))
        taker.run.training.append(_shared(taker, source, weight) if given else source)
        taker.run.observations.extend(slips(item, [_PART], CONSUMER, rejected=False))
    held = mixture.entry("test_split_size")
    value = number(held.value) if held is not None and isinstance(held.value, Scalar) else None
    if held is not None and value is not None:
        split = Known(value, WRITTEN, key_span=held.key_span, span=held.value.span)
        taker.run.settings["validation_split"] = split
        if isinstance(held.value, Scalar) and isinstance(held.value.value, float) and not 0 < value < 1:
            reason = f"test_split_size is a share between 0 and 1 or a whole number of rows, not {held.value.raw}"
            taker.observe("rejected", held.key_span, reason=reason, consumer=CONSUMER)
    return whole


def _mixed(taker: Taker) -> None:
    """Of several training splits of one set only as many are taken as there are sets: then nobody counts them."""
    reading = taker.reading
    mixer = reading.mapping("dataset_mixer")
    node = reading.node("dataset_splits")
    names = [text_of(item) or "" for item in node.items] if isinstance(node, Sequence) else []
    training = [name for name in names if "train" in name]
    configs = reading.node("dataset_configs")
    if mixer is None or not all(names):
        return
    if isinstance(configs, Sequence) and configs.items and len(configs.items) != len(mixer.entries):
        count = f"{len(configs.items)} for {len(mixer.entries)} sets"
        taker.refuse(("dataset_configs",), f"each set needs a name of its configuration, not {count}", "get_datasets")
    subsets: list[str | None] = [None] * len(mixer.entries)
    if isinstance(configs, Sequence) and len(configs.items) == len(subsets):
        subsets = [text_of(item) for item in configs.items]
    for entry, subset in zip(mixer.entries, subsets, strict=True):
        source = _named(entry.key, entry.value, reading, training[0] if training else "", subset)
        shared = _shared(taker, source, entry.value)
        share = number(entry.value)
        if share is not None and share < 0:
            taker.observe("rejected", entry.key_span, reason="a share below 0 is none", consumer="get_datasets")
        if len(training) == 1:
            taker.run.training.append(shared)


def _shared(taker: Taker, source: DataSource, node: Node | None) -> DataSource:
    """The first int(share x rows) of a set. More than all of them cannot be selected."""
    value = number(node)
    if value is None:
        return DataSource(source.span)
    if value > 1 and node is not None:
        reason = f"{value:g} of a set cannot be selected: shares end at 1"
        taker.observe("rejected", node.span, reason=reason, consumer=CONSUMER)
    share = max(0.0, float(value))
    source.operations = (each(lambda rows: int(share * rows)),)
    return source


def _source(taker: Taker, place: Node | None, item: Mapping, split: str, subset: str | None) -> DataSource:
    name = text_of(place)
    if name is None:
        return DataSource(place.span if place is not None else item.span)
    return _named(name, place or item, taker.reading, split, subset)


def _named(name: str, place: Node, reading: Reading, split: str, subset: str | None) -> DataSource:
    """A folder of the project, or a public name."""
    local = reading.lookup is not None and bool(reading.lookup.exists(name, reading.base))
    return DataSource(
        place.span, paths=(name,) if local else (), base=reading.base, hub=name, split=split, subset=subset or "",
        arrow=True,
    )  # fmt: skip
