"""`suggest`: pairs to judge by captions alike."""

from __future__ import annotations

import click

from fire_toolkit.cli.common import json_option, say_next
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.options import reads
from fire_toolkit.collections.matchers import match_by_edits, match_by_similarity, suggestion_pool
from fire_toolkit.errors import UsageError


@click.command()
@reads("queries", qrels="The original qrels, in any form.")
@click.option(
    "--similarity", type=float, metavar="X", help="Captions are similar from this TF-IDF cosine up."
)
@click.option("--percentile", type=float, metavar="P", help="... from this percentile of all cosines up.")
@click.option("--edits", type=click.IntRange(0, 8), metavar="N", help="... up to this edit distance.")
@click.option("--out", metavar="DIR", help="Folder for pool.csv and suggestions.csv.")
@json_option
def suggest(given: Given, similarity: float | None, percentile: float | None, edits: int | None) -> None:
    """Suggest pairs to judge: each query with the items of captions like its own. Never judgments.

    Choose one threshold. Caption similarity is a poor judge, so people must check the suggestions.
    """
    folder = given.out("suggestions")
    queries, qrels = given.queries, given.original
    if sum(value is not None for value in (similarity, percentile, edits)) != 1:
        raise UsageError("choose one of --similarity, --percentile and --edits")
    if edits is not None:
        suggestions, threshold = match_by_edits(queries, qrels, max_distance=edits), float(edits)
    else:
        suggestions, threshold = match_by_similarity(
            queries, qrels, min_similarity=similarity, percentile=percentile
        )
    tables = {"pool.csv": suggestion_pool(suggestions), "suggestions.csv": suggestions}
    n_queries = int(suggestions["query_id"].nunique())
    counts = {"pairs": len(suggestions), "queries": n_queries, "threshold": round(threshold, 6)}
    parameters = {"similarity": similarity, "percentile": percentile, "edits": edits}
    given.write(folder, tables, "suggest", parameters, counts)
    words = (
        f"{len(suggestions):,} pairs suggested for {n_queries:,} of {len(queries):,} queries, "
        f"{len(suggestions) / max(1, len(queries)):.1f} each; threshold {threshold:.6g}; not judgments"
    )
    given.summarise(counts, words)
    tasks = f"tasks {folder} --out {folder / 'tasks.json'}"
    say_next(tasks, f"--queries {given.hint('QUERIES')}")
