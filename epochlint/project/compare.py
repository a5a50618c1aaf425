"""What a run is compared with: its earlier revision, a reference run, its siblings."""

from __future__ import annotations

import os

from epochlint.project.assumptions import Assumptions
from epochlint.project.companions import Companions
from epochlint.project.complete import complete
from epochlint.project.family import siblings
from epochlint.project.join import Joiner
from epochlint.project.joined import Joined, Skipped
from epochlint.project.repository import HistoryError, NoCommitError, folder_of, repository
from epochlint.rules.engine import Baseline
from epochlint.run.scenarios import Scenarios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from epochlint.project.history import Earlier
    from epochlint.project.inline import Said
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
        stdin: tuple[str, bytes] | None

    class Told(Protocol):
        """Where what cannot be compared is said."""

        skipped: list[Skipped]


UNCOMPARED = "revision"  # the kind of what is skipped where a revision that was asked for cannot be had


class Comparisons:
    """The baselines of the runs of one check. Raises HistoryError where `--baseline-run` names no run."""

    __slots__ = (
        "_asked",
        "_completed",
        "_earlier",
        "_joined",
        "_lookup",
        "_references",
        "_said",
        "_siblings",
        "_surveys",
        "_told",
    )

    def __init__(self, asked: Asked, surveys: Surveys, joined: Joined, said: Said, told: Told) -> None:
        self._asked = asked
        self._surveys = surveys
        self._lookup = surveys.lookup
        self._joined = joined
        self._said = said
        self._told = told
        self._completed: set[int] = set()
        self._references: dict[str, Run | None] = {}
        self._siblings = siblings(joined.runs)
        self._earlier = self._revision() if joined.runs or asked.since is not None else None
        if asked.baseline_run is not None:
            self._referred(os.path.abspath(asked.baseline_run), f"--baseline-run {asked.baseline_run}")

    def _revision(self) -> Earlier | None:
        """The earlier revision. Where one was asked for and cannot be had, that is told, and the rest goes on."""
        asked = self._asked
        if asked.since is None and not asked.git:
            return None
        from epochlint.project.history import Earlier  # a hook on a file compares nothing

        try:
            tree = repository(folder_of(asked.paths))
            if tree is None:
                raise HistoryError("not inside a git work tree")
            given = os.path.abspath(asked.paths[0]) if asked.stdin is not None else None
            earlier = Earlier(
                tree, asked.since or "HEAD", self._lookup, self._joined, asked.assume.versions(), self._said,
                staged=asked.staged, asked=asked.since is not None, given=given,
            )  # fmt: skip
        except HistoryError as problem:
            # Before the first commit there is no HEAD, and a hook that names it must let that commit through.
            if asked.since is not None and not (asked.since == "HEAD" and isinstance(problem, NoCommitError)):
                self._tell(".", f"nothing is compared with {asked.since}: {problem}", UNCOMPARED)
            return None
        if asked.since is not None:
            for folder in sorted(earlier.elsewhere):
                self._tell(self._lookup.shown(folder), "a repository of its own: its earlier revision is not looked at")
        return earlier

    def _tell(self, path: str, reason: str, kind: str = "") -> None:
        self._told.skipped.append(Skipped(path, reason, kind))

    def _reference(self, run: Run) -> Run | None:
        """The run that one is to be compared with: that of the command line, else what its file or the settings say."""
        if self._asked.baseline_run is not None:
            return self._references[os.path.abspath(self._asked.baseline_run)]
        named = self._asked.assume.reference or self._said.about(run).reference
        if named is None:
            return None
        path = self._lookup.resolve(named, os.path.dirname(os.path.join(self._lookup.working, run.path)))
        key = path or named
        if key not in self._references:
            try:
                if path is None:
                    raise HistoryError(f"the reference {named} is not there")
                self._referred(path, f"the reference {named}")
            except HistoryError as problem:
                self._references[key] = None
                self._tell(run.path, str(problem), UNCOMPARED)
        return self._references[key]

    def _referred(self, path: str, name: str) -> None:
        """Reads the one run of a file. What the command line assumes is said of the checked runs, not of it."""
        document = self._lookup.read(path)
        if document is None:
            raise HistoryError(f"{name} cannot be read")
        joined = Joiner(self._lookup, self._asked.assume.versions(), self._said).join([(path, document)])
        if len(joined.runs) != 1:
            raise HistoryError(f"{name} holds {len(joined.runs) or 'no'} run{'s' * (len(joined.runs) > 1)}, not one")
        run = joined.runs[0]
        complete(
            run, self._lookup, joined.companions[id(run)], Assumptions(), self._surveys,
            said=self._said.about(run),
        )  # fmt: skip
        self._references[path] = run

    def of(self, run: Run) -> list[Baseline]:
        """What a run is compared with, the most telling first."""
        found: list[Baseline] = []
        before = self.before(run)
        if before is not None and self._earlier is not None:
            same = not self._earlier.moved and _alike(run, before)
            found.append(Baseline(Scenarios(before), "revision", "the earlier revision", same_gpus=same))
        reference = self._reference(run)
        if reference is not None and reference.path != run.path:
            same = _alike(run, reference)
            found.append(Baseline(Scenarios(reference), "reference", reference.path, same_gpus=same))
        if not found:
            others = self._siblings.get(id(run), ())
            found.extend(Baseline(Scenarios(sibling), "sibling", sibling.path) for sibling in others)
        return found

    def before(self, run: Run) -> Run | None:
        """The earlier form of a run, completed with the same assumptions."""
        earlier = self._earlier
        if earlier is None:
            return None
        before = earlier.of(run)
        if before is not None and id(before) not in self._completed:
            self._completed.add(id(before))
            companions = earlier.joined.companions.get(id(before)) or Companions()
            complete(
                before, earlier.then, companions, self._asked.assume, self._surveys,
                said=earlier.said.about(before),
            )  # fmt: skip
        return before

    def touched(self, run: Run) -> bool:
        """Whether the change since the revision has a part in the run; True where there is no revision."""
        return self._earlier is None or self._earlier.touches(run)


def _alike(run: Run, other: Run) -> bool:
    from epochlint.project.same_gpus import alike  # most checks compare nothing

    return alike(run, other)
