"""Retrieval in both directions, as image–text and text–video papers print it, whole or over folds."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.measures import parse_measure, restrict_run
from fire_toolkit.measures.defaults import DIRECTION, DIRECTION_CUTOFFS
from fire_toolkit.results import drawn_text
from fire_toolkit.scoring import score_runs
from fire_toolkit.scoring.drawn import score_cell
from fire_toolkit.tables import Qrels, Queries, Run, Scores, check_qrels
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of

WAYS = ("t2i", "i2t")


class Part(NamedTuple):
    """A part of a collection that is scored by itself: its items and texts, and the qrels between them.

    back: the qrels from items (query_id) to texts (doc_id), where they are not `qrels` the other way round.
    """

    items: Sequence[str]
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
    queries: Queries | None = None,
) -> tuple[Scores, list[str]]:
    """Return R@1, 5, 10, MedR and MnR from texts to items and from items to texts, R@Sum and mR; and notes.

    R@K of either direction is C@K: whether any positive of the query stands in the top K. Of an image
    with five captions the best-ranked one counts. A collection may have any number of texts an item, and
    of items a text.

    Args:
        runs: one matrix, which has query_ids, doc_ids and `both_ways` (see `formats.runs.matrices`), or two
            Run tables: texts to items, items to texts.
        qrels: texts (query_id) and their items (doc_id), read the other way round from items to texts. The
            queries of each direction are those that stand in them.
        augmented: the corrected qrels; not together with `back`.
        back: items (query_id) and their texts (doc_id), where these are not `qrels` the other way round: as
            in ECCV Caption, whose images have positives among all captions, and whose queries are some.
        folds: the mean over how many parts, see `make_folds`; None or 1: the whole.
        docs: for folds of two runs: all items, in their order.
        queries: where none has a text, the items are the texts, and i2t comes first.

    Returns:
        Scores as `score_runs` has them, without values per query, under the id of the first run, in the order
        t2i_R@1, …, t2i_MnR, i2t_R@1, …, i2t_MnR, R@Sum, mR. R@Sum is the sum of the six R@K as shares (times
        100, it is the sum of percentages that papers print), mR is R@Sum / 6.

    Raises:
        UsageError: other runs; folds of two runs without `docs`.
        JoinError: as `score_runs`; nothing is positive; without `back`, texts are ranked that `qrels` does
            not hold, so that an item's own text would count as not relevant.

    Source: Faghri et al., VSE++ (BMVC 2018), for R@K of both directions; R@Sum as in SCAN (ECCV 2018).

    Examples:
        >>> from fire_toolkit.matching.ranking import rank_run
        >>> forth = pd.DataFrame({"run_id": "a", "query_id": ["t"], "doc_id": ["i"], "score": [1.0]})
        >>> back = pd.DataFrame({"run_id": "a", "query_id": ["i"], "doc_id": ["t"], "score": [1.0]})
        >>> qrels = check_qrels(pd.DataFrame({"query_id": ["t"], "doc_id": ["i"], "relevance": 1}))
        >>> score_both_ways([rank_run(forth), rank_run(back)], qrels)[0][["measure", "value"]].head(2)
           measure  value
        0  t2i_R@1    1.0
        1  t2i_R@5    1.0
    """
    runs = [runs] if isinstance(runs, pd.DataFrame) else runs
    n, are_tables = len(runs), isinstance(runs[0], pd.DataFrame)
    if n != (2 if are_tables else 1):
        raise UsageError(
            f"{n_of(n, 'run')}; expected one matrix, or two runs (texts to items, items to texts)"
        )
    for run in runs if are_tables else ():
        if len(ids := list(run["run_id"].cat.categories)) != 1:
            raise UsageError(f"{len(ids)} runs in one table ({', '.join(ids[:3])}), expected one a direction")
    items, texts = (docs, ()) if are_tables else (runs[0].doc_ids, runs[0].query_ids)
    parts = [Part(items or (), texts, qrels, augmented, back)]
    if folds not in (None, 0, 1):
        if items is None:
            raise UsageError("folds of two runs need the order of the items; expected docs, or one matrix")
        parts = make_folds(parts[0], folds or 1)
    elif back is None:
        _refuse_unheld_texts(runs[1]["doc_id"].unique() if are_tables else texts, qrels)
    if not are_tables:
        axes, known = [(part.texts, part.items) for part in parts], [_pairs_of(part) for part in parts]
        both = runs[0].both_ways(axes, known, depth=max(DIRECTION_CUTOFFS))
    else:
        both = [runs] if len(parts) == 1 else [_runs_of(part, runs) for part in parts]
    called = WAYS if queries is None or (queries["text"] != "").any() else WAYS[::-1]
    tables, notes = [], []
    for number, ((forth, again), part) in enumerate(zip(both, parts, strict=True), 1):
        scores, own = _score_part(part, forth, again, called)
        tables.append(scores)
        notes += own if len(parts) == 1 else [f"fold {number}: {note}" for note in own]
    means = sum(scores["value"] for scores in tables) / len(tables)  # of MedR, of the medians
    return Scores(tables[0].assign(value=means)), notes


def make_folds(whole: Part, n_folds: int) -> list[Part]:
    """Return a collection in `n_folds` parts of consecutive items, with the texts that belong to them.

    A text is in the fold of its positives, once in each where they lie in several; pairs across folds are
    left out. Where the number does not divide the items, the first folds have one item more. COCO 1K is the
    mean over five folds of the 5,000 test images in the order of the split.

    Args:
        whole: every item, in the collection's order; those without a text are in the way of others' texts.
        n_folds: 1 or more.

    Raises:
        UsageError: more folds than items, or an item given twice.
        JoinError: an item of a positive pair is not among them; a fold has no text.
    """
    docs, _, qrels, augmented, back = whole
    if not 1 <= n_folds <= len(docs) or len(set(docs)) < len(docs):
        raise UsageError(
            f"{n_folds} folds of {len(docs)} docs ({len(set(docs))} different); expected each doc once, and "
            "at most as many folds as docs"
        )
    absent = sorted(set(qrels.loc[qrels["relevance"] >= 1, "doc_id"]) - set(docs))
    if absent:
        lost = f"{n_of(len(absent), 'doc')} of the qrels missing from the list of docs ({absent[0]})"
        raise JoinError(f"{lost}; expected the list of the whole collection")
    folds = []
    for places in np.array_split(np.arange(len(docs)), n_folds):
        items = tuple(docs[place] for place in places)
        texts = set(qrels.loc[(qrels["relevance"] >= 1) & qrels["doc_id"].isin(items), "query_id"])
        if not texts:
            raise JoinError(f"the fold from {items[0]} to {items[-1]} has no text; expected fewer folds")
        if back is not None:
            texts |= set(back.loc[(back["relevance"] >= 1) & back["query_id"].isin(items), "doc_id"])
        own: list[Any] = [
            None if table is None else table[_are_within(table, *sides)].reset_index(drop=True)
            for table, sides in ((qrels, (texts, items)), (augmented, (texts, items)), (back, (items, texts)))
        ]
        folds.append(Part(items, sorted(texts), *own))
    return folds


def turn_qrels(qrels: Qrels) -> Qrels:
    """Return the qrels the other way round: docs as queries, queries as docs."""
    return check_qrels(qrels.rename(columns={"query_id": "doc_id", "doc_id": "query_id"}))


def drawn_directions(scores: Scores, form: str) -> str:
    """Return the scores of both directions as text, shares times 100, sums too."""
    rows = []
    for measure, own in scores.groupby("measure", sort=False):
        name = DIRECTION.get(str(measure).partition("_")[2])
        scale = 1.0 if name and parse_measure(name).definition.unit == "rank" else 100.0
        values = zip(own["qrels"], scale * own["value"], strict=True)
        rows.append([str(measure), score_cell(dict(values))])
    return drawn_text(rows, ["measure", str(scores["run_id"].iloc[0])], form)


def _score_part(
    part: Part, text_to_item: Run, item_to_text: Run, called: Sequence[str]
) -> tuple[Scores, list[str]]:
    """Return the scores of both directions, so called, by the qrels of a part, and notes."""
    augmented, turned, n_added = part.augmented, None, 0
    if augmented is not None:
        is_known = augmented["doc_id"].isin(set(part.qrels["doc_id"]))
        turned, n_added = turn_qrels(Qrels(augmented[is_known])), augmented.loc[~is_known, "doc_id"].nunique()
    ways = (
        (text_to_item, part.qrels, augmented),
        (item_to_text, turn_qrels(part.qrels) if part.back is None else part.back, turned),
    )
    tables, notes = [], []
    for way, (run, own, corrected) in zip(called, ways, strict=True):
        scores, own_notes = score_runs(run, own, list(DIRECTION.values()), augmented=corrected)
        names = scores["measure"].map({measure: name for name, measure in DIRECTION.items()})
        tables.append(scores.assign(measure=way + "_" + names))
        notes += [f"{way}: {note}" for note in own_notes]
    both = pd.concat(tables, ignore_index=True).assign(run_id=str(text_to_item["run_id"].iloc[0]))
    recalls = both[both["measure"].str.contains("_R@", regex=False)]
    total = recalls.groupby(["run_id", "qrels", "query_id"], as_index=False, sort=False)["value"].sum()
    mean = total.assign(measure="mR", value=total["value"] / (2 * len(DIRECTION_CUTOFFS)))
    if n_added:
        notes.append(
            f"{n_added:,} items that only the augmented qrels hold are not queries: no text belongs to them"
        )
    found = pd.concat([both, total.assign(measure="R@Sum"), mean], ignore_index=True)
    return Scores(found[list(both.columns)]), notes


def _pairs_of(part: Part) -> pd.DataFrame:
    """Return the pairs of texts and items that any of the qrels hold."""
    back = None if part.back is None else turn_qrels(part.back)
    tables = [table for table in (part.qrels, part.augmented, back) if table is not None]
    return pd.concat(tables)[PAIR].drop_duplicates()


def _are_within(table: pd.DataFrame, queries: Collection[str], docs: Collection[str]) -> Bools:
    """Return which rows have both their query and their doc among these."""
    is_within = table["query_id"].isin(list(queries)) & table["doc_id"].isin(list(docs))
    return np.asarray(is_within, dtype=bool)


def _runs_of(part: Part, runs: Sequence[Run]) -> list[Run]:
    """Return both runs with the queries and docs of a part alone, ranks closed up."""
    sides = (part.texts, part.items), (part.items, part.texts)
    return [restrict_run(run, _are_within(run, *own)) for run, own in zip(runs, sides, strict=True)]


def _refuse_unheld_texts(texts: Iterable[str], qrels: Qrels) -> None:
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
