"""`report`: the tables and findings of the FIRE paper for any benchmark, one command each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import click

from fire_toolkit.cli.benchmark import (
    measure_option,
    read_both_qrels,
    read_clusters,
    read_queries_file,
)
from fire_toolkit.cli.common import (
    DRAWN,
    FireGroup,
    Inputs,
    chosen_path,
    drawn,
    format_option,
    formatted,
    here,
    read_runs,
    run_arguments,
    say,
    workspace_path,
)

if TYPE_CHECKING:
    import pandas as pd

    from fire_toolkit.tables import PoolSources

FIRE_MEASURES = ("C@1", "C@5", "C@10", "AP@20")


@click.group(cls=FireGroup)
def report() -> None:
    """Make the tables and findings of the FIRE paper: text, CSV, JSON, LaTeX or Markdown."""


def _qrels_options(command: click.decorators.FC) -> click.decorators.FC:
    for decorate in (
        click.option("--augmented", metavar="FILE", help="The augmented qrels, as `augment` writes them."),
        click.option("--qrels", metavar="FILE", help="The original qrels; their queries count."),
    ):
        command = decorate(command)
    return command


@report.command()
@click.option("--resamples", default=10_000, show_default=True, help="How many resamples are drawn.")
@format_option
@click.pass_context
def summary(ctx: click.Context, resamples: int, output_format: str) -> None:
    """The workspace's summary: the honest row of every run and measure, see `score --honest`."""
    from fire_toolkit.cli.score import score
    from fire_toolkit.errors import UsageError

    if here() is None:
        raise UsageError("no fire.toml in this folder or above it; outside a workspace use `score --honest`")
    ctx.invoke(score, honest=True, resamples=resamples, output_format=output_format)


_sources_option = click.option(
    "--pool-sources", metavar="FILE", help="pool_sources.csv, as `pool` writes it."
)


def _read_sources(given: str | None, inputs: Inputs) -> PoolSources:
    from fire_toolkit.formats.table_files import read_pool_sources

    return read_pool_sources(
        inputs.use(chosen_path(given, workspace_path("pool/pool_sources.csv"), "--pool-sources"))
    )


def _show(table: pd.DataFrame, output_format: str, forms: Mapping[str, tuple[str, str]]) -> None:
    """Print a table: whole as csv, tsv or json, else the columns of `forms` (name → heading, format)."""
    if output_format not in DRAWN:
        click.echo(formatted(table, output_format), nl=False)
        return
    rows = [
        ["" if row[name] != row[name] else f"{row[name]:{form}}" for name, (_, form) in forms.items()]
        for row in table.to_dict("records")
    ]
    click.echo(drawn(rows, [heading for heading, _ in forms.values()], output_format), nl=False)


@report.command()
@run_arguments
@_qrels_options
@measure_option
@format_option
def table1(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    measures: tuple[str, ...],
    output_format: str,
) -> None:
    """Table 1: each run's score with its gain, A (B + C): augmented (original + gain)."""
    from fire_toolkit.cli.scoring import drawn_scores
    from fire_toolkit.scoring import score_runs

    inputs = Inputs()
    original, corrected = read_both_qrels(qrels, augmented, inputs)
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids)
    scores, notes = score_runs(tables, original, measures or FIRE_MEASURES, augmented=corrected)
    for note in notes:
        say(f"note: {note}")
    text = drawn_scores if output_format in DRAWN else formatted
    click.echo(text(scores, output_format), nl=False)


