"""Tokens of a run: a band by default, the model's own tokenizer in `explain`, where one is here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from epochlint import lint
from epochlint.project import tokenizer
from epochlint.project.lookup import Lookup
from epochlint.records import count, exact
from epochlint.report.explain import explain_text
from epochlint.run.run import Run

pytest.importorskip("tokenizers", reason="the extra `tokens`")

CONFIG = """\
base_model: MODEL
datasets:
  - path: data.jsonl
    type: alpaca
sequence_len: 32
micro_batch_size: 2
num_epochs: 3
learning_rate: 2e-5
"""
TEXTS = ["one two three", "four five", "one one one one"]


def write_tokenizer(folder: Path) -> Path:
    """A tokenizer of whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = ["[UNK]", "one", "two", "three", "four", "five"]
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    folder.mkdir(parents=True, exist_ok=True)
    made.save(str(folder / "tokenizer.json"))
    return folder / "tokenizer.json"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "epochlint.toml").write_text("")
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    (tmp_path / "sft.yaml").write_text(CONFIG.replace("MODEL", "./model"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_of(*, exact: bool) -> Run:
    report = lint.check(lint.Options(["sft.yaml"], exact=exact))
    assert not [entry for entry in report.skipped if entry.kind == "internal"], report.skipped[0].reason
    return report.runs[0].run


def test_exact_by_the_tokenizer_beside_the_model(project: Path) -> None:
    write_tokenizer(project / "model")
    tokens = run_of(exact=True).setting("tokens")
    assert (tokens.low, tokens.high) == (9, 9 + 3 * 12), "and at most twelve for what a template adds"
    assert tokens.origin == "estimated"
    assert "model/tokenizer.json" in (tokens.text() or "")
    rough = run_of(exact=False).setting("tokens")
    assert rough.low is not None
    assert rough.high is not None
    assert rough.low <= 9 <= rough.high
    assert "characters" in (rough.text() or "")


def test_explain_shows_them(project: Path) -> None:
    write_tokenizer(project / "model")
    text = explain_text(lint.check(lint.Options(["sft.yaml"], exact=True)))
    assert "9 to 45" in text
    assert "27 to 135" in text, "three epochs"


def test_packed_sequences_are_a_range(project: Path) -> None:
    write_tokenizer(project / "model")
    (project / "sft.yaml").write_text(CONFIG.replace("MODEL", "./model") + "sample_packing: true\n")
    checked = lint.check(lint.Options(["sft.yaml"], exact=True)).runs[0]
    packs = checked.scenarios.fact("packed_sequences")
    assert (packs.low, packs.high) == (1, 2)
    assert checked.scenarios.fact("packed_steps").low == 1


def test_in_the_hubs_cache_or_beside_the_config(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = run_of(exact=False)
    lookup = Lookup(str(project))
    assert tokenizer.find(run, lookup, {}) is None
    beside = write_tokenizer(project)
    assert tokenizer.find(run, lookup, {}) == str(beside)
    (project / "sft.yaml").write_text(CONFIG.replace("MODEL", "someone/model"))
    named = run_of(exact=False)
    home = project / "hf"
    cached = write_tokenizer(home / "hub" / "models--someone--model" / "snapshots" / "abc")
    assert tokenizer.find(named, lookup, {"HF_HOME": str(home)}) == str(cached)


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"version": "1.0", "model": {"type": "?"}}']
)
def test_what_is_no_tokenizer_is_none(project: Path, data: bytes) -> None:
    (project / "model").mkdir()
    (project / "model" / "tokenizer.json").write_bytes(data)
    assert exact.load(str(project / "model" / "tokenizer.json")) is None
    assert "characters" in (run_of(exact=True).setting("tokens").text() or "")


def counted(tmp_path: Path, *records: Any) -> tuple[int, int] | None:
    made = exact.load(str(write_tokenizer(tmp_path / "model")))
    look = exact.Exact(made)
    for record in records:
        look.see(1, record)
    return look.range()


def test_shapes(tmp_path: Path) -> None:
    chat = {"messages": [{"role": "user", "content": "one two"}, {"role": "assistant", "content": "three"}]}
    assert counted(tmp_path, chat) == (3, 3 + 36)
    assert counted(tmp_path, {"prompt": "one", "completion": "two two"}) == (3, 15)
    assert counted(tmp_path, {"input_ids": [1, 2, 3, 4]}) == (4, 4)
    assert counted(tmp_path, None) == (0, 12)


def test_texts_that_cannot_be_counted(tmp_path: Path) -> None:
    assert counted(tmp_path, {"text": "one \ud800"}) is None
    assert counted(tmp_path, {"text": "one " * 500_000}) is None


def test_counting_is_not_changed_by_it(project: Path) -> None:
    found = count(str(project / "data.jsonl"))
    assert found is not None
    assert found.rows == 3
