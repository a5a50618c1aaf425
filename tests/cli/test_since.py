"""Comparing with an earlier revision: `--since`, the index, a plain run's own comparison with HEAD."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Done
from tests.cli.repositories import commit, config, git, repository

Run = Callable[..., Done]
ASKED = "with the same number of GPUs the batch is 8 times that of the earlier revision"


@pytest.fixture
def tree(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository, worked in."""
    for name in ("GIT_INDEX_FILE", "GIT_DIR", "GIT_WORK_TREE"):
        monkeypatch.delenv(name, raising=False)
    return repository(project)


def _codes(done: Done) -> list[str]:
    return [code for code in done.codes if code.startswith(("LRN00", "WRM010"))]


def _since(run: Run, revision: str, *words: str) -> Done:
    return run("check", "--since", revision, "--output-format", "json", *words)


# What is compared -----------------------------------------------------------------------------------------------------


def test_a_commit_with_its_parent(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(config(16))
    commit(tree)
    done = run("check", "--since", "HEAD~1", ".")
    assert ASKED in done.out
    assert "the square-root rule would give 5.657e-05, the linear rule 0.00016" in done.out
    assert "LRN001" not in run("check", ".").out
    assert _codes(_since(run, "HEAD")) == []


@pytest.mark.parametrize("revision", ["main", "v1", "v2", "refs/heads/main", ":/first", "main@{0}"])
def test_a_branch_or_tag_means_where_it_parted(tree: Path, run: Run, revision: str) -> None:
    git(tree, "tag", "v1")
    git(tree, "tag", "-a", "-m", "with a word", "v2")
    git(tree, "switch", "-qc", "work")
    (tree / "sft.yaml").write_text(config(16))
    commit(tree)
    if revision == "main":  # has gone on since
        git(tree, "switch", "-q", "main")
        (tree / "sft.yaml").write_text(config(1))
        commit(tree)
        git(tree, "switch", "-q", "work")
    assert _codes(_since(run, revision)) == ["LRN001"]
    git(tree, "switch", "-q", "--detach")
    assert ASKED in _since(run, revision).out


def test_a_renamed_config(tree: Path, run: Run) -> None:
    git(tree, "mv", "sft.yaml", "qwen-sft.yaml")
    (tree / "qwen-sft.yaml").write_text(config(16))
    commit(tree)
    found = _since(run, "HEAD~1").json["findings"]
    assert [(one["code"], one["path"]) for one in found if one["code"] == "LRN001"] == [("LRN001", "qwen-sft.yaml")]


@pytest.mark.parametrize(
    ("before", "after", "silent"),
    [
        ("sft.1xH100.yaml", "sft.8xH100.yaml", True),
        ("sft_4gpus.yaml", "sft_gpus8.yaml", True),
        ("one_node/sft-1-node.yaml", "sft-4-nodes.yaml", True),
        ("sft-a100x2.yaml", "sft-a100x8.yaml", True),
        ("sft.8xMI300.yaml", "dpo.8xMI300.yaml", False),
        ("mixtral-8x7b.yaml", "mixtral-8x22b.yaml", False),
        ("qwen3.yaml", "llama31_v2.yaml", False),
    ],
)
def test_a_new_name_that_tells_another_number_of_gpus(
    tree: Path, run: Run, before: str, after: str, silent: bool
) -> None:
    (tree / before).parent.mkdir(exist_ok=True)
    git(tree, "mv", "sft.yaml", before)
    commit(tree)
    git(tree, "mv", before, after)
    (tree / after).write_text(config(16))
    commit(tree)
    assert _codes(_since(run, "HEAD~1")) == ([] if silent else ["LRN001"])


def test_a_change_that_moves_to_other_gpus(tree: Path, run: Run) -> None:
    accelerate = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: {}\n"
    (tree / "multi.yaml").write_text(accelerate.format(1))
    commit(tree)
    (tree / "sft.yaml").write_text(config(16))
    (tree / "multi.yaml").write_text(accelerate.format(1) + "mixed_precision: bf16\n")
    assert _codes(_since(run, "HEAD")) == ["LRN001"], "a file that may belong to it, with the same number"
    (tree / "multi.yaml").write_text(accelerate.format(8))
    assert _codes(_since(run, "HEAD")) == []
    assert _codes(_since(run, "HEAD", "--assume", "gpus=8")) == ["LRN001"]


def test_a_companion_alone_changes_the_run(tree: Path, run: Run) -> None:
    """Nothing changes but the file that the launch names: its processes, or DeepSpeed's own batch."""
    processes = "compute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_machines: 1\nnum_processes: {}\n"
    (tree / "multi.yaml").write_text(processes.format(2))
    (tree / "run.sh").write_text("accelerate launch --config_file multi.yaml -m trl.scripts.sft --config sft.yaml\n")
    commit(tree)
    (tree / "multi.yaml").write_text(processes.format(8))
    done = _since(run, "HEAD", "--changed-only")
    assert _codes(done) == ["LRN001"]
    assert "the effective batch went from 4 to 16" in done.out
    (tree / "multi.yaml").write_text(processes.format(2) + "# as before\n")
    assert _codes(_since(run, "HEAD")) == []


SCRIPT = """\
import yaml
import constants
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

with open("values.yaml") as file:
    values = yaml.safe_load(file)
args = TrainingArguments("out", per_device_train_batch_size=values["rows"], learning_rate=float(values["rate"]),
                         gradient_accumulation_steps=constants.PARTS)
Trainer(AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B"), args, train_dataset=load()).train()
"""


@pytest.mark.parametrize(
    ("name", "text"), [("values.yaml", "rows: 32\nrate: 2e-5\n"), ("constants.py", "PARTS = 16\n")]
)
def test_only_a_file_changes_that_a_script_reads(tree: Path, run: Run, name: str, text: str) -> None:
    (tree / "train.py").write_text(SCRIPT)
    (tree / "values.yaml").write_text("rows: 4\nrate: 2e-5\n")
    (tree / "constants.py").write_text("PARTS = 2\n")
    commit(tree)
    (tree / name).write_text(text)
    done = _since(run, "HEAD", "--changed-only")
    assert _codes(done) == ["LRN001"]
    assert ASKED in done.out
    assert '"path": "values.yaml"' in done.out
    (tree / name).write_text("# another\n" + text.replace("32", "4").replace("16", "2"))
    assert _codes(_since(run, "HEAD")) == []


def test_only_a_file_changes_that_a_launch_sources(tree: Path, run: Run) -> None:
    (tree / "train.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    )
    (tree / "run.sh").write_text(
        "source gpus.sh\ntorchrun --nproc_per_node $GPUS train.py --output_dir out --learning_rate 2e-5\n"
    )
    (tree / "gpus.sh").write_text("GPUS=2\n")
    commit(tree)
    (tree / "gpus.sh").write_text("GPUS=8\n")
    done = _since(run, "HEAD")
    assert _codes(done) == ["LRN001"]
    assert "the effective batch went from 16 to 64" in done.out


def test_a_new_config_is_compared_with_nothing(tree: Path, run: Run) -> None:
    (tree / "other.yaml").write_text(config(16))
    assert _codes(_since(run, "HEAD")) == []
    commit(tree)
    assert _codes(_since(run, "HEAD~1")) == []


def test_runs_of_one_script_are_told_apart_by_their_launch(tree: Path, run: Run) -> None:
    (tree / "train.py").write_text(
        "from transformers import HfArgumentParser, Trainer, TrainingArguments\n"
        "(args,) = HfArgumentParser(TrainingArguments).parse_args_into_dataclasses()\nTrainer(args=args).train()\n"
    )
    launch = "torchrun --nproc_per_node {gpus} train.py --per_device_train_batch_size 4 --learning_rate 2e-5\n"
    (tree / "b.sh").write_text(launch.format(gpus=8))
    commit(tree)
    # A second launch, sorted before the first, is no change of the first.
    (tree / "a.sh").write_text(launch.format(gpus=1))
    commit(tree)
    assert _codes(_since(run, "HEAD~1")) == []
    (tree / "b.sh").write_text(launch.format(gpus=2))
    found = _since(run, "HEAD").json["findings"]
    assert [(one["code"], one["path"]) for one in found if one["code"] == "LRN001"] == [("LRN001", "b.sh")]


def test_assumptions_hold_for_both_sides(tree: Path, run: Run) -> None:
    (tree / "epochlint.toml").write_text("[assume]\ngpus = 4\n")
    (tree / "sft.yaml").write_text(config(16))
    assert "the effective batch went from 8 to 64" in _since(run, "HEAD").out
    (tree / "epochlint.toml").unlink()
    (tree / "sft.yaml").write_text(config(2, "# epochlint: assume gpus=2\n"))
    commit(tree)
    (tree / "sft.yaml").write_text(config(2, "# epochlint: assume gpus=16\n"))
    assert "the effective batch went from 4 to 32" in _since(run, "HEAD").out


def test_a_plain_run_compares_with_head_and_can_be_told_not_to(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(config(16))
    codes = ("--output-format", "json", ".")
    assert _codes(run("check", *codes)) == ["LRN001"]
    assert _codes(run("check", "--no-git", *codes)) == []
    assert _codes(run("check", "--force-exclude", "--output-format", "json", "sft.yaml")) == []
    assert "LRN001" in run("--output-format", "concise", "--notes", "sft.yaml").out
    git(tree, "add", "-A")
    assert _codes(run("check", *codes)) == ["LRN001"], "staged is changed, too"


def test_line_ends_and_times_are_no_change(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_bytes(config(2).replace("\n", "\r\n").encode())
    os.utime(tree / "sft.yaml", (1, 1))
    bad = config(2, "lr_scheduler_type: constant\nwarmup_steps: 20\n")
    (tree / "bad.yaml").write_text(bad)
    commit(tree)
    (tree / "bad.yaml").write_bytes(bad.replace("\n", "\r\n").encode())
    assert _since(run, "HEAD", "--changed-only").codes == []
    assert "WRM005" in _since(run, "HEAD").codes


def test_standard_input_is_compared_with_the_file_it_stands_for(
    tree: Path, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    import io
    import sys

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(config(16).encode())))
    assert _codes(_since(run, "HEAD", "-", "--stdin-filename", "sft.yaml")) == ["LRN001"]


# The index ------------------------------------------------------------------------------------------------------------


def test_what_is_staged_counts_and_not_what_lies_there(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(config(16))
    assert _codes(_since(run, "HEAD", "--staged")) == [], "not staged"
    git(tree, "add", "-A")
    (tree / "sft.yaml").write_text(config(2))
    assert _codes(_since(run, "HEAD", "--staged")) == ["LRN001"], "staged, and lies there otherwise"
    (tree / "sft.yaml").write_text("per_device_train_batch_size: [")
    assert _codes(_since(run, "HEAD", "--staged")) == ["LRN001"]
    (tree / "new.yaml").write_text(config(2, "lr_scheduler_type: constant\nwarmup_steps: 20\n"))
    assert "new.yaml" not in _since(run, "HEAD", "--staged").out, "not in the index"


def test_what_is_staged_and_lies_there_no_more(tree: Path, run: Run) -> None:
    (tree / "configs").mkdir()
    (tree / "configs/a.yaml").write_text(config(2))
    (tree / "configs/b.yaml").write_text(config(2))
    commit(tree)
    (tree / "configs/a.yaml").write_text(config(16))
    git(tree, "add", "-A")
    shutil.rmtree(tree / "configs")
    git(tree, "rm", "-q", "--cached", "configs/b.yaml")
    found = _since(run, "HEAD", "--staged").json
    assert [one["path"] for one in found["findings"] if one["code"] == "LRN001"] == ["configs/a.yaml"]
    assert found["files"] == 2, "sft.yaml, and the staged one"


@pytest.mark.parametrize("words", [("-a",), ("sft.yaml",), ("--only", "sft.yaml"), ("--include", "sft.yaml")])
def test_the_index_of_a_commit_that_prepares_one_of_its_own(tree: Path, tmp_path: Path, words: tuple[str, ...]) -> None:
    """`git commit -a` and `git commit FILE` hand their hooks another index than the repository's."""
    import sys

    hook = tree / ".git/hooks/pre-commit"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m epochlint check --since HEAD --staged --fail-on note >&2\n')
    hook.chmod(0o755)
    (tree / "sft.yaml").write_text(config(16))
    with pytest.raises(subprocess.CalledProcessError) as stopped:
        git(tree, "commit", "-qm", "larger", *words)
    assert ASKED in stopped.value.stderr.decode()


def test_fixes_are_not_written_over_what_is_not_staged(tree: Path, run: Run) -> None:
    (tree / "a.yaml").write_text(config(2, "evaluation_strategy: 'no'\neval_steps: 5\nlearning_rate: 2e-5\n"))
    git(tree, "add", "-A")
    other = config(3, "evaluation_strategy: 'no'\n")
    (tree / "a.yaml").write_text(other)
    run("check", "--since", "HEAD", "--staged", "--fix", "--unsafe-fixes", ".")
    assert (tree / "a.yaml").read_text() == other


# Only what changed ----------------------------------------------------------------------------------------------------

WARNED = "lr_scheduler_type: constant\nwarmup_steps: 20\n"


def test_changed_only(tree: Path, run: Run) -> None:
    (tree / "a.yaml").write_text(config(2, WARNED))
    (tree / "b.yaml").write_text(config(2, WARNED))
    commit(tree)
    (tree / "b.yaml").write_text(config(3, WARNED))
    (tree / "c.yaml").write_text(config(2, WARNED))  # new, and not even tracked
    found = _since(run, "HEAD", "--changed-only").json["findings"]
    assert {one["path"] for one in found if one["code"] == "WRM005"} == {"b.yaml", "c.yaml"}
    commit(tree)
    assert _since(run, "HEAD", "--changed-only").codes == []


def test_changed_only_looks_at_data_too(tree: Path, run: Run) -> None:
    row = '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}\n'
    (tree / "data.jsonl").write_text(row * 100)
    (tree / "train.py").write_text(
        "from datasets import load_dataset\nfrom trl import SFTConfig, SFTTrainer\n"
        "rows = load_dataset('json', data_files='data.jsonl', split='train')\n"
        "args = SFTConfig(output_dir='o', lr_scheduler_type='constant', warmup_steps=20, num_train_epochs=2)\n"
        "SFTTrainer('m', args=args, train_dataset=rows).train()\n"
    )
    commit(tree)
    assert _since(run, "HEAD", "--changed-only").codes == []
    (tree / "data.jsonl").write_text(row * 90)
    assert "WRM005" in _since(run, "HEAD", "--changed-only").codes
    commit(tree)
    assert "WRM005" in _since(run, "HEAD~1", "--changed-only").codes


# Data of then ---------------------------------------------------------------------------------------------------------

ROW = '{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}]}\n'
TRAINS = """\
from datasets import load_dataset
from trl import SFTConfig, SFTTrainer
rows = load_dataset(%s, split='train')
args = SFTConfig(
    output_dir='o', per_device_train_batch_size=8, num_train_epochs=1, learning_rate=2e-5, warmup_steps=30,
    lr_scheduler_type='cosine',
)
SFTTrainer('m', args=args, train_dataset=rows).train()
"""
ASSUMED = ("--assume", "gpus=1,transformers=4.57.6")


def _copied(done: Done) -> list[str]:
    assert done.err == ""
    return [one["message"] for one in done.json["findings"] if one["code"] == "WRM010"]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("'json', data_files='data/train.jsonl'", "data/train.jsonl"),
        ("'./data'", "data/train.jsonl"),
        ("'json', data_files='data/*.jsonl'", "data/train.jsonl"),
        ("'json', data_files='data/train.jsonl.gz'", "data/train.jsonl.gz"),
    ],
)
def test_data_that_is_committed_is_counted_as_it_was(tree: Path, run: Run, written: str, path: str) -> None:
    import gzip

    def rows(number: int) -> None:
        text = (ROW * number).encode()
        (tree / path).write_bytes(gzip.compress(text) if path.endswith(".gz") else text)

    (tree / "data").mkdir()
    rows(4000)
    (tree / "train.py").write_text(TRAINS % written)
    commit(tree)
    assert _copied(_since(run, "HEAD", *ASSUMED)) == []
    rows(800)
    shorter = "30 warmup steps as in the earlier revision, but the run has 100 steps instead of 500"
    assert shorter in _copied(_since(run, "HEAD", *ASSUMED))[0]
    git(tree, "add", "-A")
    rows(4000)
    assert shorter in _copied(_since(run, "HEAD", "--staged", *ASSUMED))[0], "the index, not what lies there"
    rows(800)
    commit(tree)
    assert shorter in _copied(_since(run, "HEAD~1", *ASSUMED))[0]


def test_files_that_came_to_a_folder_of_data_and_went_from_it(tree: Path, run: Run) -> None:
    (tree / "data").mkdir()
    (tree / "data/a.jsonl").write_text(ROW * 3000)
    (tree / "data/b.jsonl").write_text(ROW * 1000)
    (tree / "train.py").write_text(TRAINS % "'./data'")
    commit(tree)
    (tree / "data/a.jsonl").unlink()
    commit(tree)
    assert "125 steps instead of 500" in _copied(_since(run, "HEAD~1", *ASSUMED))[0]
    (tree / "data/c.jsonl").write_text(ROW * 3000)
    commit(tree)
    assert "500 steps instead of 125" in _copied(_since(run, "HEAD~1", *ASSUMED))[0]
    # What git does not hold may have been anything then.
    (tree / ".gitignore").write_text("d.jsonl\n")
    (tree / "data/d.jsonl").write_text(ROW * 10)
    (tree / "data/c.jsonl").unlink()
    assert _copied(_since(run, "HEAD", *ASSUMED)) == []


def test_more_data_in_larger_batches_is_no_shorter_run(tree: Path, run: Run) -> None:
    (tree / "data.jsonl").write_text(ROW * 1000)
    (tree / "train.py").write_text(TRAINS % "'json', data_files='data.jsonl'")
    commit(tree)
    (tree / "data.jsonl").write_text(ROW * 4000)
    (tree / "train.py").write_text((TRAINS % "'json', data_files='data.jsonl'").replace("size=8", "size=32"))
    assert _copied(_since(run, "HEAD", *ASSUMED)) == []


def test_a_pointer_to_data_elsewhere_is_no_data(tree: Path, run: Run) -> None:
    from hashlib import sha256

    def pointer(text: str) -> str:
        digest = sha256(text.encode()).hexdigest()
        return f"version https://git-lfs.github.com/spec/v1\noid sha256:{digest}\nsize {len(text)}\n"

    (tree / "data.jsonl").write_text(pointer(ROW * 4000))
    (tree / "train.py").write_text(TRAINS % "'json', data_files='data.jsonl'")
    commit(tree)
    (tree / "data.jsonl").write_text(pointer(ROW * 800))
    commit(tree)
    for lies_there in (pointer(ROW * 800), ROW * 800):
        (tree / "data.jsonl").write_text(lies_there)
        assert _copied(_since(run, "HEAD~1", *ASSUMED)) == []
    # The same data, which LFS has brought on this side alone: the run has not changed.
    (tree / "data.jsonl").write_text(ROW * 4000)
    (tree / "train.py").write_text((TRAINS % "'json', data_files='data.jsonl'").replace("epochs=1", "epochs=5"))
    assert "2500 steps instead of 500" in _copied(_since(run, "HEAD~1", *ASSUMED))[0].replace(",", "")


# Where there is little or nothing to compare with ---------------------------------------------------------------------

BOTH = config(16, WARNED)


def _still_checked(done: Done, said: str) -> None:
    """The revision cannot be had: that is said, the status is 2, and the other rules have run."""
    assert done.status == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert "WRM005" in done.codes
    assert any(said in one["reason"] for one in done.json["skipped"])


def test_no_such_revision(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(BOTH)
    _still_checked(_since(run, "no-such-branch"), "there is no revision 'no-such-branch'")
    _still_checked(_since(run, "main..HEAD"), "there is no revision 'main..HEAD'")
    _still_checked(_since(run, "--output=x"), "'--output=x' is no revision")
    _still_checked(_since(run, "HEAD:sft.yaml"), "'HEAD:sft.yaml' is no commit")
    assert not (tree / "x").exists()


def test_a_file_that_is_gone_may_be_named(tree: Path, run: Run) -> None:
    """`epochlint check --since main $(git diff --name-only main)` names what was deleted, too."""
    (tree / "other.yaml").write_text(config(4))
    commit(tree)
    (tree / "other.yaml").unlink()
    (tree / "sft.yaml").write_text(config(16))
    assert _codes(_since(run, "HEAD", "other.yaml", "sft.yaml")) == ["LRN001"]
    alone = run("check", "--since", "HEAD", "other.yaml")
    assert (alone.status, alone.out) == (0, "No findings: 0 runs in 0 files.\n")
    for words in (["other.yaml"], ["--since", "HEAD", "never.yaml"], ["--since", "HEAD~1", "other.yaml"]):
        done = run("check", *words)
        assert done.status == 2
        assert "no such file or folder" in done.err


def test_a_clone_that_borrows_objects(tree: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "clone", "-q", "--shared", str(tree), "borrower")
    (tmp_path / "borrower" / "sft.yaml").write_text(config(16))
    monkeypatch.chdir(tmp_path / "borrower")
    assert _codes(_since(run, "HEAD")) == ["LRN001"]
    shutil.rmtree(tree / ".git")
    (tmp_path / "borrower" / "sft.yaml").write_text(BOTH)
    _still_checked(_since(run, "HEAD", "sft.yaml"), "git cannot tell what 'HEAD' is: error: unable to normalize")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_somebody_else(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(BOTH)
    os.chown(tree, 65534, 65534)
    os.chown(tree / ".git", 65534, 65534)
    _still_checked(_since(run, "HEAD", "sft.yaml"), "`git config --global --add safe.directory")
    assert run("check", "sft.yaml").status == 1


def test_one_file_that_became_two(tree: Path, run: Run) -> None:
    """Which part of the old file a new one continues is not guessed."""
    both = "".join(config(batch).replace("out", f"out{batch}") + "---\n" for batch in (2, 4))
    (tree / "sft.yaml").write_text(both)
    commit(tree)
    (tree / "sft.yaml").unlink()
    (tree / "small.yaml").write_text(config(16).replace("out", "out2"))
    (tree / "large.yaml").write_text(config(32).replace("out", "out4"))
    assert _codes(_since(run, "HEAD")) == []
    commit(tree)
    assert _codes(_since(run, "HEAD~1")) == []


def test_no_git_at_all(project: Path, run: Run) -> None:
    (project / "sft.yaml").write_text(BOTH)
    _still_checked(_since(run, "HEAD"), "not inside a git work tree")
    assert run("check", "sft.yaml").status == 1


def test_git_is_not_installed(tree: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "sft.yaml").write_text(BOTH)
    monkeypatch.setenv("PATH", str(tree))
    _still_checked(_since(run, "HEAD"), "git is not installed, or not on PATH")
    assert (run("check", "sft.yaml").status, run("check", ".").status) == (1, 1)


def test_an_unborn_branch(project: Path, run: Run) -> None:
    git(project, "init", "-q")
    (project / "sft.yaml").write_text(BOTH)
    git(project, "add", "-A")
    done = _since(run, "HEAD", "--staged")
    assert (done.status, done.err) == (1, "")
    assert "WRM005" in done.codes
    _still_checked(_since(run, "main"), "the repository has no commit yet")


def test_a_shallow_clone(tree: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "branch", "base")
    (tree / "sft.yaml").write_text(BOTH)
    commit(tree)
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{tree}", "shallow")
    monkeypatch.chdir(tmp_path / "shallow")
    _still_checked(_since(run, "HEAD~1"), "the clone is shallow: fetch more of the history (fetch-depth: 0)")
    _still_checked(_since(run, "origin/base"), "the clone is shallow")
    # Both ends are there, but not where they part.
    git(tree, "switch", "-q", "base")
    (tree / "other.txt").write_text("x")
    commit(tree)
    git(Path.cwd(), "fetch", "-q", "--depth", "1", "origin", "base:base")
    _still_checked(_since(run, "base"), "where 'base' and HEAD part lies beyond what was cloned; the clone is shallow")


def test_a_bare_repository(tree: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "clone", "-q", "--bare", str(tree), "bare.git")
    monkeypatch.chdir(tmp_path / "bare.git")
    (Path.cwd() / "sft.yaml").write_text(BOTH)
    # pytest's own folder may lie in a work tree; this one does: it is below `tree`.
    shutil.rmtree(tree / ".git")
    _still_checked(_since(run, "HEAD", "sft.yaml"), "not inside a git work tree")


def test_a_second_work_tree(tree: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tree, "worktree", "add", "-q", "-b", "other", str(tmp_path / "second"))
    monkeypatch.chdir(tmp_path / "second")
    (Path.cwd() / "sft.yaml").write_text(config(16))
    assert _codes(_since(run, "main")) == ["LRN001"]
    assert _codes(_since(run, "main", "--staged")) == []
    git(Path.cwd(), "add", "-A")
    assert _codes(_since(run, "main", "--staged")) == ["LRN001"]


def test_another_hash(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = repository(tmp_path / "sha256", "--object-format=sha256")
    monkeypatch.chdir(folder)
    assert _since(run, "HEAD", "--changed-only").codes == []
    (folder / "sft.yaml").write_text(config(16))
    assert _codes(_since(run, "HEAD")) == ["LRN001"]


def test_packed(tree: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(config(16))
    commit(tree)
    git(tree, "tag", "v1", "HEAD~1")
    git(tree, "gc", "-q", "--aggressive", "--prune=now")
    git(tree, "pack-refs", "--all")
    assert not (tree / ".git/refs/tags/v1").exists()
    assert _codes(_since(run, "v1")) == ["LRN001"]


def test_in_the_middle_of_a_merge(tree: Path, run: Run) -> None:
    git(tree, "switch", "-qc", "work")
    (tree / "sft.yaml").write_text(config(16))
    (tree / "clean.yaml").write_text(config(16, WARNED))
    commit(tree)
    git(tree, "switch", "-q", "main")
    (tree / "sft.yaml").write_text(config(4))
    (tree / "clean.yaml").write_text(config(2, WARNED))
    commit(tree)
    with pytest.raises(subprocess.CalledProcessError):
        git(tree, "merge", "-q", "work")
    for words in ((), ("--staged",)):
        done = _since(run, "HEAD", *words)
        assert done.status in (0, 1), done.err
        assert done.err == ""
    (tree / "sft.yaml").write_text(config(16))
    assert _codes(_since(run, "HEAD", "sft.yaml")) == ["LRN001"]


def test_a_submodule(tree: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = repository(tmp_path / "inner")
    git(tree, "submodule", "--quiet", "add", str(inner), "sub")
    commit(tree)
    (tree / "sub/sft.yaml").write_text(config(16, WARNED))
    (tree / "sft.yaml").write_text(config(16))
    done = _since(run, "HEAD", ".", "sub")
    assert _codes(done) == ["LRN001"], "the outer one alone"
    assert {"path": "sub", "reason": "a repository of its own: its earlier revision is not looked at", "kind": ""} in (
        done.json["skipped"]
    )
    assert "WRM005" not in _since(run, "HEAD", ".", "sub", "--changed-only").codes
    monkeypatch.chdir(tree / "sub")
    assert _codes(_since(run, "HEAD")) == ["LRN001"], "worked in, it is the repository that is asked"


def test_a_partial_clone_fetches_nothing(tree: Path, tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree / "sft.yaml").write_text(BOTH)
    (tree / "same.yaml").write_text(config(3))
    commit(tree)
    git(tree, "config", "uploadpack.allowFilter", "true")
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{tree}", "partial")
    clone = tmp_path / "partial"
    asked = tmp_path / "asked"
    helper = tmp_path / "upload-pack"
    helper.write_text(f'#!/bin/sh\ntouch "{asked}"\nexec git-upload-pack "$@"\n')
    helper.chmod(0o755)
    git(clone, "config", "remote.origin.uploadpack", str(helper))
    git(clone, "config", "protocol.file.allow", "always")
    monkeypatch.chdir(clone)
    with pytest.raises(subprocess.CalledProcessError):
        git(clone, "cat-file", "-e", "HEAD~1:sft.yaml", GIT_ALLOW_PROTOCOL="")
    asked.unlink(missing_ok=True)
    done = _since(run, "HEAD~1")
    assert (done.status, _codes(done)) == (1, []), "what was left out cannot be compared"
    assert "WRM005" in done.codes
    assert not asked.exists()
    git(clone, "cat-file", "-e", "HEAD~1:sft.yaml")
    assert asked.exists(), "the trap works"
    asked.unlink()
    assert _codes(_since(run, "HEAD~1")) == ["LRN001"], "what is there is compared"
    # A renamed file among what is missing: only whole contents are followed.
    git(clone, "mv", "same.yaml", "other.yaml")
    assert _since(run, "HEAD~1").status == 1
    assert not asked.exists()


def test_a_hostile_repository_starts_nothing(tree: Path, tmp_path: Path, run: Run) -> None:
    trap = tmp_path / "trap"
    for key in (
        "core.fsmonitor", "core.pager", "core.sshCommand", "core.gitProxy", "core.editor", "core.hooksPath",
        "diff.external", "diff.bad.command", "diff.bad.textconv", "filter.bad.clean", "filter.bad.smudge",
        "filter.bad.process", "filter.a=b.clean", "merge.bad.driver", "alias.diff", "alias.rev-parse", "alias.cat-file",
        "alias.ls-tree", "credential.helper", "gpg.program", "pager.diff", "uploadpack.packObjectsHook",
    ):  # fmt: skip
        if "a=b" not in key:
            git(tree, "config", key, f"touch {trap}; cat; #")
    with (tree / ".git/config").open("a") as file:
        file.write(f'[filter "a=b"]\n\tclean = touch {trap}\n\trequired = true\n')
    (tree / ".gitattributes").write_text("*.yaml diff=bad filter=bad merge=bad\n*.toml filter=a=b\n")
    hooks = tree / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "fsmonitor-watchman", "pre-commit", "reference-transaction"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {trap}\n")
        (hooks / name).chmod(0o755)
    (tree / "sft.yaml").write_text(config(16))
    os.utime(tree / "sft.yaml", (1, 1))
    trap.unlink(missing_ok=True)
    for words in (("--since", "HEAD"), ("--since", "HEAD", "--staged"), (), ("--since", "HEAD", "--changed-only")):
        run("check", *words, ".")
    run("compare", "HEAD", "HEAD", ".")
    assert not trap.exists()
    assert _codes(_since(run, "HEAD")) == ["LRN001"]


def test_a_repository_that_names_another_work_tree(tree: Path, tmp_path: Path, run: Run) -> None:
    (tree / "sft.yaml").write_text(BOTH)
    git(tree, "config", "core.worktree", str(tmp_path.parent))
    _still_checked(_since(run, "HEAD", "sft.yaml"), "is not the work tree of its repository")


def test_a_broken_repository(project: Path, run: Run) -> None:
    (project / "sft.yaml").write_text(BOTH)
    (project / ".git").write_text("gitdir: nowhere\n")
    _still_checked(_since(run, "HEAD", "sft.yaml"), "not a git repository")
    assert run("check", "sft.yaml").status == 1


@pytest.mark.skipif(os.name == "nt", reason="names that only POSIX has")
def test_odd_names(tree: Path, run: Run) -> None:
    names = ["two\nlines.yaml", "tab\there.yaml", 'quo"te.yaml', " blank.yaml", "ünïcode.yaml", "-dash.yaml"]
    try:
        (tree / os.fsdecode(b"latin\xe9.yaml")).write_text(config(2))
        names.append(os.fsdecode(b"latin\xe9.yaml"))
    except OSError:
        pass  # a file system that takes UTF-8 only
    for name in names:
        (tree / name).write_text(config(2))
    commit(tree)
    assert _since(run, "HEAD", "--changed-only").codes == []
    for name in names:
        (tree / name).write_text(config(16))
    assert len(_codes(_since(run, "HEAD"))) == len(names)
    commit(tree)
    assert len(_codes(_since(run, "HEAD~1"))) == len(names)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_a_pipe_where_a_file_was(tree: Path, run: Run) -> None:
    (tree / "launch.sh").write_text("accelerate launch --num_processes 2 train.py --config sft.yaml\n")
    commit(tree)
    (tree / "launch.sh").unlink()
    os.mkfifo(tree / "launch.sh")
    (tree / "sft.yaml").write_text(config(16))
    assert _since(run, "HEAD", "sft.yaml").status in (0, 1)


def test_large_blobs_are_passed_over(tree: Path, run: Run) -> None:
    (tree / "big.yaml").write_text(config(2, "# " + "x" * 9_000_000 + "\n"))
    commit(tree)
    (tree / "big.yaml").write_text(config(16))
    (tree / "sft.yaml").write_text(config(16))
    found = _since(run, "HEAD").json["findings"]
    assert [one["path"] for one in found if one["code"] == "LRN001"] == ["sft.yaml"]


# Other things to compare with -----------------------------------------------------------------------------------------


def test_a_reference_run(project: Path, run: Run) -> None:
    (project / "recipe.yaml").write_text(config(4, "# epochlint: assume gpus=8\n"))
    (project / "mine.yaml").write_text(config(4, "# epochlint: assume gpus=1\n"))
    words = ("--output-format", "json", "mine.yaml")
    assert _codes(run("check", *words)) == []
    done = run("check", "--baseline-run", "recipe.yaml", *words)
    assert _codes(done) == ["LRN001"]
    assert "the effective batch is 4, that of recipe.yaml is 32" in done.out
    (project / "mine.yaml").write_text(config(4, "# epochlint: assume gpus=1 reference=recipe.yaml\n"))
    assert _codes(run("check", *words)) == ["LRN001"]
    (project / "mine.yaml").write_text(config(4))
    assert _codes(run("check", "--assume", "gpus=1,reference=recipe.yaml", *words)) == ["LRN001"]
    (project / "epochlint.toml").write_text(
        '[[overrides]]\npaths = ["mine.yaml"]\nassume = {gpus = 1, reference = "recipe.yaml"}\n'
    )
    assert _codes(run("check", *words)) == ["LRN001"]


def test_a_reference_that_is_none(project: Path, run: Run) -> None:
    (project / "mine.yaml").write_text(config(4, WARNED + "# epochlint: assume reference=gone.yaml\n"))
    (project / "none.yaml").write_text("a: 1\n")
    done = run("check", "--output-format", "json", "mine.yaml")
    assert done.status == 2
    assert "the reference gone.yaml is not there" in done.err
    assert "WRM005" in done.codes
    done = run("check", "--baseline-run", "none.yaml", "mine.yaml")
    assert done.status == 2
    assert "--baseline-run none.yaml holds no run, not one" in done.err
