"""Captions judged alone on our own page, in a real browser: the caption as text, and its answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from live_browser import open_browser
from page_site import HOSTILE, run, serving
from test_live_page import SIZES, answers, begin, caption, is_ready, press, shown

ALL_SEEN = """
let seen = [...document.querySelectorAll('main button, main input, #caption')].filter(e => e.offsetParent);
return seen.every(e => {
    let box = e.getBoundingClientRect();
    return box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight; });
"""
CONTROLS = (
    "return [...document.querySelectorAll('main button, video, img')].filter(e => e.offsetParent).length"
)


def test_a_caption_alone_is_answered_by_one_key_with_its_flags(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run("init", ".", "--guideline", "query-validity-v1")
    texts = [HOSTILE.replace("\r\n", " "), "long " * 2000, "a dog runs"]
    lines = "".join(f"q{n}\t{text}\n" for n, text in enumerate(texts))
    Path("collection/queries.tsv").write_text("query_id\ttext\n" + lines)
    run("tasks")
    run("push", "--carrier", "page", "--annotator", "A01")
    seen = set()
    with serving(tmp_path) as served, open_browser(tmp_path) as browser:
        for number in range(3):
            browser.resize(*SIZES[number])
            if number == 0:
                begin(browser, served.links["A01"])
            task = is_ready(browser)
            seen.add(caption(browser).strip())
            assert browser.run(ALL_SEEN)
            assert browser.run(CONTROLS) == 9  # three answers, four flags, undo, instructions
            browser.press("6")
            press(browser, "2", task)
        assert not shown(browser)["page"]
    assert seen == {text.strip() for text in texts}
    assert [(each["label"], each["flags"]) for each in answers(tmp_path)] == [
        ("unusable", ["unspecific"])
    ] * 3
