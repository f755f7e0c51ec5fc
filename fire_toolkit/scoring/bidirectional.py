"""Retrieval in both directions, as image–text and text–video papers print it, whole or over folds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.measures import parse_measure, restrict_run
from fire_toolkit.measures.defaults import DIRECTION, DIRECTION_CUTOFFS
from fire_toolkit.results import drawn_text
from fire_toolkit.scoring import Note, Scoring, score_runs
from fire_toolkit.scoring.drawn import score_cell
from fire_toolkit.tables import Qrels, Run, Scores, check_qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of


class Fold(NamedTuple):
    """A part of a collection that is scored by itself: its docs and texts, and the qrels between them.

    back: the qrels from items (query_id) to texts (doc_id), where they are not `qrels` the other way round.
    """

    docs: Sequence[str]
    texts: Sequence[str]
    qrels: Qrels
    augmented: Qrels | None = None
    back: Qrels | None = None


def score_both_ways(
    runs: Any,
    qrels: Qrels,
    augmented: Qrels | None = None,
    *,
    back: Qrels | None = None,
    folds: int | None = None,
    docs: Sequence[str] | None = None,
) -> tuple[Scores, list[str]]:
    """Return scores of both directions as `score_directions` has them, or their means over folds, and notes.

    Args:
        runs: one matrix, which has query_ids, doc_ids and `both_ways` (see `formats.runs.matrices`), or two
            Run tables: texts to items, items to texts.
        qrels, augmented, back: as in `score_directions`.
        folds: how many, of consecutive items; None or 1: the whole.
        docs: for folds of two runs: all items, in their order.

    Raises:
        UsageError: other runs; folds of two runs without `docs`.
    """
    n = len(runs)
    if n not in (1, 2) or (n == 1) is isinstance(runs[0], pd.DataFrame):
        raise UsageError(
            f"{n_of(n, 'run')}; expected one matrix, or two runs (texts to items, items to texts)"
        )
    items = runs[0].doc_ids if n == 1 else docs
    parts = [Fold(items or (), runs[0].query_ids if n == 1 else (), qrels, augmented, back)]
    if is_in_folds := folds not in (None, 0, 1):
        if items is None:
            raise UsageError("folds of two runs need the order of the items; expected docs, or one matrix")
        parts = make_folds(qrels, list(items), folds or 1, augmented=augmented, back=back)
    elif n == 1 and back is None:
        refuse_unheld_texts(runs[0].query_ids, qrels)
    if n == 1:
        axes, known = [(part.texts, part.docs) for part in parts], [_pairs_of(part) for part in parts]
        both = runs[0].both_ways(axes, known, depth=max(DIRECTION_CUTOFFS))
    else:
        both = [fold_runs(runs[0], runs[1], part) for part in parts] if is_in_folds else [runs]
    scorings = [
        score_directions(there, again, part.qrels, augmented=part.augmented, back=part.back)
        for (there, again), part in zip(both, parts, strict=True)
    ]
    scores, notes = scorings[0]
    if not is_in_folds:
        return scores, [str(note) for note in notes]
    means = sum(scoring.scores["value"] for scoring in scorings) / len(scorings)  # of MedR, of the medians
    told = [str(note.of(f"fold {n}")) for n, scoring in enumerate(scorings, 1) for note in scoring.notes]
    return Scores(scores.assign(value=means)), told


def _pairs_of(part: Fold) -> pd.DataFrame:
    """Return the pairs of texts and items that any of the qrels hold."""
    back = None if part.back is None else turn_qrels(part.back)
    tables = [table for table in (part.qrels, part.augmented, back) if table is not None]
    return pd.concat(tables)[PAIR].drop_duplicates()


def drawn_directions(scores: Scores, form: str) -> str:
    """Return the scores of both directions as text, shares times 100, sums too."""
    rows = []
    for measure, own in scores.groupby("measure", sort=False):
        scale = 100.0 if is_share(str(measure)) else 1.0
        values = zip(own["qrels"], scale * own["value"], strict=True)
        rows.append([str(measure), score_cell(dict(values))])
    return drawn_text(rows, ["measure", str(scores["run_id"].iloc[0])], form)


def score_directions(
    text_to_item: Run,
    item_to_text: Run,
    qrels: Qrels,
    *,
    augmented: Qrels | None = None,
    back: Qrels | None = None,
) -> Scoring:
    """Return R@1, 5, 10, MedR and MnR from texts to items and from items to texts, R@Sum and mR.

    R@K of either direction is C@K: whether any positive of the query stands in the top K. Of an image
    with five captions the best-ranked one counts. A collection may have any number of texts an item, and
    of items a text.

    Args:
        text_to_item: one run whose queries are texts and whose docs are items.
        item_to_text: one run whose queries are items and whose docs are texts.
        qrels: texts (query_id) and their items (doc_id); read the other way round for `item_to_text`.
            The queries of each direction are those that stand in them.
        augmented: the corrected qrels; not together with `back`.
        back: items (query_id) and their texts (doc_id), where these are not `qrels` the other way round: as
            in ECCV Caption, whose images have positives among all captions, and whose queries are some.

    Returns:
        `scores` as `score_runs` has them, without values per query, under the id of `text_to_item`, in
        the order t2i_R@1, …, t2i_MnR, i2t_R@1, …, i2t_MnR, R@Sum, mR. R@Sum is the sum of the six R@K
        as shares (times 100, it is the sum of percentages that papers print), mR is R@Sum / 6.

    Raises:
        UsageError: a table holds no run or several; `augmented` and `back` are both given.
        JoinError: as `score_runs`; nothing is positive; without `back`, texts are ranked that `qrels` does
            not hold, so that an item's own text would count as not relevant.

    Source: Faghri et al., VSE++ (BMVC 2018), for R@K of both directions; R@Sum as in SCAN (ECCV 2018).

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> forth = pd.DataFrame({"run_id": "a", "query_id": ["t"], "doc_id": ["i"], "score": [1.0]})
        >>> back = pd.DataFrame({"run_id": "a", "query_id": ["i"], "doc_id": ["t"], "score": [1.0]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["t"], "doc_id": ["i"], "relevance": 1}))
        >>> scores = score_directions(rank_run(forth), rank_run(back), qrels).scores
        >>> scores[["measure", "value"]].head(2)
           measure  value
        0  t2i_R@1    1.0
        1  t2i_R@5    1.0
    """
    for run in (text_to_item, item_to_text):
        ids = list(run["run_id"].cat.categories)
        if len(ids) != 1:
            raise UsageError(f"{len(ids)} runs in one table ({', '.join(ids[:3])}), expected one a direction")
    if back is not None and augmented is not None:
        raise UsageError("qrels of the other direction do not go with augmented qrels; score without one")
    if back is None:
        refuse_unheld_texts(item_to_text["doc_id"].unique(), qrels)
    parts, notes = [], []
    turned = added = None
    if augmented is not None:
        is_known = augmented["doc_id"].isin(set(qrels["doc_id"]))
        turned, added = turn_qrels(Qrels(augmented[is_known])), augmented.loc[~is_known, "doc_id"]
    ways = (
        ("t2i", text_to_item, qrels, augmented),
        ("i2t", item_to_text, turn_qrels(qrels) if back is None else back, turned),
    )
    for way, run, own, corrected in ways:
        scores, own_notes = score_runs(run, own, list(DIRECTION.values()), augmented=corrected)
        names = scores["measure"].map({measure: name for name, measure in DIRECTION.items()})
        parts.append(scores.assign(measure=way + "_" + names))
        notes += [note.of(way) for note in own_notes]
    scores = pd.concat(parts, ignore_index=True).assign(run_id=str(text_to_item["run_id"].iloc[0]))
    recalls = scores[scores["measure"].str.contains("_R@", regex=False)]
    total = recalls.groupby(["run_id", "qrels", "query_id"], as_index=False, sort=False)["value"].sum()
    mean = total.assign(measure="mR", value=total["value"] / (2 * len(DIRECTION_CUTOFFS)))
    found = pd.concat([scores, total.assign(measure="R@Sum"), mean], ignore_index=True)
    if added is not None and (n_added := int(added.nunique())):
        text = "items that only the augmented qrels hold are not queries: no text belongs to them"
        notes.append(Note("extra", "", "augmented", n_added, f"{n_added:,} {text}"))
    return Scoring(Scores(found[list(scores.columns)]), tuple(notes))


def is_share(measure: str) -> bool:
    """Whether a measure of `score_directions` is a share, or a sum or mean of shares, and no rank.

    Examples:
        >>> is_share("t2i_R@1"), is_share("R@Sum"), is_share("i2t_MedR")
        (True, True, False)
    """
    own = DIRECTION.get(measure.partition("_")[2])
    return own is None or parse_measure(own).definition.unit == "share"


def refuse_unheld_texts(texts: Iterable[str], qrels: Qrels) -> None:
    """Raise a JoinError when texts are ranked of which the qrels do not say where they belong.

    Where the qrels hold none of them, the run is another's, which scoring refuses in its own words.
    """
    held, ranked = set(qrels["query_id"]), list(texts)
    unheld = [text for text in ranked if text not in held]
    if 0 < len(unheld) < len(ranked):
        raise JoinError(
            f"{len(unheld):,} texts are ranked that are not queries of the qrels ({', '.join(unheld[:3])}): "
            "an item's own text among them would count as wrong. Give the qrels from items to texts "
            "(--back), or rank the texts of the qrels alone"
        )


def turn_qrels(qrels: Qrels) -> Qrels:
    """Return the qrels the other way round: docs as queries, queries as docs."""
    return check_qrels(qrels.rename(columns={"query_id": "doc_id", "doc_id": "query_id"}))


def make_folds(
    qrels: Qrels,
    docs: Sequence[str],
    n_folds: int,
    *,
    augmented: Qrels | None = None,
    back: Qrels | None = None,
) -> list[Fold]:
    """Return the collection in `n_folds` parts of consecutive docs, with the texts that belong to them.

    A text is in the fold of its positives, once in each where they lie in several. COCO 1K is the mean
    over five folds of the 5,000 test images in the order of the split.

    Args:
        qrels: the original qrels, which say where a text belongs.
        docs: every doc, in the collection's order; those without a text are in the way of others' texts.
        n_folds: 1 or more; where it does not divide the docs, the first folds have one doc more.
        augmented: the corrected qrels; pairs across folds are left out.
        back: the qrels from items to texts; pairs across folds are left out.

    Raises:
        UsageError: more folds than docs, or a doc given twice.
        JoinError: a doc of a positive pair is not among `docs`; a fold has no text.
    """
    if not 1 <= n_folds <= len(docs) or len(set(docs)) < len(docs):
        raise UsageError(
            f"{n_folds} folds of {len(docs)} docs ({len(set(docs))} different); expected each doc once, and "
            "at most as many folds as docs"
        )
    absent = sorted(set(qrels.loc[qrels["relevance"] >= 1, "doc_id"]) - set(docs))
    if absent:
        raise JoinError(f"{len(absent):,} docs of the qrels are not in the order of the docs ({absent[0]})")
    folds = []
    for part in np.array_split(np.arange(len(docs)), n_folds):
        items = tuple(docs[place] for place in part)
        positive = qrels[(qrels["relevance"] >= 1) & qrels["doc_id"].isin(items)]
        if positive.empty:
            raise JoinError(f"the fold from {items[0]} to {items[-1]} has no text; expected fewer folds")
        texts = set(positive["query_id"])
        if back is not None:
            texts |= set(back.loc[(back["relevance"] >= 1) & back["query_id"].isin(items), "doc_id"])
        given = (qrels, "query_id", "doc_id"), (augmented, "query_id", "doc_id"), (back, "doc_id", "query_id")
        own: list[Any] = [
            None
            if each is None
            else each[each[text].isin(texts) & each[item].isin(items)].reset_index(drop=True)
            for each, text, item in given
        ]
        folds.append(Fold(items, sorted(texts), *own))
    return folds


def fold_runs(text_to_item: Run, item_to_text: Run, fold: Fold) -> tuple[Run, Run]:
    """Return both runs with the fold's queries and docs alone, ranks closed up."""
    is_there, is_back = (
        (run[text].isin(fold.texts) & run[item].isin(list(fold.docs))).to_numpy(dtype=bool)
        for run, text, item in ((text_to_item, "query_id", "doc_id"), (item_to_text, "doc_id", "query_id"))
    )
    return restrict_run(text_to_item, is_there), restrict_run(item_to_text, is_back)
