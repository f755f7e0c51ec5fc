"""One campaign on two carriers, Label Studio and then our own page, while browsers and servers are killed."""

import time
from pathlib import Path

from live_browser import SPACE, Browser, open_browser
from page_site import serving
from test_live_browser import labeling
from test_live_campaign import RUN, Site, _kill, site  # noqa: F401
from test_live_page import DONE, begin, is_ready, kill_browser, press
from test_live_several import LABELS, clips, pages_of, press_answer, shows_page, stored  # noqa: F401

from fire_toolkit.campaign.keys import split_pair_id

N_RECHECKED = 6


def test_kills_lose_and_double_nothing_and_a_pair_of_both_carriers_is_one(
    chromium: None,
    clips: Site,  # noqa: F811
    tmp_path: Path,
) -> None:
    """On each page of captions the browser or the server is killed, before or after what it was sent."""
    server, name, other = clips.server, f"KIL-{RUN}", f"OWN-{RUN}"
    server.annotator(name)
    clips.run("push", "--annotator", name)
    project = clips.projects()[f"1/{name}"]
    pages = [task["data"]["captions"] for task in pages_of(server, project)]
    wanted = {caption["pair_id"]: LABELS[place % 2] for page in pages for place, caption in enumerate(page)}
    moments = [("server", "before"), ("browser", "after"), ("server", "after"), ("browser", "before")]
    for n_starts in range(2 * len(pages) + 1):
        done = stored(server, project)
        left = [page for page in pages if page[0]["pair_id"] not in done]
        assert len(done) == sum(map(len, pages)) - sum(map(len, left))  # pages are whole or not there
        if not left:
            break
        folder = tmp_path / f"browser-{n_starts}"
        folder.mkdir()
        killed, moment = moments.pop(0) if moments else ("nothing", "")
        with labeling(server, name, project, folder) as browser:
            shows_page(browser, left[0])
            if moment == "before":
                kill(clips, killed, folder)
            if (killed, moment) != ("browser", "before"):
                judge_page(browser, left[0], wanted)
            if moment == "after":
                time.sleep(0.05)
                kill(clips, killed, folder)
            if killed == "nothing":
                n_done = len(done) + len(left[0])
                browser.wait_for("the answers", lambda n=n_done: len(stored(server, project)) == n)
        if killed == "server":
            server.start()
    assert stored(server, project) == wanted
    assert clips.counts("pull", "--full")["new"] == len(wanted)
    assert labels_of(clips) == {split_pair_id(pair): [label] for pair, label in wanted.items()}

    pool = clips.root / "pool" / "pool.csv"
    pool.write_text(pool.read_text() + "q0,v1\nq1,v0\n")  # new pairs: a round of their own, on our own page
    clips.run("tasks", "--captions", "10", "--overlap", "0")
    clips.run("push", "--carrier", "page", "--annotator", other)
    clips.run("resolve")
    rechecked = [split_pair_id(pair) for pair in sorted(wanted)[:N_RECHECKED]]
    clips.write("recheck.csv", "query_id doc_id", *rechecked)
    clips.run("next-round", "--recheck", "recheck.csv", "--annotator", other)
    judge_on_own_page(clips, other, tmp_path)
    clips.run("pull")
    votes = labels_of(clips)
    assert {pair for pair, given in votes.items() if len(given) == 2} == set(rechecked)
    assert set(votes) == {*map(split_pair_id, wanted), ("q0", "v1"), ("q1", "v0")}
    assert sum(map(len, votes.values())) == len(votes) + N_RECHECKED
    clips.run("resolve")
    counted = clips.table("labels/labels.csv").set_index(["query_id", "doc_id"])["n_judgments"].astype(int)
    disputes = clips.table("labels/disputes.csv")
    disputed = set(zip(disputes["query_id"], disputes["doc_id"], strict=True))
    for pair, given in votes.items():
        assert pair in disputed if len(set(given)) == 2 else counted[pair] == len(given), pair


def kill(site: Site, which: str, folder: Path) -> None:  # noqa: F811
    _kill(site.server) if which == "server" else kill_browser(folder)


def judge_page(browser: Browser, page: list[dict[str, str]], wanted: dict[str, str]) -> None:
    for caption in page:
        press_answer(browser, caption, wanted[caption["pair_id"]])
    browser.press(SPACE)


def labels_of(site: Site) -> dict[tuple[str, str], list[str]]:  # noqa: F811
    found: dict[tuple[str, str], list[str]] = {}
    for row in site.table("judgments/judgments.csv").itertuples():
        found.setdefault((row.query_id, row.doc_id), []).append(row.label)
    return found


def judge_on_own_page(site: Site, name: str, tmp_path: Path) -> None:  # noqa: F811
    """Answer the round to its end; the first answer is relevant."""
    key = "1"
    with serving(site.root) as served, open_browser(tmp_path) as browser:
        begin(browser, served.links[name])
        while not browser.run(DONE):
            press(browser, key, is_ready(browser))
            key = "2"
