"""A campaign by hand: files out, exports and sheets in; the same campaign as the one on a server."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import Result
from command import Copied, alter, given, has_answers, rows, run
from exports import answered

from fire_toolkit.campaign import store
from fire_toolkit.campaign.store import read_ledger
from fire_toolkit.campaign.tasks import pair_id, split_pair_id

if TYPE_CHECKING:
    from fake_api import FakeServer

Fire = Callable[..., Result]
PEOPLE = ("A02", "A03", "A04")  # the accounts 2, 3, 4 of the server in this process
USER = {name: int(name[1:]) for name in PEOPLE}
ASKED = ("tasks", "pool/pool.csv", "--overlap", 0.5)
N_PAIRS = 30
N_SEQUENCES = int(os.environ.get("FIRE_SEQUENCES", "5"))


def label(pair: str, person: str) -> str:
    """The label that a person gives: to A04 nothing is relevant, so that their doubled pairs are disputed."""
    is_relevant = int(split_pair_id(pair)[0][1:]) % 2 == 0 and person != "A04"
    return "relevant" if is_relevant else "irrelevant"


def make_workspace(fire: Fire, root: Path) -> Path:
    fire("init", root)
    (root / "pool").mkdir()
    pairs = "".join(f"q{n},d{n}\n" for n in range(N_PAIRS))
    (root / "pool/pool.csv").write_text("query_id,doc_id\n" + pairs)
    queries = "".join(f'q{n}\ta "dog", {n} years old\n' for n in range(N_PAIRS))
    (root / "collection/queries.tsv").write_text("query_id\ttext\n" + queries)
    items = "".join(f"d{n}\thttp://media.test/d{n}.mp4\n" for n in range(N_PAIRS))
    (root / "collection/items.tsv").write_text("doc_id\tmedia_url\n" + items)
    return root


def hand_out() -> None:
    with contextlib.chdir(make_workspace(run, Path("hand"))):
        run(*ASKED, "--annotator", ",".join(PEOPLE))


@pytest.fixture
def hand(copied: Copied, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace whose tasks were handed out as files."""
    root = copied(hand_out, tmp_path) / "hand"
    monkeypatch.chdir(root)
    return root


def key_of(row: dict[str, str]) -> str:
    """Return the key in a row of a sheet, which stands behind an apostrophe where it begins with a hyphen."""
    return row["pair_id"].removeprefix("'")


def queue_of(root: Path, person: str, number: int = 1) -> list[str]:
    mine = [row for row in given(root, number) if row["annotator_id"] == person]
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
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)
    return path


def export(root: Path, person: str, name: str, *, account: int = 1, n: int | None = None) -> Path:
    """Answer the first n tasks of a person's file in a Label Studio of their own, and export them."""
    said, tasks = lambda *pair: label(pair_id(*pair), person), root / f"tasks/tasks.{person}.json"
    exported = answered(tasks, said, account=account, at="2026-11-01T10:00:00Z", lead_time=4.5)[:n]
    for number, task in enumerate(exported, start=1):
        task["project"] = 1
        task["annotations"][0]["unique_id"] = f"{person}-{number}"
    path = root / "exports" / name
    path.write_text(json.dumps(exported))
    return path


def counts(result: Result) -> dict[str, Any]:
    return dict(json.loads(result.stdout))


def bring_in(fire: Fire, *paths: Path) -> dict[str, Any]:
    return counts(fire("import", *paths, "--format", "json"))


def judgments(root: Path) -> list[dict[str, str]]:
    return rows(root / "judgments/judgments.csv")


def answer_on_server(server: FakeServer, person: str, number: int) -> None:
    for task in server.tasks_of(server.project_of(person, number)):
        server.answer(task["id"], USER[person], label(task["data"]["pair_id"], person))


def export_from_server(server: FakeServer, root: Path, person: str, number: int, name: str) -> None:
    project = server.project_of(person, number)
    shown = [server._shown(task, {"fields": "all"}) for task in server.tasks_of(project)]
    (root / "exports" / name).write_text(json.dumps(shown))


TOLD_BY_ALL = ("query_id", "doc_id", "annotator_id", "label", "comment", "round", "guideline", "kind")


def without_times(table: list[dict[str, str]]) -> list[tuple[str, ...]]:
    return [tuple(row[name] for name in TOLD_BY_ALL) for row in table]


