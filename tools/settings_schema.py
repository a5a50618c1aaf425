"""Writes epochlint/settings/schema.json, the JSON Schema of the settings, from epochlint/settings/model.py.

python -m tools.settings_schema           # writes it
python -m tools.settings_schema --check   # status 1 where it is not up to date
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from epochlint.settings.model import schema

PATH = Path(__file__).resolve().parents[1] / "epochlint" / "settings" / "schema.json"


def text() -> str:
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"


def main() -> int:
    if "--check" in sys.argv[1:]:
        if PATH.is_file() and PATH.read_text(encoding="utf-8") == text():
            return 0
        print(f"{PATH} is not up to date: run python -m tools.settings_schema")
        return 1
    PATH.write_text(text(), encoding="utf-8", newline="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
