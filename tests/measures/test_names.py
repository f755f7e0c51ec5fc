"""Measures are named as they are typed, and a wrong name gets one clear line."""

from __future__ import annotations

import pytest

from fire_toolkit.errors import UsageError
from fire_toolkit.measures import list_measures, parse_measure


@pytest.mark.parametrize(
    "name",
    ["C@10", "AP_fire@20", "AP", "AP@100", "F(beta=0.5)@3", "RBP(p=0.95)", "AP@10/min:condensed",
     "nDCG", "nDCG@5", "MedR", "P@10:rel=2", "C@1:condensed",
     "AP@5:rel=3:condensed", "Judged@1000000000"],
)  # fmt: skip
def test_a_name_prints_as_it_was_typed(name: str) -> None:
    assert name == parse_measure(name).name == str(parse_measure(name))


def test_every_example_is_a_name() -> None:
    for definition in list_measures():
        measure = parse_measure(definition.example)
        assert definition == measure.definition
        assert definition.example == measure.name


def test_modifiers_print_in_one_order_whatever_the_order_typed() -> None:
    assert parse_measure("C@5:rel=2:condensed") == parse_measure("C@5:condensed:rel=2")
    assert parse_measure("C@5:condensed:rel=2").name == "C@5:rel=2:condensed"
    assert parse_measure("C@5:rel=1").name == "C@5"
    assert parse_measure("F(beta=1)@5").name == "F@5"
    assert parse_measure("RBP(p=.80)").name == "RBP(p=0.8)"


@pytest.mark.parametrize(
    ("message", "name"),
    [
        ("no measure 'ndcg@10'; did you mean nDCG@10?", "ndcg@10"),
        ("no measure 'MAP'; did you mean AP?", "MAP"),
        ("no measure 'mrr@5'; did you mean RR@5?", "mrr@5"),
        ("no measure 'Recall@5'; did you mean R@5?", "Recall@5"),
        ("no measure 'MedianR'; did you mean MedR?", "MedianR"),
        ("no measure 'AP@5/mim'; did you mean AP@5/min?", "AP@5/mim"),
        ("measure 'AP/min' has no cutoff; expected one, such as AP@10/min", "AP/min"),
        ("no measure 'F1@5'; did you mean F@5?", "F1@5"),
        ("measure 'F(beta=0)' has beta='0'; expected a number above 0", "F(beta=0)"),
        ("measure 'F(beta=-1)' has beta='-1'; expected a number above 0", "F(beta=-1)"),
        ("measure 'F(beta=inf)' has beta='inf'; expected a number above 0", "F(beta=inf)"),
        ("measure 'F(beta=two)' has beta='two'; expected a number above 0", "F(beta=two)"),
        ("measure 'F(b=2)' has 'b=2'; expected each once of: beta", "F(b=2)"),
        ("measure 'F(beta=2,beta=2)' has 'beta=2'; expected each once of: beta", "F(beta=2,beta=2)"),
        ("measure 'F()' has ''; expected each once of: beta", "F()"),
        ("measure 'RBP' lacks p; write RBP(p=0.8)", "RBP"),
        ("measure 'RBP(p=1)' has p='1'; expected a number above 0 and below 1", "RBP(p=1)"),
        ("measure 'RBP(p=0)' has p='0'; expected a number above 0 and below 1", "RBP(p=0)"),
        ("measure 'RBP(p=nan)' has p='nan'; expected a number above 0 and below 1", "RBP(p=nan)"),
        (
            "measure 'IPrec(recall=1.01)' has recall='1.01'; expected a number from 0 to 1",
            "IPrec(recall=1.01)",
        ),
        ("measure 'IPrec(recall=nan)' has recall='nan'; expected a number from 0 to 1", "IPrec(recall=nan)"),
        ("no measure 'zzzzzz'; expected one of C@k, ", "zzzzzz"),
        ("no measure ''; expected a name such as C@10, ", ""),
        ("no measure '@10'; expected a name", "@10"),
        ("measure 'C' has no cutoff; expected one, such as C@10", "C"),
        ("measure 'C@0' has the cutoff '0'; expected a whole number from 1, such as C@10", "C@0"),
        ("measure 'C@-1' has the cutoff '-1'; expected a whole number from 1", "C@-1"),
        ("measure 'C@2.5' has the cutoff '2.5'; expected a whole number from 1", "C@2.5"),
        ("measure 'C@' has the cutoff ''; expected a whole number from 1", "C@"),
        ("measure 'C@١' has the cutoff '١'; expected a whole number from 1", "C@١"),
        ("measure 'C@99999999999' has the cutoff", "C@99999999999"),
        ("measure 'MedR@3' has a cutoff, but MedR takes none; write MedR", "MedR@3"),
        ("measure 'C(p=1)@3' has 'p=1'; expected each once of: none", "C(p=1)@3"),
        ("measure 'C@3:rel=0' has the modifier 'rel=0'; expected each at most once of: rel=N", "C@3:rel=0"),
        ("measure 'C@3:condense' has the modifier 'condense'", "C@3:condense"),
        ("measure 'C@3:' has the modifier ''", "C@3:"),
        ("measure 'C@3:condensed:condensed' has the modifier 'condensed'", "C@3:condensed:condensed"),
    ],
)
def test_a_wrong_name_is_refused_with_what_to_write(message: str, name: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_measure(name)
    assert str(error.value).startswith(message)
