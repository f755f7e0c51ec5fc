from brought import refused
from small_world import World, made, qrels_of

from fire_toolkit.errors import JoinError
from fire_toolkit.evidence.qrels import augment_qrels, change_counts
from fire_toolkit.inference.leave_out import contributions
from fire_toolkit.tables import check_labels, check_pool_sources

FOUND = [("q", doc, run, 1) for run, docs in {"m": "abcf", "n": "adef"}.items() for doc in docs]
SOURCES = made(check_pool_sources, "query_id doc_id run_id rank", *FOUND)
GIVEN = [("q", doc, "x", int(doc in "abf")) for doc in "abcdf"]
LABELS = made(check_labels, "query_id doc_id label relevance", *GIVEN)
ORIGINAL = qrels_of({("q", "a"): 1, ("q", "d"): 1})


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
