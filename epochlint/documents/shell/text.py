"""A text that is read as shell, and where each of its characters stands in the source."""

from __future__ import annotations

from bisect import bisect_right

from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.documents.shell.values import Piece
    from epochlint.source import Source

# Stands in a text that was put together (of an `eval`, a `bash -c`) for what is not known.
HOLE = "\ue000"


class Text:
    """A text to read, and where each of its characters stands in the source.

    The script itself, or what an `eval` or a `bash -c` is given, put together from pieces.
    """

    __slots__ = ("_segments", "_starts", "holes", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.holes: dict[int, Piece] = {}
        self._starts: list[int] = []
        self._segments: list[tuple[int, int, Span | None]] = []  # source start, source end, written

    @classmethod
    def of(cls, source: Source) -> Text:
        """The source's text; bash's own line breaks are "\\n", so those of Windows lose their "\\r"."""
        if "\r\n" not in source.text:
            return cls(source.text)
        text = cls(source.text.replace("\r\n", "\n"))
        start = at = 0
        while (found := source.text.find("\r\n", start)) >= 0:
            text._add(at, start, found)
            at += found - start
            start = found + 1
        text._add(at, start, len(source.text))
        return text

    @classmethod
    def joined(cls, pieces: Iterable[Piece]) -> Text:
        """The text that pieces come to."""
        text = cls("")
        parts: list[str] = []
        at = 0
        for piece in pieces:
            start, end = piece.inner or piece.place
            part = HOLE if piece.text is None else piece.text
            if piece.text is None:
                text.holes[at] = piece
            text._add(at, start, end, piece.written)
            parts.append(part)
            at += len(part)
        text.text = "".join(parts)
        return text

    def _add(self, at: int, start: int, end: int, written: Span | None = None) -> None:
        self._starts.append(at)
        self._segments.append((start, end, written))

    def place(self, start: int, end: int) -> tuple[int, int]:
        """The range in the source of a range in this text."""
        if not self._starts:
            return start, end
        first = self._offset(start, False)
        return first, max(first, self._offset(end, True)) if end > start else first

    def _offset(self, at: int, behind: bool) -> int:
        index = max(0, bisect_right(self._starts, at - 1 if behind else at) - 1)
        start, end, _ = self._segments[index]
        begins = self._starts[index]
        stops = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.text)
        if end - start == stops - begins:
            return start + at - begins
        return end if behind else start

    def written(self, start: int, end: int) -> Span | None:
        """Where a range's text was first written, if not at its place."""
        if not self._starts:
            return None
        index = max(0, bisect_right(self._starts, start) - 1)
        span = self._segments[index][2]
        begins = self._starts[index]
        stops = self._starts[index + 1] if index + 1 < len(self._starts) else len(self.text)
        if span is None or end > stops:
            return None
        if span.end - span.start == stops - begins:
            return Span(span.source, span.start + start - begins, span.start + end - begins)
        return span
