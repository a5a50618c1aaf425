"""Commands that stand in other files than scripts: Kubernetes manifests, workflows, compose files."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document
    from epochlint.documents.shell import Command


def manifests(document: Document) -> Iterator[Command]:
    """The commands in a YAML document that starts containers or runs scripts."""
    text = document.source.text
    if ("kind:" in text and "apiVersion:" in text) or "runs-on:" in text or "services:" in text:
        from epochlint.documents.commands import commands

        yield from commands(document)
