"""Find whose answers a file contains: by its name, the register of accounts, or the queue they belong to."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.errors import UsageError

Row = dict[str, str]
Asked = tuple[str, str]  # the round that a task names, empty if it names none, and its pair
Given = Mapping[str, Mapping[Asked, QueueName]]  # annotator → what was asked of her → in which queue
_NAMED = re.compile(r"(?:tasks|round-\d+)\.(?!overlap\.)(.+?)(?: - Copy| copy)?(?: ?\(\d+\))?\.(?:csv|json)")


def queues_of(rounds: Iterable[Round]) -> Given:
    """Return in which queue each annotator was given what, a pair without a round in the last one."""
    found: dict[str, dict[Asked, QueueName]] = {}
    for entry in rounds:
        for name, pair in zip(entry.given["annotator_id"], entry.given["pair_id"], strict=True):
            own = found.setdefault(name, {})
            own[str(entry.number), pair] = own["", pair] = QueueName(entry.number, name)
    return found


def with_owners(rows: Sequence[Row], given: Given, path: Path, *, known: Mapping[str, str]) -> list[Row]:
    """Return rows of the ledger, whose annotator_id is an account's, with annotator and queue.

    Each row has a further entry, round: what its task names. An answer without a unique id is known again by
    annotator, pair and number, whatever its file is called.

    Args:
        rows: of one file.
        given: what was asked of whom.
        path: the file; an id between the dots of its name (`tasks.A01.json`) says whose all of it is, also
            where this name is nobody's.
        known: account → annotator, where known, as of a sheet whose column names them; one that answered
            nothing that is asked keeps its own name, and so does one who has a queue.

    Raises:
        UsageError: the annotator is unclear, or two accounts answered for one annotator.
    """
    pairs = {pair for own in given.values() for _, pair in own}
    answered: dict[str, set[Asked]] = {}
    for row in rows:
        is_asked = row["pair_id"] in pairs
        answered.setdefault(row["annotator_id"], set()).update([(row["round"], row["pair_id"])] * is_asked)
    said = _NAMED.fullmatch(path.name)
    stranger = said[1] if said else ""
    named = max((name for name in given if f".{name}." in f".{path.name}/.{stranger}."), key=len, default="")
    owners, behind = dict[str, str](), dict[str, list[str]]()
    for account, asked in answered.items():
        if not asked or (not named and (account in known or account in given)):
            owners[account] = known.get(account, account)
            continue
        owners[account] = _owner(asked, account, named or stranger, given, path)
        behind.setdefault(owners[account], []).append(account)
    for owner, accounts in behind.items():
        if len(accounts) > 1:
            raise UsageError(
                f"{path}: accounts {', '.join(sorted(accounts))} all answered tasks of {owner}; export "
                "each person's answers separately"
            )
    found = []
    for row in rows:
        account, pair = row["annotator_id"], row["pair_id"]
        owner = owners[account]
        queues = given.get(owner, {})
        queue = queues.get((row["round"], pair)) or queues.get(("", pair)) or ""
        own = {"annotator_id": owner, "queue": str(queue)}
        if "#" in row["annotation"] and owner != account and known.get(account) != owner:
            own["annotation"] = f"{owner}#{pair}#{row['annotation'].rpartition('#')[2]}"
        found.append({**row, **own})
    return found


def _owner(asked: set[Asked], account: str, named: str, given: Given, path: Path) -> str:
    """Return whose an account's answers are; named: whom the file's name says."""
    fits = [name for name, own in given.items() if asked <= own.keys()]
    who = f"{path}: {f'account {account}' if account else 'somebody'} answered {len(asked)} tasks"
    if named and (named in fits or (not fits and asked & given.get(named, {}).keys())):
        return named
    if named:
        owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
        raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
    if len(fits) != 1:
        queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
        example = path.with_name(f"{path.stem}.{next(iter(given))}{path.suffix}")
        raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
    return fits[0]
