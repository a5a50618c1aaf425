"""What a name holds where it is used: the order of statements, branches, loops and handlers."""

# ruff: noqa: E501 (one case a line)
from __future__ import annotations

import pytest

from epochlint.documents.python import Derived
from tests.documents.python.reading import UNKNOWN, arguments, call, plain, script, value


def rate(before: str, **options: object) -> object:
    return value("rate", before, **options)


def test_the_assignment_before_the_use_counts() -> None:
    document = script(
        """
        rate = 1e-4
        First(rate=rate)
        rate = 2e-4
        Second(rate=rate)
        """
    )
    assert plain(call(document, "First").argument("rate")) == 1e-4
    assert plain(call(document, "Second").argument("rate")) == 2e-4


@pytest.mark.parametrize(
    "before",
    [
        "if unknown:\n    rate = 1\nelse:\n    rate = 2",
        "rate = 1\nif unknown:\n    rate = 2",
        "rate = 1\ntry:\n    rate = int(unknown)\nexcept ValueError:\n    pass",
        "rate = 1\nfor x in things:\n    rate = 2",
        "rate = 1\nwhile unknown:\n    rate += 1",
        "for rate in (1, 2):\n    pass",
        "rate = 1\nmatch unknown:\n    case 'a':\n        rate = 2",
        "rate = 1\ndef change():\n    global rate\n    rate = 2",
        "rate = 1\nexec(code)\nrate += unknown",
        "rate = 1\nfrom settings import *",
        "from settings import rate",
        "rate, other = unknown()",
        "with unknown() as rate:\n    pass",
        "rate = 1\ndel rate",
        "for x in things:\n    rate = 1\n    if x:\n        break\n    rate = 2",
        "if unknown:\n    rate = 1\nelif other:\n    rate = 2\nelse:\n    rate = 3",
        "rate = 1\nfor x in things:\n    if x:\n        rate = 2\n    else:\n        rate = 3",
    ],
)
def test_two_reachable_values_are_not_known(before: str) -> None:
    if "def change" in before:
        # Nobody in the file calls it: another function may, before the one that uses the name.
        found = arguments(f"{before}\ndef use():\n    return Probe(x=rate)", "Probe")["x"]
    else:
        found = rate(before)
    assert found == UNKNOWN or (isinstance(found, dict) and "one of" in found) or found == "<settings.rate>"


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("if unknown:\n    rate = 5\nelse:\n    rate = 5", 5),
        ("rate = 1\nif False:\n    rate = 2", 1),
        ("rate = 1\nif 'a' == 'a':\n    rate = 2", 2),
        ("DEBUG = False\nrate = 1\nif DEBUG:\n    rate = 2", 1),
        ("if unknown:\n    rate = 3", 3),
        ("rate = 1\nif unknown:\n    raise ValueError\nrate = 2", 2),
        ("import sys\nrate = 1\nif unknown:\n    rate = 7\n    sys.exit(1)", 1),
        ("rate = 1\ntry:\n    import torch\nexcept ImportError:\n    pass", 1),
        ("for x in things:\n    rate = 4", 4),
        ("a = b = rate = 6", 6),
        ("(a, rate), c = (1, 8), 3", 8),
        ("first, *rest = [1, 2, 3]\nrate = rest[1]", 3),
        ("rate = 2\nrate *= 3\nrate -= 1", 5),
        (
            "match 'a':\n    case 'b':\n        rate = 1\n    case 'a':\n        rate = 2\n    case _:\n        rate = 3",
            2,
        ),
        ("rate = 1\nif __name__ == '__main__':\n    rate = 9", 9),
        ("rate = 1\ndef change():\n    global rate\n    rate = 2\nchange()", 2),
        ("if (n := 4) > 3:\n    rate = n", 4),
        ("rate = 1\nwhile False:\n    rate = 2", 1),
        ("rate: int = 3", 3),
    ],
)
def test_what_is_certain_is_known(before: str, expected: object) -> None:
    assert rate(before) == expected


def test_a_value_under_a_condition_keeps_its_options() -> None:
    assert rate("if unknown:\n    rate = 1\nelse:\n    rate = -1") == {"one of": [1, -1]}


def test_a_call_in_a_branch_is_guarded() -> None:
    document = script(
        """
        if unknown:
            A(x=1)
        else:
            B(x=2)
        C(x=3)
        try:
            D(x=4)
        except ValueError:
            E(x=5)
        for i in things:
            F(x=6)
        with pytest.raises(ValueError):
            G(x=7)
        H(x=1) if unknown else I(x=2)
        """
    )
    guarded = {made.name: made.guarded for made in document.calls if len(made.name) == 1}
    assert guarded == {
        "A": True, "B": True, "C": False, "D": False, "E": True, "F": False, "G": True, "H": True, "I": True,
    }  # fmt: skip


