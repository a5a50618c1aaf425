"""What a notebook's stored outputs record of a run that was made: its records and its workers.

A record counts for the arguments that stand before it where it shows their own batch and accumulation: one that was
left from an earlier version of the cell says nothing.
"""

from __future__ import annotations

import os
import re

from epochlint.run.known import RECORDED, Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.documents.python.model import Output, PythonDocument
    from epochlint.project.lookup import Lookup
    from epochlint.run.run import Run

_CELL = re.compile(r"cell (\d+)\Z")


def take_outputs(run: Run, lookup: Lookup) -> None:
    """Sets `rows` and `gpus` where nobody says anything about them and one stored output does."""
    cell = _CELL.match(run.span.source.label)
    packing = run.settings.get("packing")  # packs are what is counted then
    if cell is None or not run.path.endswith(".ipynb") or (packing is not None and packing.value is not False):
        return
    document = lookup.read(os.path.join(lookup.working, run.path))
    outputs = getattr(document, "outputs", None)
    if document is None or not outputs:
        return
    found = _record(run, int(cell[1]), document)  # type: ignore[arg-type] # a PythonDocument: it has outputs
    records = found.get("records")
    if records is not None and run.setting("rows").unknown:
        # The trainer was given so many: what splits and caps leave.
        for setting in ("validation_split", "sample_cap"):
            run.settings.pop(setting, None)
        run.settings["rows"] = Known(int(records.value), RECORDED, key_span=records.span, span=records.span)
    batch, steps = found.get("effective_batch"), run.setting("accumulation").number
    per_device = run.setting("per_device_batch").number
    if batch is not None and steps and per_device and not run.has("gpus") and batch.value % (steps * per_device) == 0:
        gpus = int(batch.value // (steps * per_device))
        if gpus >= 1:
            run.settings["gpus"] = Known(gpus, RECORDED, key_span=batch.span, span=batch.span)


def _record(run: Run, cell: int, document: PythonDocument) -> dict[str, Output]:
    """The one report behind a run's cell, before the arguments of another run; nothing where it is another run's."""
    others = (call for call in document.calls if "per_device_train_batch_size" in call.arguments)
    later = [_cell_of(call.span.source.label) for call in others]
    end = min((number for number in later if number > cell), default=None)
    blocks: dict[tuple[int, int], dict[str, Output]] = {}
    for output in document.outputs:
        if output.cell >= cell and (end is None or output.cell < end):
            blocks.setdefault((output.cell, output.block), {})[output.name] = output
    for (number, block), found in blocks.items():  # Unsloth says twice how many GPUs there are
        behind = blocks.get((number, block + 1), {})
        if "records" not in behind:
            found.update({name: output for name, output in behind.items() if name not in found})
    reports = [found for found in blocks.values() if {"records", "per_device_batch", "accumulation"} <= found.keys()]
    if len(reports) != 1:
        return {}
    report = reports[0]
    for setting in ("per_device_batch", "accumulation"):
        if run.setting(setting).number != report[setting].value:
            return {}
    return report


def _cell_of(label: str) -> int:
    found = _CELL.match(label)
    return int(found[1]) if found else 0
