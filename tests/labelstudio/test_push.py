"""A push makes every task be on the server once, whatever goes wrong; what a campaign keeps here."""

import json
import re
from dataclasses import replace
from pathlib import Path

import httpx
import pandas.testing as pdt
import pytest
from campaigns import CAMPAIGN, GUIDELINE, make_api, pairs_of, push_round, round_of, tasks_of
from fake_api import FAULTS, TOKEN, URL, FakeServer, Killed
from hypothesis import example, given, settings
from hypothesis import strategies as st

from examples import cases, examples, some
from fire_toolkit.campaign.records import QueueName, Round, Rounds, queue_named, write_campaign, write_rounds
from fire_toolkit.campaign.task_files import read_task_files
from fire_toolkit.campaign.task_json import tasks_to_json
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.guidelines.instructions import instructions_html
from fire_toolkit.labelstudio import push as pushing
from fire_toolkit.labelstudio.api import Api, CallFailed
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.places import marked_queue, project_mark, project_settings
from fire_toolkit.labelstudio.push import Plan

ROUND = round_of(tasks_of(12, overlap=0.5))


def push(server: FakeServer, entry: Round = ROUND, done: set[tuple[str, str]] | None = None) -> list[Plan]:
    return push_round(server, entry, done)


@pytest.fixture
def pushed() -> FakeServer:
    """A server on which the round is."""
    server = FakeServer()
    push(server)
    return server


def push_until_done(server: FakeServer, limit: int = 60) -> None:
    for _ in range(limit):
        try:
            push(server)
        except ServerError:
            continue
        if not server.faults:
            return
    raise AssertionError("the push never ended")


def assert_all_there_once(server: FakeServer, entry: Round = ROUND) -> None:
    queues = {name: pairs_of(entry.assignments, name) for name in entry.assignments["annotator_id"]}
    assert len(server.projects) == len(queues)
    for name, pairs in queues.items():
        assert server.keys_of(server.project_of(name)) == dict.fromkeys(pairs, 1)


def assert_in_order(server: FakeServer) -> None:
    for name in ("ann", "bob"):
        keys = [task["data"]["pair_id"] for task in server.tasks_of(server.project_of(name))]
        assert keys == pairs_of(ROUND.assignments, name)


def test_each_annotator_gets_a_blind_project_with_the_queue_in_its_order() -> None:
    server = FakeServer()
    assert [(str(p.queue), p.n_added, p.n_there) for p in push(server)] == [("1/ann", 9, 0), ("1/bob", 9, 0)]
    assert_in_order(server)
    for project in server.projects.values():
        assert (project["show_collab_predictions"], project["enable_empty_annotation"]) == (False, False)
        assert (project["maximum_annotations"], project["sampling"]) == (1, "Sequential sampling")
        assert project["label_config"] == GUIDELINE.label_config
        assert "<h1>Does the caption describe the video?</h1>" in project["expert_instruction"]
    asked = [f"{request.method} {request.url.path}" for request in server.requests]
    own = {number: f"/api/projects/{number}/" for number in server.projects}
    sent = [["POST /api/projects/", f"POST {each}import", f"GET {each}"] for each in own.values()]
    assert asked == ["GET /api/projects/", *sent[0], *sent[1]]  # and nothing else


def test_only_what_is_missing_is_added(pushed: FakeServer) -> None:
    for task in pushed.tasks_of(pushed.project_of("ann"))[2:5]:
        pushed.delete_task(task["id"])
    assert [(p.n_added, p.n_there) for p in push(pushed)] == [(3, 6), (0, 9)]
    assert_all_there_once(pushed)


def test_a_changed_page_stops_the_push(pushed: FakeServer) -> None:
    project = pushed.projects[pushed.project_of("ann")]
    project["label_config"] = project["label_config"].replace('value="ambiguous"', 'value="maybe"')
    with pytest.raises(
        ServerError, match=r"changed on the server.*guideline caption-relevance-v1 --part config"
    ) as caught:
        push(pushed)
    assert caught.value.exit_code == 3


