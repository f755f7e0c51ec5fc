"""Every table's columns, dtypes, keys and row order, in one place.

A table is a plain `pandas.DataFrame` that went through its `check_*` function once, where it was
made; the name of the type (`Run`, `Qrels`, ...) says so to the reader and to the type checker.
Ids are strings, kept exactly as written (`007`, `NA` and `q:1|x` are ids like any other). All failures of a
table are gathered into one message with a count and examples.
"""

from __future__ import annotations

from typing import NewType

import numpy as np
import pandas as pd

from fire_toolkit.errors import UsageError
from fire_toolkit.tables.checks import Column, TableSpec, check_table
from fire_toolkit.tables.designs import QUERY_DESIGN as QUERY_DESIGN
from fire_toolkit.tables.designs import SAMPLED, SEED, check_one_design
from fire_toolkit.tables.designs import QueryDesign as QueryDesign
from fire_toolkit.tables.designs import check_query_design as check_query_design
from fire_toolkit.tables.machine import MACHINE_JUDGMENTS as MACHINE_JUDGMENTS
from fire_toolkit.tables.machine import MachineJudgments as MachineJudgments
from fire_toolkit.tables.machine import check_machine_judgments as check_machine_judgments

Queries = NewType("Queries", pd.DataFrame)
Items = NewType("Items", pd.DataFrame)
Run = NewType("Run", pd.DataFrame)
Pool = NewType("Pool", pd.DataFrame)
PoolSources = NewType("PoolSources", pd.DataFrame)
Tasks = NewType("Tasks", pd.DataFrame)
Judgments = NewType("Judgments", pd.DataFrame)
Dropped = NewType("Dropped", pd.DataFrame)
Labels = NewType("Labels", pd.DataFrame)
Disputes = NewType("Disputes", pd.DataFrame)
Qrels = NewType("Qrels", pd.DataFrame)
Changes = NewType("Changes", pd.DataFrame)
Scores = NewType("Scores", pd.DataFrame)  # a measure's aggregate over queries has the query id `all`
Agreement = NewType("Agreement", pd.DataFrame)
Comparisons = NewType("Comparisons", pd.DataFrame)


# What a label rests on: the share of votes for it; its probability under a model.
SUPPORT = ("vote_share", "posterior")
ELSEWHERE = "elsewhere"  # the kind of a judgment that was not asked by this toolkit's campaign at all
UNASSIGNED = "unassigned"  # the kind of a judgment that was not asked of its annotator
FOURTH = "fourth"  # the kind of a vote that only tests whether errors are independent


def _ids(*names: str) -> tuple[Column, ...]:
    return tuple(Column(name, "id") for name in names)


