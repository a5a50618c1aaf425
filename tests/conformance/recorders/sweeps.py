"""Record the runs of Weights & Biases sweeps: what the grid and the random search suggest, and the words that an agent
starts for each.

    python tests/conformance/recorders/sweeps.py --out FILE

Real code: ``sweeps`` (``next_runs``: validation of the config, the grid, the distributions) and wandb's agent
(``create_sweep_command_args`` and the replacement of ``${...}`` as in ``wandb_agent.py``). Stood in for: the service
between them, which hands the suggested values to the agent unchanged.
"""

from __future__ import annotations

import copy
from typing import Any

import recording

MOST = 70  # runs of one sweep that are asked for
RATE = {"learning_rate": {"values": [0.0001, 0.0002]}}
MACROS = (
    "${args}", "${args_no_boolean_flags}", "${args_no_hyphens}", "${args_no_equals}", "${args_append_hydra}",
    "${args_override_hydra}", "${args_json}", "${args_json_file}",
)  # fmt: skip


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: the sweep file."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, parameters: dict[str, Any], method: str = "grid", **more: Any) -> None:
        out[name] = {"sweep": {"program": "train.py", "method": method, "parameters": parameters, **more}}

    add("grid/one", RATE)
    add("grid/two", {**RATE, "num_train_epochs": {"values": [1, 2, 3]}})
    add("grid/value", {**RATE, "warmup_steps": {"value": 100}, "seed": {"value": None}})
    add("grid/text", {"lr_scheduler_type": {"values": ["cosine", "linear"]}, "note": {"value": "a b"}})
    add("grid/booleans", {"bf16": {"values": [True, False]}, "packing": {"value": False}, "fp16": {"value": True}})
    add("grid/int range", {"num_train_epochs": {"min": 1, "max": 4}})
    add("grid/named int range", {"num_train_epochs": {"distribution": "int_uniform", "min": 1, "max": 3}})
    add("grid/float range", {"learning_rate": {"min": 0.0001, "max": 0.001}})
    add("grid/steps of a range", {"learning_rate": {"distribution": "q_uniform", "min": 0.1, "max": 0.5, "q": 0.2}})
    add("grid/categorical", {"learning_rate": {"distribution": "categorical", "values": [0.0001, 0.001]}})
    add("grid/constant", {**RATE, "batch_size": {"distribution": "constant", "value": 8}})
    add("grid/probabilities", {"learning_rate": {"values": [0.0001, 0.001], "probabilities": [0.5, 0.5]}})
    add(
        "grid/nested",
        {**RATE, "optimizer": {"parameters": {"name": {"value": "adamw"}, "beta": {"values": [0.9, 0.95]}}}},
    )
    add("grid/lists", {**RATE, "layers": {"values": [[1, 2], [3]]}})
    add("grid/many", {f"p{index}": {"values": [0, 1]} for index in range(6)})
    add("grid/equal values", {"learning_rate": {"values": [0.001, 0.001]}})
    for name, block in {
        "uniform": {"min": 0.0, "max": 0.1},
        "ints": {"min": 1, "max": 8},
        "log_uniform_values": {"distribution": "log_uniform_values", "min": 1e-5, "max": 1e-3},
        "inv_log_uniform_values": {"distribution": "inv_log_uniform_values", "min": 1e-5, "max": 1e-3},
        "log_uniform": {"distribution": "log_uniform", "min": -9, "max": -7},
        "q_log_uniform_values": {"distribution": "q_log_uniform_values", "min": 8, "max": 64, "q": 8},
        "normal": {"distribution": "normal", "mu": 0.1, "sigma": 0.01},
        "beta": {"distribution": "beta", "a": 1, "b": 2},
        "values": {"values": [1, 2, 4]},
    }.items():
        add(f"random/{name}", {"x": block, "y": {"value": 1}}, "random")
    mixed = {**RATE, "bf16": {"values": [True, False]}, "optimizer.lr": {"value": 0.5}}
    for macro in MACROS:
        add(f"command/{macro[2:-1]}", mixed, command=["${env}", "${interpreter}", "${program}", macro])
    add(
        "command/words", RATE, command=["accelerate", "launch", "--num_processes", 2, "${program}", "--bf16", "${args}"]
    )
    add(
        "command/unknown",
        RATE,
        command=["${env}", "${interpreter}", "${program}", "--seed", "${envvar:SEED}", "${args}"],
    )
    add("command/no program", RATE, command=["python", "other.py", "${args}"])
    return out


def run(case: dict[str, Any]) -> dict[str, Any]:
    """The words of each run's command, without interpreter and environment."""
    import numpy
    import sweeps
    from wandb.sdk.launch.sweeps import utils

    config = copy.deepcopy(case["sweep"])
    numpy.random.seed(7)
    sweeps.SweepConfig(copy.deepcopy(config))  # it refuses some; with newer jsonschema it forgets nested parameters
    suggested: list[Any] = []
    while len(suggested) < (MOST if config["method"] == "grid" else 12):
        found = sweeps.next_run(config, suggested)
        if found is None:
            break
        suggested.append(found)
    commands = []
    for one in suggested:
        told = utils.create_sweep_command_args({"args": one.config})
        told["interpreter"], told["program"], told["env"] = ["python"], [config["program"]], ["/usr/bin/env"]
        told["args_json_file"] = ["config.json"]
        words: list[str] = []
        for chunk in utils.create_sweep_command(list(config.get("command", [])) or None):
            text = str(chunk)
            macro = text.startswith("${") and text.endswith("}")
            words += list(told.get(text[2:-1]) or []) if macro else [text]
        commands.append(words)
    return {"runs": len(commands), "commands": commands}


def main() -> None:
    """Record the cases that are asked for."""
    options = recording.arguments(__doc__ or "", "sweeps.json")
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "sweeps", "wandb")


if __name__ == "__main__":
    main()
