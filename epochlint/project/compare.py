"""What a run is compared with: its earlier revision, a reference run, its siblings."""

from __future__ import annotations

import os

from epochlint.project.assumptions import Assumptions
from epochlint.project.companions import Companions
from epochlint.project.complete import complete
from epochlint.project.family import siblings
from epochlint.project.history import Earlier, HistoryError, NoCommitError, work_tree
from epochlint.project.join import Joined, Joiner, Skipped
from epochlint.rules.engine import Baseline
from epochlint.run.scenarios import Scenarios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from epochlint.project.survey import Surveys
    from epochlint.run.run import Run

    class Asked(Protocol):
        """The options that matter here."""

        assume: Assumptions
        baseline_run: str | None
        git: bool
        paths: list[str]
        since: str | None
        staged: bool

    class Told(Protocol):
        """Where what cannot be compared is said."""

        skipped: list[Skipped]


class Comparisons:
    """The baselines of the runs of one check. Raises HistoryError where a revision that was asked for is not there."""

    __slots__ = ("_asked", "_completed", "_earlier", "_joined", "_lookup", "_reference", "_siblings", "_surveys")

    def __init__(self, asked: Asked, surveys: Surveys, joined: Joined, told: Told) -> None:
        lookup = surveys.lookup
        self._asked = asked
        self._surveys = surveys
        self._lookup = lookup
        self._joined = joined
        self._completed: set[int] = set()
        self._siblings = siblings(joined.runs)
        self._earlier = self._revision(told) if joined.runs else None
        self._reference = self._referred(asked.baseline_run) if asked.baseline_run is not None else None

    def _revision(self, told: Told) -> Earlier | None:
        asked = self._asked
        if asked.since is None and not asked.git:
            return None
        given = os.path.abspath(asked.paths[0] if asked.paths else ".")
        tree = work_tree(given if os.path.isdir(given) else os.path.dirname(given))
        if tree is None:
            if asked.since is not None:
                raise HistoryError(f"--since {asked.since}: not inside a git work tree, or git is not installed")
            return None
        try:
            return Earlier(
                tree, asked.since or "HEAD", self._lookup, self._joined.runs, asked.assume.versions(), asked.staged
            )
        except HistoryError as problem:
            # Before the first commit there is no HEAD, and a hook that names it must let that commit through.
            if asked.since is None or (asked.since == "HEAD" and isinstance(problem, NoCommitError)):
                return None
            raise

    def _referred(self, path: str) -> Run | None:
        document = self._lookup.read(os.path.abspath(path))
        if document is None:
            raise HistoryError(f"--baseline-run {path}: cannot be read")
        joined = Joiner(self._lookup, self._asked.assume.versions()).join([(os.path.abspath(path), document)])
        if len(joined.runs) != 1:
            raise HistoryError(f"--baseline-run {path}: holds {len(joined.runs)} runs, not one")
        run = joined.runs[0]
        complete(run, self._lookup, joined.companions[id(run)], Assumptions(), self._surveys)
        return run

    def of(self, run: Run) -> list[Baseline]:
        """What a run is compared with, the most telling first."""
        found: list[Baseline] = []
        before = self.before(run)
        if before is not None:
            found.append(Baseline(Scenarios(before), "revision", "the earlier revision"))
        if self._reference is not None and self._reference.path != run.path:
            found.append(Baseline(Scenarios(self._reference), "reference", self._reference.path))
        if not found:
            others = self._siblings.get(id(run), ())
            found.extend(Baseline(Scenarios(sibling), "sibling", sibling.path) for sibling in others)
        return found

    def before(self, run: Run) -> Run | None:
        """The earlier form of a run, completed with the same assumptions."""
        earlier = self._earlier
        if earlier is None:
            return None
        before = earlier.of(run, self._lookup.working, self._joined.runs)
        if before is not None and id(before) not in self._completed:
            self._completed.add(id(before))
            companions = earlier.joined.companions.get(id(before)) or Companions()
            complete(before, self._lookup, companions, self._asked.assume, self._surveys)
        return before

    def touched(self, run: Run) -> bool:
        """Whether the change since the revision has a part in the run; True where there is no revision."""
        return self._earlier is None or self._earlier.touches(run, self._lookup.working)
