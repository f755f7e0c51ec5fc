"""The original qrels, labels and what a pool was drawn by, joined: one row for each pair of any of them."""

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fire_toolkit.arrays import Bools, Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.evidence.facts import TAKEN_OUT, UNJUDGED, check_evidence
from fire_toolkit.tables import ALONE, Disputes, Labels, Pool, Qrels, QueryDesign, QueryLabels
from fire_toolkit.tables.columns import PAIR, are_in, arrow_text, code_pairs
from fire_toolkit.tables.design import DESIGN, kinds_of_votes, split_votes
from fire_toolkit.tables.further import DEEP, ORIGINAL, SAMPLE, SHALLOW

POLICIES = ("union", "override", "drop")
MACHINE = "machine"  # source machine:JUDGE: a label of no person
SHARED = "shared"
SOURCES = ("original", "confirmed", "rejected", "new", "irrelevant")
_WITHOUT = {SHARED: "`resolve` without --share-judgments", MACHINE: "`augment` without --include-machine"}
_OF_LABELS = ("label", "method", "n_judgments", "n_agree")


def make_evidence(
    original: Qrels,
    labels: Labels,
    *,
    policy: str = "union",
    disputes: Disputes | None = None,
    pool: Pool | None = None,
    undrawn: pd.DataFrame | None = None,
    query_design: QueryDesign | None = None,
    machine_sample: pd.DataFrame | None = None,
    validity: QueryLabels | None = None,
    takes_out: bool = False,
    answers: pd.DataFrame | None = None,
    judge: str = "",
) -> pd.DataFrame:
    """Return one row for each pair that any table holds, as `check_evidence` has it.

    The augmented qrels, and what changed in them, are parts of it: `augmented_of` and `changes_of`. Of a pool
    that is a sample, pairs of sampled strata (ranks, such as `11:50:0.1`) that were not drawn, or have no
    label yet, get relevance -1 (pooled, not judged), as TREC's sampled qrels have them.

    Args:
        original: the original qrels as they count beside labels (see `originals_beside`), all queries.
        labels: the labels, of all queries.
        policy: what a label does to an original relevance, see `augment_qrels`.
        disputes: pairs that were judged and have no label.
        pool: what was to be judged, with best ranks, and strata where it is a sample.
        undrawn: the pairs of the pool's strata that were not drawn, with the same columns; None: none.
        query_design: which queries were drawn to be judged deep.
        machine_sample: what was drawn by a machine judge's score; other strata are not read then.
        validity: which queries are usable.
        takes_out: whether unusable queries count in nothing (`--unusable drop`).
        answers: query_id, doc_id and relevance (1 or 0) by a machine judge. They count for pairs that neither
            qrels nor labels hold and that are not in dispute, of queries of the augmented qrels.
        judge: its name: the source of such a pair is `machine:JUDGE`.

    Raises:
        UsageError: an unknown policy; queries are to be taken out of a sample, whose estimates need them all.
        JoinError: labels on a query that the original qrels do not have; labels or answers on captions
            alone; a pool's sample or a machine's answers beside original qrels that have strata; a pair that
            was labelled and not drawn.

    Examples:
        >>> from fire_toolkit.tables import check_labels, check_pool, check_qrels
        >>> original = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["a"], "relevance": 1}))
        >>> labels = check_labels(pd.DataFrame(
        ...     {"query_id": "q", "doc_id": ["b"], "label": "x", "relevance": [0]}))
        >>> drawn = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "stratum": "1:9:.5"})
        >>> pool = check_pool(drawn.assign(inclusion_probability=0.5))
        >>> found = make_evidence(original, labels, pool=pool, undrawn=pool[:1].assign(doc_id="c"))
        >>> found[["doc_id", "relevance", "source", "stratum", "is_drawn"]]
          doc_id  relevance      source stratum  is_drawn
        0      a          1    original  1:9:.5      True
        1      b          0  irrelevant  1:9:.5      True
        2      c         -1    unjudged  1:9:.5     False
    """
    is_sampled = pool is not None and {*SAMPLE} <= {*pool} and machine_sample is None
    _refuse(original, labels, policy, answers, judge)
    if (is_sampled or machine_sample is not None) and "stratum" in original:
        raise JoinError(
            "the original qrels have strata, and so has the pool; a sample of two designs gives no estimate"
        )
    if (is_sampled or machine_sample is not None) and takes_out:
        raise UsageError(
            "the pool is a sample, and estimates from it need all of its queries; take --unusable flag, "
            "which gives scores with and without the unusable ones"
        )
    given = {
        "original": original,
        "labels": labels,
        "disputes": disputes,
        "pool": pool,
        "sample": machine_sample,
        "undrawn": undrawn if is_sampled else None,
        "answers": answers,
    }
    join = _Join(given)
    rows = join.rows
    if query_design is not None or validity is not None:
        _put_queries(join.table, query_design, validity)
    join.put("original_relevance", original["relevance"], rows["original"])
    join.put("label_relevance", labels["relevance"], rows["labels"])
    _put_relevance(join, policy, takes_out=takes_out)
    if answers is not None:
        _put_answers(join, judge)
        rows = join.rows
    if is_sampled:
        _put_undrawn(join)
    join.table["is_disputed"] = rows["disputes"] >= 0
    for column in (name for name in _OF_LABELS if name in labels):
        join.put(column, labels[column], rows["labels"])
    for name, voted in (("disputes", disputes), ("labels", labels)):
        if voted is not None and {*DESIGN} <= {*voted}:
            _put_votes(join, voted, rows[name])
    if machine_sample is not None or is_sampled or "stratum" in original:
        _put_sample(join)
    if pool is not None:
        join.put("best_rank", pool["best_rank"], rows["pool"])
    return check_evidence(join.table)