@pytest.mark.slow
def test_by_hand_and_on_a_server_the_same_answers_are_the_same_judgments(
    fire: Fire, hand: Path, server: FakeServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A02 exports a project as Label Studio names it, A03 under their name, A04 fills in the sheet."""
    online = make_workspace(fire, tmp_path / "online")
    people = [word for name in PEOPLE for word in ("--annotator", name)]
    for number in (1, 2):
        monkeypatch.chdir(online)
        if number == 1:
            fire(*ASKED)
            fire("push", *people)
        else:
            fire("next-round", *people)
            fire("push")
            monkeypatch.chdir(hand)
            before = {path: path.read_bytes() for path in (hand / "tasks").iterdir() if path.is_file()}
            told = fire("next-round").stderr
            assert {path: path.read_bytes() for path in before} == before
            assert "tasks/round-2/tasks.A02.json or tasks.A02.csv" in told
            monkeypatch.chdir(online)
        assert given(hand, number) == given(online, number)
        asked = {row["annotator_id"] for row in given(hand, number)}
        for person in sorted(asked):
            answer_on_server(server, person, number)
        fire("pull")
        fire("resolve")

        monkeypatch.chdir(hand)
        names = {"A02": f"project-{number}-at-2026-11-22-07-00.json", "A03": f"round-{number}.A03.json"}
        for person in sorted(asked & set(names)):
            export_from_server(server, hand, person, number, names[person])
        if "A04" in asked:
            fill_in(hand, "A04", number=number)
        bring_in(fire)
        fire("resolve")

        by_hand, pulled = judgments(hand), judgments(online)
        assert without_times(by_hand) == without_times(pulled)
        assert [row for row in by_hand if row["annotator_id"] != "A04"] == [
            row for row in pulled if row["annotator_id"] != "A04"
        ]
        assert len(by_hand) == (45 if number == 1 else 45 + len(given(hand, number)))
        for name in ("labels.csv", "disputes.csv"):
            assert (hand / "labels" / name).read_bytes() == (online / "labels" / name).read_bytes()
    assert {row["kind"] for row in by_hand} == {"task", "overlap", "adjudication"}
    assert len(given(hand, 2)) > 2


def test_a_file_read_again_doubles_nothing(fire: Fire, hand: Path) -> None:
    export(hand, "A02", "A02.json")
    fill_in(hand, "A03", n=5)
    first = bring_in(fire)
    assert (first["new"], first["judgments"]) == (15 + 5, 15 + 5)
    table = (hand / "judgments/judgments.csv").read_bytes()
    assert bring_in(fire)["new"] == 0
    (hand / "exports/A02.json").rename(hand / "exports/project-9-at-2026-11-22.json")
    again = bring_in(fire)
    assert (again["new"], again["edited"], again["dropped"]) == (0, 0, {})
    assert (hand / "judgments/judgments.csv").read_bytes() == table
    assert len(read_ledger(hand / "campaign.sqlite")) == 20


def test_late_and_changed_answers_count_by_the_ledgers_rules(fire: Fire, hand: Path) -> None:
    fill_in(hand, "A03", n=5)
    bring_in(fire)
    before = {row["query_id"]: row for row in judgments(hand)}
    fill_in(hand, "A03", n=7, flip=2)
    changed = bring_in(fire)
    assert (changed["new"], changed["edited"], changed["dropped"]) == (2, 2, {"edited": 2})
    after = {row["query_id"]: row for row in judgments(hand)}
    assert sum(after[query]["label"] != row["label"] for query, row in before.items()) == 2
    assert sum(row["comment"] == "looked again" for row in after.values()) == 2
    fill_in(hand, "A03", n=0)  # rows without a label say nothing
    assert bring_in(fire)["judgments"] == 7

    older = export(hand, "A02", "A02.json")
    newer = json.loads(older.read_text())
    old_text = older.read_text()
    newer[0]["annotations"][0]["result"][0]["value"]["choices"] = ["ambiguous"]
    newer[0]["annotations"][0]["updated_at"] = "2026-11-03T10:00:00Z"
    older.write_text(json.dumps(newer))
    assert bring_in(fire)["new"] == 15
    older.write_text(old_text)  # an export that lay about
    assert bring_in(fire)["judgments"] == 7 + 15
    latest = {row["query_id"]: row for row in judgments(hand) if row["annotator_id"] == "A02"}
    pair = newer[0]["data"]["pair_id"]
    assert latest[split_pair_id(pair)[0]]["label"] == "ambiguous"


def test_an_export_whose_answers_are_of_another_control_is_named_and_the_corrected_one_counts(
    fire: Fire, hand: Path
) -> None:
    path = export(hand, "A02", "A02.json")
    right = path.read_text()
    path.write_text(right.replace('"relevance"', '"label"'))
    told = fire("import").stderr
    assert (
        "15 of 15 answers have no label: they are of the control label, expected relevance; if the project's "
        "page was made by hand, export it with that name, or read it with --columns and --label"
    ) in told
    path.write_text(right)
    told = fire("import").stderr
    assert "15 answers came again with the same time and another content; both versions are kept" in told
    assert len(judgments(hand)) == 15


def test_another_site_s_record_is_merged(fire: Fire, hand: Path, tmp_path: Path) -> None:
    fill_in(hand, "A02", n=4)
    bring_in(fire)
    other = tmp_path / "other.sqlite"
    shutil.copy(hand / "campaign.sqlite", other)
    for path in (hand / "exports").iterdir():
        path.unlink()
    fill_in(hand, "A03", n=3)
    alter(hand, "answers")
    bring_in(fire)
    for n_new in (4, 0):
        told = json.loads(fire("import", str(other), "--format", "json").stdout)
        assert (told["new"], told["judgments"]) == (n_new, 7)
    stages = {row["stage"]: row["reason"] for row in json.loads(fire("status", "--format", "json").stdout)}
    assert "campaign.sqlite" not in stages["import"]
    queries = hand / "collection/queries.tsv"
    queries.write_text("query_id\ttext\n" + "".join(queries.read_text().splitlines(keepends=True)[2:]))
    before = (hand / "campaign.sqlite").read_bytes()
    error = fire("import", str(other), code=1).stderr
    assert "pairs are on queries that collection/queries.tsv does not have; expected another copy of" in error
    assert (hand / "campaign.sqlite").read_bytes() == before


@pytest.mark.parametrize("renamed", [False, True])
def test_a_corrected_label_wins_whatever_the_clock_says(
    fire: Fire, hand: Path, monkeypatch: pytest.MonkeyPatch, renamed: bool
) -> None:
    """The clock was two hours ahead when the first file was read."""
    clock = ["2026-11-01T12:00:00.000000Z"]
    monkeypatch.setattr(store, "time_now", lambda: clock[0])
    path = fill_in(hand, "A03", n=2)
    assert "clock" not in fire("import").stderr
    clock[0] = "2026-11-01T10:00:00.000000Z"
    path = fill_in(hand, "A03", n=2, flip=1)
    if renamed:
        path.rename(path.with_name("corrected.A03.csv"))
    said = fire("import").stderr
    assert (
        "this clock says 2026-11-01T10:00:00.000000Z, and the ledger was last read into at "
        "2026-11-01T12:00:00.000000Z: it is behind, or was ahead then; what is read now counts as later"
    ) in said
    sheet = {
        key_of(row): row["label"] for row in rows(next((hand / "exports").glob("*.A03.csv"))) if row["label"]
    }
    now = {row["query_id"]: row["label"] for row in judgments(hand)}
    assert now == {split_pair_id(pair)[0]: label for pair, label in sheet.items()}
    clock[0] = "2026-11-01T11:00:00.000000Z"
    assert bring_in(fire)["edited"] == 0
    assert {row["query_id"]: row["label"] for row in judgments(hand)} == now


def test_answers_of_another_tool_that_have_no_time_are_corrected_whatever_the_clock_says(
    fire: Fire, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hour = 12
    monkeypatch.setattr(store, "time_now", lambda: f"2026-11-01T{hour}:00:00.000000Z")
    fire("init")
    words = ("import", "a.csv", "--columns", "annotator=who,query=q,doc=d,label=l")
    for said, hour in (("relevant", 12), ("irrelevant", 10)):  # noqa: B007 (the clock reads it)
        (folder / "a.csv").write_text(f"who,q,d,l\nann,1,a,{said}\n")
        told = fire(*words).stderr
        assert [row["label"] for row in judgments(folder)] == [said]
    assert "this clock says 2026-11-01T10:00:00.000000Z" in told


def test_an_export_with_an_earlier_change_than_the_ledgers_is_named(fire: Fire, hand: Path) -> None:
    path = export(hand, "A02", "A02.json")
    fire("import")
    tasks = json.loads(path.read_text())
    tasks[0]["annotations"][0]["updated_at"] = "2026-10-01T10:00:00Z"
    path.write_text(json.dumps(tasks))
    assert "1 answer changed at a time before the version in the ledger" in fire("import").stderr


_KILLED = """
import os, signal, sys
left = int(sys.argv[1])
def counting(call):
    def counted(*arguments, **options):
        global left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return call(*arguments, **options)
    return counted
os.fsync, os.replace, os.rename = map(counting, (os.fsync, os.replace, os.rename))
from fire_toolkit.cli import main
main(["import"])
"""


@pytest.mark.slow
def test_killed_in_the_middle_of_an_import_the_next_one_goes_on(
    fire: Fire, hand: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(hand, "A02", "A02.json")
    fill_in(hand, "A03")
    export(hand, "A04", "project-3-at-2026-11-22.json", account=8)
    whole = shutil.copytree(hand, tmp_path / "whole")
    monkeypatch.chdir(whole)
    bring_in(fire)
    told = judgments(whole)
    assert len(told) == 45
    n_killed, place = 0, 1
    while True:
        folder = shutil.copytree(hand, tmp_path / f"killed-{place}")
        ended = subprocess.run([sys.executable, "-c", _KILLED, str(place)], cwd=folder, capture_output=True)
        if ended.returncode == 0:
            break
        assert ended.returncode == -9, ended.stderr
        n_killed, place = n_killed + 1, place + 3
        monkeypatch.chdir(folder)
        bring_in(fire)
        assert judgments(folder) == told
        assert sorted(read_ledger(folder / "campaign.sqlite")["annotation"]) == sorted(
            read_ledger(whole / "campaign.sqlite")["annotation"]
        )
        assert bring_in(fire)["new"] == 0
    assert n_killed >= 4


def test_a_file_whose_owner_cannot_be_told_is_refused_and_nothing_is_added(fire: Fire, hand: Path) -> None:
    shared = set(queue_of(hand, "A02")) & set(queue_of(hand, "A03"))
    tasks = json.loads(export(hand, "A02", "project-1.json").read_text())
    few = [task for task in tasks if task["data"]["pair_id"] in shared]
    (hand / "exports/project-1.json").write_text(json.dumps(few))
    told = fire("import", code=1).stderr
    assert f"answered {len(few)} tasks, each in the queues of A02 and A03" in told
    assert "name the file after its annotator, as in exports/project-1.A02.json" in told
    (hand / "exports/project-1.json").rename(hand / "exports/project-1.A02.json")
    assert bring_in(fire)["new"] == len(few)

    export(hand, "A03", "A04.json")
    assert "those of A03, but the file is named after A04" in fire("import", code=1).stderr
    (hand / "exports/A04.json").unlink()
    mixed = json.loads(export(hand, "A03", "A03.json").read_text())
    mixed[0]["annotations"][0]["completed_by"] = 5
    (hand / "exports/A03.json").write_text(json.dumps(mixed))
    assert "accounts 1, 5 all answered tasks of A03" in fire("import", code=1).stderr
    assert len(judgments(hand)) == len(few)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("label", "relevent"), "row 1: label 'relevent', expected one of"),
        (("pair_id", "x" * 20), "row 1: pair_id 'xxxxxxxxxxxxxxxxxxxx' is damaged"),
        (("duration_s", "soon"), "row 1: duration_s is 'soon', expected seconds"),
        (("created_at", "1.11.2026"), "row 1: created_at is '1.11.2026', expected a time"),
        (("annotator_id", ""), "file is named after A03"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_said_with_its_row(
    fire: Fire, hand: Path, change: tuple[str, str], told: str
) -> None:
    sheet = rows(fill_in(hand, "A02"))
    path = hand / "exports" / ("A03.csv" if change[0] == "annotator_id" else "A02.csv")
    (hand / "exports/round-1.A02.csv").unlink()
    sheet = [row | {change[0]: ""} for row in sheet]
    sheet = [row | {"label": label(row["pair_id"], "A02")} for row in rows_filled(sheet)]
    sheet[0] |= {change[0]: change[1]}
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(sheet[0]))
        writer.writeheader()
        writer.writerows(sheet)
    assert told in fire("import", code=1).stderr
    assert not has_answers(hand)


def test_a_spreadsheet_takes_no_cell_of_a_sheet_for_a_formula(
    fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_workspace(fire, tmp_path / "hand")
    monkeypatch.chdir(root)
    queries = root / "collection/queries.tsv"
    queries.write_text(queries.read_text().replace("\ta ", "\t=a "))
    pairs = "".join(f"q{q},d{d}\n" for q in range(N_PAIRS) for d in range(N_PAIRS))
    (root / "pool/pool.csv").write_text("query_id,doc_id\n" + pairs)
    fire("tasks", "pool/pool.csv", "--overlap", 0, "--annotator", "A02")
    sheet = rows(root / "tasks/tasks.A02.csv")
    keys = [task["data"]["pair_id"] for task in json.loads(Path("tasks/tasks.A02.json").read_text())]
    assert any(key.startswith("-") for key in keys)
    assert [key_of(row) for row in sheet] == keys
    assert {row["caption"][:3] for row in sheet} == {"'=a"}
    assert not [cell for row in sheet for cell in row.values() if cell.startswith(("=", "+", "-", "@"))]


def test_a_sheet_saved_with_semicolons_and_capitals_is_read_alike(fire: Fire, hand: Path) -> None:
    sheet = rows(fill_in(hand, "A02"))
    fire("import")
    expected = (hand / "judgments/judgments.csv").read_text()
    with (hand / "exports/round-1.A02.csv").open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.DictWriter(stream, list(sheet[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(row | {"label": row["label"].title()} for row in sheet)
    assert f"0 new, 0 edited, 0 deleted, 0 restored; {len(sheet)} judgments" in fire("import").stderr
    assert (hand / "judgments/judgments.csv").read_text() == expected


def test_a_later_round_names_the_people_of_the_campaign(fire: Fire, hand: Path) -> None:
    with (hand / "pool/pool.csv").open("a") as stream:
        stream.write("q0,d1\nq1,d2\n")
    told = fire("tasks", "pool/pool.csv").stderr
    assert f"next: fire-toolkit tasks --annotator {','.join(PEOPLE)}" in told
    repeated = [word for name in PEOPLE for word in ("--annotator", name)]
    assert "tasks/round-2/tasks.A02.json" in fire(*ASKED, *repeated).stderr


def rows_filled(sheet: list[dict[str, str]]) -> list[dict[str, str]]:
    keys = [task["data"]["pair_id"] for task in json.loads(Path("tasks/tasks.A02.json").read_text())]
    return [row | {"pair_id": key} for row, key in zip(sheet, keys, strict=True)]


def test_a_damaged_file_is_one_clear_line(fire: Fire, hand: Path) -> None:
    (hand / "exports/A02.csv").write_text("id,caption,annotator\n1,a dog,3\n")
    assert "A02.csv: not JSON; if this is a CSV or TSV export" in fire("import", code=1).stderr
    (hand / "exports/A02.csv").unlink()
    (hand / "exports/A02.json").write_text('[{"data"')
    assert "cut short? export it again" in fire("import", code=1).stderr
    tasks = (hand / "tasks/tasks.A02.json").read_text()
    (hand / "exports/A02.json").write_text(tasks)
    assert "each with its annotations" in fire("import", code=1).stderr


def test_what_was_handed_out_is_no_answer_and_the_page_stays(fire: Fire, hand: Path) -> None:
    told = fire("import", "tasks/tasks.A02.csv", code=1).stderr
    assert "tasks/tasks.A02.csv: this file was handed out; save the returned file in exports/" in told
    path = fill_in(hand, "A02")
    told = fire("import", path, "--guideline", "caption-image-relevance-v1", code=1).stderr
    assert "the campaign began with another labeling page" in told
    assert not has_answers(hand)


def test_killed_before_the_record_the_same_command_begins_the_same_campaign(fire: Fire, hand: Path) -> None:
    before = given(hand)
    (hand / "campaign.sqlite").unlink()
    fire(*ASKED, "--annotator", ",".join(PEOPLE))
    assert given(hand) == before
    told = fire(*ASKED, "--annotator", "A02,A03", code=1).stderr
    assert "round 1 was assigned differently" in told or "would change" in told
    assert given(hand) == before


def test_status_says_how_far_everybody_is_and_where_tasks_lie(fire: Fire, hand: Path) -> None:
    export(hand, "A02", "A02.json")
    fill_in(hand, "A03", n=5)
    bring_in(fire)
    told = fire("status")
    assert "import   done" in told.stdout
    assert "push" not in told.stdout
    assert "A02, round 1: 15 of 15 tasks\n" in told.stderr
    assert "A03, round 1: 5 of 15 tasks (tasks/tasks.A03.json)" in told.stderr
    assert "A04, round 1: 0 of 15 tasks (tasks/tasks.A04.json)" in told.stderr
    fill_in(hand, "A03", n=6)
    assert "exports/round-1.A03.csv has changed" in fire("status").stdout
    far = {queue["annotator_id"]: queue for queue in json.loads(fire("progress", "--format", "json").stdout)}
    assert (far["A02"]["n_done"], far["A03"]["n_done"], far["all"]["n_left"]) == (15, 5, 25)
    bring_in(fire)
    assert "A03, round 1: 6 of 15 tasks" in fire("status").stderr


def test_a_campaign_without_a_server_needs_none_to_be_well(fire: Fire, hand: Path) -> None:
    told = fire("doctor")
    assert "no server is configured, and no round of this campaign is on one" in told.stdout
    assert "all is well" in told.stderr
    (hand / "campaign.sqlite").write_bytes(b"no record")
    assert "damaged" in fire("doctor", code=1).output


def test_status_counts_what_came_in_and_names_a_damaged_record(fire: Fire, hand: Path) -> None:
    for n_answers in (5, 6):
        fill_in(hand, "A03", n=n_answers)
        bring_in(fire)
        assert f"A03, round 1: {n_answers} of 15 tasks" in fire("status").stderr
    (hand / "campaign.sqlite").write_bytes(b"no record")
    assert "damaged" in fire("status", code=1).stderr


def test_a_round_cut_short_is_given_out_again_and_nothing_over_it(fire: Fire, hand: Path) -> None:
    for person in PEOPLE:
        fill_in(hand, person)
    bring_in(fire)
    fire("resolve")
    fire("next-round")
    files = {path: path.read_bytes() for path in (hand / "tasks/round-2").iterdir()}
    told = fire("status").stderr
    assert "round 1: all 45 tasks of 3 annotators" in told
    assert "A02, round 1" not in told
    assert ", round 2: 0 of " in told
    shutil.rmtree(hand / "tasks/round-2")
    sheet = hand / "tasks/tasks.A02.csv"
    sheet.write_text("somebody wrote over it\n")
    assert "wait for an answer in a round that has begun" in fire("next-round").stderr
    assert {path: path.read_bytes() for path in files} == files
    assert sheet.read_text() == "somebody wrote over it\n"
    assert not given(hand, 3)


def test_who_is_retired_gets_no_further_files(fire: Fire, hand: Path) -> None:
    for person in PEOPLE:
        fill_in(hand, person)
    bring_in(fire)
    fire("resolve")
    assert (
        "no annotator is called 'A09'; active: A02, A03, A04"
        in fire("annotators", "retire", "A09", code=1).stderr
    )
    able = json.loads(fire("next-round", "--dry-run", "--format", "json").stdout)["annotators"]
    assert "A02" in able
    fire("annotators", "retire", "A02")
    told = fire("next-round", "--dry-run", "--format", "json")  # the other two have judged some of the pairs
    assert f"note: {able['A02']} pair left out that every annotator has seen" in told.stderr
    assert sum(json.loads(told.stdout)["annotators"].values()) == sum(able.values()) - able["A02"]
    rest = json.loads(fire("next-round", "--annotator", "A02", "--annotator", "A03", "--annotator", "A04",
                           "--dry-run", "--format", "json").stdout)  # fmt: skip
    assert rest["annotators"] == able


def test_a_round_by_hand_goes_to_a_server_only_while_nobody_has_answered(
    fire: Fire, hand: Path, server: FakeServer
) -> None:
    people = [word for name in PEOPLE for word in ("--annotator", name)]
    assert "all was handed out as files" in fire("push", code=1).stderr
    assert server.projects == {}
    fill_in(hand, "A02", n=3)
    bring_in(fire)
    assert "round 1 was handed out as files, and answers came back" in fire("push", *people, code=1).stderr
    assert server.projects == {}
    alter(hand, "answers")
    fire("push", *people)
    assert len(server.projects) == 3
    assert "push" in fire("status").stdout
    answer_on_server(server, "A02", 1)
    fire("pull")
    assert len(judgments(hand)) == 15


@pytest.mark.parametrize("carrier", ["page", "labelstudio"])
def test_disputes_by_hand_go_whole_to_another_carrier(
    fire: Fire, hand: Path, server: FakeServer, carrier: str
) -> None:
    """`next-round` hands out files after a round by hand; its own people may get that round elsewhere."""
    for person in PEOPLE:
        fill_in(hand, person)
    bring_in(fire)
    fire("resolve")
    fire("next-round")
    asked = given(hand, 2)
    people = sorted({row["annotator_id"] for row in asked})
    assert len(asked) > 2
    assert len(people) > 1
    to = ("push", "--carrier", carrier, "--check-media", 0)
    told = fire(*to, "--annotator", people[0], code=1).stderr
    assert "round 2 was handed out as files to " in told
    fire(*to, "--annotator", ",".join(people))
    assert given(hand, 2) == asked
    assert len(server.projects) == (len(people) if carrier == "labelstudio" else 0)
    following = {"page": "page serve", "labelstudio": "pull"}[carrier]
    assert f"next: fire-toolkit {following}" in fire("status").stderr
    fire("push", "--check-media", 0)  # goes on, and asks nothing anew
    assert given(hand, 2) == asked


def test_a_later_pool_goes_to_the_people_and_by_the_carrier_of_the_round_before(
    fire: Fire, hand: Path
) -> None:
    fire("push", "--carrier", "page", "--check-media", 0, "--annotator", ",".join(PEOPLE))
    fire("annotators", "retire", "A03")
    with (hand / "pool/pool.csv").open("a") as stream:
        stream.write("".join(f"q{n},d{n + 1}\n" for n in range(6)))
    fire(*ASKED)
    fire("push", "--check-media", 0)
    assert {row["annotator_id"] for row in given(hand, 2)} == {"A02", "A04"}
    with sqlite3.connect(hand / "campaign.sqlite") as record:
        rounds = record.execute("select number, carrier from rounds order by rowid").fetchall()
    assert rounds == [(1, "folder"), (1, "page"), (2, "page")]


def test_server_and_files_are_one_campaign(fire: Fire, hand: Path, server: FakeServer) -> None:
    """Round 1 on the server, the pairs of a later pool by hand: one ledger, one table of judgments."""
    people = [word for name in PEOPLE for word in ("--annotator", name)]
    fire("push", *people)
    for person in PEOPLE:
        answer_on_server(server, person, 1)
    fire("pull")
    more = "".join(f"q{n},d{n + 1}\n" for n in range(6))
    with (hand / "pool/pool.csv").open("a") as stream:
        stream.write(more)
    fire(*ASKED, "--annotator", "A02,A03")
    assert (hand / "tasks/round-2/tasks.A02.json").is_file()
    told = fire("push").stderr
    assert "round 2 was handed out as files and is not sent" in told
    assert len(server.projects) == 3
    for person in ("A02", "A03"):
        fill_in(hand, person, number=2)
    assert bring_in(fire)["new"] == 9
    both = judgments(hand)
    assert {row["round"] for row in both} == {"1", "2"}
    assert len(both) == 45 + 9
    fire("pull")
    assert judgments(hand) == both
    stages = {row["stage"]: row["state"] for row in json.loads(fire("status", "--format", "json").stdout)}
    assert (stages["push"], stages["pull"], stages["import"]) == ("done", "done", "done")


def test_rounds_before_the_campaign_keep_their_answers(fire: Fire, hand: Path) -> None:
    """What was handed out without names is nobody's queue: its answers stay as `import` had them."""
    (hand / "campaign.sqlite").unlink()
    shutil.rmtree(hand / "tasks")
    fire(*ASKED)
    path = hand / "tasks/tasks.json"
    shutil.copy(path, hand / "tasks/tasks.7.json")
    export(hand, "7", "first.json", account=7)
    (hand / "tasks/tasks.7.json").unlink()
    fire("import")
    before = judgments(hand)
    assert {row["annotator_id"] for row in before} == {"7"}
    with (hand / "pool/pool.csv").open("a") as stream:
        stream.write("".join(f"q{n},d{n + 1}\n" for n in range(6)))
    fire(*ASKED, "--annotator", "A02,A03")
    fill_in(hand, "A02", number=2)
    bring_in(fire)
    after = judgments(hand)
    assert [{name: row[name] for name in before[0]} for row in after if row["annotator_id"] == "7"] == before
    assert {(row["round"], row["kind"]) for row in after if row["annotator_id"] == "A02"} <= {
        ("2", "task"),
        ("2", "overlap"),
    }
    assert {row["kind"] for row in after if row["annotator_id"] == "7"} == {""}


class People:
    """Three people at work: A02 and A03 each on a Label Studio of their own (account 1), A04 on a sheet."""

    def __init__(self, root: Path, chance: random.Random) -> None:
        self.root, self.chance = root, chance
        self.labels: dict[tuple[str, str], str] = {}  # what each of them means by now
        self._annotations: dict[tuple[str, str], dict[str, Any]] = {}
        self._clock = 0
        self._saved: dict[str, list[str]] = {"A02": [], "A03": []}

    def work(self, person: str) -> None:
        """Answer some tasks, or think better of some answers, and save the file."""
        queue = queue_of(self.root, person)
        for pair in self.chance.sample(queue, self.chance.randint(1, 6)):
            self.labels[person, pair] = self.chance.choice(["relevant", "irrelevant", "ambiguous"])
            self._annotate(person, pair)
        self._save_sheet() if person == "A04" else self._save_export(person)

    def mislay(self) -> None:
        """Find an export of some days ago, and put it beside the others again."""
        person = self.chance.choice(["A02", "A03"])
        if self._saved[person]:
            name = f"found-{self.chance.randint(1, 3)}.{person}.json"
            (self.root / "exports" / name).write_text(self.chance.choice(self._saved[person]))

    def _annotate(self, person: str, pair: str) -> None:
        self._clock += 1
        now = f"2026-11-01T10:{self._clock // 60:02}:{self._clock % 60:02}Z"
        number = len(self._annotations) + 1
        choice = {"choices": [self.labels[person, pair]]}
        first = {"id": number, "unique_id": f"{person}-{number}", "completed_by": 1, "created_at": now}
        self._annotations[person, pair] = self._annotations.get((person, pair), first) | {
            "updated_at": now,
            "result": [{"from_name": "relevance", "type": "choices", "value": choice}],
        }

    def _save_export(self, person: str) -> None:
        tasks = [
            {
                "id": n,
                "project": 1,
                "data": {"pair_id": pair},
                "annotations": [self._annotations[person, pair]],
            }
            for n, pair in enumerate(queue_of(self.root, person), start=1)
            if (person, pair) in self._annotations
        ]
        self._saved[person].append(json.dumps(tasks))
        name = self.chance.choice([f"{person}.json", f"project-{self._clock}.{person}.json"])
        (self.root / "exports" / name).write_text(json.dumps(tasks))

    def _save_sheet(self) -> None:
        sheet = rows(self.root / "tasks/tasks.A04.csv")
        self.chance.shuffle(sheet)
        with (self.root / "exports/A04.csv").open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(sheet[0]))
            writer.writeheader()
            writer.writerows(row | {"label": self.labels.get(("A04", key_of(row)), "")} for row in sheet)


