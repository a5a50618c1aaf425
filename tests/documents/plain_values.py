"""What a tree of values holds, as plain Python, and every scalar and key in it."""

from __future__ import annotations

from collections.abc import Iterator

from epochlint.documents.document import Document, Entry, Mapping, Node, Scalar, Sequence, Unresolved


def plain(node: Node) -> object:
    """Dictionaries, lists and values; the last of several equal keys counts. Not for trees with circles."""
    if isinstance(node, Mapping):
        return {entry.key: plain(entry.value) for entry in node.entries}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    if isinstance(node, Unresolved):
        return f"<{node.reason}>"
    assert isinstance(node, Scalar)
    return node.value


def nodes(document: Document) -> Iterator[Node | Entry]:
    """Every node and entry once, in no order that matters."""
    seen: set[int] = set()
    stack: list[Node | Entry] = list(document.roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        if isinstance(node, Mapping):
            stack.extend(node.entries)
        elif isinstance(node, Sequence):
            stack.extend(node.items)
        elif isinstance(node, Entry):
            stack.append(node.value)


def scalars(document: Document) -> list[Scalar]:
    return [node for node in nodes(document) if isinstance(node, Scalar)]


def same(one: object, other: object) -> bool:
    """Equal in value and type, with NaN equal to itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other or (one != one and other != other))
