"""Asking a judge about pairs: several at once, what was answered never again, no further than the budget.

What a judge was asked and has said lies in the campaign's record, as rows that are only added: that a request
is about to be sent, which is on disk before it is, and what became of it. A request without a second row was
in flight when a run ended: it may have been answered and paid for.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from fire_toolkit.campaign.store import Store
from fire_toolkit.errors import FireError, ServerError, UsageError
from fire_toolkit.machines.chat import Chat
from fire_toolkit.machines.judge import Answer, Judge, Prompt, Request, messages
from fire_toolkit.machines.pictures import pictures_of
from fire_toolkit.workspace.database import Database, row_sha256
from fire_toolkit.workspace.locks import hold_lock

ALIKE = 20  # failures in a row that end a run
_MILLION = 1_000_000
_KEPT = 16  # items whose pictures are held
_SETTINGS = ""  # the key of the row that says whose answers these are
_COLUMNS = "key, query_id, doc_id, sample_number, answer, sha256"
_INSERT = f"insert into machine (judge, {_COLUMNS}) values (?, ?, ?, ?, ?, ?, ?)"

Place = tuple[str, str, int]  # query_id, doc_id, sample_number


class Cache:
    """What one judge was asked, as `open_cache` gives it; used by one thread.

    rows: all that was answered, the earliest first: the request's key, what it asked, the answer; settings:
    whose answers these are, none at first; n_lost: requests that were in flight when earlier runs ended.
    """

    def __init__(self, db: Database, name: str) -> None:
        self._db, self._name = db, name
        self.rows: list[tuple[str, Place, Answer]] = []
        self.settings: dict[str, Any] = {}
        n_open = Counter[str]()
        query = f"select {_COLUMNS} from machine where judge = ? order by number"
        for key, query_id, doc_id, number, text, sha256 in db.select(query, [name]):
            n_open[key] += 1 if text is None else -1
            if text is None:
                continue
            if row_sha256([key, text]) != sha256:
                raise db.damaged(f"the answer on {query_id} {doc_id} is not the one that was kept")
            if key == _SETTINGS:
                self.settings = json.loads(text)
            else:
                self.rows.append((key, (query_id, doc_id, int(number)), Answer(**json.loads(text))))
        self.n_lost = (+n_open).total()

    @property
    def stored(self) -> dict[str, Answer]:
        """Each answer that need not be asked for again, by its request's key."""
        return {key: answer for key, _, answer in self.rows if answer.is_final}

    def add(self, key: str, place: Place, answer: Answer | dict[str, Any] | None = None) -> None:
        """Keep that a request is about to be sent, or what became of it; on disk when this returns."""
        text = sha256 = None
        if answer is not None:
            text = json.dumps(answer if isinstance(answer, dict) else asdict(answer), sort_keys=True)
            sha256 = row_sha256([key, text])
        with self._db.transaction() as db:
            db.execute(_INSERT, [self._name, key, *place, text, sha256])
        if isinstance(answer, Answer):
            self.rows.append((key, place, answer))


@contextmanager
def open_cache(record: Path, folder: Path, judge: Judge) -> Iterator[Cache]:
    """Give what a judge was asked, held by this process alone until the end of the block.

    Args:
        record: the file.
        folder: of the judge; its place beside the record is the judge's name there.
        judge: whose settings must be those of earlier runs.

    Raises:
        FireError: another run of this judge goes on; the file cannot be written.
        FormatError: the file is damaged.
        UsageError: the folder is another judge's.
    """
    base, place = record.parent.resolve(), folder.resolve()
    name = (place.relative_to(base) if place.is_relative_to(base) else place).as_posix()
    folder.mkdir(parents=True, exist_ok=True)
    with hold_lock(folder / ".lock", wait_s=0, what="a run of this judge"), Store(record) as store:
        cache, now = Cache(store, name), judge.settings
        if not cache.settings:
            cache.add(_SETTINGS, ("", "", 0), now)
        before = cache.settings or now
        if changed := [f"{k} {v!r}, was {before.get(k)!r}" for k, v in now.items() if v != before.get(k)]:
            raise UsageError(
                f"{folder}: belongs to another judge ({'; '.join(changed)}); whoever changes a judge has "
                "another one: give it a file of its own"
            )
        yield cache


