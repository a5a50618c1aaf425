"""Little projects for tests."""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING, Any

from epochlint.lint import Options, Report, check
from epochlint.project.assumptions import parse

if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.findings.finding import Finding


def check_project(
    files: Mapping[str, str | bytes],
    assume: Mapping[str, object] | None = None,
    paths: list[str] | None = None,
    **options: Any,
) -> Report:
    """Lays the files in a new folder, works from there, and checks it (or the given paths of it)."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            data = content.encode() if isinstance(content, str) else content
            with open(path, "wb") as file:
                file.write(data)
        os.chdir(folder)
        try:
            said = parse([f"{key}={value}" for key, value in (assume or {}).items()])
            return check(Options(paths or ["."], assume=said, **options))
        finally:
            os.chdir(here)


def lint_project(
    files: Mapping[str, str | bytes],
    assume: Mapping[str, object] | None = None,
    paths: list[str] | None = None,
    **options: Any,
) -> list[Finding]:
    """The findings of `check_project`."""
    return check_project(files, assume, paths, **options).findings
