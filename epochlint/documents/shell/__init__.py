"""Shell scripts: the commands that they run, read without running anything."""

from __future__ import annotations

from epochlint.documents.shell.document import Command, Cut, ShellDocument, ShellUnresolved, ShellWord
from epochlint.documents.shell.reading import read

__all__ = ["Command", "Cut", "ShellDocument", "ShellUnresolved", "ShellWord", "read"]
