import numpy as np
import pandas as pd
import pytest

from fire_toolkit.resolution.dawid_skene import Model, fit
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.tables import check_judgments

# Dawid and Skene (1979), table 1: 45 patients graded 1 to 4 by five anaesthetists, three times by the first.
PATIENTS = """
11111 11 | 33343 34 | 11221 22 | 22231 21 | 22232 22 | 22233 22 | 12221 11 | 33334 33 | 22222 23
23222 23 | 44444 44 | 22233 43 | 11111 11 | 22232 12 | 12111 11 | 11121 11 | 11111 11 | 11111 11
22222 21 | 22213 22 | 22222 22 | 22222 21 | 22232 22 | 22122 22 | 11111 11 | 11111 11 | 23222 22
11111 11 | 11111 11 | 11211 21 | 11111 11 | 33332 33 | 11111 11 | 22222 22 | 22232 32 | 43343 43
22122 32 | 23232 33 | 33334 32 | 11111 11 | 11111 11 | 12121 11 | 23222 22 | 12111 11 | 22222 22
""".strip().replace("\n", " | ").replace(" | ", "|").replace(" ", "").split("|")  # fmt: skip
OBSERVERS = (0, 0, 0, 1, 2, 3, 4)
VOTES = np.array(
    [(u, a, int(c) - 1) for u, row in enumerate(PATIENTS) for a, c in zip(OBSERVERS, row, strict=True)]
)
UNKNOWN = np.full(45, -1)


def fitted(**options: float) -> Model:
    settings = {"truth": UNKNOWN, "n_labels": 4, "smoothing": 0.0, "tolerance": 1e-10} | options
    return fit(VOTES[:, 0], VOTES[:, 1], VOTES[:, 2], **settings)  # type: ignore[arg-type]


def test_dawid_and_skenes_anaesthetists() -> None:
    model = fitted()
    np.testing.assert_allclose(model.prior, [0.3996, 0.4220, 0.1118, 0.0667], atol=5e-5)
    assert model.log_likelihoods[0] == pytest.approx(-205.0911, abs=5e-5)
    assert model.log_likelihoods[-1] == pytest.approx(-192.8909, abs=5e-5)
    expected = [
        [0.8895, 0.1105, 0, 0],
        [0.0706, 0.8764, 0.0530, 0],
        [0, 0.3388, 0.6612, 0],
        [0, 0, 0.5556, 0.4444],
    ]
    np.testing.assert_allclose(model.confusions[0], expected, atol=5e-5)
    assert model.converged


def test_the_log_likelihood_never_falls() -> None:
    steps = np.diff(fitted().log_likelihoods)
    assert (steps > -1e-9).all()
    assert steps[-1] <= 1e-10 * 193 < steps[-2]  # it ends where a step is less than this share of it


def test_too_few_iterations_are_told() -> None:
    model = fitted(max_iterations=3)
    assert len(model.log_likelihoods) == 3
    assert not model.converged


def by_the_paper(truth: np.ndarray, smoothing: float, iterations: int) -> tuple[np.ndarray, np.ndarray]:
    """Posterior and prior by eqs. 2.3 to 2.5, unit by unit."""
    given = np.zeros((45, 5, 4))
    np.add.at(given, tuple(VOTES.T), 1)
    clamp = np.eye(4)[np.maximum(truth, 0)]
    posterior = given.sum(axis=1) / given.sum(axis=(1, 2))[:, None]
    for step in range(iterations + 1):
        posterior = np.where(truth[:, None] >= 0, clamp, posterior)
        if step == iterations:
            break
        prior = posterior.mean(axis=0)
        confusion = np.einsum("ij,ikl->kjl", posterior, given) + smoothing
        confusion /= confusion.sum(axis=2, keepdims=True)
        likelihood = prior * np.prod(confusion[None] ** given[:, :, None, :], axis=(1, 3))
        posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    return posterior, prior


@pytest.mark.parametrize("n_known", [0, 12])
def test_patterns_give_what_the_paper_gives_unit_by_unit_with_controls_clamped(n_known: int) -> None:
    truth = UNKNOWN.copy()
    truth[:n_known] = np.arange(n_known) % 4
    model = fitted(truth=truth, smoothing=0.01, max_iterations=7, tolerance=0.0)
    posterior, prior = by_the_paper(truth, 0.01, 7)
    np.testing.assert_allclose(model.posterior, posterior, atol=1e-9)
    np.testing.assert_allclose(model.prior, prior, atol=1e-9)


