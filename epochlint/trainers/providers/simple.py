"""What most services have in common: examples, one batch, whole epochs, no warmup that anybody can compute."""

from __future__ import annotations

from epochlint.run.counting import Batch, Counting, Steps, Warmup, ceil_of_rows, fixed, product, share_down
from epochlint.run.known import UNKNOWN, Known

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.run.counting import Get, Shape


def by_examples(shape: Shape) -> Steps:
    """ceil(N / batch) a pass, whole passes; a step limit takes their place."""
    per_epoch = ceil_of_rows(shape)
    natural = int(shape.epochs * per_epoch)
    return Steps(per_epoch, natural, natural if shape.limit is None else shape.limit)


def warmup(get: Get) -> Warmup | None:
    """Steps where written, else a share of the run."""
    steps, share = get("warmup_steps"), get("warmup_ratio")
    if steps.number is not None:
        return fixed(int(steps.number))
    return share_down(share.number) if share.number is not None else None


def no_batch(get: Get, workers: int | None) -> Batch:
    """A batch that the service does not show, or counts in another unit."""
    return Batch(UNKNOWN, UNKNOWN, UNKNOWN)


def global_batch(get: Get, workers: int | None) -> Batch:
    """The batch of one step over all devices."""
    whole = get("global_batch")
    effective = Known(whole.value, key_span=whole.key_span) if whole.number is not None else UNKNOWN
    return Batch(get("per_device_batch"), UNKNOWN, effective)


EXAMPLES = Counting(by_examples, warmup, product)
HIDDEN = Counting(None, warmup, no_batch)
GLOBAL = Counting(by_examples, warmup, global_batch)
