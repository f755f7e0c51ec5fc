"""A ranking restricted to some docs equals the same docs ranked by themselves."""

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_world import drawn, make_run

from fire_toolkit.errors import JoinError
from fire_toolkit.measures import count_missing_members, restrict_run, restrict_to_groups
from fire_toolkit.tables import Run

DOCS = list("abcdef")


scores_of = drawn(["q1", "q2"], DOCS, st.integers(0, 3))


@given(
    scores_of, st.fixed_dictionaries({q: st.sets(st.sampled_from(DOCS), min_size=1) for q in ("q1", "q2")})
)
def test_the_group_ranked_by_itself_is_the_same_list(scores, groups) -> None:
    run = make_run(scores)
    before = run.copy()
    members = pd.DataFrame([(q, d) for q, own in groups.items() for d in own], columns=["query_id", "doc_id"])
    references = {"q1": "a", "q2": "f"}
    found = restrict_to_groups(run, members, references)
    own = {q: groups[q] - {references[q]} for q in groups}
    kept = {q: {d: s for d, s in docs.items() if d in own[q]} for q, docs in scores.items()}
    pd.testing.assert_frame_equal(found, make_run(kept))
    lacking = [q for q in groups if (groups[q] - {references[q]}) - set(scores.get(q, {}))]
    assert len(lacking) == count_missing_members(found, members, references)
    pd.testing.assert_frame_equal(before, run)


def test_without_references_every_member_stands() -> None:
    groups = pd.DataFrame({"query_id": ["q", "q"], "doc_id": ["a", "b"]})
    found = restrict_to_groups(make_run({"q": {"a": 1, "b": 2, "c": 3}}), groups)
    assert list(zip(found["doc_id"], found["rank"], strict=True)) == [("b", 1), ("a", 2)]


def test_a_query_without_a_group_and_ranks_left_out_are_refused() -> None:
    run = make_run({"q": {"a": 1, "b": 2}, "r": {"a": 1}})
    with pytest.raises(JoinError, match=r"groups: 1 queries of the run have none \(r\)"):
        restrict_to_groups(run, pd.DataFrame({"query_id": ["q"], "doc_id": ["a"]}))
    gap = Run(run.assign(rank=[1, 3, 1]))
    with pytest.raises(JoinError, match=r"run m: ranks are left out \(query q\); expected whole lists"):
        restrict_run(gap, (gap["rank"] > 0).to_numpy())
