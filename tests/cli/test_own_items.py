"""Composed queries from a benchmark's own files: nobody is asked about the item a query starts from."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from command import Copied, as_json, manifest_of, pairs_in, run, states
from exports import export
from small_release import STATED, set_in

import fire_toolkit
from examples import cases

N_QUERIES, N_DOCS = 24, 40


class Composed:
    """CIRR's annotations and two matrices that rank most references first, and what is true of them."""

    def __init__(self) -> None:
        draw = np.random.default_rng(5)
        self.docs = [f"dev-{n}-img{n % 2}" for n in draw.permutation(N_DOCS)]
        self.queries = [str(9000 - 7 * n) for n in range(N_QUERIES)]
        self.members = np.array([draw.choice(N_DOCS, 6, replace=False) for _ in range(N_QUERIES)])
        self.reference, self.target = self.members[:, 0], self.members[:, 1]
        self.own = {query: self.docs[doc] for query, doc in zip(self.queries, self.reference, strict=True)}
        self.positive = {query: self.docs[doc] for query, doc in zip(self.queries, self.target, strict=True)}
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
                "reference": self.own[query],
                "target_hard": self.positive[query],
                "target_soft": {self.positive[query]: 1.0},
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
            shutil.copy(folder / "q.txt", folder / f"{name}.query_ids.txt")
            shutil.copy(folder / "d.txt", folder / f"{name}.doc_ids.txt")
            np.save(folder / f"{name}.npy", sims)

    def ranking(self, name: str, *, drop: bool) -> Any:
        """The docs of each query, best first; a dropped reference stands last."""
        sims = self.sims[name].astype(float)
        if drop:
            sims[self.rows, self.reference] = -np.inf
        return np.argsort(-sims, axis=1)

    def ranks(self, name: str, *, drop: bool) -> Any:
        """The rank of each query's target."""
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

    def scores(self, *, drop: bool) -> dict[tuple[str, str], float]:
        """What MEASURES are, by arithmetic."""
        ranks = {name: self.ranks(name, drop=drop) for name in self.sims}
        of = {
            "C@1": lambda r: (r <= 1).mean(),
            "C@5": lambda r: (r <= 5).mean(),
            "RR": lambda r: (1 / r).mean(),
            "MnR": lambda r: r.mean(),
        }
        return {(name, measure): value(ranks[name]) for name in ranks for measure, value in of.items()}


COMPOSED = "composed-image-relevance-v1"
MEASURES = ("-m", "C@1", "-m", "C@5", "-m", "RR", "-m", "MnR")
IDS = ("--query-ids", "q.txt", "--doc-ids", "d.txt")


@pytest.fixture
def composed(here: Path) -> Composed:
    made = Composed()
    made.write(here)
    return made


def bring_in() -> None:
    Composed().write(Path())
    Path("fire.toml").write_text('[runs]\nfiles = ["runs/*"]\n')
    run("add-collection", "cap.rc2.val.json")
    run("add-run", "m0.npy", "m1.npy", *IDS, "--depth", 5)


@pytest.fixture
def workspace(here: Path, copied: Copied) -> Composed:
    """A workspace of the composed queries, with both matrices brought in to a top of 5."""
    copied(bring_in, here)
    return Composed()


def set_in_manifest(*, own_item: str | None) -> None:
    """Write another protocol, or none, into the collection's manifest."""
    manifest = manifest_of("collection")
    manifest["parameters"]["own_item"] = own_item
    Path("collection/manifest.json").write_text(json.dumps(manifest))


def score(*words: object) -> tuple[dict[tuple[str, str], float], str]:
    """Return the scores that `score` prints, by run and measure, and its words."""
    told = run("score", *words, "--format", "json")
    return {(row["run_id"], row["measure"]): row["value"] for row in json.loads(told.stdout)}, told.stderr


