"""Annotators: alpha without each, each beside the peers, and what a team sees while people judge."""

import math

import numpy as np
import pandas as pd
import pytest
from brought import refused
from small_judgments import alpha_interval, judged, krippendorff_alpha

from examples import seeds
from fire_toolkit.agreement.annotators import N_RESAMPLES, annotator_profiles, leave_one_out, live_quality
from fire_toolkit.errors import UsageError
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"0": 0, "1": 1, "2": 2, "e": None}


def sparse(seed: int, labels: str = "012e") -> Judgments:
    """Five annotators on 14 docs, half of the cells empty."""
    draw = np.random.default_rng(seed)
    rated = draw.integers(len(labels), size=(5, 14))
    cells = np.argwhere(draw.random((5, 14)) > 0.5)
    return judged([(f"d{u:02d}", f"a{r}", labels[rated[r, u]]) for r, u in cells])


def answers(**given: str) -> Judgments:
    """Judgments from annotator_id → one answer a doc (`*`: none)."""
    cells = [(f"d{place:02d}", who, label) for who, own in given.items() for place, label in enumerate(own)]
    return judged([cell for cell in cells if cell[2] != "*"])


@pytest.mark.parametrize("seed", seeds(3))
@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_leaving_an_annotator_out_equals_alpha_of_the_others(level: str, seed: int) -> None:
    judgments = sparse(seed)
    whole = krippendorff_alpha(judgments, grades=GRADES, level=level).value
    for row in leave_one_out(judgments, grades=GRADES, level=level).itertuples():
        others = check_judgments(judgments[judgments["annotator_id"] != row.annotator_id])
        expected = krippendorff_alpha(others, grades=GRADES, level=level)
        assert expected.value == pytest.approx(row.value, nan_ok=True)
        assert expected.n_pairable == row.n_pairable
        assert expected.value - whole == pytest.approx(row.change, nan_ok=True)
        assert math.isnan(row.value) == bool(row.note)


def test_leaving_out_says_why_alpha_is_undefined() -> None:
    table = leave_one_out(answers(u="1*", v="01", w="*1")).set_index("annotator_id")
    assert list(table["n_votes"]) == [1, 2, 1]
    assert list(table["n_pairable"]) == [1, 0, 1]
    assert table.loc["v", "note"] == "no pair has two judgments"
    assert table.loc["u", "note"].startswith("without this annotator every judgment")
    assert table.loc["w", "value"] == 0.0


def test_an_annotator_who_never_voted_changes_nothing() -> None:
    row = leave_one_out(answers(u="11", v="01", z="*e"), grades=GRADES).iloc[-1]
    assert (row["annotator_id"], row["n_votes"], row["n_pairable"], row["change"]) == ("z", 0, 2, 0.0)


@pytest.mark.parametrize("given", [{}, {"u": "ee", "v": "e*"}])
def test_where_no_label_is_a_vote_nothing_is_said_of_anybody(given: dict[str, str]) -> None:
    table = leave_one_out(answers(**given), grades={"e": None})
    assert list(table["annotator_id"]) == list(given)
    assert set(table["n_votes"]) <= {0}
    assert set(table["note"]) <= {"no pair has two judgments"}


def test_an_annotator_beside_the_peers_on_the_same_pairs() -> None:
    judgments = answers(u="11110e", v="100***", w="10****")
    row = annotator_profiles(judgments, grades=GRADES, min_pairs=3).iloc[0]
    assert (row["n_votes"], row["n_without_vote"], row["n_shared"]) == (5, 1, 3)
    assert (row["positive_rate"], row["shared_positive_rate"]) == (4 / 5, 1)
    assert row["peer_positive_rate"] == row["peer_agreement"] == pytest.approx((1 + 0 + 0) / 3)


@pytest.mark.parametrize("table", [leave_one_out, annotator_profiles])
def test_later_answers_count_only_where_all_rounds_are_asked_for(table) -> None:
    sheets = {"u": "1101", "v": "0111"}
    rows = [(f"d{n}", who, label) for who, own in sheets.items() for n, label in enumerate(own)]
    later = [("d0", "w", "1"), ("d2", "w", "0")]
    first, both = judged(rows), judged(rows + later, round=[1] * len(rows) + [2] * len(later))
    pd.testing.assert_frame_equal(table(first), table(both))
    assert table(both, all_rounds=True)["annotator_id"].tolist() == ["u", "v", "w"]


