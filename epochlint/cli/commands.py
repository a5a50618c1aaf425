"""The commands, as click sees them."""

from __future__ import annotations

import os
import re
import sys

import click

from epochlint import __version__
from epochlint.cli.hook import coloured, known_errors, start_of, troubled
from epochlint.cli.progress import Progress
from epochlint.findings.finding import STRENGTH
from epochlint.lint import DATA_BYTES, Options, check
from epochlint.project.assumptions import AssumptionError, parse
from epochlint.report.formats import NAMES, render
from epochlint.settings import Settings, SettingsError, find, load

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from epochlint.lint import Report

_LEVELS = ("error", "warning", "note", "never")


class _Bytes(click.ParamType):  # type: ignore[type-arg] # generic in newer versions only
    """A size: 1000, 500M, 1.5G (powers of 1,024)."""

    name = "size"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = re.fullmatch(r"([0-9]{1,15}(?:\.[0-9]{1,3})?) *([kmgt]?)(?:i?b)?", value.strip().lower())
        if found is None:
            self.fail(f"{value!r} is no size such as 500M or 2G", param, ctx)
        return int(float(found[1]) * 1024 ** " kmgt".index(found[2] or " "))


class _DefaultCheck(click.Group):
    """`epochlint PATH...` is `epochlint check PATH...`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] not in ("--help", "-h", "--version"):
            args = ["check", *args]
        return super().parse_args(ctx, args)


@click.group(cls=_DefaultCheck, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="epochlint")
def epochlint() -> None:
    """Checks fine-tuning configs before the GPUs are booked.

    `epochlint PATH...` is the same as `epochlint check PATH...`.
    """


_ASSUME = click.option(
    "--assume",
    multiple=True,
    metavar="KEY=VALUE",
    help="Say what the files do not: gpus=8, records=52002, transformers=4.57.6.",
)
_PATHS = click.argument("paths", nargs=-1, type=click.Path())
_DATA_BYTES = click.option(
    "--max-data-bytes",
    type=_Bytes(),
    default=str(DATA_BYTES),
    show_default="256M",
    metavar="SIZE",
    help="Read at most so much of a run's data (1G, 500M); what is longer is estimated.",
)
_NO_CACHE = click.option(
    "--no-cache", is_flag=True, help="Keep no counts of long data files (also: EPOCHLINT_CACHE=off, or a folder)."
)
_ONLINE = click.option(
    "--online", is_flag=True, help="Ask the Hugging Face hub for the sizes of public data sets; nothing else is sent."
)


@epochlint.command("check")
@_PATHS
@_ASSUME
@_DATA_BYTES
@_NO_CACHE
@_ONLINE
@click.option("--select", multiple=True, metavar="CODE", help="Only these rules: codes, names or families (WRM).")
@click.option("--ignore", multiple=True, metavar="CODE", help="Not these rules.")
@click.option(
    "--fail-on",
    type=click.Choice(_LEVELS),
    default="warning",
    show_default=True,
    help="Exit with 1 from this level on.",
)
@click.option("--notes", is_flag=True, help="Show notes in full.")
@click.option("--pedantic", is_flag=True, help="Also what holds only for some GPU counts or versions.")
@click.option("--since", metavar="REV", help="Compare with an earlier revision: a branch, tag or commit.")
@click.option("--staged", is_flag=True, help="With --since: compare the index instead of the work tree.")
@click.option("--changed-only", is_flag=True, help="With --since: only findings on runs that the change touches.")
@click.option("--no-git", is_flag=True, help="Without --since: do not compare with HEAD what differs from it.")
@click.option(
    "--baseline-run", metavar="FILE", type=click.Path(exists=True), help="Compare every run with this config."
)
@click.option("--config", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Take this settings file.")
@click.option("--isolated", is_flag=True, help="Take no settings file.")
@click.option("--exclude", multiple=True, metavar="PATTERN", help="Do not look at these files (as in .gitignore).")
@click.option("--fix", is_flag=True, help="Apply the safe fixes.")
@click.option("--unsafe-fixes", is_flag=True, help="With --fix or --diff: also fixes that change the run.")
@click.option("--diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@click.option(
    "--write-baseline", metavar="FILE", type=click.Path(dir_okay=False), help="Write the findings as known ones."
)
@click.option("--stdin-filename", metavar="FILE", help="The name of what `-` reads.")
@click.option("--force-exclude", is_flag=True, help="Skip excluded files even when they are named.")
@click.option("--output-format", default="text", show_default=True, type=click.Choice(NAMES), help="How to print.")
@click.option(
    "--output", multiple=True, metavar="FORMAT=FILE", help="Also write a report to a file: sarif=epochlint.sarif."
)
def check_command(
    paths: tuple[str, ...],
    assume: tuple[str, ...],
    max_data_bytes: int,
    no_cache: bool,
    online: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    fail_on: str,
    notes: bool,
    pedantic: bool,
    since: str | None,
    staged: bool,
    changed_only: bool,
    no_git: bool,
    baseline_run: str | None,
    config: str | None,
    isolated: bool,
    exclude: tuple[str, ...],
    fix: bool,
    unsafe_fixes: bool,
    diff: bool,
    write_baseline: str | None,
    stdin_filename: str | None,
    force_exclude: bool,
    output_format: str,
    output: tuple[str, ...],
) -> int:
    """Lint configs, scripts and launch files (default path: the working directory)."""
    outputs = [_output(one) for one in output]
    options = _options(paths, assume, config, isolated, stdin_filename, since)
    options.max_data_bytes, options.cache, options.online = max_data_bytes, not no_cache, online
    options.select, options.ignore, options.exclude = _split(select), _split(ignore), list(exclude)
    options.pedantic, options.force_exclude = pedantic, force_exclude
    options.since, options.staged, options.baseline_run = since, staged, baseline_run
    options.changed_only, options.git = changed_only, not no_git and not force_exclude
    if options.stdin is not None and fix and not diff:
        raise click.UsageError("--fix writes files, and `-` is none; --diff shows what it would change")
    if write_baseline is not None:
        options.settings.baseline = None  # what is known already is written again
    report = _checked(options)
    if diff:
        from epochlint.cli.fixing import show_fixes

        click.echo(show_fixes(report, unsafe=unsafe_fixes), nl=False)
    elif fix:
        from epochlint.cli.fixing import apply_fixes

        told, report = apply_fixes(report, lambda: _checked(options), unsafe=unsafe_fixes)
        click.echo(told, nl=False, err=output_format != "text")
    if write_baseline is not None:
        _write_baseline(write_baseline, report, options.settings)
        return 2 * troubled(report)
    if output_format not in ("text", "concise"):
        _in_utf8()
    colour = output_format == "text" and coloured(sys.stdout.isatty())
    text = render(output_format, report, notes=notes, colour=colour) if not diff else ""
    if text:
        click.echo(text)
    for name, path in outputs:
        _write(path, render(name, report, notes=notes))
    if troubled(report):
        return 2
    if fail_on == "never":
        return 0
    return int(any(STRENGTH[finding.level] >= STRENGTH[fail_on] for finding in report.findings))


@epochlint.command("explain")
@_PATHS
@_ASSUME
@_DATA_BYTES
@_NO_CACHE
@_ONLINE
@click.option("--config", metavar="FILE", type=click.Path(exists=True, dir_okay=False), help="Take this settings file.")
@click.option("--isolated", is_flag=True, help="Take no settings file.")
@click.option("--output-format", default="text", show_default=True, type=click.Choice(("text", "json")))
def explain_command(
    paths: tuple[str, ...],
    assume: tuple[str, ...],
    max_data_bytes: int,
    no_cache: bool,
    online: bool,
    config: str | None,
    isolated: bool,
    output_format: str,
) -> int:
    """Show what each run will do: batch, steps, warmup, with where each number comes from."""
    options = _options(paths, assume, config, isolated)
    options.exact = True
    options.max_data_bytes, options.cache, options.online = max_data_bytes, not no_cache, online
    report = _checked(options)
    if output_format == "json":
        from epochlint.report.json_report import explain_json

        _in_utf8()
        click.echo(explain_json(report))
    else:
        from epochlint.report.explain import explain_text

        click.echo(explain_text(report))
    return 2 * troubled(report)


@epochlint.command("compare")
@click.argument("old")
@click.argument("new")
@click.argument("paths", nargs=-1, type=click.Path())
@_ASSUME
@click.option("--output-format", default="text", show_default=True, type=click.Choice(("text", "json", "markdown")))
def compare_command(old: str, new: str, paths: tuple[str, ...], assume: tuple[str, ...], output_format: str) -> int:
    """Show two runs side by side: two files, or two revisions (with the paths to look at)."""
    from epochlint.cli.compare import compared
    from epochlint.report import comparison

    try:
        found = compared(old, new, paths, _options((), assume))
    except known_errors() as problem:
        raise click.ClickException(str(problem)) from None
    if output_format != "text":
        _in_utf8()
    render_found = {
        "text": comparison.comparison_text,
        "json": comparison.comparison_json,
        "markdown": comparison.comparison_markdown,
    }
    click.echo(render_found[output_format](found))
    return 0


@epochlint.command("rule")
@click.argument("code", required=False)
@click.option("--output-format", default="text", show_default=True, type=click.Choice(("text", "json")))
def rule_command(code: str | None, output_format: str) -> int:
    """Show a rule's page, or the list of rules."""
    from epochlint.report.rule_page import listing, page

    text = listing(output_format) if code is None else page(code, output_format)
    if text is None:
        from epochlint.rules import catalogue
        from epochlint.rules.chosen import close

        hint = close(code or "", catalogue.load()) or "; `epochlint rule` lists them"
        raise click.UsageError(f"there is no rule {code!r}{hint}")
    click.echo(text)
    return 0


