"""`difference`: whether one run is better than another, and how sure that is."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

import pandas as pd

from fire_toolkit.commands.command import command
from fire_toolkit.commands.types import (
    AugmentedIfAny,
    BackgroundOf,
    ClusteredQueries,
    Clusters,
    KnownLabels,
    Original,
    OwnItem,
    Runs,
    ScoreMeasures,
    Table,
)
from fire_toolkit.inference import score_differences
from fire_toolkit.inference.background import Background, pairs_of_sample
from fire_toolkit.inference.correction import (
    correct_for_errors,
    is_by_design,
    is_corrected,
    join_with_votes,
    with_corrected_differences,
)
from fire_toolkit.inference.judged_pairs import Tell, join_runs, silent
from fire_toolkit.measures import parse_measure
from fire_toolkit.measures.defaults import SCORE
from fire_toolkit.reporting.honest import beside_usable, drawn_beside
from fire_toolkit.results import Found, drawn_text
from fire_toolkit.tables import PoolSources


@command
def difference(
    runs: Runs,
    qrels: Original,
    augmented: AugmentedIfAny = None,
    labels: KnownLabels = None,
    pool_sources: Annotated[PoolSources | None, Table("sources_if_any", is_told=True)] = None,
    *,
    background: BackgroundOf = None,
    queries: ClusteredQueries = None,
    own_item: OwnItem = None,
    clusters: Clusters = None,
    measures: ScoreMeasures = SCORE,
    tell: Tell = silent,
) -> Found:
    """Test the differences of every two runs: interval, p-value, effect size.

    Interval and p come from one method: the score method for C@k (Tango; McNemar) and where few queries
    differ, else Student's t over queries or clusters. p_holm is corrected for the pairs tested together. A
    note says where a measure reads the runs to different depths. Where a sample or second votes by design
    allow it, the difference is also estimated (est. a - b) or corrected for errors of votes, as in `score
    --honest`.

    Args:
        runs: The runs.
        qrels: The original qrels; their queries count.
        augmented: The augmented qrels, as `augment` writes them.
        labels: The labels of judged pairs.
        pool_sources: Which run pooled which pair: pool_sources.csv, or its folder.
        background: What else is known of the labels.
        queries: The queries, with their own items.
        own_item: Drop or keep each query's own item. [default: the collection's protocol]
        clusters: Intervals over whole clusters of queries, named by this column of the queries.
        measures: A measure, such as C@10; may be repeated.

    Examples:
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_qrels
        >>> runs = [fire.run(rows, name, query_ids=["p", "q"], doc_ids=["x", "y"]) for name, rows in
        ...         {"clip": [[2, 1], [2, 1]], "ssb": [[1, 2], [1, 2]]}.items()]
        >>> pairs = {"query_id": ["p", "q"], "doc_id": "x", "relevance": 1}
        >>> found = fire.difference(runs, check_qrels(pd.DataFrame(pairs)), measures=["C@1"])
        >>> found.table[["run_a", "run_b", "difference", "test"]]
          run_a run_b  difference   test
        0  clip   ssb         1.0  score
    """
    known = background or Background()
    design = (
        None if augmented is None or known.design is None or known.design.sample is not None else known.design
    )
    options: dict[str, Any] = {"sources": pool_sources, "clusters": clusters, "tell": tell}
    qrels_of_both = [qrels] if augmented is None else [qrels, augmented]
    by_design = labels if augmented is not None and is_by_design(labels, known) else None
    if by_design is None:
        joined = join_runs(runs, *qrels_of_both, *pairs_of_sample(design))
    else:
        joined = join_with_votes(runs, qrels, by_design, known, *qrels_of_both)
    found = score_differences(joined, qrels, measures, augmented=augmented, design=design, **options)
    table, said = found.table, list(found.notes)
    if by_design is not None:
        by: dict[str, Any] = {"sources": pool_sources, "clusters": clusters, "policies": [known.policy]}
        correction = correct_for_errors(joined, qrels, by_design, measures, known, **by)
        table = with_corrected_differences(table, correction)
        said += correction.notes
    if (alone := known.usable_join(joined)) is not None:
        original, corrected = known.usable(qrels, augmented)
        usable = score_differences(alone, original, measures, augmented=corrected, **options)
        table = beside_usable(table, usable.table)
    draw = partial(drawn_beside, draw=_drawn)
    return Found(
        {"differences": table},
        [*said, *known.notes],
        ["Holm over the pairs of runs under one measure and qrels"],
        draw=draw,
    )


def _drawn(table: pd.DataFrame, form: str) -> str:
    corrected = set(table.loc[table["qrels"].map(is_corrected), "measure"])
    rows = [_cells(row, corrected) for row in table.to_dict("records")]
    return drawn_text([list(row.values()) for row in rows], list(rows[0]), form)


def _cells(row: Mapping[Any, Any], corrected: set[str]) -> dict[str, str]:
    """Return a difference's cells: shares times 100. corrected: the measures with corrected scores beside."""
    is_labelled = row["measure"] in corrected and row["qrels"] == "augmented"
    labelling = "as labelled" if is_labelled else str(row["qrels"]).replace("_", " ")
    scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
    shown = [f"{scale * row[name]:+.1f}" for name in ("difference", "low", "high") if row[name] == row[name]]
    return {
        "qrels": labelling,
        "measure": row["measure"],
        "runs": f"{row['run_a']} & {row['run_b']}",
        "a": f"{scale * row['value_a']:.1f}",
        "b": f"{scale * row['value_b']:.1f}",
        "a - b": shown[0],
        "95%": " to ".join(shown[1:]) or "not known",
        "test": row["test"],
        "p": _p(row["p"]),
        "Holm": _p(row["p_holm"]),
        "effect": "" if row["effect"] != row["effect"] else f"{row['effect']:+.2f}",
        "wins": "" if is_corrected(row["qrels"]) else f"{row['n_better']} : {row['n_worse']}",
    } | ({"est. a - b": _estimate(row, scale)} if "estimate" in row else {})


def _estimate(row: Mapping[Any, Any], scale: int) -> str:
    value, low, high = (scale * row[name] for name in ("estimate", "estimate_low", "estimate_high"))
    if value == value:
        return f"{value:+.1f} ({low:+.1f} to {high:+.1f})"
    method = row["estimate_method"]
    return str(method).split(":")[0] if method == method else ""


def _p(value: float) -> str:
    return "" if value != value else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
