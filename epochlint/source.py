"""A text, its spans and its places.

Every value that epochlint shows points back to a `Span`: a range of characters of a `Source`. Lines and columns are
computed only when a finding is printed. Offsets count characters of the decoded text without a byte order mark.
"""

from __future__ import annotations

import re
from bisect import bisect_right

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

# Editors and GitHub break lines here and nowhere else; libyaml would also break at U+0085 and U+2028.
_LINE_BREAK = re.compile(r"\r\n|\n|\r")


class Place:
    """A position: 1-based line and column, in characters."""

    __slots__ = ("column", "line")

    def __init__(self, line: int, column: int) -> None:
        self.line = line
        self.column = column

    def __repr__(self) -> str:
        return f"{self.line}:{self.column}"


class Source:
    """A text and the path it is shown under (relative to the working directory, forward slashes)."""

    __slots__ = ("_starts", "path", "text")

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self._starts: list[int] | None = None

    @property
    def line_starts(self) -> list[int]:
        """The offset at which each line begins."""
        if self._starts is None:
            self._starts = [0, *(match.end() for match in _LINE_BREAK.finditer(self.text))]
        return self._starts

    def place(self, offset: int) -> Place:
        starts = self.line_starts
        line = bisect_right(starts, offset)
        return Place(line, offset - starts[line - 1] + 1)

    def line(self, number: int) -> str:
        """The text of a 1-based line, without its line break; empty beyond the end."""
        starts = self.line_starts
        if not 1 <= number <= len(starts):
            return ""
        end = starts[number] if number < len(starts) else len(self.text)
        return self.text[starts[number - 1] : end].rstrip("\r\n")

    def outer(self, offset: int) -> tuple[Source, int]:
        """The file and the offset in it that a person would open."""
        return self, offset

    @property
    def label(self) -> str:
        """What a message adds to the path where the text is a part of a file; empty for a whole file."""
        return ""

    def span(self, start: int, end: int) -> Span:
        return Span(self, start, end)


class Excerpt(Source):
    """A text that stands inside another: a notebook's cell, JSON in a ConfigMap, a command in a workflow.

    `offsets[i]` is the offset in `within` of character i, with one more entry for the end of the text.
    """

    __slots__ = ("_label", "offsets", "within")

    def __init__(self, within: Source, text: str, offsets: Sequence[int], label: str) -> None:
        super().__init__(within.path, text)
        if len(offsets) != len(text) + 1:
            raise ValueError(f"{len(text)} characters need {len(text) + 1} offsets, not {len(offsets)}")
        self.within = within
        self.offsets = offsets
        self._label = label

    @property
    def label(self) -> str:
        return self._label

    def outer(self, offset: int) -> tuple[Source, int]:
        return self.within.outer(self.offsets[offset])


class Span:
    """The characters `start` to `end` (exclusive) of a source."""

    __slots__ = ("end", "source", "start")

    def __init__(self, source: Source, start: int, end: int) -> None:
        self.source = source
        self.start = start
        self.end = end

    @property
    def text(self) -> str:
        return self.source.text[self.start : self.end]

    def in_file(self) -> Span:
        """The same characters as a span of the file itself, for a span of an excerpt."""
        source, start = self.source.outer(self.start)
        if source is self.source:
            return self
        # An excerpt's characters can have gone through escapes: the end is where its last character ends.
        return Span(source, start, max(start, self.source.outer(self.end)[1]))

    @property
    def place(self) -> Place:
        span = self.in_file()
        return span.source.place(span.start)

    @property
    def end_place(self) -> Place:
        span = self.in_file()
        return span.source.place(span.end)

    def __repr__(self) -> str:
        return f"<{self.source.path}:{self.place} {self.text[:30]!r}>"
