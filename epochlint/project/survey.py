"""What the data files of a run hold: each file is read once, for the counts and for everything that rules ask of it."""

from __future__ import annotations

import os
import re

from epochlint.run.known import ESTIMATED, ON_ESTIMATE, between
from epochlint.splits import parts as split_parts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from epochlint.project.hub import Rows
    from epochlint.project.lookup import Lookup
    from epochlint.project.readings import Readings, Want
    from epochlint.records import Count, Disagreements, Duplicates, Leaks, Lengths
    from epochlint.records.repeats import Shared
    from epochlint.run.known import Known
    from epochlint.run.run import DataSource, Run


LENGTHS = ("data_too_long", "length_truncates", "packed_tokens")
"""The observations that look at how long the records are."""


class Surveys:
    """The data of one check: what one run had read, the others need not read again.

    `max_bytes`: bytes of a run's data that are read at most; more is estimated. `cache`: whether counts of long files
    are kept in the user's cache folder. `online`: whether sizes of public data sets may be asked for. `exact`: tokens
    are counted by the model's own tokenizer where one is here.
    """

    __slots__ = ("_public", "_readings", "cache", "exact", "lookup", "max_bytes", "online")

    def __init__(
        self, lookup: Lookup, max_bytes: int, cache: bool = False, online: bool = False, exact: bool = False
    ) -> None:
        self.lookup = lookup
        self.max_bytes = max_bytes
        self.cache = cache
        self.online = online
        self.exact = exact
        self._readings: Readings | None = None
        self._public: dict[tuple[str, str | None, str | None], Rows | None] = {}

    @property
    def readings(self) -> Readings:
        """Made where there is something to read: a hook's run on one YAML mostly has nothing."""
        if self._readings is None:
            from epochlint.project.readings import Readings

            self._readings = Readings(self.lookup, self.max_bytes, self.cache)
        return self._readings

    def public(self, name: str, subset: str | None, split: str | None) -> Rows | None:
        """The rows of a public data set; looked up once, however many runs train on it."""
        key = (name, subset, split)
        if key not in self._public:
            from epochlint.project import hub

            self._public[key] = hub.rows_of(name, subset, split, online=self.online)
        return self._public[key]

    def of(self, run: Run, asked: frozenset[str], lookup: Lookup | None = None) -> Survey:
        """The data of a run. `asked`: the observations that the rules at hand want. `lookup`: where its files are
        looked for, if that is another revision."""
        return Survey(run, lookup if lookup is not None else self.lookup, self, asked)


