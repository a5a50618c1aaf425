"""The budget of each run as a table: value, where it comes from, the sum, and what is usual."""

from __future__ import annotations

from epochlint.report.places import printable
from epochlint.report.schedule import plot
from epochlint.run.known import (
    ASSUMED,
    COMPANION,
    COUNTED,
    DEFAULT,
    DERIVED,
    ESTIMATED,
    LAUNCH,
    ON_ESTIMATE,
    RECORDED,
    WRITTEN,
    Known,
    show,
)
from epochlint.run.scenarios import SHOWN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Checked, Report
    from epochlint.run.run import Run

# fact -> what a person calls it. Facts of one block belong together.
_BLOCKS = (
    (
        "Data",
        (
            ("rows", "rows"),
            ("records", "records trained on"),
            ("messages", "messages"),
            ("assistant_turns", "assistant turns"),
            ("tokens", "tokens"),
            ("tokens_trained", "tokens over all epochs"),
            ("packed_sequences", "packed sequences"),
        ),
    ),
    (
        "Batch",
        (
            ("per_device_batch", "per-device batch"),
            ("accumulation", "accumulation"),
            ("gpus", "workers (GPUs)"),
            ("effective_batch", "effective batch"),
        ),
    ),
    (
        "Length",
        (
            ("epochs", "epochs"),
            ("max_steps", "step limit"),
            ("steps_per_epoch", "steps per epoch"),
            ("total_steps", "total steps"),
            ("packed_steps", "steps when packed"),
        ),
    ),
    (
        "Rate",
        (
            ("learning_rate", "peak learning rate"),
            ("scheduler", "schedule"),
            ("warmup_steps", "warmup steps"),
            ("warmup_fraction", "warmup share"),
            ("weight_decay", "weight decay"),
        ),
    ),
    (
        "Watching",
        (
            ("evaluations", "evaluations"),
            ("checkpoints", "checkpoints"),
            ("early_stopping_patience", "early-stopping patience"),
        ),
    ),
)

_ORIGINS = {
    ASSUMED: "assumed",
    LAUNCH: "launch",
    WRITTEN: "written",
    COMPANION: "companion file",
    COUNTED: "counted",
    RECORDED: "recorded",
    ESTIMATED: "estimated",
    DEFAULT: "default",
    DERIVED: "",
}

_MOST_STEPS = 12

_PREFERENCE = frozenset({"dpo", "ipo", "orpo", "kto", "simpo", "cpo"})

# What would make an unknown known.
_REMEDIES = {
    "gpus": "say --assume gpus=N, or lint the launch script with the config",
    "records": "say --assume records=N, or put the data file where the config names it",
    "total_steps": "needs the number of records and of GPUs",
    "learning_rate": "not written, and no default is certain",
}


def explain_text(report: Report) -> str:
    """Every run of a report."""
    parts = [_run(checked) for checked in report.runs]
    parts.extend(f"{skipped.path}: skipped, {skipped.reason}" for skipped in report.skipped)
    if not parts:
        return f"No training run found in {report.files:,} file{'' if report.files == 1 else 's'}."
    return "\n\n".join(parts)


def _run(checked: Checked) -> str:
    run, scenarios = checked.run, checked.scenarios
    facts = {name: scenarios.fact(name) for _, rows in _BLOCKS for name, _ in rows}
    facts["method"], facts["tuning"] = scenarios.fact("method"), scenarios.fact("tuning")
    lines = [_headline(run, [facts["tuning"], facts["method"]])]
    for title, rows in _BLOCKS:
        shown = [row for name, words in rows if (row := _row(checked, name, words, facts[name])) is not None]
        if title == "Data":
            shown = [*_counted(checked, facts), *shown]
        if shown:
            lines.append(f"  {title}")
            lines.extend(shown)
    chart = plot(checked)
    if chart:
        lines.append("  Schedule")
        lines.extend(f"    {line}" for line in chart)
    watched = _watching(checked)
    if watched:
        lines.append(f"  What watches the run: {watched}")
    unknown = [name for name in ("records", "gpus", "total_steps", "learning_rate") if _nothing(facts.get(name))]
    if unknown:
        lines.append("  Unknown")
        lines.extend(f"    {name.replace('_', ' ')}: {_REMEDIES[name]}" for name in unknown)
    if checked.not_evaluated:
        by_need: dict[str, list[str]] = {}
        for code, needs in checked.not_evaluated:
            by_need.setdefault(", ".join(sorted(needs)) or "more than is known", []).append(code)
        lines.append("  Rules that could not be evaluated")
        lines.extend(f"    without {need}: {' '.join(sorted(codes))}" for need, codes in sorted(by_need.items()))
    return "\n".join(map(printable, lines))


def _counted(checked: Checked, facts: dict[str, Known]) -> list[str]:
    """What the data holds, and how its lines become the records that are trained on, with each step's reason."""
    run = checked.run
    chain = list(run.chain)
    if not chain:
        return []
    held = []
    for name, noun in (("messages", "message"), ("assistant_turns", "assistant turn")):
        number = run.setting(name).number
        if number is not None:
            held.append(f"{show(int(number))} {noun}{'' if number == 1 else 's'}")
    found = []
    rows, records = run.setting("rows").number, facts["records"].number
    unit = "line" if all(" of " in what and what.startswith("lines") for _, what in run.chain[:1]) else "row"
    first = sum(number for number, what in run.chain if what.startswith((f"{unit}s of ", f"{unit}s by ")))
    if rows is not None:
        end = int(records if records is not None else rows)
        about = "about " if facts["rows"].origin == ESTIMATED else ""
        found.append(", ".join([f"{about}{_plural(first, unit)} = {_plural(end, 'record')}", *held]))
    if records is not None and rows is not None and records != rows:
        chain.append((int(records), f"trained on in one epoch{_why_fewer(checked)}"))
    if len(chain) > 1:
        steps = "; ".join(f"{show(number)} {what}" for number, what in chain[:_MOST_STEPS])
        found.append(steps + ("; ..." if len(chain) > _MOST_STEPS else ""))
    return [f"    {line}" for line in found]


