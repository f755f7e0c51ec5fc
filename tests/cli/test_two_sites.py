"""Two copies of a workspace that go on alone, and whose records are merged both ways."""

import contextlib
import shutil
import sqlite3
from collections import Counter
from pathlib import Path

import exports
import pytest
from click.testing import Result
from command import StandIn, as_json, begin_workspace, rows, run, states

from fire_toolkit.campaign.store import Store

N_PAIRS = 24
Sites = tuple[Path, Path]


def begin() -> None:
    with contextlib.chdir(begin_workspace(Path("one"), N_PAIRS)):
        run("tasks", "--overlap", 0.5, "--annotator", "A1,A2,A3")
    shutil.copytree("one", "other")


@pytest.fixture
def sites(stand_in: StandIn) -> Sites:
    """The same campaign by hand of three people, half of whose pairs are judged twice, in two folders."""
    one = stand_in(begin, "one")
    return one, one.with_name("other")


def at(site: Path, *words: object, code: int = 0) -> Result:
    """Run a command in the folder of a site."""
    with contextlib.chdir(site):
        return run(*words, code=code)


def fill_in(site: Path, person: str, n: int | None = None, *, sheet: str = "", number: int = 1) -> None:
    """Fill in the first n rows of somebody's sheet, as A1 would not, and import it."""

    def label_of(query: str, doc: str) -> str:
        return "relevant" if (int(query[1:]) % 2 == 0) != (person == "A1") else "irrelevant"

    folder = site / "tasks" / (f"round-{number}" if number > 1 else "")
    path = site / "exports" / f"{number}{sheet}.{person}.csv"
    exports.fill_in(folder / f"tasks.{person}{sheet}.csv", path, label_of, n)
    at(site, "import", path)


def merge(into: Path, other: Path) -> str:
    return at(into, "import", other / "campaign.sqlite").stderr


def judged(site: Path) -> set[tuple[str, ...]]:
    names = ("query_id", "doc_id", "annotator_id", "label", "kind")
    return {tuple(row[name] for name in names) for row in rows(site / "judgments/judgments.csv")}


def progress(site: Path) -> dict[tuple[str, int], tuple[int, int]]:
    """Tasks and answers of each queue."""
    with contextlib.chdir(site):
        found = as_json("progress")
    return {(row["annotator_id"], row["round"]): (row["n_tasks"], row["n_done"]) for row in found}


def ask(site: Path, query: str) -> list[tuple[object, ...]]:
    with contextlib.closing(sqlite3.connect(site / "campaign.sqlite")) as db:
        return db.execute(query).fetchall()


def test_what_changed_hands_at_the_other_site_has_changed_hands_here(sites: Sites) -> None:
    one, other = sites
    fill_in(one, "A1", 5)
    fill_in(other, "A2")
    fill_in(other, "A3", 4)
    at(other, "annotators", "retire", "A3")
    at(other, "annotators", "reassign", "A3", "--to", "A4")
    fill_in(other, "A4", sheet=".more-1")
    assert "not assigned" not in merge(one, other)
    merge(other, one)
    assert judged(one) == judged(other)
    assert {row[-1] for row in judged(one)} == {"task", "overlap"}
    assert progress(one) == progress(other)
    assert progress(one)["A3", 1] == (4, 4)
    assert progress(one)["A4", 1] == (8, 8)
    assert ask(one, "select annotator_id from retired") == [("A3",)]
    before = ask(one, "select * from given"), ask(one, "select * from answers")
    assert "0 new, 0 edited" in merge(one, other)
    assert (ask(one, "select * from given"), ask(one, "select * from answers")) == before


def test_moves_of_both_sites_stand_and_whoever_was_given_a_pair_has_it(sites: Sites) -> None:
    one, other = sites
    at(one, "annotators", "reassign", "A1", "--to", "A4")
    at(other, "annotators", "reassign", "A1", "--to", "A5")
    merge(one, other)
    merge(other, one)
    assert progress(one) == progress(other)
    assert progress(one)["A4", 1][0] == progress(one)["A5", 1][0] == 12
    assert Counter(batch for (batch,) in ask(one, "select batch from given")) == {0: 36, 1: 12, 2: 12}


