"""What the commands on scores read: runs, qrels, labels, the pool's sources, queries; and how they print."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import Any

import click
import pandas as pd

from fire_toolkit.arrays import starts_of_groups
from fire_toolkit.cli.common import (
    DRAWN,
    Inputs,
    chosen_path,
    drawn,
    file_in,
    made_file,
    n_of,
    named_file,
    run_arguments,
    say,
    workspace_path,
)
from fire_toolkit.cli.own_items import OwnItemRule, choose_own_items, own_item_option
from fire_toolkit.cli.run_files import open_runs, read_runs
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.runs.matrix_runs import MatrixRun
from fire_toolkit.formats.runs.native import NativeRunFile
from fire_toolkit.formats.runs.read import run_id_of
from fire_toolkit.formats.tables.table_files import (
    read_labels,
    read_pool_sources,
    read_pooled_runs,
    read_queries,
)
from fire_toolkit.formats.tables.table_text import table_text
from fire_toolkit.tables import Labels, PoolSources, Qrels, Queries, Run
from fire_toolkit.tables.columns import Coded

Command = Callable[..., Any]


class Given:
    """The tables that a command was given, else those of its workspace, each read when first asked for."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self.inputs = Inputs()
        self.orders_docs = False  # whether --doc-ids is the order of docs too, so that runs need not need it

    @cached_property
    def own(self) -> OwnItemRule:
        """What becomes of each query's own item in the runs, qrels, labels and pool sources."""
        if "own_item" not in self.values:
            return OwnItemRule({}, False, "")
        return choose_own_items(self.values["own_item"], self.values["queries"], self.inputs)

    @cached_property
    def runs(self) -> list[Run]:
        """The runs, in the order given."""
        return self.runs_to(None)

    @cached_property
    def stored_runs(self) -> list[Run | NativeRunFile | MatrixRun]:
        """The same for what takes one after the other, a block at a time (`score_runs`)."""
        ids = {name: self.values[name] for name in ("query_ids", "doc_ids")}
        return open_runs(self.values["runs"], self.inputs, **ids, own=self.own, orders_docs=self.orders_docs)

    def _read_runs(self) -> Sequence[Run | NativeRunFile | MatrixRun]:
        """Return the runs in whichever form they were asked for; nothing where they were not."""
        read = self.__dict__
        found: Sequence[Run | NativeRunFile | MatrixRun] = read.get("runs", read.get("stored_runs", []))
        return found

    def runs_to(self, depth: int | None) -> list[Run]:
        """Return the top `depth` of the runs."""
        ids = {name: self.values[name] for name in ("query_ids", "doc_ids")}
        return read_runs(
            self.values["runs"], self.inputs, **ids, depth=depth, own=self.own, orders_docs=self.orders_docs
        )

    @cached_property
    def original(self) -> Qrels:
        """The original qrels."""
        return self.own.original(read_original(self.values["qrels"], self.inputs))

    @cached_property
    def augmented_if_any(self) -> Qrels | None:
        """The augmented qrels, or None where none is given and the workspace has none."""
        found = read_augmented(self.values["augmented"], self.values["qrels"], self.inputs)
        return None if found is None else self.own.corrected(found, self.original, "augmented qrels")

    @property
    def augmented(self) -> Qrels:
        """The augmented qrels; a usage error where there are none."""
        if self.augmented_if_any is None:
            chosen_path(None, None, "--augmented")
        return self.augmented_if_any  # type: ignore[return-value]

    @cached_property
    def labels(self) -> Labels:
        """The resolved labels."""
        path = chosen_path(self.values["labels"], workspace_path("labels"), "--labels")
        found = read_labels(self.inputs.use(file_in(path, "labels.csv")))
        labels: Labels = self.own.pairs(found, "labels")
        return labels

    @cached_property
    def sources_if_any(self) -> PoolSources | None:
        """Which run pooled which pair; None where it is not given, and the qrels not the workspace's."""
        path = self._sources_file
        return self._read_sources(path) if path else None

    @property
    def _sources_file(self) -> Path | None:
        own = made_file("pool/pool_sources.csv") if self.values.get("qrels") is None else None
        path = self.values.get("pool_sources") or own
        return Path(path) if path else None

    @cached_property
    def sources(self) -> PoolSources:
        """Which run pooled which pair; a usage error where that is not known."""
        if self.sources_if_any is not None:
            return self.sources_if_any
        path = chosen_path(None, workspace_path("pool/pool_sources.csv"), "--pool-sources")
        return self._read_sources(path)

    def _read_sources(self, path: Path) -> PoolSources:
        found = read_pool_sources(self._use_sources(path))
        sources: PoolSources = self.own.pairs(found, "pool sources")
        return sources

    def _use_sources(self, path: Path) -> Path:
        return self.inputs.use(file_in(path, "pool_sources.csv"))

    @cached_property
    def pooled_runs(self) -> set[str] | None:
        """The runs that fed the pool, read alone where the rest was not; None where it is not known."""
        path = self._sources_file
        if path and not self.own.of_query and not {"sources", "sources_if_any"} & set(self.__dict__):
            return read_pooled_runs(self._use_sources(path))
        return None if self.sources_if_any is None else set(self.sources_if_any["run_id"].unique())

    @cached_property
    def queries(self) -> Queries:
        """The queries."""
        return read_queries_file(self.values["queries"], self.inputs)

    @cached_property
    def draws(self) -> dict[str, Any]:
        """The clusters, the number of resamples and the seed, as functions on intervals take them."""
        clusters = read_clusters(self.values["clusters"], self.values["queries"], self.inputs)
        return {
            "clusters": clusters,
            "n_resamples": self.values["resamples"],
            "seed": self.values["seed"],
        }

    @property
    def draw_parameters(self) -> dict[str, Any]:
        """The same as they stand in a manifest."""
        return {name: self.values[name] for name in ("clusters", "resamples", "seed")}

    def say_unpooled(self) -> None:
        """Say which runs fed no pool, where the pool is known."""
        fed = self.pooled_runs
        if fed is None:
            return
        fresh = [run_id for run_id in map(run_id_of, self._read_runs() or self.runs) if run_id not in fed]
        if fresh:
            say(f"note: {', '.join(fresh)}: fed no pool, so what only such a run finds is unjudged; its "
                "scores are not comparable with those of pooled runs: see `score --honest`")  # fmt: skip

    def basis(self, *more: str) -> str:
        """Return what the tables read so far hold, and how often they were resampled, in words."""
        read = self.__dict__
        runs = self._read_runs()
        parts = [n_of(len(runs), "run")] if runs else []
        if "original" in read:
            parts.append(n_of(int(self.original["query_id"].nunique()), "query"))
            parts.append(f"{n_of(len(self.original) - self.own.n_added, 'pair')} in the original qrels")
        if read.get("augmented_if_any") is not None:
            parts.append(f"{len(self.augmented) - self.own.n_added:,} in the augmented")
        if "labels" in read:
            methods = self.labels.get("method")
            rules = "" if methods is None else ", ".join(map(str, methods.dropna().unique()))
            parts.append(n_of(len(self.labels), "label") + (f" by the rule {rules}" if rules else ""))
        sources = read.get("sources", read.get("sources_if_any"))  # ordered by query and doc
        if sources is not None:
            n_pairs = int(
                starts_of_groups(*(Coded(sources[name]).codes for name in ("query_id", "doc_id"))).size
            )
            parts.append(f"{n_of(n_pairs, 'pair')} in the pool")
        if "draws" in read:
            clusters = self.draws["clusters"]
            units = "queries"
            if clusters is not None:
                units = f"{n_of(int(clusters.nunique()), 'cluster')} ({clusters.name})"
            parts.append(resampled(self.draws["n_resamples"], self.draws["seed"], units))
        return "; ".join([*parts, *self.own.in_words(), *more])


