"""The shapes of records and what counts as a message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from epochlint.records import count, messages_of, tally

USER = {"role": "user", "content": "q"}
ANSWER = {"role": "assistant", "content": "a"}
PARTS = [{"role": "user", "parts": [{"text": "q"}]}, {"role": "model", "parts": [{"text": "a"}]}]


@pytest.mark.parametrize(
    ("record", "shape", "messages", "turns"),
    [
        ({"messages": [{"role": "system", "content": "s"}, USER, ANSWER, USER, ANSWER]}, "messages", 5, 2),
        ({"messages": [USER, ANSWER], "tools": []}, "messages", 2, 1),
        ({"messages": [USER], "label": "42"}, "messages", 1, 0),
        ({"messages": []}, "messages", 0, 0),
        ({"system": "s", "messages": [USER, ANSWER]}, "messages", 2, 1),
        ({"conversations": [USER, ANSWER]}, "messages", 2, 1),
        ({"messages": [USER, {"role": "assistant", "tool_calls": [{}]}, {"role": "tool"}, ANSWER]}, "messages", 4, 2),
        ({"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}, "sharegpt", 2, 1),
        ({"messages": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]}, "sharegpt", 2, 1),
        (
            {"conversations": [{"from": "human", "value": "q"}, {"from": "function_call", "value": "f"},
                               {"from": "observation", "value": "o"}, {"from": "gpt", "value": "a"}]},
            "sharegpt", 4, 2,
        ),
        ({"instruction": "i", "input": "", "output": "o"}, "alpaca", 2, 1),
        ({"instruction": "i", "output": "o", "history": [["q", "a"], ["r", "b"]]}, "alpaca", 6, 3),
        ({"instruction": "i", "context": "", "response": "o"}, "alpaca", 2, 1),
        ({"prompt": "p", "completion": "c"}, "prompt-completion", None, None),
        ({"prompt": "p", "response": "c"}, "prompt-completion", None, None),
        ({"prompt": [USER], "completion": [ANSWER]}, "prompt-completion", 2, 1),
        ({"prompt": [USER]}, "prompt-only", 1, 0),
        ({"prompt": "p"}, "prompt-only", None, None),
        ({"prompt": "p", "completion": "c", "label": True}, "kto", None, None),
        ({"messages": [USER, ANSWER], "label": False}, "kto", 2, 1),
        ({"conversations": [{"from": "human", "value": "q"}], "kto_tag": True}, "kto", 1, 0),
        ({"text": "x"}, "text", None, None),
        ("x", "text", None, None),
        ({"input_ids": [1], "labels": [1]}, "tokenized", None, None),
        ({"prompt": "p", "chosen": "a", "rejected": "b"}, "preference", None, None),
        ({"chosen": [USER, ANSWER], "rejected": [USER, ANSWER]}, "preference", 4, 1),
        ({"prompt": [USER], "chosen": [ANSWER], "rejected": [ANSWER]}, "preference", 3, 1),
        (
            {"conversations": [{"from": "human", "value": "q"}], "chosen": {"from": "gpt", "value": "a"},
             "rejected": {"from": "gpt", "value": "b"}},
            "preference", 3, 1,
        ),
        ({"instruction": "i", "input": "", "chosen": "a", "rejected": "b"}, "preference", None, None),
        (
            {"input": {"messages": [USER]}, "preferred_output": [ANSWER], "non_preferred_output": [ANSWER]},
            "preference", 3, 1,
        ),
        ({"input": {"messages": [USER]}, "preferred_output": [ANSWER]}, "preference", 2, 1),
        ({"contents": PARTS * 2, "systemInstruction": {"role": "system"}}, "provider-vertex", 4, 2),
        ({"contents": PARTS[:1], "completions": [{"score": 1}, {"score": 0}]}, "preference", 3, 1),
        ({"textInput": "i", "output": "o"}, "provider-gemini", None, None),
        ({"text_input": "i", "output": "o"}, "provider-gemini", None, None),
        (
            {"schemaVersion": "bedrock-conversation-2024", "system": [{"text": "s"}], "messages": [USER, ANSWER]},
            "provider-bedrock", 2, 1,
        ),
        (
            {"schemaVersion": "bedrock-conversation-2024",
             "messages": [USER, {"role": "assistant", "candidates": [{}, {}]}]},
            "preference", 2, 1,
        ),
        (
            {"messages": [{"role": "System"}, {"role": "User"}, {"role": "Chatbot"}]}, "provider-cohere", 3, 1,
        ),
        ([USER, ANSWER], "provider-databricks", 2, 1),
        ({"interactions": [{"is_user": True, "text": "q"}, {"is_user": False, "text": "a"}]}, "provider-mistral", 2, 1),
        ({"messages": [{"role": ["x"]}, {"from": {}}]}, "messages", 2, 0),
        ({"question": "q", "answer": "a"}, "unknown", None, None),
        ({}, "unknown", None, None), ([], "unknown", None, None),
        (None, "unknown", None, None), (7, "unknown", None, None),
        ({"messages": "text"}, "unknown", None, None), ({"messages": None, "text": "x"}, "text", None, None),
        ({"messages": [1, None, "x", {"role": ["assistant"]}]}, "messages", 4, 0),
        ({"chosen": None, "rejected": None}, "preference", None, None), ({"prompt": None}, "prompt-only", None, None),
        ({"input": None, "preferred_output": None}, "preference", None, None),
        ({"contents": "x"}, "unknown", None, None), ({"conversations": []}, "unknown", None, None),
        ({"instruction": 1, "output": None, "history": "x"}, "alpaca", 2, 1),
    ],
)  # fmt: skip
def test_tally(record: Any, shape: str, messages: int | None, turns: int | None) -> None:
    assert tally(record) == (shape, messages, turns)
    messages_of(record)  # whatever it is, no traceback


def lines(folder: Path, *records: Any) -> str:
    path = folder / "data.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def test_messages_and_turns_of_a_file(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "system", "content": "s"}, USER, ANSWER, USER, ANSWER]}
    found = count(lines(tmp_path, chat, chat, {"messages": [USER, ANSWER]}))
    assert found is not None
    assert (found.rows, found.shape, found.messages, found.assistant_turns) == (3, "messages", 12, 5)
    assert found.conversations_multi == 2


def test_the_shape_is_that_of_most_rows(tmp_path: Path) -> None:
    found = count(lines(tmp_path, {"text": "a"}, {"text": "b"}, {"messages": [USER, ANSWER]}))
    assert found is not None
    assert (found.shape, found.messages, found.assistant_turns) == ("text", None, None)


def test_alpaca_has_messages_only_with_history(tmp_path: Path) -> None:
    plain = {"instruction": "i", "input": "", "output": "o", "history": []}
    found = count(lines(tmp_path, plain, plain))
    assert found is not None
    assert (found.shape, found.messages, found.assistant_turns, found.conversations_multi) == ("alpaca", None, None, 0)
    found = count(lines(tmp_path, plain, {**plain, "history": [["q", "a"]]}))
    assert found is not None
    assert (found.messages, found.assistant_turns, found.conversations_multi) == (6, 3, 1)


def test_turns_can_be_left_out(tmp_path: Path) -> None:
    path = lines(tmp_path, *[{"messages": [USER, ANSWER]}] * 5000)
    found = count(path, turns=False)
    assert found is not None
    assert (found.rows, found.shape, found.estimated) == (5000, "messages", False)
