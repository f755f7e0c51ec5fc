"""What changed between two releases: relevance and labels of pairs, and scores of the same runs."""

from typing import NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.reporting.templates import rendered
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import PAIR

DISPUTE = "dispute"  # in the place of a label
_SIDES = ("before", "after")
_LABELS = ["label_before", "label_after"]
_SCORE = ["run_id", "measure"]
# What becomes of the relevance of a pair, and of its label.
_OF_RELEVANCE = ("added", "removed", "raised", "lowered")
_OF_LABEL = ("disputed", "settled", "unlabelled", "labelled", "relabelled")


class Version(NamedTuple):
    """What is compared of a release: its corrected qrels and other tables, None where it has none.

    scores: in their long form, of which the rows of qrels `augmented` and query `all` are compared, but for
    runs that are other files. runs: file, sha256.
    """

    qrels: Qrels
    labels: pd.DataFrame | None = None
    disputes: pd.DataFrame | None = None
    scores: pd.DataFrame | None = None
    runs: pd.DataFrame | None = None

    @property
    def told(self) -> pd.DataFrame | None:
        """The label of each pair, `dispute` for each in dispute: query_id, doc_id, label."""
        if self.labels is None or self.disputes is None:
            return None
        tables = (self.labels, self.disputes.assign(label=DISPUTE))
        return pd.concat([table[[*PAIR, "label"]].astype("str") for table in tables], ignore_index=True)


class ReleaseChanges(NamedTuple):
    """What changed between two releases.

    pairs: query_id, doc_id, before, after (relevance, missing where the qrels do not have the pair), change,
    label_before, label_after (empty: no label). change: of the relevance (`added`, `removed`, `raised`,
    `lowered`), else of the label alone (`labelled`, `unlabelled`, `relabelled`, `disputed`, `settled`).
    scores: run_id, measure, before, after, by the corrected labels of each; before or after is nan where only
    the other has the run and measure; equal ones are left out. in_words: how many changed in each way, of
    their relevance and of their label.
    """

    pairs: pd.DataFrame
    scores: pd.DataFrame
    in_words: str

    @property
    def rows(self) -> pd.DataFrame:
        """Both as one table: kind (pair or score), their keys, before and after, of pairs the labels too."""
        names = ["kind", *PAIR, *_SCORE, *_SIDES, *_LABELS]
        both = [
            table.assign(kind=kind)
            .astype(dict.fromkeys(_SIDES, "Float64"))
            .reindex(columns=names, fill_value="")
            for kind, table in (("pair", self.pairs), ("score", self.scores))
            if len(table)
        ]
        return pd.concat(both, ignore_index=True) if both else pd.DataFrame({name: [] for name in names})

    @property
    def shown_scores(self) -> list[list[str]]:
        """Run, measure, and the score before and after, of each that changed; empty: none there."""
        rows = self.scores.to_numpy().tolist()
        return [[run, name, *("" if v != v else f"{v:.4f}" for v in values)] for run, name, *values in rows]


def compare_releases(old: Version, new: Version) -> ReleaseChanges:
    """Return what changed from one release to the next.

    Returns:
        Both tables by their keys; empty where nothing changed. Labels are compared where both have them.

    Examples:
        >>> from fire_toolkit.tables import check_qrels
        >>> def version(labels, **pairs):
        ...     told = pd.DataFrame({"query_id": "q", "doc_id": list(labels), "label": labels.values()})
        ...     both = told, told[:0]  # no disputes
        ...     return Version(check_qrels(pd.DataFrame(
        ...         {"query_id": "q", "doc_id": list(pairs), "relevance": list(pairs.values())})), *both)
        >>> found = compare_releases(version({"a": "yes", "b": "no"}, a=1, b=0, c=1),
        ...                          version({"a": "dispute", "b": "yes"}, a=1, b=1, d=0))
        >>> found.pairs[["doc_id", "change", "label_after"]].values.tolist()
        [['a', 'disputed', 'dispute'], ['b', 'raised', 'yes'], ['c', 'removed', ''], ['d', 'added', '']]
    """
    labels = [None if old.told is None or new.told is None else each.told for each in (old, new)]
    found = pd.DataFrame({name: pd.Series(dtype="str") for name in PAIR})
    for side, version, own in zip(_SIDES, (old, new), labels, strict=True):
        grades = version.qrels[[*PAIR, "relevance"]].astype({"relevance": "Int64"})
        found = found.merge(grades.rename(columns={"relevance": side}), on=PAIR, how="outer")
        told = found[PAIR].assign(label="") if own is None else own
        found = found.merge(told.rename(columns={"label": f"label_{side}"}), on=PAIR, how="outer")
    found = found.fillna(dict.fromkeys(_LABELS, ""))
    before, after = (found[side].to_numpy(np.float64, na_value=np.nan) for side in _SIDES)
    was, now = (found[name] for name in _LABELS)
    is_of_relevance = [np.isnan(before) & ~np.isnan(after), np.isnan(after) & ~np.isnan(before),
                       after > before, after < before]  # fmt: skip
    is_of_label = [
        (was != now) & rule for rule in (now == DISPUTE, was == DISPUTE, now == "", was == "", True)
    ]
    of_relevance = np.select(is_of_relevance, _OF_RELEVANCE, "")
    of_label = np.select(is_of_label, _OF_LABEL, "")
    change = np.where(of_relevance == "", of_label, of_relevance)
    pairs = found.assign(change=change)[[*PAIR, *_SIDES, "change", *_LABELS]]
    pairs = pairs[pairs["change"] != ""].sort_values(PAIR, ignore_index=True)
    scores = _scores(old, new)
    n = {name: int((of_relevance == name).sum()) for name in _OF_RELEVANCE}
    n |= {name: int((of_label == name).sum()) for name in _OF_LABEL} | {"scores": len(scores)}
    n["runs"] = len(_other_files(old, new))
    return ReleaseChanges(pairs, scores, rendered("release", "templates/changes.txt", n=n))


def _other_files(old: Version, new: Version) -> list[str]:
    """Return the runs whose file has the name that it had, and other content."""
    if old.runs is None or new.runs is None:
        return []
    both = old.runs.merge(new.runs, on="file")
    return [name.rpartition(".")[0] for name in both.loc[both["sha256_x"] != both["sha256_y"], "file"]]


def _scores(old: Version, new: Version) -> pd.DataFrame:
    if old.scores is None or new.scores is None:
        return pd.DataFrame({name: [] for name in (*_SCORE, *_SIDES)})
    before, after = (
        table.loc[(table["qrels"] == "augmented") & (table["query_id"] == "all"), [*_SCORE, "value"]]
        for table in (old.scores, new.scores)
    )
    both = before.merge(after, on=_SCORE, how="outer", suffixes=("_old", "_new"))
    both = both[~both["run_id"].isin(_other_files(old, new))]
    both = both.rename(columns={"value_old": "before", "value_new": "after"})
    is_same = (both["before"] == both["after"]) | (both["before"].isna() & both["after"].isna())
    return both[~is_same].sort_values(_SCORE, ignore_index=True)
