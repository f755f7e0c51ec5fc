"""One vote for each annotator and pair, the latest; times in one form."""

from random import Random

import pandas as pd
import pandas.testing as pdt
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import cases, examples
from fire_toolkit.errors import TableError
from fire_toolkit.resolution.judgments import latest_judgments, utc_time, utc_times


def answers(*rows: tuple[str, str, str], pair: tuple[str, str] = ("q", "d")) -> pd.DataFrame:
    """Return rows of annotator, label, created_at at one pair."""
    table = pd.DataFrame(rows, columns=["annotator_id", "label", "created_at"], dtype=object)
    return table.assign(query_id=pair[0], doc_id=pair[1])


def test_the_latest_time_wins_wherever_the_row_stands() -> None:
    old, new = "2026-11-20T12:00:00Z", "2026-11-20T12:00:01Z"
    judgments, dropped = latest_judgments(answers(("a", "new", new), ("a", "old", old), ("b", "old", "")))
    assert judgments[["annotator_id", "label"]].to_numpy().tolist() == [["a", "new"], ["b", "old"]]
    (row,) = dropped.to_dict("records")
    assert row == {"query_id": "q", "doc_id": "d", "annotator_id": "a", "label": "old", "created_at": old} | {
        "reason": "superseded",
        "detail": "the same annotator answered this pair again",
    }


@cases("earlier", "later")
def test_times_are_compared_as_times_and_not_as_text(earlier: str, later: str) -> None:
    judgments, _ = latest_judgments(answers(("a", "late", later), ("a", "early", earlier)))
    assert list(judgments["label"]) == ["late"]
    assert list(judgments["created_at"]) == [later]


@pytest.mark.parametrize(
    "times", [("2026-11-20", "2026-11-20"), ("2027-01-01", ""), ("2027-01-01", "", "2026-01-01")]
)
def test_among_equal_times_or_without_one_the_later_row_wins(times: tuple[str, ...]) -> None:
    rows = answers(*(("a", str(place), time) for place, time in enumerate(times, start=1)))
    for table in (rows, rows.drop(columns="created_at")):
        assert list(latest_judgments(table)[0]["label"]) == [str(len(times))]


def test_another_column_may_tell_the_time_and_stays() -> None:
    rows = answers(("a", "x", "2026-01-01"), ("a", "y", "2025-01-01"))
    judgments, _ = latest_judgments(rows.assign(changed=["2026-02-01", "2026-03-01"]), time="changed")
    assert judgments[["label", "changed"]].to_numpy().tolist() == [["y", "2026-03-01"]]


def test_a_time_that_must_be_compared_has_to_be_one() -> None:
    rows = answers(("a", "x", "2026-01-01"), ("a", "y", "yesterday"))
    with pytest.raises(TableError, match=r"votes.csv: row 2: created_at is 'yesterday', expected a time"):
        latest_judgments(rows, where="votes.csv")
    assert len(latest_judgments(rows.iloc[1:])[0]) == 1


def test_no_answers_give_empty_tables_and_a_missing_column_is_a_table_error() -> None:
    judgments, dropped = latest_judgments(answers())
    assert (len(judgments), len(dropped)) == (0, 0)
    assert list(judgments.columns[:4]) == ["query_id", "doc_id", "annotator_id", "label"]
    refused("judgments: no column label", latest_judgments, answers().drop(columns="label"), by=TableError)


TIMES = ["2026-01-01T00:00:00Z", "2026-01-01T00:00:00.25Z", "2026-01-01T02:00:00+01:00", "2026-01-02"]
ROWS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.sampled_from(TIMES)), max_size=12)


@settings(max_examples=examples(30))
@given(ROWS, st.sampled_from([("q", "d"), ("007", "NA")]), st.randoms(use_true_random=False))
def test_each_answer_is_a_judgment_or_dropped_in_any_order_and_the_input_stays(
    rows: list[tuple[str, str, str]], pair: tuple[str, str], random: Random
) -> None:
    table = answers(*rows, pair=pair)
    before = table.copy(deep=True)
    judgments, dropped = latest_judgments(table)
    pdt.assert_frame_equal(before, table)
    assert len(judgments) + len(dropped) == len(rows)
    columns = ["annotator_id", "label", "created_at"]
    both = [*judgments[columns].itertuples(index=False), *dropped[columns].itertuples(index=False)]
    assert sorted(rows) == sorted(tuple(row) for row in both)
    latest = {who: max(utc_time(time) or "" for name, _, time in rows if name == who) for who, _, _ in rows}
    assert {row.annotator_id: utc_time(row.created_at) for row in judgments.itertuples()} == latest
    unique = list({(who, time): (who, label, time) for who, label, time in rows}.values())
    one, other = (answers(*order) for order in (unique, random.sample(unique, len(unique))))
    pdt.assert_frame_equal(latest_judgments(one)[0], latest_judgments(other)[0])


@given(st.datetimes(timezones=st.timezones()), st.datetimes(timezones=st.timezones()))
def test_times_in_our_form_sort_as_they_happened(one, other) -> None:  # type: ignore[no-untyped-def]
    texts = [utc_time(moment.isoformat()) for moment in (one, other)]
    if None not in texts:  # near the years 1 and 9999 an offset leads out of the calendar
        assert (texts[0] < texts[1]) == (one < other)


@pytest.mark.parametrize("text", ["", "soon", "2026-13-01", "0001-01-01T00:00:00+23:59", "\ud800", "١"])
def test_what_is_no_time_is_none(text: str) -> None:
    assert utc_time(text) is None


TIMES = st.builds(
    "{}-{}-{}T{}:{}:{}{}".format,
    st.sampled_from(["1969", "2024", "2026", "0999", "9999"]),
    st.sampled_from(["01", "02", "13"]),
    st.sampled_from(["01", "29", "31"]),
    *(st.integers(0, most).map("{:02d}".format) for most in (24, 60, 60)),
    st.sampled_from(["Z", "Z", ".000001Z", ".5Z", "+02:00", ""]),
)


@settings(max_examples=examples(100))
@given(st.lists(st.one_of(TIMES, st.sampled_from(["", "2026-02-03T10:00:00Z"])), max_size=4))
def test_times_read_at_once_are_those_read_one_by_one(texts: list[str]) -> None:
    assert utc_times(texts).to_pylist() == [utc_time(text) if text else "" for text in texts]
