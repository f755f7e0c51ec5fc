"""Move-to-front pooling (Cormack, Palmer & Clarke, SIGIR 1998), in rounds."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from fire_toolkit.arrays import Bools, count_by_query
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import shares_of, stops_of

WAITING = "waiting"  # more is pooled once there are answers


def move_to_front(candidates: Candidates, budget: Budget, *, batch: int = 10) -> Choice:
    """Pool what was asked so far, and the next docs of each query, taken from the runs that did well.

    Within a query all runs begin with the same priority. The next doc is that of the run with the highest
    one (ties: the first by run id), the best ranked that was not taken before; where it is not relevant, the
    run's priority falls by one. A doc without an answer yet counts as not relevant, an original positive as
    relevant; a judged doc without a label (a dispute) changes nothing. Every call goes through the lists
    from the start by the labels so far, and ends when `batch` docs of the query wait for an answer or the
    budget is used up. With `batch=1` this is the published method within each query, one answer at a time,
    with ties by run id and not by lot.

    A budget in all is shared evenly; what is left of it goes to the first queries by id, one pair each. What
    was asked counts in it, and stays in the pool where it is more.

    Raises:
        UsageError: batch below 1.
    """
    if batch < 1:
        raise UsageError(f"batch is {batch}, expected 1 or more")
    known, query = candidates.known, candidates.query.astype(np.int64)
    n_asked, n_open = (
        count_by_query(query[is_in], len(candidates.query_ids))
        for is_in in (known.is_asked, known.is_asked & ~known.is_judged)
    )
    wanted, most, left = shares_of(candidates.n_pairs, budget, n_asked)
    more = np.flatnonzero(most > wanted)[:left]
    wanted = wanted + count_by_query(more, len(wanted))
    n_new = np.clip(np.minimum(batch - n_open, wanted - n_asked), 0, None)
    falls = np.where(known.is_judged, known.relevance == 0, ~known.is_original)
    new = [
        pair
        for each in np.flatnonzero(n_new).tolist()
        for pair in _next_docs(candidates, each, int(n_new[each]), falls)
    ]
    chosen = np.concatenate([np.flatnonzero(known.is_asked), np.array(new, dtype=np.int64)])
    taken = count_by_query(query[chosen], len(wanted))
    stops = np.where(taken < wanted, WAITING, np.array(stops_of(candidates, budget, taken), dtype=object))
    return Choice(chosen, stops=stops.tolist())


def _next_docs(candidates: Candidates, query: int, n_new: int, falls: Bools) -> Iterator[int]:
    """Yield the next pairs of a query that nobody was asked, after going through those that were.

    falls: of each pair, whether it lowers the priority of the run that it was taken from.
    """
    pairs, starts = candidates.lists
    lists = query + len(candidates.query_ids) * np.arange(len(candidates.run_ids))
    place, stop = starts[lists].tolist(), starts[lists + 1].tolist()
    priority = [0] * len(place)
    taken: set[int] = set()
    while n_new:
        run = max((run for run, at in enumerate(place) if at < stop[run]), key=lambda run: priority[run])
        pair = int(pairs[place[run]])
        place[run] += 1
        if pair in taken:
            continue
        taken.add(pair)
        priority[run] -= bool(falls[pair])
        if not candidates.known.is_asked[pair]:
            n_new -= 1
            yield pair
