"""`suggest`: pairs to judge by captions alike."""

from __future__ import annotations

import click

from fire_toolkit.cli.audit import qrels_option, queries_option, read_tables
from fire_toolkit.cli.common import (
    Inputs,
    chosen_path,
    json_option,
    say_next,
    summarise,
    workspace_path,
    write_outputs,
)
from fire_toolkit.cli.hints import named
from fire_toolkit.collections.matchers import match_by_edits, match_by_similarity, suggestion_pool
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.delimited import delimited_text


@click.command()
@queries_option
@qrels_option
@click.option("--similarity", type=float, metavar="X", help="Captions are alike from this TF-IDF cosine on.")
@click.option("--percentile", type=float, metavar="P", help="... from this percentile of all cosines on.")
@click.option("--edits", type=click.IntRange(0, 8), metavar="N", help="... up to this edit distance.")
@click.option("--out", metavar="DIR", help="Folder for pool.csv and suggestions.csv.")
@json_option
def suggest(
    queries: str | None,
    qrels: str | None,
    similarity: float | None,
    percentile: float | None,
    edits: int | None,
    out: str | None,
    as_json: bool,
) -> None:
    """Suggest pairs to judge: each query with the items of captions like its own. Never judgments.

    Choose one threshold. Caption similarity is a poor judge, so people must check the suggestions.
    """
    folder = chosen_path(out, workspace_path("suggestions"), "--out")
    inputs = Inputs()
    query_table, _, qrels_table = read_tables(inputs, queries, None, qrels)
    if qrels_table is None:
        raise click.UsageError("--qrels is needed outside a workspace (see `fire-toolkit init`)")
    if sum(value is not None for value in (similarity, percentile, edits)) != 1:
        raise UsageError("choose one of --similarity, --percentile and --edits")
    if edits is not None:
        suggestions, threshold = match_by_edits(query_table, qrels_table, max_distance=edits), float(edits)
    else:
        suggestions, threshold = match_by_similarity(
            query_table, qrels_table, min_similarity=similarity, percentile=percentile
        )
    texts = {
        "pool.csv": delimited_text(suggestion_pool(suggestions)),
        "suggestions.csv": delimited_text(suggestions),
    }
    n_queries = int(suggestions["query_id"].nunique())
    counts = {"pairs": len(suggestions), "queries": n_queries, "threshold": round(threshold, 6)}
    parameters = {"similarity": similarity, "percentile": percentile, "edits": edits}
    write_outputs(folder, texts, stage="suggest", parameters=parameters, inputs=inputs, counts=counts)
    words = (
        f"{len(suggestions):,} pairs suggested for {n_queries:,} of {len(query_table):,} queries, "
        f"{len(suggestions) / max(1, len(query_table)):.1f} each; threshold {threshold:.6g}; not judgments"
    )
    summarise(counts, words, as_json=as_json)
    tasks = f"tasks {folder} --out {folder / 'tasks.json'}"
    say_next(tasks, f"--queries {named('QUERIES', queries, beside=inputs.hashes)}")
