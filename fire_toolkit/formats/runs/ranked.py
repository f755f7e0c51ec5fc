"""Ranked docs by index, and counts of anomalies, ties and equal lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fire_toolkit.arrays import GOLDEN, Ints, are_firsts, mix_bits, starts_of_groups
from fire_toolkit.formats.arrays.matrix import Array
from fire_toolkit.formats.runs.score_anomalies import CONSTANT_DOCS, FLOOD_DOCS, ScoreAnomalies


@dataclass(frozen=True)
class Ranked:
    """Ranked docs by index: query, doc, rank (1-based, true over all docs) and score, by query, then rank."""

    query: Ints
    doc: Ints
    rank: Ints
    score: npt.NDArray[np.float64]
    anomalies: ScoreAnomalies


@dataclass(frozen=True)
class Pairs:
    """Pairs of query and doc by index that are kept at any rank, sorted, and which of them are positives."""

    query: Ints
    doc: Ints
    is_positive: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, positives: tuple[Ints, Ints] | None, others: tuple[Ints, Ints] | None) -> Pairs:
        """Return both kinds together."""
        none = (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        parts = positives or none, others or none
        query, doc = (np.concatenate(each) for each in zip(*parts, strict=True))
        order = np.lexsort((doc, query))
        return cls(query[order], doc[order], order < len(parts[0][0]))


def extremes_of(lines: Array) -> tuple[Array, Array, Ints, npt.NDArray[np.bool_]]:
    """Return each row's lowest and highest score, how many cells hold the lowest, and whether all are finite.

    For a row that is not finite the other three are meaningless.
    """
    low, high = lines.min(axis=1), lines.max(axis=1)
    return low, high, (lines == low[:, None]).sum(axis=1), np.isfinite(low) & np.isfinite(high)


def count_missing(
    scores: Array, anomalies: ScoreAnomalies, example: Callable[[int], tuple[int, int]]
) -> None:
    """Count the scores that are NaN or infinite.

    example: returns query and doc, by index, of a place in the flattened scores.
    """
    anomalies.count("n_nan", np.isnan(scores), example)
    anomalies.count("n_minus_inf", scores == -np.inf, example)
    anomalies.count("n_plus_inf", scores == np.inf, example)


def without_anomalies(lines: Array, queries: Ints, anomalies: ScoreAnomalies) -> Array:
    """Return queries × docs with all cells that are not finite set to minus infinity, and count them."""

    def example(place: int) -> tuple[int, int]:
        line, doc = divmod(place, lines.shape[1])
        return int(queries[line]), doc

    count_missing(lines, anomalies, example)
    return np.asarray(np.where(np.isfinite(lines), lines, -np.inf), dtype=lines.dtype)


def count_shapes(
    anomalies: ScoreAnomalies, low: Array, high: Array, at_low: Ints, n_docs: int | Ints, start: int
) -> npt.NDArray[np.bool_]:
    """Count constant and flooded queries; return which are flooded."""
    constant = (low == high) & (at_low == n_docs) & (n_docs >= CONSTANT_DOCS)
    flooded = (low < high) & (at_low >= FLOOD_DOCS) & (2 * at_low >= n_docs)
    anomalies.count("constant", constant, lambda row: (start + row, 0))
    anomalies.count("flood", flooded, lambda row: (start + row, 0))
    return np.asarray(flooded, dtype=np.bool_)


def ties_of(rows: Ints, scores: Array) -> npt.NDArray[np.bool_]:
    """Return for each score whether the one before it, of the same query, is equal."""
    return ~are_firsts(rows, scores)


def count_ties(anomalies: ScoreAnomalies, rows: Ints, ranks: Ints, scores: Array, depth: int) -> None:
    """Count the queries with ties among the first `depth`, and those with a tie across the cut."""
    equal = ties_of(rows, scores)
    anomalies.tied_in_top += len(np.unique(rows[equal & (ranks <= depth)]))
    anomalies.tied_at_cut += int(np.count_nonzero(equal & (ranks == depth + 1)))


def in_order(parts: Sequence[tuple[Array, ...]]) -> tuple[Array, ...]:
    """Return query, doc, rank and score of the parts together, each pair once, by query, then rank."""
    columns = [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]
    order = np.lexsort((columns[2], columns[0]))
    query, rank = columns[0][order], columns[2][order]
    order = order[are_firsts(query, rank)]
    query, doc, rank, score = (column[order] for column in columns)
    return query.astype(np.int32), doc.astype(np.int32), rank.astype(np.int32), score


def ranked_of(parts: list[tuple[Array, ...]], anomalies: ScoreAnomalies, depth: int) -> Ranked:
    """Return parts, already in order, as one, and count equal lists.

    The list of parts is emptied, so that parts and result are not in memory at once.
    """
    pieces = [list(column) for column in zip(*parts, strict=True)]
    parts.clear()
    query, doc, rank = (np.concatenate(pieces.pop(0), dtype=np.int64) for _ in range(3))
    score = np.concatenate(pieces.pop(), dtype=np.float64) + 0.0  # -0.0 is 0.0, whichever was kept
    ranked = Ranked(query, doc, rank, score, anomalies)
    count_duplicates(ranked, depth)
    return ranked


def count_duplicates(ranked: Ranked, depth: int) -> None:
    """Count the queries whose first `depth` docs and scores are an earlier query's."""
    starts = starts_of_groups(ranked.query)
    stops = np.append(starts[1:], len(ranked.query))
    may_repeat = _repeated(_list_hashes(ranked, starts, depth))
    seen: dict[bytes, int] = {}
    for start, stop in zip(starts[may_repeat].tolist(), stops[may_repeat].tolist(), strict=True):
        stop = start + int(np.searchsorted(ranked.rank[start:stop], depth, side="right"))
        if start == stop:
            continue
        content = ranked.doc[start:stop].tobytes() + ranked.score[start:stop].tobytes()
        query = int(ranked.query[start])
        earlier = seen.setdefault(content, query)
        if earlier != query:
            ranked.anomalies.duplicates += 1
            ranked.anomalies.first.setdefault("duplicates", (query, earlier))


def _list_hashes(ranked: Ranked, starts: Ints, depth: int) -> npt.NDArray[np.uint64]:
    """Return a number for each list, the same for lists whose first `depth` are the same."""
    if not len(starts):
        return np.empty(0, dtype=np.uint64)
    mixed = mix_bits(ranked.doc.view(np.uint64) * np.uint64(GOLDEN) ^ ranked.score.view(np.uint64))
    mixed[ranked.rank > depth] = 0
    return np.add.reduceat(mixed, starts)


def _repeated(values: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return for each value whether another place holds it too."""
    order = np.argsort(values, kind="stable")
    same = values[order][1:] == values[order][:-1]
    found = np.zeros(len(values), dtype=bool)
    found[order] = np.r_[same, False] | np.r_[False, same] if len(values) else False
    return found
