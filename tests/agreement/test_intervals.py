import math

import krippendorff
import numpy as np
import pandas as pd
import pytest

from fire_toolkit import draws
from fire_toolkit.agreement.coincidence import alphas, coincidences, count_patterns
from fire_toolkit.agreement.intervals import Interval, Resampling, alpha_interval, interval_of
from fire_toolkit.agreement.table import krippendorff_alpha
from fire_toolkit.agreement.votes import Votes
from fire_toolkit.errors import TableError, UsageError
from fire_toolkit.tables import Judgments, check_judgments

LEVELS = ["nominal", "ordinal", "interval", "ratio"]


def doubled(answers: list[str], **columns: list[object]) -> Judgments:
    """Judgments from the answers on each pair, a character an answer; columns: one value a pair."""
    rows = [(unit, rater, label) for unit, given in enumerate(answers) for rater, label in enumerate(given)]
    table = pd.DataFrame(
        {
            "query_id": [f"q{unit % 7}" for unit, _, _ in rows],
            "doc_id": [f"d{unit:05d}" for unit, _, _ in rows],
            "annotator_id": [f"a{rater}" for _, rater, _ in rows],
            "label": [label for _, _, label in rows],
        }
    )
    extra = {name: [values[unit] for unit, _, _ in rows] for name, values in columns.items()}
    return check_judgments(table.assign(**extra))


def two_raters(n: int, seed: int, *, prevalence: float = 0.13, error: float = 0.04) -> np.ndarray:
    """0/1 answers of two raters, pairs × 2, who each err at random."""
    draw = np.random.default_rng(seed)
    truth = draw.random((n, 1)) < prevalence
    return (truth ^ (draw.random((n, 2)) < error)).astype(np.int64)


def coded(answers: np.ndarray) -> Votes:
    """The answers of two raters (pairs × 2) as votes."""
    unit, rater = np.indices(answers.shape).reshape(2, -1)
    return Votes(unit, answers.ravel(), rater, ("0", "1"), np.arange(2.0))


def true_alpha(prevalence: float, error: float) -> float:
    """Alpha of `two_raters` for n without end."""
    share = prevalence * (1 - error) + (1 - prevalence) * error
    return 1 - 2 * error * (1 - error) / (2 * share * (1 - share))


def text(answers: np.ndarray) -> list[str]:
    return ["".join(map(str, row)) for row in answers]


MIXED = ["11"] * 30 + ["00"] * 40 + ["10"] * 6 + ["110"] * 3 + ["22"] * 9 + ["122"] * 2 + ["1"] * 20


@pytest.mark.parametrize("level", LEVELS)
def test_alphas_from_coincidences_equal_the_package_on_a_thousand_sparse_tables(level: str) -> None:
    draw = np.random.default_rng(7)
    compared = 0
    for _ in range(1000):
        values = np.cumsum(draw.integers(1, 4, size=draw.integers(2, 6))).astype(np.float64)
        counts = draw.integers(0, 3, size=(draw.integers(1, 9), len(values)))
        patterns = count_patterns(counts)
        matrices = coincidences(patterns.counts)[patterns.place].sum(axis=0, keepdims=True)
        found = alphas(matrices, values, level)[0]
        paired = counts[counts.sum(axis=1) >= 2]
        if (paired.sum(axis=0) > 0).sum() < 2:
            assert math.isnan(found)
            continue
        expected = krippendorff.alpha(value_counts=paired, value_domain=values, level_of_measurement=level)
        assert expected == pytest.approx(found, abs=1e-10)
        compared += 1
    assert compared > 900


def test_patterns_are_the_distinct_rows_however_large_the_counts() -> None:
    for counts in (np.array([[1, 2], [0, 3], [1, 2]]), np.array([[1] * 70, [2] * 70, [1] * 70])):
        patterns = count_patterns(counts)
        assert len(patterns.counts) == 2
        np.testing.assert_array_equal(counts, patterns.counts[patterns.place])


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_the_value_is_krippendorffs_alpha_and_lies_in_its_interval(level: str, method: str) -> None:
    judgments = doubled(MIXED)
    interval = alpha_interval(judgments, level=level, method=method, n_resamples=500)
    assert pytest.approx(krippendorff_alpha(judgments, level=level).value) == interval.value
    assert interval.low < interval.value < interval.high
    assert (interval.n_resampled, interval.n_undefined, interval.note) == (90, 0, "")


