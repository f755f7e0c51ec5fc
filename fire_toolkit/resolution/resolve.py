"""Judgments to one label a pair, and the pairs in dispute; how often that is right where it is known."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import are_among
from fire_toolkit.errors import PluginError, UsageError
from fire_toolkit.guidelines.model import choose_grades
from fire_toolkit.resolution.judgments import latest_judgments
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.rules import dispute_all, majority
from fire_toolkit.resolution.votes import (
    Grades,
    Model,
    Verdicts,
    Votes,
    code_votes,
    codes_among,
    pairs_by_votes,
)
from fire_toolkit.tables import Disputes, Judgments, Labels, check_disputes, check_labels
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.words import n_of

ESCALATED = "escalated"
NO_MAJORITY = "no_majority"
FOLDS = 5


class Resolution(NamedTuple):
    """What a rule made of judgments.

    labels, disputes: pairs with a label, and pairs without; posteriors: of a model of annotators, else None:
    query_id, doc_id and `p_<label>` for each label that is a vote, of every judged pair; confusions: of a
    model, else None: annotator_id, truth, label, probability (that the annotator says `label` where `truth`
    is right), n_votes (of the annotator); trace: the log-likelihood of each iteration, empty for other rules;
    converged: whether the model came to its end; n_pairs_by_votes: how many pairs have 0, 1, 2, … votes;
    against_majority: pairs with the `same` label as a plain majority gives them, with an`other` one, with
    one where it has a dispute (`gained`) and in dispute where it has one (`lost`); on_controls: how often the
    rule is right, see `accuracy_on_controls`, None with fewer than two controls.
    """

    labels: Labels
    disputes: Disputes
    posteriors: pd.DataFrame | None
    confusions: pd.DataFrame | None
    trace: tuple[float, ...]
    converged: bool
    n_pairs_by_votes: tuple[int, ...]
    against_majority: dict[str, int]
    on_controls: dict[str, int] | None


def resolve(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    rule: str = "fire",
    controls: pd.DataFrame | None = None,
    adjudicators: Collection[str] = (),
    answers: pd.DataFrame | None = None,
) -> Resolution:
    """Return one label for each judged pair that `rule` can decide, and the other pairs as disputes.

    Args:
        judgments: one row for each annotator and pair, whoever was asked, see `tables.asked_judgments`.
        grades: label → relevance (a whole number), in the guideline's order; None as a grade says that
            the label is not a vote (an escalation, say): it never becomes a label. Without it labels of the
            default guideline have its grades, and numbers are their own.
        rule: one of `RULES`: `fire`, the FIRE paper's, is more than half of the votes, and one vote stands.
        controls: columns query_id, doc_id, label: pairs whose label is known; pairs that nobody judged
            are ignored. `dawid-skene` holds them fixed, other rules ignore them.
        adjudicators: annotators whose word counts before that of others, for `adjudicator`.
        answers: to controls, with the columns of judgments: they teach a model, and are no judgments.

    Returns:
        A `Resolution`: Labels (method: the rule; n_judgments: votes; n_agree: votes for the label;
        vote_share: n_agree / n_judgments, or what the rule names in its place; rounds, if judgments have a
        column round of whole numbers: those of the votes, `1;2` say) and Disputes (reason: `no_majority`, or
        `escalated` when no answer is a vote; then a column `n_<label>` for each label of `grades`, counting
        answers), both by query_id and doc_id. Each judged pair is in exactly one of them; a tie is a dispute.
        No judgments: both are empty.

    Raises:
        UsageError: an unknown rule, or one without what it needs; a grade that is no whole number; an
            adjudicator without a judgment.
        TableError: a label that `grades` does not hold; a control whose label is not a vote.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "b", "b"], "annotator_id": ["u", "u", "v"],
        ...     "label": ["1", "1", "0"]}))
        >>> labels, disputes, *_ = resolve(judgments)
        >>> labels["doc_id"].tolist(), disputes[["doc_id", "reason", "n_0", "n_1"]].values.tolist()
        (['a'], [['b', 'no_majority', 1, 1]])
    """
    named = RULES.named(rule)
    grades = grades_or_usual(judgments, grades)
    if not grades:
        raise UsageError("grades are empty; expected the grade of each label of the guideline")
    for name, grade in grades.items():
        if grade is not None and not float(grade).is_integer():
            raise UsageError(
                f"grade of label {name!r} is {grade}; relevance is a whole number, or None for no vote"
            )
    known = judgments
    if answers is not None and len(answers):
        both = pd.concat([judgments, answers], ignore_index=True)
        known = latest_judgments(both, where="answers to controls")[0]
    votes = code_votes(known, grades=grades, controls=controls, adjudicators=adjudicators)
    own = votes if known is judgments else code_votes(judgments, grades=grades)
    kept = pair_rows(own.pairs, votes.pairs)  # an answer to a control is no judgment of the pair
    decide, plain = (named, majority) if votes.labels else (dispute_all, dispute_all)
    verdicts = decide(votes)
    label, model = np.asarray(getattr(verdicts, "label", None)), getattr(verdicts, "model", None)
    codes = np.arange(-1, len(votes.labels))
    if label.shape != (len(votes.pairs),) or label.dtype.kind != "i" or not np.isin(label, codes).all():
        raise PluginError(
            f"rule {rule}: expected the code of a label with a grade, or -1, for each of {len(votes.pairs)} "
            "pairs"
        )
    before, after = plain(own).label, label[kept]
    is_same, had, has = before == after, before >= 0, after >= 0
    against = {"same": is_same & has, "other": ~is_same & had & has, "gained": ~had & has, "lost": had & ~has}
    cells = votes.pair * len(grades) + codes_among(grades, known["label"])  # those that are no votes too
    answers_by_label = np.bincount(cells, minlength=len(votes.pairs) * len(grades)).reshape(-1, len(grades))
    disputes = _of_pairs(votes, kept[~has], "n_{}", grades, answers_by_label)
    reason = np.where(votes.n_votes[kept[~has]] > 0, NO_MAJORITY, ESCALATED)
    disputes.insert(2, "reason", pd.Series(reason, dtype="str"))
    return Resolution(
        _labels(votes, verdicts, kept[has], rule),
        check_disputes(disputes),
        None if model is None else _of_pairs(votes, kept, "p_{}", votes.labels, model.posterior),
        None if model is None else _confusions(votes, model),
        () if model is None else tuple(map(float, model.log_likelihoods)),
        model is None or model.converged,
        tuple(np.bincount(votes.n_votes, minlength=2).tolist()),
        {name: int(are.sum()) for name, are in against.items()},
        None if controls is None else accuracy_on_controls(votes, decide),
    )


def grades_or_usual(judgments: Judgments, grades: Grades | None) -> Grades:
    """Return the grades given, else those that the labels spell; a usage error where these say none."""
    found = choose_grades(judgments["label"]) if grades is None else grades
    if found is None:
        raise UsageError(
            f"no grade is known for label {judgments['label'].min()!r}; give the grades of its guideline"
        )
    return found


def _of_pairs(votes: Votes, rows: Any, heading: str, names: Iterable[str], values: Any) -> pd.DataFrame:
    """Return the pairs of some rows with a column for each label, named by `heading`."""
    columns = {heading.format(name): values[rows, code] for code, name in enumerate(names)}
    return pd.DataFrame(votes.pairs.iloc[rows].reset_index(drop=True).assign(**columns))


def _confusions(votes: Votes, model: Model) -> pd.DataFrame:
    """Return the cells by annotator, then true and given label in the guideline's order."""
    names = votes.annotators[: len(model.confusions)]
    cells = pd.MultiIndex.from_product([names, votes.labels, votes.labels])
    table = cells.to_frame(index=False, name=["annotator_id", "truth", "label"])
    n_votes = np.bincount(votes.annotator[votes.voting], minlength=len(names))
    each = np.repeat(n_votes, len(votes.labels) ** 2)
    return table.assign(probability=model.confusions.ravel(), n_votes=each)


