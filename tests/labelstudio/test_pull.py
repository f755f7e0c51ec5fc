"""A pull puts every answer into the ledger once, with what became of it, and nothing is silently gone."""

import json
from pathlib import Path

import httpx
import pandas as pd
import pytest
from campaigns import GUIDELINE, NAMES, Site, counts, push_round, round_of, tasks_of
from fake_api import FAULTS, FakeServer, Killed, choice, comment
from hypothesis import given, settings
from hypothesis import strategies as st
from records import latest_answers

from examples import examples, some
from fire_toolkit.campaign.ledger import DELETED, EDITED
from fire_toolkit.campaign.records import Round
from fire_toolkit.campaign.store import read_ledger
from fire_toolkit.campaign.votes import judgments_from_export
from fire_toolkit.errors import FormatError, ServerError
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.labelstudio import api as api_module

FIRST = 1  # the number of the server's first answer
ROUND = round_of(tasks_of(10, overlap=0.4))


def pushed_server(entry: Round = ROUND) -> FakeServer:
    server = FakeServer()
    push_round(server, entry)
    server.requests.clear()
    return server


def task_for(server: FakeServer, name: str, place: int = 0) -> int:
    return int(server.tasks_of(server.project_of(name))[place]["id"])


def states(site: Site) -> dict[str, int]:
    return dict(latest_answers(site.ledger())["state"].value_counts())


@pytest.fixture
def server() -> FakeServer:
    return pushed_server()


@pytest.fixture
def begun(server: FakeServer, site: Site) -> FakeServer:
    """The server after ann's answer to her first task was pulled."""
    server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    return server


def test_answers_are_pulled_once(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "ann"), 2)
    server.answer(task_for(server, "bob"), 3, "irrelevant")
    assert counts(site.pull(server)) == (2, 0, 0, 0)
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)
    judgments = site.derived(ROUND).judgments
    assert sorted(zip(judgments["annotator_id"], judgments["label"], strict=True)) == [
        ("ann", "relevant"),
        ("bob", "irrelevant"),
    ]


def paths_of(server: FakeServer) -> list[str]:
    return [request.url.path for request in server.requests]


def test_an_incremental_pull_asks_for_the_projects_once_and_for_each_one_s_changes_once(
    begun: FakeServer, site: Site
) -> None:
    begun.answer(task_for(begun, "bob"), 3)
    begun.requests.clear()
    assert counts(site.pull(begun)) == (1, 0, 0, 0)
    assert paths_of(begun) == ["/api/projects/", "/api/tasks/", "/api/tasks/"]
    pages = [json.loads(request.url.params["query"]) for request in begun.requests[1:]]
    filters = [[item["filter"] for item in page["filters"]["items"]] for page in pages]
    assert filters == [["filter:tasks:updated_at", "filter:tasks:id"]] * 2


def test_what_changes_while_pages_are_read_is_read_by_the_next_pull(
    server: FakeServer, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api_module.Api, "page_size", 2)
    site.pull(server)
    server._ticks += 600
    for place in range(5):
        server.answer(task_for(server, "ann", place), 2)
    shown = FakeServer._page

    def page(self: FakeServer, params: dict[str, str]) -> httpx.Response:
        response = shown(self, params)
        if int(params["project"]) == server.project_of("ann") and response.json()["total"] == 3:
            for place in (0, -1):  # of a page that was read, and of one that was not; past the look-back
                server._ticks += 600
                server.answer(task_for(server, "ann", place), 3, "irrelevant")
        return response

    monkeypatch.setattr(FakeServer, "_page", page)
    site.pull(server)
    monkeypatch.setattr(FakeServer, "_page", shown)
    site.pull(server)
    assert len(site.ledger()) == len(server.annotations) == 7


