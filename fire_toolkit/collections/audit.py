"""The identity audit: where the ids of a collection mislead, as findings with their tables."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
import pandas as pd

from fire_toolkit.collections.duplicates import (
    duplicate_captions,
    has_text,
    like_earlier,
    match_by_similarity,
    near_duplicates,
    normal_text,
    shared_positives,
)
from fire_toolkit.collections.similarity import nearest_mean
from fire_toolkit.matching.ranking import split_runs
from fire_toolkit.tables import Items, Qrels, Queries, Run
from fire_toolkit.tables.columns import PAIR, are_in
from fire_toolkit.words import n_of, table_in

_WORDS = table_in("collections", "findings.toml")
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


@dataclass(frozen=True)
class Finding:
    """One thing the audit looked for: how often of how many, what follows from it, and what was found."""

    name: str
    count: int
    of: int
    meaning: str
    table: pd.DataFrame


def _found(name: str, table: pd.DataFrame, of: int, count: int | None = None, **said: object) -> Finding:
    """Return a finding, in the words of findings.toml: of as many rows as its table has, or of so many."""
    return Finding(name, len(table) if count is None else count, of, _WORDS[name].format(**said), table)


def of_captions(queries: Queries, *, min_similarity: float) -> Iterator[Finding]:
    """Yield equal and nearly equal captions."""
    n_captions = int(has_text(queries).sum())
    yield _found("duplicate_captions", duplicate_captions(queries), n_captions)
    near = near_duplicates(queries, min_similarity=min_similarity)
    yield _found("near_duplicate_captions", near, n_captions, similarity=min_similarity)


def of_qrels(
    queries: Queries, qrels: Qrels, items: Items | None, *, min_similarity: float
) -> Iterator[Finding]:
    """Yield positives known for free, queries and items on one side alone, and pairs to judge.

    min_similarity: the cosine from which captions are alike, so that each suggests the other's items.
    """
    free, is_positive = shared_positives(queries, qrels), qrels["relevance"] >= 1
    yield _found("missing_positives", free, int(is_positive.sum()), n=free["query_id"].nunique())
    without = queries[["query_id"]][~are_in(queries["query_id"], qrels["query_id"][is_positive])]
    yield _found("queries_without_positive", without, len(queries))
    for column, known in (("query_id", queries), ("doc_id", items)):
        if known is not None:
            dangling = qrels[[*PAIR, "relevance"]][~are_in(qrels[column], known[column])]
            yield _found(f"dangling_{column}s", dangling.reset_index(drop=True), len(qrels))
    if items is not None:
        unused = items[["doc_id"]][~are_in(items["doc_id"], qrels["doc_id"])]
        yield _found("items_without_query", unused, len(items))
    alike = match_by_similarity(queries, qrels, min_similarity=min_similarity)
    n = alike["query_id"].nunique()
    yield _found("suggestions", alike, len(queries), n=n, similarity=min_similarity)


def of_ids(queries: Queries, items: Items | None) -> Finding:
    """Return ids of one table that differ only in case, composed letters or leading zeros."""
    ids = {"queries": queries["query_id"]} | ({} if items is None else {"items": items["doc_id"]})
    named = [pd.DataFrame({"table": name, "id": sorted(own)}, dtype="str") for name, own in ids.items()]
    found = [like_earlier(table, table["id"].map(id_key).array, by="id", name="like") for table in named]
    return _found("confusable_ids", pd.concat(found, ignore_index=True), sum(map(len, ids.values())))


def of_files(hashes: pd.DataFrame) -> Finding:
    """Return items whose files are the same bytes.

    hashes: columns doc_id and sha256, for the items that have a file; the hash is empty where no other file
    has its size.
    """
    ordered = hashes[hashes["sha256"] != ""].sort_values("doc_id")
    table = like_earlier(ordered[["doc_id"]], ordered["sha256"].array, by="doc_id", name="same_as")
    return _found("duplicate_items", table, len(hashes))


def of_runs(runs: Run | Sequence[Run], queries: Queries, items: Items | None, qrels: Qrels | None) -> Finding:
    """Return what each run covers of the collection, and what it holds outside of it."""
    rows = []
    for run_id, run in split_runs(runs).items():
        docs = run["doc_id"] if items is None else items["doc_id"]
        queries_in = run["query_id"].isin(queries["query_id"]).to_numpy()
        docs_in = run["doc_id"].isin(docs).to_numpy()
        depth = run.groupby("query_id", observed=True).size()
        unknown = run.loc[~docs_in, "doc_id"].astype("str").drop_duplicates()
        found: dict[str, object] = {
            "run_id": run_id,
            "n_queries": int(run.loc[queries_in, "query_id"].nunique()),
            "queries_missing": int((~are_in(queries["query_id"], run["query_id"].drop_duplicates())).sum()),
            "queries_outside": int(run.loc[~queries_in, "query_id"].nunique()),
            "items_outside": len(unknown),
            "items_outside_by_case_or_zeros": _n_alike(unknown, docs),
            "rows_outside": int((~(queries_in & docs_in)).sum()),
            "min_depth": int(depth.min()) if len(depth) else 0,
            "max_depth": int(depth.max()) if len(depth) else 0,
        }
        if qrels is not None:
            positives = qrels[PAIR][qrels["relevance"] >= 1]
            found["positives_found"] = len(positives.merge(run[PAIR].astype("str"), on=PAIR))
            found["positives"] = len(positives)
        rows.append(found)
    table = pd.DataFrame(rows)
    return _found("runs_coverage", table, len(table), int((table["rows_outside"] > 0).sum()))


def of_training(queries: Queries, training: Sequence[str]) -> Finding:
    """Return how near each caption is to the training captions: mean cosine of the 5 and 10 nearest."""
    texts, known = queries["text"].tolist(), set(map(normal_text, training))
    nearest = {f"mean_of_{n}": np.round(nearest_mean(texts, training, n_nearest=n), 6) for n in (5, 10)}
    is_known = [normal_text(text) in known for text in texts]
    table = pd.DataFrame({"query_id": queries["query_id"], "in_training": is_known, **nearest})
    return _found("training_similarity", table, len(queries), sum(is_known))


def id_key(name: str) -> str:
    """Return an id as a careless join sees it: case folded, letters composed, numbers without leading zeros.

    Examples:
        >>> id_key("Video007"), id_key("video7"), id_key("a0.05")
        ('video7', 'video7', 'a0.5')
        >>> id_key("cafe\u0301") == id_key("caf\xe9")
        True
    """
    return _ZEROS.sub("", normalize("NFC", name.casefold()))


def _n_alike(ids: pd.Series, known: pd.Series) -> int:
    """Return how many ids are like a known one by `id_key`."""
    keys = set(map(id_key, known)) if len(ids) else set()
    return sum(id_key(each) in keys for each in ids)


def words_of_strangers(docs: pd.Series, items: pd.Series, where: object) -> str:
    """Return which docs of a run are not among the ids of the items at `where`; empty: all are.

    Examples:
        >>> words_of_strangers(pd.Series(["a", "V07"]), pd.Series(["a", "v7"]), "items.tsv")[:48]
        '1 doc of 2 not in items.tsv, so not relevant (V0'
    """
    strange = docs[~are_in(docs, items)]
    if not len(strange):
        return ""
    n = _n_alike(strange, items)
    alike = f", {n:,} but for case, zeros or composed letters" if n else ""
    words = f"{n_of(len(strange), 'doc')} of {len(docs):,} not in {where}, so not relevant"
    return f"{words} ({', '.join(strange[:3])}{alike}): check the run's ids"
