"""`--fix` and `--diff`."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

from epochlint.findings.fix import fixed, write
from epochlint.lint import Checked, Options, Report, check
from epochlint.rules.page import Example
from tests.cli.conftest import Done
from tests.rules.test_examples import PAGES, _write

Run = Callable[..., Done]

OLD = "per_device_train_batch_size: 8  # fits\nlr_scheduler_type: constant\nmax_steps: 500\nwarmup_steps: 100\n"
NEW = OLD.replace("constant", "constant_with_warmup")
ENCODINGS = [(b"", "utf-8"), (b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be")]


@pytest.mark.parametrize(("mark", "encoding"), ENCODINGS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
@pytest.mark.parametrize("last", [True, False], ids=["last line ends", "last line does not end"])
def test_bytes_are_kept(project: Path, run: Run, mark: bytes, encoding: str, ending: str, last: bool) -> None:
    def data(text: str) -> bytes:
        whole = ("# é \U0001f600\n" + text).replace("\n", ending)
        return mark + (whole if last else whole.removesuffix(ending)).encode(encoding)

    path = project / "a.yaml"
    path.write_bytes(data(OLD))
    shown = run("check", "--diff", "--unsafe-fixes", "a.yaml")
    assert "+lr_scheduler_type: constant_with_warmup" in shown.out
    assert path.read_bytes() == data(OLD), "--diff changes nothing"
    done = run("check", "--fix", "--unsafe-fixes", "a.yaml", "--select", "WRM005")
    assert done.status == 0
    assert done.out.startswith("a.yaml: 1 fixed\n")
    assert path.read_bytes() == data(NEW)


def test_the_diff_is_a_patch(project: Path, run: Run) -> None:
    path = project / "a.yaml"
    lines = ["per_device_train_batch_size: 8", "max_steps: 500", "warmup_steps: 100", "lr_scheduler_type: constant"]
    path.write_bytes("\r\n".join(lines).encode())
    patch = run("check", "--diff", "--unsafe-fixes", "a.yaml").out
    assert "\\ No newline at end of file" in patch
    done = subprocess.run(
        ["git", "apply", "-p1", "-"], input=patch.encode(), cwd=project, capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert path.read_bytes().endswith(b"lr_scheduler_type: constant_with_warmup")


def test_what_only_shows_after_a_fix_is_fixed_too(project: Path, run: Run) -> None:
    text = "output_dir: out\nper_device_train_batch_size: 8\nnum_train_epochs: 2\nlearning_rate: 2.0e-5\n"
    (project / "args.yaml").write_text(f"{text}save_stategy: no\nlogging_steps: 20\n")
    parser = "parser = HfArgumentParser(TrainingArguments)\n(args,) = parser.parse_yaml_file('args.yaml')\n"
    (project / "train.py").write_text(f"from transformers import HfArgumentParser, TrainingArguments\n{parser}")
    assert run("check", "--fix").out.startswith("args.yaml: 2 fixed\n")
    assert 'save_strategy: "no"\n' in (project / "args.yaml").read_text()
    fixed_once = (project / "args.yaml").read_bytes()
    run("check", "--fix")
    assert (project / "args.yaml").read_bytes() == fixed_once


def test_unsafe_fixes_only_when_asked(project: Path, run: Run) -> None:
    (project / "a.yaml").write_text(OLD)
    assert run("check", "--fix", "--select", "WRM005", "a.yaml").status == 1
    assert (project / "a.yaml").read_text() == OLD


def test_other_formats_stay_whole(project: Path, run: Run) -> None:
    (project / "a.yaml").write_text(OLD)
    done = run("check", "--fix", "--unsafe-fixes", "a.yaml", "--select", "WRM005", "--output-format", "json")
    assert done.codes == []
    assert done.err == "a.yaml: 1 fixed\n"


def test_a_folder_that_cannot_be_written(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.yaml").write_text(OLD)

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("epochlint.findings.fix.replace", refused)
    done = run("check", "--fix", "--unsafe-fixes", "a.yaml")
    assert done.status == 1
    assert "a.yaml: not fixed, it cannot be written (Permission denied)" in done.out


def test_a_fix_that_would_break_the_file_is_not_made(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "a.yaml").write_text(OLD)
    from epochlint.findings import fix as module

    honest = module.fixed

    def broken(*words: object) -> list[module.Fixed]:
        return [module.Fixed(one.path, one.old, one.new + "x: [", one.count) for one in honest(*words)]  # type: ignore[arg-type] # as given

    monkeypatch.setattr("epochlint.cli.fixing.fixed", broken)
    run("check", "--fix", "--unsafe-fixes", "a.yaml")
    assert (project / "a.yaml").read_text() == OLD


# Every fix of every rule ----------------------------------------------------------------------


def _fixable() -> list[object]:
    return [
        pytest.param(page.code, example, id=f"{page.code}-{number}")
        for page in PAGES
        for number, example in enumerate(page.examples.bad)
        if not example.before
    ]


def _batches(runs: list[Checked]) -> list[object]:
    return [one.scenarios.first.fact("effective_batch").value for one in runs]


@pytest.mark.parametrize(("code", "example"), _fixable())
def test_fixes_keep_the_effective_batch_and_end(code: str, example: Example, monkeypatch: pytest.MonkeyPatch) -> None:
    """Safe or not, no fix changes the effective batch; and after a few runs there is nothing left to fix."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made).resolve()
        _write(folder, example.files)
        monkeypatch.chdir(folder)
        before = _check()
        report = before
        for _ in range(5):
            changes = fixed(report.findings, unsafe=True)
            if not changes:
                break
            for one in changes:
                assert one.new != one.old
                assert write(one, lambda path: str(folder / path))
            report = _check()
            assert "CFG010" not in {finding.code for finding in report.findings} - {code}
        else:
            pytest.fail("a fix brings the next one, without an end")
        if len(report.runs) == len(before.runs):
            for old, new in zip(_batches(before.runs), _batches(report.runs), strict=True):
                assert old is None or old == new


def _check() -> Report:
    return check(Options(["."]))
