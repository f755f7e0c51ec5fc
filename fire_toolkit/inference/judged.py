"""Judged pairs that are not original positives, the counts that rates of error come from, and the rates.

Pairs are of kinds: class × band of ranks × label. The votes on pairs of one class tell how often a vote errs
(`Votes`); an audit by experts how often a label does (`audit.AuditedLabels`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.label_errors import (
    ErrorRates,
    chance_of_common_rates,
    class_rate,
    estimated_relevance,
    moment_rates,
    rates_without_thirds,
    why_no_rates,
)
from fire_toolkit.tables import PoolSources
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import CLASSES, DOUBLED, OPEN, RECHECK, SINGLE, VERIFY, labels_by_design
from fire_toolkit.words import n_of

BANDS = ("1", "2 to 3", "4 and more")
COMMON = 0.5  # one pair of rates serves all bands where chance explains what they differ by so often
NO_DESIGN = "no design says how many votes each pair was to get (`resolve --design FILE`)"
NO_SECOND = "no pair has a second vote by design, so nothing is known of how often votes err"
SETTLED = "the labels are settled for these runs: what was asked depended on the answers"


@dataclass(frozen=True, eq=False)
class Judged:
    """Judged pairs that are not original positives.

    pairs: query_id, doc_id, design_class, relevance (the label by design, 0 or 1), band; bands: the names of
    the bands of ranks with rates of their own; one empty name where all pairs have the same rates; counted:
    (n_pairs, 4), what each pair adds to the counts of `moment_rates`, 0 where it tells nothing of the rates.
    """

    pairs: pd.DataFrame
    bands: tuple[str, ...] = ("",)
    counted: Floats = field(default_factory=lambda: np.empty((0, 4)), repr=False)

    @property
    def n_bands(self) -> int:
        """How many bands of ranks have rates of their own."""
        return len(self.bands)

    @property
    def columns(self) -> Floats:
        """(n_pairs, 4 × n_bands): what each pair adds to the counts of its band."""
        of_band = np.eye(len(self.bands))[self.pairs["band"].to_numpy()]
        return np.asarray((of_band[:, :, None] * self.counted[:, None, :]).reshape(len(of_band), -1))

    @property
    def n_kinds(self) -> int:
        """How many kinds of pairs there may be; original positives are one more."""
        return 2 * len(CLASSES) * len(self.bands)

    @property
    def kind(self) -> Ints:
        """The kind of each pair: its class, band and label, in that order."""
        place = self.pairs["design_class"].map({name: n for n, name in enumerate(CLASSES)}).to_numpy()
        of_band = place * len(self.bands) + self.pairs["band"].to_numpy()
        return np.asarray(of_band * 2 + self.pairs["relevance"].to_numpy(), dtype=np.int64)

    @property
    def errors(self) -> Floats:
        """Standard errors of what rates rest on beside the counts; of votes there is nothing else."""
        return np.empty(0)

    def rates(self, counts: Floats, moved: Floats | None = None) -> ErrorRates:
        """Return the rates of each band, (..., n_bands), from (..., 4 × n_bands) counts.

        moved: what is added to each of those things that `errors` are of.
        """
        each = counts.reshape(*counts.shape[:-1], len(self.bands), 4)
        return moment_rates(each)

    def relevance(self, rates: ErrorRates) -> Floats:
        """Return p̂ of each kind, and last 1 for originals."""
        t, f = _of_classes(rates)
        both = np.stack([estimated_relevance(label, t, f) for label in (0.0, 1.0)], axis=-1)
        flat = both.reshape(*both.shape[:-2], -1)
        return np.concatenate([flat, np.ones((*flat.shape[:-1], 1))], axis=-1)

    def odds(self, n_pairs: Floats, rates: ErrorRates) -> Floats:
        """Return the odds that a pair of each kind is relevant, (..., n_kinds), from the pairs of each."""
        t, f = _of_classes(rates)
        with np.errstate(divide="ignore", invalid="ignore"):
            share = n_pairs[..., 1::2] / (n_pairs[..., ::2] + n_pairs[..., 1::2])
            prevalence = np.nan_to_num(np.clip((share - f) / (t - f), 0, 1))
            prior = prevalence / (1 - prevalence)
            both = np.stack([prior * (1 - t) / (1 - f), prior * t / f], axis=-1)
        return both.reshape(*both.shape[:-2], -1)


def _of_classes(rates: ErrorRates) -> list[Floats]:
    """Return t and f of labels by design, (..., n_classes × n_bands)."""
    return [
        np.concatenate([np.asarray(class_rate(rate, name)) for name in CLASSES], axis=-1)
        for rate in (rates.t, rates.f)
    ]


@dataclass(frozen=True, eq=False)
class Votes(Judged):
    """Judged pairs by design, with their votes, and what stands open.

    pairs: also label (the one it has: 1, 0, or −1 where there is none) and votes; n_demoted: doubled pairs
    with one vote, which count as single; reason: why nothing can be corrected, empty where it can;
    rates_class: the class whose votes tell the rates, the one with more second votes.
    """

    n_demoted: int = 0
    reason: str = ""
    rates_class: str = DOUBLED

    @property
    def n_second(self) -> int:
        """How many pairs of the rates' class have a second vote."""
        return int(_have_second(self.pairs, self.rates_class).sum())

    @property
    def n_differ(self) -> int:
        """How many of those differ."""
        differ = self.pairs["votes"].str.slice(0, 2).isin(["10", "01"])
        return int((differ & _have_second(self.pairs, self.rates_class)).sum())

    @property
    def n_unasked(self) -> int:
        """How many positives by 2 to 1 have no fourth vote."""
        return int(self.pairs["votes"].isin(["101", "011"]).sum())

    @property
    def fourth_votes(self) -> tuple[Ints, int]:
        """How many positives by 2 to 1 of each band have a fourth vote, and how many of those say yes."""
        votes = self.pairs["votes"]
        is_asked = votes.str.slice(0, 3).isin(["101", "011"]) & (votes.str.len() > 3)
        asked = np.bincount(self.pairs.loc[is_asked, "band"], minlength=len(self.bands))
        return asked, int((votes[is_asked].str.slice(3, 4) == "1").sum())


