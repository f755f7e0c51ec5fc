import math

import krippendorff
import numpy as np
import pandas as pd
import pytest
from small_judgments import agreement_intervals

from fire_toolkit.agreement.table import agreement, agreement_summary
from fire_toolkit.tables import Judgments, check_judgments


def campaign(n_captions: int, n_docs: int, *, doubled: float = 0.5, seed: int = 0) -> Judgments:
    """Two annotators; captions differ in how hard they are; not all pairs are judged twice."""
    draw = np.random.default_rng(seed)
    rows = []
    for caption in range(n_captions):
        error = draw.uniform(0, 0.5)
        for doc in range(n_docs):
            relevant = draw.random() < 0.3
            for rater in "uv" if draw.random() < doubled else "u":
                label = relevant ^ (draw.random() < error * (rater == "v"))
                rows.append((f"q{caption:03d}", f"d{doc}", rater, "01"[int(label)]))
    names = ["query_id", "doc_id", "annotator_id", "label"]
    return check_judgments(pd.DataFrame(rows, columns=names))


def alpha_of(judgments: pd.DataFrame) -> float:
    """Alpha by the package, from counts made here."""
    counts = judgments.groupby(["query_id", "doc_id"])["label"].value_counts().unstack(fill_value=0)
    counts = counts[counts.sum(axis=1) >= 2].to_numpy(dtype=np.int64)
    return float(krippendorff.alpha(value_counts=counts, level_of_measurement="nominal"))


def linearised_error(judgments: pd.DataFrame, names: list[str]) -> float:
    """Linearised standard error of nominal alpha of two labels, over groups of pairs judged twice."""
    counts = judgments.groupby(["query_id", "doc_id"])["label"].value_counts().unstack(fill_value=0)
    counts = counts[counts.sum(axis=1) == 2]
    of_units = counts.assign(apart=counts["0"] * counts["1"] * 2).groupby(names).sum()
    zero, one, apart = (of_units[name].to_numpy(dtype=float) for name in ("0", "1", "apart"))
    n = (zero + one).sum()
    value = apart.sum() * n / (2 * zero.sum() * one.sum())
    influence = value * (apart / apart.sum() + (zero + one) / n - zero / zero.sum() - one / one.sum())
    return math.sqrt((influence**2).sum())


def test_intervals_draw_captions_and_the_design_effect_compares_with_pairs() -> None:
    judgments = campaign(150, 8)
    summary = agreement_summary(judgments)
    alpha = summary.table.iloc[0]
    by_caption = linearised_error(judgments, ["query_id"])
    by_pair = linearised_error(judgments, ["query_id", "doc_id"])
    assert alpha["value"] == pytest.approx(alpha_of(judgments))
    assert alpha["high"] - alpha["low"] == pytest.approx(2 * 1.976 * by_caption, rel=0.05)
    assert summary.cluster == "query_id"
    assert summary.design_effect == pytest.approx((by_caption / by_pair) ** 2, rel=0.08)
    assert summary.design_effect > 1.2


def test_the_values_are_those_of_agreement() -> None:
    judgments = campaign(30, 5)
    table = agreement_summary(judgments).table
    plain = agreement(judgments)
    pd.testing.assert_frame_equal(plain, table[list(plain.columns)])
    assert list(table["statistic"]) == ["alpha", "percent_agreement", "positive_agreement", "prevalence"]
    clustered = agreement_intervals(judgments, cluster="query_id")
    numbers = ["low", "high", "below_667", "n_resampled"]
    pd.testing.assert_frame_equal(clustered[numbers], table[numbers])


def test_pairs_are_drawn_where_captions_have_fewer_than_two() -> None:
    judgments = campaign(120, 1, doubled=0.8)
    summary = agreement_summary(judgments)
    assert (summary.cluster, math.isnan(summary.design_effect)) == ("", True)
    plain = agreement_intervals(judgments)
    pd.testing.assert_frame_equal(plain[["low", "high"]], summary.table[["low", "high"]])


def test_pairs_are_counted_by_their_votes_and_escalations_are_none() -> None:
    given = {"a": "101", "b": "?", "c": "1?", "d": "11"}
    names = {"0": "irrelevant", "1": "relevant", "?": "ambiguous"}
    rows = [(doc, "uvw"[n], names[label]) for doc, said in given.items() for n, label in enumerate(said)]
    table = pd.DataFrame(rows, columns=["doc_id", "annotator_id", "label"]).assign(query_id="q")
    summary = agreement_summary(check_judgments(table))
    assert summary.n_pairs_by_votes == (1, 1, 1, 1)
    assert "2 answers without a vote left out" in summary.table.loc[0, "note"]


def test_answers_of_one_page_are_drawn_by_item() -> None:
    """A page holds captions of one item, so drawing items draws pages whole."""
    judgments = campaign(30, 6)
    paged = check_judgments(judgments.assign(page="p" + judgments["annotator_id"] + judgments["doc_id"]))
    found = agreement_summary(paged)
    assert found.cluster == "doc_id"
    named = agreement_intervals(judgments, cluster="doc_id").set_index("statistic")
    row = found.table.set_index("statistic").loc["alpha"]
    assert (row["low"], row["high"]) == (named.loc["alpha", "low"], named.loc["alpha", "high"])
    assert agreement_summary(check_judgments(judgments.assign(page=""))).cluster == "query_id"
