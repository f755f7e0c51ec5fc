"""`score`: runs under qrels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.cli.benchmark import (
    POLICIES,
    existing_augmented,
    read_benchmark,
    read_clusters,
    read_original,
    resampling_options,
)
from fire_toolkit.cli.common import (
    Inputs,
    chosen,
    format_option,
    formatted,
    here,
    read_runs,
    run_arguments,
    say,
    say_next,
    shown,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.honest import show_honest
from fire_toolkit.cli.scoring import drawn_scores

if TYPE_CHECKING:
    from fire_toolkit.scoring import Scoring


@click.command()
@run_arguments
@click.option("--qrels", metavar="FILE", help="The original qrels; their queries are the ones that count.")
@click.option("--augmented", metavar="FILE", help="The augmented qrels, as `augment` writes them.")
@click.option(
    "-m", "--measure", "measures", multiple=True, metavar="MEASURE", help="Such as C@10 (may be repeated)."
)
@click.option(
    "--ties",
    type=click.Choice(["doc-desc", "index", "average", "optimistic", "pessimistic"]),
    default="doc-desc",
    show_default=True,
    help="Docs of equal score: by doc id descending, in the order of --doc-ids, at their mean rank, or with "
    "positives first or last.",
)
@click.option("--per-query", is_flag=True, help="Also the value of each query.")
@click.option("--honest", is_flag=True, help="Each score with intervals, bounds, Judged@k and more.")
@click.option("--labels", metavar="FILE", help="For --honest: labels.csv, or the folder that holds it.")
@click.option("--pool-sources", metavar="FILE", help="For --honest: pool_sources.csv, or the pool's folder.")
@click.option(
    "--policy",
    "policies",
    type=click.Choice(POLICIES),
    multiple=True,
    help="For --honest: what becomes of rejected originals (may be repeated). [default: union]",
)
@resampling_options
@format_option
@click.option("--out", metavar="FILE", help="Also write the long table as CSV.")
def score(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    qrels: str | None,
    augmented: str | None,
    measures: tuple[str, ...],
    ties: str,
    per_query: bool,
    honest: bool,
    labels: str | None,
    pool_sources: str | None,
    policies: tuple[str, ...],
    clusters: str | None,
    queries: str | None,
    resamples: int,
    seed: int,
    output_format: str,
    out: str | None,
) -> None:
    """Score runs by the original qrels and, if given, by the augmented ones.

    The table shows augmented (original + gain), shares times 100. The other formats are long:
    run_id, qrels (original, augmented, delta), query_id (`all` for the mean), measure, value.

    Where docs of equal score could change a query, a note says how many, and the scores with positives
    last and first. --ties takes another rule for them; pools always take doc ids descending.

    --honest takes labels in the place of augmented qrels. Beside each score it shows the 95% interval of
    the score and of its gain, the score with unjudged docs left out (condensed), what it could be
    whatever the unjudged docs are, how much of what it reads was judged, and the score without the
    judgments that only this run contributed. --clusters, --resamples and --seed are for its intervals.
    """
    if honest:
        _refuse_for_honest({"--ties": ties != "doc-desc"})
        benchmark = read_benchmark(
            runs, query_ids, doc_ids, qrels=qrels, labels=labels, pool_sources=pool_sources
        )
        show_honest(
            benchmark,
            tuple(chosen(measures, "score", "measures")),
            policies=policies or (str(chosen(None, "augment", "policy")),),
            clusters=read_clusters(clusters, queries, benchmark.inputs),
            resamples=resamples,
            seed=seed,
            output_format=output_format,
            out=Path(out) if out else None if runs else workspace_path("scores/honest.csv"),
        )
        return
    from fire_toolkit.formats.trec import read_trec_qrels
    from fire_toolkit.scoring import score_runs

    inputs = Inputs()
    original = read_original(qrels, inputs)
    augmented_path = augmented or existing_augmented(qrels)
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids)
    names = tuple(chosen(measures, "score", "measures"))
    scoring = score_runs(
        tables,
        original,
        names,
        augmented=read_trec_qrels(inputs.use(augmented_path)) if augmented_path else None,
        per_query=per_query,
        ties=ties,
        doc_order=_doc_order(doc_ids, inputs) if ties == "index" else None,
    )
    place = Path(out) if out else None if runs or per_query else workspace_path("scores/scores.csv")
    parameters = {"measures": list(names), "ties": ties}
    _show_scores(scoring, parameters, output_format, per_query=per_query, place=place, inputs=inputs)


def _refuse_for_honest(given: Mapping[str, bool]) -> None:
    for option, is_given in given.items():
        if is_given:
            raise click.UsageError(f"{option} does not go with --honest; leave one of them out")


def _doc_order(doc_ids: str | None, inputs: Inputs) -> list[str]:
    """Return the docs in the order of the file given, else of the workspace's matrices."""
    from fire_toolkit.formats.ids import read_ids

    workspace = here()
    listed = workspace.path("runs", "doc_ids") if workspace else None
    path = Path(doc_ids) if doc_ids else shown(listed) if listed else None
    if path is None:
        raise click.UsageError(
            "--ties index needs the collection's docs in their order: give --doc-ids FILE, a line each, "
            "as the matrices have them"
        )
    return read_ids(inputs.use(path), "doc_id")


def _show_scores(
    scoring: Scoring,
    parameters: Mapping[str, Any],
    output_format: str,
    *,
    per_query: bool,
    place: Path | None,
    inputs: Inputs,
) -> None:
    from fire_toolkit.formats.delimited import delimited_text

    for note in scoring.notes:
        say(f"note: {note}")
    if output_format in ("table", "latex") and not per_query:
        click.echo(drawn_scores(scoring.scores, output_format), nl=False)
    else:
        click.echo(formatted(scoring.scores, "csv" if output_format == "table" else output_format), nl=False)
    if place:
        text = delimited_text(scoring.scores, nan="nan")
        write_outputs(place, {place.name: text}, stage="score", parameters=parameters, inputs=inputs)
    say_next("compare", "RUN RUN...")
