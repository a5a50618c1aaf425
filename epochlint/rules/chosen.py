"""The rules of a check: selected and ignored by codes, names and families, changed by the settings."""

from __future__ import annotations

from epochlint.rules import catalogue

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from epochlint.rules.rule import Rule
    from epochlint.settings import Settings


class UnknownRuleError(Exception):
    """A word on the command line that names no rule."""


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
