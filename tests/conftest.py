from __future__ import annotations

import os

from hypothesis import settings

# Nothing is kept in the home of whoever runs the tests; those of the cache name a folder of their own.
os.environ["EPOCHLINT_CACHE"] = "off"
# No data set that lies in the caches of whoever runs the tests has a part in them.
os.environ["HF_HOME"] = os.path.join(os.path.dirname(__file__), "no", "such", "folder")

# A shared machine is slow at times: a slow example is no fault. CI runs the same examples every time.
settings.register_profile("epochlint", deadline=None, derandomize=True)
settings.load_profile("epochlint")
