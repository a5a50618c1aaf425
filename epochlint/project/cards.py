"""What a data set's card (README.md) declares in its head: rows by split, and which files make up a configuration.

Source: datasets 5.2.0, utils/metadata.py (`MetadataConfigs`), data_files.py (`sanitize_patterns`), info.py.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from epochlint.documents.document import Node

    Splits = dict[str, int]
    """Split -> rows."""

_BIGGEST_CARD = 1 << 20
_DEEPEST = 6


def rows(path: str) -> dict[str, Splits]:
    """The rows of the splits that a card declares under `dataset_info`, by configuration."""
    info = _head(path, "dataset_info")
    found: dict[str, Splits] = {}
    for one in info if type(info) is list else [info]:
        if type(one) is not dict:
            return {}
        config = one.get("config_name")
        found[config if type(config) is str else "default"] = splits(one.get("splits"))
    return {config: of for config, of in found.items() if of}


def splits(found: object) -> Splits:
    """Split -> rows, of a list of splits with names, or of an object by name; empty where one cannot be read."""
    parts: Iterable[Any] = found.values() if type(found) is dict else found if type(found) is list else ()
    read: Splits = {}
    for part in parts:
        name, number = (part.get("name"), part.get("num_examples")) if type(part) is dict else (None, None)
        if type(name) is not str or type(number) is not int or number < 0:
            return {}
        read[name] = number
    return read


def patterns(path: str, subset: str | None) -> dict[str, list[str]] | None:
    """Split -> patterns of its files, relative to the card's folder, for one configuration.

    None where the card names no configurations; empty where it is not certain which is meant, or what it holds.
    subset: as in hub.rows_of.
    """
    declared = _head(path, "configs")
    if type(declared) is not list or not declared:
        return None
    configs: dict[object, dict[str, Any]] = {
        one.get("config_name", "default"): one for one in declared if type(one) is dict
    }
    marked = [name for name, one in configs.items() if one.get("default") is True]
    name: object = subset
    if not subset:
        name = next(iter(configs if len(configs) == 1 else marked or ["default"]))
        if subset is None and len(configs) > 1:
            return {}
    return _sanitized(configs.get(name, {}).get("data_files")) if "data_dir" not in configs.get(name, {}) else {}


def _sanitized(files: object) -> dict[str, list[str]]:
    if type(files) is list and files and all(type(one) is dict for one in files):
        found = {one.get("split"): one.get("path") for one in files}
        files = found if len(found) == len(files) else None
    if type(files) is not dict:
        files = {"train": files}
    read: dict[str, list[str]] = {}
    for split, paths in files.items():
        several = paths if type(paths) is list else [paths]
        read[str(split)] = [one for one in several if type(one) is str]
        if type(split) is not str or len(read[split]) != len(several):
            return {}
    return read


def _head(path: str, key: str) -> object:
    """The value of a key in a card's head; None where it is not there."""
    try:
        if not os.path.isfile(path):
            return None
        with open(path, "rb") as file:
            text = file.read(_BIGGEST_CARD).decode("utf-8", "replace")
    except (OSError, ValueError):
        return None
    if not text.startswith("---"):
        return None
    head = text[3:].partition("\n---")[0]
    if key not in head:
        return None
    from epochlint.documents.yaml_document import read
    from epochlint.source import Source

    root = next(read(Source(path, head)).mappings(), None)
    return _plain(root.get(key)) if root is not None else None


def _plain(node: Node | None, depth: int = 0) -> Any:
    """The first floors of a tree as plain values: more is not looked at."""
    from epochlint.documents.document import Mapping, Sequence

    if depth > _DEEPEST:
        return None
    if isinstance(node, Mapping):
        return {entry.key: _plain(entry.value, depth + 1) for entry in node.entries}
    if isinstance(node, Sequence):
        return [_plain(item, depth + 1) for item in node.items]
    return getattr(node, "value", None)
