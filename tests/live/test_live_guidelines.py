"""The pages of further guidelines in the real Label Studio and a browser: all is seen, and keys answer."""

from pathlib import Path
from typing import NamedTuple

import pytest
from live_browser import SPACE, Browser
from live_server import LiveServer, clips
from page_site import HOSTILE
from test_live_browser import ALL_SEEN, SUBMIT, choices, is_disabled, labeling, plays
from test_live_images import IMAGES

from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import caption_entry, parse_label_config, several_config

SIZES = ((800, 600), (1366, 625))
ONE_LINE = HOSTILE.replace("\r\n", " ")
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


class Page(NamedTuple):
    """What a task asks, which keys answer it with which choices, and what must be seen at each size."""

    data: dict[str, str]
    keys: str
    choices: list[str]
    seen: str
    shown: str = ""  # where a text is shown as it is
    sizes: tuple[tuple[int, int], ...] = SIZES


FILES = "/data/local-files/?d="
LONG = f"A title\n{ONE_LINE}\n" + "word " * 4000
PAGES = {
    "graded-relevance-v1": Page(
        {"caption": "caption 0", "video": f"{FILES}graded-relevance-v1/v.webm"}, "3", ["loose"], ALL_SEEN
    ),
    "query-validity-v1": Page(
        {"caption": ONE_LINE + " word" * 2000}, "26", ["unusable", "unspecific"], CAPTION_SEEN, ".caption"
    ),
    "composed-image-relevance-v1": Page(
        {"caption": ONE_LINE + " is blue" * 300}
        | {
            name: f"{FILES}composed-image-relevance-v1/{file}.png"
            for name, file in (("reference", "start"), ("image", "one"))
        },
        "2",
        ["irrelevant"],
        IMAGES_SEEN,
        ".caption",
        ((390, 844), *SIZES),
    ),
    "passage-relevance-v1": Page(
        {"caption": "what <b>is</b> it?", "text": LONG}, "24", ["irrelevant", "sensitive"], ITEM_SEEN, ".item"
    ),
}


def answer(browser: Browser, keys: str) -> None:
    assert is_disabled(browser, SUBMIT)
    for key in keys:
        browser.press(key)
    browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
    browser.press(SPACE)
    browser.wait_for(
        "the queue's end", lambda: "No More Tasks" in browser.run("return document.body.innerText")
    )


@pytest.mark.parametrize("guideline", PAGES)
def test_all_is_seen_as_it_is_and_answered_by_keys(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path, guideline: str
) -> None:
    page, config = PAGES[guideline], read_guideline(guideline).label_config
    media = {"v.webm": clips(1)[0], **{f"{name}.png": content for name, content in IMAGES.items()}}
    files = {f"{guideline}/{name}": content for name, content in media.items()}
    task = {**page.data, "pair_id": "q|d"}
    made = live_server.project(f"ABC-1234 · round 1 · {guideline}"[:50], config, [task], files)
    with labeling(live_server, "W31", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        if "video" in page.data:
            plays(browser)
        browser.fits(page.seen, page.sizes, artefacts / f"labeling-{guideline}")
        if page.shown:
            shown = browser.run(
                "return document.querySelector(arguments[0]).innerText", f".judge {page.shown}"
            )
            expected = page.data.get("text", page.data["caption"])
            assert shown.split() == expected.split()
            assert shown.startswith(expected.split("\n")[0] + "\n") == ("text" in page.data)
        answer(browser, page.keys)
    (found,) = live_server.answers(made)["q|d"]
    assert choices(found) == page.choices


def test_several_queries_of_a_text_are_asked_on_one_page(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    config = read_guideline("passage-relevance-v1").label_config
    entries = [caption_entry(parse_label_config(config), n) for n in range(3)]
    captions = [{"text": f"query {n}?", "pair_id": f"q{n}|d", **entry} for n, entry in enumerate(entries)]
    task = {"text": "A title\n" + "word " * 4000, "captions": captions, "pair_id": "page:0"}
    made = live_server.project("several-texts", several_config(config), [task])
    with labeling(live_server, "W34", made, tmp_path) as browser:
        browser.wait_for_element(SUBMIT)
        browser.wait_for_element(".judge .row label")
        browser.screenshot(artefacts / "texts-several.png")
        assert browser.run(ITEM_SEEN)
        answer(browser, "1w3")
    (found,) = live_server.answers(made)["page:0"]
    assert choices(found) == ["relevant", "irrelevant", "relevant"]
