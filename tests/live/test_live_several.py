"""Several captions a viewing on the real server: what is pressed in a browser is stored and judged."""

import itertools
import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from live_browser import CONTROL, ENTER, SPACE, Browser
from live_server import LiveServer
from live_server import clips as made_clips
from page_site import HOSTILE
from test_live_browser import SUBMIT, is_disabled, labeling, text
from test_live_campaign import RUN, Site, _tasks, choice, site  # noqa: F401

from fire_toolkit.campaign.keys import split_pair_id
from fire_toolkit.media.server import MediaServer

SIZES = ((1366, 625), (1024, 768), (800, 600), (390, 844))
LABELS = ("relevant", "irrelevant", "ambiguous")
N_EACH = 12  # captions of each of two clips: pages of six
SHAPES = itertools.product(
    ("cross", "square", "ring", "circle", "star"), ("purple", "orange", "green", "red", "blue")
)
TEXTS = [f"a {colour} {shape} moves across the screen" for shape, colour in SHAPES]
ROWS = "return [...document.querySelectorAll('.judge .row .text')].map(e => e.innerText)"
# The item and, without scrolling where the window is wide, every answer lie above the bar at the bottom.
SEEN = """
let button = document.querySelector("[data-testid='bottombar-submit-button']").getBoundingClientRect();
let bar = button.top;
let item = document.querySelector('.judge video, .judge .item img').getBoundingClientRect();
let ends = [...document.querySelectorAll('.judge .row label')].map(e => e.getBoundingClientRect());
let whole = innerWidth > 1000 ? ends : ends.slice(0, 3);
return button.left >= 0 && button.right <= innerWidth
    && item.height >= 120 && item.top >= 0 && item.bottom <= bar && whole.length > 0
    && whole.every(box => box.top >= 0 && box.bottom <= bar && box.left >= 0 && box.right <= innerWidth);
"""


@pytest.fixture
def clips(site: Site, tmp_path: Path) -> Iterator[Site]:  # noqa: F811
    """A workspace of 24 pairs on two clips that play, with hostile captions, and pages of up to ten."""
    names = [f"v{number}.webm" for number in range(2)]
    for name, content in zip(names, made_clips(2), strict=True):
        (tmp_path / name).write_bytes(content)
    media = MediaServer(
        tmp_path, {name: name for name in names}, origins=[site.server.connection.url], port=0
    )
    hostile = {0: HOSTILE.replace("\r\n", " "), 1: "word " * 2000, 2: "{{idx}} $captions[0].text </Text><b>"}
    texts = ((f"q{n}", hostile.get(n, text)) for n, text in enumerate(TEXTS))
    items = ((f"v{n}", f"{media.base_url}/{name}") for n, name in enumerate(names))
    site.write("pool/pool.csv", "query_id doc_id", *((f"q{n}", f"v{n % 2}") for n in range(2 * N_EACH)))
    site.write("collection/queries.tsv", "query_id text", *texts)
    site.write("collection/items.tsv", "doc_id media_url", *items)
    (tmp_path / "controls.txt").write_text(f"q{2 * N_EACH} 0 v0 1\n")
    with media:
        site.run("tasks", "--captions", "10", "--overlap", "0")
        yield site


def pages_of(server: LiveServer, project: int) -> list[dict[str, Any]]:
    with server.as_admin() as http:
        return sorted(_tasks(http, project), key=lambda task: task["id"])


def shows_page(browser: Browser, captions: list[dict[str, Any]]) -> None:
    expected = ["".join(caption["text"].split()) for caption in captions]

    def is_there() -> bool:
        rows = ["".join(row.split()) for row in browser.run(ROWS)]
        clip = browser.run("let v = document.querySelector('video'); return !!v && v.readyState >= 3")
        return rows == expected and clip

    browser.wait_for("the page's captions and its clip", is_there, n_times=600)
    browser.wait_for("an unanswered page", lambda: is_disabled(browser, SUBMIT))


def press_answer(browser: Browser, caption: dict[str, Any], label: str) -> None:
    (key,) = (answer["hotkey"] for answer in caption["answers"] if answer["value"] == label)
    browser.press(key)


ESCAPE = "\ue00c"
OPACITY = "getComputedStyle(document.querySelector('.ant-modal-confirm-warning')).opacity"
OK = "[...document.querySelectorAll('button')].find(e => e.innerText.trim() == 'OK' && e.offsetParent)"


def is_warned(browser: Browser) -> bool:
    return bool(browser.run(f"return !!{OK}"))


def framed(browser: Browser) -> list[str]:
    """Return the captions that the warning frames as unanswered."""
    script = (
        "return [...document.querySelectorAll('.judge .row')].filter(e => e.querySelector('input')"
        " && getComputedStyle(e).outlineStyle == 'dashed').map(e => e.querySelector('.text').innerText)"
    )
    return ["".join(str(words).split()) for words in browser.run(script)]


def stored(server: LiveServer, project: int) -> dict[str, str]:
    """Return the label of each pair as the server's database has it, read past the server."""
    (path,) = server.folder.glob("**/label_studio.sqlite3")
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        rows = database.execute(
            "select t.data, c.result from task_completion c join task t on t.id = c.task_id "
            "where t.project_id = ? and not c.was_cancelled",
            (project,),
        ).fetchall()
    found: dict[str, str] = {}
    for data, result in rows:
        captions = json.loads(data)["captions"]
        for each in json.loads(result):
            name, _, row = each["from_name"].rpartition("_")
            if name == "relevance":
                pair = captions[int(row)]["pair_id"]
                assert pair not in found
                (found[pair],) = each["value"]["choices"]
    return found


