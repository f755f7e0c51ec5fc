"""Original positives and people's labels to augmented qrels, with every change counted apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.results import Result
from fire_toolkit.tables import ALONE, Changes, Labels, Pool, Qrels, check_changes, check_qrels
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows
from fire_toolkit.tables.further import DEEP, ORIGINAL, SAMPLE, SHALLOW
from fire_toolkit.words import n_of

POLICIES = ("union", "override", "drop")
MACHINE = "machine"  # source machine:JUDGE: a label of no person
SOURCES = ("original", "confirmed", "rejected", "new", "irrelevant")
SHARED = "shared"


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
        >>> from fire_toolkit.tables import check_labels
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
    if policy not in POLICIES:
        raise UsageError(f"policy {policy!r} is unknown; expected one of {', '.join(POLICIES)}")
    unknown = labels.loc[~are_in(labels["query_id"], original["query_id"]), "query_id"].unique()
    if len(unknown):
        raise JoinError(
            f"labels: {len(unknown)} of {labels['query_id'].nunique()} queries are not in the original qrels "
            f"({', '.join(unknown[:3])}); expected labels for the same collection"
        )
    _refuse_alone(labels["doc_id"], "labels")
    original, grade = originals_beside(original, labels, grade=original_grade)
    rows = pair_rows(labels, original)
    is_labelled = np.zeros(len(original), dtype=bool)
    is_labelled[rows[rows >= 0]] = True
    rest = np.flatnonzero(~is_labelled)
    before = np.append(original["relevance"].to_numpy(dtype=np.float64), np.nan)[np.append(rows, rest)]
    labelled = np.append(labels["relevance"].to_numpy(dtype=np.float64), np.full(len(rest), np.nan))
    was_positive, is_positive = before >= 1, labelled >= 1
    kinds = [np.isnan(labelled), was_positive & is_positive, was_positive, is_positive]
    source = np.select(kinds, range(len(kinds)), default=len(kinds))
    if "shared_from" in labels:
        is_shared = np.append(labels["shared_from"].fillna("").ne("").to_numpy(), np.full(len(rest), False))
        source[is_shared & ~was_positive & ~np.isnan(labelled)] = len(SOURCES)
    relevance = np.fmax(before, labelled)
    if policy == "override":
        relevance = np.where(np.isnan(labelled), before, labelled)
    elif policy == "drop":
        relevance[source == SOURCES.index("rejected")] = np.nan
    pairs = pd.concat([labels[PAIR], original[PAIR].iloc[rest]], ignore_index=True).assign(
        original_relevance=before,
        label_relevance=labelled,
        relevance=relevance,
        source=texts_at([*SOURCES, SHARED], source),
    )
    changes = check_changes(pairs)
    kept = changes[changes["relevance"].notna()][["query_id", "doc_id", "relevance", "source"]]
    if "stratum" in original:
        rows = pair_rows(kept, original)
        strata = np.append(original["stratum"].to_numpy(dtype=object), "")[rows]
        kept = kept.assign(stratum=pd.array(strata, dtype="str"))
    augmented = Augmented(check_qrels(kept), changes)
    augmented.original_grade = grade
    return augmented


def texts_at(distinct: Any, codes: Ints) -> Any:
    """Return the text of each code as an array of a column; distinct: texts, a sequence or `arrow_text`."""
    return pd.array(pa.array(distinct, pa.large_string()).take(pa.array(codes)), dtype="str")


def _refuse_alone(doc_ids: pd.Series, what: str) -> None:
    if (doc_ids == ALONE).any():
        raise JoinError(
            f"{what}: doc {ALONE!r} marks captions that were judged alone; they say nothing of pairs of a "
            "caption and an item, expected those of a campaign on pairs"
        )


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


def include_machine(
    augmented: Augmented, answers: pd.DataFrame, *, judge: str, left_out: pd.DataFrame | None = None
) -> Augmented:
    """Return augmented qrels with a machine judge's labels where there are no people's.

    They stand apart from labels by their source, `machine:JUDGE`. A pair that either qrels hold, or of a
    query that the original qrels do not have, stays as it is.

    Args:
        answers: query_id, doc_id and relevance, 1 or 0.
        judge: its name.
        left_out: pairs that people have not settled (disputes); None: none.

    Raises:
        JoinError: the qrels have strata; a machine's labels are not a sample. The answers are about captions
            that it saw alone.

    Examples:
        >>> from fire_toolkit.tables import check_labels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a"], "relevance": 1}))
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b"], "label": "x", "relevance": [0]}))
        >>> answers = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b", "c"], "relevance": [0, 1, 1]})
        >>> include_machine(augment_qrels(original, labels), answers, judge="vlm")[0]
          query_id doc_id  relevance       source
        0        q      a          1     original
        1        q      b          0   irrelevant
        2        q      c          1  machine:vlm
    """
    qrels, changes = augmented
    _refuse_alone(answers["doc_id"], f"judge {judge!r}")
    if "stratum" in qrels:
        raise JoinError("the qrels have strata; a machine's labels are not a sample, leave them out")
    is_new = (pair_rows(answers, changes) < 0) & are_in(answers["query_id"], qrels["query_id"])
    if left_out is not None and len(left_out):
        is_new &= pair_rows(answers, left_out) < 0
    added = answers.loc[is_new, [*PAIR, "relevance"]].assign(source=f"{MACHINE}:{judge}")
    unknown = added.assign(original_relevance=np.nan, label_relevance=np.nan)
    both = pd.concat([qrels, added], ignore_index=True)
    found = Augmented(check_qrels(both), check_changes(pd.concat([changes, unknown], ignore_index=True)))
    found.original_grade = augmented.original_grade
    return found


def mark_sample(qrels: Qrels, pool: Pool, undrawn: pd.DataFrame | None = None) -> Qrels:
    """Return augmented qrels with the stratum and the inclusion probability of each pair of a sampled pool.

    Args:
        qrels: original and augmented pairs.
        pool: with the columns stratum and inclusion_probability.
        undrawn: the pairs of its strata that were not drawn, with the same columns; None: none.

    Returns:
        The qrels; what is in neither table is in no stratum. Pairs of sampled strata (ranks, such as
        `11:50:0.1`) that were not drawn, or have no label yet, are added with relevance −1 (pooled, not
        judged), as TREC's sampled qrels have them.

    Raises:
        JoinError: the original qrels have strata of their own; a pair was labelled and not drawn.

    Examples:
        >>> from fire_toolkit.tables import check_pool, check_qrels
        >>> drawn = check_pool(pd.DataFrame({
        ...     "query_id": "q", "doc_id": ["a"], "stratum": "1:9:0.5", "inclusion_probability": 0.5}))
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a"], "relevance": 1}))
        >>> mark_sample(qrels, drawn, drawn.assign(doc_id="b"))
          query_id doc_id  relevance    source  stratum  inclusion_probability
        0        q      a          1  original  1:9:0.5                    0.5
        1        q      b         -1       new  1:9:0.5                    0.5
    """
    if "stratum" in qrels:
        raise JoinError(
            "the original qrels have strata, and so has the pool; a sample of two designs gives no estimate"
        )
    left = pool.iloc[:0] if undrawn is None else undrawn
    rows = pair_rows(left, qrels)
    labelled = left[rows >= 0][(qrels["source"].to_numpy()[rows[rows >= 0]] != "original")]
    if len(labelled):
        pair = " ".join(labelled[PAIR].iloc[0])
        raise JoinError(
            f"labels: {len(labelled):,} pairs were not drawn by the pool's sample (first: {pair}); a sample "
            "of two designs gives no estimate, expected labels of the pairs drawn"
            + (", as of `resolve` without --share-judgments" if (qrels["source"] == SHARED).any() else "")
        )
    sampled = pool[~pool["stratum"].isin([SHALLOW, DEEP, ORIGINAL])]
    added = pd.concat([sampled[[*PAIR, *SAMPLE]], left[[*PAIR, *SAMPLE]]], ignore_index=True)
    added = added[pair_rows(added, qrels) < 0].assign(relevance=-1, source="new")
    rows = pair_rows(qrels, pool)
    stratum = pd.array(np.append(pool["stratum"].to_numpy(dtype=object), "")[rows], dtype="str")
    chance = np.append(pool["inclusion_probability"].to_numpy(), np.nan)[rows]
    marked: pd.DataFrame = qrels.assign(stratum=stratum, inclusion_probability=chance)
    return check_qrels(pd.concat([marked, added], ignore_index=True))


def change_counts(changes: Changes) -> dict[str, int]:
    """Return how many pairs each source has: confirmations are never counted as new positives.

    Returns:
        original, confirmed, rejected (together the original positives), new, irrelevant, and
        original_not_positive: pairs that stand in the original qrels with a relevance below 1 and were
        not labelled. Sources without a pair count 0. Where labels were shared also shared (pairs that
        nobody judged, apart from new and irrelevant) and shared_positive, those of them that are positive.

    Examples:
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
    """Return what rests on labels of other pairs (`resolve --share-judgments`); nothing where none does."""
    if not counts.get("shared"):
        return []
    return [
        f"{n_of(counts['shared'], 'label')} shared by pairs that are alike, {counts['shared_positive']:,} of "
        "them positive: nobody judged these pairs"
    ]
