"""Where people and the benchmark differ, which runs found it, and annotators beside each other."""

from urllib.parse import quote

import numpy as np
import pandas as pd

from fire_toolkit.guidelines.model import Grades
from fire_toolkit.inference.judged_pairs import pooled_by
from fire_toolkit.resolution.judgments import first_round
from fire_toolkit.tables import Judgments, PoolSources, Qrels, Queries
from fire_toolkit.tables.columns import PAIR, are_positives, pair_rows

# What a label can be other than the benchmark says, and the gallery's filter of such pairs.
FLIPS = {"new positive": "new positives", "rejected original": "rejected originals", "dispute": "disputes"}
_FEW = 10  # pairs, below which no share is given


def flipped_pairs(original: Qrels, labels: pd.DataFrame, disputes: pd.DataFrame | None) -> pd.DataFrame:
    """Return the pairs whose label is not what the benchmark says: query_id, doc_id and flip.

    flip: `new positive` (labelled relevant, and no original positive), `rejected original` (an original
    positive that is labelled not relevant), `dispute` (judged, without a label).
    """
    was_positive = are_positives(labels, original)
    is_positive = (labels["relevance"] >= 1).to_numpy()
    none = labels[:0] if disputes is None else disputes
    parts = (labels[is_positive & ~was_positive], labels[~is_positive & was_positive], none)
    return pd.concat(
        [part[PAIR].assign(flip=flip) for part, flip in zip(parts, FLIPS, strict=True)], ignore_index=True
    )


def flips_by_run(flipped: pd.DataFrame, sources: PoolSources, gallery: str = "") -> pd.DataFrame:
    """Return for each run how many of the pairs that it pooled are of each flip.

    gallery: where the gallery stands, seen from the report; empty for none.

    Returns:
        group (the run), flip, n_pairs, share (of the run's pairs), href (of such pairs in the gallery).
    """
    place = pair_rows(sources[PAIR], flipped[PAIR])
    rows = sources[["run_id"]][place >= 0].assign(flip=flipped["flip"].to_numpy()[place[place >= 0]])
    return _counted(rows.rename(columns={"run_id": "group"}), sources["run_id"].value_counts(), gallery)


def flips_by_length(
    flipped: pd.DataFrame, judged: pd.DataFrame, queries: Queries, gallery: str = "", *, n_groups: int = 6
) -> pd.DataFrame:
    """Return the same by the length of the caption, in groups of about as many captions.

    judged: the pairs with a label or in dispute. A query without a text is left out.
    """
    length = queries.set_index("query_id")["text"].str.len()
    n_judged = judged["query_id"].value_counts()
    known = length.reindex(n_judged.index).dropna().astype("int64").sort_values(kind="stable")
    codes = pd.qcut(known, n_groups, labels=False, duplicates="drop").fillna(0)
    ends = known.groupby(codes).agg(["min", "max"])
    names = {code: f"{low}–{high} characters" if low < high else f"{low} characters"
             for code, low, high in ends.itertuples()}  # fmt: skip
    group = codes.map(names)
    rows = flipped.assign(group=flipped["query_id"].map(group)).dropna(subset="group")
    n_pairs = n_judged.groupby(group).sum().reindex(list(names.values()), fill_value=0)
    return _counted(rows[["group", "flip"]], n_pairs, gallery)


def _counted(rows: pd.DataFrame, n_pairs: pd.Series, gallery: str) -> pd.DataFrame:
    """Return a row for each group, in the order of `n_pairs`, and flip."""
    keys = pd.MultiIndex.from_product([n_pairs.index, FLIPS], names=["group", "flip"])
    table = rows.value_counts(["group", "flip"]).reindex(keys, fill_value=0).rename("n_pairs").reset_index()
    share = table["n_pairs"] / table["group"].map(n_pairs).astype("float64")
    links = {flip: f"{gallery}#?only={quote(words)}" if gallery else None for flip, words in FLIPS.items()}
    return table.assign(share=share, href=table["flip"].map(links).astype("object"))


