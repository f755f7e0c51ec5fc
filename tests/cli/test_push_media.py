"""push sends nothing that nobody can see, and brings what changed to those who have not answered."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from command import Fire, begin_workspace, given

sys.path.insert(0, str(Path(__file__).parents[1] / "labelstudio"))

from fake_api import FakeServer, Killed

from fire_toolkit.campaign.records import read_rounds
from fire_toolkit.campaign.tasks import pair_id

PUSH = ("push", "--annotator", "A02", "--annotator", "A03")
HOST = "http://media.test"


@pytest.fixture
def site(fire: Fire, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = begin_workspace(tmp_path / "site", 8)
    monkeypatch.chdir(root)
    fire("tasks", "--overlap", "0.5")
    return root


def make_tasks(fire: Fire, root: Path, url_of: Callable[[int], str]) -> None:
    items = "".join(f"v{n}\t{url_of(n)}\n" for n in range(8))
    (root / "collection" / "items.tsv").write_text("doc_id\tmedia_url\n" + items)
    if not given(root):
        (root / "tasks" / "tasks.json").unlink(missing_ok=True)
    fire("tasks", "--overlap", "0.5")


def error_of(result: Result) -> str:
    (line,) = [line for line in result.output.splitlines() if line.startswith("error: ")]
    return line


def nothing_was_written(server: FakeServer, root: Path) -> bool:
    sent = {request.method for request in server.requests} - {"GET"}
    return not server.projects and not sent and not given(root)


@pytest.mark.parametrize("url", ["media/clip.webm", "/data/videos/clip.webm", "clip", "file:///clip.webm"])
def test_what_no_browser_can_open_is_refused_with_its_task(
    fire: Fire, site: Path, server: FakeServer, url: str
) -> None:
    make_tasks(fire, site, lambda n: url if n == 3 else f"{HOST}/v{n}.mp4")
    line = error_of(fire(*PUSH, code=1))
    assert f"error: 1 of 8 tasks cannot be shown to annotators (q3 v3: {url!r})" in line
    assert "`fire-toolkit media serve` gives files addresses" in line
    assert nothing_was_written(server, site)
    assert server.media_asked == []


def test_every_file_is_asked_for_before_anything_is_created(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    server.media_faults = {f"{HOST}/v2.mp4": 404, f"{HOST}/v5.mp4": 500}
    line = error_of(fire(*PUSH, code=1))
    assert "annotators would see nothing in 2 of 8 items" in line
    assert f"q2 v2: {HOST}/v2.mp4 answers 404" in line
    assert sorted(server.media_asked) == [f"{HOST}/v{n}.mp4" for n in range(8)]
    assert nothing_was_written(server, site)
    server.media_faults = {}
    assert json.loads(fire(*PUSH, "--format", "json").stdout)["added"] == 12


def test_a_sample_is_asked_or_nothing_and_the_output_says_so(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    words = fire(*PUSH, "--check-media", "3", "--dry-run").stderr
    assert server.media_asked == []
    words = fire(*PUSH, "--check-media", "3").stderr
    assert "note: 3 of 8 items asked, drawn at random; all of them answer" in words
    assert len(server.media_asked) == 3 + 2  # and one item of each project, as its page opens it
    server.media_asked.clear()
    server.delete_task(1)
    words = fire("push", "--check-media", "0").stderr
    assert "note: nobody has looked whether annotators can see the 1 item (--check-media 0)" in words
    assert server.media_asked == []


def test_an_item_of_each_project_is_opened_by_the_server_s_own_way(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    make_tasks(fire, site, lambda n: f"/data/local-files/?d=clips/v{n}.mp4")
    line = error_of(fire(*PUSH, code=1))
    assert (
        "the tasks are there, but the first item cannot be seen in 2 of 2 projects (project 1 (1/A02)" in line
    )
    assert "/data/local-files/?d=clips/v" in line
    assert "answers 404" in line
    assert "add its storage in the project's settings" in line
    assert len(server.tasks) == 12
    server.local_files = True
    assert fire("push").exit_code == 0


def test_a_bucket_without_a_storage_is_named(fire: Fire, site: Path, server: FakeServer) -> None:
    make_tasks(fire, site, lambda n: f"s3://bucket/v{n}.mp4")
    assert ".mp4: the project has no storage that shows it" in error_of(fire(*PUSH, code=1))


def test_changed_tasks_are_updated_where_nobody_has_answered(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    fire(*PUSH)
    before = {number: task["data"]["pair_id"] for number, task in server.tasks.items()}
    queues = given(site)
    make_tasks(fire, site, lambda n: f"{HOST}/{'new' if n < 2 else 'v'}{n}.mp4")
    server.media_asked.clear()
    counts = json.loads(fire("push", "--format", "json").stdout)
    n_changed = sum(pair in (pair_id("q0", "v0"), pair_id("q1", "v1")) for pair in before.values())
    assert (counts["added"], counts["there"], counts["updated"]) == (0, 12, n_changed)
    assert n_changed >= 2
    assert {number: task["data"]["pair_id"] for number, task in server.tasks.items()} == before
    shown = {task["data"]["pair_id"]: task["data"]["video"] for task in server.tasks.values()}
    assert shown[pair_id("q0", "v0")] == f"{HOST}/new0.mp4"
    assert shown[pair_id("q2", "v2")] == f"{HOST}/v2.mp4"
    assert {f"{HOST}/new0.mp4", f"{HOST}/new1.mp4"} <= set(server.media_asked)
    assert set(read_rounds(site)[0].tasks["media_url"]) == set(shown.values())
    assert given(site) == queues
    assert json.loads(fire("push", "--format", "json").stdout)["updated"] == 0


@pytest.mark.parametrize("label", ["relevant", None], ids=["answered", "skipped"])
def test_a_changed_task_that_was_answered_is_refused_by_name(
    fire: Fire, site: Path, server: FakeServer, label: str | None
) -> None:
    fire(*PUSH)
    task = next(n for n, found in server.tasks.items() if found["data"]["pair_id"] == pair_id("q1", "v1"))
    server.answer(task, 2, label)
    make_tasks(fire, site, lambda n: f"{HOST}/new{n}.mp4")
    tasks, shown = json.dumps(server.tasks), read_rounds(site)[0].tasks.to_csv()
    line = error_of(fire("push", code=1))
    assert "12 tasks on the server have another caption or media_url, and 1 of them were answered" in line
    assert ": q1 v1)" in line
    assert json.dumps(server.tasks) == tasks
    assert read_rounds(site)[0].tasks.to_csv() == shown


def test_tasks_of_other_pairs_are_not_sent_in_the_name_of_a_round(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    fire(*PUSH)
    (site / "tasks" / "tasks.json").unlink()
    (site / "pool" / "pool.csv").write_text("query_id,doc_id\nq1,v1\n")
    fire("tasks", "--out", "tasks/tasks.json")
    words = fire("push").stderr
    assert "note: tasks/tasks.json has other pairs than round 1, which has begun; it is not sent" in words


@pytest.mark.slow
def test_killed_at_any_request_of_an_update_the_next_push_goes_on(
    fire: Fire, site: Path, server: FakeServer
) -> None:
    fire(*PUSH)
    urls = [f"{HOST}/v{n}.mp4" for n in range(8)]
    for round_number in range(1, 30):
        prefix = f"new{round_number}-"
        make_tasks(fire, site, lambda n, prefix=prefix: f"{HOST}/{prefix}{n}.mp4")
        server.kill_at, server.kill_after = len(server.requests) + round_number, bool(round_number % 2)
        try:
            fire("push")
            is_over = True
        except Killed:
            is_over = False
        server.kill_at = None
        fire("push")
        urls = [f"{HOST}/{prefix}{n}.mp4" for n in range(8)]
        assert {task["data"]["video"] for task in server.tasks.values()} == set(urls)
        if is_over:
            return
    pytest.fail("a push of 12 tasks took 30 requests")
