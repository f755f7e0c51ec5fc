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

    stored: each answer that need not be asked for again, by its request's key; n_lost: requests that were in
    flight when earlier runs ended.
    """

    def __init__(self, db: Database, name: str) -> None:
        self._db, self._name = db, name
        asked, rows = self._select("key", "answer is null"), self.rows()
        self.n_lost = (Counter(key for (key,) in asked) - Counter(key for key, *_ in rows)).total()
        self.stored = {key: answer for key, _, answer in rows if answer.is_final}

    def _select(self, columns: str, which: str) -> list[Any]:
        query = f"select {columns} from machine where judge = ? and {which} order by number"
        return self._db.select(query, [self._name])

    def rows(self) -> list[tuple[str, Place, Answer]]:
        """Return all that was answered, the earliest first: the request's key, what it asked, the answer."""
        rows = []
        found = self._select(_COLUMNS, f"answer is not null and key != '{_SETTINGS}'")
        for key, query_id, doc_id, number, answer, sha256 in found:
            if row_sha256([key, answer]) != sha256:
                raise self._db.damaged(f"the answer on {query_id} {doc_id} is not the one that was kept")
            rows.append((key, (query_id, doc_id, int(number)), Answer(**json.loads(answer))))
        return rows

    def add(self, key: str, place: Place, answer: Answer | dict[str, Any] | None = None) -> None:
        """Keep that a request is about to be sent, or what became of it; on disk when this returns."""
        content = asdict(answer) if isinstance(answer, Answer) else answer
        text = None if content is None else json.dumps(content, sort_keys=True)
        sha256 = None if text is None else row_sha256([key, text])
        with self._db.transaction() as db:
            db.execute(_INSERT, [self._name, key, *place, text, sha256])

    def refuse_another(self, judge: Judge, folder: Path) -> None:
        """Write down whose answers these are; raise `UsageError` where they are another judge's."""
        now, found = judge.settings, self._select("answer", f"key = '{_SETTINGS}'")
        if not found:
            self.add(_SETTINGS, ("", "", 0), now)
        before = json.loads(found[0][0]) if found else now
        if changed := [f"{k} {v!r}, was {before.get(k)!r}" for k, v in now.items() if v != before.get(k)]:
            words = (
                f"belongs to another judge ({'; '.join(changed)}); whoever changes a judge has another one"
            )
            raise UsageError(f"{folder}: {words}: give it a file of its own")


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
        cache = Cache(store, name)
        cache.refuse_another(judge, folder)
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
        if answer.n_tokens_in is None or answer.n_tokens_out is None:
            if self.budget is None:
                return
            words = "the server does not say how many tokens an answer took (usage), so that no budget can be"
            raise ServerError(f"{words} kept; leave --budget out")
        self.n_answers += 1
        self.tokens += answer.n_tokens_in + answer.n_tokens_out
        self.money += (self.cost(answer) if self.price else answer.cost) or 0.0

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
            item, reference = shown(request.media_url), shown(request.reference_url)
        except FireError as error:
            return Answer(reason=str(error))
        sent = messages(prompt, request.caption, item.shown, reference.shown, item_text=request.item_text)
        answer = chat.ask(judge.body(sent))
        pictures = b"".join(content for _, content in reference.shown + item.shown)
        sha256 = hashlib.sha256(pictures).hexdigest()
        return replace(answer, cost=spending.cost(answer), frames=item.frames, frames_sha256=sha256)

    return ask


def ask_all(
    requests: Sequence[Request],
    judge: Judge,
    cache: Cache,
    ask: Callable[[Request], Answer],
    *,
    spending: Spending,
    at_once: int = 4,
    report: Callable[[int], None] = lambda n: None,
) -> tuple[int, int]:
    """Ask a judge what its cache does not hold, and count what all of its answers cost.

    Returns how many answers were stored before, and how many requests the budget left over.

    Args:
        requests: each pair and sample once.
        judge: whose settings are part of each key.
        cache: open; every answer is kept there as soon as it comes.
        ask: sends one request, from several threads at once; what it raises ends the run.
        spending: counts; what a request costs is never known before, so the mean of those so far is set
            aside for each one in flight.
        at_once: how many requests are in flight.
        report: called with 1 for each answer that has come.

    Raises:
        FireError: as `ask`; 20 failures in a row; a budget that cannot be kept. What had come is kept.
    """
    spending.n_lost = cache.n_lost
    for answer in cache.stored.values():
        spending.add(answer)
    waiting = [(key, each) for each in requests if (key := each.key(judge)) not in cache.stored][::-1]
    n_asked, n_left = len(waiting), 0
    flying: dict[Future[Answer], tuple[str, Request]] = {}
    n_alike, is_over, error = 0, False, None
    with ThreadPoolExecutor(at_once) as pool:
        while flying or (waiting and not is_over):
            try:
                while waiting and not is_over and len(flying) < at_once:
                    if not spending.allows(len(flying) + 1):
                        is_over, n_left = True, len(waiting)
                        break
                    key, request = waiting.pop()
                    cache.add(key, request.place)
                    flying[pool.submit(ask, request)] = key, request
                for done in wait(flying, return_when=FIRST_COMPLETED).done:
                    key, request = flying.pop(done)
                    answer = done.result()
                    cache.add(key, request.place, answer)
                    report(1)
                    n_alike = 0 if answer.label else n_alike + 1
                    spending.add(answer)
                    if n_alike >= ALIKE:
                        words = f"{ALIKE} answers in a row failed, the last one: {answer.reason}; look at the"
                        raise ServerError(f"{words} server and the model, then run the command again")
            except BaseException as trouble:  # what is in flight is still waited for, and kept
                if error and not isinstance(trouble, FireError):
                    raise  # interrupted a second time: nobody wants to wait
                is_over, error = True, error or trouble
    if error is not None:
        raise error
    return len(requests) - n_asked, n_left
