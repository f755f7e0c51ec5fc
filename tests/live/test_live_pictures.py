"""The pictures of our own page in the docs, made with the demo's clips; `make pictures` writes them there."""

from dataclasses import replace
from pathlib import Path

import pytest
from live_browser import Browser, open_browser
from page_site import run
from test_composed_pages import GUIDELINE, make_composed
from test_live_images import ALL_SEEN, IMAGES
from test_live_page import is_ready, press


def world_here(monkeypatch: pytest.MonkeyPatch, place: Path) -> None:
    """Make the demo's world, with plain backgrounds, in `place`, which becomes the current folder."""
    from fire_toolkit.demo.film import write_world
    from fire_toolkit.demo.world import make_world

    place.mkdir()
    monkeypatch.chdir(place)
    world = make_world(n_captions=12)
    plain = tuple(replace(clip, blotches=0.0, grain=0.0) for clip in world.clips)
    write_world(replace(world, clips=plain), place, depth=60, overlap=0)
    run("pool")


def open_page(browser: Browser, place: Path) -> None:
    browser.resize(1240, 580)
    browser.open((place / "pages" / "A01" / "judge.html").as_uri())
    browser.click("#agree:not([hidden])")
    is_ready(browser)


def picture(browser: Browser, path: Path) -> None:
    browser.wait_for("all within the window", lambda: browser.run(ALL_SEEN))
    browser.screenshot(path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize(("name", "captions"), [("own-page", "1"), ("own-page-ten", "10")])
def test_a_clip_with_one_caption_and_with_ten(
    chromium: None, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, captions: str
) -> None:
    place = tmp_path / "workspace"
    world_here(monkeypatch, place)
    run("tasks", "--captions", captions)
    run("push", "--carrier", "page", "--annotator", "A01")
    run("page", "write")
    with open_browser(tmp_path) as browser:
        open_page(browser, place)
        for key in ("2", "2", "2", "2") if captions == "10" else ():
            press(browser, key, is_ready(browser))
        picture(browser, pictures / f"{name}.png")


def test_a_composed_query(
    chromium: None, pictures: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "workspace"
    place.mkdir()
    monkeypatch.chdir(place)
    make_composed(place, IMAGES)
    queries = place / "collection" / "queries.tsv"
    queries.write_text(queries.read_text().replace("change 0", "is blue, and stands at the other side"))
    run("tasks", "pool/pool.csv", "--guideline", GUIDELINE, "--overlap", "0")
    run("push", "--carrier", "page", "--annotator", "A01")
    run("page", "write")
    with open_browser(tmp_path) as browser:
        open_page(browser, place)
        while "blue" not in browser.run("return document.getElementById('caption').textContent"):
            press(browser, "2", is_ready(browser))
        picture(browser, pictures / "composed-page.png")
