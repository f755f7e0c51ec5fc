"""Every table's columns, dtypes, keys and row order, in one place.

A table is a plain `pandas.DataFrame` that went through its `check_*` function once, where it was made; the
name of the type (`Run`, `Qrels`, ...) says so to the reader and to the type checker. `tables.toml` holds the
specs, which `specs.py` reads; `checks.py` has what follows from a spec, `further.py` what no column alone is
wrong with, and `columns.py` works on whole columns. Ids are strings, kept exactly as written (`007`, `NA` and
`q:1|x` are ids like any other). All failures of a table are gathered into one message.
"""

from typing import NewType

import pandas as pd

from fire_toolkit.tables.checks import checks_as
from fire_toolkit.tables.specs import SPECS

Queries = NewType("Queries", pd.DataFrame)
Items = NewType("Items", pd.DataFrame)
Run = NewType("Run", pd.DataFrame)
Pool = NewType("Pool", pd.DataFrame)
PoolSources = NewType("PoolSources", pd.DataFrame)
QueryDesign = NewType("QueryDesign", pd.DataFrame)
Tasks = NewType("Tasks", pd.DataFrame)
Judgments = NewType("Judgments", pd.DataFrame)
Dropped = NewType("Dropped", pd.DataFrame)
MachineJudgments = NewType("MachineJudgments", pd.DataFrame)
Labels = NewType("Labels", pd.DataFrame)
Disputes = NewType("Disputes", pd.DataFrame)
Qrels = NewType("Qrels", pd.DataFrame)
Changes = NewType("Changes", pd.DataFrame)
Scores = NewType("Scores", pd.DataFrame)  # a measure's aggregate over queries has the query id `all`
Agreement = NewType("Agreement", pd.DataFrame)
Comparisons = NewType("Comparisons", pd.DataFrame)
QueryValidity = NewType("QueryValidity", pd.DataFrame)  # what annotators said of captions that they saw alone
QueryLabels = NewType("QueryLabels", pd.DataFrame)  # and one label a query: whether it is usable

# What a label rests on: the share of votes for it; its probability under a model.
SUPPORT = ("vote_share", "posterior")
# The doc of a query that is shown without an item, which no pair of a query and an item has.
ALONE = "*"
ELSEWHERE = "elsewhere"  # the kind of a judgment that was not asked by this toolkit's campaign at all
UNASSIGNED = "unassigned"  # the kind of a judgment that was not asked of its annotator
FOURTH = "fourth"  # the kind of a vote that only tests whether errors are independent
SHARED = "shared from "  # how the origin of a judgment of another pair begins, before its query

TASKS, JUDGMENTS, DROPPED = (SPECS[name] for name in ("tasks", "judgments", "dropped"))
SCORES, AGREEMENT, COMPARISONS = (SPECS[name] for name in ("scores", "agreement", "comparisons"))

check_queries = checks_as(Queries, "queries")
check_items = checks_as(Items, "items")
check_run = checks_as(Run, "run")
check_pool = checks_as(Pool, "pool")
check_pool_sources = checks_as(PoolSources, "pool sources")
check_query_design = checks_as(QueryDesign, "query design")
check_undrawn = checks_as(pd.DataFrame, "undrawn pairs")
check_machine_sample = checks_as(pd.DataFrame, "machine sample")
check_tasks = checks_as(Tasks, "tasks")
check_judgments = checks_as(Judgments, "judgments")
check_dropped = checks_as(Dropped, "dropped")
check_machine_judgments = checks_as(MachineJudgments, "machine judgments")
check_labels = checks_as(Labels, "labels")
check_disputes = checks_as(Disputes, "disputes")
check_qrels = checks_as(Qrels, "qrels")
check_changes = checks_as(Changes, "changes")
check_query_validity = checks_as(QueryValidity, "query validity")
check_query_labels = checks_as(QueryLabels, "query labels")


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
