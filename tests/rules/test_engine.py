"""Findings over scenarios: every scenario, the weakest level, what softens, what replaces, what is missing."""

from __future__ import annotations

from typing import Any

import pytest

from epochlint.findings.finding import Finding
from epochlint.rules import engine
from epochlint.rules.page import Page, RuleFileError, _Compiler
from epochlint.rules.rule import Rule
from epochlint.run.known import COUNTED, ESTIMATED, ON_TABLE, Known
from epochlint.run.observation import Edit, Fix, Observation
from epochlint.run.versions import VersionRange, Versions
from epochlint.source import Source
from tests.rules.runs import ERAS, make_run, scenarios


def rule(**page: Any) -> Rule:
    """A rule from the keys of its file; what a test does not care about is filled in."""
    usual: dict[str, Any] = {"code": "TST001", "name": "test-rule", "family": "TST", "summary": "A rule for tests."}
    if "checks" not in page:
        usual |= {"message": "here"}
        if "tiers" not in page:
            usual["level"] = "warning"
    compiled = _Compiler(Page.model_validate({**usual, **page})).compile()
    return Rule((*compiled[:5], page.get("smoke"), *compiled[6:])) if "smoke" not in page else Rule(compiled)


def smoke_rule(smoke: str, **page: Any) -> Rule:
    made = rule(**page)
    made.smoke = smoke
    return made


def findings(*rules: Rule, pedantic: bool = False, baseline: Any = None, **run: Any) -> list[Finding]:
    return engine.check(scenarios(**run), rules, pedantic=pedantic, baseline=baseline)[0]


def missing(*rules: Rule, **run: Any) -> list[tuple[str, tuple[str, ...]]]:
    return engine.check(scenarios(**run), rules)[1]


SHORT: dict[str, Any] = {"when": "total_steps < 50"}


# Scenarios ------------------------------------------------------------------------------------------------------------


def test_a_finding_holds_for_every_number_of_gpus() -> None:
    assert [found.level for found in findings(rule(**SHORT), rows=100)] == ["warning"]  # 39 on one GPU, fewer on more
    assert findings(rule(**SHORT), rows=1000) == []  # 375 on one GPU


def test_what_holds_on_one_gpu_only_is_no_finding() -> None:
    assert findings(rule(when="total_steps > 50"), rows=1000) == []
    assert len(findings(rule(when="total_steps > 50"), rows=1000, gpus=1)) == 1


def test_a_finding_holds_in_every_era() -> None:
    odd: dict[str, Any] = {"rows": 100, "gpus": 1, "per_device_batch": 2, "accumulation": 4}  # 36 or 39
    assert findings(rule(when="total_steps == 39"), eras=ERAS, **odd) == []
    assert len(findings(rule(when="total_steps == 39"), eras=ERAS[1:], **odd)) == 1
    assert len(findings(rule(when="total_steps >= 36"), eras=ERAS, **odd)) == 1


def test_the_level_is_the_weakest_over_the_scenarios() -> None:
    tiers = [{"level": "error", "when": "total_steps < 38"}, {"level": "note", "when": "total_steps < 50"}]
    odd: dict[str, Any] = {"rows": 100, "gpus": 1, "per_device_batch": 2, "accumulation": 4}
    assert findings(rule(when="true", tiers=tiers), eras=ERAS, **odd)[0].level == "note"
    assert findings(rule(when="true", tiers=tiers), eras=ERAS[:1], **odd)[0].level == "error"


def test_an_unknown_tier_is_passed_over() -> None:
    tiers = [{"level": "warning", "when": "records < 1000"}, {"level": "note"}]
    assert findings(rule(when="epochs > 15", tiers=tiers), epochs=20)[0].level == "note"
    assert findings(rule(when="epochs > 15", tiers=tiers), epochs=20, rows=500)[0].level == "warning"
    assert findings(rule(when="epochs > 15", tiers=tiers), epochs=20, rows=5000)[0].level == "note"


