"""Rows of public data sets: the local caches, cards, the table that came along, and the hub where it may be asked."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from epochlint.project import cards, hub, online
from epochlint.project.hub import choose, rows_of
from tests.helpers import check_project

CARD = """\
---
license: mit
dataset_info:
- config_name: short
  splits:
  - name: train
    num_bytes: 10
    num_examples: 70
- config_name: long
  splits:
  - name: train
    num_examples: 700
  - name: test
    num_examples: 30
---
# A card
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose caches are empty."""
    return {"HF_HOME": str(tmp_path / "hf")}


def prepare(home: dict[str, str], *parts: str, config: str = "default", **splits: int) -> None:
    folder = Path(home["HF_HOME"], "datasets", *parts)
    folder.mkdir(parents=True)
    found = {name: {"name": name, "num_bytes": 7, "num_examples": rows} for name, rows in splits.items()}
    (folder / "dataset_info.json").write_text(json.dumps({"config_name": config, "splits": found}))


def keep_card(home: dict[str, str], name: str, text: str, revision: str = "abc") -> Path:
    folder = Path(home["HF_HOME"], "hub", "datasets--" + name.replace("/", "--"))
    (folder / "snapshots" / revision).mkdir(parents=True)
    (folder / "snapshots" / revision / "README.md").write_text(text)
    return folder


def test_what_datasets_has_prepared(home: dict[str, str]) -> None:
    prepare(home, "Some-Org___slim_orca", "default", "0.0.0", "a1", train=500, test=20)
    found = rows_of("Some-Org/SlimOrca", "", "train", online=False, environment=home)
    assert found is not None
    assert (found.rows, found.origin, found.basis) == (500, "counted", 0)
    assert rows_of("Some-Org/SlimOrca", None, "test", online=False, environment=home).rows == 20  # type: ignore[union-attr]
    assert rows_of("Some-Org/SlimOrca", "", "train+test", online=False, environment=home).rows == 520  # type: ignore[union-attr]
    assert rows_of("Some-Org/SlimOrca", "", "other", online=False, environment=home) is None
    assert rows_of("Some-Org/Other", "", "train", online=False, environment=home) is None


def test_two_preparations_that_disagree_are_unknown(home: dict[str, str]) -> None:
    prepare(home, "org___name", "default", "0.0.0", "a1", train=500)
    prepare(home, "org___name", "default", "0.0.0", "b2", train=600)
    assert rows_of("org/name", "", "train", online=False, environment=home) is None


def test_data_files_of_ones_own_are_another_folder(home: dict[str, str]) -> None:
    prepare(home, "org___name", "default-1234567890abcdef", "0.0.0", "a1", train=5)
    assert rows_of("org/name", "", "train", online=False, environment=home) is None


def test_the_card_in_the_hub_cache(home: dict[str, str]) -> None:
    folder = keep_card(home, "org/name", CARD)
    found = rows_of("org/name", "long", "train", online=False, environment=home)
    assert found is not None
    assert (found.rows, found.origin) == (700, "estimated")
    assert rows_of("org/name", "", "train", online=False, environment=home) is None, "which configuration?"
    keep_card(home, "org/name", CARD.replace("700", "701"), "def")
    assert rows_of("org/name", "long", "train", online=False, environment=home) is None, "which revision?"
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("def")
    assert rows_of("org/name", "long", "train", online=False, environment=home).rows == 701  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "text",
    [
     "", "# no front", "---\ndataset_info: [1, {}]\n---\n", "---\ndataset_info:\n  splits: x\n---\n", "---\n\x00",
     "---\n{", "---\ndataset_info:\n  splits:\n  - name: train\n    num_examples: many\n---\n",
    ],
)  # fmt: skip
def test_a_card_that_says_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "README.md").write_text(text)
    assert cards.rows(str(tmp_path / "README.md")) == {}


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b/c", "", "a/..", "http://x/y", "a\0b", "a--b/c"])
def test_names_that_are_none(home: dict[str, str], name: str) -> None:
    assert rows_of(name, "", "train", online=True, environment=home) is None


def test_which_split_and_configuration() -> None:
    one = {"main": {"train": 10, "test": 2}}
    assert choose(one, None, None) == 10
    assert choose(one, "", "train[:5]") == 5
    assert choose(one, "", "train[50%:]+test") == 7
    assert choose(one, "", "train[x]") is None
    assert choose(one, "other", "train") is None
    two = {"default": {"train": 1}, "extra": {"train": 2}}
    assert (choose(two, "", "train"), choose(two, None, "train"), choose(two, "extra", "train")) == (1, None, 2)
    assert choose({"main": {"all": 3}}, "", None) == 3
    assert choose({"main": {"a": 3, "b": 4}}, "", None) is None


def test_every_row_of_the_table_has_its_source() -> None:
    table = json.loads(Path(hub._TABLE).read_text(encoding="utf-8"))["sets"]
    assert list(table) == sorted(table)
    for name, entry in table.items():
        assert hub._NAME(name)
        assert entry["source"]
        assert len(entry["date"]) == 10
        assert all(type(rows) is int and rows > 0 for splits in entry["splits"].values() for rows in splits.values())


CONFIG = """\
base_model: someone/model
datasets:
  - path: mosaicml/dolly_hhrlhf
    type: alpaca
