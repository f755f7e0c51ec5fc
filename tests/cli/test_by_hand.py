"""A campaign by hand: files out, exports and sheets in; the same campaign as the one on a server."""

import contextlib
import itertools
import json
import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exports
import httpx
import pytest
from command import (
    StandIn,
    alter,
    answer_on_page,
    as_json,
    begin_workspace,
    given,
    has_answers,
    pairs_in,
    rows,
    run,
    states,
    write_table,
)
from exports import answered
from fake_api import FakeServer, Killed
from records import read_ledger
from small_release import set_in

from examples import cases, some
from fire_toolkit.campaign import store
from fire_toolkit.campaign.keys import pair_id, split_pair_id

PEOPLE = ("A02", "A03", "A04")  # the accounts 2, 3, 4 of the server in this process
ALL = ("--annotator", ",".join(PEOPLE))
ASKED = ("tasks", "pool/pool.csv", "--overlap", 0.5)
N_PAIRS = 30
N_SEQUENCES = int(os.environ.get("FIRE_SEQUENCES", "5"))


def label(pair: str, person: str) -> str:
    """The label that a person gives: to A04 nothing is relevant, so that their doubled pairs are disputed."""
    is_relevant = int(split_pair_id(pair)[0][1:]) % 2 == 0 and person != "A04"
    return "relevant" if is_relevant else "irrelevant"


def make_workspace(root: Path) -> Path:
    queries = "".join(f'q{n}\ta "dog", {n} years old\n' for n in range(N_PAIRS))
    (begin_workspace(root, N_PAIRS) / "collection/queries.tsv").write_text("query_id\ttext\n" + queries)
    return root


def hand_out() -> None:
    with contextlib.chdir(make_workspace(Path("hand"))):
        run(*ASKED, *ALL)


def judge_all() -> None:
    hand_out()
    with contextlib.chdir("hand"):
        for person in PEOPLE:
            fill_in(Path(), person)
        run("import")
        run("resolve")


@pytest.fixture
def hand(stand_in: StandIn) -> Path:
    """A workspace whose tasks were handed out as files."""
    return stand_in(hand_out, "hand")


@pytest.fixture
def judged(stand_in: StandIn) -> Path:
    """The same workspace after all sheets came back, with disputes."""
    return stand_in(judge_all, "hand")


def key_of(row: dict[str, str]) -> str:
    """Return the key in a row of a sheet, which stands behind an apostrophe where it begins with a hyphen."""
    return row["pair_id"].removeprefix("'")


def queue_of(root: Path, person: str) -> list[str]:
    mine = [row for row in given(root) if row["annotator_id"] == person]
    return [row["pair_id"] for row in sorted(mine, key=lambda row: int(row["position"]))]


def fill_in(root: Path, person: str, *, number: int = 1, n: int | None = None, flip: int = 0) -> Path:
    """Fill in the first n rows of a sheet, `flip` of them with the other label; save it as an export."""
    folder = root / "tasks" / (f"round-{number}" if number > 1 else "")
    sheet = rows(folder / f"tasks.{person}.csv")
    for place, row in enumerate(sheet[:n]):
        row["label"] = label(key_of(row), person)
        if place < flip:
            row["label"] = "irrelevant" if row["label"] == "relevant" else "relevant"
            row["comment"] = "looked again"
    path = root / "exports" / f"round-{number}.{person}.csv"
    write_table(path, sheet)
    return path


def export(root: Path, person: str, name: str, *, account: int = 1) -> Path:
    """Answer the tasks of a person's file in a Label Studio of their own, and export them."""
    said, tasks = lambda *pair: label(pair_id(*pair), person), root / f"tasks/tasks.{person}.json"
    exported = answered(tasks, said, account=account, at="2026-11-01T10:00:00Z", lead_time=4.5)
    for number, task in enumerate(exported, start=1):
        task["project"] = 1
        task["annotations"][0]["unique_id"] = f"{person}-{number}"
    path = root / "exports" / name
    path.write_text(json.dumps(exported))
    return path


def pool_more(root: Path, n_pairs: int = 6) -> None:
    with (root / "pool/pool.csv").open("a") as stream:
        stream.write("".join(f"q{n},v{n + 1}\n" for n in range(n_pairs)))


def bring_in(*paths: Path) -> dict[str, Any]:
    return dict(as_json("import", *paths))


def judgments(root: Path) -> list[dict[str, str]]:
    return rows(root / "judgments/judgments.csv")


def answer_on_server(server: FakeServer, person: str, number: int) -> None:
    for task in server.tasks_of(server.project_of(person, number)):
        server.answer(task["id"], int(person[1:]), label(task["data"]["pair_id"], person))


TOLD_BY_ALL = ("query_id", "doc_id", "annotator_id", "label", "comment", "round", "guideline", "kind")


def without_times(table: list[dict[str, str]]) -> list[tuple[str, ...]]:
    return [tuple(row[name] for name in TOLD_BY_ALL) for row in table]


