"""A new measure is one file and one line of registration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fire_toolkit.errors import PluginError
from fire_toolkit.measures import list_measures, parse_measure
from fire_toolkit.measures.registry import MEASURES


def test_every_measure_says_what_it_is() -> None:
    for definition in list_measures():
        for text in (definition.summary, definition.source, definition.convention):
            assert text.endswith("."), definition.pattern


def test_two_measures_of_one_name_are_refused() -> None:
    with pytest.raises(RuntimeError, match="measure R is defined twice"):
        MEASURES.add("R", MEASURES["R"])


def test_a_measure_must_give_one_value_for_each_query(join, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = replace(MEASURES["MnR"], name="Wrong", per_query=lambda ranking: np.zeros((2, 3)))
    monkeypatch.setitem(MEASURES.built_in, "Wrong", wrong)
    with pytest.raises(
        PluginError, match="measure Wrong gave 2 × 3 values, expected one for each of 1 queries"
    ):
        parse_measure("Wrong").per_query(join({"q": {"a": 1, "b": 2}}, {"q": {"z": 1}}))


def test_what_a_measure_is_stands_in_its_definition() -> None:
    known = {definition.key: definition for definition in list_measures()}
    assert {name for name, one in known.items() if one.is_binary} == {"C", "hit", "Success", "NN"}
    first = {"C", "hit", "Success", "NN", "RR", "MnR", "MedR"}
    assert {name for name, one in known.items() if one.by_first_positive} == first
    assert parse_measure("NN").depth == 1
    assert parse_measure("E").depth == 32
    unknown = {name for name, one in known.items() if one.bounds == "none"}
    assert unknown >= {"Judged", "unjudged", "RBP_residual", "xinfAP"}
    assert not unknown & first
