"""Versions of packages: what a project's files leave possible."""

from __future__ import annotations

import re
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.source import Span

    Key = tuple[Any, ...]

_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^,;\s]+)")

_VERSION = (
    r"\s*v?(?:([0-9]+)!)?([0-9]+(?:\.[0-9]+)*)"
    r"(?:[-_.]?(a|b|c|rc|alpha|beta|pre|preview)[-_.]?([0-9]*))?"
    r"(?:(?:[-_.]?(?:post|rev|r)[-_.]?([0-9]*))|-([0-9]+))?"
    r"(?:([-_.]?dev[-_.]?)([0-9]*))?"
    r"(?:\+([a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*(?:\.\*)?\Z"
)
_PRE = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "c": 2, "rc": 2, "pre": 2, "preview": 2}
_FINAL = ((3, 0), -1, (1, 0), ())  # no pre, post, dev or local part


_keys: dict[str, Key] = {}


def version_key(version: str) -> Key:
    """A key that sorts versions as PEP 440 does. Never raises: a text that is no version sorts below all versions."""
    key = _keys.get(version)
    if key is None:
        key = _parsed(version)
        if len(_keys) < 2000:
            _keys[version] = key
    return key


def _parsed(version: str) -> Key:
    if len(version) > 200:
        return (0, version)
    parts = version.split(".")
    if version.isascii() and all(part.isdecimal() for part in parts):  # nearly all are
        return (1, 0, _release(parts), *_FINAL)
    match = re.match(_VERSION, version.lower())
    if match is None:
        return (0, version)
    epoch, release, pre, pre_number, post, dash, dev, dev_number, local = match.groups()
    after = -1 if post is None and dash is None else int(post or dash or 0)
    if pre is not None:
        before = (_PRE[pre], int(pre_number or 0))
    elif dev is not None and after < 0:
        before = (-1, 0)  # 1.0.dev1 comes before 1.0a1
    else:
        before = (3, 0)
    place = (0, int(dev_number or 0)) if dev is not None else (1, 0)
    label = tuple((1, int(p), "") if p.isdecimal() else (0, 0, p) for p in re.split("[-_.]", local)) if local else ()
    return (1, int(epoch or 0), _release(release.split(".")), before, after, place, label)


def _release(parts: list[str]) -> tuple[int, ...]:
    numbers = [int(part) for part in parts]
    while len(numbers) > 1 and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)


class VersionRange:
    """The versions that are possible: from `low` to `high`, both included, either open (None).

    `below` is an upper bound that is itself excluded (`<5`). `span` is where it was said.
    """

    __slots__ = ("below", "high", "low", "span")

    def __init__(
        self, low: str | None = None, high: str | None = None, below: str | None = None, span: Span | None = None
    ) -> None:
        self.low = low
        self.high = high
        self.below = below
        self.span = span

    @property
    def pinned(self) -> bool:
        """Exactly one version is possible."""
        return self.low is not None and self.high is not None and version_key(self.low) == version_key(self.high)

    def narrowed(self, other: VersionRange) -> VersionRange:
        """Both together. Where they contradict each other, `self` stays: the narrower word was closer to the run."""
        both = _both(self.low, self.high, self.below, other.low, other.high, other.below)
        span = self.span or other.span
        if both is None or (both == (self.low, self.high, self.below) and span is self.span):
            return self
        return VersionRange(*both, span)

    def excludes(self, other: VersionRange) -> bool:
        """Whether no version lies in both."""
        return _both(self.low, self.high, self.below, other.low, other.high, other.below) is None

    def meets(self, low: str | None, high: str | None) -> bool:
        """Whether some possible version lies in [low, high)."""
        return _meet(self.low, self.high, self.below, low, high)

    def at_least(self, version: str) -> bool | None:
        """Whether every possible version is `version` or newer (True), none is (False), or it depends (None)."""
        key = version_key(version)
        if self.low is not None and version_key(self.low) >= key:
            return True
        if self.high is not None and version_key(self.high) < key:
            return False
        if self.below is not None and version_key(self.below) <= key:
            return False
        return None

    def __repr__(self) -> str:
        return f"VersionRange({self.low}, {self.high}, below={self.below})"


