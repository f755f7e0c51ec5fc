"""The workspace's campaign, for the commands that ask people: its record, its rounds, who is asked."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import click

from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_SERVER,
    Campaign,
    Round,
    Rounds,
    read_campaign,
    read_retired,
    write_campaign,
    write_round,
)
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import people_asked, people_of_carrier
from fire_toolkit.cli.common import current_workspace, n_of, needed_workspace, say
from fire_toolkit.cli.server_options import private_folder
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.formats.tables.guideline_files import guideline_of
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.places import read_places
from fire_toolkit.labelstudio.register import ACTIVE, OWNER, PENDING, read_register
from fire_toolkit.labelstudio.secrets import SERVER_FOLDER
from fire_toolkit.workspace.database import STORE


@dataclass(frozen=True)
class Begun:
    """A campaign that has begun: its record and its rounds."""

    root: Path
    campaign: Campaign
    rounds: Rounds

    @contextmanager
    def store(self) -> Iterator[Store]:
        """Have the record open inside: one for a command, which so looks up once what counts."""
        context = click.get_current_context(silent=True)
        kept = context.find_root().meta if context else {}
        name = f"{__name__}: {self.root}"
        if name not in kept:
            kept[name] = Store(self.root / STORE)
            if context:
                context.find_root().call_on_close(kept[name].close)
        yield kept[name]
        if not context:
            kept[name].close()

    @cached_property
    def guideline(self) -> Guideline:
        """The guideline that is judged by."""
        return guideline_of_campaign(self.campaign)

    @property
    def shown(self) -> Guideline:
        """The guideline with the labeling page that the campaign began with."""
        return replace(self.guideline, label_config=self.campaign.label_config)

    @property
    def by_hand(self) -> list[Round]:
        """The rounds that files carry."""
        return [*Rounds(self.root, BY_HAND)]

    @property
    def carriers(self) -> set[str]:
        """Whatever carries any of its rounds."""
        return {*self.rounds.carriers.values()}

    @property
    def latest_carrier(self) -> str:
        """What carries its latest round."""
        return str([*self.rounds.carriers.values()][-1])

    @cached_property
    def people(self) -> set[str]:
        """Everybody who was ever given a task."""
        with self.store() as store:
            return people_asked(store)

    @cached_property
    def retired(self) -> set[str]:
        """Who will answer no more."""
        accounts = read_register(self.root / SERVER_FOLDER)
        gone = {row.pseudonym for row in accounts if row.state not in (ACTIVE, PENDING, OWNER)}
        return read_retired(self.root) | (gone & self.people if gone else gone)

    @property
    def askable(self) -> set[str]:
        """The people who can be asked something new: those who are not retired."""
        return self.people - self.retired

    @property
    def is_by_hand(self) -> bool:
        """Whether files carry the latest round."""
        return self.latest_carrier == BY_HAND


def guideline_of_campaign(campaign: Campaign | None, *, tasks: Path | None = None) -> Guideline:
    """Return the guideline of the workspace's campaign; before one has begun, that of the tasks in a file."""
    return guideline_of(needed_workspace(""), campaign.guideline if campaign else None, tasks=tasks)


def full_pull_due(campaign: Begun) -> str:
    """Return that all is to be pulled anew, if answers came in from a server since that was last done."""
    with Store(campaign.root / STORE) as store:
        seen_at = store.last_from_a_server()
        whole_at = [place.whole_at for place in read_places(store) if not place.lost]
    if seen_at <= min(whole_at, default=""):
        return ""
    return (
        "answers came in since the last `pull --full`; run one at the end of a round: an edit that the "
        "server does not date shows only there"
    )


def begun_here() -> Begun | None:
    """Return the campaign of the workspace here; None where none has begun, or there is no workspace."""
    workspace = current_workspace()
    campaign = read_campaign(workspace.root) if workspace else None
    if workspace is None or campaign is None:
        return None
    rounds = Rounds(workspace.root)
    return Begun(workspace.root, campaign, rounds) if rounds else None


