"""Hand-made runs for tests of the rules: settings from "name: value" lines, counted like the Hugging Face Trainer."""

from __future__ import annotations

from typing import Any

from epochlint.run.counting import Counting, by_loader, cadence, fixed, share_up
from epochlint.run.known import COUNTED, DEFAULT, WRITTEN, Known
from epochlint.run.observation import Observation
from epochlint.run.run import Era, Run
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import VersionRange, Versions
from epochlint.source import Source

DEFAULTS: dict[str, object] = {
    "per_device_batch": 8,
    "accumulation": 1,
    "epochs": 3.0,
    "max_steps": None,
    "scheduler": "linear",
    "warmup_steps": 0,
    "warmup_ratio": None,
    "eval_strategy": "no",
    "eval_steps": None,
    "save_strategy": "steps",
    "save_steps": 500,
    "logging_strategy": "steps",
    "logging_steps": 500,
    "packing": False,
    "streaming": False,
    "drop_last": False,
    "load_best": False,
    "method": "sft",
    "tuning": "full",
}


def _warmup(get: Any) -> Any:
    steps = get("warmup_steps").number
    if steps:
        return fixed(steps)
    ratio = get("warmup_ratio").number
    return share_up(ratio) if ratio else fixed(0)


def counting(up: bool = True) -> Counting:
    return Counting(
        by_loader(up, zero_limits=up),
        _warmup,
        evaluations=cadence("eval_strategy", "eval_steps", at_end=False),
        checkpoints=cadence("save_strategy", "save_steps", at_end=True),
        unwarmed=frozenset({"constant", "reduce_lr_on_plateau"}),
    )


ERAS = (
    Era("<= 4.51", counting(up=False), {"transformers": VersionRange("4.36", "4.51.3")}),
    Era(">= 4.52", counting(up=True), {"transformers": VersionRange("4.52.1", None)}),
)


def make_run(
    *,
    eras: tuple[Era, ...] | None = None,
    versions: Versions | None = None,
    observations: list[Observation] | None = None,
    path: str = "train.yaml",
    counted: int | None = None,
    unknown: tuple[str, ...] = (),
    **settings: object,
) -> Run:
    """A run with these written settings; `counted` rows come from a data file, `unknown` settings cannot be read."""
    text = "".join(f"{name}: {value}\n" for name, value in settings.items()) or "run\n"
    source = Source(path, text)
    run = Run(
        "hf-args", source, source.span(0, len(text)), eras if eras is not None else ERAS[1:], versions or Versions()
    )
    for name, default in DEFAULTS.items():
        run.defaults[name] = default
        run.settings[name] = Known(default, DEFAULT)
    start = 0
    for name, value in settings.items():
        line = f"{name}: {value}\n"
        key = source.span(start, start + len(name))
        run.settings[name] = Known(value, WRITTEN, key_span=key, span=source.span(key.end + 2, start + len(line) - 1))
        start += len(line)
    if counted is not None:
        run.settings["rows"] = Known(counted, COUNTED)
    for name in unknown:
        run.settings[name] = Known(exact=False)
    run.observations = observations or []
    return run


def scenarios(**arguments: Any) -> Scenarios:
    return Scenarios(make_run(**arguments))
