"""What the language takes, and what it says about everything else."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from epochlint.rules.grammar import ExpressionError, Scope, compile_, condition


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("totl_steps < 20", "unknown name `totl_steps` (did you mean `total_steps`?)"),
        ("settings.totl < 20", "unknown setting `totl`"),
        ("threshold.fw < 20", "unknown threshold `fw` (did you mean `few`?)"),
        ("observation.key == 1", "`observation.` needs a rule on an observation"),
        ("baseline.nothing == 1", "unknown name `nothing`"),
        ("somewhere.else_ == 1", "unknown name `somewhere.else_`"),
        ("givn(max_steps)", "unknown function `givn` (did you mean `given`?)"),
        ("given(max_steps, 2)", "`given` takes 1 argument"),
        ("given()", "`given` takes 1 argument"),
        ("default(1)", "`default` takes 2 arguments"),
        ("given(1 + 1)", "`given` asks about a setting by its name"),
        ("differs_by_version(3)", "`differs_by_version` asks about a fact by its name"),
        ("written(total_steps)", "`written` asks about a setting by its name"),
        ("max_steps is None", "`is` is not part of the language"),
        ("max_steps in epochs", "`in` needs words or numbers"),
        ("max_steps <", "not an expression"),
        ("lambda: 1", "is not part of the language"),
        ("[1, 2]", "is not part of the language"),
        ("max_steps ** 2", "is not part of the language"),
        ("print('x')", "unknown function `print`"),
        ("max_steps.real", "unknown name `max_steps.real`"),
        ("(lambda: 1)()", "is not part of the language"),
        ("default(x=1, y=2)", "is not part of the language"),
        ("'a'.join(b)", "is not part of the language"),
        ("f'{max_steps}'", "is not part of the language"),
        ("1j", "is not part of the language"),
        ("...", "is not part of the language"),
    ],
)
def test_mistakes_are_told(text: str, message: str) -> None:
    with pytest.raises(ExpressionError) as told:
        compile_(text, Scope(["few"]))
    assert message in str(told.value)


def test_a_compiled_expression_is_made_of_constants() -> None:
    node = condition("total_steps < 20 and not given(max_steps)", Scope())
    assert node == ("and", ("compare", "<", ("name", "total_steps"), ("constant", 20)), ("not", ("given", "max_steps")))


def test_written_asks_the_setting_even_where_a_fact_has_its_name() -> None:
    assert compile_("written(epochs)", Scope())[0] == ("written", "settings.epochs")
    assert compile_("given(epochs)", Scope())[0] == ("given", "epochs")
    assert compile_("given(settings.epochs)", Scope())[0] == ("given", "settings.epochs")


def test_let_names_stand_for_their_expression() -> None:
    scope = Scope()
    scope.define("short", "total_steps < 20")
    scope.define("hopeless", "short and decays")
    assert condition("hopeless", scope) == ("and", scope.let["short"][0], ("truth", ("name", "decays")))
    with pytest.raises(ExpressionError, match="is a fact or setting already"):
        scope.define("total_steps", "3")


def test_an_unknown_observation_is_told() -> None:
    with pytest.raises(ExpressionError, match="did you mean `duplicate_key`"):
        Scope((), "duplicat_key")
    with pytest.raises(ExpressionError, match="this observation has no value `kee`"):
        compile_("observation.kee", Scope((), "duplicate_key"))


@given(st.text(max_size=40))
def test_any_text_compiles_or_is_refused(text: str) -> None:
    try:
        compile_(text, Scope())
    except ExpressionError:
        pass


def test_deep_nesting_is_refused_not_a_crash() -> None:
    with pytest.raises(ExpressionError):
        compile_("(" * 3000 + "1" + ")" * 3000, Scope())
    try:
        compile_("not " * 3000 + "true", Scope())
    except ExpressionError:
        pass
