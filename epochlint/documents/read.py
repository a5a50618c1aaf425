"""Which syntax a text has, and reading it.

A syntax's own module is imported only when a text of it is met: a hook on one YAML never loads a parser for shell.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.source import Source

_SUFFIXES = {
    "yaml": "yaml",
    "yml": "yaml",
    "json": "json",
    "jsonc": "json",
    "toml": "toml",
    "py": "python",
    "ipynb": "notebook",
    "sh": "shell",
    "bash": "shell",
    "zsh": "shell",
    "ksh": "shell",
    "sbatch": "shell",
    "slurm": "shell",
    "pbs": "shell",
    "job": "shell",
    "tf": "hcl",
    "sql": "sql",
}
# Files that hold launch lines under names of their own; a suffix may follow ("Dockerfile.gpu", "Makefile.local").
_NAMES = {
    "makefile": "shell",
    "gnumakefile": "shell",
    "dockerfile": "shell",
    "containerfile": "shell",
    "justfile": "shell",
}

SYNTAXES = ("yaml", "json", "toml", "python", "notebook", "shell", "hcl", "sql")

_SHEBANG = re.compile(r"#![^\n]*?\b(bash|sh|zsh|ksh|dash|python)[0-9.]*\b")


def syntax_of_name(path: str) -> str | None:
    """The syntax that a file's name promises, None where it promises none."""
    name = path.rsplit("/", 1)[-1].lower()
    stem, dot, suffix = name.rpartition(".")
    if dot and suffix in _SUFFIXES and stem:
        return _SUFFIXES[suffix]
    if name in _NAMES:
        return _NAMES[name]
    if suffix in ("mk", "dockerfile"):
        return "shell"
    return _NAMES.get(name.split(".", 1)[0]) if "." in name else None


def syntax_of(path: str, text: str) -> str | None:
    """The syntax of a text by its file's name, else by its first line (`#!/bin/bash`); None where neither tells."""
    syntax = syntax_of_name(path)
    if syntax is None and text.startswith("#!"):
        found = _SHEBANG.match(text)
        if found:
            return "python" if found[1] == "python" else "shell"
    return syntax


def read(source: Source, syntax: str | None = None) -> Document | None:
    """Read a text in the given syntax, or in the one that its name or first line tells; None where neither does.

    Never raises on any text: what is wrong stands in the document's `problems`.
    """
    syntax = syntax or syntax_of(source.path, source.text)
    if syntax == "yaml":
        from epochlint.documents import yaml_document

        return yaml_document.read(source)
    if syntax == "json":
        from epochlint.documents import json_document

        return json_document.read(source)
    if syntax == "toml":
        from epochlint.documents import toml_document

        return toml_document.read(source)
    if syntax == "python":
        from epochlint.documents import python

        return python.read(source)
    if syntax == "notebook":
        from epochlint.documents import notebook

        return notebook.read(source)
    if syntax == "shell":
        from epochlint.documents import shell

        return shell.read(source)
    if syntax == "hcl":
        from epochlint.documents import hcl_document

        return hcl_document.read(source)
    if syntax == "sql":
        from epochlint.documents import sql_document

        return sql_document.read(source)
    return None
