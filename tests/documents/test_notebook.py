# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.documents import notebook
from epochlint.documents.python import PythonDocument
from epochlint.source import Excerpt, Source
from tests.documents.python.reading import call, plain


def text_of(*cells: Any, **rest: Any) -> str:
    """The JSON of a notebook; a cell is its source, or a whole dict."""
    made = []
    for cell in cells:
        if isinstance(cell, dict):
            made.append({"cell_type": "code", "metadata": {}, "outputs": [], "source": [], **cell})
        else:
            made.append({"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": cell})
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5, **rest}, indent=1)


def read(*cells: Any, text: str | None = None, **rest: Any) -> PythonDocument:
    source = Source("a.ipynb", text if text is not None else text_of(*cells, **rest))
    return notebook.read(source)


def lines(source: str) -> list[str]:
    return source.splitlines(keepends=True)


ARGS = "args = TrainingArguments(learning_rate=RATE)"


def test_cells_are_one_program_in_order() -> None:
    document = read("RATE = 1e-4", {"cell_type": "markdown", "source": "RATE = 5"}, ARGS, "RATE = 2e-4")
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == {"learning_rate": 1e-4}
    assert document.syntax == "notebook"
    assert [(cell.number, cell.kind) for cell in document.cells] == [
        (1, "code"),
        (2, "markdown"),
        (3, "code"),
        (4, "code"),
    ]


def test_functions_of_one_cell_are_called_in_another() -> None:
    document = read("def make(rate):\n    return TrainingArguments(learning_rate=rate)", "make(3e-4)")
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == {"learning_rate": 3e-4}
    assert made.span.source.label == "cell 1"


def test_a_span_is_the_cells_and_the_files() -> None:
    source = 'note = "tab\\t \\"quoted\\" é 𝄞 \\\\"\nargs = TrainingArguments(learning_rate=1e-4)\n'
    for ascii_only in (True, False):
        for shape in (source, lines(source)):
            text = json.dumps({"cells": [{"cell_type": "code", "source": shape}]}, ensure_ascii=ascii_only, indent=2)
            document = read(text=text)
            entry = call(document, "TrainingArguments").entry("learning_rate")
            assert entry is not None
            for span, shown in ((entry.key_span, "learning_rate"), (entry.value.span, "1e-4")):
                assert span.text == shown
                outer = span.in_file()
                assert outer.source.text == text
                assert outer.text == shown
            assert isinstance(entry.key_span.source, Excerpt)
            assert entry.key_span.source.label == "cell 1"


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), max_size=5), st.booleans())
def test_every_character_of_a_cell_knows_its_place(parts: list[str], ascii_only: bool) -> None:
    parts = ["# learning_rate\n", *parts]
    text = json.dumps({"cells": [{"cell_type": "code", "source": parts}]}, ensure_ascii=ascii_only)
    (cell,) = read(text=text).cells
    joined = "".join(parts)
    assert cell.source.text == joined
    for index, character in enumerate(joined):
        at = cell.source.offsets[index]
        length = 1 if text[at] != "\\" else 2 if text[at + 1] != "u" else 6 if ord(character) < 0x10000 else 12
        assert json.loads(f'"{text[at : at + length]}"') == character
        assert cell.source.offsets[index + 1] >= at + length


@pytest.mark.parametrize(
    "magic",
    [
        "%pip install trl",
        "%matplotlib inline\n%load_ext autoreload",
        "!pip install trl",
        "!pip install \\\n    trl \\\n    peft",
        "?TrainingArguments",
        "TrainingArguments?",
        "TrainingArguments??  # help",
        "files = !ls data",
        "value = %sql select 1",
        "if True:\n    !ls\n    %time x = 1",
        "%%time",
        "%%capture out\nx = 1",
        "!",
        "%",
        "!!ls",
        "for x in [1]:\n    !echo {x}",
    ],
)
def test_magics_are_no_python(magic: str) -> None:
    document = read(f"{magic}\nargs = TrainingArguments(learning_rate=1e-4)")
    assert document.problems == []
    entry = call(document, "TrainingArguments").entry("learning_rate")
    assert entry is not None
    assert entry.key_span.text == entry.key_span.in_file().text == "learning_rate"


@pytest.mark.parametrize(
    "python",
    [
        'x = ("a"\n     % 3)',
        'x = """\n!not a command\n%not a magic\n"""',
        "x = (1\n% 2)",
        "x = [\n'a',\n'''\n% b\n''',\n]",
        "x = a \\\n% 2",
        "x = 5 % 2\ny = a != b",
        "x = {\n  'a': '?'\n}",
        "x = '# \"' # it's\ny = 1 % 1",
    ],
)
def test_python_that_looks_like_magics_stays(python: str) -> None:
    document = read(f"{python}\nTrainingArguments(a=1)")
    assert document.problems == []
    assert document.commands == []
    assert len(document.calls) == 1


