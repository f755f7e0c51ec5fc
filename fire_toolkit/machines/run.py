"""Asking a judge about pairs: several at once, what is stored not again, and no further than the budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from threading import Event, Lock

from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.machines.cache import Cache
from fire_toolkit.machines.judge import Answer, Judge, Request

Asks = Callable[[Request], Answer]
ALIKE = 20  # failures in a row that end a run
_MILLION = 1_000_000


@dataclass(frozen=True)
class Price:
    """What a million tokens cost, of the question and of the answer."""

    tokens_in: float
    tokens_out: float

    def of(self, answer: Answer) -> float | None:
        """Return what an answer cost; None where the server does not say its tokens."""
        if answer.n_tokens_in is None or answer.n_tokens_out is None:
            return None
        return (answer.n_tokens_in * self.tokens_in + answer.n_tokens_out * self.tokens_out) / _MILLION


@dataclass(frozen=True)
class Budget:
    """How much a judge may cost, all of its runs together; None: as much as it takes.

    Raises:
        UsageError: money without a price.
    """

    price: Price | None = None
    money: float | None = None
    tokens: int | None = None

    def __post_init__(self) -> None:
        if self.money is not None and self.price is None:
            raise UsageError("--budget needs --price IN,OUT, what a million tokens of each kind cost")

    @property
    def is_limited(self) -> bool:
        """Whether there is a limit."""
        return self.money is not None or self.tokens is not None


class Spent:
    """What a judge has cost so far, of the answers in its cache and of those that come, at today's price.

    n_lost: requests that may have been answered and paid for; they count at the mean of the answers.
    """

    def __init__(self, budget: Budget, n_lost: int = 0) -> None:
        self._budget, self._n_lost = budget, n_lost
        self.money = 0.0
        self.tokens = 0
        self._n_answers = 0

    def add(self, answer: Answer) -> None:
        """Count an answer.

        Raises:
            ServerError: there is a budget, and the server does not say how many tokens it took.
        """
        if not answer.is_final:
            return
        if answer.n_tokens_in is None or answer.n_tokens_out is None:
            if self._budget.is_limited:
                raise ServerError(
                    "the server does not say how many tokens an answer took (usage), so that no budget can "
                    "be kept; leave --budget and --budget-tokens out"
                )
            return
        self._n_answers += 1
        self.tokens += answer.n_tokens_in + answer.n_tokens_out
        price = self._budget.price
        self.money += (price.of(answer) if price else answer.cost) or 0.0

    def allows(self, n_more: int) -> bool:
        """Whether `n_more` further answers of the mean cost so far stay within the budget."""
        per_answer = (n_more + self._n_lost) / max(self._n_answers, 1)
        for spent, limit in ((self.money, self._budget.money), (float(self.tokens), self._budget.tokens)):
            if limit is not None and spent * (1 + per_answer) > limit:
                return False
        return True


@dataclass
class Tally:
    """How a run went: how many answers were stored before, read, unreadable, failed, and not asked."""

    n_stored: int = 0
    n_read: int = 0
    n_unread: int = 0
    n_failed: int = 0
    n_left: int = 0
    stopped: str = ""

    def count(self, answer: Answer) -> None:
        """Count an answer that has come."""
        if not answer.is_final:
            self.n_failed += 1
        elif answer.label:
            self.n_read += 1
        else:
            self.n_unread += 1


@dataclass
class _Run:
    """The requests that several threads work on, the last first; the first error of any ends it for all."""

    waiting: list[tuple[str, Request]]
    cache: Cache
    ask: Asks
    spent: Spent
    tally: Tally
    report: Callable[[int], None]
    guard: Lock = field(default_factory=Lock)
    n_in_flight: int = 0
    alike: list[str] = field(default_factory=list)
    stop: Event = field(default_factory=Event)
    error: BaseException | None = None

    def work(self) -> None:
        """Ask until nothing is left, the budget is spent, or the run is stopped."""
        try:
            while (following := self._take()) is not None:
                self.cache.note_request(*following)
                answer = self.ask(following[1])
                self.cache.keep(*following, answer)
                self._count(answer)
        except BaseException as error:
            self.stop.set()
            with self.guard:
                self.error = self.error or error

    def _take(self) -> tuple[str, Request] | None:
        with self.guard:
            if self.stop.is_set() or not self.waiting:
                return None
            if not self.spent.allows(self.n_in_flight + 1):
                self.tally.stopped = "the budget is spent"
                self.stop.set()
                return None
            self.n_in_flight += 1
            return self.waiting.pop()

    def _count(self, answer: Answer) -> None:
        with self.guard:
            self.n_in_flight -= 1
            self.tally.count(answer)
            self.report(1)
            self.alike = [] if answer.label else [*self.alike, answer.reason]
            self.spent.add(answer)
            if len(self.alike) >= ALIKE:
                raise ServerError(
                    f"{ALIKE} answers in a row failed, the last one: {self.alike[-1]}; look at the server "
                    "and the model, then run the command again"
                )


def ask_all(
    requests: Sequence[Request],
    judge: Judge,
    cache: Cache,
    ask: Asks,
    *,
    budget: Budget = Budget(),
    at_once: int = 4,
    report: Callable[[int], None] = lambda n: None,
) -> tuple[Tally, Spent]:
    """Ask a judge what its cache does not hold, and return how that went and what all of its answers cost.

    Args:
        requests: each pair and sample once.
        judge: whose settings are part of each key.
        cache: open; every answer is kept there as soon as it comes.
        ask: sends one request, from several threads at once; what it raises ends the run.
        budget: of the judge; it is never known before what a request costs, so the mean of those so far is
            set aside for each request in flight.
        at_once: how many requests are in flight.
        report: called with 1 for each answer that has come.

    Raises:
        FireError: as `ask`; 20 failures in a row; a budget that cannot be kept. What had come is kept.
    """
    tally, spent = Tally(), Spent(budget, cache.n_lost)
    for answer in cache.stored():
        spent.add(answer)
    keyed = [(request.key(judge), request) for request in requests]
    wanted = [each for each in keyed if cache.find(each[0]) is None]
    tally.n_stored = len(keyed) - len(wanted)
    run = _Run(wanted[::-1], cache, ask, spent, tally, report)
    with ThreadPoolExecutor(at_once) as pool:
        try:
            for done in [pool.submit(run.work) for _ in range(min(at_once, max(1, len(wanted))))]:
                done.result()
        finally:
            run.stop.set()
    tally.n_left = len(run.waiting)
    if run.error is not None:
        raise run.error
    return tally, spent


def asking(
    judge: Judge,
    chat: Callable[[dict[str, object]], Answer],
    content: Callable[[Request], tuple[list[dict[str, object]], str, str]],
    price: Price | None = None,
) -> Asks:
    """Return what sends one request and says what it cost.

    content: the messages of a request, the times of its frames, and the hash of its pictures; a FireError
    that it raises is the request's failure.
    """

    def ask(request: Request) -> Answer:
        try:
            messages, frames, sha256 = content(request)
        except ServerError:
            raise
        except FireError as error:
            return Answer(reason=str(error))
        answer = chat(judge.body(messages))
        cost = price.of(answer) if price else None
        return replace(answer, cost=cost, frames=frames, frames_sha256=sha256)

    return ask
