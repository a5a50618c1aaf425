from __future__ import annotations

import pytest

from epochlint.documents.python.model import Operation
from epochlint.run.run import Run
from epochlint.source import Source
from epochlint.trainers import hf_args
from epochlint.trainers.hf.script import rows_after, split_sizes
from tests.helpers import check_project
from tests.trainers.hf.readings import of_call, said, script

HEAD = """
from datasets import load_dataset
from transformers import AutoModelForCausalLM, EarlyStoppingCallback, Trainer, TrainingArguments
model = AutoModelForCausalLM.from_pretrained("Qwen/Qwen2.5-0.5B")
data = load_dataset("json", data_files="data/train.jsonl", split="train")
held = load_dataset("json", data_files="data/held.jsonl", split="train")
"""


def read(text: str, head: str = HEAD) -> Run:
    return hf_args.read(of_call(script(head + text), "TrainingArguments"))


class TestData:
    def test_the_files_of_the_trainers_data(self) -> None:
        run = read('args = TrainingArguments("out")\nTrainer(model, args, train_dataset=data, eval_dataset=held)\n')
        assert [source.paths for source in run.training] == [("data/train.jsonl",)]
        assert [source.paths for source in run.validation] == [("data/held.jsonl",)]
        assert run.setting("validation").value is True
        assert run.setting("streaming").value is False

    def test_arguments_inside_the_trainers_call(self) -> None:
        run = read('Trainer(model, TrainingArguments("out"), train_dataset=data)\n')
        assert len(run.training) == 1
        assert run.setting("validation").value is False

    def test_the_arguments_of_another_trainer_are_not_mixed_up(self) -> None:
        run = read(
            'args = TrainingArguments("out")\nother = TrainingArguments("two")\n'
            "Trainer(model, other, train_dataset=held)\nTrainer(model, args, train_dataset=data)\n"
        )
        assert [source.paths for source in run.training] == [("data/train.jsonl",)]

    def test_validation_that_depends_on_something_is_unknown(self) -> None:
        run = read(
            'import sys\nargs = TrainingArguments("out", eval_strategy="epoch")\n'
            "Trainer(model, args, train_dataset=data, eval_dataset=held if len(sys.argv) > 1 else None)\n"
        )
        assert run.setting("validation").unknown
        assert said(run, "evaluation_without_data") == []

    def test_no_validation_at_all(self) -> None:
        run = read('args = TrainingArguments("out", eval_strategy="epoch")\nTrainer(model, args, train_dataset=data)\n')
        assert len(said(run, "evaluation_without_data")) == 1

    def test_more_keywords_than_can_be_seen(self) -> None:
        run = read(
            'args = TrainingArguments("out", eval_strategy="epoch")\nTrainer(model, args, train_dataset=data, **more)\n'
        )
        assert run.setting("validation").unknown

    def test_streaming(self) -> None:
        run = read(
            'stream = load_dataset("acme/web", split="train", streaming=True)\nargs = TrainingArguments("out")\n'
            "Trainer(model, args, train_dataset=stream)\n"
        )
        assert run.setting("streaming").value is True

    def test_a_split_is_the_runs_validation_split(self) -> None:
        run = read(
            'parts = data.train_test_split(test_size=0.1)\nargs = TrainingArguments("out")\n'
            'Trainer(model, args, train_dataset=parts["train"], eval_dataset=parts["test"])\n'
        )
        assert run.setting("validation_split").number == 0.1
        assert run.training[0].operations == ()
        assert len(run.validation[0].operations) == 1

    def test_no_trainer_no_data(self) -> None:
        run = read('args = TrainingArguments("out")\n')
        assert run.training == []
        assert run.setting("validation").unknown


class TestOperations:
    span = Source("train.py", "").span(0, 0)

    @pytest.mark.parametrize(
        ("operation", "rows", "expected"),
        [
            (("select", 10), 100, 10),
            (("select", 1000), 100, 100),
            (("sample", 0.5), 101, 50),
            (("shuffle", None), 7, 7),
            (("repeat", 3), 7, 21),
            (("filter", None), 7, None),
            (("unknown", None), 7, None),
            (("pack", None), 7, None),
        ],
    )
    def test_rows(self, operation: tuple[str, float | None], rows: int, expected: int | None) -> None:
        assert rows_after(Operation(*operation, self.span))(rows) == expected

    def test_slices_take_rows_or_shares(self) -> None:
        assert rows_after(Operation("slice", None, self.span, 0.1, 0.3))(100) == 20
        assert rows_after(Operation("slice", None, self.span, 5, None))(100) == 95
        assert rows_after(Operation("slice", None, self.span, None, -10))(100) == 90
        assert rows_after(Operation("slice", None, self.span, 200, 300))(100) == 0

    def test_splits(self) -> None:
        assert split_sizes(101, 0.1, None) == (11, 90)
        assert split_sizes(101, 20, None) == (20, 81)
        assert split_sizes(101, None, 0.5) == (51, 50)
        assert split_sizes(101, None, None) == (None, None)
        assert rows_after(Operation("split-train", 2000, self.span))(78) == 0


