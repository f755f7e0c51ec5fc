"""Votes by design: the rates of error that they tell, and what they say of the labels as they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.inference.distributions import Z
from fire_toolkit.inference.label_errors import (
    BANDS,
    STEP,
    Alarm,
    ErrorRates,
    LabelRates,
    alarm_of_fourth_votes,
    chance_of_common_rates,
    rates_in_words,
    stepped,
)
from fire_toolkit.inference.limits import clopper_pearson
from fire_toolkit.inference.resampling import cluster_sums
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR, are_positives, pair_rows
from fire_toolkit.tables.design import (
    CLASSES,
    DESIGN,
    DOUBLED,
    OPEN,
    RECHECK,
    SINGLE,
    VERIFY,
    kinds_of_votes,
    labels_by_design,
    split_votes,
)
from fire_toolkit.words import n_of

# One pair of rates serves all bands of ranks where chance explains what they differ by so often. That is low:
# bands that were not needed cost little, and one pair where they are needed leaves C@1 off by several points.
COMMON = 0.5
TWO_TO_ONE = ("101", "011")
NO_DESIGN = "no design says how many votes each pair was to get (`resolve --design FILE`)"
NO_SECOND = "no pair has a second vote by design, so nothing is known of how often votes err"
SETTLED = "the labels are settled for these runs: what was asked depended on the answers"


@dataclass(frozen=True, eq=False)
class Votes(LabelRates):
    """Judged pairs by design, with their votes, and what these tell: `votes_by_design` makes it.

    pairs: also design_votes, and label (the one it has: 1, 0, or −1 where there is none); counted: the counts
    of `moment_rates`; told_by: the class whose votes tell the rates, the one with more second votes on
    positives; is_graded: whether labels have several positive grades, so that fourth votes settle disputes
    between grades too, and those who have one are no random part; n_demoted: doubled pairs with one vote,
    which count as single; reason: why nothing can be corrected, empty where it can.
    """

    told_by: str = DOUBLED
    is_graded: bool = False
    n_demoted: int = 0
    reason: str = ""

    @cached_property
    def of_one(self) -> ErrorRates:
        """The rates of one vote in each band, from 0 to 1."""
        return ErrorRates(*np.clip(self.rates(self.counts.sum(axis=0)), 0, 1))

    @cached_property
    def n_answers(self) -> int:
        """How many pairs of the class that tells the rates have a second vote."""
        return int(_have_second(self.pairs, self.told_by).sum())

    @cached_property
    def n_differ(self) -> int:
        """How many of these pairs have two first votes that disagree."""
        first_two = self.pairs["design_votes"].str.slice(0, 2)
        return int((_have_second(self.pairs, self.told_by) & first_two.isin(["10", "01"])).sum())

    @property
    def in_words(self) -> str:
        """The rates, and what they rest on."""
        kind = "doubled" if self.told_by == DOUBLED else "positives with a second vote"
        names = [f"at rank{'s' * (' ' in name)} {name} " if name else "" for name in self.bands]
        told = zip(names, self.of_one.t, self.of_one.f, strict=True)
        rates = "; ".join(f"{name}{rates_in_words(t, f)}" for name, t, f in told)
        return f"{rates} ({self.n_answers:,} {kind}, {self.n_differ:,} disagreements)"

    @property
    def basis(self) -> str:
        """By what scores are corrected, in words."""
        return f"for errors of votes, of which one {self.in_words}"

    @cached_property
    def alarm(self) -> Alarm | None:
        """What fourth votes on positives by 2 to 1 say; None without rates, or where these are no sample."""
        if self.reason or self.is_graded:
            return None
        votes, cell, one = self.pairs["design_votes"], self.kind // 2, self.of_one
        t, f = np.tile(one.t, len(CLASSES)), np.tile(one.f, len(CLASSES))
        is_doubled = self.pairs["design_class"] == DOUBLED  # whose votes have no order
        said = np.where(is_doubled, votes.str.slice(0, 2).str.count("1") / 2, votes.str.slice(0, 1) == "1")
        n, first = (np.bincount(cell, of, len(t)) for of in (None, said))
        share = np.clip((first / np.maximum(n, 1) - f) / (t - f), 0, 1)  # of relevant pairs: a class's own
        is_asked = votes.str.slice(0, 3).isin(TWO_TO_ONE) & (votes.str.len() > 3)
        asked = np.bincount(cell[is_asked], minlength=len(t))
        n_positive = int((votes[is_asked].str.slice(3, 4) == "1").sum())
        of_class = np.repeat([{DOUBLED: 2, VERIFY: 1}.get(name, 0) for name in CLASSES], len(self.bands))
        return alarm_of_fourth_votes(asked, n_positive, ErrorRates(t, f, share), n * of_class)

    @property
    def doubt(self) -> str:
        """Why it is not known that votes err independently; empty where fourth votes say so."""
        alarm, audit = self.alarm, "`next-round --ask audit`"
        if alarm is None:
            return f"under a guideline of several positive grades only {audit} tells whether votes err alike"
        if alarm.n and alarm.is_raised:
            return f"fourth votes say that votes err alike on some pairs; {audit} corrects that too"
        if alarm.is_enough:
            return ""
        missing = alarm.n_needed - alarm.n
        asks = f"too few pairs are positive by two votes to one to ask about; see {audit}"
        if missing <= int(self.pairs["design_votes"].isin(TWO_TO_ONE).sum()):
            asks = f"`next-round --ask fourth_vote --budget {missing}` asks enough"
        some = f"{alarm.n:,} fourth votes are too few to show"
        found = some if alarm.n else "nobody checked by fourth votes"
        return f"{found} whether votes err independently ({asks})"

    @property
    def told(self) -> list[str]:
        """The errors of the labels as they are, and what was made of the votes."""
        few = f"{self.n_demoted:,} doubled pairs have one vote, and count as pairs that were not doubled"
        of_labels = words_of_errors(self.numbers, with_rates=False)  # which `basis` says
        return [of_labels, *self.words_of_alarm, *([few] if self.n_demoted else [])]

    @property
    def words_of_alarm(self) -> list[str]:
        """What fourth votes say of errors that agree; nothing without any."""
        alarm = self.alarm
        if alarm is None or not alarm.n:
            return []
        words = (
            f"of {alarm.n:,} fourth votes on positives by 2 to 1 {alarm.n_positive:,} are positive, "
            f"{alarm.expected * alarm.n:.1f} expected if errors are independent (z {alarm.z:.2f})"
        )
        raised = ": some pairs are hard for everybody; have labels audited (`next-round --ask audit`)"
        return [f"warning: {words}{raised}" if alarm.is_raised else words]

    @cached_property
    def numbers(self) -> dict[str, Any]:
        """The rates in each band of ranks and the errors of labels, for a manifest; or why there are none.

        wrong_share, recall: the expected share of new positives that are wrong, and of the relevant judged
        pairs the share that is labelled so, by all votes on each pair. Their limits are by a standard error
        to first order over queries, with the binomial variance of what came about in these pairs added.
        """
        if self.reason:
            return {"reason": self.reason}
        pattern, shares_of = self._shares_by_pattern()
        n = self.counts.shape[1]
        of_pairs = np.hstack([self.counts, np.eye(int(pattern.max()) + 1)[pattern]])
        table = cluster_sums(of_pairs, pd.factorize(self.pairs["query_id"])[0])[:, :-1]
        total = table.sum(axis=0)
        shares = shares_of(total[n:], self.of_one)
        # by the rates as they come out: of one that is cut off the slope would be 0, as if it were known
        steps = stepped(total)
        moved = table @ (shares_of(steps[1:, n:], self.rates(steps[1:, :n])).imag / STEP)
        variance = (moved**2).sum(axis=0) * len(table) / max(len(table) - 1, 1)
        n_positives = max(int((self.pairs["label"] == 1).sum()), 1)
        n_relevant = max(n_positives * (1 - shares[0]) / shares[1], 1)  # right positives, by the share found
        errors = np.sqrt(variance + shares * np.maximum(1 - shares, 0) / [n_positives, n_relevant])
        limits = shares, np.maximum(shares - Z * errors, 0), np.minimum(shares + Z * errors, 1)
        rates = {name: getattr(self.of_one, name).round(6).tolist() for name in ("t", "f")}
        found = {
            f"{name}{end}": round(float(values[place]), 6)
            for place, name in enumerate(("wrong_share", "recall"))
            for end, values in zip(("", "_low", "_high"), limits, strict=True)
        }
        return {"bands": list(self.bands), **rates, **found, "basis": self.in_words}

    def _shares_by_pattern(self) -> tuple[Ints, Callable[[Floats, ErrorRates], Floats]]:
        """Return the pattern of each judged pair, and what turns counts of patterns and rates into shares.

        A pattern is a kind of pairs, the label they have, and their positive and negative votes beyond the
        design, whoever asked for them and why, but for the fourth vote on a positive by 2 to 1, which only
        the alarm counts. Where a rule gave some of such pairs another label than that by design, it is these
        votes and those by design. By Bayes' rule a pair is relevant with odds π·L(t) / ((1 − π)·L(f)), L
        being the chance of its label by design and of these votes, or of all its votes, π the share of
        relevant pairs in its class and band. The shares, (..., 2) from (..., n_patterns) pairs, are those of
        positive labels that are wrong and of relevant pairs that are found: without further votes
        Σ N(1 − π)f / positives and 1 − Σ Nπ(1 − t) / Σ Nπ, by class. nan without positive labels, or
        relevant pairs.
        """
        own, found = kinds_of_votes(self.pairs)
        every = [(name, v[:3] + v[4:] if v[:3] in TWO_TO_ONE else v) for name, v in found]
        later = [split_votes(name if name in CLASSES else DOUBLED, v)[1] for name, v in every]
        voted = [[(v.count("1"), v.count("0")) for v in texts] for texts in (later, [v for _, v in every])]
        beyond, whole = np.array(voted).reshape(2, -1, 2)[:, own]
        of_pair = self.pairs["label"].to_numpy()
        is_other = pd.Series(of_pair != self.kind % 2)
        by_rule = is_other.groupby([self.kind, *beyond.T]).transform("any").to_numpy()
        each = np.column_stack([self.kind, np.where(by_rule[:, None], whole, beyond), of_pair, by_rule])
        patterns, pattern = np.unique(each, axis=0, return_inverse=True)
        kind, n_yes, n_no, label, is_by_rule = (np.asarray(column) for column in patterns.T)
        is_positive = label == 1
        cell, band = kind // 2, kind // 2 % len(self.bands)

        def chance(of_label: Floats, of_vote: Floats) -> Floats:
            """The chance of a pattern's label by design and further votes, or all votes, by such a rate."""
            rate, one = of_label[..., cell], of_vote[..., band]
            by_design = np.where(is_by_rule, 1, np.where(kind % 2, rate, 1 - rate))
            return np.asarray(by_design * one**n_yes * (1 - one) ** n_no)

        def shares(cells: Floats, rates: ErrorRates) -> Floats:
            n_pairs = cells @ np.eye(self.n_kinds)[kind]
            t, f = rates.of_labels
            with np.errstate(divide="ignore", invalid="ignore"):
                share = n_pairs[..., 1::2] / (n_pairs[..., ::2] + n_pairs[..., 1::2])
                prior = np.nan_to_num(np.clip((share - f) / (t - f), 0, 1))[..., cell]
                is_so, is_not = prior * chance(t, rates.t), (1 - prior) * chance(f, rates.f)
                relevant = cells * is_so / (is_so + is_not)
                right = relevant[..., is_positive].sum(axis=-1)
                both = 1 - right / cells[..., is_positive].sum(axis=-1), right / relevant.sum(axis=-1)
            return np.stack(both, axis=-1)

        return pattern.reshape(-1), shares