QUERIES = TableSpec(
    "queries",
    (Column("query_id", "id"), Column("text", "text")),
    ("query_id",),
    extra=True,
    as_given=True,
)
ITEMS = TableSpec(
    "items",
    (
        Column("doc_id", "id"),
        Column("media_url", "text"),
        Column("start_s", "float", optional=True, missing=True, minimum=0, default=np.nan),
        Column("end_s", "float", optional=True, missing=True, minimum=0, default=np.nan),
    ),
    ("doc_id",),
    extra=True,
    as_given=True,
)
RUN = TableSpec(
    "run",
    (
        Column("run_id", "coded_id"),
        Column("query_id", "coded_id"),
        Column("doc_id", "coded_id"),
        Column("rank", "int", minimum=1),
        Column("score", "float", finite=True),
    ),
    ("run_id", "query_id", "doc_id"),
    order=("run_id", "query_id", "rank"),
)
POOL = TableSpec(
    "pool",
    (
        *_ids("query_id", "doc_id"),
        Column("best_rank", "int", optional=True, missing=True, minimum=1, default=pd.NA),
        Column("n_runs", "int", optional=True, missing=True, minimum=0, default=pd.NA),
        Column("is_original", "bool", optional=True, missing=True, default=pd.NA),
        Column("round", "int", optional=True, minimum=1, default=1),
        Column("is_judged", "bool", rare=True),
        *SAMPLED,
        SEED,
    ),
    ("query_id", "doc_id"),
    extra=True,
)
POOL_SOURCES = TableSpec(
    "pool sources",
    (*_ids("query_id", "doc_id", "run_id"), Column("rank", "int", minimum=1)),
    ("query_id", "doc_id", "run_id"),
)
TASKS = TableSpec(
    "tasks",
    (
        Column("pair_id", "id"),
        *_ids("query_id", "doc_id"),
        Column("text", "text"),
        Column("media_url", "text"),
        Column("reference_url", "text", rare=True),
        Column("guideline", "id"),
        Column("batch", "int", minimum=1),
        Column("position", "int", minimum=1),
        Column("round", "int", optional=True, minimum=1, default=1),
    ),
    ("pair_id", "batch"),
    order=("batch", "position"),
)
JUDGMENTS = TableSpec(
    "judgments",
    (
        *_ids("query_id", "doc_id", "annotator_id"),
        Column("label", "id"),
        Column("created_at", "text", optional=True, missing=True),
        Column("duration_s", "float", optional=True, missing=True, minimum=0, default=np.nan),
        Column("flags", "text", optional=True, missing=True),
        Column("comment", "text", optional=True, missing=True),
        Column("origin", "text", optional=True, missing=True),
    ),
    ("annotator_id", "query_id", "doc_id"),
    order=("query_id", "doc_id", "annotator_id"),
    extra=True,
)
DROPPED = TableSpec(
    "dropped",
    (
        *(Column(name, "text", missing=True) for name in ("query_id", "doc_id", "annotator_id", "label")),
        Column("reason", "text"),
        Column("detail", "text", missing=True),
        Column("created_at", "text", missing=True),
    ),
    (),
)
LABELS = TableSpec(
    "labels",
    (
        *_ids("query_id", "doc_id"),
        Column("label", "id"),
        Column("relevance", "int"),
        Column("method", "text", optional=True, missing=True),
        Column("n_judgments", "int", optional=True, missing=True, minimum=0, default=pd.NA),
        Column("n_agree", "int", optional=True, missing=True, minimum=0, default=pd.NA),
        *(Column(name, "float", rare=True, missing=True, minimum=0) for name in SUPPORT),
    ),
    ("query_id", "doc_id"),
    extra=True,
)
DISPUTES = TableSpec(
    "disputes", (*_ids("query_id", "doc_id"), Column("reason", "text")), ("query_id", "doc_id"), extra=True
)
QRELS = TableSpec(
    "qrels",
    (
        *_ids("query_id", "doc_id"),
        Column("relevance", "int"),
        Column("source", "text", optional=True, missing=True, default="original"),
        *SAMPLED,
    ),
    ("query_id", "doc_id"),
)
CHANGES = TableSpec(
    "changes",
    (
        *_ids("query_id", "doc_id"),
        Column("original_relevance", "int", missing=True),
        Column("label_relevance", "int", missing=True),
        Column("relevance", "int", missing=True),
        Column("source", "text"),
    ),
    ("query_id", "doc_id"),
)
SCORES = TableSpec(
    "scores",
    (
        Column("run_id", "id"),
        Column("qrels", "text"),
        Column("query_id", "id"),
        Column("measure", "id"),
        Column("value", "float", missing=True),
    ),
    ("run_id", "query_id", "measure", "qrels"),
    as_given=True,
)
AGREEMENT = TableSpec(
    "agreement",
    (
        Column("group", "text", missing=True),
        Column("statistic", "id"),
        Column("level", "text"),
        Column("value", "float", missing=True),
        *(Column(name, "int", minimum=0) for name in ("n_units", "n_pairable", "n_annotators")),
        Column("note", "text", missing=True),
    ),
    ("group", "statistic"),
    extra=True,
    as_given=True,
)
COMPARISONS = TableSpec(
    "comparisons",
    (
        *_ids("run_a", "run_b", "query_id", "measure"),
        Column("value", "float", missing=True),
    ),
    ("run_a", "run_b", "query_id", "measure"),
    as_given=True,
)


def check_queries(table: pd.DataFrame, *, where: str = "") -> Queries:
    """Return `table` as Queries, or raise `TableError` with all that is wrong with it.

    text: the caption; further columns are kept (aspects of a query, say). Rows keep the order given:
    it is the order of a matrix's rows.
    """
    return Queries(check_table(QUERIES, table, where=where))


def check_items(table: pd.DataFrame, *, where: str = "") -> Items:
    """Return `table` as Items, or raise `TableError` with all that is wrong with it.

    media_url: where the item is; start_s, end_s: the part of it that counts, seconds, may be missing.
    Rows keep the order given: it is the order of a matrix's columns.
    """
    return Items(check_table(ITEMS, table, where=where))


def check_run(table: pd.DataFrame, *, where: str = "") -> Run:
    """Return `table` as Run, or raise `TableError` with all that is wrong with it.

    rank: 1..n by score descending, doc id descending (see `matching.ranking`); score: finite. Ids are
    categories whose categories are sorted strings.
    """
    return Run(check_table(RUN, table, where=where))


def check_pool(table: pd.DataFrame, *, where: str = "") -> Pool:
    """Return `table` as Pool, or raise `TableError` with all that is wrong with it.

    best_rank: over the runs that pooled the pair, missing for an original no run found;
    n_runs: how many pooled it; is_original: missing when no original qrels were given; round: in which
    the pair was or is first asked, from 1; is_judged: where earlier judgments were known when it was
    pooled. Of a sample: stratum, the part of the pool that was drawn with one chance;
    inclusion_probability, that chance; seed, of the draw. Further columns are kept.
    """
    return Pool(check_one_design(check_table(POOL, table, where=where), where=where or POOL.name))


def check_pool_sources(table: pd.DataFrame, *, where: str = "") -> PoolSources:
    """Return `table` as PoolSources, or raise `TableError` with all that is wrong with it.

    rank: of the doc in that run; one row for each run that pooled the pair.
    """
    return PoolSources(check_table(POOL_SOURCES, table, where=where))


