"""The compiled loop of the common measures: one pass over the rows of a run.

Its twin is what the measures' own functions make of `judge_run`; it gives what they give, to the bit. Sums
run in the order of the ranks. A measure is a quotient of two facts of a query, in which a cutoff may stand.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fire_toolkit.kernels.compiling import compile_loop
from fire_toolkit.kernels.lanes import (
    add_split,
    any_of_eight,
    fill_eight,
    look_up_eight,
    n_bits,
    n_up_to,
    store_bits,
    take_eight,
)

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]

FEW = 32  # positives of a query: up to here comparing with each is faster than a table of docs
ROOM = 66  # ranks that are read beyond the deepest
_BLOCK = 128  # queries
_END = 128  # rows
_U = np.uint64


_compiled = compile_loop(error_model="numpy", inline="always")


def score_queries(
    run: tuple[Codes, Ints, Ints, Ints],
    positives: tuple[Codes, Codes, Floats, Ints],
    n_docs: int,
    tables: tuple[Floats, Floats, int],
    plan: tuple[Ints, Ints, Ints, Ints, Ints, Floats, Ints, Floats],
    values: Floats,
) -> None:
    """Write into `values`, measures × queries, what the measures' own functions give.

    Args:
        run: the doc code of each row; its rank, or nothing where those of each query are 1, 2, 3, ...;
            the first row of each query, and one past its last.
        positives: the doc code of each; the place of its grade among the grades; the ideal sum of the
            discounted grades of its query down to it, one more at the end; where those of each query begin.
        n_docs: how many doc codes there are.
        tables: 1, 2, ... / rank, places × ranks, or nothing; grade / discount, grades × ranks; the number
            of ranks, `ROOM` more than the deepest.
        plan: to which depths positives are counted: a rank, and so many times |G| more; the depths to which
            precisions, and those to which discounted grades are summed; of each measure the fact above and
            its upper bound, the fact below and its upper bound. Facts: |G|; the first rank; infinity; the
            count to each depth; the sums of precisions; those of discounted grades, each followed by the
            ideal one.
    """
    room = room_for(run[0], positives[3], n_docs)
    ranks = room[0]
    n_facts = 3 + plan[0].size + plan[2].size + 2 * plan[3].size
    _score(
        *run,
        *positives,
        *tables,
        *plan,
        *room,
        grades=np.zeros_like(ranks),
        held_grades=np.zeros(ROOM, dtype=np.int32),
        counts=np.zeros(plan[0].size, dtype=np.int64),
        precisions=np.zeros(ranks.size),
        gains=np.zeros(ranks.size),
        facts=np.full(n_facts * _BLOCK, np.inf),
        values=values,
    )


def room_for(doc: Codes, begins: Ints, n_docs: int) -> tuple[Codes, Codes, Codes, Codes, Ints]:
    """Return what the loops write to: ranks and codes of a query, a table of docs, last rows, places."""
    most = int(np.diff(begins).max(initial=0))
    end = np.full(2 * _END, -1, dtype=np.int32)
    end[: min(_END, doc.size)] = doc[-_END:]
    return (
        np.ones(most + ROOM, dtype=np.int32),
        np.full(FEW + ROOM, -1, dtype=np.int32),
        np.full(n_docs if most > FEW else 1, -1, dtype=np.int32),
        end,
        np.zeros(most + ROOM, dtype=np.int64),
    )


@_compiled
def _score(
    doc: Codes,
    rank: Ints,
    start: Ints,
    stop: Ints,
    codes: Codes,
    grade: Codes,
    ideal: Floats,
    begins: Ints,
    quotient: Floats,
    gain: Floats,
    width: int,
    to: Ints,
    times: Ints,
    summed: Ints,
    gained: Ints,
    above: Ints,
    most_above: Floats,
    below: Ints,
    most_below: Floats,
    ranks: Codes,
    held: Codes,
    table: Codes,
    end: Codes,
    places: Ints,
    grades: Codes,
    held_grades: Codes,
    counts: Ints,
    precisions: Floats,
    gains: Floats,
    facts: Floats,
    values: Floats,
) -> None:
    for block in range(0, start.size, _BLOCK):
        n_queries = min(_BLOCK, start.size - block)
        for j in range(n_queries):
            query = _U(block + j)
            first, begin = start[query], begins[query]
            n_rows, n_positives = stop[query] - first, begins[query + _U(1)] - begin
            if n_positives > FEW:
                n = find_many(doc, first, n_rows, codes, begin, n_positives, table, ranks, places)
                for i in range(n):
                    grades[i] = grade[places[i]]
            else:
                take_codes(codes, begin, n_positives, held)
                n = find_few(doc, end, first, n_rows, held, n_positives, ranks)
                if gained.size > 0 and gain.size > width:
                    _take_grades(doc, first, held, ranks, n, grade, begin, n_positives, held_grades, grades)
            if rank.size:
                for i in range(n):
                    ranks[i] = rank[first + ranks[i] - 1]
            fill_eight(ranks, n, np.int32(width - 1))
            _add_up(ranks, grades, n, quotient, gain, width, summed.size, gained.size, precisions, gains)
            _note(ranks, n, n_positives, to, times, width - ROOM, counts, facts, j)
            _keep_sums(n_positives, begin, to, summed, gained, precisions, gains, ideal, counts, facts, j)
        for m in range(above.size):
            upper, most, lower, other = above[m] * _BLOCK, most_above[m], below[m] * _BLOCK, most_below[m]
            for j in range(n_queries):
                over = max(min(facts[_U(lower + j)], other), 1.0)
                values[_U(m), _U(block + j)] = min(facts[_U(upper + j)], most) / over


@_compiled
def take_codes(codes: Codes, begin: int, n: int, held: Codes) -> None:
    """Write codes[begin : begin + n] to `held`, and -1 up to a multiple of eight."""
    if begin + n + 8 <= codes.size:
        for p in range(0, n, 8):
            take_eight(codes, begin + p, n - p, held, p)
    else:
        for p in range((n + 7) // 8 * 8):
            held[p] = codes[begin + p] if p < n else -1


@_compiled
def find_few(doc: Codes, end: Codes, first: int, n_rows: int, held: Codes, n_held: int, ranks: Codes) -> int:
    """Write the places (from 1) of a query's rows whose docs are held; return how many there are.

    Args:
        doc, end: of all rows, and the last of them with room behind.
        first, n_rows: of the query.
        held, n_held: codes, and -1 up to a multiple of eight.
        ranks: the places, ascending; up to eight beyond them are overwritten.
    """
    n = 0
    for k in range(0, n_rows, 64):
        at = first + k
        if at + 64 <= doc.size:
            bits = _bits(doc, at, n_rows - k, held, n_held)
        else:
            bits = _bits(end, at - doc.size + min(_END, doc.size), n_rows - k, held, n_held)
        n_found = n_bits(bits)
        bits = store_bits(ranks, n, k + 1, bits)
        while n_found > 8:
            n, n_found = n + 8, n_found - 8
            bits = store_bits(ranks, n, k + 1, bits)
        n += n_found
    return n


@_compiled
def _bits(doc: Codes, at: int, n_rows: int, held: Codes, n_held: int) -> np.uint64:
    bits = _U(0)
    for p in range(0, n_held, 8):
        bits |= any_of_eight(doc, at, held, p)
    if n_rows > 32:
        for p in range(0, n_held, 8):
            bits |= any_of_eight(doc, at + 32, held, p) << _U(32)
    if n_rows < 64:
        bits &= (_U(1) << _U(n_rows)) - _U(1)
    return bits


@_compiled
def find_many(
    doc: Codes,
    first: int,
    n_rows: int,
    codes: Codes,
    begin: int,
    n_codes: int,
    table: Codes,
    ranks: Codes,
    places: Ints,
) -> int:
    """Do as `find_few` by a table of docs (-1 each), and write the place of each one's code."""
    for place in range(n_codes):
        if codes[begin + place] >= 0:
            table[codes[begin + place]] = place
    n = 0
    for row in range(n_rows):
        place = table[doc[first + row]]
        if place >= 0:
            ranks[n], places[n] = row + 1, begin + place
            n += 1
    for place in range(n_codes):
        if codes[begin + place] >= 0:
            table[codes[begin + place]] = -1
    return n


