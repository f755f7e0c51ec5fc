"""What a sample was drawn by: the queries judged deep, and the strata of pairs; one design in a table."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import NewType

import pandas as pd

from fire_toolkit.errors import TableError
from fire_toolkit.tables.checks import Column, TableSpec, checks_as, columns_of, rare

QueryDesign = NewType("QueryDesign", pd.DataFrame)

_RANKS = re.compile(r"([1-9][0-9]*):([1-9][0-9]*):")
_NO_ESTIMATE = "a sample of two designs gives no estimate"

SHALLOW, DEEP, ORIGINAL = "shallow", "deep", "original"
# No judge is taken for surer: samples are drawn as if it missed 3 of 100.
SUREST = 0.03

# Of each judged pair: the part of the pool that it belongs to, the chance with which it was drawn, the draw.
SAMPLED = (*rare("text", "stratum"), *rare("probability", "inclusion_probability"))
SAMPLE = [column.name for column in SAMPLED]
SEED = Column("seed", "int", rare=True, minimum=0)
_DRAWN = (Column("stratum", "text"), Column("inclusion_probability", "probability"))
_RANKED = (*columns_of("id", "query_id", "doc_id"), Column("best_rank", "int", minimum=1))


def refuse_two_designs(table: pd.DataFrame, where: str) -> None:
    """Raise `TableError` where pairs with strata were drawn by two designs.

    A stratum has one inclusion probability, a table one seed, and strata of ranks (`from:to:rate`) do not
    overlap, nor stand beside queries judged deep.

    Examples:
        >>> pairs = pd.DataFrame({"stratum": ["11:50", "11:50"], "inclusion_probability": [0.1, 0.2]})
        >>> refuse_two_designs(pairs, "qrels.csv")
        Traceback (most recent call last):
        fire_toolkit.errors.TableError: qrels.csv: stratum 11:50: inclusion_probability 0.1 and 0.2, \
expected one; a sample of two designs gives no estimate
    """
    if "seed" in table.columns:
        _refuse_several(table["seed"], "seed", where)
    if "stratum" not in table.columns:
        return
    if "inclusion_probability" in table.columns:
        of_strata = table.loc[table["stratum"] != "", SAMPLE].drop_duplicates()
        for stratum in of_strata.loc[of_strata["stratum"].duplicated(), "stratum"].head(1):
            chances = of_strata.loc[of_strata["stratum"] == stratum, "inclusion_probability"]
            _refuse_several(chances, "inclusion_probability", f"{where}: stratum {stratum}")
    strata = table["stratum"].dropna().unique().tolist()
    matches = filter(None, map(_RANKS.match, strata))
    of_ranks = sorted((int(found[1]), int(found[2]), found.string) for found in matches)
    of_queries = [name for name in strata if name in (SHALLOW, DEEP)]
    if of_ranks and of_queries:
        raise TableError(
            f"{where}: strata {of_ranks[0][2]} and {of_queries[0]}; {_NO_ESTIMATE}, expected strata of ranks "
            "or queries judged deep"
        )
    for (_, last, one), (first, _, other) in pairwise(of_ranks):
        if first <= last:
            raise TableError(
                f"{where}: strata {one} and {other} overlap; {_NO_ESTIMATE}, expected pairs of one"
            )


def _refuse_several(values: pd.Series, name: str, where: str) -> None:
    found = sorted(values.drop_duplicates().tolist())
    if len(found) > 1:
        shown = " and ".join(map(str, found[:2])) + (", …" if len(found) > 2 else "")
        raise TableError(f"{where}: {name} {shown}, expected one; {_NO_ESTIMATE}")


def _refuse_two_depths(table: pd.DataFrame, where: str) -> None:
    for name in ("seed", "inclusion_probability"):
        _refuse_several(table[name], name, where)
    is_sampled = table["is_sampled"].astype(bool)
    for kind, chosen in (("sampled", is_sampled), ("other", ~is_sampled)):
        _refuse_several(table.loc[chosen, "depth"], f"depth of the {kind} queries", where)
    deep, other = (table.loc[chosen, "depth"].max() for chosen in (is_sampled, ~is_sampled))
    if deep <= other:
        raise TableError(
            f"{where}: queries of the sample are judged to depth {deep}, the others to {other}; expected "
            "a greater depth in the sample"
        )


def _refuse_two_judges(table: pd.DataFrame, where: str) -> None:
    _refuse_several(table["judge_id"], "judge_id", where)
    if not table["score"].dropna().between(0, 1).all():
        raise TableError(f"{where}: a score is not between 0 and 1, expected a judge's probability")
    refuse_two_designs(table, where)


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
    further=_refuse_two_depths,
    file="query_design.csv",
    about="""depth: the deepest rank of the runs down to which the query is judged, 0: its originals alone;
    is_sampled: whether it belongs to the random sample of queries that is judged deep;
    inclusion_probability: of a query in that sample, the same for all; seed: of the draw. Rows keep the
    order given: it is the order of the qrels.""",
)

UNDRAWN = TableSpec("undrawn pairs", (*_RANKED, *_DRAWN), ("query_id", "doc_id"))

MACHINE_SAMPLE = TableSpec(
    "machine sample",
    (
        *_RANKED,
        Column("judge_id", "text"),
        Column("score", "float", missing=True),
        *_DRAWN,
        Column("is_drawn", "bool"),
        Column("seed", "int", minimum=0),
    ),
    ("query_id", "doc_id"),
    further=_refuse_two_judges,
    about="""The pairs of the runs' tops that a machine judge's sample could draw, and what it said before.
    score: of the judge that judge_id names, from 0 to 1, missing where it gave none; stratum: of scores near
    one another; is_drawn: whether the pair is in the sample, of which inclusion_probability is the chance.
    best_rank: over the runs. One judge, one seed, one chance in each stratum.""",
)

check_query_design = checks_as(QueryDesign, QUERY_DESIGN)
check_machine_sample = checks_as(pd.DataFrame, MACHINE_SAMPLE)
