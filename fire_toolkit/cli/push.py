"""`push`: tasks to annotators' queues on a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import click

from fire_toolkit.campaign.beginning import begin, campaign_of, check_policy
from fire_toolkit.campaign.carrier import Carried, Delivered
from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_PAGE,
    BY_SERVER,
    FOLDER,
    Round,
    read_campaign,
    read_rounds,
    with_moves,
)
from fire_toolkit.campaign.rounds import asked_before, first_round
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.task_files import overlap_file, read_task_files
from fire_toolkit.cli.campaigns import (
    active_annotators,
    begun_here,
    guideline_of_campaign,
    handed_to,
    loads_of,
    names_of,
    record_design,
    refuse_retired,
    used_connection,
)
from fire_toolkit.cli.common import metered, n_of, say
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.here import (
    made_file,
    needed_workspace,
    relative_path,
    setting_or_default,
    workspace_lock,
)
from fire_toolkit.cli.media import shown_tasks
from fire_toolkit.cli.pull import carrier_of
from fire_toolkit.cli.push_media import Look, renewed_rounds, say_loads, say_pushed
from fire_toolkit.cli.status import say_following
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import read_judged_pairs
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.carrier import LabelStudio
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.push import Plan
from fire_toolkit.resolution.design import POLICIES
from fire_toolkit.tables import Tasks, check_pool, check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.rounds import given_by_round, handed_out, tasks_file

_ANNOTATORS = Option(("--annotator",), metavar="A,B,C=LOAD", parse=names_of)
_SAMPLE = Option(("--check-media",), metavar="N", least=0)


@workspace_lock()
def push(
    tasks: Annotated[Path | None, Option(is_argument=True, metavar="[TASKS.json]")] = None,
    *,
    annotators: Annotated[tuple[str, ...], _ANNOTATORS] = (),
    training: Annotated[Path | None, Option(metavar="TASKS.json")] = None,
    controls: Annotated[Path | None, Option(metavar="QRELS")] = None,
    carrier: Annotated[str | None, Option(metavar="NAME")] = None,
    policy: Annotated[str | None, click.Choice(POLICIES)] = None,
    sample: Annotated[int | None, _SAMPLE] = None,
    replace: bool = False,
    dry_run: bool = False,
    as_json: bool,
) -> None:
    """Send tasks to Label Studio: one project for each annotator, blind, in an order of its own.

    Who judges what is drawn once and kept in campaign/. Pushing again adds only what is missing, and updates
    tasks whose captions or addresses changed, as long as nobody has answered them. Before anything is sent,
    every media_url must answer as a browser needs it. Tasks come from `tasks`; those of a model that came
    later are a further round.

    Args:
        annotators: The annotators; a LOAD of 2 gets twice the tasks. [default: those of the rounds before
            who are not retired, else all that `annotators add` has made here and that are active]
        training: Tasks that everybody judges first; the rest is held back until they are done.
        controls: Pairs whose answer is known, positive or not, mixed in for everybody.
        carrier: How tasks of a new round reach annotators: by the server (labelstudio), our own page (page),
            or the carrier of a plug-in. [default: that of the round before, else labelstudio]
        policy: Which positives get a second vote (and a third where the two differ), fixed by design so that
            scores can be corrected for errors: all, or those that can still make a run's C@1, C@5 or C@10.
            [default: the campaign's]
        sample: Ask only N of the addresses, drawn at random, whether they answer; 0: none, where this
            machine cannot reach what annotators can. [default: all of what is sent]
        replace: Make another project for what has no answer yet where one that this workspace made is gone.
        dry_run: Show who would judge how much, and send nothing.
    """
    root = needed_workspace().root
    begun = read_rounds(root)
    latest = begun[-1].carrier if begun and begun[-1].carrier != BY_HAND else BY_SERVER
    is_named, carrier = carrier is not None, carrier or latest
    if carrier == BY_HAND:
        raise UsageError("files are handed out by `fire-toolkit tasks --annotator A,B`")
    if carrier != BY_SERVER:
        carrier_of(carrier, root)  # there is one of that name
    rules = guideline_of_campaign(read_campaign(root), tasks=tasks)
    check_policy(root, policy)
    campaign = campaign_of(root, rules)
    rules = dataclasses.replace(rules, label_config=campaign.label_config)
    inputs = Given()
    drawn = _Rounds(root, rules, begun, inputs, carrier, annotators, training, controls)
    entries = drawn.that_begin(tasks, is_named=is_named)
    changed = [*renewed_rounds(root, begun, rules, inputs), *(with_moves(root, entry) for entry in entries)]
    rounds = sorted({entry.number: entry for entry in (*begun, *changed)}.values(), key=lambda e: e.number)
    if dry_run:
        say_loads(root, rounds, as_json=as_json)
        return
    look = Look(rules, sample, changed)
    whole = Carried(campaign, rounds, rules, root / STORE)
    others = sorted({entry.carrier for entry in rounds} - {BY_HAND, BY_SERVER})
    on_server = _on_server(whole, begun, {entry.number for entry in entries})
    look.at_files()
    begins = partial(begin, root, campaign, changed)
    plans, connection = list[Plan](), used_connection() if on_server or not others else None
    if connection:
        server = dataclasses.replace(whole, rounds=on_server)
        plans = _by_server(server, connection, look, begins, replaces=replace)
    else:
        begins()
    gone = there.retired if (there := begun_here()) else set()
    if connection:
        say_pushed(plans, connection, gone, as_json=as_json)
    by_others = [each for name in others for each in _deliver(name, root, whole, gone)]
    _note_pushed(root, inputs, [*plans, *by_others])
    if plans and connection:
        look.after(plans, connection)
    record_design(root, policy)
    say("while they judge: fire-toolkit progress")
    say_following()


@dataclass(frozen=True)
class _Rounds:
    """The rounds of a workspace, and what a push is told of those that begin."""

    root: Path
    rules: Guideline
    begun: Sequence[Round]
    inputs: Given
    carrier: str
    annotators: Sequence[str]
    training: Path | None
    controls: Path | None

    def that_begin(self, tasks: Path | None, *, is_named: bool) -> list[Round]:
        """Return the rounds that begin: of the file named, else of all that were made and have not begun.

        Where there are none, options that name inputs say again how the last one began: the same is drawn;
        but what `next-round` gave out moves as it is to the carrier named: unless it was sent, or as files to
        the people named.
        """
        files = {number: relative_path(path) for number, path in handed_out(self.root).items()}
        there = {entry.number for entry in self.begun}
        new = [tasks] if tasks else [path for number, path in files.items() if number not in there]
        adds, last = bool(self.training or self.controls), self.begun[-1] if self.begun else None
        if last and not new and is_named and last.carrier not in (BY_HAND, self.carrier):
            return [self._moved(last)]
        if not new and (adds or self.annotators or not last):
            if last and last.number not in files and not adds:
                if last.carrier == BY_HAND:
                    return [self._moved(last)]
                names = list(dict.fromkeys(last.assignments["annotator_id"]))
                if {*loads_of(self.annotators)} != {*names}:
                    words = f"round {last.number} was given to {', '.join(names)}"
                    raise UsageError(
                        f"{words}: leave --annotator, or `annotators reassign` what is not answered"
                    )
                return []  # `next-round` has begun it, and chose whom it asks
            new = [files[max(files)] if files else relative_path(tasks_file(self.root, 1))]
        return [self._new(file) for file in new]

    def _moved(self, entry: Round) -> Round:
        """Return a round as another carrier has it, to which nobody was asked anything in it yet."""
        names, by_hand = list(dict.fromkeys(entry.assignments["annotator_id"])), entry.carrier == BY_HAND
        sent = manifest_of(self.root / FOLDER, is_folder=True).parameters.get("given", {})
        if str(entry.number) in sent and not by_hand:
            raise UsageError(
                f"round {entry.number} was sent by {entry.carrier}, and stays there; leave --carrier"
            )
        if (by_hand or self.annotators) and {*loads_of(self.annotators)} != {*names}:
            raise UsageError(f"round {entry.number} moves as a whole, with `--annotator {','.join(names)}`")
        say(f"note: round {entry.number} goes by {self.carrier} in the place of {entry.carrier}")
        n_captions = entry.n_captions if self.carrier in (BY_PAGE, BY_SERVER) else 1
        return dataclasses.replace(entry, carrier=self.carrier, n_captions=n_captions)

    def _new(self, tasks: Path) -> Round:
        """Return the round of a file of tasks as the inputs make it."""
        file = self.inputs.use(tasks)
        asked = read_task_files(file, self.rules)
        if (overlap := overlap_file(file)).is_file():
            self.inputs.use(overlap)
        number = int(asked["round"].max()) if len(asked) else 1
        judged, there = made_file("judgments/judgments.csv"), {entry.number for entry in self.begun}
        if judged is not None and number not in there:  # judged since the tasks were made
            pairs = read_judged_pairs(judged)
            is_judged = pair_rows(asked, pairs[pairs["round"] >= number]) >= 0
            asked = Tasks(asked[~is_judged].reset_index(drop=True))
            if n := int(is_judged.sum()):
                say(f"note: {n_of(n, 'task')} left out: their pairs were judged since the tasks were made")
        again = asked_before(asked, [entry for entry in self.begun if entry.number != number])
        if again:
            words = f"{n_of(len(again), 'pair')} given out in an earlier round ({', '.join(again[:3])})"
            raise UsageError(f"{file}: {words}; `fire-toolkit next-round` asks pairs again, of other people")
        taught = known = answers = None
        if self.training:
            taught = read_task_files(self.inputs.use(self.training), self.rules, with_overlap=False)
        if self.controls:
            qrels = read_qrels(self.inputs.use(self.controls))  # −1: no answer is known
            answers = check_qrels(qrels[qrels["relevance"] >= 0])
            pairs = check_pool(answers[PAIR])
            known = shown_tasks(self.inputs, pairs, self.rules, by_hand=False, overlap=0)
        campaign = begun_here()
        before = handed_to(campaign) if campaign and campaign.rounds[-1].carrier == self.carrier else []
        loads = loads_of(self.annotators or before) or active_annotators(campaign)
        refuse_retired(loads, number)
        n_captions: Any = 1  # of an item on a page, as `tasks` drew them; a plug-in's carrier has one
        if self.carrier in (BY_PAGE, BY_SERVER) and not self.rules.is_of_queries:
            n_captions = manifest_of(tasks, is_folder=False).parameters.get("captions")
            n_captions = n_captions or setting_or_default(None, "tasks", "captions")
        drawn = first_round(
            number,
            asked,
            loads,
            training=taught,
            controls=known,
            answers=answers,
            n_captions=int(n_captions),
            seed=int(setting_or_default(None, "tasks", "seed")),
        )
        return dataclasses.replace(drawn, carrier=self.carrier)


def _by_server(
    carried: Carried, connection: Connection, look: Look, begins: Callable[[], None], *, replaces: bool
) -> list[Plan]:
    """Push to the server; nothing is written here or there before media answer."""
    look.at_addresses()

    def ready(plans: Sequence[Plan]) -> None:
        look.before(plans, connection)
        begins()

    server = LabelStudio(connection, carried.store.parent, replaces=replaces, ready=ready)
    with metered("tasks", sum(len(entry.assignments) for entry in carried.rounds)) as meter:
        return server.deliver(carried, report=meter)


def _deliver(name: str, root: Path, whole: Carried, gone: set[str]) -> Sequence[Delivered]:
    """Give out the rounds of a carrier that is no server, and say where each queue is.

    gone: who will answer no more, and is told no place to answer at.
    """
    own = dataclasses.replace(whole, rounds=[entry for entry in whole.rounds if entry.carrier == name])
    carrier = carrier_of(name, root)
    given, places = carrier.deliver(own), carrier.where(own)
    for entry in given:
        if entry.queue.annotator_id in gone and not entry.n_added:
            continue
        added = f"{n_of(entry.n_added, 'task')} added, {entry.n_there:,} there before"
        added = added if entry.n_added else f"{n_of(entry.n_there, 'task')} there"
        say(f"for {entry.queue.annotator_id}, by {name}: {places.get(entry.queue, 'nowhere')}, {added}")
    return given


def _on_server(whole: Carried, begun: Sequence[Round], numbers: set[int]) -> list[Round]:
    """Return the rounds that the server carries; those by hand stay so, unless they begin now (`numbers`).

    Raises:
        UsageError: every round is by hand, or one that begins has answers from files already.
    """
    query = "select distinct cast(queue as integer) from answers where source glob 'file:*' and queue <> ''"
    with Store(whole.store) as store:
        answered = {number for (number,) in store.database.select(query)}
    for number in sorted(answered & numbers & {each.number for each in begun if each.carrier == BY_HAND}):
        raise UsageError(
            f"round {number} was handed out as files, and answers came back; `import` the others"
        )
    there = [entry for entry in whole.rounds if entry.carrier == BY_SERVER]
    by_hand = [entry for entry in whole.rounds if entry.carrier == BY_HAND]
    for entry in by_hand if there else ():
        say(f"note: round {entry.number} was handed out as files and is not sent")
    if by_hand and len(by_hand) == len(whole.rounds):
        moves = "`push --annotator NAME` for each of the same people sends it, while nobody has answered"
        raise UsageError(f"all was handed out as files, and `fire-toolkit import` takes the answers; {moves}")
    return there


def _note_pushed(root: Path, inputs: Given, pushed: Sequence[Delivered]) -> None:
    """Write down which rounds are on the server and what they were drawn from, for `status`."""
    inputs.hashes = {**manifest_of(root / FOLDER, is_folder=True).inputs, **inputs.hashes}
    counts = {
        "tasks": sum(entry.n_there + entry.n_added for entry in pushed),
        "projects": sum(bool(entry.project) if isinstance(entry, Plan) else 1 for entry in pushed),
        "held": sum(entry.n_held for entry in pushed),
    }
    given = {str(number): n for number, n in given_by_round(root).items()}
    inputs.write(relative_path(root / FOLDER), {}, "push", {"given": given}, counts)