class Survey:
    """The data of one run."""

    __slots__ = ("_asked", "_files", "_first", "_leaks", "_lookup", "_run", "_shared", "_single", "_surveys", "_whole")

    def __init__(self, run: Run, lookup: Lookup, surveys: Surveys, asked: frozenset[str]) -> None:
        self._run = run
        self._lookup = lookup
        self._surveys = surveys
        self._asked = asked
        self._files: dict[int, dict[str, list[str]]] = {}
        self._first = True
        self._shared: Shared | None = None
        self._leaks: Leaks | None = None
        self._whole: bool | None = None  # asked for each file, of which there may be thousands
        self._single: bool | None = None
        for source in (*run.training, *run.validation):
            self._find_folder(source)

    def _find_folder(self, source: DataSource) -> None:
        """A folder with data that is named like a public data set goes before it (datasets 5.2.0, load.py)."""
        if source.hub is None or source.paths or not source.base:
            return
        found = self._lookup.resolve(source.hub, source.base)
        if found is not None and os.path.isdir(found) and data_files(source, source.hub, self._lookup):
            source.paths = (source.hub,)

    @property
    def max_bytes(self) -> int:
        return self._surveys.max_bytes

    @property
    def online(self) -> bool:
        return self._surveys.online

    def shown(self, file: str) -> str:
        return self._lookup.shown(file)

    def start_of(self, file: str, most: int) -> bytes:
        """The bytes of a small file; nothing of one that is larger than `most`."""
        return self._lookup.start_of(file, most)

    def files_of(self, source: DataSource, path: str) -> list[str]:
        """The data files that a path of a source means."""
        known = self._files.setdefault(id(source), {})
        if path not in known:
            known[path] = data_files(source, path, self._lookup)
        return known[path]

    def files(self, sources: list[DataSource]) -> list[str]:
        """All files of some sources."""
        return [file for source in sources for path in source.paths for file in self.files_of(source, path)]

    def whole(self) -> bool:
        """Whether all data of the run may be read to its end."""
        if self._whole is None:
            files = self.files([*self._run.training, *self._run.validation])
            self._whole = sum(map(_size, files)) <= self.max_bytes
        return self._whole

    # What a file holds ------------------------------------------------------------------------------------------------

    def count(self, source: DataSource, file: str, most: int) -> Count | None:
        """The count of a file, of which at most `most` bytes are read."""
        from epochlint.project import readings

        return readings.count(file, self._of(source, file, most).get("count"))

    def unread(self, source: DataSource, file: str) -> tuple[str, bool] | None:
        """Why a file cannot be counted, and whether no reader of its format can read it; None where it was counted."""
        from epochlint.project import readings

        found = self._of(source, file, self.max_bytes)
        count = readings.count(file, found.get("count"))
        if count is None:
            return readings.unread(found.get("unread"))
        return ("it holds no record", _size(file) > 0) if not count.rows else None

    def records(self, source: DataSource, file: str, most: int) -> tuple[int, int] | None:
        """The fewest and the most records that the trainer can make of the rows of a file; None where that cannot be
        told."""
        from epochlint.project import readings

        want = readings.records_want(source)
        if want is None:
            count = self.count(source, file, most)
            return (count.rows, count.rows) if count is not None else None
        return readings.span(self._of(source, file, most).get(want.name))

    def strict(self, source: DataSource, file: str) -> tuple[int, str] | None:
        """What stops the source's strict reader: line and reason."""
        from epochlint.project import readings

        want = readings.strict_want(source)
        if want is None:
            return None
        return readings.strict_problem(self._of(source, file, self.max_bytes).get(want.name))

    def judged(self, source: DataSource, file: str) -> list[tuple[int, str, str]]:
        """The first records in which the trainer or provider finds fault: line, name of the observation, reason."""
        from epochlint.project import readings

        want = readings.judged_want(source)
        return readings.judged(self._of(source, file, self.max_bytes).get(want.name)) if want is not None else []

    def lengths(self, sources: list[DataSource]) -> Lengths | None:
        """The tokens of all files together; None where they are not all known."""
        from epochlint.project import readings

        total: Lengths | None = None
        for source in sources:
            for path in source.paths:
                for file in self.files_of(source, path):
                    found = readings.lengths(self._of(source, file, self.max_bytes).get("lengths"))
                    if found is None:
                        return None
                    if total is None:
                        total = found
                    else:
                        total.join(found.state())
        return total

    def tokens(self) -> Known | None:
        """Fewest and most tokens of the run's training data: by the model's own tokenizer where one lies here and the
        user looks at the run (`explain`), else by a band. None where the data cannot be read, or is cut afterwards."""
        run = self._run
        if not run.training or any(source.operations for source in run.training) or run.mix or not self.whole():
            return None
        found = self._exact() if self._surveys.exact else None
        if found is not None:
            low, high, path = found
            said = f"{self._lookup.shown(path)}, and what a chat template adds"
        else:
            lengths = self.lengths(run.training)
            if lengths is None or not lengths.rows:
                return None
            low, high, said = lengths.low, lengths.high, "from the number of characters"
        place = run.training[0].span
        return between(low, high, ESTIMATED, basis=ON_ESTIMATE, key_span=place, span=place, formula=said)

    def _exact(self) -> tuple[int, int, str] | None:
        from epochlint.project import readings
        from epochlint.project.tokenizer import find
        from epochlint.records.exact import MOST_BYTES

        training = self._run.training
        files = self.files(training)
        path = find(self._run, self._lookup) if sum(map(_size, files)) <= MOST_BYTES else None
        want = readings.exact_want(path) if path is not None else None
        if want is None or path is None:
            return None
        low = high = 0
        for file, field in [(file, source.field) for source in training for file in self.files([source])]:
            known = self._surveys.readings.of(file, self.max_bytes, (want,), field=field)
            found = readings.span(known.get(want.name))
            if found is None:
                return None
            low, high = low + found[0], high + found[1]
        return low, high, path

    def repeats(self, source: DataSource, file: str) -> tuple[Duplicates, Disagreements] | None:
        """What stands twice in a file."""
        from epochlint.project import readings

        return readings.repeats(self._of(source, file, self.max_bytes).get("repeats"))

    def _of(self, source: DataSource, file: str, most: int) -> dict[str, Any]:
        self._prepare()
        readings = self._surveys.readings
        training = any(source is one for one in self._run.training)
        wants = self._wants(source) if training and self._asked and self.whole() else self._least(source)
        return readings.of(file, most, wants, field=source.field)

    def _least(self, source: DataSource) -> list[Want]:
        from epochlint.project import readings

        want = readings.records_want(source)
        return [want] if want is not None and self.whole() else []

    def _wants(self, source: DataSource) -> list[Want]:
        from epochlint.project import readings

        asked, found = self._asked, self._least(source)
        judged = readings.judged_want(source)
        if judged is not None and not asked.isdisjoint(("data_invalid", "data_without_target")):
            found.append(judged)
        strict = readings.strict_want(source)
        if strict is not None and "data_invalid" in asked:
            found.append(strict)
        if not asked.isdisjoint(LENGTHS):
            found.append(readings.lengths_want())
        if self._single is None:
            self._single = len(self.files(self._run.training)) == 1
        if "data_repeated" in asked and self._single:
            found.append(readings.repeats_want(self.max_bytes, source.field))
        return found

    def named(self, source: DataSource) -> Rows | None:
        """The rows of a public data set, or of a folder whose card declares them."""
        from epochlint.project import cards, hub

        for path in source.paths:
            found = self._lookup.resolve(path, source.base)
            declared = (
                cards.rows(os.path.join(found, "README.md")) if found is not None and os.path.isdir(found) else {}
            )
            rows = hub.choose(declared, source.subset, source.split)
            if rows is not None and len(source.paths) == 1:
                return hub.Rows(rows, ESTIMATED, ON_ESTIMATE, "the card beside the data")
        if source.hub is None or source.paths:
            return None
        return self._surveys.public(source.hub, source.subset, source.split)

    # Training and validation data together ----------------------------------------------------------------------------

    def leaks(self) -> Leaks | None:
        """Validation records that are training records; None where that cannot be told."""
        self._prepare()
        return self._leaks

    def _prepare(self) -> None:
        """Looks for leaks before anything else is read of the training files, so that they are read once."""
        run = self._run
        if not self._first:
            return
        self._first = False
        if "data_leak" not in self._asked or not run.validation or not self.whole():
            return
        training, validation = self.files(run.training), self.files(run.validation)
        same = set(map(os.path.realpath, training)) == set(map(os.path.realpath, validation))
        if not training or not validation or same:
            return  # one file for both is split by the program
        if any(source.field is not None for source in (*run.training, *run.validation)):
            return  # both sides are read twice here, and always whole
        from epochlint.project import readings
        from epochlint.records import kept

        states = [(path, kept.state_of(path)) for path in (*training, *validation)]
        name = f"leaks {states}"
        known = self._surveys.readings.known(training[0])
        if name not in known:
            found = self._find_leaks(training, validation)
            if found is not None:
                self._surveys.readings.add(training[0], name, readings.plain_leaks(found))
            self._leaks = found
        else:
            self._leaks = readings.leaks(known[name])

    def _find_leaks(self, training: list[str], validation: list[str]) -> Leaks | None:
        from epochlint.records.repeats import Seen, Shared, settle_leaks

        run, most, readings = self._run, self.max_bytes, self._surveys.readings
        seen = Seen()
        whole = True
        for source in run.validation:
            for path in source.paths:
                for file in self.files_of(source, path):
                    whole &= readings.of(file, most, self._least(source), (seen,)).get("count") is not None
        if not seen.rows or not whole:
            return None
        shared = Shared(seen.numbers)
        place = 0
        for source in run.training:
            for path in source.paths:
                for file in self.files_of(source, path):
                    shared.file = place
                    place += 1
                    whole &= readings.of(file, most, self._wants(source), (shared,)).get("count") is not None
        return settle_leaks(shared, training, validation, seen.rows, most) if whole else None


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0


