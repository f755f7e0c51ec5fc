import pandas as pd
from brought import refused
from small_world import World

from fire_toolkit.errors import JoinError
from fire_toolkit.evidence.qrels import augment_qrels, change_counts
from fire_toolkit.inference.contributions import contributions
from fire_toolkit.tables import check_labels, check_pool_sources, check_qrels

SOURCES = check_pool_sources(
    pd.DataFrame(
        [("q", "a", "m"), ("q", "a", "n"), ("q", "b", "m"), ("q", "c", "m"), ("q", "d", "n"), ("q", "e", "n"),
         ("q", "f", "m"), ("q", "f", "n")],
        columns=["query_id", "doc_id", "run_id"],
    ).assign(rank=1)
)  # fmt: skip
LABELS = check_labels(
    pd.DataFrame({"query_id": "q", "doc_id": list("abcdf"), "label": "x", "relevance": [1, 1, 0, 0, 1]})
)
ORIGINAL = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a", "d"], "relevance": 1}))


def test_each_run_is_credited_with_what_became_of_its_pairs() -> None:
    m, n = contributions(SOURCES, LABELS, ORIGINAL).runs.to_dict("records")
    assert m == {
        "run_id": "m", "n_pooled": 4, "n_positive": 3, "confirmed": 1, "rejected": 0, "new": 2,
        "irrelevant": 1, "not_judged": 0, "n_own": 2, "own_positive": 1, "own_new": 1, "own_share": 0.5,
    }  # fmt: skip
    assert (n["rejected"], n["not_judged"], n["n_own"], n["own_positive"], n["new"]) == (1, 1, 2, 0, 1)


def test_sets_of_runs_split_the_pool() -> None:
    table = contributions(SOURCES, LABELS, ORIGINAL).sets
    assert table["runs"].tolist() == ["m", "m & n", "n"]
    assert table["n_pairs"].tolist() == [2, 2, 2]
    assert table["n_positive"].tolist() == [1, 2, 0]
    assert table[["confirmed", "new"]].to_numpy().tolist() == [[0, 1], [1, 1], [0, 0]]


def test_the_counts_over_sets_are_those_of_the_changes() -> None:
    world = World(1)
    table = contributions(world.sources, world.labels, world.original).sets
    counts = change_counts(augment_qrels(world.original, world.labels)[1])
    for kind in ("confirmed", "rejected", "new", "irrelevant"):
        assert counts[kind] == table[kind].sum()
    assert table["n_pairs"].sum() == len(world.labels)


def test_labels_of_another_pool_are_refused() -> None:
    other = check_labels(LABELS.assign(query_id="other"))
    refused("labels: none is on a pair of the pool", contributions, SOURCES, other, ORIGINAL, by=JoinError)
