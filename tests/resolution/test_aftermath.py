"""What is told beside labels: rejected originals, other rules, disputes either way."""

import numpy as np
import pandas as pd
import pytest
from small_judgments import judged_docs as judged

from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.plan import rejected_originals
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.settle import settle_disputes
from fire_toolkit.tables import Labels, Qrels, check_labels, check_qrels

GRADES = {"no": 0, "yes": 1, "very": 2, "?": None}


def labelled(relevances: dict[str, int]) -> Labels:
    docs = pd.Series(relevances.keys(), dtype="str")
    table = pd.DataFrame({"doc_id": docs, "label": "x", "relevance": list(relevances.values())})
    return check_labels(
        table.assign(query_id="q", label=table["label"].astype("str")).astype({"query_id": "str"})
    )


def test_rejected_originals_are_those_with_a_label_that_is_not_positive() -> None:
    original = {"kept": 1, "rejected": 1, "unjudged": 1, "explicit": 0}
    docs = pd.Series(original.keys(), dtype="str")
    qrels: Qrels = check_qrels(
        pd.DataFrame({"doc_id": docs, "relevance": list(original.values())}).assign(query_id="q")
    )
    labels = labelled({"kept": 2, "rejected": 0, "explicit": 0, "new": 1, "other": 0})
    pool = rejected_originals(labels, qrels, round=3)
    assert pool[["doc_id", "is_original", "round"]].to_numpy().tolist() == [["rejected", True, 3]]


def test_a_rule_is_compared_with_a_plain_majority() -> None:
    answers = {"same": ["yes", "yes", "no"], "tie": ["yes", "no"], "one": ["no"]}
    judgments = judged(answers | {"lost": ["yes", "yes", "no", "very"]})
    found = resolve(judgments, grades=GRADES, rule="fire").against_majority
    assert found == {"same": 2, "other": 0, "gained": 0, "lost": 1}
    found = resolve(
        judged({"other": ["yes", "yes", "no"], "gained": ["yes", "very", "no"]}),
        grades=GRADES,
        rule="adjudicator",
        adjudicators=["a2"],
    ).against_majority
    assert found == {"same": 0, "other": 1, "gained": 1, "lost": 0}


def test_disputes_can_be_settled_at_either_end() -> None:
    judgments = judged({"tie": ["yes", "no"], "escalated": ["?"], "one": ["no"]})
    labels, disputes = resolve(judgments, grades=GRADES)[:2]
    for end, label, relevance in (("0", "no", 0), ("1", "yes", 1)):
        settled = settle_disputes(labels, disputes, grades=GRADES, end=end)
        row = settled.set_index("doc_id").loc["tie"]
        assert (row["label"], row["relevance"], row["method"]) == (label, relevance, f"disputes_as_{end}")
        assert (row["n_judgments"], row["n_agree"]) == (2, 1)
        assert np.isnan(row["vote_share"])
        assert list(settled["doc_id"]) == ["one", "tie"]
    with pytest.raises(UsageError, match="expected one of 0, 1"):
        settle_disputes(labels, disputes, grades=GRADES, end="both")
    with pytest.raises(UsageError, match="no label is positive"):
        settle_disputes(labels, disputes.assign(), grades={"no": 0}, end="1")


def test_without_disputes_nothing_is_settled() -> None:
    labels, disputes = resolve(judged({"one": ["no"]}), grades=GRADES)[:2]
    pd.testing.assert_frame_equal(labels, settle_disputes(labels, disputes, grades=GRADES, end="1"))


def test_labels_name_the_rounds_of_their_votes() -> None:
    judgments = judged({"a": ["yes", "no", "yes"], "b": ["no"], "c": ["?", "no"]}, round=[1, 1, 2, 2, 1, 3])
    labels = resolve(judgments, grades=GRADES).labels
    assert dict(zip(labels["doc_id"], labels["rounds"], strict=True)) == {"a": "1;2", "b": "2", "c": "3"}
    plain = resolve(judged({"b": ["no"]}), grades=GRADES).labels
    assert "rounds" not in plain.columns
    settled = settle_disputes(
        *resolve(judgments, grades=GRADES, rule="unanimous")[:2], grades=GRADES, end="0"
    )
    assert dict(zip(settled["doc_id"], settled["rounds"], strict=True)) == {"a": "", "b": "2", "c": "3"}


def test_a_model_tells_its_posteriors_and_its_trace() -> None:
    judgments = judged({f"d{n}": ["yes", "yes" if n % 2 else "no"] for n in range(6)} | {"e": ["?"]})
    full = resolve(judgments, grades=GRADES, rule="dawid-skene")
    assert full.posteriors is not None
    assert list(full.posteriors.columns) == ["query_id", "doc_id", "p_no", "p_yes", "p_very"]
    assert full.posteriors[["p_no", "p_yes", "p_very"]].sum(axis=1).to_numpy() == pytest.approx(np.ones(7))
    best = full.posteriors.set_index("doc_id")[["p_no", "p_yes", "p_very"]].max(axis=1)
    assert full.labels["posterior"].to_numpy() == pytest.approx(best[full.labels["doc_id"]].to_numpy())
    assert full.confusions is not None
    said = full.confusions.groupby(["annotator_id", "truth"])["probability"].sum()
    assert said.to_numpy() == pytest.approx(np.ones(2 * 3))
    assert dict(full.confusions.groupby("annotator_id")["n_votes"].first()) == {"a0": 6, "a1": 6}
    assert full.converged
    assert (np.diff(full.trace) > -1e-9).all()


@pytest.mark.parametrize("rule", sorted(set(RULES) - {"dawid-skene", "adjudicator"}))
def test_other_rules_have_none(rule: str) -> None:
    full = resolve(judged({"a": ["yes"]}), grades=GRADES, rule=rule)
    assert (full.posteriors, full.confusions, full.trace) == (None, None, ())
    assert full.converged