def data_files(source: DataSource, path: str, lookup: Lookup) -> list[str]:
    """The data files that a path in a config means: itself, a folder's, or those of a glob; all inside the project, and
    as they were at the revision that is looked at. None of them where those cannot be had."""
    root = lookup.root(source.base)
    for top, pattern in data_tops(source, path, lookup):
        place = lookup.on_disk(top)
        if place is None:
            return []
        if not pattern and os.path.isfile(place):
            return [place]
        from epochlint.records import expand

        inside = root if place == top else place
        if not pattern:
            dealt = _dealt(source, place, inside)
            if dealt is not None:
                if len(dealt) == 1 and not source.split:
                    return next(iter(dealt.values()))
                parts = split_parts(source.split or "")  # which of them is meant
                return dealt.get(parts[0].name, []) if parts and len({part.name for part in parts}) == 1 else []
        files = expand(os.path.join(place, pattern) if pattern else place, root=inside)
        if files:
            return list(files)
    return []


def data_tops(source: DataSource, path: str, lookup: Lookup) -> list[tuple[str, str]]:
    """The file or folder that a path means (and ""), or the folders in which a pattern is looked for, and the pattern
    from there."""
    found = lookup.resolve(path, source.base)
    if found is not None:
        return [(found, "")]
    fixed = re.split(r"[*?\[]", path, maxsplit=1)[0]
    if fixed == path:
        return []
    folder = os.path.dirname(fixed)
    starts = dict.fromkeys((source.base, lookup.root(source.base), lookup.working))
    tops = [os.path.normpath(os.path.join(start, folder)) for start in starts]
    return [(top, path[len(folder) :].lstrip("/")) for top in tops if lookup.is_there(top)]


def _dealt(source: DataSource, folder: str, root: str) -> dict[str, list[str]] | None:
    """The files of a folder by split, as its card or their names tell; None where neither does."""
    from epochlint.project import cards
    from epochlint.records import expand, splits

    patterns = cards.patterns(os.path.join(folder, "README.md"), source.subset)
    if patterns is None:
        return splits(folder, root=root) or None
    dealt = {
        split: [file for one in several for file in expand(os.path.join(folder, one), root=root)]
        for split, several in patterns.items()
    }
    return {split: files for split, files in dealt.items() if files}
