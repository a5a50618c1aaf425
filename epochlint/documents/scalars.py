"""What loaders make of a scalar, and what the person who wrote it meant.

The same `2e-5` is text for PyYAML, a number for ruamel.yaml and OmegaConf, and whatever the option's type says for
argparse. A document keeps the raw text; a trainer names its loader's typing (`PYYAML`, `YAML12`, ...) and asks
`loaded(scalar, typing)`. What a person meant is `number(scalar)` and `boolean(scalar)`, whatever the loader does.

Sources: pyyaml 6.0.4 `yaml/resolver.py` and `yaml/constructor.py` (YAML 1.1); ruamel.yaml 0.19.1
`ruamel/yaml/resolver.py` (YAML 1.2); omegaconf 2.4.0 `omegaconf/_yaml.py` (PyYAML with other floats, no dates).
"""

from __future__ import annotations

import re

from epochlint.patterns import Pattern, first_pair

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from epochlint.documents.document import Node, Scalar

# A number this long is a mistake or an attack, and Python refuses to convert integers over 4300 digits.
_LONGEST_NUMBER = 400
_LONGEST_COUNT = 18  # digits; no count of files, GPUs or records has more

_NOTHING = object()

# --- YAML 1.1, as PyYAML's SafeLoader reads it ------------------------------------------------------------------------

_NULLS: dict[str, object] = {"": None, "~": None, "null": None, "Null": None, "NULL": None}
_WORDS_11: dict[str, object] = {
    **_NULLS,
    **{word: value for text, value in (("true", True), ("yes", True), ("on", True), ("false", False), ("no", False),
                                       ("off", False)) for word in (text, text.title(), text.upper())},
}  # fmt: skip
_WORDS_12: dict[str, object] = {
    **_NULLS,
    **{
        word: value for text, value in (("true", True), ("false", False)) for word in (text, text.title(), text.upper())
    },
}

# The characters that a number or a date can begin with.
_NUMBER_STARTS = frozenset("0123456789+-.")

_PLAIN_INT = re.compile(r"[-+]?(?:0|[1-9][0-9]{0,17})\Z")
_PLAIN_FLOAT = re.compile(r"[-+]?[0-9]{1,30}\.[0-9]{0,30}(?:[eE][-+][0-9]{1,4})?\Z")
_FLOAT_11 = Pattern(
    r"""(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+][0-9]+)?
    |\.[0-9][0-9_]*(?:[eE][-+][0-9]+)?
    |[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+\.[0-9_]*
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))\Z""",
    re.VERBOSE,
)
_INT_11 = Pattern(
    r"""(?:[-+]?0b[01_]+
    |[-+]?0[0-7_]+
    |[-+]?(?:0|[1-9][0-9_]*)
    |[-+]?0x[0-9a-fA-F_]+
    |[-+]?[1-9][0-9_]*(?::[0-5]?[0-9])+)\Z""",
    re.VERBOSE,
)
_DATE = Pattern(
    r"""([0-9]{4})-([0-9][0-9]?)-([0-9][0-9]?)
    (?:(?:[Tt]|[ \t]+)([0-9][0-9]?):([0-9][0-9]):([0-9][0-9])(?:\.([0-9]*))?
    (?:[ \t]*(Z|([-+])([0-9][0-9]?)(?::([0-9][0-9]))?))?)?\Z""",
    re.VERBOSE,
)
_SHORT_DATE = Pattern(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")


def yaml11(raw: str) -> object:
    """The value of a plain scalar for PyYAML's safe loader; the text itself where that loader would refuse it."""
    value = _WORDS_11.get(raw, _NOTHING)
    if value is not _NOTHING:
        return value
    if raw[0] not in _NUMBER_STARTS:
        return raw
    if _PLAIN_INT.match(raw):
        return int(raw)
    if _PLAIN_FLOAT.match(raw):
        return float(raw)
    return _rare(raw, _FLOAT_11, float11, _INT_11, int11, dates=True)


def _rare(
    raw: str,
    floats: Pattern,
    as_float: Callable[[str], float],
    integers: Pattern,
    as_int: Callable[[str], int],
    dates: bool,
) -> object:
    if len(raw) > _LONGEST_NUMBER:
        return raw
    try:
        if floats.match(raw):
            return as_float(raw)
        if integers.match(raw):
            return as_int(raw)
        return date(raw) if dates and raw[:4].isdigit() and raw[4:5] == "-" else raw
    except (ValueError, OverflowError):
        return raw


def int11(raw: str) -> int:
    """A YAML 1.1 integer: octal, hexadecimal, binary, sexagesimal. Raises ValueError."""
    text = raw.replace("_", "")
    sign = -1 if text[:1] == "-" else 1
    text = text[1:] if text[:1] in ("+", "-") else text
    if text.startswith(("0b", "0x")):
        return sign * int(text, 0)
    if text != "0" and text[:1] == "0":
        return sign * int(text, 8)
    value = 0
    for part in text.split(":"):
        value = value * 60 + int(part)
    return sign * value


def float11(raw: str) -> float:
    """A YAML 1.1 float: `.inf`, `.nan`, underscores, sexagesimal. Raises ValueError."""
    text = raw.replace("_", "").lower()
    sign = -1.0 if text[:1] == "-" else 1.0
    text = text[1:] if text[:1] in ("+", "-") else text
    if text in (".inf", ".nan"):
        return sign * float(text[1:])
    if ":" not in text:
        return sign * float(text)
    value, base = 0.0, 1
    for part in reversed(text.split(":")):
        value += float(part) * base
        base *= 60
    return sign * value


def date(raw: str) -> object:
    """A YAML timestamp as `datetime.date` or `datetime.datetime`; the text where it is none. Raises ValueError."""
    found = _DATE.match(raw)
    if not found or (found[4] is None and not _SHORT_DATE.match(raw)):
        return raw
    import datetime

    if found[4] is None:
        return datetime.date(int(found[1]), int(found[2]), int(found[3]))
    zone = None
    if found[9]:
        away = datetime.timedelta(hours=int(found[10]), minutes=int(found[11] or 0))
        zone = datetime.timezone(-away if found[9] == "-" else away)
    elif found[8]:
        zone = datetime.timezone.utc
    year, month, day, hour, minute, second = (int(found[i]) for i in range(1, 7))
    micro = int((found[7] or "")[:6].ljust(6, "0"))
    return datetime.datetime(year, month, day, hour, minute, second, micro, zone)


_JSON_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}


