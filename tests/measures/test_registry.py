"""A measure is one file and one line, known by name nowhere else; a wrong name gets one clear line."""

import ast
import functools
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brought import refused
from count_house import nodes
from small_world import join

import fire_toolkit
from examples import cases
from fire_toolkit.errors import PluginError, UsageError
from fire_toolkit.measures import list_measures, names, parse_measure, parse_measures
from fire_toolkit.measures.registry import MEASURES


def test_every_measure_says_what_it_is() -> None:
    for definition in list_measures():
        for text in (definition.summary, definition.source, definition.convention):
            assert text.endswith("."), definition.pattern


def test_two_measures_of_one_name_are_refused() -> None:
    refused("measure R is defined twice", MEASURES.add, "R", MEASURES["R"], by=RuntimeError)


def test_a_measure_must_give_one_value_for_each_query(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(MEASURES["MnR"], name="Wrong", per_query=lambda ranking: np.zeros((2, 3)))
    monkeypatch.setitem(MEASURES.built_in, "Wrong", wrong)
    with pytest.raises(
        PluginError, match="measure Wrong gave 2 × 3 values of type float64, expected one number for each"
    ):
        parse_measure("Wrong").per_query(join({"q": {"a": 1, "b": 2}}, {"q": {"z": 1}}))


def test_what_a_measure_is_stands_in_its_definition() -> None:
    known = {definition.key: definition for definition in list_measures()}
    assert {name for name, one in known.items() if one.is_binary} == {"C", "hit", "Success", "NN"}
    first = {"C", "hit", "Success", "NN", "RR", "MnR", "MedR"}
    assert {name for name, one in known.items() if one.by_first_positive} == first
    no_scores = {"Judged", "unjudged", "RBP_residual"}
    assert {name for name, one in known.items() if not one.is_score} == no_scores
    assert parse_measure("NN").depth == 1
    assert parse_measure("E").depth == 32
    unknown = {name for name, one in known.items() if one.bounds == "none"}
    assert unknown >= {"Judged", "unjudged", "RBP_residual", "xinfAP"}
    assert not unknown & first


PACKAGE = Path(fire_toolkit.__file__).parent
# The judgments' own word, and R@1 as logs of models print it.
OTHER_WORDS = {"unjudged", "R@1"}


def test_no_file_outside_measures_knows_one_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """But for the settings of a workspace, which must not load measures to know their defaults."""
    monkeypatch.setattr(names, "_nearest", lambda *_: "")  # which would be sought for ten thousand words
    begins_with_one = re.compile(rf"""["'}}](?:{"|".join(map(re.escape, MEASURES.built_in))})(?!\w)""")
    found: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if path.is_relative_to(PACKAGE / "measures") or "\nSETTINGS: dict" in text:
            continue
        if not begins_with_one.search(text):
            continue
        words = {node.value for node in nodes(path) if isinstance(node, ast.Constant)}
        known = {word for word in words if isinstance(word, str) and names_a_measure(word)} - OTHER_WORDS
        if known:
            found[path.name] = known
    assert found == {}


@functools.cache
def names_a_measure(word: str) -> bool:
    """Whether a text is a measure's name, or its beginning in an f-string (`C@`); letters alone are not."""
    if len(word) < 2 or len(word) > 40 or not word[0].isalpha() or " " in word.partition("(")[0]:
        return False
    try:
        parse_measure(word)
    except UsageError:
        return word.removesuffix("@") in MEASURES.built_in
    return True


def test_the_look_for_names_finds_them() -> None:
    known = ["C@1", "C@", "AP", "AP/min", "Judged"]
    assert known == list(filter(names_a_measure, [*known, "F", "R", "C", "score", ""]))


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
    refused("measures: found ... , expected a", parse_measures, measures, by=UsageError)


@cases("message", "name")
def test_a_wrong_name_is_refused_with_what_to_write(message: str, name: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_measure(name)
    assert str(error.value).startswith(message)
