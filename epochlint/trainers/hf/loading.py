"""What stands between a file, a call or a launch and the trainer's arguments: who loads it, and what comes of it."""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar
from epochlint.run.known import LAUNCH
from epochlint.trainers.settings import Loader, Taker
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document
    from epochlint.trainers.hf.keys import Consumer
    from epochlint.trainers.trainer import Reading

# Loaders that turn `2e-5` into a number, by their own grammar or by the field's type.
_CONVERTING = (
    "argparse", "TrlParser", "OmegaConf", "hydra", "ruamel", "jsonargparse", "tyro", "simple_parsing", "draccus",
    "click", "typer", "fire", "tap", "pydantic", "tomllib", "tomli", "toml", "plain",
)  # fmt: skip

# HfArgumentParser.parse_yaml_file and its like in alignment-handbook and open-instruct give the parsed values on as
# they are (transformers 4.49, 4.57, 5.24: `hf_argparser.py`).
_NAMES = {
    "parse_yaml_file": "HfArgumentParser.parse_yaml_file",
    "parse_json_file": "HfArgumentParser.parse_json_file",
    "parse_dict": "HfArgumentParser.parse_dict",
    "call": "the class itself",
    "argparse": "argparse",
    "": "YAML 1.1",
}


def loader_of(reading: Reading) -> Loader:
    """The loader of the config's values; where the consumer cannot be seen, PyYAML's is only likely."""
    via = reading.via
    name = _NAMES.get(via, via)
    if via.startswith(_CONVERTING):
        return Loader(name, converts_text=True)
    if via == "call":
        # Keywords can come from a file that the script loads: then that loader's grammar decides.
        loads = [load.via for load in getattr(reading.python, "loads", ())]
        converts = bool(loads) and all(load.startswith(_CONVERTING) for load in loads)
        return Loader(loads[0] if loads else name, converts_text=converts)
    if not via:
        return Loader(name, converts_text=reading.document.syntax != "yaml", visible=False)
    return Loader(name, converts_text=False)


class HfTaker(Taker):
    """A taker that knows that flags are cast by argparse, whatever loads the config beside them."""

    __slots__ = ("_flags",)

    def __init__(self, run: object, reading: Reading, loader: Loader) -> None:
        super().__init__(run, reading, loader)  # type: ignore[arg-type] # a Run; importing it here would be for this only
        self._flags = {
            id(entry) for layer in reading.layers if layer.origin == LAUNCH for entry in layer.mapping.entries
        }

    def is_flag(self, entry: Entry) -> bool:
        return id(entry) in self._flags

    def check_number(self, name: str, entry: Entry, node: Scalar, value: float | None) -> None:
        if not self.is_flag(entry) or not isinstance(node.value, str) or value is None:
            super().check_number(name, entry, node, value)


def prepared(reading: Reading, consumer: Consumer) -> Reading:
    """The reading with its flags under their full names: argparse takes dashes for underscores, and every prefix that
    is unique among the program's options."""
    if all(layer.origin != LAUNCH for layer in reading.layers):
        return reading
    every = consumer.names()
    layers = [
        Layer(_full(layer.mapping, every), layer.origin) if layer.origin == LAUNCH else layer
        for layer in reading.layers
    ]
    return reading.over(layers)


def _full(mapping: Mapping, every: set[str]) -> Mapping:
    changed = False
    entries = []
    for entry in mapping.entries:
        name = full_name(entry.key, every)
        if name != entry.key:
            changed = True
            entry = Entry(name, entry.key_span, entry.value)
        entries.append(entry)
    return Mapping(mapping.span, entries, mapping.open_ended) if changed else mapping


def full_name(flag: str, every: set[str]) -> str:
    """The option that a flag stands for; the flag itself where it is none, or stands for several."""
    name = flag.replace("-", "_")
    if name in every or len(name) < 3:
        return name if name in every else flag
    meant = [known for known in every if known.startswith(name)]
    return meant[0] if len(meant) == 1 else flag


def opened(reading: Reading) -> Reading:
    """The reading as one that may have unseen settings: what is not written is then unknown, no default."""
    mappings = [Mapping(layer.mapping.span, layer.mapping.entries, open_ended=True) for layer in reading.layers]
    origins = [layer.origin for layer in reading.layers]
    return reading.over([Layer(mapping, origin) for mapping, origin in zip(mappings, origins, strict=True)])


def root_of(document: Document, mapping: Mapping) -> Mapping | None:
    """The top-level mapping of a document that holds a section; None where the section is the top itself."""
    for root in document.mappings():
        if root is mapping:
            return None
        if root.span.source is mapping.span.source and root.span.start <= mapping.span.start <= root.span.end:
            return root
    return None
