"""The page from a file in a real browser: kept through kills, saved as a file, taken by `import`."""

from pathlib import Path

import pandas as pd
import pytest
from live_browser import Browser, open_browser
from page_site import HOSTILE, N_PAIRS, run
from test_live_page import (
    ALL_SEEN,
    BACKSPACE,
    COUNTED,
    DONE,
    SIZES,
    answer_all,
    caption,
    is_missing,
    is_ready,
    kill_browser,
    press,
)

TEXT = "return document.body.innerText"


def open_page(browser: Browser, root: Path, *, agrees: bool = True) -> None:
    browser.resize(*SIZES[0])
    browser.open((root / "pages" / "A01" / "judge.html").as_uri())
    if agrees:
        browser.click("#agree:not([hidden])")


def save(browser: Browser, folder: Path) -> Path:
    """Press `s`, and return the file that the browser saved."""
    browser.save_downloads(folder)
    target = folder / "answers.A01.jsonl"
    target.unlink(missing_ok=True)
    browser.press("s")
    browser.wait_for("the file", target.is_file)
    return target


def judged(root: Path) -> list[str]:
    """Return the labels of A01's answers, those to controls too."""
    folder = root / "judgments"
    judgments, dropped = (pd.read_csv(folder / f"{name}.csv") for name in ("judgments", "dropped"))
    controls = dropped.loc[dropped["reason"] == "control", "label"].dropna()  # a report has no label
    return sorted([*judgments["label"], *controls])


def test_answers_on_a_file_come_back_as_a_file(page_root: Path, artefacts: Path, tmp_path: Path) -> None:
    run("page", "write")
    seen = []
    with open_browser(tmp_path) as browser:
        open_page(browser, page_root)
        task = is_ready(browser)
        press(browser, "2", task)
        press(browser, BACKSPACE, is_ready(browser))
        assert is_ready(browser) == task
        early = save(browser, tmp_path).rename(tmp_path / "early.jsonl")
        while not browser.run(DONE):
            task = is_ready(browser)
            if not seen:
                browser.fits(ALL_SEEN, SIZES, artefacts / "written-page")
            seen.append(caption(browser))
            assert browser.run("return document.querySelectorAll('#caption *').length") == 0
            press(browser, "1", task)
        assert "Save your answers as a file" in browser.run(TEXT)
        file = save(browser, tmp_path)
    assert len(seen) == len(set(seen)) == N_PAIRS
    assert set(seen) <= {HOSTILE.replace("\r\n", " "), *(f"caption {n}" for n in range(10))}
    assert "1 new, 0 edited, 1 deleted" in run("import", str(early)).stderr
    assert "7 new, 1 edited, 0 deleted" in run("import", str(file)).stderr
    assert "0 new" in run("import", str(file)).stderr
    assert judged(page_root) == ["relevant"] * N_PAIRS


def test_a_killed_browser_loses_no_answer_that_it_counted(page_root: Path, tmp_path: Path) -> None:
    """Each time it is killed at once after the count has moved, or after a key that has not counted yet."""
    run("page", "write")
    n_kept = 0
    for number, waits in enumerate((True, True, False, True, False)):
        with open_browser(tmp_path) as browser:
            open_page(browser, page_root, agrees=number == 0)
            is_ready(browser)
            assert n_kept <= browser.run(COUNTED) <= n_kept + 1
            n_kept = browser.run(COUNTED)
            browser.press("1")
            if waits:
                browser.wait_for("the count", lambda n=n_kept: browser.run(COUNTED) == n + 1)
                n_kept += 1
            kill_browser(tmp_path)
    with open_browser(tmp_path) as browser:
        open_page(browser, page_root, agrees=False)
        is_ready(browser)
        n_kept = browser.run(COUNTED)
        file = save(browser, tmp_path)
    assert n_kept >= 3
    assert f"{n_kept} new, 0 edited" in run("import", str(file)).stderr
    assert judged(page_root) == ["relevant"] * n_kept


def test_a_second_tab_is_told_and_a_report_is_no_judgment(page_root: Path, tmp_path: Path) -> None:
    for number in range(2):
        (page_root / "media" / f"v{number}.webm").write_bytes(b"no video")
    run("page", "write")
    with open_browser(tmp_path) as browser:
        open_page(browser, page_root)
        press(browser, "0", is_missing(browser))
        n_reported = browser.run(COUNTED)
        assert 1 < n_reported < 8  # all that is asked of the item
        browser.run("window.open(location.href)")
        browser.switch(browser.windows[1])
        browser.wait_for("a word", lambda: "open in another tab" in browser.run(TEXT))
        browser.switch(browser.windows[0])
        file = save(browser, tmp_path)
    assert f"{n_reported} new" in run("import", str(file)).stderr
    assert judged(page_root) == []


@pytest.mark.parametrize("captions", [10])
def test_ten_captions_are_answered_on_a_written_page(page_root: Path, tmp_path: Path, captions: int) -> None:
    run("page", "write")
    with open_browser(tmp_path) as browser:
        open_page(browser, page_root)
        is_ready(browser)
        assert answer_all(browser) == 2
        file = save(browser, tmp_path)
    run("import", str(file))
    table = pd.read_csv(page_root / "judgments" / "judgments.csv")
    assert table["page"].nunique() == 2
    assert (table["page_position"] <= 10).all()
    assert table["page_s"].gt(table["duration_s"]).all()
