"""What a sample was drawn by: the queries judged deep, and the strata of pairs; one design in a table."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NewType

import pandas as pd

from fire_toolkit.errors import TableError
from fire_toolkit.tables.checks import Column, TableSpec, check_table

QueryDesign = NewType("QueryDesign", pd.DataFrame)

_RANKS = re.compile(r"([1-9][0-9]*):([1-9][0-9]*):")

SHALLOW, DEEP, ORIGINAL = "shallow", "deep", "original"
SUREST = (
    0.005  # no judge is taken for surer: samples are drawn, and intervals made, as if 1 of 200 were a miss
)

# Of each judged pair: the part of the pool that it belongs to, the chance with which it was drawn, the draw.
SAMPLED = (
    Column("stratum", "text", rare=True, missing=True),
    Column("inclusion_probability", "probability", rare=True, missing=True),
)
SAMPLE = [column.name for column in SAMPLED]
SEED = Column("seed", "int", rare=True, minimum=0)

QUERY_DESIGN = TableSpec(
    "query design",
    (
        Column("query_id", "id"),
        Column("depth", "int", minimum=0),
        Column("is_sampled", "bool"),
        Column("inclusion_probability", "probability"),
        Column("seed", "int", minimum=0),
    ),
    ("query_id",),
    as_given=True,
)

UNDRAWN = TableSpec(
    "undrawn pairs",
    (
        Column("query_id", "id"),
        Column("doc_id", "id"),
        Column("best_rank", "int", minimum=1),
        Column("stratum", "text"),
        Column("inclusion_probability", "probability"),
    ),
    ("query_id", "doc_id"),
)

# The pairs of the runs' tops that a machine judge's sample could draw, and what the judge said before.
MACHINE_SAMPLE = TableSpec(
    "machine sample",
    (
        Column("query_id", "id"),
        Column("doc_id", "id"),
        Column("best_rank", "int", minimum=1),
        Column("judge_id", "text"),
        Column("score", "float", missing=True),
        Column("stratum", "text"),
        Column("inclusion_probability", "probability"),
        Column("is_drawn", "bool"),
        Column("seed", "int", minimum=0),
    ),
    ("query_id", "doc_id"),
)


def check_machine_sample(table: pd.DataFrame, *, where: str = "") -> pd.DataFrame:
    """Return a machine judge's sample, or raise `TableError` with what is wrong with it.

    score: of the judge that judge_id names, from 0 to 1, missing where it gave none; stratum: of scores near
    one another; is_drawn: whether the pair is in the sample, of which inclusion_probability is the chance.
    best_rank: over the runs. One judge, one seed, one chance in each stratum.
    """
    checked = check_table(MACHINE_SAMPLE, table, where=where)
    where = where or MACHINE_SAMPLE.name
    _refuse_several(checked["judge_id"], "judge_id", where)
    if not checked["score"].dropna().between(0, 1).all():
        raise TableError(f"{where}: a score is not between 0 and 1, expected a judge's probability")
    return check_one_design(checked, where=where)


def check_query_design(table: pd.DataFrame, *, where: str = "") -> QueryDesign:
    """Return `table` as QueryDesign, or raise `TableError` with all that is wrong with it.

    depth: the deepest rank of the runs down to which the query is judged, 0: its originals alone;
    is_sampled: whether it belongs to the random sample of queries that is judged deep;
    inclusion_probability: of a query in that sample, the same for all; seed: of the draw. Rows keep the
    order given: it is the order of the qrels.

    Examples:
        >>> check_query_design(pd.DataFrame({
        ...     "query_id": ["q", "r"], "depth": [10, 50], "is_sampled": [False, True],
        ...     "inclusion_probability": [0.5, 0.4], "seed": 0}))
        Traceback (most recent call last):
        fire_toolkit.errors.TableError: query design: inclusion_probability 0.4 and 0.5, expected one; a \
sample of two designs gives no estimate
    """
    checked = check_table(QUERY_DESIGN, table, where=where)
    where = where or QUERY_DESIGN.name
    for name in ("seed", "inclusion_probability"):
        _refuse_several(checked[name], name, where)
    is_sampled = checked["is_sampled"].to_numpy(dtype=bool)
    for kind, chosen in (("sampled", is_sampled), ("other", ~is_sampled)):
        _refuse_several(checked.loc[chosen, "depth"], f"depth of the {kind} queries", where)
    if is_sampled.any() and not is_sampled.all():
        deep, other = (checked.loc[chosen, "depth"].iloc[0] for chosen in (is_sampled, ~is_sampled))
        if deep <= other:
            raise TableError(
                f"{where}: queries of the sample are judged to depth {deep}, the others to {other}; expected "
                "a greater depth in the sample"
            )
    return QueryDesign(checked)


def check_one_design(table: pd.DataFrame, *, where: str) -> pd.DataFrame:
    """Return pairs with strata as they are, or raise `TableError` where they were drawn by two designs.

    A stratum has one inclusion probability, a table one seed, and strata of ranks do not overlap, nor
    stand beside queries judged deep.

    Examples:
        >>> pairs = pd.DataFrame({"stratum": ["11:50", "11:50"], "inclusion_probability": [0.1, 0.2]})
        >>> check_one_design(pairs, where="qrels.csv")
        Traceback (most recent call last):
        fire_toolkit.errors.TableError: qrels.csv: stratum 11:50: inclusion_probability 0.1 and 0.2, \
expected one; a sample of two designs gives no estimate
    """
    if "seed" in table.columns:
        _refuse_several(table["seed"], "seed", where)
    if {"stratum", "inclusion_probability"} <= set(table.columns):
        of_strata = table.loc[table["stratum"] != "", ["stratum", "inclusion_probability"]].drop_duplicates()
        for stratum in of_strata.loc[of_strata["stratum"].duplicated(), "stratum"].head(1):
            chances = of_strata.loc[of_strata["stratum"] == stratum, "inclusion_probability"]
            _refuse_several(chances, "inclusion_probability", f"{where}: stratum {stratum}")
    if "stratum" in table.columns:
        _refuse_overlap(table["stratum"].dropna().unique().tolist(), where)
    return table


def _refuse_overlap(strata: list[str], where: str) -> None:
    """Raise `TableError` where strata of ranks (`from:to:rate`) share a rank or stand beside deep queries."""
    named = [(found, name) for name in strata if (found := _RANKS.match(name))]
    of_ranks = sorted((int(found[1]), int(found[2]), name) for found, name in named)
    of_queries = [name for name in strata if name in (SHALLOW, DEEP)]
    if of_ranks and of_queries:
        raise TableError(
            f"{where}: strata {of_ranks[0][2]} and {of_queries[0]}; a sample of two designs gives no "
            "estimate, expected strata of ranks or queries judged deep"
        )
    for (_, last, one), (first, _, other) in pairwise(of_ranks):
        if first <= last:
            raise TableError(
                f"{where}: strata {one} and {other} overlap; a sample of two designs gives no estimate, "
                "expected pairs of one"
            )


def _refuse_several(values: pd.Series, name: str, where: str) -> None:
    found = sorted(values.drop_duplicates().tolist())
    if len(found) > 1:
        shown = " and ".join(map(str, found[:2])) + (", …" if len(found) > 2 else "")
        raise TableError(f"{where}: {name} {shown}, expected one; a sample of two designs gives no estimate")
