"""What is said of agreement when nothing else is asked: four numbers, their intervals, what they rest on."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.agreement.intervals import Resampling, interval_of
from fire_toolkit.agreement.pages import alike, has_pages
from fire_toolkit.agreement.registry import DEFAULTS
from fire_toolkit.agreement.table import measure_groups
from fire_toolkit.resolution.votes import INCLUSION, Grades, code_votes
from fire_toolkit.results import Result
from fire_toolkit.tables import Judgments, first_round

UNITS = {"query_id": "captions", "doc_id": "items", "": "pairs"}  # what is drawn, by its column


class _AgreementSummary(NamedTuple):
    table: pd.DataFrame
    n_pairs_by_votes: tuple[int, ...]
    cluster: str
    design_effect: float


class AgreementSummary(_AgreementSummary, Result):
    """Agreement with intervals, and what it rests on.

    table: as `agreement` returns it with intervals; n_pairs_by_votes: how many pairs have 0, 1, 2, … votes;
    cluster: `query_id` where the intervals draw captions whole, `doc_id` where items (judged on pages of
    several captions), empty where they draw pairs; design_effect: how many times larger the variance of
    alpha is by these than by pairs (Kish 1965), nan without.
    """

    __slots__ = ()


def agreement_summary(
    judgments: Judgments,
    *,
    grades: Grades | None = None,
    level: str | None = None,
    inclusion: str | None = INCLUSION,
    all_rounds: bool = False,
) -> AgreementSummary:
    """Return alpha, percent agreement, agreement on positives and prevalence, with what they rest on.

    Args:
        judgments, grades, level, inclusion, all_rounds: as in `agreement`.

    Returns:
        An `AgreementSummary`. Captions (query_id) are drawn whole where they have two pairs or more on
        average, since pairs of a caption are alike, else pairs. Where there are pages of several captions,
        what a page shows is drawn whole in any case.

    Raises:
        UsageError, TableError: as `agreement`.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": [f"q{n % 8}" for n in range(40) for _ in "uv"],
        ...     "doc_id": [f"d{n:02d}" for n in range(40) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 40,
        ...     "label": (["1", "1"] * 4 + ["0", "0"] * 5 + ["1", "0"]) * 4}))
        >>> summary = agreement_summary(judgments)
        >>> summary.table[["statistic", "value", "low", "high", "n_resampled"]].round(1)
                    statistic  value  low  high  n_resampled
        0               alpha    0.8  0.4   0.9            8
        1   percent_agreement    0.9  0.7   1.0            8
        2  positive_agreement    0.9  0.7   1.0            8
        3          prevalence    0.4  0.3   0.6            8
        >>> summary.n_pairs_by_votes, summary.cluster, round(summary.design_effect, 1)
        ((0, 0, 40), 'query_id', 1.1)
    """
    judgments = judgments if all_rounds else first_round(judgments)
    cluster = alike(judgments)
    by_cluster = code_votes(judgments, grades=grades, level=level, inclusion=inclusion, cluster=cluster)
    by_pair = replace(by_cluster, cluster=None)
    n_judged = int((by_cluster.n_votes > 0).sum())
    is_clustered = has_pages(judgments) or n_judged >= 2 * max(judgments[cluster].nunique(), 1)
    table = measure_groups([("all", by_cluster if is_clustered else by_pair)], DEFAULTS, Resampling())
    n_each = tuple(np.bincount(by_cluster.n_votes, minlength=2).tolist())
    if not is_clustered:
        return AgreementSummary(table, n_each, "", math.nan)
    whole, single = (
        interval_of(votes, "alpha", Resampling()).standard_error for votes in (by_cluster, by_pair)
    )
    return AgreementSummary(table, n_each, cluster, (whole / single) ** 2 if single > 0 else math.nan)
