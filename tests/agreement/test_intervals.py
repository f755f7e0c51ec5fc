import math
from functools import partial
from itertools import product

import numpy as np
import pandas as pd
import pytest
from small_judgments import agreement_intervals, alpha_interval, krippendorff_alpha, on_pairs

from examples import cases, examples
from fire_toolkit.agreement.intervals import interval_of
from fire_toolkit.agreement.registry import STATISTICS
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.inference import resampling
from fire_toolkit.resolution.votes import Votes
from fire_toolkit.tables import Judgments

doubled = partial(on_pairs, n_queries=7)


def two_raters(n: int, seed: int, *, prevalence: float = 0.13, error: float = 0.04) -> np.ndarray:
    """0/1 answers of two raters, pairs × 2, who each err at random."""
    draw = np.random.default_rng(seed)
    truth = draw.random((n, 1)) < prevalence
    return (truth ^ (draw.random((n, 2)) < error)).astype(np.int64)


def coded(answers: np.ndarray) -> Votes:
    """The answers of two raters (pairs × 2) as votes."""
    unit, rater = np.indices(answers.shape).reshape(2, -1)
    pairs = pd.DataFrame(index=range(len(answers)))
    return Votes(unit, answers.ravel(), rater, ("0", "1"), np.arange(2.0), pairs)


def true_alpha(prevalence: float, error: float) -> float:
    """Alpha of `two_raters` for n without end."""
    share = prevalence * (1 - error) + (1 - prevalence) * error
    return 1 - 2 * error * (1 - error) / (2 * share * (1 - share))


def text(answers: np.ndarray) -> list[str]:
    return ["".join(map(str, row)) for row in answers]


MIXED = ["11"] * 30 + ["00"] * 40 + ["10"] * 6 + ["110"] * 3 + ["22"] * 9 + ["122"] * 2 + ["1"] * 20


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
def test_the_value_is_krippendorffs_alpha_and_lies_in_its_interval(level: str) -> None:
    judgments = doubled(MIXED)
    interval = alpha_interval(judgments, level=level, n_resamples=500)
    assert pytest.approx(krippendorff_alpha(judgments, level=level).value) == interval.value
    assert interval.low < interval.value < interval.high
    assert (interval.n_resampled, interval.note) == (90, "")


