"""A workspace whose first round is judged on our own page, and an annotator's browser without a window."""

import re
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import httpx
from child import ready
from command import run

from fire_toolkit.campaign.records import Rounds
from fire_toolkit.campaign.store import Record, Store
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.pages.office import Office, make_links, session_of

HOSTILE = "<img src=x onerror=alert(1)> {{7*7}} $caption ‮rtl 😀\r\nnew line"
N_PAIRS = 8
OPENED: list[httpx.Client] = []  # closed after each test


def page_records(root: Path) -> list[Record]:
    """What was done on the page, as it was kept."""
    with Store(root / "campaign.sqlite") as store:
        return store.page_records()


def make_workspace(
    root: Path, *, clip: bytes = b"a clip", overlap: str = "0.5", captions: str = "1", n_pairs: int = N_PAIRS
) -> None:
    """Make a workspace in the current folder `root`: 8 pairs on 2 clips, two controls, for A01 and A02."""
    run("init", ".")
    for folder in ("media", "pool"):
        (root / folder).mkdir()
    for number in range(2):
        (root / "media" / f"v{number}.webm").write_bytes(clip)
    pairs = "".join(f"q{n},v{n % 2}\n" for n in range(n_pairs))
    (root / "pool" / "pool.csv").write_text("query_id,doc_id\n" + pairs)
    queries = "".join(f"q{n}\tcaption {n}\n" for n in range(1, n_pairs + 2))
    hostile = HOSTILE.replace("\r\n", " ")
    (root / "collection" / "queries.tsv").write_text(f"query_id\ttext\nq0\t{hostile}\n{queries}")
    (root / "collection" / "items.tsv").write_text(
        "doc_id\tmedia_url\nv0\tmedia/v0.webm\nv1\tmedia/v1.webm\n"
    )
    (root / "controls.txt").write_text(f"q{n_pairs} 0 v0 1\nq{n_pairs + 1} 0 v1 0\n")
    run("tasks", "pool/pool.csv", "--overlap", overlap, "--captions", captions)
    people = ("--annotator", "A01", "--annotator", "A02")
    run("push", "--carrier", "page", *people, "--controls", "controls.txt")


@contextmanager
def office_of(root: Path, rules: Guideline, **media: Path) -> Iterator[tuple[Office, str]]:
    """Yield what is behind A01's page of the workspace `root`, and A01; media: files of further addresses."""
    campaign = Rounds(root).campaign
    assert campaign is not None
    with Store(root / "campaign.sqlite") as store:
        files = media | {f"media/{path.name}": path for path in (root / "media").glob("*")}
        office = Office(root, campaign, rules, store, consent="agreed", files=files)
        name = office.annotator(session_of(make_links(root, ["A01"])["A01"]))
        office.act("consent", name, {"who": name, "key": "k"})
        yield office, name


class Served:
    """`page serve` as a process of its own: its address and the links that it printed."""

    def __init__(self, process: subprocess.Popen[bytes], root: Path) -> None:
        self.process = process
        (self.address,) = re.findall(r"(http://127\.0\.0\.1:\d+): ", (root / "words.txt").read_text())
        lines = (root / "printed.txt").read_text().splitlines()
        self.links = dict(line.split("\t") for line in lines)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def serving(root: Path, *options: str, port: int = 0) -> Iterator[Served]:
    """Run `page serve` in the workspace `root`; it is killed with the block."""
    words, serve = root / "words.txt", ("page", "serve", "--port", str(port), *options)
    with ready(
        *serve, cwd=root, is_ready=lambda: "Ctrl-C stops" in words.read_text(), end=SIGKILL
    ) as process:
        yield Served(process, root)


class Person:
    """An annotator's session, over plain HTTP as the page does it."""

    def __init__(self, address: str, token: str) -> None:
        self.http = httpx.Client(base_url=address, headers={"Origin": address}, trust_env=False, timeout=None)
        OPENED.append(self.http)
        self.opened = self.http.post("/session", json={"token": token})
        self.who = self.state()["who"] if self.opened.is_success else ""

    def state(self) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get("/state").raise_for_status().json()
        return found

    def agree(self) -> dict[str, Any]:
        return self.post("consent", {}).raise_for_status().json()  # type: ignore[no-any-return]

    def post(self, path: str, content: dict[str, Any], key: str = "") -> httpx.Response:
        return self.http.post(f"/{path}", json={"who": self.who, "key": key or str(uuid.uuid4()), **content})

    def answer(self, task: str, label: str, key: str = "", **more: Any) -> httpx.Response:
        content = {"task": task, "label": label, "flags": [], "comment": "", "seconds": 1.5}
        return self.post("answer", content | more, key)

    def current(self) -> str:
        """Return the task that is asked now."""
        page = self.state()["page"]
        return next(each["task"] for each in page["captions"] if each["label"] is None)

    def answer_all(self, label: str) -> int:
        """Answer everything that is left, and return how much that was."""
        n_answers = 0
        while self.state()["page"]:
            self.answer(self.current(), label).raise_for_status()
            n_answers += 1
        return n_answers


def token_of(link: str) -> str:
    return link.rpartition("#t=")[2]
