"""Functions and classes of the file: arguments, defaults, what they return, who calls them."""

# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import pytest

from epochlint.documents.document import Scalar
from epochlint.documents.python import Derived
from tests.documents.python.reading import UNKNOWN, arguments, call, plain, script, value


@pytest.mark.parametrize(
    ("before", "expression", "expected"),
    [
        ("def f(a, b=2): return a * b", "f(3)", 6),
        ("def f(a, b=2): return a * b", "f(3, b=5)", 15),
        ("def f(*, a=1): return a", "f()", 1),
        ("def f(*args): return args[1]", "f(1, 2)", 2),
        ("def f(**kwargs): return kwargs['a']", "f(a=4)", 4),
        ("def f(a): return a", "f(*[7])", 7),
        ("def f(a): return a", "f(**{'a': 8})", 8),
        ("def f(a): return a", "f(*unknown)", UNKNOWN),
        ("def f(a=1): return a", "f(**unknown)", UNKNOWN),
        ("def f(): return", "f()", None),
        ("def f(): pass", "f()", None),
        ("def f(x):\n    if x: return 1\n    return 2", "f(True)", 1),
        ("def f(x):\n    if x: return 1\n    return 2", "f(unknown)", {"one of": [1, 2]}),
        ("def f(x):\n    if x: return 1", "f(unknown)", {"one of": [1, None]}),
        ("def f(n): return f(n - 1)", "f(3)", UNKNOWN),
        ("def f():\n    x = 3\n    def g(): return x\n    return g()", "f()", 3),
        ("x = 1\ndef f(): return x\nx = 2", "f()", 2),
        ("def f():\n    yield 1", "f()", UNKNOWN),
        ("f = lambda a: a + 1", "f(1)", 2),
        ("from functools import partial\ndef f(a, b): return a - b\ng = partial(f, 10)", "g(b=3)", 7),
        ("def outer(fn): return fn\n@outer\ndef f(a): return a", "f(5)", 5),
        ("async def f(): return 4", "await f()", 4),
        ("def f():\n    n = 0\n    def g():\n        nonlocal n\n        n = 5\n    g()\n    return n", "f()", 5),
        ("def f(d): d['a'] = 2\nd = {'a': 1}\nf(d)", "d['a']", 2),
    ],
)  # fmt: skip
def test_calls_of_local_functions(before: str, expression: str, expected: object) -> None:
    assert value(expression, before) == expected


def test_a_place_reached_with_different_values_is_one_call_with_options() -> None:
    document = script(
        """
        def train(rate, epochs):
            return TrainingArguments(learning_rate=rate, epochs=epochs, **({"x": 1} if rate > 1e-4 else {}))
        train(2e-4, 3)
        train(1e-4, 3)
        """
    )
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == {"learning_rate": {"one of": [2e-4, 1e-4]}, "epochs": 3, "x": UNKNOWN}
    assert made.function == "train"


def test_many_calls_of_a_function_cost_no_more_than_a_few() -> None:
    lines = ["def f0(x): return TrainingArguments(learning_rate=x)"]
    lines += [f"def f{n}(x): return (f{n - 1}(x), f{n - 1}(x + 1), f{n - 1}(x + 2))" for n in range(1, 40)]
    document = script("\n".join([*lines, "f39(1)"]))
    assert document.problems == []
    found = call(document, "TrainingArguments").argument("learning_rate")
    assert plain(found) == UNKNOWN or isinstance(plain(found), dict)


def test_a_function_that_nothing_calls_takes_its_defaults() -> None:
    document = script(
        """
        def train(rate=3e-4, epochs: int = 3, data=None, *, batch):
            TrainingArguments(learning_rate=rate, num_train_epochs=epochs, batch=batch)
        """
    )
    made = call(document, "TrainingArguments")
    assert plain(made.arguments) == {"learning_rate": 3e-4, "num_train_epochs": 3, "batch": UNKNOWN}
    assert not made.guarded
    found = made.argument("learning_rate")
    assert isinstance(found, Derived)
    assert found.default


def test_a_helper_is_read_through_its_caller_even_if_nothing_calls_that_one() -> None:
    text = """
    def arguments_for(rate=1e-4):
        return TrainingArguments(learning_rate=rate)
    def main():
        arguments_for(rate=5e-4)
    """
    assert arguments(text) == {"learning_rate": 5e-4}


def test_main_counts_as_run() -> None:
    text = """
    def main():
        rate = 1e-4
        TrainingArguments(learning_rate=rate)
    if __name__ == "__main__":
        main()
    """
    made = call(script(text), "TrainingArguments")
    assert plain(made.arguments) == {"learning_rate": 1e-4}
    assert (made.function, made.guarded) == ("main", False)


