"""The workspace's campaign for the commands that ask people: record, rounds, design, server, who is asked."""

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import click
import pandas as pd

from fire_toolkit.campaign.beginning import (
    DESIGN_FILE,
    check_policy,
    extended_design,
    note_changed,
    recorded_design,
)
from fire_toolkit.campaign.carrier import NOT_PUSHED, Carried
from fire_toolkit.campaign.records import BY_HAND, BY_SERVER, FOLDER, Campaign, Rounds, read_retired
from fire_toolkit.campaign.store import Store
from fire_toolkit.campaign.views import first_asked, people_asked
from fire_toolkit.cli.common import n_of, say
from fire_toolkit.cli.given import Given, reads
from fire_toolkit.cli.here import current_workspace, needed_workspace
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import Folder
from fire_toolkit.formats.tables.guideline_files import guideline_of
from fire_toolkit.formats.tables.table_files import COLUMNS, read_design
from fire_toolkit.formats.written import delimited_text
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.labelstudio.connection import (
    CONNECTION_FILE,
    SERVER_FOLDER,
    URL_VARIABLE,
    Connection,
    read_connection,
    read_connection_file,
)
from fire_toolkit.tables.columns import pair_rows
from fire_toolkit.workspace.database import STORE
from fire_toolkit.workspace.manifests import write_files
from fire_toolkit.workspace.rounds import refuse_lost_record


@dataclass(frozen=True)
class Begun:
    """A campaign that has begun: its record and its rounds."""

    root: Path
    campaign: Campaign
    rounds: Rounds

    @property
    def store(self) -> Store:
        """The record, open until the command ends: one for a command, which so looks up once what counts."""
        with Store.at(self.root / STORE) as found:
            return found

    @cached_property
    def guideline(self) -> Guideline:
        """The guideline that is judged by."""
        return guideline_here()

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
        return people_asked(self.store)

    @cached_property
    def retired(self) -> set[str]:
        """Who will answer no more."""
        from fire_toolkit.labelstudio.accounts import ACTIVE, OWNER, PENDING, read_register  # heavy

        accounts = read_register(self.root / SERVER_FOLDER)
        gone = {row.pseudonym for row in accounts if row.state not in (ACTIVE, PENDING, OWNER)}
        return read_retired(self.root) | (gone & self.people if gone else gone)

    @property
    def askable(self) -> set[str]:
        """The people who can be asked something new: those who are not retired."""
        return self.people - self.retired


def guideline_here(*, tasks: Path | None = None) -> Guideline:
    """Return the guideline of the workspace's campaign; before one has begun, that of the tasks in a file."""
    workspace = needed_workspace()
    campaign = Rounds(workspace.root).campaign
    found = guideline_of(workspace, campaign.guideline if campaign else None, tasks=tasks)
    if campaign:
        note_changed(campaign, found)
    return found


def carried_at(root: Path, carrier: str | None = None) -> Carried:
    """Return what a carrier (None: any) has of a workspace's campaign."""
    rounds = Rounds(root, carrier)
    return Carried(rounds.campaign, rounds, guideline_here(), root / STORE)


def begun_here() -> Begun | None:
    """Return the campaign of the workspace here; None where none has begun, or there is no workspace."""
    workspace = current_workspace()
    rounds = Rounds(workspace.root) if workspace else None
    if workspace is None or not rounds or rounds.campaign is None:
        return None
    return Begun(workspace.root, rounds.campaign, rounds)


def begun_campaign() -> Begun:
    """Return the campaign of the workspace here; a usage error where none has begun."""
    private_folder()
    campaign = begun_here()
    if campaign is None:
        refuse_lost_record(needed_workspace().root)
        raise UsageError(NOT_PUSHED)
    return campaign


def deliver_files() -> None:
    """Write the files of rounds by hand that are not there."""
    campaign = begun_here()
    if campaign is None:
        return
    folder, own = Folder(campaign.root), carried_at(campaign.root, BY_HAND)
    given, places = folder.deliver(own), folder.where(own)
    for entry in given:
        if entry.n_added:
            place = Path(places[entry.queue].split(", ")[-1])
            n_tasks = n_of(entry.n_added, "task")
            say(f"for {entry.queue.annotator_id}: {place} or {place.with_suffix('.csv').name}, {n_tasks}")


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


