"""`audit`: what a collection's ids hide."""

from collections.abc import Sequence
from typing import Annotated, Any

import pandas as pd

from fire_toolkit.collections import audit as audits
from fire_toolkit.commands.command import stage
from fire_toolkit.commands.types import Option, Table
from fire_toolkit.errors import UsageError
from fire_toolkit.matching.ranking import rank_run
from fire_toolkit.results import Found, Next, drawn_text
from fire_toolkit.tables import Items, Qrels, Queries, Run


@stage("audit")
def audit(
    queries: Annotated[Queries, Table("queries")],
    items: Annotated[Items | None, Table("items_if_any")] = None,
    qrels: Annotated[Qrels | None, Table("original_if_any")] = None,
    runs: Annotated[
        Sequence[Run], Table("runs_if_given", metavar="[RUN...]", is_argument=True, is_several=True)
    ] = (),
    media: Annotated[pd.DataFrame | None, Table("media_hashes", metavar="DIR")] = None,
    train: Annotated[Sequence[str] | None, Table("training_texts")] = None,
    *,
    similarity: Annotated[float, Option(least=0.5, most=1)] = 0.9,
) -> Found:
    """Find what a collection's ids hide: equal captions, free positives, dangling and confusable ids.

    Nothing is changed. Each finding says how many of how many and what follows from it; its table is
    DIR/<finding>.csv. Suggestions are pairs of a query with the items of captions like its own, as a run to
    pool (DIR/suggestions.parquet); people must check them.

    Args:
        queries: The queries: query_id, text and, of composed ones, reference.
        items: The items: a table with doc_id and media_url.
        qrels: The original qrels, in any form.
        runs: The runs, to see what they cover and what they hold outside of the collection.
        media: Folder of the items' files, to find equal ones by their bytes.
        train: Training captions (any collection file), to find queries near to them.
        similarity: Cosine from which captions are near duplicates, and suggest each other's items.

    Examples:
        >>> import pandas as pd
        >>> import fire_toolkit as fire
        >>> from fire_toolkit.tables import check_queries
        >>> texts = {"query_id": ["q1", "q2"], "text": ["a dog runs", "A dog  runs"]}
        >>> found = fire.audit(check_queries(pd.DataFrame(texts)))
        >>> found.table[["finding", "count", "of"]]
                           finding  count  of
        0       duplicate_captions      1   2
        1  near_duplicate_captions      0   2
        2           confusable_ids      0   2
    """
    if media is not None and items is None:
        raise UsageError("--media needs the items: name them with --items")
    found = [*audits.of_captions(queries, min_similarity=similarity)]
    if qrels is not None:
        found += audits.of_qrels(queries, qrels, items, min_similarity=similarity)
    found += [audits.of_ids(queries, items)]
    found += [audits.of_files(media)] if media is not None else []
    found += [audits.of_runs(runs, queries, items, qrels)] if len(runs) else []
    found += [audits.of_training(queries, train)] if train is not None else []
    said = [(each.name, each.count, each.of, each.meaning) for each in found]
    summary = pd.DataFrame(said, columns=["finding", "count", "of", "meaning"])
    tables = {each.name: each.table for each in found if len(each.table)}
    files: dict[str, Any] = {f"{name}.csv": table for name, table in tables.items()}
    files["findings.csv"] = summary
    if "suggestions" in tables:
        suggested = tables["suggestions"].rename(columns={"matcher": "run_id"})
        files["suggestions.parquet"] = rank_run(suggested)  # which can be pooled like a model's
    rows = [[f"{each.count:,}", f"{each.of:,}", each.name, each.meaning] for each in found]
    header = ["count", "of", "finding", "what it means"]
    return Found(
        files=files,
        shown="findings",
        counts=dict(zip(summary["finding"], summary["count"].tolist(), strict=True)),
        words=drawn_text(rows, header, "table", align="left").rstrip(),
        next=Next("pool", outside="{RUNS} --qrels {QRELS} --out pool"),
    )
