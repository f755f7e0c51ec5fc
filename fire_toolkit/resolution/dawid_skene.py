"""Dawid and Skene's model: each annotator has a confusion matrix, each pair a true label."""

import numpy as np

from fire_toolkit.arrays import Floats, Ints, rows_of_lists, starts_of_lists
from fire_toolkit.resolution.rules import are_tied
from fire_toolkit.resolution.votes import Model, Verdicts, Votes, first_rows
from fire_toolkit.tables import SUPPORT
from fire_toolkit.tables.columns import distinct_codes

SMOOTHING = 0.01
TIE = 1e-6


def dawid_skene(votes: Votes) -> Verdicts:
    """Return the most probable label of each pair under Dawid and Skene's model; a tie is a dispute.

    Confusion matrices are full and estimated by EM, with 0.01 votes added to each cell; controls keep
    their known label throughout and so teach the model who errs how.

    A pair whose votes are tied is in dispute whatever the model thinks of it, unless it is a control: of two
    opposite votes the model's choice is right far less often than a third annotator.
    """
    rows = votes.voting
    if not len(rows):
        return Verdicts(np.full(len(votes.pairs), -1, dtype=np.int64))
    cast = (votes.pair[rows], votes.annotator[rows], votes.label[rows])
    model = fit(*cast, truth=votes.truth, n_labels=len(votes.labels))
    runner_up, best = np.sort(np.pad(model.posterior, ((0, 0), (1, 0))), axis=1)[:, -2:].T
    is_open = are_tied(votes.by_label) & (votes.truth < 0)
    is_decided = (best - runner_up > TIE) & (votes.n_votes > 0) & ~is_open
    label = np.where(is_decided, model.posterior.argmax(axis=1), -1)
    return Verdicts(label, best, SUPPORT[1], model)


def fit(
    unit: Ints,
    annotator: Ints,
    label: Ints,
    *,
    truth: Ints,
    n_labels: int,
    smoothing: float = SMOOTHING,
    tolerance: float = 1e-7,
    max_iterations: int = 500,
) -> Model:
    """Fit the model by EM, from each unit's shares of votes.

    Args:
        unit, annotator, label: codes of each vote; an annotator may vote on a unit more than once.
        truth: for each unit the code of its known label, −1 where none is known.
        n_labels: how many labels there are.
        smoothing: votes added to each cell of a confusion matrix.
        tolerance: EM stops when the log-likelihood rises by less than this share of it.
        max_iterations: at most so many.

    Returns:
        A `Model`; a unit without votes and without a known label has the prior as its posterior
        and teaches nothing. There must be one vote or more.

    Units with the same votes by the same annotators are one pattern with a multiplicity, so the work of
    an iteration grows with the patterns. Dawid and Skene (1979), eqs. 2.3 to 2.7.
    """
    n_cells = (int(annotator.max(initial=-1)) + 1) * n_labels  # a cell: who said what
    unit, cell = np.divmod(np.sort(unit * n_cells + annotator * n_labels + label), n_cells)
    n_votes = np.bincount(unit, minlength=len(truth))
    start = starts_of_lists(n_votes)
    pattern_of, base = distinct_codes(truth + 1)[1], int(cell.max(initial=0)) + 2
    for place in range(int(n_votes.max(initial=0))):  # votes are taken in one by one
        here = np.flatnonzero(n_votes > place)
        keys = pattern_of * base
        keys[here] += cell[start[here] + place] + 1
        pattern_of = distinct_codes(keys)[1]
    first = first_rows(pattern_of)  # a unit of each pattern
    pattern = np.repeat(np.arange(len(first)), n_votes[first])
    cell, truth = cell[rows_of_lists(start[first], n_votes[first])], truth[first]
    n_units = np.bincount(pattern_of) * ((n_votes[first] > 0) | (truth >= 0))
    is_known, is_truth = (truth >= 0)[:, None], np.arange(n_labels) == truth[:, None]

    votes = np.bincount(pattern * n_labels + cell % n_labels, minlength=is_truth.size).reshape(-1, n_labels)
    total = votes.sum(axis=1, keepdims=True)
    shares = np.where(total > 0, votes / np.maximum(total, 1), 1 / n_labels)
    posterior = np.where(is_known, is_truth, shares)
    trace: list[float] = []
    while True:
        mass = posterior * n_units[:, None]
        prior = mass.sum(axis=0) / mass.sum()  # eq. 2.4
        by_true = np.stack([np.bincount(cell, each[pattern], minlength=n_cells) for each in mass.T])
        counts = by_true.reshape(n_labels, -1, n_labels).transpose(1, 0, 2) + smoothing
        total = counts.sum(axis=2, keepdims=True)
        confusions = counts / np.where(total > 0, total, 1)  # eq. 2.3
        with np.errstate(divide="ignore"):
            log_cells = np.log(confusions.transpose(0, 2, 1).reshape(-1, n_labels))
            joint: Floats = np.tile(np.log(prior), (len(first), 1))
        np.add.at(joint, pattern, log_cells[cell])
        joint[is_known & ~is_truth] = -np.inf
        best = joint.max(axis=1, keepdims=True)
        likelihood = np.exp(joint - best)
        total = likelihood.sum(axis=1, keepdims=True)
        posterior = likelihood / total  # eq. 2.5
        trace.append(float((n_units * (np.log(total) + best)[:, 0]).sum()))
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tolerance * abs(trace[-1])
        if converged or len(trace) >= max_iterations:
            return Model(posterior[pattern_of], prior, confusions, np.array(trace), converged)
