"""The line that tells how far long files have been read."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from epochlint.cli import progress
from epochlint.cli.progress import Progress
from epochlint.records import count, opening
from epochlint.records.counting import read_through


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def path(tmp_path: Path) -> str:
    name = tmp_path / "data.jsonl"
    name.write_text('{"text": "a"}\n' * 100_000)
    return str(name)


def test_it_is_shown_after_a_while_and_wiped_out(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_AFTER", -1.0)
    monkeypatch.setattr(progress, "_EVERY", 0.0)
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress():
        assert read_through(path) is not None
    shown = terminal.getvalue()
    assert "reading data.jsonl [" in shown
    assert "100%" in shown
    assert shown.endswith("\r\x1b[K")
    assert opening.watch is None


def test_nothing_for_what_is_quick(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(progress, "_AFTER", 60.0)
    monkeypatch.setattr("sys.stderr", terminal)
    with Progress():
        assert count(path) is not None
    assert terminal.getvalue() == ""


def test_nothing_where_there_is_no_terminal(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "_AFTER", -1.0)
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    with Progress():
        assert read_through(path) is not None
        assert opening.watch is None
    assert stream.getvalue() == ""