def test_functions_handed_to_a_launcher_get_its_arguments() -> None:
    text = """
    from accelerate import notebook_launcher
    def train(rate):
        TrainingArguments(learning_rate=rate)
    notebook_launcher(train, args=(2e-4,), num_processes=2)
    """
    document = script(text)
    assert plain(call(document, "TrainingArguments").arguments) == {"learning_rate": 2e-4}
    assert plain(call(document, "notebook_launcher").argument("num_processes")) == 2


def test_ray_hands_its_loop_config_over() -> None:
    text = """
    from ray.train.torch import TorchTrainer
    def loop(config):
        TrainingArguments(learning_rate=config["lr"])
    TorchTrainer(loop, train_loop_config={"lr": 1e-5})
    """
    assert arguments(text) == {"learning_rate": 1e-5}


# --- Classes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "expression", "expected"),
    [
        ("class C:\n    rate = 1e-4", "C.rate", 1e-4),
        ("class C:\n    rate = 1e-4\nc = C()", "c.rate", 1e-4),
        ("class C:\n    rate = 1e-4\nc = C()\nc.rate = 5", "c.rate", 5),
        ("class C:\n    rate = 1\nC.rate = 2", "C().rate", 2),
        ("class C:\n    def __init__(self, rate=3): self.rate = rate", "C().rate", 3),
        ("class C:\n    def __init__(self, rate=3): self.rate = rate", "C(rate=4).rate", 4),
        ("class C:\n    a = 1\n    b = a + 1", "C.b", 2),
        ("class C:\n    @property\n    def total(self): return self.a * 2\n    a = 5", "C().total", 10),
        ("class C:\n    @staticmethod\n    def f(a): return a", "C.f(3)", 3),
        ("class C:\n    x = 4\n    @classmethod\n    def f(cls): return cls.x", "C.f()", 4),
        ("class C:\n    def f(self, a): return a", "C().f(3)", 3),
        ("class B:\n    a = 1\nclass C(B):\n    pass", "C().a", 1),
        ("class B:\n    def __init__(self): self.a = 1\nclass C(B):\n    def __init__(self):\n        super().__init__()\n        self.b = self.a + 1", "C().b", 2),
        ("from dataclasses import dataclass\n@dataclass\nclass C:\n    a: int = 1\n    b: float = 2e-4", "C(b=3).b", 3),
        ("from dataclasses import dataclass\n@dataclass\nclass C:\n    a: int = 1\n    b: float = 2e-4", "C(7).a", 7),
        ("from dataclasses import dataclass, field\n@dataclass\nclass C:\n    a: int = field(default=1)\n    b: list = field(default_factory=lambda: [1])", "C().b", [1]),
        ("from dataclasses import dataclass\n@dataclass\nclass C:\n    a: int", "C().a", UNKNOWN),
        ("from dataclasses import dataclass\n@dataclass\nclass C:\n    a: int = 1\n    def __post_init__(self): self.b = self.a + 1", "C(4).b", 5),
        ("from dataclasses import dataclass, asdict\n@dataclass\nclass C:\n    a: int = 1", "asdict(C(a=2))", {"a": 2}),
        ("from dataclasses import dataclass, replace\n@dataclass\nclass C:\n    a: int = 1", "replace(C(), a=6).a", 6),
        ("from pydantic import BaseModel, Field\nclass C(BaseModel):\n    a: int = Field(1, ge=0)", "C().a", 1),
        ("from pydantic import BaseModel, Field\nclass C(BaseModel):\n    a: int = Field(...)", "C(a=3).a", 3),
        ("from typing import NamedTuple\nclass C(NamedTuple):\n    a: int = 1", "C().a", 1),
        ("from enum import Enum\nclass C(Enum):\n    A = 'steps'", "C.A.value", "steps"),
        ("class C:\n    a = 1", "getattr(C(), 'a')", 1),
        ("class C:\n    a = 1", "getattr(C(), 'b', 5)", 5),
        ("class C:\n    pass", "C().missing", UNKNOWN),
        ("from types import SimpleNamespace\nc = SimpleNamespace(a=1)\nc.b = 2", "c.a + c.b", 3),
        ("from easydict import EasyDict\nc = EasyDict({'a': {'b': 3}})", "c.a.b", 3),
        ("import copy\nc = {'a': [1]}\nd = copy.deepcopy(c)\nd['a'].append(2)", "c['a']", [1]),
        ("class C:\n    def set(self): self.a = 1\nc = C()\nc.set()", "c.a", 1),
        ("class C:\n    a = 1\nc = C()\nif unknown:\n    c.a = 2", "c.a", UNKNOWN),
    ],
)  # fmt: skip
def test_objects(before: str, expression: str, expected: object) -> None:
    found = value(expression, before)
    assert found == expected or (expected == UNKNOWN and isinstance(found, dict))