def _why_fewer(checked: Checked) -> str:
    split, cap = checked.run.setting("validation_split").number, checked.run.setting("sample_cap").number
    reasons = []
    if split:
        reasons.append(f"{f'{split * 100:g} %' if split < 1 else show(split)} held out for validation")
    if cap:
        reasons.append(f"a cap of {show(cap)}")
    if checked.run.setting("packing").value is True:
        reasons.append("packed")
    return f" ({', '.join(reasons)})" if reasons else ""


def _plural(number: int, noun: str) -> str:
    return f"{show(number)} {noun}{'' if number == 1 else 's'}"


def _headline(run: Run, kinds: list[Known]) -> str:
    version = f" {run.version}" if run.version else ""
    kind = " ".join(str(known.value) for known in kinds if known.exact and known.value)
    label = f" ({run.label})" if run.label else ""
    return f"{run.path}:{run.span.place.line}  {run.trainer}{version}{', ' + kind if kind else ''}{label}"


def _nothing(known: Known | None) -> bool:
    return known is None or (not known.exact and known.high is None and (known.low is None or known.low <= 1))


def _row(checked: Checked, name: str, words: str, known: Known) -> str | None:
    if known.exact and known.value is None:
        return None
    if _nothing(known) and name not in ("records", "gpus", "total_steps", "effective_batch"):
        return None
    value = value_text(checked, name, known)
    origin = _origin(known) if known.exact or known.origin == ESTIMATED else ""
    usual = _usual(checked, name, known)
    extra = "; ".join(part for part in (origin, usual) if part)
    return f"    {words:<22} {value:<20} {extra}".rstrip()


def value_text(checked: Checked, name: str, known: Known) -> str:
    """A fact over all scenarios as people read it."""
    if known.exact and known.value is None:
        return "none"
    if known.exact:
        return _amount(name, known.value)
    eras = checked.scenarios.by_era(name)
    if len(eras) > 1 and all(value.exact for _, value in eras):
        by_value: dict[str, list[str]] = {}
        for era, value in eras:
            by_value.setdefault(show(value.value), []).append(era.label)
        return " or ".join(
            f"{value} ({labels[0] if len(labels) == 1 else labels[0] + ', ' + labels[-1]})"
            for value, labels in by_value.items()
        )
    if _nothing(known):
        return "unknown"
    if len(checked.scenarios.workers) > 1:
        newest = len(checked.run.eras) - 1
        one = checked.scenarios.budget(newest, 1).fact(name)
        many = checked.scenarios.budget(newest, SHOWN).fact(name)
        if one.exact and many.exact and one.value != many.value:
            return f"{_amount(name, one.value)} on 1 GPU, {_amount(name, many.value)} on {SHOWN}"
        if (one.low, one.high) != (many.low, many.high) and one.low is not None and many.high is not None:
            return f"{_amount(name, one.low)} on 1 GPU to {_amount(name, many.high)} on {SHOWN}"
    if known.high is None:
        return f"at least {_amount(name, known.low)}"
    if known.low is None:
        return f"at most {_amount(name, known.high)}"
    return f"{_amount(name, known.low)} to {_amount(name, known.high)}"


def _amount(name: str, value: object) -> str:
    """A number of a fact; a share as a percentage."""
    if name == "warmup_fraction" and isinstance(value, (int, float)):
        return f"{value * 100:.3g} %"
    return show(value)


def _origin(known: Known) -> str:
    text = known.text()
    word = _ORIGINS.get(known.origin, known.origin)
    place = known.key_span or known.span
    if place is not None and known.origin not in (DERIVED, DEFAULT):
        inner = place.in_file()
        word = f"{word} at {inner.source.path}:{inner.source.place(inner.start).line}"
    if known.origin in (COUNTED, ESTIMATED) and text:
        word = f"{word} ({text})"
    guess = " (estimated)" if known.basis & ON_ESTIMATE and known.origin == DERIVED else ""
    return f"= {text}{guess}" if text and known.origin == DERIVED else word + guess


def _usual(checked: Checked, name: str, known: Known) -> str:
    """What is usual, beside a number that people ask about. Sources: docs/thresholds in the rules' pages."""
    method = checked.scenarios.fact("method").value
    if name == "epochs":
        return "usual: 1-2" if method in _PREFERENCE else "usual: 1-3" if method in ("sft", None) else ""
    if name == "records" and method in ("sft", None):
        return "usual: 1,000 and more for a task, 50,000 and more for hard ones"
    if name == "tokens_trained" and checked.run.setting("billed_by_token").value is True:
        return "what the service charges"
    if name == "warmup_fraction":
        return "usual: 3-10 %"
    return ""


def _watching(checked: Checked) -> str:
    """Validation, early stopping, the best model, reporting."""
    fact = checked.scenarios.fact
    parts: list[str] = []
    validation = fact("validation")
    if validation.exact:
        parts.append("validation data" if validation.value else "no validation data")
    patience = fact("early_stopping_patience")
    if patience.exact and patience.value:
        parts.append(f"early stopping after {show(patience.value)} evaluations without progress")
    if fact("load_best").value is True:
        parts.append("the best checkpoint is kept")
    reporting = fact("report_to")
    if reporting.exact and reporting.value not in (None, "none"):
        parts.append(f"reports to {reporting.value}")
    return ", ".join(parts)
