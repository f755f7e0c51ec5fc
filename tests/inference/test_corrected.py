"""Scores corrected for errors of votes: against the formulas written out, and what is refused."""

import math

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.errors import JoinError
from fire_toolkit.inference.corrected import (
    corrected_scores,
    label_errors,
    why_uncorrected,
)
from fire_toolkit.inference.design_votes import votes_by_design, with_best_ranks
from fire_toolkit.inference.judged_pairs import join_runs
from fire_toolkit.inference.label_errors import VoteCounts, error_rates
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.measures import parse_measure, parse_measures
from fire_toolkit.tables import Qrels, Run, check_pool_sources, check_qrels

T, F = 0.909726, 0.035547  # of 1,000 doubled pairs: 100 both, 80 differ, 20 thirds positive


def doubled() -> pd.DataFrame:
    """1,000 doubled pairs of 20 queries with the votes of the reference number."""
    votes = ["11"] * 100 + ["101", "011"] * 10 + ["100", "010"] * 30 + ["00"] * 820
    order = np.random.default_rng(5).permutation(len(votes))
    pairs = {
        "query_id": [f"q{n % 20:02d}" for n in range(1000)],
        "doc_id": [f"d{n:04d}" for n in range(1000)],
    }
    return pd.DataFrame(pairs).assign(design_class="doubled", design_votes=np.array(votes)[order])


def single(**votes: str) -> pd.DataFrame:
    pairs = pd.DataFrame({"query_id": "q00", "doc_id": list(votes), "design_votes": list(votes.values())})
    return pairs.assign(design_class="single")


def run_of(*docs: str) -> Run:
    """A run with these docs for the first query, and one that nobody judged for the others."""
    rows = [("q00", doc, -place) for place, doc in enumerate(docs)]
    rows += [(f"q{n:02d}", "unjudged", 0) for n in range(1, 20)]
    return rank_run(pd.DataFrame(rows, columns=["query_id", "doc_id", "score"]).assign(run_id="r"))


ORIGINAL = check_qrels(
    pd.DataFrame({"query_id": [f"q{n:02d}" for n in range(20)], "doc_id": "o", "relevance": 1})
)


def corrected(
    design: pd.DataFrame, *docs: str, measure: str = "C@3", original: Qrels = ORIGINAL
) -> pd.Series:
    votes = votes_by_design(design, original)
    joined = join_runs(run_of(*docs), original, votes.pairs[["query_id", "doc_id", "relevance"]])
    options = {"n_resamples": 300, "seed": 1}
    return corrected_scores(joined, original, votes, [parse_measure(measure)], **options).iloc[0]  # type: ignore[arg-type]


def p_hat(label: int) -> float:
    return (label - F) / (T - F)


def test_rates_of_one_vote_and_their_words() -> None:
    errors = label_errors(votes_by_design(doubled(), ORIGINAL), n_resamples=200)
    assert (errors.t[0], errors.f[0]) == pytest.approx((T, F), abs=1e-6)
    assert errors.in_words == "t 0.910, f 0.0355 (1,000 doubled, 80 disagreements)"
    f2, t2 = F**2 * (3 - 2 * F), T**2 * (3 - 2 * T)
    share = (0.12 - f2) / (t2 - f2)
    assert errors.wrong[0] == pytest.approx(1000 * (1 - share) * f2 / 120, abs=1e-5)
    assert errors.found[0] == pytest.approx(t2, abs=1e-5)
    assert errors.wrong[1] < errors.wrong[0] < errors.wrong[2]


def test_c_at_k_is_the_product_of_what_single_votes_leave() -> None:
    design = pd.concat([doubled(), single(a="0", b="1", c="0")])
    expected = 1 - (1 - p_hat(0)) ** 2 * (1 - p_hat(1))
    found = corrected(design, "a", "b", "c")
    assert found["estimate"] * 20 == pytest.approx(expected, abs=1e-4)
    assert corrected(design, "a", "b", "c", measure="P@3")["estimate"] * 20 == pytest.approx(
        (2 * p_hat(0) + p_hat(1)) / 3, abs=1e-5
    )
    assert found["low"] < found["estimate"] < found["high"]
    # of these queries alone: the variance of the votes (Ĉ² − Ĉ) / Q², and that of the rates
    assert found["error"] >= math.sqrt(expected**2 - expected) / 20


