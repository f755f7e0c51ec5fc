"""The identity audit: where the ids of a collection mislead, as tables and findings."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from fire_toolkit.collections.duplicates import (
    duplicate_captions,
    has_text,
    like_earlier,
    near_duplicates,
    shared_positives,
)
from fire_toolkit.collections.matchers import match_by_similarity
from fire_toolkit.collections.similarity import nearest_mean
from fire_toolkit.collections.texts import normal_text
from fire_toolkit.matching.ranking import split_runs
from fire_toolkit.tables import Items, Qrels, Queries, Run
from fire_toolkit.tables.columns import PAIR, are_in

_BIN = 10
_ZEROS = re.compile(r"(?<!\d)0+(?=\d)")


@dataclass(frozen=True)
class Finding:
    """One thing the audit counted: what, how many of how many, and what follows from it."""

    name: str
    count: int
    of: int
    meaning: str


@dataclass
class Audit:
    """The findings, and the tables that list them by name."""

    findings: list[Finding] = field(default_factory=list)
    tables: dict[str, pd.DataFrame] = field(default_factory=dict)

    def add(self, name: str, table: pd.DataFrame, of: int, meaning: str, *, count: int | None = None) -> None:
        """Note a finding with the table that lists it; tables without rows are not kept."""
        self.findings.append(Finding(name, len(table) if count is None else count, of, meaning))
        if len(table):
            self.tables[name] = table

    def summary(self) -> pd.DataFrame:
        """Return the findings as a table: finding, count, of, meaning."""
        rows = [(found.name, found.count, found.of, found.meaning) for found in self.findings]
        return pd.DataFrame(rows, columns=["finding", "count", "of", "meaning"])


def audit_captions(audit: Audit, queries: Queries, *, min_similarity: float) -> None:
    """Add equal and nearly equal captions, and the distribution of their lengths."""
    n_captions = int(has_text(queries).sum())
    audit.add(
        "duplicate_captions",
        duplicate_captions(queries),
        n_captions,
        "captions with the text of an earlier one; judgments of one hold for all (resolve --share-judgments)",
    )
    near = near_duplicates(queries, min_similarity=min_similarity)
    audit.add(
        "near_duplicate_captions",
        near,
        n_captions,
        f"pairs of captions with a character TF-IDF cosine of {min_similarity:g} or more; all pairs compared",
    )
    audit.tables["caption_lengths"] = caption_lengths(queries)


def caption_lengths(queries: Queries) -> pd.DataFrame:
    """Return how many captions have each length, in bins of ten characters, and their mean words.

    Returns:
        Columns from_characters, to_characters (inclusive), n_captions, mean_words; empty bins left out.
    """
    characters = queries["text"].str.len().to_numpy(dtype=np.int64)
    words = np.array([len(text.split()) for text in queries["text"]], dtype=np.int64)
    binned = pd.DataFrame({"from_characters": characters // _BIN * _BIN, "words": words})
    counted = binned.groupby("from_characters")["words"].agg(["size", "mean"]).reset_index()
    return pd.DataFrame(
        {
            "from_characters": counted["from_characters"],
            "to_characters": counted["from_characters"] + _BIN - 1,
            "n_captions": counted["size"],
            "mean_words": counted["mean"].round(2),
        }
    )


def audit_qrels(audit: Audit, queries: Queries, qrels: Qrels, items: Items | None) -> None:
    """Add positives known for free, ids of the qrels without a partner, and queries without a positive."""
    free = shared_positives(queries, qrels)
    audit.add(
        "missing_positives",
        free,
        int((qrels["relevance"] >= 1).sum()),
        f"pairs that are positive for another query of the same text: {free['query_id'].nunique():,} queries "
        "have false negatives known for free",
    )
    positive = qrels.loc[qrels["relevance"] >= 1, "query_id"]
    without = queries.loc[~are_in(queries["query_id"], positive), ["query_id"]]
    audit.add("queries_without_positive", without, len(queries), "queries that no run can be scored on")
    _add_dangling(audit, "query_id", qrels, queries)
    if items is not None:
        _add_dangling(audit, "doc_id", qrels, items)
        unused = items.loc[~are_in(items["doc_id"], qrels["doc_id"]), ["doc_id"]]
        audit.add("items_without_query", unused, len(items), "items without a query in the qrels")


def audit_suggestions(
    audit: Audit,
    queries: Queries,
    qrels: Qrels,
    *,
    min_similarity: float,
) -> None:
    """Add pairs to judge: each query with the items of captions like its own.

    min_similarity: the cosine from which captions are alike.
    """
    found = match_by_similarity(queries, qrels, min_similarity=min_similarity)
    n_queries = found["query_id"].nunique()
    meaning = (
        f"pairs of {n_queries:,} queries with an item of another caption, by a cosine of "
        f"{min_similarity:.6g} or more; suggestions to pool (suggestions.parquet), not judgments"
    )
    audit.add("suggestions", found, len(queries), meaning)


def _add_dangling(audit: Audit, column: str, qrels: Qrels, known: pd.DataFrame) -> None:
    dangling = qrels.loc[~are_in(qrels[column], known[column]), ["query_id", "doc_id", "relevance"]]
    what = "queries" if column == "query_id" else "items"
    meaning = f"pairs of the qrels whose {column} is not among the {what}"
    audit.add(f"dangling_{column}s", dangling.reset_index(drop=True), len(qrels), meaning)


def audit_ids(audit: Audit, ids: Mapping[str, Sequence[str]]) -> None:
    """Add ids of one table that differ only in case or in leading zeros of their numbers."""
    found = [confusable_ids(values).assign(table=name) for name, values in ids.items()]
    table = pd.concat(found, ignore_index=True)[["table", "id", "like"]]
    n_ids = sum(map(len, ids.values()))
    meaning = "ids that differ from another only in case or leading zeros; a join by hand mixes them up"
    audit.add("confusable_ids", table, n_ids, meaning)


def id_key(name: str) -> str:
    """Return an id as a careless join sees it: case folded, numbers without leading zeros.

    Examples:
        >>> id_key("Video007"), id_key("video7"), id_key("a0.05")
        ('video7', 'video7', 'a0.5')
    """
    return _ZEROS.sub("", name.casefold())


def confusable_ids(ids: Sequence[str]) -> pd.DataFrame:
    """Return ids like an earlier one but for case or zero padding: columns id, like; by like and id."""
    distinct = pd.Series(sorted(set(ids)), dtype="str")
    rows, firsts = like_earlier(distinct.map(id_key))
    table = pd.DataFrame({"id": distinct.to_numpy()[rows], "like": distinct.to_numpy()[firsts]})
    return table.sort_values(["like", "id"]).reset_index(drop=True)


def audit_items(audit: Audit, hashes: pd.DataFrame) -> None:
    """Add items whose files are the same bytes.

    hashes: columns doc_id and sha256, for the items that have a file; the hash is empty where no other file
    has its size.
    """
    ordered = hashes[hashes["sha256"] != ""].sort_values("doc_id")
    rows, firsts = like_earlier(ordered["sha256"])
    docs = ordered["doc_id"].to_numpy()
    table = pd.DataFrame({"doc_id": docs[rows], "same_as": docs[firsts]})
    table = table.sort_values(["same_as", "doc_id"]).reset_index(drop=True)
    meaning = "items whose file is another item's, byte for byte: a positive of one is a positive of both"
    audit.add("duplicate_items", table, len(hashes), meaning)


def audit_runs(
    audit: Audit, runs: Run | Sequence[Run], queries: Queries, items: Items | None, qrels: Qrels | None
) -> None:
    """Add what each run covers of the collection, and what it holds outside of it."""
    rows = [_coverage(run_id, run, queries, items, qrels) for run_id, run in split_runs(runs).items()]
    table = pd.DataFrame(rows)
    outside = int((table["rows_outside"] > 0).sum())
    meaning = "runs with queries or items outside the collection; those rows are not scored"
    audit.add("runs_coverage", table, len(table), meaning, count=outside)


def _coverage(
    run_id: str, run: Run, queries: Queries, items: Items | None, qrels: Qrels | None
) -> dict[str, object]:
    known_query = run["query_id"].isin(queries["query_id"]).to_numpy()
    known_doc = (
        run["doc_id"].isin(items["doc_id"]).to_numpy() if items is not None else np.ones(len(run), bool)
    )
    depth = run.groupby("query_id", observed=True).size()
    unknown = run.loc[~known_doc, "doc_id"].astype("str").drop_duplicates()
    keys = set(map(id_key, items["doc_id"])) if items is not None and len(unknown) else set()
    found: dict[str, object] = {
        "run_id": run_id,
        "n_queries": int(run.loc[known_query, "query_id"].nunique()),
        "queries_missing": int((~are_in(queries["query_id"], run["query_id"].drop_duplicates())).sum()),
        "queries_outside": int(run.loc[~known_query, "query_id"].nunique()),
        "items_outside": len(unknown),
        "items_outside_by_case_or_zeros": sum(id_key(doc) in keys for doc in unknown),
        "rows_outside": int((~(known_query & known_doc)).sum()),
        "min_depth": int(depth.min()) if len(depth) else 0,
        "max_depth": int(depth.max()) if len(depth) else 0,
    }
    if qrels is not None:
        positives = qrels.loc[qrels["relevance"] >= 1, PAIR]
        pairs = run[PAIR].astype("str")
        found["positives_found"] = len(positives.merge(pairs, on=PAIR))
        found["positives"] = len(positives)
    return found


def audit_training(audit: Audit, queries: Queries, training: Sequence[str]) -> None:
    """Add how near each caption is to the training captions: mean cosine of the 5 and 10 nearest."""
    texts = queries["text"].tolist()
    known = set(map(normal_text, training))
    table = pd.DataFrame(
        {
            "query_id": queries["query_id"],
            "in_training": [normal_text(text) in known for text in texts],
            "mean_of_5": np.round(nearest_mean(texts, training, n_nearest=5), 6),
            "mean_of_10": np.round(nearest_mean(texts, training, n_nearest=10), 6),
        }
    )
    n_known = int(table["in_training"].sum())
    meaning = "captions that are in the training file word for word; the table has the similarity of all"
    audit.add("training_similarity", table, len(queries), meaning, count=n_known)
