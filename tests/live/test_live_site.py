"""The documentation as a site in a real browser, from the disk: it asks for nothing, and can be searched."""

from pathlib import Path

import pytest
from live_browser import open_browser

SITE = Path(__file__).resolve().parents[2] / "site"
ASKED = "return performance.getEntriesByType('resource').map(entry => entry.name)"


@pytest.mark.usefixtures("chromium")
def test_every_page_opens_asks_nothing_and_is_found_by_the_search(tmp_path: Path, artefacts: Path) -> None:
    assert (SITE / "index.html").is_file(), "run `make site` first"
    pages = sorted(SITE.rglob("*.html"))
    with open_browser(tmp_path) as browser:
        for width, height in ((1400, 900), (1366, 768), (390, 844)):
            browser.resize(width, height)
            for page in pages if width == 390 else [SITE / "index.html", SITE / "docs/comparison.html"]:
                browser.open(page.as_uri())
                asked = browser.run(ASKED)
                assert [name for name in asked if not name.startswith(("file:", "data:", "blob:"))] == [], (
                    page
                )
                assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth"), page
            browser.open((SITE / "index.html").as_uri())
            browser.screenshot(artefacts / f"site-{width}.png")
        browser.open((SITE / "search.html").as_uri() + "?q=krippendorff")
        found = "return [...document.querySelectorAll('#search-results li a')].map(a => a.textContent)"
        browser.wait_for("results", lambda: "Agreement and defensible labels" in browser.run(found))
