"""What OmegaConf and Hydra make of a config before a trainer reads it: `${a.b}` and the `defaults:` list.

Semantics of omegaconf 2.3 (`grammar_visitor.py`: a reference is absolute, or relative with leading dots) and Hydra 1.3
(`_internal/defaults_list.py`: later entries override earlier ones, `_self_` is the file itself, last where it is not
named; a group's file goes under the group's name unless a package says otherwise). What cannot be found leaves the
config open-ended; what a resolver gives (`${oc.env:HOME}`) is not known.
"""

from __future__ import annotations

import os
import re

from epochlint.documents.document import Entry, Mapping, Scalar, Sequence, Unresolved
from epochlint.trainers.trainer import Layer, Reading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Document, Node

_DEEPEST = 12  # references to references, files that name files
_MOST = 60  # files of one composition
_UPWARDS = 3  # folders above the config in which groups are looked for
_REFERENCE = re.compile(r"\$\{(\.*)([A-Za-z_][\w\-]*(?:\.[\w\-]+|\[\w+\])*)\}")
_PACKAGE = re.compile(r"(?m)\A(?:\s*#[^\n]*\n)*?\s*#\s*@package:?\s+(\S+)")
_PREFIX = re.compile(r"(?:(?:override|optional)\s+)*")


def resolved(reading: Reading) -> Reading:
    """The reading with the files of its `defaults:` list below it, and references to other keys replaced by what they
    mean."""
    layers = list(reading.layers)
    for at, layer in enumerate(layers):
        if is_composed(layer.mapping):
            found, complete = _Composition(reading).layers(layer.mapping, reading.base, ())
            if not complete:
                found = [Layer(_opened(one.mapping), one.origin) for one in found]
            layers[at : at + 1] = [Layer(one.mapping, layer.origin) for one in found]
            break
    composed = reading.over(layers)
    if not any("${" in layer.mapping.span.source.text for layer in layers):
        return composed
    return composed.over([Layer(_replaced(one.mapping, (), composed, 0), one.origin) for one in layers])


def merged(base: Mapping, over: Mapping) -> Mapping:
    """`OmegaConf.merge` of two mappings: of sections the entries are merged, everything else is replaced. What must be
    given (`???`) leaves what is below it."""
    entries: dict[str, Entry] = {entry.key: entry for entry in base.entries}
    for entry in over.entries:
        below = entries.get(entry.key)
        value = entry.value
        if below is not None and isinstance(value, Scalar) and value.value == "???":
            continue
        if below is not None and isinstance(below.value, Mapping) and isinstance(value, Mapping):
            value = merged(below.value, value)
        entries[entry.key] = type(entry)(entry.key, entry.key_span, value)
    return Mapping(over.span, list(entries.values()), base.open_ended or over.open_ended)


# References ---------------------------------------------------------------------------------------------------------


def _replaced(mapping: Mapping, path: tuple[str, ...], root: Reading, depth: int) -> Mapping:
    entries = [
        type(entry)(entry.key, entry.key_span, _value(entry.value, (*path, entry.key), root, depth))
        for entry in mapping.entries
    ]
    return Mapping(mapping.span, entries, mapping.open_ended)


def _value(node: Node, path: tuple[str, ...], root: Reading, depth: int) -> Node:
    """A node with its references replaced. `path` leads to it, for relative ones."""
    if depth > _DEEPEST:
        return Unresolved(node.span, "references that lead to each other")
    if isinstance(node, Mapping):
        return _replaced(node, path, root, depth + 1)
    if isinstance(node, Sequence):
        return Sequence(node.span, [_value(item, path, root, depth + 1) for item in node.items])
    if not isinstance(node, Scalar) or not isinstance(node.value, str) or "${" not in node.raw:
        return node
    whole = _REFERENCE.fullmatch(node.raw)
    if whole is not None:
        found = _meant(whole, path, root, depth)
        return found if found is not None else Unresolved(node.span, f"{node.raw} is not in this file")
    parts: list[str] = []
    end = 0
    for match in _REFERENCE.finditer(node.raw):
        found = _meant(match, path, root, depth)
        if not isinstance(found, Scalar):
            return node
        parts += [node.raw[end : match.start()], found.raw]
        end = match.end()
    text = "".join(parts) + node.raw[end:]
    return Scalar(node.span, text, text) if parts and "${" not in text else node


def _meant(match: re.Match[str], path: tuple[str, ...], root: Reading, depth: int) -> Node | None:
    dots, name = match.groups()
    if "[" in name:
        return None
    keys = tuple(name.split("."))
    if dots:
        keys = (*path[: len(path) - len(dots)], *keys) if len(dots) <= len(path) else keys
    node = root.node(*keys)
    return _value(node, keys, root, depth + 1) if node is not None else None


