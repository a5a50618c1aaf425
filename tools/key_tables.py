#!/usr/bin/env python3
"""Makes the key tables in epochlint/trainers/data from the published packages.

    python tools/key_tables.py PACKAGE... [--out epochlint/trainers/data] [--cache FOLDER]
    python tools/key_tables.py --check-newest PACKAGE...

Each chosen version of a package is fetched with `pip download --no-deps` into a cache folder and its
sources are read with `ast`; nothing of it is imported here. (pip itself runs a source distribution's build
backend to learn its name; that is pip's way, and wheels are preferred where they are complete.)

What one table says: for every key that a config class, function or block accepts, the first and the last
version read that has it, its type and its default. The recipes below name the classes and the versions.
"""

from __future__ import annotations

import argparse
import dataclasses
import datetime
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))

from epochlint.trainers.tables import allowed, version_key  # the one order of versions
from tools.keys.parts import Read, Recipe, class_keys
from tools.keys.reader import Reader
from tools.keys.recipes import RECIPES
from tools.keys.shapes import Field
from tools.keys.sources import Store


def collect(recipe: Recipe, store: Store) -> dict[str, Any]:
    versions = recipe.versions.split()
    if versions != sorted(versions, key=version_key):
        raise SystemExit(f"{recipe.package}: versions are not in order")
    found: dict[str, dict[str, Read]] = {}
    requires: dict[str, dict[str, str]] = {}
    for version in versions:
        release = store.release(recipe.package, version, recipe.root)
        needs = release.requirements()
        reader = Reader(recipe, release, _outside(recipe, needs, store))
        for name in recipe.needs:
            if name in needs:
                requires.setdefault(name, {})[version] = needs[name]
        here: dict[str, Read] = {}
        for owner, read in recipe.owners.items():
            one = read(reader)
            if one is None:
                continue
            here[owner] = one
            for name, keys in one.blocks.items():
                here[f"{owner}.{name}" if recipe.prefixed else name] = Read(keys, "", one.files)
        if recipe.nested:
            done: set[str] = set()
            while pending := [name for name in reader.nested if name not in done]:
                for name in pending:
                    done.add(name)
                    if name not in recipe.owners:
                        here[name] = class_keys(reader, *reader.nested[name])
        for owner, one in here.items():
            found.setdefault(owner, {})[version] = one
        print(f"{recipe.package} {version}: " + ", ".join(f"{o} {len(r.keys)}" for o, r in here.items())[:300])
    for reads in found.values():
        for one in reads.values():
            for name, key in one.keys.items():
                if any(below not in found for below in key.nested):
                    kept = tuple(below for below in key.nested if below in found)
                    one.keys[name] = dataclasses.replace(key, nested=kept)
    return {
        "package": recipe.package,
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "versions_read": versions,
        "requires": {name: runs(versions, specs) for name, specs in sorted(requires.items())},
        "owners": {owner: _owner(recipe, owner, versions, reads) for owner, reads in sorted(found.items())},
    }


def _owner(recipe: Recipe, name_of: str, versions: list[str], reads: dict[str, Read]) -> dict[str, Any]:
    def below(block: str) -> str:
        return f"{name_of}.{block}" if recipe.prefixed else block

    names = sorted({name for one in reads.values() for name in one.keys})
    fields: dict[str, Any] = {}
    words: dict[str, Any] = {}
    hints: dict[str, Any] = {}
    nested: dict[str, Any] = {}
    for name in names:
        here = {v: reads[v].keys[name] for v in versions if v in reads and name in reads[v].keys}
        told = runs(versions, {v: _told(k) for v, k in here.items()})
        fields[name] = [[first, last, *json.loads(text)] for first, last, text in told]
        for target, pick in ((words, True), (hints, False)):
            lists = runs(versions, {v: json.dumps(w) for v, k in here.items() if (w := _words(recipe, k, pick))})
            if lists:
                target[name] = [[first, last, json.loads(text)] for first, last, text in lists]
        holds = sorted({n for k in here.values() for n in ([below(k.below)] if k.below else k.nested)})
        if holds:
            nested[name] = holds
    files: list[str] = []
    for version in reversed(versions):
        for path in reads[version].files if version in reads else ():
            if path not in files:
                files.append(path)
    owner: dict[str, Any] = {"versions": [[f, last] for f, last, _ in runs(versions, dict.fromkeys(reads, ""))]}
    bases = runs(versions, {v: r.base for v, r in reads.items() if r.base})
    if bases:
        owner["base"] = bases
    owner["source"] = files
    owner["fields"] = fields
    more = {"words": words, "hints": hints, "nested": nested}
    return {**owner, **{label: table for label, table in more.items() if table}}


