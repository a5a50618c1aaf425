"""Ludwig's LLM configs (`model_type: llm` with a trainer). Read at commit 5d19f3e6 (`schema/trainer.py`)."""

from __future__ import annotations

from epochlint.documents.document import Mapping
from epochlint.run.counting import Counting
from epochlint.run.known import DERIVED, UNKNOWN, Known
from epochlint.run.run import Era, Run
from epochlint.trainers.settings import MISSING, Loader, Taker, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.trainers.trainer import Reading

LABEL = "ludwig"
CALLS: frozenset[str] = frozenset()
LOADER = Loader("Ludwig", converts_text=False, visible=False)
_METHODS = {"finetune": "sft", "dpo": "dpo", "kto": "kto", "orpo": "orpo", "grpo": "grpo"}


def recognise(document: Document) -> list[Mapping]:
    """A model of type llm with features; one without a trainer only predicts."""
    return [
        mapping
        for mapping in document.mappings()
        if text_of(mapping.get("model_type")) == "llm" and ("input_features" in mapping or "output_features" in mapping)
    ]


def read(reading: Reading) -> Run:
    run = Run(LABEL, reading.document.source, reading.span, (Era("", Counting(None)),), reading.versions)
    taker = Taker(run, reading, LOADER)
    taker.whole("per_device_batch", ("trainer", "batch_size"), default=UNKNOWN)
    taker.whole("accumulation", ("trainer", "gradient_accumulation_steps"), default=UNKNOWN)
    taker.number("epochs", ("trainer", "epochs"))
    taker.whole("max_steps", ("trainer", "train_steps"))
    taker.word("optimizer", ("trainer", "optimizer", "type"), default=MISSING)
    taker.number("learning_rate", ("trainer", "learning_rate"))
    taker.number("beta", ("trainer", "beta"))
    kind = text_of(reading.node("trainer", "type"))
    taker.derive("method", Known(_METHODS.get(kind, "other"), DERIVED) if kind else UNKNOWN)
    adapter = text_of(reading.node("adapter", "type"))
    taker.derive(
        "tuning", Known("lora" if adapter in ("lora", "adalora") else "other", DERIVED) if adapter else UNKNOWN
    )
    return run
