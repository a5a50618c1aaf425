"""Any value under any key gives a run, whose facts can be asked for: never a traceback."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from epochlint.run.known import Known
from epochlint.run.scenarios import Scenarios
from epochlint.run.versions import Versions, specified
from epochlint.trainers import hf_args, tables, trl
from epochlint.trainers.trainer import Layer, Reading
from tests.trainers.hf.readings import yaml

KEYS = sorted(
    {
        *tables.load("trl", "GRPOConfig").names(),
        *tables.load("trl", "SFTConfig").names(),
        *tables.load("trl", "ModelConfig").names(),
        "_target_", "accelerate_config", "dataset_mixer", "max_train_samples", "num_processes", "rloo_k",
    }
)  # fmt: skip
VALUES = (
    "1", "0", "-1", "8", "1.5", "0.1", "2e-5", "1e400", ".nan", ".inf", "true", "no", "~", '""', '"8"', "[1, 2]",
    "{a: 1}",
    "[]", "{}", "None", "010", "1:30", "10%", '"${x}"', "<X>", "99999999999999999999999", "-0.0", "2024-01-01", "steps",
    "epoch", "best", "constant", "polynomial", "inverse_sqrt", "sigmoid", "trl.SFTConfig", "zero2",
)  # fmt: skip
RANGES = (None, "==4.36.2", ">=4.52", "<4.42", "==5.24.0", "==99", "==0.15.2")
COMMANDS = ((), ("trl", "grpo"), ("call", "trl.GRPOConfig"), ("call", "trl.KTOConfig"), ("python", "x.py"))


@settings(max_examples=150)
@given(
    entries=st.dictionaries(st.sampled_from(KEYS), st.sampled_from(VALUES), min_size=1, max_size=30),
    via=st.sampled_from(("", "call", "parse_yaml_file", "TrlParser")),
    command=st.sampled_from(COMMANDS),
    version=st.sampled_from(RANGES),
    rows=st.sampled_from((None, 0, 1, 1000)),
)
def test_a_run_comes_of_it(
    entries: dict[str, str], via: str, command: tuple[str, ...], version: str | None, rows: int | None
) -> None:
    document = yaml("".join(f"{key}: {value}\n" for key, value in entries.items()))
    versions = Versions({} if version is None else {name: specified(version) for name in ("transformers", "trl")})
    for trainer in (hf_args, trl):
        trainer.recognise(document)
        reading = Reading(document, [Layer(next(document.mappings()))], versions, via=via, command=command)
        run = trainer.read(reading)
        if rows is not None:
            run.settings["rows"] = Known(rows)
        assert run.eras
        for budget in Scenarios(run):
            for name in ("total_steps", "warmup_steps", "evaluations", "checkpoints"):
                budget.fact(name)
