"""What columns of a table say together: what no column alone is wrong with."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

import pandas as pd

from fire_toolkit.errors import TableError

SHALLOW, DEEP, ORIGINAL = "shallow", "deep", "original"
SAMPLE = ["stratum", "inclusion_probability"]
OK, FAILED = "ok", "failed"

_RANKS = re.compile(r"([1-9][0-9]*):([1-9][0-9]*):")
_NO_ESTIMATE = "a sample of two designs gives no estimate"


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


def _refuse_half_answers(table: pd.DataFrame, where: str) -> None:
    unknown = sorted(set(table["status"].unique()) - {OK, FAILED})
    if unknown:
        raise TableError(f"{where}: status {', '.join(map(repr, unknown))}, expected {OK} or {FAILED}")
    is_ok = table["status"] == OK
    has_any = table["score"].notna() | (table["label"] != "")
    for wrong, what in (
        (is_ok & ~has_any, "neither score nor label in an answer that is ok"),
        (~is_ok & has_any, "a score or a label in an answer that failed"),
    ):
        if wrong.any():
            pair = " ".join(table.loc[wrong, ["query_id", "doc_id"]].iloc[0])
            raise TableError(
                f"{where}: {what} ({int(wrong.sum())} of {len(table)}; {pair}); an answer without either "
                f"is `{FAILED}`, with its reason"
            )


FURTHER: dict[str, Callable[[pd.DataFrame, str], None]] = {
    "pool": refuse_two_designs,
    "qrels": refuse_two_designs,
    "query design": _refuse_two_depths,
    "machine sample": _refuse_two_judges,
    "machine judgments": _refuse_half_answers,
}