def test_no_reference_is_pooled_and_those_left_out_are_counted(workspace: Composed) -> None:
    told = run("pool", "--depth", 3).stderr
    assert pairs_in(Path("pool/pool.csv")) == workspace.pairs(3)
    tops = [workspace.ranking(name, drop=False)[:, :3] for name in workspace.sims]
    n = int(np.any([top == workspace.reference[:, None] for top in tops], axis=(0, 2)).sum())
    assert f"{n} pairs of a query and its own item left out" in told
    assert manifest_of("pool")["counts"]["own_items"] == n
    assert "collection/queries.tsv" in manifest_of("pool")["inputs"]


@cases("entry", "rule", "said")
def test_the_manifest_has_a_benchmark_s_protocol(here: Path, entry: Any, rule: str | None, said: str) -> None:
    (here / "c.json").write_text(json.dumps([entry]))
    assert said in run("add-collection", "c.json", "--out", "c").stderr
    assert manifest_of("c")["parameters"]["own_item"] == rule
    run("add-collection", "c.json", "--out", "c", "--own-item", "drop")
    assert manifest_of("c")["parameters"]["own_item"] == "drop"


@pytest.mark.parametrize("runs", [("m0.npy", "m1.npy"), ()], ids=["matrices", "files"])
def test_scores_follow_the_protocol_and_say_so(workspace: Composed, runs: tuple[str, ...]) -> None:
    if not runs:
        run("add-run", "m0.npy", "m1.npy", *IDS, "--depth", 40)
    found, said = score(*runs, *MEASURES, "--out", "s.csv")
    assert found == pytest.approx(workspace.scores(drop=True))
    assert "queries' own items left out of the rankings (the collection's protocol): m0 24, m1 24" in said
    parameters = manifest_of("s.csv")["parameters"]
    assert (parameters["own_item"], parameters["own_items_left_out"]) == ("drop", {"m0": 24, "m1": 24})
    found, said = score(*runs, *MEASURES, "--own-item", "keep", "--out", "s.csv")
    assert found == pytest.approx(workspace.scores(drop=False))
    assert "own items kept in the rankings, as not relevant (--own-item keep)" in said
    assert manifest_of("s.csv")["parameters"]["own_item"] == "keep"
    assert not Path("scores").exists() or not runs
    shutil.copy("collection/queries.tsv", "more.tsv")  # a table with columns of one's own, say
    found, said = score(*runs, *MEASURES, "--queries", "more.tsv", "--out", "s.csv")
    assert found == pytest.approx(workspace.scores(drop=True))
    assert "left out of the rankings (the collection's protocol)" in said


@pytest.mark.usefixtures("workspace")
def test_another_rule_of_the_collection_makes_scores_stale_and_none_is_said_to_keep_own_items() -> None:
    run("score")
    assert states()["score"][0] == "done"
    set_in_manifest(own_item=None)
    assert states()["score"] == ("stale", "own_item is 'keep' in the collection, was 'drop'")
    kept = "kept in the rankings, as not relevant (no protocol is known for these queries; --own-item drop"
    assert kept in run("score").stderr
    assert states()["score"][0] == "done"
    assert "own items are kept in both directions" in run("score", "--direction", "both", "m0.npy").stderr


def test_qrels_of_another_split_have_the_own_items_of_its_queries(workspace: Composed) -> None:
    own, target = workspace.docs[:2]
    Path("v.tsv").write_text(f"query_id\ttext\treference\nv\tin red\t{own}\n")
    Path("v.txt").write_text(f"v 0 {target} 1\n")
    Path("v.run").write_text(f"v Q0 {own} 1 .9 r\nv Q0 {target} 2 .8 r\n")
    run("add-collection", "v.tsv", "v.txt", "--out", "val", "--own-item", "drop")
    assert score("v.run", "--qrels", "val/qrels.txt", "-m", "C@1")[0] == {("r", "C@1"): 1}
    run("pool", "v.run", "--qrels", "val/qrels.txt", "--out", "val/pool")
    assert pairs_in(Path("val/pool/pool.csv")) == {("v", target)}