def votes_of_labels(
    labels: Labels,
    original: Qrels,
    *,
    disputes: pd.DataFrame | None = None,
    sources: PoolSources | None = None,
    is_settled: bool = False,
) -> Votes:
    """Return the votes by design of labels, and of judged pairs in dispute.

    Args:
        labels: of judged pairs.
        original: the benchmark's qrels.
        disputes: judged pairs that are in dispute; those with a label, too, if disputes were settled.
        sources: which run pooled which pair: bands of the best rank in these runs are told apart.
        is_settled: whether what was asked hung on the answers, so that votes are by no design.
    """
    if is_settled or not set(DESIGN) <= set(labels.columns):
        return Votes(pd.DataFrame(), reason=SETTLED if is_settled else NO_DESIGN)
    others = [] if disputes is None else [disputes[pair_rows(disputes, labels) < 0]]  # without those settled
    tables: list[pd.DataFrame] = [labels, *others]
    columns = [*PAIR, *DESIGN, "relevance", "shared_from"]
    design = pd.concat([each.reindex(columns=columns) for each in tables], ignore_index=True)
    if sources is not None:  # of a pair that no run pooled it is infinite
        rank, place = sources["rank"].to_numpy(), pair_rows(sources, design)
        best = np.full(len(design), np.inf)
        np.minimum.at(best, place[place >= 0], rank[place >= 0])
        design = design.assign(best_rank=best)
    return replace(votes_by_design(design, original), is_graded=bool(labels["relevance"].max() > 1))


