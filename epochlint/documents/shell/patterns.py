"""Patterns and what is done to strings with them: brace expansion, `${name%.sh}`, `${name/a/b}`, `[[ $a == b* ]]`."""

from __future__ import annotations

import re

from epochlint.documents.shell import arithmetic
from epochlint.documents.shell.values import LONGEST

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

MOST_DOUBLING = 256  # words of a brace expansion
_BRACES = re.compile(r"\{([^{}\s]*,[^{}\s]*|-?\d+\.\.-?\d+(?:\.\.-?\d+)?|[A-Za-z]\.\.[A-Za-z])\}")


def doubled(text: str) -> list[str]:
    """Brace expansion: `{1..3}`, `a{x,y}b`."""
    texts = [text]
    for _ in range(8):
        if not any(_BRACES.search(one) for one in texts):
            break
        following: list[str] = []
        for one in texts:
            found = _BRACES.search(one)
            if found is None:
                following.append(one)
                continue
            before, behind = one[: found.start()], one[found.end() :]
            following += [before + middle + behind for middle in _alternatives(found[1])]
        if len(following) > MOST_DOUBLING or sum(map(len, following)) > LONGEST:
            return [text]
        texts = following
    return texts


def _alternatives(inside: str) -> list[str]:
    if "," in inside:
        return inside.split(",")
    parts = inside.split("..")
    if not parts[0].lstrip("-").isdigit():
        first, last = ord(parts[0]), ord(parts[1])
        step = 1 if last >= first else -1
        return [chr(code) for code in range(first, last + step, step)]
    if max(map(len, parts)) > 9:
        return ["{" + inside]  # too large to be meant
    low, high = int(parts[0]), int(parts[1])
    width = abs(int(parts[2])) if len(parts) > 2 else 1
    step = (width or 1) if high >= low else -(width or 1)
    if abs(high - low) // (width or 1) > MOST_DOUBLING:
        return ["{" + inside]
    return [str(number) for number in range(low, high + (1 if step > 0 else -1), step)]


def change(known: str, sign: str, operand: str, number: Callable[[str], str | None]) -> str | None:
    if sign == ":":
        parts = [arithmetic.evaluate(part, number) for part in operand.split(":", 1)]
        if None in parts or len(known) > LONGEST:
            return None
        start = parts[0] or 0
        start = max(0, len(known) + start) if start < 0 else start
        if len(parts) == 1:
            return known[start:]
        length = parts[1] or 0
        return known[start : len(known) + length] if length < 0 else known[start : start + length]
    if sign in ("^^", "^", ",,", ","):
        if operand:
            return None
        letters = str.upper if sign[0] == "^" else str.lower
        return letters(known) if len(sign) == 2 else letters(known[:1]) + known[1:]
    if costly(operand, known):
        return None
    if sign in ("#", "##"):
        found = globbed(operand, greedy=sign == "##")
        matched = found.match(known)
        return known[matched.end() :] if matched else known
    if sign in ("%", "%%"):
        found = re.compile(globbed(operand, greedy=True).pattern + r"\Z", re.DOTALL)
        starts = range(len(known) + 1) if sign == "%%" else range(len(known), -1, -1)
        return next((known[:start] for start in starts if found.match(known, start)), known)
    return None


def costly(pattern: str, text: str) -> bool:
    """Whether matching may take long: each star multiplies the time by the text's length."""
    stars = pattern.count("*")
    return stars > 2 or len(text) > (200 if stars == 2 else 2_000) or len(pattern) > 500


def replace(known: str, pattern: str, replacement: str, everywhere: bool) -> str | None:
    """`${name/pattern/replacement}`, or `//` for every match; None where it would cost too much."""
    if costly(pattern, known) or pattern[:1] in ("#", "%"):
        return None
    return globbed(pattern, greedy=True).sub(replacement.replace("\\", "\\\\"), known, count=0 if everywhere else 1)


def globbed(pattern: str, greedy: bool) -> re.Pattern[str]:
    """A shell pattern as a regular expression."""
    parts: list[str] = []
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if sign == "*":
            parts.append(".*" if greedy else ".*?")
        elif sign == "?":
            parts.append(".")
        elif sign == "[" and (close := pattern.find("]", at + 2)) > 0:
            inside = pattern[at + 1 : close].replace("\\", "\\\\").replace("[", "\\[")
            parts.append(f"[{'^' + inside[1:] if inside[:1] in '!^' else inside}]")
            at = close
        else:
            parts.append(re.escape(sign))
        at += 1
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))


def matches(subject: str, pattern: str) -> bool | None:
    """Whether a pattern fits the whole of a text; None where it would cost too much."""
    if costly(pattern, subject):
        return None
    return globbed(pattern, greedy=True).fullmatch(subject) is not None


def compare(left: str, operator: str, right: str, pattern: bool) -> bool | None:
    if operator in ("=", "==", "!="):
        equal = matches(left, right) if pattern else left == right
        return equal if operator != "!=" or equal is None else not equal
    names = {"-eq": "==", "-ne": "!=", "-lt": "<", "-le": "<=", "-gt": ">", "-ge": ">="}
    if operator in names:
        low, high = arithmetic.number(left), arithmetic.number(right)
        if low is None or high is None:
            return None
        return bool(arithmetic.evaluate(f"{low}{names[operator]}{high}", lambda name: None))
    return None
