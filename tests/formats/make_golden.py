"""Makes the golden files: `python tests/formats/make_golden.py`, with torch installed."""

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent / "golden"
QUERIES = ["007", "q:1|x", "frage-ü"]
DOCS = ["NA", "d10", "d9", "null"]
# Exact in bfloat16; the first row has a tie, which the higher id wins; the last has its best in the middle.
SIMS = np.array([[0.5, 0.25, 0.5, -1.0], [1.0, 2.0, 3.0, 4.0], [-0.5, 8.0, 0.125, 0.0]], dtype=np.float32)
RANKED = {"007": ["d9", "NA", "d10", "null"], "q:1|x": ["null", "d9", "d10", "NA"]}
RANKED["frage-ü"] = ["d10", "d9", "null", "NA"]


def scored() -> list[tuple[str, str, float]]:
    cells = ((q, d, float(SIMS[i, j])) for i, q in enumerate(QUERIES) for j, d in enumerate(DOCS))
    return list(cells)


def make_arrays() -> None:
    ids = {"query_ids": np.array(QUERIES), "doc_ids": np.array(DOCS)}
    np.savez(HERE / "stored.npz", sims=SIMS, **ids)
    np.savez_compressed(HERE / "packed.npz", sims=SIMS.astype(np.float16), **ids)
    np.savez(HERE / "turned.npz", sims=np.ascontiguousarray(SIMS.T), **ids)
    np.savez(HERE / "object_ids.npz", sims=SIMS, query_ids=np.array(QUERIES, dtype=object), doc_ids=DOCS)
    np.save(HERE / "plain.npy", SIMS)
    np.save(HERE / "fortran.npy", np.asfortranarray(SIMS.astype(np.float64)))
    np.save(HERE / "big_endian.npy", SIMS.astype(">f4"))
    np.save(HERE / "square.npy", SIMS[:, :3])
    padded = np.full((2, 2, 4), -np.inf, dtype=np.float32)
    padded[0, :2], padded[1, 0] = SIMS[:2], SIMS[2]
    np.savez(HERE / "padded.npz", sims=padded, **ids)
    filled = np.where(np.isfinite(padded), padded, 7.0).reshape(4, 4)
    np.savez(HERE / "masked.npz", sims=filled, query_masks=[[1, 1], [1, 0]], **ids)
    np.savez(HERE / "vectors.npz", text_embeds=SIMS, video_embeds=np.eye(4, dtype=np.float32), **ids)
    for protocol in (2, 3, 4, 5):
        content = {"test": {"sims": SIMS}, "query_ids": QUERIES, "doc_ids": np.array(DOCS)}
        (HERE / f"protocol{protocol}.pkl").write_bytes(pickle.dumps(content, protocol=protocol))


def make_torch() -> None:
    import torch

    sims: Any = torch.from_numpy(SIMS)
    ids = {"query_ids": QUERIES, "doc_ids": DOCS}
    for name, dtype in (("float32", torch.float32), ("float16", torch.float16), ("bfloat16", torch.bfloat16)):
        torch.save(
            {"epoch": 3, "out": {"sims": sims.to(dtype), "loss": torch.ones(2)}, **ids}, HERE / f"{name}.pt"
        )
    torch.save({"sims": sims.T.contiguous().T, **ids}, HERE / "column_major.pt")
    wide = torch.cat([sims, sims], dim=1)
    torch.save({"sims": wide[:, 4:], **ids}, HERE / "view.pt")
    torch.save({"sims": (sims * 8).to(torch.int16), **ids}, HERE / "int16.pt")
    torch.save(sims, HERE / "bare.pt")
    held = {"epoch": 3, "test": {"sims": sims.bfloat16(), "other": [1, 2]}, **ids}
    torch.save(held, HERE / "legacy.pt", _use_new_zipfile_serialization=False)


def make_lists() -> None:
    import pyarrow as pa
    from pyarrow import parquet

    rows = scored()
    by_query: dict[str, dict[str, float]] = {query: {} for query in QUERIES}
    for query, doc, score in rows:
        by_query[query][doc] = score
    texts = {
        "scores.json": by_query,
        "mteb.json": {"mteb_model_meta": {"model_name": "m"}, "default": {"test": by_query}},
        "cirr.json": {"version": "rc2", "metric": "recall", **RANKED},
        "records.json": [{"qid": q, "docno": d, "score": s, "run_id": "m"} for q, d, s in rows],
    }
    for name, value in texts.items():
        (HERE / name).write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    lines = [json.dumps({"query_id": q, "doc_id": d, "score": s}, ensure_ascii=False) for q, d, s in rows]
    (HERE / "pairs.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    lists = [json.dumps({"query_id": q, "docs": docs}, ensure_ascii=False) for q, docs in RANKED.items()]
    (HERE / "lists.jsonl").write_text("\n".join(lists) + "\n", encoding="utf-8")
    for name, mark in (("scores.csv", ","), ("scores.tsv", "\t")):
        body = [mark.join(("query_id", "doc_id", "score"))] + [mark.join((q, d, str(s))) for q, d, s in rows]
        (HERE / name).write_text("\n".join(body) + "\n", encoding="utf-8")
    ranks = [f"{q},{d},{place}" for q, docs in RANKED.items() for place, d in enumerate(docs, start=1)]
    (HERE / "ranks.csv").write_text("\n".join(["qid,docid,rank", *ranks]) + "\n", encoding="utf-8")
    places = [",".join(str(DOCS.index(doc)) for doc in docs) for docs in RANKED.values()]
    (HERE / "places.csv").write_text("\n".join(places) + "\n", encoding="utf-8")
    trec = "".join(f"{q} Q0 {d} 0 {s} m\n" for q, d, s in rows)
    (HERE / "plain.run").write_text(trec, encoding="utf-8")
    (HERE / "packed.run.gz").write_bytes(gzip.compress(trec.encode(), mtime=0))
    columns = {
        "query_id": [r[0] for r in rows],
        "doc_id": [r[1] for r in rows],
        "score": [r[2] for r in rows],
    }
    parquet.write_table(pa.table(columns), HERE / "long.parquet")


def make_own() -> None:
    from fire_toolkit.formats.runs.native import run_bytes
    from fire_toolkit.formats.runs.read import read_run

    (HERE / "own.parquet").write_bytes(run_bytes(read_run(HERE / "stored.npz", run_id="stored")))


if __name__ == "__main__":
    for make in (make_arrays, make_torch, make_lists, make_own):
        make()
