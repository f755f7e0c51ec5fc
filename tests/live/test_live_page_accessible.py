"""Our own page without eyes or a mouse: names, states, what is said; Tab and Enter; touch."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from command import alter
from live_accessible import TAB, Node, check_accessible, headings, nodes_of
from live_browser import ENTER, SPACE, Browser, open_browser
from page_site import N_PAIRS, page_records, run, serving
from test_live_page import COUNTED, DONE, answers, is_ready, shown

SHIFT, DOWN = "\ue008", "\ue015"
OTHERS = ["sound m", "1× x", "last answers l", "sensitive 4", "pause space", "does not show 0", "undo ⌫"]
FOCUS = "return document.activeElement.innerText || document.activeElement.id"

Opened = Callable[..., AbstractContextManager[Browser]]


@pytest.fixture(params=["served", "written"])
def opened(request: pytest.FixtureRequest, page_root: Path, tmp_path: Path) -> Opened:
    """Opens A01's page at its consent, from a server or from a file."""

    @contextmanager
    def open_page() -> Iterator[Browser]:
        with open_browser(tmp_path) as browser:
            browser.resize(1366, 625)
            if request.param == "written":
                run("page", "write")
                browser.open((page_root / "pages/A01/judge.html").as_uri())
                yield browser
                return
            with serving(page_root) as served:
                browser.open(served.links["A01"])
                yield browser

    return open_page


def by_role(browser: Browser, role: str) -> list[Node]:
    return [node for node in nodes_of(browser) if node.role == role]


def names_of(browser: Browser, role: str) -> list[str]:
    return [node.name for node in by_role(browser, role)]


def states(browser: Browser, name: str) -> dict[str, Any]:
    """Return what is told of the button of a name."""
    (found,) = [node for node in by_role(browser, "button") if node.name == name]
    return found.states


def heard(browser: Browser) -> str:
    """Return what a screen reader speaks by itself: the text of the page's status."""
    return str(browser.run("return document.querySelector('[role=status]').textContent"))


def agree(browser: Browser) -> str:
    browser.click("#agree:not([hidden])")
    return is_ready(browser)


def focus_on(browser: Browser, name: str) -> None:
    """Press Tab until the button of a name has the focus."""
    for _ in range(25):
        if browser.run(FOCUS) == name:
            return
        browser.press(TAB)
    raise AssertionError(f"Tab does not lead to {name}")


def next_task(browser: Browser, task: str) -> None:
    browser.wait_for(
        "the next task", lambda: shown(browser)["page"] != task and not shown(browser).get("busy")
    )


def test_each_control_has_a_name_and_says_its_state(opened: Opened) -> None:
    with opened() as browser:
        browser.wait_for_element("#agree:not([hidden])")
        check_accessible(browser)
        text = browser.run("return document.getElementById('text').textContent")
        assert heard(browser) == text != ""
        task = agree(browser)
        check_accessible(browser)
        assert headings(browser)[0] == 1
        names = names_of(browser, "button")
        assert names[:3] == ["relevant 1", "irrelevant 2", "ambiguous 3"]
        assert set(OTHERS) <= set(names)
        assert names_of(browser, "group") == [browser.run("return state.question"), "Flags"]
        assert names_of(browser, "Video") == ["the clip to judge"]
        assert names_of(browser, "textbox") == ["Comment"]
        for role, live in (("status", "polite"), ("alert", "assertive")):
            assert [node.states.get("live") for node in by_role(browser, role)] == [live]
        assert states(browser, "sensitive 4")["pressed"] == "false"
        browser.press("4")
        assert states(browser, "sensitive 4")["pressed"] == "true"
        browser.press(SPACE)
        browser.wait_for("a pause", lambda: states(browser, "pause space")["pressed"] == "true")
        disabled = [
            bool(states(browser, name).get("disabled"))
            for name in ("undo ⌫", "does not show 0", "relevant 1")
        ]
        assert disabled == [True, True, False]
        browser.press("1")
        next_task(browser, task)
        assert not states(browser, "undo ⌫").get("disabled")
        assert states(browser, "sensitive 4")["pressed"] == "false"
        done, total = browser.run("return [state.done, state.total]")
        # some builds of Chromium leave valuetext out of the tree that they show
        told = browser.run("return document.getElementById('count').getAttribute('aria-valuetext')")
        assert names_of(browser, "progressbar") == ["Judged"]
        assert (done, told) == (1, f"1 of {total}")
        assert not states(browser, "instructions i")["expanded"]
        browser.press("i")
        assert states(browser, "instructions i")["expanded"]
        assert names_of(browser, "Iframe") == ["Instructions"]
        browser.press("\ue00c")
        assert not states(browser, "instructions i")["expanded"]


