"""Observations on the training data itself. Each is made only when a selected rule asks for it, and within a budget."""

from __future__ import annotations

from epochlint.files import open_source
from epochlint.run.observation import Observation
from epochlint.source import Source, Span

TYPE_CHECKING = False
if TYPE_CHECKING:
    from epochlint.project.lookup import Lookup
    from epochlint.project.survey import Survey
    from epochlint.run.run import DataSource, Run

REPEATED = 0.05  # exact copies (or prompts with several answers) among the records from which on they are worth a word
LEAKED = 0.01  # of the validation records
_SHOWN = 5  # lines named
_MOST_INVALID = 10  # lines reported one by one
NAMES = (
    "data_repeated",
    "data_disagreeing",
    "data_leak",
    "data_invalid",
    "data_unreadable",
    "data_without_target",
    "data_too_long",
    "length_truncates",
    "packed_tokens",
)


def observe(run: Run, lookup: Lookup, survey: Survey, asked: frozenset[str]) -> list[Observation]:
    """What the run's data files hold that a rule has a word for."""
    if asked.isdisjoint(NAMES) or not run.training:
        return []
    files = survey.files(run.training)
    found: list[Observation] = _unreadable(run, lookup, survey) if "data_unreadable" in asked else []
    if not files or found or not survey.whole():
        return found
    if "data_repeated" in asked and len(files) == 1:
        found += _repeated(run, files[0], survey)
    if "data_leak" in asked:
        found += _leaks(run, survey)
    if "data_invalid" in asked or "data_without_target" in asked:
        for source in run.training:
            for file in survey.files([source]):
                found += _invalid(source, file, lookup, survey)
    if "data_too_long" in asked or "length_truncates" in asked:
        found += _lengths(run, survey)
    if "packed_tokens" in asked and run.setting("packing").value is True:
        found += _packed(run, survey)
    return [observation for observation in found if observation.name in asked]


def _unreadable(run: Run, lookup: Lookup, survey: Survey) -> list[Observation]:
    """Files of which nothing can be counted, and why."""
    found = []
    for source in run.training:
        for file in survey.files([source]):
            why = survey.unread(source, file)
            if why is not None:
                reason, broken = why
                values = {"reason": reason.rstrip("."), "broken": broken, "path": lookup.shown(file)}
                found.append(Observation("data_unreadable", source.span, values))
    return found[:_SHOWN]


def _repeated(run: Run, file: str, survey: Survey) -> list[Observation]:
    source = next(source for source in run.training if survey.files([source]))
    repeats = survey.repeats(source, file)
    if repeats is None:
        return []
    twice, differing = repeats
    found: list[Observation] = []
    if twice.complete and twice.later_copies >= max(2, REPEATED * twice.rows):
        values = {"records": twice.rows, "unique": twice.unique, "lines": _groups(twice.groups), "path": file}
        found.append(Observation("data_repeated", source.span, values))
    if differing.complete and differing.rows >= max(2, REPEATED * twice.rows):
        values = {"prompts": differing.prompts, "records": differing.rows, "lines": _groups(differing.groups)}
        found.append(Observation("data_disagreeing", source.span, values))
    return found


def _groups(groups: tuple[tuple[int, ...], ...]) -> str:
    """ "1, 3; 2, 5, 6": the first lines of the first few groups."""
    return "; ".join(", ".join(str(line) for line in group) for group in groups[:_SHOWN])


def _leaks(run: Run, survey: Survey) -> list[Observation]:
    found = survey.leaks()
    if found is None or not found.complete or found.leaked < max(1, LEAKED * found.validation_rows):
        return []
    first = ", ".join(f"{leak.validation_line} = {leak.train_line}" for leak in found.first[:_SHOWN])
    values = {"shared": found.leaked, "validation": found.validation_rows, "lines": first}
    return [Observation("data_leak", run.validation[0].span, values)]


def _invalid(source: DataSource, file: str, lookup: Lookup, survey: Survey) -> list[Observation]:
    """Lines that are no JSON, and those that the trainer or provider refuses or drops by its own check of a record."""
    counted = survey.count(source, file, survey.max_bytes)
    problems = counted.problems if counted is not None and counted.format in ("jsonl", "json") else ()
    found = [
        (problem.line, "data_invalid", f"{problem.reason}: datasets stops there" if problem.arrow else problem.reason)
        for problem in problems
        if source.arrow or not problem.arrow
    ][:_MOST_INVALID]
    strict = survey.strict(source, file)
    found += [(strict[0], "data_invalid", strict[1])] if strict is not None else []
    broken = {line for line, _, _ in found}
    judged = survey.judged(source, file) if len(found) < _MOST_INVALID else []
    found += [one for one in judged if one[0] not in broken]  # one word about a line is enough
    if not found:
        return []
    text = open_source(file, lookup.shown(file))
    shown = text if isinstance(text, Source) else Source(lookup.shown(file), "")
    return [
        Observation(name, _line_span(shown, line), {"line": line, "reason": reason, "path": file})
        for line, name, reason in found[:_MOST_INVALID]
    ]


def _line_span(source: Source, line: int) -> Span:
    starts = source.line_starts
    if not 1 <= line <= len(starts):
        return source.span(0, 0)
    start = starts[line - 1]
    return source.span(start, start + len(source.line(line)))


def _lengths(run: Run, survey: Survey) -> list[Observation]:
    """Records that are certainly longer than the limit, by the least number of tokens that their text can have."""
    limit = run.setting("sequence_length")
    if limit.number is None or limit.number < 16 or run.setting("packing").value is True:
        return []
    lengths = survey.lengths(run.training)
    long = lengths.over(limit.number) if lengths is not None else 0
    if lengths is None or not long:
        return []
    place = run.where("sequence_length", "rows", "data")
    values = {"count": long, "records": lengths.rows, "limit": int(limit.number), "outcome": run.overlong or "cut"}
    if limit.by_hand:
        return [Observation("data_too_long", place, values)]
    if long > 0.05 * lengths.rows:
        return [Observation("length_truncates", place, values)]
    return [Observation("data_too_long", place, values)] if run.overlong == "dropped" else []


def _packed(run: Run, survey: Survey) -> list[Observation]:
    """How many tokens data that is packed can have at most, in all and in its longest record."""
    lengths = survey.lengths(run.training)
    if lengths is None or not lengths.rows:
        return []
    values = {"most": lengths.high, "longest": lengths.longest, "rows": lengths.rows}
    return [Observation("packed_tokens", run.where("packing", "sequence_length", "data"), values)]