class _Join:
    """The distinct pairs of tables, by query_id, then doc_id, and which row of each table is a pair's.

    given: the tables by name. table: the pairs, and the columns that were put. rows: of each name -1 where
    the table does not hold the pair; all are -1 of a table that is None.
    """

    def __init__(self, given: dict[str, Any]) -> None:
        tables = {name: each for name, each in given.items() if each is not None}
        codes, self.table = code_pairs(pd.concat([each[PAIR] for each in tables.values()], ignore_index=True))
        ends = np.cumsum([len(each) for each in tables.values()])[:-1]
        self.given = tables
        self.rows: dict[str, Ints] = {name: np.full(len(self.table), -1, dtype=np.int64) for name in given}
        for name, own in zip(tables, np.split(codes, ends), strict=True):
            self.rows[name][own] = np.arange(len(own))

    def put(self, column: str, values: pd.Series, rows: Ints) -> None:
        """Set a column to the values in `rows`; where that is -1, or a number missing, it stays as it was.

        At first all is missing.
        """
        found: Any
        if pd.api.types.is_numeric_dtype(values.dtype):
            own = values.to_numpy(dtype=np.float64, na_value=np.nan)
            found = np.append(own, np.nan)[rows]
            is_there = ~np.isnan(found)
        else:
            texts = arrow_text(values.array).fill_null("")
            whole = pa.concat_arrays([texts, pa.array([""], texts.type)])
            found, is_there = pd.array(whole.take(pa.array(rows % len(whole))), dtype="str"), rows >= 0
        if column in self.table:
            found = pd.Series(found).where(is_there, self.table[column]).array
        self.table[column] = found


def _refuse(original: Qrels, labels: Labels, policy: str, answers: pd.DataFrame | None, judge: str) -> None:
    """Raise where labels or a machine's answers are none for these qrels, or the policy is unknown."""
    if policy not in POLICIES:
        raise UsageError(f"policy {policy!r} is unknown; expected one of {', '.join(POLICIES)}")
    unknown = labels.loc[~are_in(labels["query_id"], original["query_id"]), "query_id"].unique()
    if len(unknown):
        raise JoinError(
            f"labels: {len(unknown)} of {labels['query_id'].nunique()} queries are not in the original qrels "
            f"({', '.join(unknown[:3])}); expected labels for the same collection: bring these queries back, "
            "or give labels without them, as in --labels FILE"
        )
    for what, table in (("labels", labels), (f"judge {judge!r}", answers)):
        if table is not None and (table["doc_id"] == ALONE).any():
            raise JoinError(
                f"{what}: doc {ALONE!r} marks captions that were judged alone; they say nothing of pairs of "
                "a caption and an item, expected those of a campaign on pairs"
            )
    if answers is not None and "stratum" in original:
        raise JoinError("the qrels have strata; a machine's labels are not a sample, leave them out")


