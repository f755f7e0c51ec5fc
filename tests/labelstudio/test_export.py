"""Label Studio's JSON export: every answer becomes a judgment or is dropped with a reason, none is lost."""

import contextlib
import copy
import json
import random
import re
from typing import Any

import pandas as pd
import pandas.testing as pdt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import cases, examples
from fire_toolkit.campaign.answers import parse_export
from fire_toolkit.campaign.coded import listed_rows
from fire_toolkit.campaign.exported import columns_of_export
from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.campaign.ledger import Origin
from fire_toolkit.campaign.votes import ImportResult, judgments_from_export
from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.resolution.judgments import utc_time

GUIDELINE = read_guideline("caption-relevance-v1")
Json = Any


def result(control: str, *values: str, origin: str | None = "manual") -> Json:
    """Return one entry of an annotation's result as the labeling page writes it."""
    kind = "text" if control == "comment" else "choices"
    entry = {"value": {kind: list(values)}, "id": "PLQUagIM2e", "from_name": control, "to_name": "video"}
    return {**entry, "type": "textarea" if kind == "text" else kind, **({"origin": origin} if origin else {})}


def annotation(number: int, label: str | None = "relevant", **fields: Json) -> Json:
    """Return an annotation as an export has it; `fields` replace its own."""
    stamp = f"2026-11-20T12:{number:02d}:00.815491Z"
    return {
        "id": number,
        "completed_by": 3,
        "updated_by": 3,
        "was_cancelled": False,
        "ground_truth": False,
        "created_at": stamp,
        "updated_at": stamp,
        "lead_time": 7.166,
        "unique_id": f"uuid-{number}",
        "prediction": {},
        "parent_prediction": None,
        "project": 22,
        "result": [] if label is None else [result("relevance", label)],
        **fields,
    }


def task(*annotations: Json, pair: tuple[str, str] = ("q1", "v1"), drafts: Json = (), **fields: Json) -> Json:
    content = {"caption": "a dog", "video": "v.mp4", "pair_id": pair_id(*pair)}
    own = {"id": 110052, "project": 22, "data": content, "meta": {}, "predictions": [33006]}
    return {**own, "annotations": list(annotations), "drafts": list(drafts), **fields}


def imported(*exports: list[Json]) -> ImportResult:
    named = [(f"export{n}.json", json.dumps(export).encode()) for n, export in enumerate(exports, start=1)]
    return judgments_from_export(named, guideline=GUIDELINE)


def labels(table: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(table["annotator_id"], table["label"], strict=True))


def bare(**fields: Json) -> Json:
    return annotation(1, fields.pop("label", "relevant"), unique_id=None, **fields)


def test_an_answer_becomes_a_judgment_with_all_its_columns() -> None:
    said = [result("relevance", "relevant"), result("flags", "sensitive")]
    answer = annotation(36, result=[*said, result("comment", "looks fine", "but\nshort")])
    found = imported([task(answer, pair=("q:1|x", "007"))])
    assert found.judgments.to_dict("records") == [
        {"query_id": "q:1|x", "doc_id": "007", "annotator_id": "3", "label": "relevant"}
        | {"created_at": "2026-11-20T12:36:00.815491Z", "duration_s": 7.166, "flags": "sensitive"}
        | {"comment": "looks fine / but / short", "origin": "manual", "round": 1, "guideline": GUIDELINE.name}
    ]
    assert (len(found.dropped), found.notes) == (0, ())


LATER, EVEN = "2026-11-21T00:00:00Z", "2026-11-20T12:00:00Z"
PLAYS_NOT = [result("relevance", "relevant"), result("comment", "does not play")]
DRAFT = {"id": 8, "user": 4, "created_at": EVEN, "result": [result("relevance", "relevant")]}
NO_LABEL = [result("comment", "hm"), result("verdict", "relevant")]
MIXED = [result("relevance", "relevant"), result("relevance", "x")]


def one(*answers: Json, drafts: Json = ()) -> list[list[Json]]:
    """Return the exports of answers to one task."""
    return [[task(*answers, drafts=drafts)]]


def in_turn(*answers: Json) -> list[list[Json]]:
    """Return exports with an answer each."""
    return [[task(answer)] for answer in answers]


