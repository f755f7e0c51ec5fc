"""`influence`: agreement, labels and scores as if an annotator had not been asked."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

import numpy as np
import pandas as pd

from fire_toolkit.agreement.annotators import leave_one_out
from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import GradesOf, Measures, Option, Original, OwnItem, OwnQueries, Runs, Table
from fire_toolkit.evidence.qrels import augment_qrels, highest_grade, originals_beside
from fire_toolkit.inference.leave_out import score_changes
from fire_toolkit.measures.defaults import INFLUENCE
from fire_toolkit.resolution.other_labels import labels_without_each
from fire_toolkit.resolution.resolve import grades_or_usual, resolve
from fire_toolkit.results import Found
from fire_toolkit.tables import Judgments, Labels, Qrels, asked_judgments
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows
from fire_toolkit.words import n_of


@command
def influence(
    runs: Runs,
    judgments: Annotated[Judgments, Table("counted_judgments")],
    qrels: Original,
    *,
    grades: GradesOf = None,
    level: Annotated[str | None, Table("level", is_told=True)] = None,
    original_grade: Annotated[int | None, Table("original_grade", is_told=True)] = None,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    rule: Annotated[str, Option(setting=("resolve", "rule"))] = "fire",
    adjudicators: Annotated[Sequence[str], Option(("--adjudicator",), metavar="NAME")] = (),
    policy: Annotated[Literal["union", "override", "drop"], Option(setting=("augment", "policy"))] = "union",
    measures: Measures = INFLUENCE,
    show: Literal["annotators", "scores"] = "annotators",
) -> Found:
    """Leave out each annotator in turn: agreement, labels and scores as if they had not been asked.

    Judgments are resolved and joined to the original qrels with all annotators, and once without each. alpha
    is that of the others; labels_other, labels_lost and labels_gained count the pairs with another label,
    with none any more, and with one where all judgments give a dispute; tau and n_swaps compare the orders of
    the runs; run_id is the run whose score changes most.

    Args:
        runs: The runs.
        judgments: The judgments (judgments.csv).
        qrels: The original qrels; their queries count.
        grades: The grade of each label, in the guideline's order; those that labels spell, unless given.
        level: The level of measurement that agreement is for.
        original_grade: The grade of original positives beside the labels.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        rule: As in `resolve`.
        adjudicators: As in `resolve` (may be repeated).
        policy: As in `augment`.
        measures: A measure, such as C@10; may be repeated.
        show: A row for each annotator and measure, or every run's score and place with all and without each.

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_judgments, check_qrels
        >>> run = fire.run([[1, 2]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["x"], "relevance": 1}))
        >>> votes = {"query_id": "q", "doc_id": ["y", "y", "y"], "annotator_id": list("uvw")}
        >>> judgments = check_judgments(pd.DataFrame(votes | {"label": list("110")}))
        >>> found = fire.influence([run], judgments, qrels, measures=["C@1"])
        >>> found.table[["annotator_id", "labels_lost", "run_id", "change"]]
          annotator_id  labels_lost run_id  change
        0            u            1   clip    -1.0
        1            v            1   clip    -1.0
        2            w            0   clip     0.0
    """
    known = grades_or_usual(judgments, grades)
    asked = asked_judgments(judgments)
    labels = resolve(asked, grades=known, rule=rule, adjudicators=adjudicators).labels
    highest = int(max((each for each in known.values() if each is not None), default=1))
    if original_grade is None and highest > 1 and highest_grade(qrels) <= 1:
        original_grade = highest
    original, _ = originals_beside(qrels, grade=original_grade)
    join = partial(augment_qrels, policy=policy, original_grade=original_grade)
    augmented = join(original, labels).qrels
    without = [*labels_without_each(asked, grades=known, rule=rule, adjudicators=adjudicators)]
    changes = {}  # the relevance of each pair whose label changes, nan where the qrels lose the pair
    for name, _, pairs in without:
        part = Qrels(original[are_in(original["query_id"], pairs["query_id"])].reset_index(drop=True))
        left = pairs.rename(columns={"after": "relevance"}).dropna(subset="relevance")
        changed = join(part, Labels(left.astype({"relevance": "int64"}))).qrels
        relevance = np.append(changed["relevance"].to_numpy(dtype=np.float64), np.nan)
        changes[name] = pairs[PAIR].assign(relevance=relevance[pair_rows(pairs, changed)])
    found = score_changes(runs, original, augmented, changes, measures)
    scores = found.scores.drop(columns="is_left_out").rename(columns={"left_out": "annotator_id"})
    alphas = leave_one_out(judgments, grades=grades, level=level)
    rows = []  # one for each annotator, then one for each measure, with the run whose score moves most
    for name, n, pairs in without:
        is_lost, is_gained = pairs["after"].isna(), pairs["before"].isna()
        rows.append((name, n, (~is_lost & ~is_gained).sum(), is_lost.sum(), is_gained.sum()))
    columns = ["annotator_id", "n_judgments", "labels_other", "labels_lost", "labels_gained"]
    people = alphas.rename(columns={"value": "alpha", "change": "alpha_change"})
    people = people[["annotator_id", "alpha", "alpha_change"]]
    people = pd.DataFrame(rows, columns=columns).merge(people, on="annotator_id", how="left")
    moved = scores.loc[scores["change"].abs().groupby([scores["annotator_id"], scores["measure"]]).idxmax()]
    orders = found.orders.rename(columns={"left_out": "annotator_id"})
    orders = orders[["annotator_id", "measure", "tau", "n_swaps"]]
    orders = orders.merge(
        moved[["annotator_id", "measure", "run_id", "change"]], on=["annotator_id", "measure"]
    )
    tables = {"annotators": people.merge(orders, on="annotator_id"), "scores": scores}
    is_kept = len({*adjudicators}) == 1
    kept = [f"{adjudicators[0]} is the only adjudicator and is not left out"] if is_kept else []
    more = [n_of(len(asked), "judgment"), f"labels by rule {rule}, joined under policy {policy}"]
    return Found(tables, [*kept, *found.notes], more, shown=show)