@dataclass
class Spending:
    """What a judge has cost so far, of the answers in its cache and of those that come, at today's price.

    price: of a million tokens, of question and answer; budget: how much all runs may cost, None: as much as
    it takes; n_lost: requests that may have been answered and paid for, which count at the mean of the
    answers.
    """

    price: tuple[float, float] | None = None
    budget: float | None = None
    n_lost: int = 0
    money: float = 0.0
    tokens: int = 0
    n_answers: int = 0

    def cost(self, answer: Answer) -> float | None:
        """Return what an answer cost; None where there is no price, or the server did not say its tokens."""
        if self.price is None or answer.n_tokens_in is None or answer.n_tokens_out is None:
            return None
        return (answer.n_tokens_in * self.price[0] + answer.n_tokens_out * self.price[1]) / _MILLION

    def add(self, answer: Answer) -> None:
        """Count an answer.

        Raises:
            ServerError: there is a budget, and the server does not say how many tokens it took.
        """
        if not answer.is_final:
            return
        if answer.n_tokens_in is not None and answer.n_tokens_out is not None:
            self.n_answers += 1
            self.tokens += answer.n_tokens_in + answer.n_tokens_out
            self.money += (self.cost(answer) if self.price else answer.cost) or 0.0
        elif self.budget is not None:
            raise ServerError(
                "the server does not say how many tokens an answer took (usage), so that no budget can be "
                "kept; leave --budget out"
            )

    def allows(self, n_more: int) -> bool:
        """Whether `n_more` further answers of the mean cost so far stay within the budget."""
        per_answer = (n_more + self.n_lost) / max(self.n_answers, 1)
        return self.budget is None or self.money * (1 + per_answer) <= self.budget


def asking(
    judge: Judge, prompt: Prompt, chat: Chat, root: Path, spending: Spending
) -> Callable[[Request], Answer]:
    """Return what sends one request, from several threads at once, and says what it cost.

    An item that cannot be shown is the request's failure. root: where relative paths of items start.
    """
    shown = lru_cache(_KEPT)(partial(pictures_of, root=root, n_frames=judge.frames, frame_px=judge.frame_px))

    def ask(request: Request) -> Answer:
        try:
            (item, frames), (reference, _) = map(shown, (request.media_url, request.reference_url))
        except FireError as error:
            return Answer(reason=str(error))
        sent = messages(prompt, request.caption, item, reference, item_text=request.item_text)
        answer = chat.ask(judge.body(sent))
        sha256 = hashlib.sha256(b"".join(content for _, content in (*reference, *item))).hexdigest()
        return replace(answer, cost=spending.cost(answer), frames=frames, frames_sha256=sha256)

    return ask


def ask_all(
    requests: Sequence[Request],
    judge: Judge,
    cache: Cache,
    ask: Callable[[Request], Answer],
    *,
    spending: Spending,
    report: Callable[[int], None] = lambda n: None,
) -> tuple[int, int]:
    """Ask a judge what its cache does not hold, and count what all of its answers cost.

    Returns how many answers were stored before, and how many requests the budget left over.

    Args:
        requests: each pair and sample once.
        judge: whose settings are part of each key, and who says how many requests may be in flight.
        cache: open; every answer is kept there as soon as it comes.
        ask: sends one request, from several threads at once; what it raises ends the run.
        spending: counts; what a request costs is never known before, so the mean of those so far is set
            aside for each one in flight.
        report: called with 1 for each answer that has come.

    Raises:
        FireError: as `ask`; 20 failures in a row; a budget that cannot be kept. What had come is kept.
    """
    stored, spending.n_lost = cache.stored, cache.n_lost
    for answer in stored.values():
        spending.add(answer)
    waiting = [(key, each) for each in requests if (key := each.key(judge)) not in stored][::-1]
    n_stored, n_left, n_alike = len(requests) - len(waiting), 0, 0
    flying: dict[Future[Answer], tuple[str, Place]] = {}
    with ThreadPoolExecutor(judge.at_once) as pool:
        try:
            while flying or waiting:
                while waiting and len(flying) < judge.at_once:
                    if not spending.allows(len(flying) + 1):
                        n_left, waiting = len(waiting), []
                        break
                    key, request = waiting.pop()
                    cache.add(key, request.place)
                    flying[pool.submit(ask, request)] = key, request.place
                for done in wait(flying, return_when=FIRST_COMPLETED).done:
                    asked, answer = flying.pop(done), done.result()
                    cache.add(*asked, answer)
                    report(1)
                    spending.add(answer)
                    n_alike = 0 if answer.label else n_alike + 1
                    if n_alike >= ALIKE:
                        raise ServerError(
                            f"{ALIKE} answers in a row failed, the last one: {answer.reason}; look at the "
                            "server and the model, then run the command again"
                        )
        finally:  # where the run ends early, what is in flight is still waited for, and kept
            for done in wait(flying).done:
                if not done.exception():
                    cache.add(*flying[done], done.result())
    return n_stored, n_left
