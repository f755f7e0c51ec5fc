"""What a campaign begins with: its record, its rounds, and which positives get a second vote by design."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.carrier import Carried
from fire_toolkit.campaign.records import (
    BY_HAND,
    BY_SERVER,
    FOLDER,
    Campaign,
    Round,
    Rounds,
    write_campaign,
    write_rounds,
)
from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FileNote, UsageError
from fire_toolkit.formats.tables.table_files import read_design, read_pool, read_pool_sources
from fire_toolkit.guidelines.label_config import config_sha256, parse_label_config
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.design import VERIFY_POSITIVES, cells_of, design_pairs
from fire_toolkit.tables.columns import PAIR, pair_rows
from fire_toolkit.tables.design import UNTIL_CONFIRMED, VERIFY
from fire_toolkit.tables.further import DEEP

DESIGN_FILE = "design.csv"


def campaign_of(root: Path, rules: Guideline) -> Campaign:
    """Return the workspace's campaign, or a new one (not yet written).

    A campaign keeps the page that it began with when the guideline's page has come to look different.
    """
    found = Rounds(root).campaign
    if found is None:
        key, digest = uuid.uuid4().hex[:12], config_sha256(rules.label_config)
        return Campaign(key, rules.name, rules.sha256, digest, rules.label_config)
    if words := page_changed(found, rules):
        raise UsageError(words)
    return found


def page_changed(campaign: Campaign, rules: Guideline) -> str:
    """Return why nobody can be asked by the guideline, where its page asks another question; else nothing."""
    pages = (parse_label_config(page) for page in (rules.label_config, campaign.label_config))
    is_same = campaign.config_sha256 == config_sha256(rules.label_config) or next(pages).asks_as(next(pages))
    if campaign.guideline == rules.name and is_same:
        return ""
    now = "that with other answers" if campaign.guideline == rules.name else rules.name
    return (
        f"the campaign began with another labeling page (guideline {campaign.guideline}, now {now}); "
        "answers to two pages cannot be mixed: use that guideline, or another workspace"
    )


def note_changed(campaign: Campaign, rules: Guideline) -> None:
    """Say that a guideline is not the one that its campaign began with; answers do not tell them apart.

    Warns:
        FileNote: it says something else under the same name.
    """
    if rules.name == campaign.guideline and rules.sha256 != campaign.guideline_sha256:
        words = "has other words or grades now than the campaign began with, which earlier answers followed"
        warnings.warn(f"guideline {rules.name} {words}", FileNote, stacklevel=2)


def what_begins(
    begun: Sequence[Round],
    files: Mapping[int, Path],
    first: Path,
    *,
    carrier: str | None,
    people: Collection[str],
    adds: bool,
    sent: Collection[str],
) -> list[Path] | Round:
    """Return which files of tasks become rounds, where none is named, or the round that another carrier gets.

    These are all that were made and have not begun. Where there are none, options that name inputs say again
    how the last round began: the same is drawn; but what `next-round` gave out moves as it is to the carrier
    named, unless it was sent, or as files to the people named.

    begun: the rounds that have begun; files: of the tasks that were made, by round; first: where those of the
    first round are. carrier, people: who is named; adds: whether training or controls are. sent: the numbers
    of the rounds that were sent.

    Raises:
        UsageError: no tasks were made; the last round was sent, or given to others.
    """
    there, last = {entry.number for entry in begun}, begun[-1] if begun else None
    if new := [file for number, file in files.items() if number not in there]:
        return new
    if last is None and not files:
        raise UsageError(f"{first}: no such file; run `fire-toolkit tasks` first")
    drawn = [files[max(files)] if files else first]
    if last is None:
        return drawn
    is_by_hand, is_drawn = last.carrier == BY_HAND, adds or last.number in files
    names = list(dict.fromkeys(last.assignments["annotator_id"]))
    if not is_by_hand and carrier not in (None, last.carrier):
        if str(last.number) in sent:
            raise UsageError(
                f"round {last.number} was sent by {last.carrier}, and stays there; leave --carrier"
            )
    elif not adds and not people:
        return []
    elif is_drawn:
        return drawn
    elif not is_by_hand and {*people} == {*names}:
        return []  # `next-round` has begun it, and chose whom it asks
    elif not is_by_hand:
        raise UsageError(
            f"round {last.number} was given to {', '.join(names)}: leave --annotator, or `annotators "
            "reassign` what is not answered"
        )
    if (is_by_hand or people) and {*people} != {*names}:
        raise UsageError(f"round {last.number} moves as a whole, with `--annotator {','.join(names)}`")
    return last


def rounds_on_server(
    whole: Carried, begun: Sequence[Round], numbers: set[int], unread: Callable[[], Collection[Path]]
) -> list[Round]:
    """Return the rounds that the server carries; those by hand stay so, unless they begin now (`numbers`).

    unread: the files with answers that are not read yet.

    Raises:
        UsageError: every round is by hand, or one that begins has answers from files already.
    """
    query = "select distinct cast(queue as integer) from answers where source glob 'file:*' and queue <> ''"
    with Store.at(whole.store) as store:
        answered = {number for (number,) in store.select(query)}
    moving = numbers & {each.number for each in begun if each.carrier == BY_HAND}
    for number in sorted(moving if moving and unread() else moving & answered):
        raise UsageError(
            f"round {number} was handed out as files, and answers came back; `import` the others"
        )
    there = [entry for entry in whole.rounds if entry.carrier == BY_SERVER]
    by_hand = [entry for entry in whole.rounds if entry.carrier == BY_HAND]
    for entry in by_hand if there else ():
        words = f"round {entry.number} was handed out as files and is not sent"
        warnings.warn(words, FileNote, stacklevel=2)
    if by_hand and len(by_hand) == len(whole.rounds):
        moves = "`push --annotator NAME` for each of the same people sends it, while nobody has answered"
        raise UsageError(f"all was handed out as files, and `fire-toolkit import` takes the answers; {moves}")
    return there


def begin(root: Path, campaign: Campaign, entries: Sequence[Round]) -> None:
    """Write down what is about to be given out, see `write_rounds`."""
    write_campaign(root, campaign)  # first, as it is sealed with all that is there
    write_rounds(root, *entries)


def policy_of(root: Path) -> str | None:
    """Return the policy that a campaign's record names; None where it has none."""
    design = recorded_design(root)
    if design is None:
        return None
    if design["cells"].ne("").any():  # no other policy goes by where runs rank a pair
        return UNTIL_CONFIRMED
    return VERIFY_POSITIVES if (design["design_class"] == VERIFY).any() else None