def alphas_of_weighted_pairs(counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Nominal alpha of pairs with these counts of votes (pairs × labels), for each row of weights."""
    n = counts.sum(axis=1)
    apart = (n**2 - (counts**2).sum(axis=1)) / (n - 1)
    totals = weights @ counts
    of_all = totals.sum(axis=1)
    by_chance = (of_all**2 - (totals**2).sum(axis=1)) / (of_all - 1)
    return 1 - (weights @ apart) / by_chance


def test_the_interval_is_that_of_random_weights_with_imagined_pairs_of_every_two_labels() -> None:
    interval = alpha_interval(doubled(MIXED), n_resamples=20_000, level="nominal", seed=1)
    counts = np.array([[given.count(label) for label in "012"] for given in MIXED if len(given) > 1])
    imagined = np.array([[2, 0, 0], [0, 2, 0], [0, 0, 2], [1, 1, 0], [1, 0, 1], [0, 1, 1]])
    draw = np.random.default_rng(2)
    weights = np.hstack([draw.exponential(size=(20_000, 90)), draw.gamma(1.5 / 6, size=(20_000, 6))])
    weights *= 91.5 / weights.sum(axis=1, keepdims=True)
    resampled = alphas_of_weighted_pairs(np.vstack([counts, imagined]), weights)
    outside = 0.025 - 0.00132  # of Student's t with 89 degrees of freedom, 1.98698, by the normal's tail
    assert pytest.approx(np.quantile(resampled, outside), abs=0.006) == interval.low
    assert pytest.approx(np.quantile(resampled, 1 - outside), abs=0.006) == interval.high
    assert pytest.approx(np.mean(resampled < 0.8), abs=0.02) == interval.below_800
    assert pytest.approx(np.mean(resampled < 0.667), abs=0.02) == interval.below_667
    assert pytest.approx(resampled.std(), rel=0.03) == interval.standard_error


def test_captions_are_weighed_whole_and_imagined_pairs_as_many_as_a_caption_has() -> None:
    # 12 captions: pairs of the labels 0 and 1, from one to four a caption
    given = [["11", "00"], ["00", "00", "10"], ["11"], ["00", "10", "00", "00"], ["01"], ["00", "00"]] * 2
    answers = [pair for own in given for pair in own]
    captions = [f"c{n:02d}" for n, own in enumerate(given) for _ in own]
    judgments = doubled(answers, caption=captions)
    found = alpha_interval(judgments, cluster="caption", n_resamples=20_000, level="nominal")
    counts = [np.array([[pair.count("0"), pair.count("1")] for pair in own]) for own in given]
    apart = np.array([(own[:, 0] * own[:, 1] * 2).sum() for own in counts])
    totals = np.array([own.sum(axis=0) for own in counts])
    with_0, with_1 = ([int((own[:, label] > 0).sum()) for own in counts] for label in (0, 1))
    size_0, size_1 = (sum(n) / sum(each > 0 for each in n) for n in (with_0, with_1))
    size_01 = (size_0 + size_1) / 2
    apart = np.append(apart, [0, 0, 2 * size_01])
    totals = np.vstack([totals, [2 * size_0, 0], [0, 2 * size_1], [size_01, size_01]])
    draw = np.random.default_rng(3)
    weights = np.hstack([draw.exponential(size=(20_000, 12)), draw.gamma(0.5, size=(20_000, 3))])
    weights *= 13.5 / weights.sum(axis=1, keepdims=True)
    sums = weights @ totals
    n = sums.sum(axis=1)
    resampled = 1 - (weights @ apart) * (n - 1) / (2 * sums[:, 0] * sums[:, 1])
    outside = 0.013867  # the normal's tail beyond 2.20099, Student's t with 11 degrees of freedom
    assert pytest.approx(np.quantile(resampled, [outside, 1 - outside]), abs=0.02) == [found.low, found.high]
    assert found.n_resampled == 12


def true_shares(prevalence: float, error: float) -> tuple[float, float]:
    """Agreement on positives, and the share of positive votes, of `two_raters` for n without end."""
    both = prevalence * (1 - error) ** 2 + (1 - prevalence) * error**2
    share = prevalence * (1 - error) + (1 - prevalence) * error
    return both / share, share


@pytest.mark.slow
def test_95_percent_intervals_hold_the_truth_where_positives_are_rare() -> None:
    """benchmarks/agreement_coverage.py has more samples and more kinds of them."""
    trials, wanted = 200, ("alpha", "positive_agreement", "prevalence")
    truth = dict(zip(wanted, (true_alpha(0.02, 0.06), *true_shares(0.02, 0.06)), strict=True))
    held = dict.fromkeys(wanted, 0)
    n_noted = 0
    for seed in range(trials):
        votes = coded(two_raters(50, seed, prevalence=0.02, error=0.06))
        for name in wanted:
            found = interval_of(votes, name, 400, seed=seed)
            held[name] += found.low <= truth[name] <= found.high
            n_noted += name == "alpha" and "unreliable" in found.note
    assert min(held.values()) >= 0.91 * trials  # at .95 fewer has a chance below .01
    assert n_noted >= 0.97 * trials


def test_pairs_that_repeat_within_a_cluster_are_no_new_evidence() -> None:
    # Each of 60 captions repeats one answer sheet four times, so only 60 things were drawn.
    sheets = text(two_raters(60, 3, prevalence=0.4, error=0.1))
    captions = [f"c{sheet}" for sheet in range(60) for _ in range(4)]
    judgments = doubled([sheet for sheet in sheets for _ in range(4)], caption=captions)
    for name in ("alpha", "positive_agreement", "prevalence", "fleiss_kappa"):
        table = [
            agreement_intervals(judgments, statistics=[name], n_resamples=3000, cluster=cluster).iloc[0]
            for cluster in ("caption", None)
        ]
        by_caption, by_pair = table
        assert by_caption["n_resampled"] == 60
        assert by_pair["value"] == pytest.approx(by_caption["value"])
        widths = [found["high"] - found["low"] for found in table]
        assert widths[0] / widths[1] == pytest.approx(2, rel=0.15), name


@pytest.mark.parametrize("cluster", [None, "query_id", "doc_id"])
def test_the_same_seed_gives_the_same_numbers_whatever_the_block(
    monkeypatch: pytest.MonkeyPatch, cluster: str | None
) -> None:
    judgments = doubled(MIXED)
    expected = alpha_interval(judgments, n_resamples=97, seed=4, cluster=cluster)
    monkeypatch.setattr(resampling, "_CELLS", 150)
    found = alpha_interval(judgments, n_resamples=97, seed=4, cluster=cluster)
    for name in ("low", "high", "below_667", "below_800", "standard_error"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-12)
    assert expected != alpha_interval(judgments, n_resamples=97, seed=5, cluster=cluster)
    shuffled = Judgments(judgments.sample(frac=1, random_state=1))
    again = alpha_interval(shuffled, n_resamples=97, seed=4, cluster=cluster)
    assert (pytest.approx(expected.low), pytest.approx(expected.high)) == (again.low, again.high)


@cases("answers", "words")
def test_an_interval_that_cannot_be_had_is_nan_with_a_reason(answers: list[str], words: str) -> None:
    interval = alpha_interval(doubled(answers), n_resamples=20)
    assert math.isnan(interval.low)
    assert math.isnan(interval.below_667)
    assert interval.note.startswith(words)


def test_agreement_without_a_fault_has_an_interval_with_width() -> None:
    """Three positives on which everybody agrees do not tell that everybody always agrees."""
    table = agreement_intervals(doubled(["11"] * 3 + ["00"] * 47), statistics=list(STATISTICS))
    for row in table.to_dict("records"):
        assert math.isnan(row["low"]) or row["high"] - row["low"] > 0.03, row
    rows = table.set_index("statistic")
    # Wilson's lower limit of 3 in 3 is 3 / (3 + z²) = .4385; agreement on positives is 2 J / (1 + J)
    lowest = 3 / (3 + 1.959964**2)
    assert rows.loc["positive_agreement", "low"] == pytest.approx(2 * lowest / (1 + lowest))
    assert rows.loc["percent_agreement", ["low", "high"]].tolist() == pytest.approx([0.92865, 1.0], abs=1e-5)
    assert rows.loc["alpha", "low"] < 0.7
    assert rows.loc["alpha", "high"] == 1.0
    note = rows.loc["cohen_kappa", "interval_note"]
    assert note == "no pair moves it, which does not tell how certain it is"


@pytest.mark.parametrize("prevalence", [0.0, 0.01, 0.05])
def test_shares_stay_in_their_range(prevalence: float) -> None:
    names = [name for name in STATISTICS if STATISTICS[name].is_share]
    assert len(names) == 5
    for seed, chance in product(range(examples(15) // 4), (None, 0.2)):
        draw = np.random.default_rng(seed)
        sheets = text(two_raters(25, seed, prevalence=prevalence, error=0.03))
        weights = [1.0 if "1" in sheet else chance or 1.0 for sheet in sheets]
        captions = [f"c{n}" for n in draw.integers(6, size=25)]
        judgments = doubled(sheets, inclusion_probability=weights, caption=captions)
        for cluster in (None, "caption"):
            how = {"cluster": cluster, "n_resamples": 200}
            table = agreement_intervals(judgments, statistics=names, **how)
            known = table.dropna(subset="low")
            assert (known["low"] >= 0).all()
            assert (known["high"] <= 1).all()
            assert (known["low"] <= known["value"] + 1e-12).all()
            assert (known["high"] >= known["value"] - 1e-12).all()
            assert (known["high"] > known["low"]).all()


def test_few_positives_are_said_with_how_many_pairs_would_hold_ten() -> None:
    few = alpha_interval(doubled(["11"] * 2 + ["10"] * 3 + ["00"] * 45), n_resamples=100)
    assert few.note == (
        "3.5 positives among 50 pairs judged twice: with fewer than 10 the interval of alpha is unreliable; "
        "at this share of positives about 143 pairs judged twice hold 10"
    )
    assert alpha_interval(doubled(["11"] * 9 + ["10"] * 2 + ["00"] * 5), n_resamples=100).note == ""
    none = doubled(["00"] * 5 + ["20"] * 2)
    words = alpha_interval(none, grades={"0": 0, "2": 0.5}, n_resamples=100).note
    assert words == "none of the 7 pairs judged twice is positive, so the interval of alpha is unreliable"
    assert (
        alpha_interval(doubled(["xx", "yx", "yy"]), n_resamples=100).note == ""
    )  # nobody knows the positives


def test_positives_that_were_drawn_oftener_count_as_less() -> None:
    """68 pairs of weight 1 and 32 of weight 10 tell as much as 388² / 3,268 = 46 drawn evenly."""
    sheets, weights = ["11"] * 60 + ["10"] * 8 + ["01"] * 2 + ["00"] * 30, [1.0] * 68 + [0.1] * 32
    note = alpha_interval(doubled(sheets, inclusion_probability=weights), n_resamples=100).note
    n_positive = (60 + 8 / 2 + 10 * 2 / 2) * 388 / 3268
    assert note == (
        f"{n_positive:.1f} positives among 100 pairs judged twice, which were drawn unevenly and count as 46"
        ": with fewer than 10 the interval of alpha is unreliable; at this share of positives about "
        f"{math.ceil(1000 / n_positive)} pairs judged twice hold 10"
    )
    assert alpha_interval(doubled(sheets), n_resamples=100).note == ""
    more = ["11"] * 15 + sheets
    note = alpha_interval(doubled(more, inclusion_probability=[0.1] * 15 + weights), n_resamples=100).note
    assert note == (
        "115 pairs judged twice, which were drawn unevenly and count as 61: with fewer than 100 the interval "
        "of alpha is unreliable"
    )
    many = alpha_interval(
        doubled(more * 2, inclusion_probability=([0.1] * 15 + weights) * 2), n_resamples=100
    )
    assert many.note == ""


def test_what_is_of_one_cluster_has_no_interval() -> None:
    judgments = doubled(["11", "10", "00", "00", "00"], caption=["a", "a", "b", "b", "c"])
    rows = agreement_intervals(judgments, cluster="caption", n_resamples=100).set_index("statistic")
    assert math.isnan(rows.loc["positive_agreement", "low"])
    assert "all of it is of one cluster" in rows.loc["positive_agreement", "interval_note"]
    assert rows.loc["prevalence", "low"] < 0.3 < rows.loc["prevalence", "high"]


@cases("options", "words")
def test_a_bad_argument_is_a_usage_error(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        agreement_intervals(doubled(MIXED), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("chance", [0.0, 1.5, -1.0, math.nan])
def test_an_inclusion_probability_out_of_range_is_an_error(chance: float) -> None:
    judgments = doubled(["11", "10", "00"], inclusion_probability=[1.0, chance, 1.0])
    with pytest.raises(
        TableError, match=r"inclusion_probability is .* \(1 of 3 pairs .*expected a probability"
    ):
        alpha_interval(judgments)


def test_a_cluster_that_differs_within_a_pair_is_an_error() -> None:
    with pytest.raises(TableError, match=r"annotator_id differs within 90 pairs \(q0 d00000\)"):
        alpha_interval(doubled(MIXED), cluster="annotator_id")
