"""The pipeline, on one page: paths -> files -> documents -> runs -> budgets -> findings -> report."""

from __future__ import annotations

import os

from epochlint.documents.read import read
from epochlint.files import decode, discover
from epochlint.findings.finding import Finding
from epochlint.project.assumptions import Assumptions
from epochlint.project.compare import Comparisons
from epochlint.project.complete import complete, smoke_named
from epochlint.project.inline import Said
from epochlint.project.join import Joiner
from epochlint.project.joined import Skipped
from epochlint.project.lookup import Lookup
from epochlint.project.marks import may_launch, may_prepare
from epochlint.project.scaling import may_scale
from epochlint.project.silence import silence
from epochlint.project.survey import Surveys
from epochlint.project.sweeps import may_hold as may_sweep
from epochlint.project.sweeps import together
from epochlint.rules.chosen import Chosen
from epochlint.run.observation import Observation
from epochlint.run.scenarios import Scenarios
from epochlint.settings import Nearest, Settings
from epochlint.source import Source
from epochlint.trainers import registry
from epochlint.trouble import KIND, told

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from epochlint.documents.document import Document, Problem
    from epochlint.rules.engine import Baseline, Engine, NotEvaluated
    from epochlint.rules.rule import Rule
    from epochlint.run.run import Run

DATA_BYTES = 256 * 1024 * 1024


class Options:
    """What a check is asked for. `paths` are as given on the command line.

    `since`: the revision to compare with; `git`: without one, compare what differs from HEAD with HEAD, if there is a
    work tree; `staged`: compare the index, not the work tree. `baseline_run`: a config to compare every run with.
    `max_data_bytes`: of a run's data, more is estimated. `cache`: keep counts of long data files in the user's
    cache folder. `online`: ask the hub for the sizes of public data sets. `exact`: count
    tokens with the model's own tokenizer where one is here.
    `settings` are the check's own; a nearer settings file of a checked file wins, unless they are `settings_fixed`.
    """

    __slots__ = (
        "assume",
        "baseline_run",
        "cache",
        "changed_only",
        "exact",
        "exclude",
        "force_exclude",
        "git",
        "ignore",
        "max_data_bytes",
        "online",
        "paths",
        "pedantic",
        "select",
        "settings",
        "settings_fixed",
        "since",
        "staged",
        "stdin",
    )

    def __init__(
        self,
        paths: Sequence[str] = (".",),
        *,
        assume: Assumptions | None = None,
        select: Sequence[str] = (),
        ignore: Sequence[str] = (),
        exclude: Sequence[str] = (),
        force_exclude: bool = False,
        pedantic: bool = False,
        max_data_bytes: int = DATA_BYTES,
        cache: bool = False,
        online: bool = False,
        exact: bool = False,
        stdin: tuple[str, bytes] | None = None,
        git: bool = False,
        since: str | None = None,
        staged: bool = False,
        changed_only: bool = False,
        baseline_run: str | None = None,
        settings: Settings | None = None,
        settings_fixed: bool = False,
    ) -> None:
        self.paths = list(paths)
        self.assume = assume if assume is not None else Assumptions()
        self.select = list(select)
        self.ignore = list(ignore)
        self.exclude = list(exclude)
        self.force_exclude = force_exclude
        self.pedantic = pedantic
        self.max_data_bytes = max_data_bytes
        self.cache = cache
        self.online = online
        self.exact = exact
        self.stdin = stdin
        self.git = git
        self.since = since
        self.staged = staged
        self.changed_only = changed_only
        self.baseline_run = baseline_run
        self.settings = settings if settings is not None else Settings()
        self.settings_fixed = settings_fixed


class Checked:
    """A run with its scenarios, the rules that could not be evaluated for it, and what it is compared with."""

    __slots__ = ("_engine", "baselines", "run", "scenarios")

    def __init__(self, run: Run, scenarios: Scenarios, engine: Engine, baselines: list[Baseline]) -> None:
        self.run = run
        self.scenarios = scenarios
        self._engine = engine
        self.baselines = baselines

    @property
    def not_evaluated(self) -> list[NotEvaluated]:
        """The codes of rules that could not be evaluated, with what they would need to know."""
        return self._engine.not_evaluated(self.scenarios, self.baselines)


