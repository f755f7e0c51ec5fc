from typing import Any

import numpy as np
import pandas as pd
import pytest
from small_world import World, made

from fire_toolkit import report
from fire_toolkit.agreement.table import agreement
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.honest import scores_with_uncertainty
from fire_toolkit.reporting.paper import all_and_new, by_length, by_similarity, describe_data, saturation
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.scoring import score_runs
from fire_toolkit.tables import check_judgments, check_pool_sources, check_queries

GRADES: dict[str, float | int | None] = {"relevant": 1, "irrelevant": 0, "unclear": None}


def judgments(*rows: str) -> Any:
    """Judgments, each as query, doc and annotator of a letter each, and the label."""
    return made(check_judgments, "query_id doc_id annotator_id label", *((*row[:3], row[4:]) for row in rows))


ANSWERS = judgments(
    *("1au relevant", "1av relevant", "1bu relevant", "1bv irrelevant"),
    *("2au irrelevant", "2bu irrelevant", "2bv irrelevant", "2cu unclear"),
)


def test_the_data_are_counted_with_agreement_kept_apart() -> None:
    row = describe_data(ANSWERS, grades=GRADES).iloc[0]
    assert (row["pairs"], row["labels"], row["resolved"]) == (5, 7, 3)
    assert (row["relevant"], row["irrelevant"], row["disagreement"]) == (1, 2, 2)
    assert row["resolved_share"] == 3 / 5
    assert row["relevant_share"] == 1 / 3
    assert row["multiply_labelled"] == 3
    assert row["agreeing"] == row["unanimous"] == pytest.approx(2 / 3)
    # Krippendorff: 3 units rr, ri, ii: Do = 1/3; De = 2·3·3/(6·5) = .6; alpha = 1 − .5556.
    assert row["alpha"] == pytest.approx(1 - (1 / 3) / 0.6)
    row = describe_data(judgments(), grades=GRADES).iloc[0]
    assert (row["pairs"], row["labels"], row["resolved"]) == (0, 0, 0)
    assert np.isnan([row["resolved_share"], row["relevant_share"], row["alpha"]]).all()


def test_labels_are_the_answers_that_agreement_is_of_and_later_rounds_resolve() -> None:
    later = ANSWERS[["query_id", "doc_id", "annotator_id", "label"]].assign(round=1, kind="judgment")
    more = [("1", "b", "w", "relevant", 2, "judgment"), ("2", "d", "u", "relevant", 1, "unassigned")]
    later = check_judgments(pd.concat([later, pd.DataFrame(more, columns=later.columns)], ignore_index=True))
    measured = agreement(first_round(later), grades=GRADES, statistics=["alpha"]).iloc[0]
    row = describe_data(later, grades=GRADES).iloc[0]
    assert (row["pairs"], row["labels"], row["multiply_labelled"]) == (5, 7, measured["n_pairable"])
    assert row["alpha"] == measured["value"]
    assert (row["resolved"], row["relevant"], row["disagreement"]) == (4, 2, 1)


def test_the_data_of_each_dataset_and_run_are_counted_too() -> None:
    found = ("1", "a", "m", 1), ("1", "b", "m", 1), ("2", "b", "n", 1)
    sources = made(check_pool_sources, "query_id doc_id run_id rank", *found)
    datasets = pd.Series({"1": "X", "2": "Y"})
    table = describe_data(ANSWERS, grades=GRADES, sources=sources, datasets=datasets)
    assert table["group"].tolist() == ["all", "dataset X", "dataset Y", "run m", "run n"]
    assert table["pairs"].tolist() == [5, 2, 3, 2, 1]
    assert table["labels"].tolist() == [7, 4, 3, 4, 2]
    assert np.isnan(table["alpha"].iloc[4])
    assert table["note"].iloc[4] != ""
    with pytest.raises(JoinError, match=r"1 queries have no dataset \(2\)"):
        describe_data(ANSWERS, grades=GRADES, datasets=datasets[:1])


@pytest.mark.parametrize("seed", range(3))
def test_all_and_new_are_the_honest_rows_without_own(seed: int) -> None:
    world = World(seed)
    measures = ["C@1", "R@3"]
    table = all_and_new(world.runs, world.original, world.augmented, measures, sources=world.sources)
    honest = scores_with_uncertainty(
        world.runs, world.original, world.labels, measures, sources=world.sources
    ).scores
    assert honest["augmented"].tolist() == table["all"].tolist()
    assert honest["without_own"].tolist() == table["new"].tolist()
    positive = {(row.query_id, row.doc_id) for row in world.augmented.itertuples() if row.relevance >= 1} - {
        (row.query_id, row.doc_id) for row in world.original.itertuples()
    }
    finders = world.sources.groupby(["query_id", "doc_id"])["run_id"].agg(set)
    for run_id, own in table.groupby("run_id"):
        expected = sum(finders[pair] == {run_id} for pair in positive if pair in finders.index)
        assert own["n_own_relevant"].tolist() == [expected] * 2