@report.command()
@click.argument("judgments", required=False, metavar="JUDGMENTS.csv")
@click.option("--guideline", metavar="NAME", help="The guideline judged by.")
@_sources_option
@click.option("--queries", metavar="FILE", help="queries.tsv with the column of --dataset.")
@click.option("--dataset", metavar="COLUMN", help="Also a row for each value of this column of the queries.")
@format_option
def table2(
    judgments: str | None,
    guideline: str | None,
    pool_sources: str | None,
    queries: str | None,
    dataset: str | None,
    output_format: str,
) -> None:
    """Table 2: pairs, labels, what they came to, and agreement; by run and by dataset.

    `resolved` is the share of pairs with a label, most of them labelled once: the paper calls it
    agreement. `agreeing`, `unanimous` and alpha are of the pairs labelled twice or more.
    """
    from fire_toolkit.cli.judged_files import grades_of, judgments_from
    from fire_toolkit.errors import UsageError
    from fire_toolkit.findings import describe_data

    inputs = Inputs()
    path = chosen_path(judgments, workspace_path("judgments/judgments.csv"), "JUDGMENTS.csv")
    table = judgments_from(inputs.use(path))
    grades = grades_of(table, guideline)
    if grades is None:
        raise UsageError(f"{path}: no grade is known for its labels; name their guideline with --guideline")
    in_workspace = workspace_path("pool/pool_sources.csv")
    has_sources = pool_sources or (in_workspace and in_workspace.is_file())
    found = describe_data(
        table,
        grades=grades,
        sources=_read_sources(pool_sources, inputs) if has_sources else None,
        datasets=read_clusters(dataset, queries, inputs),
    )
    for note in dict.fromkeys(note for note in found["note"] if note):
        say(f"note: {note}")
    _show(found, output_format, _DATA)


_DATA = {
    "group": ("", ""),
    "pairs": ("pairs", ","),
    "labels": ("labels", ","),
    "resolved_share": ("resolved", ".1%"),
    "relevant": ("relevant", ","),
    "relevant_share": ("(share)", ".1%"),
    "irrelevant": ("irrelevant", ","),
    "disagreement": ("disagreement", ","),
    "multiply_labelled": ("labelled twice+", ","),
    "agreeing": ("agreeing", ".3f"),
    "unanimous": ("unanimous", ".3f"),
    "alpha": ("alpha", ".3f"),
}


@report.command()
@run_arguments
@click.option("--depth", type=click.IntRange(min=1), default=10, show_default=True, help="Docs compared.")
@click.option("--rbo-p", multiple=True, type=float, help="RBO's persistence. [default: 0.9 and 0.98]")
@format_option
def table3(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    depth: int,
    rbo_p: tuple[float, ...],
    output_format: str,
) -> None:
    """Table 3: overlap and rank-biased overlap of the top docs, for every two runs.

    The paper does not say which RBO it prints; the truncated and the extrapolated one, and average
    overlap, stand here under their names.
    """
    import pandas as pd

    from fire_toolkit.comparison import compare_runs

    tables = read_runs(runs, Inputs(), query_ids=query_ids, doc_ids=doc_ids, depth=depth)
    results = [compare_runs(tables, depth=depth, rbo_p=p) for p in rbo_p or (0.9, 0.98)]
    for note in dict.fromkeys(note for result in results for note in result.notes):
        say(f"note: {note}")
    long = pd.concat([result.comparisons for result in results], ignore_index=True)
    long = long.drop_duplicates(["run_a", "run_b", "measure"])
    if output_format not in DRAWN:
        click.echo(formatted(long, output_format), nl=False)
        return
    kept = long[~long["measure"].str.contains("RBO_min|RBO_res")]
    wide = kept.pivot_table(index=["run_a", "run_b"], columns="measure", values="value", sort=False)
    values = zip(wide.index, wide.to_numpy(), strict=True)
    rows = [[" & ".join(pair), *(f"{value:.4f}" for value in row)] for pair, row in values]
    click.echo(drawn(rows, ["runs", *wide.columns], output_format), nl=False)


@report.command()
@run_arguments
@_qrels_options
@_sources_option
@measure_option
@format_option
def table4(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    pool_sources: str | None,
    measures: tuple[str, ...],
    output_format: str,
) -> None:
    """Table 4: each run with all judgments, and without those that only it contributed ("New")."""
    from fire_toolkit.findings import all_and_new

    inputs = Inputs()
    original, corrected = read_both_qrels(qrels, augmented, inputs)
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids)
    sources = _read_sources(pool_sources, inputs)
    table = all_and_new(tables, original, corrected, measures or FIRE_MEASURES[:3], sources=sources)
    _show(
        table,
        output_format,
        {
            "run_id": ("run", ""),
            "pooled": ("pooled", ""),
            "measure": ("measure", ""),
            "original": ("original", ".3f"),
            "all": ("all", ".3f"),
            "new": ("new", ".3f"),
            "change": ("change", "+.3f"),
            "n_own": ("own pairs", ","),
            "n_own_relevant": ("own positives", ","),
        },
    )


