"""Dawid and Skene's model: each annotator has a confusion matrix, each pair a true label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Bools, Floats, Ints, rows_of_lists, starts_of_lists
from fire_toolkit.resolution.majority import are_tied
from fire_toolkit.resolution.votes import Verdicts, Votes, first_rows
from fire_toolkit.tables import SUPPORT
from fire_toolkit.tables.columns import distinct_codes

SMOOTHING = 0.01
TIE = 1e-6


@dataclass(frozen=True)
class Model:
    """A fitted model.

    posterior: units × labels; prior: labels; confusions: annotators × true label × given label;
    log_likelihoods: one an iteration, of the votes (and known labels) under the parameters of that
    iteration; converged: whether the last step was small enough.
    """

    posterior: Floats
    prior: Floats
    confusions: Floats
    log_likelihoods: Floats
    converged: bool


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
    ordered = np.sort(model.posterior, axis=1)
    runner_up = ordered[:, -2] if ordered.shape[1] > 1 else np.zeros(len(ordered))
    is_open = are_tied(votes.by_label) & (votes.truth < 0)
    is_decided = (ordered[:, -1] - runner_up > TIE) & (votes.n_votes > 0) & ~is_open
    label = np.where(is_decided, model.posterior.argmax(axis=1), -1)
    trace = tuple(map(float, model.log_likelihoods))
    return Verdicts(
        label, ordered[:, -1], SUPPORT[1], model.posterior, model.confusions, trace, model.converged
    )


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
    patterns = _compress(unit, annotator * n_labels + label, truth)
    n_cells = (int(annotator.max(initial=-1)) + 1) * n_labels
    posterior = _clamped(_shares(patterns, n_labels), patterns.truth)
    n_units = patterns.n_units * patterns.is_informative
    trace: list[float] = []
    while True:
        mass = posterior * n_units[:, None]
        prior = mass.sum(axis=0) / mass.sum()  # eq. 2.4
        by_true = [np.bincount(patterns.cell, each[patterns.pattern], minlength=n_cells) for each in mass.T]
        votes = np.stack(by_true).reshape(n_labels, -1, n_labels).transpose(1, 0, 2) + smoothing
        total = votes.sum(axis=2, keepdims=True)
        confusions = votes / np.where(total > 0, total, 1)  # eq. 2.3
        posterior, log_likelihoods = _expect(patterns, prior, confusions)
        trace.append(float((n_units * log_likelihoods).sum()))
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tolerance * abs(trace[-1])
        if converged or len(trace) >= max_iterations:
            return Model(posterior[patterns.of_unit], prior, confusions, np.array(trace), converged)


@dataclass(frozen=True)
class _Patterns:
    """Distinct patterns of votes: for each vote its pattern and its cell (annotator × labels + label).

    n_units: how many units have each pattern; truth: its known label or −1; of_unit: each unit's pattern.
    """

    pattern: Ints
    cell: Ints
    n_units: Ints
    truth: Ints
    of_unit: Ints

    @property
    def is_informative(self) -> Bools:
        """Whether a pattern has a vote or a known label."""
        return (np.bincount(self.pattern, minlength=len(self.truth)) > 0) | (self.truth >= 0)


def _compress(unit: Ints, cell: Ints, truth: Ints) -> _Patterns:
    """Return the distinct multisets of votes, taken in vote by vote: equal prefixes have equal ids."""
    base = int(cell.max(initial=0)) + 2
    unit, cell = np.divmod(np.sort(unit * base + cell), base)
    n_votes = np.bincount(unit, minlength=len(truth))
    start = starts_of_lists(n_votes)
    ids = distinct_codes(truth + 1)[1]
    for place in range(int(n_votes.max(initial=0))):
        here = np.flatnonzero(n_votes > place)
        keys = ids * base
        keys[here] += cell[start[here] + place] + 1
        ids = distinct_codes(keys)[1]
    first = first_rows(ids)
    length = n_votes[first]
    pattern = np.repeat(np.arange(len(first)), length)
    return _Patterns(pattern, cell[rows_of_lists(start[first], length)], np.bincount(ids), truth[first], ids)


def _clamped(posterior: Floats, truth: Ints) -> Floats:
    """Return the posterior with all of the mass of a known label on it."""
    is_known = (truth >= 0)[:, None]
    return np.where(is_known, np.arange(posterior.shape[1]) == truth[:, None], posterior)


def _shares(patterns: _Patterns, n_labels: int) -> Floats:
    """Return each pattern's shares of votes, even ones where there are none."""
    cells = patterns.pattern * n_labels + patterns.cell % n_labels
    votes = np.bincount(cells, minlength=len(patterns.n_units) * n_labels).reshape(-1, n_labels)
    total = votes.sum(axis=1, keepdims=True)
    return np.where(total > 0, votes / np.maximum(total, 1), 1 / n_labels)


def _expect(patterns: _Patterns, prior: Floats, confusions: Floats) -> tuple[Floats, Floats]:
    """Return the posterior of each pattern (eq. 2.5) and its log-likelihood."""
    n_labels = len(prior)
    with np.errstate(divide="ignore"):
        log_cells = np.log(confusions.transpose(0, 2, 1).reshape(-1, n_labels))
        joint: Floats = np.tile(np.log(prior), (len(patterns.n_units), 1))
    np.add.at(joint, patterns.pattern, log_cells[patterns.cell])
    is_known = (patterns.truth >= 0)[:, None]
    joint[is_known & (np.arange(n_labels) != patterns.truth[:, None])] = -np.inf
    best = joint.max(axis=1, keepdims=True)
    likelihood = np.exp(joint - best)
    total = likelihood.sum(axis=1, keepdims=True)
    return likelihood / total, (np.log(total) + best)[:, 0]