class Report:
    """What a check found."""

    __slots__ = ("below", "changes", "files", "findings", "passed", "rules", "runs", "skipped", "sources", "suppressed")

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self.suppressed: list[Finding] = []  # silenced by a comment, the baseline or the settings
        self.rules: list[Rule] = []  # that ran
        self.changes: frozenset[str] = frozenset()  # codes about a change that was asked for: their notes are shown
        self.runs: list[Checked] = []
        self.files = 0
        self.skipped: list[Skipped] = []
        self.sources: dict[str, Source] = {}  # by shown path
        self.below: dict[str, str] = {}  # shown path -> path below the folder that was given
        self.passed: dict[str, str] = {}  # shown path -> path of what says nothing; a script may load it


def check(options: Options) -> Report:
    """The whole way once. Raises SettingsError, BaselineError, HistoryError, RuleFileError for what the user wrote.

    A fault of epochlint's own is told under `skipped`, as of the kind "internal", and the rest is checked.
    """
    report = Report()
    settings = Nearest(options.settings, options.settings_fixed)
    lookup = _lookup(options)
    documents = list(_documents(options, settings, lookup, report))
    said = Said(settings, lookup.working)
    joiner = Joiner(lookup, options.assume.versions(), said)
    joined = joiner.join(documents)
    rules = Chosen(settings, lookup.working, options.select, options.ignore, options.pedantic)
    report.skipped.extend(joined.skipped)
    surveys = Surveys(lookup, options.max_data_bytes, options.cache, options.online, options.exact)
    comparisons = Comparisons(options, surveys, joined, said, report)
    whole: list[Run] = []
    for run in joined.runs:
        run.smoke = smoke_named(run, report.below.get(run.path, run.path))
        weak = said.about(run)
        asked = rules.observations(run.path)
        try:
            complete(run, lookup, joined.companions[id(run)], options.assume, surveys, asked, weak)
            whole.append(run)
        except Exception as error:  # a fault of ours with one run must not hide the findings on others
            report.skipped.append(Skipped(run.path, told(error), KIND))
    judged: list[tuple[Run, list[Finding]]] = []
    for run in whole:
        judge = rules.engine(run.path)
        try:
            scenarios = Scenarios(run)
            baselines = comparisons.of(run)
            findings = judge.check(scenarios, baselines)
            if not options.changed_only or comparisons.touched(run):
                judged.append((run, findings))
        except Exception as error:
            report.skipped.append(Skipped(run.path, told(error), KIND))
            continue
        report.runs.append(Checked(run, scenarios, judge, baselines))
    found = together(judged, joined.corners)
    found.extend(rules.observed([*joined.observations, *_unreadable(documents, options, report)]))
    documents += _loaded(found, lookup, report)
    shown = _shown(found, {document.source.path for _, document in documents})
    report.findings, report.suppressed = silence(shown, documents, settings, rules)
    report.rules = rules.every()
    if options.since is not None:
        report.changes = frozenset(rule.code for rule in report.rules if any(check.compares for check in rule.checks))
    return report


def _documents(options: Options, settings: Nearest, lookup: Lookup, report: Report) -> Iterable[tuple[str, Document]]:
    """Every file that may hold something, read; the rest is only counted."""
    if options.stdin is not None:
        yield from _standard_input(options.stdin, lookup, report)
        return
    exclude = [*options.settings.exclude, *options.exclude]
    base = options.settings.folder
    for found in discover(
        options.paths, exclude=exclude, force_exclude=options.force_exclude, base=base, held=lookup.held
    ):
        path = os.path.abspath(found.path)
        if (options.force_exclude or not found.named) and settings.of(path).excluded(path):
            continue
        report.files += 1
        source = lookup.opened(path, found.shown)
        if not isinstance(source, Source):
            if found.named:
                report.skipped.append(Skipped(found.shown, source.reason))
            continue
        if not may_matter(source, path, settings.of(path)):
            report.passed[source.path] = path
            continue
        document = _read(source, report)
        if document is None:
            continue
        report.sources[source.path] = source
        report.below[source.path] = found.below
        lookup.keep(path, document)
        yield path, document


