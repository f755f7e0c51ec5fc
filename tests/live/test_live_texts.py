"""Captions alone, and texts as items, on our own page in a browser: shown as they are, answered by keys."""

import json
from pathlib import Path

import pytest
from live_browser import Browser, open_browser
from page_site import HOSTILE, run, serving
from test_live_page import SIZES, answers, begin, caption, is_ready, press, shown

ONE_LINE = HOSTILE.replace("\r\n", " ")
ALL_SEEN = """
let seen = [...document.querySelectorAll('main button, main input, #caption')].filter(e => e.offsetParent);
return seen.every(e => {
    let box = e.getBoundingClientRect();
    return box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight; });
"""
CONTROLS = (
    "return [...document.querySelectorAll('main button, video, img')].filter(e => e.offsetParent).length"
)
PASSAGES = {"d1": ONE_LINE, "d2": "long " * 4000, "NA": "שלום עולם, https://example.org/clip.mp4#t=1,2"}
SCROLLS = """
let passage = document.getElementById('passage');
return [passage.scrollHeight > passage.clientHeight, passage.tabIndex];
"""


def passage(browser: Browser) -> str:
    return str(browser.run("return document.getElementById('passage').textContent"))


def test_a_caption_alone_is_answered_by_one_key_with_its_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", ".", "--guideline", "query-validity-v1")
    texts = [ONE_LINE, "long " * 2000, "a dog runs"]
    lines = "".join(f"q{n}\t{text}\n" for n, text in enumerate(texts))
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + lines)
    run("tasks")
    run("push", "--carrier", "page", "--annotator", "A01")
    seen = set()
    with serving(tmp_path) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links["A01"])
        for size in SIZES:
            browser.resize(*size)
            task = is_ready(browser)
            seen.add(caption(browser).strip())
            assert browser.run(ALL_SEEN)
            assert browser.run(CONTROLS) == 10  # three answers, four flags, undo, last answers, instructions
            browser.press("6")
            press(browser, "2", task)
        assert not shown(browser)["page"]
    assert seen == {text.strip() for text in texts}
    assert [(each["label"], each["flags"]) for each in answers(tmp_path)] == [
        ("unusable", ["unspecific"])
    ] * 3


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
        begin(browser, served.links["A01"])
        for size in SIZES:
            browser.resize(*size)
            task = is_ready(browser)
            assert caption(browser) == "what <b>is</b> it?"
            seen.add(passage(browser))
            assert browser.run(ALL_SEEN)
            assert browser.run("return !document.querySelector('#passage *')")  # text, and never HTML
            assert browser.run(SCROLLS) in ([False, -1], [True, 0])
            browser.screenshot(artefacts / f"text-{size[0]}.png")
            press(browser, "1", task)
        assert not shown(browser)["page"]
    assert seen == {f"A title\n{text}".strip() for text in PASSAGES.values()}
    assert [each["label"] for each in answers(tmp_path)] == ["relevant"] * 3