@_compiled
def _take_grades(
    doc: Codes,
    first: int,
    held: Codes,
    ranks: Codes,
    n: int,
    grade: Codes,
    begin: int,
    n_positives: int,
    held_grades: Codes,
    grades: Codes,
) -> None:
    for g in range(0, n, 8):
        fill_eight(grades, g, np.int32(0))
    for p in range(0, n_positives, 8):
        if begin + p + 8 <= grade.size:
            take_eight(grade, begin + p, 8, held_grades, 0)
        else:
            for i in range(n_positives - p):
                held_grades[i] = grade[begin + p + i]
        for g in range(0, n, 8):
            look_up_eight(doc, first, doc.size - 1, held, p, held_grades, ranks, g, grades)


@_compiled
def _add_up(
    ranks: Codes,
    grades: Codes,
    n: int,
    quotient: Floats,
    gain: Floats,
    width: int,
    n_sums: int,
    n_gains: int,
    precisions: Floats,
    gains: Floats,
) -> None:
    """Write the sums of the precisions, and of the discounted grades, of the first 1, 2, ... positives."""
    total = 0.0
    for g in range(0, n if n_sums else 0, 8):
        if g * width + 8 * width <= quotient.size:
            for i in range(8):
                total += quotient[_U((g + i) * width) + _U(np.uint32(ranks[_U(g + i)]))]
                precisions[_U(g + i + 1)] = total
        else:
            for i in range(8):
                total += (g + i + 1.0) / ranks[_U(g + i)]
                precisions[_U(g + i + 1)] = total
    total = 0.0
    for g in range(0, n if n_gains else 0, 8):
        for i in range(8):
            row = _U(np.uint32(grades[_U(g + i)])) * _U(width)
            total += gain[row + _U(np.uint32(ranks[_U(g + i)]))]
            gains[_U(g + i + 1)] = total


