"""Two copies of a workspace, two pushes at once, and what is there twice: nothing is doubled or lost."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import exports
import pytest
from campaigns import CAMPAIGN, round_of, tasks_of
from click.testing import Result
from command import (
    Fire,
    StandIn,
    answer_on_page,
    as_json,
    begin_workspace,
    given,
    has_answers,
    rows,
    run,
    states,
    write_run,
)
from fake_api import TOKEN, FakeServer
from fake_http import served

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.campaign.records import Rounds, write_campaign, write_rounds
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


def test_a_sheet_that_both_sites_read_says_nothing_twice(sites: Sites) -> None:
    one, other = sites
    for site in sites:
        fill_in(site, "A1", 5)
    merge(one, other)
    fill_in(one, "A1", sheet="")
    assert {row["reason"] for row in rows(one / "judgments/dropped.csv")} == {"duplicate"}
    assert "did not count" not in at(one, "report", "methods").stdout


def correct(site: Path, query: str, text: str, code: int = 0) -> str:
    """Correct a caption in the collection of a site, and push it."""
    queries = site / "collection/queries.tsv"
    queries.write_text(re.sub(rf"(?m)^{query}\t.*$", f"{query}\t{text}", queries.read_text()))
    at(site, "tasks", "--overlap", 0.5)
    return at(site, "push", "--check-media", 0, code=code).stderr


def test_a_caption_is_shown_here_as_it_was_corrected_and_answered_at_the_other_site(sites: Sites) -> None:
    """Else the second annotator judged another caption here, and it could never be corrected."""
    one, other = sites
    for site in sites:
        at(site, "push", "--carrier", "page", "--annotator", "A1,A2,A3", "--check-media", 0)
    n_votes = Counter(row["pair_id"] for row in given(other))
    row = next(row for row in given(other) if n_votes[row["pair_id"]] == 2)
    (query, _), (left, _) = (split_pair_id(key) for key in (row["pair_id"], min(n_votes, key=n_votes.get)))
    correct(other, query, "a cat runs")
    correct(other, query, "a cat sits")
    correct(other, left, "a dog sits")  # which nobody answers
    answer_on_page(other, row, "relevant", 1)
    at(other, "pull")
    assert "2 of its 24 pairs were shown with another text than here" in merge(one, other)
    texts = Rounds(one)[0].tasks.set_index("query_id")["text"]
    assert (texts[query], texts[left]) == ("a cat sits", f"a dog runs {left[1:]}")
    assert "another text" in merge(other, one)
    assert "1 of them were answered already" in correct(one, query, "a cat runs", code=1)
    assert "nothing" not in correct(one, query, "a cat sits")
    correct(one, left, "a dog sits")
    assert Rounds(one)[0].tasks.equals(Rounds(other)[0].tasks)
    assert "another text" not in merge(one, other) + merge(other, one)


def test_moves_of_both_sites_stand_but_for_what_was_answered_before_it_moved(sites: Sites) -> None:
    one, other = sites
    at(one, "annotators", "reassign", "A1", "--to", "A4")
    fill_in(other, "A1", 5)
    at(other, "annotators", "reassign", "A1", "--to", "A5")
    assert "5 tasks, each answered by somebody from whom it had moved" in merge(one, other)
    assert "moved" not in merge(other, one) + merge(one, other)
    assert progress(one) == progress(other)
    assert progress(one)["A4", 1][0] == progress(one)["A5", 1][0] == 7
    assert Counter(batch for (batch,) in ask(one, "select batch from given")) == {0: 36, 1: 12, 2: 7, 3: 5}
    assert judged(one) == judged(other)


def test_what_both_sites_gave_to_one_person_is_hers_once(sites: Sites) -> None:
    one, other = sites
    for site, gone, left in ((one, "A2", "A1,A3"), (other, "A1", "A2,A3")):
        at(site, "annotators", "retire", gone)
        at(site, "annotators", "reassign", gone, "--to", left)
    for _ in "12":
        merge(one, other)
        merge(other, one)
    for site in sites:
        given = ask(site, "select to_annotator_id, pair_id from given")
        assert len(given) == len(set(given))
        assert "A3, round 1: 0 of" in at(site, "status").stderr
        at(site, "annotators", "reassign", "A1", "A2", "--to", "A4")
        assert progress(site)["A4", 1][0] > 0


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


def test_what_the_other_site_asks_of_a_late_model_is_not_asked_here_again(sites: Sites) -> None:
    for site in sites:
        (site / "pool/pool.csv").unlink()
        (site / "collection/qrels.txt").write_text("".join(f"q{n} 0 v{n} 1\n" for n in range(N_PAIRS)))
        for step, name in enumerate(("early", "late")):
            ranked = {f"q{n}": [f"v{(n + step) % N_PAIRS}"] for n in range(N_PAIRS)}
            write_run(site / f"runs/{name}.run", ranked)
    one, other = sites
    at(one, "pool", "--depth", 1)
    at(one, "tasks", "--annotator", "A1,A2,A3", "--overlap", 0)
    fill_in(one, "A1", number=2)
    merge(other, one)
    for _ in range(2):  # the second time after a way through Windows
        assert "8 judged before, 40 asked and not judged, none new" in at(other, "pool", "--depth", 1).stderr
        for path in (other / "pool").glob("*.csv"):
            path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    at(other, "resolve")
    written = re.findall(r"for (\w+): (\S+)", at(other, "next-round").stderr)
    assert written == [(name, f"tasks/round-2/tasks.{name}.json") for name in ("A2", "A3")]  # A1 has answered


def test_a_record_with_a_label_that_the_guideline_here_has_not_is_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else no judgments could be made any more: what is in a record stays in it."""
    one, other = begin_workspace(tmp_path / "one", 4), tmp_path / "other"
    monkeypatch.chdir(one)
    run("guideline", "mine-v1", "--like", "caption-relevance-v1")
    settings = Path("fire.toml").read_text()
    Path("fire.toml").write_text(settings.replace('"caption-relevance-v1"', '"mine-v1"'))
    run("tasks", "--overlap", 0, "--annotator", "A1,A2")
    shutil.copytree(one, other)
    label = '[[labels]]\nname = "partly"\nrelevance = 2\nhotkey = "5"\ndescription = "In part."\n'
    for name, before, new in (
        ("labels.toml", "[[flags]]", label),
        ("guideline.md", "| `3` | `ambiguous` |", "| `5` | `partly` | in part |\n"),
        ("label_config.xml", '<Choice value="ambiguous"', '<Choice value="partly" hotkey="5"/>'),
    ):
        text = (other / "mine-v1" / name).read_text()
        (other / "mine-v1" / name).write_text(text.replace(before, f"{new}{before}"))
    exports.fill_in(other / "tasks/tasks.A1.csv", other / "exports/tasks.A1.csv", lambda *_: "partly")
    at(other, "import")
    told = run("import", other / "campaign.sqlite", code=1).stderr
    assert "labels that the guideline here does not have: partly; add them to it here too" in told
    assert not has_answers(one)
    shutil.copytree(other / "mine-v1", "mine-v1", dirs_exist_ok=True)
    run("import", other / "campaign.sqlite")
    assert {row["label"] for row in rows(one / "judgments/judgments.csv")} == {"partly"}


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
    told = at(one, *record, "--source", "lab").stderr
    assert "so what it asked of whom is not known" in told
    assert "3 of 5 judgments were not assigned" in told
    assert {row[2] for row in judged(one)} == {"A1", "lab-A1"}
    assert before[0] == {row for row in judged(one) if row[-1] != "unassigned"}
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
        ((pair,),) = store.select("select pair_id from given where to_annotator_id = 'A1' limit 1")
        said = {"kind": "answer", "round": 1, "annotator": "A1", "pair": pair, "at": "2026-11-01T10:00:00Z"}
        store.add_page_records(said)
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