def begun_campaign() -> Begun:
    """Return the campaign of the workspace here; a usage error where none has begun."""
    private_folder()
    campaign = begun_here()
    if campaign is None:
        raise UsageError(
            "nothing was pushed from this workspace; push first, or hand out files (tasks --annotator A,B)"
        )
    return campaign


def campaign_of(root: Path, rules: Guideline) -> Campaign:
    """Return the workspace's campaign, or a new one (not yet written).

    A campaign keeps the page that it began with when the guideline's page has come to look different.
    """
    found = read_campaign(root)
    digest = config_sha256(rules.label_config)
    if found is None:
        key = uuid.uuid4().hex[:12]
        return Campaign(key, rules.name, rules.sha256, digest, rules.label_config)
    pages = (parse_label_config(page) for page in (rules.label_config, found.label_config))
    is_same = found.config_sha256 == digest or next(pages).asks_as(next(pages))
    if found.guideline != rules.name or not is_same:
        raise UsageError(
            f"the campaign began with another labeling page (guideline {found.guideline}, now {rules.name}); "
            "answers to two pages cannot be mixed: use that guideline, or another workspace"
        )
    return found


def begin(root: Path, campaign: Campaign, entries: Sequence[Round]) -> None:
    """Write down what is about to be given out; what is there already must be the same."""
    for entry in entries:
        write_round(root, entry)
    write_campaign(root, campaign)


def deliver_files() -> bool:
    """Write the files of rounds by hand that are not there; return whether the latest round is by hand."""
    campaign = begun_here()
    if campaign is None:
        return False
    folder = Folder(campaign.root, campaign.guideline)
    record, rounds = campaign.campaign, campaign.by_hand
    given = folder.deliver(record, rounds, campaign.guideline, campaign.root / STORE)
    places = folder.where(record, rounds)
    for entry in given:
        if entry.n_added:
            place = Path(places[entry.queue].split(", ")[-1])
            n_tasks = n_of(entry.n_added, "task")
            say(f"for {entry.queue.annotator_id}: {place} or {place.with_suffix('.csv').name}, {n_tasks}")
    return campaign.is_by_hand


def names_of(words: Sequence[str]) -> tuple[str, ...]:
    """Return the names in words that hold one each, or several with commas."""
    return tuple(name.strip() for word in words for name in word.split(",") if name.strip())


def loads_of(annotators: Sequence[str]) -> dict[str, float]:
    """Return the load of each annotator in texts NAME or NAME=LOAD."""
    loads: dict[str, float] = {}
    for text in annotators:
        name, equals, load = text.partition("=")
        try:
            weight = float(load) if equals else 1.0
        except ValueError:
            raise click.BadParameter(f"{text!r}: expected NAME or NAME=LOAD, a number") from None
        if name in loads:
            raise click.BadParameter(f"{name} is named twice")
        loads[name] = weight
    return loads


def active_annotators(campaign: Begun | None = None) -> dict[str, float]:
    """Return who can be asked on a server, with equal loads: active accounts that this workspace has made.

    Others use the server too; who is to be asked all the same is named.

    campaign: one that has begun: only its own annotators, whoever made their accounts.
    """
    active = [row for row in read_register(private_folder()) if row.state == ACTIVE]
    if not active:
        raise click.UsageError(
            "no annotators: create accounts with `fire-toolkit annotators add A01 A02`, or give --annotator"
        )
    askable = {row.pseudonym for row in active if row.password} if campaign is None else campaign.askable
    names = [row.pseudonym for row in active]
    own = [name for name in names if name in askable]
    if not own:
        whose = "made by this workspace" if campaign is None else "of this campaign"
        raise click.UsageError(
            f"no annotator {whose} can be asked; name others with --annotator ({', '.join(names)})"
        )
    return dict.fromkeys(own, 1.0)


def handed_to(campaign: Begun) -> list[str]:
    """Return everybody whom the latest round's carrier, if it keeps no accounts, can ask again, sorted."""
    if campaign.latest_carrier == BY_SERVER:
        return []
    with campaign.store() as store:
        return sorted(people_of_carrier(store, campaign.latest_carrier) & campaign.askable)
