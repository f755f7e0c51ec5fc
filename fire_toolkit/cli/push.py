"""`push`: tasks to annotators' queues on a server."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import click

from fire_toolkit.campaign.carrier import Delivered
from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_PAGE,
    BY_SERVER,
    FOLDER,
    Campaign,
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
    begin,
    begun_here,
    campaign_of,
    check_policy,
    guideline_of_campaign,
    handed_to,
    loads_of,
    names_of,
    record_design,
    refuse_retired,
    used_connection,
)
from fire_toolkit.cli.common import (
    Meter,
    made_file,
    n_of,
    needed_workspace,
    relative_path,
    say,
    setting_or_default,
    writes_workspace,
)
from fire_toolkit.cli.following import say_following
from fire_toolkit.cli.given import Given
from fire_toolkit.cli.media_links import shown_tasks
from fire_toolkit.cli.pull import carrier_of
from fire_toolkit.cli.push_media import (
    look_after,
    look_before,
    refuse_missing,
    renewed_rounds,
    say_loads,
    say_pushed,
)
from fire_toolkit.commands.types import Option
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.collections.qrels import read_qrels
from fire_toolkit.formats.tables.table_files import read_judged_pairs
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.carrier import LabelStudio
from fire_toolkit.labelstudio.connection import Connection
from fire_toolkit.labelstudio.push import Plan
from fire_toolkit.labelstudio.showing import refuse_unshowable
from fire_toolkit.resolution.design import POLICIES
from fire_toolkit.tables import Qrels, Tasks, check_pool, check_qrels
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import manifest_of
from fire_toolkit.workspace.rounds import given_by_round, handed_out, tasks_file


@dataclasses.dataclass(frozen=True)
class _Wanted:
    """What a push is told of the rounds that begin."""

    tasks: Path | None
    annotators: Sequence[str]
    training: Path | None
    controls: Path | None
    carrier: str
    is_named: bool


_ANNOTATORS = Option(("--annotator",), metavar="A,B,C=LOAD", parse=names_of)
_SAMPLE = Option(("--check-media",), metavar="N", least=0)


@writes_workspace
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
    latest = begun[-1].carrier if begun else BY_HAND
    is_named, carrier = carrier is not None, carrier or (BY_SERVER if latest == BY_HAND else latest)
    if carrier == BY_HAND:
        raise UsageError("files are handed out by `fire-toolkit tasks --annotator A,B`")
    if carrier != BY_SERVER:
        carrier_of(carrier, root)  # there is one of that name
    wanted = _Wanted(tasks, annotators, training, controls, carrier, is_named)
    rules = guideline_of_campaign(read_campaign(root), tasks=tasks)
    check_policy(root, policy)
    campaign = campaign_of(root, rules)
    rules = dataclasses.replace(rules, label_config=campaign.label_config)
    inputs = Given()
    entries = _rounds_to_begin(root, begun, wanted, rules, inputs)
    changed = [*renewed_rounds(root, begun, rules, inputs), *(with_moves(root, entry) for entry in entries)]
    rounds = sorted({entry.number: entry for entry in (*begun, *changed)}.values(), key=lambda e: e.number)
    if dry_run:
        say_loads(root, rounds, as_json=as_json)
        return
    by_others = [entry for entry in rounds if entry.carrier not in (BY_HAND, BY_SERVER)]
    on_server = _on_server(root, rounds, entries)
    refuse_missing(changed, rules, sample)
    if by_others and not on_server:
        begin(root, campaign, changed)
        _note_pushed(root, inputs, _deliver_by_others(root, campaign, by_others, rules))
    else:
        connection = used_connection()
        to = LabelStudio(connection, root, replaces=replace)
        pushed = _push(to, connection, root, campaign, on_server, changed, rules, sample)
        say_pushed(pushed, connection, _retired(), as_json=as_json)
        _note_pushed(root, inputs, [*pushed, *_deliver_by_others(root, campaign, by_others, rules)])
        if sample != 0:
            look_after(pushed, rules, connection)
    record_design(root, policy)
    say("while they judge: fire-toolkit progress")
    say_following()


def _rounds_to_begin(
    root: Path, begun: Sequence[Round], wanted: _Wanted, rules: Guideline, inputs: Given
) -> list[Round]:
    """Return the rounds that begin: of the file that is named, else of all that were made and have not begun.

    Where there are none, options that name inputs say again how the last one began: the same is drawn; but
    what `next-round` gave out moves as it is to the carrier named: unless it was sent, or as files to the
    people named.
    """
    files = {number: relative_path(path) for number, path in handed_out(root).items()}
    new = [path for number, path in files.items() if number not in {entry.number for entry in begun}]
    adds = bool(wanted.training or wanted.controls)
    last = begun[-1] if begun else None
    if wanted.tasks:
        new = [wanted.tasks]
    elif last and not new and wanted.is_named and last.carrier not in (BY_HAND, wanted.carrier):
        return [_moved(root, last, wanted)]
    elif not new and (adds or wanted.annotators or not begun):
        if last and last.number not in files and not adds:
            return [_moved(root, last, wanted)] if last.carrier == BY_HAND else _as_given(last, wanted)
        new = [files[max(files)] if files else relative_path(tasks_file(root, 1))]
    return [_new_round(rules, file, begun, wanted, inputs) for file in new]


def _as_given(entry: Round, wanted: _Wanted) -> list[Round]:
    """Return no round that begins: `next-round` has begun it, and chose whom it asks."""
    names = list(dict.fromkeys(entry.assignments["annotator_id"]))
    if {*loads_of(wanted.annotators)} != {*names}:
        raise UsageError(
            f"round {entry.number} was given to {', '.join(names)}; `fire-toolkit push` sends it to them, "
            "and `annotators reassign` gives what somebody has not answered to others"
        )
    return []


def _moved(root: Path, entry: Round, wanted: _Wanted) -> Round:
    """Return a round as another carrier has it, to which nobody was asked anything in it yet."""
    names, by_hand = list(dict.fromkeys(entry.assignments["annotator_id"])), entry.carrier == BY_HAND
    sent = manifest_of(root / FOLDER, is_folder=True).parameters.get("given", {})
    if str(entry.number) in sent and not by_hand:
        raise UsageError(
            f"round {entry.number} was sent by {entry.carrier} to {', '.join(names)}, and stays there; a "
            "further round may have another carrier"
        )
    if (by_hand or wanted.annotators) and {*loads_of(wanted.annotators)} != {*names}:
        raise UsageError(
            f"round {entry.number} was given to {', '.join(names)}; it moves as a whole, with "
            f"`--annotator {','.join(names)}`"
        )
    say(f"note: round {entry.number} goes by {wanted.carrier} in the place of {entry.carrier}")
    n_captions = entry.n_captions if wanted.carrier in (BY_PAGE, BY_SERVER) else 1
    return dataclasses.replace(entry, carrier=wanted.carrier, n_captions=n_captions)


def _new_round(
    rules: Guideline, tasks: Path, begun: Sequence[Round], wanted: _Wanted, inputs: Given
) -> Round:
    """Return the round of a file of tasks as the inputs make it."""
    carrier, training = wanted.carrier, wanted.training
    file = inputs.use(tasks)
    asked = read_task_files(file, rules)
    overlap = overlap_file(file)
    if overlap.is_file():
        inputs.use(overlap)
    number = int(asked["round"].max()) if len(asked) else 1
    judged = made_file("judgments/judgments.csv")
    if judged and number not in {entry.number for entry in begun}:
        pairs = read_judged_pairs(judged)
        is_judged = pair_rows(asked, pairs[pairs["round"] >= number]) >= 0
        if n_judged := int(is_judged.sum()):
            say(f"note: {n_of(n_judged, 'task')} left out: their pairs were judged since the tasks were made")
        asked = Tasks(asked[~is_judged].reset_index(drop=True))
    again = asked_before(asked, [entry for entry in begun if entry.number != number])
    if again:
        raise UsageError(
            f"{file}: {n_of(len(again), 'pair')} given out in an earlier round ({', '.join(again[:3])}); "
            "`fire-toolkit next-round` asks pairs again, of annotators who have not seen them"
        )
    taught = read_task_files(inputs.use(training), rules, with_overlap=False) if training else None
    known, answers = _controls(inputs, wanted.controls, rules) if wanted.controls else (None, None)
    there = begun_here()
    before = handed_to(there) if there and there.rounds[-1].carrier == carrier else []
    loads = loads_of(wanted.annotators or before) or active_annotators(there)
    refuse_retired(loads, number)
    n_captions: Any = 1  # of an item on a page, as `tasks` drew them; a plug-in's carrier has one
    if carrier in (BY_PAGE, BY_SERVER) and not rules.is_of_queries:
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
    return dataclasses.replace(drawn, carrier=carrier)


def _controls(inputs: Given, path: Path, rules: Guideline) -> tuple[Tasks, Qrels]:
    """Return the tasks of pairs whose answer is known, and the answers; −1 says that none is known."""
    qrels = read_qrels(inputs.use(path))
    answers = check_qrels(qrels[qrels["relevance"] >= 0])
    return shown_tasks(inputs, check_pool(answers[PAIR]), rules, by_hand=False, overlap=0), answers


def _deliver_by_others(
    root: Path, campaign: Campaign, rounds: Sequence[Round], rules: Guideline
) -> list[Delivered]:
    """Give out the rounds of plug-ins' carriers, and say where each queue is."""
    found, gone = list[Delivered](), _retired()
    for name in sorted({entry.carrier for entry in rounds}):
        carrier = carrier_of(name, root)
        own = [entry for entry in rounds if entry.carrier == name]
        given = carrier.deliver(campaign, own, rules, root / STORE)
        places = carrier.where(campaign, own)
        for entry in given:
            if entry.queue.annotator_id in gone and not entry.n_added:
                continue
            added = f"{n_of(entry.n_added, 'task')} added, {entry.n_there:,} there before"
            added = added if entry.n_added else f"{n_of(entry.n_there, 'task')} there"
            say(f"for {entry.queue.annotator_id}, by {name}: {places.get(entry.queue, 'nowhere')}, {added}")
        found += given
    return found