def test_a_project_with_a_number_that_is_used_again_is_read_from_its_beginning(
    begun: FakeServer, site: Site
) -> None:
    long_ago = "2026-11-19T00:00:00.000000Z"
    other = pushed_server()
    for project in other.projects.values():
        project["created_at"] = long_ago
    other._ticks = 5000
    other.answer(task_for(other, "bob"), 3)
    for task in other.tasks.values():
        task["updated_at"] = long_ago
    assert counts(site.pull(other)) == (1, 0, 1, 0)
    assert paths_of(other)[:2] == ["/api/projects/", "/api/organizations/"]


def test_an_edit_is_a_version_of_its_own_and_the_earlier_one_is_dropped_as_edited(
    begun: FakeServer, site: Site
) -> None:
    begun.edit(FIRST, 3, "irrelevant")
    assert counts(site.pull(begun)) == (0, 1, 0, 0)
    assert states(site) == {EDITED: 1}
    derived = site.derived(ROUND)
    assert derived.judgments["label"].tolist() == ["irrelevant"]
    assert derived.judgments["flags"].tolist() == ["edited-by-other"]
    assert derived.dropped[["reason", "label", "annotator_id"]].values.tolist() == [
        ["edited", "relevant", "ann"]
    ]


@pytest.mark.parametrize("is_full", [False, True])
def test_an_edit_after_the_servers_clock_was_set_back_counts(
    server: FakeServer, site: Site, is_full: bool
) -> None:
    site.now = lambda: "2026-11-20T12:01:00.000000Z"
    server._ticks += 20 * 24 * 3600
    answer = server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    server._ticks -= 20 * 24 * 3600 - 60
    server.edit(answer, 2, "irrelevant")
    found = site.pull(server, is_full=is_full)
    assert counts(found) == (0, 1, 0, 0)
    assert any("1 answer changed at a time before the version in the ledger" in note for note in found.notes)
    assert site.derived(ROUND).judgments["label"].tolist() == ["irrelevant"]
    assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)  # known again
    server.edit(answer, 2, "ambiguous")
    site.pull(server, is_full=True)
    assert site.derived(ROUND).judgments["label"].tolist() == ["ambiguous"]
    server.delete_annotation(answer)
    assert counts(site.pull(server, is_full=True)) == (0, 0, 1, 0)
    assert site.derived(ROUND).judgments.empty


def test_an_answer_that_is_back_counts_whatever_this_clock_says(begun: FakeServer, site: Site) -> None:
    kept = dict(begun.annotations[FIRST])
    begun.delete_annotation(FIRST)
    site.now = lambda: "2027-01-01T00:00:00.000000Z"
    site.pull(begun)
    begun.annotations[FIRST] = kept
    site.now = lambda: "2026-12-01T00:00:00.000000Z"
    found = site.pull(begun, is_full=True)
    assert counts(found) == (0, 0, 0, 1)
    assert "this clock says 2026-12-01T00:00:00.000000Z" in found.notes[0]
    assert counts(site.pull(begun, is_full=True)) == (0, 0, 0, 0)
    assert len(site.derived(ROUND).judgments) == 1


def test_a_deleted_answer_is_recorded_by_the_next_pull(begun: FakeServer, site: Site) -> None:
    begun.delete_annotation(FIRST)
    assert counts(site.pull(begun)) == (0, 0, 1, 0)
    assert counts(site.pull(begun)) == (0, 0, 0, 0)
    derived = site.derived(ROUND)
    assert len(derived.judgments) == 0
    assert derived.dropped[["reason", "label"]].values.tolist() == [["deleted", "relevant"]]


def test_an_answer_whose_task_kept_its_time_is_found_by_the_server_s_counts(
    server: FakeServer, site: Site
) -> None:
    server._ticks += 600  # the look-back does not reach the import
    server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    for place, label in ((1, "relevant"), (2, None)):
        late = task_for(server, "ann", place)
        server.answer(late, 2, label)
        server.lose_time(late)
    assert counts(site.pull(server)) == (2, 0, 0, 0)
    server.requests.clear()
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    assert paths_of(server) == ["/api/projects/", "/api/tasks/", "/api/tasks/"]


