"""JSON for programs: the contract is version 1 of the documents below; fields are added, never changed."""

from __future__ import annotations

import json

from epochlint.report.places import as_dict
from epochlint.run.known import show

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.lint import Checked, Report
    from epochlint.run.known import Known

FACTS = (
    "rows", "records", "messages", "assistant_turns", "per_device_batch", "accumulation", "gpus", "effective_batch",
    "epochs", "steps_per_epoch", "total_steps", "max_steps", "warmup_steps", "warmup_fraction", "learning_rate",
    "scheduler", "weight_decay", "evaluations", "checkpoints", "tokens", "method", "tuning", "trainer",
)  # fmt: skip


def check_json(report: Report) -> str:
    document = {
        "version": 1,
        "findings": [as_dict(finding) for finding in report.findings],
        "runs": len(report.runs),
        "files": report.files,
        "skipped": _skipped(report),
    }
    return json.dumps(document, indent=2, ensure_ascii=False)


def explain_json(report: Report) -> str:
    document = {"version": 1, "runs": [_run(checked) for checked in report.runs], "skipped": _skipped(report)}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _skipped(report: Report) -> list[dict[str, str]]:
    return [{"path": skipped.path, "reason": skipped.reason, "kind": skipped.kind} for skipped in report.skipped]


def _run(checked: Checked) -> dict[str, object]:
    run = checked.run
    return {
        "path": run.path,
        "line": run.span.place.line,
        "trainer": run.trainer,
        "trainer_version": run.version,
        "facts": {name: fact_json(checked.scenarios.fact(name)) for name in FACTS},
        "not_evaluated": [{"code": code, "needs": list(needs)} for code, needs in checked.not_evaluated],
    }


def fact_json(known: Known) -> dict[str, object]:
    """One fact: value, or low and high, or nothing."""
    low, high = known.low, known.high
    if not known.exact and high is None and low is not None and low <= 1:
        low = None  # "at least one" says nothing
    place = known.key_span or known.span
    found: dict[str, object] = {
        "value": _plain(known.value) if known.exact else None,
        "low": low,
        "high": high,
        "origin": known.origin if known.exact or low is not None or high is not None else None,
        "formula": known.text() if known.exact else None,
        "path": None,
        "line": None,
    }
    if place is not None and known.exact:
        inner = place.in_file()
        found["path"], found["line"] = inner.source.path, inner.source.place(inner.start).line
    return found


def _plain(value: object) -> object:
    """A value that JSON can hold."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else show(value)
    return str(value)