def test_plain_files_keep_own_items_and_say_so_where_queries_name_them(composed: Composed) -> None:
    run("add-collection", "cap.rc2.val.json", "--out", "c")
    pool = ("pool", "m0.npy", "m1.npy", "--depth", 3, "--out", "pool")
    run(*pool)
    assert "own_items" not in manifest_of("pool")["counts"]
    run(*pool, "--queries", "c/queries.tsv")
    assert pairs_in(Path("pool/pool.csv")) == composed.pairs(3)
    shutil.copy("c/queries.tsv", "plain.tsv")
    shutil.copy("c/qrels.txt", "plain.txt")
    asked = ("m0.npy", "m1.npy", "--qrels", "plain.txt", *MEASURES)
    kept, dropped = (composed.scores(drop=drop) for drop in (False, True))
    found, said = score(*asked)
    assert found == pytest.approx(kept)
    assert "own item" not in said
    found, said = score(*asked, "--queries", "plain.tsv")
    assert found == pytest.approx(kept)
    assert "kept in the rankings, as not relevant (no protocol is known for these queries" in said
    assert score(*asked, "--queries", "plain.tsv", "--own-item", "drop")[0] == pytest.approx(dropped)
    assert score(*asked, "--queries", "c/queries.tsv")[0] == pytest.approx(dropped)
    found, said = score("m0.npy", "m1.npy", "--qrels", "c/qrels.txt", *MEASURES)  # the queries lie beside
    assert found == pytest.approx(dropped)
    assert "left out of the rankings (the collection's protocol)" in said


def test_class_retrieval_leaves_out_the_item_that_asks(here: Path) -> None:
    # Two classes, a b c and d e; each item asks for its class, and is found first by itself.
    np.save("s.npy", np.array(
        [[9, 5, 1, 4, 0], [5, 9, 3, 1, 0], [1, 3, 9, 2, 5], [4, 1, 2, 9, 8], [0, 1, 5, 4, 9]], dtype="f4"
    ))  # fmt: skip
    for axis in ("query_ids", "doc_ids"):
        Path(f"s.{axis}.txt").write_text("\n".join("abcde"))
    pairs = [f"{q} 0 {d} 1\n" for own in ("abc", "de") for q in own for d in own]
    Path("class.txt").write_text("".join(pairs))
    measures = ("-m", "NN", "-m", "C@2", "-m", "R@2")
    found, said = score("s.npy", "--qrels", "class.txt", "--own-item", "drop", *measures)
    # Lists without the asker: a: b d c e; b: a c d e; c: e b d a; d: e a c b; e: c d b a.
    recall = (0.5 + 1 + 0.5 + 1 + 1) / 5
    assert found == pytest.approx({("s", "NN"): 3 / 5, ("s", "C@2"): 1.0, ("s", "R@2"): recall})
    assert "left out of the rankings (--own-item drop): s 5" in said
    assert "pairs of a query and its own item left out: original qrels 5" in said


def test_comparisons_and_tests_read_the_lists_without_own_items(workspace: Composed) -> None:
    tops = [workspace.ranking(name, drop=True)[:, :2].tolist() for name in ("m0", "m1")]
    shared = np.mean([len({*a} & {*b}) / 2 for a, b in zip(*tops, strict=True)])
    told = run("compare", "--depth", 2, "--format", "json")
    values = {row["measure"]: row["value"] for row in json.loads(told.stdout)}
    assert values["overlap@2"] == pytest.approx(shared)
    led = ", ".join(f"{name} {workspace.n_led(name, 3)}" for name in workspace.sims)
    assert f"left out of the rankings (the collection's protocol): {led}" in told.stderr
    hits = [(workspace.ranks(name, drop=True) <= 1).mean() for name in ("m0", "m1")]
    assert as_json("difference", "-m", "C@1")[0]["difference"] == pytest.approx(hits[0] - hits[1])
    query, own = next(iter(workspace.own.items()))
    Path("more.txt").write_text(Path("collection/qrels.txt").read_text() + f"{query} 0 {own} 1\n")
    asked = ("orders", "--qrels", "a=collection/qrels.txt", "--qrels", "b=more.txt", "-m", "R@5")
    told = run(*asked, "--show", "scores", "--format", "json")
    assert "own item left out: b 1" in told.stderr
    found = {(row["run_id"], row["value"]) for row in json.loads(told.stdout)}
    assert len(found) == 2  # b's own pair counts nowhere


