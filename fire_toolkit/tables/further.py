"""What columns of a table say together: what no column alone is wrong with."""

import re
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import pandas as pd

from fire_toolkit.errors import TableError

SHALLOW, DEEP, ORIGINAL = "shallow", "deep", "original"
SAMPLE = ["stratum", "inclusion_probability"]
OK, FAILED = "ok", "failed"

_RANKS = re.compile(r"([1-9][0-9]*):([1-9][0-9]*):")
_NO_ESTIMATE = "a sample of two designs gives no estimate"


def refuse_several(table: pd.DataFrame, where: str, *, rule: str) -> None:
    """Raise `TableError` where a column has several values, or several for one value of another (`b by a`).

    What has no value of the other column may have any.

    Examples:
        >>> pairs = pd.DataFrame({"stratum": ["11:50", "11:50"], "inclusion_probability": [0.1, 0.2]})
        >>> refuse_several(pairs, "qrels.csv", rule="inclusion_probability by stratum")
        Traceback (most recent call last):
        fire_toolkit.errors.TableError: qrels.csv: stratum 11:50: inclusion_probability 0.1 and 0.2, \
expected one; a sample of two designs gives no estimate
    """
    name, *by = rule.split(" by ")
    found = table[[*by, name]].drop_duplicates()
    parts: Any = found.groupby(by[0])[name] if by else [("all", found[name])]
    for part, values in parts:
        if len(values) > 1 and part != "":
            shown = " and ".join(map(str, sorted(values)[:2])) + (", …" if len(values) > 2 else "")
            at = f"{where}: {by[0]} {part}" if by else where
            raise TableError(f"{at}: {name} {shown}, expected one; {_NO_ESTIMATE}")


def _refuse_overlaps(table: pd.DataFrame, where: str) -> None:
    """Refuse strata of ranks (`from:to:rate`) that overlap, or stand beside queries judged deep."""
    strata = table["stratum"].dropna().unique().tolist()
    matches = filter(None, map(_RANKS.match, strata))
    of_ranks = sorted((int(found[1]), int(found[2]), found.string) for found in matches)
    of_queries = [name for name in strata if name in (SHALLOW, DEEP)]
    beside = [(of_ranks[0][2], of_queries[0])] if of_ranks and of_queries else []
    beside += [(one, other) for (_, last, one), (first, _, other) in pairwise(of_ranks) if first <= last]
    for one, other in beside:
        raise TableError(
            f"{where}: strata {one} and {other} overlap; {_NO_ESTIMATE}, expected strata of ranks one below "
            "the other, or queries judged deep"
        )


def _refuse_equal_depths(table: pd.DataFrame, where: str) -> None:
    deep, other = (table.loc[table["is_sampled"] == is_it, "depth"].max() for is_it in (True, False))
    if deep <= other:
        raise TableError(
            f"{where}: queries of the sample are judged to depth {deep}, the others to {other}; expected "
            "a greater depth in the sample"
        )


def _refuse_half_answers(table: pd.DataFrame, where: str) -> None:
    has_any, is_ok = table["score"].notna() | (table["label"] != ""), table["status"] == OK
    wrong = table[~((has_any & is_ok) | (~has_any & (table["status"] == FAILED)))]
    if len(wrong):
        pair, status = " ".join(wrong[["query_id", "doc_id"]].iloc[0]), wrong["status"].iloc[0]
        raise TableError(
            f"{where}: status {status!r} {'with a' if has_any[wrong.index[0]] else 'without'} score or label "
            f"({len(wrong)} of {len(table)}; {pair}); expected {OK} with either, or {FAILED} with neither"
        )


# A check, and the columns without which there is none.
Further = tuple[Sequence[str], Callable[[pd.DataFrame, str], None]]
FURTHER: dict[str, tuple[Further, ...]] = {
    **dict.fromkeys(("pool", "qrels", "machine sample"), ((["stratum"], _refuse_overlaps),)),
    "query design": ((["depth"], _refuse_equal_depths),),
    "machine judgments": ((["status"], _refuse_half_answers),),
}