def texts(world: Any, lengths: list[int]) -> Any:
    queries = sorted(world.original["query_id"])
    return check_queries(pd.DataFrame({"query_id": queries, "text": ["x" * length for length in lengths]}))


def test_gains_by_length_are_means_over_each_bin() -> None:
    world = World(1)
    queries = texts(world, [5, 9, 10, 25, 5, 19])
    table = by_length(world.runs, world.original, world.augmented, queries, ["C@3"])
    bins = table.drop_duplicates("from_chars")[["from_chars", "to_chars", "n_queries"]]
    assert bins.to_numpy().tolist() == [[0, 10, 3], [10, 20, 2], [20, 30, 1]]
    wider = by_length(world.runs, world.original, world.augmented, queries, ["C@3"], most=2)
    bins = wider.drop_duplicates("from_chars")[["from_chars", "to_chars", "n_queries"]]
    assert bins.to_numpy().tolist() == [[0, 20, 5], [20, 40, 1]]
    scores = score_runs(world.runs, world.original, ["C@3"], augmented=world.augmented, per_query=True).scores
    first = scores[scores["query_id"].isin(["q00", "q01", "q04"])]
    means = first.groupby(["run_id", "qrels"])["value"].mean()
    for row in table[(table["from_chars"] == 0) & (table["run_id"] != "")].itertuples():
        assert row.delta == pytest.approx(means[row.run_id, "delta"])
        assert row.augmented == pytest.approx(means[row.run_id, "augmented"])
    counts = world.augmented[world.augmented["relevance"] >= 1].groupby("query_id").size()
    positives = table[(table["from_chars"] == 0) & (table["measure"] == "positives")].iloc[0]
    assert positives["augmented"] == pytest.approx(counts[["q00", "q01", "q04"]].mean())
    assert positives["original"] == 1.0
    alone = table[(table["n_queries"] == 1) & (table["measure"] != "C@3")]
    assert alone["low"].isna().all()  # one caption says nothing of others


def test_saturation_is_the_share_of_perfect_queries() -> None:
    world = World(2)
    table = saturation(world.runs, world.original, world.augmented, ["C@3", "AP@3"])
    scores = score_runs(world.runs, world.original, ["C@3"], augmented=world.augmented, per_query=True).scores
    late = scores[(scores["qrels"] == "augmented") & (scores["query_id"] != "all")]
    wide = late.pivot_table(index="query_id", columns="run_id", values="value")
    shares = table[table["measure"] == "C@3"].set_index("run_id")["augmented"]
    assert shares["any run"] == wide.max(axis=1).mean()
    assert shares["every run"] == wide.min(axis=1).mean()
    assert [shares[name] for name in world.run_ids] == wide.mean().tolist()
    assert (table["left"] == 1 - table["augmented"]).all()
    with pytest.raises(UsageError, match="saturation of MedR; expected"):
        saturation(world.runs, world.original, world.augmented, ["MedR"])


def test_similarity_is_compared_between_solved_and_unsolved() -> None:
    world = World(3, n_queries=30)
    scores = score_runs(world.runs, world.original, ["C@1"], augmented=world.augmented, per_query=True).scores
    own = scores.query("run_id == 'r1' and qrels == 'augmented' and query_id != 'all'")
    is_solved = own.set_index("query_id")["value"]
    similarity = is_solved * 0.5 + 0.1 + np.tile([0.02, -0.02, 0.0], 10)  # about .6 where solved, else .1
    table = by_similarity(world.runs, world.original, world.augmented, similarity)
    row = table[(table["run_id"] == "r1") & (table["qrels"] == "augmented")].iloc[0]
    one, other = (similarity[is_solved == label].to_numpy() for label in (1, 0))
    error = np.sqrt(one.var(ddof=1) / len(one) + other.var(ddof=1) / len(other))  # Welch's
    assert row["difference"] == pytest.approx(one.mean() - other.mean())
    assert row["high"] - row["difference"] == pytest.approx(row["difference"] - row["low"])
    assert 2.0 * error < row["high"] - row["difference"] < 2.3 * error
    assert row["p"] < 1e-12
    with pytest.raises(JoinError, match="similarity: 1 of 30 queries have none"):
        by_similarity(world.runs, world.original, world.augmented, similarity.iloc[1:])


def test_bad_arguments_are_refused() -> None:
    world = World(4)
    queries = texts(world, [5] * 6)
    with pytest.raises(JoinError, match=r"queries: 5 of the qrels' 6 have no text \(q01, q02, q03\)"):
        by_length(world.runs, world.original, world.original, queries[:1], ["C@1"])
    media = check_queries(queries.assign(text=""))  # where texts are the items
    found = {"qrels": world.original, "augmented": world.original, "queries": media}
    with pytest.raises(JoinError, match="queries: 6 of the qrels' 6 have no text"):
        report("length", world.runs, **found)
    with pytest.raises(UsageError, match="queries: none has a text"):
        report("similarity", world.runs, **found, train=["a dog"])
