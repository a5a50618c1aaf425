"""Records that occur twice."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from epochlint.records import (
    count,
    digest,
    duplicates,
    leaks,
    prompt_and_answer,
    repeats,
    same_prompt_different_answer,
    sorting,
)


def put(folder: Path, name: str, *records: Any) -> str:
    path = folder / name
    if name.endswith(".json"):
        path.write_text(json.dumps(records, indent=2), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


def chat(question: str, answer: str, **other: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": question}, {"role": "assistant", "content": answer}], **other}


def test_a_digest_does_not_depend_on_order_and_spacing() -> None:
    assert digest({"a": 1, "b": {"c": "\u00e9", "d": [1, 2]}}) == digest(
        json.loads('{"b":{"d":[1,2],"c":"\\u00e9"},"a":1}')
    )
    different = [
        {"a": 1},
        {"a": "1"},
        {"a": True},
        {"a": 1.5},
        {"a": None},
        {"a": [1]},
        {"a": []},
        {},
        {"b": 1},
        "a",
        "\ud800",
    ]
    assert len({digest(value) for value in different}) == len(different)
    assert all(len(digest(value) or b"") == 16 for value in different)
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    assert digest(deep) is None


def test_duplicates(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", {"a": 1, "b": 2}, {"a": 2}, {"b": 2, "a": 1}, {"a": 3}, {"a": 2}, {"a": 2})
    found = duplicates(path)
    assert found is not None
    assert (found.rows, found.unique, found.later_copies, found.complete) == (6, 3, 3, True)
    assert found.groups == ((1, 3), (2, 5, 6))
    whole = count(path, detail=True)
    assert whole is not None
    assert whole.digest_duplicates == 3
    assert count(path).digest_duplicates is None  # type: ignore[union-attr]


def test_no_duplicates(tmp_path: Path) -> None:
    # the quick signature is the same for all of these
    path = put(tmp_path, "a.jsonl", *({"a": number} for number in range(50)))
    found = duplicates(path)
    assert found is not None
    assert (found.rows, found.unique, found.groups) == (50, 50, ())


def test_only_the_first_groups_are_named(tmp_path: Path) -> None:
    path = put(tmp_path, "a.jsonl", *({"text": str(number % 20)} for number in range(200)))
    found = duplicates(path)
    assert found is not None
    assert (found.later_copies, len(found.groups)) == (180, repeats.FIRST)
    assert found.groups[0] == (1, 21, 41, 61, 81)


@pytest.mark.parametrize("name", ["a.csv", "a.txt", "a.json"])
def test_duplicates_in_other_formats(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(
        {"a.csv": 'a,b\n1,2\n3,4\n"1",2\n', "a.txt": "a\nb\na\n", "a.json": '[{"a": 1}, {"a": 2}, {"a":1}]'}[name]
    )
    assert count(str(path), detail=True).digest_duplicates == 1  # type: ignore[union-attr]


def test_broken_lines_are_no_duplicates(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": 1}\n{"a"}\n{"a"}\n{"a": 2}\n{"a": 3}\n')
    found = duplicates(str(path))
    assert found is not None
    assert (found.rows, found.later_copies) == (3, 0)


def test_memory_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "MOST_HELD", 10)
    path = put(tmp_path, "a.jsonl", *({"text": str(number // 2)} for number in range(100)))
    found = duplicates(path)
    assert found is not None
    assert (found.complete, found.later_copies) == (False, 0)
    assert count(path, detail=True).digest_duplicates is None  # type: ignore[union-attr]
    leaked = leaks([path], [path])
    assert leaked is not None
    assert (leaked.leaked, leaked.complete) == (0, False)
    answers = same_prompt_different_answer(put(tmp_path, "b.jsonl", *(chat("q", str(i)) for i in range(100))))
    assert answers is not None
    assert not answers.complete


def test_many_numbers_are_a_table_of_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_FEW", 1000)
    numbers = repeats.Numbers()
    assert not numbers
    for number in range(50_000):
        numbers.add(hash(str(number)))
    assert numbers
    assert all(hash(str(number)) in numbers for number in range(50_000))
    assert sum(hash(f"other {number}") in numbers for number in range(50_000)) < 500
    small = repeats.Numbers()
    for number in range(2000):
        small.add(number)
    assert sum(number in small for number in range(-50_000, 0)) < 500, "small numbers are spread, too"


def test_duplicates_among_many_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repeats, "_FEW", 100)
    monkeypatch.setattr(sorting, "RUN", 50)
    rows = [chat(str(number), "a") for number in range(1000)] + [chat(str(number), "a") for number in range(300)]
    found = duplicates(put(tmp_path, "a.jsonl", *rows))
    assert found is not None
    assert (found.rows, found.later_copies, found.complete) == (1300, 300, True)
    assert found.groups == tuple((number, number + 1000) for number in range(1, 6))


def test_leaks(tmp_path: Path) -> None:
    train = put(tmp_path, "train.json", chat("a", "1"), chat("b", "2"), chat("c", "3"), chat("b", "2"))
    valid = put(tmp_path, "valid.jsonl", chat("x", "9"), chat("b", "2"), chat("c", "4"), chat("b", "2"), chat("a", "1"))
    found = leaks([train], [valid])
    assert found is not None
    assert (found.leaked, found.validation_rows, found.complete) == (3, 5, True)
    assert [(leak.validation_line, leak.train_line) for leak in found.first] == [(5, 2), (2, 14)]
    assert {(leak.validation_path, leak.train_path) for leak in found.first} == {(valid, train)}


def test_no_leaks(tmp_path: Path) -> None:
    train, valid = put(tmp_path, "train.jsonl", chat("a", "1")), put(tmp_path, "valid.jsonl", chat("a", "2"))
    found = leaks([train], [valid])
    assert found is not None
    assert (found.leaked, found.first) == (0, ())
    assert leaks([train], [str(tmp_path / "nothing.jsonl")]) is None
    assert leaks([str(tmp_path / "nothing.jsonl")], [valid]) is None
    assert leaks([], []) is None


def test_leaks_over_several_files(tmp_path: Path) -> None:
    train = [put(tmp_path, f"train-{n}.jsonl", {"text": f"t{n}"}, {"text": "both"}) for n in range(3)]
    valid = [put(tmp_path, f"valid-{n}.jsonl", {"text": f"v{n}"}, {"text": "t2"}) for n in range(2)]
    found = leaks(train, valid)
    assert found is not None
    assert (found.leaked, found.validation_rows) == (2, 4)
    assert [(leak.validation_path, leak.train_path) for leak in found.first] == [(valid[0], train[2])]


def test_same_prompt_different_answer(tmp_path: Path) -> None:
    path = put(
        tmp_path, "a.jsonl", chat("a", "1", id=1), chat("b", "2", id=2), chat("a", "3", id=3), chat("b", "2", id=4),
        chat("a", "4", tools=[]), {"text": "x"},
    )  # fmt: skip
    found = same_prompt_different_answer(path)
    assert found is not None
    assert (found.prompts, found.rows, found.groups, found.complete) == (1, 2, ((1, 3),), True)
    none = same_prompt_different_answer(put(tmp_path, "b.jsonl", {"text": "x"}))
    assert none is not None
    assert (none.prompts, none.complete) == (0, True)


@pytest.mark.parametrize(
    ("record", "answer"),
    [
        ({"instruction": "i", "input": "x", "output": "o"}, "o"),
        ({"prompt": "p", "completion": "c"}, "c"),
        (
            {"conversations": [{"from": "human", "value": "q"}, {"from": "gpt", "value": "a"}]},
            {"from": "gpt", "value": "a"},
        ),
    ],
)
def test_prompt_and_answer(record: dict[str, Any], answer: Any) -> None:
    parts = prompt_and_answer(record)
    assert parts is not None
    assert parts[1] == answer
    other = prompt_and_answer({**record, "id": 7})
    assert other is not None
    assert other[0] == parts[0]


@pytest.mark.parametrize(
    "record",
    [
        {"text": "x"}, {"messages": [{"role": "user", "content": "q"}]}, None, [], "x",
        {"prompt": "p", "completion": "c", "label": True}, {"prompt": "p", "chosen": "a", "rejected": "b"},
        {"messages": [{"role": "user"}, {"role": "user"}]},
        {"messages": [1, 2]}, {"messages": "x"}, {"messages": [{}, {"role": ["x"]}]},
    ],
)  # fmt: skip
def test_no_prompt_and_answer(record: Any) -> None:
    assert prompt_and_answer(record) is None


@pytest.mark.parametrize("seed", range(4))
def test_against_the_plain_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(sorting, "RUN", 16)
    monkeypatch.setattr(repeats, "_AT_ONCE", 5)
    monkeypatch.setattr(repeats, "_FEW", 20)
    source = random.Random(seed)

    def rows(number: int) -> list[dict[str, Any]]:
        return [chat(f"q{source.randrange(60)}", f"a{source.randrange(4)}") for _ in range(number)]

    train, valid = rows(300), rows(40)
    path, other = put(tmp_path, "train.jsonl", *train), put(tmp_path, "valid.jsonl", *valid)
    texts = [json.dumps(row) for row in train]
    twice = duplicates(path)
    assert twice is not None
    lines = {text: [at for at, one in enumerate(texts, 1) if one == text] for text in texts}
    assert (twice.complete, twice.later_copies) == (True, len(texts) - len(lines))
    assert list(twice.groups) == sorted(tuple(found[:5]) for found in lines.values() if len(found) > 1)[:5]

    answered: dict[str, list[tuple[int, str]]] = {}
    for at, row in enumerate(train, 1):
        question, answer = row["messages"]
        answered.setdefault(question["content"], []).append((at, answer["content"]))
    groups, told = [], 0
    for found in answered.values():
        different = [at for at, answer in found if answer != found[0][1]]
        if different:
            groups.append((found[0][0], *different[:4]))
            told += 1 + len(different)
    disagreeing = same_prompt_different_answer(path)
    assert disagreeing is not None
    assert (disagreeing.prompts, disagreeing.rows) == (len(groups), told)
    assert list(disagreeing.groups) == sorted(groups)[:5]

    shared = leaks([path], [other])
    assert shared is not None
    assert shared.leaked == sum(json.dumps(row) in lines for row in valid)
