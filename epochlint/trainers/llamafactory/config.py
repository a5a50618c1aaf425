"""Reading a LLaMA-Factory config into a run.

Read in llamafactory 0.9.5: `hparams/parser.py` (OmegaConf, then `HfArgumentParser.parse_dict`, which rejects unknown
keys), `hparams/finetuning_args.py`, `train/tuner.py`.
"""

from __future__ import annotations

from epochlint.documents.scalars import boolean, number
from epochlint.run.counting import Counting
from epochlint.run.known import DEFAULT, UNKNOWN, WRITTEN, Known, between
from epochlint.trainers import tables
from epochlint.trainers.copies import declared
from epochlint.trainers.hf import keys, refusals
from epochlint.trainers.hf.counting import after_split
from epochlint.trainers.hf.reader import Hf
from epochlint.trainers.llamafactory import data as datasets
from epochlint.trainers.llamafactory.recognition import claims, is_launched_v1, is_v1, recognise
from epochlint.trainers.on_hf import own_keys, require_transformers, told_by_keys
from epochlint.trainers.settings import MISSING, Loader, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.run.counting import Get
    from epochlint.run.run import Era, Run
    from epochlint.trainers.trainer import Reading

LABEL = "llamafactory"
LOADER = Loader("OmegaConf", converts_text=False, reads_plain=True)  # HfArgumentParser.parse_dict casts nothing

_NEWEST = "<=5.6.0"  # transformers, as 0.9.5 asks for it; older releases stay below

_STAGES = {"pt": "pretrain", "sft": "sft", "rm": "reward", "ppo": "ppo", "dpo": "dpo", "kto": "kto"}
_LOSSES = {"ipo": "ipo", "orpo": "orpo", "simpo": "simpo"}
_TUNINGS = {"lora": "lora", "full": "full", "freeze": "partial", "oft": "other"}


def read(reading: Reading) -> Run:
    if any(is_v1(layer.mapping) for layer in reading.layers) or is_launched_v1(reading):
        from epochlint.trainers.llamafactory.v1 import read as read_v1

        return read_v1(reading)
    return _Reader(reading).read()


