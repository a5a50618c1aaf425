"""The rules of a check: selected and ignored by codes, names and families, changed by the settings."""

from __future__ import annotations

import os

from epochlint.rules import catalogue, engine

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from epochlint.findings.finding import Finding
    from epochlint.rules.rule import Rule
    from epochlint.run.observation import Observation
    from epochlint.settings import Nearest, Settings


class UnknownRuleError(Exception):
    """A word on the command line that names no rule."""


class Chosen:
    """The rules of a check for each file, by the settings that hold there. `working`: where shown paths start;
    `pedantic`: see `engine.Engine`.

    Raises UnknownRuleError for words of the command line, SettingsError for those of the settings.
    """

    __slots__ = ("_asked", "_by_settings", "_engines", "_ignore", "_pedantic", "_select", "_settings", "_working")

    def __init__(
        self,
        settings: Nearest,
        working: str,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        pedantic: bool = False,
    ) -> None:
        self._settings = settings
        self._working = working
        self._select = select
        self._ignore = ignore
        self._pedantic = pedantic
        self._by_settings = {id(settings.own): chosen(settings.own, select, ignore)}
        self._asked: dict[int, frozenset[str]] = {}
        self._engines: dict[int, engine.Engine] = {}

    def of(self, shown: str) -> list[Rule]:
        """The rules for a file, by its shown path."""
        settings = self._settings.of(os.path.join(self._working, shown))
        found = self._by_settings.get(id(settings))
        if found is None:
            found = self._by_settings[id(settings)] = chosen(settings, self._select, self._ignore)
        return found

    def engine(self, shown: str) -> engine.Engine:
        """What judges a file's runs."""
        rules = self.of(shown)
        found = self._engines.get(id(rules))
        if found is None:
            found = self._engines[id(rules)] = engine.Engine(rules, self._pedantic)
        return found

    def observations(self, shown: str) -> frozenset[str]:
        """What a file's rules ask for: costly observations are made only then."""
        rules = self.of(shown)
        found = self._asked.get(id(rules))
        if found is None:
            checks = (check for rule in rules for check in rule.checks)
            found = frozenset(check.observation for check in checks if check.observation is not None)
            self._asked[id(rules)] = found
        return found

    def every(self) -> list[Rule]:
        """Each rule that holds for some file, once, sorted by code."""
        first, *more = self._by_settings.values()
        if not more:
            return first
        found = {rule.code: rule for rules in reversed(self._by_settings.values()) for rule in rules}
        return [found[code] for code in sorted(found)]

    def observed(self, observations: Iterable[Observation]) -> list[Finding]:
        """The findings of observations, each by the rules of its file."""
        by_rules: dict[int, tuple[list[Rule], list[Observation]]] = {}
        for observation in observations:
            rules = self.of(observation.span.in_file().source.path)
            by_rules.setdefault(id(rules), (rules, []))[1].append(observation)
        return [found for rules, some in by_rules.values() for found in engine.observed(some, rules)]


def chosen(settings: Settings, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Rule]:
    """Raises UnknownRuleError for words of the command line, SettingsError for those of the settings."""
    every = catalogue.load(settings.rules)
    for word in catalogue.unknown([*select, *ignore], every):
        raise UnknownRuleError(f"there is no rule {word!r}{close(word, every)}")
    for where, word in _words(settings):
        if catalogue.unknown([word], every):
            raise settings.error(where, f"there is no rule {word!r}{close(word, every)}")
    rules = catalogue.chosen(select or settings.select, [*settings.ignore, *ignore], every)
    levels = {word.upper() if "-" not in word else word.lower(): level for word, level in settings.levels.items()}
    kept = []
    for rule in rules:
        level = levels.get(rule.code) or levels.get(rule.name)
        if level == "off":
            continue
        if level is not None:
            rule.ceiling = level
        for word, values in settings.thresholds.items():
            if word.upper() != rule.code and word.lower() != rule.name:
                continue
            for name, value in values.items():
                if name not in rule.thresholds:
                    known = ", ".join(rule.thresholds) or "none"
                    message = f"{rule.code} has no threshold {name!r} (it has: {known})"
                    raise settings.error(("thresholds", word, name), message)
                rule.thresholds[name] = value
        kept.append(rule)
    return kept


def _words(settings: Settings) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every word of the settings that must name a rule, with the keys that lead to it."""
    for key in ("select", "ignore"):
        for index, word in enumerate(getattr(settings, key)):
            yield (key, index), word
    for key in ("levels", "thresholds"):
        for word in getattr(settings, key):
            yield (key, word), word
    for ignored in settings.ignored:
        for index, word in enumerate(ignored.codes):
            yield ("per-path-ignores", ignored.pattern, index), word


def close(word: str, rules: Sequence[Rule]) -> str:
    """`; did you mean ...?`, or nothing."""
    from difflib import get_close_matches

    names = [name for rule in rules for name in (rule.code, rule.name)]
    found = get_close_matches(word.lower() if "-" in word else word.upper(), names, 1, 0.6)
    return f"; did you mean {found[0]!r}?" if found else ""
