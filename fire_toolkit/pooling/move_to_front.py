"""Move-to-front pooling (Cormack, Palmer & Clarke, SIGIR 1998), in rounds."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from fire_toolkit.arrays import Bools, Ints, are_among, starts_of_groups
from fire_toolkit.errors import UsageError
from fire_toolkit.pooling.candidates import Budget, Candidates, Choice
from fire_toolkit.pooling.orders import WAITING, shares_of, stops_of


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
    known = candidates.known
    n_asked, n_open = (candidates.count(each) for each in (known.is_asked, known.is_asked & ~known.is_judged))
    wanted, most, left = shares_of(candidates.n_pairs, budget, n_asked)
    wanted = wanted + are_among(np.flatnonzero(most > wanted)[:left], len(wanted))
    n_new = np.clip(np.minimum(batch - n_open, wanted - n_asked), 0, None)
    falls = np.where(known.is_judged, known.relevance == 0, ~known.is_original)
    new = np.fromiter(_next_docs(candidates, n_new, falls), dtype=np.int64)
    chosen = np.concatenate([np.flatnonzero(known.is_asked), new])
    taken = candidates.count(chosen)
    stops = np.where(taken < wanted, WAITING, np.array(stops_of(candidates, budget, taken), dtype=object))
    return Choice(chosen, stops=stops.tolist())


def _next_docs(candidates: Candidates, n_new: Ints, falls: Bools) -> Iterator[int]:
    """Yield so many pairs of each query that nobody was asked, after going through those that were.

    falls: of each pair, whether it lowers the priority of the run that it was taken from.
    """
    order = np.lexsort((candidates.rank, candidates.run, candidates.entry_query))
    order = order[n_new[candidates.entry_query[order]] > 0]
    query, pairs = candidates.entry_query[order], candidates.pair[order].tolist()
    starts = starts_of_groups(query, candidates.run[order])
    bounds = [*starts.tolist(), len(order)]
    firsts = starts_of_groups(query[starts])  # the first list of each query
    for first, last in pairwise([*firsts.tolist(), len(starts)]):
        place, stop = bounds[first:last], bounds[first + 1 : last + 1]
        priority, taken = [0] * len(place), set[int]()
        n_left = int(n_new[query[starts[first]]])
        while n_left:
            run = max((run for run, at in enumerate(place) if at < stop[run]), key=priority.__getitem__)
            pair = pairs[place[run]]
            place[run] += 1
            if pair in taken:
                continue
            taken.add(pair)
            priority[run] -= bool(falls[pair])
            if not candidates.known.is_asked[pair]:
                n_left -= 1
                yield pair