def test_an_answer_without_a_date_beside_a_deleted_task_leaves_the_count_and_is_found(
    server: FakeServer, site: Site
) -> None:
    server._ticks += 600
    server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    late = task_for(server, "ann", 1)
    server.answer(late, 2)
    server.lose_time(late)
    server.delete_task(task_for(server, "ann"))
    assert counts(site.pull(server)) == (1, 0, 1, 0)
    server.requests.clear()
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    assert paths_of(server) == ["/api/projects/", "/api/tasks/", "/api/tasks/"]


def test_an_edit_that_the_server_does_not_date_is_found_by_a_full_pull_only(
    server: FakeServer, site: Site
) -> None:
    server._ticks += 600  # the look-back does not reach the import
    answer = server.answer(task_for(server, "ann"), 2)
    site.pull(server)
    server.edit(answer, 2, "irrelevant")
    server.lose_time(task_for(server, "ann"))
    assert counts(site.pull(server)) == (0, 0, 0, 0)
    assert counts(site.pull(server, is_full=True)) == (0, 1, 0, 0)


def test_people_who_go_on_answering_are_no_reason_to_read_all_again(
    begun: FakeServer, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = FakeServer._page

    def page(self: FakeServer, params: dict[str, str]) -> httpx.Response:
        if int(params["project"]) == begun.project_of("ann") and len(begun.annotations) < 3:
            begun.answer(task_for(begun, "ann", len(begun.annotations)), 2)
        return shown(self, params)

    monkeypatch.setattr(FakeServer, "_page", page)
    begun.requests.clear()
    assert counts(site.pull(begun)) == (1, 0, 0, 0)
    assert paths_of(begun).count("/api/tasks/") == 2  # the changes of each project, and nothing whole
    assert paths_of(begun).count("/api/projects/") == 2


def test_what_the_server_counts_and_does_not_show_is_looked_for_once(begun: FakeServer, site: Site) -> None:
    begun.annotations[99] = {**begun.annotations[1], "id": 99, "task": 999, "unique_id": "lost"}
    site.pull(begun)
    begun.requests.clear()
    assert counts(site.pull(begun)) == (0, 0, 0, 0)
    assert paths_of(begun) == ["/api/projects/", "/api/tasks/", "/api/tasks/"]


def test_a_project_that_lost_its_mark_is_named_and_counts_again_with_it(
    begun: FakeServer, site: Site
) -> None:
    project = begun.projects[begun.project_of("ann")]
    mark, project["description"] = project["description"], "mine"
    (note,) = site.pull(begun).notes
    assert f"project {project['id']} (1/ann) has lost its mark" in note
    project["description"] = mark
    begun.answer(task_for(begun, "ann", 1), 2)
    pulled = site.pull(begun)
    assert (counts(pulled), pulled.notes) == ((1, 0, 0, 0), ())


def test_a_deleted_project_without_answers_is_missed_unless_its_queue_has_another(
    server: FakeServer, site: Site
) -> None:
    site.pull(server)
    number = server.project_of("bob")
    lost = server.projects.pop(number)
    (note,) = site.pull(server).notes
    assert note == f"project {number} (1/bob) was deleted, with 0 answers"
    server.projects[77] = {**lost, "id": 77, "created_at": "2026-11-21T00:00:00Z"}
    assert site.pull(server).notes == ()


def test_numbers_that_are_used_again_are_other_answers(begun: FakeServer, site: Site) -> None:
    begun.delete_annotation(FIRST)
    assert begun.answer(task_for(begun, "ann", 1), 2, "irrelevant") == FIRST
    assert counts(site.pull(begun)) == (1, 0, 1, 0)
    assert site.derived(ROUND).judgments["label"].tolist() == ["irrelevant"]


def test_a_deleted_account_keeps_its_pseudonym(begun: FakeServer, site: Site) -> None:
    begun.delete_user(2)
    assert counts(site.pull(begun, is_full=True)) == (0, 0, 0, 0)
    begun.edit(FIRST, 3, "irrelevant")
    site.pull(begun)
    assert site.derived(ROUND).judgments[["annotator_id", "label"]].values.tolist() == [["ann", "irrelevant"]]


def test_an_answer_first_seen_after_its_account_was_deleted_is_kept_under_its_number(
    server: FakeServer, site: Site
) -> None:
    answer = server.answer(task_for(server, "ann"), 2)
    server.delete_user(2)
    site.pull(server)
    judgments = site.derived(ROUND).judgments
    assert judgments["annotator_id"].tolist() == [f"deleted-{answer}"]
    assert judgments["kind"].isin(["task", "overlap"]).all()


def test_skips_escalations_comments_times_and_preselected_answers_are_told_apart(
    server: FakeServer, site: Site
) -> None:
    server.answer(task_for(server, "ann", 0), 2, None)
    server.answer(task_for(server, "ann", 1), 2, "ambiguous", more=[comment("two\nreadings")])
    server.answer(task_for(server, "ann", 2), 2, origin="prediction", lead_time=1.5)
    server.answer(task_for(server, "ann", 3), 2, more=[choice("flags", "sensitive")])
    site.pull(server)
    derived = site.derived(ROUND)
    told = derived.judgments.set_index("label")
    assert told.loc["ambiguous", "comment"] == "two / readings"
    assert set(derived.judgments["origin"]) == {"manual", "prediction"}
    assert derived.judgments.loc[derived.judgments["origin"] == "prediction", "duration_s"].tolist() == [1.5]
    assert set(derived.judgments["flags"]) == {"", "sensitive"}
    assert derived.dropped["reason"].tolist() == ["skipped"]


def test_answers_over_the_overlap_are_kept_and_told_apart(server: FakeServer, site: Site) -> None:
    task = task_for(server, "ann")
    server.answer(task, 2)
    server.answer(task, 3, "irrelevant")
    server.answer(task, 2, "irrelevant")
    site.pull(server)
    derived = site.derived(ROUND)
    by_name = derived.judgments.set_index("annotator_id")
    assert by_name.loc["bob", "kind"] == "unassigned"
    assert by_name.loc["ann", "kind"] in ("task", "overlap")
    assert by_name.loc["ann", "label"] == "irrelevant"
    assert derived.dropped["reason"].tolist() == ["superseded"]
    assert any("1 of 2 judgments were not assigned to their annotator" in note for note in derived.notes)


def test_training_and_controls_are_no_votes(site: Site) -> None:
    entry = round_of(
        tasks_of(2), ("ann",), training=tasks_of(1, prefix="t"), controls=tasks_of(1, prefix="c")
    )
    server = pushed_server(entry)
    (training,) = server.tasks_of(1)
    server.answer(training["id"], 2)
    push_round(server, entry, {("1/ann", training["data"]["pair_id"])})
    for task in server.tasks_of(1)[1:]:
        server.answer(task["id"], 2)
    site.pull(server)
    derived = site.derived(entry)
    assert len(derived.judgments) == 2
    assert sorted(derived.dropped["reason"]) == ["control", "training"]


def test_tasks_without_pair_id_are_kept_in_the_ledger_and_named(server: FakeServer, site: Site) -> None:
    project = server.project_of("ann")
    server._import(project, [{"data": {"caption": "by hand"}}, {"data": {"pair_id": "damaged"}}])
    for task in server.tasks_of(project)[-2:]:
        server.answer(task["id"], 2)
    server.answer(task_for(server, "ann"), 2)
    assert counts(site.pull(server)) == (3, 0, 0, 0)
    derived = site.derived(ROUND)
    assert len(derived.judgments) == 1
    assert derived.dropped["reason"].tolist() == ["no_pair", "no_pair"]
    assert any("2 answers belong to tasks without pair_id" in note for note in derived.notes)
    answers = [json.loads(text) for text in site.ledger()["answer"]]
    assert {"caption": "by hand"} in [answer.get("task_data") for answer in answers]


def test_a_changed_page_stops_the_pull_before_anything_is_read(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "ann"), 2)
    project = server.projects[server.project_of("bob")]
    project["label_config"] = project["label_config"].replace("$video", "$clip")
    with pytest.raises(
        ServerError, match=r'gone: <HyperText .*value="\$video">; new: <HyperText .*value="\$clip">'
    ):
        site.pull(server)
    assert len(site.ledger()) == 0