def check_tasks(table: pd.DataFrame, *, where: str = "") -> Tasks:
    """Return `table` as Tasks, or raise `TableError` with all that is wrong with it.

    pair_id: see `campaign.tasks.pair_id`; batch: 1 for the first judgment of a pair, 2 for the second of
    doubled pairs; position: 1-based place in the batch.
    """
    return Tasks(check_table(TASKS, table, where=where))


def check_judgments(table: pd.DataFrame, *, where: str = "") -> Judgments:
    """Return `table` as Judgments, or raise `TableError` with all that is wrong with it.

    label: a label of the guideline; created_at: UTC, ISO 8601; duration_s; flags: joined by `;`.
    Further columns are kept. One row for each annotator and pair.
    """
    return Judgments(check_table(JUDGMENTS, table, where=where))


def asked_judgments(judgments: Judgments) -> Judgments:
    """Return the judgments that were asked of their annotator, in the order given.

    An answer of kind `unassigned` was given to somebody else's task, whose answer may have been seen; one of
    kind `fourth` tests votes. Neither is a vote nor part of agreement.

    Args:
        judgments: without a column kind all are returned.
    """
    if "kind" not in judgments.columns:
        return judgments
    return Judgments(judgments[~judgments["kind"].isin([UNASSIGNED, FOURTH])].reset_index(drop=True))


def first_round(judgments: Judgments) -> Judgments:
    """Return the judgments of each pair's first round, which were asked without knowing any answer.

    A pair is asked again because of its earlier answers, so later answers are a biased sample: they make
    agreement too high or too low, depending on how the pairs were chosen.

    Args:
        judgments: with a column round (whole numbers), else all are returned; with a column kind,
            answers that were not asked of their annotator are left out too, see `asked_judgments`.

    Returns:
        The rows kept, in the order given.

    Raises:
        UsageError: a round that is not a whole number.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": "q", "doc_id": list("aaab"), "annotator_id": list("uvwu"),
        ...     "label": list("1010"), "round": [1, 1, 2, 2]}))
        >>> first_round(judgments)[["doc_id", "annotator_id", "round"]].values.tolist()
        [['a', 'u', 1], ['a', 'v', 1], ['b', 'u', 2]]
    """
    asked = asked_judgments(judgments)
    if "round" not in asked.columns:
        return asked
    number = asked["round"]
    if number.dtype.kind not in "iu":
        if not all(str(value).isdecimal() for value in number.unique()):
            raise UsageError(
                "judgments: round has values that are not whole numbers, so the first round is unknown"
            )
        number = number.astype(np.int64)
    if number.nunique() > 1:
        first = number.groupby([asked[name] for name in ("query_id", "doc_id")], sort=False).transform("min")
        asked = asked[number == first]
    return Judgments(asked.reset_index(drop=True))


def repeated_answers(judgments: Judgments, superseded: Dropped) -> pd.DataFrame:
    """Return each superseded answer that has one of its annotator in its place, whose label is label_now."""
    key = list(JUDGMENTS.key)
    return superseded.merge(judgments[[*key, "label"]], on=key, suffixes=("", "_now"))


def check_dropped(table: pd.DataFrame, *, where: str = "") -> Dropped:
    """Return `table` as Dropped, or raise `TableError` with all that is wrong with it.

    what an import left out: reason is one word, detail says more.
    """
    return Dropped(check_table(DROPPED, table, where=where))


def check_labels(table: pd.DataFrame, *, where: str = "") -> Labels:
    """Return `table` as Labels, or raise `TableError` with all that is wrong with it.

    relevance: the label's grade; method: the rule; n_judgments: votes; n_agree: votes for the label;
    what the label rests on, by the rule, in [0, 1]: vote_share (n_agree / n_judgments), or
    posterior (the label's probability under a model of annotators, which is as good as that model). Further
    columns are kept (rounds, say).
    """
    return Labels(check_table(LABELS, table, where=where))


def check_disputes(table: pd.DataFrame, *, where: str = "") -> Disputes:
    """Return `table` as Disputes, or raise `TableError` with all that is wrong with it.

    reason; then one count column for each label.
    """
    return Disputes(check_table(DISPUTES, table, where=where))


def check_qrels(table: pd.DataFrame, *, where: str = "") -> Qrels:
    """Return `table` as Qrels, or raise `TableError` with all that is wrong with it.

    relevance: grade, positive from 1; below 0: pooled, not judged; source: original, confirmed,
    new, rejected, irrelevant. A column stratum stays where there is one: the part of the pool that the
    pair belongs to, of which all, or a random sample, was judged; missing: a part of its own; and beside
    it inclusion_probability, the chance with which its pairs were drawn.
    """
    return Qrels(check_one_design(check_table(QRELS, table, where=where), where=where or QRELS.name))


def check_changes(table: pd.DataFrame, *, where: str = "") -> Changes:
    """Return `table` as Changes, or raise `TableError` with all that is wrong with it.

    original_relevance and label_relevance: missing where there is none; relevance: what the augmented
    qrels hold, missing when the pair was dropped; source as in qrels.
    """
    return Changes(check_table(CHANGES, table, where=where))
