"""Dotted flags under their paths."""

from __future__ import annotations

from epochlint.documents.document import Mapping, Scalar
from epochlint.project.launch import interpret
from epochlint.trainers.trainer import nested
from tests.documents.shell.helpers import commands
from tests.helpers import check_project


def test_dotted_flags_of_one_section_stand_beside_each_other() -> None:
    (start,) = filter(None, map(interpret, commands("python train.py data.a=1 b=2 data.c.d=3 data.c.e=4")))
    found = nested(start.arguments)
    values = {path: found.find(*path.split(".")) for path in ("data.a", "b", "data.c.d", "data.c.e")}
    assert [entry.value.raw for entry in values.values() if entry and isinstance(entry.value, Scalar)] == list("1234")
    assert isinstance(found.get("data"), Mapping)


def test_a_launch_of_dotted_flags_is_read_whole() -> None:
    flags = "--train.global_batch_size 8 --train.micro_batch_size 2 --train.max_steps 900 --train.lr_warmup_steps 10"
    line = f"litgpt finetune_lora checkpoints/m --data JSON --data.json_path data.json {flags}\n"
    report = check_project({"run.sh": line}, {"records": 800})
    (run,) = report.runs
    facts = run.scenarios
    # A twentieth is held out of one JSON file; five epochs of 95 steps are the default.
    assert [facts.fact(name).value for name in ("records", "effective_batch", "total_steps")] == [760, 8, 475]
    assert facts.fact("tuning").value == "lora"
    assert [(finding.code, finding.level) for finding in report.findings] == [("STP002", "warning")]