def may_matter(source: Source, path: str, settings: Settings) -> bool:
    """Whether a file can hold anything for a check: a mark of some trainer, or the settings' word that it does."""
    return (
        registry.any_may_hold(source.text, source.path)
        or may_scale(source.text)
        or may_prepare(source.text)
        or may_sweep(source.text)
        or may_launch(source)
        or settings.trainer(path) is not None
    )


def _read(source: Source, report: Report) -> Document | None:
    try:
        return read(source)
    except Exception as error:
        report.skipped.append(Skipped(source.path, told(error), KIND))
        return None


def _standard_input(stdin: tuple[str, bytes], lookup: Lookup, report: Report) -> Iterable[tuple[str, Document]]:
    """What stands in standard input, as if it stood in a file of the given name."""
    name, data = stdin
    source = decode(data, name)
    report.files = 1
    document = _read(source, report) if isinstance(source, Source) else None
    if not isinstance(source, Source):
        report.skipped.append(Skipped(name, source.reason))
    elif document is not None:
        report.sources[name] = source
        lookup.keep(os.path.abspath(name), document)
        yield os.path.abspath(name), document


def _unreadable(documents: list[tuple[str, Document]], options: Options, report: Report) -> list[Observation]:
    """Files that cannot be parsed: a finding where they hold keys of a known trainer, or were named; else skipped."""
    found: list[Observation] = []
    named = {os.path.abspath(path) for path in options.paths}
    for path, document in documents:
        for problem in document.problems:
            known = registry.looks_known(document.source.text)
            if _broken(problem, document) and (known or (path in named and not options.force_exclude)):
                found.append(Observation("unreadable", problem.span, {"reason": problem.reason, "kind": problem.kind}))
            else:
                report.skipped.append(
                    Skipped(document.source.path, problem.reason, problem.kind if problem.kind == "template" else "")
                )
            break
    return found


def _broken(problem: Problem, document: Document) -> bool:
    """Whether the file's reader refuses it. DeepSpeed reads comments in JSON (hjson); others do not."""
    if problem.kind == "relaxed":
        return any(not entry.companion for entry, _ in registry.recognise(document))
    return problem.kind == "syntax"


def _loaded(findings: list[Finding], lookup: Lookup, report: Report) -> Iterable[tuple[str, Document]]:
    """The files with findings that were asked for, say nothing by themselves, and are loaded by a script."""
    for shown in sorted({finding.path for finding in findings} & report.passed.keys()):
        document = lookup.read(report.passed[shown])
        if document is not None:
            report.sources[shown] = document.source
            yield report.passed[shown], document


def _shown(findings: list[Finding], given: set[str]) -> list[Finding]:
    """Findings in the files that were asked for, and in data; each once, in the order of their places."""
    seen: set[tuple[str, int, int, str, str]] = set()
    kept: list[Finding] = []
    for finding in sorted(findings, key=lambda finding: finding.sort_key):
        lintable = finding.path.endswith((".yaml", ".yml", ".toml", ".py", ".ipynb", ".sh"))
        if finding.sort_key in seen or (lintable and finding.path not in given):
            continue
        seen.add(finding.sort_key)
        kept.append(finding)
    return kept


def _lookup(options: Options) -> Lookup:
    """The files to look at: those on disk, or those of the index."""
    root = _given_root(options.paths)
    if not options.staged:
        return Lookup(root)
    from epochlint.project.history import staged

    return staged(options.paths, root) or Lookup(root)


def _given_root(paths: Sequence[str]) -> str | None:
    for path in paths:
        absolute = os.path.abspath(path)
        return absolute if os.path.isdir(absolute) else os.path.dirname(absolute)
    return None
