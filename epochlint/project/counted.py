"""Counting a run's data into its settings: rows, validation rows, messages."""

from __future__ import annotations

import os
import re

from epochlint.run.known import COUNTED, ESTIMATED, ON_ESTIMATE, WRITTEN, Known, between
from epochlint.run.observation import Observation
from epochlint.run.rows import together
from epochlint.splits import parts as split_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.survey import Survey
    from epochlint.records import Count
    from epochlint.run.rows import Rows
    from epochlint.run.run import DataSource, Run

_PLACEHOLDER = frozenset({"dummy", "sample", "samples", "toy", "placeholder", "demo", "example", "examples"})
PLACEHOLDER_ROWS = 50
TEMPLATE_ROWS = 500
_FIELD = re.compile(rb"\{\{ ?(?:name|author|NAME|AUTHOR|your_\w+) ?\}\}")
_LOOKED_AT = 65_536
_UNSEEN = ("parquet", "arrow")  # formats whose headers are read, and no row


class Counted:
    """What one source of data holds: rows given to the trainer (at least `rows`, at most `most`), of which files."""

    __slots__ = ("assistant_turns", "basis", "chain", "files", "lines", "messages", "most", "origin", "rows", "source")

    def __init__(self) -> None:
        self.rows = 0
        self.most: int | None = 0  # None: nothing bounds it
        self.lines = 0  # of the files, before they become records
        self.messages: int | None = 0
        self.assistant_turns: int | None = 0
        self.origin = COUNTED
        self.basis = 0
        self.source = ""  # what tells the rows, where that is no file
        self.files: list[str] = []
        self.chain: list[tuple[int, str]] = []

    def estimate(self, basis: int) -> None:
        self.origin = ESTIMATED
        self.basis |= basis


def count_into(run: Run, survey: Survey) -> None:
    """Sets `rows`, `messages`, `assistant_turns` and `validation_rows` where every file of the data can be counted.

    What stands there already (an assumption on the command line) stays, and then only the sources' own splits and caps
    are applied to it.
    """
    max_bytes = survey.max_bytes
    samples = [source.sample for source in run.training]
    if samples and None not in samples and run.mix is None:
        run.settings["sampled"] = Known(sum(one or 0 for one in samples), WRITTEN, span=run.training[0].span)
    given = run.settings.get("rows")
    if given is not None and given.number is not None:
        if len(run.training) == 1:
            left = _changed(run.training[0], (int(given.number), int(given.number)))
            left = run.mix([left]) if run.mix is not None else left
            if left is not None and left != (given.value, given.value):
                run.settings["rows"] = between(*left, given.origin, span=given.span, key_span=given.key_span)
        _compare(run, int(given.number), survey, max_bytes)
        _count_validation(run, survey, max_bytes)
        return
    every = _each(run.training, survey, max_bytes)
    counts = [count for count in every if count is not None]
    known = [(count.rows, count.most) if count is not None else None for count in every]
    left = (run.mix or together)(known) if known else None
    if left is not None:
        rows, most = left
        lines = sum(count.lines for count in counts)
        run.chain = [step for count in counts for step in count.chain]
        if len(every) > 1 or run.mix is not None:
            run.chain.append((rows if most is None else most, "together" if run.mix is None else "left of them, mixed"))
        if lines < rows and any(source.records_of is not None for source in run.training):
            values = {"rows": lines, "records": rows}
            run.observations.append(Observation("data_expanded", run.training[0].span, values))
        span = run.training[0].span
        origin, basis = _weakest(counts)
        sources = "; ".join(sorted({count.source for count in counts if count.source}))
        run.settings["rows"] = between(
            rows, most, origin, key_span=span, span=span, basis=basis, formula=sources or None
        )
        for name in ("messages", "assistant_turns"):
            parts = [getattr(count, name) for count in counts]
            if run.mix is None and all(part is not None for part in parts) and sum(parts):
                run.settings[name] = Known(sum(parts), origin, key_span=span, span=span, basis=basis)
        files = [path for count in counts for path in count.files]
        run.placeholder = (most is not None and not basis) and (
            (most < PLACEHOLDER_ROWS and all(map(_only_shows, files)))
            or (most < TEMPLATE_ROWS and bool(files) and all(_is_template(survey, path) for path in files))
        )
    _count_validation(run, survey, max_bytes)


def _only_shows(path: str) -> bool:
    """Whether a file's name or that of its folder says that it only shows the format."""
    words = re.split(r"[^a-z]+", "/".join(path.replace(os.sep, "/").split("/")[-2:]).lower())
    return not _PLACEHOLDER.isdisjoint(words)


def _is_template(survey: Survey, path: str) -> bool:
    """Whether a file's records still hold the fields that their reader is to fill in (`I am {{name}}`)."""
    return _FIELD.search(survey.start_of(path, _LOOKED_AT)) is not None


def _compare(run: Run, assumed: int, survey: Survey, max_bytes: int) -> None:
    """Whether the number of records that was said is the number of messages of the data that can be counted."""
    counts = _all(run.training, survey, max_bytes)
    if counts is None or run.mix is not None or any(count.messages is None for count in counts):
        return
    rows, messages = sum(count.most or 0 for count in counts), sum(count.messages or 0 for count in counts)
    if assumed == messages != rows:
        values = {"what": "the assumption", "declared": assumed, "records": rows}
        run.observations.append(Observation("data_messages_counted", run.training[0].span, values))


