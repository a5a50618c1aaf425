"""What `tune run` makes of the words behind a config: `key=value`, `component=builder`, `~key`.

Read in torchtune 0.6.1 (`config/_utils.py`, `_merge_yaml_and_cli_args`), recorded in tests/conformance: `~a.b` takes a
key out of the file, which must have it and be no component; a builder given to a component takes the place of its own.
"""

from __future__ import annotations

from epochlint.documents.document import Entry, Mapping, Scalar
from epochlint.run.known import LAUNCH, WRITTEN
from epochlint.trainers.trainer import Layer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.trainers.trainer import Reading

COMPONENT = "_component_"


def edited(reading: Reading) -> Reading:
    """The reading with what the launch takes out of the file, and its builders in the components' places."""
    launches = [layer for layer in reading.layers if layer.origin == LAUNCH]
    if not launches:
        return reading
    gone = [path for layer in launches for _, path in _removals(layer.mapping)]
    written = [layer.mapping for layer in reading.layers if layer.origin == WRITTEN]

    def change(layer: Layer) -> Layer:
        mapping = layer.mapping
        if layer.origin == WRITTEN:
            for path in gone:
                mapping = _without(mapping, path)
        elif layer.origin == LAUNCH:
            entries = [_builder(entry, written) for entry in mapping.entries if not entry.key.startswith("~")]
            mapping = Mapping(mapping.span, entries, mapping.open_ended)
        return Layer(mapping, layer.origin)

    return reading.over([change(layer) for layer in reading.layers])


def refused(reading: Reading) -> Iterator[tuple[Entry, str]]:
    """Removals that stop the command, with the reason; nobody knows a file that is not there."""
    written = [layer.mapping for layer in reading.layers if layer.origin == WRITTEN]
    if len(written) != 1 or written[0].open_ended:
        return
    for layer in reading.layers:
        for entry, path in _removals(layer.mapping) if layer.origin == LAUNCH else ():
            found = written[0].find(*path)
            if found is None:
                yield entry, f"there is no {'.'.join(path)} in the config to take out"
            elif path[-1] == COMPONENT or (isinstance(found.value, Mapping) and COMPONENT in found.value):
                yield entry, f"{'.'.join(path)} is a component, which cannot be taken out"


def _removals(flags: Mapping) -> list[tuple[Entry, tuple[str, ...]]]:
    return [(entry, tuple(entry.key[1:].split("."))) for entry in flags.entries if entry.key.startswith("~")]


def _without(mapping: Mapping, path: tuple[str, ...]) -> Mapping:
    entries: list[Entry] = []
    for entry in mapping.entries:
        if entry.key != path[0]:
            entries.append(entry)
        elif len(path) > 1 and isinstance(entry.value, Mapping):
            entries.append(Entry(entry.key, entry.key_span, _without(entry.value, path[1:])))
        elif len(path) > 1 or (isinstance(entry.value, Mapping) and COMPONENT in entry.value):
            entries.append(entry)
    return Mapping(mapping.span, entries, mapping.open_ended)


def _builder(entry: Entry, written: list[Mapping]) -> Entry:
    """`model=builder` is `model._component_=builder` where the file has a component there."""
    component = any((part := one.mapping(entry.key)) is not None and COMPONENT in part for one in written)
    if not component or not isinstance(entry.value, Scalar):
        return entry
    return Entry(f"{entry.key}.{COMPONENT}", entry.key_span, entry.value)
