"""Labels otherwise: were disputes all relevant, or none; had somebody not been asked; of captions alone."""

from collections.abc import Collection, Iterator

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.registry import RULES
from fire_toolkit.resolution.resolve import NO_MAJORITY
from fire_toolkit.resolution.rules import dispute_all
from fire_toolkit.resolution.votes import Grades, code_votes
from fire_toolkit.tables import (
    ALONE,
    SUPPORT,
    Disputes,
    Judgments,
    Labels,
    QueryLabels,
    QueryValidity,
    check_labels,
    check_query_labels,
    check_query_validity,
)
from fire_toolkit.tables.columns import PAIR


def settle_disputes(labels: Labels, disputes: Disputes, *, grades: Grades, end: str) -> Labels:
    """Return the labels, and every dispute among votes as not relevant (`0`) or as relevant (`1`).

    Args:
        labels, disputes: of a rule, as `resolve` gives them.
        grades: label → relevance.
        end: `0`: the label with the highest grade below 1; `1`: the one with the lowest grade from 1.

    Returns:
        Labels, those of disputes with method `disputes_as_0` or `disputes_as_1` and no vote_share. Pairs that
        were only escalated stay without a label.

    Raises:
        UsageError: no label has such a grade.
    """
    known = {name: grade for name, grade in grades.items() if grade is not None}
    side = [(grade, name) for name, grade in known.items() if (grade >= 1) == (end == "1")]
    if not side:
        what = "positive" if end == "1" else "negative"
        raise UsageError(f"no label of the guideline is {what}, so disputes cannot count as that")
    grade, label = min(side) if end == "1" else max(side)
    tied = disputes[disputes["reason"] == NO_MAJORITY]
    settled = tied[PAIR].assign(
        label=label,
        relevance=int(grade),
        method=f"disputes_as_{end}",
        n_judgments=tied[[f"n_{name}" for name in known]].astype(np.int64).sum(axis=1),
        n_agree=tied[f"n_{label}"].astype(np.int64),
        **{name: "" for name in labels.columns if name not in (*SUPPORT, *check_labels.spec.names)},
    )
    return check_labels(pd.concat([labels, settled]) if len(settled) else labels)


def labels_without_each(
    judgments: Judgments, *, grades: Grades, rule: str, adjudicators: Collection[str] = ()
) -> Iterator[tuple[str, int, pd.DataFrame]]:
    """Yield each annotator, by id, how many judgments these gave, and the pairs whose label hangs on them.

    The only adjudicator is not left out: without one the rule says nothing.

    Args:
        judgments: those that count, as `resolve` takes them.
        grades, rule, adjudicators: as in `resolve`; so are the errors.

    Returns:
        Of each annotator query_id, doc_id, before and after of the pairs with another label by the judgments
        of all others: the relevance by all judgments and by those, nan where the rule gives no label.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aaab"), "annotator_id": list("uvwu"),
        ...     "label": list("1011")}))
        >>> found = labels_without_each(judgments, grades={"0": 0, "1": 1}, rule="fire")
        >>> [(name, n, changed[["doc_id", "before", "after"]].values.tolist()) for name, n, changed in found]
        [('u', 2, [['a', 1.0, nan], ['b', 1.0, nan]]), ('v', 1, []), ('w', 1, [['a', 1.0, nan]])]
    """
    votes = code_votes(judgments, grades=grades, adjudicators=adjudicators)
    decide = RULES.named(rule) if votes.labels else dispute_all
    before, relevance = decide(votes).label, np.append(votes.grades, np.nan)  # the last is of a dispute, -1
    for code, name in enumerate(votes.annotators):
        if {*adjudicators} == {name}:
            continue
        is_own = votes.annotator == code
        after = decide(votes.select(~is_own)).label
        rows = np.flatnonzero(before != after)
        sides = {"before": relevance[before[rows]], "after": relevance[after[rows]]}
        yield name, int(is_own.sum()), votes.pairs.iloc[rows].assign(**sides).reset_index(drop=True)


def label_queries(
    labels: Labels, judgments: Judgments, *, guideline: str, guideline_sha256: str
) -> tuple[QueryLabels, QueryValidity]:
    """Return one label for each query that a rule labelled, and what each annotator said of each query.

    Args:
        labels: as `resolve` returns them for pairs of a query and the doc `*`; other pairs are left out.
        judgments: what they rest on, with the flags.
        guideline, guideline_sha256: name and hash of what was shown.

    Returns:
        QueryLabels by query_id; n_votes, n_agree: of `resolve`; flags: those that any annotator set, sorted,
        each once. No labels: no rows. QueryValidity, with the guideline shown.

    Examples:
        >>> import pandas as pd
        >>> from fire_toolkit.tables import check_judgments, check_labels
        >>> labels = check_labels(pd.DataFrame({"query_id": ["q"], "doc_id": "*", "label": "unusable",
        ...     "relevance": 0, "n_judgments": 2, "n_agree": 2}))
        >>> judgments = check_judgments(pd.DataFrame({"query_id": "q", "doc_id": "*", "label": "unusable",
        ...     "annotator_id": ["u", "v"], "flags": ["unclear", "unspecific;unclear"]}))
        >>> label_queries(labels, judgments, guideline="usable-v1", guideline_sha256="0" * 64)[0]
          query_id     label  is_usable  n_votes  n_agree               flags
        0        q  unusable      False        2        2  unclear;unspecific
    """
    own, said = (each[each["doc_id"] == ALONE].reset_index(drop=True) for each in (labels, judgments))
    given = said.groupby("query_id")["flags"].agg(";".join)
    flags = given.map(lambda texts: ";".join(sorted({*texts.split(";")} - {""})))
    found = own[["query_id", "label"]].assign(
        is_usable=own["relevance"] >= 1,
        n_votes=own["n_judgments"],
        n_agree=own["n_agree"],
        flags=own["query_id"].map(flags).fillna("").astype("str"),
    )
    shown = said.assign(guideline=guideline, guideline_sha256=guideline_sha256)
    names = [*check_query_validity.spec.names, *(name for name in ("comment", "round") if name in shown)]
    return check_query_labels(found), check_query_validity(shown[names])
