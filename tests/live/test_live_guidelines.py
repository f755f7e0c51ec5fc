"""The pages of the graded guideline and of captions alone, in the real Label Studio and a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from live_browser import SPACE, Browser, open_browser
from live_server import LiveServer
from page_site import HOSTILE
from test_live_browser import ALL_SEEN, SUBMIT, choices, is_disabled, log_in, plays

from fire_toolkit.formats.tables.guideline_files import read_guideline

SIZES = ((800, 600), (1366, 625))
SETTINGS = {"enable_empty_annotation": False, "show_collab_predictions": False}
CAPTION_SEEN = """
let bar = document.querySelector("[data-testid='bottombar-submit-button']").getBoundingClientRect().top;
let inputs = [...document.querySelectorAll('.judge label, .judge input')];
let ends = inputs.map(e => e.getBoundingClientRect().bottom);
let caption = document.querySelector('.judge .caption').getBoundingClientRect();
return caption.top >= 0 && caption.height >= 100 && Math.max(...ends) <= bar;
"""


def answer(browser: Browser, *keys: str) -> None:
    assert is_disabled(browser, SUBMIT)
    for key in keys:
        browser.press(key)
    browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
    browser.press(SPACE)
    browser.wait_for(
        "the queue's end", lambda: "No More Tasks" in browser.run("return document.body.innerText")
    )


def test_four_grades_fit_on_the_page_and_are_answered_by_keys(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    from fire_toolkit.demo.clips import make_clips
    from fire_toolkit.demo.encode import encode_clip
    from fire_toolkit.demo.render import render_clip

    folder = live_server.root / "media" / "graded"
    folder.mkdir(parents=True)
    (clip,) = make_clips(1, rng=np.random.default_rng(0))
    (folder / "v.webm").write_bytes(encode_clip(render_clip(clip)))
    task = {"caption": "caption 0", "video": "/data/local-files/?d=graded/v.webm", "pair_id": "q|v"}
    config = read_guideline("graded-relevance-v1").label_config
    made = live_server.project("graded", config, [task], **SETTINGS)
    with live_server.as_admin() as http:
        storage = {"project": made, "path": str(folder), "use_blob_urls": True, "title": "graded"}
        http.post("/api/storages/localfiles/", json=storage).raise_for_status()
    person = live_server.annotator("W31")
    with open_browser(tmp_path) as browser:
        log_in(browser, live_server.connection.url, person.email, person.password)
        browser.open(f"{live_server.connection.url}/projects/{made}/data?labeling=1")
        browser.wait_for_element(SUBMIT)
        plays(browser)
        for width, height in SIZES:
            browser.resize(width, height)
            browser.wait_for(f"all within {width} × {height}", lambda: browser.run(ALL_SEEN))
            browser.screenshot(artefacts / f"graded-{width}.png")
        answer(browser, "3")
    assert [choices(each) for each in live_server.answers(made)["q|v"]] == [["loose"]]


def test_a_caption_alone_is_text_and_is_answered_with_a_flag(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    hostile = HOSTILE.replace("\r\n", " ") + " word" * 2000
    config = read_guideline("query-validity-v1").label_config
    made = live_server.project("captions", config, [{"caption": hostile, "pair_id": "q|*"}], **SETTINGS)
    person = live_server.annotator("W32")
    with open_browser(tmp_path) as browser:
        log_in(browser, live_server.connection.url, person.email, person.password)
        browser.open(f"{live_server.connection.url}/projects/{made}/data?labeling=1")
        browser.wait_for_element(SUBMIT)
        for width, height in SIZES:
            browser.resize(width, height)
            browser.wait_for(f"all within {width} × {height}", lambda: browser.run(CAPTION_SEEN))
            browser.screenshot(artefacts / f"caption-alone-{width}.png")
        shown = browser.run("return document.querySelector('.judge .caption').innerText")
        assert "<img src=x onerror=alert(1)> {{7*7}} $caption" in shown
        answer(browser, "2", "6")
    (given,) = live_server.answers(made)["q|*"]
    assert {each["from_name"]: each["value"]["choices"] for each in given["result"]} == {
        "relevance": ["unusable"],
        "flags": ["unspecific"],
    }
