"""Pages of several captions on Label Studio: one task each, whose answers are those of single pairs."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from campaigns import CAMPAIGN, GUIDELINE, Site, counts, known, pairs_of, push_round, tasks_of
from fake_api import FakeServer, choice
from records import moved_round, record_of

from examples import cases
from fire_toolkit.campaign.carrier import Carried
from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.progress import measure_progress
from fire_toolkit.campaign.queues import MOVES, assign_tasks
from fire_toolkit.campaign.records import Round, Rounds, write_rounds
from fire_toolkit.campaign.views import answered_pairs, record_to_judgments
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.guidelines.label_config import parse_label_config, several_config
from fire_toolkit.labelstudio.places import check_config

LABELS = ("relevant", "irrelevant", "ambiguous")
KEYS = ["1234567890", "qwertyuiop", "asdfghjklz"]
Labels = list[str | None]
Json = dict[str, Any]


TASKS = tasks_of(9)
ASSIGNED = assign_tasks(TASKS, ("ann", "bob"), n_captions=4, seed=1)
ROUND = Round(1, TASKS, ASSIGNED, known(None), n_captions=4)


@pytest.fixture
def server() -> FakeServer:
    made = FakeServer()
    push_round(made, ROUND)
    return made


def pages_of(server: FakeServer, name: str) -> list[Json]:
    return server.tasks_of(server.project_of(name))


def captions_of(task: Json) -> list[str]:
    return [caption["pair_id"] for caption in task["data"]["captions"]]


def results(labels: Labels, *, flag: int | None = None) -> list[Json]:
    given = [choice(f"relevance_{row}", label) for row, label in enumerate(labels) if label]
    return given + ([choice(f"flags_{flag}", "sensitive")] if flag is not None else [])


def answer(
    server: FakeServer, task: Json, user: int, labels: Labels, *, flag: int | None = None, **more: Any
) -> int:
    given = results(labels, flag=flag)
    return server.answer(task["id"], user, None, was_cancelled=False, more=given, **more)


def test_a_page_is_one_task_that_says_captions_keys_and_nothing_else(server: FakeServer) -> None:
    page = parse_label_config(several_config(GUIDELINE.label_config))
    tasks = [task for name in ("ann", "bob") for task in pages_of(server, name)]
    assert sorted(len(captions_of(task)) for task in tasks) == [3, 3, 3]
    for task in tasks:
        data = task["data"]
        assert sorted(data) == ["captions", "pair_id", "video"]
        assert data["pair_id"].startswith("page:")
        for row, caption in enumerate(data["captions"]):
            assert sorted(caption) == ["answers", "flags", "pair_id", "text"]
            assert caption["flags"] == [{"value": "sensitive", "hotkey": f"shift+{KEYS[0][row]}"}]
            expected = [{"value": v, "hotkey": keys[row]} for v, keys in zip(LABELS, KEYS, strict=True)]
            assert caption["answers"] == expected
    for project in server.projects.values():
        assert parse_label_config(project["label_config"]) == page
        check_config(CAMPAIGN, project)
        assert "keys are not those named below" in project["expert_instruction"]
    assert page.choices["relevance_{{idx}}"].required
    for name in ("ann", "bob"):
        asked = [pair for task in pages_of(server, name) for pair in captions_of(task)]
        assert asked == pairs_of(ROUND.assignments, name)


def test_another_push_adds_nothing_and_changes_what_nobody_has_answered(server: FakeServer) -> None:
    assert [(p.n_there, p.n_added, len(p.changed), p.n_foreign) for p in push_round(server, ROUND)] == [
        (len(pages_of(server, name)), 0, 0, 0) for name in ("ann", "bob")
    ]
    other = replace(ROUND, tasks=type(ROUND.tasks)(ROUND.tasks.assign(text="a cat sleeps")))
    assert sum(len(p.changed) for p in push_round(server, other)) == 3
    first = pages_of(server, "ann")[0]
    assert {caption["text"] for caption in first["data"]["captions"]} == {"a cat sleeps"}
    answer(server, first, 2, ["relevant"] * 3)
    with pytest.raises(FireError, match=r"answered already.*page:"):
        push_round(server, ROUND)


def test_a_project_that_is_gone_is_made_again_without_pages_that_are_answered(server: FakeServer) -> None:
    first, *others = pages_of(server, "ann")
    for task in [first, *others]:
        server.delete_task(task["id"])
    push_round(server, ROUND, {("1/ann", pair) for pair in captions_of(first)})
    assert [captions_of(task) for task in pages_of(server, "ann")] == [captions_of(task) for task in others]


def test_answers_are_judgments_with_page_place_and_share_of_the_time(server: FakeServer, site: Site) -> None:
    given: dict[tuple[str, ...], str] = {}
    keys = set()
    for user, name in ((2, "ann"), (3, "bob")):
        for task in pages_of(server, name):
            keys.add(task["data"]["pair_id"])
            pairs = [split_pair_id(pair) for pair in captions_of(task)]
            labels = [LABELS[(row + user) % 2] for row in range(len(pairs))]
            answer(server, task, user, [*labels], lead_time=12.0, flag=1)
            given |= {(name, *pair): label for pair, label in zip(pairs, labels, strict=True)}
    assert counts(site.pull(server)) == (9, 0, 0, 0)
    found = site.derived(ROUND)
    assert found.dropped.empty
    rows = found.judgments.set_index(["annotator_id", "query_id", "doc_id"])
    assert rows["label"].to_dict() == given
    assert {*rows["page_s"], *rows["duration_s"], *rows["kind"]} == {12, 4, "task"}
    assert sorted(rows["page_position"]) == sorted(["1", "2", "3"] * 3)
    expected = {("1", ""), ("2", "sensitive"), ("3", "")}
    assert set(zip(rows["page_position"], rows["flags"], strict=True)) == expected
    assert set(rows["page"]) == keys
    server.requests.clear()
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    assert len(server.requests) == 1 + len(server.projects)  # nothing was miscounted and read anew
    assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)


def test_unanswered_captions_are_named_and_stay_to_be_judged(server: FakeServer, site: Site) -> None:
    task = pages_of(server, "ann")[0]
    answer(server, task, 2, ["relevant", None, "irrelevant"])
    site.pull(server)
    found = site.derived(ROUND)
    missing = captions_of(task)[1]
    assert len(found.judgments) == 2
    (row,) = found.dropped[["query_id", "doc_id", "reason"]].to_numpy().tolist()
    assert row == [*split_pair_id(missing), "no_label"]
    with record_of([ROUND], site.ledger()) as store:
        assert ("1/ann", missing) not in answered_pairs(store)
        own = measure_progress(store, guideline=GUIDELINE).iloc[0]
    assert (own.n_done, own.n_skipped) == (2, 0)


def test_a_page_skipped_edited_sent_twice_and_emptied_is_as_a_pair(server: FakeServer, site: Site) -> None:
    task = pages_of(server, "ann")[0]

    def judged() -> tuple[list[str], set[float], list[str]]:
        """Labels in the order of the page, its seconds, and why others were dropped."""
        found = site.derived(ROUND)
        rows = found.judgments.set_index(["query_id", "doc_id"])
        labels = [rows["label"].get(split_pair_id(pair), "") for pair in captions_of(task)]
        return labels, set(rows["page_s"]), list(found.dropped["reason"])

    server.answer(task["id"], 2, None)
    assert counts(site.pull(server)) == (3, 0, 0, 0)
    assert set(judged()[2]) == {"skipped"}
    first = answer(server, task, 2, ["relevant"] * 3, lead_time=9.0)
    site.pull(server)
    assert judged()[0] == ["relevant"] * 3
    now = server._now()
    changed = results(["irrelevant", "relevant", None])
    server.annotations[first] |= {"result": changed, "updated_at": now, "lead_time": 30.0}
    server.tasks[task["id"]]["updated_at"] = now
    assert counts(site.pull(server)) == (0, 3, 0, 0)
    assert judged()[:2] == (["irrelevant", "relevant", ""], {30.0})  # what was taken back counts no more
    again = answer(server, task, 2, ["ambiguous"] * 3, lead_time=3.0)
    site.pull(server)
    assert judged()[:2] == (["ambiguous"] * 3, {3.0})
    assert judged()[2].count("superseded") == 2
    server.delete_annotation(again)
    assert counts(site.pull(server)) == (0, 0, 3, 0)
    assert judged()[0] == ["irrelevant", "relevant", ""]


def test_an_export_of_it_gives_the_same_judgments(server: FakeServer, site: Site, tmp_path: Path) -> None:
    for task in pages_of(server, "ann"):
        answer(server, task, 2, ["relevant", "irrelevant", "relevant"], lead_time=6.0)
    site.pull(server)
    pulled = site.derived(ROUND).judgments
    own = {found["task"]: found for found in server.annotations.values()}
    export = [task | {"annotations": [own[task["id"]]], "drafts": []} for task in pages_of(server, "ann")]
    drafted = json.dumps([task | {"drafts": [5]} for task in export])
    result = judgments_from_export([("e.json", drafted.encode())], guideline=GUIDELINE)
    names = ["query_id", "doc_id", "label", "duration_s"]
    pd.testing.assert_frame_equal(result.judgments[names], pulled[names])
    assert set(result.dropped["reason"]) == {"draft"}
    path = tmp_path / "export.ann.json"
    path.write_text(json.dumps(export))
    with record_of([ROUND]) as store:
        Folder(tmp_path, exports=[path]).fetch(Carried(None, [ROUND], GUIDELINE, store.path))
        again = record_to_judgments(store, guideline=GUIDELINE).judgments
    shared = [*names, "page", "page_position", "page_s", "annotator_id"]
    pd.testing.assert_frame_equal(again[shared], pulled[shared])


def test_a_page_that_moved_whole_is_closed_and_one_that_moved_in_part_is_not(server: FakeServer) -> None:
    given = first, second, *_ = pages_of(server, "ann")
    moved = [*captions_of(first), captions_of(second)[0]]
    rows = [(1, place, "ann", "bob", pair, "task") for place, pair in enumerate(moved, start=1)]
    later = moved_round(ROUND, pd.DataFrame(rows, columns=list(MOVES)))
    before = len(pages_of(server, "bob"))
    (_, bobs) = push_round(server, later)
    assert [task["is_labeled"] for task in given] == [True, *[False] * (len(given) - 1)]
    assert (bobs.n_there, bobs.n_added, bobs.n_foreign) == (before, 1, 0)
    assert captions_of(pages_of(server, "bob")[-1]) == moved


def test_a_page_changed_on_the_server_is_refused_and_says_how_to_restore_it(server: FakeServer) -> None:
    project = next(iter(server.projects.values()))
    project["label_config"] = project["label_config"].replace('required="true"', 'required="false"')
    with pytest.raises(
        ServerError, match=r"changed on the server.*guideline caption-relevance-v1 --part pages"
    ):
        push_round(server, ROUND)


def test_a_round_keeps_how_many_captions_its_pages_have(tmp_path: Path) -> None:
    write_rounds(tmp_path, ROUND)
    write_rounds(tmp_path, ROUND)
    (found,) = Rounds(tmp_path)
    assert (found.carrier, found.n_captions) == ("labelstudio", 4)
    with pytest.raises(UsageError, match="at most 4 captions a page, now 1"):
        write_rounds(tmp_path, replace(ROUND, n_captions=1))


@cases("data")
def test_what_is_no_page_stays_as_it_is(data: object) -> None:
    task = {"id": 1, "data": data, "annotations": []}
    assert list(split_pages([task])) == [task]