YES, NO = ("3", "relevant"), ("3", "irrelevant")
SPLIT = [result("relevance", "relevant", "irrelevant")]
TWICE = [result("relevance", "relevant")] * 2
NEWER = annotation(1, "irrelevant", updated_at=LATER)
# Exports; who gave which label; and of what was dropped reason, annotator, label, detail, as far as given.
OUTCOMES: dict[str, tuple[list[list[Json]], list[tuple[str, str]], list[tuple[str, ...]]]] = {
    "the escalation is a label": (one(annotation(1, "ambiguous")), [("3", "ambiguous")], []),
    "a skip is dropped with what it held": (
        one(annotation(5, was_cancelled=True, result=PLAYS_NOT), annotation(6, "irrelevant")),
        [NO],
        [("skipped", *YES, "annotation 5 / does not play")],
    ),
    "an answer stands though the same person skipped the pair later": (
        one(annotation(1), annotation(2, None, was_cancelled=True)),
        [YES],
        [("skipped",)],
    ),
    "drafts are dropped with what they hold": (
        one(drafts=[7, DRAFT, {"id": 9, "user": "ann@example.org", "result": []}]),
        [],
        [("draft", "", "", "draft 7"), ("draft", "", "", "draft 9"), ("draft", "4", "relevant", "draft 8")],
    ),
    "no label and several labels are no votes": (
        one(
            *(
                annotation(n, completed_by=n, result=r)
                for n, r in enumerate((NO_LABEL, SPLIT, TWICE, MIXED), 1)
            )
        ),
        [YES],
        [
            ("no_label", "1", "", "annotation 1 / answered: comment, verdict / hm"),
            ("several_labels", "2", "relevant;irrelevant", "annotation 2"),
            ("several_labels", "4", "relevant;x", "annotation 4"),
        ],
    ),
    "of several answers of one person the last change counts": (
        one(NEWER, annotation(2), annotation(3, completed_by=4)),
        [NO, ("4", "relevant")],
        [("superseded",)],
    ),
    "among equal times the higher id counts": (
        one(annotation(10, updated_at=EVEN), annotation(9, "irrelevant", updated_at=EVEN)),
        [YES],
        [("superseded",)],
    ),
    "one pair in two tasks and projects is one pair": (
        [[task(annotation(1)), task(annotation(2, "irrelevant", project=23), project=23)]],
        [NO],
        [("superseded",)],
    ),
    "of one annotation in two files the newest version counts": (
        in_turn(annotation(1), NEWER),
        [NO],
        [("duplicate", *YES)],
    ),
    "whichever file comes first": (in_turn(NEWER, annotation(1)), [NO], [("duplicate", *YES)]),
    "a newer version that is a skip takes the answer back": (
        in_turn(annotation(1), annotation(1, was_cancelled=True, updated_at=LATER)),
        [],
        [("duplicate",), ("skipped",)],
    ),
    "without unique_id project and id tell copies": (in_turn(bare(), bare()), [YES], [("duplicate",)]),
    "and what is none": (in_turn(bare(), bare(project=23)), [YES], [("superseded",)]),
    "an id that was used again for another pair or person is no copy": (
        [[task(bare())], [task(bare(), pair=("q1", "v2"))], [task(bare(completed_by=4))]],
        [YES, ("4", "relevant"), YES],
        [],
    ),
    "the same unique_id under two names is two votes": (
        one(*(annotation(n, completed_by=n, unique_id="pair 1") for n in (1, 2))),
        [("1", "relevant"), ("2", "relevant")],
        [],
    ),
    "an older export still knows the name of a deleted account": (
        in_turn(annotation(7, completed_by=None), annotation(7)),
        [YES],
        [("duplicate",)],
    ),
}


@pytest.mark.parametrize("case", OUTCOMES)
def test_every_answer_counts_or_is_dropped_with_its_reason(case: str) -> None:
    exports, expected, dropped = OUTCOMES[case]
    found = imported(*exports)
    assert labels(found.judgments) == expected
    columns = (found.dropped[name] for name in ("reason", "annotator_id", "label", "detail"))
    rows = list(zip(*columns, strict=True))
    assert [row[: len(wanted)] for row, wanted in zip(rows, dropped, strict=True)] == dropped
    assert "updated_at" not in found.judgments