def _retired() -> set[str]:
    """Return who will answer no more, and is told no place to answer at."""
    campaign = begun_here()
    return campaign.retired if campaign else set()


def _on_server(root: Path, rounds: Sequence[Round], entries: Sequence[Round]) -> list[Round]:
    """Return the rounds that the server carries; those by hand stay so, unless `entries` sends them.

    Raises:
        UsageError: every round is by hand, or one of `entries` has answers from files already.
    """
    by_hand = {entry.number for entry in read_rounds(root) if entry.carrier == BY_HAND}
    query = "select distinct cast(queue as integer) from answers where source glob 'file:*' and queue <> ''"
    with Store(root / STORE) as store:
        answered = {number for (number,) in store.database.select(query)}
    for number in sorted(by_hand & answered & {entry.number for entry in entries}):
        raise UsageError(
            f"round {number} was handed out as files, and answers came back; go on with `fire-toolkit import`"
        )
    there = [entry for entry in rounds if entry.carrier == BY_SERVER]
    for entry in rounds:
        if entry.carrier == BY_HAND and there:
            say(f"note: round {entry.number} was handed out as files and is not sent")
    if rounds and all(entry.carrier == BY_HAND for entry in rounds):
        raise UsageError(
            "all was handed out as files, and `fire-toolkit import` takes the answers; as long as nobody has "
            "answered, `push --annotator NAME` for each of the same annotators sends the tasks to a server"
        )
    return there


