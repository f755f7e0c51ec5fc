"""The report in a real browser: it draws, asks for nothing, and works by keyboard, wide and narrow."""

import base64
import re
import shutil
from pathlib import Path

import numpy as np
import pytest
from command import run
from live_browser import open_browser

NOTHING_ASKED = "return performance.getEntriesByType('resource').map(entry => entry.name)"
# Texts of plots that are cut: they lie outside of their picture, or end in dots.
CUT = """
const isOut = (inner, outer) => inner.left < outer.left - 1 || inner.right > outer.right + 1
  || inner.top < outer.top - 1 || inner.bottom > outer.bottom + 1;
return [...document.querySelectorAll("svg.marks")].flatMap((svg) => [...svg.querySelectorAll("text")]
  .filter((text) => text.textContent.endsWith("…")
    || text.textContent && isOut(text.getBoundingClientRect(), svg.getBoundingClientRect()))
  .map((text) => text.textContent));
"""
# Plots that reach out of their figures.
OUT = """
const ends = (each) => each.getBoundingClientRect().right;
const plots = [...document.querySelectorAll("figure svg.marks")];
return plots.filter((svg) => ends(svg) > ends(svg.closest("figure")) + 1).length;
"""
HEIGHT = "return document.documentElement.scrollHeight"
LONG = "internvideo2-6b-finetuned-on-msrvtt-1k-a"


PLOTS = "return document.querySelectorAll('svg.marks').length == 6"


def test_the_demo_s_report_draws_and_asks_for_nothing(demo: Path, tmp_path: Path, artefacts: Path) -> None:
    with open_browser(tmp_path) as browser:
        for width, height in ((1366, 900), (390, 844)):
            browser.resize(width, height)
            browser.open((demo / "report.html").as_uri())
            browser.wait_for("plots", lambda: browser.run(PLOTS))
            assert browser.run(NOTHING_ASKED) == []
            assert browser.run("return document.documentElement.scrollWidth <= window.innerWidth")
            assert browser.run(CUT) == []
            assert width < 1000 or browser.run(HEIGHT) <= 4_000
            browser.screenshot(artefacts / f"report-{width}.png")
        marks = "return document.querySelector('#first svg').outerHTML"
        before = browser.run(marks)
        browser.type("#first select", "AP")
        browser.wait_for("another measure", lambda: browser.run(marks) != before)
        errors = "return document.querySelectorAll('.vega-embed.error, .error').length"
        assert browser.run(errors) == 0


def test_a_report_of_20_models_is_not_long_and_cuts_no_name(
    demo: Path, tmp_path: Path, artefacts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runs are the demo's, and 15 of chance beside them, whose names begin with the same 40 letters."""
    root = Path(shutil.copytree(demo, tmp_path / "demo"))
    with np.load(root / "runs/fused.npz") as stored:
        known = dict(stored)
    rng = np.random.default_rng(0)
    for name in [LONG, *(f"{LONG}-model-{n}" for n in range(14))]:
        sims = known["sims"] + rng.normal(0, 2, known["sims"].shape).astype(np.float32)
        np.savez(root / f"runs/{name}.npz", **{**known, "sims": sims})
    monkeypatch.chdir(root)
    run("report", "html")
    report = root / "report.html"
    assert report.stat().st_size <= 1_200_000
    with open_browser(tmp_path) as browser:
        for width, height in ((1400, 900), (390, 844)):
            browser.resize(width, height)
            browser.open(report.as_uri())
            browser.wait_for("plots", lambda: browser.run(PLOTS))
            assert browser.run(CUT) == []
            assert width < 1000 or browser.run(HEIGHT) <= 6_000
            browser.screenshot(artefacts / f"report-20-{width}.png")
            pdf = base64.b64decode(browser.cdp("Page.printToPDF")["data"])
            assert 1 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 8
            browser.cdp("Emulation.setEmulatedMedia", media="print")
            browser.resize(720, 1000)  # on paper of 19 cm
            assert browser.run(OUT) == 0
            browser.cdp("Emulation.clearDeviceMetricsOverride")
            browser.cdp("Emulation.setEmulatedMedia", media="")
