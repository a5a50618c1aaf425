"""Where the tokenizer of a run's model lies on this machine. Nothing is downloaded."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

_FILE = "tokenizer.json"


def find(run: Run, lookup: Lookup, environment: Mapping[str, str] = os.environ) -> str | None:
    """The tokenizer.json of the model that a run names: in its folder, in the hub's local cache, or beside the config;
    None where there is none."""
    base = os.path.dirname(os.path.abspath(os.path.join(lookup.working, run.path)))
    model = run.setting("model").value
    if isinstance(model, str) and model:
        found = lookup.resolve(os.path.join(model, _FILE), base)
        if found is None:
            from epochlint.project.hub import cached

            found = cached(model, _FILE, environment)
        if found is not None:
            return found
    return lookup.resolve(_FILE, base)