def test_shell_lines_are_commands_with_their_places() -> None:
    document = read(
        "import os\n!accelerate launch train.py \\\n  --learning_rate 1e-4\nx = !nvidia-smi\n    \n",
        "%%bash\ntorchrun --nproc_per_node 2 train.py\n",
        {"source": "accelerate launch train.py --epochs 3", "metadata": {"vscode": {"languageId": "shellscript"}}},
        "CUDA_VISIBLE_DEVICES=0 \\\nswift sft \\\n    --model Qwen/Qwen-7B",
    )
    shown = [(command.text, command.label) for command in document.commands]
    assert shown == [
        ("accelerate launch train.py \\\n  --learning_rate 1e-4", "cell 1"),
        ("nvidia-smi", "cell 1"),
        ("torchrun --nproc_per_node 2 train.py\n", "cell 2"),
        ("accelerate launch train.py --epochs 3", "cell 3"),
        ("CUDA_VISIBLE_DEVICES=0 \\\nswift sft \\\n    --model Qwen/Qwen-7B", "cell 4"),
    ]
    assert document.problems == []
    for command in document.commands:
        word = command.text.split()[0]
        span = command.span(command.text.index(word), command.text.index(word) + len(word))
        assert span.in_file().text == word


def test_other_languages_are_not_read() -> None:
    assert read("args <- TrainingArguments(x = 1", metadata={"kernelspec": {"language": "R"}}).problems == []
    assert read("%%javascript\nTrainingArguments(", "%%writefile train.py\nlearning_rate = (").problems == []


def test_environment_of_magics() -> None:
    document = read(
        "%env CUDA_VISIBLE_DEVICES=0\n%set_env EPOCHS 3\nimport os\nTrainingArguments(x=int(os.environ['EPOCHS']))"
    )
    assert plain(document.environment) == {"CUDA_VISIBLE_DEVICES": "0", "EPOCHS": "3"}
    assert plain(call(document, "TrainingArguments").arguments) == {"x": 3}


def test_a_cell_that_does_not_parse_takes_its_names_with_it() -> None:
    document = read("RATE = 1e-4", "RATE = 2e-4\nTrainingArguments(((", "EPOCHS = 3\n" + ARGS)
    assert plain(call(document, "TrainingArguments").arguments) == {"learning_rate": "?"}
    (problem,) = document.problems
    assert (problem.kind, problem.span.source.label) == ("syntax", "cell 2")
    # A broken cell without any word of training is nobody's business.
    assert read(ARGS, "x = = 1").problems == []


HF_LOG = (
    "***** Running training *****\n  Num examples = 1,218\n  Num Epochs = 3\n"
    "  Instantaneous batch size per device = 8\n"
    "  Total train batch size (w. parallel, distributed & accumulation) = 16\n"
    "  Gradient Accumulation steps = 2\n  Total optimization steps = 231\n  Number of trainable parameters = 4,194,304\n"
)
UNSLOTH_LOG = (
    "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs used = 1\n"
    "   \\\\   /|    Num examples = 555 | Num Epochs = 2 | Total steps = 70\n"
    "O^O/ \\_/ \\    Batch size per device = 2 | Gradient accumulation steps = 8\n"
    "\\        /    Data Parallel GPUs = 1 | Total batch size (2 x 8 x 1) = 16\n"
)
OLD_UNSLOTH_LOG = (
    "==((====))==  Unsloth - 2x faster free finetuning | Num GPUs = 1\n"
    "   \\\\   /|    Num examples = 171,647 | Num Epochs = 1\n"
    "O^O/ \\_/ \\    Batch size per device = 2 | Gradient Accumulation steps = 4\n"
    "\\        /    Total batch size = 8 | Total steps = 60\n"
)


def with_output(log: str | list[str], kind: str = "stream") -> dict[str, object]:
    output: dict[str, object] = {"output_type": kind}
    if kind == "stream":
        output.update(name="stderr", text=log)
    else:
        output.update(data={"text/plain": log})
    return {"source": "trainer.train()", "outputs": [output]}


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        (HF_LOG, {"records": 1218, "epochs": 3, "per_device_batch": 8, "effective_batch": 16, "accumulation": 2, "total_steps": 231}),
        (UNSLOTH_LOG, {"gpus": 1, "records": 555, "epochs": 2, "total_steps": 70, "per_device_batch": 2, "accumulation": 8, "effective_batch": 16}),
        (OLD_UNSLOTH_LOG, {"records": 171647, "epochs": 1, "per_device_batch": 2, "accumulation": 4, "effective_batch": 8, "total_steps": 60}),
        ("TrainOutput(global_step=60, training_loss=1.2)", {"global_step": 60}),
        ("nothing of interest = 5", {}),
    ],
)  # fmt: skip
def test_stored_outputs(log: str, expected: dict[str, int]) -> None:
    for shape in (log, lines(log)):
        document = read("import trl  # learning_rate", with_output(shape))
        found = {output.name: output.value for output in document.outputs}
        found_twice = len(document.outputs) - len(found)
        assert found == expected
        assert found_twice <= 1
        for output in document.outputs:
            assert output.cell == 2
            assert output.span.source.path == "a.ipynb"
            assert int(output.span.text.replace(",", "")) == output.value