@pytest.mark.parametrize(
    ("meta", "expected"), [({"round": 2}, 2), ({"round": "b"}, 1), ({"round": True}, 1), ({}, 1), (None, 1)]
)
def test_a_task_of_a_later_round_says_so(meta: object, expected: int) -> None:
    found = imported([task(annotation(1), meta=meta)]).judgments
    assert list(found["round"]) == [expected]


@pytest.mark.parametrize(
    "fields", [{"result": [result("relevance", "irrelevant")]}, {"updated_by": 9}, {"lead_time": 1.0}]
)
def test_where_time_and_id_are_equal_the_order_of_files_still_does_not_decide(fields: Json) -> None:
    one, other = bare(), bare(project=23, **fields)
    found = [imported([task(a)], [task(b)]).judgments for a, b in ((one, other), (other, one))]
    pdt.assert_frame_equal(*found)


@cases("fields", "column", "value", "note")
def test_what_an_answer_says_is_kept_and_noted(fields: Json, column: str, value: object, note: str) -> None:
    found = imported([task(annotation(1, **fields))])
    (told,) = found.judgments[column]
    assert (None if pd.isna(told) else told) == value
    assert len(found.notes) == bool(note)
    assert note in "".join(found.notes)
    assert "ann@example.org" not in found.judgments.to_csv()


def test_unknown_labels_are_one_error_with_counts() -> None:
    given = enumerate(("yes", "no", "relevant", "yes"), start=1)
    with pytest.raises(TableError) as error:
        imported([task(*(annotation(n, label, completed_by=n) for n, label in given))])
    assert str(error.value) == (
        "labels that guideline caption-relevance-v1 does not have: 'yes' (2), 'no' (1); it has "
        "irrelevant, relevant, ambiguous; name the guideline they were given under, or correct them"
    )


@pytest.mark.parametrize("label", ["", "\ud800", "two\nlines", "не то"])
def test_any_text_that_is_no_label_is_an_unknown_one(label: str) -> None:
    with pytest.raises(TableError, match="labels that guideline caption-relevance-v1 does not have: "):
        imported([task(annotation(1, label), annotation(2))])


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ({"query_id": "007", "doc_id": "NA"}, ("007", "NA")),
        ({"query_id": 7, "doc_id": 8, "pair_id": "x|y"}, ("7", "8")),
        ({"query_id": "q", "pair_id": "x|y"}, ("x", "y")),
        ({"pair_id": pair_id("видео", "a|b")}, ("видео", "a|b")),
    ],
)
def test_the_pair_comes_from_its_ids_or_its_key(content: Json, expected: tuple[str, str]) -> None:
    found = imported([task(annotation(1), data=content)]).judgments
    assert (found["query_id"].iloc[0], found["doc_id"].iloc[0]) == expected


def refusal(*exports: Json) -> str:
    with pytest.raises(FormatError) as error:
        imported(*exports)
    return str(error.value)


@cases("content", "complaint")
def test_a_task_without_a_pair_is_named_with_file_and_id(content: Json, complaint: str) -> None:
    said = refusal([task()], [task(), task(annotation(1), data=content)])
    assert said.startswith("export2.json: task 2 (id 110052): ")
    assert complaint in said


@cases("fields", "complaint")
def test_a_value_of_another_type_is_named_with_its_place(fields: Json, complaint: str) -> None:
    answer = {name: value for name, value in annotation(2, **fields).items() if value != "(absent)"}
    said = refusal([task(annotation(1), answer)])
    assert said.startswith("export1.json: task 1 (id 110052), annotation 2: ")
    assert complaint in said


FLAT = {"caption": "a dog", "video": "v.mp4", "pair_id": "q|d"}
JSON_MIN = {**FLAT, "id": 1, "relevance": "relevant", "annotator": 3, "annotation_id": 5, "lead_time": 3.2}
LOSES = (
    "task 1 (id 1): neither data nor annotations; if this is a JSON_MIN export: it leaves out skips, drafts, "
    "who edited an answer and how it came about, so they would be lost; export the project again as JSON"
)
NO_LIST = ", expected the list of tasks of a Label Studio JSON"


@pytest.mark.parametrize(
    ("export", "complaint"),
    [
        ([JSON_MIN], LOSES),
        ([{"data": FLAT}], "these are tasks to be judged, not an export of answers"),
        *((export, NO_LIST) for export in (None, 5, "text", {"annotations": []})),
    ],
)
def test_what_is_no_export_of_answers_is_told_what_it_is(export: Json, complaint: str) -> None:
    said = refusal(export)
    assert said.startswith("export1.json: ")
    assert complaint in said


