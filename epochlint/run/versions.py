"""Versions of packages: what a project's files leave possible."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.source import Span

Key = tuple[tuple[int, ...], int, int]

_VERSION = re.compile(
    r"\s*v?(?:\d+!)?(\d+(?:\.\d+)*)(?:[-_.]?(a|alpha|b|beta|c|rc|pre|preview|dev|post)[-_.]?(\d*))?", re.IGNORECASE
)
_STAGE = {"dev": -4, "a": -3, "alpha": -3, "b": -2, "beta": -2, "c": -1, "rc": -1, "pre": -1, "preview": -1, "post": 1}
_CLAUSE = re.compile(r"(===|==|~=|!=|<=|>=|<|>)\s*([^,;\s]+)")


def version_key(text: str) -> Key:
    """A total order over version texts: 4.9 < 4.46.0rc1 < 4.46 = 4.46.0 < 5.0. Never raises; odd text sorts first."""
    match = _VERSION.match(text)
    if match is None:
        return ((), 0, 0)
    release = [int(part[:9]) for part in match[1].split(".")]  # no release number is longer
    while release and release[-1] == 0:
        release.pop()
    stage = _STAGE[match[2].lower()] if match[2] else 0
    return (tuple(release), stage, int(match[3][:9] or 0) if match[2] else 0)


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
        low = self.low
        if other.low is not None and (low is None or version_key(other.low) > version_key(low)):
            low = other.low
        high = self.high
        if other.high is not None and (high is None or version_key(other.high) < version_key(high)):
            high = other.high
        below = self.below
        if other.below is not None and (below is None or version_key(other.below) < version_key(below)):
            below = other.below
        merged = VersionRange(low, high, below, self.span or other.span)
        return self if merged.empty else merged

    @property
    def empty(self) -> bool:
        if self.low is None:
            return False
        low = version_key(self.low)
        return (self.high is not None and version_key(self.high) < low) or (
            self.below is not None and version_key(self.below) <= low
        )

    def meets(self, low: str | None, high: str | None) -> bool:
        """Whether some possible version lies in [low, high)."""
        if high is not None and self.low is not None and version_key(self.low) >= version_key(high):
            return False
        if low is None:
            return True
        key = version_key(low)
        if self.high is not None and version_key(self.high) < key:
            return False
        return self.below is None or version_key(self.below) > key

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


ANY = VersionRange()


def exactly(version: str, span: Span | None = None) -> VersionRange:
    return VersionRange(version, version, span=span)


def specified(text: str, span: Span | None = None) -> VersionRange:
    """What a requirement's specifier leaves possible: ">=4.46,<5", "==4.57.6", "~=4.52.1", "==4.57.*"."""
    found = ANY
    for operator, version in _CLAUSE.findall(text):
        star = version.endswith(".*")
        version = version.removesuffix(".*")
        if operator in ("==", "==="):
            part = VersionRange(version, None, _next(version), span) if star else exactly(version, span)
        elif operator == "~=":
            part = VersionRange(version, None, _next(version.rpartition(".")[0] or version), span)
        elif operator == ">=" or operator == ">":
            part = VersionRange(version, span=span)
        elif operator == "<=":
            part = VersionRange(None, version, span=span)
        elif operator == "<":
            part = VersionRange(None, None, version, span)
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

    def of(self, package: str) -> VersionRange:
        return self._ranges.get(canonical(package), ANY)

    def items(self) -> list[tuple[str, VersionRange]]:
        return list(self._ranges.items())

    def __contains__(self, package: object) -> bool:
        return isinstance(package, str) and canonical(package) in self._ranges

    def copy(self) -> Versions:
        return Versions(dict(self._ranges))


def canonical(package: str) -> str:
    return re.sub(r"[-_.]+", "-", package).lower()
