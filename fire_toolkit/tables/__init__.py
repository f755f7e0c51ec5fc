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
from fire_toolkit.tables.checks import Column, TableSpec, checks_as, columns_of, if_any, rare
from fire_toolkit.tables.designs import QUERY_DESIGN as QUERY_DESIGN
from fire_toolkit.tables.designs import SAMPLED, SEED, refuse_two_designs
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

_PAIR = columns_of("id", "query_id", "doc_id")
_ROUND = Column("round", "int", optional=True, minimum=1, default=1)

QUERIES = TableSpec(
    "queries",
    (*columns_of("id", "query_id"), *columns_of("text", "text")),
    ("query_id",),
    extra=True,
    as_given=True,
    about="""text: the caption; further columns are kept (aspects of a query, say). Rows keep the order given:
    it is the order of a matrix's rows.""",
)
ITEMS = TableSpec(
    "items",
    (
        Column("doc_id", "id"),
        Column("media_url", "text"),
        *if_any("float", "start_s", "end_s", minimum=0),
    ),
    ("doc_id",),
    extra=True,
    as_given=True,
    about="""media_url: where the item is; start_s, end_s: the part of it that counts, seconds, may be
    missing. Rows keep the order given: it is the order of a matrix's columns.""",
)
RUN = TableSpec(
    "run",
    (
        *columns_of("coded_id", "run_id", "query_id", "doc_id"),
        Column("rank", "int", minimum=1),
        Column("score", "float", finite=True),
    ),
    ("run_id", "query_id", "doc_id"),
    order=("run_id", "query_id", "rank"),
    about="""rank: 1..n by score descending, doc id descending (see `matching.ranking`); score: finite. Ids
    are categories whose categories are sorted strings.""",
)
POOL = TableSpec(
    "pool",
    (
        *_PAIR,
        *if_any("int", "best_rank", minimum=1),
        *if_any("int", "n_runs", minimum=0),
        *if_any("bool", "is_original"),
        _ROUND,
        Column("is_judged", "bool", rare=True),
        *SAMPLED,
        SEED,
    ),
    ("query_id", "doc_id"),
    extra=True,
    further=refuse_two_designs,
    file="pool.csv",
    about="""best_rank: over the runs that pooled the pair, missing for an original no run found;
    n_runs: how many pooled it; is_original: missing when no original qrels were given; round: in which
    the pair was or is first asked, from 1; is_judged: where earlier judgments were known when it was
    pooled. Of a sample: stratum, the part of the pool that was drawn with one chance;
    inclusion_probability, that chance; seed, of the draw. Further columns are kept.""",
)
POOL_SOURCES = TableSpec(
    "pool sources",
    (*columns_of("id", "query_id", "doc_id", "run_id"), Column("rank", "int", minimum=1)),
    ("query_id", "doc_id", "run_id"),
    about="rank: of the doc in that run; one row for each run that pooled the pair.",
)
TASKS = TableSpec(
    "tasks",
    (
        *columns_of("id", "pair_id", "query_id", "doc_id"),
        *columns_of("text", "text", "media_url"),
        Column("reference_url", "text", rare=True),
        Column("guideline", "id"),
        *columns_of("int", "batch", "position", minimum=1),
        _ROUND,
    ),
    ("pair_id", "batch"),
    order=("batch", "position"),
    about="""pair_id: see `campaign.tasks.pair_id`; batch: 1 for the first judgment of a pair, 2 for the
    second of doubled pairs; position: 1-based place in the batch.""",
)
JUDGMENTS = TableSpec(
    "judgments",
    (
        *columns_of("id", "query_id", "doc_id", "annotator_id", "label"),
        *if_any("text", "created_at"),
        *if_any("float", "duration_s", minimum=0),
        *if_any("text", "flags", "comment", "origin"),
    ),
    ("annotator_id", "query_id", "doc_id"),
    order=("query_id", "doc_id", "annotator_id"),
    extra=True,
    about="""label: a label of the guideline; created_at: UTC, ISO 8601; duration_s; flags: joined by `;`.
    Further columns are kept. One row for each annotator and pair.""",
)
DROPPED = TableSpec(
    "dropped",
    (
        *columns_of("text", "query_id", "doc_id", "annotator_id", "label", missing=True),
        Column("reason", "text"),
        *columns_of("text", "detail", "created_at", missing=True),
    ),
    (),
    about="what an import left out: reason is one word, detail says more.",
)
LABELS = TableSpec(
    "labels",
    (
        *_PAIR,
        Column("label", "id"),
        Column("relevance", "int"),
        *if_any("text", "method"),
        *if_any("int", "n_judgments", "n_agree", minimum=0),
        *rare("float", *SUPPORT, minimum=0),
    ),
    ("query_id", "doc_id"),
    extra=True,
    file="labels.csv",
    about="""relevance: the label's grade; method: the rule; n_judgments: votes; n_agree: votes for the label;
    what the label rests on, by the rule, in [0, 1]: vote_share (n_agree / n_judgments), or
    posterior (the label's probability under a model of annotators, which is as good as that model). Further
    columns are kept (rounds, say).""",
)
DISPUTES = TableSpec(
    "disputes",
    (*_PAIR, Column("reason", "text")),
    ("query_id", "doc_id"),
    extra=True,
    about="reason; then one count column for each label.",
)
QRELS = TableSpec(
    "qrels",
    (*_PAIR, Column("relevance", "int"), *if_any("text", "source", default="original"), *SAMPLED),
    ("query_id", "doc_id"),
    further=refuse_two_designs,
    about="""relevance: grade, positive from 1; below 0: pooled, not judged; source: original, confirmed,
    new, rejected, irrelevant. A column stratum stays where there is one: the part of the pool that the
    pair belongs to, of which all, or a random sample, was judged; missing: a part of its own; and beside
    it inclusion_probability, the chance with which its pairs were drawn.""",
)
CHANGES = TableSpec(
    "changes",
    (
        *_PAIR,
        *columns_of("int", "original_relevance", "label_relevance", "relevance", missing=True),
        Column("source", "text"),
    ),
    ("query_id", "doc_id"),
    about="""original_relevance and label_relevance: missing where there is none; relevance: what the
    augmented qrels hold, missing when the pair was dropped; source as in qrels.""",
)
SCORES = TableSpec(
    "scores",
    (
        Column("run_id", "id"),
        Column("qrels", "text"),
        *columns_of("id", "query_id", "measure"),
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
        *columns_of("int", "n_units", "n_pairable", "n_annotators", minimum=0),
        Column("note", "text", missing=True),
    ),
    ("group", "statistic"),
    extra=True,
    as_given=True,
)
COMPARISONS = TableSpec(
    "comparisons",
    (
        *columns_of("id", "run_a", "run_b", "query_id", "measure"),
        Column("value", "float", missing=True),
    ),
    ("run_a", "run_b", "query_id", "measure"),
    as_given=True,
)

check_queries = checks_as(Queries, QUERIES)
check_items = checks_as(Items, ITEMS)
check_run = checks_as(Run, RUN)
check_pool = checks_as(Pool, POOL)
check_pool_sources = checks_as(PoolSources, POOL_SOURCES)
check_tasks = checks_as(Tasks, TASKS)
check_judgments = checks_as(Judgments, JUDGMENTS)
check_dropped = checks_as(Dropped, DROPPED)
check_labels = checks_as(Labels, LABELS)
check_disputes = checks_as(Disputes, DISPUTES)
check_qrels = checks_as(Qrels, QRELS)
check_changes = checks_as(Changes, CHANGES)


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
