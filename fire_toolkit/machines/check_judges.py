"""Several judges against people's labels: each alone, all together, and all but one."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats
from fire_toolkit.errors import UsageError
from fire_toolkit.machines.check import LEAST_LABELS, refuse_few
from fire_toolkit.machines.check_groups import QueryDraws, auc, limits
from fire_toolkit.tables import Labels
from fire_toolkit.tables.columns import PAIR

COLUMNS = ["judges", "n_pairs", "auc", "low", "high", "change", "change_low", "change_high"]


def leave_judges_out(
    scores: Mapping[str, pd.DataFrame],
    labels: Labels,
    *,
    least: int = LEAST_LABELS,
    n_resamples: int = 2000,
    seed: int = 0,
) -> pd.DataFrame:
    """Return the AUC of all judges together, without each, and of each alone.

    Judges are joined by the mean of their ranks, for their scales differ.

    Args:
        scores: of each judge query_id, doc_id and score, which rises with relevance.
        labels: people's; a relevance of 1 or more is positive, one below 0 is no label.
        least: fewer labelled pairs that all judges answered are refused; so are fewer than 10 of either kind.
        n_resamples, seed: of the bootstrap over queries, the same draws for all rows.

    Returns:
        Columns judges, n_pairs, auc with its 95% interval, and change: of it against that of all judges, with
        its interval. `all`, then `without NAME` and `NAME alone` of each judge.

    Raises:
        UsageError: fewer than two judges, or too few labels.

    Examples:
        >>> from fire_toolkit.tables import check_labels
        >>> pairs = pd.DataFrame({"query_id": [f"q{n % 20}" for n in range(200)],
        ...                       "doc_id": [f"d{n}" for n in range(200)]})
        >>> labels = check_labels(pairs.assign(label="x", relevance=[1, 0] * 100))
        >>> knows, guesses = (pairs.assign(score=score) for score in ([0.9, 0.2] * 100, [0.5] * 200))
        >>> leave_judges_out({"a": knows, "b": guesses}, labels, n_resamples=50)[["judges", "auc", "change"]]
              judges  auc  change
        0        all  1.0     0.0
        1  without a  0.5    -0.5
        2    a alone  1.0     0.0
        3  without b  1.0     0.0
        4    b alone  0.5    -0.5
    """
    if len(scores) < 2:
        raise UsageError(f"{len(scores)} judge; leaving one out needs two or more")
    both = labels.loc[labels["relevance"] >= 0, [*PAIR, "relevance"]]
    for name, own in scores.items():
        both = both.merge(own[[*PAIR, "score"]].rename(columns={"score": name}), on=PAIR).dropna(subset=name)
    both = both.sort_values(PAIR, ignore_index=True)
    people = np.asarray(both["relevance"] >= 1, dtype=np.float64)
    refuse_few(people, least)
    ranks = {name: both[name].rank(method="average").to_numpy(dtype=np.float64) for name in scores}
    rows = {"all": sum(ranks.values())}
    for name in scores:
        rows[f"without {name}"] = sum(own for other, own in ranks.items() if other != name)
        rows[f"{name} alone"] = ranks[name]
    codes, queries = pd.factorize(both["query_id"])
    drawn = QueryDraws(codes.astype(np.int64), len(queries), n_resamples, seed)
    one = np.ones(len(both))
    points = np.array([auc(np.asarray(score), people, one[None, :])[0] for score in rows.values()])
    draws = _draws([np.asarray(score) for score in rows.values()], people, drawn)
    parts = (points, *limits(draws), points - points[0], *limits(draws - draws[:, :1]))
    table = pd.DataFrame(np.column_stack(parts), columns=COLUMNS[2:])
    return table.assign(judges=list(rows), n_pairs=len(both))[COLUMNS]


def _draws(scores: list[Floats], people: Floats, drawn: QueryDraws) -> Floats:
    """Return the resampled AUC of each score, (n_resamples, n_scores)."""
    parts = [
        np.column_stack([auc(score, people, weights) for score in scores])
        for weights in drawn.weights(np.ones(len(people)))
    ]
    return np.concatenate(parts)
