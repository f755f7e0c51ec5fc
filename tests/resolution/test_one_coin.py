import numpy as np
import pandas as pd
import pytest

from fire_toolkit.resolution.dawid_skene import fit
from fire_toolkit.resolution.one_coin import one_accuracy
from fire_toolkit.resolution.resolve import resolve_in_full
from fire_toolkit.tables import check_judgments

N_UNITS, N_ANNOTATORS, N_LABELS = 200, 6, 3


def votes_of(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels of six annotators (units × annotators, −1: not asked), and the truth."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(N_LABELS, size=N_UNITS)
    accuracy = np.linspace(0.55, 0.95, N_ANNOTATORS)
    wrong = (truth[:, None] + draw.integers(1, N_LABELS, size=(N_UNITS, N_ANNOTATORS))) % N_LABELS
    given = np.where(draw.random((N_UNITS, N_ANNOTATORS)) < accuracy, truth[:, None], wrong)
    return np.where(draw.random(given.shape) < 0.4, -1, given), truth


def unit_by_unit(given: np.ndarray, iterations: int, smoothing: float) -> tuple[np.ndarray, np.ndarray]:
    """Posterior and accuracies of the one-coin model by plain loops."""
    counts = np.array([[(row == label).sum() for label in range(N_LABELS)] for row in given])
    posterior = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    posterior[counts.sum(axis=1) == 0] = 1 / N_LABELS
    accuracy = np.zeros(N_ANNOTATORS)
    for _ in range(iterations):
        taught = posterior[counts.sum(axis=1) > 0]
        prior = taught.mean(axis=0)
        for annotator in range(N_ANNOTATORS):
            units = np.flatnonzero(given[:, annotator] >= 0)
            right = sum(posterior[unit, given[unit, annotator]] for unit in units) + N_LABELS * smoothing
            accuracy[annotator] = right / (len(units) + N_LABELS**2 * smoothing)
        for unit, row in enumerate(given):
            joint = prior.copy()
            for annotator, label in enumerate(row):
                if label >= 0:
                    others = (1 - accuracy[annotator]) / (N_LABELS - 1)
                    joint *= np.where(np.arange(N_LABELS) == label, accuracy[annotator], others)
            posterior[unit] = joint / joint.sum()
    return posterior, accuracy


@pytest.mark.parametrize("smoothing", [0.0, 0.01])
def test_it_is_the_one_coin_model_unit_by_unit(smoothing: float) -> None:
    given, truth = votes_of(1)
    unit, annotator = np.nonzero(given >= 0)
    model = fit(
        unit,
        annotator,
        given[unit, annotator],
        truth=np.full(N_UNITS, -1),
        n_labels=N_LABELS,
        shape=one_accuracy,
        smoothing=smoothing,
        max_iterations=9,
        tolerance=0.0,
    )
    posterior, accuracy = unit_by_unit(given, 9, smoothing)
    np.testing.assert_allclose(posterior, model.posterior, atol=1e-9)
    for label in range(N_LABELS):
        np.testing.assert_allclose(accuracy, model.confusions[:, label, label], atol=1e-9)
    assert (model.posterior.argmax(axis=1) == truth).mean() > 0.85


def test_wrong_labels_share_the_rest_evenly() -> None:
    votes = np.array([[[6.0, 1, 1], [0, 2, 0], [0, 0, 0]]])
    expected = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    np.testing.assert_allclose(expected, one_accuracy(votes)[0])
    np.testing.assert_allclose([[[1.0]]], one_accuracy(np.array([[[5.0]]])))


def test_the_better_annotator_outvotes_nobody_where_votes_are_tied() -> None:
    rows = [("q", f"d{n:02d}", name, "y" if n % 2 else "n") for n in range(20) for name in "abc"]
    rows += [("q", "tie", "a", "y"), ("q", "tie", "b", "n"), ("q", "most", "a", "y"), ("q", "most", "b", "y")]
    names = ["query_id", "doc_id", "annotator_id", "label"]
    judgments = check_judgments(pd.DataFrame(rows, columns=names))
    full = resolve_in_full(judgments, grades={"n": 0, "y": 1}, rule="one-coin")
    assert list(full.disputes["doc_id"]) == ["tie"]
    row = full.labels.set_index("doc_id").loc["most"]
    assert (row["label"], row["method"]) == ("y", "one-coin")
    assert row["posterior"] > 0.99
    assert full.n_pairs_by_votes == (0, 0, 2, 20)