@_compiled
def _note(
    ranks: Codes,
    n: int,
    n_positives: int,
    to: Ints,
    times: Ints,
    deepest: int,
    counts: Ints,
    facts: Floats,
    j: int,
) -> None:
    facts[_U(j)] = n_positives
    facts[_U(_BLOCK + j)] = ranks[0] if n else 1
    for d in range(to.size):
        depth = np.int32(min(to[d] + times[d] * n_positives, deepest))
        n_in = n_up_to(ranks, 0, depth)
        for i in range(8, n, 8):
            n_in += n_up_to(ranks, i, depth)
        counts[d] = n_in
        facts[_U((3 + d) * _BLOCK + j)] = n_in


@_compiled
def _keep_sums(
    n_positives: int,
    begin: int,
    to: Ints,
    summed: Ints,
    gained: Ints,
    precisions: Floats,
    gains: Floats,
    ideal: Floats,
    counts: Ints,
    facts: Floats,
    j: int,
) -> None:
    at = _U((3 + to.size) * _BLOCK + j)
    for s in range(summed.size):
        facts[at] = precisions[_U(counts[_U(summed[s])])]
        at += _U(_BLOCK)
    for s in range(gained.size):
        d = _U(gained[s])
        facts[at] = gains[_U(counts[d])]
        facts[at + _U(_BLOCK)] = ideal[_U(begin + max(min(n_positives, to[d]), 1) - 1)]
        at += _U(2 * _BLOCK)


@_compiled
def add_up_ideal(grade: Ints, start: Ints, discount: Floats, sums: Floats) -> None:
    """Write the sum of grade / discount to each positive of its query, best first."""
    for query in range(start.size - 1):
        total = 0.0
        for i in range(start[query], start[query + 1]):
            total += grade[i] / discount[i - start[query] + 1]
            sums[i] = total


@_compiled
def largest_bits(bits: Ints) -> int:
    """Return the bits of the largest absolute value, from the bits of float64 values."""
    largest = 0
    for i in range(bits.size):
        largest = max(largest, bits[i] & 0x7FFFFFFFFFFFFFFF)
    return largest


@_compiled
def split_sum(values: Floats, sigma: float, sums: Floats) -> None:
    """Write the sum of what adding and taking away `sigma` leaves of each value, and the sum of the rest.

    Args:
        values, sigma: see `segments.mean`.
        sums: (16,) zeros; the two sums come to stand in the first and the ninth place.
    """
    n_whole = values.size // 8 * 8
    add_split(values, n_whole, sigma, sums)
    for i in range(1, 8):
        sums[0] += sums[i]
        sums[8] += sums[8 + i]
    for i in range(n_whole, values.size):
        kept = (values[i] + sigma) - sigma
        sums[0] += kept
        sums[8] += values[i] - kept
