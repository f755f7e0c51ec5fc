from typing import Any

import numpy as np
import pandas as pd
import pytest
from brought import refused
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import made, make_qrels

import fire_toolkit as fire
from examples import cases, examples
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.evidence.making import POLICIES, make_evidence
from fire_toolkit.evidence.qrels import augment_qrels, augmented_of, change_counts
from fire_toolkit.matching.coded import code_qrels
from fire_toolkit.tables import (
    ALONE,
    Labels,
    Qrels,
    check_changes,
    check_disputes,
    check_labels,
    check_pool,
    check_qrels,
)
from fire_toolkit.tables.columns import PAIR

Relevances = dict[str, int]


def original(relevances: Relevances) -> Qrels:
    return make_qrels({"q": relevances})


def labelled(relevances: Relevances) -> Labels:
    rows = (("q", doc, "x", relevance) for doc, relevance in relevances.items())
    return made(check_labels, "query_id doc_id label relevance", *rows)


@cases("before", "label", "source", "union", "override", "drop")
def test_what_becomes_of_a_pair_under_each_policy(
    before: int | None, label: int | None, source: str, union: int, override: int, drop: int | None
) -> None:
    known = {"other": 1} | ({} if before is None else {"d": before})
    labels = {} if label is None else {"d": label}
    for policy, relevance in (("union", union), ("override", override), ("drop", drop)):
        qrels, changes = augment_qrels(original(known), labelled(labels), policy=policy)
        found = {row.doc_id: (row.relevance, row.source) for row in qrels.itertuples()}
        assert found.get("d") == (None if relevance is None else (relevance, source)), policy
        row = changes[changes["doc_id"] == "d"].iloc[0]
        shown = [None if pd.isna(value) else value for value in row.iloc[2:]]
        lifted = 2 if (before, label) == (1, 2) else before  # originals count at the labels' highest grade
        assert shown == [lifted, label, relevance, source], policy


def test_confirmations_are_counted_apart_from_new_positives() -> None:
    before = {"a": 1, "b": 1, "c": 1, "d": 0, "e": -1}
    labels = {"b": 1, "c": 0, "f": 1, "g": 2, "h": 0}
    once = dict.fromkeys(("original", "confirmed", "rejected", "irrelevant"), 1)
    for policy in POLICIES:
        _, changes = augment_qrels(original(before), labelled(labels), policy=policy)
        assert change_counts(changes) == once | {"new": 2, "original_not_positive": 2}


def test_an_unknown_policy_is_an_error_that_names_the_policies() -> None:
    said = "policy 'merge' is unknown; expected one of union, override, drop"
    refused(said, augment_qrels, original({"a": 1}), labelled({}), policy="merge", by=UsageError)


def test_without_labels_the_qrels_stay_as_they_are() -> None:
    before = original({"a": 1, "b": 0, "c": -1})
    for policy in POLICIES:
        qrels, changes = augment_qrels(before, labelled({}), policy=policy)
        pd.testing.assert_frame_equal(before, qrels)
        assert len(changes) == 3
    qrels, changes = augment_qrels(original({}), labelled({}))
    assert (len(qrels), len(changes)) == (0, 0)
    assert set(change_counts(changes).values()) == {0}


def test_ids_that_run_together_are_kept_apart() -> None:
    labels = made(check_labels, "query_id doc_id label relevance", ("NA", "01", "x", 1), ("007", "1", "x", 0))
    qrels, _ = augment_qrels(make_qrels({"007": {"1": 1}, "NA": {"1": 1}}), labels)
    rows = qrels[["query_id", "doc_id", "source"]].to_numpy().tolist()
    assert rows == [["007", "1", "rejected"], ["NA", "01", "new"], ["NA", "1", "original"]]


relevances = st.dictionaries(st.sampled_from("abcdef"), st.integers(-1, 2))


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(relevances, relevances.map(lambda found: {doc: max(0, value) for doc, value in found.items()}))
def test_no_policy_loses_a_judgment_nor_union_a_positive(before: Relevances, labels: Relevances) -> None:
    given_qrels, given_labels = original(before | {"own": 1}), labelled(labels)
    copies = given_qrels.copy(), given_labels.copy()
    for policy in POLICIES:
        qrels, changes = augment_qrels(given_qrels, given_labels, policy=policy)
        pd.testing.assert_frame_equal(check_qrels(qrels), qrels)
        pd.testing.assert_frame_equal(check_changes(changes), changes)
        shuffled = Labels(given_labels.sample(frac=1, random_state=2))
        pd.testing.assert_frame_equal(qrels, augment_qrels(given_qrels, shuffled, policy=policy)[0])
        assert set(changes["doc_id"]) == set(before) | set(labels) | {"own"}
        assert sum(change_counts(changes).values()) == len(changes)
        rejected = {doc for doc in before if before[doc] >= 1 and labels.get(doc) == 0}
        positives = {doc for known in (before, labels) for doc in known if known[doc] >= 1} | {"own"}
        expected = positives if policy == "union" else positives - rejected
        assert set(qrels.loc[qrels["relevance"] >= 1, "doc_id"]) == expected
    pd.testing.assert_frame_equal(copies[0], given_qrels)
    pd.testing.assert_frame_equal(copies[1], given_labels)


