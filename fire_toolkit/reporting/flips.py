"""Where labels flipped: pairs that the benchmark labels otherwise than people do, and who found them."""

from __future__ import annotations

from urllib.parse import quote

import numpy as np
import pandas as pd

from fire_toolkit.tables import PoolSources, Qrels, Queries
from fire_toolkit.tables.columns import PAIR, pair_rows

NEW, REJECTED, DISPUTE = FLIPS = ("new positive", "rejected original", "dispute")
_FILTERS = {NEW: "new positives", REJECTED: "rejected originals", DISPUTE: "disputes"}  # of the gallery
_ALL = "all"


def flipped_pairs(original: Qrels, labels: pd.DataFrame, disputes: pd.DataFrame | None) -> pd.DataFrame:
    """Return the pairs whose label is not what the benchmark says: query_id, doc_id and flip.

    flip: `new positive` (labelled relevant, and no original positive), `rejected original` (an original
    positive that is labelled not relevant), `dispute` (judged, without a label).
    """
    positives = original[original["relevance"] >= 1]
    was_positive = pair_rows(labels, positives) >= 0
    is_positive = (labels["relevance"] >= 1).to_numpy()
    parts = [(labels[is_positive & ~was_positive], NEW), (labels[~is_positive & was_positive], REJECTED)]
    parts += [] if disputes is None else [(disputes, DISPUTE)]
    return pd.concat([rows[PAIR].assign(flip=name) for rows, name in parts], ignore_index=True)


def flips_by_run(flipped: pd.DataFrame, sources: PoolSources, gallery: str = "") -> pd.DataFrame:
    """Return for each run how many of the pairs that it pooled are of each flip, as `plot_flips` has it.

    gallery: where the gallery stands, seen from the report; empty for none.
    """
    place = pair_rows(sources[PAIR], flipped[PAIR])
    rows = sources.loc[place >= 0, ["run_id"]].assign(flip=flipped["flip"].to_numpy()[place[place >= 0]])
    return _counted(rows.rename(columns={"run_id": "group"}), sources["run_id"].value_counts(), gallery)


def flips_by_length(
    flipped: pd.DataFrame, judged: pd.DataFrame, queries: Queries, gallery: str = "", *, n_groups: int = 6
) -> pd.DataFrame:
    """Return the same by the length of the caption, in groups of about as many captions.

    judged: the pairs with a label or in dispute. A query without a text is left out.
    """
    length = queries.set_index("query_id")["text"].str.len()
    known = length[length.index.isin(judged["query_id"]) & length.notna()].astype("int64").sort_values()
    codes = pd.qcut(known, n_groups, labels=False, duplicates="drop").fillna(0)
    ends = known.groupby(codes).agg(["min", "max"])
    names = {code: f"{low}–{high} characters" if low < high else f"{low} characters"
             for code, low, high in ends.itertuples()}  # fmt: skip
    group = codes.map(names)
    rows = flipped.assign(group=flipped["query_id"].map(group)).dropna(subset="group")
    n_pairs = judged["query_id"].map(group).value_counts().reindex(list(names.values()), fill_value=0)
    return _counted(rows[["group", "flip"]], n_pairs, gallery)


def _counted(rows: pd.DataFrame, n_pairs: pd.Series, gallery: str) -> pd.DataFrame:
    """Return a row for each group, in the order of `n_pairs`, and flip, with the address of such pairs."""
    counts = rows.value_counts(["group", "flip"])
    keys = pd.MultiIndex.from_product([n_pairs.index, FLIPS], names=["group", "flip"])
    table = counts.reindex(keys, fill_value=0).rename("n_pairs").reset_index()
    share = table["n_pairs"] / table["group"].map(n_pairs).astype("float64")
    href = [f"{gallery}#?only={quote(_FILTERS[name])}" if gallery else None for name in table["flip"]]
    return table.assign(share=share, href=pd.Series(href, table.index, dtype="object"))


def sets_of_runs(flipped: pd.DataFrame, sources: PoolSources) -> pd.DataFrame:
    """Return by which runs the new positives were pooled, as `plot_found` has it.

    Each new positive that any run pooled belongs to one set: all the runs that pooled it. Sets that found
    most stand first; runs by how many they found.
    """
    new = flipped[flipped["flip"] == NEW]
    place = pair_rows(sources[PAIR], new[PAIR])
    own = pd.DataFrame({"pair": place[place >= 0], "run_id": sources["run_id"].to_numpy()[place >= 0]})
    runs = list(own["run_id"].value_counts().index)
    if not runs:
        return pd.DataFrame({"set": [], "run_id": [], "is_in": [], "n_pairs": []})
    is_in = pd.crosstab(own["pair"], own["run_id"])[runs].to_numpy() > 0
    sets, n_pairs = np.unique(is_in, axis=0, return_counts=True)
    order = np.argsort(-n_pairs, kind="stable")
    return pd.DataFrame(
        {
            "set": np.repeat(np.arange(1, len(order) + 1), len(runs)),
            "run_id": np.tile(runs, len(order)),
            "is_in": sets[order].ravel(),
            "n_pairs": np.repeat(n_pairs[order], len(runs)),
        }
    )
