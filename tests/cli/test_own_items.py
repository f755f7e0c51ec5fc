"""Composed queries from a benchmark's own files: nobody is asked about the item a query starts from."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

Fire = Callable[..., Result]
N_QUERIES, N_DOCS = 24, 40


class Composed:
    """CIRR's annotations and two matrices that rank most references first, and what is true of them."""

    def __init__(self) -> None:
        draw = np.random.default_rng(5)
        self.docs = [f"dev-{n}-img{n % 2}" for n in draw.permutation(N_DOCS)]
        self.queries = [str(9000 - 7 * n) for n in range(N_QUERIES)]
        self.members = np.array([draw.choice(N_DOCS, 6, replace=False) for _ in range(N_QUERIES)])
        self.reference, self.target = self.members[:, 0], self.members[:, 1]
        self.rows = np.arange(N_QUERIES)
        self.sims = {}
        for name, gain in (("m0", 2.5), ("m1", 1.5)):
            sims = draw.normal(size=(N_QUERIES, N_DOCS)).astype(np.float32)
            sims[self.rows, self.target] += gain
            sims[self.rows, self.reference] += np.where(draw.random(N_QUERIES) < 0.8, 6, -2)
            self.sims[name] = sims

    def write(self, folder: Path) -> None:
        entries = [
            {
                "pairid": int(query),
                "reference": self.docs[self.reference[n]],
                "target_hard": self.docs[self.target[n]],
                "target_soft": {self.docs[self.target[n]]: 1.0},
                "caption": f"change {n}",
                "img_set": {"id": n, "members": [self.docs[m] for m in sorted(self.members[n])],
                            "reference_rank": 0, "target_rank": 1},
            }
            for n, query in enumerate(self.queries)
        ]  # fmt: skip
        (folder / "cap.rc2.val.json").write_text(json.dumps(entries))
        (folder / "q.txt").write_text("\n".join(self.queries))
        (folder / "d.txt").write_text("\n".join(self.docs))
        for name, sims in self.sims.items():
            np.save(folder / f"{name}.npy", sims)

    def ranking(self, name: str, *, drop: bool) -> Any:
        """The docs of each query, best first; a dropped reference stands last."""
        sims = self.sims[name].astype(float)
        if drop:
            sims[self.rows, self.reference] = -np.inf
        return np.argsort(-sims, axis=1)

    def rank_of_target(self, name: str, *, drop: bool) -> Any:
        found: Any = np.nonzero(self.ranking(name, drop=drop) == self.target[:, None])[1] + 1
        return found

    def pairs(self, depth: int) -> set[tuple[str, str]]:
        return {
            (query, self.docs[doc])
            for name in self.sims
            for query, row in zip(self.queries, self.ranking(name, drop=True), strict=True)
            for doc in row[:depth]
        }

    def n_led(self, name: str, depth: int) -> int:
        top = self.ranking(name, drop=False)[:, :depth]
        return int((top == self.reference[:, None]).any(axis=1).sum())


@pytest.fixture
def composed(folder: Path) -> Composed:
    made = Composed()
    made.write(folder)
    return made


IDS = ("--query-ids", "q.txt", "--doc-ids", "d.txt")


@pytest.fixture
def workspace(fire: Fire, folder: Path, composed: Composed) -> Composed:
    """A workspace of the composed queries, with both matrices brought in to a top of 5."""
    (folder / "fire.toml").write_text('[runs]\nfiles = ["runs/*"]\n')
    fire("add-collection", "cap.rc2.val.json")
    fire("add-run", "m0.npy", "m1.npy", *IDS, "--top", 5)
    return composed


def manifest_of(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text())


def test_no_reference_is_pooled_and_those_left_out_are_counted(
    fire: Fire, folder: Path, workspace: Composed
) -> None:
    result = fire("pool", "--depth", 3)
    pool = pd.read_csv(folder / "pool" / "pool.csv", dtype=str)
    assert set(zip(pool["query_id"], pool["doc_id"], strict=True)) == workspace.pairs(3)
    top = [
        workspace.ranking(name, drop=False)[:, :3] == workspace.reference[:, None] for name in workspace.sims
    ]
    n = int(np.any(top, axis=(0, 2)).sum())
    assert f"{n} pairs of a query and its own item left out" in result.stderr
    manifest = manifest_of(folder / "pool")
    assert manifest["counts"]["own_items"] == n
    assert "collection/queries.tsv" in manifest["inputs"]


def test_plain_files_are_pooled_so_where_the_queries_are_given(
    fire: Fire, folder: Path, composed: Composed
) -> None:
    fire("add-collection", "cap.rc2.val.json", "--out", "c")
    ends = ("m0.npy", "m1.npy", *IDS, "--depth", 3, "--out", "pool")
    fire("pool", *ends)
    assert "own_items" not in manifest_of(folder / "pool")["counts"]
    fire("pool", *ends, "--queries", "c/queries.tsv")
    pool = pd.read_csv(folder / "pool" / "pool.csv", dtype=str)
    assert set(zip(pool["query_id"], pool["doc_id"], strict=True)) == composed.pairs(3)


@pytest.mark.parametrize(
    ("entry", "rule", "said"),
    [
        ({"pairid": 1, "reference": "a", "target_hard": "b", "caption": "x",
          "img_set": {"id": 1, "members": ["a"]}}, "drop", "left out of rankings"),
        ({"id": 1, "reference_img_id": 1, "relative_caption": "x", "gt_img_ids": [2]},
         "keep", "kept in rankings"),
        ({"candidate": "a", "target": "b", "captions": ["x", "y"]}, "keep", "kept in rankings"),
        ({"query_id": "1", "doc_id": "b", "caption": "x", "reference": "a"}, None, "no protocol"),
    ],
)  # fmt: skip
def test_the_protocol_of_a_benchmark_stands_in_its_manifest(
    fire: Fire, folder: Path, entry: Any, rule: str | None, said: str
) -> None:
    (folder / "c.json").write_text(json.dumps([entry]))
    assert said in fire("add-collection", "c.json", "--out", "c").stderr
    assert manifest_of(folder / "c")["parameters"]["own_item"] == rule
    fire("add-collection", "c.json", "--out", "c", "--own-item", "drop")
    assert manifest_of(folder / "c")["parameters"]["own_item"] == "drop"


def test_a_collection_without_own_items_has_no_word_of_them(fire: Fire, folder: Path) -> None:
    (folder / "c.csv").write_text("video_id,caption\nv1,a dog\n")
    assert "own item" not in fire("add-collection", "c.csv", "--out", "c").stderr
    assert "own_item" not in manifest_of(folder / "c")["parameters"]
