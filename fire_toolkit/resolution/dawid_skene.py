"""Dawid and Skene's model: each annotator has a confusion matrix, each pair a true label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Floats, Ints, rows_of_lists, starts_of_lists
from fire_toolkit.resolution.majority import are_tied
from fire_toolkit.resolution.vote_table import POSTERIOR, Verdicts, VoteTable
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


def dawid_skene(votes: VoteTable) -> Verdicts:
    """Return the most probable label of each pair under Dawid and Skene's model; a tie is a dispute.

    Confusion matrices are full and estimated by EM, with 0.01 votes added to each cell; controls keep
    their known label throughout and so teach the model who errs how.

    A pair whose votes are tied is in dispute whatever the model thinks of it, unless it is a control: of two
    opposite votes the model's choice is right far less often than a third annotator.
    """
    rows = votes.voting
    choice = np.cumsum(votes.is_vote) - 1
    truth = np.where(votes.truth >= 0, choice[votes.truth], -1)
    if not len(rows):
        return Verdicts(np.full(len(votes.pairs), -1, dtype=np.int64))
    model = fit(
        votes.pair[rows],
        votes.annotator[rows],
        choice[votes.label[rows]],
        truth=truth,
        n_labels=int(votes.is_vote.sum()),
    )
    ordered = np.sort(model.posterior, axis=1)
    runner_up = ordered[:, -2] if ordered.shape[1] > 1 else np.zeros(len(ordered))
    is_open = are_tied(votes.by_label) & (votes.truth < 0)
    decided = (ordered[:, -1] - runner_up > TIE) & (votes.n_votes > 0) & ~is_open
    label = np.flatnonzero(votes.is_vote)[model.posterior.argmax(axis=1)]
    posterior = np.zeros(votes.by_label.shape)
    posterior[:, votes.is_vote] = model.posterior
    trace = tuple(map(float, model.log_likelihoods))
    verdicts = np.where(decided, label, -1)
    return Verdicts(verdicts, ordered[:, -1], POSTERIOR, posterior, model.confusions, trace, model.converged)


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
    n_annotators = int(annotator.max(initial=-1)) + 1
    posterior = _shares(patterns, n_labels)
    trace: list[float] = []
    while True:
        prior, votes = _maximise(patterns, posterior, n_annotators)
        votes += smoothing
        total = votes.sum(axis=2, keepdims=True)
        confusions = votes / np.where(total > 0, total, 1)
        posterior, log_likelihood = _expect(patterns, prior, confusions)
        trace.append(log_likelihood)
        converged = len(trace) > 1 and abs(trace[-1] - trace[-2]) <= tolerance * abs(trace[-1])
        if converged or len(trace) >= max_iterations:
            break
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
    def is_informative(self) -> npt.NDArray[np.bool_]:
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
    n_units = np.bincount(ids)
    first = np.empty(len(n_units), dtype=np.int64)
    first[ids[::-1]] = np.arange(len(ids))[::-1]
    length = n_votes[first]
    votes = rows_of_lists(start[first], length)
    pattern = np.repeat(np.arange(len(first)), length)
    return _Patterns(pattern, cell[votes], n_units, truth[first], ids)


def _clamped(posterior: Floats, truth: Ints) -> Floats:
    known = np.flatnonzero(truth >= 0)
    posterior[known] = 0.0
    posterior[known, truth[known]] = 1.0
    return posterior


def _shares(patterns: _Patterns, n_labels: int) -> Floats:
    """Return each pattern's shares of votes, even ones where there are none."""
    cells = patterns.pattern * n_labels + patterns.cell % n_labels
    votes = np.bincount(cells, minlength=len(patterns.n_units) * n_labels).reshape(-1, n_labels)
    total = votes.sum(axis=1, keepdims=True)
    return _clamped(np.where(total > 0, votes / np.maximum(total, 1), 1 / n_labels), patterns.truth)


def _maximise(patterns: _Patterns, posterior: Floats, n_annotators: int) -> tuple[Floats, Floats]:
    """Return the prior (eq. 2.4) and the expected votes, annotators × true × given label (eq. 2.3)."""
    n_labels = posterior.shape[1]
    mass = posterior * (patterns.n_units * patterns.is_informative)[:, None]
    size = n_annotators * n_labels
    by_true = [
        np.bincount(patterns.cell, mass[patterns.pattern, true], minlength=size) for true in range(n_labels)
    ]
    votes = np.stack(by_true).reshape(n_labels, n_annotators, n_labels).transpose(1, 0, 2)
    return mass.sum(axis=0) / mass.sum(), np.asarray(votes, dtype=np.float64)


def _expect(patterns: _Patterns, prior: Floats, confusions: Floats) -> tuple[Floats, float]:
    """Return the posterior of each pattern (eq. 2.5) and the log-likelihood of all units."""
    n_labels = len(prior)
    with np.errstate(divide="ignore"):
        log_prior = np.log(prior)
        log_cells = np.log(confusions.transpose(0, 2, 1).reshape(-1, n_labels))
    joint: Floats = np.tile(log_prior, (len(patterns.n_units), 1))
    np.add.at(joint, patterns.pattern, log_cells[patterns.cell])
    known = np.flatnonzero(patterns.truth >= 0)
    is_other = np.arange(n_labels) != patterns.truth[known][:, None]
    joint[known] = np.where(is_other, -np.inf, joint[known])
    best = joint.max(axis=1, keepdims=True)
    likelihood = np.exp(joint - best)
    total = likelihood.sum(axis=1, keepdims=True)
    n_units = patterns.n_units * patterns.is_informative
    return likelihood / total, float((n_units * (np.log(total) + best)[:, 0]).sum())
