"""FIRE's Table 2: what was judged, how it came out, and how far annotators agree."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd

from fire_toolkit.agreement.table import agreement
from fire_toolkit.arrays import Bools, Ints, are_among
from fire_toolkit.errors import JoinError
from fire_toolkit.resolution.resolve import resolve
from fire_toolkit.resolution.votes import INCLUSION
from fire_toolkit.tables import Judgments, PoolSources, first_round
from fire_toolkit.tables.columns import PAIR, code_pairs, pair_rows

Grades = dict[str, float | int | None]

DATA_COLUMNS = {
    "group": "str",
    "pairs": "int64",
    "labels": "int64",
    "resolved": "int64",
    "relevant": "int64",
    "irrelevant": "int64",
    "disagreement": "int64",
    "resolved_share": "float64",
    "relevant_share": "float64",
    "multiply_labelled": "int64",
    "agreeing": "float64",
    "unanimous": "float64",
    "alpha": "float64",
    "note": "str",
}
_STATISTICS = ("percent_agreement", "unanimous", "alpha")
_VOTED = {"query_id", "doc_id", "annotator_id", "label", INCLUSION}
_DISPUTED = int(np.iinfo(np.int64).min)


def describe_data(
    judgments: Judgments,
    *,
    grades: Grades,
    rule: str = "fire",
    sources: PoolSources | None = None,
    datasets: pd.Series | None = None,
) -> pd.DataFrame:
    """Return one row for all judgments, each dataset, and the pairs that each run pooled.

    Args:
        judgments: one row for each annotator and pair.
        grades: label → grade; a label whose grade is None is not a vote.
        rule: how several votes become a label, see `resolve`.
        sources: which run pooled which pair; rows `run <id>` are then given, and overlap.
        datasets: index query_id, values the dataset of the query; rows `dataset <name>`.

    Returns:
        Columns group (`all` first); pairs, labels: the pairs with a first answer and the votes among
        these, as in `agreement` (see `first_round`); resolved, relevant and irrelevant (pairs with a
        label, by its relevance), disagreement (pairs whose votes gave none), both by `resolve` of all
        judgments together, later rounds included; resolved_share of the pairs, relevant_share of the
        resolved; multiply_labelled (pairs with two first votes or more), and on these alone agreeing
        (percent agreement), unanimous (one label), alpha (Krippendorff, nominal), nan with the reason in
        note. Most of `resolved_share` are pairs with one vote: it is what the paper's table calls
        agreement, and says nothing of agreement.

    Raises:
        JoinError: a judged query has no dataset.
        UsageError, TableError: as `resolve` and `agreement`.
    """
    first = first_round(judgments)
    first = Judgments(first[[name for name in first.columns if name in _VOTED]])
    unit = code_pairs(first)[0]
    pairs = first[PAIR].iloc[np.unique(unit, return_index=True)[1]]
    labels = resolve(judgments, grades=grades, rule=rule).labels
    relevance = np.full(len(pairs), _DISPUTED, dtype=np.int64)
    relevance[pair_rows(labels, pairs)] = labels["relevance"]
    every = np.ones(len(pairs), dtype=bool)
    groups = [("all", every), *_datasets(pairs, datasets), *_by_run(pairs, sources)]
    rows = [
        _row(name, Judgments(first if own is every else first[own[unit]]), relevance[own], grades)
        for name, own in groups
    ]
    return pd.DataFrame(rows, columns=list(DATA_COLUMNS)).astype(DATA_COLUMNS)


def _datasets(pairs: pd.DataFrame, datasets: pd.Series | None) -> Iterator[tuple[str, Bools]]:
    """Yield the name of each dataset's row, and which pairs are of it."""
    if datasets is None:
        return
    found = pairs["query_id"].map(datasets[~datasets.index.duplicated()])
    if found.isna().any():
        missing = pairs.loc[found.isna(), "query_id"].unique()
        raise JoinError(f"judgments: {len(missing):,} queries have no dataset ({', '.join(missing[:3])}); "
                        "expected one for each judged query")  # fmt: skip
    for name in sorted(found.unique()):
        yield f"dataset {name}", (found == name).to_numpy(dtype=bool)


def _by_run(pairs: pd.DataFrame, sources: PoolSources | None) -> Iterator[tuple[str, Bools]]:
    """Yield the name of each run's row, and which pairs it pooled."""
    if sources is None:
        return
    place = pair_rows(sources, pairs)
    codes, run_ids = pd.factorize(sources["run_id"], sort=True)
    for code, run_id in enumerate(run_ids):
        is_pooled = are_among(place[(codes == code) & (place >= 0)], len(pairs))
        yield f"run {run_id}", is_pooled


def _row(name: str, judgments: Judgments, relevance: Ints, grades: Grades) -> dict[str, object]:
    """Return a group's row from its first answers and the relevance of each of its pairs."""
    measured = agreement(judgments, grades=grades, statistics=_STATISTICS, all_rounds=True)
    found = dict(zip(measured["statistic"], measured["value"], strict=True))
    counts = judgments["label"].value_counts()
    n_pairs, n_resolved = len(relevance), int((relevance != _DISPUTED).sum())
    n_relevant = int((relevance >= 1).sum())
    return {
        "group": name,
        "pairs": n_pairs,
        "labels": sum(int(n) for label, n in counts.items() if grades.get(str(label)) is not None),
        "resolved": n_resolved,
        "relevant": n_relevant,
        "irrelevant": n_resolved - n_relevant,
        "disagreement": n_pairs - n_resolved,
        "resolved_share": n_resolved / n_pairs if n_pairs else float("nan"),
        "relevant_share": n_relevant / n_resolved if n_resolved else float("nan"),
        "multiply_labelled": int(measured["n_pairable"].iloc[0]),
        "agreeing": found["percent_agreement"],
        "unanimous": found["unanimous"],
        "alpha": found["alpha"],
        "note": measured["note"].iloc[-1],
    }
