"""Writes docs/foreseen.md: what each recorded trainer refuses, and which rule says it beforehand.

python -m tools.foreseen           # writes it
python -m tools.foreseen --check   # status 1 where it is not up to date

Made from the recordings under tests/conformance, by checking each refused case as a project.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.conformance.foreseen import trainers

if TYPE_CHECKING:
    from tests.conformance.foreseen import Recorded, Refusal

PATH = Path(__file__).resolve().parents[1] / "docs" / "foreseen.md"
_WIDTH = 90  # characters of a trainer's message that are shown

_HEAD = """\
# What is said before the trainer says it

Trainers check their configs: in a parser, a schema, an assertion, or by dividing by zero an hour into the job. Each row
is a refusal that was recorded by running the trainer's own code (`tests/conformance`), and the rule that says the same
beforehand, without the trainer: `epochlint rule CODE` tells more. Written by `python -m tools.foreseen`; a test holds
it up to date, and fails where a refusal is neither said nor has a reason.

| trainer | version | refusals | said beforehand |
|---|---|---|---|
"""


def text() -> str:
    parts = []
    head = _HEAD
    for trainer in trainers():
        refusals = list(trainer.refusals())
        said = sum(1 for refusal in refusals if refusal.said)
        anchor = trainer.title.lower().replace(" ", "-")
        head += f"| [{trainer.title}](#{anchor}) | {trainer.version} | {len(refusals)} | {said} |\n"
        parts.append(_section(trainer, refusals))
    return head + "".join(parts)


def _section(trainer: Recorded, refusals: list[Refusal]) -> str:
    lines = [f"\n## {trainer.title}\n", "| recorded cases | the trainer's error | said beforehand |", "|---|---|---|"]
    rows: dict[tuple[str, str], list[str]] = {}
    for refusal in refusals:
        said = ", ".join(refusal.said) or f"not foreseen: {refusal.reason or 'no reason is given'}"
        rows.setdefault((_short(refusal.error), said), []).append(refusal.case)
    for (error, said), cases in rows.items():
        more = f" and {len(cases) - 1} more" if len(cases) > 1 else ""
        lines.append(f"| {_plain(cases[0])}{more} | {_plain(error)} | {said} |")
    return "\n".join(lines) + "\n"


def _short(error: str) -> str:
    error = " ".join(error.split()).replace(": : ", ": ").replace("Value error, ", "")
    return error if len(error) <= _WIDTH else error[: _WIDTH - 1].rstrip() + "…"


def _plain(words: str) -> str:
    """Words that Markdown leaves alone."""
    for sign in ("\\", "|", "*", "_", "`", "<", "[", "]"):
        words = words.replace(sign, "\\" + sign)
    return words


def main() -> int:
    if "--check" in sys.argv[1:]:
        if PATH.is_file() and PATH.read_text(encoding="utf-8") == text():
            return 0
        print(f"{PATH} is not up to date: run python -m tools.foreseen")
        return 1
    PATH.parent.mkdir(exist_ok=True)
    PATH.write_text(text(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
