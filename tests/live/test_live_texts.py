"""Captions alone, and texts as items, on our own page in a browser: shown as they are, answered by keys."""

import json
from collections.abc import Callable
from pathlib import Path

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


def judged(root: Path, key: str, look: Callable[[Browser], str]) -> set[str]:
    """Answer all of A01's tasks by a key, each at another size, and return what was seen of them."""
    run("push", "--carrier", "page", "--annotator", "A01")
    seen = set()
    with serving(root) as served, open_browser(root) as browser:
        begin(browser, served.links["A01"])
        for size in SIZES:
            browser.resize(*size)
            task = is_ready(browser)
            seen.add(look(browser).strip())
            assert browser.run(ALL_SEEN)
            press(browser, key, task)
        assert not shown(browser)["page"]
    return seen


def test_a_caption_alone_is_answered_by_one_key_with_its_flags(here: Path) -> None:
    run("init", ".", "--guideline", "query-validity-v1")
    texts = [ONE_LINE, "long " * 2000, "a dog runs"]
    lines = "".join(f"q{n}\t{text}\n" for n, text in enumerate(texts))
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + lines)
    run("tasks")

    def look(browser: Browser) -> str:
        assert browser.run(CONTROLS) == 10  # three answers, four flags, undo, last answers, instructions
        browser.press("6")
        return caption(browser)

    assert judged(here, "2", look) == {text.strip() for text in texts}
    said = [(each["label"], each["flags"]) for each in answers(here)]
    assert said == [("unusable", ["unspecific"])] * 3


def test_a_text_is_read_beside_its_query_and_answered_by_one_key(here: Path, artefacts: Path) -> None:
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

    def look(browser: Browser) -> str:
        assert caption(browser) == "what <b>is</b> it?"
        assert browser.run("return !document.querySelector('#passage *')")  # text, and never HTML
        assert browser.run(SCROLLS) in ([False, -1], [True, 0])
        browser.screenshot(artefacts / f"text-{browser.run('return innerWidth')}.png")
        return str(browser.run("return document.getElementById('passage').textContent"))

    assert judged(here, "1", look) == {f"A title\n{text}".strip() for text in PASSAGES.values()}
    assert [each["label"] for each in answers(here)] == ["relevant"] * 3
