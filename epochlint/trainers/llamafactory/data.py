"""The data of a LLaMA-Factory run: names in `dataset:`, looked up in `dataset_info.json`.

Read in llamafactory 0.9.5: `data/loader.py` (`num_samples` takes exactly that many, with repetition; `max_samples` caps
each set), `data/data_utils.py` (`merge_dataset`, `split_dataset`).
"""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar, Sequence
from epochlint.documents.scalars import boolean, number
from epochlint.run.known import UNKNOWN, WRITTEN, Known
from epochlint.run.rows import at_most
from epochlint.run.run import DataSource
from epochlint.trainers.llamafactory.dataset_info import Attributes, Keep, is_info
from epochlint.trainers.mixtures import interleaving, shares_of
from epochlint.trainers.settings import text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Node
    from epochlint.run.rows import Step
    from epochlint.source import Span
    from epochlint.trainers.hf.reader import Hf

_STRATEGIES = {
    "interleave_under": "first_exhausted",
    "interleave_over": "all_exhausted",
    "interleave_once": "all_exhausted_without_replacement",
}
_DROPPING = ("sft", "rm", "dpo", "kto")  # stages whose processors drop what the converter emptied


def names(node: Node | None) -> list[tuple[str, Span]] | None:
    """The names under `dataset`: a list, or one text with commas. None where they cannot be known."""
    if node is None or (isinstance(node, Scalar) and node.value is None):
        return []
    if isinstance(node, Sequence):
        found = [(text_of(item), item.span) for item in node.items]
        return None if any(text is None for text, _ in found) else [(text or "", span) for text, span in found]
    text = text_of(node)
    if text is None:
        return None
    return [(part.strip(), node.span) for part in text.split(",") if part.strip()]


class Data:
    """Takes data sets, caps and the split into a run."""

    __slots__ = ("cap", "hf", "info", "named", "stage")

    def __init__(self, hf: Hf, stage: str) -> None:
        self.hf = hf
        self.stage = stage
        self.named = hf.entry("dataset_dir") is not None
        self.info = self._info()
        self.cap: Known = UNKNOWN

    def _info(self) -> Mapping | None:
        reading = self.hf.reading
        folder = self.hf.entry("dataset_dir")
        place = "data" if folder is None else text_of(folder.value)
        if place is None or reading.lookup is None or place == "ONLINE" or place.startswith("REMOTE:"):
            return None
        document = reading.lookup.document(f"{place}/dataset_info.json", reading.base)
        mapping = next(document.mappings(), None) if document is not None and document.syntax == "json" else None
        return mapping if mapping is not None and is_info(mapping) else None

    def take(self) -> None:
        hf = self.hf
        run, taker, reading = hf.run, hf.taker, hf.reading
        self.cap = taker.whole("sample_cap", "max_samples", default=None)
        split = taker.number("validation_split", "val_size", default=0.0)
        if split.number is not None and split.number <= 1e-6 and not split.by_hand:
            del run.settings["validation_split"]
        if hf.entry("streaming") is not None:
            taker.flag("streaming", "streaming")
        training = names(reading.node("dataset"))
        self._sources(training, run.training)
        validation = names(reading.node("eval_dataset"))
        self._sources(validation, run.validation)
        entry = hf.entry("eval_dataset")
        if entry is not None:
            run.writes["validation"] = entry.key_span
        self._validation(entry is not None)
        if hf.entry("tokenized_path") is not None or not self._mix(training):
            # Prepared data may replace all of it.
            run.training.clear()
            run.settings["batch_unknown"] = Known(True, WRITTEN)
        self._cap_alone(training)

    def _mix(self, training: list[tuple[str, Span]] | None) -> bool:
        """Whether it is known how several sets are put together (`merge_dataset`). What the converter empties is
        dropped afterwards."""
        run, reading = self.hf.run, self.hf.reading
        strategy = text_of(reading.node("mix_strategy"))
        if (training is not None and len(training) < 2) or strategy is None or not strategy.startswith("interleave"):
            return True
        node = reading.node("interleave_probs")
        plain = node is None or (isinstance(node, Scalar) and node.value is None)
        shares = None if plain else shares_of(node)
        if training is None or strategy not in _STRATEGIES or (shares is None and not plain):
            return False
        dropping = any(source.keep is not None for source in run.training)
        run.mix = interleaving(_STRATEGIES[strategy], shares, dropping=dropping)
        return True

    def _validation(self, data: bool) -> None:
        hf, run = self.hf, self.hf.run
        split = run.settings.get("validation_split", UNKNOWN)
        known = hf.reading.open_ended or hf.entry("tokenized_path") is not None
        if data or (split.number is not None and split.number > 1e-6):
            entry = hf.entry("eval_dataset" if data else "val_size")
            span = entry.key_span if entry is not None else None
            run.settings["validation"] = Known(True, WRITTEN, key_span=span)
        elif known or (split.by_hand and not split.exact):
            run.settings["validation"] = UNKNOWN
        else:
            run.settings["validation"] = Known(False, WRITTEN)

    def _cap_alone(self, training: list[tuple[str, Span]] | None) -> None:
        """A cap on one set is left to the counting, which then knows what it leaves out; several are each cut."""
        run = self.hf.run
        if self.cap.number is None or training is None or len(training) == 1:
            return
        del run.settings["sample_cap"]
        cap = int(self.cap.number)
        for source in run.training:
            source.operations = (*source.operations, at_most(cap))

    def _sources(self, found: list[tuple[str, Span]] | None, into: list[DataSource]) -> None:
        for name, span in found or ():
            into.append(self._source(name, span))

    def _source(self, name: str, span: Span) -> DataSource:
        reading = self.hf.reading
        entry = self.info.entry(name) if self.info is not None else None
        if entry is None or not isinstance(entry.value, Mapping):
            if self.info is not None and self.named:
                reason = f"{name} is not in {self.info.span.source.path}"
                self.hf.taker.observe("rejected", span, reason=reason, consumer="LLaMA-Factory")
            return DataSource(span)
        attributes = Attributes(entry.value)
        self._check_ranking(name, span, attributes)
        operations: list[Step] = []
        if attributes.samples is not None:
            wanted = attributes.samples
            operations.append(lambda rows: (wanted, wanted))
        plain = attributes.split == "train"
        if attributes.file is None or not plain:
            part = any(key in entry.value for key in ("folder", "data_files"))  # of the repository, whatever it holds
            return DataSource(
                span,
                hub=attributes.hub if not part else None,
                split=attributes.split,
                subset=attributes.subset,
                operations=operations,
            )
        keep = Keep(attributes) if self.stage in _DROPPING and attributes.samples is None else None
        folder = self.hf.entry("dataset_dir")
        place = "data" if folder is None else text_of(folder.value)
        return DataSource(
            span,
            paths=(f"{place}/{attributes.file}",),
            base=reading.base,
            arrow=True,
            operations=operations,
            keep=keep,
            check=keep.judge if keep is not None else None,
        )

    def _check_ranking(self, name: str, span: Span, attributes: Attributes) -> None:
        """Pairs are for `rm` and `dpo`, and those take nothing else (`_get_merged_dataset`; the tuner loads data of the
        dpo stage as rm's)."""
        pairs = self.stage in ("rm", "dpo")
        if attributes.ranking == pairs or not self.stage:
            return
        held, taken = ("pairs", "none") if attributes.ranking else ("no pairs", "only pairs")
        reason = f"{name} holds {held}, and stage {self.stage} takes {taken}"
        self.hf.taker.observe("rejected", span, reason=reason, consumer="LLaMA-Factory")


