"""Observations on the training data itself. Each is made only when a selected rule asks for it, and within a budget."""

from __future__ import annotations

import os

from epochlint.files import open_source
from epochlint.project.counted import data_files
from epochlint.run.observation import Observation
from epochlint.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from epochlint.project.lookup import Lookup
    from epochlint.run.run import DataSource, Run

REPEATED = 0.05  # exact copies among the records from which on they are worth a word
LEAKED = 0.01  # of the validation records
_SHOWN = 5  # lines named
_MOST_INVALID = 10  # lines reported one by one
NAMES = (
    "data_repeated",
    "data_leak",
    "data_invalid",
    "data_without_target",
    "data_too_long",
    "length_truncates",
    "packed_tokens",
)


def observe(run: Run, lookup: Lookup, asked: frozenset[str], max_bytes: int) -> list[Observation]:
    """What the run's data files hold that a rule has a word for."""
    if asked.isdisjoint(NAMES) or not run.training:
        return []
    training = [(source, list(_files(source, lookup))) for source in run.training]
    validation = [path for source in run.validation for path in _files(source, lookup)]
    files = [path for _, paths in training for path in paths]
    if not files or sum(_size(path) for path in (*files, *validation)) > max_bytes:
        return []
    found: list[Observation] = []
    if "data_repeated" in asked and len(files) == 1:
        found += _repeated(run, files[0])
    if "data_leak" in asked and validation:
        found += _leaks(run, files, validation)
    if "data_invalid" in asked or "data_without_target" in asked:
        for source, paths in training:
            for path in paths:
                found += _invalid(source, path, lookup)
    if "data_too_long" in asked or "length_truncates" in asked:
        found += _lengths(run, files)
    if "packed_tokens" in asked and run.setting("packing").value is True:
        found += _packed(run, files)
    return [observation for observation in found if observation.name in asked]


def _files(source: DataSource, lookup: Lookup) -> Iterator[str]:
    for path in source.paths:
        yield from data_files(source, path, lookup)


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _repeated(run: Run, path: str) -> list[Observation]:
    from epochlint.records import duplicates

    found = duplicates(path)
    if found is None or not found.complete or found.later_copies < max(2, REPEATED * found.rows):
        return []
    lines = "; ".join(", ".join(str(line) for line in group) for group in found.groups[:_SHOWN])
    values = {"records": found.rows, "unique": found.unique, "lines": lines, "path": path}
    return [Observation("data_repeated", run.training[0].span, values)]


def _leaks(run: Run, files: list[str], validation: list[str]) -> list[Observation]:
    from epochlint.records import leaks

    if set(map(os.path.realpath, files)) == set(map(os.path.realpath, validation)):
        return []  # one file for both, split by the program
    found = leaks(files, validation)
    if found is None or not found.complete or found.leaked < max(1, LEAKED * found.validation_rows):
        return []
    first = ", ".join(f"{leak.validation_line} = {leak.train_line}" for leak in found.first[:_SHOWN])
    values = {"shared": found.leaked, "validation": found.validation_rows, "lines": first}
    return [Observation("data_leak", run.validation[0].span, values)]


def _invalid(source: DataSource, path: str, lookup: Lookup) -> list[Observation]:
    """Lines that are no JSON, and those that the trainer or provider refuses or drops by its own check of a record."""
    from epochlint.records import count, iterate

    found: list[tuple[int, str, str]] = []
    counted = count(path)
    if counted is not None and counted.format == "jsonl":
        found += [(problem.line, "data_invalid", problem.reason) for problem in counted.problems[:_MOST_INVALID]]
    broken = {line for line, _, _ in found}
    for row in iterate(path) if source.check is not None else ():
        assert source.check is not None
        if row.line in broken:
            continue  # one word about a line is enough
        judged = source.check(row.value)
        if judged is not None:
            name, reason = judged
            found.append((row.line, name, reason))
            if len(found) >= _MOST_INVALID:
                break
    if not found:
        return []
    text = open_source(path, lookup.shown(path))
    shown = text if isinstance(text, Source) else Source(lookup.shown(path), "")
    return [
        Observation(name, _line_span(shown, line), {"line": line, "reason": reason, "path": path})
        for line, name, reason in found
    ]


def _line_span(source: Source, line: int) -> Span:
    starts = source.line_starts
    if not 1 <= line <= len(starts):
        return source.span(0, 0)
    start = starts[line - 1]
    return source.span(start, start + len(source.line(line)))


def _lengths(run: Run, files: list[str]) -> list[Observation]:
    """Records that are certainly longer than the limit, by the least number of tokens that their text can have."""
    limit = run.setting("sequence_length")
    if limit.number is None or limit.number < 16 or run.setting("packing").value is True:
        return []
    from epochlint.records import iterate, record_tokens

    total = long = 0
    for path in files:
        for row in iterate(path):
            total += 1
            long += record_tokens(row.value)[0] > limit.number
    if not long:
        return []
    place = run.where("sequence_length", "rows", "data")
    values = {"count": long, "records": total, "limit": int(limit.number), "outcome": run.overlong or "cut"}
    if limit.by_hand:
        return [Observation("data_too_long", place, values)]
    if long > 0.05 * total:
        return [Observation("length_truncates", place, values)]
    return [Observation("data_too_long", place, values)] if run.overlong == "dropped" else []


_SMALL_BYTES = 4 * 1024 * 1024  # more than this fills any sequence


def _packed(run: Run, files: list[str]) -> list[Observation]:
    """How many tokens small data that is packed can have at most, in all and in its longest record."""
    if sum(_size(path) for path in files) > _SMALL_BYTES:
        return []
    from epochlint.records import iterate, record_tokens

    most = longest = rows = 0
    for path in files:
        for row in iterate(path):
            tokens = record_tokens(row.value)[1]
            rows, most, longest = rows + 1, most + tokens, max(longest, tokens)
    if not rows:
        return []
    values = {"most": most, "longest": longest, "rows": rows}
    return [Observation("packed_tokens", run.where("packing", "sequence_length", "data"), values)]
