"""An audit of labels by experts: a sample by label and band of ranks, and the error rates that it tells."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.label_errors import BANDS, ErrorRates, LabelRates, rates_in_words
from fire_toolkit.tables import Labels, Pool, Qrels
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import SINGLE, VERIFY
from fire_toolkit.words import n_of

MOST_LATER = 0.05  # of the labels that an audit is taken to speak for


@dataclass(frozen=True, eq=False)
class AuditedLabels(LabelRates):
    """Labels, each with its band, and how many experts answered on; all are of class `single`.

    counted: 1, and 1 for a positive label; answers: (n_bands, 2, 2), of how many labels of each band and kind
    (0, 1) there is an answer, and how many of these are relevant; n_answers: on pairs that were drawn;
    n_later: labels that came after the draw; doubt: none, for experts are taken as right.
    """

    answers: Floats = field(default_factory=lambda: np.empty((0, 2, 2)), repr=False)
    n_answers: int = 0
    n_later: int = 0
    doubt: ClassVar[str] = ""

    @property
    def errors(self) -> Floats:
        """The standard errors of the relevant shares, (2 × n_bands,); half an answer of each kind is added.

        Without that a share of 0 or 1 would be taken as known.
        """
        asked, relevant = np.moveaxis(self.answers, -1, 0)
        share = (relevant + 0.5) / (asked + 1)
        return np.asarray(np.sqrt(share * (1 - share) / asked).reshape(-1))

    def rates(self, counts: Floats, moved: Floats | None = None) -> ErrorRates:
        """Return t and f of the labels in each band from the pairs and positives counted in it.

        With ppv and fo the relevant shares of audited positives and negatives, pos = N₊·ppv and
        neg = N₋·fo are relevant, t = pos / (pos + neg) and f = (N₊ − pos) / (N − pos − neg).
        """
        n, n_positive = np.moveaxis(counts.reshape(*counts.shape[:-1], len(self.bands), 2), -1, 0)
        share = self.answers[..., 1] / self.answers[..., 0]
        if moved is not None:
            share = share + moved.reshape(*moved.shape[:-1], len(self.bands), 2)
        pos, neg = n_positive * share[..., 1], (n - n_positive) * share[..., 0]
        with np.errstate(divide="ignore", invalid="ignore"):
            relevant, others = pos + neg, n - pos - neg
            t = np.where(relevant.real > 0, pos / relevant, 1)  # a band without such pairs reads neither
            f = np.where(others.real > 0, (n_positive - pos) / others, 0)
            return ErrorRates(t, f, relevant / n)

    @property
    def basis(self) -> str:
        """By what scores are corrected, in words."""
        return f"by {n_of(self.n_answers, 'answer')} of experts, who are taken as right"

    @property
    def told(self) -> list[str]:
        """What the audit says of the labels in each band."""
        counts, lines = self.counts.sum(axis=0), []
        rates, n_labels = self.rates(counts), counts[::2]
        for band in np.flatnonzero(n_labels):
            (n_negative, accepted), (n_positive, right) = self.answers[band]
            lines.append(
                f"ranks {self.bands[band]}, {n_of(int(n_labels[band]), 'label')}: one "
                f"{rates_in_words(rates.t[band], rates.f[band])}; experts reject {n_positive - right:.0f} of "
                f"{n_positive:.0f} positives, accept {accepted:.0f} of {n_negative:.0f} negatives"
            )
        if self.n_later:
            lines.append(f"taken to err as those audited: {n_of(self.n_later, 'label')} after the draw")
        return lines


def labels_by_band(labels: Labels, original: Qrels, pool: Pool) -> AuditedLabels:
    """Return the labels of pairs that are not original positives, by the band of their best rank.

    Where a policy verified some positives and left others (`until-confirmed`), pairs of class `single` have
    bands of their own: which are hangs on what their queries hold, so one rate for all would be biased.

    Raises:
        JoinError: a label whose pair is not in the pool, or has no best rank there.
    """
    known = original[original["relevance"] >= 1]
    others = labels[pair_rows(labels, known) < 0].reset_index(drop=True)
    ranks = np.append(pool["best_rank"].astype("float64").to_numpy(), np.nan)[pair_rows(others, pool)]
    if len(lost := others[np.isnan(ranks)]):
        todo = "expected the pool that was judged"
        if "shared_from" in lost and (lost["shared_from"].fillna("") != "").all():
            todo = "they have another pair's label; `resolve` without --share-judgments"
        raise JoinError(
            f"{len(lost)} of {len(others)} labelled pairs have no best rank in the pool "
            f"({' '.join(lost[PAIR].iloc[0])}); {todo}"
        )
    band = np.searchsorted([2, 4], ranks, side="right")
    names: tuple[str, ...] = BANDS
    if "design_class" in others and {SINGLE, VERIFY} <= set(others["design_class"]):
        band = band + len(BANDS) * (others["design_class"] != SINGLE).to_numpy()
        names = tuple(f"{name}, {each}" for each in ("single", "verified or doubled") for name in BANDS)
    relevance = (others["relevance"] >= 1).astype(np.int64)
    pairs = others[PAIR].assign(design_class=SINGLE, band=band, relevance=relevance)
    return AuditedLabels(pairs, names, np.column_stack([np.ones(len(pairs)), relevance]))


def draw_audit(
    labels: AuditedLabels, *, positives: int = 100, negatives: int = 200, seed: int = 0
) -> pd.DataFrame:
    """Return the pairs that experts are to judge: so many of each label in each band, drawn at random.

    Args:
        labels: of `labels_by_band`.
        positives, negatives: pairs for each band, 1 or more; all where there are fewer.
        seed: 0 or more.

    Returns:
        query_id, doc_id, band, relevance (the label's), n_labels (of this band and relevance in all), in
        random order: it must not be shown to experts.

    Raises:
        UsageError: a number below 1, a seed below 0.
    """
    if positives < 1 or negatives < 1 or seed < 0:
        raise UsageError(
            f"{positives} positives, {negatives} negatives, seed {seed}; expected 1 or more, seed from 0"
        )
    draw = np.random.default_rng(seed)
    pairs = labels.pairs.sort_values(PAIR, ignore_index=True)
    chosen: list[int] = []
    for band in range(len(labels.bands)):
        for relevance, n in ((1, positives), (0, negatives)):
            rows = np.flatnonzero((pairs["band"] == band) & (pairs["relevance"] == relevance))
            chosen += draw.permutation(rows)[:n].tolist()
    pairs["n_labels"] = pairs.groupby(["band", "relevance"])["doc_id"].transform("size")
    columns = [*PAIR, "band", "relevance", "n_labels"]
    return pd.DataFrame(pairs.loc[draw.permutation(chosen), columns].reset_index(drop=True))


def with_answers(labels: AuditedLabels, sample: pd.DataFrame, answers: pd.DataFrame) -> AuditedLabels:
    """Return the labels with what experts say of them, which tells their rates.

    Args:
        labels: of `labels_by_band`.
        sample: of `draw_audit`.
        answers: query_id, doc_id, relevance (the experts', positive from 1); pairs outside the sample are
            left out, pairs of the sample without an answer count as not asked.

    Raises:
        UsageError: a band and label without an answer; or more than a twentieth of the labels came after the
            draw, of which it says nothing.
    """
    n_labels = len(labels.pairs)
    n_later = n_labels - int(sample.drop_duplicates(["band", "relevance"])["n_labels"].sum())
    if n_later > MOST_LATER * n_labels:
        raise UsageError(
            f"{n_later:,} of {n_labels:,} labels came after it was drawn, and it says nothing of them; draw "
            "another (move audit/labels away, then `next-round --ask audit`)"
        )
    rows = pair_rows(sample, answers)
    found, truth = sample[rows >= 0], answers["relevance"].to_numpy()[rows[rows >= 0]] >= 1
    asked, relevant, held = np.zeros((3, len(labels.bands), 2))
    place = (found["band"].to_numpy(), found["relevance"].to_numpy())
    np.add.at(asked, place, 1)
    np.add.at(relevant, place, truth)
    np.add.at(held, (labels.pairs["band"].to_numpy(), labels.pairs["relevance"].to_numpy()), 1)
    if n_lacking := int(((asked == 0) & (held > 0)).sum()):
        raise UsageError(
            f"{n_lacking} of {int((held > 0).sum())} kinds of labels (bands of ranks, positive and "
            "negative) have no answer of an expert; expected some of each"
        )
    counts = np.stack([np.maximum(asked, 1), relevant], axis=-1)
    n_answers = len(answers.merge(sample[PAIR]))
    return replace(labels, answers=counts, n_answers=n_answers, n_later=max(n_later, 0))
