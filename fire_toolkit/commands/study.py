"""What scores rest on: `own` and `reuse` of each run, `coverage` of a new one, `orders` of all."""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated, Literal

from fire_toolkit.commands.command import column_of, command, unpooled
from fire_toolkit.commands.types import (
    Augmented,
    ClusteredQueries,
    Clusters,
    FedRuns,
    LabelsOf,
    Measures,
    Option,
    Original,
    OwnItem,
    OwnQueries,
    PoolOf,
    Runs,
    ScoreMeasures,
    Table,
)
from fire_toolkit.errors import UsageError
from fire_toolkit.inference.background import Background
from fire_toolkit.inference.bounds import coverage as coverage_of
from fire_toolkit.inference.judged_pairs import Tell, silent
from fire_toolkit.inference.leave_out import contributions, leave_out
from fire_toolkit.inference.orders import compare_orders
from fire_toolkit.inference.trust import describe_labelled
from fire_toolkit.measures.defaults import COVERAGE, REUSABILITY, SCORE
from fire_toolkit.results import Found, Next
from fire_toolkit.tables import Judgments, Qrels, Scores, check_pool
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of


@command
def own(
    pool_sources: PoolOf,
    labels: LabelsOf,
    qrels: Original,
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    show: Literal["runs", "sets"] = "runs",
) -> Found:
    """Count the pairs that each run pooled, those that it alone pooled, and how they were judged.

    Original positives that were confirmed are counted apart from new positives. What a run's own pairs
    change in the scores of a measure, `reuse -m` and `report table4 -m` say.

    Args:
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        labels: The labels: labels.csv, or its folder.
        qrels: The original qrels; their queries count.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        show: Count by run, or by set of runs, as an UpSet plot does.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_labels, check_qrels
        >>> run = fire.run([[2, 1]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["x"], "relevance": 1}))
        >>> pairs = {"query_id": "q", "doc_id": ["x", "y"], "label": "match", "relevance": 1}
        >>> sources = fire.pool([run], depth=2).pool_sources
        >>> found = fire.own(sources, check_labels(pd.DataFrame(pairs)), qrels)
        >>> found.table[["run_id", "n_pooled", "confirmed", "new"]]
          run_id  n_pooled  confirmed  new
        0   clip         2          1    1
        >>> found.basis
        '1 query; 1 pair in the original qrels; 2 labels; 2 pairs in the pool'
    """
    return replace(contributions(pool_sources, labels, qrels), shown=show)


def _families(given: tuple[str, ...]) -> dict[str, str]:
    families: dict[str, str] = {}
    for each in given:
        name, equals, members = each.partition("=")
        if not equals or not name or not members:
            raise UsageError(f"--family {each!r}; expected NAME=RUN,RUN, as in clip=clip-b,clip-l")
        for run_id in members.split(","):
            if run_id in families:
                raise UsageError(f"--family: run {run_id!r} is in {families[run_id]!r} and in {name!r}")
            families[run_id] = name
    return families


@command
def reuse(
    runs: Runs,
    qrels: Original,
    augmented: Augmented,
    pool_sources: PoolOf,
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    families: Annotated[
        Mapping[str, str] | None, Option(("--family",), metavar="NAME=RUN,RUN...", parse=_families)
    ] = None,
    measures: Measures = REUSABILITY,
    show: Literal["own", "orders", "all"] = "own",
) -> Found:
    """Leave out each run's own judgments, or a family's: how far do scores and places move?

    A run that falls far would have been underrated had it come later; so will be one like it.

    Args:
        runs: The runs.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        families: Runs that are left out together, run to family (may be repeated); the others one by one.
        measures: A measure, such as C@10; may be repeated.
        show: Each run left out, the orders that remain, or every run under each leaving-out.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> pairs = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "relevance": 1})
        >>> both, qrels = check_qrels(pairs), check_qrels(pairs[:1])
        >>> sources = fire.pool(runs, depth=1).pool_sources
        >>> fire.reuse(runs, qrels, both, sources, measures=["C@1"]).table[["run_id", "all", "without"]]
          run_id  all  without
        0   clip  1.0      1.0
        3    ssb  1.0      0.0
    """
    found = leave_out(runs, qrels, augmented, measures, sources=pool_sources, families=families)
    own = found.scores[found.scores["is_left_out"]].drop(columns="is_left_out")
    tables = {"own": own, "orders": found.orders, "all": found.scores}
    return Found(tables, [*found.notes, *unpooled(runs, set(pool_sources["run_id"].unique()))], shown=show)