class TestTuning:
    def test_full_where_surely_nothing_else(self) -> None:
        run = read('args = TrainingArguments("out")\nTrainer(model, args, train_dataset=data)\n')
        assert run.setting("tuning").value == "full"
        assert run.setting("model").value == "Qwen/Qwen2.5-0.5B"

    def test_an_adapter_on_the_model(self) -> None:
        run = read(
            "from peft import LoraConfig, get_peft_model\nmodel = get_peft_model(model, LoraConfig(r=64))\n"
            'args = TrainingArguments("out")\nTrainer(model, args, train_dataset=data)\n'
        )
        assert run.setting("tuning").value == "lora"
        assert run.setting("lora_rank").number == 64

    def test_four_bits(self) -> None:
        run = read(
            "from peft import LoraConfig, get_peft_model\nfrom transformers import BitsAndBytesConfig\n"
            "bits = BitsAndBytesConfig(load_in_4bit=True)\n"
            'model = AutoModelForCausalLM.from_pretrained("x", quantization_config=bits)\n'
            'model = get_peft_model(model, LoraConfig(r=8))\nargs = TrainingArguments("out")\n'
            "Trainer(model, args, train_dataset=data)\n"
        )
        assert run.setting("tuning").value == "qlora"

    @pytest.mark.parametrize("name", ["IA3Config", "DeloraConfig", "RoadConfig"])
    def test_another_adapter_is_no_lora(self, name: str) -> None:
        run = read(
            f"from peft import {name}, get_peft_model\nconfig = {name}(target_modules=['q'])\n"
            'model = get_peft_model(model, config)\nargs = TrainingArguments("out")\n'
            "Trainer(model, args, train_dataset=data)\n"
        )
        assert run.setting("tuning").value == "other"

    def test_a_prefix(self) -> None:
        run = read(
            "from peft import PrefixTuningConfig, get_peft_model\n"
            "model = get_peft_model(model, PrefixTuningConfig(num_virtual_tokens=8))\n"
            'args = TrainingArguments("out")\nTrainer(model, args, train_dataset=data)\n'
        )
        assert run.setting("tuning").value == "prefix"

    @pytest.mark.parametrize("line", ["for p in model.parameters(): p.requires_grad = False", "from mine import model"])
    def test_unknown_where_something_else_may_happen(self, line: str) -> None:
        run = read(f'{line}\nargs = TrainingArguments("out")\nTrainer(model, args, train_dataset=data)\n')
        assert run.setting("tuning").unknown

    def test_a_model_of_pictures_is_no_language_model(self) -> None:
        run = read(
            "from transformers import AutoModelForImageClassification\n"
            'model = AutoModelForImageClassification.from_pretrained("google/vit")\n'
            'args = TrainingArguments("out")\nTrainer(model, args, train_dataset=data)\n'
        )
        assert run.setting("language_model").value is False


class TestCallbacks:
    @pytest.mark.parametrize("call", ["EarlyStoppingCallback(early_stopping_patience=5)", "EarlyStoppingCallback(5)"])
    def test_patience(self, call: str) -> None:
        run = read(
            'args = TrainingArguments("out", eval_strategy="epoch", save_strategy="epoch",'
            " load_best_model_at_end=True)\n"
            f"Trainer(model, args, train_dataset=data, eval_dataset=held, callbacks=[{call}])\n"
        )
        assert run.setting("early_stopping_patience").number == 5
        assert said(run, "rejected") == []

    def test_added_later_with_the_default(self) -> None:
        run = read(
            'args = TrainingArguments("out", eval_strategy="epoch", metric_for_best_model="loss")\n'
            "trainer = Trainer(model, args, train_dataset=data, eval_dataset=held)\n"
            "trainer.add_callback(EarlyStoppingCallback())\n"
        )
        assert run.setting("early_stopping_patience").number == 1

    def test_it_asserts_a_strategy_and_a_metric(self) -> None:
        text = "Trainer(model, args, train_dataset=data, eval_dataset=held, callbacks=[EarlyStoppingCallback(3)])\n"
        assert len(said(read('args = TrainingArguments("out")\n' + text), "rejected")) == 1
        assert len(said(read('args = TrainingArguments("out", eval_strategy="epoch")\n' + text), "rejected")) == 1


