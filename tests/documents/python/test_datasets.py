"""Datasets: their sources and what is done to them."""

# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import ast

import pytest

from epochlint.documents.python import DatasetNode
from epochlint.documents.python.batched import keeps_rows
from tests.documents.python.reading import UNKNOWN, call, plain, script, value

IMPORTS = "from datasets import Dataset, DatasetDict, concatenate_datasets, interleave_datasets, load_dataset, load_from_disk\nimport json, pandas as pd\n"


def dataset(expression: str, before: str = "") -> object:
    return value(expression, IMPORTS + before)


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("load_dataset('acme/notes', split='train')", "hub:acme/notes[train]"),
        ("load_dataset('acme/notes', 'en', split='train')", "hub:acme/notes/en[train]"),
        ("load_dataset('acme/notes')['train']", "hub:acme/notes[train]"),
        ("load_dataset('acme/notes', split='train', streaming=True)", "hub:acme/notes[train] streaming"),
        ("load_dataset('json', data_files='a.jsonl', split='train')", "a.jsonl[train]"),
        ("load_dataset('json', data_files='a.jsonl')['train']", "a.jsonl[train]"),
        ("load_dataset('json', data_files=['a.jsonl', 'b.jsonl'])['train']", "a.jsonl,b.jsonl[train]"),
        ("load_dataset('json', data_files={'train': 'a.jsonl', 'test': ['b.jsonl']})['test']", "b.jsonl[test]"),
        ("load_dataset('json', data_files={'train': 'a.jsonl'}, split='train')", "a.jsonl[train]"),
        ("load_dataset('json', data_files=missing, split='train')", f"{UNKNOWN}[train]"),
        ("load_dataset(missing, split='train')", f"{UNKNOWN}[train]"),
        ("load_dataset('csv', data_files='a.csv', split='train[:100]')", "a.csv[train] select=100"),
        ("load_dataset('acme/notes', split='train[10:20]')", "hub:acme/notes[train] slice=10:20"),
        ("load_dataset('acme/notes', split='train[:10%]')", "hub:acme/notes[train] slice=None:0.1"),
        ("load_dataset('acme/notes', split='train[-100:]')", "hub:acme/notes[train] slice=-100:None"),
        ("load_dataset('acme/notes', split='train+test')", "(hub:acme/notes[train] + hub:acme/notes[test])"),
        ("load_dataset('acme/notes', split=['train', 'test[:5]'])[1]", "hub:acme/notes[test] select=5"),
        ("load_dataset('acme/notes', split=f'train[:{50}]')", "hub:acme/notes[train] select=50"),
        ("load_dataset('acme/notes', **missing)['train']", "hub:acme/notes[train] unknown"),
        ("load_dataset('acme/notes')['train'].select(range(2000))", "hub:acme/notes[train] select=2000"),
        ("load_dataset('acme/notes')['train'].select(range(10, 30))", "hub:acme/notes[train] select=20"),
        ("load_dataset('acme/notes')['train'].select([1, 2])", "hub:acme/notes[train] select=2"),
        ("load_dataset('acme/notes')['train'].select(missing)", "hub:acme/notes[train] unknown"),
        ("load_dataset('acme/notes')['train'].shuffle(seed=1).take(7)", "hub:acme/notes[train] shuffle select=7"),
        ("load_dataset('acme/notes')['train'].skip(7)", "hub:acme/notes[train] slice=7:None"),
        ("load_dataset('acme/notes')['train'].filter(lambda r: r['x'])", "hub:acme/notes[train] filter"),
        ("load_dataset('acme/notes').filter(lambda r: r['x'])['train']", "hub:acme/notes[train] filter"),
        ("load_dataset('acme/notes')['train'].map(lambda r: r)", "hub:acme/notes[train]"),
        ("load_dataset('acme/notes')['train'].map(missing, batched=True)", "hub:acme/notes[train] map"),
        ("load_dataset('acme/notes')['train'].rename_column('a', 'b').remove_columns(['c']).with_format('torch')", "hub:acme/notes[train]"),
        ("load_dataset('acme/notes')['train'].repeat(3)", "hub:acme/notes[train] repeat=3"),
        ("load_dataset('acme/notes')['train'].shard(4, 0)", "hub:acme/notes[train] shard=4"),
        ("load_dataset('acme/notes')['train'].to_iterable_dataset()", "hub:acme/notes[train] streaming"),
        ("load_dataset('acme/notes')['train'].train_test_split(test_size=0.1)['train']", "hub:acme/notes[train] split-train=0.1"),
        ("load_dataset('acme/notes')['train'].train_test_split(0.1)['test']", "hub:acme/notes[train] split-test=0.1"),
        ("load_dataset('acme/notes')['train'].train_test_split()['train']", "hub:acme/notes[train] split-train=0.25"),
        ("load_dataset('acme/notes', split='train').train_test_split(test_size=200, seed=1)['train'].shuffle()", "hub:acme/notes[train] split-train=200 shuffle"),
        ("load_dataset('acme/notes', split='train').train_test_split(test_size=missing)['train']", "hub:acme/notes[train] split-train"),
        ("load_dataset('acme/notes', split='train').train_test_split(0.2).map(lambda r: r)['test']", "hub:acme/notes[train] split-test=0.2"),
        ("load_from_disk('data/x')['train']", "data/x[train]"),
        ("Dataset.from_list([{'a': 1}, {'a': 2}])", "2 rows"),
        ("Dataset.from_list([{'a': 1}] * 5000)", "5000 rows"),
        ("Dataset.from_dict({'a': [1, 2, 3]})", "3 rows"),
        ("Dataset.from_list(missing)", UNKNOWN),
        ("Dataset.from_json('a.jsonl')", "a.jsonl"),
        ("Dataset.from_list([json.loads(line) for line in open('a.jsonl')])", "a.jsonl"),
        ("Dataset.from_list([json.loads(line) for line in open('a.jsonl') if line.strip()])", "a.jsonl"),
        ("Dataset.from_list([json.loads(line) for line in open('a.jsonl') if 'x' in line])", "a.jsonl filter"),
        ("Dataset.from_list(json.load(open('a.json')))", "a.json"),
        ("Dataset.from_list(json.load(open('a.json'))[:100])", "a.json select=100"),
        ("Dataset.from_list([{'text': r['x']} for r in json.load(open('a.json'))])", "a.json"),
        ("Dataset.from_dict({'text': [r['x'] for r in json.load(open('a.json'))]})", "a.json"),
        ("Dataset.from_pandas(pd.read_json('a.jsonl', lines=True))", "a.jsonl"),
        ("Dataset.from_pandas(pd.read_csv('a.csv').dropna())", "a.csv filter"),
        ("Dataset.from_pandas(pd.read_csv('a.csv', nrows=50))", "a.csv select=50"),
        ("Dataset.from_pandas(pd.read_csv('a.csv').head(10))", "a.csv select=10"),
        ("Dataset.from_pandas(pd.read_csv('a.csv').sample(frac=1).reset_index(drop=True))", "a.csv"),
        ("Dataset.from_pandas(pd.read_csv('a.csv').sample(n=30))", "a.csv sample=30"),
        ("Dataset.from_pandas(pd.read_csv('a.csv')[['a', 'b']])", "a.csv"),
        ("Dataset.from_pandas(pd.read_csv('a.csv').iloc[:10])", "a.csv select=10"),
        ("Dataset.from_pandas(pd.read_csv('a.csv').drop(columns=['a']))", "a.csv"),
        ("Dataset.from_pandas(pd.DataFrame([{'a': 1}]))", "1 rows"),
        ("concatenate_datasets([load_dataset('a/b', split='train'), Dataset.from_json('c.jsonl')])", "(hub:a/b[train] + c.jsonl)"),
        ("concatenate_datasets([load_dataset('a/b', split='train'), missing])", UNKNOWN),
        ("interleave_datasets([load_dataset('a/b', split='train')])", "(hub:a/b[train]) by first_exhausted None"),
        ("interleave_datasets([Dataset.from_json('c.jsonl'), Dataset.from_json('d.jsonl')], [0.9, 0.1], 1, stopping_strategy='all_exhausted')", "(c.jsonl + d.jsonl) by all_exhausted (0.9, 0.1)"),
        ("interleave_datasets([Dataset.from_json('c.jsonl'), Dataset.from_json('d.jsonl')], probabilities=shares)",
         "(c.jsonl + d.jsonl) unknown"),
        ("interleave_datasets(parts)", UNKNOWN),
        ("concatenate_datasets([Dataset.from_json('c.jsonl')], axis=1)", UNKNOWN),
        ("Dataset.from_pandas(pd.read_csv('a.csv', skiprows=3))", "a.csv unknown"),
        ("Dataset.from_pandas(pd.read_csv('a.tsv', sep='\\t'))", "a.tsv"),
        ("DatasetDict({'train': Dataset.from_json('c.jsonl')})['train']", "c.jsonl"),
    ],
)  # fmt: skip
def test_sources_and_operations(expression: str, expected: str) -> None:
    assert dataset(expression) == expected