def _push(
    server: LabelStudio,
    connection: Connection,
    root: Path,
    campaign: Campaign,
    rounds: Sequence[Round],
    changed: Sequence[Round],
    rules: Guideline,
    sample: int | None,
) -> list[Plan]:
    """Push the rounds that the server carries; nothing is written here or there before their media answer."""
    for entry in changed:
        if entry.carrier == BY_SERVER and rules.shows_media:
            refuse_unshowable(entry.tasks)

    def ready(plans: Sequence[Plan]) -> None:
        look_before(plans, rules, connection, sample)
        begin(root, campaign, changed)

    with Meter("tasks", sum(len(entry.assignments) for entry in rounds)) as meter:
        return server.deliver(campaign, rounds, rules, root / STORE, report=meter, ready=ready)


def _note_pushed(root: Path, inputs: Given, pushed: Sequence[Delivered]) -> None:
    """Write down which rounds are on the server and what they were drawn from, for `status`."""
    folder = root / FOLDER
    inputs.hashes = {**manifest_of(folder, is_folder=True).inputs, **inputs.hashes}
    counts = {
        "tasks": sum(entry.n_there + entry.n_added for entry in pushed),
        "projects": sum(bool(entry.project) if isinstance(entry, Plan) else 1 for entry in pushed),
        "held": sum(entry.n_held for entry in pushed),
    }
    given = {str(number): n for number, n in given_by_round(root).items()}
    inputs.write(relative_path(folder), {}, "push", {"given": given}, counts)
