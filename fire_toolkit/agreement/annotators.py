"""What each annotator does to agreement: alpha without them, and every two of them side by side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.agreement.cohen import cohen_kappas
from fire_toolkit.agreement.coincidence import alphas, coincidences, count_patterns
from fire_toolkit.agreement.confusions import annotator_confusions
from fire_toolkit.agreement.marginals import holm, stuart_maxwell
from fire_toolkit.agreement.statistic import NO_PAIR, grade_counts, grade_labels
from fire_toolkit.agreement.table import INCLUSION, usable_inclusion
from fire_toolkit.agreement.votes import Grades, Votes, code_votes, level_for
from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import UsageError
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
        judgments, grades, level, inclusion, all_rounds: as in `krippendorff_alpha`.

    Returns:
        Columns annotator_id, n_votes (of the annotator), n_pairable (pairs with two votes that remain),
        value (alpha without the annotator), change (value − alpha of all: above 0, the annotator lowers
        agreement), note (why the value is nan; the change is nan too when alpha of all is undefined).
        One row for each annotator, by id; no judgments: no rows.

    Raises:
        UsageError, TableError: as `krippendorff_alpha`.

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


def annotator_matrix(
    judgments: Judgments, *, grades: Grades | None = None, min_shared: int = 10, all_rounds: bool = False
) -> pd.DataFrame:
    """Return the agreement of every two annotators on the pairs that both voted on.

    Args:
        judgments, grades, all_rounds: as in `krippendorff_alpha`.
        min_shared: with fewer shared pairs nothing is said of two annotators; 1 or more.

    Returns:
        Columns annotator_a, annotator_b (the lower id first), n_shared, percent_agreement, cohen_kappa;
        positive_rate_a, positive_rate_b (share of positive votes of each on the shared pairs, nan without
        grades); stuart_maxwell, p_value (whether they use labels equally often, see `stuart_maxwell`),
        p_holm (p for all rows at once, Holm 1979); note (why a value is nan). One
        row for each two annotators who share a pair, by ids.

    Raises:
        UsageError: min_shared is below 1; otherwise as `krippendorff_alpha`.
        TableError: as `krippendorff_alpha`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments, first_round
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": [d for d in "abcd" for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 4, "label": list("11" "11" "00" "01")}))
        >>> annotator_matrix(judgments, min_shared=4).iloc[:, :5]
          annotator_a annotator_b  n_shared  percent_agreement  cohen_kappa
        0           u           v         4               0.75          0.5
    """
    if min_shared < 1:
        raise UsageError(f"min_shared is {min_shared}; expected 1 or more")
    judgments = judgments if all_rounds else first_round(judgments)
    votes = code_votes(judgments, grades=grades)
    confusions = annotator_confusions(votes)
    names = np.asarray(pd.factorize(judgments["annotator_id"])[1], dtype=object)
    two = np.stack([names[confusions.a], names[confusions.b]], axis=1).astype(object)
    two.sort(axis=1)
    is_known = confusions.n_shared >= min_shared
    shares = _positive_shares(confusions.tables, votes.grades)
    flipped = names[confusions.a] > names[confusions.b]
    tests = [stuart_maxwell(table) for table in confusions.tables]
    statistic, p_value = np.array(tests, dtype=np.float64).reshape(-1, 2).T
    kappa = np.where(is_known, cohen_kappas(confusions.tables.astype(np.float64)), np.nan)
    few = f"cannot be told: fewer than {min_shared} shared pairs"
    same = "both gave one and the same label throughout, so kappa is undefined"
    note = np.where(~is_known, few, np.where(np.isnan(kappa), same, ""))
    columns: dict[str, Any] = {
        "annotator_a": pd.array(two[:, 0], dtype="str"),
        "annotator_b": pd.array(two[:, 1], dtype="str"),
        "n_shared": confusions.n_shared.astype(np.int64),
        "percent_agreement": np.where(is_known, confusions.agreeing, np.nan),
        "cohen_kappa": kappa,
        "positive_rate_a": np.where(is_known, np.where(flipped, shares[1], shares[0]), np.nan),
        "positive_rate_b": np.where(is_known, np.where(flipped, shares[0], shares[1]), np.nan),
        "stuart_maxwell": np.where(is_known, statistic, np.nan),
        "p_value": np.where(is_known, p_value, np.nan),
        "p_holm": holm(np.where(is_known, p_value, np.nan)),
        "note": pd.array(note.astype(object), dtype="str"),
    }
    return pd.DataFrame(columns).sort_values(["annotator_a", "annotator_b"], ignore_index=True)


def _positive_shares(tables: Ints, grades: Floats) -> tuple[Floats, Floats]:
    """Return the share of positive votes (grade 1 or more) of the two annotators of each table."""
    positive = np.where(np.isnan(grades), np.nan, grades >= 1)
    n = tables.sum(axis=(1, 2))
    return tables.sum(axis=2) @ positive / n, tables.sum(axis=1) @ positive / n
