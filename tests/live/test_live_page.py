"""Our own page in a real browser: keys, undo, what does not play, hostile captions, kills of both ends."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from command import alter
from live_browser import Browser, open_browser
from page_site import HOSTILE, page_records, run, serving

BACKSPACE = "\ue003"
COUNTED = "return parseInt(document.getElementById('count').textContent)"
DONE = "return document.getElementById('work').hidden"
# What is answered first is a proxy's page, then our own answer cut short.
BROKEN = """
let own = window.fetch, broken = [
    async (...sent) => new Response('<p>Log in to the network</p>', {status: arguments[0]}),
    async (...sent) => { await own(...sent); return new Response('{"who": '); }];
window.fetch = (...sent) => (broken.shift() || own)(...sent);
"""
TIME = "return document.getElementById('video').currentTime"
FRENCH_1 = "dispatchEvent(new KeyboardEvent('keydown', {key: '&', code: 'Digit1'}))"
SIZES = ((1366, 625), (800, 600), (390, 844))
# Every control lies within the window, and the clip has a fair share of it.
ALL_SEEN = """
let boxes = [...document.querySelectorAll('main button, main input, #caption')].filter(e => e.offsetParent);
let clip = document.getElementById('video').getBoundingClientRect();
let question = document.getElementById('question').getBoundingClientRect();
let isWhole = document.documentElement.scrollHeight <= innerHeight;
return isWhole && clip.height >= 100 && clip.bottom <= question.top && boxes.every(e => {
    let box = e.getBoundingClientRect();
    return box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight; });
"""
LAST_ANSWER = "return [...document.querySelectorAll('#answers button')].at(-1).getBoundingClientRect().bottom"


def shown(browser: Browser) -> dict[str, Any]:
    found: dict[str, Any] = browser.run("return {...document.body.dataset}")
    return found


def begin(browser: Browser, link: str) -> None:
    browser.open(link)
    browser.click("#agree:not([hidden])")
    is_ready(browser)


def is_ready(browser: Browser) -> str:
    """Wait until a task can be answered, and return it."""

    def ready() -> bool:
        state = shown(browser)
        return bool(state.get("ready")) and not state.get("busy")

    browser.wait_for("a task that can be answered", ready)
    time.sleep(0.3)  # a press within a quarter of a second would not count
    return str(shown(browser)["page"])


def is_missing(browser: Browser) -> str:
    """Wait until a task can be reported alone, since its item does not show, and return it."""
    note = "return document.getElementById('note').textContent"
    browser.wait_for("a word on it", lambda: "does not show" in browser.run(note))
    time.sleep(0.3)
    return str(shown(browser)["page"])


def press(browser: Browser, key: str, task: str) -> None:
    browser.press(key)
    browser.wait_for(
        "the next task", lambda: shown(browser)["page"] != task and not shown(browser).get("busy")
    )


def answers(root: Path) -> list[Any]:
    records = page_records(root)
    return [record for record in records if record["kind"] == "answer"]


def caption(browser: Browser) -> str:
    return str(browser.run("return document.getElementById('caption').textContent"))


def test_a_key_answers_and_all_is_seen_at_any_size(page_root: Path, artefacts: Path, tmp_path: Path) -> None:
    long = "long " * 2000
    for short in ("caption 1", "caption 2"):
        alter(page_root, "update asked set text = replace(text, ?, ?)", short, long)
    seen = set()
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        browser.resize(*SIZES[0])
        begin(browser, served.links["A01"])
        assert "#" not in browser.url
        assert browser.run("return document.cookie") == ""
        start = browser.run(TIME)
        browser.wait_for("the clip going on", lambda: browser.run(TIME) != start)
        task = is_ready(browser)
        browser.press("4")
        press(browser, "2", task)
        press(browser, BACKSPACE, is_ready(browser))
        assert is_ready(browser) == task
        browser.run(FRENCH_1)
        browser.wait_for("an answer", lambda: browser.run(COUNTED) == 1)
        while not browser.run(DONE):
            task = is_ready(browser)
            is_long = caption(browser).startswith("long")
            if is_long or not seen:
                browser.fits(ALL_SEEN, SIZES, artefacts / f"own-page{'-long' if is_long else ''}")
            browser.resize(683, 312)  # the first of these sizes, zoomed in by 200%
            assert browser.run(LAST_ANSWER) <= 312 or is_long
            browser.resize(*SIZES[0])
            seen.add(caption(browser))
            press(browser, "1", task)
        assert browser.run("return document.querySelectorAll('#caption *').length") == 0
        assert browser.run("return document.title") == "Does the caption describe the video?"
    hostile = HOSTILE.replace("\r\n", " ")
    assert seen <= {hostile, long, *(f"caption {n}" for n in range(10))}
    first, *others = answers(page_root)
    assert (first["label"], first["flags"]) == ("irrelevant", ["sensitive"])
    assert {record["label"] for record in others} == {"relevant"}
    assert [record["pair"] for record in others].count(first["pair"]) == 1
    assert f"{len(others)} new, 1 edited, 1 deleted" in run("pull").stderr


def answer_all(browser: Browser) -> int:
    """Answer all captions of all pages that are left with one key each; return the number of pages."""
    n_pages = 0
    while not browser.run(DONE):
        n_rows = browser.run("return document.querySelectorAll('#rows li').length")
        for _ in range(max(n_rows, 1)):
            press(browser, "1", is_ready(browser))
        n_pages += 1
    return n_pages


@pytest.mark.parametrize("captions", [10])
def test_ten_captions_take_ten_keys(page_root: Path, artefacts: Path, tmp_path: Path, captions: int) -> None:
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        browser.resize(*SIZES[0])
        begin(browser, served.links["A01"])
        browser.fits(ALL_SEEN, SIZES, artefacts / "own-page-ten")
        assert answer_all(browser) == 2
    assert len(answers(page_root)) == 10  # eight pairs and two controls: pages are doubled whole


def click_twice(browser: Browser, selector: str) -> None:
    """Click as fast as a double click."""
    script = (
        "const node = document.querySelector(arguments[0]); node.click(); setTimeout(() => node.click(), 120)"
    )
    browser.run(script, selector)
    time.sleep(0.6)


@pytest.mark.parametrize("captions", [10])
def test_a_double_click_answers_one_caption_or_reports_one_item(
    page_root: Path, tmp_path: Path, captions: int
) -> None:
    """The second click, which the next caption or item gets, counts for neither."""
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links["A01"])
        click_twice(browser, "#answers button")
        assert browser.run(COUNTED) == 1
        for number in range(2):
            (page_root / "media" / f"v{number}.webm").write_bytes(b"no video")
        browser.run("location.reload()")
        is_missing(browser)
        click_twice(browser, "#report")
        is_missing(browser)
    assert len({record["key"] for record in answers(page_root)}) == 2


def test_long_last_answers_are_listed_within_the_window(page_root: Path, tmp_path: Path) -> None:
    alter(page_root, "update asked set text = replace(text, 'caption', ?)", "long " * 500)
    within = (
        "let box = document.getElementById('last').getBoundingClientRect(); return box.height && box.top >= 0"
    )
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links["A01"])
        for _ in range(3):
            press(browser, "1", is_ready(browser))
        browser.press("l")
        for width, height in SIZES:
            browser.resize(width, height)
            browser.wait_for(f"the list within {width} × {height}", lambda: browser.run(within))


def test_an_answer_is_sent_until_the_server_has_it(page_root: Path, tmp_path: Path) -> None:
    """Past a proxy's page, an answer cut short, a killed server (the browser: test_live_demo_page.py)."""
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links["A01"])
        task = is_ready(browser)
        browser.run(BROKEN, 429)
        press(browser, "1", task)
        is_ready(browser)
        served.kill()
        browser.press("1")
        browser.wait_for(
            "a word on it", lambda: "Not kept yet" in browser.run("return document.body.innerText")
        )
        assert len(answers(page_root)) == 1
        with serving(page_root, port=int(served.address.rpartition(":")[2])):
            browser.wait_for("the answer kept", lambda: len(answers(page_root)) == 2)
            is_ready(browser)
            assert browser.run(COUNTED) == 2
    one, other = (record["pair"] for record in answers(page_root))
    assert one != other


