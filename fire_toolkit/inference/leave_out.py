"""Who found what, and what scores and orders would be had a model not been pooled, or an annotator not asked.

Each run is joined with the qrels once. Leaving somebody out changes the labels of few pairs: only the
queries that hold one of them are valued again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Floats, Ints
from fire_toolkit.errors import JoinError, UsageError
from fire_toolkit.inference.judged_pairs import JudgedPairs, join_runs, own_pairs, pooled_by
from fire_toolkit.inference.orders import kendall_tau, places, tau_ap
from fire_toolkit.matching.coded import ABSENT, CodedQrels
from fire_toolkit.matching.joining import AnyRun
from fire_toolkit.measures import Measure, parse_measures
from fire_toolkit.results import Found
from fire_toolkit.tables import Labels, PoolSources, Qrels
from fire_toolkit.tables.columns import PAIR, are_positives, pair_rows

SCORES = ["left_out", "measure", "run_id", "is_left_out", "all", "without", "change", "place_all"]
SCORES += ["place_without"]
ORDERS = ["left_out", "measure", "n_own", "n_own_relevant", "tau", "tau_ap", "n_swaps", "largest_change"]
KINDS = ("confirmed", "rejected", "new", "irrelevant", "not_judged")


def leave_out(
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels,
    measures: Sequence[str | Measure],
    *,
    sources: PoolSources,
    families: Mapping[str, str] | None = None,
) -> Found:
    """Return every run's score and place without the judgments that one model, or family, contributed.

    Args:
        runs: as in `join_runs`.
        original, augmented: qrels; the queries of `original` count.
        measures: names or measures.
        sources: which run pooled which pair.
        families: run → family; a family is left out as a whole. Runs not named are one each. Without
            it each run is left out alone.

    Returns:
        scores: left_out, measure, run_id, is_left_out, all, without, change, place_all, place_without.
        orders: left_out, measure, n_own (pairs whose label goes or changes), n_own_relevant (positives that
        go), tau, tau_ap (of the orders with all judgments and without), n_swaps, largest_change (in size,
        over the runs).
        Left out are the runs, or families, that pooled something, in the order of their
        runs in `sources` (by id); within each the measures, then the runs, as given. Pairs that only
        those left out pooled are as in the original qrels. Place 1 is best.

    Raises:
        UsageError: a family names a run that pooled nothing.
        JoinError: as `score_differences`.
    """
    parsed, run_ids = parse_measures(measures), sorted(sources["run_id"].unique())
    if unknown := sorted(set(families or {}) - set(run_ids)):
        raise UsageError(
            f"families: run {unknown[0]!r} pooled nothing; expected some of {', '.join(run_ids)}"
        )
    groups: dict[str, set[str]] = {}
    for run_id in run_ids:
        groups.setdefault((families or {}).get(run_id, run_id), set()).add(run_id)
    joined = join_runs(runs, original, augmented)
    before, after = joined.label(original), joined.label(augmented)
    pooled = joined.pooled(sources)
    owns = {name: own_pairs(pooled, members) for name, members in groups.items()}
    others = {name: (after.reverted(before, own), int(own.sum())) for name, own in owns.items()}
    return _compared(joined, before, after, others, parsed, groups)


def score_changes(
    runs: AnyRun | Sequence[AnyRun],
    original: Qrels,
    augmented: Qrels,
    changes: Mapping[str, pd.DataFrame],
    measures: Sequence[str | Measure],
) -> Found:
    """Return every run's score and place by qrels in which some pairs have another relevance, or none.

    Args:
        runs, original, augmented, measures: as in `leave_out`.
        changes: name (of an annotator who is left out, say) → columns query_id, doc_id, relevance: what these
            pairs have instead, nan where the qrels do not hold them. Pairs that `augmented` lacks may be
            among them; queries may not.

    Returns:
        As `leave_out`, in the order of `changes`; no run is left out.

    Raises:
        JoinError: as `leave_out`.
    """
    parsed = parse_measures(measures)
    further = pd.concat([augmented[:0], *changes.values()])[PAIR].drop_duplicates().assign(relevance=0)
    joined = join_runs(runs, original, augmented, further)
    before, after = joined.label(original), joined.label(augmented)
    others = {}
    for name, table in changes.items():
        relevance = after.relevance.copy()
        relevance[joined.find_rows(table)] = table["relevance"].fillna(ABSENT).to_numpy(dtype=np.int64)
        others[name] = replace(after, relevance=relevance), len(table)
    return _compared(joined, before, after, others, parsed, {})


def _compared(
    joined: JudgedPairs,
    before: CodedQrels,
    after: CodedQrels,
    others: Mapping[str, tuple[CodedQrels, int]],
    measures: list[Measure],
    groups: Mapping[str, set[str]],
) -> Found:
    """Return the scores by `after` beside those by each other labelling.

    others: name → the labelling, and how many pairs it lacks; groups: name → the runs that are left out.
    """
    whole = {run_id: joined.values(run_id, after, measures) for run_id in joined.places}
    means = _aggregate(whole.values(), measures)
    scores, orders = [], []
    for name, (without, n_own) in others.items():
        changed = np.flatnonzero(without.relevance != after.relevance)
        n_gone = int(np.count_nonzero((after.relevance[changed] >= 1) & (without.relevance[changed] < 1)))
        queries = np.unique(joined.query[changed])
        part, labelling = joined.within(queries), without.of(queries)
        values = {run_id: old.copy() for run_id, old in whole.items()}
        for run_id, own in values.items() if len(queries) else ():
            own[queries] = part.values(run_id, labelling, measures)
        anew = _aggregate(values.values(), measures)
        for measure, old, new in zip(measures, means.T, anew.T, strict=True):
            sign = 1 if measure.definition.larger_is_better else -1
            n_swaps = int(np.triu(np.sign(old[:, None] - old) * np.sign(new[:, None] - new) < 0).sum())
            order = (kendall_tau(old, new), tau_ap(sign * old, sign * new), n_swaps)
            orders.append((name, measure.name, n_own, n_gone, *order, float(np.abs(new - old).max())))
            rows = zip(joined.places, old, new, places(old, measure), places(new, measure), strict=True)
            scores += [
                (name, measure.name, run_id, run_id in groups.get(name, ()), a, b, b - a, at_a, at_b)
                for run_id, a, b, at_a, at_b in rows
            ]
    notes = joined.note_depths([before, after], measures)
    tables = {"scores": pd.DataFrame(scores, columns=SCORES), "orders": pd.DataFrame(orders, columns=ORDERS)}
    return Found(tables, notes)


def _aggregate(values: Iterable[Floats], measures: list[Measure]) -> Floats:
    """Return runs × measures."""
    rows = [[m.aggregate(own) for m, own in zip(measures, each.T, strict=True)] for each in values]
    return np.array(rows)


def contributions(sources: PoolSources, labels: Labels, original: Qrels) -> Found:
    """Return what each run, and each set of runs, brought to the pool, and what became of it.

    Args:
        sources: which run pooled which pair.
        labels: the resolved labels.
        original: the benchmark's qrels.

    Returns:
        runs: run_id, n_pooled, n_positive (confirmed and new), then confirmed, rejected, new, irrelevant,
        not_judged; the same of the pairs that no other run pooled, as n_own, own_positive, own_new; and
        own_share (own_new / new).
        sets: runs (joined by ` & `), n_runs, n_pairs, n_positive, then the five kinds: the counts of an
        UpSet plot, largest first.
        Of a pooled pair: an original positive is confirmed or rejected by its label,
        another pair new or irrelevant; without a label it is not_judged. Confirmations are not new.
        Runs are sorted by id; sets by n_pairs descending, then by name.

    Raises:
        JoinError: there are labels, and none is on a pair of the pool.
    """
    sources = PoolSources(sources[sources["query_id"].isin(original["query_id"])])
    pairs = sources[PAIR].drop_duplicates(ignore_index=True)
    label = pair_rows(pairs, labels)
    is_positive = np.append(labels["relevance"].to_numpy() >= 1, False)[label]
    of_original, of_other = np.where(is_positive, 0, 1), np.where(is_positive, 2, 3)
    kind = np.where(are_positives(pairs, original), of_original, of_other)
    kind = np.where(label < 0, KINDS.index("not_judged"), kind)
    if len(pairs) and len(labels) and (kind == KINDS.index("not_judged")).all():
        raise JoinError(f"labels: none is on a pair of the pool ({pairs.iloc[0]['query_id']} "
                        f"{pairs.iloc[0]['doc_id']}, ...); are they of another pool?")  # fmt: skip
    pooled = pooled_by(sources, pair_rows(sources, pairs), len(pairs))
    run_ids, is_by = pooled.columns, pooled.to_numpy()
    is_own = is_by & (is_by.sum(axis=1, keepdims=True) == 1)
    of_kind = np.eye(len(KINDS), dtype=np.int64)[kind]
    by_run, own = (_counted(is_in.T.astype(np.int64) @ of_kind) for is_in in (is_by, is_own))
    runs = pd.DataFrame({"run_id": run_ids, "n_pooled": is_by.sum(axis=0)}).join(by_run)
    runs["n_own"], runs["own_positive"], runs["own_new"] = is_own.sum(axis=0), own["n_positive"], own["new"]
    runs["own_share"] = own["new"] / by_run["new"].where(by_run["new"] > 0)
    members, set_of = np.unique(is_by, axis=0, return_inverse=True)
    counts = np.zeros((len(members), len(KINDS)), dtype=np.int64)
    np.add.at(counts, (set_of.ravel(), kind), 1)
    sets = pd.DataFrame({"runs": [" & ".join(run_ids[each]) for each in members]})
    sets = sets.assign(n_runs=members.sum(axis=1), n_pairs=counts.sum(axis=1)).join(_counted(counts))
    sets = sets.sort_values(["n_pairs", "runs"], ascending=[False, True], kind="stable", ignore_index=True)
    return Found({"runs": runs, "sets": sets})


def _counted(counts: Ints) -> pd.DataFrame:
    """Return how many pairs of each group are positive, and of each kind; counts: groups × kinds."""
    found = pd.DataFrame(counts, columns=list(KINDS))
    found.insert(0, "n_positive", found["confirmed"] + found["new"])
    return found