def test_a_kept_own_item_is_nothing_that_somebody_has_to_judge(workspace: Composed) -> None:
    for rule, n_judged in (("keep", workspace.n_led("m0", 1)), ("drop", 0)):
        set_in_manifest(own_item=rule)
        asked = ("coverage", "m0.npy", "--augmented", "collection/qrels.txt", "-m", "C@1")
        row = as_json(*asked, "--out", "more.csv")[0]
        hits = (workspace.ranks("m0", drop=rule == "drop") == 1).mean()
        judged = n_judged / N_QUERIES
        assert row["lower"] == pytest.approx(hits)
        assert row["judged"] == pytest.approx(hits + judged)
        assert row["upper"] == pytest.approx(1 - judged)
        assert not pairs_in(Path("more.csv")) & {*workspace.own.items()}


@pytest.mark.parametrize("form", ["rows", "columns", "lists"])
def test_a_run_keeps_own_items_and_groups_beyond_its_depth(workspace: Composed, form: str) -> None:
    sims, file = workspace.sims["m0"], "m0.npy"
    if form == "columns":
        np.save(file, sims.T.copy())
    if form == "lists":
        file = "m0.json"
        lists = [dict(zip(workspace.docs, map(float, row), strict=True)) for row in sims]
        Path(file).write_text(json.dumps(dict(zip(workspace.queries, lists, strict=True))))
    told = run("add-run", file, *(() if form == "lists" else IDS), "--id", "m0", "--depth", 5).stderr
    kept = fire_toolkit.run("runs/m0.parquet")
    found: dict[str, dict[str, int]] = {query: {} for query in workspace.queries}
    for query, doc, rank in kept[["query_id", "doc_id", "rank"]].itertuples(index=False):
        found[query][doc] = rank
    n_others = 0
    rankings = zip(workspace.queries, workspace.ranking("m0", drop=False), strict=True)
    for n, (query, ranked) in enumerate(rankings):
        rank_of = {workspace.docs[doc]: place for place, doc in enumerate(ranked, start=1)}
        members = {workspace.docs[doc] for doc in workspace.members[n]}
        depth = 5 + (rank_of[workspace.own[query]] <= 5)
        expected = {doc: place for doc, place in rank_of.items() if place <= depth or doc in members}
        assert found[query] == expected
        n_others += sum(place > 5 for doc, place in expected.items() if doc != workspace.positive[query])
    assert f"{n_others} rows more for own items and groups" in told
    queries = fire_toolkit.read_queries("collection/queries.tsv")
    qrels = fire_toolkit.qrels("collection/qrels.txt")
    said = {None: "(own_item drop leaves them out)", "drop": "left out of the rankings"}
    for own_item, words in said.items():
        found = fire_toolkit.score(kept, qrels, queries=queries, own_item=own_item, measures=["C@1"])
        assert f"queries' own items {words}" in found.basis
    names = sorted(map(str, Path("runs").iterdir()))
    assert any(name.endswith(".manifest.json") for name in names)  # which runs/* names too
    assert score(*names, "-m", "C@1")[0].keys() == score("-m", "C@1")[0].keys()
    dropped = fire_toolkit.drop_own_items(kept, queries)
    top = dropped[dropped["rank"] <= 5]
    assert top.groupby("query_id", observed=True).size().tolist() == [5] * N_QUERIES


