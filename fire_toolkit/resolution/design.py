"""Which pairs get further votes, by classes fixed before their own votes are seen; votes in that order.

Policies: `verify-positives`: a second vote for every positive, a third where the two differ;
`until-confirmed`: the same for positives that can still make a run's C@k for the first time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.vote_table import Grades
from fire_toolkit.tables import UNASSIGNED, Judgments, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR, code_pairs, pair_rows
from fire_toolkit.tables.design import (
    CLASSES,
    DOUBLED,
    OPEN,
    RECHECK,
    SINGLE,
    UNTIL_CONFIRMED,
    VERIFY,
    label_by_design,
    labels_by_design,
)

VERIFY_POSITIVES = "verify-positives"
POLICIES = (VERIFY_POSITIVES, UNTIL_CONFIRMED)
DEPTHS = (1, 5, 10)
RRF = 60
_ORDER_OF_KINDS = {"task": 0, "overlap": 1}


def design_pairs(
    pairs: pd.DataFrame,
    *,
    policy: str | None = None,
    sources: PoolSources | None = None,
    original: Qrels | None = None,
    depths: Sequence[int] = DEPTHS,
    deep: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the design of pairs that are asked for the first time.

    Args:
        pairs: columns query_id, doc_id, and is_doubled: given to two annotators at random.
        policy: what becomes of those that are not doubled: None: one vote; `verify-positives`;
            `until-confirmed`, which needs `sources`.
        sources: where the runs rank the pairs.
        original: the benchmark's qrels, whose positives are taken as right: none of them is verified.
        depths: the k of the C@k that `until-confirmed` is to settle.
        deep: columns query_id, doc_id: pairs asked because they, or their query, were drawn. A policy
            verifies all of their positives: few are relevant, and each counts for many that were not drawn.
            None: no such pairs.

    Returns:
        query_id, doc_id, design_class (`single`, `doubled`, `verify`, or `until-confirmed` where the class
        hangs on votes on the pairs before), place (from 1 in the query: best rank, then reciprocal rank
        fusion with k = 60, then doc id) and cells (which run's top k holds the pair and no original: bits,
        in hexadecimal digits; empty where the class is known).

    Raises:
        UsageError: an unknown policy, or no sources for `until-confirmed`.

    Examples:
        >>> pairs = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "is_doubled": [False, True]})
        >>> design_pairs(pairs, policy="verify-positives")[["doc_id", "design_class"]].values.tolist()
        [['a', 'verify'], ['b', 'doubled']]
    """
    if policy not in (None, *POLICIES):
        raise UsageError(f"policy {policy!r} is unknown; expected one of {', '.join(POLICIES)}")
    base = {None: SINGLE, VERIFY_POSITIVES: VERIFY}.get(policy, UNTIL_CONFIRMED)
    classes = np.where(pairs["is_doubled"].to_numpy(dtype=bool), DOUBLED, base)
    if deep is not None and policy is not None:
        classes = np.where((pair_rows(pairs, deep) >= 0) & (classes != DOUBLED), VERIFY, classes)
    if original is not None:
        is_known = pair_rows(pairs, original[original["relevance"] >= 1]) >= 0
        classes = np.where(is_known & (classes != DOUBLED), SINGLE, classes)
    found = pairs[PAIR].assign(design_class=pd.array(classes, dtype="str"), place=1, cells="")
    if policy == UNTIL_CONFIRMED:
        if sources is None:
            raise UsageError("policy until-confirmed needs the pool's sources: where each run ranks a pair")
        place, cells = _places_and_cells(found, sources, original, depths)
        found = found.assign(place=place, cells=cells)
    return found.sort_values(["query_id", "place", "doc_id"], ignore_index=True)


