from __future__ import annotations

from hypothesis import settings

# A shared machine is slow at times: a slow example is no fault. CI runs the same examples every time.
settings.register_profile("epochlint", deadline=None, derandomize=True)
settings.load_profile("epochlint")
