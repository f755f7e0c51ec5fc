"""Keys and seconds per judgment in a real browser, on Label Studio's pages and on our own.

    FIRE_LIVE=1 python benchmarks/page.py [--tasks 20]

Needs chromium and chromedriver, and installs Label Studio on first use. A scripted person without thinking
time presses the keys that the page asks for; a judgment lasts from the moment when the clip of one task can
be judged to that of the next, on Label Studio's page of ten captions a tenth of that. Goals: 2 keys in Label
Studio, 1.2 with ten captions, 1 on our own page.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), *(str(ROOT / name) for name in ("tests", "tests/live", "tests/pages"))]

from live_browser import CONTROL, ENTER, SPACE, Browser, open_browser  # noqa: E402
from live_server import LiveServer, installed  # noqa: E402
from page_site import make_workspace, run, serving  # noqa: E402

from fire_toolkit.demo.film import encode_clip, render_clip  # noqa: E402
from fire_toolkit.demo.world import make_world  # noqa: E402
from fire_toolkit.formats.tables.guideline_files import read_guideline  # noqa: E402
from fire_toolkit.guidelines.label_config import (  # noqa: E402
    caption_entry,
    parse_label_config,
    several_config,
)
from fire_toolkit.labelstudio.local_server import stop_server  # noqa: E402

FIRST_PAGE = """<View>
  <Header value="Does the caption describe this video?" size="4"/>
  <Text name="caption" value="$caption"/>
  <Video name="video" value="$video" height="320" timelineHeight="0" muted="true"/>
  <Choices name="relevance" toName="video" choice="single-radio" showInline="true" required="true">
    <Choice value="relevant" hotkey="1"/><Choice value="irrelevant" hotkey="2"/><Choice value="ambiguous" hotkey="3"/>
  </Choices>
  <Choices name="flags" toName="video" choice="multiple" showInline="true"><Choice value="sensitive" hotkey="4"/></Choices>
  <TextArea name="comment" toName="video" rows="1" maxSubmissions="1" editable="true"/>
</View>"""  # noqa: E501
N_PAIRS = 36  # on two clips, for two people: with ten captions on a page nine and a control
SUBMIT = "[data-testid='bottombar-submit-button']"
STATE = f"""
let submit = document.querySelector("{SUBMIT}"), video = document.querySelector('video');
let caption = document.querySelector('.lsf-richtext__container');
return {{caption: caption ? caption.innerText.trim() : '', video: video ? video.readyState : 0,
    waits: !!submit && submit.disabled, sends: !!submit && !submit.disabled}}
"""
N_CAPTIONS = 10


def await_true(browser: Browser, condition: Callable[[], bool]) -> None:
    """Wait for a condition without the pause of the tests' browser."""
    deadline = time.monotonic() + 60
    while not condition():
        if time.monotonic() > deadline:
            raise SystemExit(f"the page stands still: {browser.run('return document.body.innerText')[:300]}")


def judge_in_label_studio(browser: Browser, n_tasks: int, submit: tuple[str, ...]) -> tuple[int, list[float]]:
    """Return the keys pressed and the seconds of each judgment."""
    seconds, n_keys, started = [], 0, 0.0
    for number in range(n_tasks):

        def is_ready(number: int = number) -> bool:
            state = browser.run(STATE)
            return state["caption"] == f"caption {number}" and state["video"] >= 3 and state["waits"]

        await_true(browser, is_ready)
        if number:
            seconds.append(time.monotonic() - started)
        started = time.monotonic()
        browser.press("1")
        await_true(browser, lambda: bool(browser.run(STATE)["sends"]))
        browser.press(*submit)
        n_keys += 1 + len(submit)
    return n_keys, seconds


def judge_several(browser: Browser, n_pages: int) -> tuple[int, list[float]]:
    """Return the keys pressed on Label Studio's pages of ten captions and the seconds of each judgment."""
    rows = "return [...document.querySelectorAll('.judge .row .text')].map(e => e.innerText.trim())"
    chosen = "return document.querySelectorAll('.judge .row label.ant-radio-wrapper-checked').length"
    seconds, n_keys, started = [], 0, 0.0
    for number in range(n_pages):
        wanted = [f"caption {number * N_CAPTIONS + place}" for place in range(N_CAPTIONS)]

        def is_ready(wanted: list[str] = wanted) -> bool:
            state = browser.run(STATE)
            return browser.run(rows) == wanted and state["video"] >= 3 and state["waits"]

        await_true(browser, is_ready)
        if number:
            seconds.append((time.monotonic() - started) / N_CAPTIONS)
        started = time.monotonic()
        for key in "1234567890":
            browser.press(key)
        await_true(browser, lambda: browser.run(chosen) == N_CAPTIONS)
        browser.press(SPACE)
        n_keys += N_CAPTIONS + 1
    return n_keys, seconds


