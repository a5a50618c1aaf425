"""Observations: what a document or trainer reader noticed that is not a number of the run."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.source import Span


class Edit:
    """Replace the characters of a span by a text."""

    __slots__ = ("span", "text")

    def __init__(self, span: Span, text: str) -> None:
        self.span = span
        self.text = text


class Fix:
    """Edits that mend a finding. Safe: the run stays what its author asked for, and never another effective batch."""

    __slots__ = ("edits", "safe", "title")

    def __init__(self, title: str, edits: list[Edit], safe: bool) -> None:
        self.title = title
        self.edits = edits
        self.safe = safe


class Observation:
    """A record with a name, a place and values that a rule can ask for (`observation.key`, `observation.value`).

    Names are snake_case and described in docs of the rule that asks for them. `related` are further places with a
    word about each.
    """

    __slots__ = ("fix", "name", "related", "span", "values")

    def __init__(
        self,
        name: str,
        span: Span,
        values: Mapping[str, object] | None = None,
        related: list[tuple[str, Span]] | None = None,
        fix: Fix | None = None,
    ) -> None:
        self.name = name
        self.span = span
        self.values: Mapping[str, object] = values if values is not None else {}
        self.related = related if related is not None else []
        self.fix = fix

    def __repr__(self) -> str:
        return f"Observation({self.name}, {dict(self.values)!r})"