micro_batch_size: 64
gradient_accumulation_steps: 64
num_epochs: 20
warmup_steps: 5000
learning_rate: 2e-5
"""


def test_the_table_carries_notes_only(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", home["HF_HOME"])
    report = check_project({"sft.yaml": CONFIG}, assume={"gpus": 1})
    rows = report.runs[0].run.settings["rows"]
    assert (rows.value, rows.origin) == (59310, "estimated")
    resting = [finding for finding in report.findings if "59,310" in finding.message or "step" in finding.message]
    assert resting
    assert {finding.level for finding in resting} == {"note"}


def test_an_assumption_of_the_file_beats_an_estimate(home: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HOME", home["HF_HOME"])
    report = check_project({"sft.yaml": "# epochlint: assume records=777\n" + CONFIG})
    rows = report.runs[0].run.settings["rows"]
    assert (rows.value, rows.origin) == (777, "assumed")


def test_a_card_beside_data_that_cannot_be_counted(tmp_path: Path) -> None:
    card = CARD.replace("- config_name: short\n", "- config_name: default\n").split("- config_name: long")[0] + "---\n"
    report = check_project({"sft.yaml": CONFIG.replace("mosaicml/dolly_hhrlhf", "data"), "data/README.md": card})
    rows = report.runs[0].run.settings["rows"]
    assert (rows.value, rows.origin) == (70, "estimated")


# The hub --------------------------------------------------------------------------------------------------------------


class Hub:
    """A hub of our own on this machine: what it answers, and what it was asked."""

    def __init__(self) -> None:
        self.status, self.body, self.headers = 200, b"", {}  # type: ignore[var-annotated]
        self.asked: list[tuple[str, str | None]] = []


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    fake = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            fake.asked.append((self.path, self.headers.get("Authorization")))
            self.send_response(fake.status)
            for key, value in fake.headers.items():
                self.send_header(key, value)
            self.end_headers()
            self.wfile.write(fake.body)

        def log_message(self, *_: Any) -> None: ...

    httpd = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    monkeypatch.setattr(online, "SERVER", f"http://127.0.0.1:{httpd.server_port}")
    monkeypatch.setattr(online, "_SCHEMES", frozenset(("http",)))
    monkeypatch.setattr(online, "_answers", {})
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    yield fake
    httpd.shutdown()
    httpd.server_close()


def size(**rows: int) -> bytes:
    splits = [{"dataset": "org/name", "config": "default", "split": name, "num_rows": n} for name, n in rows.items()]
    return json.dumps(
        {"size": {"dataset": {}, "splits": splits}, "pending": [], "failed": [], "partial": False}
    ).encode()


def test_the_hub_is_asked_once(server: Hub, home: dict[str, str]) -> None:
    server.body = size(train=1234, test=5)
    for _ in range(2):
        found = rows_of("org/name", "", "train", online=True, environment=home)
        assert found is not None
        assert (found.rows, found.origin) == (1234, "estimated")
    assert server.asked == [("/size?dataset=org%2Fname", None)]


def test_the_token_goes_along(server: Hub) -> None:
    server.body = size(train=1)
    online.splits("org/name", {"HF_TOKEN": "hf_secret\n"})
    assert server.asked[0][1] == "Bearer hf_secret"


def test_never_without_being_asked(server: Hub, home: dict[str, str]) -> None:
    server.body = size(train=1234)
    assert rows_of("org/name", "", "train", online=False, environment=home) is None
    assert online.splits("org/name", {"HF_HUB_OFFLINE": "1"}) == {}
    assert server.asked == []


def test_a_redirect_is_not_followed(server: Hub) -> None:
    server.status, server.headers = 302, {"Location": f"{online.SERVER}/elsewhere"}
    assert online.splits("org/name", {"HF_TOKEN": "hf_secret"}) == {}
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (404, b"{}"), (500, b""), (200, b""), (200, b"\xff"), (200, b"[" * 100_000), (200, b"null"),
        (200, b"x" * 2_000_000), (200, size(train=1).replace(b"false", b"true")), (200, size(train=-1)),
        (200, b'{"partial": false, "size": {"splits": [3]}}'),
    ],
)  # fmt: skip
def test_any_answer_is_an_answer_or_none(server: Hub, status: int, body: bytes) -> None:
    server.status, server.body = status, body
    assert online.splits("org/name", {}) == {}


def test_nobody_there(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    monkeypatch.setattr(online, "SERVER", f"http://127.0.0.1:{port}")
    monkeypatch.setattr(online, "_answers", {})
    assert online.splits("org/name", {}) == {}, "no https"
    monkeypatch.setattr(online, "_SCHEMES", frozenset(("http",)))
    monkeypatch.setattr(online, "_answers", {})
    assert online.splits("org/name", {}) == {}


def test_it_is_https() -> None:
    assert online.SERVER.startswith("https://")
    assert frozenset(("https",)) == online._SCHEMES
