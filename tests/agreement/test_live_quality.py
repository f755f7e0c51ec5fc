"""What a team sees while people judge: agreement so far, each beside the others, what to look into."""

import math

import numpy as np
import pandas as pd
import pytest
from small_judgments import alpha_interval

from fire_toolkit.agreement.annotators import annotator_profiles
from fire_toolkit.agreement.live import RESAMPLING, live_quality
from fire_toolkit.tables import Judgments, check_judgments

GRADES = {"relevant": 1, "irrelevant": 0, "ambiguous": None}


def judged(labels: dict[str, list[str]], *, seconds: dict[str, list[float]] | None = None) -> Judgments:
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
    judgments = judged({"ann": random_labels(1), "bob": random_labels(2)})
    found = live_quality(judgments, grades=GRADES)
    expected = alpha_interval(
        judgments, grades=GRADES, cluster="query_id", n_resamples=RESAMPLING.n_resamples
    )
    assert found.alpha == expected
    assert found.alpha.note == ""
    assert (found.n_pairable, found.prevalence) == (40, (judgments["label"] == "relevant").mean())
    profiles = annotator_profiles(judgments, grades=GRADES)
    pd.testing.assert_frame_equal(found.people[profiles.columns.tolist()], profiles)


def test_seconds_stand_beside_those_of_others_on_the_same_pairs() -> None:
    labels = {"ann": ["relevant"] * 4, "bob": ["relevant"] * 3, "cy": ["relevant"]}
    seconds = {"ann": [1.0, 2.0, 3.0, 90.0], "bob": [10.0, 20.0, 30.0], "cy": [50.0]}
    people = live_quality(judged(labels, seconds=seconds), grades=GRADES).people.set_index("annotator_id")
    assert people.loc["ann", "shared_duration_s"] == 2.0  # of 1, 2, 3; nobody else judged the fourth
    assert people.loc["ann", "peer_duration_s"] == 25.0  # of 10, 50, 20, 30
    assert people.loc["cy", "peer_duration_s"] == 5.5  # of 1 and 10
    assert people.loc["ann", "duration_s_q50"] == 2.5


def test_who_is_faster_than_the_item_lasts_is_an_alarm() -> None:
    labels = {"ann": random_labels(1, 12), "bob": random_labels(1, 12)}
    seconds = {"ann": [2.0] * 7 + [9.0] * 5, "bob": [2.0] * 6 + [9.0] * 6}
    judgments = judged(labels, seconds=seconds)
    found = live_quality(judgments, grades=GRADES, lengths_s=pd.Series({"d": 8.0}))
    assert found.alarms.values.tolist() == [
        ["ann", "fast", "7 of 12 answers took less time than the item lasts"]
    ]
    assert live_quality(judgments, grades=GRADES).alarms.empty
    few = live_quality(judgments, grades=GRADES, lengths_s=pd.Series({"d": math.nan}))
    assert few.people["n_timed"].tolist() == [0, 0]


def test_always_one_answer_is_an_alarm_where_others_answer_otherwise() -> None:
    same = ["irrelevant"] * 20
    mixed = ["irrelevant", "relevant"] * 10
    found = live_quality(judged({"ann": same, "bob": mixed}), grades=GRADES, least_agreement=0)
    words = "all 20 votes are 'irrelevant'; of the others' votes 50% are"
    assert found.alarms.values.tolist() == [["ann", "one_answer", words]]
    rare = ["irrelevant"] * 19 + ["relevant"]
    assert live_quality(judged({"ann": same, "bob": rare}), grades=GRADES).alarms.empty
    assert live_quality(judged({"ann": same}), grades=GRADES).alarms.empty
    escalated = ["irrelevant"] * 20 + ["ambiguous"]
    longer = live_quality(judged({"ann": escalated, "bob": mixed}), grades=GRADES, least_agreement=0)
    assert longer.alarms["alarm"].tolist() == ["one_answer"]  # handing on is no other vote


@pytest.mark.parametrize(("bound", "names"), [(0.51, ["ann", "bob"]), (0.5, [])])
def test_little_agreement_is_an_alarm_below_the_bound(bound: float, names: list[str]) -> None:
    labels = {"ann": ["relevant", "irrelevant"] * 5, "bob": ["relevant"] * 10}
    found = live_quality(judged(labels), grades=GRADES, least_agreement=bound)
    assert found.alarms["annotator_id"].tolist() == names


@pytest.mark.parametrize(("n_pairs", "alarms"), [(49, []), (60, [["all", "alpha"]])])
def test_agreement_by_chance_is_an_alarm_though_few_positives_make_it_look_good(
    n_pairs: int, alarms: list[list[str]]
) -> None:
    ann, bob = (["irrelevant"] * n_pairs for _ in range(2))
    ann[::20], bob[5::20] = ["relevant"] * len(ann[::20]), ["relevant"] * len(bob[5::20])
    found = live_quality(judged({"ann": ann, "bob": bob}), grades=GRADES)
    assert found.people["peer_agreement"].min() >= 0.85
    assert found.alarms[["annotator_id", "alarm"]].to_numpy().tolist() == alarms
    good = live_quality(judged({"ann": ann, "bob": ann}), grades=GRADES)
    assert good.alarms.empty


def test_nothing_judged_is_no_row_and_no_alpha() -> None:
    found = live_quality(judged({}), grades=GRADES)
    assert (len(found.people), len(found.alarms), found.n_pairable) == (0, 0, 0)
    assert math.isnan(found.alpha.value)
    assert math.isnan(found.prevalence)


def test_later_rounds_do_not_count() -> None:
    first = judged({"ann": random_labels(1), "bob": random_labels(2)})
    both = pd.concat(
        [
            first.assign(round=1, kind="task"),
            judged({"cy": random_labels(3)}).assign(round=2, kind="adjudication"),
        ]
    )
    found = live_quality(check_judgments(both), grades=GRADES)
    assert found.alpha == live_quality(first, grades=GRADES).alpha
    assert found.people["annotator_id"].tolist() == ["ann", "bob"]


def test_on_a_page_of_several_captions_the_whole_page_is_timed() -> None:
    """Ten captions in 20 s are 2 s each, of an item of 8 s that was seen once."""
    rows = {"query_id": [f"q{n}" for n in range(20)], "doc_id": "d", "annotator_id": "u", "label": "1"}
    judgments = check_judgments(pd.DataFrame(rows).assign(duration_s=2.0))
    lengths_s = pd.Series({"d": 8.0})
    assert "fast" in set(live_quality(judgments, lengths_s=lengths_s).alarms["alarm"])
    paged = check_judgments(judgments.assign(page="p", page_s=20.0))
    assert "fast" not in set(live_quality(paged, lengths_s=lengths_s).alarms["alarm"])
