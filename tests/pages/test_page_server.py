"""Our own page over HTTP: who gets in, what they see, what is kept, and the ledger that comes of it."""

import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pandas as pd
import pytest
from brought import refused
from command import alter
from page_site import Person, make_workspace, page_records, run, serving, token_of

from fire_toolkit.campaign.keys import pair_id
from fire_toolkit.campaign.records import Rounds, write_rounds
from fire_toolkit.campaign.store import Store
from fire_toolkit.cli.page import CONSENT, media_files
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.media import serving as serving_in
from fire_toolkit.pages.office import Office, make_links
from fire_toolkit.pages.server import PageServer, page_address


def ask(url: str, **options: Any) -> httpx.Response:
    return httpx.get(url, trust_env=False, timeout=None, **options)


class Open:
    """A page that is served in this process."""

    def __init__(self, root: Path) -> None:
        campaign = Rounds(root).campaign
        assert campaign is not None
        self.told: list[str] = []
        self.root = root
        self.store = Store(root / "campaign.sqlite")
        rules = read_guideline("caption-relevance-v1")
        office = Office(root, campaign, rules, self.store, consent=CONSENT, files=media_files())
        self.server = PageServer(office, port=0, report=self.told.append)

    def person(self, name: str) -> Person:
        return Person(self.server.address, make_links(self.root, [name])[name])


@pytest.fixture
def page(root: Path) -> Iterator[Open]:
    opened = Open(root)
    with opened.server:
        yield opened
    opened.store.close()


@pytest.fixture
def person(page: Open) -> Person:
    found = page.person("A01")
    found.agree()
    return found


def test_a_link_is_exchanged_for_a_cookie_that_scripts_cannot_read(page: Open, root: Path) -> None:
    found = page.person("A01")
    cookie = found.opened.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert found.state()["consent"] == CONSENT
    kept = "".join(path.read_text() for path in (root / "campaign" / "page").glob("*.json"))
    session = cookie.partition("=")[2].partition(";")[0]
    assert session not in kept
    assert Person(page.server.address, "x" * 22).opened.status_code == 401
    assert page.told == []