def test_a_run_in_a_workspace_scores_as_the_matrix_does(workspace: Composed) -> None:
    found, said = score(*MEASURES, "-m", "C@2")
    expected = workspace.scores(drop=True)
    assert {key: found[key] for key in expected} == pytest.approx(expected)
    assert "no known rank" not in said
    run("add-collection", "cap.rc2.val.json", "--out", "elsewhere")
    Path("fire.toml").rename("gone.toml")
    shutil.copy("collection/qrels.txt", "plain.txt")
    add = ("add-run", "m0.npy", *IDS, "--qrels", "plain.txt", "--out", "bare", "--depth")
    files = ("bare/m0.parquet", "--qrels", "elsewhere/qrels.txt", "--queries", "elsewhere/queries.tsv")
    run(*add, 5)
    found, _ = score(*files, *MEASURES)
    assert found == pytest.approx({key: value for key, value in expected.items() if key[0] == "m0"})
    run(*add, 1)
    assert "has no known rank: m0" in score(*files, *MEASURES)[1]


def test_subsets_are_scored_in_a_workspace_and_a_logged_score_is_met(workspace: Composed) -> None:
    expected = {}
    for name, sims in workspace.sims.items():
        group = sims[workspace.rows[:, None], workspace.members[:, 1:]]  # without the reference
        ranks = 1 + (group > group[:, :1]).sum(axis=1)
        expected |= {(name, f"C@{k}"): (ranks <= k).mean() for k in (1, 2, 3)}
    found, said = score("--groups", "collection/groups.tsv", "-m", "C@1", "-m", "C@2", "-m", "C@3")
    assert found == pytest.approx(expected)
    assert "lacks a member" not in said
    share = 100 * (workspace.ranks("m0", drop=True) <= 5).mean()
    told = run("add-run", "m0.npy", *IDS, "--depth", 5, "--expect", f"R@5={share:.1f}").stderr
    assert "the logged score is reproduced" in told
    assert "own items stay in the run; they do not count in its scores (the collection's" in told
    Path("collection/groups.tsv").rename("groups.tsv")
    run("add-run", "m0.npy", *IDS, "--depth", 5)
    told = run("score", "runs/m0.parquet", "--groups", "groups.tsv", "-m", "C@1", code=1).stderr
    assert "a member of the query's group may stand at one of them" in told


