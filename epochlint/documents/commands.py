"""Commands that stand in other files than scripts: Makefiles, Dockerfiles, compose files, workflows, manifests."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document
    from epochlint.documents.shell.document import Command
    from epochlint.source import Source


def kind_of(path: str) -> str:
    """"makefile" or "dockerfile" by a file's name, else ""."""
    return ""


def of_file(source: Source, kind: str) -> list[Command]:
    """The commands of a Makefile or a Dockerfile."""
    return []


def commands(document: Document) -> Iterator[Command]:
    """The commands of a YAML document: a manifest, a workflow, a compose file."""
    yield from ()
