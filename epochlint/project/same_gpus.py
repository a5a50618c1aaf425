"""Whether two runs that do not say on how many GPUs they start may be taken to start on as many.

So they are, where nothing speaks against it: the batch of one is then compared with that of the other. Against it speak
file names (`sft.1xH100.yaml`, renamed to `sft.8xH100.yaml`), and an accelerate file that the same change gave another
number of processes: who moves to other hardware divides the accumulation in the config.
"""

from __future__ import annotations

import re

from epochlint.patterns import Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

_CARD = r"(?:[abhlv]\d{2,3}s?|mi\d{3}x?|rtx\d*)"
# "8xH100", "4gpu", "gpus_8", "2-nodes", "h100x8"
_NAMED = Pattern(
    rf"(?<![a-z0-9])(?:(\d+)[-_]?x?[-_]?(?:gpus?|cards?|nodes?|{_CARD})|(?:gpus?|nodes?|{_CARD})[-_]?x?(\d+))(?![a-z0-9])",
    re.IGNORECASE,
)
PROCESSES = "num_processes"
"""What stands in an accelerate file."""
_NUMBERS = re.compile(rb"^[ \t]*\"?num_(?:processes|machines)\"?[ \t]*:[ \t]*(\d+)", re.MULTILINE)
_LARGEST = 64 * 1024  # an accelerate file has one kilobyte


def alike(run: Run, other: Run) -> bool:
    """Whether the names of two runs' files tell the same numbers of GPUs and nodes, or none."""
    return _told(run) == _told(other)


def _told(run: Run) -> list[str]:
    return [found[0] for path in (run.path, run.launch) if path for found in _NAMED.finditer(path)]


def moved(changed: Mapping[str, str], now: Lookup, then: Lookup) -> bool:
    """Whether an accelerate file has another number of processes than then. `changed`: path now -> path then."""
    for path, before in changed.items():
        if not before or not path.endswith((".yaml", ".yml", ".json")):
            continue
        processes = _NUMBERS.findall(now.start_of(path, _LARGEST))
        if processes and processes != _NUMBERS.findall(then.start_of(before, _LARGEST)):
            return True
    return False