def votes_by_design(design: pd.DataFrame, original: pd.DataFrame) -> Votes:
    """Return the votes of the judged pairs that are not original positives, in the order of their design.

    Args:
        design: columns query_id, doc_id, design_class and design_votes, see `tables.design`; relevance of the
            label that the pair has by all its votes, missing where it has none; without that column the label
            is the one by design. best_rank, in the runs that pooled the pair: best ranks 1, 2 to 3, and 4
            and more have rates of their own where the votes show that they differ.
        original: the benchmark's qrels; their positives are taken as right, and tell nothing of the rates.
    """
    pairs = design[~are_positives(design, original)].reset_index(drop=True)
    classes, votes = (pairs[name].fillna("").astype("str") for name in DESIGN)
    is_demoted = (classes == DOUBLED) & (votes.str.len() == 1)
    pairs = pairs.assign(design_class=classes.mask(is_demoted, SINGLE), design_votes=votes, band=0)
    pairs = pairs[(votes != "").to_numpy()].reset_index(drop=True)
    by_design = labels_by_design(pairs)
    grade = pairs["relevance"] if "relevance" in pairs else pd.Series(by_design, index=pairs.index)
    label = np.where(grade.isna(), -1, grade >= 1).astype(np.int64)
    pairs = pairs.assign(relevance=by_design, label=label)
    # Two votes of which one is positive tell more of the rates than two negative ones.
    is_positive = pairs["design_votes"].str.slice(0, 2).str.contains("1")
    name = max((DOUBLED, VERIFY), key=lambda each: int((_have_second(pairs, each) & is_positive).sum()))
    known: Any = {"told_by": name, "n_demoted": int(is_demoted.sum()), "reason": _why_not(pairs)}
    found = Votes(pairs, counted=_counted(pairs, name), **known)
    if not found.reason and not found.n_differ:
        most = clopper_pearson(0, found.n_answers)[1]
        found = replace(
            found,
            reason=f"no two votes on {found.n_answers:,} pairs disagree, which tells only that at most "
            f"{most:.1%} of such pairs would (95%); double more pairs to know it",
        )
    if found.reason:
        return found
    if "best_rank" in pairs:  # bands, where their patterns differ between bands and each has rates
        ranks = pairs["best_rank"].to_numpy(dtype=float)
        held, band = np.unique(np.searchsorted([2, 4], ranks, "right"), return_inverse=True)
        split = replace(found, pairs=pairs.assign(band=band), bands=tuple(BANDS[each] for each in held))
        counts = split.counts.sum(axis=0)
        chance = chance_of_common_rates(counts.reshape(-1, 4), is_doubled=name == DOUBLED)
        found = found if chance > COMMON or split.rates(counts).why_not else split
    return replace(found, reason=found.rates(found.counts.sum(axis=0)).why_not)


