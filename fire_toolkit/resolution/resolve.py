"""Judgments to one label a pair, and the pairs in dispute."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.errors import JoinError, PluginError, UsageError
from fire_toolkit.guidelines.grades import usual_grades
from fire_toolkit.resolution.controls import ControlAccuracy, accuracy_on_controls
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.vote_table import Grades, Verdicts, VoteTable, count_votes
from fire_toolkit.tables import (
    Disputes,
    Judgments,
    Labels,
    Pool,
    asked_judgments,
    check_disputes,
    check_labels,
    check_pool,
)
from fire_toolkit.tables.columns import PAIR

ESCALATED = "escalated"
NO_MAJORITY = "no_majority"


class Resolution(NamedTuple):
    """What a rule made of judgments.

    labels, disputes: pairs with a label, and pairs without; posteriors: of a model of annotators, else None:
    query_id, doc_id and `p_<label>` for each label that is a vote, of every judged pair; confusions: of a
    model, else None: annotator_id, truth, label, probability (that the annotator says `label` where `truth`
    is right), n_votes (of the annotator); trace: the log-likelihood of each iteration, empty for other rules;
    converged: whether the model came to its end; n_pairs_by_votes: how many pairs have 0, 1, 2, … votes;
    on_controls: how often the rule is right on controls, None with fewer than two.
    """

    labels: Labels
    disputes: Disputes
    posteriors: pd.DataFrame | None
    confusions: pd.DataFrame | None
    trace: tuple[float, ...]
    converged: bool
    n_pairs_by_votes: tuple[int, ...]
    on_controls: ControlAccuracy | None


def resolve(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    rule: str = "fire",
    controls: pd.DataFrame | None = None,
    adjudicators: Collection[str] = (),
    count_unassigned: bool = False,
) -> Resolution:
    """Return one label for each judged pair that `rule` can decide, and the other pairs as disputes.

    Args:
        judgments: one row for each annotator and pair.
        grades: label → relevance (a whole number), in the guideline's order; None as a grade says that
            the label is not a vote (an escalation, say): it never becomes a label. Without it labels of the
            default guideline have its grades, and numbers are their own.
        rule: `fire`: more than half of the votes, one vote stands (the FIRE paper's rule);
            `majority`: more votes than any other label; `unanimous`: all votes; `adjudicator`: more than
            half of the votes of adjudicators, or of the latest round; `dawid-skene`: the most probable
            label, by Dawid and Skene's model of annotators.
        controls: columns query_id, doc_id, label: pairs whose label is known; pairs that nobody judged
            are ignored. `dawid-skene` holds them fixed, other rules ignore them.
        adjudicators: annotators whose word counts before that of others, for `adjudicator`.
        count_unassigned: whether answers that were not asked of their annotator are votes, see
            `tables.asked_judgments`.

    Returns:
        A `Resolution`: Labels (method: the rule; n_judgments: votes; n_agree: votes for the label;
        vote_share: n_agree / n_judgments, of `dawid-skene` in its place posterior, the label's probability
        under the model; rounds, if judgments have a column round of whole numbers: those of the votes, `1;2`
        say) and
        Disputes (reason: `no_majority`, or `escalated` when no answer is a vote; then a column
        `n_<label>` for each label of `grades`, counting answers), both by query_id and doc_id. Each
        judged pair is in exactly one of them; a tie is a dispute. No judgments: both are empty.

    Raises:
        UsageError: an unknown rule, or one without what it needs; a grade that is no whole number; an
            adjudicator without a judgment.
        TableError: a label that `grades` does not hold; a control whose label is not a vote.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "b", "b"], "annotator_id": ["u", "u", "v"],
        ...     "label": ["yes", "yes", "no"]}))
        >>> labels, disputes, *_ = resolve(judgments, grades={"yes": 1, "no": 0})
        >>> labels[["doc_id", "label", "relevance", "method", "n_judgments"]]
          doc_id label  relevance method  n_judgments
        0      a   yes          1   fire            1
        >>> disputes
          query_id doc_id       reason  n_yes  n_no
        0        q      b  no_majority      1     1
    """
    decide = RULES.named(rule)
    grades = grades_or_usual(judgments, grades)
    judgments = judgments if count_unassigned else asked_judgments(judgments)
    votes = count_votes(judgments, grades=grades, controls=controls, adjudicators=adjudicators)
    verdicts = decide(votes)
    _check_verdicts(votes, verdicts, rule)
    posteriors, confusions = _posteriors(votes, verdicts), _confusions(votes, verdicts)
    labels, disputes = _labels(votes, verdicts, rule), _disputes(votes, verdicts)
    by_votes = tuple(map(int, np.bincount(votes.n_votes, minlength=2)))
    on_controls = None if controls is None else accuracy_on_controls(votes, decide)
    model = (posteriors, confusions, verdicts.trace, verdicts.converged)
    return Resolution(labels, disputes, *model, by_votes, on_controls)


def grades_or_usual(judgments: Judgments, grades: Grades | None) -> Grades:
    """Return the grades given, else those that the labels spell; a usage error where these say none."""
    found = usual_grades(judgments["label"]) if grades is None else grades
    if found is None:
        raise UsageError(
            f"no grade is known for label {judgments['label'].min()!r}; give the grades of its guideline"
        )
    return found


def _check_verdicts(votes: VoteTable, verdicts: Verdicts, rule: str) -> None:
    """Refuse what a rule must not decide: a label that is not a vote, or not one label for each pair."""
    label, n_pairs = np.asarray(verdicts.label), len(votes.pairs)
    allowed = [-1, *np.flatnonzero(votes.is_vote)]
    if label.shape != (n_pairs,) or label.dtype.kind != "i" or not np.isin(label, allowed).all():
        raise PluginError(
            f"rule {rule}: expected the code of a label with a grade, or -1, for each of {n_pairs} pairs"
        )


def _posteriors(votes: VoteTable, verdicts: Verdicts) -> pd.DataFrame | None:
    if verdicts.posterior is None:
        return None
    voted = [code for code in range(len(votes.labels)) if votes.is_vote[code]]
    return votes.pairs.assign(**{f"p_{votes.labels[c]}": verdicts.posterior[:, c] for c in voted})


def _confusions(votes: VoteTable, verdicts: Verdicts) -> pd.DataFrame | None:
    """Return the cells by annotator, then true and given label in the guideline's order."""
    if verdicts.confusions is None:
        return None
    voted = [label for label, is_vote in zip(votes.labels, votes.is_vote, strict=True) if is_vote]
    names = sorted(votes.judgments["annotator_id"].unique())[: len(verdicts.confusions)]
    cells = pd.MultiIndex.from_product([names, voted, voted], names=["annotator_id", "truth", "label"])
    table = cells.to_frame(index=False).assign(probability=verdicts.confusions.ravel())
    n_votes = np.bincount(votes.annotator[votes.voting], minlength=len(names))
    return table.assign(n_votes=np.repeat(n_votes, len(voted) ** 2))


