"""A rule: a code, what it looks for, and what it says. Made from the compiled literals by `catalogue.py`."""

from __future__ import annotations

from epochlint.findings.finding import weaker
from epochlint.rules.expression import closure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.rules.expression import Function, Node

    Parts = tuple[Any, ...]  # of a message: texts, and (expression, format) pairs


class Tier:
    """A level and the condition that earns it; `message` replaces the check's own."""

    __slots__ = ("level", "message", "when")

    def __init__(self, level: str, when: Node, message: Parts | None) -> None:
        self.level = level
        self.when = when
        self.message = message

    @property
    def holds(self) -> Function:
        return closure(self.when)


class Check:
    """One thing that a rule looks for.

    `when` must hold in any case (None: always); then the level is that of the first tier, strongest first, whose
    condition holds. `at` are the settings whose place is shown, the first that is written. `messages` are (condition
    or None, parts); the first that fits speaks. `required` are parts of `when` that ask one name alone: (name, path).
    """

    __slots__ = ("at", "compares", "edit", "messages", "observation", "related", "required", "tiers", "when")

    def __init__(self, compiled: Any) -> None:
        observation, when, tiers, at, messages, related, edit, compares, required = compiled
        self.observation: str | None = observation
        self.when: Node | None = when
        self.tiers = tuple(Tier(*tier) for tier in tiers)
        self.at: tuple[str, ...] = at
        self.messages: tuple[tuple[Node | None, Parts], ...] = messages
        self.related: tuple[tuple[tuple[str, ...], Parts], ...] = related
        self.edit: tuple[Any, ...] | None = edit  # (setting, text, title, safe, condition)
        self.compares: bool = compares  # it needs a baseline
        self.required: tuple[tuple[str, tuple[int, ...]], ...] = required

    @property
    def gate(self) -> Function | None:
        return closure(self.when) if self.when is not None else None


class Rule:
    """A rule. `off` rules must be selected by name; `smoke` is the strongest level in a smoke run (None: any).

    `ceiling` and `thresholds` may be changed by the settings: the strongest level that a finding may have, and the
    numbers that conditions call `threshold.x`.
    """

    __slots__ = (
        "ceiling",
        "checks",
        "code",
        "family",
        "first_only",
        "name",
        "off",
        "smoke",
        "summary",
        "supersedes",
        "thresholds",
    )

    def __init__(self, compiled: Any) -> None:
        code, name, family, summary, off, smoke, supersedes, thresholds, first_only, checks = compiled
        self.code: str = code
        self.name: str = name
        self.family: str = family
        self.summary: str = summary
        self.off: bool = off
        self.smoke: str | None = smoke
        self.supersedes: tuple[str, ...] = supersedes
        self.thresholds: dict[str, float] = dict(thresholds)
        self.first_only: bool = first_only
        self.checks = tuple(Check(check) for check in checks)
        self.ceiling: str | None = None

    def limited(self, level: str) -> str:
        """The level after the settings' word on it."""
        return weaker(level, self.ceiling) if self.ceiling is not None else level

    def __repr__(self) -> str:
        return f"<{self.code} {self.name}>"
