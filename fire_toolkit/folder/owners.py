"""Find whose answers a file contains: by its name, the register of accounts, or the queue they belong to."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fire_toolkit.campaign.records import QueueName, Round
from fire_toolkit.errors import UsageError

Row = dict[str, str]
Asked = tuple[str, str]  # the round that a task names, empty if it names none, and its pair


class Queues:
    """The queues of a campaign: who was given which pair in which round."""

    def __init__(self, rounds: Iterable[Round]) -> None:
        self._queue: dict[tuple[str, Asked], QueueName] = {}
        self._given: dict[str, set[Asked]] = {}
        for entry in rounds:
            for name, pair in zip(entry.given["annotator_id"], entry.given["pair_id"], strict=True):
                for asked in ((str(entry.number), pair), ("", pair)):
                    self._queue[name, asked] = QueueName(entry.number, name)
                    self._given.setdefault(name, set()).add(asked)
        self._pairs = {pair for given in self._given.values() for _, pair in given}

    def queue_of(self, annotator_id: str, asked: Asked) -> str:
        """Return the queue in which an annotator was given a pair; empty if there is none."""
        found = self._queue.get((annotator_id, asked)) or self._queue.get((annotator_id, ("", asked[1])))
        return str(found or "")

    def owners(
        self, answered: Mapping[str, set[Asked]], path: Path, *, known: Mapping[str, str]
    ) -> dict[str, str]:
        """Return the annotator behind each account of a file.

        Args:
            answered: account → what it answered.
            path: the file; an annotator's id in its name (`tasks.A01.json`) says that all is theirs.
            known: account → annotator, where known.

        Returns:
            An account that answered nothing that this campaign asks keeps its own name.

        Raises:
            UsageError: the annotator is unclear, or two accounts answered for one annotator.
        """
        named = self._named_by(path)
        found: dict[str, str] = {}
        behind: dict[str, list[str]] = {}
        for account, everything in answered.items():
            asked = {each for each in everything if each[1] in self._pairs}
            if not asked or (account in known and not named):
                found[account] = known.get(account, account)
                continue
            found[account] = self._owner(asked, account, named, path)
            behind.setdefault(found[account], []).append(account)
        for owner, accounts in behind.items():
            if len(accounts) > 1:
                raise UsageError(
                    f"{path}: accounts {', '.join(sorted(accounts))} all answered tasks of {owner}; export "
                    "each person's answers separately"
                )
        return found

    def _named_by(self, path: Path) -> str:
        """Return the annotator whose id stands between the dots of a file's name; empty if none does."""
        return max((name for name in self._given if f".{name}." in f".{path.name}"), key=len, default="")

    def _owner(self, asked: set[Asked], account: str, named: str, path: Path) -> str:
        fits = [name for name, given in self._given.items() if asked <= given]
        who = f"{path}: {f'account {account}' if account else 'somebody'} answered {len(asked)} tasks"
        if named and (named in fits or (not fits and asked & self._given[named])):
            return named
        if named:
            owner = f"those of {' and '.join(fits)}" if fits else f"none of them of {named}"
            raise UsageError(f"{who}, {owner}, but the file is named after {named}; rename it")
        if len(fits) != 1:
            queues = f"each in the queues of {' and '.join(fits)}" if fits else "which are in nobody's queue"
            example = path.with_name(f"{path.stem}.{next(iter(self._given))}{path.suffix}")
            raise UsageError(f"{who}, {queues}; name the file after its annotator, as in {example}")
        return fits[0]


def with_owners(rows: Sequence[Row], queues: Queues, path: Path, *, known: Mapping[str, str]) -> list[Row]:
    """Return rows of the ledger, whose annotator_id is an account's, with annotator and queue.

    Each row has a further entry, round: what its task names. An answer without a unique id is known again by
    annotator, pair and number, whatever its file is called.
    """
    answered: dict[str, set[Asked]] = {}
    for row in rows:
        answered.setdefault(row["annotator_id"], set()).add((row["round"], row["pair_id"]))
    owners = queues.owners(answered, path, known=known)
    found = []
    for row in rows:
        account, asked = row["annotator_id"], (row["round"], row["pair_id"])
        owner = owners[account]
        own = {"annotator_id": owner, "queue": queues.queue_of(owner, asked)}
        is_numbered = "#" in row["annotation"]
        if is_numbered and owner != account and known.get(account) != owner:
            own["annotation"] = f"{owner}#{asked[1]}#{row['annotation'].rpartition('#')[2]}"
        found.append({**row, **own})
    return found
