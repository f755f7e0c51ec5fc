"""`orders` and `contributions`: how the order of runs depends on the labels, and who found what."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.benchmark import (
    measure_option,
    print_table,
    read_clusters,
    read_original,
    resampling_options,
)
from fire_toolkit.cli.common import (
    Inputs,
    chosen,
    chosen_path,
    format_option,
    read_runs,
    run_arguments,
    say,
    workspace_path,
)

if TYPE_CHECKING:
    from fire_toolkit.tables import Qrels


@click.command()
@run_arguments
@click.option(
    "--qrels",
    "labellings",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Two qrels or more, the original first. [default: the workspace's original and augmented]",
)
@measure_option
@click.option(
    "--show",
    type=click.Choice(["agreement", "swaps", "scores"]),
    default="agreement",
    show_default=True,
    help="Tau of the orders, every pair of runs, or every place.",
)
@resampling_options
@format_option
def orders(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    labellings: tuple[str, ...],
    measures: tuple[str, ...],
    show: str,
    clusters: str | None,
    queries: str | None,
    resamples: int,
    seed: int,
    output_format: str,
) -> None:
    """Compare the order of runs under two labellings or more: original and augmented, or several rules.

    Tau and tau_AP say how alike the orders are; --show swaps gives, for every two runs, how often they
    would be ordered differently had other captions been drawn.
    """
    from fire_toolkit.certainty import compare_orders

    inputs = Inputs()
    found = compare_orders(
        read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids),
        _read_labellings(labellings, inputs),
        tuple(chosen(measures, "score", "measures")),
        clusters=read_clusters(clusters, queries, inputs),
        n_resamples=resamples,
        seed=seed,
    )
    for note in found.notes:
        say(f"note: {note}")
    table = {"agreement": found.agreement, "swaps": found.swaps, "scores": found.scores}[show]
    print_table(table, output_format)


def _read_labellings(given: tuple[str, ...], inputs: Inputs) -> dict[str, Qrels]:
    from fire_toolkit.errors import UsageError
    from fire_toolkit.formats.collections.qrels import read_qrels

    if not given:
        path = chosen_path(None, workspace_path("augmented/qrels.txt"), "--qrels")
        return {"original": read_original(None, inputs), "augmented": read_qrels(inputs.use(path))}
    found: dict[str, Qrels] = {}
    for each in given:
        name, equals, path_text = each.partition("=")
        is_named = bool(equals) and "/" not in name
        path = Path(path_text if is_named else each)
        label = name if is_named else path.name
        if label in found:
            raise UsageError(f"two qrels are called {label!r}; name them, as in a={path} b=...")
        found[label] = read_qrels(inputs.use(path))
    return found


@click.command()
@click.option("--pool-sources", metavar="FILE", help="pool_sources.csv, as `pool` writes it.")
@click.option("--labels", metavar="FILE", help="labels.csv, or the folder that holds it.")
@click.option("--qrels", metavar="FILE", help="The original qrels.")
@click.option("--sets", is_flag=True, help="Count by set of runs, as an UpSet plot does.")
@format_option
def contributions(
    pool_sources: str | None, labels: str | None, qrels: str | None, sets: bool, output_format: str
) -> None:
    """Count what each run brought to the pool, what it alone brought, and what became of it.

    Original positives that were confirmed are counted apart from new positives.
    """
    from fire_toolkit.certainty import contributions as count
    from fire_toolkit.formats.table_files import read_labels, read_pool_sources

    inputs = Inputs()
    sources_path = chosen_path(pool_sources, workspace_path("pool/pool_sources.csv"), "--pool-sources")
    labels_path = chosen_path(labels, workspace_path("labels"), "--labels")
    labels_file = labels_path / "labels.csv" if labels_path.is_dir() else labels_path
    found = count(
        read_pool_sources(inputs.use(sources_path)),
        read_labels(inputs.use(labels_file)),
        read_original(qrels, inputs),
    )
    print_table(found.by_set if sets else found.by_run, output_format)
