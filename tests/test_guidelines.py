"""A guideline's labels, grades and hash; when its three files count as agreeing."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import cases
from fire_toolkit.errors import TableError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import parse_label_config
from fire_toolkit.guidelines.model import (
    DEFAULT_GRADES,
    DEFAULT_NAME,
    Guideline,
    choose_grades,
    disagreements,
)
from fire_toolkit.workspace.config import SETTINGS

DEFAULT = read_guideline("caption-relevance-v1")


NO, YES, OTHER = DEFAULT.labels


def complaints(guideline: Guideline) -> str:
    return "; ".join(disagreements(guideline, parse_label_config(guideline.label_config)))


def test_the_hash_changes_with_any_part_and_with_nothing_else() -> None:
    assert DEFAULT.sha256 == replace(DEFAULT).sha256
    others = [
        replace(DEFAULT, text=DEFAULT.text + "\n"),
        replace(DEFAULT, label_config=DEFAULT.label_config + "\n"),
        replace(DEFAULT, labels=(replace(DEFAULT.labels[0], description="No."), *DEFAULT.labels[1:])),
        replace(DEFAULT, labels=DEFAULT.labels[::-1]),
    ]
    assert len({DEFAULT.sha256, *(other.sha256 for other in others)}) == 5


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"question": "Is it so?"}, "no Header 'Is it so?'; guideline.md does not ask 'Is it so?'"),
        ({"title": "Another title"}, "does not start with the title '# Another title'"),
        ({"version": 2}, "'caption-relevance-v1' does not end in -v2"),
        ({"item_kind": "image"}, "image is no such object, expected a Image or HyperText of $image"),
        ({"item_kind": "sound"}, "item_kind 'sound' is not one of video, image, audio, text, none"),
        ({"item_kind": "none"}, "relevance is about 'video', expected 'caption'"),
        ({"labels": (OTHER, YES, NO)}, "relevance of the labels is [1, 0]"),
        ({"labels": (YES, OTHER)}, "relevance of the labels is [1]"),
        ({"labels": (NO, YES)}, "guideline.md explains answers"),
        (
            {"labels": (NO, YES, replace(OTHER, name="relevant", hotkey="1"))},
            "name 'relevant' is given twice; hotkey '1' is given twice",
        ),
        *(
            ({"labels": (NO, YES, replace(OTHER, name=name))}, "is empty or holds white space, ';' or '$'")
            for name in ("not sure", "a;b", "$caption", "")
        ),
        ({"flags": ()}, "flags has choices and hotkeys {'sensitive': '4'}, labels.toml has {}"),
        ({"text": DEFAULT.text + "`maybe`"}, "guideline.md names maybe in code font"),
        ({"text": DEFAULT.text.replace("| `3` |", "| `9` |")}, "guideline.md explains answers and hotkeys"),
    ],
)
def test_a_guideline_whose_files_disagree_says_in_what(change: dict[str, Any], complaint: str) -> None:
    assert complaints(DEFAULT) == ""
    assert complaint in complaints(replace(DEFAULT, **change))


@cases("before", "after", "complaint")
def test_a_labeling_page_that_asks_otherwise_is_refused(before: str, after: str, complaint: str) -> None:
    assert before in DEFAULT.label_config
    other = replace(DEFAULT, label_config=DEFAULT.label_config.replace(before, after))
    assert complaint in complaints(other)


@given(st.lists(st.integers(-(10**15) + 1, 10**15 - 1), min_size=1, unique=True))
def test_whole_numbers_keep_value_and_order(numbers: list[int]) -> None:
    expected = sorted(numbers)
    grades = choose_grades([str(number) for number in numbers]) or {}
    assert list(grades.values()) == expected
    assert list(grades) == [str(number) for number in expected]


NO_NUMBERS = ["", "nan", "inf", "1e3", "1_000", "١", " 1", "1 ", "0x1", "9" * 5000]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "0"], [("0", 0), ("1", 1)]),
        (["10", "2", "-1", "2.5", "007"], [("-1", -1), ("2", 2), ("2.5", 2.5), ("007", 7), ("10", 10)]),
        (["relevant", "ambiguous"], [("irrelevant", 0), ("relevant", 1), ("ambiguous", None)]),
        ([], list(DEFAULT.grades.items())),
        (["cat", "dog"], None),
        *((["1", word], None) for word in NO_NUMBERS),
    ],
)
def test_without_a_named_guideline_the_labels_decide(
    labels: list[str], expected: list[tuple[str, float | None]] | None
) -> None:
    found = choose_grades(labels, guideline=None, default=DEFAULT)
    assert (None if found is None else list(found.items())) == expected


@pytest.mark.parametrize(
    ("labels", "named", "complaint"),
    [
        (["1", "1.0"], None, "are the same number"),
        (["0", "-0"], None, "are the same number"),
        (["7", "007"], None, "are the same number"),
        (["relevant", "relevnat"], None, r"caption-relevance-v1 does not have: 'relevnat' \(1\)"),
        (["0", "1"], DEFAULT, r"does not have: '0' \(1\), '1' \(1\)"),
    ],
)
def test_what_is_half_known_or_not_of_the_named_guideline_is_refused(
    labels: list[str], named: Guideline | None, complaint: str
) -> None:
    with pytest.raises(TableError, match=complaint):
        choose_grades(labels, guideline=named, default=DEFAULT)


def test_the_usual_grades_are_those_of_the_default_guideline() -> None:
    assert (DEFAULT.name, DEFAULT.grades) == (DEFAULT_NAME, DEFAULT_GRADES)
    assert SETTINGS["tasks"]["guideline"] == DEFAULT_NAME
    for labels in (["relevant"], ["1", "0.5"], ["yes"], []):
        assert choose_grades(labels) == choose_grades(labels, guideline=None, default=DEFAULT)
    assert choose_grades(["relevant"], guideline=DEFAULT) == DEFAULT.grades
