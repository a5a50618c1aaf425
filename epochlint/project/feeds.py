"""What a script's parsers are fed with: a file that it names, a dictionary, a launch's flags over its configs."""

from __future__ import annotations

import os

from epochlint.documents.document import Mapping, Scalar
from epochlint.project.starts import config_elsewhere
from epochlint.run.known import LAUNCH, WRITTEN
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.documents.document import Document
    from epochlint.documents.python import PythonDocument
    from epochlint.documents.python.model import Feed, Parser
    from epochlint.project.joined import Launch
    from epochlint.project.lookup import Lookup


def fed(
    lookup: Lookup,
    feed: Feed,
    parser: Parser,
    path: str,
    launch: Launch | None,
    configs: list[tuple[str, Document]],
) -> Iterator[tuple[list[Layer], Document, str, str]]:
    """The layers that a parser is fed with: (layers, document of the run, its path, how)."""
    folder = os.path.dirname(path)
    if feed.kind in ("json", "yaml"):
        named = raw(feed.path)
        resolved = lookup.resolve(named, folder) if named else None
        document = lookup.read(resolved) if resolved is not None else None
        if resolved is None and len(configs) == 1 and _means(feed, launch):  # parse_json_file(sys.argv[1])
            resolved, document = configs[0]
        mapping = next(document.mappings(), None) if document is not None else None
        if document is not None and mapping is not None and resolved is not None:
            yield [Layer(mapping, WRITTEN)], document, resolved, f"parse_{feed.kind}_file"
    elif feed.kind == "dict" and isinstance(feed.node, Mapping):
        document = lookup.read(path)
        if document is not None:
            yield [Layer(feed.node, WRITTEN)], document, path, "parse_dict"
    elif launch is not None and feed.kind in ("argv", "config"):
        flags = Layer(launch.start.arguments, LAUNCH)
        for where, document in configs:
            mapping = next(document.mappings(), None)
            if mapping is not None:
                via = (
                    parser.kind
                    if feed.kind == "config"
                    else f"parse_{'json' if document.syntax == 'json' else 'yaml'}_file"
                )
                yield [flags, Layer(mapping, WRITTEN)], document, where, via
                return
        if config_elsewhere(launch):
            given = flags.mapping
            flags = Layer(Mapping(given.span, given.entries, open_ended=True), LAUNCH)
        yield (
            [flags],
            launch.document,
            os.path.join(launch.folder, os.path.basename(launch.document.source.path)),
            "argparse",
        )


def _means(feed: Feed, launch: Launch | None) -> bool:
    """Whether a parser's file, whose path is not known, can be the config that a launch names: by that flag."""
    names: frozenset[str] = getattr(feed.path, "names", frozenset())
    if launch is None or not names:
        return True
    flags = {entry.key.replace("-", "_") for entry in launch.start.arguments.entries}
    return bool(names & flags) or any(flag.isdigit() for flag in flags)


def reads(python: PythonDocument, name: str) -> bool:
    """Whether a script loads a config file of that name."""
    named = [load.path for load in python.loads]
    named += [feed.path for parser in python.parsers for feed in parser.feeds if feed.path is not None]
    return any(os.path.basename(raw(path)) == name for path in named)


def raw(node: object) -> str:
    """A text that a node holds, "" for anything else."""
    return str(node.value) if isinstance(node, Scalar) and isinstance(node.value, str) else ""
