"""What scores by labels as they are may be trusted for where docs were never judged, as sentences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import ceil
from typing import Any

import pandas as pd

from fire_toolkit.inference.background import Design, pairs_of_sample
from fire_toolkit.inference.estimates import AS_LABELLED, MISSING_COLUMNS, REFUSED, Estimator, estimator
from fire_toolkit.inference.judged_pairs import Runs, join_runs
from fire_toolkit.inference.two_phase import LEAST_QUERIES
from fire_toolkit.measures import Measure, parse_measure, parse_measures
from fire_toolkit.tables import Labels, Qrels, Scores
from fire_toolkit.tables.columns import are_positives
from fire_toolkit.words import n_of

LEAST_MISSING = 0.05  # a share of positives never judged that is worth a sentence
LEAST_OFF = 0.005  # of a score, likewise
DEEP = 50  # ranks of each run


def describe_labelled(
    runs: Runs,
    original: Qrels,
    augmented: Qrels,
    scores: Scores,
    measures: Sequence[str | Measure],
    design: Design | None,
) -> list[str]:
    """Return what augmented scores of measures that divide by |G| may be trusted for.

    Where queries were judged deep by a design, the runs are scored again by the shallow labels; where pairs
    were drawn in strata, the sample says how many positives it left out, and how far P@k is off by them.

    Args:
        runs, original, augmented: what was scored.
        scores: their scores.
        measures: those shown.
        design: by which the judged pairs were chosen; of a machine judge's sample it says nothing.
    """
    parsed = parse_measures(measures)
    divided = [each for each in parsed if each.definition.over_positives]
    of_top = (
        [each for each in parsed if _reads_top(each)] if design is not None and design.is_of_pairs else []
    )
    if not (divided or of_top):
        return []
    n = {"n_queries": int(original["query_id"].nunique()), "n_runs": int(scores["run_id"].nunique())}
    if design is None or design.sample is not None:
        return describe_unknown(divided, **n)
    joined = join_runs(runs, original, augmented, *pairs_of_sample(design))
    by = estimator(joined, joined.label(original), joined.label(augmented), design)
    rows, _ = estimates_of_runs(by, [*of_top, *divided])
    means = scores[(scores["query_id"] == "all") & (scores["qrels"] == "augmented")]
    labelled = means.rename(columns={"value": "augmented"})[["run_id", "measure", "augmented"]]
    both = pd.DataFrame([*rows.values()]).merge(labelled, on=["run_id", "measure"])
    known = set(both.loc[both["missing"].notna(), "measure"])
    return [
        *(words for _, words in describe_undrawn(both)),
        *describe_missing(both),
        *describe_unknown([each for each in divided if each.name not in known], **n),
    ]


def _reads_top(measure: Measure) -> bool:
    return measure.definition.is_precision or measure.definition.by_first_positive


def describe_undrawn(scores: pd.DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each measure of the top that reads docs which a sample left out, and how far that puts it off."""
    is_top = scores["measure"].map(lambda name: _reads_top(parse_measure(name)))
    for measure, own in scores[is_top].groupby("measure", sort=False):
        is_off, is_known = own["estimate_method"] != AS_LABELLED, own["estimate"].notna()
        is_near = (own["augmented"] - own["estimate"]).abs().max() < LEAST_OFF
        for of, words in (
            (own[is_off & is_known][: 0 if is_near else None], f"{_off(own)} (`score --honest`)"),
            (own[is_off & ~is_known], "worse by an unknown amount"),
        ):
            some = "" if len(of) == len(own) else f" of {', '.join(of['run_id'])}"
            if len(of):
                yield (
                    str(measure),
                    f"{measure}{some}: docs that the sample left out count as not relevant, which makes it "
                    f"{words}",
                )


def estimates_of_runs(
    by: Estimator, measures: Sequence[Measure]
) -> tuple[dict[tuple[str, str], dict[str, Any]], list[str]]:
    """Return what a design tells of each run and measure, and sentences on it.

    Returns:
        By run and measure run_id, measure, `ESTIMATE_COLUMNS`, estimate_n (pairs or queries drawn) and
        `MISSING_COLUMNS`.
    """
    missing = [by.missing(measure) for measure in measures]
    rows, words, named = {}, list[str](), [("the share never judged", each) for each in missing]
    for run_id in by.joined.places:
        for measure, share in zip(measures, missing, strict=True):
            named.append((measure.name, found := by.estimate(measure, run_id)))
            row = {"run_id": run_id, "measure": measure.name, "estimate_n": by.n} | by.cells(found)
            rows[run_id, measure.name] = row | dict(zip(MISSING_COLUMNS, share[:3], strict=True))
    for name, totals in ((measure.name, by.totals(measure)) for measure in measures):
        named += [(name, each) for each in totals.values()]
        of_runs = [
            f"{run} {each.refused or f'{each.estimate:.3f} [{each.low:.3f}, {each.high:.3f}]'}"
            for run, each in totals.items()
        ]
        union = by.basis.partition(";")[0]
        what = f"{name} as a ratio of totals over all queries (micro, no mean), by the positives {union}"
        words += [f"{what}: {', '.join(of_runs)}"] if of_runs else []
    return rows, [*words, *by.cautions(named)]