@pytest.mark.parametrize("captions", [1, 10])
def test_the_next_caption_is_announced_with_what_was_done(opened: Opened, captions: int) -> None:
    with opened() as browser:
        task = agree(browser)
        spoken = set()
        steps = (("", "", 0), ("2", "irrelevant. ", 1), ("\ue003", "taken back. ", 0), ("1", "relevant. ", 1))
        for key, words, done in steps:
            if key:
                browser.press(key)
                next_task(browser, task)
                task = is_ready(browser)
            page, total, row = browser.run("return [state.page, state.total, row]")
            n_rows = len(page["captions"])
            place = f"Caption {row + 1} of {n_rows}: " if n_rows > 1 else ""
            text = page["captions"][row]["text"]
            assert heard(browser) == f"{words}{done} of {total} judged. {place}{text}"
            spoken.add(heard(browser))
        assert len(spoken) == 4
        assert browser.run("return document.querySelectorAll('[role=status] *').length") == 0
        if captions == 10:
            check_accessible(browser)
            assert names_of(browser, "list") == ["Captions"]
            current = "return [...document.querySelectorAll('[aria-current]')].map(e => e.className)"
            assert browser.run(current) == ["now"]


def test_what_does_not_play_is_an_alert_and_can_only_be_reported(opened: Opened, page_root: Path) -> None:
    for number in range(2):
        (page_root / "media" / f"v{number}.webm").write_bytes(b"no video")
    with opened() as browser:
        browser.click("#agree:not([hidden])")
        browser.wait_for("a word", lambda: browser.run("return document.getElementById('note').textContent"))
        words = "This video does not show. Wait, or press 0 to report it and go on."
        assert browser.run("return document.querySelector('[role=alert]').textContent") == words
        assert states(browser, "relevant 1")["disabled"]
        assert not states(browser, "does not show 0").get("disabled")
        task = shown(browser)["page"]
        browser.press("1")
        time.sleep(0.5)
        assert (shown(browser)["page"], browser.run(COUNTED)) == (task, 0)
        focus_on(browser, "does not show 0")
        browser.press(ENTER)
        next_task(browser, task)
        assert heard(browser).startswith(f"reported. {browser.run(COUNTED)} of ")
    if page_records(page_root):
        assert {record["label"] for record in answers(page_root)} == {""}


@pytest.mark.parametrize("captions", [1, 10])
def test_a_page_is_judged_by_tab_and_enter_alone(opened: Opened, captions: int) -> None:
    """The focus stays on the button that was pressed, so that the next answer takes one key again."""
    with opened() as browser:
        focus_on(browser, "I have read this and agree")
        browser.press(ENTER)
        task = is_ready(browser)
        focus_on(browser, "sensitive 4")
        browser.press(SPACE)
        assert states(browser, "sensitive 4")["pressed"] == "true"
        for _ in range(4):
            browser.press(SHIFT, TAB)
            if browser.run(FOCUS) == "irrelevant 2":
                break
        n_answers = 0
        while True:
            browser.press(ENTER)
            n_answers += 1
            next_task(browser, task)
            if browser.run(DONE):
                break
            assert browser.run(FOCUS) == "irrelevant 2"
            task = is_ready(browser)
        assert heard(browser).startswith(f"All done: {n_answers} of {n_answers}.")
        assert browser.run(FOCUS) != ""