def refuse_retired(names: Iterable[str], number: int | None = None) -> None:
    """Refuse to give tasks to somebody who is retired; a round `number` that has begun is as it is."""
    there = begun_here()
    if there and number not in there.rounds.carriers and (gone := sorted(there.retired & {*names})):
        raise UsageError(f"{gone[0]} is retired and gets no tasks")


def active_annotators(campaign: Begun | None = None) -> dict[str, float]:
    """Return who can be asked on a server, with equal loads: active accounts that this workspace has made.

    Others use the server too; who is to be asked all the same is named.

    campaign: one that has begun: only its own annotators, whoever made their accounts.
    """
    from fire_toolkit.labelstudio.accounts import ACTIVE, read_register  # heavy

    active = [row for row in read_register(private_folder()) if row.state == ACTIVE]
    askable = {row.pseudonym for row in active if row.password} if campaign is None else campaign.askable
    names = [row.pseudonym for row in active]
    if own := [name for name in names if name in askable]:
        return dict.fromkeys(own, 1.0)
    others = f"name others with --annotator ({', '.join(names)})"
    new = "`fire-toolkit annotators add A01 A02`, or give --annotator"
    raise click.UsageError(f"no annotators of this workspace can be asked: {others if names else new}")


def handed_to(campaign: Begun) -> list[str]:
    """Return everybody whom the latest round's carrier, if it keeps no accounts, can ask again, sorted."""
    if campaign.latest_carrier == BY_SERVER:
        return []
    return sorted(people_asked(campaign.store, campaign.latest_carrier) & campaign.askable)


ON_A_SERVER = "or on a server: fire-toolkit labelstudio start, then fire-toolkit push"


def used_connection() -> Connection:
    """Return how to reach the server that the environment names, else the workspace's."""
    workspace = current_workspace()
    return read_connection(workspace.root if workspace else None)


def stored_connection() -> Connection | None:
    """Return the connection to the workspace's own server, or None if it has none."""
    return read_connection_file(private_folder() / CONNECTION_FILE) if _has_connection() else None


def knows_server() -> bool:
    """Whether the environment names a Label Studio, or the workspace here has started one."""
    return bool(os.environ.get(URL_VARIABLE)) or _has_connection()


def _has_connection() -> bool:
    return current_workspace() is not None and (private_folder() / CONNECTION_FILE).exists()


def private_folder() -> Path:
    """Return the workspace's private folder; a usage error outside a workspace."""
    return needed_workspace().root / SERVER_FOLDER


@reads
def design(given: Given) -> pd.DataFrame | None:
    """How many votes each pair was to get: as the file given has it, else the campaign; None: not known."""
    named = read_design(given.use(given.values["design"])) if given.values["design"] else None
    campaign = begun_here() if given.values.get("judgments") is None else None
    if campaign is None:
        return named
    own = extended_design(recorded_design(campaign.root), first_asked(campaign.store), None, None)
    return own if named is None else pd.concat([named, own[pair_rows(own, named) < 0]], ignore_index=True)


def record_design(root: Path, policy: str | None, *, is_kept: bool = True) -> pd.DataFrame | None:
    """Return the design of all pairs that the campaign asks first, and write it down; None without a policy.

    Classes and places that are written stay. is_kept: whether it is written at all.
    """
    chosen = check_policy(root, policy)
    campaign = begun_here()
    if chosen is None or campaign is None:
        return None
    known = recorded_design(root)
    found = extended_design(known, first_asked(campaign.store), chosen, root, Given().path("qrels"))
    if is_kept:
        write_files({root / FOLDER / DESIGN_FILE: delimited_text(found[COLUMNS]).encode()})
    if known is None:
        counts = found["design_class"].value_counts()
        named = ", ".join(f"{n:,} {name}" for name, n in counts.items())
        say(f"policy {chosen}: {n_of(len(found), 'pair')} by design ({named}), in {FOLDER}/{DESIGN_FILE}")
    return found
