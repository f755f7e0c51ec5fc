"""Which pairs get further votes, by classes fixed before their own votes are seen; votes in that order.

Policies: `verify-positives`: a second vote for every positive, a third where the two differ;
`until-confirmed`: the same for positives that can still make a run's C@k for the first time.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from fire_toolkit.errors import UsageError
from fire_toolkit.resolution.votes import Grades
from fire_toolkit.tables import SHARED, UNASSIGNED, Judgments, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR, are_positives, code_pairs, pair_rows
from fire_toolkit.tables.design import (
    CLASSES,
    DEPTHS,
    DESIGN,
    DOUBLED,
    OPEN,
    RECHECK,
    RRF,
    SINGLE,
    UNTIL_CONFIRMED,
    VERIFY,
    label_by_design,
    labels_by_design,
)

VERIFY_POSITIVES = "verify-positives"
POLICIES = (VERIFY_POSITIVES, UNTIL_CONFIRMED)
_ORDER_OF_KINDS, _AGAIN = {"task": 0, "overlap": 1}, "adjudication"


def design_pairs(
    pairs: pd.DataFrame,
    *,
    policy: str | None = None,
    sources: PoolSources | None = None,
    original: Qrels | None = None,
    deep: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the design of pairs that are asked for the first time.

    Args:
        pairs: columns query_id, doc_id, and is_doubled: given to two annotators at random.
        policy: what becomes of those that are not doubled: None: one vote; `verify-positives`;
            `until-confirmed`, which needs `sources`.
        sources: where the runs rank the pairs.
        original: the benchmark's qrels, whose positives are taken as right: none of them is verified.
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
    if policy == UNTIL_CONFIRMED and sources is None:
        raise UsageError("policy until-confirmed needs the pool's sources: where each run ranks a pair")
    classes: Any = np.full(len(pairs), {None: SINGLE, VERIFY_POSITIVES: VERIFY}.get(policy, UNTIL_CONFIRMED))
    if deep is not None and policy is not None:
        classes = np.where(pair_rows(pairs, deep) >= 0, VERIFY, classes)
    if original is not None:
        classes = np.where(are_positives(pairs, original), SINGLE, classes)
    classes = np.where(pairs["is_doubled"].to_numpy(dtype=bool), DOUBLED, classes)
    found = pairs[PAIR].assign(design_class=pd.array(classes, dtype="str"), place=1, cells="")
    if policy == UNTIL_CONFIRMED and sources is not None:
        ranks = sources[PAIR].assign(best=sources["rank"], fused=1 / (RRF + sources["rank"]))
        of_pairs = ranks.groupby(PAIR, as_index=False).agg({"best": "min", "fused": "sum"})
        ranked = pairs[PAIR].merge(of_pairs, on=PAIR, how="left").fillna({"best": np.inf, "fused": 0})
        in_order = ranked.sort_values(
            ["query_id", "best", "fused", "doc_id"], ascending=[True, True, False, True]
        )
        place = in_order.groupby("query_id").cumcount().sort_index().to_numpy() + 1
        found = found.assign(place=place, cells=cells_of(found, sources, original))
    return found.sort_values(["query_id", "place", "doc_id"], ignore_index=True)


def cells_of(pairs: pd.DataFrame, sources: PoolSources, original: Qrels | None) -> list[str]:
    """Return the cells (run, k) that hold each pair, and no original of its query, as hexadecimal digits."""
    run = pd.factorize(sources["run_id"], sort=True)[0] * len(DEPTHS)
    held = pd.concat([sources[PAIR].assign(cell=run + n)[sources["rank"] <= k] for n, k in enumerate(DEPTHS)])
    if original is not None:
        covered = pd.MultiIndex.from_frame(held[["query_id", "cell"]][are_positives(held, original)])
        held = held[~pd.MultiIndex.from_frame(held[["query_id", "cell"]]).isin(covered)]
    masks: dict[Any, int] = {}
    for query, doc, cell in zip(held["query_id"], held["doc_id"], held["cell"].tolist(), strict=True):
        masks[query, doc] = masks.get((query, doc), 0) | 1 << cell
    return [f"{masks.get(pair, 0):x}" for pair in pairs[PAIR].itertuples(index=False, name=None)]


def votes_in_order(judgments: Judgments, *, grades: Grades) -> pd.DataFrame:
    """Return each judged pair's votes in the order in which the design asked for them.

    That is by round, then first before second annotators of a round, then created_at; last those that are
    another pair's, beyond the design. Fourth votes are among them; votes without a grade, answers that nobody
    asked for, and those to a pair that was looked at again (kind `recheck`) are left out.

    Returns:
        query_id, doc_id, design_votes (1 for a positive vote, else 0, in order; see `tables.design`) and
        is_asked_again (whether a vote that is asked because of earlier ones is among the first two), by
        query_id, doc_id; pairs without a vote have no row.
    """
    known = judgments if "kind" in judgments else judgments.assign(kind="")
    relevance = known["label"].map({label: grade for label, grade in grades.items() if grade is not None})
    is_asked = ~known["kind"].isin([UNASSIGNED, RECHECK])
    votes = known.assign(sign=np.where(relevance >= 1, b"1", b"0"))[is_asked & relevance.notna()]
    kind = votes["kind"].map(_ORDER_OF_KINDS).fillna(2)
    by_round = votes.get("round", pd.Series(0, index=votes.index))
    when, origin = (votes[name].fillna("").astype("str") for name in ("created_at", "origin"))
    is_shared = origin.str.startswith(SHARED)
    votes = votes.iloc[np.lexsort((votes["annotator_id"], when, kind, by_round, is_shared))]
    code, pairs = code_pairs(votes)
    in_order = np.argsort(code, kind="stable")
    signs = votes["sign"].to_numpy(dtype="S1")[in_order]
    ends = np.append(0, np.bincount(code, minlength=len(pairs)).cumsum())
    is_again = np.append((votes["kind"] == _AGAIN).to_numpy()[in_order], False)
    second = np.minimum(ends[:-1] + 1, ends[1:] - 1)
    content = [None, pa.py_buffer(ends), pa.py_buffer(signs)]
    texts = pa.Array.from_buffers(pa.large_string(), len(pairs), content)
    said = pd.array(texts, dtype="str")
    return pairs.assign(design_votes=said, is_asked_again=is_again[ends[:-1]] | is_again[second])


def with_design(
    tables: Sequence[pd.DataFrame], design: pd.DataFrame, judgments: Judgments, *, grades: Grades
) -> list[pd.DataFrame]:
    """Return labels and disputes with the columns design_class and design_votes; empty where not known.

    Args:
        tables: columns query_id, doc_id.
        design: of `design_pairs`, or query_id, doc_id and design_class. A pair that was looked at again is of
            class `recheck` whatever it says.
        judgments, grades: as in `votes_in_order`.
    """
    votes, found = votes_in_order(judgments, grades=grades), []
    classes = decide_classes(design, votes)
    rechecked = judgments[judgments["kind"] == RECHECK] if "kind" in judgments else judgments.iloc[:0]
    for table in tables:
        of_design = _text_of(table, classes, "design_class")
        of_design = np.where(pair_rows(table, rechecked) >= 0, RECHECK, of_design)
        columns = zip(DESIGN, (of_design, _text_of(table, votes, "design_votes")), strict=True)
        found.append(table.assign(**{name: pd.array(each, dtype="str") for name, each in columns}))
    return found


def _text_of(pairs: pd.DataFrame, known: pd.DataFrame, column: str) -> Any:
    """Return a column of the known pairs for each pair, an empty text where it is not among them."""
    return np.append(known[column].to_numpy(dtype=object), "")[pair_rows(pairs, known)]


def decide_classes(design: pd.DataFrame, votes: pd.DataFrame) -> pd.DataFrame:
    """Return the design with each pair's class as far as votes decide it, and its votes.

    A pair of `until-confirmed` is of class `verify` while some run's top k that holds it holds neither an
    original nor a pair before it that was confirmed; else `single`. Its class hangs on the votes on pairs
    before it alone. A doubled pair of whose first two votes one is missing, as its annotator skipped it or
    is excluded, is of class `single` once a vote was asked because of the others.

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
    said = _text_of(design, votes, "design_votes")
    classes = design["design_class"].to_numpy(dtype=object, copy=True)
    is_again = np.append(votes.get("is_asked_again", np.zeros(len(votes), dtype=bool)), False)
    classes[(classes == DOUBLED) & is_again[pair_rows(design, votes)]] = SINGLE
    if unknown := sorted({*classes} - {"", *CLASSES, RECHECK, UNTIL_CONFIRMED}):
        known = ", ".join((*CLASSES, UNTIL_CONFIRMED))
        raise UsageError(f"design class {unknown[0]!r}; expected one of {known}")
    if (classes == UNTIL_CONFIRMED).any():
        last, covered, pending = None, 0, 0  # cells that confirmed pairs cover, and that open ones may cover
        in_order = design.reset_index(drop=True).sort_values(["query_id", "place"], kind="stable")
        for row, query, cells in zip(in_order.index, in_order["query_id"], in_order["cells"], strict=True):
            if query != last:
                last, covered, pending = query, 0, 0
            mask = int(cells or "0", 16)
            if classes[row] == UNTIL_CONFIRMED:
                is_sure = mask & ~covered & ~pending
                classes[row] = VERIFY if is_sure else "" if mask & ~covered else SINGLE
            if classes[row] in (VERIFY, DOUBLED):
                label = label_by_design(classes[row], said[row])
                covered |= mask if label == 1 else 0
                pending |= mask if label == OPEN else 0
            elif not classes[row] and said[row][:1] != "0":
                pending |= mask
    columns = {name: pd.array(each, dtype="str") for name, each in zip(DESIGN, (classes, said), strict=True)}
    return design[PAIR].assign(**columns)


def open_pairs(decided: pd.DataFrame) -> pd.DataFrame:
    """Return the pairs of `decide_classes` that need a further vote by their class, and have one at least."""
    is_open = labels_by_design(decided) == OPEN
    least = np.where(decided["design_class"] == DOUBLED, 2, 1)
    asked = is_open & (decided["design_class"] != "") & (decided["design_votes"].str.len() >= least)
    return pd.DataFrame(decided[asked.to_numpy()].reset_index(drop=True))


def open_by_design(design: pd.DataFrame | None, judgments: Judgments, grades: Grades) -> pd.DataFrame | None:
    """Return the pairs that a policy asks again, by the votes so far; None without a policy."""
    if design is None:
        return None
    return open_pairs(decide_classes(design, votes_in_order(judgments, grades=grades)))
