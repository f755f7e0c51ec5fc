"""The plain-file forms of the commands are a contract."""

import json
from pathlib import Path

from command import Fire, rows

from fire_toolkit.campaign.tasks import pair_id

RUNS = ("clip.run", "ssb.run")


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


def pool_rows(pool: Path) -> list[dict[str, str]]:
    return rows((pool / "pool.csv").read_text())


def test_tasks_warn_of_media_that_no_page_can_show(fire: Fire, folder: Path) -> None:
    """Ids and paths are no addresses; those of Label Studio's own storage are."""
    urls = {"a": "a.mp4", "b": "http://m/b.mp4", "c": "s3://m/c.mp4", "NA": "NA", "007": "/data/upload/7.mp4"}
    fire("pool", *RUNS, "--out", "pool")
    ends = ("--queries", "queries.tsv", "--items", "items.csv", "--seed", 1)
    said = []
    for known in (urls, urls | {"NA": "http://m/NA"}, urls | {"NA": "http://m/NA", "a": "http://m/a"}):
        lines = "".join(f"{doc},{url}\n" for doc, url in known.items())
        (folder / "items.csv").write_text("doc_id,media_url\n" + lines)
        said.append(fire("tasks", "pool", *ends, "--out", f"tasks{len(said)}.json").stderr)
    why = "cannot be shown to annotators: media_url is empty, an id or a local"
    assert f"warning: 2 of 5 items {why}" in said[0]
    assert "'a.mp4'" in said[0]
    assert f"warning: 1 of 5 items {why}" in said[1]
    assert "warning" not in said[2]


def test_files_that_share_a_run_id_are_told_apart_by_name(fire: Fire, folder: Path) -> None:
    (folder / "again.run").write_text((folder / "clip.run").read_text())
    result = fire("compare", "clip.run", "again.run", "--format", "csv")
    assert "clip,again,all,overlap@10" in result.stdout
    assert "several files carry the run id 'clip'" in result.stderr
    assert "mine,ssb," in fire("compare", "mine=clip.run", "ssb.run", "--format", "csv").stdout