def test_a_round_that_began_at_both_sites_is_two_rounds(sites: Sites) -> None:
    one, other = sites
    for person in ("A1", "A2", "A3"):
        fill_in(one, person)
    at(one, "resolve")
    shutil.rmtree(other)
    shutil.copytree(one, other)
    for site, own in zip(sites, ("B1", "B2"), strict=True):
        at(site, "next-round", "--annotator", own)
        fill_in(site, own, 2, number=2)
    assert "its round 2 is round 3 here, where another began" in merge(one, other)
    merge(other, one)
    disputes = len(ask(one, "select * from given where round = 2"))
    assert disputes == len(ask(one, "select * from given where round = 3")) > 2
    assert progress(one)["B2", 3] == progress(other)["B2", 2] == (disputes, 2)
    assert progress(one)["B1", 2] == progress(other)["B1", 3] == (disputes, 2)
    assert judged(one) == judged(other)
    assert {row[-1] for row in judged(one) if row[2] in ("B1", "B2")} == {"adjudication"}
    assert "0 new" in merge(one, other)
    assert len(ask(one, "select distinct round from given")) == 3


def test_the_record_of_another_campaign_brings_answers_and_no_tasks(sites: Sites, tmp_path: Path) -> None:
    third = begin_workspace(tmp_path / "third", N_PAIRS)
    at(third, "tasks", "--annotator", "A9", "--overlap", 0)
    fill_in(third, "A9", 3)
    told = merge(sites[0], third)
    assert "of another campaign than the one here" in told
    assert "3 of 3 judgments were not assigned" in told
    assert {name for (name,) in ask(sites[0], "select to_annotator_id from given")} == {"A1", "A2", "A3"}


def test_people_of_another_campaign_with_a_name_here_are_others(sites: Sites, tmp_path: Path) -> None:
    third, (one, other) = begin_workspace(tmp_path / "third", N_PAIRS), sites
    at(third, "tasks", "--annotator", "A1,B9", "--overlap", 0)
    fill_in(third, "A1", 3)
    fill_in(one, "A1", 2)
    before = judged(one), progress(one)
    record = ("import", third / "campaign.sqlite")
    told = at(one, *record, code=1).stderr
    assert "of another campaign than the one here, and A1 answered in both: one name is one person" in told
    assert (judged(one), progress(one)) == before
    at(one, *record, "--source", "lab")
    assert {row[2] for row in judged(one)} == {"A1", "lab-A1"}
    assert progress(one) == before[1]
    assert "0 new" in at(one, *record, "--source", "lab").stderr
    told = at(one, "import", other / "campaign.sqlite", "--source", "lab", code=1).stderr
    assert "of this campaign" in told
    at(other, *record, "--source", "-")
    assert {row[2] for row in judged(other)} == {"A1"}


def test_a_campaign_is_taken_up_and_answers_on_its_page_asked_for(sites: Sites, tmp_path: Path) -> None:
    fill_in(sites[0], "A1", 5)
    empty = begin_workspace(tmp_path / "empty", N_PAIRS)
    merge(empty, sites[0])
    assert judged(empty) == judged(sites[0])
    assert progress(empty) == progress(sites[0])
    one, other = sites
    with Store(other / "campaign.sqlite") as store:
        ((pair,),) = store.database.select("select pair_id from queues where annotator_id = 'A1' limit 1")
        said = {"kind": "answer", "round": 1, "annotator": "A1", "pair": pair, "at": "2026-11-01T10:00:00Z"}
        store.add_page_record(said)
    assert "answers on its page are not in it yet; `pull` there" in merge(one, other)


def test_a_table_of_another_tool_among_the_exports_is_read_once_and_new_ones_found(sites: Sites) -> None:
    site, _ = sites
    fill_in(site, "A1", 5)
    table = Path("exports/batch.csv")
    table.write_text("WorkerId,query,doc,fits\nW1,q0,v0,yes\nW2,q1,v1,no\n")
    columns = "annotator=WorkerId,query=query,doc=doc,label=fits"
    run("import", table, "--columns", columns, "--label", "yes=relevant", "--label", "no=irrelevant")
    assert states()["import"][0] == "done"
    shutil.copy("exports/1.A1.csv", "exports/again.A1.csv")
    assert "next: fire-toolkit refresh" in run("status").stderr
    assert "still stale" not in run("refresh").stderr
    assert "0 new, 0 edited" in run("import").stderr
    table.write_text("WorkerId,query,doc,fits\nW1,q0,v0,no\n")
    assert "--columns" in run("import", code=1).stderr