def test_a_new_link_ends_the_old_one_and_answers_stay(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def serve(look: Callable[[str], object], *more: str) -> dict[str, str]:
        """Run `page serve` in this process until `look` at its address is over; return the links it made."""
        made: list[PageServer] = []
        enter = PageServer.__enter__
        monkeypatch.setattr(PageServer, "__enter__", lambda self: made.append(self) or enter(self))
        monkeypatch.setattr(serving_in, "wait_to_be_stopped", lambda stopped: look(made[-1].address))
        lines = run("page", "serve", "--port", "0", *more).stdout.splitlines()
        return {name: token_of(link) for name, _, link in (line.partition("\t") for line in lines)}

    leaked = serve(lambda address: None)
    people: dict[str, Person] = {}

    def judge(address: str) -> None:
        people.update({name: Person(address, token) for name, token in leaked.items()})
        people["A01"].agree()
        people["A01"].answer(people["A01"].current(), "relevant").raise_for_status()

    assert serve(judge) == {}

    def knock(address: str) -> None:
        cookies = {name: dict(each.http.cookies) for name, each in people.items()}  # of earlier sessions
        found = {name: ask(f"{address}/state", cookies=own).status_code for name, own in cookies.items()}
        assert found == {"A01": 401, "A02": 200}
        assert Person(address, leaked["A01"]).opened.status_code == 401

    new = serve(knock, "--new-link", "A01")
    assert new.keys() == {"A01"}

    def go_on(address: str) -> None:
        assert Person(address, new["A01"]).state()["done"] == 1

    serve(go_on)
    assert "1 new" in run("pull").stderr
    assert serve(lambda address: None, "--new-link", "A01, A02").keys() == {"A01", "A02"}


def test_a_new_link_is_for_an_annotator_of_the_page(root: Path) -> None:
    refused = run("page", "serve", "--port", "0", "--new-link", "A07", code=1).stderr
    assert "'A07' has no tasks here; expected one of A01, A02" in refused
    assert not (root / "campaign/page/links.json").exists()


def test_no_page_has_other_answers_than_the_campaign_began_with(root: Path) -> None:
    with Store(root / "campaign.sqlite") as store:
        ((page,),) = store.select("select label_config from campaign")
    alter(root, "update campaign set label_config = ?, config_sha256 = ''", page.replace("relevant", "good"))
    for command in ("serve", "write"):
        assert "answers to two pages cannot be mixed" in run("page", command, code=1).stderr


def test_other_pages_and_other_names_of_this_machine_are_refused(page: Open, person: Person) -> None:
    task = person.current()
    for origin in ("http://evil.example", "null"):
        person.http.headers["Origin"] = origin
        assert person.answer(task, "relevant").status_code == 403
    del person.http.headers["Origin"]
    assert person.answer(task, "relevant").status_code == 403
    foreign = ask(page.server.address, headers={"Host": "evil.example"})
    assert foreign.status_code == 400
    answer = ask(page.server.address)
    assert answer.headers["Referrer-Policy"] == "no-referrer"
    assert "script-src 'self'" in answer.headers["Content-Security-Policy"]


@pytest.mark.parametrize("public_url", ["http://labels.example.org", "https://labels.example.org/page"])
def test_beyond_this_machine_the_page_goes_by_tls_only(public_url: str) -> None:
    refused("by TLS only", page_address, 1, public_url, by=UsageError)
    assert page_address(1, "https://labels.example.org") == "https://labels.example.org"


def test_consent_comes_first(page: Open) -> None:
    found = page.person("A01")
    state = found.state()
    assert "page" not in state
    assert found.answer("any", "relevant").status_code == 403
    assert found.http.get("/media/any").status_code == 403
    assert found.agree()["done"] == 0
    assert [record["kind"] for record in page_records(page.root)] == ["consent"]


def test_the_browser_learns_caption_and_item_and_nothing_else(page: Open, person: Person) -> None:
    state = person.state()
    assert set(state["page"]) == {"id", "media", "part", "reference", "captions"}
    assert set(state["page"]["captions"][0]) == {"task", "text", "label", "was"}
    pairs = Rounds(page.root)[0].assignments["pair_id"]
    seen = ""
    while state["page"]:
        seen += json.dumps(state)
        state = person.answer(person.current(), "relevant").json()
    for secret in (*pairs, "v0.webm", "v1.webm", "q8", "control", "overlap", "round"):
        assert secret not in seen


def test_nobody_gets_what_is_of_others_and_no_tab_answers_for_another(page: Open, person: Person) -> None:
    other = page.person("A02")
    other.agree()
    media = person.state()["page"]["media"]
    assert person.http.get(media).content == b"a clip"
    assert person.http.get(media, headers={"Range": "bytes=2-3"}).content == b"cl"
    assert other.http.get(media).status_code == 404
    assert other.answer(person.current(), "relevant").status_code == 404
    assert ask(f"{page.server.address}/{media}").status_code == 401
    for path in ("media/..%2f..%2ffire.toml", "campaign.sqlite", "media/v0.webm"):
        assert person.http.get(path).status_code == 404
    # A second link in one browser changes the cookie of the first tab, which goes on asking as itself.
    person.http.cookies = other.http.cookies
    assert person.state()["who"] == "A02"
    refused = person.answer(person.current(), "relevant")
    assert (refused.status_code, "Open your own link again" in refused.json()["error"]) == (403, True)
    assert person.post("undo", {}).status_code == 403
    assert [record["kind"] for record in page_records(page.root)] == ["consent", "consent"]


NO_ANSWERS: list[dict[str, object]] = [
    {"label": "maybe"},
    {"label": None},
    {"label": ["relevant"]},
    {"label": {"relevant": 1}},
    {"flags": ["spam"]},
    {"flags": "sensitive"},
    {"seconds": -1},
    {"seconds": "2"},
    {"comment": "x" * 10_001},
    {"key": ""},
]


def test_what_is_no_answer_is_refused_and_one_sent_again_counts_once(page: Open, person: Person) -> None:
    content = {"task": person.current(), "label": "relevant", "flags": [], "comment": "", "seconds": 1}
    for wrong in NO_ANSWERS:
        answer = person.http.post("/answer", json={"key": "k", "who": "A01", **content, **wrong})
        assert answer.status_code == 422, wrong
        assert person.state()["done"] == 0, wrong
    task = person.current()
    for _ in range(2):
        assert person.answer(task, "relevant", key="one").json()["done"] == 1
    assert person.answer(task, "irrelevant", key="another tab").status_code == 409
    later = person.state()["next"]["captions"][0]["task"]
    assert person.answer(later, "relevant").status_code == 409
    assert len(page_records(page.root)) == 2


@pytest.mark.slow
def test_answers_become_the_judgments_of_the_campaign(page: Open, person: Person) -> None:
    person.answer(person.current(), "irrelevant", flags=["sensitive"], comment="no, a dog").raise_for_status()
    assert person.post("undo", {}, key="u").json()["done"] == 0
    assert person.post("undo", {}, key="u").json()["done"] == 0
    assert "1 new, 0 edited, 1 deleted" in run("pull").stderr
    n_first = person.answer_all("relevant")
    other = page.person("A02")
    other.agree()
    other.answer(other.current(), "").raise_for_status()
    n_reported = other.state()["done"]  # all that is asked of the item
    n_second = n_reported + other.answer_all("relevant")
    assert n_first + n_second == 8 + 4 + 2 * 2  # 8 pairs, half of them twice, 2 controls for both
    run("pull")
    assert "0 new" in run("pull").stderr
    judgments = pd.read_csv(page.root / "judgments/judgments.csv")
    dropped = pd.read_csv(page.root / "judgments/dropped.csv")
    assert "for A01, by page: a link was made, 8 tasks there" in run("push").stderr
    assert set(judgments["label"]) == {"relevant"}
    assert len(judgments) + len(dropped[dropped["reason"] != "edited"]) == n_first + n_second
    assert set(judgments["kind"]) == {"task", "overlap"}
    assert (judgments["duration_s"] == 1.5).all()
    rows = json.loads(run("progress", "--format", "json").stdout)
    assert [(row["annotator_id"], row["n_left"], row["n_skipped"]) for row in rows][:2] == [
        ("A01", 0, 0),
        ("A02", 0, n_reported),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("is_put_back", [True, False])
def test_no_answer_goes_into_a_record_that_lies_elsewhere_by_now(
    page: Open, person: Person, *, is_put_back: bool
) -> None:
    """As where somebody restores a copy, or moves the workspace, while the page is served."""
    record = page.root / "campaign.sqlite"
    backup = record.read_bytes()
    person.answer(person.current(), "relevant").raise_for_status()
    record.rename(page.root / "moved.sqlite")
    if is_put_back:
        record.write_bytes(backup)
    refusal = person.answer(person.current(), "relevant")
    assert (refusal.status_code, refusal.json()) == (500, {"error": "The answer could not be kept."})
    assert "campaign.sqlite: was moved or replaced while this had it open; stop this" in page.told[-1]


def test_who_is_retired_is_out_and_others_take_the_tasks(page: Open, person: Person) -> None:
    other = page.person("A02")
    n_before = other.agree()["total"]
    person.answer(person.current(), "relevant").raise_for_status()
    said = run("annotators", "retire", "A01").stderr
    assert person.http.get("/state").status_code == 401
    moved = run("annotators", "reassign", "A01", "--to", "A02")
    assert "next: fire-toolkit push" in moved.stderr
    n_left = sum(map(int, re.findall(r"(\d+) (?:tasks? moved|stay)", moved.stderr)))
    assert f"{n_left} tasks of A01 without an answer" in said
    assert other.state()["total"] > n_before
    other.answer_all("relevant")
    assert "1 new" not in run("pull").stderr
    assert len(pd.read_csv(page.root / "judgments/judgments.csv")) >= 8


@pytest.mark.slow
def test_a_further_round_is_judged_on_the_running_page(page: Open, person: Person) -> None:
    other = page.person("A02")
    other.agree()
    person.answer_all("ambiguous")
    other.answer_all("relevant")
    run("pull")
    run("resolve")
    assert person.state()["page"] is None
    run("next-round")
    run("push")
    asked = sum(each.state()["total"] - each.state()["done"] for each in (person, other))
    assert asked > 0
    assert person.answer_all("relevant") + other.answer_all("relevant") == asked
    assert f"{asked} new" in run("pull").stderr


def test_what_a_further_round_shows_from_elsewhere_shows_on_the_running_page(page: Open) -> None:
    def policy() -> str:
        return ask(page.server.address).headers["content-security-policy"]

    assert "media-src 'self' ;" in policy()
    (first,) = Rounds(page.root)
    tasks = first.tasks.assign(media_url="https://films.example/v1.webm")
    write_rounds(page.root, replace(first, number=2, tasks=tasks))
    assert "media-src 'self' https://films.example;" in policy()


def test_captions_of_one_item_come_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path
    monkeypatch.chdir(root)
    make_workspace(root, captions="3")
    opened = Open(root)
    with opened.server:
        person = opened.person("A01")
        state = person.agree()
        sizes, media = [], set()
        while state["page"]:
            page = state["page"]
            sizes.append(len(page["captions"]))
            media.add(page["media"])
            assert [each["label"] for each in page["captions"]] == [None] * len(page["captions"])
            for caption in page["captions"]:
                state = person.answer(caption["task"], "relevant").json()
    opened.store.close()
    assert len(media) == 2
    assert sum(sizes) == 8
    assert max(sizes) == 3
    records = [record for record in page_records(root) if record["kind"] == "answer"]
    assert [record["position"] for record in records] == [n + 1 for size in sizes for n in range(size)]
    run("pull")
    judgments = pd.read_csv(root / "judgments/judgments.csv")
    assert len(judgments) == 6  # and two controls
    by_pair = {record["pair"]: record for record in records}
    own = [by_pair[pair_id(*ids)] for ids in zip(judgments["query_id"], judgments["doc_id"], strict=True)]
    assert list(judgments["page"].fillna("")) == [record["page"] for record in own]
    n_on_page = Counter(record["page"] for record in records)
    expected = [1.5 * n_on_page[record["page"]] if record["page"] else None for record in own]
    assert [None if each != each else each for each in judgments["page_s"]] == expected
    assert list(judgments["duration_s"]) == [1.5] * 6


def replied(ask: Callable[[], Any]) -> Any:
    """Ask again and again, until there is a reply."""
    while True:
        try:
            return ask()
        except httpx.TransportError:
            time.sleep(0.05)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_killed_anywhere_no_acknowledged_answer_is_lost_or_doubled(root: Path, seed: int) -> None:
    """Two annotators answer while the server is killed again and again; what got no reply is sent again."""
    rng = random.Random(seed)
    acknowledged: dict[str, set[str]] = {"A01": set(), "A02": set()}
    with serving(root) as first:
        port, tokens = int(first.address.rpartition(":")[2]), {}
        tokens = {name: token_of(link) for name, link in first.links.items()}

        def work(name: str) -> None:
            person = replied(partial(Person, first.address, tokens[name]))
            while page := replied(person.agree)["page"]:
                task = page["captions"][0]["task"]
                key = f"{name} {task}"
                replied(partial(person.answer, task, "relevant", key=key)).raise_for_status()
                acknowledged[name].add(key)

        people = [threading.Thread(target=work, args=(name,)) for name in acknowledged]
        for each in people:
            each.start()
        time.sleep(rng.uniform(0, 0.1))
        first.kill()
        while any(each.is_alive() for each in people):
            with serving(root, port=port) as again:
                for each in people:
                    each.join(timeout=rng.uniform(0.02, 0.15))
                again.kill()
        for each in people:
            each.join()
    kept = [record["key"] for record in page_records(root) if record["kind"] == "answer"]
    assert len(kept) == len(set(kept)) == 16
    assert set(kept) == acknowledged["A01"] | acknowledged["A02"]
    assert "16 new" in run("pull").stderr


def test_one_report_is_of_all_that_is_left_of_an_item_and_goes_back_whole(page: Open, person: Person) -> None:
    first = person.current()
    person.answer(first, "relevant").raise_for_status()
    state = person.state()
    media, total = state["page"]["media"], state["total"]
    after = person.answer(person.current(), "").raise_for_status().json()
    assert after["done"] > 2
    assert person.post("undo", {}).json()["done"] == 1
    assert person.answer(person.current(), "").json()["done"] == after["done"]
    for _ in range(total - after["done"]):
        state = person.state()
        assert state["page"]["media"] != media
        person.answer(person.current(), "irrelevant").raise_for_status()
    assert person.state()["page"] is None


def test_the_last_answers_are_shown_and_any_of_them_can_be_corrected(person: Person) -> None:
    tasks = []
    for label in ("relevant", "irrelevant", "relevant"):
        tasks.append(person.current())
        person.answer(tasks[-1], label).raise_for_status()
    shown = person.state()["last"]
    assert [(each["task"], each["label"]) for each in shown] == [
        (tasks[2], "relevant"),
        (tasks[1], "irrelevant"),
        (tasks[0], "relevant"),
    ]
    state = person.post("undo", {"task": tasks[1]}).json()
    (caption,) = state["page"]["captions"]
    assert (caption["task"], caption["label"], caption["was"]) == (tasks[1], None, "irrelevant")
    assert person.answer(tasks[1], "relevant").json()["done"] == 3


def test_what_is_answered_waits_for_no_word_of_its_first_part(page: Open, person: Person) -> None:
    (connection, *_) = page.server._server.server_state.connections
    of_tcp = connection.transport.get_extra_info("socket")  # type: ignore[union-attr]
    assert of_tcp.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
