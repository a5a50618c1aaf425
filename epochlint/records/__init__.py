"""Counting training data: rows, messages, duplicates, leaks. Independent of everything else in the project.

Cheap to import: what is rarely needed (csv, gzip, hashlib, the Parquet and Arrow readers) is imported where it is used.
"""

from __future__ import annotations

from epochlint.records.counting import Count, combine, count, format_of, read_through
from epochlint.records.folders import expand, inside, splits, training_files
from epochlint.records.problem import Problem
from epochlint.records.repeats import (
    Disagreements,
    Duplicates,
    Leak,
    Leaks,
    digest,
    duplicates,
    leaks,
    prompt_and_answer,
    same_prompt_different_answer,
)
from epochlint.records.rows import Row, iterate
from epochlint.records.shapes import assistant_turns, messages_of, shape_of, tally
from epochlint.records.tokens import Lengths, record_tokens, text_length, token_estimate

__all__ = [
    "Count",
    "Disagreements",
    "Duplicates",
    "Leak",
    "Leaks",
    "Lengths",
    "Problem",
    "Row",
    "assistant_turns",
    "combine",
    "count",
    "digest",
    "duplicates",
    "expand",
    "format_of",
    "inside",
    "iterate",
    "leaks",
    "messages_of",
    "prompt_and_answer",
    "read_through",
    "record_tokens",
    "same_prompt_different_answer",
    "shape_of",
    "splits",
    "tally",
    "text_length",
    "token_estimate",
    "training_files",
]
