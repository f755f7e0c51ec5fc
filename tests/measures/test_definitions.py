"""Measures equal slow ones written from their definitions, and keep the properties they must have."""

import statistics
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_world import at_ranks, drawn, join

from examples import examples
from fire_toolkit.measures import JudgedRanking, list_measures, parse_measure

QUERY_IDS = ["q1", "q2", "q3", "q4", "q5"]
DOC_IDS = [f"d{n:02d}" for n in range(14)]
runs = drawn(QUERY_IDS, DOC_IDS, st.integers(0, 4))
qrels = drawn(QUERY_IDS, DOC_IDS, st.integers(-1, 2))
every_name = st.sampled_from(
    [
        definition.example.replace("@10", k) + modifiers
        for definition in list_measures()
        for k in (["@1", "@5"] if "@10" in definition.example else [""])
        for modifiers in ("", ":rel=2", ":condensed")
    ]
)


def values(ranking: JudgedRanking, name: str) -> np.ndarray:
    measure = parse_measure(name)
    return measure.per_query(measure.view(ranking))


def lists(run, relevances) -> dict[str, list[int | None]]:
    """Return the relevance of each doc in rank order, None where the qrels lack it, query ids sorted."""
    ordered = {q: sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True) for q, docs in run.items()}
    return {q: [docs.get(doc) for doc in ordered.get(q, [])] for q, docs in sorted(relevances.items())}


def is_positive(relevance: int | None) -> bool:
    return relevance is not None and relevance >= 1


def n_found(found: list[int | None]) -> int:
    return sum(map(is_positive, found))


def share_judged(top: list[int | None]) -> float:
    return sum(relevance is not None and relevance >= 0 for relevance in top) / max(len(top), 1)


def precisions(found: list[int | None], k: int) -> list[float]:
    return [n_found(found[: n + 1]) / (n + 1) for n, each in enumerate(found[:k]) if is_positive(each)]


def slow_e(found: list[int | None], n_positives: int) -> float:
    precision, recall = n_found(found) / 32, n_found(found) / max(n_positives, 1)
    return 2 / (1 / precision + 1 / recall) if precision else 0.0


def weights(found: list[int | None], p: float, is_counted: Callable[[int | None], bool]) -> float:
    return sum((1 - p) * p**place for place, relevance in enumerate(found) if is_counted(relevance))


# Each from the relevance of the docs in rank order, the number of positives, a cutoff, and a persistence.
SLOW: dict[str, Callable[[list[int | None], int, int, float], float]] = {
    "AP_fire@{k}": lambda found, n, k, p: sum(precisions(found, k)) / max(n_found(found[:k]), 1),
    "AP@{k}/min": lambda found, n, k, p: sum(precisions(found, k)) / max(min(k, n), 1),
    "Judged@{k}": lambda found, n, k, p: share_judged(found[:k]),
    "unjudged@{k}": lambda found, n, k, p: 1 - share_judged(found[:k]) if found else 0.0,
    "RBP(p={p})": lambda found, n, k, p: weights(found, p, is_positive),
    "RBP_residual(p={p})": lambda found, n, k, p: (
        p ** len(found) + weights(found, p, lambda relevance: relevance is None or relevance < 0)
    ),
    "ST": lambda found, n, k, p: n_found(found[: 2 * n]) / max(n, 1),
    "E": lambda found, n, k, p: slow_e(found, n),
}


@given(run=runs, relevances=qrels, k=st.integers(1, 16), p=st.floats(0.01, 0.99))
@settings(max_examples=examples(80))
def test_equal_their_definitions(run, relevances, k: int, p: float) -> None:
    ranking = join(run, relevances)
    n_positives = [n_found([*docs.values()]) for _, docs in sorted(relevances.items())]
    each = list(zip(lists(run, relevances).values(), n_positives, strict=True))
    for pattern, slow in SLOW.items():
        name = pattern.format(k=k, p=p)
        expected = [slow(found, n, k, p) for found, n in each]
        np.testing.assert_allclose(values(ranking, name), expected, atol=1e-12, err_msg=name)


@given(run=runs, relevances=qrels)
@settings(max_examples=examples(40))
def test_ranks_of_the_first_positive_equal_their_definition(run, relevances) -> None:
    ranking, found = join(run, relevances), lists(run, relevances).values()
    worst = max(map(len, found)) + 1
    expected = [next((float(n) for n, r in enumerate(own, 1) if is_positive(r)), worst) for own in found]
    for name, aggregate in (("MnR", statistics.fmean), ("MedR", statistics.median)):
        measure = parse_measure(name)
        assert expected == list(measure.per_query(ranking))
        assert aggregate(expected) == pytest.approx(measure.aggregate(np.array(expected)), abs=1e-12)


@given(run=runs, relevances=qrels, name=every_name)
@settings(max_examples=examples(60))
def test_every_measure_lies_in_its_range(run, relevances, name: str) -> None:
    found = values(join(run, relevances), name)
    assert found.shape == (len(relevances),)
    assert found.dtype == np.float64
    ranges = {"share": (0, 1), "rank": (1, 15), "gain": (0, np.inf), "count": (0, np.inf)}
    low, high = ranges[parse_measure(name).definition.unit]
    if name.startswith("infNDCG"):  # the gain found is raised by pooled over judged docs, which nothing caps
        high = np.inf
    assert np.all((found >= low) & (found <= high + 1e-12))


@given(run=runs, relevances=qrels, name=every_name)
@settings(max_examples=examples(60))
def test_names_of_docs_and_queries_that_the_qrels_lack_change_nothing(run, relevances, name: str) -> None:
    """Names may change as long as the order of docs stays."""

    def rename(table):
        return {f"x-{q}": {f"日{doc}": value for doc, value in docs.items()} for q, docs in table.items()}

    expected = values(join(run, relevances), name)
    np.testing.assert_array_equal(expected, values(join(rename(run), rename(relevances)), name))
    more = {**run, "another": {f"d{n:02d}": 1 for n in range(14)}, "a": {"d01": 1}}
    np.testing.assert_array_equal(expected, values(join(more, relevances), name))


def test_judged_divides_by_what_was_retrieved_and_leaves_out_what_was_only_pooled() -> None:
    ranking = join({"q1": {"a": 4, "b": 3, "c": 2}}, {"q1": {"a": 0, "b": -1, "x": 1}})
    assert list(values(ranking, "Judged@10")) == [1 / 3]
    assert list(values(ranking, "Judged@2")) == [1 / 2]
    assert list(values(ranking, "Judged@10:condensed")) == [1.0]


def test_which_measures_are_better_the_smaller_they_are() -> None:
    smaller = {"MedR", "MnR", "RBP_residual", "unjudged"}
    assert {one.key for one in list_measures() if not one.larger_is_better} == smaller


def test_a_positive_at_the_cutoff_counts() -> None:
    ranking = at_ranks([3], length=5, total=1)
    assert [values(ranking, name).item() for name in ("C@3", "RR@3", "RR@2")] == [1.0, 1 / 3, 0.0]