def test_too_few_shared_pairs_cannot_be_told_and_labels_without_grades_have_no_positive_rate() -> None:
    row = annotator_profiles(answers(u="1111", v="10**"), min_pairs=3).iloc[0]
    assert row["n_shared"] == 2
    assert row[["shared_positive_rate", "peer_positive_rate", "peer_agreement"]].isna().all()
    table = annotator_profiles(answers(u="yn", v="yy"), min_pairs=1)
    assert table["positive_rate"].isna().all()
    assert list(table["peer_agreement"]) == [0.5, 0.5]


@pytest.mark.parametrize("table_of", [leave_one_out, annotator_profiles])
def test_rows_are_by_id_whatever_the_order_of_judgments_and_the_input_stays(table_of: object) -> None:
    judgments = sparse(3)
    before = judgments.copy()
    shuffled = Judgments(judgments.sample(frac=1, random_state=2))
    tables = [table_of(each, grades=GRADES) for each in (judgments, shuffled)]  # type: ignore[operator]
    pd.testing.assert_frame_equal(*tables)
    pd.testing.assert_frame_equal(before, judgments)
    assert len(table_of(judged([]))) == 0  # type: ignore[operator]


def test_a_bad_argument_is_a_usage_error() -> None:
    refused("min_pairs is 0", annotator_profiles, answers(u="1"), min_pairs=0, by=UsageError)


LABELS = {"relevant": 1, "irrelevant": 0, "ambiguous": None}


def answered(labels: dict[str, list[str]], *, seconds: dict[str, list[float]] | None = None) -> Judgments:
    """Return judgments: for each annotator one label for each of the first pairs, a caption each."""
    rows = [
        (f"q{n:02d}", "d", name, label, (seconds or {}).get(name, [math.nan] * len(own))[n])
        for name, own in labels.items()
        for n, label in enumerate(own)
    ]
    names = ["query_id", "doc_id", "annotator_id", "label", "duration_s"]
    return check_judgments(pd.DataFrame(rows, columns=names))


def random_labels(seed: int, n: int = 40) -> list[str]:
    return list(np.random.default_rng(seed).choice(["relevant", "irrelevant"], n))


def test_alpha_and_people_are_those_of_the_agreement_room() -> None:
    judgments = answered({"ann": random_labels(1), "bob": random_labels(2)})
    found = live_quality(judgments, grades=LABELS)
    how = {"cluster": "query_id", "n_resamples": N_RESAMPLES}
    expected = alpha_interval(judgments, grades=LABELS, **how)
    assert found.alpha == expected
    assert found.alpha.note == ""
    assert (found.n_pairable, found.prevalence) == (40, (judgments["label"] == "relevant").mean())
    profiles = annotator_profiles(judgments, grades=LABELS)
    pd.testing.assert_frame_equal(found.people[profiles.columns.tolist()], profiles)


def test_seconds_stand_beside_those_of_others_on_the_same_pairs() -> None:
    labels = {"ann": ["relevant"] * 4, "bob": ["relevant"] * 3, "cy": ["relevant"]}
    seconds = {"ann": [1.0, 2.0, 3.0, 90.0], "bob": [10.0, 20.0, 30.0], "cy": [50.0]}
    people = live_quality(answered(labels, seconds=seconds), grades=LABELS).people.set_index("annotator_id")
    assert people.loc["ann", "shared_duration_s"] == 2.0  # of 1, 2, 3; nobody else judged the fourth
    assert people.loc["ann", "peer_duration_s"] == 25.0  # of 10, 50, 20, 30
    assert people.loc["cy", "peer_duration_s"] == 5.5  # of 1 and 10
    assert people.loc["ann", "duration_s_q50"] == 2.5


