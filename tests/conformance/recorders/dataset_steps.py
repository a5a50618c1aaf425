"""Record how many rows the real `datasets` and pandas leave of files by what scripts do to them.

    python -m venv venv && venv/bin/pip install datasets==5.2.0 pandas scikit-learn torch
    venv/bin/python tests/conformance/recorders/dataset_steps.py

Each case is a few lines of Python that make `data`, run in a folder with the files of FILES; what is kept is the number
of its rows, or the error. The same lines stand in a training script for the comparison.
"""

from __future__ import annotations

import json
import os
import tempfile
from typing import Any

import recording


def _rows(count: int, start: int = 0) -> str:
    return "".join(
        json.dumps({"text": f"w{number % 5}", "number": number}) + "\n" for number in range(start, start + count)
    )


def _array(count: int) -> str:
    return json.dumps([{"text": f"w{number}", "number": number} for number in range(count)])


FILES = {
    "a.jsonl": _rows(103),
    "b.jsonl": _rows(37),
    "c.jsonl": _rows(11),
    "array.json": _array(23),
    "inside.json": json.dumps({"version": 1, "data": json.loads(_array(17))}),
    "table.csv": "text,number\n" + "".join(f"w{number},{number}\n" for number in range(29)),
    "table.tsv": "text\tnumber\n" + "".join(f"w{number}\t{number}\n" for number in range(19)),
    "lines.txt": "".join(f"line {number}\n" for number in range(13)) + "\n",
    "folder/train.jsonl": _rows(41),
    "folder/test.jsonl": _rows(7),
    "many/part-0.jsonl": _rows(5),
    "many/part-1.jsonl": _rows(6),
}

LOAD = "from datasets import load_dataset\n"
OWN = "from datasets import Dataset\n"
A = LOAD + "data = load_dataset('json', data_files='a.jsonl', split='train')\n"
AB = (
    "from datasets import concatenate_datasets, interleave_datasets, load_dataset\n"
    "a = load_dataset('json', data_files='a.jsonl', split='train')\n"
    "b = load_dataset('json', data_files='b.jsonl', split='train')\n"
    "c = load_dataset('json', data_files='c.jsonl', split='train')\n"
)
PANDAS = "import pandas as pd\nfrom datasets import Dataset\n"