class Killed(BaseException):
    pass


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(N_SEQUENCES))
def test_whatever_happens_on_the_way_the_judgments_are_what_people_mean(
    fire: Fire, hand: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
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
                fire("import")
    people.work("A02")
    bring_in(fire)
    told = {(row["annotator_id"], row["query_id"]): row["label"] for row in judgments(hand)}
    assert told == {(name, split_pair_id(pair)[0]): label for (name, pair), label in people.labels.items()}
    assert len(judgments(hand)) == len(told)
    again = bring_in(fire)
    assert (again["new"], again["edited"], again["restored"]) == (0, 0, 0)


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


def test_disputes_go_to_people_who_have_not_seen_them(fire: Fire, hand: Path) -> None:
    """In a campaign `tasks` would give half of them to those who disagreed: `next-round` asks others."""
    for person in PEOPLE:
        fill_in(hand, person)
    fire("import")
    fire("resolve")
    disputes = "".join(f"{row['query_id']},{row['doc_id']}\n" for row in rows(hand / "labels/disputes.csv"))
    (hand / "again.csv").write_text(f"query_id,doc_id\n{disputes}")
    refused = fire("tasks", "again.csv", "--overlap", 0, code=1).stderr
    assert "were given out in this campaign before" in refused
    assert "`next-round` asks them of others" in refused
    assert not (hand / "tasks/round-2").exists()
    fire("next-round")
    first, second = ({(row["annotator_id"], row["pair_id"]) for row in given(hand, n)} for n in (1, 2))
    assert second
    assert not first & second