class _Reader:
    """One config of the usual format, on its way to a run."""

    __slots__ = ("hf", "stage")

    def __init__(self, reading: Reading) -> None:
        require_transformers(reading, "llamafactory", _NEWEST)
        table = tables.load("llamafactory", "config")
        reading = reading.over(reading.layers)
        reading.via = "OmegaConf"
        self.hf = hf = Hf(reading, LABEL, table, (), LOADER)
        own = own_keys(hf, table)
        hf.within = told_by_keys(hf, table, own)
        self.stage = text_of(reading.node("stage")) or ("" if "stage" in reading else "sft")
        hf.consumer = keys.Consumer(
            "LLaMA-Factory", (table,), own | self._forks(table), complete=not self._lenient(), rejects=True
        )

    def read(self) -> Run:
        hf = self.hf
        hf.take_common()
        self._method()
        datasets.Data(hf, self.stage).take()
        self._packing()
        taker = hf.taker
        taker.whole("early_stopping_patience", "early_stopping_steps", default=MISSING)
        taker.whole("lora_rank", "lora_rank", default=MISSING)
        taker.number("beta", "pref_beta", default=MISSING)
        taker.whole("sequence_length", "cutoff_len", default=MISSING)
        taker.word("model", "model_name_or_path", default=MISSING)
        muon = hf.entry("use_muon")
        if muon is not None and boolean(muon.value):  # takes the optimizer's place (`trainer_utils.py`)
            taker.derive("optimizer", Known("muon", WRITTEN, key_span=muon.key_span))
        self._devices()
        datasets.refusals(hf, self.stage)
        self._refuse()
        hf.check(metrics=None)
        if any(not hf.consumer.tables[0].known(entry.key) for entry, _ in hf.reading.entries()):
            hf.run.settings["validation"] = UNKNOWN  # a fork's own keys may split the data (`train_size`)
        if hf.around is None:
            refusals.evaluation_data(hf.run)
            refusals.early_stopping(hf.run)
        return hf.finish(self._eras())

    # Keys ---------------------------------------------------------------------------------------------------------

    def _lenient(self) -> bool:
        """Megatron's arguments come from another package (mcore_adapter), which `USE_MCA` brings in; a stage that
        LLaMA-Factory does not have is a fork's."""
        if self.stage and self.stage not in _STAGES:
            return True
        return any(entry.key.endswith("_model_parallel_size") for entry, _ in self.hf.reading.entries())

    def _forks(self, table: tables.Table) -> frozenset[str]:
        """Unknown keys that a copy of LLaMA-Factory in the project declares itself."""
        reading = self.hf.reading
        odd = {entry.key for entry, _ in reading.entries() if not table.known(entry.key) and entry.key.isidentifier()}
        return declared(reading, odd, ("llamafactory", "llmtuner"))

    # Settings -----------------------------------------------------------------------------------------------------

    def _method(self) -> None:
        hf = self.hf
        entry = hf.entry("stage")
        place = entry.key_span if entry is not None else None
        method: str | None = _STAGES.get(self.stage)
        loss = text_of(hf.reading.node("pref_loss"))
        if method == "dpo":
            method = _LOSSES.get(loss or "sigmoid", "dpo")
            hf.taker.word("loss_type", "pref_loss", default="sigmoid")
        origin = WRITTEN if entry is not None else DEFAULT
        known = method is not None and (entry is not None or not hf.reading.open_ended)
        hf.taker.derive("method", Known(method, origin, key_span=place) if known else UNKNOWN)
        kind = hf.entry("finetuning_type")
        word = text_of(kind.value) if kind is not None else "lora"
        tuning = _TUNINGS.get(word or "")
        if tuning == "lora" and hf.entry("quantization_bit") is not None:
            tuning = "qlora"
        origin = WRITTEN if kind is not None else DEFAULT
        place = kind.key_span if kind is not None else None
        if hf.reading.open_ended and kind is None:
            tuning = None
        hf.taker.derive("tuning", Known(tuning, origin, key_span=place) if tuning is not None else UNKNOWN)

    def _packing(self) -> None:
        """Texts of stage pt are joined and cut by default; `packing` and `neat_packing` put whole records of stage sft
        into one sequence, within each thousand of them (`data/processor/supervised.py`)."""
        hf, run = self.hf, self.hf.run
        for key in ("neat_packing", "packing"):
            entry = hf.entry(key)
            if entry is not None and (key == "packing" or boolean(entry.value) is True):
                hf.taker.flag("packing", key)
                break
        else:
            if self.stage == "pt":
                run.settings["packing"] = Known(True, DEFAULT)
        if run.settings.get("packing", UNKNOWN).value is True and self.stage == "sft":
            run.settings["packing_joins"] = Known(True, DEFAULT)

    def _devices(self) -> None:
        """Workers of Ray, and Megatron's parallel sizes."""
        hf = self.hf
        if hf.entry("ray_num_workers") is not None and hf.entry("use_ray") is not None:
            hf.taker.whole("gpus", "ray_num_workers", default=MISSING)
        sizes = ("tensor_model_parallel_size", "pipeline_model_parallel_size", "context_parallel_size")
        hf.taker.product("parallel", *sizes)

    def _refuse(self) -> None:
        """What `FinetuningArguments.__post_init__` and `_verify_model_args` refuse (0.9.5)."""
        hf = self.hf

        def refuse(key: str, reason: str) -> None:
            entry = hf.entry(key)
            if entry is not None:
                hf.taker.observe("rejected", entry.key_span, reason=reason, consumer="LLaMA-Factory")

        def on(key: str) -> bool:
            entry = hf.entry(key)
            return entry is not None and boolean(entry.value) is True

        kind = text_of(hf.reading.node("finetuning_type"))
        if kind is not None and kind not in _TUNINGS and kind.isidentifier():
            refuse("finetuning_type", f"{kind} is none of lora, oft, freeze and full")
        if kind in ("full", "freeze"):
            refuse("quantization_bit", f"quantization_bit is for lora and oft only, not for {kind}")
        if kind in ("full", "freeze", "oft"):
            refuse("adapter_name_or_path", f"an adapter goes with lora only, not with {kind}")
            refuse("loraplus_lr_ratio", f"loraplus_lr_ratio goes with lora only, not with {kind}")
            for key in ("use_dora", "use_rslora", "pissa_init"):
                if on(key):
                    refuse(key, f"{key} goes with lora only, not with {kind}")
        savers = [key for key in ("use_galore", "use_apollo", "use_badam") if on(key)]
        if savers and self.hf.setting("tuning").value in ("lora", "qlora"):
            refuse(savers[0], f"{savers[0]} does not go with lora")
        elif len(savers) > 1:
            refuse(savers[1], f"{savers[0]} and {savers[1]} exclude each other")
        if on("load_best_model_at_end") and self.stage in ("rm", "ppo"):
            refuse("load_best_model_at_end", f"stage {self.stage} does not take load_best_model_at_end")
        if self.stage == "ppo" and hf.entry("reward_model") is None and not hf.reading.open_ended:
            refuse("stage", "stage ppo needs a reward_model")
        smoothing, loss = hf.entry("dpo_label_smoothing"), text_of(hf.reading.node("pref_loss"))
        smooths = smoothing is not None and (number(smoothing.value) or 0.0) > 1e-6
        if self.stage == "dpo" and smooths and loss not in (None, "sigmoid"):
            refuse("dpo_label_smoothing", f"dpo_label_smoothing goes with pref_loss sigmoid only, not with {loss}")

    # Counting -----------------------------------------------------------------------------------------------------

    def _eras(self) -> list[Era]:
        found = self.hf.eras()
        for era in found:
            era.counting.records = _records
            if self.stage == "ppo":  # a loop of its own, over the queries of rollouts
                era.counting = Counting(None, era.counting.warmup, era.counting.batch, _records)
        return found


def _records(rows: Known, get: Get) -> Known:
    """Rows after the cap, the split and the packing, in this order."""
    cap = get("sample_cap").number
    if cap is not None and rows.high is not None and cap < rows.high:
        low = min(rows.low, cap) if rows.low is not None else None
        rows = between(low, cap, basis=rows.basis)
    elif cap is not None and rows.high is None:
        rows = between(min(rows.low, cap) if rows.low is not None else None, None, basis=rows.basis)
    rows = after_split(rows, get)
    if get("packing").value is True:
        if get("packing_joins").value is not True:  # texts are put end to end and cut: a long one becomes several
            return between(0, None, basis=rows.basis)
        return between(1 if rows.low else 0, rows.high, basis=rows.basis)
    return rows


__all__ = ["LABEL", "claims", "read", "recognise"]