def test_divisibility_is_solved_for_every_number_of_workers() -> None:
    odd = rule(when="settings.global_batch % (per_device_batch * gpus) != 0")
    assert len(findings(odd, global_batch=30, per_device_batch=4)) == 1
    assert findings(odd, global_batch=32, per_device_batch=4) == []


# Observations ---------------------------------------------------------------------------------------------------------


def seen(name: str = "rejected", at: tuple[int, int] = (0, 1), fix: Fix | None = None, **values: object) -> Observation:
    source = Source("train.yaml", "one: 1\ntwo: 2\n")
    return Observation(name, source.span(*at), {"reason": "because", "consumer": "Trainer", **values}, fix=fix)


REJECTED: dict[str, Any] = {
    "observation": "rejected",
    "message": "{observation.consumer}: {observation.reason}",
    "level": "error",
}


def test_each_observation_is_a_finding_with_its_own_place_and_fix() -> None:
    source = Source("train.yaml", "one: 1\ntwo: 2\n")
    fix = Fix("mend", [Edit(source.span(0, 3), "eins")], safe=True)
    found = findings(rule(**REJECTED), observations=[seen(fix=fix), seen(at=(7, 10), reason="so")])
    assert [(one.message, one.span.place.line) for one in found] == [("Trainer: because", 1), ("Trainer: so", 2)]
    assert [one.fix for one in found] == [fix, None]


@pytest.mark.parametrize(
    ("possible", "reported"),
    [("4.46.1", True), ("4.45.0", False), ("4.48.0", False), (None, False)],
)
def test_an_observation_of_some_versions_asks_for_all_that_are_possible(possible: str | None, reported: bool) -> None:
    known = {"transformers": VersionRange(possible, possible)} if possible else {}
    bounded = seen(package="trl", since="4.46", until="4.48")
    versions = Versions({"trl": known["transformers"]} if known else {})
    assert bool(findings(rule(**REJECTED), observations=[bounded], versions=versions)) is reported


def test_observations_without_a_run() -> None:
    found = engine.observed([seen()], [rule(**REJECTED), rule(**SHORT)])
    assert [one.message for one in found] == ["Trainer: because"]


def test_the_same_thing_seen_and_computed_is_one_finding() -> None:
    checks = [
        {"when": "epochs > 15", "level": "note", "at": ["epochs"], "message": "computed"},
        {"observation": "rejected", "level": "warning", "at": ["epochs"], "message": "seen"},
    ]
    found = findings(rule(checks=checks), epochs=20, observations=[seen()])
    assert [(one.level, one.message) for one in found] == [("warning", "seen")]
    found = findings(rule(checks=checks, first_only=True), epochs=20, observations=[seen()])
    assert [one.message for one in found] == ["computed"]


# Softening ------------------------------------------------------------------------------------------------------------


def test_smoke_runs_soften_the_families_that_say_so() -> None:
    world = scenarios(rows=100)
    world.run.smoke = True
    assert engine.check(world, [smoke_rule("note", **SHORT)])[0][0].level == "note"
    assert engine.check(world, [rule(**SHORT)])[0][0].level == "warning"


def test_placeholder_data_makes_notes_of_what_rests_on_it() -> None:
    world = scenarios(counted=10, epochs=20)
    world.run.placeholder = True
    assert engine.check(world, [rule(**SHORT)])[0][0].level == "note"
    assert engine.check(world, [rule(when="epochs > 15")])[0][0].level == "warning"
    # The other side of the `or` rests on the records, but is not what holds.
    assert engine.check(world, [rule(when="epochs > 15 or records < 50")])[0][0].level == "warning"


def test_no_error_rests_on_an_estimate_and_only_notes_on_a_table() -> None:
    run = make_run(gpus=1)
    run.settings["rows"] = Known(100, ESTIMATED, basis=4)
    hard = rule(level="error", **SHORT)
    assert engine.check(engine_scenarios(run), [hard])[0][0].level == "warning"
    run.settings["rows"] = Known(100, COUNTED, basis=ON_TABLE)
    assert engine.check(engine_scenarios(run), [hard])[0][0].level == "note"