def _labels(votes: Votes, verdicts: Verdicts, rows: Any, rule: str) -> Labels:
    label = verdicts.label[rows]
    n_judgments, n_agree = votes.n_votes[rows], votes.by_label[rows, label]
    columns: dict[str, Any] = {
        "label": pd.array(np.array(votes.labels, dtype=object)[label], dtype="str"),
        "relevance": votes.relevance[label],
        "method": rule,
        "n_judgments": n_judgments,
        "n_agree": n_agree,
        verdicts.support_name: n_agree / n_judgments if verdicts.support is None else verdicts.support[rows],
    }
    if votes.round is not None and votes.round.dtype.kind in "iu":
        texts = np.full(len(votes.pairs), "", dtype=object)  # the rounds of the votes, ascending
        of_votes = votes.round.to_numpy()[votes.voting]
        for number in np.unique(of_votes):
            pairs = np.unique(votes.pair[votes.voting[of_votes == number]])
            texts[pairs] += np.where(texts[pairs] == "", "", ";").astype(object) + str(number)
        columns["rounds"] = pd.array(texts[rows], dtype="str")
    return check_labels(votes.pairs.iloc[rows].reset_index(drop=True).assign(**columns))


def accuracy_on_controls(votes: Votes, decide: Callable[[Votes], Verdicts]) -> dict[str, int] | None:
    """Return how often a rule and a majority are right on controls; None with fewer than two of them.

    Some rules learn from controls, and all would be right on what they have been told. So the controls are
    taken in five parts (every fifth pair; each one alone where there are fewer), and the labels of a part
    are those that the rule gives without knowing it.

    Returns:
        n_controls (those that somebody voted on), n_labelled and n_right (of the rule), majority_labelled and
        majority_right.
    """
    controls = np.flatnonzero((votes.truth >= 0) & (votes.n_votes > 0))
    if len(controls) < 2:
        return None
    found = np.full(len(votes.pairs), -1, dtype=np.int64)
    for fold in range(min(FOLDS, len(controls))):
        hidden = controls[fold::FOLDS]
        truth = np.where(are_among(hidden, len(found)), -1, votes.truth)
        found[hidden] = decide(replace(votes, truth=truth)).label[hidden]
    counts = {"n_controls": len(controls)}
    for whose, label in (("n", found[controls]), ("majority", majority(votes).label[controls])):
        counts[f"{whose}_labelled"] = int((label >= 0).sum())
        counts[f"{whose}_right"] = int((label == votes.truth[controls]).sum())
    return counts