@pytest.mark.parametrize(
    ("before", "expression", "expected"),
    [
        ("parts = load_dataset('a/b', split='train').train_test_split(0.1)\ntrain, test = parts['train'], parts['test']", "test", "hub:a/b[train] split-test=0.1"),
        ("train, test = load_dataset('a/b', split='train').train_test_split(0.1).values()", "train", "hub:a/b[train] split-train=0.1"),
        ("from sklearn.model_selection import train_test_split\ntrain, test = train_test_split(pd.read_csv('a.csv'), test_size=0.2)", "test", "a.csv split-test=0.2"),
        ("rows = []\nwith open('a.jsonl') as f:\n    for line in f:\n        rows.append(json.loads(line))", "Dataset.from_list(rows)", "a.jsonl"),
        ("rows = []\nfor line in open('a.jsonl'):\n    line = line.strip()\n    if not line:\n        continue\n    rows.append(json.loads(line))", "Dataset.from_list(rows)", "a.jsonl"),
        ("rows = []\nfor line in open('a.jsonl'):\n    if line.strip():\n        rows.append(json.loads(line))", "Dataset.from_list(rows)", "a.jsonl"),
        ("rows = []\nfor line in open('a.jsonl'):\n    row = json.loads(line)\n    if row['ok']:\n        rows.append(row)", "Dataset.from_list(rows)", "a.jsonl filter"),
        ("rows = []\nfor line in open('a.jsonl'):\n    rows.append(json.loads(line))\n    if len(rows) == 10:\n        break", "Dataset.from_list(rows)", UNKNOWN),
        ("rows = []\nfor line in open('a.jsonl'):\n    rows.append(1)\n    rows.append(2)", "Dataset.from_list(rows)", UNKNOWN),
        ("rows = []\nfor item in json.load(open('a.json')):\n    for turn in item:\n        rows.append(turn)", "Dataset.from_list(rows)", UNKNOWN),
        ("def load(path):\n    with open(path) as f:\n        return [json.loads(l) for l in f]\nrows = load('a.jsonl')", "Dataset.from_list(rows)", "a.jsonl"),
        ("def load(path):\n    rows = []\n    with open(path) as f:\n        for l in f:\n            rows.append(json.loads(l))\n    return Dataset.from_list(rows)", "load('a.jsonl')", "a.jsonl"),
        ("data = load_dataset('a/b', split='train')\nif small:\n    data = data.select(range(10))", "data", "hub:a/b[train] unknown"),
        ("data = load_dataset('a/b', split='train') if hub else load_dataset('c/d', split='train')", "data", {"one of": ["hub:a/b[train]", "hub:c/d[train]"]}),
        ("data = load_dataset('a/b')\ndata['train'] = data['train'].select(range(5))", "data['train']", "hub:a/b[train] select=5"),
        ("data = load_dataset('a/b')\nif small:\n    data['train'] = data['train'].select(range(5))", "data['train']", UNKNOWN),
        ("data = load_dataset('a/b')\ndata['train'] = data['train'].select(range(5))\ndata = data.filter(f)", "data['train']", "hub:a/b[train] select=5 filter"),
        ("frame = pd.read_csv('a.csv')\nframe.dropna(inplace=True)\ndata = Dataset.from_pandas(frame)", "data", "a.csv filter"),
        ("rows = json.load(open('a.json'))\nrows.append({})\ndata = Dataset.from_list(rows)", "data", "a.json unknown"),
        ("data = load_dataset('a/b', split='train')\ndata.set_format('torch')", "data", "hub:a/b[train]"),
        ("def tok(batch):\n    return tokenizer(batch['text'], truncation=True)\ndata = load_dataset('a/b', split='train').map(tok, batched=True)", "data", "hub:a/b[train]"),
        ("def group(batch):\n    total = sum(batch['ids'], [])\n    return {'ids': [total[i:i + 8] for i in range(0, len(total), 8)]}\ndata = load_dataset('a/b', split='train').map(group, batched=True)", "data", "hub:a/b[train] map"),
        ("from trl import pack_dataset\ndata = pack_dataset(load_dataset('a/b', split='train'), seq_length=8)", "data", "hub:a/b[train] pack"),
        ("from torch.utils.data import Subset\ndata = Subset(load_dataset('a/b', split='train'), range(9))", "data", "hub:a/b[train] select=9"),
        ("from unsloth.chat_templates import standardize_sharegpt\ndata = standardize_sharegpt(load_dataset('a/b', split='train'))", "data", "hub:a/b[train]"),
        ("import torch\nclass Rows(torch.utils.data.Dataset):\n    def __init__(self, path):\n        self.rows = open(path).readlines()\n    def __len__(self): return len(self.rows)\ndata = Rows('a.jsonl')", "data", "Rows()"),
    ],
)  # fmt: skip
def test_programs(before: str, expression: str, expected: object) -> None:
    found = dataset(expression, before)
    assert found == expected or (expected == UNKNOWN and isinstance(found, str) and found.startswith(UNKNOWN))


