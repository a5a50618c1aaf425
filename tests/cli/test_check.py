"""`epochlint check`: its options and its exit status."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Done

Run = Callable[..., Done]

WARNING = "per_device_train_batch_size: 8\nlr_scheduler_type: constant\nmax_steps: 500\nwarmup_steps: 100\n"
CLEAN = "per_device_train_batch_size: 8\nlr_scheduler_type: cosine\nmax_steps: 500\nwarmup_steps: 20\n"
BROKEN = "per_device_train_batch_size: [8\nnum_train_epochs: 3\n"


@pytest.fixture
def warned(project: Path) -> Path:
    (project / "a.yaml").write_text(WARNING)
    return project


def test_exit_status(project: Path, run: Run) -> None:
    (project / "bad.yaml").write_text(WARNING)
    (project / "good.yaml").write_text(CLEAN)
    assert run("good.yaml").status == 0
    assert run("bad.yaml").status == 1
    assert run("check", "bad.yaml", "good.yaml").status == 1
    assert run("check", "--no-such-option", "bad.yaml").status == 2
    assert run("nowhere.yaml").status == 2


@pytest.mark.parametrize("words", [("a.yaml",), ("check", "a.yaml"), (".",), ("check",), ("--notes", "a.yaml")])
def test_the_same_by_every_way(warned: Path, run: Run, words: tuple[str, ...]) -> None:
    done = run(*words)
    assert done.status == 1
    assert "a.yaml:4:1: warning WRM005 warmup-ignored" in done.out
    assert done.err == ""


@pytest.mark.parametrize("name", ["text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown"])
def test_the_status_is_the_same_in_every_format(warned: Path, run: Run, name: str) -> None:
    done = run("check", "a.yaml", "--output-format", name)
    assert (done.status, done.err) == (1, "")
    assert "WRM005" in done.out


@pytest.mark.parametrize(("level", "status"), [("error", 0), ("warning", 1), ("note", 1), ("never", 0)])
def test_fail_on(warned: Path, run: Run, level: str, status: int) -> None:
    assert run("check", "a.yaml", "--select", "WRM005", "--fail-on", level).status == status


def test_notes_do_not_fail(project: Path, run: Run) -> None:
    (project / "a.yaml").write_text(WARNING)
    (project / "epochlint.toml").write_text("[levels]\nWRM005 = 'note'\n")
    done = run("check", "--select", "WRM005", "a.yaml")
    assert done.status == 0
    assert done.out == "1 note: 1 run in 1 file. (--notes shows the notes)\n"
    assert "a.yaml:4:1: note WRM005" in run("check", "--select", "WRM005", "--notes", "a.yaml").out
    assert run("check", "--select", "WRM005", "--fail-on", "note", "a.yaml").status == 1


def test_select_and_ignore(warned: Path, run: Run) -> None:
    def codes(*words: str) -> list[str]:
        return run("check", "a.yaml", "--output-format", "json", *words).codes

    assert "WRM005" in codes()
    assert codes("--select", "WRM005") == ["WRM005"]
    assert codes("--select", "warmup-ignored") == ["WRM005"]
    assert codes("--select", "EPO,WRM005") == ["WRM005"]
    assert set(codes("--select", "WRM")) == {"WRM005"}
    assert "WRM005" not in codes("--ignore", "wrm005")
    assert "WRM005" not in codes("--ignore", "WRM")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--select", "WRM05"), "there is no rule 'WRM05'; did you mean 'WRM005'?"),
        (("--ignore", "warmup-ignord"), "there is no rule 'warmup-ignord'; did you mean 'warmup-ignored'?"),
        (("--selct", "WRM005"), "--select"),
        (("--assume", "gpuz=8"), "unknown key 'gpuz'; did you mean 'gpus'?"),
        (("--assume", "gpus"), "'gpus' is not KEY=VALUE"),
        (("--assume", "gpus=many"), "gpus must be a whole number of at least 1, not 'many'"),
        (("--output-format", "jsn"), "json"),
        (("--output", "sarif"), "'sarif' is not FORMAT=FILE"),
        (("--output", "sarf=x"), "'sarf=x' is not FORMAT=FILE"),
        (("--fail-on", "fatal"), "fatal"),
        (("--config", "none.toml"), "none.toml"),
        (("--baseline-run", "none.yaml"), "none.yaml"),
        (("-", "b.yaml"), "`-` reads standard input and stands alone"),
        (("none.yaml",), "no such file or folder: none.yaml"),
    ],
)
def test_usage_errors_say_what_is_meant(warned: Path, run: Run, words: tuple[str, ...], said: str) -> None:
    paths = () if not words[0].startswith("--") else ("a.yaml",)
    done = run("check", *paths, *words)
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "Traceback" not in done.err


def test_assume(project: Path, run: Run) -> None:
    (project / "a.yaml").write_text("per_device_train_batch_size: 8\nlearning_rate: 0.0002\nnum_train_epochs: 3\n")
    words = ("--assume", "gpus=2", "--assume", "records=1600,transformers=4.57.6", "--output-format", "json")
    facts = run("explain", "a.yaml", *words).json["runs"][0]["facts"]
    assert facts["total_steps"]["value"] == 300
    assert facts["gpus"]["origin"] == "assumed"


# Standard input ----------------------------------------------------------------------


def _typed(monkeypatch: pytest.MonkeyPatch, data: bytes) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(data))
    monkeypatch.setattr(sys, "stdin", stdin)


def test_standard_input(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch, WARNING.encode())
    done = run("check", "-", "--stdin-filename", "configs/a.yaml")
    assert done.status == 1
    assert "configs/a.yaml:4:1: warning WRM005" in done.out


def test_standard_input_by_its_name(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    text = json.dumps({"per_device_train_batch_size": 8, "lr_scheduler_type": "constant", "warmup_steps": 100})
    _typed(monkeypatch, text.encode())
    assert "WRM005" in run("check", "-", "--stdin-filename", "a.json", "--output-format", "json").codes


def test_standard_input_without_a_name_is_yaml(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch, WARNING.encode())
    assert "stdin.yaml:4:1: warning WRM005" in run("-").out


def test_standard_input_that_is_no_text(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch, b"\0\1\2")
    done = run("check", "-", "--output-format", "json")
    assert (done.status, done.json["skipped"][0]["reason"]) == (0, "a binary file")


def test_standard_input_is_not_fixed(warned: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _typed(monkeypatch, WARNING.encode())
    assert run("check", "-", "--stdin-filename", "a.yaml", "--fix", "--unsafe-fixes").status == 2
    assert (warned / "a.yaml").read_text() == WARNING
    _typed(monkeypatch, WARNING.encode())
    assert "+lr_scheduler_type: constant_with_warmup" in run("check", "-", "--diff", "--unsafe-fixes").out


# Settings ----------------------------------------------------------------------


def test_settings_errors_have_their_place(warned: Path, run: Run) -> None:
    (warned / "epochlint.toml").write_text("\nselct = ['WRM']\n")
    for words in (("a.yaml",), ("check", "a.yaml"), ("explain", "a.yaml"), ("check", "--output-format", "json")):
        done = run(*words)
        assert (done.status, done.out) == (2, "")
        assert f"{warned / 'epochlint.toml'}:2:1: unknown setting 'selct'; did you mean 'select'?" in done.err


def test_config_and_isolated(warned: Path, run: Run) -> None:
    (warned / "epochlint.toml").write_text("ignore = ['WRM005']\n")
    (warned / "other.toml").write_text("[levels]\nWRM005 = 'note'\n")
    assert "WRM005" not in run("a.yaml").out
    assert "warning WRM005" in run("check", "--isolated", "a.yaml").out
    assert "note WRM005" in run("check", "--notes", "--config", "other.toml", "a.yaml").out


def test_settings_of_the_folder_that_is_given(project: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (project / "inner").mkdir()
    (project / "inner" / "a.yaml").write_text(WARNING)
    (project / "inner" / "epochlint.toml").write_text("ignore = ['WRM005']\n")
    assert "WRM005" not in run("inner").out
    assert "WRM005" not in run("check", str(project / "inner")).out


def test_exclude(warned: Path, run: Run) -> None:
    (warned / "old").mkdir()
    (warned / "old" / "b.yaml").write_text(WARNING)

    def paths(*words: str) -> set[str]:
        return {one["path"] for one in run("check", "--output-format", "json", *words).json["findings"]}

    assert paths(".") == {"a.yaml", "old/b.yaml"}
    assert paths(".", "--exclude", "old/") == {"a.yaml"}
    (warned / "epochlint.toml").write_text("exclude = ['/old/']\n")
    assert paths(".") == {"a.yaml"}
    assert paths("old/b.yaml") == {"old/b.yaml"}, "a named file is looked at"
    assert paths("--force-exclude", "old/b.yaml", "a.yaml") == {"a.yaml"}
    assert run("--force-exclude", "old/b.yaml").status == 0


def test_own_rules(warned: Path, run: Run) -> None:
    (warned / "rules").mkdir()
    (warned / "epochlint.toml").write_text("rules = ['rules']\n")
    (warned / "rules" / "x.yaml").write_text("code: [\n")
    done = run("a.yaml")
    assert done.status == 2
    assert "x.yaml" in done.err
    assert "Traceback" not in done.err


# Outputs ----------------------------------------------------------------------


def test_several_outputs_of_one_run(warned: Path, run: Run) -> None:
    done = run(
        "check", "a.yaml", "--output", "sarif=x.sarif", "--output", "markdown=x.md", "--output-format", "concise"
    )
    assert done.out.startswith("a.yaml:")
    assert json.loads((warned / "x.sarif").read_text())["version"] == "2.1.0"
    assert (warned / "x.md").read_text().startswith("## epochlint")


def test_an_output_that_cannot_be_written(warned: Path, run: Run) -> None:
    done = run("check", "a.yaml", "--output", "json=none/x.json")
    assert done.status == 2
    assert "cannot write none/x.json: No such file or directory" in done.err


def test_names_that_no_encoding_has(project: Path, run: Run) -> None:
    (project / "a.json").write_text('{"per_device_train_batch_size": "\\ud800", "learning_rat\\udfff": 1e-4}')
    for name in ("text", "json", "sarif", "junit", "markdown", "github", "concise", "gitlab"):
        assert run("check", "a.json", "--notes", "--output", f"{name}=out").status in (0, 1)


# Files that cannot be read ----------------------------------------------------------------------


def test_a_broken_file_is_a_finding_where_it_is_meant(project: Path, run: Run) -> None:
    (project / "a.yaml").write_text(BROKEN)
    (project / "b.yaml").write_text("a: [\nb: learning_rate\n")
    done = run("check", "a.yaml", "b.yaml", "--output-format", "json")
    assert [(one["code"], one["path"]) for one in done.json["findings"]] == [("CFG010", "a.yaml"), ("CFG010", "b.yaml")]
    hook = run("check", "--force-exclude", "a.yaml", "b.yaml", "--output-format", "json")
    assert [(one["code"], one["path"]) for one in hook.json["findings"]] == [("CFG010", "a.yaml")]
    assert [one["path"] for one in hook.json["skipped"]] == ["b.yaml"]


@pytest.mark.parametrize(
    "data", [b"", b"\0", b"\xff\xfe\xff", b"{" * 50_000, b"- " * 50_000, b"\xef\xbb\xbf", b"&a [*a]"]
)
@pytest.mark.parametrize("suffix", ["yaml", "json", "toml", "py", "ipynb", "sh"])
def test_never_a_traceback(project: Path, run: Run, data: bytes, suffix: str) -> None:
    (project / f"a.{suffix}").write_bytes(data + b"\nlearning_rate: 1\nper_device_train_batch_size: 8\n")
    done = run(f"a.{suffix}")
    assert done.status in (0, 1)
    assert done.err == ""


# Faults of our own ----------------------------------------------------------------------


def _break(monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    def fault(*_: Any, **__: Any) -> Any:
        raise KeyError("a fault\nof ours")

    monkeypatch.setattr(place, fault)


AXOLOTL = "base_model: m\ndatasets:\n  - path: d\n    type: alpaca\nmicro_batch_size: 2\nlearning_rate: 0.0002\n"


@pytest.mark.parametrize("words", [(), ("check", "--output-format", "concise")])
def test_a_fault_in_one_trainer_hides_no_other_file(
    warned: Path, run: Run, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    (warned / "axolotl.yaml").write_text(AXOLOTL)
    _break(monkeypatch, "epochlint.trainers.axolotl.read")
    done = run(*words, ".")
    assert done.status == 2
    assert "a.yaml:4:1: warning WRM005" in done.out
    assert done.err == (
        "epochlint: axolotl.yaml: internal error (KeyError: 'a fault\\nof ours'); EPOCHLINT_DEBUG=1 shows where\n"
    )


@pytest.mark.parametrize("place", ["epochlint.lint.complete", "epochlint.lint.Scenarios", "epochlint.lint.read"])
def test_a_fault_with_a_run_is_told(warned: Path, run: Run, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    _break(monkeypatch, place)
    done = run("check", "a.yaml", "--output-format", "json")
    assert (done.status, done.codes) == (2, [])
    assert done.json["skipped"][0]["kind"] == "internal"
    assert "internal error (KeyError" in done.err


def test_a_fault_anywhere_is_one_line(warned: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _break(monkeypatch, "epochlint.lint.silence")
    for words in (("a.yaml",), ("check", "a.yaml"), ("explain", "a.yaml")):
        done = run(*words)
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("epochlint: internal error (KeyError")
        assert done.err.count("\n") == 1


def test_debugging_shows_the_traceback(warned: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EPOCHLINT_DEBUG", "1")
    _break(monkeypatch, "epochlint.lint.complete")
    with pytest.raises(KeyError):
        run("a.yaml")


# Baselines ----------------------------------------------------------------------


def test_a_baseline_is_written_and_read(warned: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (warned / "epochlint.toml").write_text("baseline = 'known.json'\n")
    assert run("a.yaml").status == 1, "a baseline that is not there yet knows nothing"
    assert run("check", ".", "--write-baseline", "known.json").status == 0
    assert run("a.yaml").status == 0
    (warned / "a.yaml").write_text("# moved\n\n" + WARNING)
    assert run("a.yaml").status == 0
    (warned / "a.yaml").write_text(WARNING.replace("100", "200"))
    assert run("a.yaml").status == 1, "another value is another finding"
    (warned / "a.yaml").write_text(WARNING)
    (warned / "inner").mkdir()
    monkeypatch.chdir(warned / "inner")
    assert run("../a.yaml").status == 0, "from any folder"


def test_a_baseline_is_written_again_whole(warned: Path, run: Run) -> None:
    (warned / "epochlint.toml").write_text("baseline = 'known.json'\n")
    run("check", ".", "--write-baseline", "known.json")
    before = (warned / "known.json").read_text()
    run("check", ".", "--write-baseline", "known.json")
    assert (warned / "known.json").read_text() == before


def test_a_baseline_that_is_none(warned: Path, run: Run) -> None:
    (warned / "epochlint.toml").write_text("baseline = 'known.json'\n")
    (warned / "known.json").write_text("[]")
    done = run("a.yaml")
    assert done.status == 2
    assert "known.json: not a baseline of epochlint" in done.err


def test_findings_in_a_file_that_only_a_script_makes_a_config(project: Path, run: Callable[..., Done]) -> None:
    """A file of plain names is nobody's config, until a script takes its settings from there."""
    (project / "train.py").write_text(
        "import yaml\nfrom transformers import AutoModelForCausalLM, Trainer, TrainingArguments\n"
        "values = yaml.safe_load(open('values.yaml'))\n"
        "args = TrainingArguments('out', learning_rate=values['rate'], max_steps=values['length'])\n"
        "Trainer(AutoModelForCausalLM.from_pretrained('Qwen/Qwen2.5-7B'), args, train_dataset=load()).train()\n"
    )
    (project / "values.yaml").write_text("rate: 0.3\nlength: 500\n")
    assert "values.yaml:1:7: warning LRN002" in run("check", "--output-format", "concise", ".").out
    assert "LRN002" not in run("check", "--output-format", "concise", "train.py").out  # the hook looks at it by itself
    (project / "values.yaml").write_text("rate: 0.3  # epochlint: ignore[LRN002] -- a toy\nlength: 500\n")
    assert run("check", ".").status == 0