def test_code_that_never_runs_makes_no_calls() -> None:
    document = script("if False:\n    A(x=1)\nimport sys\nB(x=2)\nsys.exit(0)\nC(x=3)")
    assert [made.name for made in document.calls] == ["B"]


def test_a_branch_that_only_a_default_excludes_is_guarded_and_changes_nothing() -> None:
    document = script(
        """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--debug", action="store_true")
        args = parser.parse_args()
        steps = -1
        options = {"a": 1}
        if args.debug:
            steps = 10
            options["a"] = 2
            Small(max_steps=steps)
        Large(max_steps=steps, a=options["a"])
        """
    )
    assert plain(call(document, "Large").arguments) == {"max_steps": -1, "a": 1}
    assert plain(call(document, "Small").arguments) == {"max_steps": 10}
    assert call(document, "Small").guarded
    assert not call(document, "Large").guarded


def test_mutable_values_are_followed() -> None:
    text = """
    options = {"a": 1, "b": {"c": 2}}
    alias = options["b"]
    alias["c"] = 3
    options.update(a=5, d=6)
    options["e"] = options.pop("d")
    options.setdefault("f", 7)
    del options["f"]
    TrainingArguments(**options)
    options["a"] = 9
    """
    assert arguments(text) == {"a": 5, "b": {"c": 3}, "e": 6}


def test_a_key_set_under_a_condition_is_perhaps_there() -> None:
    text = """
    options = {"a": 1}
    if new_version:
        options["eval_strategy"] = "steps"
    else:
        options["evaluation_strategy"] = "steps"
    if other:
        options["a"] = 2
    TrainingArguments(**options)
    """
    assert arguments(text) == {
        "a": {"one of": [1, 2]},
        "eval_strategy": {"one of": ["steps"]},
        "evaluation_strategy": {"one of": ["steps"]},
    }


@pytest.mark.parametrize(
    "change",
    [
        "options.update(unknown)",
        "options[unknown] = 1",
        "for key in things:\n    options[key] = 1",
        "options = {**options, **unknown}",
        "options |= unknown",
        "options.clear()",
        "for k, v in things.items():\n    options[k] = v",
    ],
)
def test_a_change_that_cannot_be_followed_makes_the_keys_unknown(change: str) -> None:
    found = arguments(f"options = {{'a': 1}}\n{change}\nTrainingArguments(**options)")
    assert found.get("a", UNKNOWN) == UNKNOWN
    assert found.get("...") or found == {"...": True}


def test_lists_are_followed_until_a_loop_fills_them() -> None:
    assert value("names", "names = ['a']\nnames.append('b')\nnames += ['c']\nnames.extend(['d'])") == [
        "a",
        "b",
        "c",
        "d",
    ]
    assert value("names", "names = []\nfor x in things:\n    names.append(x)") == UNKNOWN
    assert value("names", "names = ['a']\nif unknown:\n    names.append('b')") == UNKNOWN


def test_attributes_set_by_name_in_a_loop_are_unknown() -> None:
    text = """
    from types import SimpleNamespace
    args = SimpleNamespace(rate=1e-4, epochs=3)
    for key, value in settings.items():
        setattr(args, key, value)
    TrainingArguments(learning_rate=args.rate)
    """
    assert arguments(text) == {"learning_rate": UNKNOWN}


def test_the_fields_of_an_object_are_a_dict_that_changes_with_it() -> None:
    text = """
    from types import SimpleNamespace
    args = SimpleNamespace(rate=1e-4, epochs=3)
    vars(args)["rate"] = 2e-4
    args.__dict__.update({"epochs": 5})
    TrainingArguments(learning_rate=args.rate, n=args.epochs, **{"a": vars(args)["rate"]})
    """
    assert arguments(text) == {"learning_rate": 2e-4, "n": 5, "a": 2e-4}


def test_a_key_that_is_perhaps_there_with_one_of_several_values_is_unknown() -> None:
    text = """
    options = {}
    if new_version:
        options["a"] = 1
    if other:
        options["a"] = 2
    TrainingArguments(**options)
    """
    assert arguments(text) == {"a": UNKNOWN}


def test_what_a_default_decides_rests_on_it() -> None:
    text = """
    import argparse
    parser = argparse.ArgumentParser()
    parser.add_argument("--do_eval", action="store_true")
    args = parser.parse_args()
    data = None
    steps = 5
    if args.do_eval:
        data = load("x")
    TrainingArguments(data=data, steps=steps)
    """
    made = call(script(text), "TrainingArguments")
    data, steps = made.argument("data"), made.argument("steps")
    assert isinstance(data, Derived)
    assert (data.value, data.default) == (None, True)
    assert not (isinstance(steps, Derived) and steps.default)
    # With the launch known nothing rests on a default.
    known = call(script(text, launch={"x": "1"}), "TrainingArguments").argument("data")
    assert not (isinstance(known, Derived) and known.default)
