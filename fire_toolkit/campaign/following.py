"""What comes next in a workspace: one list of what can be there, read from the top."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from fire_toolkit.campaign.records import BY_HAND, BY_PAGE
from fire_toolkit.words import n_of
from fire_toolkit.workspace.stages import StageState

_ASKED, _BROUGHT, _LABELED = ("pool", "tasks", "push"), ("import", "pull"), ("agree", "resolve")
_ASKING = ("tasks", "push", "page", "next-round")


class Step(NamedTuple):
    """The command that comes next, and why; no command: the reason is all that is to be said."""

    command: str
    reason: str = ""


@dataclass(frozen=True)
class Standing:
    """How a workspace stands.

    stages: their states, in their order. command_of: the command of a stage. to_ask: how many pairs
    `next-round` would ask again, by stratum; n_disputes: how many are left. Both are called where nothing
    above them holds. is_of_queries: it asks about captions alone. planned: the command that hands out a round
    that was planned where no campaign has begun; empty: there is none. lost: what brings in again files of
    the collection that are gone. is_read: whether there are judgments.

    Of a campaign that has begun: carriers, by round; open: who has tasks to answer, by round; has_unread:
    whether answers on our own page are not read; push: how to push what is gone from a server; linkless:
    who has no link yet, where our own page is being served; page_changed: why nobody can be asked anything.
    """

    stages: Sequence[StageState]
    command_of: Callable[[StageState], str]
    to_ask: Callable[[], Mapping[str, int]]
    n_disputes: Callable[[], int]
    is_of_queries: bool = False
    planned: str = ""
    lost: Step | None = None
    is_read: bool = False
    carriers: Mapping[int, str] = field(default_factory=dict)
    open: Mapping[int, Sequence[str]] = field(default_factory=dict)
    has_unread: bool = False
    push: str = ""
    linkless: Sequence[str] | None = None
    page_changed: str = ""

    def behind(self, names: Sequence[str] | None = None) -> Step | None:
        """Return the first of these stages that is to be run; None: of all."""
        barred = _ASKING if self.page_changed else ()
        for state in self.stages:
            is_meant = (names is None or state.stage.name in names) and state.stage.name not in barred
            if state.state in ("stale", "ready") and is_meant:
                return Step(self.command_of(state))
        return None


def _unanswered(standing: Standing) -> Step:
    """Name what brings in answers to tasks that somebody has."""
    command = {BY_HAND: "import", BY_PAGE: "page serve"}.get(standing.carriers[min(standing.open)], "pull")
    rounds = []
    for number, names in sorted(standing.open.items()):
        who = f"{names[0]} has" if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} have"
        rounds.append(f"round {number} is open: {who} tasks to answer")
    people = sorted({name for names in standing.open.values() for name in names})
    name = people[0] if len(people) == 1 else "NAME"
    words = f"`annotators retire {name}` where nobody answers any more"
    if standing.push:
        return Step(standing.push, f"{'; '.join(rounds)}, some of them deleted on the server")
    if command == "page serve" and standing.linkless is not None:
        new = [name for name in people if name in standing.linkless]
        command, words = "progress", "`page serve` is running"
        if new:
            command, words = "page serve", f"{words}: stop it, as a new one makes a link for {', '.join(new)}"
    return Step(command, f"{'; '.join(rounds)} ({words})")


def _steps(standing: Standing) -> Iterator[Step | None]:
    """Yield what is to be done, in this order, or None where nothing of the kind is."""
    waiting = [state for state in standing.stages if state.state == "waiting"]

    def or_on() -> str:
        after = standing.behind()
        return f" (or go on: {after.command})" if after else ""

    # A file of the collection that is gone; a pool, tasks or a sending that is behind.
    yield standing.lost
    yield standing.behind(_ASKED)
    # Answers that the judgments do not have.
    if standing.has_unread:
        yield Step("pull", "answers from the page are not read yet")
    # Our own page has everything and nobody has answered there: there is nothing to pull.
    if standing.is_read or {*standing.carriers.values()} != {BY_PAGE}:
        yield standing.behind(_BROUGHT)
    # Tasks that somebody has and has not answered.
    if standing.open:
        yield _unanswered(standing)
    late = [state for state in waiting if state.stage.name in _BROUGHT]
    is_asked = any(state.stage.name == "tasks" and state.state == "done" for state in standing.stages)
    if not standing.carriers and late and is_asked:
        yield Step(late[0].stage.name, late[0].reason if late[0].reason.startswith("no answer yet") else "")
    # A round that `next-round` planned where no campaign has begun.
    if standing.planned:
        yield Step(standing.planned, f"a round is planned and not handed out{or_on()}")
    # Judgments whose agreement or labels are behind.
    yield standing.behind(_LABELED)
    # Disputes, or pairs left unanswered, that somebody can be asked; nothing waits any more by then.
    if counts := standing.to_ask():
        words = ", ".join(f"{stratum} {n:,}" for stratum, n in counts.items())
        yield Step("next-round", f"to ask again: {words}{or_on()}")
    # Labels whose scores are behind.
    yield standing.behind()
    if waiting:
        yield Step("")
    if standing.is_of_queries:
        yield Step("", "next: in the workspace of the pairs: fire-toolkit augment")
    n_open = standing.n_disputes()
    left = f"; {n_of(n_open, 'pair')} still in dispute (`next-round` asks again)" if n_open else ""
    yield Step("", f"all is done{left}")


def what_follows(standing: Standing) -> Step:
    """Return what comes next, and why: the first that holds."""
    steps = filter(None, _steps(standing))
    if not (why := standing.page_changed):
        return next(steps)
    step = next(step for step in steps if step.command.partition(" ")[0] not in _ASKING)
    return Step(step.command, "; ".join(filter(None, (why, step.reason))))
