"""Awkward data files: what people's files look like, and what loaders stumble over, in each form of a record.

Every file holds five plain records of a form, and something odd: between them, around them, or in records of its own.

    python tests/conformance/recorders/awkward.py

writes them to data/awkward.json, from where recorders and tests read them. Each recorded case names its file and the
checksum of its text, so that a recording that is older than its files is found.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from typing import Any

PLACE = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "data", "awkward.json")
LIMIT = 256
"""The sequence length that the configs of the recordings have, in tokens of one word each."""

Row = Any
LONG = 450  # words: certainly more than the limit
NEAR = 200  # words: only a tokenizer can tell
PLAIN = 5

FORMS = (
    "alpaca", "messages", "sharegpt", "prompt-completion", "query-response", "text", "preference",
    "preference messages", "sharegpt preference", "unpaired", "segments",
)  # fmt: skip
CONVERSATIONS = {
    # form: key of the list, of the role and of the text, words for system, user, assistant, tool
    "messages": ("messages", "role", "content", ("system", "user", "assistant", "tool")),
    "sharegpt": ("conversations", "from", "value", ("system", "human", "gpt", "observation")),
}
FLAT = {
    # form: keys of question and answer, and what else a record has
    "alpaca": ("instruction", "output", {"input": ""}),
    "prompt-completion": ("prompt", "completion", {}),
    "query-response": ("query", "response", {}),
    "text": (None, "text", {}),
}


def words(count: int, start: int = 0) -> str:
    return " ".join(f"w{(start + index) % 50}" for index in range(count))


def conversation(form: str, *turns: tuple[str, Any], **more: Any) -> Row:
    """A record of (side, text) turns; a side is "system", "user", "assistant", "tool" or any other word as it is."""
    key, role, text, sides = CONVERSATIONS[form]
    names = dict(zip(("system", "user", "assistant", "tool"), sides, strict=True))
    return {key: [{role: names.get(side, side), text: said} for side, said in turns], **more}


def record(form: str, question: Any, answer: Any, **more: Any) -> Row:
    """A record of one question and one answer."""
    if form in CONVERSATIONS:
        return conversation(form, ("user", question), ("assistant", answer), **more)
    if form == "preference":
        return {"prompt": question, "chosen": answer, "rejected": "w9", **more}
    if form == "preference messages":
        asked = {"role": "user", "content": question}
        said = [{"role": "assistant", "content": text} for text in (answer, "w9")]
        return {"chosen": [asked, said[0]], "rejected": [asked, said[1]], **more}
    if form == "sharegpt preference":
        said = [{"from": "gpt", "value": text} for text in (answer, "w9")]
        return {"conversations": [{"from": "human", "value": question}], "chosen": said[0], "rejected": said[1], **more}
    if form == "unpaired":
        return {"prompt": question, "completion": answer, "label": True, **more}
    if form == "segments":
        parts = [{"label": False, "text": question}, {"label": True, "text": answer}]
        return {"segments": parts, **more}
    asked, said, rest = FLAT[form]
    return {**({asked: question} if asked else {}), **rest, said: answer, **more}


def plain(form: str, number: int = 0) -> Row:
    return record(form, words(4, number), words(5, number + 10), **({"label": number % 2 == 0} if form == "unpaired"
    else {}))  # fmt: skip


def _lines(rows: list[Row]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def _with(form: str, *odd: Row) -> str:
    """Two plain records, the odd ones, three plain records."""
    rows = [plain(form, number) for number in range(PLAIN)]
    return _lines([*rows[:2], *odd, *rows[2:]])


def files(form: str) -> dict[str, str]:
    """Name -> text of the file."""
    rows = [plain(form, number) for number in range(PLAIN)]
    text = _lines(rows)
    whole = json.dumps(rows[0])
    out = {
        "plain": text,
        "blank lines": "\n" + text.replace("\n", "\n\n") + "  \n\t\n",
        "byte order mark": "\ufeff" + text,
        "carriage returns": text.replace("\n", "\r\n"),
        "no final newline": text[:-1],
        "json array": json.dumps(rows, indent=1) + "\n",
        "array on one line": json.dumps(rows),
        "empty file": "",
        "only blank lines": "\n\n \n",
        "broken last line": text + whole[: len(whole) // 2],
        "two records on a line": text + whole + " " + whole + "\n",
        "unicode line separators": _lines(rows[:3]) + _raw(record(form, "w1\u2028w2", "w3\u2029w4\u0085w5")),
        "duplicate rows": text + text,
        "extra columns": _with(form, {**plain(form, 7), "source": "here", "score": 0.5, "tags": ["a"]}),
        "row that is null": _with(form, None),
        "row that is a list": _with(form, [plain(form, 7)]),
        "missing key": _with(form, _without_answer(form)),
        "null answer": _with(form, record(form, words(4), None)),
        "empty answer": _with(form, record(form, words(4), "")),
        "blank answer": _with(form, record(form, words(4), "  \n")),
        "empty question": _with(form, record(form, "", words(5))),
        "number as answer": _with(form, record(form, words(4), 42)),
        "over-long": _with(form, record(form, words(4), words(LONG)), record(form, words(LONG), words(5))),
        "very long": _with(form, record(form, words(4), words(3000))),
        "near the limit": _with(form, record(form, words(NEAR), words(5))),
        "nothing but odd": _lines([record(form, words(4), ""), record(form, words(4), "")]),
        "one record": whole + "\n",
        "one record without newline": whole,
        "indented lines": "".join(f"  {json.dumps(row)} \t\n" for row in rows),
        "commas between lines": ",\n".join(map(json.dumps, rows)) + "\n",
        "records over several lines": "".join(json.dumps(row, indent=1) + "\n" for row in rows),
        "broken line in the middle": _with_text(form, whole[: len(whole) // 2] + "\n"),
        "line of words": _with_text(form, "no record\n"),
        "duplicate keys": _with_text(form, _twice(plain(form, 7))),
        "null question": _with(form, record(form, None, words(5))),
        "nothing but nulls": _with(form, dict.fromkeys(plain(form))),
        "row of another form": _with(form, plain("alpaca" if form != "alpaca" else "messages", 7)),
        "ids in every row": _lines([{"id": number, **row} for number, row in enumerate(rows)]),
        "null answer first": _lines([record(form, words(4), None), *rows]),
        "missing key first": _lines([_without_answer(form), *rows]),
        "row of another form first": _lines([plain("alpaca" if form != "alpaca" else "messages", 7), *rows]),
        "list as answer": _with(form, record(form, words(4), ["w1", "w2"])),
        "nested nulls": _with(form, {**plain(form, 7), "meta": {"a": None, "b": [None, {"c": None}]}}),
        "numbers that are none": _with(form, {**plain(form, 7), "score": float("nan"), "most": float("inf")}),
        "half a surrogate": _with(form, record(form, "w1 \ud83d", words(5))),
        "zero character": _with(form, record(form, "w1\0w2", words(5))),
        "escaped keys": _with_text(form, _escaped(plain(form, 7))),
    }
    if "preference" in form:
        out.update(_pairs(form))
    return {**out, **(_conversations(form) if form in CONVERSATIONS else {})}


def _with_text(form: str, odd: str) -> str:
    """As `_with`, with lines as they stand."""
    rows = [plain(form, number) for number in range(PLAIN)]
    return _lines(rows[:2]) + odd + _lines(rows[2:])


def _twice(row: Row) -> str:
    """A line whose last key stands there twice, the first time with nothing."""
    key = list(row)[-1]
    return f"{{{json.dumps(key)}: null, {json.dumps(row)[1:]}\n"


def _escaped(row: Row) -> str:
    """A line whose keys are written with an escape each: the same record."""
    parts = (f'"\\u{ord(key[0]):04x}{key[1:]}": {json.dumps(value)}' for key, value in row.items())
    return f"{{{', '.join(parts)}}}\n"


def _pairs(form: str) -> dict[str, str]:
    """Pairs whose two answers are odd together."""
    row = plain(form, 7)

    def answered(text: str) -> Any:
        """The answer's side of a record that asks the same."""
        return record(form, words(4, 7), text)["chosen"]

    def one(**changes: Any) -> str:
        return _with(form, {**row, **changes})

    return {
        "equal answers": one(rejected=row["chosen"]),
        "null rejected": one(rejected=None),
        "empty rejected": one(rejected=answered("")),
        "both answers empty": one(chosen=answered(""), rejected=answered("")),
        "missing rejected": _with(form, {key: value for key, value in row.items() if key != "rejected"}),
        "long rejected": one(rejected=answered(words(LONG))),
        "long prompt": _with(form, record(form, words(LONG), words(5))),
        "other prompt": one(rejected=plain(form, 3)["rejected"]),
    }


