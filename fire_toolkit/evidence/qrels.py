"""Original positives and people's labels to augmented qrels, with every change counted apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.evidence.facts import TAKEN_OUT, UNJUDGED
from fire_toolkit.evidence.making import SHARED, SOURCES, make_evidence
from fire_toolkit.results import Result
from fire_toolkit.tables import Changes, Labels, Qrels
from fire_toolkit.tables.further import SAMPLE
from fire_toolkit.words import n_of


class _Augmented(NamedTuple):
    qrels: Qrels
    changes: Changes


class Augmented(_Augmented, Result):
    """What `augment_qrels` returns: the augmented qrels, and what changed.

    original_grade: the grade that original positives were given; None: they have that of their file. They
    are to be compared with what `originals_beside` returns.
    """

    original_grade: int | None = None

    @property
    def notes(self) -> Sequence[object]:
        """Return which grade original positives were given, if any."""
        grade = self.original_grade
        return () if grade is None else (f"original positives count at grade {grade}",)


def augment_qrels(
    original: Qrels, labels: Labels, *, policy: str = "union", original_grade: int | None = None
) -> Augmented:
    """Return the qrels that hold both the original relevances and the labels, and what changed.

    A pair is positive from relevance 1. The source of a pair says what became of it:

    - `original`: in the original qrels and not labelled; its relevance stays, be it positive, an
      explicit 0, or −1 (pooled, not judged);
    - `confirmed`, `rejected`: an original positive labelled positive, or not;
    - `new`, `irrelevant`: any other pair (absent, 0 or −1 in the original qrels) labelled positive, or not;
    - `shared`: such a pair that nobody judged, and whose label is another's (column shared_from of labels).

    Args:
        original: the benchmark's qrels; column source is not used.
        labels: one relevance a judged pair; disputes are no labels and stay unjudged.
        policy: what a label does to an original relevance. `union`: the higher of the two stands, so no
            original positive is lost (the FIRE paper's rule); `override`: the label's stands, so a
            rejected original becomes 0; `drop`: as union, but rejected originals leave the qrels and
            count as unjudged. A query whose only pair is dropped leaves the qrels with it.
        original_grade: at which original positives count, where the original qrels have one grade for all;
            None: see `originals_beside`.

    Returns:
        The augmented Qrels (pairs labelled not relevant are written with their grade, 0, so that they
        count as judged; with strata where the original qrels have them, a new pair in none) and Changes:
        one row for each pair of either table, relevance missing where the pair was dropped. Both by
        query_id and doc_id. No labels: the original qrels, all `original`.

    Raises:
        UsageError: an unknown policy; a grade for originals that have several (see `originals_beside`).
        JoinError: labels on a query that the original qrels do not have, or on captions alone.

    Examples:
        >>> from fire_toolkit.tables import check_labels, check_qrels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": 1}))
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b", "c", "d"], "label": "x", "relevance": [0, 1, 0]}))
        >>> augment_qrels(original, labels)[0]
          query_id doc_id  relevance      source
        0        q      a          1    original
        1        q      b          1    rejected
        2        q      c          1         new
        3        q      d          0  irrelevant
        >>> graded = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b", "c"], "label": "x", "relevance": [2, 3]}))
        >>> augment_qrels(original, graded)[0]
          query_id doc_id  relevance     source
        0        q      a          3   original
        1        q      b          3  confirmed
        2        q      c          3        new
    """
    lifted, grade = originals_beside(original, labels, grade=original_grade)
    pairs = make_evidence(lifted, labels, policy=policy)
    augmented = Augmented(augmented_of(pairs), changes_of(pairs))
    augmented.original_grade = grade
    return augmented


def rows_where(pairs: pd.DataFrame, is_kept: pd.Series[bool]) -> pd.DataFrame:
    """Return some of the rows, with a fresh index; all of them without a copy."""
    mask = is_kept.to_numpy()
    if mask.all():
        return pairs.reset_index(drop=True)
    return pd.DataFrame({name: values.array[mask] for name, values in pairs.items()}, copy=False)


def augmented_of(pairs: pd.DataFrame) -> Qrels:
    """Return the augmented qrels of evidence, with strata where the pool was a sample by ranks.

    A pair that could be drawn and has no label (relevance below 0) is `new` in them, unless an original.
    """
    strata = [name for name in SAMPLE if name in pairs and "judge_id" not in pairs]
    names = ["query_id", "doc_id", "relevance", "source", *strata]
    found = rows_where(pairs[names], pairs["relevance"].notna())
    found["relevance"] = found["relevance"].astype("int64")
    if (is_open := found["relevance"] < 0).any():
        found["source"] = found["source"].mask(is_open & (found["source"] != "original"), "new")
    return Qrels(found)


def changes_of(pairs: pd.DataFrame) -> Changes:
    """Return what became of each pair of either qrels; its relevance is missing where it was dropped."""
    names = ["query_id", "doc_id", "original_relevance", "label_relevance", "relevance", "source"]
    return Changes(rows_where(pairs[names], ~pairs["source"].isin([UNJUDGED, TAKEN_OUT])))


def highest_grade(qrels: pd.DataFrame) -> int:
    """Return the highest relevance of qrels or labels, 0 where there is no positive."""
    return max(int(qrels["relevance"].max()), 0) if len(qrels) else 0


def originals_beside(
    original: Qrels, labels: Labels | None = None, *, grade: int | None = None
) -> tuple[Qrels, int | None]:
    """Return original qrels with all positives at one grade, as they count beside labels, and that grade.

    A benchmark's own pair was written as a full match, so beside labels of 0 to 3 it counts as 3, not as the
    1 of its file, which would make it the poorest of all matches. Positives that all have the grade already
    stay as they are, and so do all where it is None.

    Args:
        grade: None: the highest of the labels, where these have grades above 1 and the original qrels none.

    Raises:
        UsageError: the grade is below 1; the qrels have grades of their own.

    Examples:
        >>> from fire_toolkit.tables import check_qrels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "relevance": [1, 0]}))
        >>> originals_beside(original, grade=3)[0]["relevance"].tolist()
        [3, 0]
    """
    highest = highest_grade(labels) if grade is None and labels is not None else 1
    grade = highest if highest > 1 and highest_grade(original) <= 1 else grade
    relevance = original["relevance"]
    if grade is not None and grade < 1:
        raise UsageError(f"the grade of original positives is {grade}; expected 1 or more")
    if grade is None or (relevance[relevance >= 1] == grade).all():
        return original, grade
    if highest_grade(original) > 1:
        raise UsageError(
            f"the original qrels have grades of their own, up to {highest_grade(original)}; a grade for all "
            "positives is for qrels where they have 1"
        )
    return Qrels(original.assign(relevance=relevance.where(relevance < 1, grade))), grade


def change_counts(changes: Changes) -> dict[str, int]:
    """Return how many pairs each source has: confirmations are never counted as new positives.

    Returns:
        original, confirmed, rejected (together the original positives), new, irrelevant, and
        original_not_positive: pairs that stand in the original qrels with a relevance below 1 and were
        not labelled. Sources without a pair count 0. Where labels were shared also shared (pairs that
        nobody judged, apart from new and irrelevant) and shared_positive, those of them that are positive.

    Examples:
        >>> from fire_toolkit.tables import check_changes
        >>> change_counts(check_changes(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a", "b"], "original_relevance": [1, None],
        ...     "label_relevance": [None, 1], "relevance": 1, "source": ["original", "new"]})))
        {'original': 1, 'confirmed': 0, 'rejected': 0, 'new': 1, 'irrelevant': 0, 'original_not_positive': 0}
    """
    not_positive = (changes["source"] == "original") & (changes["original_relevance"] < 1)
    counted = changes.loc[~not_positive, "source"].value_counts()
    counts = {source: int(counted.get(source, 0)) for source in SOURCES}
    counts["original_not_positive"] = int(not_positive.sum())
    if n_shared := int(counted.get(SHARED, 0)):
        is_positive = (changes["source"] == SHARED) & (changes["relevance"] >= 1)
        counts |= {"shared": n_shared, "shared_positive": int(is_positive.sum())}
    return counts


def words_of_shared(counts: Mapping[str, Any]) -> list[str]:
    """Return what rests on labels of other pairs (`resolve --share-judgments`)."""
    return [
        f"{n_of(counts['shared'], 'label')} shared by pairs that are alike, {counts['shared_positive']:,} of "
        "them positive: nobody judged these pairs"
    ]
