"""What changed between two releases: relevance and labels of pairs, and scores of the same runs."""

from __future__ import annotations

from typing import NamedTuple

import pandas as pd

from fire_toolkit.reporting.templates import rendered
from fire_toolkit.results import Result
from fire_toolkit.tables import Qrels
from fire_toolkit.tables.columns import PAIR

DISPUTE = "dispute"  # in the place of a label
_SIDES = ("before", "after")
_SHOWN = ["query_id", "doc_id", *_SIDES, "change", "label_before", "label_after"]
_SCORE = ["run_id", "measure"]


class Version(NamedTuple):
    """What is compared of a release: corrected qrels; labels and scores, None where it has none.

    labels: query_id, doc_id, label; `dispute` for a pair in dispute. scores: in their long form, of which
    the rows of qrels `augmented` and query `all` are compared.
    """

    qrels: Qrels
    labels: pd.DataFrame | None = None
    scores: pd.DataFrame | None = None


def labels_with_disputes(labels: pd.DataFrame, disputes: pd.DataFrame) -> pd.DataFrame:
    """Return the label of each pair, `dispute` for each in dispute: query_id, doc_id, label."""
    tables = (labels, disputes.assign(label=DISPUTE))
    return pd.concat([table[[*PAIR, "label"]].astype("str") for table in tables], ignore_index=True)


class _ReleaseChanges(NamedTuple):
    pairs: pd.DataFrame
    scores: pd.DataFrame


class ReleaseChanges(_ReleaseChanges, Result):
    """What changed between two releases.

    pairs: query_id, doc_id, before, after (relevance, missing where the qrels do not have the pair), change,
    label_before, label_after (empty: no label). change: of the relevance (`added`, `removed`, `raised`,
    `lowered`), else of the label alone (`labelled`, `unlabelled`, `relabelled`, `disputed`, `settled`).
    scores: run_id, measure, before, after, by the corrected labels of each; before or after is nan where only
    the other has the run and measure; equal ones are left out.
    """

    __slots__ = ()

    @property
    def counts(self) -> dict[str, int]:
        """How many pairs changed in each way, of their relevance and of their label, and how many scores."""
        kinds = ("added", "removed", "raised", "lowered")
        of_label = ("labelled", "unlabelled", "relabelled", "disputed", "settled")
        found = [self.pairs["change"].isin([kind]).sum() for kind in kinds]
        found += [_of_label(self.pairs).isin([kind]).sum() for kind in of_label]
        return dict(zip((*kinds, *of_label), map(int, found), strict=True)) | {"scores": len(self.scores)}

    @property
    def in_words(self) -> str:
        """The same as a sentence."""
        return rendered("release", "templates/changes.txt", n=self.counts)

    @property
    def rows(self) -> pd.DataFrame:
        """Both as one table: kind (pair or score), their keys, before and after, of pairs the labels too."""
        names = ["kind", *PAIR, *_SCORE, *_SIDES, "label_before", "label_after"]
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
        ...     return Version(check_qrels(pd.DataFrame(
        ...         {"query_id": "q", "doc_id": list(pairs), "relevance": list(pairs.values())})), told)
        >>> found = compare_releases(version({"a": "yes", "b": "no"}, a=1, b=0, c=1),
        ...                          version({"a": "dispute", "b": "yes"}, a=1, b=1, d=0))
        >>> found.pairs[["doc_id", "change", "label_after"]].values.tolist()
        [['a', 'disputed', 'dispute'], ['b', 'raised', 'yes'], ['c', 'removed', ''], ['d', 'added', '']]
    """
    return ReleaseChanges(_pairs(old, new), _scores(old, new))


def _pairs(old: Version, new: Version) -> pd.DataFrame:
    have_labels = old.labels is not None and new.labels is not None
    found = pd.DataFrame({name: pd.Series(dtype="str") for name in PAIR})
    for side, version in zip(_SIDES, (old, new), strict=True):
        grades = version.qrels[[*PAIR, "relevance"]].astype({"relevance": "Int64"})
        found = found.merge(grades.rename(columns={"relevance": side}), on=PAIR, how="outer")
        labels = (
            version.labels if have_labels and version.labels is not None else found[PAIR].assign(label="")
        )
        found = found.merge(labels.rename(columns={"label": f"label_{side}"}), on=PAIR, how="outer")
    found = found.fillna({"label_before": "", "label_after": ""})
    change = _of_label(found)
    change[found["before"].isna() & found["after"].notna()] = "added"
    change[found["after"].isna() & found["before"].notna()] = "removed"
    change[(found["after"] > found["before"]).fillna(False)] = "raised"
    change[(found["after"] < found["before"]).fillna(False)] = "lowered"
    found = found.assign(change=change)[_SHOWN]
    return found[found["change"] != ""].sort_values(PAIR, ignore_index=True)


def _of_label(pairs: pd.DataFrame) -> pd.Series:
    """Return what became of each pair's label; empty where it stayed."""
    before, after = pairs["label_before"], pairs["label_after"]
    change = pd.Series("relabelled", index=pairs.index, dtype="str")
    change[before == ""] = "labelled"
    change[after == ""] = "unlabelled"
    change[before == DISPUTE] = "settled"
    change[after == DISPUTE] = "disputed"
    change[before == after] = ""
    return change


def _scores(old: Version, new: Version) -> pd.DataFrame:
    if old.scores is None or new.scores is None:
        return pd.DataFrame({name: [] for name in (*_SCORE, *_SIDES)})
    before, after = (
        table.loc[(table["qrels"] == "augmented") & (table["query_id"] == "all"), [*_SCORE, "value"]]
        for table in (old.scores, new.scores)
    )
    both = before.merge(after, on=_SCORE, how="outer", suffixes=("_old", "_new"))
    both = both.rename(columns={"value_old": "before", "value_new": "after"})
    is_same = (both["before"] == both["after"]) | (both["before"].isna() & both["after"].isna())
    return both[~is_same].sort_values(_SCORE, ignore_index=True)
