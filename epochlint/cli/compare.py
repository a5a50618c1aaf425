"""`epochlint compare`: what stands on either side is a file, or a revision."""

from __future__ import annotations

import os

from epochlint.lint import Checked, Options, check
from epochlint.project.companions import Companions
from epochlint.project.complete import complete
from epochlint.project.history import HistoryError, Snapshot, work_tree
from epochlint.project.join import Joiner
from epochlint.project.survey import Surveys
from epochlint.report.comparison import Pair
from epochlint.rules.engine import Engine
from epochlint.run.scenarios import Scenarios

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence


def pairs_of(old: str, new: str, paths: Sequence[str], options: Options) -> list[Pair]:
    """Runs of both sides that belong together: in order for two files, by path for revisions. Raises HistoryError."""
    before, after = _side(old, paths, options), _side(new, paths, options)
    if os.path.exists(old) and os.path.exists(new):
        return [Pair(one, other, old, new) for one, other in zip(before, after, strict=False)]
    if os.path.exists(old) != os.path.exists(new) and not paths:
        raise HistoryError(f"compare two files or two revisions, not {old} with {new}")
    found = []
    for other in after:
        same = [one for one in before if one.run.path == other.run.path and one.run.trainer == other.run.trainer]
        if same:
            place = [run for run in after if run.run.path == other.run.path].index(other)
            one = same[place] if place < len(same) else same[0]
            found.append(Pair(one, other, f"{old}:{one.run.path}", f"{new}:{other.run.path}"))
    return found


def _side(name: str, paths: Sequence[str], options: Options) -> list[Checked]:
    if os.path.exists(name):
        return check(Options([name], assume=options.assume)).runs
    tree = work_tree(os.getcwd())
    if tree is None:
        raise HistoryError(f"{name}: no such file, and not inside a git work tree")
    found = tree.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") if not name.startswith("-") else None
    if found is None:
        raise HistoryError(f"{name} is neither a file nor a revision")
    snapshot = Snapshot(tree, found.decode().strip(), os.getcwd())
    documents = []
    for path in snapshot.below([os.path.abspath(path) for path in paths or (".",)]):
        document = snapshot.document_then(path)
        if document is not None:
            documents.append((path, document))
    joined = Joiner(snapshot, options.assume.versions()).join(documents)
    surveys = Surveys(snapshot, options.max_data_bytes)
    sides = []
    for run in joined.runs:
        companions = joined.companions.get(id(run)) or Companions()
        complete(run, snapshot, companions, options.assume, surveys)
        sides.append(Checked(run, Scenarios(run), Engine([]), []))
    return sides
