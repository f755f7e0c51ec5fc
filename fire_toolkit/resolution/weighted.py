"""Votes weighted by how well their annotator does on controls."""

from __future__ import annotations

import numpy as np

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.vote_table import WEIGHT_SHARE, Verdicts, VoteTable

PRIOR_CONTROLS = 4.0


def weighted(votes: VoteTable) -> Verdicts:
    """Return the label with more than half of the weight of its votes; anything else is a dispute.

    A vote weighs log(a (q − 1) / (1 − a)), a being its annotator's accuracy on controls and q the number
    of labels that are votes: the best weights for independent annotators (Nitzan and Paroush 1982), 0
    for one no better than chance. Accuracy is drawn towards that of all annotators as by 4 controls, so
    that few controls say little and none nothing. weight_share: the label's share of the weight.
    """
    weights = annotator_weights(votes)
    rows = votes.voting
    n_pairs, n_labels = votes.by_label.shape
    cells = votes.pair[rows] * n_labels + votes.label[rows]
    totals = np.bincount(cells, weights[votes.annotator[rows]], minlength=n_pairs * n_labels)
    totals = totals.reshape(n_pairs, n_labels)
    whole = totals.sum(axis=1)
    share = totals.max(axis=1, initial=0) / np.where(whole > 0, whole, 1)
    return Verdicts(np.where(share > 0.5 + 1e-9, totals.argmax(axis=1), -1), share, WEIGHT_SHARE)


def annotator_weights(votes: VoteTable) -> Floats:
    """Return the weight of each annotator code.

    Raises:
        UsageError: nobody voted on a pair whose label is known.
    """
    rows = votes.voting[votes.truth[votes.pair[votes.voting]] >= 0]
    if not len(rows) and len(votes.pairs):
        raise UsageError("rule weighted needs controls: pairs with a known label that annotators voted on")
    n_annotators = int(votes.annotator.max(initial=-1)) + 1
    right = (votes.label[rows] == votes.truth[votes.pair[rows]]).astype(np.float64)
    overall = (right.sum() + 1) / (len(rows) + 2)
    n_controls = np.bincount(votes.annotator[rows], minlength=n_annotators)
    n_right = np.bincount(votes.annotator[rows], right, minlength=n_annotators)
    accuracy = (n_right + PRIOR_CONTROLS * overall) / (n_controls + PRIOR_CONTROLS)
    n_choices = int(votes.is_vote.sum())
    return np.asarray(np.maximum(np.log(accuracy * max(n_choices - 1, 1) / (1 - accuracy)), 0.0))
