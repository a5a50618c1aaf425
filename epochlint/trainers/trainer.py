"""What a trainer's module is, and what it is given.

A trainer is a module of this package with

    LABEL        the label of its runs ("axolotl")
    recognise    (document) -> list[Mapping]: the mappings in a YAML, JSON or TOML document that are its configs
    read         (reading) -> Run

and, where it applies,

    claims       (program, arguments) -> bool: whether a launch (`("axolotl", "train")`) starts this trainer
    CALLS        origins of Python calls that are its configs: {"trl.SFTConfig", ...}
    OWN_SCRIPTS  True where the scripts that it claims take its arguments, though none of them is seen there

It is entered once, in `registry.TRAINERS`. It sees documents and the run, never rules, projects or reports.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Node, Scalar, Unresolved
from epochlint.run.known import COMPANION, LAUNCH, WRITTEN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Protocol

    from epochlint.documents.document import Document
    from epochlint.run.run import Run
    from epochlint.run.versions import Versions
    from epochlint.source import Span

    class Lookup(Protocol):
        """Files beside the config. Paths are tried from `base`, the project's root and the working directory."""

        def document(self, path: str, base: str) -> Document | None: ...

        def exists(self, path: str, base: str) -> bool | None:
            """None where the path lies outside the project and is not looked at."""

    class Trainer(Protocol):
        LABEL: str

        def recognise(self, document: Document) -> list[Mapping]: ...

        def read(self, reading: Reading) -> Run: ...


class Layer:
    """Settings from one place: the flags of a launch, a config, a companion. `origin` is a word of `run.known`."""

    __slots__ = ("mapping", "origin")

    def __init__(self, mapping: Mapping, origin: str = WRITTEN) -> None:
        self.mapping = mapping
        self.origin = origin


class Reading:
    """What a trainer reads one run from: layers of settings, the strongest first, and what stands around them.

    `command` are the words that start it: ("trl", "sft"), ("swift", "rlhf"), ("python", "train.py"), or ("call",
    "trl.SFTConfig") for a Python call or for a class that a parser fills from flags or a file. `base` is the folder
    that relative paths are tried from first. `call` and `python` are the Python call and its document, where there is
    one (a script that the launch starts or that loads the config).

    `via` says how the values come in, where that can be seen: "call" (Python keywords), "argparse" (flags, cast by
    type), "parse_yaml_file", "parse_json_file", "parse_dict", "TrlParser", "yaml.safe_load", "json.load",
    "OmegaConf.load", ...; empty where the consumer is not visible. `open_ended`: settings may exist that cannot be
    seen, so what is not here is unknown, not a default.
    """

    __slots__ = (
        "_layers",
        "_top",
        "base",
        "call",
        "command",
        "document",
        "lookup",
        "open_ended",
        "python",
        "span",
        "versions",
        "via",
    )

    def __init__(
        self,
        document: Document,
        layers: Sequence[Layer],
        versions: Versions,
        *,
        span: Span | None = None,
        command: tuple[str, ...] = (),
        base: str = "",
        lookup: Lookup | None = None,
        python: Document | None = None,
        call: object = None,
        via: str = "",
    ) -> None:
        self.document = document
        self.layers = layers
        self.versions = versions
        self.span = span if span is not None else self.layers[0].mapping.span
        self.command = command
        self.base = base
        self.lookup = lookup
        self.python = python
        self.call = call
        self.via = via

    @property
    def layers(self) -> Sequence[Layer]:
        return self._layers

    @layers.setter
    def layers(self, layers: Sequence[Layer]) -> None:
        self._layers = tuple(layers)
        self._top: dict[str, tuple[Entry, str]] | None = None
        self.open_ended = any(layer.mapping.open_ended for layer in self._layers)

    def entry(self, *path: str) -> tuple[Entry, str] | None:
        """The strongest layer's entry under a path of keys, with its origin."""
        if len(path) == 1:
            return self.top.get(path[0])
        for layer in self.layers:
            found = layer.mapping.find(*path)
            if found is not None:
                return found, layer.origin
        return None

    @property
    def top(self) -> dict[str, tuple[Entry, str]]:
        """The strongest layer's entry of each key, with its origin."""
        if self._top is None:
            self._top = {}
            for layer in reversed(self.layers):
                for key, entry in layer.mapping.last.items():
                    self._top[key] = entry, layer.origin
        return self._top

    def node(self, *path: str) -> Node | None:
        found = self.entry(*path)
        return found[0].value if found is not None else None

    def text(self, *path: str) -> str | None:
        """A known text; None where there is none, or it cannot be known."""
        node = self.node(*path)
        return node.value if isinstance(node, Scalar) and isinstance(node.value, str) else None

    def mapping(self, *path: str) -> Mapping | None:
        node = self.node(*path)
        return node if isinstance(node, Mapping) else None

    def over(self, layers: Sequence[Layer]) -> Reading:
        """The same reading over other layers."""
        return Reading(
            self.document,
            layers,
            self.versions,
            span=self.span,
            command=self.command,
            base=self.base,
            lookup=self.lookup,
            python=self.python,
            call=self.call,
            via=self.via,
        )

    def nested(self) -> Reading:
        """The same reading with dotted keys (`optimizer.lr=1e-4` on a command line) put under their paths."""
        return self.over([Layer(nested(layer.mapping), layer.origin) for layer in self.layers])

    def __contains__(self, key: str) -> bool:
        return key in self.top

    def entries(self) -> Iterator[tuple[Entry, str]]:
        """Every top-level entry with its origin, the strongest layer's first; a key may come more than once."""
        for layer in self.layers:
            for entry in layer.mapping.entries:
                yield entry, layer.origin


def nested(mapping: Mapping) -> Mapping:
    """A mapping with dotted keys put under their paths, beside what else stands there; one without them as it is."""
    if not any("." in entry.key.strip(".") for entry in mapping.entries):
        return mapping
    entries: list[Entry] = []
    sections: dict[str, Mapping] = {}
    for entry in mapping.entries:
        head, _, rest = entry.key.partition(".")
        if not (head and rest):
            entries.append(entry)
            continue
        section = sections.get(head)
        if section is None:
            there = mapping.mapping(head)
            section = sections[head] = Mapping(entry.value.span, list(there.entries) if there is not None else [])
            entries.append(Entry(head, entry.key_span, section))
        section.entries.append(Entry(rest, entry.key_span, entry.value))
    for entry in entries:
        if entry.value is sections.get(entry.key):
            entry.value = nested(sections[entry.key])
    return Mapping(mapping.span, entries, mapping.open_ended)


def is_null(node: Node | None) -> bool:
    """Written as nothing: null, an empty value, None."""
    return isinstance(node, Scalar) and node.value is None


def is_known(node: Node | None) -> bool:
    return node is not None and not isinstance(node, Unresolved)


__all__ = ["COMPANION", "LAUNCH", "WRITTEN", "Layer", "Reading", "is_known", "is_null", "nested"]
