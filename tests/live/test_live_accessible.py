"""Report, gallery, our own page and the site as Chromium's accessibility tree has them, and by Tab alone."""

import json
import os
from pathlib import Path

import pytest
from live_accessible import check_accessible, headings, nameless, nodes_of, tab_stops
from live_browser import open_browser
from test_live_site import SITE

AXE = os.environ.get("FIRE_AXE", "")  # where axe.min.js of axe-core stands
_FOUND = """axe.run().then(found => JSON.stringify(found.violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .map(each => [each.id, each.nodes[0].html])))"""
DOWN, HOME, END, ENTER = "\ue015", "\ue011", "\ue010", "\ue007"


def test_the_report_has_names_levels_and_an_order(demo: Path, tmp_path: Path) -> None:
    with open_browser(tmp_path) as browser:
        browser.open((demo / "report.html").as_uri())
        browser.wait_for(
            "plots", lambda: browser.run("return document.querySelectorAll('svg[role=img]').length == 6")
        )
        check_accessible(browser)
        plots = [node for node in nodes_of(browser) if node.role == "image"]
        texts = browser.run(
            "return [...document.querySelectorAll('figcaption')]"
            ".filter(e => !e.closest('details:not([open])')).map(e => e.textContent)"
        )
        assert [plot.name for plot in plots] == texts  # one picture for each plot, and nothing of its insides
        assert browser.console() == []


def test_the_report_on_paper_has_its_methods_and_nothing_is_cut_off(demo: Path, tmp_path: Path) -> None:
    opened = "return document.getElementById('methods').open"
    with open_browser(tmp_path) as browser:
        browser.open((demo / "report.html").as_uri())
        browser.wait_for_element("svg[role=img]")
        browser.run("addEventListener('beforeprint', () => { window.seen = document.all.methods.open; })")
        assert browser.run(opened) is False
        browser.cdp("Page.printToPDF")
        assert browser.run("return window.seen") is True
        assert browser.run(opened) is False
        browser.cdp("Emulation.setEmulatedMedia", media="print")
        browser.resize(720, 1000)  # as wide as a page of A4
        wide = "return [...document.querySelectorAll('.wide')].filter(e => e.scrollWidth > e.clientWidth + 1)"
        assert browser.run(wide + ".map(e => e.ariaLabel)") == []  # what does not fit would be cut off
        browser.run("document.all.words.open = true")
        apart = "return [...document.querySelectorAll('dt')].filter(e => e.offsetLeft"
        assert browser.run(apart + " != e.nextElementSibling.offsetLeft).length") == 0  # a word has its text


@pytest.mark.skipif(not AXE, reason="needs axe-core: FIRE_AXE names its axe.min.js")
@pytest.mark.parametrize("page", ["report.html", "gallery/index.html"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(demo: Path, tmp_path: Path, page: str, scheme: str) -> None:
    """What is folded is opened, so that axe sees all of it."""
    with open_browser(tmp_path) as browser:
        browser.cdp(
            "Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}]
        )
        browser.open((demo / page).as_uri())
        browser.wait_for_element("svg[role=img], .pair")
        browser.run("for (const each of document.querySelectorAll('details')) each.open = true")
        browser.cdp("Runtime.evaluate", expression=Path(AXE).read_text(encoding="utf-8"))
        found = browser.cdp("Runtime.evaluate", expression=_FOUND, awaitPromise=True)
        assert json.loads(found["result"]["value"]) == []


def test_the_gallery_is_worked_by_keys_alone(demo: Path, tmp_path: Path) -> None:
    row = "return [document.activeElement.closest('#rows li')?.dataset.at, document.activeElement.tagName]"
    with open_browser(tmp_path) as browser:
        browser.resize(1366, 768)
        browser.open((demo / "gallery/index.html").as_uri())
        browser.wait_for_element(".pair")
        browser.run("document.querySelector('[data-view=captions]').click()")
        check_accessible(browser)
        stops = [html for _, html, _ in tab_stops(browser)]
        assert sum('href="#q' in html for html in stops) == 1  # the list is one stop
        browser.run("document.querySelector('#rows a[tabindex=\"0\"]').focus()")
        browser.press(HOME)
        for _ in range(30):  # further than what is drawn at once
            browser.press(DOWN)
        assert browser.run(row) == ["30", "A"]
        browser.press(END)
        assert browser.run(row) == ["99", "A"]
        last = browser.run("return document.activeElement.querySelector('.text').textContent")
        browser.press(ENTER)
        browser.wait_for(
            "the caption",
            lambda: browser.run("return document.querySelector('#caption').textContent") == last,
        )
        assert browser.run(row) == ["99", "A"]  # drawing the list anew keeps the focus
        browser.run("document.querySelector('.screen').focus()")
        browser.press(ENTER)
        dialog = [node for node in nodes_of(browser) if node.role == "dialog"]
        assert [node.name for node in dialog] == ["Clip"]
        assert nameless(browser) == []
        browser.press("\ue00c")
        assert browser.run("return document.activeElement.className") == "screen"


def test_a_page_of_another_gallery_takes_no_shard(demo: Path, tmp_path: Path) -> None:
    index = demo / "gallery/data/index.js"
    text = index.read_text()
    index.write_text(text.replace('"made":"', '"made":"0'))
    try:
        with open_browser(tmp_path) as browser:
            browser.open((demo / "gallery/index.html").as_uri())
            browser.wait_for(
                "a word",
                lambda: "written anew" in browser.run("return document.querySelector('main').textContent"),
            )
            assert browser.run("return document.querySelectorAll('.pair').length") == 0
    finally:
        index.write_text(text)


@pytest.mark.usefixtures("chromium")
@pytest.mark.parametrize("page", ["index.html", "docs/commands/README.html", "docs/benchmarks.html"])
def test_the_site_has_names_and_scrolls_by_keys(page: str, tmp_path: Path) -> None:
    scrolls = """
    return [...document.querySelectorAll("article *")].filter(e => e.scrollWidth > e.clientWidth + 1 &&
        ["auto", "scroll"].includes(getComputedStyle(e).overflowX) && e.tabIndex < 0)
      .map(e => e.outerHTML.slice(0, 80))
    """
    assert (SITE / page).is_file(), "run `make site` first"
    with open_browser(tmp_path) as browser:
        browser.resize(390, 844)
        browser.open((SITE / page).as_uri())
        assert nameless(browser) == []
        assert browser.run(scrolls) == []
        assert 0 not in headings(browser)
