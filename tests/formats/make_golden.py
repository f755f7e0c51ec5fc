"""Makes the golden files but own.parquet, which stays: `python tests/formats/make_golden.py`, with torch."""

import gzip
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from brought import put

HERE = Path(__file__).parent / "golden"
QUERIES = ["007", "q:1|x", "frage-ü"]
DOCS = ["NA", "d10", "d9", "null"]
# Exact in bfloat16; the first row has a tie, which the higher id wins; the last has its best in the middle.
SIMS = np.array([[0.5, 0.25, 0.5, -1.0], [1.0, 2.0, 3.0, 4.0], [-0.5, 8.0, 0.125, 0.0]], dtype=np.float32)
RANKED = {"007": ["d9", "NA", "d10", "null"], "q:1|x": ["null", "d9", "d10", "NA"]}
RANKED["frage-ü"] = ["d10", "d9", "null", "NA"]


IDS = {"query_ids": np.array(QUERIES), "doc_ids": np.array(DOCS)}


def make_arrays() -> None:
    padded = np.full((2, 2, 4), -np.inf, dtype=np.float32)
    padded[0, :2], padded[1, 0] = SIMS[:2], SIMS[2]
    filled = np.where(np.isfinite(padded), padded, 7.0).reshape(4, 4)
    np.savez_compressed(HERE / "packed.npz", sims=SIMS.astype(np.float16), **IDS)
    for name, content in {
        "stored.npz": {"sims": SIMS, **IDS},
        "turned.npz": {"sims": np.ascontiguousarray(SIMS.T), **IDS},
        "object_ids.npz": {"sims": SIMS, "query_ids": np.array(QUERIES, dtype=object), "doc_ids": DOCS},
        "padded.npz": {"sims": padded, **IDS},
        "masked.npz": {"sims": filled, "query_masks": [[1, 1], [1, 0]], **IDS},
        "vectors.npz": {"text_embeds": SIMS, "video_embeds": np.eye(4, dtype=np.float32), **IDS},
        "plain.npy": SIMS,
        "fortran.npy": np.asfortranarray(SIMS.astype(np.float64)),
        "big_endian.npy": SIMS.astype(">f4"),
        "square.npy": SIMS[:, :3],
    }.items():
        put(HERE / name, content)
    for protocol in (2, 3, 4, 5):
        content = {"test": {"sims": SIMS}, "query_ids": QUERIES, "doc_ids": np.array(DOCS)}
        put(HERE / f"protocol{protocol}.pkl", pickle.dumps(content, protocol=protocol))


def make_torch() -> None:
    import torch

    sims: Any = torch.from_numpy(SIMS)
    ids = {"query_ids": QUERIES, "doc_ids": DOCS}
    for name in ("float32", "float16", "bfloat16"):
        out = {"sims": sims.to(getattr(torch, name)), "loss": torch.ones(2)}
        torch.save({"epoch": 3, "out": out, **ids}, HERE / f"{name}.pt")
    torch.save({"sims": sims.T.contiguous().T, **ids}, HERE / "column_major.pt")
    wide = torch.cat([sims, sims], dim=1)
    torch.save({"sims": wide[:, 4:], **ids}, HERE / "view.pt")
    torch.save({"sims": (sims * 8).to(torch.int16), **ids}, HERE / "int16.pt")
    torch.save(sims, HERE / "bare.pt")
    held = {"epoch": 3, "test": {"sims": sims.bfloat16(), "other": [1, 2]}, **ids}
    torch.save(held, HERE / "legacy.pt", _use_new_zipfile_serialization=False)


def make_lists() -> None:
    rows = [(q, d, float(SIMS[i, j])) for i, q in enumerate(QUERIES) for j, d in enumerate(DOCS)]
    names = ("query_id", "doc_id", "score")
    by_query = {query: {d: score for q, d, score in rows if q == query} for query in QUERIES}
    texts = {
        "scores.json": by_query,
        "mteb.json": {"mteb_model_meta": {"model_name": "m"}, "default": {"test": by_query}},
        "cirr.json": {"version": "rc2", "metric": "recall", **RANKED},
        "records.json": [{"qid": q, "docno": d, "score": s, "run_id": "m"} for q, d, s in rows],
    }
    for name, value in texts.items():
        put(HERE / name, json.dumps(value, ensure_ascii=False))
    ranks = [f"{q},{d},{place}" for q, docs in RANKED.items() for place, d in enumerate(docs, start=1)]
    pairs = [dict(zip(names, row, strict=True)) for row in rows]
    lists = [{"query_id": query, "docs": docs} for query, docs in RANKED.items()]
    for name, lines in {
        "pairs.jsonl": [json.dumps(pair, ensure_ascii=False) for pair in pairs],
        "lists.jsonl": [json.dumps(each, ensure_ascii=False) for each in lists],
        "scores.csv": [",".join(map(str, row)) for row in (names, *rows)],
        "scores.tsv": ["\t".join(map(str, row)) for row in (names, *rows)],
        "ranks.csv": ["qid,docid,rank", *ranks],
        "places.csv": [",".join(str(DOCS.index(doc)) for doc in docs) for docs in RANKED.values()],
        "plain.run": [f"{q} Q0 {d} 0 {s} m" for q, d, s in rows],
    }.items():
        put(HERE / name, "\n".join(lines) + "\n")
    put(HERE / "packed.run.gz", gzip.compress((HERE / "plain.run").read_bytes(), mtime=0))
    put(HERE / "long.parquet", {name: [pair[name] for pair in pairs] for name in names})


if __name__ == "__main__":
    for make in (make_arrays, make_torch, make_lists):
        make()