def votes_by_design(design: pd.DataFrame, original: pd.DataFrame) -> Votes:
    """Return the votes of the judged pairs that are not original positives, in the order of their design.

    Args:
        design: columns query_id, doc_id, design_class and design_votes, see `tables.design`; relevance of the
            label that the pair has by all its votes, missing where it has none; without that column the label
            is the one by design. best_rank, see `with_best_ranks`: best ranks 1, 2 to 3, and 4 and more have
            rates of their own where the votes show that they differ.
        original: the benchmark's qrels; their positives are taken as right, and tell nothing of the rates.
    """
    positives = original.loc[original["relevance"] >= 1, PAIR]
    pairs = design[pair_rows(design, positives) < 0].reset_index(drop=True)
    classes, votes = (pairs[name].fillna("").astype("str") for name in ("design_class", "design_votes"))
    is_demoted = (classes == DOUBLED) & (votes.str.len() == 1)
    pairs = pairs.assign(design_class=classes.mask(is_demoted, SINGLE), votes=votes)
    pairs = pairs[(votes != "").to_numpy()].reset_index(drop=True)
    by_design = labels_by_design(pairs.assign(design_votes=pairs["votes"]))
    grade = pairs["relevance"] if "relevance" in pairs else pd.Series(by_design, index=pairs.index)
    label = np.where(grade.isna(), -1, grade >= 1).astype(np.int64)
    pairs = pairs.assign(relevance=by_design, label=label, band=0)
    name = max((DOUBLED, VERIFY), key=lambda each: int(_have_second(pairs, each).sum()))
    known: Any = {"n_demoted": int(is_demoted.sum()), "reason": _why_not(pairs), "rates_class": name}
    found = Votes(pairs, counted=_counted(pairs, name), **known)
    return _with_bands(found) if "best_rank" in pairs and not found.reason else found


def _have_second(pairs: pd.DataFrame, name: str) -> pd.Series[bool]:
    return (pairs["design_class"] == name) & (pairs["votes"].str.len() > 1)


