"""FIRE's Table 2: what was judged, how it came out, and how far annotators agree."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd

from fire_toolkit.agreement import agreement
from fire_toolkit.errors import JoinError
from fire_toolkit.resolution import resolve
from fire_toolkit.tables import Judgments, PoolSources

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
_STATISTICS = ("resolved", "percent_agreement", "unanimous", "alpha")


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
        grades: label → grade; a label whose grade is None is no vote.
        rule: how several votes become a label, see `resolve`.
        sources: which run pooled which pair; rows `run <id>` are then given, and overlap.
        datasets: index query_id, values the dataset of the query; rows `dataset <name>`.

    Returns:
        Columns group (`all` first), pairs (with a judgment), labels (votes), resolved, relevant and
        irrelevant (pairs with a label, by its relevance), disagreement (pairs whose votes gave none);
        resolved_share of the pairs, relevant_share of the resolved; multiply_labelled (pairs with two
        votes or more), and on these alone agreeing (percent agreement), unanimous (one label), alpha
        (Krippendorff, nominal), nan with the reason in note. Most of `resolved_share` are pairs with
        one vote: it is what the paper's table calls agreement, and says nothing of agreement.

    Raises:
        JoinError: a judged query has no dataset.
        UsageError, TableError: as `resolve` and `agreement`.
    """
    groups = [("all", judgments), *_datasets(judgments, datasets), *_by_run(judgments, sources)]
    rows = [_row(name, Judgments(part), grades, rule) for name, part in groups]
    return pd.DataFrame(rows, columns=list(DATA_COLUMNS)).astype(DATA_COLUMNS)


def _datasets(judgments: Judgments, datasets: pd.Series | None) -> Iterator[tuple[str, pd.DataFrame]]:
    if datasets is None:
        return
    found = judgments["query_id"].map(datasets[~datasets.index.duplicated()])
    if found.isna().any():
        missing = judgments.loc[found.isna(), "query_id"].unique()
        raise JoinError(f"judgments: {len(missing):,} queries have no dataset ({', '.join(missing[:3])}); "
                        "expected one for each judged query")  # fmt: skip
    for name in sorted(found.unique()):
        yield f"dataset {name}", judgments[found == name].reset_index(drop=True)


def _by_run(judgments: Judgments, sources: PoolSources | None) -> Iterator[tuple[str, pd.DataFrame]]:
    if sources is None:
        return
    for run_id, own in sources.groupby("run_id", sort=True):
        part = judgments.merge(own[["query_id", "doc_id"]], on=["query_id", "doc_id"])
        yield f"run {run_id}", part


def _row(name: str, judgments: Judgments, grades: Grades, rule: str) -> dict[str, object]:
    labels, disputes = resolve(judgments, grades=grades, rule=rule)
    measured = agreement(judgments, grades=grades, statistics=_STATISTICS)
    found = dict(zip(measured["statistic"], measured["value"], strict=True))
    n_votes = sum(grades.get(label) is not None for label in judgments["label"])
    n_relevant = int((labels["relevance"] >= 1).sum())
    n_pairs = len(judgments.drop_duplicates(["query_id", "doc_id"]))
    return {
        "group": name,
        "pairs": n_pairs,
        "labels": n_votes,
        "resolved": len(labels),
        "relevant": n_relevant,
        "irrelevant": len(labels) - n_relevant,
        "disagreement": len(disputes),
        "resolved_share": len(labels) / n_pairs if n_pairs else float("nan"),
        "relevant_share": n_relevant / len(labels) if len(labels) else float("nan"),
        "multiply_labelled": int(measured["n_pairable"].iloc[0]),
        "agreeing": found["percent_agreement"],
        "unanimous": found["unanimous"],
        "alpha": found["alpha"],
        "note": measured["note"].iloc[-1],
    }
