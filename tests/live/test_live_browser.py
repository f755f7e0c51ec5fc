"""An annotator at work in a real browser: logs in, sees the video play, answers by keys, skips."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from live_browser import ALT, CONTROL, ENTER, SPACE, Browser, open_browser
from live_server import LiveServer, clips
from page_site import HOSTILE

from fire_toolkit.formats.tables.guideline_files import read_guideline

VIDEO = "let v = document.querySelector('video'); return v && v[arguments[0]]"
FROM_1_S = "#t=1,1.5"
SUBMIT = "[data-testid='bottombar-submit-button']"
# The answers and the comment lie above the bar at the bottom, the caption and the video above them.
ALL_SEEN = """
let box = selector => document.querySelector(selector).getBoundingClientRect();
let bar = box("[data-testid='bottombar-submit-button']").top;
let inputs = [...document.querySelectorAll('.judge label, .judge input')];
let ends = inputs.map(e => e.getBoundingClientRect().bottom);
let video = box('video');
return document.documentElement.scrollWidth <= innerWidth
    && box('.judge .caption').top >= 0 && video.height >= 100 && video.bottom <= box('.judge label').top
    && Math.max(...ends) <= bar
"""


@pytest.fixture
def project(live_server: LiveServer) -> int:
    """Three tasks on two clips of the demo, which the server itself serves."""
    tasks = [
        {
            "caption": f"caption {number}" + (HOSTILE + " word" * 2000 if number == 0 else ""),
            "video": f"/data/local-files/?d=clips/v{number % 2}.webm{FROM_1_S if number == 1 else ''}",
            "pair_id": f"q{number}|v{number % 2}",
        }
        for number in range(3)
    ]
    config = read_guideline("caption-relevance-v1").label_config
    files = {f"clips/v{number}.webm": clip for number, clip in enumerate(clips(2))}
    return live_server.project("ABC-1234 · round 1 · caption-relevance-v1", config, tasks, files)


def test_an_annotator_sees_the_video_play_and_answers_by_keys(
    chromium: None, live_server: LiveServer, project: int, artefacts: Path, tmp_path: Path
) -> None:
    person = live_server.annotator("W01")
    with labeling(live_server, "W01", project, tmp_path) as browser:
        shows_task(browser, 0)
        plays(browser)
        browser.fits(ALL_SEEN, ((800, 600), (1024, 768), (390, 844), (1366, 625)), artefacts / "labeling")
        assert HOSTILE.split("\u202e")[0] in text(browser)
        assert is_disabled(browser, SUBMIT)
        browser.press(SPACE)  # nothing is chosen, so nothing is sent
        browser.press("1")
        browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
        browser.screenshot(artefacts / "labeling.png")
        browser.press(SPACE)
        shows_task(browser, 1)
        browser.wait_for("the part's end", lambda: browser.run(VIDEO, "currentTime") >= 1.5)
        browser.wait_for("a pause there", lambda: browser.run(VIDEO, "paused"))
        browser.press(ALT, "i")
        browser.wait_for_element("details[open]")
        browser.press("2")
        browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
        browser.press(CONTROL, ENTER)
        shows_task(browser, 2)
        browser.press(CONTROL, SPACE)
        browser.wait_for("the queue's end", lambda: "No More Tasks" in text(browser))
        browser.screenshot(artefacts / "end-of-queue.png")

    answers = live_server.answers(project)
    assert {pair: [choices(each) for each in found] for pair, found in answers.items()} == {
        "q0|v0": [["relevant"]],
        "q1|v1": [["irrelevant"]],
        "q2|v0": [[]],
    }
    annotations = [each for found in answers.values() for each in found]
    assert [each["was_cancelled"] for each in annotations] == [False, False, True]
    assert {str(each["completed_by"]) for each in annotations} == {person.user_id}
    assert all(0 < each["lead_time"] < 120 for each in annotations)
    origins = [result["origin"] for each in annotations for result in each["result"]]
    assert origins == ["manual", "manual"]


@contextmanager
def labeling(server: LiveServer, pseudonym: str, project: int, folder: Path) -> Iterator[Browser]:
    """Open the page on which somebody judges a project; the browser's profile lies in `folder`."""
    person = server.annotator(pseudonym)
    with open_browser(folder) as browser:
        browser.resize(1366, 625)
        log_in(browser, server.connection.url, person.email, person.password)
        browser.open(f"{server.connection.url}/projects/{project}/data?labeling=1")
        yield browser


def log_in(browser: Browser, url: str, email: str, password: str) -> None:
    browser.open(f"{url}/user/login/")
    browser.type("#email", email)
    browser.type("#password", password)
    browser.click("button[type=submit]")
    browser.wait_for("being logged in", lambda: "/user/login" not in browser.url)


def shows_task(browser: Browser, number: int) -> None:
    """Wait until a task is there as a whole: its caption, its video, and the keys of its page."""
    browser.wait_for(f"task {number}", lambda: f"caption {number}" in text(browser), n_times=600)
    browser.wait_for("the video's data", lambda: (browser.run(VIDEO, "readyState") or 0) >= 3)
    browser.wait_for("an unanswered page", lambda: is_disabled(browser, SUBMIT))


def plays(browser: Browser) -> None:
    """Wait until the video goes on by itself, muted and in a loop."""
    assert browser.run(VIDEO, "loop")
    assert browser.run(VIDEO, "muted")
    start = browser.run(VIDEO, "currentTime")
    browser.wait_for("the video's time going on", lambda: browser.run(VIDEO, "currentTime") != start)
    assert browser.run("return document.querySelector('video').error") is None


def is_disabled(browser: Browser, selector: str) -> bool:
    script = "let e = document.querySelector(arguments[0]); return !!e && e.disabled"
    return bool(browser.run(script, selector))


def text(browser: Browser) -> str:
    return str(browser.run("return document.body ? document.body.innerText : ''"))


def choices(annotation: dict[str, Any]) -> list[str]:
    return [choice for result in annotation["result"] for choice in result["value"]["choices"]]
