"""Measures are named as they are typed, and a wrong name gets one clear line."""

from typing import Any

import pytest

from examples import cases
from fire_toolkit.errors import UsageError
from fire_toolkit.measures import list_measures, parse_measure, parse_measures


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


@cases("ours", "others")
def test_names_of_other_programs_mean_ours(ours: str, others: str) -> None:
    assert parse_measure(others).name == ours


def test_measures_of_ir_measures_are_known_by_how_they_print() -> None:
    class Others:
        def __init__(self, printed: str) -> None:
            self.printed = printed

        def __str__(self) -> str:
            return self.printed

    Others.__module__ = "ir_measures.measures.base"
    printed = ["nDCG@10", "AP", "P(rel=2)@5", "Bpref", "Success@1"]
    names = [measure.name for measure in parse_measures([Others(each) for each in printed])]
    assert names == ["nDCG@10", "AP", "P@5:rel=2", "bpref", "Success@1"]


@pytest.mark.parametrize("measures", [5, "C@1", None, [], [5], [None], {"C@1": 1}])
def test_what_is_no_list_of_measures_is_refused(measures: Any) -> None:
    with pytest.raises(UsageError, match=r"measures: found .*, expected a"):
        parse_measures(measures)


@cases("message", "name")
def test_a_wrong_name_is_refused_with_what_to_write(message: str, name: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_measure(name)
    assert str(error.value).startswith(message)
