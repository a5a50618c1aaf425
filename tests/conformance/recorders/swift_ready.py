"""ms-swift, ready to run in this process: packages that it wants are stood in for, a tiny model lies in a folder."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator

import stubs
import tiny


@contextlib.contextmanager
def ready() -> Iterator[tuple[str, str]]:
    """The folder of a random model with a tokenizer, and the names of what is stood in for."""
    import datasets
    import peft  # noqa: F401  (with all that it imports of transformers: before anything is stood in for)
    import torch
    import trl  # noqa: F401

    finder = stubs.install("modelscope", "cpm_kernels", "rouge", "jieba", "nltk", "oss2", "dacite", "binpacking")
    import modelscope.hub.utils.utils as hub

    warnings.simplefilter("ignore")
    datasets.disable_progress_bars()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        hub.get_cache_dir = lambda *args, **kwargs: folder
        model = os.path.join(folder, "model")
        tiny.model(model)
        tiny.tokenizer().save_pretrained(model)
        logging.disable(logging.CRITICAL)
        yield model, ", ".join(sorted(finder.made))