def note_refused(rows: pd.DataFrame, names: pd.Series) -> Iterator[str]:
    """Yield for each measure why it has no estimate, and of which rows where others have one.

    Args:
        rows: measure, estimate_method.
        names: of the rows: a run, or two.
    """
    refused = rows[rows["estimate_method"].str.startswith(REFUSED)]
    for (measure, method), own in refused.groupby(["measure", "estimate_method"], sort=False):
        is_all = len(own) == int((rows["measure"] == measure).sum())
        of = "" if is_all else f" of {', '.join(names[own.index])}"
        yield f"{measure}: no estimate{of}: {str(method).removeprefix(REFUSED)}"


def describe_missing(scores: pd.DataFrame) -> list[str]:
    """Return for each measure with positives that were never judged how many, and how far it is off.

    The estimate is by the labels of the sample: their wrong positives push it down, which no sample shows.
    The share is that of the positives that could be judged; what no run ranks so deep is never judged either.

    Args:
        scores: a row for each run and measure: measure, augmented (as labelled), estimate (nan where
            refused), missing, missing_low, missing_high (the share of |G|; nan where it is not known).

    Returns:
        A sentence for all measures of which the same is said, in the order of the rows; none where the share
        is 5% or below, or not known.

    Examples:
        >>> describe_missing(pd.DataFrame({
        ...     "measure": "AP", "augmented": [0.55, 0.4], "estimate": [0.4, 0.31], "missing": 0.4,
        ...     "missing_low": 0.37, "missing_high": 0.43}))
        ['AP: at least about 40% of positives (37% to 43%) were never judged; by these labels AP is too high \
by an estimated 9 to 15 points, and wrong new positives push it down']
    """
    told: dict[tuple[str, str], list[str]] = {}
    for measure, own in scores[scores["missing"] > LEAST_MISSING].groupby("measure", sort=False):
        share, low, high = (f"{own.iloc[0][name]:.0%}" for name in ("missing", "missing_low", "missing_high"))
        told.setdefault((f"{share} of positives ({low} to {high})", _off(own)), []).append(str(measure))
    return [
        f"{', '.join(names)}: at least about {share} were never judged; by these labels {', '.join(names)} "
        f"{'is' if len(names) == 1 else 'are'} {off}, and wrong new positives push "
        f"{'it' if len(names) == 1 else 'them'} down"
        for (share, off), names in told.items()
    ]


def _off(scores: pd.DataFrame) -> str:
    """Return by how many points the scores are off, over the runs."""
    points = (100 * (scores["augmented"] - scores["estimate"])).dropna()
    if points.empty:
        return "off by an unknown amount"
    low, high = round(points.min()), round(points.max())
    if low < 0 < high:
        return f"off by an estimated {low:+d} to {high:+d} points"
    ends = sorted({abs(low), abs(high)})
    size = " to ".join(map(str, ends))
    direction = "low" if low < 0 else "high"
    return f"too {direction} by an estimated {size} {'point' if ends == [1] else 'points'}"


def describe_unknown(measures: Sequence[Measure], *, n_queries: int, n_runs: int) -> list[str]:
    """Return as one sentence what is not known without queries judged deep; nothing if no measure needs it.

    Args:
        measures: those shown; only such as divide by |G| are named.
        n_queries, n_runs: how many there are, for what it would cost to know.

    Examples:
        >>> from fire_toolkit.measures import parse_measures
        >>> describe_unknown(parse_measures(["C@10", "AP", "R@10"]), n_queries=1332, n_runs=5)
        ['AP, R@10: relevant docs that nobody judged push them up, wrong new positives push them down, and \
which weighs more is not known; 134 random queries judged to depth 50 would show the first, for at most \
33,500 pairs (pool --deep-queries .1)']
    """
    names = [measure.name for measure in measures if measure.definition.over_positives]
    if not names:
        return []
    n = min(max(LEAST_QUERIES, ceil(n_queries / 10)), n_queries)
    if n < LEAST_QUERIES:
        cost = f"with {n_of(n_queries, 'query')} only judging them all deep would show the first"
    else:
        cost = (
            f"{n:,} random queries judged to depth {DEEP} would show the first, for at most "
            f"{n * n_runs * DEEP:,} pairs (pool --deep-queries .1)"
        )
    them = "it" if len(names) == 1 else "them"
    return [
        f"{', '.join(names)}: relevant docs that nobody judged push {them} up, wrong new positives push "
        f"{them} down, and which weighs more is not known; {cost}"
    ]


def note_unverified(labels: Labels, design: Design, original: Qrels) -> tuple[str, ...]:
    """Return a note on new positives of queries judged deep that rest on one vote; none without counts.

    The shallow pairs of these queries count too, for all of a query's positives are in what AP divides by.
    """
    if design.queries is None or "n_judgments" not in labels:
        return ()
    sampled = design.queries.loc[design.queries["is_sampled"].astype(bool), "query_id"]
    found = labels[labels["query_id"].isin(sampled) & (labels["relevance"] >= 1)]
    positives = found[~are_positives(found, original)]
    n_once = int((positives["n_judgments"] == 1).sum())
    if not n_once:
        return ()
    return (
        f"{n_once:,} of {len(positives):,} new positives of the queries judged deep rest on one vote; have "
        "each verified by a second (`next-round --ask unverified_positive`): few of these pairs are "
        "positive, and 4% of false positives lowered AP by 7 points",
    )
