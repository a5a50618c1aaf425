"""The words that a condition may use: facts, settings and the values of observations.

Facts are those of `run/budget.py`, settings and observations those of the tables in `run/run.py` and
`run/observation.py`. Only compiling needs it.
"""

from __future__ import annotations

import re

from epochlint.run import budget, observation, run

FACTS = frozenset((*budget.COMPUTED, *budget.TAKEN))

_ROW = re.compile(r"^\|\s*([^|]+?)\s*\|\s*([^|]*?)\s*\|", re.MULTILINE)


def _rows(documentation: str | None) -> dict[str, str]:
    """First and second column of the table in a module's documentation."""
    found = {}
    for names, words in _ROW.findall(documentation or ""):
        for name in names.split(","):
            found[name.strip()] = words
    return {name: words for name, words in found.items() if re.fullmatch(r"[a-z_]+", name)}


def settings() -> frozenset[str]:
    return frozenset(_rows(run.__doc__)) - {"setting"}


def observations() -> dict[str, frozenset[str]]:
    """Observation -> the values it carries; `package`, `since` and `until` may stand in each."""
    return {
        name: frozenset(re.findall(r"[a-z_]+", re.sub(r"\([^)]*\)|\"[^\"]*\"", "", words)))
        | {"package", "since", "until", "basis"}
        for name, words in _rows(observation.__doc__).items()
        if name != "name"
    }
