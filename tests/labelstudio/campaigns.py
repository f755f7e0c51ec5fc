"""A small campaign for tests: tasks, queues, a server in this process."""

from collections.abc import Callable
from functools import cache
from itertools import count
from pathlib import Path

import pandas as pd
from fake_api import TOKEN, URL, FakeServer
from records import read_ledger, record_of

from fire_toolkit.campaign.carrier import Fetched
from fire_toolkit.campaign.ledger import STATES
from fire_toolkit.campaign.queues import Assignments, assign_tasks
from fire_toolkit.campaign.records import Campaign, Round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.tasks import make_tasks
from fire_toolkit.campaign.views import record_to_judgments
from fire_toolkit.campaign.votes import ImportResult
from fire_toolkit.formats.tables.guideline_files import read_guideline
from fire_toolkit.guidelines.label_config import config_sha256
from fire_toolkit.labelstudio.api import Api
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.pull import pull_answers
from fire_toolkit.labelstudio.push import Plan, Push, make_queues
from fire_toolkit.tables import Qrels, Tasks, check_items, check_pool, check_qrels, check_queries

NAMES = {"1": "owner", "2": "ann", "3": "bob"}  # accounts' numbers on the server
GUIDELINE = read_guideline("caption-relevance-v1")
CAMPAIGN = Campaign(
    key="k1",
    guideline=GUIDELINE.name,
    guideline_sha256=GUIDELINE.sha256,
    config_sha256=config_sha256(GUIDELINE.label_config),
    label_config=GUIDELINE.label_config,
)


class PatientApi(Api):
    """One that does not wait."""

    def pause(self, seconds: float) -> None:
        pass


def make_api(server: FakeServer) -> Api:
    return PatientApi(Connection(URL, TOKEN, transport=server.transport()))


@cache
def tasks_of(n_pairs: int, *, overlap: float = 0.0, prefix: str = "") -> Tasks:
    ids = [f"{prefix}{number}" for number in range(n_pairs)]
    pool = check_pool(pd.DataFrame({"query_id": [f"q{i}" for i in ids], "doc_id": [f"v{i}" for i in ids]}))
    queries = check_queries(pool[["query_id"]].assign(text="a dog runs"))
    items = check_items(pool[["doc_id"]].assign(media_url="http://m/x.mp4"))
    return make_tasks(pool, queries, items=items, guideline=GUIDELINE, overlap=overlap)


def round_of(
    tasks: Tasks,
    annotators: tuple[str, ...] = ("ann", "bob"),
    *,
    training: Tasks | None = None,
    controls: Tasks | None = None,
) -> Round:
    assigned = assign_tasks(tasks, annotators, training=training, controls=controls, seed=1)
    once = pd.concat([tasks, training, controls]).drop_duplicates("pair_id")
    contents = Tasks(once.assign(batch=1, position=range(1, len(once) + 1)))
    return Round(1, contents, assigned, known(controls))


def known(controls: Tasks | None) -> Qrels:
    pairs = tasks_of(0)[["query_id", "doc_id"]] if controls is None else controls[["query_id", "doc_id"]]
    return check_qrels(pairs.assign(relevance=1))


def pairs_of(assignments: Assignments, annotator_id: str) -> list[str]:
    rows = assignments[assignments["annotator_id"] == annotator_id]
    return list(rows.sort_values("position")["pair_id"])


def push_round(server: FakeServer, entry: Round, done: set[tuple[str, str]] | None = None) -> list[Plan]:
    """Push a round as the command does; done: queue and pair of each answer that is there."""
    api = make_api(server)
    queues = make_queues(entry, GUIDELINE, done=done or set(), campaign_key=CAMPAIGN.key)
    push = Push(api, CAMPAIGN, GUIDELINE)
    return list(push.carry_out(push.plan(queues)))


class Site:
    """A workspace's side: the record, kept between pulls."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "campaign.sqlite"
        clock = count(1)
        self.now: Callable[[], str] = lambda: f"2026-12-01T00:00:00.{next(clock):06d}Z"

    def pull(self, server: FakeServer, *, is_full: bool = False, accepts_loss: bool = False) -> Fetched:
        with Store(self.folder, shows_now=True, clock=self.now) as store:
            return pull_answers(
                make_api(server), CAMPAIGN, store, names=NAMES, is_full=is_full, accepts_loss=accepts_loss
            )

    def ledger(self) -> pd.DataFrame:
        return read_ledger(self.folder)

    def derived(self, entry: Round) -> ImportResult:
        with record_of([entry], self.ledger()) as store:
            return record_to_judgments(store, guideline=GUIDELINE)


def counts(pulled: Fetched) -> tuple[int, int, int, int]:
    new, edited, deleted, restored = (pulled.counts[state] for state in STATES)
    return new, edited, deleted, restored
