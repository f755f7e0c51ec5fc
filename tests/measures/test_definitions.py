"""Measures equal slow ones written from their definitions, and keep the properties they must have."""

import statistics

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from fire_toolkit.measures import JudgedRanking, list_measures, parse_measure

QUERY_IDS = ["q1", "q2", "q3", "q4", "q5"]
DOC_IDS = [f"d{n:02d}" for n in range(14)]
runs = st.dictionaries(
    st.sampled_from(QUERY_IDS),
    st.dictionaries(st.sampled_from(DOC_IDS), st.integers(0, 4), min_size=1),
    min_size=1,
)
qrels = st.dictionaries(
    st.sampled_from(QUERY_IDS),
    st.dictionaries(st.sampled_from(DOC_IDS), st.integers(-1, 2), min_size=1),
    min_size=1,
)
cutoffs = st.integers(1, 16)
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


def slow_correct(found: list[int | None], k: int) -> float:
    return float(any(is_positive(relevance) for relevance in found[:k]))


def slow_average_precision_fire(found: list[int | None], k: int) -> float:
    precisions = [
        sum(map(is_positive, found[:rank])) / rank
        for rank, relevance in enumerate(found[:k], start=1)
        if is_positive(relevance)
    ]
    return sum(precisions) / len(precisions) if precisions else 0.0


def slow_average_precision_min(found: list[int | None], k: int, n_positives: int) -> float:
    at_positives = [rank for rank, relevance in enumerate(found[:k], start=1) if is_positive(relevance)]
    precisions = [sum(map(is_positive, found[:rank])) / rank for rank in at_positives]
    return sum(precisions) / min(k, n_positives) if n_positives else 0.0


def slow_judged(found: list[int | None], k: int) -> float:
    top = found[:k]
    return sum(relevance is not None and relevance >= 0 for relevance in top) / len(top) if top else 0.0


def slow_first_rank(found: list[int | None], worst: int) -> float:
    return float(next((i for i, relevance in enumerate(found, start=1) if is_positive(relevance)), worst))


SLOW = {"C": slow_correct, "AP_fire": slow_average_precision_fire, "Judged": slow_judged}


@given(run=runs, relevances=qrels, k=cutoffs)
@settings(max_examples=examples(40))
def test_equal_their_definitions(join, run, relevances, k: int) -> None:
    ranking, found = join(run, relevances), lists(run, relevances)
    for name, slow in SLOW.items():
        expected = [slow(relevances_in_order, k) for relevances_in_order in found.values()]
        np.testing.assert_allclose(values(ranking, f"{name}@{k}"), expected, atol=1e-12, err_msg=name)


@given(run=runs, relevances=qrels, k=cutoffs)
@settings(max_examples=examples(40))
def test_average_precision_over_the_places_there_are_equals_its_definition(
    join, run, relevances, k: int
) -> None:
    n_positives = [sum(map(is_positive, docs.values())) for _, docs in sorted(relevances.items())]
    found = lists(run, relevances).values()
    expected = [slow_average_precision_min(f, k, n) for f, n in zip(found, n_positives, strict=True)]
    np.testing.assert_allclose(values(join(run, relevances), f"AP@{k}/min"), expected, atol=1e-12)


def slow_rank_biased(found: list[int | None], p: float) -> tuple[float, float]:
    weights = [(1 - p) * p**place for place in range(len(found))]
    gained = sum(w for w, relevance in zip(weights, found, strict=True) if is_positive(relevance))
    unknown = sum(
        w for w, relevance in zip(weights, found, strict=True) if relevance is None or relevance < 0
    )
    return gained, unknown + p ** len(found)


@given(run=runs, relevances=qrels, p=st.floats(0.01, 0.99))
@settings(max_examples=examples(40))
def test_rank_biased_precision_and_its_residual_equal_their_definitions(
    join, run, relevances, p: float
) -> None:
    ranking = join(run, relevances)
    expected = np.array([slow_rank_biased(found, p) for found in lists(run, relevances).values()])
    np.testing.assert_allclose(values(ranking, f"RBP(p={p})"), expected[:, 0], atol=1e-12)
    np.testing.assert_allclose(values(ranking, f"RBP_residual(p={p})"), expected[:, 1], atol=1e-12)


@given(run=runs, relevances=qrels, k=cutoffs)
@settings(max_examples=examples(40))
def test_judged_and_unjudged_add_up_to_what_was_retrieved(join, run, relevances, k: int) -> None:
    ranking = join(run, relevances)
    both = values(ranking, f"Judged@{k}") + values(ranking, f"unjudged@{k}")
    np.testing.assert_allclose(both, [float(query in run) for query in sorted(relevances)], atol=1e-12)


@given(run=runs, relevances=qrels)
@settings(max_examples=examples(40))
def test_the_second_tier_and_e_equal_their_definitions(join, run, relevances) -> None:
    tiers, harmonic = [], []
    for found, (_, docs) in zip(lists(run, relevances).values(), sorted(relevances.items()), strict=True):
        n_positives = sum(map(is_positive, docs.values()))
        tiers.append(sum(map(is_positive, found[: 2 * n_positives])) / max(n_positives, 1))
        precision, recall = (
            sum(map(is_positive, found)) / 32,
            sum(map(is_positive, found)) / max(n_positives, 1),
        )
        harmonic.append(2 / (1 / precision + 1 / recall) if precision else 0.0)
    np.testing.assert_allclose(values(join(run, relevances), "ST"), tiers, atol=1e-12)
    np.testing.assert_allclose(values(join(run, relevances), "E"), harmonic, atol=1e-12)