def test_a_dataset_that_is_a_parameter_is_unknown() -> None:
    document = script("def train(data):\n    Trainer(train_dataset=data.select(range(5)))")
    assert not isinstance(call(document, "Trainer").argument("train_dataset"), DatasetNode)


def test_lengths_are_known_from_literals_only() -> None:
    assert dataset("len(Dataset.from_list([1, 2]))") == 2
    assert dataset("len(load_dataset('a/b', split='train'))") == UNKNOWN
    assert dataset("load_dataset('a/b', split='train').num_rows") == UNKNOWN


def test_an_operation_stands_where_it_is_called() -> None:
    document = script(IMPORTS + "d = load_dataset('a/b', split='train').select(range(5))\nTrainer(train_dataset=d)")
    found = call(document, "Trainer").argument("train_dataset")
    assert isinstance(found, DatasetNode)
    assert [operation.span.text for operation in found.operations] == ["select"]
    assert call(document, "load_dataset").origin == "datasets.load_dataset"


@pytest.mark.parametrize(
    ("body", "keeps"),
    [
        ("return tokenizer(b['text'])", True),
        ("return tokenizer(b['text'], truncation=True, max_length=8)", True),
        ("return self.tokenizer(b['text'])", True),
        ("return tokenizer(b['text'], return_overflowing_tokens=True)", False),
        ("return tokenizer(b['text'], **options)", False),
        ("return tokenizer([t + eos for t in b['text']])", True),
        ("return tokenizer([t for t in b['text'] if t])", False),
        ("return tokenizer(' '.join(b['text']))", False),
        ("out = tokenizer(b['q'])\nlabels = tokenizer(text_target=b['a'])\nout['labels'] = labels['input_ids']\nreturn out", True),
        ("out = tokenizer(b['q'])\nout['labels'] = out['input_ids'].copy()\nreturn out", True),
        ("b['n'] = [len(t) for t in b['text']]\nreturn b", True),
        ("return b", True),
        ("return {'text': [f(x) for x in b['a']]}", True),
        ("return {'text': [f(x, y) for x, y in zip(b['a'], b['c'])]}", True),
        ("return {'text': [y for x in b['a'] for y in x]}", False),
        ("return {'text': [x for x in b['a'] if x]}", False),
        ("texts = []\nfor q, a in zip(b['q'], b['a']):\n    texts.append(q + a)\nreturn {'text': texts}", True),
        ("qs = b['q']\ntexts = []\nfor i in range(len(qs)):\n    texts.append(qs[i])\nreturn {'text': texts}", True),
        ("texts = []\nfor q in b['q']:\n    if q:\n        texts.append(q)\nreturn {'text': texts}", False),
        ("texts = []\nfor q in b['q']:\n    if q:\n        texts.append(q)\n    else:\n        texts.append('')\nreturn {'text': texts}", True),
        ("texts = []\nfor q in b['q']:\n    texts.append(q)\n    texts.append(q)\nreturn {'text': texts}", False),
        ("texts = []\nfor q in b['q']:\n    for part in q:\n        texts.append(part)\nreturn {'text': texts}", False),
        ("texts = []\nfor q in b['q']:\n    if not q:\n        continue\n    texts.append(q)\nreturn {'text': texts}", False),
        ("texts = [t for t in b['q']]\nreturn {'text': texts, 'n': [1]}", False),
        ("return {}", False),
        ("return group(b)", False),
        ("x = unknown(b)\nreturn x", False),
        ("if b['a']:\n    return b\nreturn {'a': [1]}", False),
        ("return {**b, 'n': [0 for _ in b['a']]}", True),
        ("return tokenizer.apply_chat_template(b['m'])", False),
        ("return {'text': tokenizer.apply_chat_template(b['m'], tokenize=False)}", True),
        ("while True:\n    b = b\nreturn b", False),
        ("pass", False),
    ],
)  # fmt: skip
def test_which_batched_functions_keep_the_number_of_rows(body: str, keeps: bool) -> None:
    indented = "\n".join("    " + line for line in body.split("\n"))
    (function,) = ast.parse(f"def f(b):\n{indented}").body
    assert isinstance(function, ast.FunctionDef)
    assert keeps_rows(function) is keeps


def test_parsed_results_are_plain() -> None:
    assert plain(None) is None
