"""The keys of a Hydra config that a package ships: its own, and those of every file that may be chosen for a group."""

from __future__ import annotations

import posixpath
from typing import Any

import yaml

from tools.keys.parts import Keys, Part, Read
from tools.keys.reader import Reader
from tools.keys.shapes import Field
from tools.keys.sources import Release


def composed(folder: str, *names: str, opaque: tuple[str, ...] = ()) -> Part:
    """The dotted keys of these configs together, below `folder` of the package; the first one's values count.

    What the `defaults:` of a config choose comes first, with its values; then the other files of each group that it
    names, as an override may choose them. A group is a key itself (`model_engine`, `optim@actor.optim`). `opaque`
    blocks are not opened: what is below them is not told.
    """

    def read(reader: Reader) -> Read | None:
        found = _Composition(reader.release, folder, opaque)
        for name in names:
            found.file(name, "", top=True)
        return Read(found.keys, "", sorted(found.files)) if found.files else None

    return read


class _Composition:
    def __init__(self, release: Release, folder: str, opaque: tuple[str, ...]) -> None:
        self.release = release
        self.folder = folder
        self.opaque = opaque
        self.keys: Keys = {}
        self.files: set[str] = set()
        self._done: set[tuple[str, str]] = set()

    def file(self, path: str, package: str, top: bool = False) -> None:
        """One file's keys under a package; its own values go over those that it names, so they come first."""
        text = self.release.text(f"{self.folder}/{path}.yaml")
        if text is None or (path, package) in self._done:
            return
        self._done.add((path, package))
        self.files.add(f"{self.folder}/{path}.yaml")
        content = yaml.safe_load(text) or {}
        named = content.pop("defaults", [])
        self._take(content, package)
        for one in named:
            self._named(one, posixpath.dirname(path), package, top)

    def _named(self, one: Any, here: str, package: str, top: bool) -> None:
        if isinstance(one, str):
            if one != "_self_":
                self.file(_path(here, one), package, top)
            return
        for group, choice in one.items():
            name, _, below = str(group).removeprefix("override ").partition("@")
            path = _path(here, name)
            where = ".".join(part for part in (package, below or name.strip("./").replace("/", ".")) if part)
            self.keys.setdefault(str(group), Field(type="str", kind="computed"))
            if f"{self.folder}/{path}.yaml" in self.release.paths():  # no group: a file with a choice of its own
                self.file(path, package)
            self.file(f"{path}/{choice}", where)
            for option in sorted(self.release.paths()) if top or "${" in str(choice) else ():
                folder, _, file = option.rpartition("/")
                if folder == f"{self.folder}/{path}" and file.endswith(".yaml"):
                    self.file(f"{path}/{file.removesuffix('.yaml')}", where)

    def _take(self, content: Any, package: str) -> None:
        closed = next((at for at, part in enumerate(package.split(".")) if part in self.opaque), None)
        if closed is not None:
            name = ".".join(package.split(".")[: closed + 1])
            self.keys.setdefault(name, Field(type="dict", kind="factory"))
            return
        for key, value in content.items() if isinstance(content, dict) else ():
            name = f"{package}.{key}" if package else str(key)
            if isinstance(value, dict):
                self.keys.setdefault(name, Field(type="dict", kind="factory"))
                self._take(value, name)
            else:
                self.keys.setdefault(name, _leaf(value))


def _leaf(value: Any) -> Field:
    if isinstance(value, str) and "${" in value:
        return Field(type="any", kind="computed")
    kinds = {bool: "bool", int: "int", float: "float", str: "str", list: "list"}
    kind = kinds.get(type(value), "any")
    if value == "???":
        return Field(type="any", kind="required")
    plain = value is None or isinstance(value, (bool, int, float, str))
    return Field(type=kind + ("?" if value is None else ""), kind="known" if plain else "factory", default=value)


def _path(here: str, name: str) -> str:
    return posixpath.normpath(name.lstrip("/") if name.startswith("/") else posixpath.join(here, name))