def test_circo_has_both_scores_of_its_own_scorer(here: Path) -> None:
    # As src/evaluation.py of miccunifi/CIRCO computes them: the reference stays in the list, AP is divided by
    # min(k, number of ground truths), Recall@k asks for target_img_id alone.
    draw = np.random.default_rng(3)
    images = [int(n) for n in draw.permutation(1000)[:60]]
    chosen = [draw.choice(60, 5, replace=False) for _ in range(15)]
    entries: list[dict[str, Any]] = [
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
    Path("val.json").write_text(json.dumps(entries))
    Path("q.txt").write_text("\n".join(str(n) for n in range(15)))
    Path("d.txt").write_text("\n".join(map(str, images)))
    np.save("m.npy", sims)
    ap, hit = np.zeros((2, 15)), np.zeros((2, 15))  # at 5 and at 10
    for n, order in enumerate(np.argsort(-sims.astype(float), axis=1)):
        ranked = np.array(images)[order]
        is_truth = np.isin(ranked, entries[n]["gt_img_ids"])
        precision = np.cumsum(is_truth) * is_truth / np.arange(1, 61)
        for place, k in enumerate((5, 10)):
            ap[place, n] = precision[:k].sum() / min(len(entries[n]["gt_img_ids"]), k)
            hit[place, n] = entries[n]["target_img_id"] in ranked[:k]
    Path("fire.toml").write_text('[runs]\nfiles = ["runs/*"]\n')
    assert "15 targets in qrels.target.txt" in run("add-collection", "val.json").stderr
    run("add-run", "m.npy", *IDS, "--depth", 10)
    found, said = score("-m", "AP@5/min", "-m", "AP@10/min")
    assert [found["m", f"AP@{k}/min"] for k in (5, 10)] == pytest.approx(ap.mean(axis=1))
    assert "own items kept in the rankings, as not relevant (the collection's protocol)" in said
    found, _ = score("--qrels", "collection/qrels.target.txt", "-m", "C@5", "-m", "C@10")
    assert [found["m", f"C@{k}"] for k in (5, 10)] == pytest.approx(hit.mean(axis=1))
    run("pool", "--depth", 3)
    pool = pairs_in(Path("pool/pool.csv"))
    assert len(pool) == 15 * 3
    assert not pool & {(str(n), str(entry["reference_img_id"])) for n, entry in enumerate(entries)}


def test_labels_of_own_items_count_nowhere(workspace: Composed) -> None:
    """Judgments from a pool that still asked about references: `score --honest` and `own`."""
    query, own = next(iter(workspace.own.items()))
    pairs = [(query, own), *workspace.positive.items()]
    lines = ["query_id,doc_id,label,relevance,method", *(f"{q},{d},relevant,1,fire" for q, d in pairs), ""]
    Path("labels").mkdir()
    Path("labels/labels.csv").write_text("\n".join(lines))
    run("augment")
    for rule in ("drop", "keep"):
        told = run("score", "--honest", "-m", "C@1", "--own-item", rule, "--format", "json")
        assert "left out: augmented qrels 1, labels 1" in told.stderr
        for row in json.loads(told.stdout):
            hits = (workspace.ranks(row["run_id"], drop=rule == "drop") == 1).mean()
            assert (row["augmented"], row["new"]) == (pytest.approx(hits), 0)
            if rule == "keep":  # the top doc is the own item, judged, or a positive, or unjudged
                led = workspace.n_led(row["run_id"], 1) / N_QUERIES
                assert row["upper"] == pytest.approx(1 - led)
    target = workspace.positive[query]
    Path("sources.csv").write_text(
        f"query_id,doc_id,run_id,rank\n{query},{own},m0,1\n{query},{target},m0,2\n"
    )
    row = as_json("own", "--pool-sources", "sources.csv")[0]
    assert (row["n_pooled"], row["new"]) == (1, 0)


def test_no_task_asks_for_the_own_item_of_an_older_pool_and_without_any_nothing_is_said(here: Path) -> None:
    (here / "pool.csv").write_text("query_id,doc_id,round\na,v1,1\na,v2,1\nb,v1,1\n")
    (here / "q.csv").write_text("query_id,text,reference\na,one,v1\nb,two,v9\n")
    said = run("tasks", "pool.csv", "--queries", "q.csv", "--out", "t.json", "--guideline", COMPOSED).stderr
    assert "1 pair of a query and its own item left out" in said
    asked = [task["data"]["caption"] for task in json.loads((here / "t.json").read_text())]
    assert sorted(asked) == ["one", "two"]
    (here / "c.csv").write_text("video_id,caption\nv1,a dog\n")
    assert "own item" not in run("add-collection", "c.csv", "--out", "c").stderr
    assert "own_item" not in manifest_of("c")["parameters"]


def test_tasks_need_a_page_that_shows_what_is_asked_about(here: Path) -> None:
    (here / "pool.csv").write_text("query_id,doc_id,round\na,v1,1\nb,v2,1\n")
    (here / "q.csv").write_text("query_id,text,reference\na,one,v2\nb,two,v1\n")
    (here / "plain.csv").write_text("query_id,text\na,one\nb,two\n")
    (here / "items.csv").write_text("doc_id,media_url\nv1,images/1.png\nv2,http://[?n=2.png\n")
    words = ("tasks", "pool.csv", "--items", "items.csv", "--out", "t.json", "--guideline")
    image = ("caption-image-relevance-v1", "--queries")
    assert "have a reference, which caption-image-" in run(*words, *image, "q.csv", code=1).stderr
    clip = ("caption-relevance-v1", "--queries", "plain.csv")
    assert "are images by their names, and caption-rel" in run(*words, *clip, code=1).stderr
    run(*words, *image, "plain.csv")
    (here / "items.csv").write_text("doc_id,media_url,start_s,end_s\nv1,a.mp4,1,2\nv2,b.mp4?x=1,0,3\n")
    (here / "moving.csv").write_text("doc_id,media_url\nv1,a.gif\nv2,b.webp\n")  # clips, as somebody has them
    moving = (*words[:3], "moving.csv", "--out", "m.json", words[-1], *clip)
    run(*moving)
    assert "the items are videos by their" in run(*words, *image, "plain.csv", code=1).stderr
    (here / "moving.csv").write_text("doc_id,media_url\nv1,a.wav\nv2,b.mp3\n")
    assert "are sounds by their names, and caption-relevance-v1 shows a vid" in run(*moving, code=1).stderr
    (here / "items.csv").write_text("doc_id,media_url,text\nv%201,v 1,one\nv2,v2,two\n")  # ids with blanks
    (here / "pool.csv").write_text("query_id,doc_id,round\na,v%201,1\nb,v2,1\n")
    refused = run(*words, *image, "plain.csv", code=1).stderr
    assert "are texts, and caption-image-relevance-v1 shows" in refused
    (here / "items.csv").write_text("doc_id,media_url\nv1,images/1.png\nv2,images/2.png\n")
    (here / "pool.csv").write_text("query_id,doc_id,round\na,v1,1\nb,v2,1\n")
    run(*words[:-2], "u.json", "--guideline", COMPOSED, "--queries", "q.csv")


def test_a_release_says_what_becomes_of_own_items_and_scores_so(
    composed: Composed, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("init", "w")
    monkeypatch.chdir("w")
    Path("split.json").write_text(json.dumps({doc: f"./dev/{doc}.png" for doc in composed.docs}))
    run("add-collection", "../cap.rc2.val.json", "split.json")
    run("add-run", "../m0.npy", "../m1.npy", "--query-ids", "../q.txt", "--doc-ids", "../d.txt")
    set_in(Path(), guideline=COMPOSED, overlap=0.0, creators=["A group"], measures=["C@1"], **STATED)
    run("pool", "--depth", 3)
    run("tasks")
    positive = {*composed.positive.items(), *{*composed.pairs(1)}}
    files = Path("tasks/tasks.json"), Path("exports/A.json")
    export(*files, lambda *pair: "relevant" if pair in positive else "irrelevant", lead_time=5.0)
    for command in ("import", "resolve", "augment", "score"):
        run(command)
    Path("dev").mkdir()
    for doc in composed.docs:
        Path("dev", f"{doc}.png").touch()
    run("gallery")
    shard = json.loads(Path("gallery/data/0000.js").read_text().partition(", ")[2].partition(", ")[2][:-3])
    shown = [Path(url).stem for url, *_ in shard["starts"]]
    assert shown == [composed.own[query] for query in composed.queries]
    run("release", "--version", "1.0", "--include-runs", 3)
    monkeypatch.chdir("..")
    text = Path("w/releases/1.0/README.md").read_text()
    assert "is left out of its ranking, as the benchmark's scorer does, in `runs/` too" in text
    for place in ("w/releases/1.0", "w/releases/1.0/qrels.txt"):
        assert score("m0.npy", "--qrels", place, "-m", "C@1")[0] == {("m0", "C@1"): 1.0}
    run("add-collection", "w/releases/1.0", "--out", "again")
    assert manifest_of("again")["parameters"]["own_item"] == "drop"