@pytest.mark.parametrize("exports", [[], [[]], [[task()]], [[], []]])
def test_no_answers_give_empty_tables(exports: list[Json]) -> None:
    found = imported(*exports)
    assert (len(found.judgments), len(found.dropped), found.notes) == (0, 0, ())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("id,caption,relevance\n1,a dog,relevant\n", "if this is a CSV or TSV export: it leaves out skips"),
        ("", "if this is a CSV or TSV export"),
        ('[{"id": 1, "data"', "cut short? export it again"),
        ("[" * 200_000, "cut short? export it again"),
        ('[{"id": ' + "9" * 5000 + "}]", "cut short? export it again"),
    ],
)
def test_a_file_that_is_no_json_is_a_format_error(text: str, complaint: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_export(text, where="out.csv")
    if text:
        with pytest.raises(FormatError, match=re.escape(str(error.value))):
            judgments_from_export([("out.csv", text.encode())], guideline=GUIDELINE)
    assert str(error.value).startswith("out.csv: not JSON")
    assert complaint in str(error.value)


@pytest.mark.parametrize(
    "day", ["2026-02-29", "2028-02-29", "2026-13-01", "0000-01-01", "0999-01-01", "2026-1-01"]
)
@pytest.mark.parametrize("hour", ["00:00:00", "24:00:00", "23:60:00", "23:59:60"])
def test_what_is_no_time_is_refused(day: str, hour: str) -> None:
    moment = f"{day}T{hour}.000000Z"
    export = [task(annotation(1)), task(annotation(2, created_at=moment), pair=("q2", "v1"))]
    is_time = utc_time(moment) is not None
    with contextlib.nullcontext() if is_time else pytest.raises(FormatError, match="expected a time"):
        imported(export)


PEOPLE = st.sampled_from([None, 1, 2, {"id": 2}])
LABELS = st.sampled_from([None, "relevant", "irrelevant", "ambiguous"])
UPDATED = st.sampled_from(["2026-11-20T12:00:00Z", "2026-11-21T12:00:00.5+02:00", None])


@st.composite
def annotations(draw: st.DrawFn) -> Json:
    extra = draw(st.sampled_from([{}, {"result": [result("relevance", "relevant", "irrelevant")]}]))
    return annotation(
        draw(st.integers(1, 3)),
        draw(LABELS),
        completed_by=draw(PEOPLE),
        updated_by=draw(PEOPLE),
        updated_at=draw(UPDATED),
        was_cancelled=draw(st.booleans()),
        unique_id=draw(st.sampled_from([None, "u1", "u2"])),
        project=draw(st.sampled_from([22, 23])),
        **extra,
    )


@st.composite
def exports(draw: st.DrawFn) -> list[list[Json]]:
    tasks = st.builds(
        lambda pair, answers, drafts: task(*answers, pair=pair, drafts=drafts),
        st.sampled_from([("q1", "v1"), ("q1", "v2"), ("007", "NA")]),
        st.lists(annotations(), max_size=3),
        st.lists(st.sampled_from([5, {"id": 6, "user": 1, "result": TWICE[:1]}]), max_size=2),
    )
    return draw(st.lists(st.lists(tasks, max_size=3), max_size=3))


def n_answers(files: list[list[Json]]) -> int:
    entries = [entry for file in files for entry in file]
    return sum(len(entry["annotations"] or []) + len(entry.get("drafts") or []) for entry in entries)


REASONS = {"draft", "skipped", "duplicate", "no_label", "several_labels", "superseded"}


@settings(max_examples=examples(40))
@given(exports())
def test_what_goes_in_comes_out_as_judgment_or_dropped(files: list[list[Json]]) -> None:
    before = copy.deepcopy(files)
    found = imported(*files)
    assert before == files
    assert n_answers(files) == len(found.judgments) + len(found.dropped)
    assert set(found.dropped["reason"]) <= REASONS


@settings(max_examples=examples(20))
@given(exports(), st.randoms(use_true_random=False))
def test_the_order_of_files_and_answers_is_irrelevant(files: list[list[Json]], chance: random.Random) -> None:
    shuffled = copy.deepcopy(files)
    chance.shuffle(shuffled)
    for file in shuffled:
        chance.shuffle(file)
        for entry in file:
            chance.shuffle(entry["annotations"])
    one, other = imported(*files), imported(*shuffled)
    pdt.assert_frame_equal(one.judgments, other.judgments)
    pdt.assert_frame_equal(one.dropped, other.dropped)
    assert one.notes == other.notes


HOSTILE_TEXT = st.text(alphabet=st.characters(exclude_categories=()), max_size=8)
KEYS = st.sampled_from(["id", "data", "annotations", "drafts", "result", "value", "pair_id", "completed_by"])
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.integers(2**63, 10**400) | st.floats() | HOSTILE_TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS | HOSTILE_TEXT, inner, max_size=4),
    max_leaves=12,
)