def array_files(form: str) -> dict[str, str]:
    """The files as one array each, where their lines are odd by what stands in them: name -> text."""
    found = {}
    for name, text in files(form).items():
        lines = text.split("\n")[:-1]
        if len(lines) > 1 and all(line.startswith(("{", "null", "[")) for line in lines) and "array" not in name:
            found[name] = "[" + ",\n".join(lines) + "]\n"
    text = found["plain"]
    return {
        **found,
        "byte order mark": "\ufeff" + text,
        "carriage returns": text.replace("\n", "\r\n"),
        "no final newline": text[:-1],
        "empty array": "[]",
        "blank lines before": "\n \n" + text,
        "comma at the end": text.replace("]\n", ",]\n"),
        "without end": text[:-2],
        "two arrays": text + text,
        "one record": json.dumps([plain(form)]) + "\n",
        "one object": json.dumps(plain(form), indent=1) + "\n",
        "rows in an object": json.dumps({"data": json.loads(text)}) + "\n",
        "array in an array": f"[{text}]",
    }


def tool_files() -> dict[str, str]:
    """Conversations with tools: name -> text of the file."""
    told = {"name": "f", "description": "d", "parameters": {"type": "object", "properties": {}}}
    tools = [{"type": "function", "function": told}]
    asks = {"role": "user", "content": "w1"}
    calls = {"role": "assistant", "content": "", "tool_calls": [
        {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}  # fmt: skip
    gives = {"role": "tool", "content": "w2", "tool_call_id": "abcdefghi"}
    says = {"role": "assistant", "content": "w3"}
    turn = [asks, calls, gives, says]
    talks: dict[str, Row] = {
        "one turn": {"messages": turn, "tools": tools},
        "two turns": {"messages": [*turn, *turn], "tools": tools},
        "turns without calls": {"messages": [asks, says, asks, says, asks, says], "tools": tools},
        "no tools": {"messages": turn},
        "empty tools": {"messages": turn, "tools": []},
        "available tools": {"messages": [*turn, *turn], "available_tools": tools},
        "system": {"messages": [{"role": "system", "content": "w5"}, *turn, *turn], "tools": tools},
        "interactions": {"interactions": [*turn, *turn], "tools": tools},
        "no answer at the end": {"messages": [*turn, asks], "tools": tools},
        "answer without call id": {"messages": [asks, calls, {"role": "tool", "content": "w2"}, says], "tools": tools},
        "only the last": {"messages": [asks, says, asks, says], "only_last": True},
    }
    return {name: _lines([talk, talk]) for name, talk in talks.items()}


def _raw(row: Row) -> str:
    return json.dumps(row, ensure_ascii=False) + "\n"


def _without_answer(form: str) -> Row:
    row = plain(form, 7)
    if form in CONVERSATIONS:
        return {"id": 7}
    del row[list(row)[-1]]
    return row


def _conversations(form: str) -> dict[str, str]:
    key, role, _, sides = CONVERSATIONS[form]
    asked, said = ("user", words(4)), ("assistant", words(5))
    parts = [{"type": "text", "text": "w1 w2"}]

    def one(*turns: tuple[str, Any], **more: Any) -> str:
        return _with(form, conversation(form, *turns, **more))

    every: dict[str, Callable[[], str]] = {
        "empty conversation": one,
        "null conversation": lambda: _with(form, {key: None}),
        "question only": lambda: one(asked),
        "answer only": lambda: one(said),
        "system only": lambda: one(("system", "w1")),
        "system and question": lambda: one(("system", "w1"), asked),
        "system, question, answer": lambda: one(("system", "w1"), asked, said),
        "system in the middle": lambda: one(asked, ("system", "w1"), said),
        "odd turns": lambda: one(asked, said, asked),
        "answer first": lambda: one(said, asked),
        "answer, question, answer": lambda: one(said, asked, said),
        "two questions": lambda: one(asked, asked, said),
        "two answers": lambda: one(asked, said, said),
        "four turns": lambda: one(asked, said, asked, said),
        "unknown role": lambda: one(("narrator", "w1"), said),
        "tool turns": lambda: one(asked, ("assistant", "w3"), ("tool", "w4"), said),
        "role that is null": lambda: one((None, "w1"), said),  # type: ignore[arg-type] # odd on purpose
        "message without text": lambda: _with(form, {key: [{role: sides[1]}, {role: sides[2]}]}),
        "list content": lambda: one(("user", parts), ("assistant", parts)),
        "message that is a text": lambda: _with(form, {key: ["w1", "w2"]}),
        "long first turn": lambda: one(("user", words(LONG)), said, asked, said),
        "long last turn": lambda: one(asked, said, asked, ("assistant", words(LONG))),
        "null message": lambda: _with(form, {key: [None, *_turns(form, asked, said)]}),
        "roles with capitals": lambda: one(("User", "w1"), ("Assistant", "w2")),
        "roles of another form": lambda: one(("user" if key != "messages" else "human", "w1"), ("gpt" if key ==
            "messages" else "assistant ", "w2")),
        "weights": lambda: _with(form, {key: _turns(form, asked, said, weight=0)}),
        "thinking in tags": lambda: one(asked, ("assistant", "<think>w1 w2</think>w3")),
        "thinking beside": lambda: _with(form, {key: _turns(form, asked, said, reasoning_content="w1 w2")}),
        "thinking parts": lambda: one(asked, ("assistant", [{"type": "thinking", "thinking": "w1"}, *parts])),
        "null thinking": lambda: _with(form, {key: _turns(form, asked, said, reasoning_content=None)}),
        "tool calls": lambda: _with(form, {key: [*_turns(form, asked), _calls(form, ""), *_turns(form, ("tool", "w4"),
            said)]}),
        "tool calls, null text": lambda: _with(form, {key: [*_turns(form, asked), _calls(form, None), *_turns(form,
            ("tool", "w4"), said)]}),
        "tool calls at the end": lambda: _with(form, {key: [*_turns(form, asked), _calls(form, "")]}),
        "tools beside": lambda: one(asked, said, tools=[{"type": "function", "function": {"name": "f"}}]),
        "duplicate keys in a message": lambda: _with_text(form, json.dumps(conversation(form, asked, said)).replace(
            f'"{role}": ', f'"{role}": "x", "{role}": ') + "\n"),
        "prompt in every row": lambda: _lines([{**plain(form, at), "prompt": "w1"} for at in range(PLAIN)]),
        "messages twice": lambda: _with(form, {**conversation(form, asked, said), "prompt": "w1"}),
    }  # fmt: skip
    return {name: make() for name, make in every.items()}


def _turns(form: str, *turns: tuple[str, Any], **more: Any) -> list[Row]:
    """The messages of a conversation, each with further keys."""
    key = CONVERSATIONS[form][0]
    return [{**message, **more} for message in conversation(form, *turns)[key]]


def _calls(form: str, said: Any) -> Row:
    """A message that calls a tool."""
    call = {"id": "abcdefghi", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    return _turns(form, ("assistant", said), tool_calls=[call])[0]


def load() -> dict[str, str]:
    """Form/name -> text, as they were written."""
    with open(PLACE, encoding="utf-8") as stream:
        found: dict[str, str] = json.load(stream)
    return found


def cases(setups: dict[str, tuple[str, dict[str, Any]]], only: str = "") -> dict[str, dict[str, Any]]:
    """Setup/file -> case. setups: name -> form, and what the recorder needs beside the file."""
    found = {
        f"{setup}/{name.partition('/')[2]}": {**asked, "setup": setup, "file": name, "checksum": checksum(text)}
        for setup, (form, asked) in setups.items()
        for name, text in load().items()
        if name.startswith(f"{form}/")
    }
    return {name: case for name, case in found.items() if name.startswith(only)}


def lines_of(lengths: list[list[int]]) -> str:
    """A file of texts: pairs of words in a text, and records that have so many."""
    return _lines([{"text": words(size)} for size, count in lengths for _ in range(count)])


def checksum(text: str) -> int:
    return zlib.crc32(text.encode())


if __name__ == "__main__":
    made = {f"{form}/{name}": text for form in FORMS for name, text in files(form).items()}
    made.update((f"alpaca array/{name}", text) for name, text in array_files("alpaca").items())
    made.update((f"messages with tools/{name}", text) for name, text in tool_files().items())
    lines = (f"{json.dumps(name)}: {json.dumps(text)}" for name, text in made.items())
    with open(PLACE, "w", encoding="utf-8") as stream:
        stream.write("{\n" + ",\n".join(lines) + "\n}\n")
