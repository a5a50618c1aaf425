"""Compiles rules/ into epochlint/rules/compiled.py.

    python tools/compile_rules.py [--check]

`--check` writes nothing and ends with status 1 where the file is not up to date.
"""

from __future__ import annotations

import os
import sys
from pprint import pformat

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, ROOT)

from epochlint.rules.page import RuleFileError, compile_folder  # noqa: E402 # the checkout's own package

TARGET = os.path.join(ROOT, "epochlint", "rules", "compiled.py")
HEAD = '''"""The rules, compiled from rules/ by tools/compile_rules.py: change the rule's file and compile again."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# fmt: off
# ruff: noqa: ISC004
RULES: tuple[Any, ...] = (
'''


def text() -> str:
    """What compiled.py should hold. Raises RuleFileError."""
    rules = compile_folder(os.path.join(ROOT, "rules"))
    body = "".join(f"{pformat(rule, width=118, compact=True, sort_dicts=False)},\n" for rule in rules)
    return f"{HEAD}{body})\n"


def main(arguments: list[str]) -> int:
    try:
        wanted = text()
    except RuleFileError as problem:
        print(problem, file=sys.stderr)
        return 2
    try:
        with open(TARGET, encoding="utf-8") as file:
            there = file.read()
    except OSError:
        there = ""
    if there == wanted:
        return 0
    if "--check" in arguments:
        print("epochlint/rules/compiled.py is not up to date: run tools/compile_rules.py", file=sys.stderr)
        return 1
    with open(TARGET, "w", encoding="utf-8", newline="\n") as file:
        file.write(wanted)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