class TestMetrics:
    ARGS = (
        'args = TrainingArguments("out", eval_strategy="epoch", save_strategy="epoch", load_best_model_at_end=True,'
        ' metric_for_best_model="{}")\n'
    )

    def test_nothing_computes_it(self) -> None:
        run = read(self.ARGS.format("eval_f1") + "Trainer(model, args, train_dataset=data, eval_dataset=held)\n")
        assert [seen.values["metric"] for seen in said(run, "metric_missing")] == ["eval_f1"]

    @pytest.mark.parametrize("metric", ["loss", "eval_loss", "eval_runtime"])
    def test_every_evaluation_has_these(self, metric: str) -> None:
        run = read(self.ARGS.format(metric) + "Trainer(model, args, train_dataset=data, eval_dataset=held)\n")
        assert said(run, "metric_missing") == []

    def test_a_function_may_compute_it(self) -> None:
        run = read(
            self.ARGS.format("f1") + "def score(p):\n    return {}\n"
            "Trainer(model, args, train_dataset=data, eval_dataset=held, compute_metrics=score)\n"
        )
        assert said(run, "metric_missing") == []

    def test_so_may_a_trainer_of_the_scripts_own(self) -> None:
        run = read(
            self.ARGS.format("f1") + "class Mine(Trainer):\n    def evaluate(self, *a, **k):\n        return {}\n"
            "Mine(model, args, train_dataset=data, eval_dataset=held)\n"
        )
        assert said(run, "metric_missing") == []


def test_visible_devices() -> None:
    run = read(
        'import os\nos.environ["CUDA_VISIBLE_DEVICES"] = "0,2"\nargs = TrainingArguments("out")\n'
        "Trainer(model, args, train_dataset=data)\n"
    )
    assert run.setting("gpus").number == 2


class TestOptimizers:
    MADE = (
        "import torch\nfrom transformers import get_cosine_schedule_with_warmup\n"
        "made = torch.optim.AdamW(model.parameters(), lr=3e-4)\n"
        "plan = get_cosine_schedule_with_warmup(made, num_warmup_steps=10, num_training_steps=200)\n"
        'args = TrainingArguments("out", learning_rate=1e-5, warmup_steps=500, lr_scheduler_type="linear")\n'
    )

    def test_what_the_trainer_is_given_takes_the_arguments_place(self) -> None:
        run = read(self.MADE + "Trainer(model, args, train_dataset=data, optimizers=(made, plan))\n")
        names = ("learning_rate", "scheduler", "warmup_steps", "schedule_steps")
        assert [run.setting(name).value for name in names] == [3e-4, "cosine", 10, 200]

    def test_the_trainer_makes_what_is_none(self) -> None:
        run = read(self.MADE + "Trainer(model, args, train_dataset=data, optimizers=(made, None))\n")
        names = ("learning_rate", "scheduler", "warmup_steps")
        assert [run.setting(name).value for name in names] == [3e-4, "linear", 500]
        assert "schedule_steps" not in run.settings
        run = read(self.MADE + "Trainer(model, args, train_dataset=data, optimizers=(None, None))\n")
        assert run.setting("learning_rate").value == 1e-5

    def test_an_optimizer_goes_by_the_name_of_its_class(self) -> None:
        run = read(self.MADE + "Trainer(model, args, train_dataset=data, optimizers=(made, plan))\n")
        assert run.setting("optimizer").value == "adamw"
        lion = self.MADE.replace("torch.optim.AdamW", "Lion") + "Trainer(model, args, optimizers=(made, None))\n"
        assert read("from lion_pytorch import Lion\n" + lion).setting("optimizer").value == "lion"

    def test_what_cannot_be_seen_is_unknown(self) -> None:
        run = read(self.MADE + "Trainer(model, args, train_dataset=data, optimizers=make(model))\n")
        assert all(run.setting(name).unknown for name in ("learning_rate", "scheduler", "warmup_steps"))


SCRIPT = """\
from datasets import load_dataset
from transformers import AutoModelForCausalLM, Trainer, TrainingArguments

{load}
args = TrainingArguments("out", per_device_train_batch_size=8)
Trainer(model=AutoModelForCausalLM.from_pretrained("gpt2"), args=args, train_dataset={rows}).train()
"""