def test_who_is_faster_than_the_item_lasts_is_an_alarm() -> None:
    labels = {"ann": random_labels(1, 12), "bob": random_labels(1, 12)}
    seconds = {"ann": [2.0] * 7 + [9.0] * 5, "bob": [2.0] * 6 + [9.0] * 6}
    judgments = answered(labels, seconds=seconds)
    found = live_quality(judgments, grades=LABELS, lengths_s=pd.Series({"d": 8.0}))
    said = "7 of 12 answers took less time than the item lasts"
    assert found.alarms.values.tolist() == [["ann", "fast", said]]
    assert live_quality(judgments, grades=LABELS).alarms.empty
    few = live_quality(judgments, grades=LABELS, lengths_s=pd.Series({"d": math.nan}))
    assert few.people["n_timed"].tolist() == [0, 0]


def test_always_one_answer_is_an_alarm_where_others_answer_otherwise() -> None:
    same = ["irrelevant"] * 20
    mixed = ["irrelevant", "relevant"] * 10
    found = live_quality(answered({"ann": same, "bob": mixed}), grades=LABELS, least_agreement=0)
    words = "all 20 votes are 'irrelevant'; of the others' votes 50% are"
    assert found.alarms.values.tolist() == [["ann", "one_answer", words]]
    rare = ["irrelevant"] * 19 + ["relevant"]
    assert live_quality(answered({"ann": same, "bob": rare}), grades=LABELS).alarms.empty
    assert live_quality(answered({"ann": same}), grades=LABELS).alarms.empty
    escalated = ["irrelevant"] * 20 + ["ambiguous"]
    longer = live_quality(answered({"ann": escalated, "bob": mixed}), grades=LABELS, least_agreement=0)
    assert longer.alarms["alarm"].tolist() == ["one_answer"]  # handing on is no other vote


@pytest.mark.parametrize(("bound", "names"), [(0.51, ["ann", "bob"]), (0.5, [])])
def test_little_agreement_is_an_alarm_below_the_bound(bound: float, names: list[str]) -> None:
    labels = {"ann": ["relevant", "irrelevant"] * 5, "bob": ["relevant"] * 10}
    found = live_quality(answered(labels), grades=LABELS, least_agreement=bound)
    assert found.alarms["annotator_id"].tolist() == names


@pytest.mark.parametrize(("n_pairs", "alarms"), [(49, []), (60, [["all", "alpha"]])])
def test_agreement_by_chance_is_an_alarm_though_few_positives_make_it_look_good(
    n_pairs: int, alarms: list[list[str]]
) -> None:
    ann, bob = (["irrelevant"] * n_pairs for _ in range(2))
    ann[::20], bob[5::20] = ["relevant"] * len(ann[::20]), ["relevant"] * len(bob[5::20])
    found = live_quality(answered({"ann": ann, "bob": bob}), grades=LABELS)
    assert found.people["peer_agreement"].min() >= 0.85
    assert found.alarms[["annotator_id", "alarm"]].to_numpy().tolist() == alarms
    good = live_quality(answered({"ann": ann, "bob": ann}), grades=LABELS)
    assert good.alarms.empty


def test_nothing_judged_is_no_row_and_no_alpha() -> None:
    found = live_quality(answered({}), grades=LABELS)
    assert (len(found.people), len(found.alarms), found.n_pairable) == (0, 0, 0)
    assert math.isnan(found.alpha.value)
    assert math.isnan(found.prevalence)


def test_later_rounds_do_not_count() -> None:
    first = answered({"ann": random_labels(1), "bob": random_labels(2)})
    second = answered({"cy": random_labels(3)}).assign(round=2, kind="adjudication")
    both = pd.concat([first.assign(round=1, kind="task"), second])
    found = live_quality(check_judgments(both), grades=LABELS)
    assert found.alpha == live_quality(first, grades=LABELS).alpha
    assert found.people["annotator_id"].tolist() == ["ann", "bob"]


def test_on_a_page_of_several_captions_the_whole_page_is_timed() -> None:
    """Ten captions in 20 s are 2 s each, of an item of 8 s that was seen once."""
    rows = {"query_id": [f"q{n}" for n in range(20)], "doc_id": "d", "annotator_id": "u", "label": "1"}
    judgments = check_judgments(pd.DataFrame(rows).assign(duration_s=2.0))
    lengths_s = pd.Series({"d": 8.0})
    assert "fast" in set(live_quality(judgments, lengths_s=lengths_s).alarms["alarm"])
    paged = check_judgments(judgments.assign(page="p", page_s=20.0))
    assert "fast" not in set(live_quality(paged, lengths_s=lengths_s).alarms["alarm"])
