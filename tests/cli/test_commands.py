"""The plain-file forms of the commands are a contract."""

import json
from pathlib import Path

import pytest
from command import Fire, rows

from fire_toolkit.campaign.tasks import pair_id

RUNS = ("clip.run", "ssb.run")


def test_pool_writes_pool_sources_and_manifest(fire: Fire, folder: Path) -> None:
    fire("pool", *RUNS, "--depth", 2, "--qrels", "qrels.txt", "--out", "pool")
    pool = rows((folder / "pool/pool.csv").read_text())
    assert list(pool[0])[:5] == ["query_id", "doc_id", "best_rank", "n_runs", "is_original"]
    found = {(r["query_id"], r["doc_id"]): (r["best_rank"], r["n_runs"], r["is_original"]) for r in pool}
    assert found == {
        ("1", "a"): ("1", "1", "True"),
        ("1", "b"): ("2", "1", "False"),
        ("1", "c"): ("1", "1", "False"),
        ("1", "007"): ("2", "1", "False"),
        ("2", "b"): ("1", "2", "False"),  # ssb ties a and b: doc id descending
        ("2", "NA"): ("2", "1", "False"),
        ("2", "a"): ("2", "1", "True"),
    }
    sources = rows((folder / "pool/pool_sources.csv").read_text())
    assert list(sources[0]) == ["query_id", "doc_id", "run_id", "rank"]
    assert json.loads((folder / "pool/manifest.json").read_text())["parameters"]["depth"] == 2


def test_pool_marks_what_was_judged_and_keeps_all_sources(fire: Fire, folder: Path) -> None:
    judged = ("--judged", "judgments.csv", "--judged", "qrels.txt")
    told = fire("pool", *RUNS, "--depth", 1, *judged, "--out", "p")
    found = {(r["query_id"], r["doc_id"]): (r["is_judged"], r["round"]) for r in pool_rows(folder / "p")}
    assert found == {("1", "a"): ("True", "1"), ("1", "c"): ("False", "2"), ("2", "b"): ("False", "2")}
    assert len(rows((folder / "p/pool_sources.csv").read_text())) == 4
    assert "1 judged before, 2 new, to be asked in round 2" in told.stderr


def test_a_later_model_is_pooled_with_the_earlier_ones(fire: Fire, folder: Path) -> None:
    fire("pool", "clip.run", "--depth", 1, "--out", "one")
    told = fire("pool", *RUNS, "--depth", 1, "--previous", "one", "--judged", "judgments.csv", "--out", "two")
    fire("pool", *RUNS, "--depth", 1, "--out", "at_once")
    in_turn, at_once = (folder / name / "pool_sources.csv" for name in ("two", "at_once"))
    assert in_turn.read_bytes() == at_once.read_bytes()
    found = {r["doc_id"]: (r["is_judged"], r["round"]) for r in pool_rows(folder / "two")}
    assert found == {"a": ("True", "1"), "b": ("False", "1"), "c": ("False", "2")}
    assert "ssb: new, 2 pairs" in told.stderr
    assert "next: fire-toolkit tasks two --queries queries.tsv --out two/tasks.json" in told.stderr
    tasks = fire("tasks", "two", "--queries", "queries.tsv", "--overlap", 0, "--out", "t.json")
    assert "1 task in t.json; 2 pairs judged or asked before left out" in tasks.stderr
    asked = json.loads((folder / "t.json").read_text())
    assert [(task["data"]["pair_id"], task["meta"]) for task in asked] == [(pair_id("1", "c"), {"round": 2})]
    over = fire("tasks", "one", "--queries", "queries.tsv", "--overlap", 0, "--out", "t.json", code=1)
    assert "t.json: already exists, would change, and people may have its tasks" in over.stderr
    assert json.loads((folder / "t.json").read_text()) == asked
    before = ("--previous", "two", "--judged", "judgments.csv")
    back = fire("pool", "ssb.run", "--depth", 1, *before, "--out", "x")
    assert "clip: withdrawn; it had pooled 2 pairs, 1 of them alone (1 judged)" in back.stderr
    assert "1 judged pair no longer in the pool; their judgments stay" in back.stderr
    assert "nothing new to ask" in back.stderr


def pool_rows(pool: Path) -> list[dict[str, str]]:
    return rows((pool / "pool.csv").read_text())


def test_tasks_tell_nothing_but_caption_item_and_key(fire: Fire, folder: Path) -> None:
    fire("pool", *RUNS, "--qrels", "qrels.txt", "--out", "pool")
    options = ("--queries", "queries.tsv", "--guideline", "caption-relevance-v1", "--overlap", 0.5)
    fire("tasks", "pool", *options, "--seed", 3, "--out", "tasks.json")
    for name, size in (("tasks.json", 7), ("tasks.overlap.json", 4)):
        tasks = json.loads((folder / name).read_text())
        assert size == len(tasks)
        assert {"data"} == set().union(*tasks)
        assert {"caption", "video", "pair_id"} == set().union(*(task["data"] for task in tasks))
    text = (folder / "tasks.json").read_text()
    assert not [word for word in ("clip", "ssb", "rank", "score", "original") if word in text]