@command
def coverage(
    runs: Runs,
    qrels: Original,
    augmented: Annotated[Qrels, Table("settled")],
    judgments: Annotated[Judgments | None, Table("earlier_judgments")] = None,
    *,
    queries: OwnQueries = None,
    own_item: OwnItem = None,
    measures: Measures = COVERAGE,
    highest_grade: Annotated[int, Table("highest_grade", is_told=True)] = 1,
) -> Found:
    """Measure how much of a new run is judged, how far its scores can move, and what the rest would cost.

    --out writes the pairs to judge as a pool, for `tasks`.

    Args:
        runs: The runs, pooled or not.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        judgments: Earlier judgments: how long one takes, and how many a pair gets.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        measures: A measure, such as C@10; may be repeated.
        highest_grade: The highest grade that an unjudged doc can have.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> run = fire.run([[1, 2]], "clip", query_ids=["q"], doc_ids=["x", "y"])
        >>> qrels = check_qrels(pd.DataFrame({"query_id": "q", "doc_id": ["x"], "relevance": 1}))
        >>> found = fire.coverage([run], qrels, qrels, measures=["C@1"])
        >>> found.table[["run_id", "augmented", "lower", "upper", "n_open"]]
          run_id  augmented  lower  upper  n_open
        0   clip        0.0    0.0    1.0       1
        >>> found.said
        ['clip: judged 0% at 1, 50% at 5, 50% at 10']
    """
    seconds, labels = float("nan"), 1.0
    said = []
    if judgments is not None:
        labels = len(judgments) / max(1, len(judgments.drop_duplicates(PAIR)))
        seconds = float(judgments["duration_s"].mean())
        takes = "no durations of judgments" if math.isnan(seconds) else f"{seconds:.1f} s a judgment"
        said = [f"cost: {takes} and {labels:.2f} judgments a pair, as in the judgments"]
    found = coverage_of(
        runs,
        qrels,
        augmented,
        measures,
        seconds=seconds,
        labels_per_pair=max(1.0, labels),
        highest_grade=highest_grade,
    )
    for run_id, own in found.judged.groupby("run_id", sort=False):
        percent = own["judged"] * 1000 // 1 / 10  # rounded down, so that 100% means every doc
        shares = ", ".join(f"{each:g}% at {k}" for each, k in zip(percent, own["k"], strict=True))
        said.append(f"{run_id}: judged {shares}")
    each = found.pairs.drop_duplicates(["run_id", *PAIR]).groupby(PAIR, sort=True)
    pool = check_pool(each.agg(best_rank=("rank", "min"), n_runs=("run_id", "nunique")).reset_index())
    return replace(
        found,
        said=said,
        written=pool,
        counts={"pairs": len(pool)},
        words=f"{n_of(len(pool), 'pair')} to judge in {{out}}",
        next=Next("tasks {out}", "--queries {QUERIES} --out {stem}.tasks.json"),
    )


@command
def orders(
    runs: Runs,
    labellings: Annotated[
        Mapping[str, Qrels], Table("labellings", option="--qrels", metavar="[NAME=]FILE", is_several=True)
    ],
    *,
    queries: ClusteredQueries = None,
    own_item: OwnItem = None,
    measures: ScoreMeasures = SCORE,
    show: Literal["agreement", "swaps", "scores"] = "agreement",
    clusters: Clusters = None,
    pooled_runs: FedRuns = None,
    background: Annotated[Background | None, Table("known_of_workspace", is_told=True)] = None,
    tell: Tell = silent,
) -> Found:
    """Compare the order of runs under two or more qrels: original and augmented, or several rules.

    Tau and tau_AP say how alike the orders are; --show swaps gives, for every two runs, the chance that
    they would be ordered differently had other captions been drawn.

    Args:
        runs: The runs.
        labellings: Two qrels or more, the original first. [default: the workspace's original and augmented]
        queries: The queries, with own items and the columns that other options name.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        measures: A measure, such as C@10; may be repeated.
        show: Tau of the orders, every pair of runs, or every place.
        clusters: Intervals over whole clusters of queries, named by this column of the queries.
        pooled_runs: The runs that fed the pool; a note names the others.
        background: What else is known of the labels of the qrels after the first.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run([row], name, query_ids=["q"], doc_ids=["x", "y"]) for name, row in
        ...         {"clip": [2, 1], "ssb": [1, 2]}.items()]
        >>> pairs = pd.DataFrame({"query_id": "q", "doc_id": ["x", "y"], "relevance": 1})
        >>> qrels = {"original": check_qrels(pairs[:1]), "augmented": check_qrels(pairs)}
        >>> found = fire.orders(runs, qrels, measures=["R@1"], show="scores")
        >>> found.table[["labelling", "run_id", "value", "place"]]
           labelling run_id  value  place
        0   original   clip    1.0      1
        1   original    ssb    0.0      2
        2  augmented   clip    0.5      1
        3  augmented    ssb    0.5      1
        >>> found.basis
        '2 runs; 1 query; original 1 pair, augmented 2 pairs'
    """
    by = column_of(queries, clusters)
    found = compare_orders(runs, labellings, measures, clusters=by, tell=tell)
    notes = [*found.notes, *unpooled(runs, pooled_runs)]
    first, design = next(iter(labellings.values())), (background or Background()).design
    for name, qrels in list(labellings.items())[1:]:
        own = found.scores[found.scores["labelling"] == name].assign(query_id="all", qrels="augmented")
        notes += describe_labelled(runs, first, qrels, Scores(own), measures, design)
    return replace(found, notes=list(dict.fromkeys(notes)), shown=show)