def _have_second(pairs: pd.DataFrame, name: str) -> pd.Series[bool]:
    """Return which pairs of a class have a second vote by it: of those to verify positives alone."""
    votes = pairs["design_votes"]
    return (pairs["design_class"] == name) & votes.str.match("1." if name == VERIFY else "..")


def _counted(pairs: pd.DataFrame, name: str) -> Floats:
    """Return what each pair adds to the counts of votes, 0 for pairs of another class than `name`."""
    votes, is_in = pairs["design_votes"], (pairs["design_class"] == name).to_numpy()
    two, three = votes.str.slice(0, 2), votes.str.slice(0, 3)
    first, split = votes.str.slice(0, 1) == "1", three == "101"
    counts = [two.str.count("1") / 2, three.isin(TWO_TO_ONE) / 2] if name == DOUBLED else [first, split]
    columns = np.column_stack([np.ones(len(pairs)), counts[0], two == "11", counts[1]])
    return np.asarray(columns * is_in[:, None], dtype=np.float64)


def _why_not(pairs: pd.DataFrame) -> str:
    """Return why labels by design cannot be corrected: what is not decided, or has no vote yet."""
    if rechecked := int((pairs["design_class"] == RECHECK).sum()):
        return (
            f"{n_of(rechecked, 'pair')} asked again because somebody doubted the label, so that no design "
            "tells how often it errs; `resolve --without-rechecks` makes labels without these answers, and "
            "an audit by experts (`next-round --ask audit`) corrects any"
        )
    undecided = pairs[pairs["design_class"] == ""]
    if len(undecided) == len(pairs):
        return NO_DESIGN
    shared = undecided.get("shared_from", pd.Series(dtype="str"))
    if n_shared := int((shared.notna() & (shared != "")).sum()):
        return (
            f"{n_of(n_shared, 'pair')} with another pair's label, which nobody was asked and of which no "
            "design tells how often it errs; `resolve` without --share-judgments makes labels without these"
        )
    if len(undecided):
        return (
            f"no design says how many votes {n_of(len(undecided), 'pair')} must have: run `next-round` until "
            "it asks nothing; of judgments made elsewhere `resolve --design FILE` says it"
        )
    is_open = pairs["relevance"] == OPEN
    if waiting := int((is_open & (pairs["design_class"] == VERIFY)).sum()):
        return f"{n_of(waiting, 'positive')} without the further vote of the policy; `next-round` asks for it"
    is_doubled = pairs["design_class"] == DOUBLED
    if n_open := int((is_open & is_doubled).sum()):
        first = pairs.loc[is_doubled, "design_votes"].str.slice(0, 2)
        n, n_differ, both = len(first), int(first.isin(["10", "01"]).sum()), int((first == "11").sum())
        # what two votes leave open: f = (m2 − t·m1) / (m1 − t), for t up to 1 and f from 0
        is_labelled = (pairs.loc[is_open & is_doubled, "label"] >= 0).all()
        asks = "`resolve --rule fire` leaves them in dispute, and then " if is_labelled else ""
        asks += f"`next-round` asks for {'it' if n_open == 1 else 'them'}"
        least_t, most_f = both / (both + n_differ / 2), n_differ / 2 / (n - both - n_differ / 2)
        return (
            f"{n_open:,} of {n_differ:,} disagreements among {n:,} doubled pairs, originals left out, have "
            f"no third vote, so that one vote may find {least_t:.0%} to 100% of the positives, and call 0 to "
            f"{most_f:.1%} of the others positive; {asks}"
        )
    return "" if (pairs["design_votes"].str.len() > 1).any() else NO_SECOND


def words_of_errors(numbers: Mapping[str, Any], *, with_rates: bool = True) -> str:
    """Return the expected wrong share of new positives and the recall on judged pairs as a sentence."""
    if "reason" in numbers:
        return f"errors of the labels are not known: {numbers['reason']}"
    names = [(name, f"{name}_low", f"{name}_high") for name in ("wrong_share", "recall")]
    shares = [[f"{100 * numbers[name]:.1f}" for name in three] for three in names]
    wrong, recall = (f"{share}% [{low}, {high}]" for share, low, high in shares)
    rates = f"; one vote: {numbers['basis']}" if with_rates else ""
    both = f"an expected {wrong} are wrong, and of the relevant judged pairs {recall} are labelled so"
    return f"of the new positives {both}, if votes err independently{rates}"