def _places_and_cells(
    pairs: pd.DataFrame, sources: PoolSources, original: Qrels | None, depths: Sequence[int]
) -> tuple[Ints, list[str]]:
    """Return the place of each pair in its query, and its cells as hexadecimal digits."""
    runs = pd.factorize(sources["run_id"], sort=True)[0]
    rank = sources["rank"].to_numpy()
    bits: list[Any] = [
        sum(1 << (run * len(depths) + n) for n, k in enumerate(depths) if at <= k)
        for run, at in zip(runs.tolist(), rank.tolist(), strict=True)
    ]
    table = sources[PAIR].assign(rank=rank, fused=1 / (RRF + rank), bits=pd.Series(bits, dtype=object))
    if original is not None:
        positives = original[original["relevance"] >= 1]
        covered: dict[str, int] = {}
        for query, mask in table.loc[pair_rows(table, positives) >= 0, ["query_id", "bits"]].itertuples(
            index=False
        ):
            covered[query] = covered.get(query, 0) | mask
        table["bits"] = [
            m & ~covered.get(q, 0) for q, m in zip(table["query_id"], table["bits"], strict=True)
        ]
    masks: dict[tuple[str, str], int] = {}
    for query, doc, mask in zip(table["query_id"], table["doc_id"], table["bits"], strict=True):
        masks[query, doc] = masks.get((query, doc), 0) | mask
    each = table.groupby(PAIR, as_index=False).agg(best=("rank", "min"), fused=("fused", "sum"))
    ranked = pairs[PAIR].merge(each, on=PAIR, how="left")
    order = np.lexsort(
        (ranked["doc_id"], -ranked["fused"].fillna(0), ranked["best"].fillna(np.inf), ranked["query_id"])
    )
    place = np.empty(len(pairs), dtype=np.int64)
    place[order] = ranked.iloc[order].groupby("query_id").cumcount().to_numpy() + 1
    cells = [f"{masks.get(pair, 0):x}" for pair in pairs[PAIR].itertuples(index=False, name=None)]
    return place, cells


def votes_in_order(judgments: Judgments, *, grades: Grades) -> pd.DataFrame:
    """Return each judged pair's votes in the order in which the design asked for them.

    That is by round, then first before second annotators of a round, then created_at. Fourth votes are among
    them; votes without a grade, answers that nobody asked for, and those to a pair that was looked at again
    (kind `recheck`) are left out.

    Returns:
        query_id, doc_id, design_votes (1 for a positive vote, else 0, in order; see `tables.design`), by
        query_id, doc_id; pairs without a vote have no row.
    """
    is_asked = judgments["kind"] != UNASSIGNED if "kind" in judgments else slice(None)
    asked = without_rechecks(Judgments(judgments[is_asked].reset_index(drop=True)))
    relevance = asked["label"].map({label: grade for label, grade in grades.items() if grade is not None})
    votes = asked[relevance.notna().to_numpy()].assign(vote=(relevance.dropna() >= 1).astype(int))
    nothing = pd.Series(0, index=votes.index)
    kind = votes["kind"].map(_ORDER_OF_KINDS).fillna(2) if "kind" in votes else nothing
    by_round = votes.get("round", nothing)
    when = votes["created_at"].fillna("").astype("str")
    order = np.lexsort((votes["annotator_id"], when, kind, by_round))
    votes = votes.iloc[order]
    code, pairs = code_pairs(votes)
    signs = np.array(["0", "1"])[votes["vote"].to_numpy()]
    texts = pd.Series(signs, dtype="str").groupby(code).agg("".join)
    return pairs.assign(design_votes=pd.array(texts.to_numpy(), dtype="str"))


def without_rechecks(judgments: Judgments) -> Judgments:
    """Return the judgments that were not asked because somebody doubted a label (kind `recheck`)."""
    return Judgments(judgments[~_are_rechecks(judgments)])


def rechecked_pairs(judgments: Judgments) -> pd.DataFrame:
    """Return query_id and doc_id of the pairs with an answer of kind `recheck`, each once."""
    found: pd.DataFrame = judgments.loc[_are_rechecks(judgments), PAIR]
    return found.drop_duplicates(ignore_index=True)


def _are_rechecks(judgments: Judgments) -> Any:
    is_so = judgments["kind"] == RECHECK if "kind" in judgments else np.zeros(len(judgments), dtype=bool)
    return np.asarray(is_so, dtype=bool)


