"""Every check of the project, in the order in which they are cheapest: ruff, mypy, import contracts, tests.

python -m tools.check
"""

from __future__ import annotations

import subprocess
import sys
import time

COMMANDS = (
    ("ruff", "check", "."),
    ("ruff", "format", "--check", "."),
    ("mypy",),
    ("lint-imports", "--no-cache"),
    ("pytest", "-n", "auto"),
)


def main() -> int:
    failed = []
    for command in COMMANDS:
        started = time.monotonic()
        print(f"== {' '.join(command)}", flush=True)
        module = [command[0]] if command[0] == "lint-imports" else [sys.executable, "-m", command[0]]
        status = subprocess.run([*module, *command[1:]], check=False).returncode
        print(
            f"== {command[0]}: {'ok' if status == 0 else f'failed ({status})'}, {time.monotonic() - started:.1f} s",
            flush=True,
        )
        if status:
            failed.append(command[0])
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
