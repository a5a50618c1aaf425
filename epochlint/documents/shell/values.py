"""What words and variables hold: pieces of text with their places, and gaps with their reasons."""

from __future__ import annotations

import re

from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from epochlint.documents.shell.syntax import Statement
    from epochlint.documents.shell.text import Text

LONGEST = 65_536  # characters of one value
MOST_FIELDS = 4_096  # words that one word may become
MOST_PIECES = 512  # pieces that one value keeps apart


class Piece:
    """A part of a word. `text` is None for a gap, whose `reason` is for people.

    `place` is where it stands in the word at hand, `inner` where it stands in the value that was expanded, `written`
    where its text was first written (None: at `place`). `split` says that blanks in it separate words. `absent` says of
    a gap that it would be empty unless somebody gives something: an argument of the script, a variable that nothing
    here sets.
    """

    __slots__ = (
        "absent",
        "assumed",
        "inner",
        "name",
        "place",
        "quoted",
        "reason",
        "several",
        "split",
        "text",
        "written",
    )

    def __init__(
        self,
        text: str | None,
        place: tuple[int, int],
        *,
        reason: str = "",
        quoted: bool = False,
        split: bool = False,
        inner: tuple[int, int] | None = None,
        written: Span | None = None,
        several: bool = False,
        absent: bool = False,
        assumed: bool = False,
        name: str = "",
    ) -> None:
        self.text = text
        self.place = place
        self.reason = reason
        self.quoted = quoted
        self.split = split
        self.inner = inner
        self.written = written
        self.several = several
        self.absent = absent
        self.assumed = assumed
        self.name = name

    def like(self, text: str | None, **changes: object) -> Piece:
        """A copy with another text and other attributes."""
        piece = Piece(
            text,
            self.place,
            reason=self.reason,
            quoted=self.quoted,
            split=self.split,
            inner=self.inner,
            written=self.written,
            several=self.several,
            absent=self.absent,
            assumed=self.assumed,
            name=self.name,
        )
        for slot, value in changes.items():
            setattr(piece, slot, value)
        return piece


BREAK = Piece("", (0, 0))  # between the words that one expansion becomes


class Field:
    """One word after expansion. `spread` says that it is one of several that an expansion became."""

    __slots__ = ("pieces", "spread")

    def __init__(self, pieces: list[Piece], spread: bool = False) -> None:
        self.pieces = pieces
        self.spread = spread

    @property
    def text(self) -> str | None:
        return text_of(self.pieces)


class Value:
    """What a variable holds: a text, or an array by index. `place` and `name_place` are those of its assignment."""

    __slots__ = ("items", "name_place", "pieces", "place")

    def __init__(
        self,
        pieces: list[Piece],
        place: tuple[int, int],
        name_place: tuple[int, int],
        items: dict[str, list[Piece]] | None = None,
    ) -> None:
        self.pieces = pieces
        self.place = place
        self.name_place = name_place
        self.items = items

    @property
    def text(self) -> str | None:
        return text_of(self.first())

    def first(self) -> list[Piece]:
        """What `$name` gives: an array's element 0."""
        return self.pieces if self.items is None else self.items.get("0", [])

    @property
    def gap(self) -> Piece | None:
        if self.items is not None:
            return None
        return next((piece for piece in self.pieces if piece.text is None), None)

    def same(self, other: Value) -> bool:
        if (self.items is None) != (other.items is None):
            return False
        if self.items is None or other.items is None:
            return self.text is not None and self.text == other.text
        return {key: text_of(item) for key, item in self.items.items()} == {
            key: text_of(item) for key, item in other.items.items()
        } and all(text_of(item) is not None for item in self.items.values())


class Scope:
    """The state of the shell at one point of a script."""

    __slots__ = ("arguments", "export_all", "exported", "folder", "functions", "sourced", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Value] = {}
        self.exported: set[str] = set()
        self.functions: dict[str, tuple[Text, Statement]] = {}
        self.arguments: list[Field] | None = None  # None: those of the script, which are not known
        self.folder: str | None = ""
        self.sourced = False  # another file may have set anything
        self.export_all = False

    def copy(self) -> Scope:
        scope = Scope()
        scope.variables = dict(self.variables)
        scope.exported = set(self.exported)
        scope.functions = dict(self.functions)
        scope.arguments = self.arguments
        scope.folder = self.folder
        scope.sourced = self.sourced
        scope.export_all = self.export_all
        return scope