def places(value: Json) -> list[tuple[Json, Any]]:
    """Return every container with every key or index into it."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in [(value, key), *places(value[key])]]


def survives(export: Json) -> None:
    """An import ends in tables or in an error of ours that names the file; never in anything else."""
    try:
        found = imported(export)
    except (FormatError, TableError) as error:
        refusal = error
    else:
        assert n_answers([export]) == len(found.judgments) + len(found.dropped)
        assert found.judgments.to_csv().encode("utf-8")
        assert found.dropped.to_csv().encode("utf-8")
        return
    unknown_label = "labels that guideline caption-relevance-v1 does not have: "
    assert str(refusal).startswith("export1.json: " if isinstance(refusal, FormatError) else unknown_label)


@settings(max_examples=examples(150))
@given(HOSTILE)
def test_any_json_gives_tables_or_a_clear_error(export: Json) -> None:
    survives(export)


@settings(max_examples=examples(150))
@given(st.data())
def test_an_export_with_one_hostile_value_gives_tables_or_a_clear_error(data: st.DataObject) -> None:
    draft = {"id": 8, "user": 4, "result": [result("relevance", "relevant")]}
    full = [result("relevance", "relevant"), result("flags", "sensitive"), result("comment", "fine")]
    export = [task(annotation(1, result=full), annotation(2, completed_by={"id": 4}), drafts=[draft])]
    container, key = data.draw(st.sampled_from(places(export)))
    container[key] = data.draw(HOSTILE)
    survives(export)


@pytest.mark.parametrize(
    "other", [{"unique_id": "ключ"}, {"unique_id": None}, {"updated_by": 9}, {"was_cancelled": True}]
)
def test_copies_are_found_whatever_else_an_answer_says(other: Json) -> None:
    """Plain votes are told apart by columns, all others one by one; what is said of both must be the same."""
    odd = annotation(1, "relevant", updated_at=LATER, **other)
    found = imported([task(annotation(1, "irrelevant")), task(annotation(2), pair=("q1", "v2"))], [task(odd)])
    votes = [] if other.get("was_cancelled") else [("3", "relevant")]
    assert labels(found.judgments) == [*votes, ("3", "relevant")]
    assert found.dropped["reason"][0] == ("superseded" if "unique_id" in other else "duplicate")


def test_the_record_keeps_the_same_of_an_export_that_is_decoded_at_once_and_of_one_that_is_not() -> None:
    skip = annotation(2, None, was_cancelled=True, completed_by={"id": 4, "email": "a@b.c"}, unique_id=None)
    said = [result("relevance", "irrelevant"), result("flags", "blurry"), result("comment", "no\ndog")]
    edited = annotation(3, updated_by=5, result=said, lead_time=None, last_action="updated", project=None)
    tasks = [
        task(annotation(1), skip),
        task(edited, pair=("q2", "v2"), drafts=[{"id": 7}], meta={"round": 2}),
    ]
    nameless = {"id": 9, "data": {}, "annotations": []}  # keeps the whole from being decoded at once
    one, other = (
        columns_of_export(
            json.dumps(content).encode(), Origin("file:a.json", "", "", "now", {}), GUIDELINE, where="a.json"
        )
        for content in (tasks, [*tasks, nameless])
    )
    assert one.keys() == other.keys()
    for name in one.keys() - {"answer"}:
        assert [*listed_rows(one[name])] == [*listed_rows(other[name])], name
    assert one["answer"] != other["answer"]  # which has what is null
    kept = [[json.loads(text) for text in found["answer"]] for found in (one, other)]
    told = [[{key: each[key] for key in each if each[key] is not None} for each in rows] for rows in kept]
    assert told[0] == told[1]