def engine_scenarios(run: Any) -> Any:
    from epochlint.run.scenarios import Scenarios

    return Scenarios(run)


def test_the_settings_have_the_last_word() -> None:
    capped = rule(level="error", **SHORT)
    capped.ceiling = "note"
    assert findings(capped, rows=100)[0].level == "note"
    lowered = rule(thresholds={"least": 50}, when="total_steps < threshold.least")
    lowered.thresholds["least"] = 10
    assert findings(lowered, rows=100) == []


# Joining --------------------------------------------------------------------------------------------------------------


def test_a_rule_replaces_another_at_the_same_place_only() -> None:
    strong = rule(code="TST001", when="epochs > 50", at=["epochs"], supersedes=["TST002"])
    weak = rule(code="TST002", name="other", when="epochs > 15", at=["epochs"])
    elsewhere = rule(code="TST002", name="other", when="epochs > 15", at=["per_device_batch"])
    assert [one.code for one in findings(strong, weak, epochs=60)] == ["TST001"]
    assert [one.code for one in findings(strong, weak, epochs=20)] == ["TST002"]
    assert len(findings(strong, elsewhere, epochs=60, per_device_batch=4)) == 2


# Places and fixes -----------------------------------------------------------------------------------------------------


def test_the_place_is_the_first_that_is_written() -> None:
    short = rule(at=["max_steps", "epochs"], **SHORT)
    assert findings(short, rows=100, epochs=3)[0].span.text == "epochs"
    assert findings(short, rows=100, max_steps=10, epochs=3)[0].span.text == "max_steps"
    run_span = findings(short, rows=100)[0].span
    assert run_span.start == 0


def test_related_places_stand_beside_it() -> None:
    short = rule(at=["per_device_batch"], related=[{"at": ["epochs"], "say": "{epochs:pass}"}], **SHORT)
    assert [(text, span.text) for text, span in findings(short, rows=100, per_device_batch=8, epochs=3)[0].related] == [
        ("3 passes", "epochs")
    ]
    assert findings(short, rows=100, per_device_batch=8)[0].related == []


EDIT: dict[str, Any] = {"setting": "scheduler", "to": "constant_with_warmup", "title": "warm up", "safe": False}


def test_an_edit_replaces_a_plain_word_and_nothing_else() -> None:
    constant = rule(when='scheduler == "constant"', at=["scheduler"], edit=EDIT)
    fix = findings(constant, scheduler="constant")[0].fix
    assert fix is not None
    assert [(edit.span.text, edit.text) for edit in fix.edits] == [("constant", "constant_with_warmup")]
    run = make_run(scheduler="constant")
    run.settings["scheduler"].span = run.source.span(0, 4)  # a name that holds the word, not the word
    found = engine.check(engine_scenarios(run), [constant])[0]
    assert found[0].fix is None


def test_an_edit_keeps_the_quotes() -> None:
    run = make_run(scheduler="constant")
    source = Source("train.py", 'scheduler = "constant"')
    run.settings["scheduler"].span = source.span(12, 22)
    fix = engine.check(engine_scenarios(run), [rule(when='scheduler == "constant"', edit=EDIT)])[0][0].fix
    assert fix is not None
    assert fix.edits[0].span.text == "constant"


# What is missing ------------------------------------------------------------------------------------------------------


def test_what_a_rule_would_need_is_what_a_person_could_tell() -> None:
    assert missing(rule(**SHORT)) == [("TST001", ("records", "gpus"))]
    assert missing(rule(**SHORT), gpus=1) == [("TST001", ("records",))]
    assert missing(rule(**SHORT), rows=1000) == []  # false on one GPU: no number of GPUs makes it hold everywhere
    assert missing(rule(when="total_steps > 50"), rows=1000) == [("TST001", ("gpus",))]
    assert missing(rule(when="settings.model == 'x'"), unknown=("model",)) == [("TST001", ("model",))]
    assert missing(rule(when="settings.model == 'x'")) == []  # this trainer has no such setting
    assert missing(rule(when="at_least('trl', '1.0')")) == [("TST001", ("trl",))]
    assert missing(rule(**SHORT), gpus=1, packing=True, rows=10) == [("TST001", ("tokens",))]


