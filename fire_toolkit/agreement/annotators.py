"""What each annotator does to agreement: alpha without them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.coincidence import alphas, coincidences, count_patterns
from fire_toolkit.agreement.statistic import NO_PAIR, grade_counts, grade_labels
from fire_toolkit.agreement.table import INCLUSION, usable_inclusion
from fire_toolkit.agreement.votes import Grades, Votes, code_votes, level_for
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.tables import Judgments, first_round

ONE_VALUE = "without this annotator every judgment on pairs with two judgments says the same"


def leave_one_out(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
) -> pd.DataFrame:
    """Return Krippendorff's alpha without each annotator in turn.

    Args:
        judgments, grades, level, inclusion, all_rounds: as in `agreement`.

    Returns:
        Columns annotator_id, n_votes (of the annotator), n_pairable (pairs with two votes that remain),
        value (alpha without the annotator), change (value − alpha of all: above 0, the annotator lowers
        agreement), note (why the value is nan; the change is nan too when alpha of all is undefined).
        One row for each annotator, by id; no judgments: no rows.

    Raises:
        UsageError, TableError: as `agreement`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [d for d in "abcd" for _ in "uvw"],
        ...     "annotator_id": ["u", "v", "w"] * 4, "label": list("110" "111" "000" "001")}))
        >>> leave_one_out(judgments)[["annotator_id", "value", "change"]].round(3)
          annotator_id  value  change
        0            u  0.125  -0.264
        1            v  0.125  -0.264
        2            w  1.000   0.611
    """
    level = level_for(grades, level)
    judgments = judgments if all_rounds else first_round(judgments)
    inclusion = usable_inclusion(judgments, inclusion)
    votes = code_votes(judgments, grades=grades, level=level, inclusion=inclusion)
    names = np.asarray(pd.factorize(judgments["annotator_id"])[1], dtype=object)
    counts, domain = grade_counts(votes.counts, votes, level)
    whole, left, n_lost = _without_each(votes, counts, level, len(names))
    value = alphas(left, domain, level)
    n_pairable = len(counts) - n_lost
    reason = np.where(n_pairable == 0, NO_PAIR, ONE_VALUE)
    columns: dict[str, Any] = {
        "annotator_id": pd.array(names, dtype="str"),
        "n_votes": np.bincount(votes.annotator[votes.value >= 0], minlength=len(names)).astype(np.int64),
        "n_pairable": n_pairable.astype(np.int64),
        "value": value,
        "change": value - alphas(whole, domain, level),
        "note": pd.array(np.where(np.isnan(value), reason, "").astype(object), dtype="str"),
    }
    return pd.DataFrame(columns).sort_values("annotator_id", ignore_index=True)


def _without_each(votes: Votes, counts: Ints, level: str, n_annotators: int) -> tuple[Floats, Floats, Ints]:
    """Return the coincidences of all, those without each annotator, and the pairs that each leaves single.

    Taking a vote for v from a pair changes its coincidences by an amount that only its pattern and v
    decide; so it suffices to count each annotator's votes by pattern and value. The weights of the pairs
    that remain have mean 1.
    """
    patterns = count_patterns(counts)
    n_patterns, n_values = patterns.counts.shape
    place, _ = grade_labels(votes, level)
    pairable = votes.units[votes.is_pairable]
    rows = np.flatnonzero((votes.value >= 0) & np.isin(votes.unit, pairable))
    pair = np.searchsorted(pairable, votes.unit[rows])
    pattern, weight = patterns.place[pair], votes.weights[votes.is_pairable]
    cells = (votes.annotator[rows] * n_patterns + pattern) * n_values + place[votes.value[rows]]
    shape = (n_annotators, n_patterns, n_values)
    tally, weights = (
        np.bincount(cells, each, minlength=n_annotators * n_patterns * n_values).reshape(shape)
        for each in (None, weight[pair])
    )
    before = coincidences(patterns.counts)
    fewer = np.maximum(patterns.counts[:, None, :] - np.eye(n_values, dtype=np.int64), 0)
    after = coincidences(fewer.reshape(n_patterns * n_values, n_values)).reshape(
        n_patterns, n_values, n_values, n_values
    )
    of_pattern = np.bincount(patterns.place, weight, minlength=n_patterns)
    whole = np.einsum("p,pij->ij", of_pattern, before)[None]
    is_lost = patterns.counts.sum(axis=1) == 2
    n_lost, lost = (each[:, is_lost].sum(axis=(1, 2)) for each in (tally, weights))
    mean = np.where(n_lost < len(counts), (weight.sum() - lost) / np.maximum(len(counts) - n_lost, 1), 1.0)
    left = (whole - np.tensordot(weights, before[:, None] - after, axes=2)) / mean[:, None, None]
    cleaned = np.where(np.abs(left) < 1e-9, 0.0, left)
    return whole, np.asarray(cleaned, dtype=np.float64), np.asarray(n_lost)
