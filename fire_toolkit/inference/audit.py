"""An audit of labels by experts: a sample by label and band of ranks, and the error rates that it tells."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.label_errors import BANDS, ErrorRates, LabelRates, rates_in_words
from fire_toolkit.tables import Labels, Pool, Qrels
from fire_toolkit.tables.columns import PAIR, are_positives, pair_rows
from fire_toolkit.tables.design import SINGLE, VERIFY
from fire_toolkit.words import n_of

MOST_LATER = 0.05  # of the labels that an audit is taken to speak for


@dataclass(frozen=True, eq=False)
class AuditedLabels(LabelRates):
    """Labels, each with its band, and what experts say of some; all are of class `single`.

    counted: of each pair 1, what its answer weighs (0 without one), and that where it is relevant, in the
    column of its label: (n_pairs, 3 × 2); n_later: labels that came after the draw; doubt: none, for experts
    are taken as right.
    """

    n_later: int = 0
    doubt: ClassVar[str] = ""

    @property
    def n_answers(self) -> int:
        """How many labels have an expert's answer."""
        return int((self.counted[:, 2:4] > 0).sum())

    def cells(self, counts: Floats) -> Floats:
        """Return labels, answers and relevant ones, each (..., n_bands, 2), from sums of `counts`.

        An answer counts with its query, so that the spread over queries holds that experts were asked about
        some pairs only, and that a label is more often right where a query has more relevant pairs.
        """
        return np.moveaxis(counts.reshape(*counts.shape[:-1], len(self.bands), 3, 2), -2, 0)

    @property
    def errors(self) -> Floats:
        """Of how many answers are relevant, what half an answer of each kind adds to their variance.

        Without that a share of 0 or 1 would be taken as known. Of n answers with the relevant share p it adds
        n·(p − ½)²·(1 − (n/(n + 1))²) to n·p(1 − p).
        """
        _, asked, relevant = self.cells(self.counts.sum(axis=0))
        share = relevant / np.maximum(asked, 1)
        found = np.abs(share - 0.5) * np.sqrt(asked * (1 - (asked / (asked + 1)) ** 2))
        return np.stack([0 * found, 0 * found, found], axis=1).reshape(-1)

    def rates(self, counts: Floats) -> ErrorRates:
        """Return t and f of the labels in each band from the labels and answers counted in it.

        With ppv and fo the relevant shares of audited positives and negatives, pos = N₊·ppv and
        neg = N₋·fo are relevant, t = pos / (pos + neg) and f = (N₊ − pos) / (N − pos − neg).
        """
        held, asked, relevant = self.cells(counts)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.where(held.real == 0, 0, held * relevant / asked)
            n, of_all = held.sum(axis=-1), found.sum(axis=-1)
            # a band without relevant pairs, or without others, reads neither
            t = np.where(of_all.real == 0, 1, found[..., 1] / of_all)
            f = np.where((n - of_all).real == 0, 0, (held - found)[..., 1] / (n - of_all))
            return ErrorRates(t, f, of_all / n)

    @property
    def wrong_share(self) -> float:
        """The share of new positives that experts would reject, by band; nan where one has no answer."""
        held, asked, right = self.cells(self.counts.sum(axis=0))[..., 1]
        with np.errstate(invalid="ignore"):
            return float(1 - np.where(held > 0, held * right / asked, 0).sum() / held.sum())

    @property
    def basis(self) -> str:
        """By what scores are corrected, in words."""
        return f"by {n_of(self.n_answers, 'answer')} of experts, who are taken as right"

    @property
    def told(self) -> list[str]:
        """What the audit says of the labels in each band."""
        counts, lines = self.counts.sum(axis=0), []
        rates, (held, asked, relevant) = self.rates(counts), self.cells(counts)
        for band in np.flatnonzero(held.sum(axis=-1)):
            (n_negative, n_positive), (accepted, right) = asked[band], relevant[band]
            lines.append(
                f"ranks {self.bands[band]}, {n_of(int(held[band].sum()), 'label')}: one "
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
    others = labels[~are_positives(labels, original)].reset_index(drop=True)
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
    return AuditedLabels(pairs, names, np.eye(2, 6)[relevance])


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
            left out, pairs of the sample without an answer count as not asked. An answer counts for the label
            and band that the pair has now, and weighs as many as it was drawn for: 1 on average.

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
    place, rows = pair_rows(sample, labels.pairs), pair_rows(sample, answers)
    is_asked = (rows >= 0) & (place >= 0)
    place, drawn = place[is_asked], (2 * sample["band"] + sample["relevance"]).to_numpy()[is_asked]
    own = (2 * labels.pairs["band"] + labels.pairs["relevance"]).to_numpy()[place]
    weight = sample["n_labels"].to_numpy()[is_asked] / np.bincount(drawn)[drawn]
    weight = weight / (np.bincount(own, weight) / np.maximum(np.bincount(own), 1))[own]
    label = labels.pairs["relevance"].to_numpy()
    counted = np.eye(2, 6)[label]
    counted[place, 2 + label[place]] = weight
    counted[place, 4 + label[place]] = weight * (answers["relevance"].to_numpy()[rows[is_asked]] >= 1)
    found = replace(labels, counted=counted, n_later=max(n_later, 0))
    held, asked, _ = found.cells(found.counts.sum(axis=0))
    if n_lacking := int(((asked == 0) & (held > 0)).sum()):
        raise UsageError(
            f"{n_lacking} of {int((held > 0).sum())} kinds of labels (bands of ranks, positive and "
            "negative) have no answer of an expert; expected some of each"
        )
    return found
