"""Assumptions: what a person says about a run that its files do not tell.

One vocabulary on the command line (`--assume gpus=8`), in a comment of the file (`# epochlint: assume gpus=8`) and in
the settings.
"""

from __future__ import annotations

import re

from epochlint.documents.scalars import plain_count
from epochlint.run.known import ASSUMED, Known
from epochlint.run.versions import Versions, exactly, specified

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

    from epochlint.source import Span

NUMBERS = ("gpus", "records", "tokens")
WORDS = {"purpose": ("smoke", "overfit")}
PACKAGES = (
    "accelerate", "autotrain", "axolotl", "deepspeed", "fms-hf-tuning", "instructlab", "instructlab-training",
    "litgpt", "llamafactory", "llm-foundry", "megatron-bridge", "mlx-lm", "ms-swift", "nemo-automodel", "nemo-rl",
    "openrlhf", "oumi", "torchtune", "training-hub", "transformers", "trl", "unsloth", "verl", "peft", "datasets",
    "torch", "openai", "together",
)  # fmt: skip

OPERATORS = ("=", "==", "===", ">=", "<=", "~=")

_PAIR = re.compile(r"(?<![\w.-])([A-Za-z][\w.-]*)\s*(===|==|=|>=|<=|~=)\s*([^\s,;]+)")


class AssumptionError(ValueError):
    """An assumption that cannot be understood; the text says why and what is possible."""


class Assumptions:
    """gpus, records and tokens as numbers; `purpose`; `reference`, a file; package -> version specifier."""

    __slots__ = ("packages", "purpose", "reference", "span", "values")

    def __init__(self) -> None:
        self.values: dict[str, int] = {}
        self.purpose: str | None = None
        self.reference: str | None = None
        self.packages: dict[str, str] = {}
        self.span: Span | None = None  # where it was said, if in a file

    def add(self, key: str, value: str, operator: str = "=") -> None:
        """Raises AssumptionError."""
        if key in NUMBERS:
            digits = value.replace("_", "").replace(",", "")
            if not plain_count(digits) or int(digits) < 1:
                raise AssumptionError(f"{key} must be a whole number of at least 1, not {value!r}")
            self.values[key] = int(digits)
        elif key in WORDS:
            if value not in WORDS[key]:
                raise AssumptionError(f"{key} must be {' or '.join(WORDS[key])}, not {value!r}")
            self.purpose = value
        elif key == "reference":
            self.reference = value
        elif key.lower().replace("_", "-") in PACKAGES:
            if not value[:1].isdigit():
                raise AssumptionError(f"the version of {key} must begin with a digit, not {value!r}")
            self.packages[key.lower().replace("_", "-")] = operator.replace("===", "==") + value
        else:
            raise AssumptionError(f"unknown key {key!r}{_meant(key)}")

    def known(self, name: str) -> Known | None:
        value = self.values.get(name)
        return Known(value, ASSUMED, span=self.span) if value is not None else None

    def versions(self) -> Versions:
        """What the assumed packages leave possible."""
        found = Versions()
        for package, text in self.packages.items():
            version = text.lstrip("=")
            found.add(package, exactly(version) if text.startswith("=") else specified(text))
        return found

    def __bool__(self) -> bool:
        return bool(self.values or self.purpose or self.reference or self.packages)


def parse(pairs: Iterable[str]) -> Assumptions:
    """`KEY=VALUE` texts, several to a text allowed. Raises AssumptionError."""
    found = Assumptions()
    for text in pairs:
        rest = text
        for match in _PAIR.finditer(text):
            found.add(match[1], match[3], match[2])
            rest = rest.replace(match[0], "", 1)
        if rest.strip(" ,;\t"):
            raise AssumptionError(f"{rest.strip()!r} is not KEY=VALUE")
    return found


def _meant(key: str) -> str:
    from difflib import get_close_matches

    names = [*NUMBERS, *WORDS, "reference", *PACKAGES]
    close = get_close_matches(key, names, 1, 0.7)
    return f"; did you mean {close[0]!r}?" if close else f"; possible are {', '.join(names[:5])} and package names"