def test_strata_stay_and_new_pairs_have_none() -> None:
    before = check_qrels(original({"a": 1, "b": -1, "c": 0}).assign(stratum=["1", "2", "2"]))
    qrels, _ = augment_qrels(before, labelled({"b": 1, "d": 1}))
    strata = dict(zip(qrels["doc_id"], qrels["stratum"], strict=True))
    assert strata == {"a": "1", "b": "2", "c": "2", "d": ""}
    assert "stratum" not in augment_qrels(original({"a": 1}), labelled({"b": 1}))[0]


def test_labels_of_captions_that_were_judged_alone_are_refused() -> None:
    before, alone, said = original({"a": 1}), labelled({ALONE: 1}), "marks captions that were judged alone"
    refused(f"labels: doc ... {said}", augment_qrels, before, alone, by=JoinError)
    judge = {"answers": alone, "judge": "vlm"}
    refused(f"judge 'vlm': doc ... {said}", make_evidence, before, labelled({}), **judge, by=JoinError)


def test_a_machines_labels_count_where_nobody_judged_and_are_refused_beside_strata() -> None:
    rows = [("q", "a", 0), ("q", "b", 1), ("q", "c", 1), ("q", "d", 1), ("other", "c", 1)]
    answers, before, after = (
        pd.DataFrame(rows, columns=[*PAIR, "relevance"]),
        original({"a": 1}),
        labelled({"b": 3}),
    )
    disputes = made(check_disputes, "query_id doc_id reason", ("q", "d", "tie"))
    judge: dict[str, Any] = {"answers": answers, "judge": "vlm", "disputes": disputes}
    pairs = make_evidence(before, after, **judge)
    assert pairs["doc_id"].tolist() == ["a", "b", "c", "d"]
    assert augmented_of(pairs)[["doc_id", "relevance", "source"]].to_numpy().tolist() == [
        ["a", 1, "original"],
        ["b", 3, "new"],
        ["c", 1, "machine:vlm"],
    ]
    dropped = make_evidence(before, labelled({"a": 0}), policy="drop", **judge)
    assert dropped["relevance"].isna().all()  # a query without a pair is none of the augmented qrels
    sampled = check_qrels(before.assign(stratum="1"))
    said = "the qrels have strata; a machine's labels are not a sample"
    refused(said, make_evidence, sampled, after, **judge, by=JoinError)


def test_open_pairs_of_a_sample_are_in_the_qrels_and_two_designs_are_refused() -> None:
    drawn = made(check_pool, "query_id doc_id stratum inclusion_probability", ("q", "b", "2:9:0.5", 0.5))
    judged = labelled({"b": 1, "c": 0})
    sample: Any = {"pool": drawn, "undrawn": drawn.assign(doc_id="c")}
    qrels = augmented_of(make_evidence(original({"a": 1}), labelled({}), **sample))
    assert qrels["relevance"].tolist() == [1, -1, -1]
    assert qrels["source"].tolist() == ["original", "new", "new"]
    said = (
        "1 pairs were not drawn by the pool's sample (first: q c); a sample of two designs gives no estimate"
    )
    refused(f"labels: {said}", make_evidence, original({"a": 1}), judged, **sample, by=JoinError)
    judge = {"judge": "vlm", "answers": labelled({"c": 1})}
    said += ", expected labels of the pairs drawn, as of `augment` without --include-machine"
    refused(said, make_evidence, original({"a": 1}), labelled({}), **sample, **judge, by=JoinError)
    strata = check_qrels(original({"a": 1}).assign(stratum="1"))
    said = "the original qrels have strata, and so has the pool"
    drawn = drawn.assign(judge_id="j", score=0.5, best_rank=1, is_drawn=True)
    for sampled in (sample, {"machine_sample": drawn}):
        refused(said, make_evidence, strata, labelled({"b": 1}), **sampled, by=JoinError)


def test_a_pair_of_a_sample_that_the_policy_drops_is_not_called_open() -> None:
    rows = [("q", doc, "2:9:0.5", 0.5) for doc in ("a", "b")]
    drawn = made(check_pool, "query_id doc_id stratum inclusion_probability", *rows)
    found = fire.augment(original({"a": 1, "z": 1}), labelled({"a": 0}), pool=drawn, policy="drop")
    assert "1 pair of the sample without a label" in "".join(found.said)


def test_a_pair_of_which_an_id_is_unknown_is_nowhere() -> None:
    coded = code_qrels(make_qrels({"p": {"a": 1, "b": 1}, "q": {"a": 1}}))
    query, doc = np.array([0, 0, 1, 1, -1]), np.array([0, 1, 0, -1, 0])  # the fourth is next to (p, b)
    expected = [0, 1, 2, -1, -1]
    assert expected == coded.find(query, doc).tolist()
