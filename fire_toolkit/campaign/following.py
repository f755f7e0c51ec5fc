"""What comes next in a workspace: one table of what can be there, read from the top."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from fire_toolkit.campaign.records import BY_HAND, BY_PAGE
from fire_toolkit.words import n_of
from fire_toolkit.workspace.stages import StageState

_ASKED, _BROUGHT, _LABELED = ("pool", "tasks", "push"), ("import", "pull"), ("agree", "resolve")


class Step(NamedTuple):
    """The command that comes next, and why; no command: the reason is all that is to be said."""

    command: str
    reason: str = ""


class Asking(NamedTuple):
    """How far people are who are asked.

    carriers: by round; open: who has tasks to answer, by round; has_unread: whether answers on our own page
    are not read; is_read: whether there are judgments.
    """

    carriers: Mapping[int, str]
    open: Mapping[int, Sequence[str]]
    has_unread: bool
    is_read: bool


@dataclass(frozen=True)
class Standing:
    """How a workspace stands.

    stages: their states, in their order. command_of: the command of a stage. asking: how far a campaign is,
    None where none has begun. to_ask: how many pairs `next-round` would ask again, by stratum; n_disputes:
    how many are left. Both are called where nothing above them holds. is_of_queries: it asks about captions
    alone. planned: the command that hands out a round that was planned where no campaign has begun; empty:
    there is none. lost: what brings in again files of the collection that are gone.
    """

    stages: Sequence[StageState]
    command_of: Callable[[StageState], str]
    asking: Asking | None
    to_ask: Callable[[], Mapping[str, int]]
    n_disputes: Callable[[], int]
    is_of_queries: bool = False
    planned: str = ""
    lost: Step | None = None

    def behind(self, names: Sequence[str] | None = None) -> Step | None:
        """Return the first of these stages that is to be run; None: of all."""
        for state in self.stages:
            if state.state in ("stale", "ready") and (names is None or state.stage.name in names):
                return Step(self.command_of(state))
        return None


def _unread(standing: Standing) -> Step | None:
    asking = standing.asking
    if asking is not None and asking.has_unread:
        return Step("pull", "answers from the page are not read yet")
    # Our own page has everything and nobody has answered there: there is nothing to pull.
    if asking is not None and not asking.is_read and {*asking.carriers.values()} == {BY_PAGE}:
        return None
    return standing.behind(_BROUGHT)


def _unanswered(standing: Standing) -> Step | None:
    asking = standing.asking
    if asking is None:
        late = next((s for s in standing.stages if s.state == "waiting" and s.stage.name in _BROUGHT), None)
        is_asked = any(state.stage.name == "tasks" and state.state == "done" for state in standing.stages)
        if late is None or not is_asked:
            return None
        return Step(late.stage.name, late.reason if late.reason.startswith("no answer yet") else "")
    if not asking.open:
        return None
    command = {BY_HAND: "import", BY_PAGE: "page serve"}.get(asking.carriers[min(asking.open)], "pull")
    rounds = []
    for number, names in sorted(asking.open.items()):
        who = f"{names[0]} has" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} have"
        rounds.append(f"round {number} is open: {who} tasks to answer")
    people = sorted({name for names in asking.open.values() for name in names})
    name = people[0] if len(people) == 1 else "NAME"
    words = f"`annotators retire {name}` where nobody answers any more"
    return Step(command, f"{'; '.join(rounds)} ({words})")


def _planned(standing: Standing) -> Step | None:
    """Name what hands out a round that `next-round` planned where no campaign has begun."""
    reason = f"a round is planned and not handed out{_or_on(standing)}"
    return Step(standing.planned, reason) if standing.planned else None


def _to_ask_again(standing: Standing) -> Step | None:
    """Name `next-round` while it would ask something of somebody; nothing waits any more by then."""
    counts = standing.to_ask() if standing.asking is not None else {}
    if not counts:
        return None
    words = ", ".join(f"{stratum} {n:,}" for stratum, n in counts.items())
    return Step("next-round", f"to ask again: {words}{_or_on(standing)}")


def _or_on(standing: Standing) -> str:
    after = standing.behind()
    return f" (or go on: {after.command})" if after else ""


def _done(standing: Standing) -> Step:
    if any(state.state == "waiting" for state in standing.stages):
        return Step("")
    if standing.is_of_queries:
        return Step("", "next: in the workspace of the pairs: fire-toolkit augment")
    n_open = standing.n_disputes()
    left = f"; {n_of(n_open, 'pair')} still in dispute (`next-round` asks again)" if n_open else ""
    return Step("", f"all is done{left}")


# What is there, and what is next; the first that holds.
TABLE: tuple[tuple[str, Callable[[Standing], Step | None]], ...] = (
    ("a file of the collection that is gone", lambda standing: standing.lost),
    ("a pool, tasks or a sending that is behind", lambda standing: standing.behind(_ASKED)),
    ("answers that the judgments do not have", _unread),
    ("tasks that somebody has and has not answered", _unanswered),
    ("a round that is planned and not handed out", _planned),
    ("judgments whose agreement or labels are behind", lambda standing: standing.behind(_LABELED)),
    ("disputes, or pairs left unanswered, that somebody can be asked", _to_ask_again),
    ("labels whose scores are behind", lambda standing: standing.behind()),
    ("nothing to do", _done),
)


def what_follows(standing: Standing) -> Step:
    """Return what comes next, and why."""
    return next(step for _, find in TABLE if (step := find(standing)) is not None)