def check_policy(root: Path, policy: str | None) -> str | None:
    """Return the policy that holds from now on: the one given, else the one recorded, else None.

    Raises:
        UsageError: another policy was recorded, or until-confirmed without the workspace's pool sources.
    """
    before = policy_of(root)
    if policy and before and policy != before:
        raise UsageError(
            f"the campaign's policy is {before}, and votes were asked by it; it cannot be {policy} now"
        )
    sources = root / "pool" / "pool_sources.csv"
    if policy == UNTIL_CONFIRMED and not sources.is_file():
        raise UsageError(
            f"{sources}: no such file; {policy} goes by where runs rank a pair, so run `pool` first"
        )
    return policy or before


def recorded_design(root: Path) -> pd.DataFrame | None:
    """Return the design that the campaign in a workspace has written down; None: none yet."""
    path = root / FOLDER / DESIGN_FILE
    return read_design(path) if path.is_file() else None


def extended_design(
    known: pd.DataFrame | None,
    asked: pd.DataFrame,
    policy: str | None,
    root: Path | None,
    original: Path | None = None,
) -> pd.DataFrame:
    """Return a design with the pairs that rounds ask first and it does not hold yet.

    Under until-confirmed the cells of all pairs are those of the pool as it is now, so that earlier pairs
    count in the tops of a run that came later; later pairs stand after them.

    Args:
        known: the design so far; None: there is none.
        asked: the pairs that rounds ask first, see `first_asked`.
        policy: which positives get a second vote.
        root: the workspace, whose pool says how pairs came in; None: it is not looked at.
        original: the file of its original qrels.
    """
    fresh = asked if known is None else asked[pair_rows(asked, known) < 0]
    sources = qrels = deep = None
    ranked = root / "pool" / "pool_sources.csv" if root and policy == UNTIL_CONFIRMED else None
    if ranked and ranked.is_file():
        sources = read_pool_sources(ranked)
    if known is not None and not len(fresh) and sources is None:
        return known
    if root:
        from fire_toolkit.formats.collections.qrels import read_qrels  # heavy

        path = root / "pool" / "pool.csv"
        pool = read_pool(path) if path.is_file() else None
        if pool is not None and "stratum" in pool:  # asked because they, or their queries, were drawn
            deep = pool[PAIR][(pool["stratum"] == DEEP) | (pool["inclusion_probability"] < 1)]
        qrels = read_qrels(original) if original and original.is_file() else None
    added = design_pairs(fresh, policy=policy, sources=sources, original=qrels, deep=deep)
    if known is None:
        return added
    last = known.groupby("query_id")["place"].max().reindex(added["query_id"], fill_value=0)
    found = pd.concat([known, added.assign(place=added["place"] + last.to_numpy())], ignore_index=True)
    return found if sources is None else found.assign(cells=cells_of(found, sources, qrels))
