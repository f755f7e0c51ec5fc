"""The page of a composed query in the real Label Studio: reference, text and candidate side by side."""

from __future__ import annotations

from pathlib import Path

from live_browser import SPACE, open_browser
from live_server import LiveServer
from page_site import HOSTILE
from test_live_browser import SUBMIT, choices, is_disabled, log_in
from test_live_images import IMAGES

from fire_toolkit.formats.tables.guideline_files import read_guideline

# Both images are there, side by side and of one size, between the text and the answers above the bar.
SEEN = """
let box = selector => document.querySelector(selector).getBoundingClientRect();
let images = [...document.querySelectorAll('.judge img')];
let bar = box("[data-testid='bottombar-submit-button']");
let [one, two] = images.map(e => e.getBoundingClientRect());
let inputs = [...document.querySelectorAll('.judge label, .judge input')];
let ends = inputs.map(e => e.getBoundingClientRect().bottom);
return document.documentElement.scrollWidth <= innerWidth && images.length == 2
    && images.every(e => e.complete && e.naturalWidth > 0)
    && one.right <= two.left && Math.abs(one.width - two.width) < 2
    && Math.abs(one.height - two.height) < 2
    && one.height >= 100 && two.height >= 100
    && box('.judge .caption').bottom <= one.top && Math.max(one.bottom, two.bottom) <= box('.judge label').top
    && Math.max(...ends) <= bar.top;
"""


def test_reference_text_and_candidate_are_seen_side_by_side_and_answered(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    folder = live_server.root / "media" / "composed"
    folder.mkdir(parents=True)
    for name, content in IMAGES.items():
        (folder / f"{name}.png").write_bytes(content)
    address = "/data/local-files/?d=composed/{}.png"
    content = {"reference": address.format("start"), "image": address.format("one")}
    text = HOSTILE.replace("\r\n", " ") + " is blue" * 300
    config = read_guideline("composed-image-relevance-v1").label_config
    settings = {"enable_empty_annotation": False, "show_collab_predictions": False}
    task = {"caption": text, "pair_id": "q|one", **content}
    made = live_server.project("ABC-1234 · round 1 · composed-image-relevance-v1", config, [task], **settings)
    with live_server.as_admin() as http:
        storage = {"project": made, "path": str(folder), "use_blob_urls": True, "title": "composed"}
        http.post("/api/storages/localfiles/", json=storage).raise_for_status()
    person = live_server.annotator("W33")
    with open_browser(tmp_path) as browser:
        log_in(browser, live_server.connection.url, person.email, person.password)
        browser.open(f"{live_server.connection.url}/projects/{made}/data?labeling=1")
        browser.wait_for_element(SUBMIT)
        for width, height in ((390, 844), (800, 600), (1366, 625)):
            browser.resize(width, height)
            browser.wait_for(f"all within {width} × {height}", lambda: browser.run(SEEN))
            browser.screenshot(artefacts / f"labeling-composed-{width}.png")
        shown = browser.run("return document.querySelector('.judge .caption').innerText")
        assert "<img src=x onerror=alert(1)> {{7*7}} $caption" in shown
        assert is_disabled(browser, SUBMIT)
        browser.press("2")
        browser.wait_for("an answer can be sent", lambda: not is_disabled(browser, SUBMIT))
        browser.press(SPACE)
        browser.wait_for("the answer", lambda: bool(live_server.answers(made)))
    assert [choices(each) for each in live_server.answers(made)["q|one"]] == [["irrelevant"]]
