"""Whole-number arithmetic as bash does it: `$(( ))`, `(( ))`, `let`, `expr`.

64-bit, division towards zero. None stands for a value that is not known; it spreads to whatever is computed from it.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_TOKEN = re.compile(
    r"\s*(?:(?P<number>0[xX][0-9a-fA-F]+|[0-9]+#[0-9a-zA-Z@_]+|[0-9]+)|(?P<name>[A-Za-z_][A-Za-z0-9_]*(?:\[[^\]]*\])?)"
    r"|(?P<sign><<=|>>=|\*\*|\+\+|--|&&|\|\||<<|>>|<=|>=|==|!=|[-+*/%&|^]=|[-+*/%<>=!~&|^?:,()]))"
)
_LARGEST = 2**63
_LONGEST = 1_000
_DEEPEST = 50

_BINARY: dict[str, int] = {
    "||": 3, "&&": 4, "|": 5, "^": 6, "&": 7, "==": 8, "!=": 8, "<": 9, ">": 9, "<=": 9, ">=": 9, "<<": 10, ">>": 10,
    "+": 11, "-": 11, "*": 12, "/": 12, "%": 12, "**": 13,
}  # fmt: skip
_ASSIGNING = frozenset({"=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="})


class _UnreadableError(Exception):
    """Not arithmetic, or too much of it."""


def evaluate(
    expression: str,
    lookup: Callable[[str], str | None],
    assign: Callable[[str, int | None], None] | None = None,
) -> int | None:
    """The value of an expression; `lookup` gives a variable's text ("" where it is unset, None where it is not known).

    Variables hold whole numbers: what they hold otherwise makes the value unknown.
    """
    if len(expression) > _LONGEST:
        return None
    try:
        return _Reader(expression, lookup, assign).whole()
    except (_UnreadableError, ValueError, OverflowError):
        return None


def number(text: str) -> int | None:
    """The whole number that a text is for bash: 010 is eight, 16#ff is 255. None where it is none."""
    text = text.strip()
    sign = -1 if text.startswith("-") else 1
    text = text[1:] if text[:1] in ("+", "-") else text
    if not text or len(text) > 30 or not text.isascii():
        return None
    try:
        if "#" in text:
            base, _, digits = text.partition("#")
            return sign * int(digits, int(base)) if 2 <= int(base) <= 36 else None
        if text[:2] in ("0x", "0X"):
            return sign * int(text, 16)
        if not text.isdigit():
            return None
        return sign * int(text, 8 if len(text) > 1 and text[0] == "0" else 10)
    except ValueError:
        return None


class _Reader:
    __slots__ = ("_assign", "_at", "_depth", "_lookup", "_tokens")

    def __init__(
        self, expression: str, lookup: Callable[[str], str | None], assign: Callable[[str, int | None], None] | None
    ) -> None:
        self._tokens: list[tuple[str, str]] = []
        self._at = 0
        self._depth = 0
        self._lookup = lookup
        self._assign = assign
        at = 0
        expression = expression.strip()
        while at < len(expression):
            found = _TOKEN.match(expression, at)
            if found is None or found.lastgroup is None:
                raise _UnreadableError
            self._tokens.append((found.lastgroup, found[found.lastgroup]))
            at = found.end()

    def whole(self) -> int | None:
        if not self._tokens:
            return 0
        value = self._comma()
        if self._at < len(self._tokens):
            raise _UnreadableError
        return value

    def _peek(self) -> str:
        if self._at < len(self._tokens):
            kind, text = self._tokens[self._at]
            return text if kind == "sign" else ""
        return ""

    def _comma(self) -> int | None:
        value = self._condition()
        while self._peek() == ",":
            self._at += 1
            value = self._condition()
        return value

    def _condition(self) -> int | None:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnreadableError
        target = self._target()
        if target is not None:
            name, operator = target
            value = self._condition()
            if operator != "=":
                value = _binary(operator[:-1], self._variable(name), value)
            if self._assign is not None:
                self._assign(name, value)
            self._depth -= 1
            return value
        value = self._operators(0)
        if self._peek() == "?":
            self._at += 1
            if_true = self._comma()
            if self._peek() != ":":
                raise _UnreadableError
            self._at += 1
            if_false = self._condition()
            if value is None:
                value = if_true if if_true == if_false else None
            else:
                value = if_true if value else if_false
        self._depth -= 1
        return value

    def _target(self) -> tuple[str, str] | None:
        """`name =` and the like, which is assigned to."""
        if self._at + 1 < len(self._tokens):
            (kind, name), (next_kind, operator) = self._tokens[self._at], self._tokens[self._at + 1]
            if kind == "name" and next_kind == "sign" and operator in _ASSIGNING:
                self._at += 2
                return name, operator
        return None

    def _operators(self, lowest: int) -> int | None:
        value = self._unary()
        while True:
            operator = self._peek()
            rank = _BINARY.get(operator, -1)
            if rank <= lowest:
                return value
            self._at += 1
            right = self._operators(rank - 1 if operator == "**" else rank)
            value = _binary(operator, value, right)

    def _unary(self) -> int | None:
        if self._at >= len(self._tokens):
            raise _UnreadableError
        self._depth += 1
        if self._depth > _DEEPEST:
            raise _UnreadableError
        kind, text = self._tokens[self._at]
        self._at += 1
        value: int | None
        if kind == "number":
            value = number(text)
        elif kind == "name":
            value = self._variable(text)
            if self._peek() in ("++", "--"):
                self._step(text, value, self._peek())
                self._at += 1
        elif text == "(":
            value = self._comma()
            if self._peek() != ")":
                raise _UnreadableError
            self._at += 1
        elif text in ("++", "--") and self._at < len(self._tokens) and self._tokens[self._at][0] == "name":
            name = self._tokens[self._at][1]
            self._at += 1
            value = self._step(name, self._variable(name), text)
        elif text in ("-", "+", "!", "~"):
            value = self._unary()
            if value is not None:
                value = {"-": -value, "+": value, "!": int(not value), "~": ~value}[text]
        else:
            raise _UnreadableError
        self._depth -= 1
        return value

    def _step(self, name: str, value: int | None, operator: str) -> int | None:
        stepped = None if value is None else value + (1 if operator == "++" else -1)
        if self._assign is not None:
            self._assign(name, stepped)
        return stepped

    def _variable(self, name: str) -> int | None:
        text = self._lookup(name)
        if text is None:
            return None
        return number(text) if text.strip() else 0


def _binary(operator: str, left: int | None, right: int | None) -> int | None:
    if left is None or right is None:
        return None
    if operator in ("/", "%"):
        if right == 0:
            return None
        quotient = abs(left) // abs(right)
        quotient = quotient if (left < 0) == (right < 0) else -quotient
        return quotient if operator == "/" else left - quotient * right
    if operator in ("**", "<<", ">>") and not 0 <= right <= 63:
        return None
    value = _OPERATIONS[operator](left, right)
    return value if -_LARGEST <= value < _LARGEST else None


_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "**": lambda a, b: int(a**b) if abs(a) < 2**32 else _LARGEST,
    "<<": lambda a, b: a << b,
    ">>": lambda a, b: a >> b,
    "&": lambda a, b: a & b,
    "|": lambda a, b: a | b,
    "^": lambda a, b: a ^ b,
    "<": lambda a, b: int(a < b),
    ">": lambda a, b: int(a > b),
    "<=": lambda a, b: int(a <= b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "&&": lambda a, b: int(bool(a) and bool(b)),
    "||": lambda a, b: int(bool(a) or bool(b)),
}
