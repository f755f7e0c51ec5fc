"""Queries that annotators found unusable: flagged, kept or dropped by `augment`, counted in every score."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.table_files import read_query_labels
from fire_toolkit.inference.background import DROP, Unusable
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.validity import QueryLabels
from fire_toolkit.workspace.manifests import writer_of

FILE = "unusable.csv"


def unusable_among(inputs: Inputs, original: Qrels, policy: str) -> Unusable | None:
    """Return the unusable queries of original qrels by `--validity`; None where nobody was asked.

    Raises:
        UsageError: labels of other queries; no query would be left.
    """
    path = inputs.found("validity")
    if path is None:
        return None
    labels = read_query_labels(inputs.use(path))
    queries = original["query_id"].unique()
    own = labels[labels["query_id"].isin(queries)]
    if len(labels) and not len(own):
        raise UsageError(f"{path}: no query of it is in the original qrels; expected the same collection's")
    unusable = QueryLabels(own[~own["is_usable"]].reset_index(drop=True))
    if policy == DROP and len(unusable) == len(queries):
        raise UsageError(f"{path}: every query is unusable, so none would be left; take --unusable flag")
    return Unusable(policy, unusable, len(queries), len(own))


def unusable_of(inputs: Inputs) -> Unusable | None:
    """Return the unusable queries that `augment` wrote beside the augmented qrels; None without any."""
    is_its_own = not inputs.values.get("qrels") or inputs.values.get("augmented")
    path = inputs.found("augmented") if is_its_own else None
    writer = writer_of(path) if path else None
    found = writer.parameters if writer else {}
    if path is None or "unusable" not in found:
        return None
    table = read_query_labels(inputs.use(path.with_name(FILE)))
    return Unusable(found["unusable"], table, int(found["n_queries"]), int(found["n_labelled"]))


def files_of(unusable: Unusable | None) -> dict[str, pd.DataFrame]:
    """Return the file beside augmented qrels that names the unusable queries."""
    return {} if unusable is None else {FILE: unusable.queries}


def refuse_sampled(unusable: Unusable | None, beside: Sequence[str]) -> None:
    """Raise `UsageError` where queries are to be dropped from a sample, whose estimates need all of them."""
    if unusable is not None and unusable.policy == DROP and beside:
        raise UsageError(
            "the pool is a sample, and estimates from it need all of its queries; take --unusable flag, "
            "which gives scores with and without the unusable ones"
        )
