"""What the loaders of Oumi, LLM Foundry and mistral-finetune refuse, recorded, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.recorded import runs, text
from tests.helpers import lint_project

RUNS = list(runs("loaders"))

ASSUME: dict[str, dict[str, str]] = {
    "oumi": {"oumi": "0.9"},
    "llm-foundry": {"llm-foundry": "0.22.0"},
    "mistral-finetune": {},
}

# Case -> why its error is not foreseen: an unknown key with nothing close is told by CFG004, which is off.
UNFORESEEN = {
    "oumi/unknown": "an unknown key with nothing close to it: CFG004, off by default",
    "oumi/text for a number": "a word instead of a number is a placeholder",
    "oumi/fp16 too": "an unknown key with nothing close to it: CFG004, off by default",
    "oumi/peft": "an unknown key with nothing close to it: CFG004, off by default",
    "llm-foundry/unknown": "an unknown key with nothing close to it: CFG004, off by default",
    "mistral-finetune/unknown": "an unknown key with nothing close to it: CFG004, off by default",
    "mistral-finetune/optim": "an unknown key with nothing close to it: CFG004, off by default",
}


def project(case: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    """The config, and the version that is assumed."""
    return {"config.yaml": text(case["config"])}, ASSUME[case["trainer"]]


def said(case: dict[str, Any], *select: str) -> set[str]:
    findings = lint_project(*project(case), select=list(select))
    wanted = ("CFG001", "CFG003", "CFG004", "CFG006", "CFG009", "CFG011")
    return {finding.code for finding in findings if finding.code in wanted and (select or finding.level == "error")}


@pytest.mark.parametrize(
    ("case", "loads", "name"),
    [pytest.param(case, "error" not in happened, name, id=name) for _, name, case, happened in RUNS],
)
def test_refused_or_loaded_as_recorded(case: dict[str, Any], loads: bool, name: str) -> None:
    if loads or name in UNFORESEEN:
        assert not said(case)
    else:
        assert said(case)


@pytest.mark.parametrize("name", [name for name, why in UNFORESEEN.items() if "CFG004" in why])
def test_keys_with_nothing_close_are_told_where_asked(name: str) -> None:
    case = next(case for _, one, case, _ in RUNS if one == name)
    assert said(case, "CFG004") == {"CFG004"}
