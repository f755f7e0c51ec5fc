"""The compiled loops of comparison: ranked lists, draws with replacement, cosines of texts.

Each has a plain NumPy twin and gives what its twin gives, to the bit unless it says otherwise. Nothing
imports this module but its twins' modules, and only once `kernels.compiled` says that compiled loops are
loaded.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import Codes, Floats, Ints
from fire_toolkit.kernels.compiling import compile_loop

Halves = npt.NDArray[np.uint32]

_compiled = compile_loop(error_model="numpy")


@_compiled
def count_draws(halves: Halves, n_used: int, counts: npt.NDArray[np.uint8], n_drawn: int) -> tuple[int, int]:
    """Count the next draws into the rows of `counts`; the twin is `draws.draw_units`.

    Args:
        halves: random bits, see `draws._halves`; the first n_used of them are spent.
        counts: (n_resamples, n_units), to which n_drawn draws were added, row after row.

    Returns:
        n_used and n_drawn, when all halves are spent or the counts are complete.
    """
    n = np.uint64(counts.shape[1])
    least = (np.uint64(1 << 32) - n) % n
    while n_used < halves.size and n_drawn < counts.size:
        row, n_before = divmod(n_drawn, counts.shape[1])
        own = counts[row]
        end = min(n_used + counts.shape[1] - n_before, halves.size)
        for i in range(n_used, end):
            product = np.uint64(halves[i]) * n
            if product & np.uint64(0xFFFFFFFF) >= least:
                own[product >> np.uint64(32)] += 1
                n_drawn += 1
        n_used = end
    return n_used, n_drawn


@_compiled
def compare_lists(
    one: tuple[Codes, Ints, Ints],
    other: tuple[Codes, Ints, Ints],
    queries: Ints,
    n_docs: int,
    sums: tuple[Floats, Floats, Floats, Floats],
    values: Floats,
) -> None:
    """Write into `values`, measures × queries, what `overlap.overlap_measures` gives for two runs.

    Args:
        one, other: docs, first row and length of the lists of two runs, see `overlap.shared_docs`.
        queries: the queries that both runs have.
        n_docs: how many doc codes there are.
        sums: C and powers of each p by depth, harmonic numbers, and the whole of each p, see
            `overlap._cumulated`.
    """
    doc, start, length = one
    other_doc, other_start, other_length = other
    table = np.zeros(n_docs, np.int64)  # the other run's latest query and rank (from 0) of each doc
    worse = np.empty(length.max() + 1, np.int64)
    for place in range(queries.size):
        query = queries[place]
        mark = (place + 1) << 32
        first, n_other = other_start[query], other_length[query]
        for i in range(n_other):
            table[other_doc[first + i]] = mark | i
        first, n = start[query], length[query]
        s = min(n, n_other)
        x_l, x_s = 0, 0
        for i in range(n):  # without a branch
            at = table[doc[first + i]]
            rank = max(i, at & 0xFFFFFFFF)
            worse[x_l] = rank
            x_l += at >= mark
            x_s += (at >= mark) & (rank < s)
        _write_measures(worse, (x_l, x_s), (s, max(n, n_other)), sums, values, place)


@_compiled
def _write_measures(
    worse: Ints,
    shared: tuple[int, int],
    lengths: tuple[int, int],
    sums: tuple[Floats, Floats, Floats, Floats],
    values: Floats,
    place: int,
) -> None:
    """Write the values of one query; `worse` is the worse rank, from 0, of each shared doc."""
    weights, powers, harmonic, whole = sums
    x_l, x_s = shared
    s, l = lengths  # noqa: E741
    f = l + s - x_l
    for m in range(whole.size):
        c, p = weights[m], powers[m]
        before, inverse = 0.0, 0.0
        for i in range(x_l):
            before += c[worse[i]]
            inverse += harmonic[worse[i]]
        truncated = x_l * c[l] - before
        extension = p[s] - p[l] - s * (c[l] - c[s])
        tail = s * (c[f] - c[s]) + l * (c[f] - c[l]) + x_l * (whole[m] - c[f])
        values[0, place] = x_l / l
        values[1, place] = (x_l * harmonic[l] - inverse) / l
        values[4 * m + 2, place] = truncated
        values[4 * m + 3, place] = truncated + x_s / s * extension + ((x_l - x_s) / l + x_s / s) * p[l]
        values[4 * m + 4, place] = x_l * whole[m] - before
        values[4 * m + 5, place] = p[s] + p[l] - p[f] - tail


@_compiled
def sum_rows(values: Floats, places: Ints, starts: Ints, own: Floats, found: Floats) -> None:
    """Add to row i of `found` the rows of `values` at places[starts[i] : starts[i + 1]].

    Each is multiplied by its entry of `own`, unless that is empty. The twin is `similarity._summed_rows`,
    which may add in another order: last digits can differ, and its callers round.
    """
    for row in range(starts.size - 1):
        total, entry, end = found[row], starts[row], starts[row + 1]
        while not own.size and entry + 4 <= end:  # four at a time, in the same order: the total is read once
            a, b, c, d = places[entry : entry + 4]
            for column in range(total.size):
                two = total[column] + values[a, column] + values[b, column]
                total[column] = two + values[c, column] + values[d, column]
            entry += 4
        for rest in range(entry, end):
            added, weight = values[places[rest]], own[rest] if own.size else 1.0
            for column in range(total.size):
                total[column] += added[column] * weight


@_compiled
def keep_largest(sums: Floats, norms: Floats, best: Floats) -> None:
    """Put into `best`, columns × kept and ascending, what is larger in each column of sums / norms.

    The twin is `similarity._keep_largest`.
    """
    least = best[:, 0].copy()
    for row in range(norms.size):
        own, norm = sums[row], norms[row]
        below, n_larger = norm * (1 - 1e-15), 0  # never rounds a larger one away, and products are cheap
        for column in range(own.size):
            n_larger += own[column] >= least[column] * below
        if n_larger == 0:
            continue
        for column in range(own.size):
            value = own[column] / norm
            if value > least[column]:
                kept = best[column]
                place = 1
                while place < kept.size and kept[place] < value:
                    kept[place - 1] = kept[place]
                    place += 1
                kept[place - 1] = value
                least[column] = kept[0]
