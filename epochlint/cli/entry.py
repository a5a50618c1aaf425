"""The console script. A hook's call takes a short way past click; everything else goes through it."""

from __future__ import annotations

import gc
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMANDS = frozenset({"check", "explain", "rule", "compare"})


def main(argv: Sequence[str] | None = None) -> int:
    """Exit status: 0 clean, 1 findings at or above --fail-on, 2 usage, settings or internal error."""
    gc.set_threshold(500_000, 50, 50)  # trees of small objects that live to the end: looking for cycles costs 6 %
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        # What a terminal's encoding lacks is shown as an escape.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    try:
        status = _run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except BrokenPipeError:
        # The reader (head, less) has seen enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("epochlint: interrupted", file=sys.stderr)
        return 2
    except Exception as error:
        from epochlint.trouble import told

        print(f"epochlint: {told(error)}", file=sys.stderr)
        return 2


def _run(arguments: list[str]) -> int:
    paths = _plain(arguments)
    if paths is not None:
        from epochlint.cli.hook import run

        return run(paths, force_exclude="--force-exclude" in arguments)
    from epochlint.cli.commands import run_click

    return run_click(arguments)


def _plain(arguments: list[str]) -> list[str] | None:
    """The paths of a call that holds nothing but paths and `--force-exclude`; None for every other call."""
    paths = [argument for argument in arguments if argument != "--force-exclude"]
    if not paths or paths[0] in _COMMANDS or any(path.startswith("-") for path in paths):
        return None
    return paths


if __name__ == "__main__":
    sys.exit(main())
