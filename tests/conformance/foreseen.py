"""What each recorded trainer refuses, and what epochlint says about it beforehand.

The recordings hold the refusals, the tests' modules how a case becomes a project and why some are not foreseen.
`tools/foreseen.py` makes docs/foreseen.md of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from epochlint.rules import catalogue, engine
from epochlint.run.scenarios import Scenarios
from tests.conformance import (
    test_autotrain,
    test_axolotl,
    test_deepspeed,
    test_fms_hf_tuning,
    test_h2o,
    test_hf,
    test_instructlab,
    test_litgpt,
    test_llamafactory,
    test_loaders,
    test_ludwig,
    test_megatron_bridge,
    test_mixtures,
    test_mlx_lm,
    test_ms_swift,
    test_nemo_automodel,
    test_nemo_rl,
    test_open_instruct,
    test_openrlhf,
    test_torchtune,
    test_trl,
    test_unsloth,
    test_verl,
    test_xtuner,
)
from tests.conformance.recorded import load
from tests.helpers import check_project

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from epochlint.findings.finding import Finding
    from epochlint.run.run import Run

    Judge = Callable[[str, dict[str, Any]], list[Finding]]


class Refusal:
    """One case that a trainer refuses: `said` are the codes of what epochlint says, `reason` why it says nothing."""

    def __init__(self, case: str, error: str, said: tuple[str, ...], reason: str) -> None:
        self.case = case
        self.error = error
        self.said = said
        self.reason = reason


class Recorded:
    """A trainer's recording of one version: how its cases are judged, and why some are not foreseen."""

    def __init__(self, title: str, file: str, version: str, judge: Judge, unforeseen: Mapping[str, str]) -> None:
        self.title = title
        self.file = file
        self.version = version
        self.judge = judge
        self.unforeseen = unforeseen

    def refusals(self) -> Iterator[Refusal]:
        recording = load(self.file)
        for name, happened in recording["results"][self.version]["runs"].items():
            if "error" not in happened:
                continue
            findings = self.judge(name, recording["cases"][name])
            said = tuple(sorted({finding.code for finding in findings if finding.level == "error"}))
            if not said:
                said = tuple(f"{code} ({level})" for code, level in _weaker(findings))
            reason = next((why for start, why in self.unforeseen.items() if name.startswith(start)), "")
            yield Refusal(name, f"{happened['error']}: {happened.get('text', '')}".rstrip(": "), said, reason)


# Rules that say of such a value what the trainer says, less strongly.
_SAME = ("WRM004", "EVL008", "EVL010", "STP008", "DAT006")


def _weaker(findings: list[Finding]) -> list[tuple[str, str]]:
    return sorted({(finding.code, finding.level) for finding in findings if finding.code in _SAME})


def _of_run(run: Run) -> list[Finding]:
    return engine.check(Scenarios(run), catalogue.load())[0]


