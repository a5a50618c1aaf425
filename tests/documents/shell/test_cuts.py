"""Commands that end before their author meant them to."""

from __future__ import annotations

import pytest

from tests.documents.shell.helpers import raws, read


def test_a_comment_in_a_continued_command() -> None:
    document = read(
        """#!/bin/bash
torchrun --nproc_per_node 2 train.py \\
    --output_dir out \\
    --per_device_train_batch_size 4 \\
    # --gradient_accumulation_steps 8 \\
    --num_train_epochs 1 \\
    --learning_rate=1e-5 \\
    --bf16 2>&1 | tee log
"""
    )
    (cut,) = document.cuts
    assert cut.kind == "comment"
    assert cut.span.place.line == 5
    assert cut.span.text == "# --gradient_accumulation_steps 8 \\"
    assert cut.flags == ["--num_train_epochs", "--learning_rate", "--bf16"]
    assert [word.span.text for word in cut.words] == ["--num_train_epochs", "1", "--learning_rate=1e-5", "--bf16"]
    assert cut.command.text.startswith("torchrun")
    (launch,) = document.launches
    assert raws(launch)[-2:] == ["--per_device_train_batch_size", "4"]
    assert launch.cuts == [cut]


@pytest.mark.parametrize(
    ("between", "kind", "line"),
    [
        (" \\\n    # off \\\n", "comment", 3),
        (" \\\n#\n", "comment", 3),
        (" \\\n    # one\n    # two\n", "comment", 3),
        (" \\\n\n", "blank", 3),
        (" \\\n   \t\n", "blank", 3),
        (" \\ \n", "space", 2),
        (" \\  # why\n", "comment", 2),
        ("\n", "missing", 2),
        (" # why\n", "missing", 2),
        (" \\\r\n# x\r\n", "comment", 3),
    ],
)
def test_kinds(between: str, kind: str, line: int) -> None:
    document = read(f"# train\npython train.py --a 1{between}    --b 2 --c\n")
    assert [(cut.kind, cut.span.place.line, cut.flags) for cut in document.cuts] == [(kind, line, ["--b", "--c"])]
    assert raws(document.launches[0]) == ["python", "train.py", "--a", "1"]


@pytest.mark.parametrize(
    "text",
    [
        "python train.py --a 1 \\\n\npython other.py --b 2\n",
        "python train.py --a 1 \\\n\nA=1\n",
        "python train.py --a 1 \\\n# the end\nA=1\n",
        "python train.py --a 1 \\\n    # --b 2\n",
        "python train.py --a 1 \\\n    # --b 2 \\\n\necho done\n",
        "# --a 1 \\\n# --b 2\npython train.py --c 3\n",
        'ARGS=(\n  --a 1 \\\n  # --b 2\n\n  --c 3\n)\npython train.py "${ARGS[@]}"\n',
        "python train.py --a 1 \\\n  --b '\n# no comment\n--c'\n",
        "python train.py --a 1\n",
        "cat <<EOF\npython train.py \\\n# x\n--b 2\nEOF\n",
        "if x; then\n  python train.py --a 1\nfi\n--b 2\n",
    ],
)
def test_no_cut(text: str) -> None:
    assert read("# train\n" + text).cuts == []


def test_overrides_behind_a_comment() -> None:
    text = """# train
llamafactory-cli train sft.yaml \\
    learning_rate=1e-5 \\
    # num_train_epochs=3 \\
    gradient_accumulation_steps=8 \\
    optimizer.lr=1
"""
    (cut,) = read(text).cuts
    assert (cut.kind, cut.span.place.line) == ("comment", 4)
    assert cut.flags == ["gradient_accumulation_steps", "optimizer.lr"]


def test_an_assignment_behind_a_dangling_backslash_is_none_of_the_command() -> None:
    text = "# train\nllamafactory-cli train sft.yaml \\\n    learning_rate=1e-5 \\\n# next\nLR=2\n"
    assert read(text).cuts == []


def test_cuts_inside_blocks() -> None:
    text = """# train
for LR in 1 2; do
    if [ -f x ]; then
        python train.py --lr $LR \\
            # --a 1 \\
            --b 2
    fi
done
"""
    document = read(text)
    assert [(cut.kind, cut.span.place.line, cut.flags) for cut in document.cuts] == [("comment", 5, ["--b"])]
    assert len(document.launches) == 2
    assert all(launch.cuts == document.cuts for launch in document.launches)


def test_several_cuts() -> None:
    text = "# train\npython a.py --a 1 \\\n# x\n--b 2\npython b.py --a 1 \\\n\n--c 2\n"
    assert [(cut.kind, cut.flags) for cut in read(text).cuts] == [("comment", ["--b"]), ("blank", ["--c"])]


def test_flags_behind_two_comments_are_one_cut() -> None:
    text = "# train\npython a.py --a 1 \\\n# x\n--b 2 \\\n# y\n--c 3\n"
    assert [cut.flags for cut in read(text).cuts] == [["--b", "--c"]]