# Few versions are compared, and these often.


@lru_cache(maxsize=10_000)
def _both(
    low: str | None, high: str | None, below: str | None, since: str | None, last: str | None, until: str | None
) -> tuple[str | None, str | None, str | None] | None:
    """The ends of two ranges together; None where they contradict each other."""
    if since is not None and (low is None or version_key(since) > version_key(low)):
        low = since
    if last is not None and (high is None or version_key(last) < version_key(high)):
        high = last
    if until is not None and (below is None or version_key(until) < version_key(below)):
        below = until
    if low is not None:
        key = version_key(low)
        if (high is not None and version_key(high) < key) or (below is not None and version_key(below) <= key):
            return None
    return low, high, below


@lru_cache(maxsize=10_000)
def _meet(low: str | None, high: str | None, below: str | None, since: str | None, until: str | None) -> bool:
    if until is not None and low is not None and version_key(low) >= version_key(until):
        return False
    if since is None:
        return True
    key = version_key(since)
    if high is not None and version_key(high) < key:
        return False
    return below is None or version_key(below) > key


ANY = VersionRange()


def exactly(version: str, span: Span | None = None) -> VersionRange:
    return VersionRange(version, version, span=span)


def specified(text: str, span: Span | None = None) -> VersionRange:
    """What a requirement's specifier leaves possible: ">=4.46,<5", "==4.57.6", "~=4.52.1", "==4.57.*"."""
    found = _specified(text)
    return found if span is None or found is ANY else VersionRange(found.low, found.high, found.below, span)


@lru_cache(maxsize=1000)
def _specified(text: str) -> VersionRange:
    found = ANY
    for operator, version in _CLAUSE.findall(text):
        star = version.endswith(".*")
        version = version.removesuffix(".*")
        if operator in ("==", "==="):
            part = VersionRange(version, None, _next(version)) if star else exactly(version)
        elif operator == "~=":
            part = VersionRange(version, None, _next(version.rpartition(".")[0] or version))
        elif operator == ">=" or operator == ">":
            part = VersionRange(version)
        elif operator == "<=":
            part = VersionRange(None, version)
        elif operator == "<":
            part = VersionRange(None, None, version)
        else:
            continue
        found = found.narrowed(part)
    return found


def _next(prefix: str) -> str:
    """The first release after all that begin with `prefix`: 4.57 -> 4.58."""
    parts = prefix.split(".")
    try:
        parts[-1] = str(int(parts[-1]) + 1)
    except ValueError:
        return prefix
    return ".".join(parts)


class Versions:
    """Package -> what is possible for it in this project. Package names are compared as PyPI does."""

    __slots__ = ("_ranges",)

    def __init__(self, ranges: dict[str, VersionRange] | None = None) -> None:
        self._ranges: dict[str, VersionRange] = {}
        for name, found in (ranges or {}).items():
            self.add(name, found)

    def add(self, package: str, found: VersionRange) -> None:
        """Narrow a package further; what was said first wins where the two contradict each other."""
        name = canonical(package)
        self._ranges[name] = self._ranges[name].narrowed(found) if name in self._ranges else found

    def put(self, package: str, found: VersionRange) -> None:
        """What holds for a package in place of all that was said before."""
        self._ranges[canonical(package)] = found

    def of(self, package: str) -> VersionRange:
        return self._ranges.get(canonical(package), ANY)

    def items(self) -> list[tuple[str, VersionRange]]:
        return list(self._ranges.items())

    def __contains__(self, package: object) -> bool:
        return isinstance(package, str) and canonical(package) in self._ranges

    def copy(self) -> Versions:
        found = Versions()
        found._ranges = dict(self._ranges)
        return found


@lru_cache(maxsize=2000)
def canonical(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