def resampled(n_resamples: int, seed: int, units: str) -> str:
    """Return how often what was resampled, in words."""
    return f"{n_of(n_resamples, 'resample')} of {units}, seed {seed}"


def compared(runs: list[Run], *, depth: int | str, ties: str = "broken") -> str:
    """Return what a comparison of runs rests on, in words."""
    first, *others = (run["query_id"].cat.categories for run in runs)
    n_queries = first.append(others).nunique()
    return f"{n_of(len(runs), 'run')}; {n_of(n_queries, 'query')}; top {depth}; ties {ties}"


def _only_one(ctx: click.Context, param: click.Parameter, values: Sequence[str]) -> str | None:
    """Return the value given; a usage error for a second one, which would take the place of the first."""
    if len(values) > 1:
        raise click.BadParameter(
            f"given {len(values)} times; pool all runs together (`fire-toolkit pool`): one file then has the "
            "sources of all"
        )
    return values[0] if values else None


def pool_sources_option(text: str) -> Callable[[Command], Command]:
    """Add `--pool-sources`, which can be given once."""
    return click.option("--pool-sources", multiple=True, callback=_only_one, metavar="FILE", help=text)


_OPTIONS: dict[str, Callable[[Command], Command]] = {
    "qrels": click.option("--qrels", metavar="FILE", help="The original qrels; their queries count."),
    "augmented": click.option(
        "--augmented", metavar="FILE", help="The augmented qrels, as `augment` writes them."
    ),
    "labels": click.option("--labels", metavar="FILE", help="labels.csv, or the folder that holds it."),
    "pool_sources": pool_sources_option("pool_sources.csv, or the folder that holds it."),
    "queries": click.option("--queries", metavar="FILE", help="queries.tsv: the captions, their own items."),
    "runs": run_arguments,
    "own_item": own_item_option,
}
_READ = {"runs", "query_ids", "doc_ids", "qrels", "augmented", "labels", "pool_sources", "queries"}
_READ |= {"clusters", "resamples", "seed", "own_item"}