@pytest.mark.parametrize("captions", [10])
def test_a_held_enter_answers_once(opened: Opened, captions: int) -> None:
    with opened() as browser:
        agree(browser)
        focus_on(browser, "relevant 1")
        for is_repeat in (False, True, True, True):
            browser.cdp(
                "Input.dispatchKeyEvent", type="keyDown", key="Enter", code="Enter", autoRepeat=is_repeat,
                text="\r", windowsVirtualKeyCode=13,
            )  # fmt: skip
        browser.wait_for("an answer", lambda: browser.run("return state.done") == 1)
        is_ready(browser)
        assert browser.run("return state.done") == 1


def test_the_instructions_are_left_by_a_key_from_inside(opened: Opened) -> None:
    with opened() as browser:
        agree(browser)
        focus_on(browser, "instructions i")
        browser.press(ENTER)
        browser.wait_for_element("#instructions:not([hidden])")
        text = "return document.getElementById('instructions').contentDocument.body?.innerText"
        browser.wait_for("its text", lambda: "relevant" in (browser.run(text) or ""))
        hears = "return document.getElementById('instructions').contentWindow.onkeydown !== null"
        browser.wait_for("its keys", lambda: browser.run(hears))
        browser.press(TAB)
        assert browser.run("return document.activeElement.id") == "instructions"
        browser.press("\ue00c")
        assert browser.run("return document.getElementById('instructions').hidden")
        assert browser.run(FOCUS) == "instructions i"


def test_a_long_caption_is_scrolled_by_keys(opened: Opened, page_root: Path) -> None:
    alter(page_root, "update asked set text = ?", "long " * 2000)
    caption = "document.getElementById('caption')"
    with opened() as browser:
        agree(browser)
        check_accessible(browser)
        for _ in range(20):
            browser.press(TAB)
            if browser.run(f"return document.activeElement === {caption}"):
                break
        browser.press(DOWN)
        browser.wait_for("a way down", lambda: browser.run(f"return {caption}.scrollTop") > 0)


def tap(browser: Browser, selector: str) -> None:
    """Touch the middle of an element with a finger."""
    browser.wait_for_element(selector)
    x, y = browser.run(
        "let box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "return [box.left + box.width / 2, box.top + box.height / 2]",
        selector,
    )
    assert 0 <= x < 390
    assert 0 <= y < 844
    browser.cdp("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
    browser.cdp("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])


@pytest.mark.parametrize("captions", [1, 10])
def test_fingers_reach_all_on_a_phone(opened: Opened, page_root: Path, captions: int) -> None:
    with opened() as browser:
        browser.cdp(
            "Emulation.setDeviceMetricsOverride", width=390, height=844, deviceScaleFactor=2, mobile=True
        )
        browser.cdp("Emulation.setTouchEmulationEnabled", enabled=True)
        tap(browser, "#agree:not([hidden])")
        task = is_ready(browser)
        small = """
        return [...document.querySelectorAll('main button, main input')].filter(e => e.offsetParent &&
            (e.offsetHeight < 44 || e.offsetWidth < 44)).map(e => e.outerHTML)
        """
        assert browser.run(small) == []
        tap(browser, "#flags [data-name=sensitive]")
        assert states(browser, "sensitive 4")["pressed"] == "true"
        tap(browser, "#pause")
        assert browser.run("return document.getElementById('video').paused")
        tap(browser, "#help")
        assert not browser.run("return document.getElementById('instructions').hidden")
        tap(browser, "#help")
        tap(browser, "[data-name=irrelevant]")
        next_task(browser, task)
        is_ready(browser)
        tap(browser, "#undo")
        browser.wait_for("the first task", lambda: shown(browser)["page"] == task)
        n_answers = 0
        while not browser.run(DONE):
            task = is_ready(browser)
            tap(browser, "[data-name=relevant]")
            n_answers += 1
            next_task(browser, task)
        done, total = browser.run("return [state.done, state.total]")
        assert n_answers == done == total >= N_PAIRS // 2
        if page_records(page_root):
            kept = [record["label"] for record in answers(page_root)]
            assert kept.count("relevant") == n_answers