# Composition --------------------------------------------------------------------------------------------------------


def loads(document: Document) -> bool:
    """Whether OmegaConf certainly loads a file: it is composed of others, says where in a composition it belongs, or
    refers to keys. Plain numbers such as 2e-5 are numbers to it."""
    text = document.source.text
    if _REFERENCE.search(text) or _PACKAGE.search(text):
        return True
    return "defaults" in text and any(is_composed(mapping) for mapping in document.mappings())


def is_composed(mapping: Mapping) -> bool:
    """Whether a mapping has a `defaults:` list in Hydra's manner; others name files with their endings there."""
    node = mapping.get("defaults")
    if not isinstance(node, Sequence) or not node.items:
        return False
    return not any(isinstance(item, Scalar) and item.raw.endswith((".yaml", ".yml")) for item in node.items)


class _Composition:
    """Finds the files of a `defaults:` list."""

    __slots__ = ("files", "reading")

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.files = 0

    def layers(self, mapping: Mapping, folder: str, package: tuple[str, ...]) -> tuple[list[Layer], bool]:
        """The layers of a file with those that it names, the strongest first; False where one was not found."""
        defaults = mapping.get("defaults")
        own = Layer(_under(package, mapping))
        if not isinstance(defaults, Sequence):
            return [own], True
        found: list[list[Layer]] = []
        complete, own_placed = True, False
        for item in defaults.items:
            if isinstance(item, Scalar) and item.raw == "_self_":
                found.append([own])
                own_placed = True
                continue
            one, whole = self._named(item, folder, package)
            found.append(one)
            complete = complete and whole
        if not own_placed:
            found.append([own])
        return [layer for part in reversed(found) for layer in part], complete

    def _named(self, item: Node, folder: str, package: tuple[str, ...]) -> tuple[list[Layer], bool]:
        """What one entry of the list brings."""
        if isinstance(item, Scalar) and isinstance(item.value, str):
            return self._file(item.value, None, folder, package)
        if not isinstance(item, Mapping) or len(item.entries) != 1:
            return [], False
        group, option = item.entries[0].key, item.entries[0].value
        options = option.items if isinstance(option, Sequence) else [option]
        layers: list[Layer] = []
        complete = True
        for one in options:
            if isinstance(one, Scalar) and one.value is None:
                continue
            if not isinstance(one, Scalar):
                return layers, False
            some, whole = self._file(group, one.raw, folder, package)
            layers = [*some, *layers]
            complete = complete and whole
        return layers, complete

    def _file(self, name: str, option: str | None, folder: str, package: tuple[str, ...]) -> tuple[list[Layer], bool]:
        name = name[_PREFIX.match(name).end() :]  # type: ignore[union-attr] # it matches nothing, too
        name, _, target = name.partition("@")
        path = f"{name}/{option}" if option is not None else name
        self.files += 1
        document, where = self._find(path, folder) if self.files <= _MOST else (None, "")
        mapping = next(document.mappings(), None) if document is not None else None
        if document is None or mapping is None:
            return [], False
        group = tuple(part for part in path.split("/")[:-1] if part)
        inside = _package(target or _header(document.source.text), group, package)
        return self.layers(mapping, where, inside)

    def _find(self, path: str, folder: str) -> tuple[Document | None, str]:
        """A file of the composition, and its folder."""
        lookup = self.reading.lookup
        if lookup is None:
            return None, ""
        name = path.lstrip("/") + ("" if path.endswith((".yaml", ".yml")) else ".yaml")
        for place in (folder, self.reading.base):
            for _ in range(_UPWARDS):
                found = lookup.document(name, place)
                if found is not None:
                    return found, os.path.dirname(os.path.join(place, name))
                place = os.path.dirname(place)
        return None, ""


def _header(text: str) -> str:
    """The package of `# @package _global_`."""
    found = _PACKAGE.match(text)
    return found.group(1) if found is not None else ""


def _package(word: str, group: tuple[str, ...], above: tuple[str, ...]) -> tuple[str, ...]:
    if word == "_global_":
        return ()
    if word == "_here_":
        return above
    if word in ("", "_group_"):
        return (*above, *group)
    return (*above, *(part for part in word.split(".") if part not in ("_here_", "_group_")))


def _under(package: tuple[str, ...], mapping: Mapping) -> Mapping:
    for key in reversed(package):
        first = mapping.entries[0].key_span if mapping.entries else mapping.span
        mapping = Mapping(mapping.span, [Entry(key, first, mapping)])
    return mapping


def _opened(mapping: Mapping) -> Mapping:
    return Mapping(mapping.span, mapping.entries, open_ended=True)
