"""`difference`: whether one run is better than another, and how sure that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from fire_toolkit.cli.benchmark import (
    existing_augmented,
    measure_option,
    read_clusters,
    read_original,
    resampling_options,
)
from fire_toolkit.cli.common import (
    DRAWN,
    Inputs,
    chosen,
    drawn,
    format_option,
    formatted,
    read_runs,
    run_arguments,
    say,
    write_outputs,
)

if TYPE_CHECKING:
    import pandas as pd


@click.command()
@run_arguments
@click.option("--qrels", metavar="FILE", help="The original qrels; their queries are the ones that count.")
@click.option("--augmented", metavar="FILE", help="The augmented qrels: also their differences, and gains.")
@click.option("--pool-sources", metavar="FILE", help="pool_sources.csv: marks the runs that fed the pool.")
@measure_option
@click.option(
    "--family",
    type=click.Choice(["measure", "all"]),
    default="measure",
    show_default=True,
    help="What Holm corrects together: the pairs of runs under one measure and qrels, or every row.",
)
@resampling_options
@format_option
@click.option("--out", metavar="FILE", help="Also write the long table as CSV.")
def difference(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    pool_sources: str | None,
    measures: tuple[str, ...],
    family: Literal["measure", "all"],
    clusters: str | None,
    queries: str | None,
    resamples: int,
    seed: int,
    output_format: str,
    out: str | None,
) -> None:
    """Test the differences of every two runs: interval, p-values, effect size.

    Intervals are bootstrapped over queries (or --clusters); p is exact (McNemar) for C@k, else from the
    paired randomisation test; Holm corrects p for the pairs tested together. Runs must be equally deep
    where a measure reads them.
    """
    from fire_toolkit.certainty import score_differences
    from fire_toolkit.formats.collections.qrels import read_qrels
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.formats.table_files import read_pool_sources

    inputs = Inputs()
    original = read_original(qrels, inputs)
    augmented_path = augmented or existing_augmented(qrels)
    names = tuple(chosen(measures, "score", "measures"))
    table, notes = score_differences(
        read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids),
        original,
        names,
        augmented=read_qrels(inputs.use(augmented_path)) if augmented_path else None,
        sources=read_pool_sources(inputs.use(pool_sources)) if pool_sources else None,
        clusters=read_clusters(clusters, queries, inputs),
        family=family,
        n_resamples=resamples,
        seed=seed,
    )
    for note in notes:
        say(f"note: {note}")
    if output_format in DRAWN:
        click.echo(_drawn(table, output_format), nl=False)
    else:
        click.echo(formatted(table, output_format), nl=False)
    if out:
        parameters = {"measures": list(names), "family": family, "clusters": clusters}
        draws = {"resamples": resamples, "seed": seed}
        text = {Path(out).name: delimited_text(table, nan="nan")}
        write_outputs(Path(out), text, stage="difference", parameters=parameters | draws, inputs=inputs)


def _drawn(table: pd.DataFrame, output_format: str) -> str:
    from fire_toolkit.measures import parse_measure

    rows = []
    for row in table.to_dict("records"):
        scale = 100 if parse_measure(row["measure"]).definition.unit == "share" else 1
        shown = [
            f"{scale * row[name]:+.1f}" for name in ("difference", "low", "high") if row[name] == row[name]
        ]
        p = row["p_mcnemar"] if row["test"] == "mcnemar" else row["p_randomisation"]
        rows.append(
            [
                row["qrels"],
                row["measure"],
                f"{row['run_a']} & {row['run_b']}",
                f"{scale * row['value_a']:.1f}",
                f"{scale * row['value_b']:.1f}",
                shown[0],
                " to ".join(shown[1:]),
                row["test"],
                _p(p),
                _p(row["p_holm"]),
                "" if row["effect"] != row["effect"] else f"{row['effect']:+.2f}",
                f"{row['n_better']} : {row['n_worse']}",
            ]
        )
    header = ["qrels", "measure", "runs", "a", "b", "a - b", "95%", "test", "p", "Holm", "effect", "wins"]
    return drawn(rows, header, output_format)


def _p(value: float) -> str:
    return "" if value != value else f"{value:.4f}" if value >= 0.0001 else f"{value:.0e}"
