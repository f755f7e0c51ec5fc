"""Two operators, people who answer meanwhile, a server that fails, commands that are killed: nothing is lost.

Two commands run at a time, each up to its next request; whose turn it is, what fails and what people do in
between is drawn. Both operators work in one workspace, or the second one in a copy of it, which only pulls.
FIRE_SEQUENCES says how many sequences are run.
"""

import os
import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import httpx
import pytest
from campaigns import CAMPAIGN, GUIDELINE, round_of, tasks_of
from fake_api import FAULTS, TOKEN, URL, FakeServer, Killed
from records import latest_answers, read_ledger

from fire_toolkit.campaign.carrier import Carried
from fire_toolkit.campaign.ledger import DELETED
from fire_toolkit.campaign.merging import merge_record
from fire_toolkit.campaign.records import Rounds, add_moves, write_campaign, write_rounds
from fire_toolkit.campaign.rounds import move_tasks
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import left_pairs, record_to_judgments, seen_pairs
from fire_toolkit.errors import FireError
from fire_toolkit.labelstudio import api
from fire_toolkit.labelstudio.carrier import LabelStudio
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.places import GONE, read_places
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.locks import hold_workspace

N_SEQUENCES = int(os.environ.get("FIRE_SEQUENCES", "40"))
PEOPLE = {"A02": 2, "A03": 3, "A04": 4}
ROUND = round_of(tasks_of(10, overlap=0.4), ("A02", "A03"), controls=tasks_of(2, prefix="c"))
Versions = set[tuple[str, str]]


