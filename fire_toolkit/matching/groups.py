"""Rankings restricted to some docs: those of a predefined group, or of a part of the collection."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools, Ints, running_count
from fire_toolkit.errors import JoinError
from fire_toolkit.tables import Run, check_run
from fire_toolkit.tables.columns import PAIR


def restrict_run(run: Run, is_kept: Bools) -> Run:
    """Return the rows of `run` that are kept, in their order, ranks closed up to 1, 2, ...

    Raises:
        JoinError: the run leaves ranks out, so that the order of what it lacks is not known.
    """
    gaps = np.flatnonzero(running_count(_lists(run)) != run["rank"].to_numpy())
    if gaps.size:
        raise JoinError(
            f"run {run['run_id'].iloc[gaps[0]]}: ranks are left out (query "
            f"{run['query_id'].iloc[gaps[0]]}); expected whole lists, to rank a part of their docs"
        )
    return _closed_up(run, is_kept)


def _closed_up(run: Run, is_kept: Bools) -> Run:
    return check_run(run[is_kept].assign(rank=running_count(_lists(run)[is_kept])))


def _lists(run: Run) -> Ints:
    """Return a number for each row, the same for the rows of one list."""
    query = run["query_id"].cat.codes.to_numpy().astype(np.int64)
    lists: Ints = run["run_id"].cat.codes.to_numpy().astype(np.int64) * (query.max(initial=0) + 1) + query
    return lists


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
    members = _members(groups, references)
    own = pd.MultiIndex.from_arrays([run["query_id"].astype("str"), run["doc_id"].astype("str")])
    is_kept = np.asarray(own.isin(pd.MultiIndex.from_frame(members)), dtype=bool)
    lists = _lists(run)
    deepest, n_members = np.zeros((2, int(lists.max(initial=-1)) + 1), dtype=np.int64)
    np.maximum.at(deepest, lists, run["rank"].to_numpy())
    np.add.at(n_members, lists, is_kept)
    has_gap = deepest > np.bincount(lists, minlength=deepest.size)
    rows = np.flatnonzero(has_gap[lists])
    size = members.groupby("query_id").size()
    wanted = run["query_id"].iloc[rows].astype("str").map(size).to_numpy()
    lacking = rows[n_members[lists[rows]] < wanted]
    if lacking.size:
        at = lacking[0]
        raise JoinError(
            f"run {run['run_id'].iloc[at]}: ranks are left out (query {run['query_id'].iloc[at]}), and a "
            "member of the query's group may stand at one of them; expected whole lists, or a run that "
            "`fire-toolkit add-run` brought in beside the groups"
        )
    return _closed_up(run, is_kept)


def count_missing_members(run: Run, groups: pd.DataFrame, references: Mapping[str, str] | None = None) -> int:
    """Return how many queries of a restricted `run` lack a member of their group, its reference aside."""
    size = _members(groups, references).groupby("query_id").size()
    found = run.groupby("query_id", observed=True).size()
    return int((found.reindex(size.index, fill_value=0) < size).sum())


def _members(groups: pd.DataFrame, references: Mapping[str, str] | None) -> pd.DataFrame:
    members = groups[PAIR].astype("str").drop_duplicates()
    if references is None:
        return members
    is_reference = members["query_id"].map(references) == members["doc_id"]
    return pd.DataFrame(members[~is_reference])
