"""Reading small scripts in tests: what the arguments of a call are, as plain Python."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from epochlint.documents import python
from epochlint.documents.document import Document, Entry, Mapping, Node, Scalar, Sequence, Unresolved
from epochlint.documents.python import Call, Choice, DatasetNode, Parsed, PythonDocument, Reference, Symbol
from epochlint.documents.read import read as read_any
from epochlint.source import Source

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Mapping as Map

# What stands for a value that is not known.
UNKNOWN = "?"
# The prefilter wants a word of training.
_MARK = "  # learning_rate"


def loader(files: Map[str, str]) -> Callable[[str], Document | None]:
    def load(path: str) -> Document | None:
        text = files.get(path)
        return read_any(Source(path, text)) if text is not None else None

    return load


def flags(given: Map[str, str | bool | list[str]], open_ended: bool = False) -> Mapping:
    """A launch's flags, as a shell reader gives them."""
    line = Source("launch.sh", " ".join(f"--{key} {value}" for key, value in given.items()))
    span = line.span(0, 0)

    def node(value: str | bool | list[str]) -> Node:
        if isinstance(value, list):
            return Sequence(span, [node(part) for part in value])
        return Scalar(span, "" if value is True else str(value), value, plain=True)

    return Mapping(span, [Entry(key, span, node(value)) for key, value in given.items()], open_ended)


def script(
    text: str,
    files: Map[str, str] | None = None,
    launch: Map[str, str | bool | list[str]] | Mapping | None = None,
    environment: dict[str, str] | None = None,
    path: str = "train.py",
) -> PythonDocument:
    given = flags(launch) if isinstance(launch, dict) else launch
    source = Source(path, textwrap.dedent(text) + "\n" + _MARK)
    assert given is None or isinstance(given, Mapping)
    return python.read(source, load=loader(files or {}), flags=given, environment=environment)


def call(document: PythonDocument, name: str) -> Call:
    """The only call of that name."""
    (found,) = [made for made in document.calls if made.name == name or made.callee == name]
    return found


def plain(node: Node | None) -> object:
    if node is None:
        return None
    if isinstance(node, Scalar):
        return node.value
    if isinstance(node, Choice):
        return {"one of": [plain(option) for option in node.options]}
    if isinstance(node, Symbol):
        return f"<{node.origin}>"
    if isinstance(node, Unresolved):
        return UNKNOWN
    if isinstance(node, Mapping):
        shown = {entry.key: plain(entry.value) for entry in node.last.values()}
        return {**shown, "...": True} if node.open_ended else shown
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    if isinstance(node, Reference):
        return f"{node.call.callee}(){'.' if node.attribute else ''}{node.attribute}"
    if isinstance(node, Parsed):
        return f"parsed {node.dataclass.origin or node.dataclass.name}"
    if isinstance(node, DatasetNode):
        return shown_dataset(node)
    raise AssertionError(f"not a public node: {node!r}")


def shown_dataset(node: DatasetNode) -> str:
    """A dataset as one line: source, split, operations."""
    if node.parts:
        source = " + ".join(shown_dataset(part) for part in node.parts)
        source = f"({source})" if node.mixing is None else f"({source}) by {node.mixing[0]} {node.mixing[1]}"
    elif node.rows is not None:
        source = f"{node.rows} rows"
    elif node.files is not None:
        source = ",".join(node.files)
    else:
        source = f"hub:{node.hub}" if node.hub else UNKNOWN
    if node.subset:
        source += f"/{node.subset}"
    if node.split:
        source += f"[{node.split}]"
    if node.streaming:
        source += " streaming"
    for operation in node.operations:
        source += f" {operation.kind}"
        if operation.amount is not None:
            source += f"={operation.amount}"
        if operation.kind == "slice":
            source += f"={operation.start}:{operation.stop}"
    return source


def arguments(text: str, name: str = "TrainingArguments", **options: object) -> dict[str, object]:
    """The arguments of a script's only call of that name."""
    shown = plain(call(script(text, **options), name).arguments)  # type: ignore[arg-type]
    assert isinstance(shown, dict)
    return shown


def value(expression: str, before: str = "", **options: object) -> object:
    """What an expression is, as an argument of a call after some statements."""
    body = f"import os, math\nfrom pathlib import Path\n{textwrap.dedent(before)}\nProbe(x={expression})\n"
    return arguments(body, "Probe", **options)["x"]
