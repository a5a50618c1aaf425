"""A finding: one diagnostic about one place."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.run.observation import Fix
    from epochlint.source import Span

ERROR, WARNING, NOTE = "error", "warning", "note"
STRENGTH = {NOTE: 0, WARNING: 1, ERROR: 2}


def weaker(first: str, second: str) -> str:
    """The weaker of two levels."""
    return first if STRENGTH[first] <= STRENGTH[second] else second


class Finding:
    """One diagnostic. `related` are further places, each with a word about it. `run` tells runs of one file apart."""

    __slots__ = ("code", "fix", "in_source", "level", "message", "name", "related", "run", "span", "suppressed")

    def __init__(
        self,
        code: str,
        name: str,
        level: str,
        message: str,
        span: Span,
        related: list[tuple[str, Span]] | None = None,
        fix: Fix | None = None,
        run: str = "",
    ) -> None:
        self.code = code
        self.name = name
        self.level = level
        self.message = message
        self.span = span
        self.related = related if related is not None else []
        self.fix = fix
        self.run = run
        self.suppressed: str | None = None  # the reason given, where a comment, the settings or a baseline silence it
        self.in_source = False  # silenced by a comment in the file itself

    @property
    def path(self) -> str:
        return self.span.in_file().source.path

    @property
    def sort_key(self) -> tuple[str, int, int, str, str]:
        place = self.span.place
        return self.path, place.line, place.column, self.code, self.message

    def __repr__(self) -> str:
        return f"<{self.code}/{self.level} {self.path}:{self.span.place}>"