def test_a_rewritten_page_that_says_the_same_is_no_change(pushed: FakeServer) -> None:
    project = pushed.projects[pushed.project_of("ann")]
    project["label_config"] = project["label_config"].replace("\n", "\n\n  ").replace("\n\n  ", " ", 1)
    assert len(push(pushed)) == 2


@pytest.mark.parametrize("fault", [fault for fault in FAULTS if fault != "ok"])
@pytest.mark.parametrize("place", some([0, 3, 1, 2, *range(4, 16)], 2))
def test_one_fault_anywhere_changes_nothing(fault: str, place: int) -> None:
    """Not even where the page of another project comes back in place of this one's."""
    server = FakeServer()
    server.faults = ["ok"] * place + [fault]
    push(server)
    assert_all_there_once(server)


@given(st.lists(st.sampled_from(FAULTS), max_size=25))
@settings(max_examples=examples(60))
def test_whatever_the_faults_every_task_is_there_once(faults: list[str]) -> None:
    server = FakeServer()
    server.faults = list(faults)
    push_until_done(server)
    push(server)
    assert_all_there_once(server)


def test_a_project_found_after_a_doubtful_creation_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    server = FakeServer()
    entry = round_of(tasks_of(5), ("ann",))

    def create_too_late(self: Api, *call: object, **content: object) -> int:
        monkeypatch.undo()
        push(server, entry)  # somebody else's
        raise CallFailed("no answer in time", may_pass=True)

    monkeypatch.setattr(Api, "write", create_too_late)
    assert [(p.n_added, p.n_there) for p in push(server, entry)] == [(0, 5)]
    assert_all_there_once(server, entry)


def test_what_the_server_carried_out_again_by_itself_is_asked_once_or_named() -> None:
    """Label Studio does so where its SQLite was locked in the middle, and answers as if nothing was."""
    server, entry = FakeServer(), round_of(tasks_of(5), ("ann",))
    server.faults = ["ok", "again"]  # two projects, of which the tasks go to the second
    assert [(p.project, p.n_added) for p in push(server, entry)] == [(2, 5)]
    (again,) = push(server, entry)
    assert (again.project, again.n_added, again.twins, server.keys_of(1)) == (2, 0, (1,), {})
    server, keys = FakeServer(), dict.fromkeys(pairs_of(entry.assignments, "ann"), 2)
    server.faults = ["ok", "ok", "again"]  # each task twice
    assert [p.duplicates for _ in range(2) for p in push(server, entry)] == [keys] * 2


def test_a_look_that_shows_fewer_tasks_than_there_are_adds_nothing(
    pushed: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Api, "sweep", lambda *call, **content: iter([]))
    with pytest.raises(ServerError, match="project 1 has 9 tasks, but 0 are shown"):
        push(pushed)
    assert_all_there_once(pushed)


def test_tasks_are_sent_to_the_letter_and_a_refusal_is_told_in_the_server_s_words() -> None:
    asked: list[httpx.Request] = []

    def refuse(request: httpx.Request) -> httpx.Response:
        asked.append(request)
        return httpx.Response(400, json={"detail": "Validation error", "validation_errors": ["no video"]})

    tasks = [{"data": {"caption": '"é" 🙂 <b>', "pair_id": "q1|v1"}}]
    api = Api(Connection(URL, TOKEN, transport=httpx.MockTransport(refuse)))
    with api, pytest.raises(ServerError, match=r"POST .*/api/projects/7/import: 400: .*no video"):
        api.write("POST", "api/projects/7/import", json=tasks)
    assert json.loads(asked[0].content) == tasks
    assert asked[0].headers["content-type"] == "application/json"


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_at_any_request_the_next_push_goes_on(after: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pushing, "BATCH_SIZE", 4)
    complete = FakeServer()
    push(complete)
    for place in range(1, len(complete.requests) + 1):
        server = FakeServer()
        server.kill_at, server.kill_after = place, after
        with pytest.raises(Killed):
            push(server)
        push(server)
        assert_all_there_once(server)
        assert_in_order(server)