def number_word(word: str) -> object:
    """The value of a JSON number or word (true, NaN, -Infinity, 1e5). Raises ValueError for anything else."""
    if word in _JSON_WORDS:
        return _JSON_WORDS[word]
    try:
        return int(word)
    except ValueError:
        return float(word)


# --- YAML 1.2, as ruamel.yaml reads it --------------------------------------------------------------------------------

_FLOAT_12 = Pattern(
    r"""(?:[-+]?[0-9][0-9_]*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?[0-9][0-9_]*[eE][-+]?[0-9]+
    |[-+]?\.[0-9_]+(?:[eE][-+][0-9]+)?
    |[-+]?\.(?:inf|Inf|INF)
    |\.(?:nan|NaN|NAN))\Z""",
    re.VERBOSE,
)
_INT_12 = Pattern(r"(?:[-+]?0b[01_]+|[-+]?0o?[0-7_]+|[-+]?[0-9_]+|[-+]?0x[0-9a-fA-F_]+)\Z")


def yaml12(raw: str) -> object:
    """The value of a plain scalar for ruamel.yaml (YAML 1.2)."""
    value = _WORDS_12.get(raw, _NOTHING)
    if value is not _NOTHING:
        return value
    if raw[0] not in _NUMBER_STARTS:
        return raw
    return _rare(raw, _FLOAT_12, float11, _INT_12, _int12, dates=True)


def _int12(raw: str) -> int:
    text = raw.replace("_", "")
    sign = -1 if text[:1] == "-" else 1
    text = text[1:] if text[:1] in ("+", "-") else text
    base = {"0b": 2, "0x": 16, "0o": 8}.get(text[:2])
    return sign * (int(text[2:], base) if base else int(text))


# --- OmegaConf: PyYAML with floats that need no dot, and without dates ------------------------------------------------

# OmegaConf adds these to PyYAML's own floats, which stay.
_FLOAT_OMEGACONF = Pattern(
    rf"""{_FLOAT_11.pattern}
    |(?:[-+]?[0-9]+(?:_[0-9]+)*\.[0-9_]*(?:[eE][-+]?[0-9]+)?
    |[-+]?[0-9]+(?:_[0-9]+)*[eE][-+]?[0-9]+
    |\.[0-9]+(?:_[0-9]+)*(?:[eE][-+][0-9]+)?)\Z""",
    re.VERBOSE,
)