def _options(
    paths: Sequence[str],
    assume: Sequence[str],
    config: str | None = None,
    isolated: bool = False,
    stdin_filename: str | None = None,
    since: str | None = None,
) -> Options:
    stdin = None
    if "-" in paths:
        if len(paths) > 1:
            raise click.UsageError("`-` reads standard input and stands alone")
        stdin = (stdin_filename or "stdin.yaml", sys.stdin.buffer.read())
        paths = [stdin[0]]
    there = list(paths) if stdin is not None else [path for path in paths if os.path.lexists(path)]
    missing = [path for path in paths if path not in there]
    if missing and since is not None:
        from epochlint.project.repository import gone

        missing = [path for path in missing if not gone(path, since)]
    if missing:
        raise click.UsageError(f"no such file or folder: {missing[0]}")
    try:
        given = parse(assume)
    except AssumptionError as problem:
        raise click.BadParameter(str(problem), param_hint="--assume") from None
    try:
        settings = Settings() if isolated else load(config or find(start_of(there)))
    except SettingsError as problem:
        raise click.ClickException(str(problem)) from None
    fixed = isolated or config is not None
    return Options(there if paths else (".",), assume=given, settings=settings, settings_fixed=fixed, stdin=stdin)


def _checked(options: Options) -> Report:
    try:
        with Progress():
            return check(options)
    except known_errors() as problem:
        raise click.ClickException(str(problem)) from None


