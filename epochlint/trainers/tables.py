"""Key tables: which keys each trainer's config accepts, by version, with type and default.

The data beside this module (`data/<package>.json`) is read from the published packages by `tools/key_tables.py`;
`data/renames.json` is kept by hand. A range of versions that are still possible is `low`..`high`, both inclusive,
None = open. Answers about a range are careful: a version that was not read counts as both of its read neighbours.
"""

from __future__ import annotations

import json
import os
import re
from functools import lru_cache

from epochlint.run.versions import version_key

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Set as AbstractSet
    from typing import Any, Final

    from epochlint.run.versions import Key

    Range = tuple["str | None", "str | None"]

_DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"

    def __bool__(self) -> bool:
        return False


MISSING: Final = _Missing()
"""The default of a key that has none: required, unknown, made by code, or not the same over the versions asked for."""

# ------------------------------------------------------------------------------------------------ versions


def allowed(specifier: str, version: str) -> bool:
    """Whether a requirement's specifier (`>=4.46,<5`) allows that version. Clauses that cannot be read allow all."""
    key = version_key(version)
    for clause in specifier.split(","):
        text = clause.strip().lstrip("<>=!~").strip()
        sign = clause.strip()[: -len(text)].strip() if text else ""
        bound = version_key(text)
        if not bound[0]:
            continue
        if sign in ("", "==", "===", "!="):
            if text.endswith(".*"):
                same = _starts(key, text[:-2])
            else:  # a local part counts only where the clause has one
                same = key == bound or ("+" not in text and key[:-1] == bound[:-1])
            fits = same != (sign == "!=")
        elif sign == "~=":
            fits = key >= bound and _starts(key, text.rpartition(".")[0])
        elif sign in (">", ">="):
            fits = key > bound or (sign == ">=" and key == bound)
        elif sign in ("<", "<="):
            fits = key < bound or (sign == "<=" and key == bound)
        else:
            continue
        if not fits:
            return False
    return True


def _starts(key: Key, prefix: str) -> bool:
    """Whether the version's release begins with these numbers (4.50.3 begins with 4.50)."""
    numbers = [int(part) for part in re.findall("[0-9]+", prefix)[:8] if len(part) < 9]
    if not key[0]:
        return False
    release = list(key[2]) + [0] * len(numbers)
    return release[: len(numbers)] == numbers


# ------------------------------------------------------------------------------------------------ tables

# A table never changes and lives as long as the program, and configs ask it the same questions again and again.
_remembered = lru_cache(maxsize=20_000)

_files: dict[str, Any] = {}
_tables: dict[tuple[str, str], Table] = {}


def _file(package: str) -> Any:
    if package not in _files:
        if not re.fullmatch(r"[a-z0-9-]+", package):
            raise KeyError(package)
        try:
            with open(os.path.join(_DATA, package + ".json"), encoding="utf-8") as file:
                _files[package] = json.load(file)
        except FileNotFoundError:
            raise KeyError(package) from None
    return _files[package]


def load(package: str, owner: str) -> Table:
    """The table of one config class or block, e.g. `load("transformers", "TrainingArguments")`. KeyError: no such."""
    table = _tables.get((package, owner))
    if table is None:
        data = _file(package)
        table = _tables[package, owner] = Table(package, owner, data, data["owners"][owner])
    return table


def owners(package: str) -> tuple[str, ...]:
    """Names that `load` takes for this package. KeyError: no such package."""
    return tuple(_file(package)["owners"])


@_remembered
def required_version(package: str, other: str, version: str | None) -> str | None:
    """The specifier with which `package` at that version asks for `other` (`>=4.56.1`); None = it does not say.

    A version that was not read, where its neighbours differ: None. `version` None = the newest read.
    """
    data = _file(package)
    rows = data["requires"].get(other, ())
    read = data["versions_read"]
    low, high = _span([version_key(v) for v in read], version or read[-1], version or read[-1])
    found = set()
    for place in range(low, high + 1):
        key = version_key(read[place])
        found.add(next((s for first, last, s in rows if version_key(first) <= key <= version_key(last)), None))
    return found.pop() if len(found) == 1 else None


_ranges: dict[tuple[str, str], Range] = {}


