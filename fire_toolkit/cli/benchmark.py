"""What the commands on certainty read: runs, original qrels, labels, the pool's sources, clusters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.cli.common import (
    DRAWN,
    Inputs,
    chosen_path,
    drawn,
    formatted,
    here,
    read_runs,
    shown,
    workspace_path,
)

if TYPE_CHECKING:
    import pandas as pd

    from fire_toolkit.tables import Labels, PoolSources, Qrels, Queries, Run

POLICIES = ("union", "override", "drop")


@dataclass(frozen=True)
class Benchmark:
    """The tables of a benchmark as the command line names them, and the hashes of their files."""

    runs: list[Run]
    original: Qrels
    labels: Labels
    sources: PoolSources | None
    inputs: Inputs


def read_benchmark(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    *,
    qrels: str | None,
    labels: str | None,
    pool_sources: str | None,
) -> Benchmark:
    """Return the tables from the files given, else from the workspace; no pool sources are no error."""
    from fire_toolkit.formats.table_files import read_labels, read_pool_sources

    inputs = Inputs()
    original = read_original(qrels, inputs)
    labels_path = chosen_path(labels, workspace_path("labels"), "--labels")
    labels_file = labels_path / "labels.csv" if labels_path.is_dir() else labels_path
    in_workspace = workspace_path("pool/pool_sources.csv")
    given = pool_sources or (in_workspace if in_workspace and in_workspace.is_file() else None)
    sources_file = Path(given) / "pool_sources.csv" if given and Path(given).is_dir() else given
    return Benchmark(
        read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids),
        original,
        read_labels(inputs.use(labels_file)),
        read_pool_sources(inputs.use(sources_file)) if sources_file else None,
        inputs,
    )


def read_original(qrels: str | None, inputs: Inputs) -> Qrels:
    """Return the original qrels given, else the workspace's."""
    from fire_toolkit.formats.collections.qrels import read_qrels

    workspace = here()
    in_workspace = workspace.path("collection", "qrels") if workspace else None
    return read_qrels(
        inputs.use(chosen_path(qrels, shown(in_workspace) if in_workspace else None, "--qrels"))
    )


def existing_augmented(given_qrels: str | None) -> Path | None:
    """Return the workspace's augmented qrels, if they are there and the originals are its own too."""
    path = workspace_path("augmented/qrels.txt")
    return path if path and given_qrels is None and path.is_file() else None


def read_both_qrels(qrels: str | None, augmented: str | None, inputs: Inputs) -> tuple[Qrels, Qrels]:
    """Return the original and the augmented qrels, which must both be given or be the workspace's."""
    from fire_toolkit.formats.collections.qrels import read_qrels

    original = read_original(qrels, inputs)
    path = chosen_path(augmented, existing_augmented(qrels), "--augmented")
    return original, read_qrels(inputs.use(path))


def print_table(table: pd.DataFrame, output_format: str) -> None:
    """Print a table: whole as csv, tsv or json; drawn, its numbers with four digits."""
    if output_format not in DRAWN:
        click.echo(formatted(table, output_format), nl=False)
        return
    rows = [[_cell(value) for value in row] for row in table.itertuples(index=False)]
    click.echo(drawn(rows, [str(name) for name in table.columns], output_format), nl=False)


def _cell(value: object) -> str:
    if isinstance(value, float):
        return "" if value != value else f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def read_augmented(augmented: str | None, given_qrels: str | None, inputs: Inputs) -> Qrels | None:
    """Return the augmented qrels given, else the workspace's where they are there, else None."""
    from fire_toolkit.formats.collections.qrels import read_qrels

    path = augmented or existing_augmented(given_qrels)
    return read_qrels(inputs.use(path)) if path else None


def read_queries_file(queries: str | None, inputs: Inputs) -> Queries:
    """Return the queries given, else the workspace's."""
    from fire_toolkit.formats.table_files import read_queries

    workspace = here()
    in_workspace = workspace.path("collection", "queries") if workspace else None
    path = chosen_path(queries, shown(in_workspace) if in_workspace else None, "--queries")
    return read_queries(inputs.use(path))


def read_clusters(clusters: str | None, queries: str | None, inputs: Inputs) -> pd.Series | None:
    """Return the column `clusters` of the queries by query_id, or None."""
    if clusters is None:
        return None
    from fire_toolkit.errors import UsageError

    table = read_queries_file(queries, inputs)
    if clusters not in table.columns:
        raise UsageError(f"queries have no column {clusters!r}; found {', '.join(table.columns)}")
    return table.set_index("query_id")[clusters]


Command = Callable[..., Any]


def benchmark_options(command: Command) -> Command:
    """Add `--qrels`, `--labels` and `--pool-sources`."""
    for decorate in (
        click.option("--pool-sources", metavar="FILE", help="pool_sources.csv, or the pool's folder."),
        click.option("--labels", metavar="FILE", help="labels.csv, or the folder that holds it."),
        click.option("--qrels", metavar="FILE", help="The original qrels; their queries count."),
    ):
        command = decorate(command)
    return command


def measure_option(command: Command) -> Command:
    """Add `--measure`."""
    return click.option(
        "-m", "--measure", "measures", multiple=True, metavar="MEASURE",
        help="Such as C@10 (may be repeated).",
    )(command)  # fmt: skip


def resampling_options(command: Command) -> Command:
    """Add what bootstraps and tests need."""
    for decorate in (
        click.option("--seed", default=0, show_default=True, help="The same seed gives the same numbers."),
        click.option("--resamples", default=10_000, show_default=True, help="How many resamples are drawn."),
        click.option("--queries", metavar="FILE", help="queries.tsv, where an option names a column."),
        click.option(
            "--clusters", metavar="COLUMN", help="Resample whole clusters: a column of the queries."
        ),
    ):
        command = decorate(command)
    return command
