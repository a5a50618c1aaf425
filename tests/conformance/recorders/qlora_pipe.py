"""Record how many steps qlora-pipe's own loader gives: of a pass, and until the run ends.

    python tests/conformance/recorders/qlora_pipe.py --package REPOSITORY --version 90b8e7d --out FILE

Real code: ``utils/dataloader.py`` (sampler and loader, in each worker's rank) and ``Saver.process_epoch``. Stood in
for: the data (rows of a length), the collator, DeepSpeed's engine (each step pulls as many micro-batches as it would)
and what workers tell each other of the epoch.
"""

from __future__ import annotations

import contextlib
import io
import random
from types import SimpleNamespace
from typing import Any

import recording

CONFIG: dict[str, Any] = {"n": 100, "b": 2, "g": 4, "world": 1, "epochs": 3, "group": False}


def cases() -> dict[str, dict[str, Any]]:
    """All cases by id: ``n`` rows, batch ``b``, accumulation ``g``, ``world`` data-parallel workers."""
    out: dict[str, dict[str, Any]] = {}

    def add(name: str, **more: Any) -> None:
        out[name] = {**CONFIG, **more}

    for n, b, g in (
        (100, 2, 4), (100, 1, 16), (100, 8, 1), (31, 2, 4), (7, 8, 1), (10, 3, 4), (33, 4, 16), (64, 4, 4), (65, 4, 4),
        (101, 1, 16), (1, 1, 4), (1, 1, 1), (500, 1, 16), (50, 5, 3), (17, 3, 5), (96, 4, 8), (97, 4, 8), (128, 32, 4),
    ):  # fmt: skip
        add(f"length/n{n} b{b} g{g}", n=n, b=b, g=g)
    for world in (2, 3, 8):
        for n in (100, 101, 7, 48):
            add(f"world/n{n} w{world}", n=n, world=world)
    for epochs in (0.3, 0.5, 1, 1.5, 2, 2.9):
        add(f"epochs/{epochs}", epochs=epochs)
        add(f"epochs/{epochs} n33", epochs=epochs, n=33)
    for n in (100, 101, 64):
        add(f"group/n{n}", n=n, group=True)
    return out


def run(case: dict[str, Any]) -> dict[str, Any]:
    import torch
    from utils import dataloader
    from utils.saver import Saver

    drawn = random.Random(7)
    rows = [drawn.randint(1, 300) for _ in range(case["n"])]

    class Data:
        def __getitem__(self, key: Any) -> Any:
            if key == "length":
                return rows
            return {"input_ids": torch.tensor([1]), "length": rows[key]}

        def __len__(self) -> int:
            return len(rows)

    with contextlib.redirect_stdout(io.StringIO()):  # it tells of every batch
        pulled = [_worker(case, rank, Data(), Saver, dataloader, torch) for rank in range(case["world"])]
    assert all(one == pulled[0] for one in pulled)
    return pulled[0]


def _worker(
    case: dict[str, Any], rank: int, data: Any, saver_class: Any, dataloader: Any, torch: Any
) -> dict[str, Any]:
    """One worker's steps, until `process_epoch` ends the run."""
    loader = dataloader.PipelineDataLoader(
        data, None, case["b"], case["g"], case["world"], rank, group_by_length=case["group"], return_dict=True
    )
    loader.dataloader = torch.utils.data.DataLoader(
        data, batch_sampler=loader.data_sampler, collate_fn=lambda rows: {"input_ids": torch.ones(len(rows), 1)}
    )
    loader.reset()
    saver = SimpleNamespace(
        config={"epochs": case["epochs"], "save_checkpoint_on_epoch_end": False, "save_every_n_epochs": 1000},
        train_dataloader=loader,
    )
    epoch, step = loader.epoch, 1
    while True:
        for _ in range(case["g"]):
            next(loader)
        epoch = saver_class.process_epoch(saver, epoch, step)
        if epoch is None:
            return {"per_epoch": len(loader) // case["g"], "steps": step}
        step += 1


def main() -> None:
    import stubs

    options = recording.arguments("Record qlora-pipe's steps.", "qlora_pipe.json")
    stubs.install("axolotl", "accelerate", "deepspeed", "transformers", "tqdm")
    recording.all_cases(options, cases(), run, "qlora-pipe", "torch")


if __name__ == "__main__":
    main()