def omegaconf(raw: str) -> object:
    """The value of a plain scalar for `OmegaConf.load`."""
    value = _WORDS_11.get(raw, _NOTHING)
    if value is not _NOTHING:
        return value
    if raw[0] not in _NUMBER_STARTS:
        return raw
    return _rare(raw, _FLOAT_OMEGACONF, float11, _INT_11, int11, dates=False)


# --- Typings ----------------------------------------------------------------------------------------------------------


class Typing:
    """How a loader types scalars. `name` is for messages and tests."""

    __slots__ = ("load", "name")

    def __init__(self, name: str, load: Callable[[Scalar], object]) -> None:
        self.name = name
        self.load = load

    def __call__(self, scalar: Scalar) -> object:
        return self.load(scalar)

    def __repr__(self) -> str:
        return f"Typing({self.name})"


def _written(scalar: Scalar) -> object:
    return scalar.value


def _pydantic(scalar: Scalar) -> object:
    value = scalar.value
    if isinstance(value, str) and looks_numeric(value):
        meant = number(scalar)
        return value if meant is None else meant
    return value


# `value` is typed by YAML 1.1 already where the scalar is YAML, and by the syntax itself elsewhere.
PYYAML = Typing("PyYAML", _written)
YAML12 = Typing("ruamel.yaml", lambda scalar: yaml12(scalar.raw) if scalar.plain else scalar.value)
OMEGACONF = Typing("OmegaConf", lambda scalar: omegaconf(scalar.raw) if scalar.plain else scalar.value)
STRICT = Typing("strict", _written)
# A command line hands over text; the option's own type converts it.
ARGPARSE = Typing("argparse", lambda scalar: scalar.raw)
# YAML 1.1 by PyYAML, then a model whose number fields take numeric text. A text field keeps its text: ask `raw`.
PYDANTIC = Typing("pydantic", _pydantic)


def loaded(scalar: Scalar, typing: Typing) -> object:
    """What a loader with this typing makes of a scalar."""
    return typing.load(scalar)


# --- What was meant ---------------------------------------------------------------------------------------------------