def judge_on_own_page(browser: Browser) -> tuple[int, list[float]]:
    """Return the keys pressed and the seconds of each judgment, until nothing is asked any more."""
    seconds: list[float] = []
    n_keys, task, started = 0, "", 0.0
    script = "return [document.body.dataset.page, document.body.dataset.ready, !!document.body.dataset.busy]"
    while True:
        shown, ready, busy = browser.run(script)
        if shown == "" and n_keys and not busy:
            return n_keys, seconds
        if not ready or busy or shown == task:
            if task and shown == task and not busy and time.monotonic() - started > 0.25:
                browser.press("1")  # within the guard of a new item it did not count
                n_keys += 1
            continue
        if task:
            seconds.append(time.monotonic() - started)
        else:
            time.sleep(0.3)
        task, started = shown, time.monotonic()
        is_several = browser.run(
            "return !document.getElementById('rows').hidden && !!document.querySelector('li b').innerText"
        )
        if not is_several:
            time.sleep(0.25)  # the guard against double presses
        browser.press("1")
        n_keys += 1


@contextlib.contextmanager
def label_studio(n_tasks: int, clip: bytes) -> Iterator[tuple[LiveServer, dict[str, int]]]:
    """Run a server with a project for each of its pages."""
    root = Path(tempfile.mkdtemp(prefix="fire-page-"))
    server = LiveServer(root, installed())
    clips = root / "media" / "clips"
    clips.mkdir(parents=True)
    (clips / "v.webm").write_bytes(clip)
    try:
        server.start()
        tasks = [
            {
                "caption": f"caption {n}",
                "video": f"/data/local-files/?d=clips/v.webm&n={n}",
                "pair_id": f"q{n}|v",
            }
            for n in range(n_tasks)
        ]
        today = read_guideline("caption-relevance-v1").label_config
        pages = {"first page": FIRST_PAGE, "today's": today, "ten captions": several_config(today)}
        projects = {}
        for name, config in pages.items():
            shown = several(tasks, today) if name == "ten captions" else tasks
            projects[name] = server.project(name, config, shown, enable_empty_annotation=False)
            with server.as_admin() as http:
                storage = {
                    "project": projects[name],
                    "path": str(clips),
                    "use_blob_urls": True,
                    "title": "clips",
                }
                http.post("/api/storages/localfiles/", json=storage).raise_for_status()
        yield server, projects
    finally:
        server.opened.close()
        stop_server(server.folder)
        shutil.rmtree(root, ignore_errors=True)


def several(tasks: list[dict[str, str]], today: str) -> list[dict[str, Any]]:
    """Return a page of ten captions for each task."""
    page = parse_label_config(today)
    return [
        {
            "video": task["video"],
            "pair_id": f"page:{number}",
            "captions": [
                {"text": f"caption {number * N_CAPTIONS + row}", **caption_entry(page, row)}
                for row in range(N_CAPTIONS)
            ],
        }
        for number, task in enumerate(tasks)
    ]


def report(name: str, n_judgments: int, n_keys: int, seconds: list[float]) -> None:
    print(f"{name:40} {n_keys / n_judgments:5.2f} keys  {statistics.median(seconds):5.2f} s", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--tasks", type=int, default=20)
    n_tasks = parser.parse_args().tasks
    clip = encode_clip(render_clip(make_world(n_clips=1).clips[0]))
    with tempfile.TemporaryDirectory() as folder, label_studio(n_tasks, clip) as (server, projects):
        person = server.annotator("W01")
        with open_browser(Path(folder)) as browser:
            browser.resize(1366, 625)
            browser.open(f"{server.connection.url}/user/login/")
            browser.type("#email", person.email)
            browser.type("#password", person.password)
            browser.click("button[type=submit]")
            browser.wait_for("being logged in", lambda: "/user/login" not in browser.url)
            for name, submit in (("first page", (CONTROL, ENTER)), ("today's", (SPACE,))):
                browser.open(f"{server.connection.url}/projects/{projects[name]}/data?labeling=1")
                n_keys, seconds = judge_in_label_studio(browser, n_tasks, submit)
                await_true(browser, lambda name=name: len(server.answers(projects[name])) == n_tasks)
                played = ", not played" if name == "first page" else ", playing by itself"
                report(f"Label Studio, {name}{played}", n_tasks, n_keys, seconds)
            browser.open(f"{server.connection.url}/projects/{projects['ten captions']}/data?labeling=1")
            n_keys, seconds = judge_several(browser, n_tasks)
            await_true(browser, lambda: len(server.answers(projects["ten captions"])) == n_tasks)
            report("Label Studio, ten captions on a page", n_tasks * N_CAPTIONS, n_keys, seconds)
    for n_captions in (1, 10):
        for is_served in (True, False):
            measure_own_page(clip, n_captions, is_served=is_served)


def measure_own_page(clip: bytes, n_captions: int, *, is_served: bool) -> None:
    """Judge a queue on our own page, served or from a file, and print its keys and seconds."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        root = Path(folder)
        make_workspace(root, clip=clip, overlap="0", captions=str(n_captions), n_pairs=N_PAIRS)
        run("page", "write")
        with contextlib.ExitStack() as stack:
            browser = stack.enter_context(open_browser(root))
            browser.resize(1366, 625)
            link = (root / "pages" / "A01" / "judge.html").as_uri()
            browser.open(stack.enter_context(serving(root)).links["A01"] if is_served else link)
            browser.wait_for_element("#agree:not([hidden])")
            browser.click("#agree")
            n_keys, seconds = judge_on_own_page(browser)
        how = "served" if is_served else "from a file"
        report(f"our own page, {n_captions} on a page, {how}", len(seconds) + 1, n_keys, seconds)


if __name__ == "__main__":
    main()