def test_a_server_that_fails_for_good_is_named_and_nothing_is_doubled() -> None:
    server = FakeServer()
    push(server, Round(1, ROUND.tasks, ROUND.assignments.head(0), ROUND.controls))
    server.faults = ["ok", "ok", *["500-after"] * 200]
    with pytest.raises(ServerError, match=r"/api/.*: 500: the server failed"):
        push(server)
    server.faults = []
    push(server)
    assert_all_there_once(server)


def test_what_was_answered_is_not_asked_again_when_its_project_is_gone() -> None:
    entry, server = round_of(tasks_of(10)), FakeServer()
    push(server, entry)
    done = {("1/ann", pair) for pair in pairs_of(entry.assignments, "ann")[:2]}
    del server.projects[server.project_of("ann")]
    pushed = {str(p.queue): p for p in push(server, entry, done)}
    assert sorted(server.keys_of(server.project_of("ann"))) == sorted(pairs_of(entry.assignments, "ann")[2:])
    assert pushed["1/ann"].n_there == 2
    assert [p.n_added for p in push(server, entry, done)] == [0, 0]


def test_nothing_that_is_sent_tells_where_a_pair_comes_from() -> None:
    tasks = tasks_of(8, overlap=0.5)
    controls = {"training": tasks_of(2, prefix="t"), "controls": tasks_of(2, prefix="c")}
    entry = round_of(tasks, **controls)
    told = tasks.assign(best_rank=range(len(tasks)), n_runs=3, is_original=True, score=0.5)
    servers = FakeServer(), FakeServer()
    done = {(f"1/{name}", pair) for name in ("ann", "bob") for pair in pairs_of(entry.assignments, name)[:2]}
    for server, each in zip(servers, (entry, round_of(told, **controls)), strict=True):
        push(server, each)  # the training
        push(server, each, done)
    assert servers[0].bodies == servers[1].bodies
    made = [body for body in servers[0].bodies if isinstance(body, dict)]
    imported = [body for body in servers[0].bodies if isinstance(body, list)]
    assert (len(made), [len(body) for body in imported][:2]) == (2, [2, 2])
    settings = set(project_settings(CAMPAIGN, QueueName(1, "ann"), GUIDELINE))
    for body in made:
        assert set(body) == settings
        name = body["title"].split()[0]
        assert body["description"] == f"fire-toolkit campaign k1 round 1 queue {name}"
        assert body["title"] == f"{name} · round 1 · caption-relevance-v1"
    for body in imported:
        assert {tuple(task) for task in body} == {("data",)}
        assert {tuple(sorted(task["data"])) for task in body} == {("caption", "pair_id", "video")}
    sent, tasks_sent = json.dumps(servers[0].bodies), json.dumps(imported)
    sent = sent.replace(json.dumps(GUIDELINE.label_config)[1:-1], "")
    words = ["training", "control", "overlap", "adjudication", "score", "original", "is_original", "run_id"]
    assert [word for word in words if word in tasks_sent] == []
    assert [x for x in (*entry.tasks["query_id"], *entry.tasks["doc_id"]) if f'"{x}"' in sent] == []


def test_a_long_address_is_asked_for_in_smaller_portions() -> None:
    server = FakeServer(url_limit=2_000)
    entry = round_of(tasks_of(120), ("ann",))
    push(server, entry)
    keys = pairs_of(entry.assignments, "ann")
    found = {task["data"]["pair_id"] for task in make_api(server).tasks_with_keys(1, keys)}
    assert found == set(keys)
    assert make_api(server).tasks_with_keys(1, ["unknown"]) == []


@example(["ok", "replay"])
@given(st.lists(st.sampled_from(["ok", "replay", "shuffle", "repeat-rows", "500", "drop"]), max_size=5))
@settings(max_examples=examples(40))
def test_a_sweep_sees_every_task_whatever_the_pages_look_like(faults: list[str]) -> None:
    server = FakeServer()
    push(server, round_of(tasks_of(23), ("ann",)))
    server.faults = list(faults)
    api = make_api(server)
    api.page_size = 4
    pages = api.sweep(1, include=("id",))
    assert {task["id"] for page in pages for task in page} == set(range(1, 24))