def required_range(specifier: str, table: Table) -> Range:
    """The first and the last version read of `table`'s package that a specifier allows; (None, None) = any."""
    asked = (specifier, table.package)
    if asked not in _ranges:
        first = next((version for version in table._all if allowed(specifier, version)), None)
        exact = re.match(r"==\s*([^,\s]+)", specifier)
        if first is not None:
            _ranges[asked] = (first, next(version for version in reversed(table._all) if allowed(specifier, version)))
        else:
            _ranges[asked] = (exact[1], exact[1]) if exact else (None, None)
    return _ranges[asked]


def _span(keys: list[Key], low: str | None, high: str | None) -> tuple[int, int]:
    """Places of the read versions that stand for the range, widened to the neighbours of what was not read."""
    start, end = 0, len(keys) - 1
    if low is not None:
        key = version_key(low)
        while start < len(keys) - 1 and keys[start + 1] <= key:
            start += 1
    if high is not None:
        key = version_key(high)
        while end > 0 and keys[end - 1] >= key:
            end -= 1
    return min(start, end), max(start, end)


def _sign(value: object) -> str:
    """Equal for equal JSON values; 0 and 0.0 are one number, True is none."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value)) if abs(value) < 2**53 else repr(value)
    return json.dumps(value, sort_keys=True)


class Table:
    """The keys of one config class or block over the versions read.

    Keys that a class inherits from another package (TRL's configs from TrainingArguments) are known too; whether such a
    key exists depends on that package's version, which is taken from `base_range` or from what the package requires.
    """

    __slots__ = (
        "_all",
        "_bases",
        "_data",
        "_keys",
        "_lasting",
        "_near",
        "_places",
        "_requires",
        "owner",
        "package",
        "versions",
    )

    def __init__(self, package: str, owner: str, file: Any, data: Any) -> None:
        self.package: str = package
        self.owner: str = owner
        self._all: list[str] = file["versions_read"]
        self._places: dict[str, int] = {version: place for place, version in enumerate(self._all)}
        self._keys: list[Key] = []  # made when a version is asked for
        self._data = data
        self._requires: dict[str, list[list[str]]] = file["requires"]
        self._bases: list[tuple[int, int, str, str]] = []
        for first, last, name in data.get("base", ()):
            other, _, other_owner = name.partition(".")
            self._bases.append((self._places[first], self._places[last], other, other_owner))
        self._near: dict[str, str] | None = None
        self._lasting: set[str] = set()  # as far as they were asked for
        here: list[str] = []
        for first, last in data["versions"]:
            here += self._all[self._places[first] : self._places[last] + 1]
        self.versions: tuple[str, ...] = tuple(here)

    # keys ---------------------------------------------------------------------------------------

    @property
    def base(self) -> Table | None:
        """The table of the other package's class whose keys are inherited, if any."""
        return load(*self._bases[-1][2:]) if self._bases else None

    def own(self, name: str) -> bool:
        """Whether the class itself (or a base in the same package) declares the key, in any version."""
        return name in self._data["fields"]

    def still_own(self, name: str) -> bool:
        """Whether the newest version read declares the key itself."""
        return self.own(name) and bool(self._row(name, self._places[self.versions[-1]]))

    @_remembered
    def home(self, name: str) -> Table:
        """The table whose package and versions `first`, `last` and `gone_in` speak of.

        It is the base's where the key comes from there in any version, though others may give it another default.
        """
        base = self.base
        inherited = base is not None and base.known(name)
        if base is not None and inherited and any(not self._row(name, self._places[v]) for v in self.versions):
            return base.home(name)
        return self

    @_remembered
    def known(self, name: str) -> bool:
        """Whether the key exists in any version read."""
        return self.own(name) or (bool(self._bases) and load(*self._bases[-1][2:]).known(name))

    @_remembered
    def names(self) -> frozenset[str]:
        """Every key of any version read, inherited ones too."""
        base = self.base
        return frozenset(self._data["fields"]) | (base.names() if base is not None else frozenset())

    @_remembered
    def exists(self, name: str, low: str | None, high: str | None, base_range: Range | None = None) -> bool | None:
        """True: in every version of the range; False: in none; None: in some, or it depends on the other package.

        `base_range`: the still possible versions of the base's package; None = as this package requires it.
        """
        answers: set[bool | None] = set()
        below: dict[Range, Table] = {}
        for place in self._range(low, high):
            base = self._base_at(place)
            if self._row(name, place) is not None:
                answers.add(True)
            elif base is None:
                answers.add(False)
            else:
                below[base_range or self._asked(place, base)] = base
        for asked, base in below.items():
            answers.add(base.exists(name, *asked))
        return answers.pop() if len(answers) == 1 else None

    @_remembered
    def first(self, name: str) -> str:
        """First version read (of `home(name)`'s package) that has the key. KeyError: not known."""
        home = self.home(name)
        return home._data["fields"][name][0][0]  # type: ignore[no-any-return]

    def last(self, name: str) -> str:
        """Last version read (of `home(name)`'s package) that has the key. KeyError: not known."""
        return self.home(name)._last(name)

    def _last(self, name: str) -> str:
        return self._data["fields"][name][-1][1]  # type: ignore[no-any-return]

    @_remembered
    def gone_in(self, name: str) -> str | None:
        """First version read (of `home(name)`'s package) after the last one that has the key; None = still there."""
        home = self.home(name)
        last = home._last(name)
        place = home._places[last] + 1
        return None if last == home.versions[-1] or place >= len(home._all) else home._all[place]

    def last_before(self, version: str) -> str | None:
        """The last version read below that one, to be the `high` of a range that ends before it (`<5.15`)."""
        key = version_key(version)
        return next((one for one in reversed(self._all) if version_key(one) < key), None)

    def lasting(self, names: AbstractSet[str]) -> AbstractSet[str]:
        """Those of the names that the table knows, and that every version read (of `home(name)`'s package) has."""
        new = names - self._lasting
        if new:
            self._lasting.update(name for name in new if self.known(name) and not self.comes_or_goes(name))
        return self._lasting & names

    @_remembered
    def comes_or_goes(self, name: str) -> bool:
        """Whether some versions read (of `home(name)`'s package) have the key and others have not."""
        if not self.known(name):
            return False
        home = self.home(name)
        return home.first(name) != home.versions[0] or home.gone_in(name) is not None

    # values -------------------------------------------------------------------------------------

    def default(self, name: str, version: str | None, base_range: Range | None = None) -> object:
        """The default at that version (None = the newest read); MISSING where there is none that is certain."""
        asked = version or self.versions[-1]
        if self.exists(name, asked, asked, base_range) is not True:
            return MISSING
        found, sure = self._defaults(name, asked, asked, base_range)
        return found[0] if sure and len(found) == 1 else MISSING

    def defaults(self, name: str, low: str | None, high: str | None, base_range: Range | None = None) -> list[object]:
        """The distinct known defaults over the range, oldest first."""
        return self._defaults(name, low, high, base_range)[0]

    @_remembered
    def _defaults(
        self, name: str, low: str | None, high: str | None, base_range: Range | None
    ) -> tuple[list[object], bool]:
        """The distinct defaults, and whether there is one at every version that has the key."""
        found: dict[str, object] = {}
        done: set[Range] = set()
        sure = True
        for place in self._range(low, high):
            row = self._row(name, place)
            if row is None:
                base = self._base_at(place)
                asked = (base_range or self._asked(place, base)) if base is not None else None
                if base is not None and asked is not None and asked not in done:
                    done.add(asked)
                    more, certain = base._defaults(name, *asked, None)
                    sure = sure and certain
                    for value in more:
                        found.setdefault(_sign(value), value)
            elif len(row) == 4:
                found.setdefault(_sign(row[3]), row[3])
            elif row[4] == "either":  # which one depends on the machine
                for value in row[3]:
                    found.setdefault(_sign(value), value)
            else:
                sure = False
        return list(found.values()), sure

    def required(self, name: str, version: str | None) -> bool:
        """Whether the key must be given at that version (None = the newest read)."""
        asked = version or self.versions[-1]
        rows = [self._row(name, place) for place in self._range(asked, asked)]
        return bool(rows) and all(row is not None and len(row) == 5 and row[4] == "required" for row in rows)

    @_remembered
    def type(self, name: str) -> str:
        """int, float, number, bool, str, list, dict, any, or several joined by `|`; as in the newest version."""
        return self._type(name).removesuffix("?")

    @_remembered
    def numeric(self, name: str) -> bool:
        """Whether the key takes numbers and nothing else."""
        return {"int", "float", "number"}.issuperset(self.type(name).split("|"))

    def optional(self, name: str) -> bool:
        """Whether null is allowed, as in the newest version that has the key."""
        return self._type(name).endswith("?")

    def _type(self, name: str) -> str:
        if self.own(name):
            return self._data["fields"][name][-1][2]  # type: ignore[no-any-return]
        base = self.base
        return base._type(name) if base is not None else "any"

    @_remembered
    def words(self, name: str, low: str | None = None, high: str | None = None) -> tuple[str, ...]:
        """The only texts allowed in some version of the range; () where any text is, or it is not told."""
        base = self.base
        if not self.own(name):
            return base.words(name) if base is not None else ()
        places = set(self._range(low, high))
        found: dict[str, None] = {}
        covered: set[int] = set()
        for first, last, words in self._data.get("words", {}).get(name, ()):
            here = places & set(range(self._places[first], self._places[last] + 1))
            if here:
                covered |= here
                found.update(dict.fromkeys(words))
        with_key = {place for place in places if self._row(name, place) is not None}
        return tuple(found) if with_key <= covered else ()

    def hints(self, name: str) -> tuple[str, ...]:
        """Texts that the type lists, in any version, closed or not: for spelling help only."""
        found: dict[str, None] = {}
        for label in ("words", "hints"):
            for _, _, words in self._data.get(label, {}).get(name, ()):
                found.update(dict.fromkeys(words))
        base = self.base
        if not self.own(name) and base is not None:
            return base.hints(name)
        return tuple(found)

    def nested(self, name: str) -> tuple[str, ...]:
        """Owners (of the same package) whose keys stand below this one, in its mapping or its list's mappings."""
        return tuple(self._data.get("nested", {}).get(name, ()))

    # places -------------------------------------------------------------------------------------

    def _range(self, low: str | None, high: str | None) -> list[int]:
        here = [self._places[version] for version in self.versions]
        if low is None and high is None:
            return here
        if low == high and low in self._places:
            start = end = self._places[low]
        else:
            if not self._keys:
                self._keys = [version_key(version) for version in self._all]
            start, end = _span(self._keys, low, high)
        inside = [place for place in here if start <= place <= end]
        # The class is not there in the range at all: its nearest version speaks.
        return inside or [min(here, key=lambda place: min(abs(place - start), abs(place - end)))]

    def _row(self, name: str, place: int) -> list[Any] | None:
        for row in self._data["fields"].get(name, ()):
            if self._places[row[0]] <= place <= self._places[row[1]]:
                return row  # type: ignore[no-any-return]
        return None

    def _base_at(self, place: int) -> Table | None:
        for first, last, package, owner in self._bases:
            if first <= place <= last:
                return load(package, owner)
        return None

    def _asked(self, place: int, base: Table) -> Range:
        """The range of the base's package that this package at that version requires."""
        for first, last, specifier in self._requires.get(base.package, ()):
            if self._places[first] <= place <= self._places[last]:
                return required_range(specifier, base)
        return (None, None)

    # spelling -----------------------------------------------------------------------------------

    @_remembered
    def nearest(self, name: str, cutoff: float = 0.85) -> str | None:
        """The key that was probably meant: same but for case, dashes, underscores, a plural s, two swapped letters or
        a close spelling. None for known names, names under four letters, and where nothing is near."""
        if self._near is None:
            self._near = {_folded(known): known for known in sorted(self.names(), reverse=True)}
        return nearest(name, self.names(), cutoff, self._near)


def _folded(name: str) -> str:
    return re.sub(r"[-_.\s]", "", name.lower())


def nearest(name: str, names: Iterable[str], cutoff: float = 0.85, folds: dict[str, str] | None = None) -> str | None:
    """`Table.nearest` over any set of names. `folds`: the names by their folded form, where the caller keeps it."""
    known = names if isinstance(names, (set, frozenset, dict)) else set(names)
    if len(name) < 4 or len(name) > 200 or name in known:
        return None
    if folds is None:
        folds = {_folded(one): one for one in sorted(known, reverse=True)}
    fold = _folded(name)
    candidates = [fold, fold + "s", fold.removesuffix("s")]
    candidates += [fold[:i] + fold[i + 1] + fold[i] + fold[i + 2 :] for i in range(len(fold) - 1)]
    for one in candidates:
        if one in folds and len(one) >= 4 and re.findall("[0-9]+", one) == re.findall("[0-9]+", fold):
            return folds[one]
    import difflib

    close = difflib.get_close_matches(name.lower(), known, 5, cutoff)
    return next((one for one in close if _same_words(name.lower(), one, known)), None)


def _same_words(name: str, known: str, names: Iterable[str]) -> bool:
    """Whether a close spelling is a slip of the hand.

    `load_in_4bit` for `load_in_8bit`, `use_lora` for `use_rslora`, `grpo_beta` for `orpo_beta` and `base_model_name`
    for `model_name` are not, however close the texts are: another number, another word, one word more. A word may be
    missing only at the end (`gradient_accumulation`).
    """
    if re.findall("[0-9]+", name) != re.findall("[0-9]+", known):
        return False
    left, right = re.split("[-_.]", name), re.split("[-_.]", known)
    if len(left) < len(right):
        return known.startswith(name + "_")
    if len(left) > len(right):
        return False
    words = {word for one in names for word in one.lower().split("_")}
    return all(_slip(a, b, words) for a, b in zip(left, right))  # noqa: B905


def _slip(word: str, known: str, words: set[str]) -> bool:
    """Whether one word was meant as the other: one or two letters off, and no word of its own."""
    if word == known or word + "s" == known or word == known + "s":
        return True
    if word in words:
        return False
    longest = max(len(word), len(known))
    if longest <= 4 and len(word) == len(known) and sorted(word) != sorted(known):
        return False  # orpo and grpo, top and tip
    return _distance(word, known) <= (1 if longest <= 5 else 2)


def _distance(left: str, right: str) -> int:
    """How many letters to add, drop, change or swap with the next."""
    before: list[int] = []
    last = list(range(len(right) + 1))
    for i, a in enumerate(left):
        row = [i + 1]
        for j, b in enumerate(right):
            best = min(last[j] + (a != b), last[j + 1] + 1, row[j] + 1)
            if i and j and a == right[j - 1] and left[i - 1] == b:
                best = min(best, before[j - 1] + 1)
            row.append(best)
        before, last = last, row
    return last[-1]


# ------------------------------------------------------------------------------------------------ renames


class Rename:
    """A key that was renamed or removed, from data/renames.json.

    `new`: the name that replaces it, or None. `since`: first version with the new name, None = all that were read.
    `gone_in`: first version without the old name, None = still accepted. Versions are those of `package`.
    `same_meaning`: the value may be moved: as it is, only if it is a number under `below`, or through `value_map` (JSON
    text of the old value -> new value); other values cannot be moved. `source`: where this was read.
    """

    __slots__ = (
        "below", "gone_in", "new", "note", "old", "owner", "package", "same_meaning", "since", "source", "value_map"
    )  # fmt: skip

    def __init__(self, entry: dict[str, Any]) -> None:
        self.package: str = entry["package"]
        self.owner: str = entry["owner"]
        self.old: str = entry["old"]
        self.new: str | None = entry["new"]
        self.since: str | None = entry.get("since")
        self.gone_in: str | None = entry.get("gone_in")
        self.same_meaning: bool = entry["same_meaning"]
        self.value_map: dict[str, object] | None = entry.get("value_map")
        self.below: float | None = entry.get("below")
        self.note: str = entry.get("note", "")
        self.source: str = entry["source"]


_entries: dict[tuple[str, str], list[dict[str, Any]]] = {}
_renames: dict[tuple[str, str], dict[str, Rename]] = {}


def renames(package: str, owner: str) -> dict[str, Rename]:
    """Old name -> Rename for one config class, those of its base class included."""
    asked = (package, owner)
    if asked in _renames:
        return _renames[asked]
    if not _entries:
        with open(os.path.join(_DATA, "renames.json"), encoding="utf-8") as file:
            for entry in json.load(file)["renames"]:
                for name in entry["owner"] if isinstance(entry["owner"], list) else [entry["owner"]]:
                    _entries.setdefault((entry["package"], name), []).append(entry)
    found = {entry["old"]: Rename({**entry, "owner": owner}) for entry in _entries.get(asked, ())}
    try:
        base = load(package, owner).base
    except KeyError:
        base = None
    if base is not None:
        for old, rename in renames(base.package, base.owner).items():
            found.setdefault(old, rename)
    _renames[asked] = found
    return found
