"""The pages of further guidelines in the real Label Studio and a browser: all is seen, and keys answer."""

from pathlib import Path
from typing import Any

from live_browser import SPACE, Browser
from live_server import LiveServer, clips
from page_site import HOSTILE
from test_live_browser import ALL_SEEN, SUBMIT, choices, is_disabled, labeling, plays
from test_live_images import IMAGES

from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import parse_label_config
from fire_toolkit.guidelines.several import caption_entry, several_config

SIZES = ((800, 600), (1366, 625))
ONE_LINE = HOSTILE.replace("\r\n", " ")
AS_IT_IS = "<img src=x onerror=alert(1)> {{7*7}} $caption"
TEXT = "return document.querySelector(arguments[0]).innerText"
ANSWERS = """
let bar = document.querySelector("[data-testid='bottombar-submit-button']").getBoundingClientRect().top;
let inputs = [...document.querySelectorAll('.judge label, .judge input')];
let box = selector => document.querySelector(selector).getBoundingClientRect();
let isWhole = document.documentElement.scrollWidth <= innerWidth
    && Math.max(...inputs.map(e => e.getBoundingClientRect().bottom)) <= bar;
"""
CAPTION_SEEN = f"""{ANSWERS}
let caption = box('.judge .caption');
return isWhole && caption.top >= 0 && caption.height >= 100;
"""
ITEM_SEEN = f"{ANSWERS} return isWhole && box('.judge .item').height >= 100"
# Both images are there, side by side and of one size, between the text and the answers above the bar.
IMAGES_SEEN = f"""{ANSWERS}
let images = [...document.querySelectorAll('.judge img')];
let [one, two] = images.map(e => e.getBoundingClientRect());
return isWhole && images.length == 2 && images.every(e => e.complete && e.naturalWidth > 0)
    && one.right <= two.left && Math.abs(one.width - two.width) < 2
    && Math.abs(one.height - two.height) < 2
    && one.height >= 100 && two.height >= 100
    && box('.judge .caption').bottom <= one.top
    && Math.max(one.bottom, two.bottom) <= box('.judge label').top;
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


def given(server: LiveServer, project: int, pair: str) -> dict[str, list[str]]:
    """Return what was chosen at each control of the only answer to a pair."""
    (found,) = server.answers(project)[pair]
    return {each["from_name"]: each["value"]["choices"] for each in found["result"]}


def config_of(guideline: str) -> str:
    return read_guideline(guideline).label_config


def test_four_grades_fit_on_the_page_and_are_answered_by_keys(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    task = {"caption": "caption 0", "video": "/data/local-files/?d=graded/v.webm", "pair_id": "q|v"}
    made = live_server.project(
        "graded", config_of("graded-relevance-v1"), [task], {"graded/v.webm": clips(1)[0]}
    )
    with labeling(live_server, "W31", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        plays(browser)
        browser.fits(ALL_SEEN, SIZES, artefacts / "graded")
        answer(browser, "3")
    assert given(live_server, made, "q|v") == {"relevance": ["loose"]}


def test_a_caption_alone_is_text_and_is_answered_with_a_flag(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    task = {"caption": ONE_LINE + " word" * 2000, "pair_id": "q|*"}
    made = live_server.project("captions", config_of("query-validity-v1"), [task])
    with labeling(live_server, "W32", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        browser.fits(CAPTION_SEEN, SIZES, artefacts / "caption-alone")
        assert AS_IT_IS in browser.run(TEXT, ".judge .caption")
        answer(browser, "2", "6")
    assert given(live_server, made, "q|*") == {"relevance": ["unusable"], "flags": ["unspecific"]}


def test_reference_text_and_candidate_are_seen_side_by_side_and_answered(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    address = "/data/local-files/?d=composed/{}.png"
    task = {"caption": ONE_LINE + " is blue" * 300, "pair_id": "q|one"}
    task |= {"reference": address.format("start"), "image": address.format("one")}
    files = {f"composed/{name}.png": content for name, content in IMAGES.items()}
    made = live_server.project(
        "ABC-1234 · round 1 · composed-image-relevance-v1",
        config_of("composed-image-relevance-v1"),
        [task],
        files,
    )
    with labeling(live_server, "W35", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        browser.fits(IMAGES_SEEN, ((390, 844), *SIZES), artefacts / "labeling-composed")
        assert AS_IT_IS in browser.run(TEXT, ".judge .caption")
        answer(browser, "2")
    assert given(live_server, made, "q|one") == {"relevance": ["irrelevant"]}


def test_a_text_is_shown_as_it_is(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    text = f"A title\n{ONE_LINE}\n" + "word " * 4000
    task = {"caption": "what <b>is</b> it?", "text": text, "pair_id": "q|d"}
    made = live_server.project("texts", config_of("passage-relevance-v1"), [task])
    with labeling(live_server, "W33", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        browser.fits(ITEM_SEEN, SIZES, artefacts / "text-server")
        shown = browser.run(TEXT, ".judge .item")
        assert shown.startswith("A title\n")
        assert AS_IT_IS in shown
        assert shown.count("word") == 4000
        answer(browser, "2", "4")
    assert given(live_server, made, "q|d") == {"relevance": ["irrelevant"], "flags": ["sensitive"]}


def test_several_queries_of_a_text_are_asked_on_one_page(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    config = config_of("passage-relevance-v1")
    entries = [caption_entry(parse_label_config(config), n) for n in range(3)]
    captions = [{"text": f"query {n}?", "pair_id": f"q{n}|d", **entry} for n, entry in enumerate(entries)]
    task: dict[str, Any] = {"text": "A title\n" + "word " * 4000, "captions": captions, "pair_id": "page:0"}
    made = live_server.project("several-texts", several_config(config), [task])
    with labeling(live_server, "W34", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        browser.wait_for_element(".judge .row label")
        browser.screenshot(artefacts / "texts-several.png")
        assert browser.run(ITEM_SEEN)
        answer(browser, "1", "w", "3")
    (found,) = live_server.answers(made)["page:0"]
    assert choices(found) == ["relevant", "irrelevant", "relevant"]