@given(run=runs, relevances=qrels)
@settings(max_examples=examples(40))
def test_ranks_of_the_first_positive_equal_their_definition(join, run, relevances) -> None:
    ranking, found = join(run, relevances), lists(run, relevances)
    worst = max(map(len, found.values())) + 1
    expected = [slow_first_rank(relevances_in_order, worst) for relevances_in_order in found.values()]
    for name, aggregate in (("MnR", statistics.fmean), ("MedR", statistics.median)):
        measure = parse_measure(name)
        assert expected == list(measure.per_query(ranking))
        assert aggregate(expected) == pytest.approx(measure.aggregate(np.array(expected)), abs=1e-12)


@given(run=runs, relevances=qrels, name=every_name)
@settings(max_examples=examples(60))
def test_every_measure_lies_in_its_range(join, run, relevances, name: str) -> None:
    ranking = join(run, relevances)
    found = values(ranking, name)
    assert found.shape == (len(relevances),)
    assert found.dtype == np.float64
    low, high = {"share": (0, 1), "rank": (1, 15), "gain": (0, np.inf), "count": (0, np.inf)}[
        parse_measure(name).definition.unit
    ]
    if name.startswith("infNDCG"):  # the gain found is raised by pooled over judged docs, which nothing caps
        high = np.inf
    assert np.all((found >= low) & (found <= high + 1e-12))


@given(run=runs, relevances=qrels, name=every_name)
@settings(max_examples=examples(60))
def test_names_of_docs_do_not_matter_as_long_as_their_order_stays(join, run, relevances, name: str) -> None:
    def rename(table):
        return {f"x-{q}": {f"日{doc}": value for doc, value in docs.items()} for q, docs in table.items()}

    np.testing.assert_array_equal(
        values(join(run, relevances), name), values(join(rename(run), rename(relevances)), name)
    )


@given(run=runs, relevances=qrels, name=every_name)
@settings(max_examples=examples(60))
def test_queries_that_the_qrels_lack_change_nothing(join, run, relevances, name: str) -> None:
    more = {**run, "another": {f"d{n:02d}": 1 for n in range(14)}, "a": {"d01": 1}}
    np.testing.assert_array_equal(values(join(run, relevances), name), values(join(more, relevances), name))


@given(run=runs, relevances=qrels, k=cutoffs)
@settings(max_examples=examples(40))
def test_an_unjudged_tail_changes_no_measure_of_positives(join, run, relevances, k: int) -> None:
    longer = {q: {**docs, **{f"tail{n}": -n for n in range(1, 4)}} for q, docs in run.items()}
    short, long = join(run, relevances), join(longer, relevances)
    for name in (f"C@{k}", f"R@{k}", f"P@{k}", "AP", f"AP@{k}", f"AP_fire@{k}", "nDCG", f"nDCG@{k}", "RR"):
        np.testing.assert_array_equal(values(short, name), values(long, name), err_msg=name)


@given(run=runs, relevances=qrels, added=qrels, k=cutoffs)
@settings(max_examples=examples(40))
def test_correct_and_precision_never_fall_when_positives_are_added(
    join, run, relevances, added, k: int
) -> None:
    more = {
        query: docs | {doc: 1 for doc, grade in added.get(query, {}).items() if grade >= 1}
        for query, docs in relevances.items()
    }
    before, after = join(run, relevances), join(run, more)
    for name in (f"C@{k}", f"P@{k}", "RR"):
        assert np.all(values(after, name) >= values(before, name)), name


def test_a_query_with_nothing_retrieved_scores_zero_and_has_the_worst_rank(join) -> None:
    ranking = join({"q1": {"a": 2, "b": 1}}, {"q1": {"a": 1}, "q2": {"a": 1}})
    for name in ("C@1", "R@1", "P@1", "AP", "AP@1", "AP_fire@1", "nDCG", "nDCG@1", "RR", "Judged@1"):
        assert list(values(ranking, name)) == [1.0, 0.0], name
    assert list(values(ranking, "MnR")) == [1.0, 3.0]


def test_a_query_without_a_positive_scores_zero(join) -> None:
    ranking = join({"q1": {"a": 2, "b": 1}}, {"q1": {"a": 0, "b": -1}})
    for name in ("C@1", "R@1", "P@1", "AP", "AP@1", "AP_fire@1", "nDCG", "nDCG@1", "RR"):
        assert list(values(ranking, name)) == [0.0], name
    assert list(values(ranking, "MedR")) == [3.0]


def test_judged_divides_by_what_was_retrieved_and_leaves_out_what_was_only_pooled(join) -> None:
    ranking = join({"q1": {"a": 4, "b": 3, "c": 2}}, {"q1": {"a": 0, "b": -1, "x": 1}})
    assert list(values(ranking, "Judged@10")) == [1 / 3]
    assert list(values(ranking, "Judged@2")) == [1 / 2]
    assert list(values(ranking, "Judged@10:condensed")) == [1.0]


def test_which_measures_are_better_the_smaller_they_are() -> None:
    smaller = {"MedR", "MnR", "RBP_residual", "unjudged"}
    assert {one.key for one in list_measures() if not one.larger_is_better} == smaller


def test_a_positive_at_the_cutoff_counts(at_ranks) -> None:
    ranking = at_ranks([3], length=5, total=1)
    assert [values(ranking, name).item() for name in ("C@3", "RR@3", "RR@2")] == [1.0, 1 / 3, 0.0]