def _told(key: Field) -> str:
    """[type, default] or [type, null, why it has no JSON default]."""
    if key.kind == "known":
        return json.dumps([key.type, key.default])
    return json.dumps([key.type, key.default if key.kind == "either" else None, key.kind])


def _words(recipe: Recipe, key: Field, closed: bool) -> list[str]:
    lists = key.enum and key.free and recipe.enum_or_text_closed and not key.words
    if closed:
        return list(key.hints if lists else key.words)
    return [] if lists else list(key.hints)


def runs(versions: list[str], values: dict[str, str]) -> list[list[str]]:
    """[[first, last, value], ...] over the versions read, in order."""
    found: list[list[str]] = []
    previous: str | None = None
    for version in versions:
        value = values.get(version)
        if value is not None:
            if previous == value:
                found[-1][1] = version
            else:
                found.append([version, version, value])
        previous = value
    return found


def _outside(recipe: Recipe, needs: dict[str, str], store: Store) -> Callable[[str, str], Reader | None]:
    """Other packages, in the oldest or newest version read that this one's requirement allows."""
    readers: dict[tuple[str, str], Reader] = {}

    def reader(package: str, end: str) -> Reader | None:
        if package == recipe.package or package not in {"transformers", *recipe.flatten}:
            return None
        if (package, end) not in readers:
            other, spec = RECIPES[package], needs.get(package, "")
            versions = other.versions.split()
            fits = [v for v in versions if allowed(spec, v)]
            pin = re.search(r"==\s*([\w.]+)", spec)
            if pin and not fits:
                fits = [v for v in versions if version_key(v) <= version_key(pin[1])][-1:]
            version = (fits or versions)[0 if end == "oldest" and fits else -1]
            readers[package, end] = Reader(other, store.release(package, version, other.root), lambda *_: None)
        return readers[package, end]

    return reader


def dumped(table: dict[str, Any]) -> str:
    """JSON with one key a line, so that a changed default is one changed line."""

    def small(value: object) -> str:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))

    lines = ["{", *(f"{small(head)}:{small(table[head])}," for head in ("package", "date", "versions_read"))]
    lines.append('"requires":{' + ",\n".join(f"{small(k)}:{small(v)}" for k, v in table["requires"].items()) + "},")
    lines.append('"owners":{')
    owners = []
    for name, owner in table["owners"].items():
        parts = []
        for label, value in owner.items():
            if label in {"fields", "words", "hints", "nested"}:
                rows = ",\n".join(f"{small(k)}:{small(v)}" for k, v in value.items())
                parts.append(f"{small(label)}:{{\n{rows}}}")
            else:
                parts.append(f"{small(label)}:{small(value)}")
        owners.append(f"{small(name)}:{{" + ",\n".join(parts) + "}")
    lines.append(",\n".join(owners) + "}}")
    return "\n".join(lines) + "\n"


def newest(package: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=False
    )
    match = re.search(r"Available versions: ([^,\s]+)", done.stdout)
    return match[1] if match else "unknown"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="+", choices=sorted(RECIPES), metavar="PACKAGE", help=", ".join(RECIPES))
    parser.add_argument("--out", default=os.path.join(os.path.dirname(__file__), "..", "epochlint", "trainers", "data"))
    parser.add_argument("--cache", default=os.path.join(tempfile.gettempdir(), "key_tables"))
    parser.add_argument("--check-newest", action="store_true", help="only say whether a newer version is published")
    args = parser.parse_args()
    store = Store(args.cache)
    for package in args.packages:
        recipe = RECIPES[package]
        if args.check_newest:
            print(f"{package}: read to {recipe.versions.split()[-1]}, published {newest(recipe.package)}")
            continue
        table = {**collect(recipe, store), "package": package}
        os.makedirs(args.out, exist_ok=True)
        path = os.path.join(args.out, f"{package}.json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = json.load(file)
            if {**old, "date": ""} == {**table, "date": ""}:
                table["date"] = old["date"]  # nothing changed: no new date
        with open(path, "w", encoding="utf-8") as file:
            file.write(dumped(table))
        print(f"{path}: {os.path.getsize(path)} bytes, {len(table['owners'])} owners")
    return 0


if __name__ == "__main__":
    sys.exit(main())
