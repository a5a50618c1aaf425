"""One report with a finding of every rule, from the rules' own bad examples."""

from __future__ import annotations

import os
import tempfile
from functools import cache
from pathlib import Path

from epochlint.findings.finding import Finding
from epochlint.lint import Options, Report, check
from epochlint.rules import catalogue
from epochlint.source import Source
from tests.rules.test_examples import PAGES, _lint


@cache
def report() -> Report:
    """Made once for each process: about a second for every hundred examples."""
    whole = Report()
    whole.rules = catalogue.load()
    for page in PAGES:
        for example in page.examples.bad:
            with tempfile.TemporaryDirectory() as folder:
                found = [one for one in _lint(Path(folder), page.code, example) if one.code == page.code]
            whole.findings.extend(found)
            for one in found:
                whole.sources.setdefault(one.path, one.span.in_file().source)
            if found:
                break
        else:  # a page without an example
            span = Source(f"{page.code}.yaml", "key: value\n").span(0, 3)
            whole.findings.append(Finding(page.code, page.name, "warning", page.summary, span))
    _add_the_rest(whole)
    return whole


def _add_the_rest(whole: Report) -> None:
    """A run with its budget, a finding that a comment silences, and files that are not read."""
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "silent.yaml").write_text(
            "per_device_train_batch_size: 8\nlr_scheduler_type: constant\nmax_steps: 500\n"
            "warmup_steps: 100  # epochlint: ignore[WRM005] as in | the <paper>\n"
        )
        Path(folder, "a b.bin").write_bytes(b"\0\1\2")
        os.chdir(folder)
        try:
            more = check(Options(["silent.yaml", "a b.bin"]))
        finally:
            os.chdir(here)
    whole.runs, whole.files, whole.suppressed = more.runs, more.files, more.suppressed
    whole.skipped = more.skipped