def _put_relevance(join: _Join, policy: str, *, takes_out: bool) -> None:
    """Put what becomes of each pair under the policy, by what originals and labels say of it."""
    table = join.table
    before, labelled = (table[f"{name}_relevance"].to_numpy() for name in ("original", "label"))
    was_positive, is_positive, is_labelled = before >= 1, labelled >= 1, ~np.isnan(labelled)
    is_shared: Bools = np.zeros(len(before), dtype=bool)
    if "shared_from" in join.given["labels"]:
        shared = join.given["labels"]["shared_from"].fillna("").ne("").to_numpy()
        is_shared = np.append(shared, False)[join.rows["labels"]] & ~was_positive
    kinds = {
        TAKEN_OUT: ~join.table["is_usable"].to_numpy() if takes_out else np.zeros(len(before), dtype=bool),
        UNJUDGED: ~is_labelled & np.isnan(before),
        "original": ~is_labelled,
        SHARED: is_shared,
        "confirmed": was_positive & is_positive,
        "rejected": was_positive,
        "new": is_positive,
    }
    relevance = np.fmax(before, labelled)
    if policy == "override":
        relevance = np.where(is_labelled, labelled, before)
    elif policy == "drop":
        relevance[was_positive & is_labelled & ~is_positive] = np.nan
    relevance[kinds[TAKEN_OUT]] = np.nan
    table["relevance"] = relevance
    codes = np.select(list(kinds.values()), range(len(kinds)), default=len(kinds))
    join.put("source", pd.Series([*kinds, "irrelevant"], dtype="str"), codes)


def _put_answers(join: _Join, judge: str) -> None:
    """Put a machine's answers to pairs that nobody judged; leave out pairs that only other answers name."""
    table, rows, answers = join.table, join.rows["answers"], join.given["answers"]
    in_use = are_in(table["query_id"], table.loc[table["relevance"].notna(), "query_id"])
    is_open = (table["source"] == UNJUDGED).to_numpy() & (join.rows["disputes"] < 0)
    has = (rows >= 0) & is_open & in_use
    table.loc[has, "relevance"] = answers["relevance"].to_numpy(dtype=np.float64)[rows[has]]
    table.loc[has, "source"] = f"{MACHINE}:{judge}"
    others = [rows >= 0 for name, rows in join.rows.items() if name != "answers"]
    is_kept = np.any([has, *others], axis=0)
    join.table = table[is_kept].reset_index(drop=True)
    join.rows = {name: rows[is_kept] for name, rows in join.rows.items()}


def _put_undrawn(join: _Join) -> None:
    """Put relevance -1 to pairs of sampled strata that have none; refuse labels of pairs not drawn."""
    table, strata = join.table, join.given["pool"]["stratum"]
    is_odd = (join.rows["undrawn"] >= 0) & ~table["source"].isin(["original", UNJUDGED]).to_numpy()
    if is_odd.any():
        first = join.given["undrawn"][PAIR].iloc[join.rows["undrawn"][is_odd].min()]
        kinds = table.loc[is_odd, "source"].str.partition(":")[0].unique()
        raise JoinError(
            f"labels: {is_odd.sum():,} pairs were not drawn by the pool's sample (first: {' '.join(first)}); "
            "a sample of two designs gives no estimate, expected labels of the pairs drawn"
            + "".join(f", as of {_WITHOUT[kind]}" for kind in kinds if kind in _WITHOUT)
        )
    is_sampled = np.append(~strata.isin([SHALLOW, DEEP, ORIGINAL]).to_numpy(), False)[join.rows["pool"]]
    is_open = table["relevance"].isna().to_numpy() & (is_sampled | (join.rows["undrawn"] >= 0))
    table.loc[is_open, "relevance"] = -1


def _put_sample(join: _Join) -> None:
    """Put of which sample pairs are, and whether they were drawn; a machine's, else people's by strata."""
    given, rows = join.given, join.rows
    of_people = ("pool", "original", "undrawn")
    for name in ("sample",) if "sample" in given else (name for name in of_people if name in given):
        for column in (column for column in (*SAMPLE, "judge_id") if column in given[name]):
            join.put(column, given[name][column], rows[name])
    if "sample" in given:
        sample = given["sample"]
        join.put("best_rank", sample["best_rank"], rows["sample"])
        join.put("machine_score", sample["score"], rows["sample"])
        is_drawn = np.append(sample["is_drawn"].to_numpy(dtype=bool), False)
        join.table["is_drawn"] = is_drawn[rows["sample"]]
    elif "pool" in given and SAMPLE[0] in given["pool"]:
        join.table["is_drawn"] = rows["pool"] >= 0


def _put_votes(join: _Join, voted: pd.DataFrame, rows: Ints) -> None:
    """Put the design class of each pair of a table with votes, its votes by design, and those beyond it."""
    codes, kinds = kinds_of_votes(voted)
    split = [(kind, *split_votes(kind, votes)) for kind, votes in kinds]
    parts = zip((*DESIGN, "later_votes"), zip(*[*split, ("", "", "")], strict=True), strict=True)
    for column, each in parts:
        join.put(column, pd.Series(each, dtype="str"), np.append(codes % len(each), -1)[rows])


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
