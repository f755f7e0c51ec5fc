"""Whose hands tasks are in while a round runs: what `annotators` moves, and what nobody will answer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from fire_toolkit.campaign.moves import Moves, move_tasks
from fire_toolkit.campaign.progress import left_pairs
from fire_toolkit.campaign.queue_pages import queue_pages
from fire_toolkit.campaign.queues import CONTROL, TRAINING
from fire_toolkit.campaign.records import BY_HAND, BY_SERVER, Round
from fire_toolkit.campaign.rounds import seen_pairs
from fire_toolkit.cli.campaigns import Begun, begun_here
from fire_toolkit.cli.server_options import private_folder
from fire_toolkit.errors import UsageError
from fire_toolkit.folder.carrier import refuse_file_names
from fire_toolkit.labelstudio.annotators import ACTIVE, OWNER, read_register


def begun_campaign() -> Begun:
    """Return the campaign of the workspace here; a usage error where none has begun."""
    private_folder()
    campaign = begun_here()
    if campaign is None:
        raise UsageError(
            "nothing was pushed from this workspace; push first, or hand out files (tasks --annotator A,B)"
        )
    return campaign


def is_on_server(campaign: Begun) -> bool:
    """Whether a server or a plug-in carries any round."""
    return any(entry.carrier != BY_HAND for entry in campaign.rounds)


def refuse_strangers(campaign: Begun, names: Sequence[str]) -> None:
    """Raise `UsageError` for a name that is not one of the campaign's annotators."""
    for name in names:
        if name not in campaign.people:
            active = ", ".join(sorted(campaign.askable)) or "none"
            raise UsageError(f"no annotator is called {name!r}; active: {active}")


def check_hands(campaign: Begun, sources: Sequence[str], targets: Sequence[str]) -> None:
    """Raise `UsageError` unless tasks can move from these annotators to those."""
    refuse_strangers(campaign, sources)
    if not targets or len(set(targets)) < len(targets):
        raise UsageError("--to: expected names, each once, as in --to A02,A03")
    if both := sorted({*sources} & {*targets}):
        raise UsageError(f"{both[0]} cannot both give tasks away and get them")
    if gone := [name for name in targets if name in campaign.retired]:
        raise UsageError(f"{gone[0]} is retired and gets no tasks")
    if any(entry.carrier == BY_HAND for entry in campaign.rounds):
        refuse_file_names(targets)
    register = {row.pseudonym for row in read_register(private_folder()) if row.state in (ACTIVE, OWNER)}
    for name in targets:
        if name not in register and any(entry.carrier == BY_SERVER for entry in campaign.rounds):
            raise UsageError(
                f"{name} has no active account on the server; create it: fire-toolkit annotators add {name}"
            )


def free_tasks(campaign: Begun, names: Collection[str] | None = None) -> dict[str, int]:
    """Return for each annotator (None: those retired) how many tasks to be judged have no answer."""
    found: dict[str, int] = {}
    left = left_pairs(campaign.ledger, campaign.rounds)
    for entry in campaign.rounds:
        rows = entry.assignments[~entry.assignments["kind"].isin([TRAINING, CONTROL])]
        for name, pair in zip(rows["annotator_id"], rows["pair_id"], strict=True):
            if name in (campaign.retired if names is None else names) and (name, pair) in left[entry.number]:
                found[name] = found.get(name, 0) + 1
    return found


def moved_rounds(
    campaign: Begun, sources: Sequence[str], targets: Sequence[str], *, seed: int
) -> list[tuple[Round, Moves]]:
    """Return the rounds in which tasks move, each with its new moves.

    sources: whose tasks move; none: everybody's, as many as leave all with equally much to do.
    """
    left = left_pairs(campaign.ledger, campaign.rounds)
    seen = set(seen_pairs(campaign.rounds, campaign.ledger).itertuples(index=False, name=None))
    found = []
    for entry in campaign.rounds:
        own = set(entry.assignments["annotator_id"])
        giving = sorted(own & {*sources} if sources else own - {*targets} - campaign.retired)
        batch = int(entry.moves["batch"].max()) + 1 if len(entry.moves) else 1
        moves = move_tasks(
            entry.assignments,
            left[entry.number],
            giving,
            targets,
            seen=seen,
            batch=batch,
            page_of=_pages_of(entry, giving),
            is_share=not sources,
            seed=seed,
        )
        if len(moves):
            found.append((entry, moves))
            seen |= set(zip(moves["to_annotator_id"], moves["pair_id"], strict=True))
    return found


def _pages_of(entry: Round, names: Collection[str]) -> dict[tuple[str, str], tuple[str, int]]:
    """Return the page on which each of these annotators has each pair."""
    return {
        (name, pair): (name, number)
        for name in names
        for number, page in enumerate(queue_pages(entry, name))
        for pair in page.pairs
        if pair not in page.withdrawn
    }


def count_moved(moved: Sequence[tuple[Round, Moves]], targets: Sequence[str]) -> dict[str, Any]:
    """Return how many tasks that are judged move, and to whom."""
    to = dict.fromkeys(targets, 0)
    for _, moves in moved:
        for name, target in zip(moves["annotator_id"], moves["to_annotator_id"], strict=True):
            if name and target:
                to[target] += 1
    return {"moved": sum(to.values()), "to": to}