def crowd(
    seed: int, *, accuracy: dict[str, tuple[float, float]], n: int = 600
) -> tuple[pd.DataFrame, np.ndarray]:
    """Judgments by annotators with (accuracy on positives, on negatives); 15% positives."""
    draw = np.random.default_rng(seed)
    truth = draw.random(n) < 0.15
    rows = [
        ("q", f"d{unit:03d}", name, "y" if truth[unit] == (draw.random() < share[1 - truth[unit]]) else "n")
        for name, share in accuracy.items()
        for unit in range(n)
    ]
    return pd.DataFrame(rows, columns=["query_id", "doc_id", "annotator_id", "label"]), truth


GRADES = {"n": 0, "y": 1, "e": None}


def test_it_finds_who_errs_how_where_the_majority_is_misled() -> None:
    # Three careless annotators miss most positives, two careful ones see them.
    habits = {"a": (0.95, 0.97), "b": (0.95, 0.97), "c": (0.3, 0.95), "d": (0.3, 0.95), "e": (0.3, 0.95)}
    table, truth = crowd(1, accuracy=habits)
    right = {}
    for rule in ("fire", "dawid-skene"):
        labels = resolve(check_judgments(table), grades=GRADES, rule=rule).labels
        right[rule] = (labels["relevance"].to_numpy() == truth).mean()
    assert right["dawid-skene"] > 0.97
    assert right["fire"] < 0.95


def test_a_label_stands_with_its_posterior_and_a_control_is_certain() -> None:
    table, truth = crowd(2, accuracy={"a": (0.8, 0.9), "b": (0.8, 0.9), "c": (0.8, 0.9)}, n=60)
    wrong = "n" if truth[0] else "y"
    controls = pd.DataFrame({"query_id": ["q"], "doc_id": ["d000"], "label": [wrong]})
    labels = resolve(check_judgments(table), grades=GRADES, rule="dawid-skene", controls=controls).labels
    row = labels.set_index("doc_id").loc["d000"]
    assert (row["label"], row["posterior"]) == (wrong, 1.0)
    assert labels["posterior"].iloc[1:].between(0.5, 1).all()


def test_even_evidence_is_a_dispute() -> None:
    columns = {"doc_id": list("ddee"), "annotator_id": list("uvuv"), "label": list("ynny")}
    table = pd.DataFrame({"query_id": "q", **columns})
    labels, disputes = resolve(check_judgments(table), grades=GRADES, rule="dawid-skene")[:2]
    assert (len(labels), list(disputes["reason"])) == (0, ["no_majority", "no_majority"])


def test_a_pair_with_tied_votes_is_in_dispute_however_sure_the_model_is_unless_it_is_a_control() -> None:
    habits = {"a": (0.99, 0.99), "b": (0.99, 0.99), "c": (0.5, 0.6)}
    table, _ = crowd(4, accuracy=habits)
    is_tied = (table["doc_id"] == "d000") & table["annotator_id"].isin(["a", "c"])
    votes = table[(table["doc_id"] != "d000")].copy()
    tied = table[is_tied].assign(label=["y", "n"])
    judgments = check_judgments(pd.concat([votes, tied]))
    full = resolve(judgments, grades=GRADES, rule="dawid-skene")
    assert full.posteriors is not None
    assert full.posteriors.set_index("doc_id").loc["d000", "p_y"] > 0.9  # a is the careful one
    assert list(full.disputes["doc_id"]) == ["d000"]
    known = pd.DataFrame({"query_id": ["q"], "doc_id": ["d000"], "label": ["n"]})
    labels, disputes = resolve(judgments, grades=GRADES, rule="dawid-skene", controls=known)[:2]
    assert (len(disputes), labels.set_index("doc_id").loc["d000", "label"]) == (0, "n")


def test_pairs_without_a_vote_teach_nothing_and_stay_escalated() -> None:
    table, _ = crowd(3, accuracy={"a": (0.8, 0.9), "b": (0.7, 0.9)}, n=80)
    docs = [f"e{n}" for n in range(50)]
    silent = pd.DataFrame({"query_id": "q", "doc_id": docs, "annotator_id": "a", "label": "e"})
    expected = resolve(check_judgments(table), grades=GRADES, rule="dawid-skene").labels
    labels, disputes = resolve(
        check_judgments(pd.concat([table, silent])), grades=GRADES, rule="dawid-skene"
    )[:2]
    pd.testing.assert_frame_equal(expected, labels)
    assert (disputes["reason"] == "escalated").sum() == 50


def test_one_label_only_is_that_label() -> None:
    table = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "annotator_id": "u", "label": "y"})
    labels = resolve(check_judgments(table), grades={"y": 1}, rule="dawid-skene").labels
    assert list(labels["posterior"]) == [1.0, 1.0]
