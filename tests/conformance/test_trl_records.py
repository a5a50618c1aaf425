"""TRL's trainers on awkward files, recorded in six versions, against epochlint."""

from __future__ import annotations

from typing import Any

import pytest

from epochlint.run.versions import version_key
from tests.conformance import records
from tests.conformance.recorded import load

RESULTS = load("trl_records")["results"]


def project(case: dict[str, Any], data: str, version: str) -> tuple[dict[str, str], dict[str, object], list[str]]:
    kind, args = case["kind"], dict(case["args"])
    if "length" in args:
        args["max_length" if version_key(version) >= version_key("0.16") else "max_seq_length"] = args.pop("length")
    name = {"reward": "Reward"}.get(kind, kind.upper())
    keywords = "".join(f", {key}={value!r}" for key, value in args.items())
    script = (
        "from datasets import load_dataset\n"
        f"from trl import {name}Config, {name}Trainer\n"
        "data = load_dataset('json', data_files='data.jsonl', split='train')\n"
        f"args = {name}Config(output_dir='out'{keywords})\n"
        f"trainer = {name}Trainer('org/tiny', args=args, train_dataset=data)\n"
        "trainer.train()\n"
    )
    assume = {"trl": version, "transformers": RESULTS[version]["transformers"], "gpus": 1}
    return {"train.py": script, "data.jsonl": data}, assume, ["train.py"]


# File -> why the error that the loader ends in is not foreseen.
UNFORESEEN = {
    "blank answer": "whether an empty text has tokens is the tokenizer's word",
    "empty answer": "whether an empty text has tokens is the tokenizer's word",
    "list as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "list content": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "message without text": "what a chat template makes of it is the template's word",
    "nested nulls": "datasets 4.5 stumbles over a null among the objects of a list, 5.2 does not",
    "nothing but odd": "whether an empty text has tokens is the tokenizer's word",
    "null answer": "what a chat template makes of it is the template's word",
    "null answer first": "what a chat template makes of it is the template's word",
    "null question": "what a chat template makes of it is the template's word",
    "null thinking": "what a chat template makes of it is the template's word",
    "number as answer": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "role that is null": "what a chat template makes of it is the template's word",
    "thinking parts": "datasets before 4.7 refuses a column of several types, newer ones take it",
    "tool calls": "what a chat template makes of it is the template's word",
    "tool calls at the end": "what a chat template makes of it is the template's word",
    "tool calls, null text": "what a chat template makes of it is the template's word",
}

# Version -> how many runs fall into each word of records.py.
COUNTS = {
    "0.16.0": {"equal": 262, "foreseen": 159, "missed": 19, "open": 30, "silent": 22},
    "0.24.0": {"equal": 304, "foreseen": 184, "missed": 36, "open": 31, "silent": 21},
    "1.9.0": {"equal": 296, "foreseen": 184, "missed": 23, "open": 52, "silent": 21},
    "1.16.0": {"equal": 319, "foreseen": 184, "open": 53, "silent": 20},
}


@pytest.mark.parametrize("version", COUNTS)
def test_records(version: str) -> None:
    records.compare(records.judged("trl_records", project, version), UNFORESEEN, COUNTS[version])