def _counted(pairs: pd.DataFrame, name: str) -> Floats:
    """Return what each pair adds to the counts of votes, 0 for pairs of another class than `name`."""
    if name == DOUBLED:
        weights = {"11": (1.0, 1.0, 0.0), "10": (0.5, 0.0, 0.0), "01": (0.5, 0.0, 0.0)}
        weights |= {"101": (0.5, 0.0, 0.5), "011": (0.5, 0.0, 0.5)}
    else:
        weights = {"1": (1.0, 0.0, 0.0), "11": (1.0, 1.0, 0.0), "101": (1.0, 0.0, 1.0)}
    codes, found = pd.factorize(pairs["votes"])
    table = [(1.0, *next((weights[v[:n]] for n in (3, 2, 1) if v[:n] in weights), (0.0,) * 3)) for v in found]
    is_in = (pairs["design_class"] == name).to_numpy()
    return np.asarray(np.array(table).reshape(-1, 4)[codes] * is_in[:, None])


def _with_bands(votes: Votes) -> Votes:
    """Return votes with bands of ranks, where their patterns differ between bands and each has rates.

    The threshold is low: bands that were not needed cost little, and one pair of rates where they are needed
    leaves C@1 off by several points.
    """
    bands = np.searchsorted([2, 4], votes.pairs["best_rank"].to_numpy(dtype=float), "right")
    held, band = np.unique(bands, return_inverse=True)
    by_band = np.eye(len(held))[band].T @ votes.counted
    chance = chance_of_common_rates(by_band, is_doubled=votes.rates_class == DOUBLED)
    if chance > COMMON or why_no_rates(moment_rates(by_band)):
        return votes
    return replace(votes, pairs=votes.pairs.assign(band=band), bands=tuple(BANDS[each] for each in held))


def with_best_ranks(design: pd.DataFrame, sources: PoolSources) -> pd.DataFrame:
    """Return judged pairs with best_rank, over the runs that pooled them; infinite where none did."""
    rank, place = sources["rank"].to_numpy(), pair_rows(sources, design)
    best = np.full(len(design), np.inf)
    np.minimum.at(best, place[place >= 0], rank[place >= 0])
    return design.assign(best_rank=best)


def _why_not(pairs: pd.DataFrame) -> str:
    """Return why labels by design cannot be corrected: what is not decided, or has no vote yet."""
    if rechecked := int((pairs["design_class"] == RECHECK).sum()):
        return (
            f"{n_of(rechecked, 'pair')} asked again because somebody doubted the label, so that no design "
            "tells how often it errs; `resolve --without-rechecks` makes labels without these answers, and "
            "an audit by experts (`next-round --ask audit`) corrects any"
        )
    is_open = pairs["relevance"] == OPEN
    undecided = int((pairs["design_class"] == "").sum())
    if undecided == len(pairs):
        return NO_DESIGN
    if undecided:
        return (
            f"no design says how many votes {n_of(undecided, 'pair')} must have: run `next-round` until it "
            "asks nothing; of judgments made elsewhere `resolve --design FILE` says it; labels that pairs "
            "share (`resolve --share-judgments`) have none"
        )
    waiting = int((is_open & (pairs["design_class"] == VERIFY)).sum())
    if waiting:
        return f"{n_of(waiting, 'positive')} without the further vote of the policy; `next-round` asks it"
    doubled = pairs[pairs["design_class"] == DOUBLED]
    n_open = int((doubled["relevance"] == OPEN).sum())
    if n_open:
        first = doubled["votes"].str.slice(0, 2)
        n_differ, n_both = (int(first.isin(["10", "01"]).sum()), int((first == "11").sum()))
        m1, m2 = (n_both + n_differ / 2) / len(doubled), n_both / len(doubled)
        (low_t, _), (_, high_f) = rates_without_thirds(m1, m2)
        return (
            f"{n_open:,} of {n_differ:,} disagreements among {len(doubled):,} doubled pairs have no third "
            f"vote, so that one vote may find {low_t:.0%} to 100% of the positives, and call 0 to "
            f"{high_f:.1%} of the others positive; `next-round` asks it"
        )
    return "" if (pairs["votes"].str.len() > 1).any() else NO_SECOND