def _output(text: str) -> tuple[str, str]:
    """`FORMAT=FILE`."""
    name, equals, path = text.partition("=")
    if not equals or name not in NAMES or not path:
        raise click.BadParameter(
            f"{text!r} is not FORMAT=FILE with a format of {', '.join(NAMES)}", param_hint="--output"
        )
    return name, path


def _write_baseline(path: str, report: Report, settings: Settings) -> None:
    from epochlint.findings import baseline
    from epochlint.findings.fingerprint import fingerprints
    from epochlint.report.text import plural

    marks = fingerprints(report.findings, lambda path: settings.below(os.path.abspath(path)))
    _write(path, baseline.render(marks.values()).rstrip("\n"))
    click.echo(f"{plural(len(marks), 'finding')} written to {path}; `baseline` in the settings names it", err=True)


def _in_utf8() -> None:
    """Standard output for programs is UTF-8, whatever the terminal is set to."""
    reconfigure = getattr(sys.stdout, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8")


def _write(path: str, text: str) -> None:
    try:
        # A lone surrogate (JSON can escape one) is written as its escape.
        with open(path, "w", encoding="utf-8", errors="backslashreplace", newline="\n") as file:
            file.write(text + "\n")
    except OSError as problem:
        raise click.ClickException(f"cannot write {path}: {problem.strerror}") from None


def _split(values: Sequence[str]) -> list[str]:
    return [part for value in values for part in value.replace(",", " ").split()]


def run_click(arguments: list[str]) -> int:
    """Runs a command; click's own errors end with status 2."""
    try:
        status = epochlint.main(arguments, prog_name="epochlint", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return int(stop.exit_code)
    except click.ClickException as problem:
        problem.show()
        return 2
    except click.Abort:
        return 2
    return int(status or 0)
