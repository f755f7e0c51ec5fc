"""What scores would be if disputes were all relevant, or all not: the two ends of what is unknown."""

from __future__ import annotations

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.resolve import NO_MAJORITY
from fire_toolkit.resolution.votes import Grades
from fire_toolkit.tables import LABELS, SUPPORT, Disputes, Labels, check_labels
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
        UsageError: an unknown end; no label has such a grade.
    """
    if end not in ("0", "1"):
        raise UsageError(f"disputes as {end!r}; expected one of 0, 1")
    known = {name: grade for name, grade in grades.items() if grade is not None}
    side = [(grade, name) for name, grade in known.items() if (grade >= 1) == (end == "1")]
    if not side:
        what = "positive" if end == "1" else "negative"
        raise UsageError(f"no label is {what}, so disputes cannot be so")
    grade, label = min(side) if end == "1" else max(side)
    tied = disputes[disputes["reason"] == NO_MAJORITY]
    settled = tied[PAIR].assign(
        label=label,
        relevance=int(grade),
        method=f"disputes_as_{end}",
        n_judgments=tied[[f"n_{name}" for name in known]].astype(np.int64).sum(axis=1),
        n_agree=tied[f"n_{label}"].astype(np.int64),
        **{name: "" for name in labels.columns if name not in (*SUPPORT, *LABELS.names)},
    )
    return check_labels(pd.concat([labels, settled]) if len(settled) else labels)