def reads(*names: str) -> Callable[[Command], Command]:
    """Add the options named, in that order, and hand the command one `Given` in the place of all it reads.

    Where it reads runs or labels it can be told what becomes of queries' own items.
    """

    def decorate(command: Command) -> Command:
        @wraps(command)
        def with_tables(**values: Any) -> Any:
            rest = {name: value for name, value in values.items() if name not in _READ}
            return command(Given({name: values[name] for name in _READ & set(values)}), **rest)

        decorated: Command = with_tables
        known = {param.name for param in getattr(command, "__click_params__", [])} | set(names)
        more = ["own_item", "queries"] if {"runs", "labels"} & set(names) else []
        for name in reversed([*names, *(name for name in more if name not in known)]):
            decorated = _OPTIONS[name](decorated)
        return decorated

    return decorate


def read_original(qrels: str | None, inputs: Inputs) -> Qrels:
    """Return the original qrels given, else the workspace's."""
    return read_qrels(inputs.use(chosen_path(qrels, named_file("qrels"), "--qrels")))


def read_augmented(augmented: str | None, given_qrels: str | None, inputs: Inputs) -> Qrels | None:
    """Return the augmented qrels given, else the workspace's where they correct its own, else None."""
    path = augmented or (made_file("augmented/qrels.txt") if given_qrels is None else None)
    return read_qrels(inputs.use(path)) if path else None


def read_queries_file(queries: str | None, inputs: Inputs) -> Queries:
    """Return the queries given, else the workspace's."""
    return read_queries(inputs.use(chosen_path(queries, named_file("queries"), "--queries")))


def read_clusters(clusters: str | None, queries: str | None, inputs: Inputs) -> pd.Series | None:
    """Return the column `clusters` of the queries by query_id, or None."""
    if clusters is None:
        return None
    table = read_queries_file(queries, inputs)
    if clusters not in table.columns:
        raise UsageError(f"queries have no column {clusters!r}; found {', '.join(table.columns)}")
    return table.set_index("query_id")[clusters]


def print_table(
    table: pd.DataFrame,
    output_format: str,
    forms: Mapping[str, tuple[str, str]] | None = None,
    *,
    basis: str,
) -> None:
    """Print a table and what it rests on.

    As csv, tsv or json it is whole, with every digit; drawn it has the columns of `forms` (name → heading,
    format), or all, their numbers with four digits.
    """
    if output_format not in DRAWN or forms is None:
        text = table_text(table, output_format)
    else:
        rows = [
            ["" if row[name] != row[name] else f"{row[name]:{form}}" for name, (_, form) in forms.items()]
            for row in table.to_dict("records")
        ]
        text = drawn(rows, [heading for heading, _ in forms.values()], output_format)
    print_text(text, output_format, basis=basis)


def print_text(text: str, output_format: str, *, basis: str) -> None:
    """Print a table's text and what it rests on: for LaTeX and Markdown below it, else on stderr."""
    click.echo(text, nl=False)
    if output_format == "latex":
        click.echo(f"% rests on: {basis}")
    elif output_format == "markdown":
        click.echo(f"\nRests on: {basis}.")
    else:
        say(f"rests on: {basis}")


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
        click.option(
            "--queries", metavar="FILE", help="queries.tsv: own items, and columns that options name."
        ),
        click.option(
            "--cluster",
            "clusters",
            metavar="COLUMN",
            help="Resample whole clusters: a column of the queries.",
        ),
    ):
        command = decorate(command)
    return command
