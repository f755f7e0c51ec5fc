from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_judgments import judged_docs as judged

from examples import cases, examples
from fire_toolkit.errors import FireError
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.votes import Verdicts, Votes
from fire_toolkit.tables import SUPPORT, Judgments, check_disputes, check_judgments, check_labels

GRADES = {"relevant": 1, "not-relevant": 0, "escalate": None}
GRADED = {"x": 2, "y": 1, "z": 0, "esc": None}


def ready(judgments: Judgments) -> tuple[Judgments, pd.DataFrame]:
    """What every rule needs: judgments of round 1, and a control that annotator a0 knew."""
    control = pd.DataFrame({"query_id": ["q"], "doc_id": ["control"], "label": ["x"]})
    known = control.assign(annotator_id="a0")
    return check_judgments(pd.concat([judgments, known]).assign(round=1)), control


def decided(answers: dict[str, list[str]], rule: str) -> dict[str, str]:
    """doc_id → label, or the reason of the dispute in brackets."""
    labels, disputes = resolve(judged(answers), grades=GRADED, rule=rule)[:2]
    return dict(zip(labels["doc_id"], labels["label"], strict=True)) | {
        doc: f"[{reason}]" for doc, reason in zip(disputes["doc_id"], disputes["reason"], strict=True)
    }


@cases("answers", "fire", "majority", "unanimous")
def test_what_each_rule_says_of_an_answer_sheet(
    answers: str, fire: str, majority: str, unanimous: str
) -> None:
    sheet = {"d": ["esc" if answer == "e" else answer for answer in answers]}
    for rule, expected in (("fire", fire), ("majority", majority), ("unanimous", unanimous)):
        assert decided(sheet, rule) == {"d": expected}, rule


def test_a_label_carries_its_grade_its_votes_and_their_share() -> None:
    labels, disputes = resolve(judged({"d": ["x", "x", "y", "esc"], "e": ["z"]}), grades=GRADED)[:2]
    columns = ["doc_id", "label", "relevance", "method", "n_judgments", "n_agree", "vote_share"]
    rows = [("d", "x", 2, "fire", 3, 2, 2 / 3), ("e", "z", 0, "fire", 1, 1, 1.0)]
    expected = check_labels(pd.DataFrame(rows, columns=columns).assign(query_id="q"))
    pd.testing.assert_frame_equal(expected, labels)
    assert len(disputes) == 0


def test_a_dispute_counts_every_answer_in_the_order_of_the_guideline() -> None:
    answers = {"b": ["y", "x", "esc"], "a": ["esc"]}
    rows = [("a", "escalated", 0, 0, 0, 1), ("b", "no_majority", 1, 1, 0, 1)]
    columns = ["doc_id", "reason", "n_x", "n_y", "n_z", "n_esc"]
    expected = check_disputes(pd.DataFrame(rows, columns=columns).assign(query_id="q"))
    pd.testing.assert_frame_equal(expected, resolve(judged(answers), grades=GRADED)[1])


def test_pairs_of_different_queries_are_kept_apart() -> None:
    rows = [("q1", "d", "x"), ("q2", "d", "y"), ("q:1", "d", "z"), ("q", "1:d", "x")]
    table = pd.DataFrame(rows, columns=["query_id", "doc_id", "label"]).assign(annotator_id="u")
    labels = resolve(check_judgments(table), grades=GRADED).labels
    found = list(zip(labels["query_id"], labels["doc_id"], labels["relevance"], strict=True))
    assert found == [("q", "1:d", 2), ("q1", "d", 2), ("q2", "d", 1), ("q:1", "d", 0)]


@pytest.mark.parametrize("rule", RULES)
def test_no_judgments_give_no_labels_and_no_disputes(rule: str) -> None:
    judgments = check_judgments(judged({}).assign(round=pd.Series(dtype="int64")))
    labels, disputes = resolve(judgments, grades=GRADES, rule=rule)[:2]
    assert (len(labels), len(disputes)) == (0, 0)
    assert list(disputes.columns) == [
        "query_id", "doc_id", "reason", "n_relevant", "n_not-relevant", "n_escalate"
    ]  # fmt: skip


@pytest.mark.parametrize("rule", RULES)
def test_where_no_label_is_a_vote_every_pair_is_escalated(rule: str) -> None:
    judgments = check_judgments(judged({"d": ["esc", "esc"], "e": ["esc"]}).assign(round=1))
    found = resolve(judgments, grades={"esc": None}, rule=rule)
    assert (len(found.labels), list(found.disputes["reason"])) == (0, ["escalated", "escalated"])
    assert set(found.against_majority.values()) == {0}


@pytest.mark.slow
@pytest.mark.parametrize("rule", RULES)
@settings(max_examples=examples(15))
@given(
    answers=st.dictionaries(
        st.sampled_from("abcd"), st.lists(st.sampled_from(list(GRADED)), min_size=1, max_size=5)
    ),
    seed=st.integers(0, 99),
)
def test_every_judged_pair_is_a_label_or_a_dispute_whatever_the_row_order(
    rule: str, answers: dict[str, list[str]], seed: int
) -> None:
    judgments, controls = ready(judged(answers))
    before = judgments.copy()
    labels, disputes = resolve(judgments, grades=GRADED, rule=rule, controls=controls)[:2]
    assert sorted([*labels["doc_id"], *disputes["doc_id"]]) == sorted([*answers, "control"])
    (support,) = set(SUPPORT) & set(labels.columns)
    assert labels[support].between(0, 1).all()
    assert "esc" not in set(labels["label"])
    shuffled = Judgments(judgments.sample(frac=1, random_state=seed))
    again = resolve(shuffled, grades=GRADED, rule=rule, controls=controls)
    pd.testing.assert_frame_equal(labels, again[0])
    pd.testing.assert_frame_equal(disputes, again[1])
    pd.testing.assert_frame_equal(before, judgments)


@pytest.mark.parametrize("rule", RULES)
def test_a_pair_on_which_all_agree_has_their_label_and_an_escalated_one_has_none(rule: str) -> None:
    answers = {f"d{n}": ["xyz"[n % 3]] * 3 for n in range(30)} | {"e": ["esc", "esc"]}
    judgments, controls = ready(judged(answers))
    labels, disputes = resolve(judgments, grades=GRADED, rule=rule, controls=controls)[:2]
    expected = {doc: given[0] for doc, given in answers.items() if doc != "e"} | {"control": "x"}
    assert dict(zip(labels["doc_id"], labels["label"], strict=True)) == expected
    assert list(zip(disputes["doc_id"], disputes["reason"], strict=True)) == [("e", "escalated")]


@cases("answer", "options", "message")
def test_what_is_refused(answer: str, options: dict[str, Any], message: str) -> None:
    if "controls" in options:
        options = options | {"controls": pd.DataFrame(options["controls"]).assign(query_id="q", doc_id="d")}
    with pytest.raises(FireError) as refused:
        resolve(judged({"d": [answer]}), **{"grades": GRADED, **options})
    assert message in str(refused.value)


def test_a_vote_that_a_rule_leaves_open_is_in_dispute_and_not_escalated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def undecided(votes: Votes) -> Verdicts:
        return Verdicts(np.full(len(votes.pairs), -1))

    monkeypatch.setattr(type(RULES), "named", lambda rules, name: undecided)
    disputes = resolve(judged({"d": ["x"], "e": ["esc"]}), grades=GRADED).disputes
    assert list(disputes["reason"]) == ["no_majority", "escalated"]