def test_ten_captions_are_answered_by_keys_and_all_three_records_agree(
    chromium: None, clips: Site, artefacts: Path, pictures: Path, tmp_path: Path
) -> None:
    server, name = clips.server, f"SEV-{RUN}"
    server.annotator(name)
    clips.run("push", "--annotator", name, "--controls", "controls.txt")
    assert clips.counts("push")["added"] == 0
    project = clips.projects()[f"1/{name}"]
    tasks = pages_of(server, project)
    assert sum(len(task["data"]["captions"]) for task in tasks) == 2 * N_EACH + 1
    given: dict[str, str] = {}
    with labeling(server, name, project, tmp_path) as browser:
        for number, task in enumerate(tasks):
            captions = task["data"]["captions"]
            shows_page(browser, captions)
            if number == 0:
                assert "not those named below" in text(browser)
                browser.press(ESCAPE)
                browser.wait_for("no instructions", lambda: "Labeling Instructions" not in text(browser))
                browser.press(SPACE)  # nothing is chosen, so nothing is sent
                browser.fits(SEEN, SIZES, artefacts / "several")
                browser.resize(1366, 625)
            for place, caption in enumerate(captions):
                if number == 1 and place == len(captions) - 1:  # one is missing: nothing is sent
                    browser.press(SPACE)
                    browser.wait_for("the warning", lambda: is_warned(browser))
                    assert framed(browser) == ["".join(caption["text"].split())]
                    assert browser.run(SEEN)
                    browser.wait_for("the warning whole", lambda: browser.run(f"return {OPACITY}") == "1")
                    browser.screenshot(pictures / "label-studio-ten.png")
                    browser.press(ESCAPE)
                    browser.wait_for("no warning", lambda: not is_warned(browser))
                    assert len(stored(server, project)) == len(given) - place
                label = LABELS[(number + place) % 3]
                press_answer(browser, caption, label)
                given[caption["pair_id"]] = label
            browser.screenshot(artefacts / f"several-answered-{number}.png")
            browser.press(*((CONTROL, ENTER) if number == 1 else (SPACE,)))
        browser.wait_for("the queue's end", lambda: "No More Tasks" in text(browser))
    assert stored(server, project) == given
    assert clips.counts("pull")["new"] == len(given)
    assert clips.counts("pull", "--full")["new"] == 0
    rows = clips.table("judgments/judgments.csv")
    judged = {(r.query_id, r.doc_id): r.label for r in rows.itertuples()}
    control = ("q24", "v0")
    assert judged == {split_pair_id(pair): v for pair, v in given.items() if split_pair_id(pair) != control}
    with server.as_admin() as http:
        found = http.get(f"/api/projects/{project}/export", params={"exportType": "JSON"}).json()
    seconds = {task["data"]["pair_id"]: task["annotations"][0]["lead_time"] for task in found}
    for row in rows.itertuples():
        assert float(row.page_s) == seconds[row.page]
        n_captions = len(next(t["data"]["captions"] for t in tasks if t["data"]["pair_id"] == row.page))
        assert float(row.duration_s) == pytest.approx(seconds[row.page] / n_captions, rel=1e-9)


def test_pages_left_skipped_edited_or_in_part_differ(chromium: None, clips: Site, tmp_path: Path) -> None:
    server, name = clips.server, f"SKI-{RUN}"
    server.annotator(name)
    clips.run("push", "--annotator", name)
    project = clips.projects()[f"1/{name}"]
    tasks = pages_of(server, project)
    first, second = (task["data"]["captions"] for task in tasks[:2])
    with labeling(server, name, project, tmp_path) as browser:
        shows_page(browser, first)
        press_answer(browser, first[0], "relevant")
        time.sleep(3)  # Label Studio keeps a draft after a moment
        browser.open(f"{server.connection.url}/projects/{project}/data?labeling=1")
        browser.wait_for("the page again", lambda: len(browser.run(ROWS)) == len(first), n_times=600)
        assert clips.counts("pull")["new"] == 0  # a draft is no answer
        browser.wait_for("a page that can be skipped", lambda: "Skip" in text(browser))
        browser.press(CONTROL, SPACE)
        shows_page(browser, second)
        for caption in second:
            press_answer(browser, caption, "irrelevant")
        browser.press(SPACE)
        browser.wait_for("the answers", lambda: len(stored(server, project)) == len(second))
    pulled = clips.counts("pull")
    assert pulled["new"] == len(first) + len(second)
    assert pulled["dropped"] == {"skipped": len(first)}
    http = server.as_annotator(name)
    (annotation,) = http.get(f"/api/tasks/{tasks[1]['id']}/annotations/").json()
    changed = [choice(f"relevance_{row}", "relevant") for row in range(len(second) - 1)]
    http.patch(f"/api/annotations/{annotation['id']}/", json={"result": changed}).raise_for_status()
    clips.run("pull")
    rows = clips.table("judgments/judgments.csv")
    judged = {(r.query_id, r.doc_id): r.label for r in rows.itertuples()}
    assert judged == {split_pair_id(caption["pair_id"]): "relevant" for caption in second[:-1]}
    dropped = clips.table("judgments/dropped.csv")
    lost = dropped[dropped["reason"] == "no_label"]
    assert list(zip(lost["query_id"], lost["doc_id"], strict=True)) == [split_pair_id(second[-1]["pair_id"])]
    (row,) = (
        r for r in json.loads(clips.run("progress", "--format", "json").stdout) if r["annotator_id"] == name
    )
    assert (row["n_done"], row["n_skipped"]) == (len(second) - 1, len(first))
