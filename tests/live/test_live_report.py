"""The report in a real browser: it draws, asks for nothing, and works by keyboard, wide and narrow."""

import subprocess
import sys
from pathlib import Path

import pytest
from live_browser import open_browser

NOTHING_ASKED = "return performance.getEntriesByType('resource').map(entry => entry.name)"


@pytest.mark.usefixtures("chromium")
def test_the_demo_s_report_draws_and_asks_for_nothing(tmp_path: Path, artefacts: Path) -> None:
    """The demo is made anew, since the report is to be of a whole workspace."""
    fire = [sys.executable, "-m", "fire_toolkit"]
    subprocess.run([*fire, "demo", "--out", "demo"], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run([*fire, "report", "html"], cwd=tmp_path / "demo", check=True, capture_output=True)
    with open_browser(tmp_path) as browser:
        for width, height in ((1366, 900), (390, 844)):
            browser.resize(width, height)
            browser.open((tmp_path / "demo/report.html").as_uri())
            browser.wait_for(
                "plots", lambda: browser.run("return document.querySelectorAll('svg.marks').length == 6")
            )
            assert browser.run(NOTHING_ASKED) == []
            assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
            browser.screenshot(artefacts / f"report-{width}.png")
        marks = "return document.querySelector('#first svg').outerHTML"
        before = browser.run(marks)
        browser.type("#first select", "AP")
        browser.wait_for("another measure", lambda: browser.run(marks) != before)
        errors = "return document.querySelectorAll('.vega-embed.error, .error').length"
        assert browser.run(errors) == 0