def test_an_original_is_right_and_an_unjudged_doc_is_not_relevant() -> None:
    design = pd.concat([doubled(), single(a="0", o="0")])
    assert corrected(design, "a", "o")["estimate"] == pytest.approx(1 / 20)
    assert corrected(design, "x", "a", measure="C@1")["estimate"] == 0
    assert corrected(design, "o", "x", measure="P@2")["estimate"] == pytest.approx(0.5 / 20)


def test_pairs_that_were_drawn_weigh_more_in_p_at_k_and_leave_c_at_k_bounds() -> None:
    design = pd.concat([doubled(), single(a="0", b="1", c="1")])
    votes = votes_by_design(design, ORIGINAL)
    joined = join_runs(run_of("a", "b", "c", "o"), ORIGINAL, votes.pairs[["query_id", "doc_id", "relevance"]])
    named = [pd.DataFrame({"query_id": ["q00"], "doc_id": [doc]}) for doc in "bco"]
    b, c, o = (int(joined.find_rows(pair)[0]) for pair in named)
    chances = np.ones(len(joined.pairs))
    chances[b], chances[c], chances[o] = 0.25, 0.0, 0.5  # drawn; not of the design; known, and so not drawn
    measures = parse_measures(["P@4", "C@4", "C@1"])
    found = corrected_scores(joined, ORIGINAL, votes, measures, chances=chances, n_resamples=300)
    precision, hit, first = found.to_dict("records")
    assert precision["estimate"] * 20 == pytest.approx((p_hat(0) + p_hat(1) / 0.25 + 1) / 4, abs=1e-5)
    assert precision["is_drawn"]
    assert np.isnan(precision["error"])
    assert hit["reason"] == "it reads pairs that were drawn by chance, of which C@k has bounds only"
    assert (first["reason"], first["is_drawn"]) == ("", False)


@pytest.mark.parametrize(
    ("design", "reason"),
    [
        (
            single(a="1", b="0").assign(design_class=""),
            "labels have no design class; `resolve --design FILE`",
        ),
        (single(a="1", b="0"), "no pair has a second vote by design"),
        (single(a="1").assign(design_class="verify"), "1 positives of class verify wait for a further vote"),
        (
            pd.concat([doubled(), single(a="1").assign(design_class="")]),
            "the class of 1 pairs is not decided yet",
        ),
        (
            doubled().assign(design_votes=lambda t: t["design_votes"].str.slice(0, 2)),
            "80 of 80 disagreements among 1,000 doubled pairs have no third vote, and two leave t in "
            r"\[0.714, 1\] and f in \[0, 0.0465\]",
        ),
        (
            pd.concat([doubled().assign(design_votes=votes) for votes in ("100", "011", "00", "11")]),
            "t − f is|the votes fit no rates",
        ),
    ],
)
def test_what_is_refused(design: pd.DataFrame, reason: str) -> None:
    errors = label_errors(votes_by_design(design, ORIGINAL), n_resamples=50)
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(errors.reason)