def answers_to_controls(dropped: pd.DataFrame, controls: pd.DataFrame, grades: Grades) -> pd.DataFrame:
    """Return the answers to controls among those that are no votes: they say how well annotators judge."""
    answers = dropped[(dropped["reason"] == "control") & dropped["label"].isin(list(grades))]
    return answers.drop(columns="reason").merge(controls[PAIR])


def words_of_model(full: Resolution, confusions: pd.DataFrame) -> Iterator[str]:
    """Yield how many votes a model of annotators had to learn from, and warnings.

    These are where most pairs have one vote, and where many labels are not a majority's: the model may have
    settled on a wrong fit.
    """
    n_pairs_by_votes, change = full.n_pairs_by_votes, full.against_majority
    by_annotator = confusions.drop_duplicates("annotator_id")["n_votes"]
    low, middle, high = (f"{by_annotator.quantile(share):,.0f}" for share in (0, 0.5, 1))
    yield (
        f"votes: {pairs_by_votes(n_pairs_by_votes)}; {n_of(len(by_annotator), 'annotator')} with "
        f"{low} to {high} votes each, half of them up to {middle}"
    )
    n_pairs = sum(n_pairs_by_votes[1:])
    if 2 * n_pairs_by_votes[1] > n_pairs:
        yield (
            f"warning: {n_pairs_by_votes[1]:,} of {n_of(n_pairs, 'pair')} have one vote. The model learns "
            "who errs from pairs with several votes; its posterior of the others is a guess, and often far "
            "too sure"
        )
    n_labelled = change["same"] + change["other"]
    if 10 * change["other"] > n_labelled:
        yield (
            f"warning: {change['other']:,} of {n_labelled:,} labels are not a majority's; a model can settle "
            "far from the truth: believe it only where it is the better one on --controls"
        )