def with_design(
    table: pd.DataFrame,
    design: pd.DataFrame,
    votes: pd.DataFrame,
    rechecked: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return labels or disputes with the columns design_class and design_votes; empty where not known.

    Args:
        table: columns query_id, doc_id.
        design: of `design_pairs`, or query_id, doc_id and design_class.
        votes: of `votes_in_order`.
        rechecked: of `rechecked_pairs`, whose class is `recheck` whatever the design says; None: none.
    """
    decided = decide_classes(design, votes)
    classes = np.append(decided["design_class"].to_numpy(dtype=object), "")[pair_rows(table, decided)]
    if rechecked is not None:
        classes = np.where(pair_rows(table, rechecked) >= 0, RECHECK, classes)
    given = np.append(votes["design_votes"].to_numpy(dtype=object), "")[pair_rows(table, votes)]
    texts = {"design_class": classes, "design_votes": given}
    return table.assign(**{name: pd.array(values, dtype="str") for name, values in texts.items()})


def decide_classes(design: pd.DataFrame, votes: pd.DataFrame) -> pd.DataFrame:
    """Return the design with each pair's class as far as votes decide it, and its votes.

    A pair of `until-confirmed` is of class `verify` while some run's top k that holds it holds neither an
    original nor a pair before it that was confirmed; else `single`. Its class hangs on the votes on pairs
    before it alone.

    Returns:
        query_id, doc_id, design_class (empty where votes on earlier pairs are still missing), design_votes.

    Examples:
        >>> design = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "place": [1, 2],
        ...                        "design_class": "until-confirmed", "cells": ["1", "1"]})
        >>> def classes(*votes):
        ...     given = pd.DataFrame({"query_id": "q", "doc_id": ["a", "b"], "design_votes": votes})
        ...     return decide_classes(design, given)["design_class"].tolist()
        >>> classes("1", "1"), classes("11", "1"), classes("0", "1")
        (['verify', ''], ['verify', 'single'], ['verify', 'verify'])
    """
    rows = pair_rows(design, votes)
    given = np.append(votes["design_votes"].to_numpy(dtype=object), "")[rows]
    classes = design["design_class"].to_numpy(dtype=object).copy()
    if UNTIL_CONFIRMED in classes:
        place = design["place"].to_numpy()
        query = pd.factorize(design["query_id"])[0]
        order = np.lexsort((place, query))
        masks = [int(cells or "0", 16) for cells in design["cells"]]
        classes[order] = _walk(query[order], classes[order], given[order], [masks[row] for row in order])
    elif unknown := sorted(set(classes) - {"", *CLASSES, RECHECK}):
        raise UsageError(
            f"design class {unknown[0]!r}; expected one of {', '.join(CLASSES)}, {UNTIL_CONFIRMED}"
        )
    both = {"design_class": classes, "design_votes": given}
    return design[PAIR].assign(**{name: pd.array(values, dtype="str") for name, values in both.items()})


def _walk(query: Ints, classes: Any, votes: Any, masks: Sequence[int]) -> Any:
    """Return classes in the fixed order of each query's pairs: confirmed pairs cover cells, open ones may."""
    found = classes.copy()
    last, covered, pending = -1, 0, 0
    for row, mask in enumerate(masks):
        if query[row] != last:
            last, covered, pending = query[row], 0, 0
        if classes[row] == UNTIL_CONFIRMED:
            is_sure = mask & ~covered & ~pending
            found[row] = VERIFY if is_sure else "" if mask & ~covered else SINGLE
        if found[row] in (VERIFY, DOUBLED):
            label = label_by_design(found[row], votes[row])
            covered |= mask if label == 1 else 0
            pending |= mask if label == OPEN else 0
        elif not found[row] and votes[row][:1] != "0":
            pending |= mask
    return found


def split_positives(votes: pd.DataFrame, original: Qrels | None) -> pd.DataFrame:
    """Return the pairs that two of three votes call positive, and that are not original positives.

    The second or the first of the three differs: the third was asked because of it. Where errors are
    independent, a fourth vote on such a pair is positive with a known chance
    (`inference.label_errors.alarm_of_fourth_votes`).

    Args:
        votes: of `votes_in_order`.

    Examples:
        >>> votes = pd.DataFrame({"query_id": "q", "doc_id": list("abcd"),
        ...                       "design_votes": ["101", "011", "110", "1011"]})
        >>> split_positives(votes, None)["doc_id"].tolist()
        ['a', 'b']
    """
    found = votes[votes["design_votes"].isin(["101", "011"])]
    if original is not None:
        found = found[pair_rows(found, original[original["relevance"] >= 1]) < 0]
    return found[PAIR].reset_index(drop=True)


def open_pairs(decided: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of `decide_classes` that need a further vote by their class, and have one at least."""
    is_open = labels_by_design(decided) == OPEN
    n_votes = decided["design_votes"].str.len()
    least = np.where(decided["design_class"] == DOUBLED, 2, 1)
    asked = is_open & (decided["design_class"] != "") & (n_votes >= least)
    return pd.DataFrame(decided[asked.to_numpy()].reset_index(drop=True))
