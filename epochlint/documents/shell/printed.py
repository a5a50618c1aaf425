"""What a few harmless commands print, worked out instead of run: `echo 8`, `seq 1 4`, `tr , '\\n' | wc -l`."""

from __future__ import annotations

import re

from epochlint.documents.shell import arithmetic

_SUM = re.compile(r"[\d\s+*/%()-]+\Z")
_PRINT = re.compile(r"print\s*\(\s*(?:int\s*\()?([\d\s+*/%()-]+?)\)?\s*\)\s*;?\s*\Z")
_AWK_PRINT = re.compile(r"BEGIN\s*\{\s*print\s+(?:int\s*)?([\d\s+*/%()-]+?)\s*;?\s*\}\s*\Z")


def output(words: list[str], given: str | None) -> str | None:
    """What a command prints; `given` is what is piped into it. None where that is not known."""
    if not words:
        return None
    name = words[0].rpartition("/")[2]
    rest = words[1:]
    if name in ("echo", "printf", "expr", "seq", "basename", "dirname", "realpath", "readlink", "python", "python3"):
        return _printing(name, rest)
    if name == "bc":
        return _bc(rest, given)
    if name == "awk":
        return _awk(rest, given)
    if given is None:
        return None
    return _filtered(name, rest, given)


def _printing(name: str, rest: list[str]) -> str | None:
    if name == "echo":
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            rest = rest[1:]
        return " ".join(rest) + "\n"
    if name == "printf":
        if not rest or rest[0] not in ("%s", "%d", "%s\\n", "%d\\n") or len(rest) != 2:
            return rest[0] if len(rest) == 1 and "%" not in rest[0] and "\\" not in rest[0] else None
        return rest[1]
    if name == "expr":
        return _whole("".join(f" {word} " for word in rest))
    if name == "seq":
        return _seq([word for word in rest if not word.startswith(("-w", "-s"))])
    if name == "dirname":
        return (rest[-1].rstrip("/").rpartition("/")[0] or ("/" if rest[-1].startswith("/") else ".")) if rest else None
    if name == "basename":
        if not rest:
            return None
        base = rest[0].rstrip("/").rpartition("/")[2]
        return base[: -len(rest[1])] if len(rest) > 1 and base.endswith(rest[1]) and base != rest[1] else base
    if name in ("realpath", "readlink"):
        paths = [word for word in rest if not word.startswith("-")]
        return paths[0] if len(paths) == 1 else None
    if len(rest) >= 2 and rest[-2] == "-c":
        found = _PRINT.match(rest[-1])
        return _exact(found[1].replace("//", "/"), floors="//" in found[1] or "int" in rest[-1]) if found else None
    return None


def _bc(rest: list[str], given: str | None) -> str | None:
    if given is None or rest not in ([], ["-q"]):
        return None
    return _whole(given) if _SUM.match(given) else None


def _awk(rest: list[str], given: str | None) -> str | None:
    separator = None
    program = ""
    words = iter(rest)
    for word in words:
        if word == "-F":
            separator = next(words, "")
        elif word.startswith("-F"):
            separator = word[2:]
        elif not program:
            program = word
        else:
            return None
    found = _AWK_PRINT.match(program)
    if found:
        return _exact(found[1], floors="int" in program)
    field = re.fullmatch(r"\s*\{\s*print\s+(NF|\$([0-9]{1,9}))\s*;?\s*\}\s*", program)
    if field is None or given is None:
        return None
    printed: list[str] = []
    for line in given.splitlines():
        parts = line.split(separator) if separator and separator != " " else line.split()
        if field[1] == "NF":
            printed.append(str(len(parts)))
        else:
            number = int(field[2])
            printed.append(line if number == 0 else parts[number - 1] if number <= len(parts) else "")
    return "\n".join(printed)


def _filtered(name: str, rest: list[str], given: str) -> str | None:
    if name == "wc" and len(rest) == 1:
        if rest[0] == "-w":
            return str(len(given.split()))
        if rest[0] == "-l":
            return str(given.count("\n"))
        if rest[0] in ("-c", "-m"):
            return str(len(given))
    if name == "tr":
        return _translated(rest, given)
    if name == "xargs" and not rest:
        return " ".join(given.split()) + "\n"
    if name == "cut":
        return _cut(rest, given)
    if name in ("cat", "tee") and not rest:
        return given
    if name == "head" and rest in (["-1"], ["-n1"], ["-n", "1"]):
        return given.partition("\n")[0] + "\n"
    if name == "tail" and rest in (["-1"], ["-n1"], ["-n", "1"]):
        return given.rstrip("\n").rpartition("\n")[2] + "\n"
    if name == "grep" and rest in (["-o", ","], ["-o", "-", ","]):
        return ",\n" * given.count(",")
    return None


def _translated(rest: list[str], given: str) -> str | None:
    sets = [word.replace("\\n", "\n").replace("\\t", "\t") for word in rest]
    if len(sets) == 2 and sets[0] == "-d" and len(sets[1]) == 1:
        return given.replace(sets[1], "")
    if len(sets) == 2 and sets[0] == "-d" and sets[1] in ("[:space:]", "[:blank:]"):
        return "".join(given.split())
    if len(sets) == 2 and len(sets[0]) == 1 and len(sets[1]) == 1:
        return given.replace(sets[0], sets[1])
    if sets in (["[:upper:]", "[:lower:]"], ["A-Z", "a-z"]):
        return given.lower()
    if sets in (["[:lower:]", "[:upper:]"], ["a-z", "A-Z"]):
        return given.upper()
    return None


def _cut(rest: list[str], given: str) -> str | None:
    found = re.fullmatch(r"-d ?(.) -f ?([0-9]{1,9})|-f ?([0-9]{1,9}) -d ?(.)", " ".join(rest))
    if found is None:
        return None
    separator, number = found[1] or found[4], int(found[2] or found[3])
    lines = []
    for line in given.splitlines():
        parts = line.split(separator)
        lines.append(line if len(parts) == 1 else parts[number - 1] if 0 < number <= len(parts) else "")
    return "\n".join(lines)


def _seq(rest: list[str]) -> str | None:
    numbers = [arithmetic.number(word) for word in rest]
    if not 1 <= len(numbers) <= 3 or None in numbers:
        return None
    known = [number or 0 for number in numbers]
    low, step, high = (1, 1, known[0]) if len(known) == 1 else (known[0], 1, known[1]) if len(known) == 2 else known
    if step == 0 or abs(high - low) // abs(step) > 1_000:
        return None
    return "\n".join(str(number) for number in range(low, high + (1 if step > 0 else -1), step))


def _whole(expression: str) -> str | None:
    """A sum of whole numbers as `expr` and `bc` do it."""
    value = arithmetic.evaluate(expression, lambda name: None)
    return str(value) if value is not None else None


def _exact(expression: str, floors: bool) -> str | None:
    """A sum as Python and awk do it, where it comes out whole: their `/` does not round."""
    value = arithmetic.evaluate(expression, lambda name: None)
    if value is None:
        return None
    if "/" in expression and not floors:
        left, _, right = expression.rpartition("/")
        numerator = arithmetic.evaluate(left, lambda name: None)
        denominator = arithmetic.evaluate(right, lambda name: None)
        if numerator is None or denominator is None or "/" in left or numerator % denominator:
            return None
    return str(value)