def test_tasks_warn_of_media_that_no_page_can_show(fire: Fire, folder: Path) -> None:
    """Ids and paths are no addresses; those of Label Studio's own storage are."""
    urls = {"a": "a.mp4", "b": "http://m/b.mp4", "c": "s3://m/c.mp4", "NA": "NA", "007": "/data/upload/7.mp4"}
    rows = "".join(f"{doc},{url}\n" for doc, url in urls.items())
    (folder / "items.csv").write_text("doc_id,media_url\n" + rows)
    fire("pool", *RUNS, "--out", "pool")
    ends = ("--queries", "queries.tsv", "--items", "items.csv", "--seed", 1)
    told = fire("tasks", "pool", *ends, "--out", "tasks.json").stderr
    assert "warning: 2 of 5 items cannot be shown to annotators: media_url is empty, an id or a local" in told
    assert "'a.mp4'" in told
    (folder / "items.csv").write_text("doc_id,media_url\n" + rows.replace(",NA", ",http://m/NA"))
    told = fire("tasks", "pool", *ends, "--out", "more.json").stderr
    assert "warning: 1 of 5 items cannot be shown" in told
    (folder / "items.csv").write_text(
        "doc_id,media_url\n" + "".join(f"{doc},http://m/{doc}\n" for doc in urls)
    )
    assert "warning" not in fire("tasks", "pool", *ends, "--out", "all.json").stderr


def test_augment_counts_confirmed_new_and_rejected_apart(fire: Fire, folder: Path) -> None:
    fire("resolve", "judgments.csv", "--out", "labels")
    for policy, expected in {
        "union": {"1 0 a 1", "2 0 NA 1", "2 0 a 1"},
        "override": {"1 0 a 0", "2 0 NA 1", "2 0 a 1"},
        "drop": {"2 0 NA 1", "2 0 a 1"},
    }.items():
        files = ("--qrels", "qrels.txt", "--labels", "labels/labels.csv", "--out", "new.txt")
        counts = json.loads(fire("augment", *files, "--policy", policy, "--format", "json").stdout)
        assert (counts["confirmed"], counts["new"], counts["rejected"]) == (1, 1, 1)
        assert expected == set((folder / "new.txt").read_text().splitlines())
    changes = rows((folder / "changes.csv").read_text())
    assert {r["doc_id"]: r["source"] for r in changes if r["query_id"] == "1"} == {"a": "rejected"}


@pytest.mark.parametrize(("output_format", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_scores_are_long(fire: Fire, output_format: str, delimiter: str) -> None:
    options = ("--qrels", "qrels.txt", "-m", "C@1", "-m", "RR", "--per-query", "--format", output_format)
    table = rows(fire("score", *RUNS, *options).stdout, delimiter)
    assert list(table[0]) == ["run_id", "qrels", "query_id", "measure", "value"]
    assert {"original"} == {row["qrels"] for row in table}
    values = {(r["run_id"], r["query_id"], r["measure"]): float(r["value"]) for r in table}
    assert values["clip", "all", "C@1"] == 0.5
    assert values["ssb", "2", "RR"] == 0.5  # a and b tie; b comes first


def test_scores_in_json_and_latex(fire: Fire) -> None:
    options = ("--qrels", "qrels.txt", "-m", "C@1")
    records = json.loads(fire("score", *RUNS, *options, "--format", "json").stdout)
    ids = {"run_id": "clip", "qrels": "original", "query_id": "all"}
    assert {**ids, "measure": "C@1", "value": 0.5} in records
    assert r"\toprule" in fire("score", *RUNS, *options, "--format", "latex").stdout
    assert fire("score", *RUNS, *options, "--format", "markdown").stdout.splitlines()[1].startswith("|:-")


def test_compare_gives_the_named_columns(fire: Fire) -> None:
    table = rows(fire("compare", *RUNS, "--depth", 2, "--rbo-p", 0.8, "--format", "csv").stdout)
    assert list(table[0]) == ["run_a", "run_b", "query_id", "measure", "value"]
    assert [row["measure"] for row in table] == [
        "overlap@2",
        "average_overlap@2",
        "RBO_truncated(p=0.8)@2",
        "RBO_ext(p=0.8)@2",
        "RBO_min(p=0.8)@2",
        "RBO_res(p=0.8)@2",
    ]
    assert float(table[0]["value"]) == 0.25  # query 1: ab vs c007: 0; query 2: b NA vs b a: 1/2


def test_a_run_may_come_from_standard_input(fire: Fire, folder: Path) -> None:
    arguments = ("score", "-", "--qrels", "qrels.txt", "-m", "C@1", "--format", "csv")
    result = fire(*arguments, stdin=(folder / "clip.run").read_bytes())
    assert "clip,original,all,C@1,0.5" in result.stdout


def test_files_that_share_a_run_id_are_told_apart_by_name(fire: Fire, folder: Path) -> None:
    (folder / "again.run").write_text((folder / "clip.run").read_text())
    result = fire("compare", "clip.run", "again.run", "--format", "csv")
    assert "clip,again,all,overlap@10" in result.stdout
    assert "several files carry the run id 'clip'" in result.stderr
    assert "mine,ssb," in fire("compare", "mine=clip.run", "ssb.run", "--format", "csv").stdout