@pytest.mark.slow
def test_by_hand_and_on_a_server_the_same_answers_are_the_same_judgments(
    hand: Path, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A02 exports a project as Label Studio names it, A03 under their name, A04 fills in the sheet."""
    online = make_workspace(tmp_path / "online")
    for number in (1, 2):
        monkeypatch.chdir(online)
        if number == 1:
            run(*ASKED)
            run("push", *ALL)
        else:
            run("next-round", *ALL)
            run("push")
            monkeypatch.chdir(hand)
            before = {path: path.read_bytes() for path in (hand / "tasks").iterdir() if path.is_file()}
            told = run("next-round").stderr
            assert {path: path.read_bytes() for path in before} == before
            assert "tasks/round-2/tasks.A02.json or tasks.A02.csv" in told
            monkeypatch.chdir(online)
        assert given(hand, number) == given(online, number)
        asked = {row["annotator_id"] for row in given(hand, number)}
        for person in sorted(asked):
            answer_on_server(server, person, number)
        run("pull")
        run("resolve")

        monkeypatch.chdir(hand)
        names = {"A02": f"project-{number}-at-2026-11-22-07-00.json", "A03": f"round-{number}.A03.json"}
        for person in sorted(asked & set(names)):
            tasks = server.tasks_of(server.project_of(person, number))
            shown = [server._shown(task, {"fields": "all"}) for task in tasks]
            (hand / "exports" / names[person]).write_text(json.dumps(shown))
        if "A04" in asked:
            fill_in(hand, "A04", number=number)
        run("import")
        run("resolve")

        by_hand, pulled = judgments(hand), judgments(online)
        assert without_times(by_hand) == without_times(pulled)
        of_exports = [[row for row in table if row["annotator_id"] != "A04"] for table in (by_hand, pulled)]
        assert of_exports[0] == of_exports[1]
        assert len(by_hand) == (45 if number == 1 else 45 + len(given(hand, number)))
        for name in ("labels.csv", "disputes.csv"):
            assert (hand / "labels" / name).read_bytes() == (online / "labels" / name).read_bytes()
    assert {row["kind"] for row in by_hand} == {"task", "overlap", "adjudication"}
    assert len(given(hand, 2)) > 2


def test_a_file_read_again_doubles_nothing(hand: Path) -> None:
    path = export(hand, "A02", "A02.json")
    fill_in(hand, "A03", n=5)
    first = bring_in()
    assert (first["new"], first["judgments"]) == (15 + 5, 15 + 5)
    table = (hand / "judgments/judgments.csv").read_bytes()
    assert bring_in()["new"] == 0
    path.rename(path.with_name("project-9-at-2026-11-22.json"))
    again = bring_in()
    assert (again["new"], again["edited"], again["dropped"]) == (0, 0, {})
    assert states()["import"] == ("done", "judgments 20")  # the record has the answers of files that are gone
    assert (hand / "judgments/judgments.csv").read_bytes() == table
    assert len(read_ledger(hand / "campaign.sqlite")) == 20


def test_a_record_that_is_gone_before_the_first_answers_is_drawn_again(hand: Path) -> None:
    """`import` of a sheet spoke of JSON, and `status` named `import`."""
    fill_in(hand, "A02")
    (hand / "campaign.sqlite").unlink()
    sheets = {path: path.read_bytes() for path in (hand / "tasks").glob("*")}
    again = f"`fire-toolkit {' '.join(map(str, (*ASKED, *ALL)))}` draws the same queues again"
    assert again in run("import", code=1).stderr
    assert again in run("status").stderr.splitlines()[-1]
    run(*ASKED, *ALL)
    assert sheets == {path: path.read_bytes() for path in sheets}
    assert bring_in()["new"] == 15


def test_sheets_of_tasks_that_no_campaign_asked_are_read_by_their_names(folder: Path) -> None:
    """`tasks --annotator A,B --out pilot/tasks.json` writes them; `import` said that they are not JSON."""
    begin_workspace(folder / "w", 6)
    with contextlib.chdir(folder / "w"):
        run("tasks", "pool/pool.csv", "--annotator", "A,B", "--overlap", 1, "--out", "pilot/tasks.json")
        for person in "AB":
            sheet = rows(Path(f"pilot/tasks.{person}.csv"))
            write_table(Path(f"exports/tasks.{person}.csv"), [row | {"label": "relevant"} for row in sheet])
        assert bring_in()["new"] == 12
        assert sorted(row["annotator_id"] for row in judgments(Path())) == ["A"] * 6 + ["B"] * 6
        Path("exports/tasks.A.csv").rename("someones.csv")
        said = run("import", "someones.csv", code=1).stderr
        assert (
            "someones.csv: nobody here was asked its tasks; name it after who answered: tasks.NAME.csv"
            in said
        )
        assert len(judgments(Path())) == 12
        assert (
            "a sheet, which a workspace reads"
            in run("import", "someones.csv", "--out", "j.csv", code=1).stderr
        )


def test_late_and_changed_answers_count_by_the_ledgers_rules(hand: Path) -> None:
    fill_in(hand, "A03", n=5)
    bring_in()
    before = {row["query_id"]: row for row in judgments(hand)}
    fill_in(hand, "A03", n=7, flip=2)
    changed = bring_in()
    assert (changed["new"], changed["edited"], changed["dropped"]) == (2, 2, {"edited": 2})
    after = {row["query_id"]: row for row in judgments(hand)}
    assert sum(after[query]["label"] != row["label"] for query, row in before.items()) == 2
    assert sum(row["comment"] == "looked again" for row in after.values()) == 2
    fill_in(hand, "A03", n=0)  # rows without a label say nothing
    assert bring_in()["judgments"] == 7

    path = export(hand, "A02", "A02.json")
    older = path.read_text()
    newer = json.loads(older)
    newer[0]["annotations"][0]["result"][0]["value"]["choices"] = ["ambiguous"]
    newer[0]["annotations"][0]["updated_at"] = "2026-11-03T10:00:00Z"
    path.write_text(json.dumps(newer))
    assert bring_in()["new"] == 15
    path.write_text(older)  # an export that lay about
    assert bring_in()["judgments"] == 7 + 15
    latest = {row["query_id"]: row["label"] for row in judgments(hand) if row["annotator_id"] == "A02"}
    assert latest[split_pair_id(newer[0]["data"]["pair_id"])[0]] == "ambiguous"


def test_an_export_of_another_control_or_of_an_earlier_change_is_named(hand: Path) -> None:
    path = export(hand, "A02", "A02.json")
    right = path.read_text()
    path.write_text(right.replace('"relevance"', '"label"'))
    assert (
        "15 of 15 answers have no label: they are of the control label, expected relevance; if the project's "
        "page was made by hand, export it with that name, or read it with --columns and --label"
    ) in run("import").stderr
    path.write_text(right)
    told = run("import").stderr
    assert "15 answers came again with the same time and another content; both versions are kept" in told
    assert len(judgments(hand)) == 15
    path.write_text(right.replace("2026-11-01", "2026-10-01"))
    assert "15 answers changed at a time before the version in the ledger" in run("import").stderr


def test_a_copy_of_the_record_brings_nothing_new_one_of_others_is_refused(hand: Path, tmp_path: Path) -> None:
    fill_in(hand, "A02", n=4)
    bring_in()
    other = Path(shutil.copy(hand / "campaign.sqlite", tmp_path / "other.sqlite"))
    told = bring_in(other)
    assert (told["new"], told["judgments"]) == (0, 4)
    assert "campaign.sqlite" not in states()["import"][1]
    (hand / "collection/queries.tsv").write_text("query_id\ttext\nq99\ta cat\n")
    before = (hand / "campaign.sqlite").read_bytes()
    error = run("import", other, code=1).stderr
    assert "pairs on queries that the collection does not have; expected another copy of" in error
    assert (hand / "campaign.sqlite").read_bytes() == before


@pytest.mark.parametrize("renamed", some([True, False], 1))
def test_a_correction_wins_by_any_clock(hand: Path, monkeypatch: pytest.MonkeyPatch, renamed: bool) -> None:
    """The clock was two hours ahead when the first file was read."""
    hour = 12
    monkeypatch.setattr(store, "time_now", lambda: f"2026-11-01T{hour}:00:00.000000Z")
    fill_in(hand, "A03", n=2)
    assert "clock" not in run("import").stderr
    hour = 10
    path = fill_in(hand, "A03", n=2, flip=1)
    if renamed:
        path = path.rename(path.with_name("corrected.A03.csv"))
    assert (
        "this clock says 2026-11-01T10:00:00.000000Z, and the ledger was last read into at "
        "2026-11-01T12:00:00.000000Z: it is behind, or was ahead then; what is read now counts as later"
    ) in run("import").stderr
    meant = {split_pair_id(key_of(row))[0]: row["label"] for row in rows(path) if row["label"]}
    assert {row["query_id"]: row["label"] for row in judgments(hand)} == meant
    hour = 11
    assert bring_in()["edited"] == 0
    assert {row["query_id"]: row["label"] for row in judgments(hand)} == meant


def test_untimed_answers_are_corrected_by_any_clock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hour = 12
    monkeypatch.setattr(store, "time_now", lambda: f"2026-11-01T{hour}:00:00.000000Z")
    run("init")
    for said, hour in (("relevant", 12), ("irrelevant", 10)):  # noqa: B007 (the clock reads it)
        (folder / "a.csv").write_text(f"who,q,d,l\nann,1,a,{said}\n")
        told = run("import", "a.csv", "--columns", "annotator=who,query=q,doc=d,label=l").stderr
        assert [row["label"] for row in judgments(folder)] == [said]
    assert "this clock says 2026-11-01T10:00:00.000000Z" in told


def test_a_file_whose_owner_cannot_be_told_is_refused_and_nothing_is_added(hand: Path) -> None:
    shared = set(queue_of(hand, "A02")) & set(queue_of(hand, "A03"))
    path = export(hand, "A02", "project-1.json")
    few = [task for task in json.loads(path.read_text()) if task["data"]["pair_id"] in shared]
    path.write_text(json.dumps(few))
    told = run("import", code=1).stderr
    assert f"answered {len(few)} tasks, each in the queues of A02 and A03" in told
    assert "name the file after its annotator, as in exports/project-1.A02.json" in told
    path.rename(path.with_name("project-1.A02.json"))
    assert bring_in()["new"] == len(few)

    path = export(hand, "A03", "A03.json")
    mixed = json.loads(path.read_text())
    mixed[0]["annotations"][0]["completed_by"] = 5
    path.write_text(json.dumps(mixed))
    assert "accounts 1, 5 all answered tasks of A03" in run("import", code=1).stderr
    assert len(judgments(hand)) == len(few)


@cases("name", "after")
def test_a_file_named_after_somebody_else_is_not_that_of_whose_tasks_it_holds(
    hand: Path, name: str, after: str
) -> None:
    export(hand, "A03", f"{name}.json")
    told = run("import", code=bool(after)).stderr
    assert (f"those of A03, but the file is named after {after};" in told) == bool(after)
    assert has_answers(hand) != bool(after)


@cases("column", "cell", "told")
def test_what_is_wrong_in_a_sheet_is_said_with_its_row(hand: Path, column: str, cell: str, told: str) -> None:
    path = fill_in(hand, "A02")
    sheet = [row | {column: row.get(column, "")} for row in rows(path)]
    sheet[0][column] = cell
    path.unlink()
    write_table(hand / "exports" / ("A03.csv" if column == "annotator_id" else "A02.csv"), sheet)
    assert told in run("import", code=1).stderr
    assert not has_answers(hand)


def test_a_spreadsheet_takes_no_cell_of_a_sheet_for_a_formula(here: Path) -> None:
    make_workspace(here)
    queries = here / "collection/queries.tsv"
    queries.write_text(queries.read_text().replace("\ta ", "\t=a "))
    pairs = "".join(f"q{q},v{d}\n" for q in range(N_PAIRS) for d in range(N_PAIRS))
    (here / "pool/pool.csv").write_text("query_id,doc_id\n" + pairs)
    run("tasks", "pool/pool.csv", "--overlap", 0, "--annotator", "A02")
    sheet = rows(here / "tasks/tasks.A02.csv")
    keys = [task["data"]["pair_id"] for task in json.loads(Path("tasks/tasks.A02.json").read_text())]
    assert any(key.startswith("-") for key in keys)
    assert [key_of(row) for row in sheet] == keys
    assert {row["caption"][:3] for row in sheet} == {"'=a"}
    assert not [cell for row in sheet for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]


def test_a_sheet_saved_with_semicolons_and_capitals_is_read_alike(hand: Path) -> None:
    path = fill_in(hand, "A02")
    run("import")
    expected = (hand / "judgments/judgments.csv").read_text()
    sheet = [row | {"label": row["label"].title()} for row in rows(path)]
    write_table(path, sheet, encoding="utf-8-sig", delimiter=";")
    assert f"0 new, 0 edited, 0 deleted, 0 restored; {len(sheet)} judgments" in run("import").stderr
    assert (hand / "judgments/judgments.csv").read_text() == expected


def test_a_file_that_is_damaged_was_handed_out_or_is_of_another_page_is_refused(hand: Path) -> None:
    tasks = (hand / "tasks/tasks.A02.json").read_text()
    for name, text, told in (
        ("A02.csv", "id,caption,annotator\n1,a dog,3\n", "A02.csv: not JSON; if this is a CSV or TSV export"),
        ("A02.json", '[{"data"', "cut short? export it again"),
        ("A02.json", tasks, "each with its annotations"),
    ):
        (hand / "exports" / name).write_text(text)
        assert told in run("import", code=1).stderr
        (hand / "exports" / name).unlink()
    told = run("import", "tasks/tasks.A02.csv", code=1).stderr
    assert "tasks/tasks.A02.csv: this file was handed out; save the returned file in exports/" in told
    path = fill_in(hand, "A02")
    told = run("import", path, "--guideline", "caption-image-relevance-v1", code=1).stderr
    assert "the campaign began with another labeling page" in told
    assert not has_answers(hand)


def test_a_label_that_was_renamed_lets_nothing_more_into_the_record(root: Path) -> None:
    """Else it would hold labels of two guidelines, of which neither has all."""
    run("guideline", "mine-v1", "--like", "caption-relevance-v1")
    set_in(root, guideline="mine-v1")
    run("tasks", "--annotator", "A1,A2", "--overlap", 0)
    exports.fill_in(Path("tasks/tasks.A1.csv"), Path("exports/tasks.A1.csv"), lambda *_: "relevant")
    run("import")
    for path in Path("mine-v1").iterdir():
        path.write_text(re.sub('(["`])relevant(["`])', r"\1match\2", path.read_text()))
    exports.fill_in(Path("tasks/tasks.A2.csv"), Path("exports/tasks.A2.csv"), lambda *_: "match")
    before = Path("campaign.sqlite").read_bytes()
    assert "labels that guideline mine-v1 does not have: 'relevant'" in run("import", code=1).stderr
    assert Path("campaign.sqlite").read_bytes() == before


def test_killed_before_the_record_the_same_command_begins_the_same_campaign(hand: Path) -> None:
    before = given(hand)
    (hand / "campaign.sqlite").unlink()
    run(*ASKED, *ALL)
    assert given(hand) == before
    pool_more(hand, 2)
    told = run("tasks", "pool/pool.csv").stderr
    assert f"next: fire-toolkit tasks --annotator {','.join(PEOPLE)}" in told
    repeated = [word for name in PEOPLE for word in ("--annotator", name)]
    assert "tasks/round-2/tasks.A02.json" in run(*ASKED, *repeated).stderr


def test_status_says_how_far_everybody_is_and_doctor_that_no_server_is_needed(hand: Path) -> None:
    export(hand, "A02", "A02.json")
    fill_in(hand, "A03", n=5)
    bring_in()
    told = run("status")
    assert "import   done" in told.stdout
    assert "push" not in told.stdout
    assert "A02, round 1: 15 of 15 tasks\n" in told.stderr
    assert "A03, round 1: 5 of 15 tasks (tasks/tasks.A03.json)" in told.stderr
    assert "A04, round 1: 0 of 15 tasks (tasks/tasks.A04.json)" in told.stderr
    fill_in(hand, "A03", n=6)
    assert "exports/round-1.A03.csv has changed" in run("status").stdout
    far = {queue["annotator_id"]: queue for queue in as_json("progress")}
    assert (far["A02"]["n_done"], far["A03"]["n_done"], far["all"]["n_left"]) == (15, 5, 25)
    bring_in()
    assert "A03, round 1: 6 of 15 tasks" in run("status").stderr
    told = run("doctor")
    assert "no server is configured, and no round of this campaign is on one" in told.stdout
    assert "all is well" in told.stderr
    (hand / "campaign.sqlite").write_bytes(b"no record")
    for command in ("doctor", "status"):
        assert "damaged" in run(command, code=1).output


def test_nothing_moves_while_answers_of_files_are_not_read(hand: Path) -> None:
    fill_in(hand, "A02", n=5)
    told = run("annotators", "reassign", "A02", "--to", "A09", code=1).stderr
    assert "exports/round-1.A02.csv: not read yet; `fire-toolkit import`" in told
    run("import")
    assert "10 tasks moved: A09 10" in run("annotators", "reassign", "A02", "--to", "A09").stderr


def test_disputes_go_to_others_and_a_round_cut_short_is_given_out_again(judged: Path) -> None:
    """In a campaign `tasks` would give half of them to those who disagreed: `next-round` asks others."""
    disputes = "".join(f"{query},{doc}\n" for query, doc in pairs_in(judged / "labels/disputes.csv"))
    (judged / "again.csv").write_text(f"query_id,doc_id\n{disputes}")
    refused = run("tasks", "again.csv", "--overlap", 0, code=1).stderr
    assert "were given out in this campaign before" in refused
    assert "`next-round` asks them of others" in refused
    assert not (judged / "tasks/round-2").exists()
    run("next-round")
    first, second = ({(row["annotator_id"], row["pair_id"]) for row in given(judged, n)} for n in (1, 2))
    assert second
    assert not first & second
    files = {path: path.read_bytes() for path in (judged / "tasks/round-2").iterdir()}
    told = run("status").stderr
    assert "round 1: all 45 tasks of 3 annotators" in told
    assert "A02, round 1" not in told
    assert ", round 2: 0 of " in told
    shutil.rmtree(judged / "tasks/round-2")
    sheet = judged / "tasks/tasks.A02.csv"
    sheet.write_text("somebody wrote over it\n")
    assert "without an answer yet, in a round that has begun" in run("next-round").stderr
    assert {path: path.read_bytes() for path in files} == files
    assert sheet.read_text() == "somebody wrote over it\n"
    assert not given(judged, 3)


def test_who_is_retired_gets_no_further_files(judged: Path) -> None:
    told = run("annotators", "retire", "A09", code=1).stderr
    assert "no annotator is called 'A09'; active: A02, A03, A04" in told
    able = as_json("next-round", "--dry-run")["annotators"]
    assert "A02" in able
    run("annotators", "retire", "A02")
    dry = run("next-round", "--dry-run", "--format", "json")  # the other two have judged some of the pairs
    assert f"note: {able['A02']} pairs left out that every annotator has seen" in dry.stderr
    assert sum(json.loads(dry.stdout)["annotators"].values()) == sum(able.values()) - able["A02"]
    assert as_json("next-round", *ALL, "--dry-run")["annotators"] == able


def test_what_everybody_has_seen_is_left_out_of_a_recheck_and_of_a_budget(judged: Path) -> None:
    asked = {person: {split_pair_id(pair) for pair in queue_of(judged, person)} for person in PEOPLE}
    spent = sorted(asked["A02"] & asked["A03"])
    free = sorted((asked["A02"] ^ asked["A03"]) - asked["A04"])[:4]
    marks, two = judged / "marks.csv", ("--annotator", "A02,A03")
    write_table(marks, [{"query_id": query, "doc_id": doc} for query, doc in spent])
    refused = run("next-round", "--recheck", marks, *two, code=1).stderr
    first = min(spent, key=lambda pair: pair_id(*pair))
    assert f"have been seen by every annotator (first: {' '.join(first)}); name one" in refused
    write_table(marks, [{"query_id": query, "doc_id": doc} for query, doc in [*spent, *free]])
    told = run("next-round", "--recheck", marks, *two).stderr
    assert f"{len(spent)} pairs left out that every annotator has seen (first: " in told
    assert "round 2: 4 pairs to ask again" in told
    assert {split_pair_id(row["pair_id"]) for row in given(judged, 2)} == {*free}
    assert {*pairs_in(judged / "plan/round-2/pool.csv")} == {*free}
    told = run("next-round", "--budget", 3, "--annotator", "A04").stderr  # who is in every dispute
    assert "left out that every annotator has seen" in told
    assert "given to A04 " in told


def test_a_round_by_hand_goes_to_a_server_before_any_answer_only(hand: Path, server: FakeServer) -> None:
    assert "all was handed out as files" in run("push", code=1).stderr
    sheet = fill_in(hand, "A02", n=3)
    for _ in range(2):  # before and after it is read
        assert "round 1 was handed out as files, and answers came back" in run("push", *ALL, code=1).stderr
        bring_in()
    assert server.projects == {}
    alter(hand, "answers")
    sheet.unlink()
    run("push", *ALL)
    assert len(server.projects) == 3
    assert "push" in run("status").stdout
    answer_on_server(server, "A02", 1)
    run("pull")
    assert len(judgments(hand)) == 15


@pytest.mark.parametrize(("carrier", "following"), [("page", "page serve"), ("labelstudio", "pull")])
def test_disputes_go_whole_elsewhere(judged: Path, server: FakeServer, carrier: str, following: str) -> None:
    """`next-round` hands out files after a round by hand; its own people may get that round elsewhere."""
    run("next-round")
    asked = given(judged, 2)
    people = sorted({row["annotator_id"] for row in asked})
    assert len(asked) > 2
    assert len(people) > 1
    to = ("push", "--carrier", carrier, "--check-media", 0)
    told = run(*to, "--annotator", people[0], code=1).stderr
    assert "round 2 moves as a whole, with `--annotator " in told
    run(*to, "--annotator", ",".join(people))
    assert given(judged, 2) == asked
    assert len(server.projects) == (len(people) if carrier == "labelstudio" else 0)
    assert f"next: fire-toolkit {following}" in run("status").stderr
    run("push", "--check-media", 0)  # goes on, and asks nothing anew
    assert given(judged, 2) == asked


def test_server_disputes_take_any_carrier(
    hand: Path, server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("push", *ALL)
    for person in PEOPLE:
        answer_on_server(server, person, 1)
    run("pull")
    run("resolve")
    run("next-round")
    asked = given(hand, 2)
    assert asked
    to_page = ("push", "--carrier", "page", "--check-media", 0)
    assert "round 2 moves as a whole" in run(*to_page, "--annotator", "A77", code=1).stderr
    assert "note: round 2 goes by page in the place of labelstudio" in run(*to_page).stderr
    assert given(hand, 2) == asked
    assert len(server.projects) == 3
    assert states()["push"][0] == "done"
    told = run("push", "--carrier", "labelstudio", code=1).stderr
    assert "round 2 was sent by page, and stays there" in told
    assert len(server.projects) == 3
    run(*to_page)  # goes on, and asks nothing anew
    assert given(hand, 2) == asked
    answer_on_page(hand, asked[0], "relevant", 1, 2)
    monkeypatch.setattr(server, "_handle", lambda request: httpx.Response(401))  # and the page is as it was
    n_before = len(judgments(hand))
    told = run("pull", code=3).stderr
    assert "1 new, 0 edited" in told
    assert "401: the server does not accept the token" in told
    assert len(judgments(hand)) == n_before + 1


def test_a_later_pool_goes_to_the_people_and_by_the_carrier_of_the_round_before(hand: Path) -> None:
    run("push", "--carrier", "page", "--check-media", 0, *ALL)
    run("annotators", "retire", "A03")
    pool_more(hand)
    run(*ASKED)
    run("push", "--check-media", 0)
    assert {row["annotator_id"] for row in given(hand, 2)} == {"A02", "A04"}
    with contextlib.closing(sqlite3.connect(hand / "campaign.sqlite")) as record:
        rounds = record.execute("select number, carrier from rounds order by rowid").fetchall()
    assert rounds == [(1, "folder"), (1, "page"), (2, "page")]


def test_server_and_files_are_one_campaign(hand: Path, server: FakeServer) -> None:
    """Round 1 on the server, the pairs of a later pool by hand: one ledger, one table of judgments."""
    run("push", *ALL)
    for person in PEOPLE:
        answer_on_server(server, person, 1)
    run("pull")
    pool_more(hand)
    run(*ASKED, "--annotator", "A02,A03")
    assert (hand / "tasks/round-2/tasks.A02.json").is_file()
    assert "round 2 was handed out as files and is not sent" in run("push").stderr
    assert len(server.projects) == 3
    for person in ("A02", "A03"):
        fill_in(hand, person, number=2)
    assert bring_in()["new"] == 9
    both = judgments(hand)
    assert {row["round"] for row in both} == {"1", "2"}
    assert len(both) == 45 + 9
    run("pull")
    assert judgments(hand) == both
    assert [states()[stage][0] for stage in ("push", "pull", "import")] == ["done"] * 3
    own = {entry["task"]: entry for entry in server.annotations.values()}
    found = [  # an export has ids of its own, which a list of Label Studio has not
        task | {"annotations": [own[task["id"]] | {"unique_id": f"own {task['id']}"}]}
        for task in server.tasks_of(server.project_of("A02"))
    ]
    Path("exports/tasks.A02.json").write_text(json.dumps(found))
    came = bring_in("exports/tasks.A02.json")
    assert (came["new"], came["dropped"]) == (len(found), {"duplicate": len(found)})
    assert judgments(hand) == both
    assert "did not count" not in run("report", "methods").stdout


def test_rounds_before_the_campaign_keep_their_answers(hand: Path) -> None:
    """What was handed out without names is nobody's queue: its answers stay as `import` had them."""
    (hand / "campaign.sqlite").unlink()
    shutil.rmtree(hand / "tasks")
    run(*ASKED)
    handed_out = hand / "tasks/tasks.7.json"
    shutil.copy(hand / "tasks/tasks.json", handed_out)
    export(hand, "7", "first.json", account=7)
    handed_out.unlink()
    run("import")
    before = judgments(hand)
    assert {row["annotator_id"] for row in before} == {"7"}
    pool_more(hand)
    run(*ASKED, "--annotator", "A02,A03")
    fill_in(hand, "A02", number=2)
    bring_in()
    of_7, of_a02 = ([row for row in judgments(hand) if row["annotator_id"] == who] for who in ("7", "A02"))
    assert [{name: row[name] for name in before[0]} for row in of_7] == before
    assert {(row["round"], row["kind"]) for row in of_a02} <= {("2", "task"), ("2", "overlap")}
    assert {row["kind"] for row in of_7} == {""}


class People:
    """Three people at work: A02 and A03 each on a Label Studio of their own (account 1), A04 on a sheet."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root, self.chance, self.clock = root, chance, itertools.count()
        # what each of them means by now, and since when
        self.labels: dict[str, dict[str, tuple[str, str]]] = {name: {} for name in PEOPLE}
        self.saved: list[tuple[str, str]] = []

    def work(self, person: str) -> None:
        """Answer some tasks, or think better of some answers, and save the file."""
        queue, mine = queue_of(self.root, person), self.labels[person]
        for pair in self.chance.sample(queue, self.chance.randint(1, 6)):
            minute, second = divmod(next(self.clock), 60)
            now = f"2026-11-01T10:{minute:02}:{second:02}Z"
            mine[pair] = self.chance.choice(["relevant", "irrelevant", "ambiguous"]), now
        if person == "A04":
            sheet = rows(self.root / "tasks/tasks.A04.csv")
            self.chance.shuffle(sheet)
            said = [row | {"label": mine.get(key_of(row), ("", ""))[0]} for row in sheet]
            write_table(self.root / "exports/A04.csv", said)
            return
        tasks = []
        for number, (pair, (meant, at)) in enumerate(mine.items(), start=1):
            result = [{"from_name": "relevance", "type": "choices", "value": {"choices": [meant]}}]
            answer = {"id": number, "unique_id": f"{person}-{pair}", "completed_by": 1, "result": result}
            answer |= {"created_at": "2026-11-01T09:00:00Z", "updated_at": at}
            tasks.append({"id": number, "project": 1, "data": {"pair_id": pair}, "annotations": [answer]})
        self.saved.append((person, json.dumps(tasks)))
        self.save(self.chance.choice([f"{person}.json", f"project-{len(self.saved)}.{person}.json"]), tasks)

    def mislay(self) -> None:
        """Find an export of some days ago, and put it beside the others again."""
        if self.saved:
            person, text = self.chance.choice(self.saved)
            self.save(f"found-{self.chance.randint(1, 3)}.{person}.json", json.loads(text))

    def save(self, name: str, tasks: list[dict[str, Any]]) -> None:
        (self.root / "exports" / name).write_text(json.dumps(tasks))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_SEQUENCES))
def test_judgments_are_what_people_mean(hand: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Work, old exports that turn up, and imports of which some are killed at any renaming or flushing."""
    chance = random.Random(seed)
    people = People(hand, chance)
    for _ in range(12):
        step = chance.choice(["work", "work", "work", "mislay", "import", "killed"])
        if step == "work":
            people.work(chance.choice(PEOPLE))
        elif step == "mislay":
            people.mislay()
        elif list((hand / "exports").iterdir()):
            with monkeypatch.context() as patch, contextlib.suppress(Killed):
                if step == "killed":
                    kill_at(chance.randint(1, 20), patch)
                run("import")
    people.work("A02")
    bring_in()
    told = {(row["annotator_id"], row["query_id"]): row["label"] for row in judgments(hand)}
    assert told == {
        (name, split_pair_id(pair)[0]): label
        for name, labels in people.labels.items()
        for pair, (label, _) in labels.items()
    }
    assert len(judgments(hand)) == len(told)
    again = bring_in()
    assert (again["new"], again["edited"], again["restored"]) == (0, 0, 0)


def test_of_several_first_files_all_come_in_or_none(hand: Path) -> None:
    export(hand, "A02", "tasks.A02.json")
    other = export(hand, "A03", "tasks.A03.json")
    whole = other.read_text()
    other.write_text(whole[:-20])
    assert "cut short?" in run("import", code=1).stderr
    assert read_ledger(hand / "campaign.sqlite").empty
    other.write_text(whole)
    assert bring_in()["new"] == len(read_ledger(hand / "campaign.sqlite")) > 0


def kill_at(place: int, patch: pytest.MonkeyPatch) -> None:
    """End the command at its n-th flush or renaming as a kill does: nothing that follows is carried out."""
    left = itertools.count(1)

    def stopping(call: Callable[..., Any]) -> Callable[..., Any]:
        def stopped(*arguments: Any, **options: Any) -> Any:
            if next(left) >= place:
                raise Killed
            return call(*arguments, **options)

        return stopped

    for name in ("fsync", "replace", "rename", "unlink"):
        patch.setattr(os, name, stopping(getattr(os, name)))


@pytest.mark.parametrize(
    ("kept", "damaged", "lost", "command"),
    [
        (b"#round-1.A03.csv20", b"#round-1.A03.csv30", "{'versions': 1}", "resolve"),
        (b'a "dog", 1 years', b'a "d\xffg", 1 years', "{'asked': 1}", "next-round"),
    ],
)
def test_a_damaged_record_is_mended_by_what_its_refusal_says(
    judged: Path, kept: bytes, damaged: bytes, lost: str, command: str
) -> None:
    columns = ["annotator_id", "query_id", "doc_id", "label", "round", "kind"]
    run("next-round", "--annotator", "A02,A03,A04")
    table, record = Path("judgments/judgments.csv"), Path("campaign.sqlite")
    before = [[row[name] for name in columns] for row in rows(table)]
    record.write_bytes(damaged.join(record.read_bytes().rsplit(kept, 1)))
    remedy = "-m fire_toolkit.campaign.salvage"
    assert f"python {remedy} {judged / record}`" in run(command, code=1).stderr
    told = subprocess.run(
        [sys.executable, *remedy.split(), record], capture_output=True, text=True, check=True
    )
    assert told.stdout == f"rows that cannot be read, or may have changed: {lost}\n"
    run("import")
    run("resolve")
    assert [[row[name] for name in columns] for row in rows(table)] == before


def test_where_the_record_is_gone_no_judgments_are_made_of_the_rest(judged: Path, tmp_path: Path) -> None:
    table, record = Path("judgments/judgments.csv"), Path("campaign.sqlite")
    before, copy = table.read_bytes(), record.rename(tmp_path / "copy.sqlite")
    elsewhere = ("import", "tasks/tasks.A02.csv", "--columns", "annotator=video", "--label", "x=relevant")
    for command in (("import",), ("tasks",), ("tasks", "--annotator", "A02,A03"), ("next-round",), elsewhere):
        told = run(*command, code=1).stderr
        assert "error: campaign.sqlite: is gone, with its answers and who was asked; restore it" in told
    assert not record.exists()
    run("import", copy)
    assert table.read_bytes() == before


def test_an_answer_from_a_clock_that_was_ahead_is_named_where_it_hides_a_later_one(hand: Path) -> None:
    path = export(hand, "A02", "tasks.A02.json")
    path.write_text(path.read_text().replace("2026-11-01T10", "2126-11-01T10"))
    ahead = "note: 1 judgment with a time after it was read, before which another label"
    assert ahead not in run("import").stderr
    right = rows(fill_in(hand, "A02", n=2, flip=1))[0]  # the second one says the same
    told = run("import").stderr
    assert told.count(ahead) == 1
    assert "import it as JSON with a later updated_at" in told
    later = answered(
        hand / "tasks/tasks.A02.json", lambda *_: right["label"], account=1, at="2127-01-01T00:00:00Z"
    )
    later = [task for task in later if task["data"]["pair_id"] == key_of(right)]
    (hand / "exports/later.A02.json").write_text(json.dumps(later))
    assert ahead not in run("import").stderr
    assert [
        each["label"]
        for each in judgments(hand)
        if pair_id(each["query_id"], each["doc_id"]) == key_of(right)
    ] == [right["label"]]


def test_two_sheets_of_one_queue_that_differ_are_refused_until_it_is_said_which_is_later(hand: Path) -> None:
    sheet = fill_in(hand, "A02", n=3)
    older = sheet.rename(sheet.with_name("tasks.A02.csv"))
    newer = fill_in(hand, "A02", n=4, flip=1).rename(sheet.with_name("tasks.A02 (1).csv"))
    told = run("import", code=1).stderr
    assert "exports/tasks.A02 (1).csv and exports/tasks.A02.csv: different answers to the same" in told
    assert not has_answers(hand)
    run("import", older)
    run("import")
    changed = rows(newer)[0]
    assert {pair_id(row["query_id"], row["doc_id"]): row["label"] for row in judgments(hand)}[
        key_of(changed)
    ] == changed["label"]
    (hand / "judgments/judgments.csv").unlink()
    run("import")  # all is read again, and nothing is new
    assert len(judgments(hand)) == 4


@pytest.mark.parametrize("days", ["12", "21"])
def test_of_two_sheets_of_one_queue_the_answers_that_were_made_later_count(hand: Path, days: str) -> None:
    last = {}
    for day, flip in zip(days, (0, 1), strict=True):
        sheet = fill_in(hand, "A02", n=3, flip=flip)
        last[day] = [
            row | {"created_at": f"2026-11-0{day}T10:00:00Z" * bool(row["label"])} for row in rows(sheet)
        ]
        write_table(sheet.with_name(f"tasks.A02{' (1)' * flip}.csv"), last[day])
        sheet.unlink()
    run("import")
    found = {pair_id(row["query_id"], row["doc_id"]): row["label"] for row in judgments(hand)}
    assert found == {key_of(row): row["label"] for row in last["2"] if row["label"]}
    assert "0 new" in run("import").stderr


def test_a_guideline_that_says_something_else_than_the_campaign_began_with_is_named(here: Path) -> None:
    """Nothing in an answer tells by which words it was given."""
    with contextlib.chdir(make_workspace(here / "hand")):
        run("guideline", "rules-v1", "--like", "caption-relevance-v1")
        settings = Path("fire.toml").read_text()
        Path("fire.toml").write_text(settings.replace("caption-relevance-v1", "rules-v1"))
        said = "note: guideline rules-v1 has other words or grades now than the campaign began with"
        assert said not in run(*ASKED, *ALL).stderr
        rules = Path("rules-v1/guideline.md")
        rules.write_text(rules.read_text() + "\nA toy dog is a dog.\n")
        for person in PEOPLE:
            fill_in(Path(), person)
        assert run("import").stderr.count(said) == 1
        run("resolve")
        assert run("next-round").stderr.count(said) == 1


def test_a_campaign_begins_with_no_guideline_that_its_workspace_has_not(here: Path) -> None:
    run("guideline", "rules-v1", "--like", "caption-relevance-v1")
    with contextlib.chdir(make_workspace(here / "hand")):
        refused = run(*ASKED, *ALL, "--guideline", "../rules-v1", code=1).stderr
        assert "error: the guideline rules-v1 is not in" in refused
        assert not list(Path("tasks").glob("*"))
        shutil.copytree("../rules-v1", "rules-v1")
        run(*ASKED, *ALL, "--guideline", "rules-v1")