# A number as people write it and as `int()` or `float()` reads it: 8, 1_000, 2e-5, .5, 5., 0x10.
_NUMERIC = Pattern(
    r"[-+]?(?:(?:[0-9]+(?:_[0-9]+)*(?:\.(?:[0-9]+(?:_[0-9]+)*)?)?|\.[0-9]+(?:_[0-9]+)*)(?:[eE][-+]?[0-9]+)?"
    r"|0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+)\Z"
)
_OCTAL = Pattern(r"[-+]?0[0-7_]*[1-7][0-7_]*\Z")
_SEXAGESIMAL = Pattern(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?\Z")
_THOUSANDS = Pattern(r"[-+]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?\Z")
_PERCENT = Pattern(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+) ?%\Z")

_BOOLEANS = {"true": True, "yes": True, "on": True, "t": True, "y": True, "1": True,
             "false": False, "no": False, "off": False, "f": False, "n": False, "0": False}  # fmt: skip
_TRAPS = frozenset(("yes", "no", "on", "off"))


def plain_count(text: str) -> bool:
    """True for plain digits that `int()` takes and that can be a count: "8"; not "-1", "8.0", other scripts' digits or
    hundreds of digits."""
    return len(text) <= _LONGEST_COUNT and text.isascii() and text.isdigit()


def looks_numeric(text: str) -> bool:
    """True for text that `int()` or `float()` would take and a person reads as a number: "2e-5", "8", "1_000"."""
    text = text.strip()
    return len(text) <= _LONGEST_NUMBER and _NUMERIC.match(text) is not None


# Beyond this nothing is a setting, and sums of a few such numbers would leave what a float can hold.
_LARGEST = 10**30


def number(node: Node | None) -> int | float | None:
    """The number that a person meant by a scalar, whatever its loader makes of it; None where none is meant, and for
    what no setting can be (infinite, or beyond 1e30).

    2e-5, "8" and 1_000 are numbers; so are 010 (ten), 2,000 (two thousand) and 10% (0.1), which `misread` names.
    1:30, None, "auto", true and dates are none.
    """
    value = getattr(node, "value", None)
    raw = getattr(node, "raw", "")
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        if getattr(node, "plain", False):
            if ":" in raw:
                return None
            if _OCTAL.match(raw):
                return _within(int(raw.replace("_", "")))
        return _within(value)
    if isinstance(value, float):
        return None if ":" in raw and getattr(node, "plain", False) else _within(value)
    return text_number(value) if isinstance(value, str) else None


def plain_number(node: Scalar) -> bool:
    """Whether a scalar is written as the number that it loads as, so that `number` is its value and nothing about it is
    misread. True for nearly all numbers."""
    value, raw = node.value, node.raw
    if type(value) is int:
        return raw.isdecimal() and (raw[0] != "0" or raw == "0") and value <= _LARGEST
    return type(value) is float and ":" not in raw and -_LARGEST <= value <= _LARGEST


def text_number(text: str) -> int | float | None:
    """The number that a text stands for, None where it stands for none (or for none that `number` takes)."""
    text = text.strip()
    if not text or len(text) > _LONGEST_NUMBER:
        return None
    if _NUMERIC.match(text):
        return _within(_converted(text))
    if _THOUSANDS.match(text):
        return _within(_converted(text.replace(",", "")))
    if _PERCENT.match(text):
        return _within(float(text[:-1]) / 100)
    return None


def _within(value: float) -> int | float | None:
    return value if -_LARGEST <= value <= _LARGEST else None  # not a number is in no range


def _converted(text: str) -> int | float:
    digits = text.replace("_", "")
    head = digits.lstrip("+-")[:2].lower()
    if head in ("0x", "0o", "0b"):
        return int(digits, 0)
    try:
        return int(digits)
    except ValueError:
        return float(digits)


def boolean(node: Node | None) -> bool | None:
    """The truth value that a person meant by a scalar: true, "True", yes, on, 1; None where none is meant."""
    value = getattr(node, "value", None)
    if isinstance(value, bool):
        return value
    if isinstance(value, int) and value in (0, 1):
        return bool(value)
    return _BOOLEANS.get(value.strip().lower()) if isinstance(value, str) else None


def boolean_word(node: Node | None) -> str | None:
    """The word as written where an unquoted yes, no, on or off loaded as a truth value."""
    if isinstance(getattr(node, "value", None), bool) and getattr(node, "plain", False):
        raw: str = getattr(node, "raw", "")
        return raw if raw.lower() in _TRAPS else None
    return None


def misread(node: Node | None) -> str | None:
    """How a scalar in a numeric place is not the number it looks like.

    "octal" (010 loads as 8), "sexagesimal" (1:30 loads as 90), "none-word" (None is text), "thousands" (2,000),
    "percent" (10%); None where nothing is wrong. Whether the place is numeric, and what the loader does, is the
    caller's to know: under YAML 1.2 neither of the first two happens.
    """
    value = getattr(node, "value", None)
    raw: str = getattr(node, "raw", "")
    if len(raw) > _LONGEST_NUMBER or isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        if not getattr(node, "plain", False):
            return None
        if _OCTAL.match(raw) and isinstance(value, int):
            # 07 is 7 either way.
            return "octal" if int(raw.replace("_", "")) != value else None
        return "sexagesimal" if _SEXAGESIMAL.match(raw) else None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if text in ("None", "none", "NONE", "nil"):
        return "none-word"
    if _THOUSANDS.match(text):
        return "thousands"
    return "percent" if _PERCENT.match(text) else None


# --- Placeholders -----------------------------------------------------------------------------------------------------

_INTERPOLATION = Pattern(r"\$\{[^}]*\}|\$\(\S|\$[A-Za-z_]")
_JINJA = (("{{", "}}"), ("{%", "%}"))
_ANGLE = Pattern(r"<[A-Za-z][A-Za-z0-9 _./-]*>\Z")


def placeholder(node: Node | None) -> str | None:
    """What kind of placeholder a text is, None for none.

    "interpolation" (`${model.lr}`, `$LR`), "jinja" (`{{ lr }}`), "angle" (`<YOUR_VALUE>`): another program fills it in,
    so it is neither a number nor a wrong word. Only the first two may stand inside a longer text.
    """
    value = getattr(node, "value", None)
    if not isinstance(value, str):
        return None
    if "$" in value and _INTERPOLATION.search(value):
        return "interpolation"
    if first_pair(value, _JINJA) >= 0:
        return "jinja"
    return "angle" if value[:1] == "<" and _ANGLE.match(value) else None