def test_two_runs_in_one_cell_are_two_blocks() -> None:
    document = read("# learning_rate", with_output(HF_LOG + HF_LOG.replace("231", "462")))
    steps = [(output.block, output.value) for output in document.outputs if output.name == "total_steps"]
    assert steps == [(0, 231), (1, 462)]


def test_numbers_in_sources_and_markdown_are_no_outputs() -> None:
    document = read(f"log = '''{HF_LOG}'''", {"cell_type": "markdown", "source": HF_LOG})
    assert document.outputs == []


def test_format_3_has_worksheets() -> None:
    old = {
        "worksheets": [{"cells": [{"cell_type": "code", "input": [ARGS.replace("RATE", "1e-4")], "outputs": []}]}],
        "nbformat": 3,
    }
    assert plain(call(read(text=json.dumps(old)), "TrainingArguments").arguments) == {"learning_rate": 1e-4}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("", None),
        ("not json learning_rate", "syntax"),
        ('{"cells": [{"source": "learning_rate"', "syntax"),
        ('["learning_rate"]', "syntax"),
        ('{"cells": "learning_rate"}', None),
        ('{"cells": [1, "learning_rate"]}', "syntax"),
        ('{"cells": [{"cell_type": 3, "source": {"learning_rate": 1}}]}', None),
        ('{"cells": [{"cell_type": "code", "source": [1, null, "learning_rate = 1"]}]}', None),
        ('{"cells": [], "x": "learning_rate"} trailing', "syntax"),
        ('{"learning_rate": ' + "[" * 100_000 + "]" * 100_000 + "}", "too-deep"),
        ('{"cells": [{"cell_type": "code", "source": "x = \'\\ud800\'\\nlearning_rate=1"}]}', "encoding"),
        ('{"cells": [{"cell_type": "code", "source": "\\u0000 learning_rate"}]}', "encoding"),
        ('{"x": ' + "9" * 5000 + ', "cells": [], "y": "learning_rate"}', "syntax"),
        ('{"cells": [{}], "x": "learning_rate"}', None),
    ],
)
def test_what_is_no_notebook(text: str, kind: str | None) -> None:
    document = read(text=text)
    assert [problem.kind for problem in document.problems] == ([kind] if kind else [])
    for problem in document.problems:
        assert problem.span.place.line >= 1


@given(
    st.lists(
        st.sampled_from([*'{}[]:,"\\ab1\n ', '"cells"', '"source"', '"cell_type"', '"code"', "learning_rate"]),
        max_size=40,
    )
)
def test_any_json_like_text(words: list[str]) -> None:
    read(text="".join(words) + " learning_rate")


def test_pictures_cost_nothing() -> None:
    picture = {"output_type": "display_data", "data": {"image/png": "iVBORw0KGgo" * 400_000}}
    text = text_of("RATE = 1", {"source": ARGS, "outputs": [picture]})
    assert len(text) > 4_000_000
    started = time.process_time()
    document = read(text=text)
    assert time.process_time() - started < 1
    assert len(document.calls) == 1


def test_comments_of_code_cells() -> None:
    document = read(
        "x = 1  # epochlint: ignore[WRM001]\n# learning_rate", {"cell_type": "markdown", "source": "# Title"}
    )
    assert [(comment.text, comment.span.source.label) for comment in document.comments] == [
        ("epochlint: ignore[WRM001]", "cell 1"),
        ("learning_rate", "cell 1"),
    ]
    assert document.comments[0].span.in_file().text == "# epochlint: ignore[WRM001]"


def test_files_that_a_notebook_writes() -> None:
    document = read(
        "%%writefile conf/train.yaml\nlearning_rate: 2e-5\n", "%%writefile -a log.txt\nx\n", "%%writefile $NAME x\ny"
    )
    assert {name: text.text for name, text in document.files.items()} == {
        "conf/train.yaml": "learning_rate: 2e-5\n",
    }
    written = document.files["conf/train.yaml"]
    assert written.span(0, 13).in_file().text == "learning_rate"
    assert written.label == "cell 1"
