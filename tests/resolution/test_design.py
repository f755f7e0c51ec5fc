"""Classes by design, and the votes in the order in which it asked for them."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from brought import refused
from small_world import made, qrels_of

from fire_toolkit.campaign.beginning import extended_design
from fire_toolkit.commands.resolve import resolve
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.inference.votes import votes_by_design
from fire_toolkit.resolution.design import (
    decide_classes,
    design_pairs,
    open_pairs,
    votes_in_order,
    with_design,
)
from fire_toolkit.tables import check_judgments, check_pool_sources, check_qrels, check_queries
from fire_toolkit.tables.design import OPEN, label_by_design

GRADES = {"no": 0, "yes": 1, "?": None}


def given(**votes: str) -> pd.DataFrame:
    columns = {"query_id": "q", "doc_id": list(votes), "design_votes": list(votes.values())}
    return pd.DataFrame(columns, dtype="str")


def pairs(docs: str, doubled: str = "") -> pd.DataFrame:
    is_doubled = [doc in doubled for doc in docs]
    return pd.DataFrame({"query_id": "q", "doc_id": list(docs), "is_doubled": is_doubled})


FOUND = ("q", "a", "r", 1), ("q", "b", "r", 2), ("q", "b", "s", 1), ("q", "c", "s", 4), ("q", "d", "r", 7)
SOURCES = made(check_pool_sources, "query_id doc_id run_id rank", *FOUND)


def test_labels_by_design() -> None:
    expected = {
        ("single", "01"): 0, ("doubled", "11"): 1, ("doubled", "01"): -1, ("doubled", "010"): 0,
        ("verify", "0"): 0, ("verify", "10"): -1, ("verify", "1011"): 1, ("", "1"): -1, ("single", ""): -1,
    }  # fmt: skip
    assert {key: label_by_design(*key) for key in expected} == expected
    refused("design class 'twice' with votes '1'", label_by_design, "twice", "1", by=TableError)


def test_the_order_is_best_rank_then_fused_ranks_then_doc_id() -> None:
    design = design_pairs(pairs("abcd"), policy="until-confirmed", sources=SOURCES)
    # b is ranked by two runs, so it comes before a, also first in one
    expected = [["b", 1, "3e"], ["a", 2, "7"], ["c", 3, "30"], ["d", 4, "4"]]
    assert design[["doc_id", "place", "cells"]].values.tolist() == expected


def test_an_original_covers_what_it_stands_in_and_is_not_verified() -> None:
    original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["b"], "relevance": 1}))
    design = design_pairs(pairs("abcd", "d"), policy="until-confirmed", sources=SOURCES, original=original)
    found = decide_classes(design, given(a="1", b="1", c="1", d="10"))
    # b is first in s and second in r: what is left is r's top 1, which a holds
    assert dict(zip(found["doc_id"], found["design_class"], strict=True)) == {
        "b": "single", "a": "verify", "c": "single", "d": "doubled",
    }  # fmt: skip
    assert open_pairs(found)["doc_id"].tolist() == ["a", "d"]


def test_a_class_waits_for_the_pairs_before_and_not_for_its_own_votes() -> None:
    design = design_pairs(pairs("abcd"), policy="until-confirmed", sources=SOURCES)

    def classes(**votes: str) -> str:
        found = decide_classes(design, given(**votes)).set_index("doc_id")["design_class"]
        return " ".join(found[list("bacd")].replace("", "-"))

    assert classes(b="1", a="1", c="1", d="1") == "verify verify - -"
    assert classes(b="11", a="1", c="0", d="1") == "verify verify single single"
    assert classes(b="0", a="11", c="1", d="0") == "verify verify verify single"
    assert classes(b="11", a="1", c="111", d="011") == classes(b="11", a="1", c="0", d="1")


def test_verify_positives_asks_positives_and_what_differs() -> None:
    design = design_pairs(pairs("abcd", "d"), policy="verify-positives")
    decided = decide_classes(design, given(a="1", b="0", c="10", d="11"))
    assert open_pairs(decided)["doc_id"].tolist() == ["a", "c"]
    assert open_pairs(decide_classes(design, given(a="11", b="0", c="101", d="1")))["doc_id"].tolist() == []


def test_votes_stand_by_round_then_by_kind_and_escalations_are_none() -> None:
    kinds = {"u": "adjudication", "v": "overlap", "w": "task", "x": "task", "y": "unassigned", "z": "task"}
    labels = {"u": "yes", "v": "no", "w": "yes", "x": "?", "y": "yes", "z": "?"}
    table = pd.DataFrame({"annotator_id": list(kinds), "kind": list(kinds.values())}).assign(query_id="q")
    table["label"] = table["annotator_id"].map(labels)
    table["doc_id"] = ["b" if name == "z" else "a" for name in kinds]
    table["round"] = [2 if name == "u" else 1 for name in kinds]
    judgments = check_judgments(table)
    votes = votes_in_order(judgments, grades=GRADES)
    assert votes[["doc_id", "design_votes"]].values.tolist() == [["a", "101"]]
    known = pd.DataFrame({"query_id": "q", "doc_id": ["a", "z"]})
    (found,) = with_design([known], design_pairs(pairs("a", "a")), judgments, grades=GRADES)
    assert found[["design_class", "design_votes"]].values.tolist() == [["doubled", "101"], ["", ""]]


@pytest.mark.parametrize("left_out", ["", "u", "v", "w"])
def test_a_doubled_pair_that_lost_a_first_vote_is_one_of_a_single_vote(left_out: str) -> None:
    """u and v differ, so that w is asked: without v, say, the vote of w hangs on what u said."""
    votes = {"u": ("task", 1, "yes"), "v": ("overlap", 1, "no"), "w": ("adjudication", 2, "yes")}
    table = pd.DataFrame(votes.values(), columns=["kind", "round", "label"]).assign(annotator_id=[*votes])
    judgments = check_judgments(
        table.assign(query_id="q", doc_id="a")[lambda t: t["annotator_id"] != left_out]
    )
    known = pd.DataFrame({"query_id": "q", "doc_id": ["a"]})
    (found,) = with_design([known], design_pairs(pairs("a", "a")), judgments, grades=GRADES)
    classes = {"": "doubled", "u": "single", "v": "single", "w": "doubled"}
    assert found["design_class"].tolist() == [classes[left_out]]
    assert found["design_votes"].tolist() == [
        "".join("01"[votes[n][2] == "yes"] for n in votes if n != left_out)
    ]


def test_votes_of_another_pair_stand_beyond_the_design_and_leave_none_of_its_positives_open() -> None:
    queries = pd.DataFrame({"query_id": ["q1", "q2"], "text": "a dog"})
    votes = ("q1", "u", "no", "09:00"), ("q2", "v", "yes", "08:00"), ("q2", "w", "yes", "10:00")
    judged = pd.DataFrame(
        [(query, "d", name, label, f"2026-01-01T{when}:00Z") for query, name, label, when in votes],
        columns=["query_id", "doc_id", "annotator_id", "label", "created_at"],
    )
    design = pd.DataFrame({"query_id": ["q1", "q2"], "doc_id": "d", "design_class": "verify"})
    shared: dict[str, Any] = {"queries": check_queries(queries), "share_judgments": "same-text"}
    found = resolve(check_judgments(judged), design=design, grades=GRADES, **shared)
    assert found.labels["design_votes"].tolist() == ["011", "110"]
    assert votes_by_design(found.labels, qrels_of({})).pairs["relevance"].tolist() == [0, 1]


def test_a_recheck_is_no_vote_of_the_design_and_makes_a_class_of_its_own() -> None:
    table = pd.DataFrame({"query_id": "q", "doc_id": list("aab"), "annotator_id": list("uvu")})
    table = table.assign(label=["yes", "no", "yes"], kind=["task", "recheck", "task"], round=[1, 2, 1])
    judgments = check_judgments(table)
    known = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"]})
    (found,) = with_design([known], design_pairs(pairs("ab")), judgments, grades=GRADES)
    assert found[["design_class", "design_votes"]].values.tolist() == [["recheck", "1"], ["single", "1"]]
    assert label_by_design("recheck", "1") == OPEN
    originals = (qrels_of({("q", doc): 1}) for doc in ("c", "a"))
    reasons = [votes_by_design(found, original).reason for original in originals]
    assert reasons[0].startswith("1 pair asked again because somebody doubted the label")
    assert "recheck" not in reasons[1]  # a is an original positive, and taken as right


def test_an_unknown_policy_and_missing_sources_are_refused() -> None:
    with pytest.raises(UsageError, match="policy 'all' is unknown; expected one of verify-positives, until"):
        design_pairs(pairs("a"), policy="all")
    with pytest.raises(UsageError, match="until-confirmed needs the pool's sources"):
        design_pairs(pairs("a"), policy="until-confirmed")
    with pytest.raises(UsageError, match="design class 'twice'; expected one of single, doubled, verify"):
        decide_classes(pairs("a").assign(design_class="twice"), given(a="1"))


def test_a_policy_verifies_every_positive_of_queries_judged_deep() -> None:
    deep = pd.DataFrame({"query_id": "q", "doc_id": ["b", "c", "d"]})
    original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["b"], "relevance": 1}))
    plain_of = {"until-confirmed": "until-confirmed", "verify-positives": "verify", None: "single"}
    for policy, plain in plain_of.items():
        design = design_pairs(
            pairs("abcd", "d"), policy=policy, sources=SOURCES, original=original, deep=deep
        ).set_index("doc_id")["design_class"]
        of_c = "verify" if policy else "single"
        assert design.to_dict() == {"a": plain, "b": "single", "c": of_c, "d": "doubled"}
    known = design_pairs(pairs("abc"), policy="until-confirmed", sources=SOURCES, deep=deep)
    # b comes first and, once confirmed, covers what a and c could decide; c is verified whatever b is
    assert decide_classes(known, given(b="11", a="1", c="1"))["design_class"].tolist() == ["verify"] * 3
    assert open_pairs(decide_classes(known, given(b="11", a="0", c="1")))["doc_id"].tolist() == ["c"]


@pytest.mark.parametrize("late", ["a-late", "z-late"])
def test_a_later_run_goes_by_the_votes_on_earlier_pairs_whatever_its_name(tmp_path: Path, late: str) -> None:
    (tmp_path / "pool").mkdir()

    def design(known: pd.DataFrame | None, docs: str, *further: tuple[str, str, str, int]) -> pd.DataFrame:
        sources = made(check_pool_sources, "query_id doc_id run_id rank", *FOUND, *further)
        sources.to_csv(tmp_path / "pool" / "pool_sources.csv", index=False)
        return extended_design(known, pairs(docs), "until-confirmed", tmp_path)

    def classes(known: pd.DataFrame, **votes: str) -> dict[str, str]:
        return decide_classes(known, given(**votes)).set_index("doc_id")["design_class"].to_dict()

    votes = {"a": "1", "b": "11", "c": "1", "d": "1"}  # b and a cover the tops of r and s
    early = design(None, "abcd")
    assert classes(early, **votes | {"a": "11"}) == dict(
        zip("abcd", ["verify"] * 2 + ["single"] * 2, strict=True)
    )
    both = design(early, "abcde", ("q", "c", late, 1), ("q", "e", late, 2))
    # the later run has c alone at its top, so c is verified now; it then covers what e could decide
    assert classes(both, **votes | {"a": "11", "c": "11", "e": "1"}) == {
        "a": "verify", "b": "verify", "c": "verify", "d": "single", "e": "single",
    }  # fmt: skip
    assert both.set_index("doc_id")["place"].to_dict() == {"b": 1, "a": 2, "c": 3, "d": 4, "e": 5}
    same = design(early, "abcd", ("q", "c", late, 1))  # also a run that brings no new pair
    assert classes(same, **votes | {"a": "11"})["c"] == "verify"
    (tmp_path / "pool" / "pool_sources.csv").unlink()  # what is written is enough where nothing is new
    assert extended_design(both, pairs("abcde"), "until-confirmed", tmp_path) is both
    with pytest.raises(UsageError, match="until-confirmed needs the pool's sources"):
        extended_design(both, pairs("abcdef"), "until-confirmed", tmp_path)
