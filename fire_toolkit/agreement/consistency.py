"""How often annotators say the same when they answer a pair again."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.votes import Grades
from fire_toolkit.arrays import wilson_interval
from fire_toolkit.guidelines.grades import usual_grades
from fire_toolkit.tables import Dropped, Judgments, repeated_answers

ALL = "(all)"


def self_consistency(
    judgments: Judgments, superseded: Dropped, *, grades: Grades | None = None, confidence: float = 0.95
) -> pd.DataFrame:
    """Return for each annotator how often an earlier answer to a pair had the label of the one that counts.

    Args:
        judgments: the answers that count.
        superseded: earlier answers of an annotator to the same pair, as `latest_judgments` returns them;
            a changed answer is not a repeat: repeats are answers given anew.
        grades: as in `krippendorff_alpha`; answers that are not votes, before or after, are left out.
        confidence: of Wilson's interval.

    Returns:
        Columns annotator_id, n_repeats, n_same, self_agreement, low, high, n_to_positive (from not positive
        to positive, from grade 1), n_to_negative. One row for each annotator with a repeat, by id, after
        the row `(all)` of all of them; no repeats: no rows. Without grades the last two are 0.

    Examples:
        >>> from fire_toolkit.judgments import latest_judgments
        >>> answers = pd.DataFrame({"query_id": "q", "doc_id": list("aabb"), "annotator_id": "u",
        ...                         "label": list("1101")})
        >>> self_consistency(*latest_judgments(answers))[["annotator_id", "n_repeats", "n_same"]]
          annotator_id  n_repeats  n_same
        0        (all)          2       1
        1            u          2       1
    """
    both = repeated_answers(judgments, superseded)
    found = usual_grades(pd.concat([both["label"], both["label_now"]])) if grades is None else grades
    known = {label: grade for label, grade in (found or {}).items() if grade is not None}
    if found is not None:
        both = both[both["label"].isin(list(known)) & both["label_now"].isin(list(known))]
    before, after = (both[name].map(known).astype("float64") >= 1 for name in ("label", "label_now"))
    counted = both[["annotator_id"]].assign(
        n_repeats=1,
        n_same=(both["label"] == both["label_now"]).astype(np.int64),
        n_to_positive=(~before & after).astype(np.int64),
        n_to_negative=(before & ~after).astype(np.int64),
    )
    each = counted.groupby("annotator_id", sort=True).sum().reset_index()
    total = each.drop(columns="annotator_id").sum().to_frame().T.assign(annotator_id=ALL)
    rows = pd.concat([total, each], ignore_index=True) if len(each) else each
    right, n = (rows[name].to_numpy(dtype=np.float64) for name in ("n_same", "n_repeats"))
    low, high = wilson_interval(right, n, confidence)
    columns: dict[str, Any] = {
        "annotator_id": rows["annotator_id"].astype("str"),
        "n_repeats": rows["n_repeats"].astype(np.int64),
        "n_same": rows["n_same"].astype(np.int64),
        "self_agreement": right / np.where(n > 0, n, 1),
        "low": low,
        "high": high,
        "n_to_positive": rows["n_to_positive"].astype(np.int64),
        "n_to_negative": rows["n_to_negative"].astype(np.int64),
    }
    return pd.DataFrame(columns)