@report.command()
@run_arguments
@_qrels_options
@click.option("--queries", metavar="FILE", help="queries.tsv: the captions.")
@click.option("--width", default=10, show_default=True, help="Characters in a bin.")
@measure_option
@format_option
def length(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    queries: str | None,
    width: int,
    measures: tuple[str, ...],
    output_format: str,
) -> None:
    """Positives per caption, and each run's gain, by the length of the caption."""
    from fire_toolkit.findings import by_length
    from fire_toolkit.tables import Queries

    inputs = Inputs()
    original, corrected = read_both_qrels(qrels, augmented, inputs)
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids)
    captions = Queries(read_queries_file(queries, inputs))
    table = by_length(tables, original, corrected, captions, measures or ("C@1",), width=width)
    _show(
        table,
        output_format,
        {
            "from_chars": ("from", ""),
            "to_chars": ("to", ""),
            "n_queries": ("captions", ","),
            "run_id": ("run", ""),
            "measure": ("measure", ""),
            "original": ("original", ".3f"),
            "augmented": ("augmented", ".3f"),
            "delta": ("gain", "+.3f"),
            "low": ("95% from", "+.3f"),
            "high": ("to", "+.3f"),
        },
    )


@report.command()
@run_arguments
@_qrels_options
@measure_option
@format_option
def saturation(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    measures: tuple[str, ...],
    output_format: str,
) -> None:
    """The share of queries with nothing left to win, of each run, of any and of every run."""
    from fire_toolkit.findings import saturation as saturated

    inputs = Inputs()
    original, corrected = read_both_qrels(qrels, augmented, inputs)
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids)
    table = saturated(tables, original, corrected, measures or FIRE_MEASURES[:3])
    _show(
        table,
        output_format,
        {
            "measure": ("measure", ""),
            "run_id": ("run", ""),
            "original": ("original", ".1%"),
            "augmented": ("augmented", ".1%"),
            "left": ("left to win", ".1%"),
        },
    )


@report.command()
@run_arguments
@_qrels_options
@click.option("--queries", metavar="FILE", help="queries.tsv: the captions.")
@click.option("--train", required=True, metavar="FILE", help="Training captions: a table with a column text.")
@click.option("--nearest", default=5, show_default=True, help="How many nearest training captions count.")
@click.option("--k", default=1, show_default=True, help="A caption is solved with a positive in the top k.")
@format_option
def similarity(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    queries: str | None,
    train: str,
    nearest: int,
    k: int,
    output_format: str,
) -> None:
    """How like training captions are the captions that each run solves, and those it does not.

    The likeness of a caption is its mean cosine (character n-grams) with its nearest training captions.
    """
    import pandas as pd

    from fire_toolkit.collections.similarity import nearest_mean
    from fire_toolkit.findings import by_similarity
    from fire_toolkit.formats.delimited import read_delimited

    inputs = Inputs()
    original, corrected = read_both_qrels(qrels, augmented, inputs)
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids)
    captions = read_queries_file(queries, inputs)
    known = read_delimited(inputs.use(train), required=["text"])["text"].tolist()
    likeness = nearest_mean(captions["text"].tolist(), known, n_nearest=nearest)
    by_query = pd.Series(likeness, index=captions["query_id"])
    table = by_similarity(tables, original, corrected, by_query, k=k)
    _show(
        table,
        output_format,
        {
            "run_id": ("run", ""),
            "qrels": ("qrels", ""),
            "n_solved": ("solved", ","),
            "solved": ("likeness", ".4f"),
            "n_unsolved": ("unsolved", ","),
            "unsolved": ("likeness", ".4f"),
            "difference": ("difference", "+.4f"),
            "low": ("95% from", "+.4f"),
            "high": ("to", "+.4f"),
            "p": ("p", ".4f"),
        },
    )