NAMES = "A02,A03,A04"


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    """A workspace in the current folder, and a server that processes can reach."""
    monkeypatch.chdir(begin_workspace(tmp_path / "site", 60))
    run("tasks", "--overlap", "0.5")
    server = FakeServer()
    with served(server) as url:
        monkeypatch.setenv("FIRE_LABEL_STUDIO_URL", url)
        monkeypatch.setenv("FIRE_LABEL_STUDIO_TOKEN", TOKEN)
        yield server


@pytest.mark.slow
def test_of_two_pushes_at_once_the_second_waits_and_finds_all_there(world: FakeServer) -> None:
    command = [sys.executable, "-m", "fire_toolkit", "push", "--check-media", "0", "--annotator", NAMES]
    both = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate()[1] for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    assert len(world.projects) == 3
    assert sum(len(world.tasks_of(number)) for number in world.projects) == 90
    for number in world.projects:
        assert set(world.keys_of(number).values()) == {1}
    counts = re.findall(r"(\d+) tasks added, (\d+) there before", " ".join(said))
    assert sorted(counts) == [("0", "90"), ("90", "0")]


ROUND = round_of(tasks_of(8, overlap=0.5), ("A02", "A03", "A04"))


@pytest.fixture
def site(fire: Fire, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A pushed campaign of three people; A02 and A03 have two projects each, one of A03 answered."""
    root = tmp_path / "site"
    fire("init", root)
    monkeypatch.chdir(root)
    write_campaign(root, CAMPAIGN)
    write_rounds(root, ROUND)
    fire("push")
    for name in ("A02", "A03"):
        project = server.project_of(name)
        server._create(dict(server.projects[project]))
        server._import(max(server.projects), [{"data": task["data"]} for task in server.tasks_of(project)])
    server.answer(server.tasks_of(2)[0]["id"], 3)
    return root


def lines_with(result: Result, word: str) -> list[str]:
    return [line for line in result.output.splitlines() if word in line]


def test_doctor_status_push_and_pull_name_the_twins(fire: Fire, site: Path) -> None:
    twins = ["queue 1/A02 has 2 projects: 1 (0 answers), 4 (0 answers)"]
    twins += ["queue 1/A03 has 2 projects: 2 (1 answer), 5 (0 answers)"]
    said = fire("doctor", code=3).output
    assert [line.split("projects    ")[1] for line in said.splitlines() if "has 2 projects" in line] == twins
    fixes = [f"delete project {n} in Label Studio (its Settings, Danger Zone): nobody has" for n in (4, 5)]
    assert [said.count(f"-> {fix}") for fix in fixes] == [1, 1]
    assert "all is well" not in said
    for command, start in (("status", "warning"), ("pull", "note")):
        lines = lines_with(fire(command), f"{start}: queue")
        wanted = [f"{start}: {words}; {fix}" for words, fix in zip(twins, fixes, strict=True)]
        assert [line[: len(want)] for line, want in zip(lines, wanted, strict=True)] == wanted
    assert len(lines_with(fire("push"), "`fire-toolkit doctor` says which to delete")) == 2


def test_with_the_unanswered_copies_gone_all_is_well(fire: Fire, site: Path, server: FakeServer) -> None:
    fire("pull")
    for number in (4, 5):
        for task in server.tasks_of(number):
            server.delete_task(task["id"])
        del server.projects[number]
    assert lines_with(fire("status"), "warning") == []
    said = fire("doctor").output
    assert ("has 2 projects" in said, "the first item of each project can be seen" in said) == (False, True)
    assert "0 tasks added" in fire("push").output


def test_answered_twins_doubled_tasks_and_silence_are_said(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    """Of two projects that with answers stays, though it is the younger one; answers in both count."""
    server.answer(server.tasks_of(4)[0]["id"], 2, None)  # skipped
    assert "delete project 1 in Label Studio" in fire("doctor", code=3).output
    server.answer(server.tasks_of(5)[0]["id"], 3)
    (line,) = lines_with(fire("status"), "queue 1/A03 has 2 projects")
    assert "2 (1 answer), 5 (1 answer); answers in each of them count; let the annotator go on in one" in line
    server._import(3, [{"data": task["data"]} for task in server.tasks_of(3)[:2]])
    words = "project 3 (queue 1/A04) has 2 tasks more than its queue: doubled or foreign"
    assert lines_with(fire("status"), f"warning: {words}")
    assert words in fire("doctor", code=3).output
    assert "2 pairs there more than once" in fire("push").output
    server.faults = ["drop"]
    said = fire("status").output
    assert "note: the server was not asked whether anything is there twice" in said
    assert "A02, round 1" in said