def cases() -> dict[str, dict[str, str]]:
    out: dict[str, str] = {}

    def loads(name: str, arguments: str, after: str = "") -> None:
        out[f"load/{name}"] = f"{LOAD}data = load_dataset({arguments}){after}\n"

    for split in ("train", "train[:10%]", "train[10%:]", "train[:33%]", "train[33%:66%]", "train[-20:]", "train[:-20]",
                  "train[5:15]+train[50%:]", "train[:0]", "train[:500]", "train[90:200]", "train[-10%:]", "train[:1%]",
                  "train[20:10]", "train+train", "train[:100]"):  # fmt: skip
        loads(f"split {split}", f"'json', data_files='a.jsonl', split='{split}'")
    loads("two splits", "'json', data_files={'train': 'a.jsonl', 'test': 'b.jsonl'}", "['test']")
    loads("two splits together", "'json', data_files={'train': 'a.jsonl', 'test': 'b.jsonl'}, split='train+test'")
    loads("split of two", "'json', data_files={'train': 'a.jsonl', 'test': 'b.jsonl'}, split='test[:50%]'")
    loads("list of files", "'json', data_files=['a.jsonl', 'b.jsonl'], split='train'")
    loads("files of a split", "'json', data_files={'train': ['a.jsonl', 'b.jsonl'], 'test': 'c.jsonl'}, split='train'")
    loads("pattern", "'json', data_files='many/*.jsonl', split='train'")
    loads("folder", "'folder', split='train'")
    loads("folder, other split", "'folder', split='test'")
    loads("folder and file", "'folder', data_files='test.jsonl', split='train'")
    loads("folder of a builder", "'json', data_dir='many', split='train'")
    loads("folder of a builder, with splits", "'json', data_dir='folder', split='train'")
    loads("folder and pattern", "'json', data_dir='many', data_files='part-1.jsonl', split='train'")
    loads("array", "'json', data_files='array.json', split='train'")
    loads("field", "'json', data_files='inside.json', field='data', split='train'")
    loads("csv", "'csv', data_files='table.csv', split='train'")
    loads("tsv", "'csv', data_files='table.tsv', sep='\\t', split='train'")
    loads("text", "'text', data_files='lines.txt', split='train'")
    loads("list of splits", "'json', data_files='a.jsonl', split=['train[:80%]', 'train[80%:]']", "[0]")
    loads("no split", "'json', data_files='a.jsonl'", "['train']")
    loads("stream", "'json', data_files='a.jsonl', split='train', streaming=True", ".take(12)")
    loads("keyword", "path='json', data_files='a.jsonl', split='train'")

    def does(name: str, chain: str) -> None:
        out[f"step/{name}"] = f"{A}data = data{chain}\n"

    does("select", ".select(range(10))")
    does("select from", ".select(range(5, 50))")
    does("select with steps", ".select(range(0, 100, 3))")
    does("select list", ".select([1, 2, 3])")
    does("select list of a range", ".select(list(range(10)))")
    does("select too many", ".select(range(200))")
    does("select the length", ".select(range(len(data)))")
    does("select at most", ".select(range(min(50, len(data))))")
    does("select at most too many", ".select(range(min(500, len(data))))")
    does("select half", ".select(range(len(data) // 2))")
    does("select share", ".select(range(int(len(data) * 0.3)))")
    does("select the rest", ".select(range(int(len(data) * 0.9), len(data)))")
    does("select by a number of rows", ".select(range(data.num_rows // 4))")
    does("shuffle, then half", ".shuffle(seed=1).select(range(len(data) // 2))")
    does("half of the filtered", ".filter(lambda row: row['number'] > 9).select(range(len(data) // 20))")
    does("shuffle and select", ".shuffle(seed=42).select(range(20))")
    does("shard", ".shard(num_shards=4, index=0)")
    does("last shard", ".shard(num_shards=4, index=3)")
    does("shard in turn", ".shard(4, 2, contiguous=False)")
    does("take", ".take(9)")
    does("skip", ".skip(9)")
    does("skip and take", ".skip(100).take(9)")
    does("repeat", ".repeat(3)")
    does("map", ".map(lambda row: {'text': row['text'] + '!'})")
    does("map in batches", ".map(lambda rows: {'text': rows['text']}, batched=True)")
    does("map that grows", ".map(lambda rows: {'text': rows['text'] * 2, 'number': rows['number'] * 2}, batched=True)")
    does("map without columns", ".map(lambda row: {'x': 1}, remove_columns=data.column_names)")
    does("filter", ".filter(lambda row: row['number'] % 3 == 0)")
    does("filter all", ".filter(lambda row: False)")
    does("filter and select", ".filter(lambda row: row['number'] > 9).select(range(10))")
    does("filter and split", ".filter(lambda row: row['number'] > 9).train_test_split(test_size=0.1)['train']")
    does("sort", ".sort('number')")
    does("rename", ".rename_column('text', 'prompt').remove_columns(['number'])")
    does("frame and back", ".to_pandas()")
    does("head of a frame", ".to_pandas().head(8)")
    does("head of a frame, usual", ".to_pandas().head()")
    does("tail of a frame", ".to_pandas().tail(8)")
    does("sample of a frame", ".to_pandas().sample(frac=0.5)")
    does("sample of a frame, odd", ".to_pandas().sample(frac=0.15)")
    does("sample of rows", ".to_pandas().sample(n=12)")
    does("frame without doubles", ".to_pandas().drop_duplicates(subset='text')")
    does("frame by condition", ".to_pandas().query('number > 3')")
    for name, arguments in (
        ("share", "test_size=0.1"), ("share first", "0.1"), ("number", "test_size=7"),
        ("train share", "train_size=0.5"),
        ("both", "test_size=0.2, train_size=0.3"), ("nothing", ""), ("seed", "test_size=0.05, seed=42, shuffle=False"),
        ("train number", "train_size=90"), ("both numbers", "test_size=10, train_size=20"), ("third", "test_size=1/3"),
    ):  # fmt: skip
        for side in ("train", "test"):
            does(f"split {name}, {side}", f".train_test_split({arguments})['{side}']")
    does("split twice", ".train_test_split(test_size=0.2)['test'].train_test_split(test_size=0.5)['train']")

    def mixes(name: str, text: str) -> None:
        out[f"mix/{name}"] = f"{AB}data = {text}\n"

    mixes("together", "concatenate_datasets([a, b])")
    mixes("together, shuffled", "concatenate_datasets([a, b]).shuffle(seed=1)")
    mixes("together, selected", "concatenate_datasets([a, b, c]).shuffle(seed=1).select(range(50))")
    mixes("together, split", "concatenate_datasets([a, b]).train_test_split(test_size=0.1)['train']")
    mixes("together, split and shuffled", "concatenate_datasets([a, b]).shuffle().train_test_split(0.1)['test']")
    mixes("together, filtered", "concatenate_datasets([a, b]).filter(lambda row: row['number'] < 20)")
    mixes("parts together", "concatenate_datasets([a.select(range(20)), b.shard(2, 0), c])")
    mixes("together twice", "concatenate_datasets([concatenate_datasets([a, b]).select(range(60)), c]).shuffle()")
    mixes("the same twice", "concatenate_datasets([a, a])")
    mixes("list times", "concatenate_datasets([b] * 3)")
    mixes("side by side", "concatenate_datasets([b.remove_columns('number'), b.remove_columns('text')], axis=1)")
    mixes("in turn", "interleave_datasets([a, b])")
    mixes("in turn, three", "interleave_datasets([a, b, c])")
    mixes("in turn, all", "interleave_datasets([a, b, c], stopping_strategy='all_exhausted')")
    mixes("in turn, first", "interleave_datasets([a, b, c], stopping_strategy='first_exhausted')")
    mixes("in turn, each once", "interleave_datasets([a, b, c], stopping_strategy='all_exhausted_without_replacement')")
    for at, shares in enumerate(("[0.5, 0.5]", "[0.9, 0.1]", "[0.1, 0.9]")):
        for strategy in ("first_exhausted", "all_exhausted", "all_exhausted_without_replacement"):
            drawn = f"probabilities={shares}, seed={at}"
            mixes(
                f"by chance {at}, {strategy}", f"interleave_datasets([a, b], {drawn}, stopping_strategy='{strategy}')"
            )
    mixes("by chance, selected", "interleave_datasets([a, b], probabilities=[0.7, 0.3], seed=1).select(range(20))")
    mixes("in turn, selected", "interleave_datasets([a, b]).shuffle(seed=3).select(range(20))")
    mixes("in turn, together", "concatenate_datasets([interleave_datasets([a, b]), c])")
    out["mix/torch"] = AB + "from torch.utils.data import ConcatDataset\ndata = ConcatDataset([a, b])\n"

    def makes(name: str, text: str) -> None:
        out[f"make/{name}"] = text + "\n"

    makes("list", OWN + "data = Dataset.from_list([{'text': 'a'}, {'text': 'b'}])")
    makes("list times", OWN + "data = Dataset.from_list([{'text': 'a'}] * 30)")
    makes(
        "list in a loop",
        OWN + "data = Dataset.from_list([{'text': str(n)} for n in range(25)])",
    )
    makes("columns", OWN + "data = Dataset.from_dict({'text': ['a', 'b', 'c']})")
    makes("json", OWN + "data = Dataset.from_json('a.jsonl')")
    makes("json list", OWN + "data = Dataset.from_json(['a.jsonl', 'b.jsonl'])")
    makes("csv", OWN + "data = Dataset.from_csv('table.csv')")
    makes("text", OWN + "data = Dataset.from_text('lines.txt')")
    makes("pandas lines", PANDAS + "data = Dataset.from_pandas(pd.read_json('a.jsonl', lines=True))")
    makes("pandas array", PANDAS + "data = Dataset.from_pandas(pd.read_json('array.json'))")
    makes("pandas some lines", PANDAS + "data = Dataset.from_pandas(pd.read_json('a.jsonl', lines=True, nrows=15))")
    makes("pandas csv", PANDAS + "data = Dataset.from_pandas(pd.read_csv('table.csv'))")
    makes("pandas tsv", PANDAS + "data = Dataset.from_pandas(pd.read_csv('table.tsv', sep='\\t'))")
    makes("pandas csv, some", PANDAS + "data = Dataset.from_pandas(pd.read_csv('table.csv', nrows=10))")
    makes("pandas csv, skipped", PANDAS + "data = Dataset.from_pandas(pd.read_csv('table.csv', skiprows=4))")
    makes("pandas csv, no header", PANDAS + "data = Dataset.from_pandas(pd.read_csv('table.csv', header=None))")
    makes(
        "frames together",
        PANDAS + "data = Dataset.from_pandas(pd.concat([pd.read_csv('table.csv'), pd.read_csv('table.csv')]))",
    )
    makes("frame", PANDAS + "data = Dataset.from_pandas(pd.DataFrame({'text': ['a', 'b']}))")
    makes("frame slice", PANDAS + "frame = pd.read_csv('table.csv')\ndata = Dataset.from_pandas(frame[:12])")
    makes("frame iloc", PANDAS + "frame = pd.read_csv('table.csv')\ndata = Dataset.from_pandas(frame.iloc[:12])")
    makes("frame without nulls", PANDAS + "data = Dataset.from_pandas(pd.read_csv('table.csv').dropna())")
    makes(
        "json module",
        OWN + "import json\ndata = Dataset.from_list(json.load(open('array.json')))",
    )
    makes("lines", OWN + "import json\nwith open('a.jsonl') as file:\n    rows = [json.loads(line) for line in file]\n"
          "data = Dataset.from_list(rows)")  # fmt: skip
    makes("some lines", OWN + "import json\nwith open('a.jsonl') as file:\n"
          "    rows = [json.loads(line) for line in file]\n"
          "data = Dataset.from_list(rows[:30])")  # fmt: skip
    lists = OWN + "import json\nrows = [json.loads(line) for line in open('a.jsonl')]\n"
    makes("share of the lines", lists + "cut = int(0.9 * len(rows))\ndata = Dataset.from_list(rows[:cut])")
    makes("rest of the lines", lists + "cut = int(0.9 * len(rows))\ndata = Dataset.from_list(rows[cut:])")
    makes("last lines", lists + "data = Dataset.from_list(rows[-7:])")
    makes("every other line", lists + "data = Dataset.from_list(rows[::2])")
    makes(
        "half of a frame",
        PANDAS + "frame = pd.read_csv('table.csv')\ndata = Dataset.from_pandas(frame[:len(frame) // 2])",
    )
    makes("some of the lines", OWN + "import json\nwith open('a.jsonl') as file:\n"
          "    rows = [json.loads(line) for line in file if 'w1' in line]\ndata = Dataset.from_list(rows)")  # fmt: skip
    makes("generator", OWN + "def rows():\n    for number in range(18):\n        yield {'text': str(number)}\n"
          "data = Dataset.from_generator(rows)")  # fmt: skip
    makes("members", LOAD + "from datasets import DatasetDict\n"
          "whole = load_dataset('json', data_files='a.jsonl', split='train')\n"
          "both = DatasetDict({'train': whole.select(range(60)), 'test': whole.select(range(60, 103))})\n"
          "data = both['test']")  # fmt: skip
    makes("all members", LOAD + "both = load_dataset('json', data_files={'train': 'a.jsonl', 'test': 'b.jsonl'})\n"
          "both = both.filter(lambda row: row['number'] < 30)\ndata = both['train']")  # fmt: skip
    makes("members mapped", LOAD + "both = load_dataset('json', data_files={'train': 'a.jsonl', 'test': 'b.jsonl'})\n"
          "both = both.map(lambda row: {'x': 1})\ndata = both['test']")  # fmt: skip
    makes("sklearn", LOAD + "from sklearn.model_selection import train_test_split\n"
          "rows = [{'text': str(number)} for number in range(55)]\nfrom datasets import Dataset\n"
          "train, test = train_test_split(rows, test_size=0.1)\ndata = Dataset.from_list(train)")  # fmt: skip
    makes("saved", LOAD + "load_dataset('json', data_files='a.jsonl', split='train[:31]').save_to_disk('saved')\n"
          "from datasets import load_from_disk\ndata = load_from_disk('saved')")  # fmt: skip
    return {name: {"script": text} for name, text in out.items()}


def run(case: dict[str, Any]) -> dict[str, Any]:
    here = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["HF_DATASETS_CACHE"] = os.path.join(folder, "cache")
        try:
            for name, text in FILES.items():
                os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
                with open(name, "w", encoding="utf-8") as stream:
                    stream.write(text)
            names: dict[str, Any] = {}
            exec(compile(case["script"], "case.py", "exec"), names)  # our own lines
            data = names["data"]
            return {"records": len(data) if hasattr(data, "__len__") else sum(1 for _ in data)}
        finally:
            os.chdir(here)


def main() -> None:
    options = recording.arguments("Record the rows that are left by what scripts do.", "dataset_steps.json")
    import datasets

    datasets.disable_progress_bars()
    datasets.disable_caching()
    chosen = {name: case for name, case in cases().items() if name.startswith(options.only)}
    recording.all_cases(options, chosen, run, "datasets", "pandas", "pyarrow")
    if not options.show:
        recording.note(options.out, "files", FILES)


if __name__ == "__main__":
    main()
