"""`audit`: what a collection's ids hide."""

from __future__ import annotations

from typing import Annotated, Any

from fire_toolkit.collections import audit as audits
from fire_toolkit.collections.matchers import suggestion_run
from fire_toolkit.commands.command import stage
from fire_toolkit.commands.types import (
    ItemsIfAny,
    MediaHashes,
    Option,
    OriginalAsItStands,
    QueriesOf,
    RunsIfGiven,
    TrainingTexts,
)
from fire_toolkit.errors import UsageError
from fire_toolkit.results import Found, Next, drawn_text


@stage("audit")
def audit(
    queries: QueriesOf,
    items: ItemsIfAny = None,
    qrels: OriginalAsItStands = None,
    runs: RunsIfGiven = (),
    media: MediaHashes = None,
    train: TrainingTexts = None,
    *,
    similarity: Annotated[float, Option(least=0.5, most=1)] = 0.9,
) -> Found:
    """Find what a collection's ids hide: equal captions, free positives, dangling and confusable ids.

    Nothing is changed. Each finding says how many of how many and what follows from it; its table is
    DIR/<finding>.csv. Suggestions are pairs of a query with the items of captions like its own, which
    DIR/suggestions.parquet holds as a run to pool; caption similarity is a poor judge, so people must check
    them.

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
    found = audits.Audit()
    audits.audit_captions(found, queries, min_similarity=similarity)
    if qrels is not None:
        audits.audit_qrels(found, queries, qrels, items)
        audits.audit_suggestions(found, queries, qrels, min_similarity=similarity)
    ids = {"queries": queries["query_id"].tolist()}
    if items is not None:
        ids["items"] = items["doc_id"].tolist()
    audits.audit_ids(found, ids)
    if media is not None:
        if items is None:
            raise UsageError("--media needs the items: name them with --items")
        audits.audit_items(found, media)
    if len(runs):
        audits.audit_runs(found, runs, queries, items, qrels)
    if train is not None:
        audits.audit_training(found, queries, train)
    summary = found.summary()
    files: dict[str, Any] = {f"{name}.csv": table for name, table in found.tables.items()}
    files["findings.csv"] = summary
    if "suggestions" in found.tables:
        files["suggestions.parquet"] = suggestion_run(found.tables["suggestions"])
    rows = [[f"{f.count:,}", f"{f.of:,}", f.name, f.meaning] for f in found.findings]
    header = ["count", "of", "finding", "what it means"]
    return Found(
        files=files,
        shown="findings",
        counts=dict(zip(summary["finding"], summary["count"].tolist(), strict=True)),
        words=drawn_text(rows, header, "table", align="left").rstrip(),
        next=Next("pool", outside="{RUNS} --qrels {QRELS} --out pool"),
    )