def trainers() -> list[Recorded]:
    """The recordings, each in its newest version."""

    def axolotl(name: str, case: dict[str, Any]) -> list[Finding]:
        files, assume = test_axolotl.project(case, "0.19.0")
        return check_project(files, assume, ["config.yaml"]).findings

    def swift(name: str, case: dict[str, Any]) -> list[Finding]:
        assume = {**test_ms_swift.VERSIONS, "gpus": case["world"]}
        return check_project(test_ms_swift.project(case), assume).findings

    def torchtune(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(test_torchtune.project(case)[0], {"gpus": 1}).findings

    def plain(project: Callable[[dict[str, Any]], dict[str, str]]) -> Judge:
        return lambda name, case: check_project(project(case), {}).findings

    def llamafactory(name: str, case: dict[str, Any]) -> list[Finding]:
        return list(test_llamafactory.checked(name).findings) if "args" in case else []

    def loaded(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_loaders.project(case)).findings

    def openrlhf(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_openrlhf.project(case)).findings

    def verl(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_verl.project(case)).findings

    def unsloth(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_unsloth.project(case)).findings

    def open_instruct(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_open_instruct.project(case)).findings

    def mixed(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_mixtures.project(case)).findings

    def nemo_rl(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_nemo_rl.project(case)).findings

    def automodel(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_nemo_automodel.project(case)).findings

    def fms(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(test_fms_hf_tuning.project(case), test_fms_hf_tuning.ASSUME).findings

    def instructlab(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(test_instructlab.project(case), test_instructlab.ASSUME).findings

    def autotrain(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(test_autotrain.project(case), test_autotrain.ASSUME, ["config.yaml"]).findings

    def ludwig(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_ludwig.project(case)).findings

    def h2o(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(test_h2o.project(case), {}, ["config.yaml"]).findings

    def bridge(name: str, case: dict[str, Any]) -> list[Finding]:
        return check_project(*test_megatron_bridge.project(case)).findings

    newest_hf = list(load("hf")["results"])[-1]
    newest_trl = list(load("trl")["results"])[-1]
    return [
        Recorded("Axolotl", "axolotl", "0.19.0", axolotl, test_axolotl.UNFORESEEN),
        Recorded("LLaMA-Factory", "llamafactory", "0.9.5", llamafactory, test_llamafactory.UNFORESEEN),
        Recorded("transformers", "hf", newest_hf, lambda name, case: _of_run(test_hf.read(case, newest_hf)),
                 test_hf.UNFORESEEN),
        Recorded("TRL", "trl", newest_trl, lambda name, case: _of_run(test_trl.read(name, newest_trl)),
                 test_trl.UNFORESEEN),
        Recorded("ms-swift", "swift", "4.6.0", swift, test_ms_swift.UNFORESEEN),
        Recorded("torchtune", "torchtune", "0.6.1", torchtune, test_torchtune.UNFORESEEN),
        Recorded("LitGPT", "litgpt", "0.5.13", plain(test_litgpt.project), test_litgpt.UNFORESEEN),
        Recorded("MLX-LM", "mlx", "0.32.2", plain(test_mlx_lm.project), test_mlx_lm.UNFORESEEN),
        Recorded("Oumi", "loaders", "oumi 0.9", loaded, test_loaders.UNFORESEEN),
        Recorded("LLM Foundry", "loaders", "llm-foundry 0.22.0", loaded, test_loaders.UNFORESEEN),
        Recorded("mistral-finetune", "loaders", "mistral-finetune 1943535", loaded, test_loaders.UNFORESEEN),
        Recorded("XTuner", "xtuner", "0.1.23", plain(test_xtuner.project), {}),
        Recorded("OpenRLHF", "openrlhf", test_openrlhf.NEWEST, openrlhf, test_openrlhf.UNFORESEEN),
        Recorded("verl", "verl", test_verl.NEWEST, verl, test_verl.UNFORESEEN),
        Recorded("alignment-handbook", "mixtures", "handbook c8f5bdf", mixed, test_mixtures.UNFORESEEN),
        Recorded("open-r1", "mixtures", "open-r1 1416fa0", mixed, test_mixtures.UNFORESEEN),
        Recorded("open-instruct", "open_instruct", test_open_instruct.NEWEST, open_instruct,
                 test_open_instruct.UNFORESEEN),
        Recorded("Unsloth", "unsloth", test_unsloth.NEWEST, unsloth, test_unsloth.UNFORESEEN),
        Recorded("NeMo-RL", "nemo_rl", test_nemo_rl.NEWEST, nemo_rl, test_nemo_rl.UNFORESEEN),
        Recorded("NeMo Automodel", "nemo_automodel", test_nemo_automodel.NEWEST, automodel,
                 test_nemo_automodel.UNFORESEEN),
        Recorded("fms-hf-tuning", "fms_hf_tuning", test_fms_hf_tuning.NEWEST, fms, test_fms_hf_tuning.UNFORESEEN),
        Recorded("InstructLab and Training Hub", "instructlab", test_instructlab.NEWEST, instructlab,
                 test_instructlab.UNFORESEEN),
        Recorded("AutoTrain", "autotrain", test_autotrain.NEWEST, autotrain, test_autotrain.UNFORESEEN),
        Recorded("Ludwig", "ludwig", test_ludwig.NEWEST, ludwig, test_ludwig.UNFORESEEN),
        Recorded("H2O LLM Studio", "h2o", test_h2o.NEWEST, h2o, test_h2o.UNFORESEEN),
        Recorded("Megatron-Bridge", "megatron_bridge", test_megatron_bridge.NEWEST, bridge,
                 test_megatron_bridge.UNFORESEEN),
        Recorded("DeepSpeed", "deepspeed", "0.19.8", plain(test_deepspeed.project), test_deepspeed.UNFORESEEN),
    ]  # fmt: skip
