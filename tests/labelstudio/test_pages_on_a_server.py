"""Pages of several captions on Label Studio: one task each, whose answers are those of single pairs."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest
from campaigns import CAMPAIGN, GUIDELINE, Site, counts, known, make_api, push_round, tasks_of
from fake_api import FakeServer, choice
from records import moved_round, record_of

from fire_toolkit.campaign.moves import MOVES
from fire_toolkit.campaign.page_json import split_pages
from fire_toolkit.campaign.progress import measure_progress
from fire_toolkit.campaign.queues import assign_tasks
from fire_toolkit.campaign.records import Round, read_rounds, write_round
from fire_toolkit.campaign.store import read_ledger
from fire_toolkit.campaign.tasks import pair_id, split_pair_id
from fire_toolkit.campaign.views import answered_pairs, record_to_judgments
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.guidelines.label_config import parse_label_config
from fire_toolkit.guidelines.several import several_config
from fire_toolkit.labelstudio.projects import check_config
from fire_toolkit.labelstudio.push import close_withdrawn, make_queues

LABELS = ("relevant", "irrelevant", "ambiguous")


def pages_round(n_pairs: int = 9, *, n_captions: int = 4, overlap: float = 0.0) -> Round:
    tasks = tasks_of(n_pairs, overlap=overlap)
    assigned = assign_tasks(tasks, ("ann", "bob"), n_captions=n_captions, seed=1)
    once = tasks[tasks["batch"] == 1]
    return Round(1, type(tasks)(once), assigned, known(None), n_captions=n_captions)


ROUND = pages_round()


@pytest.fixture
def server() -> FakeServer:
    made = FakeServer()
    push_round(made, ROUND)
    return made


def pages_of(server: FakeServer, name: str) -> list[dict[str, object]]:
    return server.tasks_of(server.project_of(name))


def captions_of(task: dict[str, object]) -> list[str]:
    return [caption["pair_id"] for caption in task["data"]["captions"]]  # type: ignore[index]


def results(labels: list[str | None], *, flag: int | None = None) -> list[dict[str, object]]:
    given = [choice(f"relevance_{row}", label) for row, label in enumerate(labels) if label]
    return given + ([choice(f"flags_{flag}", "sensitive")] if flag is not None else [])


def answer(server: FakeServer, task: int, user: int, labels: list[str | None], **more: object) -> int:
    given = results(labels, flag=more.pop("flag", None))  # type: ignore[arg-type]
    return server.answer(task, user, None, was_cancelled=False, more=given, **more)


def test_a_page_is_one_task_that_says_captions_keys_and_nothing_else(server: FakeServer) -> None:
    page = parse_label_config(several_config(GUIDELINE.label_config))
    tasks = [task for name in ("ann", "bob") for task in pages_of(server, name)]
    assert sorted(len(captions_of(task)) for task in tasks) == [3, 3, 3]
    asked = {pair for task in tasks for pair in captions_of(task)}
    assert asked == set(ROUND.assignments["pair_id"])
    for task in tasks:
        data = task["data"]
        assert sorted(data) == ["captions", "pair_id", "video"]  # type: ignore[call-overload]
        for row, caption in enumerate(data["captions"]):  # type: ignore[index, call-overload]
            assert sorted(caption) == ["answers", "flags", "pair_id", "text"]
            assert caption["flags"] == [{"value": "sensitive", "hotkey": f"shift+{'1234567890'[row]}"}]
            keys = ["1234567890"[row], "qwertyuiop"[row], "asdfghjklz"[row]]
            expected = [{"value": v, "hotkey": k} for v, k in zip(LABELS, keys, strict=True)]
            assert caption["answers"] == expected
        assert str(data["pair_id"]).startswith("page:")  # type: ignore[index, call-overload]
    for project in server.projects.values():
        assert parse_label_config(project["label_config"]) == page
        check_config(CAMPAIGN, project)
        assert "keys are not those named below" in project["expert_instruction"]
    assert page.choices["relevance_{{idx}}"].required
    queue = ROUND.assignments[ROUND.assignments["annotator_id"] == "ann"].sort_values("position")
    assert [p for t in pages_of(server, "ann") for p in captions_of(t)] == list(queue["pair_id"])


def test_another_push_adds_nothing_and_changes_what_nobody_has_answered(server: FakeServer) -> None:
    assert [(p.n_there, p.n_added, len(p.changed), p.n_foreign) for p in push_round(server, ROUND)] == [
        (len(pages_of(server, name)), 0, 0, 0) for name in ("ann", "bob")
    ]
    other = replace(ROUND, tasks=type(ROUND.tasks)(ROUND.tasks.assign(text="a cat sleeps")))
    assert sum(len(p.changed) for p in push_round(server, other)) == 3
    shown = pages_of(server, "ann")[0]["data"]["captions"]  # type: ignore[index, call-overload]
    assert {caption["text"] for caption in shown} == {"a cat sleeps"}
    answer(server, int(pages_of(server, "ann")[0]["id"]), 2, ["relevant"] * 3)  # type: ignore[call-overload]
    with pytest.raises(FireError, match=r"answered already.*page:"):
        push_round(server, ROUND)


def test_a_project_that_is_gone_is_made_again_without_pages_that_are_answered(server: FakeServer) -> None:
    first, *others = pages_of(server, "ann")
    done = {("1/ann", pair) for pair in captions_of(first)}
    for task in [first, *others]:
        server.delete_task(int(task["id"]))  # type: ignore[call-overload]
    push_round(server, ROUND, done)
    assert [captions_of(task) for task in pages_of(server, "ann")] == [captions_of(task) for task in others]


def test_answers_are_judgments_with_page_place_and_share_of_the_time(server: FakeServer, site: Site) -> None:
    given: dict[tuple[str, str, str], str] = {}
    for user, name in ((2, "ann"), (3, "bob")):
        for task in pages_of(server, name):
            labels = [LABELS[(row + user) % 2] for row in range(len(captions_of(task)))]
            answer(server, int(task["id"]), user, labels, lead_time=12.0, flag=1)  # type: ignore[call-overload, arg-type]
            pairs = captions_of(task)
            given |= {(name, *split_pair_id(p)): v for p, v in zip(pairs, labels, strict=True)}
    assert counts(site.pull(server)) == (9, 0, 0, 0)
    found = site.derived(ROUND)
    rows = found.judgments
    columns = (rows[name] for name in ("annotator_id", "query_id", "doc_id", "label"))
    assert {(a, q, d): v for a, q, d, v in zip(*columns, strict=True)} == given
    assert found.dropped.empty
    assert (rows["page_s"] == 12).all()
    assert (rows["duration_s"] == 4).all()
    assert sorted(rows["page_position"]) == sorted(["1", "2", "3"] * 3)
    assert set(rows.loc[rows["page_position"] == "2", "flags"]) == {"sensitive"}
    assert set(rows.loc[rows["page_position"] != "2", "flags"]) == {""}
    keys = {task["data"]["pair_id"] for name in ("ann", "bob") for task in pages_of(server, name)}  # type: ignore[index, call-overload]
    assert set(rows["page"]) == keys
    assert set(rows["kind"]) == {"task"}
    n_before = len(server.requests)
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    n_requests = len(server.requests) - n_before
    assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)
    assert n_requests == 1 + len(server.projects)  # nothing was miscounted and read anew


def test_unanswered_captions_are_named_and_stay_to_be_judged(server: FakeServer, site: Site) -> None:
    (task, *_) = pages_of(server, "ann")
    answer(server, int(task["id"]), 2, ["relevant", None, "irrelevant"])  # type: ignore[call-overload]
    site.pull(server)
    found = site.derived(ROUND)
    missing = split_pair_id(captions_of(task)[1])
    assert len(found.judgments) == 2
    (row,) = found.dropped.to_dict("records")
    assert (row["query_id"], row["doc_id"], row["reason"]) == (*missing, "no_label")
    with record_of([ROUND], site.ledger()) as store:
        assert ("1/ann", pair_id(*missing)) not in answered_pairs(store)
        (own, _) = measure_progress(store, guideline=GUIDELINE)
    assert (own.n_done, own.n_skipped) == (2, 0)


def test_a_page_skipped_edited_sent_twice_and_emptied_is_as_a_pair(server: FakeServer, site: Site) -> None:
    (task, *_) = pages_of(server, "ann")
    number, pairs = int(task["id"]), captions_of(task)  # type: ignore[call-overload]
    server.answer(number, 2, None)
    assert counts(site.pull(server)) == (3, 0, 0, 0)
    assert set(site.derived(ROUND).dropped["reason"]) == {"skipped"}
    first = answer(server, number, 2, ["relevant"] * 3, lead_time=9.0)
    site.pull(server)
    assert list(site.derived(ROUND).judgments["label"]) == ["relevant"] * 3
    server.annotations[first] |= {
        "result": results(["irrelevant", "relevant", None]),
        "updated_at": server._now(),
        "lead_time": 30.0,
    }
    server.tasks[number]["updated_at"] = server.annotations[first]["updated_at"]
    assert counts(site.pull(server)) == (0, 3, 0, 0)
    found = site.derived(ROUND)
    by_pair = {(r.query_id, r.doc_id): r.label for r in found.judgments.itertuples()}
    expected = dict(zip(map(split_pair_id, pairs[:2]), ("irrelevant", "relevant"), strict=True))
    assert by_pair == expected  # what was taken back counts no more
    assert set(found.judgments["page_s"]) == {30.0}
    again = answer(server, number, 2, ["ambiguous"] * 3, lead_time=3.0)
    site.pull(server)
    found = site.derived(ROUND)
    assert list(found.judgments["label"]) == ["ambiguous"] * 3
    assert set(found.judgments["page_s"]) == {3.0}
    assert (found.dropped["reason"] == "superseded").sum() == 2
    server.delete_annotation(again)
    assert counts(site.pull(server)) == (0, 0, 3, 0)
    assert len(site.derived(ROUND).judgments) == 2


def test_an_export_of_such_a_project_gives_the_same_judgments(
    server: FakeServer, site: Site, tmp_path: Path
) -> None:
    for task in pages_of(server, "ann"):
        number = int(task["id"])  # type: ignore[call-overload]
        answer(server, number, 2, ["relevant", "irrelevant", "relevant"], lead_time=6.0)
    site.pull(server)
    own = {found["task"]: found for found in server.annotations.values()}
    export = [task | {"annotations": [own[task["id"]]], "drafts": [5]} for task in pages_of(server, "ann")]
    result = judgments_from_export([("e.json", json.dumps(export).encode())], guideline=GUIDELINE)
    names = ["query_id", "doc_id", "label", "duration_s"]
    pulled = site.derived(ROUND).judgments[names]
    pd.testing.assert_frame_equal(result.judgments[names], pulled)
    assert set(result.dropped["reason"]) == {"draft"}
    path = tmp_path / "export.ann.json"
    path.write_text(json.dumps([task | {"drafts": []} for task in export]))
    folder = Folder(tmp_path, GUIDELINE, exports=[path])
    folder.fetch(None, [ROUND], tmp_path / "other")
    with record_of([ROUND], read_ledger(tmp_path / "other")) as store:
        again = record_to_judgments(store, guideline=GUIDELINE).judgments
    shared = [*names, "page", "page_position", "page_s", "annotator_id"]
    pd.testing.assert_frame_equal(again[shared], site.derived(ROUND).judgments[shared])


def test_a_page_that_moved_whole_is_closed_and_one_that_moved_in_part_is_not(server: FakeServer) -> None:
    first, *others = pages_of(server, "ann")
    given = pages_of(server, "ann")
    moved = captions_of(first) + ([captions_of(others[0])[0]] if others else [])
    rows = [(1, place, "ann", "bob", pair, "task") for place, pair in enumerate(moved, start=1)]
    later = moved_round(ROUND, pd.DataFrame(rows, columns=list(MOVES)))
    queues = make_queues(later, GUIDELINE, done=(), campaign_key=CAMPAIGN.key)
    assert close_withdrawn(make_api(server), CAMPAIGN, queues) == 1
    assert [task["is_labeled"] for task in given] == [True, *[False] * len(others)]
    before = len(pages_of(server, "bob"))
    (_, bobs) = push_round(server, later)
    assert (bobs.n_there, bobs.n_added, bobs.n_foreign) == (before, 1, 0)
    assert captions_of(pages_of(server, "bob")[-1]) == moved


def test_a_page_changed_on_the_server_is_refused_and_says_how_to_restore_it(server: FakeServer) -> None:
    project = next(iter(server.projects.values()))
    project["label_config"] = project["label_config"].replace('required="true"', 'required="false"')
    with pytest.raises(ServerError, match=r"changed on the server.*--part pages"):
        push_round(server, ROUND)


def test_a_round_keeps_how_many_captions_its_pages_have(tmp_path: Path) -> None:
    write_round(tmp_path, ROUND)
    write_round(tmp_path, ROUND)
    (found,) = read_rounds(tmp_path)
    assert (found.carrier, found.n_captions) == ("labelstudio", 4)
    with pytest.raises(UsageError, match="at most 4 captions a page, now 1"):
        write_round(tmp_path, replace(ROUND, n_captions=1))


@pytest.mark.parametrize(
    "data",
    [
        {"pair_id": "page:1", "captions": "no list"},
        {"pair_id": "page:1", "captions": [{"pair_id": "a|b"}, {"pair_id": "a|b"}]},
        {"pair_id": "page:1", "captions": [{"text": "without a pair"}]},
        {"pair_id": "page:1", "captions": []},
        {"pair_id": 7, "captions": [{"pair_id": "a|b"}]},
        None,
    ],
)
def test_what_is_no_page_stays_as_it_is(data: object) -> None:
    task = {"id": 1, "data": data, "annotations": []}
    assert list(split_pages([task])) == [task]