def test_pages_that_never_add_up_are_an_error() -> None:
    server = FakeServer()
    push(server, round_of(tasks_of(10), ("ann",)))

    class Lying(FakeServer):
        def _page(self, params: object) -> httpx.Response:
            response = server._page(params)  # type: ignore[arg-type]
            return httpx.Response(
                200, json={**response.json(), "total": 99, "tasks": response.json()["tasks"][:3]}
            )

    with pytest.raises(ServerError, match="reports 99 such tasks, but its pages have 10"):
        list(make_api(Lying()).sweep(1, include=("id",)))


def test_round_and_campaign_are_read_as_they_were_written(tmp_path: Path) -> None:
    entry = round_of(tasks_of(5, overlap=0.4), controls=tasks_of(2, prefix="c"))
    assert (list(Rounds(tmp_path)), Rounds(tmp_path).campaign) == ([], None)
    for _ in range(2):
        write_rounds(tmp_path, entry)
        write_campaign(tmp_path, CAMPAIGN)
    (found,) = Rounds(tmp_path)
    for one, other in ((entry.tasks, found.tasks), (entry.assignments, found.assignments)):
        order = ["position", "pair_id"]
        pdt.assert_frame_equal(*(each.sort_values(order).reset_index(drop=True) for each in (one, other)))
    assert found.controls["relevance"].tolist() == [1, 1]
    assert Rounds(tmp_path).campaign == CAMPAIGN
    with pytest.raises(UsageError, match="another campaign has already begun here"):
        write_campaign(tmp_path, replace(CAMPAIGN, key="k2"))


def test_a_project_is_known_by_its_campaigns_mark_only() -> None:
    queue = QueueName(2, "A01")
    mark = project_mark(CAMPAIGN, queue)
    for words in (mark, f"Our notes. {mark}", f"{mark} and more"):
        assert marked_queue(CAMPAIGN, {"description": words}) == queue
    assert marked_queue(replace(CAMPAIGN, key="other"), {"description": mark}) is None
    assert marked_queue(CAMPAIGN, {"description": None}) is None
    assert queue_named(str(queue)) == queue
    assert [queue_named(text) for text in ("", "A01", "x/A01", "1/")] == [None] * 4


def test_titles_fit_label_studios_fifty_letters() -> None:
    assert len(project_settings(CAMPAIGN, QueueName(1, "A" * 60), GUIDELINE)["title"]) == 50


def test_the_whole_guideline_reaches_the_annotators() -> None:
    html, text = instructions_html(GUIDELINE.text), GUIDELINE.text
    for label in GUIDELINE.labels:
        assert f"<code>{label.name}</code>" in html
    assert (html.count("<tr>"), html.count("<h2>")) == (text.count("\n| "), text.count("\n## "))
    assert html.count("<li>") == len(re.findall(r"^(?:-|1?\d\.) ", text, re.M))


def test_markup_in_a_guideline_is_shown_and_not_obeyed() -> None:
    shown = "<p>a &lt;script&gt;b&lt;/script&gt; &amp; <code>&lt;i&gt;</code></p>"
    assert instructions_html("a <script>b</script> & `<i>`") == shown
    assert instructions_html("") == ""


def test_task_files_are_read_as_they_were_written(tmp_path: Path) -> None:
    tasks, path = tasks_of(5, overlap=0.4), tmp_path / "t.json"
    batches = tasks_to_json(tasks, GUIDELINE)
    path.write_text(json.dumps(batches[1]))
    (tmp_path / "t.overlap.json").write_text(json.dumps(batches[2]))
    pdt.assert_frame_equal(tasks, read_task_files(path, GUIDELINE))
    assert set(read_task_files(path, GUIDELINE, with_overlap=False)["batch"]) == {1}


@cases("content", "message")
def test_other_files_are_refused(tmp_path: Path, content: object, message: str) -> None:
    (tmp_path / "t.json").write_text(json.dumps(content) if content is not None else "[{")
    with pytest.raises(FireError, match=message):
        read_task_files(tmp_path / "t.json", GUIDELINE)