def test_labels_are_wrong_as_often_as_all_their_votes_say() -> None:
    """Single votes whose positives were verified later: by the design alone 20% of them would be wrong."""
    rng = np.random.default_rng(5)
    relevant = rng.random(40_000) < 0.13
    vote = [np.where(relevant, rng.random(40_000) < 0.92, rng.random(40_000) < 0.04) for _ in range(3)]
    is_doubled = np.arange(40_000) % 10 == 0
    n_votes = np.where(vote[0] | is_doubled, np.where(vote[0] == vote[1], 2, 3), 1)
    texts = ["".join(str(int(v[row])) for v in vote[:n]) for row, n in enumerate(n_votes)]
    label = np.where(n_votes == 3, vote[2], vote[0])
    ids = {"query_id": [f"q{n % 400}" for n in range(40_000)], "doc_id": [f"d{n}" for n in range(40_000)]}
    classes = np.where(is_doubled, "doubled", "single")
    design = pd.DataFrame({**ids, "design_class": classes, "design_votes": texts})
    later = label_errors(votes_by_design(design.assign(relevance=label), ORIGINAL), n_resamples=100)
    assert later.wrong[1] < 1 - relevant[label].mean() < later.wrong[2]
    assert later.wrong[0] == pytest.approx(1 - relevant[label].mean(), abs=0.008)
    assert later.found[1] < label[relevant].mean() < later.found[2]
    alone = label_errors(votes_by_design(design, ORIGINAL), n_resamples=100)
    assert alone.wrong[0] > 0.15  # of labels by first votes
    disputed = design.assign(relevance=np.where(n_votes == 3, np.nan, label))
    assert label_errors(votes_by_design(disputed, ORIGINAL), n_resamples=50).found[0] < later.found[0]


def test_a_doubled_pair_with_one_vote_counts_as_single() -> None:
    votes = votes_by_design(pd.concat([doubled(), single(a="1").assign(design_class="doubled")]), ORIGINAL)
    assert (votes.n_demoted, votes.reason) == (1, "")
    assert votes.pairs["design_class"].tolist()[-1] == "single"


def test_only_c_and_p_are_corrected() -> None:
    names = ["C@10", "P@10", "Success@5", "NN", "AP", "nDCG@10", "R@10", "RR", "C@5:rel=2"]
    allowed = [measure.name for measure in parse_measures(names) if not why_uncorrected(measure)]
    assert allowed == ["C@10", "P@10", "Success@5", "NN"]


def test_too_many_single_votes_for_their_error_are_refused() -> None:
    # t = .8, f = .2: a doc's factor is 1.44, so that of ten is 38
    votes = ["11"] * 34 + ["101", "011"] * 8 + ["100", "010"] * 8 + ["00"] * 34
    design = doubled().head(100).assign(design_votes=votes)
    docs = [f"s{n}" for n in range(10)]
    found = corrected(pd.concat([design, single(**dict.fromkeys(docs, "0"))]), *docs, measure="C@10")
    assert math.isnan(found["estimate"])
    assert found["reason"].startswith("single votes on up to 10 docs inflate the product's variance")


def test_bands_of_ranks_have_rates_of_their_own_and_one_alarm() -> None:
    design, votes = doubled(), np.array(doubled()["design_votes"])
    is_top = np.array([n % 2 == 0 for n in range(1000)])
    sources = check_pool_sources(design[["query_id", "doc_id"]].assign(
        run_id="r", rank=np.where(is_top, 1, 4)))  # fmt: skip
    ranked = with_best_ranks(design, sources, ORIGINAL)
    errors = label_errors(votes_by_design(ranked, ORIGINAL, by_band=True), n_resamples=100)
    for band, own in ((0, votes[is_top]), (1, votes[~is_top])):
        both, thirds = (own == "11").sum(), np.isin(own, ["101", "011"]).sum()
        differ = np.isin(own, ["101", "011", "100", "010"]).sum()
        one = error_rates(VoteCounts.of_doubled(len(own), both, differ, thirds))
        assert (errors.t[band], errors.f[band]) == pytest.approx((float(one.t), float(one.f)))
    words = f"ranks 1: t {errors.t[0]:.3f}, f {errors.f[0]:.4f}; ranks 4 and more: t "
    assert errors.in_words.startswith(words)  # no pair of ranks 2 to 3: a band without pairs is none
    lost = sources.iloc[1:]
    with pytest.raises(JoinError, match="1 of 1,000 judged pairs are in no run's part of the pool"):
        with_best_ranks(design, check_pool_sources(lost), ORIGINAL)
    of_four = design.assign(design_votes=[v + "1" if v in ("101", "011") else v for v in votes])
    found = [label_errors(votes_by_design(table, ORIGINAL), n_resamples=50) for table in (design, of_four)]
    alarms = [errors.alarm for errors in found]
    assert alarms[0] is None
    assert alarms[1] is not None
    assert (alarms[1].n, alarms[1].n_positive) == (20, 20)