def test_the_bootstrap_equals_resampling_pairs_by_index_with_the_package() -> None:
    interval = alpha_interval(doubled(MIXED), n_resamples=4000, seed=1)
    counts = np.array([[given.count(label) for label in "012"] for given in MIXED if len(given) > 1])
    draw = np.random.default_rng(2)
    resampled = [
        krippendorff.alpha(
            value_counts=counts[draw.integers(len(counts), size=len(counts))], level_of_measurement="nominal"
        )
        for _ in range(4000)
    ]
    assert pytest.approx(np.quantile(resampled, 0.025), abs=0.012) == interval.low
    assert pytest.approx(np.quantile(resampled, 0.975), abs=0.012) == interval.high
    assert pytest.approx(np.mean(np.array(resampled) < 0.8), abs=0.03) == interval.below_800
    assert pytest.approx(np.mean(np.array(resampled) < 0.667), abs=0.03) == interval.below_667


@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_a_95_percent_interval_covers_the_truth_in_about_95_percent_of_samples(method: str) -> None:
    truth, n, trials = true_alpha(0.13, 0.04), 500, 300
    covered = 0
    for seed in range(trials):
        votes = coded(two_raters(n, seed))
        resampling = Resampling(method, n_resamples=400, seed=seed)
        found = interval_of(votes, "alpha", level="nominal", resampling=resampling)
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / trials <= 0.98


def test_the_jackknife_equals_leaving_each_pair_out() -> None:
    answers = [given for given in MIXED if len(given) > 1]
    left = np.array(
        [krippendorff_alpha(doubled(answers[:n] + answers[n + 1 :])).value for n in range(len(answers))]
    )
    n = len(left)
    error = math.sqrt((n - 1) / n * ((left - left.mean()) ** 2).sum())
    interval = alpha_interval(doubled(answers), method="jackknife")
    assert pytest.approx(interval.value - 1.959964 * error, abs=1e-6) == interval.low
    assert pytest.approx(min(1, interval.value + 1.959964 * error), abs=1e-6) == interval.high


def test_pairs_that_repeat_within_a_cluster_are_no_new_evidence() -> None:
    # Each of 60 captions repeats one answer sheet four times, so only 60 things were drawn.
    sheets = text(two_raters(60, 3, prevalence=0.4, error=0.1))
    captions = [f"c{sheet}" for sheet in range(60) for _ in range(4)]
    judgments = doubled([sheet for sheet in sheets for _ in range(4)], caption=captions)
    for method in ("bootstrap", "jackknife"):
        by_pair = alpha_interval(judgments, method=method, n_resamples=3000)
        by_caption = alpha_interval(judgments, method=method, n_resamples=3000, cluster="caption")
        assert by_caption.n_resampled == 60
        assert by_pair.value == pytest.approx(by_caption.value)
        widths = [found.high - found.low for found in (by_caption, by_pair)]
        assert widths[0] / widths[1] == pytest.approx(2, rel=0.15)


def test_weights_by_inverse_inclusion_probability_undo_an_uneven_draw() -> None:
    # All pairs that the first annotator calls positive are judged twice, and 5% of the others.
    answers = two_raters(40_000, 5)
    draw = np.random.default_rng(6)
    chance = np.where(answers[:, 0] == 1, 1.0, 0.05)
    drawn = draw.random(len(answers)) < chance
    judgments = doubled(text(answers[drawn]), inclusion_probability=list(chance[drawn]))
    truth = true_alpha(0.13, 0.04)
    assert alpha_interval(judgments, n_resamples=10).value < truth - 0.1
    weighted = alpha_interval(judgments, n_resamples=1000, inclusion="inclusion_probability")
    assert pytest.approx(truth, abs=0.03) == weighted.value
    assert weighted.low < truth < weighted.high


def test_equal_inclusion_probabilities_change_nothing() -> None:
    judgments = doubled(MIXED, p=[0.25] * len(MIXED))
    assert alpha_interval(judgments, n_resamples=50) == alpha_interval(
        judgments, n_resamples=50, inclusion="p"
    )