def test_methods_that_nothing_calls_see_what_init_sets() -> None:
    text = """
    class Finetuner:
        def __init__(self, rate=1e-4, model=None):
            self.rate = rate
            self.model = model
        def build(self, epochs=3):
            return TrainingArguments(learning_rate=self.rate, epochs=epochs, unseen=self.other)
    """
    assert arguments(text) == {"learning_rate": 1e-4, "epochs": 3, "unseen": UNKNOWN}


def test_methods_see_the_object_that_is_made() -> None:
    text = """
    class Finetuner:
        def __init__(self, rate=1e-4):
            self.rate = rate
        def build(self):
            return TrainingArguments(learning_rate=self.rate)
    Finetuner(rate=7e-5)
    """
    assert arguments(text) == {"learning_rate": 7e-5}


def test_methods_of_several_objects_see_none_of_them() -> None:
    text = """
    class Finetuner:
        def __init__(self, rate=1e-4):
            self.rate = rate
        def build(self):
            return TrainingArguments(learning_rate=self.rate)
    Finetuner(rate=7e-5)
    Finetuner(rate=8e-5)
    """
    assert arguments(text) == {"learning_rate": UNKNOWN}


def test_a_subclass_of_an_imported_dataclass_counts_as_it_with_its_defaults() -> None:
    document = script(
        """
        from dataclasses import dataclass, field
        from transformers import TrainingArguments

        @dataclass
        class Mine(TrainingArguments):
            learning_rate: float = field(default=2e-4, metadata={"help": "rate"})
            warmup_steps: int = 10
            needed: str = None

        args = Mine(output_dir="out", warmup_steps=5)
        """
    )
    made = call(document, "TrainingArguments")
    assert (made.origin, made.callee, made.local, made.target) == (
        "transformers.TrainingArguments",
        "Mine",
        False,
        "args",
    )
    assert plain(made.arguments) == {"learning_rate": 2e-4, "needed": None, "output_dir": "out", "warmup_steps": 5}
    entry = made.entry("learning_rate")
    assert entry is not None
    assert (entry.key_span.place.line, entry.key_span.text) == (7, "learning_rate")


def test_a_subclass_of_a_trainer_says_what_it_defines_itself() -> None:
    document = script(
        """
        from trl import SFTTrainer
        class Weighted(SFTTrainer):
            def __init__(self, *args, weight=1.0, **kwargs):
                super().__init__(*args, **kwargs)
                self.weight = weight
            def compute_loss(self, model, inputs):
                return 0
        trainer = Weighted(model="m", args=TrainingArguments(max_steps=5), weight=2.0)
        trainer.train(resume_from_checkpoint="out/checkpoint-5")
        """
    )
    made = call(document, "SFTTrainer")
    assert made.origin == "trl.SFTTrainer"
    assert made.methods == {"__init__", "compute_loss"}
    assert plain(made.arguments) == {"model": "m", "args": "TrainingArguments()", "weight": 2.0}
    train = call(document, "train")
    assert train.receiver is made
    assert train.origin == "trl.SFTTrainer.train"


def test_what_the_file_defines_hides_an_import_of_that_name() -> None:
    document = script(
        """
        from transformers import TrainingArguments
        class TrainingArguments:
            def __init__(self, learning_rate): self.learning_rate = learning_rate
        TrainingArguments(learning_rate=1)
        def sft(**options): pass
        sft(num_epochs=3)
        """
    )
    made = call(document, "TrainingArguments")
    assert (made.origin, made.local) == ("", True)
    assert [other.name for other in document.calls if other.name == "sft"] == []
    assert isinstance(made.argument("learning_rate"), Scalar)


def test_a_method_without_positional_parameters_is_called_in_many_ways() -> None:
    text = "class A:\n    def f(*args, x=1):\n        return x\n"
    document = script(text + "a = A()\n" + "".join(f"a.f(x={number})\n" for number in range(40)) + "Probe(x=a.f())\n")
    assert plain(call(document, "Probe").argument("x")) == UNKNOWN


@pytest.mark.parametrize(
    "line",
    ["%pip install trl==0.22.2", "!ls", "  %time", "%r", '%pip install "a" \'b'],
)
def test_a_notebook_that_is_kept_as_a_script(line: str) -> None:
    document = script(f"a = 1\n{line}\nTrainingArguments(learning_rate=2e-5, x=a)\n".replace("\n  %", "\nif a:\n  %"))
    assert document.problems == []
    [found] = document.calls
    assert found.arguments.get("learning_rate").span.text == "2e-5"


def test_a_remainder_is_no_line_of_a_notebook() -> None:
    assert value("a", before="b = 7\na = (b\n%b)") == 0
