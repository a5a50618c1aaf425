"""What a word of a script comes to: quotes, variables, defaults, arithmetic, arrays, word splitting.

A value is a list of pieces, each a known text with its places or a gap with a reason. So a word knows where it stands,
where its text was written, and how much of it is known.
"""

from __future__ import annotations

import re

from epochlint.documents.shell import arithmetic
from epochlint.documents.shell.document import ShellUnresolved, ShellWord
from epochlint.documents.shell.patterns import change, doubled, replace
from epochlint.documents.shell.syntax import (
    DEEPEST,
    PLACEHOLDER,
    TooDeepError,
    UnclosedError,
    double_paren,
    pass_ansi,
    pass_backtick,
    pass_brace,
    pass_double,
    pass_paren,
    pass_single,
)
from epochlint.documents.shell.text import HOLE, Text
from epochlint.documents.shell.values import (
    BREAK,
    LONGEST,
    MOST_FIELDS,
    Field,
    Piece,
    Scope,
    Value,
    limited,
    split,
    text_of,
)
from epochlint.patterns import first_pair
from epochlint.source import Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.document import Node
    from epochlint.source import Source

_SIGNS = re.compile(r"[\\'\"$`<>]|" + HOLE)
_NEEDS_WORK = re.compile(r"[\\'\"$`<>{]|" + HOLE)
_SIGNS_DOUBLE = re.compile(r"[\\\"$`]|" + HOLE)
# In a here-document quotation marks are text, and so is a backslash in front of one.
_SIGNS_DOCUMENT = re.compile(r"\\(?!\")|[$`]|" + HOLE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_PARAMETER = re.compile(r"([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])(?:\[((?:[^\[\]]|\[[^\[\]]*\])*)\])?")
_OPERATOR = re.compile(r":?[-=+?]|##?|%%?|//?|\^\^?|,,?|:|@")
_TEMPLATE = (("{{", "}}"), ("{%", "%}"), ("<%", "%>"))
_ANSI = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b", "f": "\f", "v": "\v"}
# What expanding may cost in one script, in characters; a piece counts as sixteen.
MOST_WORK = 2_000_000
# Variables that hold a number of further flags rather than one word.
_FLAGS_NAME = re.compile(r"arg|opt|flag|extra|param|overrid|kwarg|cmd|command", re.IGNORECASE)


class Expander:
    """Expands words in a scope. What a command would print is left to `substitute`."""

    __slots__ = ("_depth", "scope", "source", "work")

    def __init__(self, source: Source) -> None:
        self.source = source
        self.scope = Scope()
        self.work = MOST_WORK
        self._depth = 0

    # Words --------------------------------------------------------------------------------------------------------

    def fields(self, text: Text, start: int, end: int) -> list[Field]:
        """The words that one word becomes."""
        if _NEEDS_WORK.search(text.text, start, end) is None:
            return [Field([self._literal(text, start, end, False)])]
        return split(self._braces(self.pieces(text, start, end)))

    def value(self, text: Text, start: int, end: int) -> list[Piece]:
        """A word where no splitting takes place: the right side of an assignment."""
        return limited([piece for piece in self.pieces(text, start, end) if piece is not BREAK])

    def node(self, field: Field, place: tuple[int, int]) -> Node:
        """A field as a node; `place` is the word's in the source."""
        span = self._span(field, place)
        if len(field.pieces) == 1 and field.pieces[0].text is not None and field.pieces[0].written is None:
            only = field.pieces[0].text
            if "{{" not in only and "<%" not in only and "{%" not in only:
                own = Span(self.source, *field.pieces[0].place)
                return ShellWord(span, only, assumed=field.pieces[0].assumed, parts=((only, own),))
        known = field.text
        if known is None:
            return self._unresolved(field, span)
        template = first_pair(known, _TEMPLATE)
        if template >= 0:
            return ShellUnresolved(span, "a template's placeholder", prefix=known[:template])
        parts = [(piece.text or "", self._written(piece)) for piece in field.pieces if piece.text]
        written = parts[0][1] if len(parts) == 1 else None
        assumed = any(piece.assumed for piece in field.pieces)
        if len(parts) == 1 and field.pieces[0].written is None:
            written = None  # the word itself, with its quotes
        return ShellWord(span, known, written=written, assumed=assumed, parts=parts)

    def _unresolved(self, field: Field, span: Span) -> Node:
        prefix: list[str] = []
        gap = None
        for piece in field.pieces:
            if piece.text is None:
                gap = piece
                break
            prefix.append(piece.text)
        if gap is None:
            return ShellUnresolved(span, "")
        alone = len(field.pieces) == 1
        return ShellUnresolved(
            span,
            gap.reason,
            prefix="".join(prefix),
            several=alone and gap.several,
            loose=alone and not gap.quoted and not gap.several,
            name=gap.name,
            parts=() if alone else [(piece.text, self._written(piece)) for piece in field.pieces],
        )

    def _span(self, field: Field, place: tuple[int, int]) -> Span:
        if field.spread and field.pieces and all(piece.inner is not None for piece in field.pieces):
            inner = [piece.inner for piece in field.pieces if piece.inner is not None]
            start, end = inner[0][0], inner[-1][1]
            if start <= end and end - start < LONGEST:
                return Span(self.source, start, end)
        return Span(self.source, *place)

    def _written(self, piece: Piece) -> Span:
        return piece.written if piece.written is not None else Span(self.source, *piece.place)

    def _braces(self, pieces: list[Piece]) -> list[Piece]:
        """`{1..4}` and `{a,b}` in a word without expansions."""
        if len(pieces) != 1 or pieces[0].quoted or pieces[0].text is None or "{" not in pieces[0].text:
            return pieces
        texts = doubled(pieces[0].text)
        if len(texts) == 1:
            return pieces
        found: list[Piece] = []
        for text in texts:
            found += [pieces[0].like(text), BREAK]
        return found[:-1]

    # Scanning -----------------------------------------------------------------------------------------------------

    def pieces(self, text: Text, start: int, end: int, double: bool = False, document: bool = False) -> list[Piece]:
        """The pieces of a range; BREAK stands between the words of an array. Raises TooDeepError.

        `double`: it stands in double quotes; `document`: in a here-document, as if in them.
        """
        self._depth += 1
        if self._depth > DEEPEST:
            self._depth = 0
            raise TooDeepError
        found: list[Piece] = []
        double = double or document
        signs = _SIGNS_DOCUMENT if document else _SIGNS_DOUBLE if double else _SIGNS
        at = start
        try:
            while at < end:
                match = signs.search(text.text, at, end)
                stop = match.start() if match else end
                if stop > at:
                    found.append(self._literal(text, at, stop, double))
                if match is None:
                    break
                at = self._sign(text, stop, end, double, found)
        except UnclosedError:
            found.append(Piece(None, text.place(at, end), reason="a quote or bracket is not closed"))
        self._depth -= 1
        return found

    def _literal(self, text: Text, start: int, end: int, quoted: bool, known: str | None = None) -> Piece:
        return Piece(
            text.text[start:end] if known is None else known,
            text.place(start, end),
            quoted=quoted,
            written=text.written(start, end),
        )

    def _sign(self, text: Text, at: int, end: int, double: bool, found: list[Piece]) -> int:
        """Reads what begins with a sign at `at`, and returns where it ends."""
        whole = text.text
        sign = whole[at]
        if sign == HOLE:
            hole = text.holes.get(at)
            if hole is None:
                found.append(self._literal(text, at, at + 1, double))
            else:
                place = text.place(at, at + 1)
                found.append(hole.like(None, place=place, inner=None, quoted=double or hole.quoted, split=False))
            return at + 1
        if sign == "\\":
            return self._escape(text, at, end, double, found)
        if sign == "'":
            stop = pass_single(whole, at + 1, end)
            found.append(self._literal(text, at + 1, stop - 1, True))
            return stop
        if sign == '"':
            stop = pass_double(whole, at + 1, end)
            inside = self.pieces(text, at + 1, stop - 1, True)
            found += inside if stop > at + 2 else [self._literal(text, at + 1, at + 1, True)]
            return stop
        if sign == "`":
            stop = pass_backtick(whole, at + 1, end)
            found += self.substitute(text, at + 1, stop - 1, text.place(at, stop), double)
            return stop
        if sign in "<>":
            return self._angle(text, at, end, found)
        return self._dollar(text, at, end, double, found)

    def _escape(self, text: Text, at: int, end: int, double: bool, found: list[Piece]) -> int:
        following = text.text[at + 1 : at + 2] if at + 1 < end else ""
        if following == "\n":
            return at + 2
        if not following or (double and following not in '$`"\\'):
            found.append(self._literal(text, at, at + 1, True))
            return at + 1
        found.append(self._literal(text, at, at + 2, True, following))
        return at + 2

    def _angle(self, text: Text, at: int, end: int, found: list[Piece]) -> int:
        placeholder = PLACEHOLDER.match(text.text, at, end)
        if placeholder:
            reason = f"{placeholder[0]} is a placeholder"
            found.append(Piece(None, text.place(at, placeholder.end()), reason=reason, quoted=True))
            return placeholder.end()
        if text.text.startswith("(", at + 1) and at + 1 < end:
            stop = pass_paren(text.text, at + 2, end, 0)
            found.append(Piece(None, text.place(at, stop), reason="it is what a command prints"))
            return stop
        found.append(self._literal(text, at, at + 1, False))
        return at + 1

    def _dollar(self, text: Text, at: int, end: int, double: bool, found: list[Piece]) -> int:
        whole = text.text
        following = whole[at + 1] if at + 1 < end else ""
        if following == "{":
            stop = pass_brace(whole, at + 2, end, 0, double)
            found += self._parameter(text, at + 2, stop - 1, text.place(at, stop), double)
            return stop
        if following == "(":
            if whole.startswith("(", at + 2):
                inside = double_paren(whole, at + 1, end)
                if inside is not None:
                    stop = inside[1] + 2
                    found.append(self.computed(text, *inside, text.place(at, stop), double))
                    return stop
            stop = pass_paren(whole, at + 2, end, 0)
            found += self.substitute(text, at + 2, stop - 1, text.place(at, stop), double)
            return stop
        if following == "[":
            close = whole.find("]", at, end)
            if close > 0:
                found.append(self.computed(text, at + 2, close, text.place(at, close + 1), double))
                return close + 1
        if following == "'" and not double:
            stop = pass_ansi(whole, at + 2, end)
            found += self._ansi(text, at + 2, stop - 1)
            return stop
        if following == '"' and not double:
            stop = pass_double(whole, at + 2, end)
            found += self.pieces(text, at + 2, stop - 1, True)
            return stop
        name = _NAME.match(whole, at + 1, end)
        if name:
            found += self.refer(name[0], text.place(at, name.end()), double)
            return name.end()
        if following and (following.isdigit() or following in "@*#?$!-"):
            found += self.refer(following, text.place(at, at + 2), double)
            return at + 2
        found.append(self._literal(text, at, at + 1, double))
        return at + 1

    def _ansi(self, text: Text, start: int, end: int) -> list[Piece]:
        found: list[Piece] = []
        at = start
        while at < end:
            stop = text.text.find("\\", at, end)
            if stop < 0 or stop + 1 >= end:
                found.append(self._literal(text, at, end, True))
                break
            if stop > at:
                found.append(self._literal(text, at, stop, True))
            following = text.text[stop + 1]
            found.append(self._literal(text, stop, stop + 2, True, _ANSI.get(following, following)))
            at = stop + 2
        return found or [self._literal(text, start, start, True)]

    # Variables ----------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Value | None:
        """What a variable holds; None where nothing here sets it."""
        if name.isdigit():
            return self._positional(int(name[:9]))
        return self.scope.variables.get(name) or self.special(name)

    def special(self, name: str) -> Value | None:
        """Variables that the shell or the batch system sets."""
        return None

    def _positional(self, number: int) -> Value | None:
        arguments = self.scope.arguments
        if number == 0 or arguments is None:
            return self.special(str(number))
        if number > len(arguments):
            return Value([], (0, 0), (0, 0))
        field = arguments[number - 1]
        place = _around(field.pieces)
        return Value(field.pieces, place, place)

    def refer(self, name: str, place: tuple[int, int], quoted: bool) -> list[Piece]:
        """The pieces of `$name`."""
        if name in ("@", "*"):
            return self._arguments(place, quoted, joined=quoted and name == "*")
        if name == "#":
            if self.scope.arguments is None:
                return [Piece(None, place, reason="it depends on the script's arguments", absent=True, name="#")]
            return [Piece(str(len(self.scope.arguments)), place)]
        value = self.lookup(name)
        if value is None:
            return [self._unset(name, place, quoted)]
        return self._expanded(value.first(), place, quoted, name)

    def _unset(self, name: str, place: tuple[int, int], quoted: bool) -> Piece:
        if name.isdigit():
            reason = f"it is the script's argument {name}"
        elif name in "?$!-":
            reason = "it is only known when the script runs"
        else:
            reason = f"{name} is not set in this file"
        several = not quoted and _FLAGS_NAME.search(name) is not None
        absent = name.isdigit() or not (self.scope.sourced or name in "?$!-")
        return Piece(None, place, reason=reason, quoted=quoted, several=several, absent=absent, name=name)

    def _expanded(self, pieces: list[Piece], place: tuple[int, int], quoted: bool, name: str = "") -> list[Piece]:
        if not pieces and quoted:
            return [Piece("", place, quoted=True)]
        self.work -= sum(len(piece.text or "") + 16 for piece in pieces)
        if self.work < 0:
            return [Piece(None, place, reason="the script is too large to follow", quoted=quoted)]
        found: list[Piece] = []
        for piece in pieces:
            written = piece.written if piece.written is not None else Span(self.source, *piece.place)
            several = piece.text is None and not quoted and (piece.several or _FLAGS_NAME.search(name) is not None)
            found.append(
                piece.like(
                    piece.text,
                    place=place,
                    inner=piece.place,
                    written=written,
                    quoted=quoted,
                    split=not quoted,
                    several=several,
                    name=name or piece.name,
                )
            )
        return found

    def _arguments(self, place: tuple[int, int], quoted: bool, joined: bool = False) -> list[Piece]:
        arguments = self.scope.arguments
        if arguments is None:
            reason = "they are the script's own arguments"
            return [Piece(None, place, reason=reason, quoted=quoted, several=not joined, absent=True, name="@")]
        return self._items([field.pieces for field in arguments], place, quoted, joined, "@")

    def _items(
        self, items: list[list[Piece]], place: tuple[int, int], quoted: bool, joined: bool, name: str
    ) -> list[Piece]:
        found: list[Piece] = []
        for index, item in enumerate(items[:MOST_FIELDS]):
            if index:
                found.append(Piece(" ", place, quoted=True) if joined else BREAK)
            pieces = self._expanded(item, place, quoted, name)
            for piece, stored in zip(pieces, item, strict=False):
                piece.several = stored.several
            found += pieces or ([Piece("", place, quoted=True)] if quoted else [])
        if not joined and items:
            found.append(BREAK)  # so that even a single element counts as spread
        return found

    def _parameter(self, text: Text, start: int, end: int, place: tuple[int, int], quoted: bool) -> list[Piece]:
        """`${...}`."""
        whole = text.text
        sign = whole[start] if start < end else ""
        if sign in "#!" and end - start > 1 and not whole.startswith((":", "-", "="), start + 1):
            found = _PARAMETER.fullmatch(whole, start + 1, end)
            if found is None:
                return [Piece(None, place, reason="it is only known when the script runs", quoted=quoted)]
            if sign == "#":
                return [self._length(found[1], found[2], place)]
            target = self.lookup(found[1]) if found[2] is None else None
            if target is not None and target.text and _NAME.fullmatch(target.text):
                return self.refer(target.text, place, quoted)
            return [Piece(None, place, reason="it names another variable", quoted=quoted, name=found[1])]
        found = _PARAMETER.match(whole, start, end)
        if found is None:
            return [Piece(None, place, reason="it is only known when the script runs", quoted=quoted)]
        name, index = found[1], found[2]
        if found.end() == end:
            return self._element(name, index, place, quoted)
        operator = _OPERATOR.match(whole, found.end(), end)
        if operator is None:
            return [Piece(None, place, reason="it is only known when the script runs", quoted=quoted, name=name)]
        sign = operator[0]
        rest = operator.end()
        if sign.lstrip(":") in ("-", "=", "+", "?") and sign != ":":
            return self._default(text, rest, end, sign, name, index, place, quoted)
        if (index in ("@", "*") or name in ("@", "*")) and sign == ":":
            return self._slice(name, whole[rest:end], place, quoted)
        return [self._changed(text, rest, end, sign, name, index, place, quoted)]

    def _element(self, name: str, index: str | None, place: tuple[int, int], quoted: bool) -> list[Piece]:
        """`$name`, `${name[i]}`, `${name[@]}`."""
        if index is None:
            return self.refer(name, place, quoted)
        value = self.lookup(name)
        if value is None:
            return [self._unset(name, place, quoted).like(None, several=index in ("@", "*") and True)]
        if index in ("@", "*"):
            if value.items is None:
                pieces = self._expanded(value.pieces, place, quoted, name)
                for piece in pieces:
                    piece.several = piece.text is None
                return pieces
            return self._items(list(value.items.values()), place, quoted, quoted and index == "*", name)
        items = value.items if value.items is not None else {"0": value.pieces}
        if value.items is None and value.gap is not None:
            return self._expanded(value.pieces, place, quoted, name)
        key = self._index(index, value)
        if key is None:
            return [Piece(None, place, reason=f"it depends on {index.lstrip('$')}", quoted=quoted, name=name)]
        return self._expanded(items.get(key, []), place, quoted, name)

    def _index(self, index: str, value: Value) -> str | None:
        """An index as the key of an array."""
        inner = Text(index)
        known = text_of(self.value(inner, 0, len(index)))
        if known is None:
            return None
        if value.items is not None and known in value.items:
            return known
        number = arithmetic.evaluate(known, self._number)
        if number is None:
            return None
        if number < 0 and value.items is not None:
            number += len(value.items)
        return str(number)

    def _slice(self, name: str, rest: str, place: tuple[int, int], quoted: bool) -> list[Piece]:
        """`${name[@]:offset:length}`, `${@:2}`."""
        if name in ("@", "*"):
            arguments = self.scope.arguments
            items = None if arguments is None else [[], *(field.pieces for field in arguments)]  # $0 comes first
        else:
            value = self.lookup(name)
            items = None if value is None or value.items is None else list(value.items.values())
        bounds = [arithmetic.evaluate(part, self._number) if "$" not in part else None for part in rest.split(":", 1)]
        if items is None or None in bounds:
            reason = "it is only known when the script runs"
            return [Piece(None, place, reason=reason, quoted=quoted, several=True, name=name)]
        start = bounds[0] or 0
        stop = len(items) if len(bounds) == 1 else start + (bounds[1] or 0)
        return self._items(items[start:stop], place, quoted, False, name)

    def _length(self, name: str, index: str | None, place: tuple[int, int]) -> Piece:
        if name in ("@", "*"):
            return self.refer("#", place, True)[0]
        value = self.lookup(name)
        if value is not None and index in ("@", "*"):
            if value.items is not None:
                if all(not piece.several for item in value.items.values() for piece in item):
                    return Piece(str(len(value.items)), place)
            elif value.gap is None:
                return Piece("1", place)
        elif value is not None and value.text is not None:
            return Piece(str(len(value.text)), place)
        return Piece(None, place, reason=f"the length of {name} is not known", name=name)

    def _default(
        self,
        text: Text,
        start: int,
        end: int,
        sign: str,
        name: str,
        index: str | None,
        place: tuple[int, int],
        quoted: bool,
    ) -> list[Piece]:
        """`${name:-word}` and its kin."""
        current = self._element(name, index, place, quoted)
        gap = next((piece for piece in current if piece.text is None), None)
        empty = text_of(piece for piece in current if piece is not BREAK) == "" and (
            sign[0] == ":" or self.lookup(name) is None
        )
        given = not empty and (gap is None or not gap.absent)
        operation = sign[-1]
        if operation == "+":
            if gap is not None and not gap.absent:
                return [gap.like(None, several=True)]
            pieces = self._word(text, start, end, quoted) if given else []
            return pieces or ([Piece("", place, quoted=True)] if quoted else [])
        if given or operation == "?":
            return current
        pieces = [
            piece if piece is BREAK else piece.like(piece.text, assumed=True)
            for piece in self._word(text, start, end, quoted)
        ]
        if operation == "=":
            stored = [piece for piece in pieces if piece is not BREAK]
            self.scope.variables[name] = Value(stored, place, place)
        return pieces

    def _word(self, text: Text, start: int, end: int, quoted: bool) -> list[Piece]:
        """The word inside `${name:-word}`, which is split where it stands unquoted."""
        pieces = self.pieces(text, start, end, quoted)
        if not quoted:
            pieces = [
                piece if piece.quoted or piece is BREAK else piece.like(piece.text, split=True) for piece in pieces
            ]
        return pieces

    def _changed(
        self,
        text: Text,
        start: int,
        end: int,
        sign: str,
        name: str,
        index: str | None,
        place: tuple[int, int],
        quoted: bool,
    ) -> Piece:
        """`${name#pattern}`, `${name/a/b}`, `${name^^}`, `${name:1:2}`: known where name and pattern are."""
        current = self._element(name, index, place, quoted)
        known = text_of(piece for piece in current if piece is not BREAK)
        gap = next((piece for piece in current if piece.text is None), None)
        changed: str | None = None
        if known is not None and index not in ("@", "*"):
            if sign in ("/", "//"):
                changed = self._replaced(text, start, end, sign, known)
            else:
                operand = text_of(self.value(text, start, end))
                changed = change(known, sign, operand, self._number) if operand is not None else None
        if changed is None:
            if gap is not None:
                return gap.like(None, place=place, inner=None, several=False)
            return Piece(None, place, reason="it is only known when the script runs", quoted=quoted, name=name)
        assumed = any(piece.assumed for piece in current)
        return Piece(changed, place, quoted=quoted, split=not quoted, assumed=assumed, name=name)

    def _replaced(self, text: Text, start: int, end: int, sign: str, known: str) -> str | None:
        """`${name/pattern/replacement}`; a slash in the pattern has a backslash before it."""
        at = start
        while at < end and text.text[at] != "/":
            at += 2 if text.text[at] == "\\" else 1
        at = min(at, end)
        pattern, replacement = text_of(self.value(text, start, at)), text_of(self.value(text, min(at + 1, end), end))
        return replace(known, pattern, replacement, sign == "//") if pattern and replacement is not None else None

    # Arithmetic ---------------------------------------------------------------------------------------------------

    def computed(self, text: Text, start: int, end: int, place: tuple[int, int], quoted: bool) -> Piece:
        """`$(( ))`."""
        pieces = (
            self.value(text, start, end) if _expands(text.text, start, end) else [self._literal(text, start, end, True)]
        )
        expression = text_of(pieces)
        assumed = [any(piece.assumed for piece in pieces)]
        value = None
        if expression is not None:
            value = arithmetic.evaluate(expression, lambda name: self._number(name, assumed), self._assign)
        if value is None:
            gap = next((piece for piece in pieces if piece.text is None), None)
            reason = gap.reason if gap is not None else self._missing(expression or "")
            return Piece(None, place, reason=reason, quoted=quoted)
        return Piece(str(value), place, quoted=quoted, assumed=assumed[0])

    def _number(self, name: str, assumed: list[bool] | None = None) -> str | None:
        base, bracket, index = name.partition("[")
        pieces = self._element(base, index[:-1] if bracket else None, (0, 0), True)
        if assumed is not None and any(piece.assumed for piece in pieces):
            assumed[0] = True
        return text_of(piece for piece in pieces if piece is not BREAK)

    def _missing(self, expression: str) -> str:
        for found in _NAME.finditer(expression):
            gap = next((piece for piece in self.refer(found[0], (0, 0), True) if piece.text is None), None)
            if gap is not None:
                return gap.reason
        return "the sum cannot be worked out"

    def _assign(self, name: str, value: int | None) -> None:
        base = name.partition("[")[0]
        old = self.scope.variables.get(base)
        place = old.place if old is not None else (0, 0)
        pieces = [
            Piece(None, place, reason=f"{base} is counted")
            if value is None or base != name
            else Piece(str(value), place)
        ]
        self.scope.variables[base] = Value(pieces, place, old.name_place if old is not None else (0, 0))

    # Commands -----------------------------------------------------------------------------------------------------

    def substitute(self, text: Text, start: int, end: int, place: tuple[int, int], quoted: bool) -> list[Piece]:
        """What `$(command)` gives."""
        return [Piece(None, place, reason="it is what a command prints", quoted=quoted)]


def _expands(text: str, start: int, end: int) -> bool:
    return any(text.find(sign, start, end) >= 0 for sign in '$`"')


def _around(pieces: list[Piece]) -> tuple[int, int]:
    return (pieces[0].place[0], pieces[-1].place[1]) if pieces else (0, 0)
