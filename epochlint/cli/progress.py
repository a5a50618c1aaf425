"""A line on the terminal that tells how far the reading of long data files is, once it takes longer than a second."""

from __future__ import annotations

import os
import sys
import time

_AFTER = 1.0
_EVERY = 0.1
_WIDTH = 24


class Progress:
    """Shown while it is entered, and only on a terminal; leaves nothing behind."""

    __slots__ = ("_begun", "_shown", "_start", "_stream")

    def __init__(self) -> None:
        self._stream = sys.stderr
        self._begun = 0.0
        self._shown = 0.0
        self._start = ""

    def __enter__(self) -> Progress:
        if self._stream is not None and self._stream.isatty() and os.environ.get("TERM") != "dumb":
            from epochlint.records import opening

            opening.watch = self.tell
        return self

    def tell(self, path: str, place: int, size: int) -> None:
        """How far a file has been read, in bytes."""
        now = time.monotonic()
        if path != self._start:
            self._start, self._begun = path, now
        if now - self._begun < _AFTER or now - self._shown < _EVERY:
            return
        self._shown = now
        share = min(1.0, place / size) if size else 0.0
        bar = "#" * round(share * _WIDTH)
        name = os.path.basename(path).encode("ascii", "replace").decode()[:40]
        speed = place / 1e6 / max(0.001, now - self._begun)
        self._write(f"\r\x1b[Kreading {name} [{bar:<{_WIDTH}}] {share:4.0%} {speed:,.0f} MB/s")

    def __exit__(self, *_: object) -> None:
        opening = sys.modules.get("epochlint.records.opening")
        if opening is not None and getattr(opening, "watch", None) == self.tell:
            opening.watch = None  # type: ignore[attr-defined] # the module above
        if self._shown:
            self._write("\r\x1b[K")

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):  # the terminal is gone
            pass
