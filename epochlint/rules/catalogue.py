"""The rules at hand: those that ship, from one generated file of plain literals, and those of the user's folders.

A normal check reads no YAML: `compiled.py` is made from `rules/` by `tools/compile_rules.py`.
"""

from __future__ import annotations

import os

from epochlint.rules.rule import Rule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from epochlint.rules.page import Page

ALL = "ALL"


def load(folders: Iterable[str] = ()) -> list[Rule]:
    """Every rule, sorted by code; those of `folders` replace those that ship under the same code.

    Fresh objects each time: their thresholds and ceilings may be changed. Raises page.RuleFileError for a mistake in a
    user's rule.
    """
    from epochlint.rules.compiled import RULES

    rules = [Rule(compiled) for compiled in RULES]
    more = [Rule(compiled) for folder in folders for compiled in _compiled(folder)]
    if more:
        taken = {rule.code for rule in more}
        rules = sorted([rule for rule in rules if rule.code not in taken] + more, key=lambda rule: rule.code)
    return rules


def _compiled(folder: str) -> list[tuple[object, ...]]:
    from epochlint.rules.page import compile_folder

    return compile_folder(folder)


def chosen(select: Sequence[str] = (), ignore: Sequence[str] = (), rules: Sequence[Rule] | None = None) -> list[Rule]:
    """The selected rules that are not ignored. Words are codes, names, families ("WRM") or "ALL".

    Without a selection, all that are on by default; a family brings its rules that are off only by their own names.
    """
    every = rules if rules is not None else load()
    wanted, unwanted = {_canonical(word) for word in select}, {_canonical(word) for word in ignore}
    return [
        rule
        for rule in every
        if not _named(rule, unwanted, True)
        and (_named(rule, wanted, False) or (not rule.off and (not wanted or _named(rule, wanted, True))))
    ]


def _named(rule: Rule, words: set[str], family: bool) -> bool:
    if rule.code in words or rule.name in words:
        return True
    return family and (rule.family in words or ALL in words)


def _canonical(word: str) -> str:
    word = word.strip()
    return word.lower() if "-" in word else word.upper()


def unknown(words: Iterable[str], rules: Sequence[Rule] | None = None) -> list[str]:
    """The words that name no rule and no family."""
    every = rules if rules is not None else load()
    known = {ALL, *(rule.code for rule in every), *(rule.name for rule in every), *(rule.family for rule in every)}
    return [word for word in words if _canonical(word) not in known]


def find(word: str, rules: Sequence[Rule] | None = None) -> Rule | None:
    """A rule by its code or name."""
    wanted = _canonical(word)
    return next((rule for rule in (rules if rules is not None else load()) if wanted in (rule.code, rule.name)), None)


def folder() -> str:
    """Where the pages of the shipped rules lie: in the package (a wheel) or beside it (a checkout)."""
    here = os.path.dirname(os.path.abspath(__file__))
    inside = os.path.join(here, "pages")
    return inside if os.path.isdir(inside) else os.path.join(os.path.dirname(os.path.dirname(here)), "rules")


def page(word: str) -> Page | None:
    """The whole page of a shipped rule: why, evidence, examples. None where there is no such rule or no page of it."""
    rule = find(word)
    if rule is None:
        return None
    path = os.path.join(folder(), rule.family.lower(), f"{rule.code}-{rule.name}.yaml")
    if not os.path.isfile(path):
        return None
    from epochlint.rules.page import read_page

    return read_page(path)[0]


def families() -> dict[str, str]:
    """Family -> its title."""
    from epochlint.rules.page import read_families

    return {code: family.title for code, family in read_families(folder()).items()}
