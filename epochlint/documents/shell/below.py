"""Looking at statements without following them."""

from __future__ import annotations

import re

from epochlint.documents.shell.syntax import (
    DECLARERS,
    Arithmetic,
    Case,
    Chain,
    For,
    Function,
    Group,
    If,
    Pipeline,
    Simple,
    Statement,
    Test,
    While,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from epochlint.documents.shell.text import Text

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*\Z")


def every(statements: Sequence[Statement]) -> Iterator[Statement]:
    """Every statement below, iteratively."""
    pending = list(statements)
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Pipeline):
            pending += node.parts
        elif isinstance(node, Chain):
            pending += [part for _, part in node.parts]
        elif isinstance(node, If):
            for condition, body in node.branches:
                pending += [*condition, *body]
            pending += node.otherwise or []
        elif isinstance(node, (For, Group)):
            pending += node.body
        elif isinstance(node, While):
            pending += [*node.condition, *node.body]
        elif isinstance(node, Case):
            for _, body in node.items:
                pending += body
        elif isinstance(node, Function) and node.body is not None:
            pending.append(node.body)


def raw_words(text: Text, statement: Statement) -> list[str]:
    return [text.text[slice(*word)] for word in statement.words[:40]] if isinstance(statement, Simple) else []


def is_test(node: Statement) -> bool:
    if isinstance(node, Pipeline) and len(node.parts) == 1:
        return is_test(node.parts[0])
    if isinstance(node, Chain):
        return all(is_test(part) for _, part in node.parts)
    return isinstance(node, (Test, Arithmetic)) or (isinstance(node, Simple) and _first_length(node) in (1, 4))


def _first_length(node: Simple) -> int:
    return node.words[0][1] - node.words[0][0] if node.words else 0


def assigned(text: Text, statements: Sequence[Statement]) -> set[str]:
    """The variables that statements may set."""
    names: set[str] = set()
    for node in every(statements):
        if isinstance(node, Simple):
            if not node.words or text.text[slice(*node.words[0])] in DECLARERS:
                names.update(assignment.name for assignment in node.assignments)
            words = raw_words(text, node)
            if words[:1] in (["read"], ["getopts"], ["mapfile"], ["readarray"], ["let"], ["unset"]):
                names.update(
                    re.findall(r"[A-Za-z_]\w*", " ".join(word for word in words[1:] if not word.startswith("-")))
                )
        elif isinstance(node, For):
            names.add(node.name)
        elif isinstance(node, Arithmetic):
            names.update(re.findall(r"([A-Za-z_]\w*)\s*(?:[-+*/%]?=(?!=)|\+\+|--)", text.text[slice(*node.inside)]))
            names.update(re.findall(r"(?:\+\+|--)\s*([A-Za-z_]\w*)", text.text[slice(*node.inside)]))
    names.discard("")
    return names


def local_names(text: Text, body: Statement) -> set[str]:
    names: set[str] = set()
    for node in every([body]):
        if (
            isinstance(node, Simple)
            and node.words
            and text.text[slice(*node.words[0])] in ("local", "declare", "typeset")
        ):
            names.update(assignment.name for assignment in node.assignments)
            names.update(word for word in raw_words(text, node)[1:] if _PLAIN_NAME.match(word))
    return names
