"""push sends nothing that nobody can see, and brings what changed to those who have not answered."""

import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from command import as_json, given, run
from fake_api import FakeServer, Killed

from examples import some
from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.campaign.records import Rounds

PUSH = ("push", "--annotator", "A02,A03")
HOST = "http://media.test"
N_PAIRS = 8


@pytest.fixture(autouse=True)
def tasks(root: Path) -> None:
    run("tasks", "--overlap", "0.5")


def make_tasks(url_of: Callable[[int], str]) -> None:
    items = "".join(f"v{n}\t{url_of(n)}\n" for n in range(8))
    Path("collection/items.tsv").write_text("doc_id\tmedia_url\n" + items)
    if not given(Path()):
        Path("tasks/tasks.json").unlink(missing_ok=True)
    run("tasks", "--overlap", "0.5")


def refused(*words: object) -> str:
    """Return the one line of error of a command."""
    output = run(*words, code=1).output
    (line,) = [line for line in output.splitlines() if line.startswith("error: ")]
    return line


def nothing_was_written(server: FakeServer) -> bool:
    sent = {request.method for request in server.requests} - {"GET"}
    return not server.projects and not sent and not given(Path())


@pytest.mark.parametrize("url", ["media/clip.webm", "/data/videos/clip.webm", "clip", "file:///clip.webm"])
def test_what_no_browser_can_open_is_refused_with_its_task(server: FakeServer, url: str) -> None:
    make_tasks(lambda n: url if n == 3 else f"{HOST}/v{n}.mp4")
    line = refused(*PUSH)
    assert f"error: 1 of 8 tasks cannot be shown (q3 v3: {url!r})" in line
    assert "`media serve` gives files addresses" in line
    assert nothing_was_written(server)
    assert server.media_asked == []


def test_every_file_is_asked_for_before_anything_is_created(server: FakeServer) -> None:
    server.media_faults = {f"{HOST}/v2.mp4": 404, f"{HOST}/v5.mp4": 500}
    line = refused(*PUSH)
    assert "2 of 8 items cannot be seen" in line
    assert f"q2 v2: {HOST}/v2.mp4 answers 404" in line
    assert sorted(server.media_asked) == [f"{HOST}/v{n}.mp4" for n in range(8)]
    assert nothing_was_written(server)
    server.media_faults = {}
    assert as_json(*PUSH)["added"] == 12


def test_a_sample_is_asked_or_nothing_and_the_output_says_so(server: FakeServer) -> None:
    run(*PUSH, "--check-media", "3", "--dry-run")
    assert server.media_asked == []
    told = run(*PUSH, "--check-media", "3").stderr
    assert "note: 3 of 8 items asked, drawn at random; all of them answer" in told
    assert len(server.media_asked) == 3 + 2  # and one item of each project, as its page opens it
    server.media_asked.clear()
    server.delete_task(1)
    told = run("push", "--check-media", "0").stderr
    assert "note: nobody has looked whether annotators can see the 1 item (--check-media 0)" in told
    assert server.media_asked == []


def test_an_item_of_each_project_is_opened_by_the_server_s_own_way(server: FakeServer) -> None:
    make_tasks(lambda n: f"/data/local-files/?d=clips/v{n}.mp4")
    line = refused(*PUSH)
    unseen = "the tasks are there, but the first item cannot be seen in 2 of 2 projects (project 1 (1/A02)"
    for words in (unseen, "/data/local-files/?d=clips/v", "answers 404", "add the storage of"):
        assert words in line
    assert len(server.tasks) == 12
    server.local_files = True
    run("push")


def test_a_bucket_without_a_storage_is_named(server: FakeServer) -> None:
    make_tasks(lambda n: f"s3://bucket/v{n}.mp4")
    assert ".mp4: the project has no storage that shows it" in refused(*PUSH)


def test_changed_tasks_are_updated_where_nobody_has_answered(server: FakeServer) -> None:
    run(*PUSH)
    before = {number: task["data"]["pair_id"] for number, task in server.tasks.items()}
    queues = given(Path())
    make_tasks(lambda n: f"{HOST}/{'new' if n < 2 else 'v'}{n}.mp4")
    server.media_asked.clear()
    counts = as_json("push")
    n_changed = sum(pair in (pair_id("q0", "v0"), pair_id("q1", "v1")) for pair in before.values())
    assert (counts["added"], counts["there"], counts["updated"]) == (0, 12, n_changed)
    assert n_changed >= 2
    assert {number: task["data"]["pair_id"] for number, task in server.tasks.items()} == before
    shown = {task["data"]["pair_id"]: task["data"]["video"] for task in server.tasks.values()}
    assert shown[pair_id("q0", "v0")] == f"{HOST}/new0.mp4"
    assert shown[pair_id("q2", "v2")] == f"{HOST}/v2.mp4"
    assert {f"{HOST}/new0.mp4", f"{HOST}/new1.mp4"} <= set(server.media_asked)
    assert set(Rounds(Path())[0].tasks["media_url"]) == set(shown.values())
    assert given(Path()) == queues
    assert as_json("push")["updated"] == 0


@pytest.mark.parametrize("label", some(["relevant", None], 1), ids=["answered", "skipped"])
def test_a_changed_task_that_was_answered_is_refused_by_name(server: FakeServer, label: str | None) -> None:
    run(*PUSH)
    task = next(n for n, found in server.tasks.items() if found["data"]["pair_id"] == pair_id("q1", "v1"))
    server.answer(task, 2, label)
    make_tasks(lambda n: f"{HOST}/new{n}.mp4")
    tasks, shown = json.dumps(server.tasks), Rounds(Path())[0].tasks.to_csv()
    line = refused("push")
    assert "12 tasks have another caption or media_url now, and 1 of them were answered already" in line
    assert ": q1 v1)" in line
    assert json.dumps(server.tasks) == tasks
    assert Rounds(Path())[0].tasks.to_csv() == shown


def test_tasks_of_other_pairs_are_not_sent_in_the_name_of_a_round(server: FakeServer) -> None:
    run(*PUSH)
    Path("tasks/tasks.json").unlink()
    Path("pool/pool.csv").write_text("query_id,doc_id\nq1,v1\n")
    run("tasks", "--out", "tasks/tasks.json")
    words = run("push").stderr
    assert "note: tasks/tasks.json has other pairs than round 1, which has begun; it is not sent" in words


@pytest.mark.slow
def test_killed_at_any_request_of_an_update_the_next_push_goes_on(server: FakeServer) -> None:
    run(*PUSH)
    for round_number in range(1, 30):
        prefix = f"new{round_number}-"
        make_tasks(lambda n, prefix=prefix: f"{HOST}/{prefix}{n}.mp4")
        server.kill_at, server.kill_after = len(server.requests) + round_number, bool(round_number % 2)
        is_over = False
        with suppress(Killed):
            run("push")
            is_over = True
        server.kill_at = None
        run("push")
        shown = {task["data"]["video"] for task in server.tasks.values()}
        assert shown == {f"{HOST}/{prefix}{n}.mp4" for n in range(8)}
        if is_over:
            return
    pytest.fail("a push of 12 tasks took 30 requests")
