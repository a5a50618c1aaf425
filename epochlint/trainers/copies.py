"""A trainer's copy in the project: a fork may have keys of its own."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet

    from epochlint.trainers.trainer import Reading

_ABOVE = ("", "..", "../..", "../../..")


def declared(reading: Reading, odd: AbstractSet[str], packages: Iterable[str]) -> frozenset[str]:
    """Those of the unknown keys that stand in the sources of a package that the project itself holds."""
    resolve = getattr(reading.lookup, "resolve", None)
    if not odd or resolve is None:
        return frozenset()
    for above in _ABOVE:
        for package in packages:
            for folder in (f"src/{package}", package):
                found = resolve(os.path.join(above, folder), reading.base)
                if found is not None and os.path.isdir(found):
                    return frozenset(odd & _words(found, odd))
    return frozenset()


def _words(folder: str, wanted: AbstractSet[str]) -> set[str]:
    """Which of the names stand in a folder's Python and YAML files: at most 600 files of 300 KB are looked at."""
    found: set[str] = set()
    looked = 0
    for place, folders, files in os.walk(folder):
        folders.sort()
        for name in sorted(files):
            if not name.endswith((".py", ".yaml")) or looked >= 600:
                continue
            looked += 1
            path = os.path.join(place, name)
            if not os.path.isfile(path):  # opening a pipe would wait for ever
                continue
            try:
                with open(path, "rb") as file:
                    text = file.read(300 * 1024)
            except OSError:
                continue
            found.update(word for word in wanted if word.encode("utf-8", "surrogatepass") in text)
            if found == wanted:
                return found
    return found