def test_tasks_without_their_answers_are_no_deletion(
    begun: FakeServer, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown = FakeServer._shown
    monkeypatch.setattr(
        FakeServer, "_shown", lambda self, task, params: shown(self, task, {**params, "fields": ""})
    )
    with pytest.raises(ServerError, match="tasks without their answers"):
        site.pull(begun, is_full=True)
    assert states(site) == {"answered": 1}


def test_the_ledger_holds_no_email_and_nothing_that_was_not_asked_for(server: FakeServer, site: Site) -> None:
    server.answer(task_for(server, "ann"), 2, completed_by={"id": 2, "email": "jo@example.org"})
    site.pull(server)
    text = site.ledger().to_csv()
    assert "jo@example.org" not in text
    assert "never shown" not in text
    assert site.ledger()["annotator_id"].tolist() == ["ann"]


def export_of(server: FakeServer) -> list[dict[str, object]]:
    answered = {found["task"] for found in server.annotations.values()}
    return [server._shown(server.tasks[task], {"fields": "all"}) for task in sorted(answered)]


def test_an_export_goes_into_the_ledger_by_the_same_code(
    server: FakeServer, site: Site, tmp_path: Path
) -> None:
    server.answer(task_for(server, "ann"), 2)
    server.answer(task_for(server, "bob"), 3, None)
    export = export_of(server)
    path = tmp_path / "x.json"
    path.write_text(json.dumps(export))
    files = Folder(tmp_path, GUIDELINE, exports=[path], names=NAMES)
    first, again = (files.fetch(None, [ROUND], site.folder) for _ in range(2))
    assert (counts(first), counts(again)) == ((2, 0, 0, 0), (0, 0, 0, 0))
    derived = site.derived(ROUND)
    direct = judgments_from_export([("x", export)], guideline=GUIDELINE)
    columns = ["query_id", "doc_id", "label", "duration_s", "origin", "created_at"]
    pd.testing.assert_frame_equal(direct.judgments[columns], derived.judgments[columns])
    assert derived.judgments["kind"].isin(["task", "overlap"]).all()
    assert counts(site.pull(server)) == (0, 0, 0, 0)  # the same versions, by their unique ids


@pytest.mark.parametrize("content", [{}, [1], [{"data": {}}], [{"annotations": [{}]}]])
def test_what_is_no_export_is_refused(site: Site, tmp_path: Path, content: object) -> None:
    path = tmp_path / "x.json"
    path.write_text(json.dumps(content))
    with pytest.raises(FormatError, match=r"x\.json"):
        Folder(tmp_path, GUIDELINE, exports=[path]).fetch(None, [ROUND], site.folder)
    assert not site.folder.exists()


def busy_server() -> FakeServer:
    server = pushed_server()
    for name, user in (("ann", 2), ("bob", 3)):
        for place in range(5):
            server.answer(task_for(server, name, place), user)
    server.edit(1, 3, "irrelevant")
    return server


def meaning(folder: Path) -> pd.DataFrame:
    columns = ["annotation", "updated_at", "state", "pair_id", "queue", "annotator_id", "answer"]
    return read_ledger(folder)[columns]


@pytest.mark.parametrize("step", some([4, 1], 1))
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_request_the_next_pull_goes_on(
    tmp_path: Path, after: bool, step: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed at every fourth request, before it or after the one two later; a thorough run has all."""
    monkeypatch.setattr(api_module.Api, "page_size", 3)
    whole = Site(tmp_path / "whole")
    server = busy_server()
    whole.pull(server)
    n_requests = len(server.requests)
    assert n_requests > 8
    for place in range(1 + 2 * after % step, n_requests + 1, step):
        site = Site(tmp_path / str(place))
        server = busy_server()
        server.kill_at, server.kill_after = place, after
        with pytest.raises(Killed):
            site.pull(server)
        server.kill_at = None
        site.pull(server)
        pd.testing.assert_frame_equal(meaning(whole.folder), meaning(site.folder))


Steps = st.lists(
    st.tuples(
        st.sampled_from(["answer", "edit", "delete", "delete_task", "skip", "pull", "full"]),
        st.integers(0, 9),
    ),
    max_size=12,
)


def act(server: FakeServer, what: str, which: int) -> None:
    tasks, answers = sorted(server.tasks), sorted(server.annotations)
    if what in ("answer", "skip") and tasks:
        server.answer(tasks[which % len(tasks)], 2 + which % 2, None if what == "skip" else "relevant")
    if what == "edit" and answers:
        server.edit(answers[which % len(answers)], 3, "irrelevant")
    if what == "delete" and answers:
        server.delete_annotation(answers[which % len(answers)])
    if what == "delete_task" and len(tasks) > 1:
        server.delete_task(tasks[which % len(tasks)])


def pull_until_done(site: Site, server: FakeServer, *, is_full: bool) -> None:
    for _ in range(60):
        try:
            site.pull(server, is_full=is_full)
        except ServerError:
            continue
        return
    raise AssertionError("the pull never ended")


@pytest.mark.slow
@given(Steps, st.lists(st.sampled_from(FAULTS), max_size=15))
@settings(max_examples=examples(25))
def test_whatever_happens_every_version_that_was_seen_is_in_the_ledger_once(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]], faults: list[str]
) -> None:
    site = Site(tmp_path_factory.mktemp("site"))
    server = pushed_server()
    server.faults = list(faults)
    for what, which in steps:
        if what in ("pull", "full"):
            pull_until_done(site, server, is_full=what == "full")
        else:
            act(server, what, which)
    server.faults = []
    site.pull(server, is_full=True)
    latest = latest_answers(site.ledger())
    there = latest[latest["state"] != DELETED]
    expected = {
        (found["unique_id"], found["updated_at"], found["completed_by"])
        for found in server.annotations.values()
    }
    found = {
        (row.annotation, row.updated_at, json.loads(row.answer)["completed_by"]) for row in there.itertuples()
    }
    assert found == expected
    assert not latest["annotation"].duplicated().any()


def test_answers_of_a_project_whose_number_another_one_has_now_are_kept_too(
    server: FakeServer, site: Site
) -> None:
    server.answer(task_for(server, "bob"), 3)
    site.pull(server)
    number = server.project_of("bob")
    for task in server.tasks_of(number):
        server.delete_task(task["id"])
    del server.projects[number]
    push_round(server, ROUND)
    assert server.project_of("bob") == number
    server.answer(task_for(server, "bob", 3), 3, "irrelevant")
    for is_full in (False, True):
        pulled = site.pull(server, is_full=is_full)
        assert pulled.counts["deleted"] == 0
        assert f"project {number} (1/bob) was deleted, with 1 answer" in pulled.notes[0]
    assert len(site.derived(ROUND).judgments) == 2
    assert counts(site.pull(server, is_full=True, accepts_loss=True)) == (0, 0, 1, 0)
    assert site.derived(ROUND).judgments["label"].tolist() == ["irrelevant"]
    assert site.pull(server, is_full=True).notes == ()


def test_a_project_that_is_deleted_while_it_is_read_takes_no_answers_along(
    server: FakeServer, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answer(task_for(server, "bob"), 3)
    site.pull(server)
    number = server.project_of("bob")
    shown = FakeServer._page

    def page(self: FakeServer, params: dict[str, str]) -> httpx.Response:
        if int(params["project"]) == number and number in server.projects:
            for task in server.tasks_of(number):
                server.delete_task(task["id"])
            del server.projects[number]
        return shown(self, params)

    monkeypatch.setattr(FakeServer, "_page", page)
    assert counts(site.pull(server, is_full=True)) == (0, 0, 0, 0)
    assert "was deleted, with 1 answer" in site.pull(server).notes[0]
    assert len(site.derived(ROUND).judgments) == 1
