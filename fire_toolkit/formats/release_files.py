"""The tables of a release as files: Parquet, CSV, BEIR's layout, TREC qrels and JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pandas as pd

from fire_toolkit.formats.runs.trec import trec_qrels_text
from fire_toolkit.formats.tables.delimited import delimited_bytes
from fire_toolkit.formats.tables.table_text import parquet_bytes
from fire_toolkit.tables import Qrels

# Which have files of their own, or are too long for people.
_NO_CSV = {"corpus", "queries", "qrels", "original", "ranks"}


def parquet_files(tables: Mapping[str, pd.DataFrame]) -> dict[str, bytes]:
    """Return data/NAME.parquet of each table that has rows: `datasets` loads no empty split."""
    return {f"data/{name}.parquet": parquet_bytes(table) for name, table in tables.items() if len(table)}


def text_files(tables: Mapping[str, pd.DataFrame], original: Qrels, corrected: Qrels) -> dict[str, bytes]:
    """Return the same tables as text, and the qrels in every form."""
    found = {
        # As readers of judgments have a missing number.
        f"{name}.csv": delimited_bytes(table, nan="" if name == "judgments" else "nan")
        for name, table in tables.items()
        if name not in _NO_CSV
    }
    found |= {f"{name}.jsonl": _json_lines(tables[name]) for name in ("corpus", "queries")}
    found["qrels/test.tsv"] = delimited_bytes(tables["qrels"], delimiter="\t")
    texts = {"qrels.txt": trec_qrels_text(corrected), "qrels.original.txt": trec_qrels_text(original)}
    texts["qrels.json"] = _by_query(corrected)
    return found | {name: text.encode() for name, text in texts.items()}


def _json_lines(table: pd.DataFrame) -> bytes:
    rows = table.fillna("").astype("str").to_dict("records")
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def _by_query(qrels: Qrels) -> str:
    found: dict[str, dict[str, int]] = {}
    for query, doc, relevance in zip(qrels["query_id"], qrels["doc_id"], qrels["relevance"], strict=True):
        found.setdefault(query, {})[doc] = int(relevance)
    return json.dumps(found, ensure_ascii=False) + "\n"
