"""Texts as items, on our own page and in the real Label Studio: shown as they are, and answered by keys."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from live_browser import Browser, open_browser
from live_server import LiveServer
from page_site import HOSTILE, run, serving
from test_live_browser import SUBMIT, choices, log_in
from test_live_captions import ALL_SEEN
from test_live_guidelines import SETTINGS, answer
from test_live_guidelines import SIZES as SERVER_SIZES
from test_live_page import SIZES, answers, begin, caption, is_ready, press, shown

from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import parse_label_config
from fire_toolkit.guidelines.several import caption_entry, several_config

PASSAGES = {
    "d1": HOSTILE.replace("\r\n", " "),
    "d2": "long " * 4000,
    "NA": "שלום עולם, https://example.org/clip.mp4#t=1,2",
}
CONFIG = read_guideline("passage-relevance-v1").label_config
SEEN = """
let bar = document.querySelector("[data-testid='bottombar-submit-button']").getBoundingClientRect().top;
let inputs = [...document.querySelectorAll('.judge label, .judge input')];
let ends = inputs.map(e => e.getBoundingClientRect().bottom);
let item = document.querySelector('.judge .item').getBoundingClientRect();
return document.documentElement.scrollWidth <= innerWidth && item.height >= 100 && Math.max(...ends) <= bar;
"""


SCROLLS = """
let passage = document.getElementById('passage');
return [passage.scrollHeight > passage.clientHeight, passage.tabIndex];
"""


def passage(browser: Browser) -> str:
    return str(browser.run("return document.getElementById('passage').textContent"))


def test_a_text_is_read_beside_its_query_and_answered_by_one_key(
    tmp_path: Path, artefacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    corpus = [{"_id": key, "title": "A title", "text": text} for key, text in PASSAGES.items()]
    Path("corpus.jsonl").write_text("".join(json.dumps(each) + "\n" for each in corpus))
    Path("queries.jsonl").write_text('{"_id": "q", "text": "what <b>is</b> it?"}\n')
    Path("test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td1\t1\n")
    Path("a.run").write_text("".join(f"q Q0 {key} 0 {9 - n} a\n" for n, key in enumerate(PASSAGES)))
    run("init", ".", "--guideline", "passage-relevance-v1")
    run("add-collection", "corpus.jsonl", "queries.jsonl", "test.tsv")
    run("add-run", "a.run")
    run("pool")
    run("tasks", "--overlap", "0")
    run("push", "--carrier", "page", "--annotator", "A01")
    seen = set()
    with serving(tmp_path) as served, open_browser(tmp_path) as browser:
        for number in range(3):
            browser.resize(*SIZES[number])
            if number == 0:
                begin(browser, served.links["A01"])
            task = is_ready(browser)
            assert caption(browser) == "what <b>is</b> it?"
            seen.add(passage(browser))
            assert browser.run(ALL_SEEN)
            assert browser.run("return !document.querySelector('#passage *')")  # text, and never HTML
            scrolls = browser.run(SCROLLS)
            assert scrolls in ([False, -1], [True, 0])
            browser.screenshot(artefacts / f"text-{number}.png")
            press(browser, "1", task)
        assert not shown(browser)["page"]
    assert seen == {f"A title\n{text}".strip() for text in PASSAGES.values()}
    assert [each["label"] for each in answers(tmp_path)] == ["relevant"] * 3


def test_label_studio_shows_a_text_as_it_is(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    text = f"A title\n{HOSTILE.replace(chr(13) + chr(10), ' ')}\n" + "word " * 4000
    made = live_server.project(
        "texts", CONFIG, [{"caption": "what <b>is</b> it?", "text": text, "pair_id": "q|d"}], **SETTINGS
    )
    person = live_server.annotator("W33")
    with open_browser(tmp_path) as browser:
        log_in(browser, live_server.connection.url, person.email, person.password)
        browser.open(f"{live_server.connection.url}/projects/{made}/data?labeling=1")
        browser.wait_for_element(SUBMIT)
        for width, height in SERVER_SIZES:
            browser.resize(width, height)
            browser.wait_for(f"all within {width} × {height}", lambda: browser.run(SEEN))
            browser.screenshot(artefacts / f"text-server-{width}.png")
        shown_text = browser.run("return document.querySelector('.judge .item').innerText")
        assert shown_text.startswith("A title\n")
        assert "<img src=x onerror=alert(1)> {{7*7}} $caption" in shown_text
        assert shown_text.count("word") == 4000
        answer(browser, "2", "4")
    (given,) = live_server.answers(made)["q|d"]
    assert {each["from_name"]: each["value"]["choices"] for each in given["result"]} == {
        "relevance": ["irrelevant"],
        "flags": ["sensitive"],
    }


def test_label_studio_asks_several_queries_of_a_text(
    chromium: None, live_server: LiveServer, artefacts: Path, tmp_path: Path
) -> None:
    page = parse_label_config(CONFIG)
    captions = [{"text": f"query {n}?", "pair_id": f"q{n}|d", **caption_entry(page, n)} for n in range(3)]
    task = {"text": "A title\n" + "word " * 4000, "captions": captions, "pair_id": "page:0"}
    made = live_server.project("several-texts", several_config(CONFIG), [task], **SETTINGS)
    person = live_server.annotator("W34")
    with open_browser(tmp_path) as browser:
        log_in(browser, live_server.connection.url, person.email, person.password)
        browser.open(f"{live_server.connection.url}/projects/{made}/data?labeling=1")
        browser.wait_for_element(SUBMIT)
        browser.wait_for_element(".judge .row label")
        browser.screenshot(artefacts / "texts-several.png")
        assert browser.run(SEEN)
        answer(browser, "1", "w", "3")
    (given,) = live_server.answers(made)["page:0"]
    assert choices(given) == ["relevant", "irrelevant", "relevant"]