@pytest.mark.parametrize(
    ("chain", "rows", "records"),
    [
        (".select(range(500))", "data", 500),
        (".shuffle(seed=42).select(range(500))", "data", 500),
        (".filter(keep).select(range(500))", "data", 500),
        (".select(range(500)).filter(keep)", "data", None),
        (".select(range(500)).train_test_split(test_size=0.2)", 'data["train"]', 400),
        (".select(range(500)).shard(num_shards=3, index=0)", "data", 167),
        (".select(range(500)).shard(num_shards=3, index=2)", "data", 166),
        (".select(range(500)).shard(3, index)", "data", None),
        (".take(500)", "data", None),  # at most
        (".select(range(100, 500))", "data", None),
    ],
)
def test_what_is_selected_is_as_much_as_is_said(chain: str, rows: str, records: int | None) -> None:
    load = f'data = load_dataset("someone/private", split="train"){chain}'
    report = check_project({"train.py": SCRIPT.format(load=load, rows=rows)})
    assert report.runs[0].scenarios.fact("records").value == records


def test_what_is_assumed_is_selected_from() -> None:
    load = 'data = load_dataset("someone/private", split="train").select(range(500))'
    report = check_project({"train.py": SCRIPT.format(load=load, rows="data")}, {"records": 10_000})
    assert report.runs[0].scenarios.fact("records").value == 500


def test_rows_under_a_field_are_not_those_of_the_file() -> None:
    load = 'data = load_dataset("json", data_files="rows.json", field="data", split="train")'
    files = {"train.py": SCRIPT.format(load=load, rows="data"), "rows.json": '{"data": [{"text": "a"}, {"text": "b"}]}'}
    assert check_project(files).runs[0].scenarios.fact("records").value == 2


class TestWhatIsTrained:
    HEAD = "from transformers import *\nfrom trl import RewardTrainer\nfrom peft import get_peft_model\n"

    @pytest.mark.parametrize(
        ("model", "trainer", "encoder"),
        [
            ("AutoModelForSequenceClassification.from_pretrained('roberta-base')", "Trainer", True),
            ("get_peft_model(AutoModelForTokenClassification.from_pretrained('roberta-base'), None)", "Trainer", True),
            ("AutoModelForCTC.from_pretrained('facebook/wav2vec2-base')", "Trainer", True),
            ("AutoModelForDocumentQuestionAnswering.from_pretrained('microsoft/layoutlmv2')", "Trainer", True),
            ("AutoModelForCausalLM.from_pretrained('gpt2')", "Trainer", None),
            ("AutoModelForSequenceClassification.from_pretrained('gpt2')", "RewardTrainer", None),
        ],
    )
    def test_models_that_write_no_text(self, model: str, trainer: str, encoder: bool | None) -> None:
        text = f"model = {model}\nargs = TrainingArguments('out')\n{trainer}(model=model, args=args)\n"
        assert read(text, self.HEAD).setting("encoder").value is encoder


class TestRowsAskedFor:
    @pytest.mark.parametrize(
        ("data", "sample"),
        [
            ("load_dataset('acme/chat', split='train[:500]')", 500),
            ("load_dataset('acme/chat', split='train[100:500]')", 400),
            ("load_dataset('acme/chat', split='train').select(range(500))", 500),
            ("load_dataset('acme/chat', split='train').shuffle(1).select(range(500))", 500),
            ("load_dataset('acme/chat', split='train[:10%]')", None),
            ("load_dataset('acme/chat', split='train')", None),
        ],
    )
    def test_of_a_data_set(self, data: str, sample: int | None) -> None:
        run = read(f"args = TrainingArguments('out')\nTrainer(model, args, train_dataset={data})\n")
        assert [source.sample for source in run.training] == [sample]


@pytest.mark.parametrize(
    ("call", "saved"),
    [
        ("trainer.save_model('out')", True),
        ("trainer.model.save_pretrained('out')", True),
        ("tokenizer.save_pretrained('out')", None),
        ("processor.save_pretrained('out')", None),
        ("trainer.train()", None),
    ],
)
def test_a_script_that_saves_the_model_itself(call: str, saved: bool | None) -> None:
    run = read(f"args = TrainingArguments('out')\ntrainer = Trainer(model, args, train_dataset=data)\n{call}\n")
    assert run.setting("saved_by_script").value is saved


def test_no_epochs_and_no_steps_by_default_are_given_by_whoever_starts_it() -> None:
    flags = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--epochs', type=float)\n"
    flags += "a = p.parse_args()\n"
    for value, expected in (("a.epochs if a.epochs else -1", None), ("a.epochs if a.epochs else 2", 2), ("-1", -1)):
        run = read(f"{flags}args = TrainingArguments('out', num_train_epochs={value})\nTrainer(model, args, data)\n")
        assert run.setting("epochs").number == expected


def test_the_launchers_own_number_may_be_text() -> None:
    run = read("args = TrainingArguments('out', local_rank='-1')\nTrainer(model, args, data)\n")
    assert said(run, "number_as_text") == []
    run = read("args = TrainingArguments('out', adam_epsilon='1e-8')\nTrainer(model, args, data)\n")
    assert len(said(run, "number_as_text")) == 1