def sets_of_runs(flipped: pd.DataFrame, sources: PoolSources) -> pd.DataFrame:
    """Return by which runs the new positives were pooled: set, run_id, slot, is_in, n_pairs.

    Each new positive that any run pooled belongs to one set: all the runs that pooled it. Sets have numbers
    from 1, the largest first; runs stand by how many they found, then by id; a row for each set and run.
    """
    new = flipped[flipped["flip"] == next(iter(FLIPS))]
    pooled = pooled_by(sources, pair_rows(sources, new), len(new))
    n_found = pooled.sum().sort_values(ascending=False, kind="stable")
    runs = list(n_found.index[n_found > 0])
    found = pooled[runs][pooled.any(axis=1)].to_numpy()
    sets, n_pairs = np.unique(found, axis=0, return_counts=True)
    order = np.argsort(-n_pairs, kind="stable") if runs else np.array([], dtype=np.int64)
    return pd.DataFrame(
        {
            "set": np.repeat(np.arange(1, len(order) + 1), len(runs)),
            "run_id": np.tile(runs, len(order)),
            "slot": np.tile(np.arange(1, len(runs) + 1), len(order)),
            "is_in": sets[order].ravel(),
            "n_pairs": np.repeat(n_pairs[order], len(runs)),
        }
    )


def annotators_beside_others(judgments: Judgments, *, grades: Grades) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return how each annotator judges beside others, and how often every two agree on being positive.

    Misses (not called positive what another calls so) and false alarms (the other way round) are shares of
    votes of other annotators on the same pairs, not of the truth: where one of two is wrong, it counts
    against both.

    Args:
        judgments: their first answers count, see `first_round`.
        grades: label → grade; positive from grade 1, a label whose grade is None is not a vote.

    Returns:
        By annotator_id: n_votes, positive_rate, n_shared (pairs that others voted on too), misses,
        false_alarms (nan where they rest on fewer than 10 of others' votes), seconds (the median). And a, b,
        n_shared, agreement, by a and b, of those with 10 shared pairs or more.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> answers = pd.DataFrame({"query_id": "q", "doc_id": [f"d{n}" for n in range(20) for _ in "uv"],
        ...     "annotator_id": ["u", "v"] * 20, "label": list("11" * 8 + "01" * 2 + "00" * 10)})
        >>> table, two = annotators_beside_others(check_judgments(answers), grades={"0": 0, "1": 1})
        >>> table[["annotator_id", "n_shared", "misses", "false_alarms"]].values.tolist()
        [['u', 20, 0.2, 0.0], ['v', 20, nan, 0.16666666666666666]]
        >>> two.values.tolist()
        [['u', 'v', 20, 0.9]]
    """
    first = first_round(judgments)
    grade = first["label"].map({name: np.nan if each is None else each for name, each in grades.items()})
    votes = first[[*PAIR, "annotator_id", "duration_s"]][grade.notna().to_numpy()]
    votes = votes.assign(is_positive=(grade.dropna() >= 1).to_numpy())
    shared = votes[votes.duplicated(PAIR, keep=False)].drop(columns="duration_s")
    both = shared.merge(shared, on=PAIR, suffixes=("_a", "_b"))
    both = both[both["annotator_id_a"] != both["annotator_id_b"]]
    by = votes.groupby("annotator_id")
    table = pd.DataFrame({"n_votes": by.size(), "positive_rate": by["is_positive"].mean()})
    counts = both.drop_duplicates(["annotator_id_a", *PAIR])["annotator_id_a"].value_counts()
    table["n_shared"] = counts.reindex(table.index, fill_value=0)
    is_other = both["is_positive_a"] != both["is_positive_b"]
    for name, part in (("misses", both["is_positive_b"]), ("false_alarms", ~both["is_positive_b"])):
        share = is_other[part].groupby(both["annotator_id_a"]).agg(["size", "mean"])
        table[name] = share["mean"].where(share["size"] >= _FEW)
    table["seconds"] = by["duration_s"].median()
    once = both[both["annotator_id_a"] < both["annotator_id_b"]]
    keys = [once[f"annotator_id_{side}"].rename(side) for side in "ab"]
    two = (~is_other[once.index]).groupby(keys).agg(n_shared="size", agreement="mean").reset_index()
    return table.reset_index(), two[two["n_shared"] >= _FEW].reset_index(drop=True)