def _labels(votes: VoteTable, verdicts: Verdicts, rule: str) -> Labels:
    rows = np.flatnonzero(verdicts.label >= 0)
    label = verdicts.label[rows]
    n_judgments, n_agree = votes.n_votes[rows], votes.by_label[rows, label]
    support = n_agree / n_judgments if verdicts.support is None else verdicts.support[rows]
    columns: dict[str, Any] = {
        "label": pd.array(np.array(votes.labels, dtype=object)[label], dtype="str"),
        "relevance": votes.relevance[label],
        "method": rule,
        "n_judgments": n_judgments,
        "n_agree": n_agree,
        verdicts.support_name: support,
    }
    rounds = votes.rounds
    if rounds is not None:
        columns["rounds"] = rounds.iloc[rows].array
    return check_labels(votes.pairs.iloc[rows].reset_index(drop=True).assign(**columns))


def _disputes(votes: VoteTable, verdicts: Verdicts) -> Disputes:
    rows = np.flatnonzero(verdicts.label < 0)
    reason = np.where(votes.n_votes[rows] > 0, NO_MAJORITY, ESCALATED)
    pairs = votes.pairs.iloc[rows].reset_index(drop=True)
    pairs["reason"] = pd.array(reason.astype(object), dtype="str")
    for code, label in enumerate(votes.labels):
        pairs[f"n_{label}"] = votes.answers[rows, code]
    return check_disputes(pairs)


def next_round(disputes: Disputes, pool: Pool | None = None, *, round: int) -> Pool:  # noqa: A002
    """Return the pairs in dispute as the pool of round `round`, to be asked again.

    Args:
        disputes: as `resolve` gives them.
        pool: where the pairs came from; its columns are kept. Without it best_rank, n_runs and
            is_original are missing.
        round: 1 or more.

    Returns:
        A Pool with one row for each dispute; empty when there is none.

    Raises:
        UsageError: `round` is below 1.
        JoinError: a disputed pair is not in `pool`.

    Examples:
        >>> from fire_toolkit.tables import check_disputes
        >>> row = {"query_id": ["q"], "doc_id": ["b"], "reason": ["no_majority"]}
        >>> next_round(check_disputes(pd.DataFrame(row)), round=2)[["query_id", "doc_id", "round"]]
          query_id doc_id  round
        0        q      b      2
    """
    if round < 1:
        raise UsageError(f"round is {round}; expected 1 or more")
    if pool is None:
        return check_pool(disputes[PAIR].assign(round=round))
    asked = disputes[PAIR].merge(pool, on=PAIR, how="left", indicator=True)
    lost = asked[asked["_merge"] == "left_only"]
    if len(lost):
        pairs = ", ".join(f"{q} {d}" for q, d in lost[PAIR].head(3).itertuples(index=False))
        raise JoinError(f"{len(lost)} of {len(asked)} disputed pairs are not in the pool ({pairs})")
    return check_pool(asked.drop(columns="_merge").assign(round=round))
