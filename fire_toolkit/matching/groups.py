"""Rankings restricted to some docs: those of a predefined group, or of a part of the collection."""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, rows_of_lists
from fire_toolkit.errors import JoinError
from fire_toolkit.matching.own_items import without_own_pairs
from fire_toolkit.matching.ranking import ends_of_lists, rank_run
from fire_toolkit.tables import Run
from fire_toolkit.tables.columns import PAIR, pair_rows


def restrict_run(run: Run, is_kept: Bools) -> Run:
    """Return the rows of `run` that are kept, in their order, ranks closed up to 1, 2, ...

    Raises:
        JoinError: the run leaves ranks out, so that the order of what it lacks is not known.
    """
    starts, stops = ends_of_lists(run)
    gaps = np.flatnonzero(rows_of_lists(1, stops - starts) != run["rank"].to_numpy())
    if gaps.size:
        raise JoinError(
            f"run {run['run_id'].iloc[gaps[0]]}: ranks are left out (query "
            f"{run['query_id'].iloc[gaps[0]]}); expected whole lists, to rank a part of their docs"
        )
    return rank_run(run[is_kept])


def restrict_to_groups(run: Run, groups: pd.DataFrame, references: Mapping[str, str] | None = None) -> Run:
    """Return `run` with each query's list reduced to the docs of its group, without its reference.

    C@k of it is Recall_subset@k.

    Args:
        run: lists that hold every member of the groups, at its true rank (see `count_missing_members`).
        groups: columns query_id, doc_id: the group of each query, its reference among them or not.
        references: the doc that each query starts from (the image that a text modifies); such a doc is no
            answer and is left out.

    Returns:
        A Run; a query of which no member was retrieved is not in it.

    Raises:
        JoinError: a query of the run has no group; a list lacks a member and leaves ranks out at which
            that member may stand.

    Source: Liu et al., CIRR, ICCV 2021 (Recall_subset).

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> docs = ["a", "b", "c", "ref"]
        >>> run = rank_run(
        ...     pd.DataFrame({"run_id": "m", "query_id": "q", "doc_id": docs, "score": [1, 2, 3, 4]})
        ... )
        >>> groups = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "ref"]})
        >>> list(restrict_to_groups(run, groups, {"q": "ref"})["doc_id"])
        ['b', 'a']
    """
    without = run["query_id"].cat.categories.difference(pd.Index(groups["query_id"]))
    if len(without):
        raise JoinError(
            f"groups: {len(without):,} queries of the run have none ({without[0]}); expected the groups of "
            "this collection, and a run of its queries alone"
        )
    members = without_own_pairs(groups[PAIR].astype("str").drop_duplicates(), references or {})
    is_kept = pair_rows(run[PAIR], members) >= 0
    starts, stops = ends_of_lists(run)
    n_members = np.add.reduceat(is_kept, starts, dtype=np.int64) if starts.size else starts
    wanted = run["query_id"].iloc[starts].astype("str").map(members.groupby("query_id").size()).to_numpy()
    has_gap = run["rank"].to_numpy()[stops - 1] > stops - starts
    for at in starts[has_gap & (n_members < wanted)][:1]:
        raise JoinError(
            f"run {run['run_id'].iloc[at]}: ranks are left out (query {run['query_id'].iloc[at]}), and a "
            "member of the query's group may stand at one of them; expected whole lists, or a run that "
            "`fire-toolkit add-run` brought in beside the groups"
        )
    return rank_run(run[is_kept])


def count_missing_members(run: Run, groups: pd.DataFrame, references: Mapping[str, str] | None = None) -> int:
    """Return how many queries of a restricted `run` lack a member of their group, its reference aside."""
    members = without_own_pairs(groups[PAIR].astype("str").drop_duplicates(), references or {})
    size = members.groupby("query_id").size()
    found = run.groupby("query_id", observed=True).size()
    return int((found.reindex(size.index, fill_value=0) < size).sum())