def kill_browser(folder: Path) -> None:
    """Kill the browser whose profile lies in `folder`, and all of its processes."""
    for process in psutil.process_iter(["cmdline"]):
        words = " ".join(process.info["cmdline"] or [])
        if f"--user-data-dir={folder / 'profile'}" in words:
            os.kill(process.pid, signal.SIGKILL)


def test_an_item_that_the_network_withheld_is_shown_once_it_is_back(page_root: Path, tmp_path: Path) -> None:
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        browser.cdp("Network.enable")
        browser.cdp("Network.setBlockedURLs", urls=["*/media/*"])
        browser.open(served.links["A01"])
        browser.click("#agree:not([hidden])")
        is_missing(browser)
        browser.cdp("Network.setBlockedURLs", urls=[])
        press(browser, "1", is_ready(browser))
    assert [answer["label"] for answer in answers(page_root)] == ["relevant"]


def test_two_tabs_answer_no_task_twice(page_root: Path, tmp_path: Path) -> None:
    """The tab left behind shows what is asked now, and its key counts for nothing; another link goes on."""
    with serving(page_root) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links["A01"])
        first = is_ready(browser)
        browser.run("window.open(location.href)")
        left, other = browser.windows
        browser.switch(other)
        press(browser, "1", is_ready(browser))
        browser.switch(left)
        assert shown(browser)["page"] == first
        press(browser, "2", first)
        assert is_ready(browser) != first
        assert "Not kept" in browser.run("return document.getElementById('was').textContent")
        begin(browser, served.links["A02"])
        assert browser.run("return document.getElementById('who').textContent") == "A02"
    assert [record["label"] for record in answers(page_root)] == ["relevant"]
