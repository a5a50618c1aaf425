"""Scripts for tests."""

from __future__ import annotations

from epochlint.documents import shell
from epochlint.documents.document import Node, Scalar
from epochlint.documents.flags import parse
from epochlint.documents.shell import Command, ShellDocument
from epochlint.source import Source


def read(text: str, path: str = "train.sh", **options: object) -> ShellDocument:
    return shell.read(Source(path, text), **options)  # type: ignore[arg-type] # the reader's own options


def commands(text: str) -> list[Command]:
    """The commands of a script; the first line says that it is about training."""
    return read("# train\n" + text).launches


def command(text: str) -> Command:
    found = commands(text)
    assert len(found) == 1, found
    return found[0]


def raws(found: Command) -> list[str | None]:
    """The words, None for what is not known."""
    return [word.raw if isinstance(word, Scalar) else None for word in found.words]


def words(text: str) -> list[str | None]:
    return raws(command(text))


def raw(node: Node | None) -> str | None:
    return node.raw if isinstance(node, Scalar) else None


def flag(found: Command, key: str) -> str | None:
    return raw(parse(found.words).get(key))


def environment(found: Command) -> dict[str, str | None]:
    return {entry.key: raw(entry.value) for entry in found.environment.entries}
