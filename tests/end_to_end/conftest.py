"""The installed command."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="session")
def epochlint() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the console script that stands beside the running interpreter."""
    command = os.path.join(os.path.dirname(sys.executable), "epochlint")
    assert os.path.exists(command), "install the project first: pip install --editable . --group dev"

    def run(*arguments: str, cwd: str | os.PathLike[str] = ".", **more: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # type: ignore[call-overload, no-any-return] # the rest goes to subprocess as it is
            [command, *arguments], cwd=cwd, capture_output=True, text=True, timeout=120, check=False, **more
        )

    return run