def _count_validation(run: Run, survey: Survey, max_bytes: int) -> None:
    counts = _all(run.validation, survey, max_bytes)
    mix = run.validation_mix or together
    left = mix([(count.rows, count.most) for count in counts]) if counts is not None else None
    if counts is not None and left is not None and "validation_rows" not in run.settings:
        rows, most = left
        origin, basis = _weakest(counts)
        span = run.validation[0].span
        run.settings["validation_rows"] = between(rows, most, origin, key_span=span, span=span, basis=basis)


def _weakest(counts: list[Counted]) -> tuple[str, int]:
    """Origin and basis of a sum."""
    basis = 0
    for count in counts:
        basis |= count.basis
    return (ESTIMATED if any(count.origin == ESTIMATED for count in counts) else COUNTED), basis


def _all(sources: list[DataSource], survey: Survey, max_bytes: int) -> list[Counted] | None:
    """The counts of all sources; None where there is none, or one is unknown."""
    counts = _each(sources, survey, max_bytes)
    known = [count for count in counts if count is not None]
    return known if known and len(known) == len(counts) else None


def _each(sources: list[DataSource], survey: Survey, max_bytes: int) -> list[Counted | None]:
    """The count of each source, None where it is unknown."""
    counts: list[Counted | None] = []
    for source in sources:
        count = _one(source, survey, max_bytes)
        if count is not None:
            max_bytes = max(0, max_bytes - sum(map(_size, count.files)))
        counts.append(count)
    return counts


def _size(path: str) -> int:
    """0 where the file has gone since it was counted."""
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def _one(source: DataSource, survey: Survey, max_bytes: int) -> Counted | None:
    result = Counted()
    if source.rows.number is not None:
        result.messages = result.assistant_turns = None
        return _left(source, result, (int(source.rows.number), int(source.rows.number)))
    least = most = 0
    if not source.paths or not all(survey.files_of(source, path) for path in source.paths):
        named = survey.named(source)
        if named is None or source.records_of is not None:  # no row is seen: all may be kept
            return None
        result.origin, result.basis, result.source = named.origin, named.basis, named.source
        result.chain.append((named.rows, f"rows by {named.source}"))
        result.messages = result.assistant_turns = None
        return _left(source, result, (named.rows, named.rows))
    for path in source.paths:
        files = survey.files_of(source, path)
        for file in files:
            count = _count_file(source, file, survey, max_bytes)
            if count is None:
                return None
            result.files.append(file)
            low, high, whole = count
            least += low
            most += high
            result.lines += whole.rows
            unit = "lines" if whole.format in ("jsonl", "text") else "rows"
            result.chain.append((whole.rows, f"{unit} of {survey.shown(file)}"))
            if high != whole.rows:
                result.chain.append((high, _made(source, high, whole.rows)))
            if low != high:
                result.chain.append((low, "of them that the trainer certainly takes"))
            if whole.estimated or (whole.format in _UNSEEN and source.keep is not None):
                result.estimate(ON_ESTIMATE)
            result.messages = _plus(result.messages, whole.messages)
            result.assistant_turns = _plus(result.assistant_turns, whole.assistant_turns)
    taken = _taken(source, result.lines, least, most)
    return _left(source, result, taken, most) if taken is not None else None


def _left(source: DataSource, result: Counted, rows: Rows, before: int | None = None) -> Counted | None:
    """What the source's own operations leave of its rows."""
    before = rows[1] if before is None else before
    left = _changed(source, rows)
    if left is None:
        return None
    result.rows, result.most = left
    if result.chain and result.most != before:
        shown = result.rows if result.most is None else result.most
        result.chain.append((shown, "left by the split, selection or repetition that is written"))
    return result


def _count_file(source: DataSource, path: str, survey: Survey, max_bytes: int) -> tuple[int, int, Count] | None:
    """The fewest and the most records that the trainer can make of a file, and what stands in it."""
    most = max(1 << 20, max_bytes)
    whole = survey.count(source, path, most)
    if whole is None:
        return None
    if source.keep is None and source.records_of is None:
        return whole.rows, whole.rows, whole
    if whole.format in _UNSEEN:  # all may be kept, as of a public set
        return (whole.rows, whole.rows, whole) if source.records_of is None else None
    if whole.estimated:
        return (0, whole.rows, whole) if source.records_of is None else None
    records = survey.records(source, path, most)
    return (*records, whole) if records is not None else None


def _made(source: DataSource, records: int, rows: int) -> str:
    if source.records_of is not None and records > rows:
        return "records, one for each answer that is trained on"
    return "records that pass the trainer's own check of a row" if source.keep is not None else "records"


def _taken(source: DataSource, lines: int, least: int, most: int) -> Rows | None:
    """The fewest and most records that are left of the rows of files by the source's split. Rows that the trainer
    drops are dropped of the slice that was taken before."""
    if not source.split:
        return least, most
    parts = split_parts(source.split)
    if parts is not None and len(parts) == 1 and parts[0].whole:
        return least, most
    if parts is None or len({part.name for part in parts}) > 1 or source.records_of is not None:
        return None
    rows = sum(part.rows(lines) for part in parts)
    return max(0, rows - (lines - least)), min(rows, most)


def _changed(source: DataSource, rows: Rows) -> Rows | None:
    """Rows after the source's own operations."""
    current: Rows | None = rows
    for operation in source.operations:
        if current is None:
            return None
        current = operation(current)
    return current


def _plus(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
