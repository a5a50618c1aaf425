"""`epochlint compare`: what stands on either side is a file, or a revision."""

from __future__ import annotations

import os

from epochlint.documents.read import read
from epochlint.files import readable, skipped_path
from epochlint.lint import Checked, Options, check, may_matter
from epochlint.project.companions import Companions
from epochlint.project.complete import complete
from epochlint.project.history import Stored, paired
from epochlint.project.inline import Said
from epochlint.project.join import Joiner
from epochlint.project.repository import HistoryError, repository
from epochlint.project.survey import Surveys
from epochlint.report.comparison import Comparison, Pair
from epochlint.rules.engine import Engine
from epochlint.run.scenarios import Scenarios
from epochlint.settings import Nearest
from epochlint.source import Source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from epochlint.project.repository import Repository
    from epochlint.run.run import Run

    Place = Callable[[Run], tuple[str, ...]]


def compared(old: str, new: str, paths: Sequence[str], options: Options) -> Comparison:
    """Two files, or two revisions. Raises HistoryError."""
    files = [os.path.isfile(name) for name in (old, new)]
    if all(files):
        sides = (
            Options([name], assume=options.assume, settings=options.settings, settings_fixed=options.settings_fixed)
            for name in (old, new)
        )
        before, after = (check(side).runs for side in sides)
        if len(before) == len(after) == 1:
            return Comparison([Pair(before[0], after[0], old, new)])
        return _matched(before, after, lambda run: (), lambda run: (), old, new)
    if any(files):
        raise HistoryError(f"compare two files or two revisions, not {old} with {new}")
    tree = repository(os.getcwd())
    if tree is None:
        raise HistoryError(f"{old}: no such file, and not inside a git work tree")
    return _revisions(tree, old, new, paths, options)


def _revisions(tree: Repository, old: str, new: str, paths: Sequence[str], options: Options) -> Comparison:
    ends = [tree.commit(name) for name in (old, new)]
    changes = tree.changes(*ends)
    tops = [os.path.abspath(path) for path in paths or (".",)]
    tracked = tree.files(None).keys()
    before, after = (_runs(Stored(tree, tree.files(end), tracked, os.getcwd()), tops, options) for end in ends)

    def place_then(run: Run) -> tuple[str, ...]:
        return tuple(os.path.abspath(path) if path else "" for path in (run.path, run.launch))

    def place_now(run: Run) -> tuple[str, ...]:
        return tuple(changes.get(path, path) for path in place_then(run))

    return _matched(before, after, place_now, place_then, old, new)


def _runs(stored: Stored, tops: Sequence[str], options: Options) -> list[Checked]:
    """The runs at or below some paths, as they stand in a commit."""
    said = Said(Nearest(options.settings, options.settings_fixed), stored.working)
    surveys = Surveys(stored, options.max_data_bytes, options.cache, options.online)
    documents = []
    for path in stored.below(tops):
        shown = stored.shown(path)
        named = path in tops
        if not named and (not readable(shown) or skipped_path(shown)):
            continue
        source = stored.opened(path, shown)
        if isinstance(source, Source) and may_matter(source, path, said.settings(path)):
            document = read(source)
            if document is not None:
                stored.keep(path, document)
                documents.append((path, document))
    joined = Joiner(stored, options.assume.versions(), said).join(documents)
    for run in joined.runs:
        companions = joined.companions.get(id(run)) or Companions()
        complete(run, stored, companions, options.assume, surveys, said=said.about(run))
    return [Checked(run, Scenarios(run), Engine([]), []) for run in joined.runs]


def _matched(
    before: list[Checked], after: list[Checked], place_now: Place, place_then: Place, old: str, new: str
) -> Comparison:
    pairs = paired([one.run for one in after], [one.run for one in before], place_now, place_then)
    by_run = {id(one.run): one for one in before}
    found = Comparison(
        [
            Pair(by_run[id(pairs[id(one.run)])], one, _label(old, pairs[id(one.run)]), _label(new, one.run))
            for one in after
            if id(one.run) in pairs
        ]
    )
    taken = {id(run) for run in pairs.values()}
    found.added = [one.run for one in after if id(one.run) not in pairs]
    found.removed = [one.run for one in before if id(one.run) not in taken]
    return found


def _label(side: str, run: Run) -> str:
    return f"{side}:{run.path}" if side != run.path else side