def test_what_differs_by_version_would_need_the_version() -> None:
    odd: dict[str, Any] = {"rows": 100, "gpus": 1, "per_device_batch": 2, "accumulation": 4}
    assert missing(rule(when="total_steps == 39"), eras=ERAS, **odd) == [("TST001", ("transformers",))]


# Pedantry -------------------------------------------------------------------------------------------------------------


def test_pedantry_says_on_how_many_gpus_a_finding_holds() -> None:
    found = findings(rule(message="{total_steps:step}", **SHORT), pedantic=True, rows=1000)
    assert [one.message for one in found] == ["48 steps (on 8 or more GPUs)"]
    found = findings(rule(when="total_steps > 50"), pedantic=True, rows=1000)
    assert [one.message for one in found] == ["here (on at most 7 GPUs)"]
    assert findings(rule(when="total_steps > 5000"), pedantic=True, rows=1000) == []


def test_pedantry_finds_the_exact_bound_between_the_numbers_tried() -> None:
    found = findings(rule(when="total_steps < 40"), pedantic=True, rows=1000)
    assert found[0].message == "here (on 10 or more GPUs)"


def test_pedantry_says_with_which_version_a_finding_holds() -> None:
    odd: dict[str, Any] = {"rows": 100, "gpus": 1, "per_device_batch": 2, "accumulation": 4}
    found = findings(rule(when="total_steps == 39"), pedantic=True, eras=ERAS, **odd)
    assert [one.message for one in found] == ["here (transformers >= 4.52)"]


def test_pedantry_changes_nothing_where_all_is_known() -> None:
    for rows in (100, 5000):
        plain = findings(rule(**SHORT), rows=rows, gpus=1)
        assert [one.message for one in findings(rule(**SHORT), pedantic=True, rows=rows, gpus=1)] == [
            one.message for one in plain
        ]


# Baselines ------------------------------------------------------------------------------------------------------------

GROWN: dict[str, Any] = {
    "when": "effective_batch / baseline.effective_batch >= 4",
    "message": "{baseline.label} {baseline.kind}",
}


def test_a_baseline_is_asked_for_by_name() -> None:
    before = engine.Baseline(scenarios(per_device_batch=2), "revision", "HEAD")
    assert [one.message for one in findings(rule(**GROWN), baseline=before, per_device_batch=8)] == ["HEAD revision"]
    assert findings(rule(**GROWN), baseline=before, per_device_batch=4) == []
    assert findings(rule(**GROWN), per_device_batch=8) == []
    assert missing(rule(**GROWN), per_device_batch=8) == []


def test_gpus_that_are_known_on_one_side_only_say_nothing() -> None:
    before = scenarios(per_device_batch=2, gpus=1)
    assert findings(rule(**GROWN), baseline=before, per_device_batch=8) == []
    assert len(findings(rule(**GROWN), baseline=before, per_device_batch=8, gpus=1)) == 1
    assert findings(rule(**GROWN), baseline=scenarios(per_device_batch=2), per_device_batch=8, gpus=64) == []


def test_of_several_baselines_the_first_with_a_finding_speaks() -> None:
    near, far = (engine.Baseline(scenarios(per_device_batch=size), "sibling", str(size)) for size in (4, 2))
    assert [one.message for one in findings(rule(**GROWN), baseline=[near, far], per_device_batch=8)] == ["2 sibling"]


def test_a_rule_that_says_nothing_of_a_place_is_refused() -> None:
    with pytest.raises(ValueError, match="every run would be reported"):
        Page.model_validate(
            {"code": "TST001", "name": "x", "family": "TST", "summary": "x", "level": "note", "message": "x"}
        )
    assert issubclass(RuleFileError, ValueError)
