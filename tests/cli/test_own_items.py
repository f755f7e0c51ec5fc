"""Composed queries from a benchmark's own files: nobody is asked about the item a query starts from."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from command import Copied, Fire, run

import fire_toolkit

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
        for name in ("m0", "m1"):
            shutil.copy(folder / "q.txt", folder / f"{name}.query_ids.txt")
            shutil.copy(folder / "d.txt", folder / f"{name}.doc_ids.txt")
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


def bring_in() -> None:
    Composed().write(Path())
    Path("fire.toml").write_text('[runs]\nfiles = ["runs/*"]\n')
    run("add-collection", "cap.rc2.val.json")
    run("add-run", "m0.npy", "m1.npy", *IDS, "--depth", 5)


@pytest.fixture
def workspace(folder: Path, copied: Copied) -> Composed:
    """A workspace of the composed queries, with both matrices brought in to a top of 5."""
    copied(bring_in, folder)
    return Composed()


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
    ends = ("m0.npy", "m1.npy", "--depth", 3, "--out", "pool")
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


def scores(result: Result) -> dict[tuple[str, str], float]:
    return {(row["run_id"], row["measure"]): row["value"] for row in json.loads(result.stdout)}


MEASURES = ("-m", "C@1", "-m", "C@5", "-m", "RR", "-m", "MnR")


def true_scores(made: Composed, *, drop: bool) -> dict[tuple[str, str], float]:
    found = {}
    for name in made.sims:
        ranks = made.rank_of_target(name, drop=drop)
        found |= {
            (name, "C@1"): (ranks <= 1).mean(),
            (name, "C@5"): (ranks <= 5).mean(),
            (name, "RR"): (1 / ranks).mean(),
            (name, "MnR"): ranks.mean(),
        }
    return found


@pytest.mark.parametrize("place", ["matrices", "files"])
def test_scores_follow_the_protocol_and_say_so(
    fire: Fire, folder: Path, workspace: Composed, place: str
) -> None:
    if place == "matrices":
        runs: tuple[object, ...] = ("m0.npy", "m1.npy")
    else:
        fire("add-run", "m0.npy", "m1.npy", *IDS, "--depth", 40)
        runs = ()
    result = fire("score", *runs, *MEASURES, "--format", "json", "--out", "s.csv")
    assert scores(result) == pytest.approx(true_scores(workspace, drop=True))
    said = "queries' own items left out of the rankings (the collection's protocol): m0 24, m1 24"
    assert said in result.stderr
    parameters = json.loads((folder / "s.csv.manifest.json").read_text())["parameters"]
    assert (parameters["own_item"], parameters["own_items_left_out"]) == ("drop", {"m0": 24, "m1": 24})
    result = fire("score", *runs, *MEASURES, "--format", "json", "--own-item", "keep", "--out", "s.csv")
    assert scores(result) == pytest.approx(true_scores(workspace, drop=False))
    assert "own items kept in the rankings, as not relevant (--own-item keep)" in result.stderr
    assert json.loads((folder / "s.csv.manifest.json").read_text())["parameters"]["own_item"] == "keep"
    assert not (folder / "scores").exists() or place == "files"


@pytest.mark.usefixtures("workspace")
def test_what_an_older_collection_does_not_say_is_assumed_and_said(fire: Fire, folder: Path) -> None:
    asked = ("score", "m0.npy", "-m", "C@1")
    at = folder / "collection" / "manifest.json"
    manifest = json.loads(at.read_text())
    del manifest["parameters"]["own_item"]
    at.write_text(json.dumps(manifest))
    assert (
        "left out of the rankings (assumed, as the collection's manifest does not say" in fire(*asked).stderr
    )
    manifest["parameters"]["readers"] = {"t.csv": "table"}
    at.write_text(json.dumps(manifest))
    assert "kept in the rankings, as not relevant (assumed, as" in fire(*asked).stderr


def test_plain_files_keep_own_items_and_say_so_where_queries_name_them(
    fire: Fire, folder: Path, composed: Composed
) -> None:
    fire("add-collection", "cap.rc2.val.json", "--out", "c")
    (folder / "plain.tsv").write_text((folder / "c" / "queries.tsv").read_text())
    asked = ("score", "m0.npy", "m1.npy", "--qrels", "c/qrels.txt", *MEASURES, "--format", "json")
    kept, dropped = (true_scores(composed, drop=drop) for drop in (False, True))
    assert scores(fire(*asked)) == pytest.approx(kept)
    assert "own item" not in fire(*asked).stderr
    result = fire(*asked, "--queries", "plain.tsv")
    assert scores(result) == pytest.approx(kept)
    assert "kept in the rankings, as not relevant (no protocol is known for these queries" in result.stderr
    assert scores(fire(*asked, "--queries", "plain.tsv", "--own-item", "drop")) == pytest.approx(dropped)
    assert scores(fire(*asked, "--queries", "c/queries.tsv")) == pytest.approx(dropped)


def test_class_retrieval_leaves_out_the_item_that_asks(fire: Fire, folder: Path) -> None:
    # Two classes, a b c and d e; each item asks for its class, and is found first by itself.
    docs, classes = list("abcde"), [{"a", "b", "c"}, {"d", "e"}]
    np.save(folder / "s.npy", np.array(
        [[9, 5, 1, 4, 0], [5, 9, 3, 1, 0], [1, 3, 9, 2, 5], [4, 1, 2, 9, 8], [0, 1, 5, 4, 9]], dtype="f4"
    ))  # fmt: skip
    for axis in ("query_ids", "doc_ids"):
        (folder / f"s.{axis}.txt").write_text("\n".join(docs))
    pairs = [f"{q} 0 {d} 1" for q in docs for own in classes if q in own for d in sorted(own)]
    (folder / "class.txt").write_text("\n".join(pairs) + "\n")
    result = fire("score", "s.npy", "--qrels", "class.txt",
                  "--own-item", "drop", "-m", "NN", "-m", "C@2", "-m", "R@2", "--format", "json")  # fmt: skip
    # Lists without the asker: a: b d c e; b: a c d e; c: e b d a; d: e a c b; e: c d b a.
    assert scores(result) == pytest.approx(
        {("s", "NN"): 3 / 5, ("s", "C@2"): 1.0, ("s", "R@2"): (0.5 + 1 + 0.5 + 1 + 1) / 5}
    )
    assert "left out of the rankings (--own-item drop): s 5" in result.stderr
    assert "pairs of a query and its own item left out: original qrels 5" in result.stderr


@pytest.mark.usefixtures("workspace")
def test_comparisons_and_tests_read_the_lists_without_own_items(fire: Fire, folder: Path) -> None:
    made = Composed()
    shared = [
        len(set(a[:2]) & set(b[:2])) / 2
        for a, b in zip(made.ranking("m0", drop=True), made.ranking("m1", drop=True), strict=True)
    ]
    result = fire("compare", "--depth", 2, "--format", "json")
    values = {row["measure"]: row["value"] for row in json.loads(result.stdout)}
    assert values["overlap@2"] == pytest.approx(np.mean(shared))
    led = {name: made.n_led(name, 3) for name in made.sims}
    assert (
        f"left out of the rankings (the collection's protocol): m0 {led['m0']}, m1 {led['m1']}"
        in result.stderr
    )
    gap = np.diff([(made.rank_of_target(name, drop=True) <= 1).mean() for name in ("m1", "m0")])[0]
    result = fire("difference", "-m", "C@1", "--format", "json")
    assert json.loads(result.stdout)[0]["difference"] == pytest.approx(gap)
    qrels = (folder / "collection" / "qrels.txt").read_text()
    (folder / "more.txt").write_text(qrels + f"{made.queries[0]} 0 {made.docs[made.reference[0]]} 1\n")
    asked = ("orders", "--qrels", "a=collection/qrels.txt", "--qrels", "b=more.txt", "-m", "R@5")
    result = fire(*asked, "--show", "scores", "--format", "json")
    assert "own item left out: b 1" in result.stderr
    rows = json.loads(result.stdout)
    assert len({(row["run_id"], row["value"]) for row in rows}) == 2  # b's own pair counts nowhere


@pytest.mark.usefixtures("workspace")
def test_a_kept_own_item_is_nothing_that_somebody_has_to_judge(fire: Fire, folder: Path) -> None:
    made = Composed()
    for rule, judged in (("keep", made.n_led("m0", 1)), ("drop", 0)):
        hits = int((made.rank_of_target("m0", drop=rule == "drop") == 1).sum())
        at = folder / "collection" / "manifest.json"
        manifest = json.loads(at.read_text())
        manifest["parameters"]["own_item"] = rule
        at.write_text(json.dumps(manifest))
        asked = ("coverage", "m0.npy", "--augmented", "collection/qrels.txt", "-m", "C@1")
        result = fire(*asked, "--out", "more.csv", "--format", "json")
        row = json.loads(result.stdout)[0]
        assert (row["lower"], row["judged"]) == pytest.approx((hits / N_QUERIES, (hits + judged) / N_QUERIES))
        assert row["upper"] == pytest.approx(1 - judged / N_QUERIES)
        pairs = pd.read_csv(folder / "more.csv", dtype=str)
        own = dict(zip(made.queries, (made.docs[n] for n in made.reference), strict=True))
        assert not any(own[q] == d for q, d in zip(pairs["query_id"], pairs["doc_id"], strict=True))


def ranks_in(run: pd.DataFrame, query: str) -> dict[str, int]:
    own = run[run["query_id"] == query]
    return dict(zip(own["doc_id"].astype("str"), own["rank"], strict=True))


@pytest.mark.parametrize("form", ["rows", "columns", "lists"])
def test_a_run_keeps_own_items_and_groups_at_their_ranks_and_its_depth_without_them(
    fire: Fire, folder: Path, workspace: Composed, form: str
) -> None:
    sims, file = workspace.sims["m0"], "m0.npy"
    if form == "columns":
        np.save(folder / file, sims.T.copy())
    if form == "lists":
        file = "m0.json"
        scored = {
            query: dict(zip(workspace.docs, map(float, row), strict=True))
            for query, row in zip(workspace.queries, sims, strict=True)
        }
        (folder / file).write_text(json.dumps(scored))
    ids = () if form == "lists" else IDS
    result = fire("add-run", file, *ids, "--id", "m0", "--depth", 5)
    run = fire_toolkit.run(folder / "runs" / "m0.parquet")
    ranking = workspace.ranking("m0", drop=False)
    n_others = 0
    for n, query in enumerate(workspace.queries):
        rank_of = {workspace.docs[doc]: place for place, doc in enumerate(ranking[n], start=1)}
        positive, own = workspace.docs[workspace.target[n]], workspace.docs[workspace.reference[n]]
        members = {workspace.docs[doc] for doc in workspace.members[n]}
        depth = 5 + (rank_of[own] <= 5)
        expected = {doc: place for doc, place in rank_of.items() if place <= depth or doc in members}
        assert ranks_in(run, query) == expected
        n_others += sum(place > 5 for doc, place in expected.items() if doc != positive)
    assert f"{n_others} rows more for own items and groups" in result.stderr
    dropped = fire_toolkit.drop_own_items(
        run, fire_toolkit.read_queries(folder / "collection" / "queries.tsv")
    )
    assert (
        dropped.groupby("query_id", observed=True)["rank"].apply(lambda ranks: (ranks <= 5).sum()) == 5
    ).all()


def test_a_run_in_a_workspace_scores_as_the_matrix_does(
    fire: Fire, folder: Path, workspace: Composed
) -> None:
    result = fire("score", *MEASURES, "-m", "C@2", "--format", "json")
    expected = true_scores(workspace, drop=True)
    assert {key: value for key, value in scores(result).items() if key in expected} == pytest.approx(expected)
    assert "no known rank" not in result.stderr
    fire("add-collection", "cap.rc2.val.json", "--out", "elsewhere")
    fire("add-run", "m0.npy", *IDS, "--depth", 5, "--qrels", "collection/qrels.txt", "--out", "bare")
    (folder / "fire.toml").rename(folder / "gone.toml")
    asked = ("bare/m0.parquet", *MEASURES, "--format", "json", "--qrels", "elsewhere/qrels.txt")
    result = fire("score", *asked, "--queries", "elsewhere/queries.tsv")
    assert scores(result) == pytest.approx({key: v for key, v in expected.items() if key[0] == "m0"})
    fire("add-run", "m0.npy", *IDS, "--depth", 1, "--qrels", "collection/qrels.txt", "--out", "bare")
    assert "has no known rank: m0" in fire("score", *asked, "--queries", "elsewhere/queries.tsv").stderr


def test_subsets_are_scored_from_the_runs_of_a_workspace(fire: Fire, workspace: Composed) -> None:
    expected = {}
    for name, sims in workspace.sims.items():
        group = sims[workspace.rows[:, None], workspace.members[:, 1:]]  # without the reference
        ranks = 1 + (group > group[:, :1]).sum(axis=1)
        expected |= {(name, f"C@{k}"): (ranks <= k).mean() for k in (1, 2, 3)}
    asked = ("score", "--groups", "collection/groups.tsv", "-m", "C@1", "-m", "C@2", "-m", "C@3")
    result = fire(*asked, "--format", "json")
    assert scores(result) == pytest.approx(expected)
    assert "lacks a member" not in result.stderr


def test_ranks_left_out_where_a_member_may_stand_are_refused(
    fire: Fire, folder: Path, workspace: Composed
) -> None:
    (folder / "collection" / "groups.tsv").rename(folder / "groups.tsv")
    fire("add-run", "m0.npy", *IDS, "--depth", 5)
    result = fire("score", "runs/m0.parquet", "--groups", "groups.tsv", "-m", "C@1", code=1)
    assert "a member of the query's group may stand at one of them" in result.stderr


def test_a_logged_score_is_met_by_the_protocol(fire: Fire, workspace: Composed) -> None:
    share = 100 * (workspace.rank_of_target("m0", drop=True) <= 5).mean()
    result = fire("add-run", "m0.npy", *IDS, "--depth", 5, "--expect", f"R@5={share:.1f}")
    assert "the logged score is reproduced" in result.stderr
    assert "own items stay in the run; they do not count in its scores (the collection's" in result.stderr


def test_circo_has_both_scores_of_its_own_scorer(fire: Fire, folder: Path) -> None:
    # As src/evaluation.py of miccunifi/CIRCO computes them: the reference stays in the list, AP is divided by
    # min(k, number of ground truths), Recall@k asks for target_img_id alone.
    draw = np.random.default_rng(3)
    images = [int(n) for n in draw.permutation(1000)[:60]]
    chosen = [draw.choice(60, 5, replace=False) for _ in range(15)]
    entries = [
        {
            "reference_img_id": images[own[0]],
            "target_img_id": images[own[1]],
            "relative_caption": f"c {n}",
            "shared_concept": "a dog",
            "gt_img_ids": [images[i] for i in own[1 : 3 + n % 3]],
            "id": n,
        }
        for n, own in enumerate(chosen)
    ]
    sims = draw.normal(size=(15, 60)).astype(np.float32)
    for n, own in enumerate(chosen):
        sims[n, own] += [4, 2, 2, 1, 1]
    (folder / "val.json").write_text(json.dumps(entries))
    (folder / "q.txt").write_text("\n".join(str(n) for n in range(15)))
    (folder / "d.txt").write_text("\n".join(map(str, images)))
    np.save(folder / "m.npy", sims)
    found: dict[tuple[str, str], list[float]] = {}
    for n, order in enumerate(np.argsort(-sims.astype(float), axis=1)):
        ranked = np.array(images)[order]
        is_truth = np.isin(ranked, entries[n]["gt_img_ids"])
        precision = np.cumsum(is_truth) * is_truth / np.arange(1, 61)
        for k in (5, 10):
            ap = precision[:k].sum() / min(len(entries[n]["gt_img_ids"]), k)  # type: ignore[arg-type]
            found.setdefault(("m", f"AP@{k}/min"), []).append(ap)
            found.setdefault(("m", f"C@{k}"), []).append(entries[n]["target_img_id"] in ranked[:k])
    means = {key: np.mean(values) for key, values in found.items()}
    (folder / "fire.toml").write_text('[runs]\nfiles = ["runs/*"]\n')
    assert "15 targets in qrels.target.txt" in fire("add-collection", "val.json").stderr
    fire("add-run", "m.npy", *IDS, "--depth", 10)
    result = fire("score", "-m", "AP@5/min", "-m", "AP@10/min", "--format", "json")
    assert scores(result) == pytest.approx({key: v for key, v in means.items() if key[1].startswith("AP")})
    assert "own items kept in the rankings, as not relevant (the collection's protocol)" in result.stderr
    asked = ("score", "--qrels", "collection/qrels.target.txt", "-m", "C@5", "-m", "C@10")
    assert scores(fire(*asked, "--format", "json")) == pytest.approx(
        {key: v for key, v in means.items() if key[1].startswith("C@")}
    )
    fire("pool", "--depth", 3)
    pool = pd.read_csv(folder / "pool" / "pool.csv")
    references = {n: entry["reference_img_id"] for n, entry in enumerate(entries)}
    assert not (pool["query_id"].map(references) == pool["doc_id"]).any()
    assert pool.groupby("query_id").size().tolist() == [3] * 15


@pytest.mark.usefixtures("workspace")
def test_both_directions_keep_own_items_and_say_so(fire: Fire) -> None:
    assert "own items are kept in both directions" in fire("score", "--direction", "both", "m0.npy").stderr


def test_labels_of_own_items_count_nowhere(fire: Fire, folder: Path, workspace: Composed) -> None:
    """Judgments from a pool that still asked about references: `score --honest` and `own`."""
    query, own = workspace.queries[0], workspace.docs[workspace.reference[0]]
    rows = [f"{query},{own},relevant,1,fire"]
    rows += [
        f"{q},{workspace.docs[t]},relevant,1,fire"
        for q, t in zip(workspace.queries, workspace.target, strict=True)
    ]
    (folder / "labels").mkdir()
    (folder / "labels" / "labels.csv").write_text(
        "\n".join(["query_id,doc_id,label,relevance,method", *rows, ""])
    )
    fire("augment")
    for rule in ("drop", "keep"):
        asked = ("score", "--honest", "-m", "C@1", "--own-item", rule, "--format", "json")
        result = fire(*asked)
        assert "left out: augmented qrels 1, labels 1" in result.stderr
        for row in json.loads(result.stdout):
            hits = (workspace.rank_of_target(row["run_id"], drop=rule == "drop") == 1).mean()
            assert (row["augmented"], row["new"]) == (pytest.approx(hits), 0)
            if rule == "keep":  # the top doc is the own item, judged, or a positive, or unjudged
                led = workspace.n_led(row["run_id"], 1) / N_QUERIES
                assert row["upper"] == pytest.approx(1 - led)
    target = workspace.docs[workspace.target[0]]
    (folder / "sources.csv").write_text(
        f"query_id,doc_id,run_id,rank\n{query},{own},m0,1\n{query},{target},m0,2\n"
    )
    row = json.loads(fire("own", "--pool-sources", "sources.csv", "--format", "json").stdout)[0]
    assert (row["n_pooled"], row["new"]) == (1, 0)


def test_no_task_asks_for_the_own_item_that_an_older_pool_holds(fire: Fire, folder: Path) -> None:
    (folder / "pool.csv").write_text("query_id,doc_id,round\na,v1,1\na,v2,1\nb,v1,1\n")
    (folder / "q.csv").write_text("query_id,text,reference\na,one,v1\nb,two,\n")
    said = fire("tasks", "pool.csv", "--queries", "q.csv", "--overlap", 0, "--out", "t.json").stderr
    assert "1 pair of a query and its own item left out" in said
    asked = [(task["data"]["caption"]) for task in json.loads((folder / "t.json").read_text())]
    assert sorted(asked) == ["one", "two"]
