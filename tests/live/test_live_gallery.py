"""The gallery in a real browser: clips play, keys, filters and permalinks work, hostile texts stay texts."""

import contextlib
import csv
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from command import run
from live_browser import Browser, open_browser
from live_server import clips

TAKEN = "document.title='taken'"
HOSTILE = f"</script><script>{TAKEN}</script><img src=http://evil.example onerror={TAKEN}>"
CAPTIONS = {
    "1": "a red circle",
    "a/b,?#%": "\u202eright to left \u2028 and a line",
    "__proto__": HOSTILE,
    HOSTILE.replace(" ", "-"): "an id that is a script",
    "long": "ha" * 5_000,
}
PLAYING = (
    "return [...document.querySelectorAll('main video')].filter(v => v.readyState > 2 && !v.paused).length"
)
TITLE = "return document.querySelector('#caption') ? document.querySelector('#caption').textContent : ''"
COUNT = "return document.querySelector('#count').textContent"
ASKED = "return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('file:'))"


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A gallery of hostile captions and a clip; a workspace of its own."""
    root = tmp_path_factory.mktemp("gallery") / "study"
    media = [f"media/{n}.webm" for n in range(3)]
    docs = ["d0", "d1", HOSTILE.replace(" ", "-")]
    write(root / "collection/queries.tsv", "query_id text", CAPTIONS.items())
    write(root / "collection/items.tsv", "doc_id media_url", zip(docs, media, strict=True))
    (root / "media").mkdir()
    for name, clip in zip(media, clips(3), strict=True):
        (root / name).write_bytes(clip)
    for name, order in (("one", (0, 1, 2)), ("two", (1, 2, 0))):
        ranks = [(docs[n], rank, 9 - rank) for rank, n in enumerate(order, 1)]
        rows = [(name, query, *each) for query in CAPTIONS for each in ranks]
        write(root / f"runs/{name}.csv", "run_id query_id doc_id rank score", rows)
    (root / "collection/qrels.txt").write_text("".join(f"{query} 0 d0 1\n" for query in CAPTIONS))
    said = [("ann", "relevant", HOSTILE), ("bob", "relevant", ""), ("cat", "irrelevant", "")]
    votes = [("1", "d1", *each) for each in said]
    write(root / "judgments/judgments.csv", "query_id doc_id annotator_id label comment", votes)
    (root / "fire.toml").write_text('[runs]\nfiles = ["runs/*.csv"]\n')
    with contextlib.chdir(root):
        run("resolve")
        run("gallery")
    return root / "gallery/index.html"


def write(path: Path, header: str, rows: Iterable[Iterable[object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as stream:
        delimiter = "," if path.suffix == ".csv" else "\t"
        csv.writer(stream, delimiter=delimiter, lineterminator="\n").writerows([header.split(), *rows])


@pytest.fixture
def browser(chromium: None, tmp_path: Path, gallery: Path) -> Iterator[Browser]:
    with open_browser(tmp_path) as found:
        found.resize(1400, 900)
        found.open(gallery.as_uri())
        found.wait_for_element(".pair")
        yield found


def test_clips_play_from_the_disk_and_nothing_else_is_asked(browser: Browser, artefacts: Path) -> None:
    browser.wait_for("the clips in sight", lambda: browser.run(PLAYING) >= 4)
    assert browser.run(ASKED) == []
    browser.run("document.querySelectorAll('.runs h3')[1].textContent = 'a-long-name'.repeat(9)")
    tops = "return [...document.querySelectorAll('.runs ol')].map(e => e.getBoundingClientRect().top)"
    assert len({*browser.run(tops)}) == 1  # equal ranks stand side by side
    for width in (1400, 400):
        browser.resize(width, 900)
        time.sleep(0.3)
        assert browser.run("return document.documentElement.scrollWidth <= innerWidth")
        browser.screenshot(artefacts / f"gallery-{width}.png")
    assert browser.console() == []


def test_what_is_out_of_sight_loads_nothing(browser: Browser) -> None:
    browser.resize(400, 500)
    browser.run("document.querySelector('main').style.paddingTop = '3000px'; window.scrollTo(0, 0)")
    browser.wait_for("no clip", lambda: browser.run("return document.querySelectorAll('video').length") == 0)


def test_hostile_texts_stay_texts(browser: Browser) -> None:
    for query, text in CAPTIONS.items():
        browser.run("location.hash = arguments[0]", "#" + quote(query, safe=""))
        browser.wait_for(query[:20], lambda text=text: browser.run(TITLE) == text)  # type: ignore[misc]
        browser.press("j"), browser.press("k")
        assert browser.run("return document.querySelectorAll('main script, main img').length") == 0
    browser.run("location.hash = '#1/d1'")
    browser.wait_for_element(".pair.target .votes")
    browser.run("document.querySelector('.pair.target .votes').focus()")
    tip = browser.run("return document.querySelector('#tip').textContent")
    assert "annotator 1: relevant" in tip
    assert HOSTILE in tip
    assert browser.run("return document.title") == "study: gallery"
    assert browser.run("return document.querySelectorAll('script').length") == 2
    assert browser.console() == []


def test_a_switch_shows_the_labels_before_and_after(browser: Browser) -> None:
    """The benchmark has d0 alone; people called d1 relevant too."""
    framed = (
        "return [...document.querySelectorAll('.run:not(.says) .pair')]"
        ".filter(e => getComputedStyle(e).boxShadow !== 'none').map(e => e.dataset.doc)"
    )
    assert browser.run(framed) == ["d0", "d1", "d1", "d0"]
    browser.press("b")
    assert browser.run(framed) == ["d0", "d0"]
    browser.click("[data-of=after]")
    assert browser.run(framed) == ["d0", "d1", "d1", "d0"]
    said = "return [...document.querySelectorAll('.says .doc')].map(e => e.textContent)"
    assert browser.run(said) == ["d0"]


def test_what_is_listed_and_marked_is_saved_as_a_table(browser: Browser, tmp_path: Path) -> None:
    def saves(name: str, rows: str) -> None:
        browser.wait_for(name, lambda: (tmp_path / name).is_file() and (tmp_path / name).read_text() == rows)

    browser.save_downloads(tmp_path)
    browser.click(".mark")
    browser.click("[data-view=captions]")
    browser.click("#filters button:nth-child(2)")  # split votes
    browser.click("#save")
    row = "1,a red circle,new positives; split votes; unjudged docs; more winners\n"
    saves("captions.csv", "query_id,text,has\n" + row)
    browser.click("[data-view=marks]")
    browser.click("#download")
    saves("recheck.csv", "query_id,doc_id\n1,d1\n")
    assert browser.console() == []


def test_keys_filters_search_and_links(browser: Browser) -> None:
    def comes(what: str, script: str, expected: object = True) -> None:
        browser.wait_for(what, lambda: browser.run(f"return {script}") == expected)

    def of(selector: str) -> str:
        return f"document.querySelector('{selector}').textContent"

    assert browser.url.endswith("#1/d1")  # the most convincing false negative
    browser.click("[data-view=captions]")
    browser.press("j")
    browser.wait_for("the second caption", lambda: browser.run(TITLE) == CAPTIONS["a/b,?#%"])
    assert browser.url.endswith("#a%2Fb%2C%3F%23%25")
    browser.press("k")
    browser.wait_for("the first caption", lambda: browser.run(TITLE) == CAPTIONS["1"])
    browser.press("2")
    video = "document.querySelector('#stage video')"
    comes("the clip large", f"{video} && {video}.readyState > 2 && !{video}.paused")
    assert browser.run(f"return {of('#stage .id')}") == "d1"
    browser.press("m")
    browser.press("\ue00c")
    assert browser.run("return document.querySelector('#large').hidden")
    assert browser.run(f"return {of('#n-marks')}") == "1"
    browser.click("#filters button:nth-child(2)")
    assert browser.run(COUNT) == "1 of 5 captions"
    browser.click("#filters button:nth-child(2)")
    browser.type("#search", "script")
    assert browser.run(COUNT) == "2 of 5 captions"
    browser.click("[data-view=found]")
    assert browser.run(COUNT) == "1 pair"
    browser.click("#rows a")
    comes(
        "the pair", "document.querySelector('.target') && document.querySelector('.target').dataset.doc", "d1"
    )
    browser.run("location.hash = '#no such'")
    comes("a word", f"{of('main')}.includes('No caption has the id')")
    browser.run("location.reload()")
    comes("the mark", of("#n-marks"), "1")
    assert browser.console() == []
