"""A fault of epochlint's own: told in one line, and the other files are checked all the same.

With EPOCHLINT_DEBUG=1 in the environment the traceback is shown instead.
"""

from __future__ import annotations

import os

KIND = "internal"


def debugging() -> bool:
    return os.environ.get("EPOCHLINT_DEBUG", "") not in ("", "0")


def told(error: Exception) -> str:
    """What is said about an unexpected exception. Raises it again where somebody is debugging."""
    if debugging():
        raise error
    said = " ".join(str(error).split())[:200]
    return f"internal error ({type(error).__name__}{': ' if said else ''}{said}); EPOCHLINT_DEBUG=1 shows where"
