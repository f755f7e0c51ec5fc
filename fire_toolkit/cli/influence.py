"""`influence`: agreement, labels and scores as if an annotator had not been asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import click
import numpy as np
import pandas as pd

from fire_toolkit.agreement.annotators import leave_one_out
from fire_toolkit.cli.common import format_option, n_of, say, say_notes, setting_or_default
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.judged_files import level_of
from fire_toolkit.cli.options import choice_option, exclude_options, measure_option, reads
from fire_toolkit.cli.printing import print_table
from fire_toolkit.cli.progress_line import Progress
from fire_toolkit.inference import score_changes
from fire_toolkit.measures.defaults import INFLUENCE
from fire_toolkit.qrels import POLICIES, Augmented, augment_qrels, highest_grade, lift_originals
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.without import LabelsWithout, labels_without_each
from fire_toolkit.tables import Labels, Qrels, asked_judgments
from fire_toolkit.tables.columns import are_in, pair_rows


@click.command()
@reads("runs", "judgments", "qrels", "guideline", "own_item")
@click.option("--rule", help="As in `resolve`. [default: fire]")
@click.option(
    "--adjudicator", "adjudicators", multiple=True, metavar="NAME", help="As in `resolve` (may be repeated)."
)
@click.option("--policy", type=click.Choice(POLICIES), help="As in `augment`. [default: union]")
@exclude_options
@measure_option
@choice_option(
    "--show",
    ["annotators", "scores"],
    "A row for each annotator and measure, or every run's score and place with all and without each.",
)
@format_option
def influence(
    given: Given,
    rule: str | None,
    adjudicators: tuple[str, ...],
    policy: str | None,
    measures: tuple[str, ...],
    show: str,
) -> None:
    """Leave out each annotator in turn: agreement, labels and scores as if they had not been asked.

    Judgments are resolved and joined to the original qrels as `resolve` and `augment` do, once with
    all and once without each annotator. alpha is that of the others; labels_other, labels_lost and
    labels_gained are the pairs with another label, with none any more, and with one that all judgments
    leave in dispute; tau and n_swaps compare the orders of the runs, and run_id is the run whose score
    changes most, by change.
    """
    judgments = given.own.pairs(asked_judgments(given.judgments), "judgments")
    judgments = judgments if given.unusable is None else given.unusable.counted(judgments)
    rule = str(setting_or_default(rule, "resolve", "rule"))
    policy = str(setting_or_default(policy, "augment", "policy"))
    options: dict[str, Any] = {"grades": given.grades, "rule": rule, "adjudicators": adjudicators}
    with Progress("labels and ranks without each annotator"):
        labels = resolve(judgments, **options, count_unassigned=True).labels
        original, join = _originals_and_join(given, policy)
        augmented = join(original, labels).qrels
        without = list(labels_without_each(judgments, labels, **options))
        changes = {each.annotator_id: _changed_qrels(original, each, join) for each in without}
        found = score_changes(given.stored_runs, original, augmented, changes, measures or INFLUENCE)
    if len({*adjudicators}) == 1:
        say(f"note: {adjudicators[0]} is the only adjudicator and is not left out")
    say_notes(found.notes)
    scores = found.scores.drop(columns="is_left_out").rename(columns={"left_out": "annotator_id"})
    if show == "annotators":
        level = level_of(None, given.judgments, given.values["guideline"])
        alphas = leave_one_out(given.judgments, grades=given.grades, level=level)
        scores = _by_annotator(without, alphas, found.orders, scores)
    words = f"labels by rule {rule}, joined under policy {policy}"
    print_table(scores, given.form, basis=given.basis(f"{n_of(len(judgments), 'judgment')}", words))


def _originals_and_join(given: Given, policy: str) -> tuple[Qrels, Callable[[Qrels, Labels], Augmented]]:
    """Return the original qrels with the grade that their positives have beside the labels, and `augment`."""
    grades = [grade for grade in given.grades.values() if grade is not None]
    highest = int(max(grades, default=1))
    grade = given.original_grade
    if grade is None and highest > 1 and highest_grade(given.original) <= 1:
        grade = highest
    original = given.original if grade is None else lift_originals(given.original, grade=grade)
    return original, partial(augment_qrels, policy=policy, original_grade=grade)


def _changed_qrels(
    original: Qrels, without: LabelsWithout, join: Callable[[Qrels, Labels], Augmented]
) -> pd.DataFrame:
    """Return the relevance of each pair whose label changes, nan where the qrels lose the pair."""
    pairs = without.pairs
    part = Qrels(original[are_in(original["query_id"], pairs["query_id"])].reset_index(drop=True))
    qrels = join(part, without.labels).qrels
    relevance = np.append(qrels["relevance"].to_numpy(dtype=np.float64), np.nan)
    return pairs.assign(relevance=relevance[pair_rows(pairs, qrels)])


def _by_annotator(
    without: Sequence[LabelsWithout], alphas: pd.DataFrame, orders: pd.DataFrame, scores: pd.DataFrame
) -> pd.DataFrame:
    """Return a row for each annotator and measure, with the run whose score moves most."""
    counts = pd.DataFrame(
        [(each.annotator_id, each.n_votes, each.n_other, each.n_lost, each.n_gained) for each in without],
        columns=["annotator_id", "n_judgments", "labels_other", "labels_lost", "labels_gained"],
    )
    people = alphas.rename(columns={"value": "alpha", "change": "alpha_change"})
    people = counts.merge(people[["annotator_id", "alpha", "alpha_change"]], on="annotator_id", how="left")
    moved = scores.loc[scores["change"].abs().groupby([scores["annotator_id"], scores["measure"]]).idxmax()]
    moved = moved[["annotator_id", "measure", "run_id", "change"]]
    orders = orders.rename(columns={"left_out": "annotator_id"})
    named = orders[["annotator_id", "measure", "tau", "n_swaps"]].merge(moved, on=["annotator_id", "measure"])
    return people.merge(named, on="annotator_id")
