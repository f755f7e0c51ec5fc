"""Labels, qrels and what a pool was drawn by, joined to evidence: one row for each pair of any of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import Ints
from fire_toolkit.evidence.facts import TAKEN_OUT, UNJUDGED, check_evidence
from fire_toolkit.evidence.qrels import texts_at
from fire_toolkit.tables import Changes, Disputes, Labels, Pool, Qrels, QueryDesign, QueryLabels
from fire_toolkit.tables.columns import PAIR, arrow_text, code_pairs
from fire_toolkit.tables.design import DESIGN, kinds_of_votes, split_votes
from fire_toolkit.tables.further import SAMPLE

_OF_LABELS = ("label", "method", "n_judgments", "n_agree")


def make_evidence(
    original: Qrels,
    labels: Labels,
    augmented: Qrels,
    changes: Changes,
    *,
    disputes: Disputes | None = None,
    pool: Pool | None = None,
    query_design: QueryDesign | None = None,
    machine_sample: pd.DataFrame | None = None,
    validity: QueryLabels | None = None,
    takes_out: bool = False,
) -> pd.DataFrame:
    """Return one row for each pair that any table holds, as `check_evidence` has it.

    Args:
        original: the original qrels as they count beside labels, all queries.
        labels: the labels, of all queries.
        augmented: the augmented qrels, see `augment_qrels`, and of a sample see `mark_sample`.
        changes: what `augment_qrels` changed.
        disputes: pairs that were judged and have no label.
        pool: what was to be judged, with best ranks, and strata where it is a sample.
        query_design: which queries were drawn to be judged deep.
        machine_sample: what was drawn by a machine judge's score; other strata are not read then.
        validity: which queries are usable.
        takes_out: whether unusable queries count in nothing (`--unusable drop`).
    """
    empty = pd.DataFrame({name: pd.Series(dtype="str") for name in PAIR})
    given = [changes, augmented, original, labels, disputes, pool, machine_sample]
    tables = [empty if each is None else each[PAIR] for each in given]
    codes, table = code_pairs(pd.concat(tables, ignore_index=True))
    ends = np.cumsum([len(each) for each in tables])[:-1]
    rows = [_rows_of(own, len(table)) for own in np.split(codes, ends)]
    of_changes, of_augmented, of_original, of_labels, of_disputes, of_pool, of_sample = rows
    _put(table, "relevance", of_augmented, augmented["relevance"])
    _put(table, "original_relevance", of_original, original["relevance"])
    _put(table, "label_relevance", of_labels, labels["relevance"])
    _put(table, "source", of_changes, changes["source"], default=UNJUDGED)
    table["is_disputed"] = of_disputes >= 0
    for name in _OF_LABELS:
        if name in labels:
            _put(table, name, of_labels, labels[name])
    for voted, own in ((disputes, of_disputes), (labels, of_labels)):
        if voted is not None and set(DESIGN) <= set(voted.columns):
            for name, values in _votes(voted).items():
                _put(table, name, own, values)
    if machine_sample is not None:
        for name in (*SAMPLE, "best_rank", "judge_id"):
            _put(table, name, of_sample, machine_sample[name])
        _put(table, "machine_score", of_sample, machine_sample["score"])
        table["is_drawn"] = np.append(machine_sample["is_drawn"].to_numpy(dtype=bool), False)[of_sample]
    elif "stratum" in augmented:
        _put_strata(table, (of_pool, pool), (of_original, original), (of_augmented, augmented))
    if pool is not None:
        is_found = np.append(pool["best_rank"].notna(), False)[of_pool]
        _put(table, "best_rank", np.where(is_found, of_pool, -1), pool["best_rank"])
    if query_design is not None or validity is not None:
        _put_queries(table, query_design, validity)
    if takes_out:
        is_out = ~table["is_usable"]
        table["source"] = table["source"].mask(is_out, TAKEN_OUT)
    return check_evidence(table)


def _rows_of(codes: Ints, n_pairs: int) -> Ints:
    """Return for each pair the row of a table that holds it, -1 where none does."""
    rows = np.full(n_pairs, -1, dtype=np.int64)
    rows[codes] = np.arange(len(codes))
    return rows


def _put(table: pd.DataFrame, name: str, rows: Ints, values: pd.Series, *, default: str = "") -> None:
    """Set a column to the values in `rows`; elsewhere it stays, at first missing or the default."""
    found: Any
    if pd.api.types.is_numeric_dtype(values.dtype):
        found = np.append(values.to_numpy(dtype=np.float64, na_value=np.nan), np.nan)[rows]
    else:
        texts = arrow_text(values.array).fill_null("")
        found = texts_at(pa.concat_arrays([texts, pa.array([default], texts.type)]), rows % (len(texts) + 1))
    if name in table:
        found = pd.Series(found).where(rows >= 0, table[name]).array
    table[name] = found


def _votes(table: pd.DataFrame) -> dict[str, pd.Series]:
    """Return the design class of each row, its votes by design, and those beyond it."""
    codes, kinds = kinds_of_votes(table)
    split = [(name, *split_votes(name, votes)) for name, votes in kinds]
    parts = zip((*DESIGN, "later_votes"), zip(*[*split, ("", "", "")], strict=True), strict=True)
    return {name: pd.Series(texts_at(each, codes % len(each))) for name, each in parts}


def _put_strata(table: pd.DataFrame, *given: tuple[Ints, pd.DataFrame | None]) -> None:
    """Put the strata of tables, a later one in the place of those before, and what of a sample was drawn."""
    for rows, own in given:
        for name in SAMPLE:
            if own is not None and name in own:
                _put(table, name, rows, own[name])
    of_pool, pool = given[0]
    if pool is not None and SAMPLE[0] in pool:
        table["is_drawn"] = of_pool >= 0


def _put_queries(table: pd.DataFrame, query_design: QueryDesign | None, validity: QueryLabels | None) -> None:
    """Put what is known of whole queries to each of their pairs."""
    queries = table["query_id"]
    if query_design is not None:
        of_query = query_design.set_index("query_id")
        is_drawn = of_query["is_sampled"].astype(bool)
        table["query_depth"] = queries.map(of_query["depth"]).astype("float64")
        chance = of_query["inclusion_probability"].where(is_drawn)
        table["query_probability"] = queries.map(chance).astype("float64")
    if validity is not None:
        unusable = validity.loc[~validity["is_usable"].astype(bool), "query_id"]
        table["is_usable"] = ~queries.isin(unusable)
