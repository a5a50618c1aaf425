"""The rules of a check: selected and ignored by codes, names and families, changed by the settings."""

from __future__ import annotations

from epochlint.rules import catalogue
from epochlint.settings import SettingsError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.rules.rule import Rule
    from epochlint.settings import Settings


class UnknownRuleError(Exception):
    """A word on the command line that names no rule."""


def chosen(settings: Settings, select: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Rule]:
    """Raises UnknownRuleError for words of the command line, SettingsError for those of the settings."""
    every = catalogue.load(settings.rules)
    for word in catalogue.unknown([*select, *ignore], every):
        raise UnknownRuleError(f"there is no rule {word!r}{_close(word, every)}")
    for word in catalogue.unknown(
        [*settings.select, *settings.ignore, *settings.levels, *settings.thresholds, *_ignored(settings)], every
    ):
        raise SettingsError(settings.path or "settings", 0, 0, f"there is no rule {word!r}{_close(word, every)}")
    rules = catalogue.chosen(select or settings.select, [*settings.ignore, *ignore], every)
    levels = {word.upper() if "-" not in word else word.lower(): level for word, level in settings.levels.items()}
    kept = []
    for rule in rules:
        level = levels.get(rule.code) or levels.get(rule.name)
        if level == "off":
            continue
        if level is not None:
            rule.ceiling = level
        for name, value in {**settings.thresholds.get(rule.name, {}), **settings.thresholds.get(rule.code, {})}.items():
            if name not in rule.thresholds:
                known = ", ".join(rule.thresholds) or "none"
                raise SettingsError(
                    settings.path or "settings", 0, 0, f"{rule.code} has no threshold {name!r} (it has: {known})"
                )
            rule.thresholds[name] = value
        kept.append(rule)
    return kept


def _ignored(settings: Settings) -> list[str]:
    return [code for ignored in settings.ignored for code in ignored.codes]


def _close(word: str, rules: Sequence[Rule]) -> str:
    from difflib import get_close_matches

    names = [name for rule in rules for name in (rule.code, rule.name)]
    close = get_close_matches(word.lower() if "-" in word else word.upper(), names, 1, 0.6)
    return f"; did you mean {close[0]!r}?" if close else ""
