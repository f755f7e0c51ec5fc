"""Scores by a machine judge's sample: against a few lines of numpy, what is not read, and what is refused."""

import numpy as np
import pandas as pd
import pytest

from fire_toolkit.inference.background import Background, Design
from fire_toolkit.inference.correction import IF_INDEPENDENT
from fire_toolkit.inference.honest import HonestRows, scores_with_uncertainty
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.pooling.pool import pool_runs
from fire_toolkit.tables import check_labels, check_qrels

N = 60
RNG = np.random.default_rng(7)
IDS = [(f"q{q:02}", f"d{d}") for q in range(N) for d in range(8)]
PAIRS = pd.DataFrame(IDS, columns=["query_id", "doc_id"])
POSITIVE = RNG.random(len(PAIRS)) < 0.4
SCORE = np.clip(POSITIVE * 0.4 + 0.3 + RNG.normal(size=len(PAIRS)) * 0.15, 0, 1).round(3)
RUNS = [rank_run(PAIRS.assign(run_id=name, score=RNG.random(len(PAIRS)))) for name in ("a", "b")]
ORIGINAL = check_qrels(PAIRS[PAIRS["doc_id"] == "d0"].assign(relevance=1))


def sample() -> pd.DataFrame:
    machine = PAIRS.assign(score=SCORE)
    strategy = "machine(judge=j, random=200)"
    found = pool_runs(RUNS, depth=5, strategy=strategy, originals=ORIGINAL, machine=machine).machine_sample
    assert found is not None
    return found


def labels_of(pairs: pd.DataFrame, truth: np.ndarray = POSITIVE) -> pd.DataFrame:
    known = PAIRS.assign(relevance=truth.astype(int), label="x")
    return pairs[["query_id", "doc_id"]].merge(known)


def honest(design: Design, labels: pd.DataFrame, measures: list[str]) -> HonestRows:
    known = Background(design=design, disputes=labels[:0])
    return scores_with_uncertainty(RUNS, ORIGINAL, check_labels(labels), measures, known)


def test_an_estimate_equals_that_of_a_few_lines_of_numpy() -> None:
    drawn = sample()
    found = honest(Design(drawn, None, drawn), labels_of(drawn[drawn["is_drawn"]]), ["P@5"]).scores
    for run in RUNS:
        name = run["run_id"].iloc[0]
        top = run[run["rank"] <= 5][["query_id", "doc_id"]].astype(str).assign(z=1.0)
        top = top.merge(drawn, how="right")
        table = top.fillna({"z": 0.0}).merge(PAIRS.assign(y=POSITIVE.astype(float)))
        parts = [(own, own[own["is_drawn"]]) for _, own in table.groupby("stratum")]
        weights = [len(own) ** 2 * (1 / len(s) - 1 / len(own)) for own, s in parts]
        covs = [np.cov(s["z"] * s["y"], s["z"] * s["score"]) for _, s in parts]
        trust = np.clip(
            sum(w * c[0, 1] for w, c in zip(weights, covs, strict=True))
            / sum(w * c[1, 1] for w, c in zip(weights, covs, strict=True)),
            0,
            1,
        )
        total = sum(
            trust * (own["z"] * own["score"]).sum()
            + len(own) * (s["z"] * (s["y"] - trust * s["score"])).mean()
            for own, s in parts
        )
        in_top = run[(run["rank"] <= 5) & (run["doc_id"] == "d0")]  # originals are positives without a draw
        row = found[found["run_id"] == name].iloc[0]
        assert row["estimate"] == pytest.approx((total + len(in_top)) / 5 / N)
        assert row["estimate_low"] < row["estimate"] < row["estimate_high"]
        assert row["estimate_method"] == "prediction-powered, judge j"
        assert row["estimate_n"] == drawn["is_drawn"].sum()


def test_labels_that_came_in_the_judges_order_are_not_read() -> None:
    drawn = sample()
    design = Design(drawn, None, drawn)
    some = labels_of(drawn[drawn["is_drawn"]])
    others = drawn[~drawn["is_drawn"]].nlargest(80, "score")
    more = pd.concat([some, labels_of(others, np.ones(len(PAIRS), dtype=bool))])
    columns = ["estimate", "estimate_low", "estimate_high", "estimate_n"]
    alone, both = (honest(design, each, ["P@5"]).scores for each in (some, more))
    assert alone[columns].equals(both[columns])
    assert (alone["augmented"] < both["augmented"]).all()


def test_a_run_of_the_judges_backbone_is_estimated_and_named() -> None:
    drawn = sample()
    labels = labels_of(drawn[drawn["is_drawn"]])
    shared = {"a": "judge j and run a share the backbone x"}
    alone, named = (honest(Design(drawn, None, drawn, each), labels, ["P@5"]) for each in ({}, shared))
    assert named.scores.equals(alone.scores)
    assert [note for note in named.notes if note not in alone.notes] == [
        "judge j may share errors with a (judge j and run a share the backbone x); people's labels correct "
        "the estimate"
    ]


def test_what_a_sample_cannot_say() -> None:
    drawn = sample()
    design = Design(drawn, None, drawn)
    labels = labels_of(drawn[drawn["is_drawn"]])
    scores = honest(design, labels, ["C@5", "AP", "P@8"]).scores
    found = scores.set_index(["run_id", "measure"])["estimate_method"]
    assert found["a", "C@5"] == "refused: the first positive decides it, of which a sample gives bounds only"
    assert "biased where few of its pairs are drawn" in found["a", "AP"]
    assert found["a", "P@8"] == "refused: it reads to rank 8, and the strata end at 5"
    half = honest(design, labels.iloc[::2], ["P@5"]).scores["estimate_method"]
    assert half.str.endswith("pairs drawn have no label; judge these first").all()
    new = PAIRS.assign(doc_id="x" + PAIRS["doc_id"], score=2.0)
    late = rank_run(pd.concat([new, PAIRS.assign(score=1.0)]).assign(run_id="late"))
    other = scores_with_uncertainty(late, ORIGINAL, check_labels(labels), ["P@5"], Background(design=design))
    said = "refused: 100% of its top 5 could not be drawn; pool it with the others"
    assert other.scores["estimate_method"].tolist() == [said]


def test_a_corrected_score_takes_no_estimate_s_place_where_the_sample_left_out_part_of_the_top() -> None:
    drawn = sample()
    votes = np.resize(["11", "00", "101", "00", "010", "00", "11", "00"], len(drawn))
    votes[::40] = "1"
    design: dict[str, object] = {"design_class": "doubled", "design_votes": votes}
    of_all = labels_of(drawn).assign(**design)
    some = of_all[drawn["is_drawn"].to_numpy()]
    both, whole = (honest(Design(drawn, None, drawn), each, ["P@5", "C@5"]) for each in (some, of_all))
    methods = both.scores.set_index(["run_id", "measure"])["estimate_method"]
    assert methods["a", "P@5"] == "prediction-powered, judge j"
    assert methods["a", "C@5"].startswith("refused")
    said = "not corrected: a machine judge's sample left out part of its top, and the estimate by it takes"
    assert [note for note in both.correction.notes if said in note]
    assert whole.scores["estimate_method"].eq(IF_INDEPENDENT).all()  # what the order brought is judged too