class Operator(threading.Thread):
    """Runs one command, request by request: `step` lets it go on up to the next one."""

    def __init__(self, command: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._command = command
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self.is_done = False
        self.error: BaseException | None = None

    def run(self) -> None:
        self._go.acquire()
        try:
            self._command()
        except (FireError, Killed):
            pass  # said, or dead: the next command goes on from there
        except BaseException as error:
            self.error = error
        self.is_done = True
        self._stopped.release()

    def wait_turn(self) -> None:
        self._stopped.release()
        self._go.acquire()

    def step(self) -> None:
        self._go.release()
        self._stopped.acquire()
        if self.error:
            raise self.error


class World:
    """A server, a workspace and its copy, and what people were told was stored."""

    def __init__(self, root: Path, seed: int) -> None:
        self.chance = random.Random(seed)
        self.server = FakeServer()
        self.transport = httpx.MockTransport(self._handle)
        self.root, self.copy = root / "work", root / "copy"
        write_campaign(self.root, CAMPAIGN)
        write_rounds(self.root, ROUND)
        shutil.copytree(self.root, self.copy)
        self.is_quiet = self.has_lost_project = False
        self.must_count: Versions = set()
        self.gone: set[str] = set()
        self.given: dict[int, set[str]] = {}

    def _handle(self, request: httpx.Request) -> httpx.Response:
        operator = threading.current_thread()
        if isinstance(operator, Operator):
            operator.wait_turn()
        fate = "ok" if self.is_quiet else self.chance.choices(["ok", "fault", "dies"], [85, 12, 3])[0]
        self.server.faults = [self.chance.choice(FAULTS)] if fate == "fault" else []
        if fate == "dies" and self.chance.random() < 0.5:
            raise Killed
        answer = self.server._handle(request)
        if fate == "dies":
            raise Killed
        return answer

    # What operators do

    def _carrier(self, root: Path, *, replaces: bool = False) -> LabelStudio:
        return LabelStudio(Connection(URL, TOKEN, transport=self.transport), root, replaces=replaces)

    def _carried(self, root: Path) -> Carried:
        return Carried(CAMPAIGN, list(Rounds(root)), GUIDELINE, root / STORE)

    def push(self, *, replaces: bool = False) -> None:
        with hold_workspace(self.root, "push", wait_s=0):
            carrier = self._carrier(self.root, replaces=replaces or self.chance.random() < 0.5)
            carrier.deliver(self._carried(self.root))

    def pull(self, root: Path | None = None, *, is_full: bool = False) -> None:
        root = root or self.root
        with hold_workspace(root, "pull", wait_s=0):
            self._carrier(root).fetch(self._carried(root), is_full=is_full)

    def reassign(self) -> None:
        with hold_workspace(self.root, "reassign", wait_s=0):
            (entry,) = Rounds(self.root)
            with Store(self.root / STORE) as store:
                left = left_pairs(store).get(1, set())
                ((batch,),) = store.select("select max(batch) + 1 from given")
                seen = set(seen_pairs(store)[["annotator_id", "pair_id"]].itertuples(index=False, name=None))
            source, target = self.chance.sample(sorted(PEOPLE), 2)
            drawn = {"seen": seen, "batch": batch, "seed": self.chance.randrange(100)}
            moves = move_tasks(entry.assignments, left, [source], [target], **drawn)
            if len(moves):
                add_moves(self.root, [(entry, moves)])

    def commands(self) -> list[Callable[[], None]]:
        """Two commands to run at once."""
        first = [self.push, self.pull, partial(self.pull, is_full=True), self.reassign]
        second = [*first, partial(self.pull, self.copy), partial(self.pull, self.copy, is_full=True)]
        return [self.chance.choice(first), self.chance.choice(second)]

    # What people do

    def live(self) -> None:
        """Let somebody answer, skip, change or delete an answer, or an administrator delete something."""
        deeds = [self._answer, self._edit, self._delete_answer, self._delete_task, self._delete_project]
        self.chance.choices(deeds, [80, 10, 5, 4, 1])[0]()

    def _answer(self) -> None:
        server = self.server
        there = [task for task in server.tasks.values() if task["project"] in server.projects]
        offered = sorted((task["id"], task["project"]) for task in there if not task["is_labeled"])
        if not offered:
            return
        task, project = self.chance.choice(offered)
        label = self.chance.choice(["relevant", "irrelevant", "ambiguous", None])
        number = server.answer(task, PEOPLE[annotator_of(server.projects[project])], label)
        self.given.setdefault(project, set()).add(server.annotations[number]["unique_id"])
        self._lose_time(task)

    def _lose_time(self, task: int) -> None:
        if self.chance.random() < 0.1:
            self.server.lose_time(task)

    def _some_answer(self) -> tuple[int, int] | None:
        """Return the number of an answer and of its task."""
        there = [a for a in self.server.annotations.values() if a["project"] in self.server.projects]
        return self.chance.choice(sorted((a["id"], a["task"]) for a in there)) if there else None

    def _edit(self) -> None:
        if found := self._some_answer():
            self.server.edit(found[0], self.chance.choice([2, 3, 4]), "irrelevant")
            self._lose_time(found[1])

    def _delete_answer(self) -> None:
        if found := self._some_answer():
            self.server.tasks[found[1]]["is_labeled"] = False
            self.server.delete_annotation(found[0])

    def _delete_task(self) -> None:
        if found := self._some_answer():
            self.server.delete_task(found[1])

    def _delete_project(self) -> None:
        if not self.server.projects:
            return
        number = self.chance.choice(sorted(self.server.projects))
        there = {version_of(a) for a in self.server.annotations.values() if a["project"] == number}
        self.must_count |= there & known_versions(self.root)
        # What was deleted in it before, and not yet pulled, nobody will ever tell from the rest.
        self.gone |= self.given.pop(number, set())
        self.server.delete_project(number)
        self.has_lost_project = True

    def run_together(self, commands: list[Callable[[], None]]) -> None:
        """Run commands at once, each up to its next request in turn, while people go on."""
        operators = [Operator(command) for command in commands]
        for operator in operators:
            operator.start()
        while waiting := [operator for operator in operators if not operator.is_done]:
            self.chance.choice(waiting).step()
            for _ in range(self.chance.choice([0, 0, 1, 2])):
                self.live()
        for operator in operators:
            operator.join()


def annotator_of(project: Mapping[str, str]) -> str:
    return project["description"].partition(" queue ")[2].split()[0]


def version_of(annotation: dict[str, str]) -> tuple[str, str]:
    return annotation["unique_id"], annotation["updated_at"]


def known_versions(root: Path) -> Versions:
    """The versions of answers that count in a record."""
    rows = latest_answers(read_ledger(root / STORE))
    assert not rows["annotation"].duplicated().any()
    rows = rows[rows["state"] != DELETED]
    return set(zip(rows["annotation"], rows["updated_at"], strict=True))


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> World:
    found = World(tmp_path, request.param)
    monkeypatch.setattr(api.Api, "pause", lambda self, seconds: None)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("world", range(N_SEQUENCES), indirect=True)
def test_two_operators_lose_and_double_nothing(world: World) -> None:
    for _ in range(world.chance.randint(2, 6)):
        world.run_together(world.commands())
    world.is_quiet = True
    world.pull()
    stored = {version_of(annotation) for annotation in world.server.annotations.values()}
    if not world.has_lost_project:  # by the server's counts: no answer is missing, though an edit may be
        assert {name for name, _ in stored} == {name for name, _ in known_versions(world.root)}
    world.push(replaces=True)
    for root in (world.root, world.copy):
        world.pull(root, is_full=True)
    known = known_versions(world.root)
    assert stored | world.must_count <= known
    gone = {name for name, _ in known - stored}
    assert gone <= world.gone  # what else was deleted counts no more
    with Store(world.root / STORE) as store:
        assert not gone or GONE in {place.lost for place in read_places(store)}
        judged = record_to_judgments(store, guideline=GUIDELINE).judgments
    assert not judged[["query_id", "doc_id", "annotator_id"]].duplicated().any()
    both = world.root.parent / "both"
    for root in (world.root, world.copy):
        if (root / STORE).is_file():
            with Store(both / STORE) as store:
                merge_record(store, root / STORE)
    assert stored <= known_versions(both)
    check_server(world)


def check_server(world: World) -> None:
    """Every task is with its annotator once, and nothing else is offered to anybody."""
    (entry,) = Rounds(world.root)
    answered = latest_answers(read_ledger(world.root / STORE))
    done = set(zip(answered["queue"], answered["pair_id"], strict=True))
    keys: dict[str, Counter[str]] = {}
    offered: dict[str, set[str]] = {}
    for number, project in world.server.projects.items():
        name = annotator_of(project)
        keys[name] = keys.get(name, Counter()) + world.server.keys_of(number)
        offered.setdefault(name, set()).update(world.server.offered(number))
    queues = entry.assignments.groupby("annotator_id")["pair_id"].agg(set).to_dict()
    for name in {*keys, *queues}:
        there, pairs = keys.get(name, Counter()), queues.get(name, set())
        assert max(there.values(), default=1) == 1, (name, there)
        assert offered.get(name, set()) <= pairs
        assert {pair for pair in pairs - set(there) if (f"1/{name}", pair) not in done} == set()
