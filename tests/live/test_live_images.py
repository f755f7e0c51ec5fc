"""Pages of images in a real browser: composed queries, and captions as the items, in three sizes."""

import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from live_browser import Browser, open_browser
from page_site import HOSTILE, run, serving
from test_composed_pages import GUIDELINE, make_composed
from test_live_page import SIZES, answers, begin, is_missing, is_ready, press, shown

# Every control and both images lie within the window; the images are no smaller than a thumb.
ALL_SEEN = """
let seen = e => e.offsetParent && e.getBoundingClientRect();
let boxes = [...document.querySelectorAll('main button, main input, #caption, #rows, #stage img')].map(seen);
let images = [...document.querySelectorAll('#stage img')].map(seen).filter(Boolean);
return document.documentElement.scrollHeight <= innerHeight
    && images.every(box => box.height >= 100 && box.width >= 100) && boxes.filter(Boolean).every(box =>
    box.top >= 0 && box.left >= 0 && box.right <= innerWidth && box.bottom <= innerHeight);
"""


def png(colour: tuple[int, int, int], side: str) -> bytes:
    """Return a picture: a shape in that colour to the left or to the right, on grey."""
    pixels = np.full((240, 320, 3), 200, dtype=np.uint8)
    start = 30 if side == "left" else 190
    pixels[60:180, start : start + 100] = colour
    rows = np.hstack([np.zeros((240, 1), np.uint8), pixels.reshape(240, -1)])

    def chunk(name: bytes, content: bytes) -> bytes:
        return (
            struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))
        )

    head = struct.pack(">IIBBBBB", 320, 240, 8, 2, 0, 0, 0)
    body = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows.tobytes())) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


IMAGES = {
    "start": png((200, 30, 30), "left"),
    "one": png((30, 60, 200), "left"),
    "two": png((30, 60, 200), "right"),
}


@pytest.fixture
def place(chromium: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "workspace"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


def look(browser: Browser, artefacts: Path, name: str) -> None:
    browser.fits(ALL_SEEN, SIZES, artefacts / name)
    browser.resize(*SIZES[0])


def test_reference_text_and_candidate_stand_together(place: Path, artefacts: Path, tmp_path: Path) -> None:
    make_composed(place, IMAGES)
    queries = place / "collection" / "queries.tsv"
    queries.write_text(
        queries.read_text().replace("change 0", "is blue instead, " + HOSTILE.split("\r\n")[0])
    )
    run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, "--overlap", "0")
    run("push", "--carrier", "page", "--annotator", "A01")
    with serving(place) as served, open_browser(tmp_path) as browser:
        browser.resize(*SIZES[0])
        begin(browser, served.links["A01"])
        while "blue" not in browser.run("return document.getElementById('caption').textContent"):
            press(browser, "2", is_ready(browser))
        look(browser, artefacts, "composed")
        while not browser.run("return document.getElementById('work').hidden"):
            press(browser, "1", is_ready(browser))
    assert len(answers(place)) == 4


def test_without_its_reference_nothing_can_be_answered(place: Path, tmp_path: Path) -> None:
    make_composed(place, IMAGES | {"start": b"no picture"})
    run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, "--overlap", "0")
    run("push", "--carrier", "page", "--annotator", "A01")
    run("page", "write")
    with open_browser(tmp_path) as browser:
        browser.open((place / "pages" / "A01" / "judge.html").as_uri())
        browser.click("#agree:not([hidden])")
        task = is_missing(browser)
        browser.press("1")
        assert shown(browser)["page"] == task
        press(browser, "0", task)


def test_captions_as_items_come_in_tens_beside_an_image(place: Path, artefacts: Path, tmp_path: Path) -> None:
    """An image is the query, and eleven captions are its items: a page of six and a page of five."""
    run("init", ".")
    (place / "media").mkdir()
    (place / "media" / "i.png").write_bytes(IMAGES["one"])
    texts = [f"caption {n}" for n in range(9)] + [HOSTILE.split("\r\n")[0], "long " * 2000]
    (place / "pool").mkdir(exist_ok=True)
    pool = "".join(f"i,c{n}\n" for n in range(len(texts)))
    (place / "pool" / "pool.csv").write_text("query_id,doc_id\n" + pool)
    (place / "collection" / "queries.tsv").write_text("query_id\tmedia_url\ni\tmedia/i.png\n")
    rows = "".join(f"c{n}\t{text}\n" for n, text in enumerate(texts))
    (place / "collection" / "items.tsv").write_text("doc_id\ttext\n" + rows)
    by = ("--guideline", "caption-image-relevance-v1")
    run("tasks", "pool/pool.csv", *by, "--overlap", "0", "--captions", "10")
    run("push", "--carrier", "page", "--annotator", "A01")
    with serving(place) as served, open_browser(tmp_path) as browser:
        browser.resize(*SIZES[0])
        begin(browser, served.links["A01"])
        look(browser, artefacts, "image-captions")
        assert browser.run("return document.querySelectorAll('#rows li').length") in (5, 6)
        assert browser.run("return document.querySelectorAll('#rows span *').length") == 0
        while not browser.run("return document.getElementById('work').hidden"):
            task = is_ready(browser)
            look(browser, artefacts, "image-captions-later")
            press(browser, "1", task)
    assert len(answers(place)) == len(texts)
    run("pull")
    assert "intervals draw queries whole" in run("agree").stderr
