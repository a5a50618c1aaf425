"""Regular expressions that are compiled when they are first asked: one run of a hook needs few of a module's."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class Pattern:
    """A `re.Pattern` to be, with the methods that are used here. A mistake in it shows at its first use."""

    __slots__ = ("_compiled", "_flags", "pattern")

    def __init__(self, pattern: str, flags: int = 0) -> None:
        self.pattern = pattern
        self._flags = flags
        self._compiled: re.Pattern[str] | None = None

    def _made(self) -> re.Pattern[str]:
        compiled = self._compiled
        if compiled is None:
            compiled = self._compiled = re.compile(self.pattern, self._flags)
        return compiled

    def match(self, text: str, at: int = 0) -> re.Match[str] | None:
        return self._made().match(text, at)

    def search(self, text: str) -> re.Match[str] | None:
        return self._made().search(text)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        return self._made().finditer(text)


def first_pair(text: str, marks: Iterable[tuple[str, str]]) -> int:
    """Where the first opening mark stands that is closed somewhere behind, -1 for none. A lazy expression would look to
    the end of the text from every mark that nothing closes."""
    found = -1
    for opening, closing in marks:
        at = text.find(opening)
        if at >= 0 and (found < 0 or at < found) and text.find(closing, at + len(opening)) >= 0:
            found = at
    return found
