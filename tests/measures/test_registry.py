"""A new measure is one file and one line of registration."""

from __future__ import annotations

import textwrap

import pytest

import fire_toolkit.measures
from fire_toolkit.measures import list_measures, parse_measure, registry


def test_every_measure_says_what_it_is() -> None:
    for definition in list_measures():
        for text in (definition.summary, definition.source, definition.convention):
            assert text.endswith("."), definition.pattern


def test_a_file_and_a_line_add_a_measure(join, tmp_path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "retrieved_share.py").write_text(
        textwrap.dedent(
            """
            from fire_toolkit.measures.definition import Definition
            from fire_toolkit.measures.segments import share

            def fullness(ranking, *, k):
                return share(ranking.n_retrieved.clip(max=k), k)

            MEASURES = (
                Definition("Full", "Share of k retrieved.", "A test.", "None.", fullness, cutoff="required"),
            )
            """
        )
    )
    monkeypatch.setattr(fire_toolkit.measures, "__path__", [*fire_toolkit.measures.__path__, str(tmp_path)])
    monkeypatch.setattr(registry, "FILES", [*registry.FILES, "retrieved_share"])
    assert list_measures()[-1].pattern == "Full@k"
    assert list(parse_measure("Full@4").per_query(join({"q": {"a": 1, "b": 2}}, {"q": {"z": 1}}))) == [0.5]


def test_two_measures_of_one_name_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FILES", ["recall", "recall"])
    with pytest.raises(RuntimeError, match="measure R is defined twice"):
        list_measures()


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
