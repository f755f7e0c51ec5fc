"""Our own page in Firefox, served and from a file: keys, undo, sizes, kill -9, and all answers once."""

from pathlib import Path

import pandas as pd
import pytest
from live_accessible import TAB
from live_browser import ENTER
from live_firefox import firefox, open_firefox
from page_site import HOSTILE, run, serving
from test_live_page import ALL_SEEN, BACKSPACE, COUNTED, DONE, answers, begin, is_ready, press, shown

FOCUS = "return document.activeElement.dataset.name"
SIZES = ((1366, 625), (800, 600), (450, 844))


@pytest.fixture
def root(page_root: Path) -> Path:
    if firefox() is None:
        pytest.skip("no firefox: apt-get install firefox-esr")
    return page_root


def test_the_served_page_takes_each_key_once(root: Path, artefacts: Path, tmp_path: Path) -> None:
    with serving(root) as served, open_firefox(tmp_path) as browser:
        begin(browser, served.links["A01"])
        assert "#" not in browser.url
        browser.fits(ALL_SEEN, SIZES, artefacts / "firefox")
        task = is_ready(browser)
        press(browser, "2", task)
        press(browser, BACKSPACE, is_ready(browser))
        assert is_ready(browser) == task
        for _ in range(20):
            browser.press(TAB)
            if browser.run(FOCUS) == "relevant":
                break
        browser.press(ENTER)
        browser.wait_for("the next task", lambda: shown(browser)["page"] != task)
        assert browser.run(FOCUS) == "relevant"  # it stays there
        seen = set()
        while not browser.run(DONE):
            task = is_ready(browser)
            seen.add(browser.run("return document.getElementById('caption').textContent"))
            press(browser, "1", task)
        assert browser.run("return document.querySelectorAll('#caption *').length") == 0
    assert seen <= {HOSTILE.replace("\r\n", " "), *(f"caption {n}" for n in range(10))}
    first, *others = answers(root)
    assert first["label"] == "irrelevant"
    assert {record["label"] for record in others} == {"relevant"}
    assert len({record["pair"] for record in others}) == len(others) == 8


@pytest.mark.parametrize("captions", ["1", "10"])
def test_a_killed_firefox_loses_no_answer_of_a_file(root: Path, tmp_path: Path, captions: str) -> None:
    run("page", "write")
    link = (root / "pages" / "A01" / "judge.html").as_uri()
    n_kept = 0
    for waits in (True, False, True):
        with open_firefox(tmp_path) as browser:
            if n_kept:
                browser.open(link)
            else:
                begin(browser, link)
            is_ready(browser)
            assert n_kept <= browser.run(COUNTED) <= n_kept + 1
            n_kept = browser.run(COUNTED)
            browser.press("1")
            if waits:
                browser.wait_for("the count", lambda n=n_kept: browser.run(COUNTED) == n + 1)
                n_kept += 1
            browser.kill()
    with open_firefox(tmp_path) as browser:
        browser.open(link)
        is_ready(browser)
        n_kept = browser.run(COUNTED)
        browser.press("s")
        file = tmp_path / "answers.A01.jsonl"
        browser.wait_for("the file", lambda: file.is_file() and file.stat().st_size > 0)
    assert n_kept >= 2
    assert f"{n_kept} new, 0 edited" in run("import", str(file)).stderr
    judgments = pd.read_csv(root / "judgments" / "judgments.csv")
    dropped = pd.read_csv(root / "judgments" / "dropped.csv")
    assert len(judgments) + (dropped["reason"] == "control").sum() == n_kept