def refusals(hf: Hf, stage: str) -> None:
    """What `DataArguments.__post_init__` and `get_train_args` refuse about data (0.9.5)."""

    def refuse(key: str, reason: str) -> None:
        entry = hf.entry(key)
        if entry is not None:
            hf.taker.observe("rejected", entry.key_span, reason=reason, consumer="LLaMA-Factory")

    def on(key: str) -> bool:
        entry = hf.entry(key)
        return entry is not None and boolean(entry.value) is True

    size = hf.entry("val_size")
    share = number(size.value) if size is not None else None
    if share is not None and share > 1e-6 and hf.entry("eval_dataset") is not None:
        refuse("val_size", "val_size and eval_dataset cannot both be set")
    if isinstance(share, float) and share == 1:
        refuse("val_size", "val_size 1.0 is neither a share below 1 nor a whole number of records")
    if on("streaming"):
        if share is not None and 1e-6 < share < 1:
            refuse("val_size", "a stream needs a whole number as val_size")
        refuse("max_samples", "max_samples cannot be used with streaming")
    if on("mask_history") and on("train_on_prompt"):
        refuse("mask_history", "mask_history and train_on_prompt exclude each other")
    if stage and stage != "sft":
        for key in ("neat_packing", "train_on_prompt", "mask_history", "predict_with_generate"):
            if on(key):
                refuse(key, f"{key} is for stage sft only, not for {stage}")
    strategy = hf.entry("mix_strategy")
    if strategy is None or text_of(strategy.value) == "concat":
        refuse("interleave_probs", "interleave_probs needs a mix_strategy that interleaves")
    else:
        sets, shares = names(hf.reading.node("dataset")), hf.entry("interleave_probs")
        count = _how_many(shares.value) if shares is not None else None
        if sets and count is not None and count != len(sets):
            refuse("interleave_probs", f"{len(sets)} data sets need as many interleave_probs, not {count}")
    if (
        on("do_eval")
        and hf.run.settings.get("validation", UNKNOWN).value is False
        and not hf.setting("eval_strategy").by_hand
    ):
        entry = hf.entry("do_eval")
        if entry is not None:
            hf.taker.observe("evaluation_without_data", entry.key_span)


def _how_many(node: Node) -> int | None:
    if isinstance(node, Sequence):
        return len(node.items)
    return len(node.raw.split(",")) if isinstance(node, Scalar) else None
