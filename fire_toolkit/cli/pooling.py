"""`pool`: runs to the pairs that are to be judged."""

from __future__ import annotations

from pathlib import Path

import click

from fire_toolkit.cli.common import (
    Inputs,
    chosen,
    chosen_path,
    here,
    json_option,
    n_of,
    read_runs,
    run_arguments,
    say_next,
    shown,
    summarise,
    workspace_path,
    write_outputs,
)


@click.command()
@run_arguments
@click.option("--depth", type=click.IntRange(min=1), help="Docs taken from each run and query. [default: 10]")
@click.option(
    "--qrels", metavar="FILE", help="Original qrels: their queries are pooled, their positives marked."
)
@click.option(
    "--include-originals/--no-include-originals",
    default=None,
    help="Also pool original positives that no run found.",
)
@click.option(
    "--judged",
    multiple=True,
    metavar="FILE",
    help="Leave out pairs judged before: judgments, labels or qrels (may be repeated).",
)
@click.option("--out", metavar="DIR", help="Folder for pool.csv, pool_sources.csv and manifest.json.")
@json_option
def pool(
    runs: tuple[str, ...],
    query_ids: str | None,
    doc_ids: str | None,
    depth: int | None,
    qrels: str | None,
    include_originals: bool | None,
    judged: tuple[str, ...],
    out: str | None,
    as_json: bool,
) -> None:
    """Pool the top docs of several runs into the pairs that people are to judge.

    RUN is TREC text (.gz too) or a dense matrix, .npy or .npz (rows are queries, columns docs);
    NAME=PATH gives it a name. Order: score descending, ties by doc id descending.
    """
    import pandas as pd

    from fire_toolkit.formats.collections.qrels import read_qrels
    from fire_toolkit.formats.delimited import delimited_text
    from fire_toolkit.formats.table_files import read_judged_pairs
    from fire_toolkit.pooling import pool_runs

    folder = chosen_path(out, workspace_path("pool"), "--out")
    depth = int(chosen(depth, "pool", "depth"))
    include = bool(chosen(include_originals, "pool", "include_originals"))
    inputs = Inputs()
    tables = read_runs(runs, inputs, query_ids=query_ids, doc_ids=doc_ids, depth=depth)
    original_file = qrels or _workspace_qrels()
    originals = read_qrels(inputs.use(original_file)) if original_file else None
    known = [read_judged_pairs(inputs.use(path)) for path in judged]
    result = pool_runs(
        tables,
        depth=depth,
        originals=originals,
        include_originals=include,
        judged=pd.concat(known) if known else None,
    )
    texts = {"pool.csv": delimited_text(result.pool), "pool_sources.csv": delimited_text(result.sources)}
    parameters = {"depth": depth, "include_originals": include}
    write_outputs(folder, texts, stage="pool", parameters=parameters, inputs=inputs, counts=result.counts)
    summarise(result.counts, _words(result.counts, depth), as_json=as_json)
    say_next("tasks", f"{folder} --queries QUERIES --guideline NAME --out tasks.json")


def _workspace_qrels() -> Path | None:
    workspace = here()
    path = workspace.path("collection", "qrels") if workspace else None
    return shown(path) if path else None


def _words(counts: dict[str, int], depth: int) -> str:
    words = [
        f"{n_of(counts['pairs'], 'pair')} of {n_of(counts['queries'], 'query')} "
        f"from {n_of(counts['runs'], 'run')} at depth {depth}"
    ]
    if "originals" in counts:
        words.append(
            f"{counts['originals_in_pool']:,} of {counts['originals']:,} original positives among them"
        )
    if counts["extra_queries"]:
        words.append(f"{counts['extra_queries']:,} queries that the qrels do not have left out")
    if counts["judged_before"]:
        words.append(f"{counts['judged_before']:,} pairs judged before left out")
    return "; ".join(words)