def text_of(pieces: Iterable[Piece]) -> str | None:
    """The text of pieces; None where there is a gap."""
    parts: list[str] = []
    for piece in pieces:
        if piece.text is None:
            return None
        parts.append(piece.text)
    return "".join(parts)


def split(pieces: list[Piece]) -> list[Field]:
    """Word splitting: blanks in unquoted expansions separate words, and so does BREAK."""
    fields: list[Field] = []
    current: list[Piece] | None = None
    broken = False
    for piece in pieces:
        if piece is BREAK:
            broken = True
            if current is not None:
                fields.append(Field(current))
                current = None
        elif piece.text is None or not piece.split:
            current = [*(current or []), piece] if current is None or len(current) < MOST_FIELDS else current
        else:
            for word, blank_before in _split_piece(piece):
                if blank_before and current is not None:
                    fields.append(Field(current))
                    current = None
                if word is not None:
                    current = [*(current or []), word]
        if len(fields) > MOST_FIELDS:
            break
    if current is not None:
        fields.append(Field(current))
    spread = broken or len(fields) > 1
    for field in fields:
        text = field.text
        field.spread = spread or (
            text is not None and text.startswith("-") and all(piece.split for piece in field.pieces)
        )
    return fields


def _split_piece(piece: Piece) -> Iterator[tuple[Piece | None, bool]]:
    """The words of a piece; the flag says whether a blank stands before it."""
    text = piece.text or ""
    at = 0
    for found in re.finditer(r"[^ \t\n]+", text):
        yield _part(piece, found.start(), found.end()), found.start() > at or at > 0
        at = found.end()
    if at < len(text):
        yield None, True


def _part(piece: Piece, start: int, end: int) -> Piece:
    text = piece.text or ""
    inner, written = piece.inner, piece.written
    if inner is not None and inner[1] - inner[0] == len(text):
        inner = (inner[0] + start, inner[0] + end)
    if written is not None and written.end - written.start == len(text):
        written = Span(written.source, written.start + start, written.start + end)
    return piece.like(text[start:end], inner=inner, written=written)


def limited(pieces: list[Piece]) -> list[Piece]:
    """Pieces that a variable may hold: a script can double it sixty times. Very many become one, or a gap."""
    if len(pieces) <= MOST_PIECES:
        total = sum(len(piece.text or "") for piece in pieces)
        return pieces if total <= LONGEST else [Piece(None, pieces[0].place, reason="it is too long")]
    known = text_of(pieces)
    if known is None or len(known) > LONGEST:
        return [Piece(None, pieces[0].place, reason="it is too long", several=True)]
    return [Piece(known, (pieces[0].place[0], max(pieces[0].place[0], pieces[-1].place[1])))]


def stored(piece: Piece, keep: bool = False) -> Piece:
    """A piece as a variable keeps it: its place is where it stands in the assignment."""
    written = piece.written
    if piece.inner is not None and keep:
        return piece.like(piece.text, place=piece.inner, inner=None, written=written, split=False, quoted=False)
    return piece.like(piece.text, inner=None, written=written, split=False, quoted=False)


def assumed(value: Value) -> Value:
    """The same value, which something given to the script may replace."""
    pieces = [piece.like(piece.text, assumed=True) for piece in value.pieces]
    items = None
    if value.items is not None:
        items = {key: [piece.like(piece.text, assumed=True) for piece in item] for key, item in value.items.items()}
    return Value(pieces, value.place, value.name_place, items)


def behind(pieces: list[Piece], count: int) -> list[Piece]:
    found: list[Piece] = []
    for piece in pieces:
        length = len(piece.text or "")
        if count >= length and piece.text is not None:
            count -= length
            continue
        if count and piece.text is not None:
            start, end = piece.place
            exact = end - start == length
            piece = piece.like(piece.text[count:], place=(start + count, end) if exact else piece.place)
            count = 0
        found.append(piece)
    return found
