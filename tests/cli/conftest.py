"""The command in this process."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from epochlint.cli.entry import main


class Done(NamedTuple):
    """What a command ended with and printed."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def codes(self) -> list[str]:
        return [finding["code"] for finding in self.json["findings"]]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., Done]:
    """Runs the command with some words."""

    def command(*words: str) -> Done:
        status = main(list(words))
        printed = capsys.readouterr()
        return Done(status, printed.out, printed.err)

    return command


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, worked from."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EPOCHLINT_DEBUG", raising=False)
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    return tmp_path