@pytest.mark.parametrize("cluster", [None, "query_id", "doc_id"])
def test_the_same_seed_gives_the_same_numbers_whatever_the_block(
    monkeypatch: pytest.MonkeyPatch, cluster: str | None
) -> None:
    judgments = doubled(MIXED)
    expected = alpha_interval(judgments, n_resamples=97, seed=4, cluster=cluster)
    monkeypatch.setattr(draws, "_CELLS", 150)
    assert expected == alpha_interval(judgments, n_resamples=97, seed=4, cluster=cluster)
    assert expected != alpha_interval(judgments, n_resamples=97, seed=5, cluster=cluster)
    shuffled = Judgments(judgments.sample(frac=1, random_state=1))
    again = alpha_interval(shuffled, n_resamples=97, seed=4, cluster=cluster)
    assert (pytest.approx(expected.low), pytest.approx(expected.high)) == (again.low, again.high)


@pytest.mark.parametrize(
    ("answers", "words"),
    [
        ([], "no pair has two judgments"),
        (["1", "0"], "no pair has two judgments"),
        (["11", "11", "0"], "every judgment on pairs with two judgments says '1'"),
        (["10"], "only one pair has two judgments"),
    ],
)
@pytest.mark.parametrize("method", ["bootstrap", "jackknife"])
def test_an_interval_that_cannot_be_had_is_nan_with_a_reason(
    answers: list[str], words: str, method: str
) -> None:
    interval = alpha_interval(doubled(answers), method=method, n_resamples=20)
    assert math.isnan(interval.low)
    assert math.isnan(interval.below_667)
    assert interval.note.startswith(words)


def test_resamples_without_an_alpha_are_counted() -> None:
    interval = alpha_interval(doubled(["11"] * 5 + ["00"]), n_resamples=200)
    # A draw of six pairs misses the one that differs with probability (5/6)^6 = .335.
    assert pytest.approx(0.335 * 200, abs=25) == interval.n_undefined
    assert interval.note == f"{interval.n_undefined} of 200 resamples have no alpha and are left out"
    left = alpha_interval(doubled(["11"] * 5 + ["00"]), method="jackknife")
    assert left.note.startswith("alpha rests on one pair")


def test_perfect_agreement_says_that_its_interval_is_a_point() -> None:
    answers = ["11"] * 50 + ["00"] * 50
    bootstrap = alpha_interval(doubled(answers), n_resamples=100)
    jackknife = alpha_interval(doubled(answers), method="jackknife")
    sure = (0.0, "almost perfect", 1.0)
    assert bootstrap == Interval(
        1.0, 1.0, 1.0, 0.0, 0.0, 100, 0, "every resample gives the same alpha", *sure
    )
    assert jackknife == Interval(1.0, 1.0, 1.0, 0.0, 0.0, 100, 0, "leaving a pair out changes nothing", *sure)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "bayes"}, "method 'bayes' is unknown; expected one of bootstrap, jackknife"),
        ({"n_resamples": 0}, "n_resamples is 0; expected 1 or more"),
        ({"confidence": 1.0}, "confidence is 1.0; expected a number strictly between 0 and 1"),
        ({"cluster": "caption"}, "no column 'caption'"),
        ({"inclusion": "p"}, "no column 'p'"),
    ],
)
def test_a_bad_argument_is_a_usage_error(options: dict[str, object], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        alpha_interval(doubled(MIXED), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("chance", [0.0, 1.5, -1.0, math.nan])
def test_an_inclusion_probability_out_of_range_is_an_error(chance: float) -> None:
    judgments = doubled(["11", "10", "00"], p=[1.0, chance, 1.0])
    with pytest.raises(TableError, match=r"p is .* \(1 of 3 pairs .*expected a probability"):
        alpha_interval(judgments, inclusion="p")


def test_a_cluster_that_differs_within_a_pair_is_an_error() -> None:
    with pytest.raises(TableError, match=r"annotator_id differs within 90 pairs \(q0 d00000\)"):
        alpha_interval(doubled(MIXED), cluster="annotator_id")
