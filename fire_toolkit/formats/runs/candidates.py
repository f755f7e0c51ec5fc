"""What vector search gives: for each query the places of its nearest docs, and their scores or distances.

faiss, cuVS, usearch, hnswlib and ScaNN return two arrays of queries × K: places of docs, best first, with
padding where nothing more was found, and float scores or distances.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fire_toolkit.arrays import Ints
from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.formats.runs.dense import tie_codes_of
from fire_toolkit.formats.runs.matrix import Array
from fire_toolkit.formats.runs.ranked import Pairs, Ranked, count_shapes, count_ties, ranked_of
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies

SIMILARITY, DISTANCE = "similarity", "distance"
KINDS = (SIMILARITY, DISTANCE)
PADDING = -1
_CHUNK_CELLS = 1 << 20


@dataclass(frozen=True)
class Candidates:
    """Lists of docs, best first, all K long; short ones end in padding.

    places: queries × K, the places of docs, -1 for padding. values: their scores or distances. query_ids: of
    the rows, None if the file has none. doc_ids: what the places are places of, None if the file has none.
    """

    where: str
    places: Ints
    values: Array
    query_ids: list[str] | None = None
    doc_ids: list[str] | None = None


@dataclass(frozen=True)
class RankedCandidates:
    """Candidates as ranked docs, and what was found on the way.

    n_padding: cells of padding. n_short: queries with fewer docs than the depth. n_open: queries whose last
    doc has the score of the last one kept, so that docs of the same score may lie beyond the list.
    """

    ranked: Ranked
    n_padding: int
    n_short: int
    n_open: int

    @property
    def counts(self) -> dict[str, int]:
        """Return the counts by name, for manifests."""
        return {"cells_of_padding": self.n_padding, "short_lists": self.n_short, "open_ties": self.n_open}

    @property
    def notes(self) -> list[str]:
        """Return in words what a user must know of the lists."""
        words = []
        if self.n_padding:
            words.append(
                f"{_counted(self.n_padding, 'id is', 'ids are')} padding; "
                f"{_counted(self.n_short, 'query has', 'queries have')} fewer docs than are kept"
            )
        if self.n_open:
            words.append(
                f"{_counted(self.n_open, 'list ends', 'lists end')} in a tie with the last doc kept; which "
                "docs of that score lie beyond is not known: ask the index for more docs than --depth"
            )
        return words


def _counted(n: int, one: str, many: str) -> str:
    return f"{n:,} {one if n == 1 else many}"


def rank_candidates(
    found: Candidates,
    docs: Sequence[str],
    *,
    kind: str,
    depth: int,
    positives: tuple[Ints, Ints] | None = None,
    others: tuple[Ints, Ints] | None = None,
    spare: int = 0,
) -> RankedCandidates:
    """Return the candidates as ranked docs: the top `depth`, and positives and others wherever listed.

    Args:
        found: the candidates; their rows are the queries.
        docs: the ids of the docs at those places; they decide the order of equal scores, descending.
        kind: `similarity` (the higher the better) or `distance` (the lower the better; a doc's score is then
            minus its distance).
        depth: how many docs are kept, 1 or more.
        positives: query index and doc index of pairs that are kept beyond it, with their ranks in the list.
        others: further such pairs, whose ties are not counted.
        spare: 1 to keep one doc below the top too, 0 otherwise.

    Raises:
        FormatError: a place beyond the docs or below -1, or a doc twice in a list.
        TableError: a score is NaN or infinite, or a list is not in the order of its scores.
    """
    _check_places(found, docs)
    scores = -found.values if kind == DISTANCE else found.values
    _check_values(found, scores, kind)
    pairs, tie_codes = Pairs.of(positives, others), tie_codes_of(docs)
    anomalies, parts = ScoreAnomalies(), list[tuple[Array, ...]]()
    step = max(1, _CHUNK_CELLS // scores.shape[1])
    n_short = n_open = 0
    for start in range(0, len(scores), step):
        places, values = found.places[start : start + step], scores[start : start + step]
        lengths = (places != PADDING).sum(axis=1)
        n_short += int((lengths < depth).sum())
        n_open += _count_open(values, lengths, depth, len(docs))
        _count_constant(anomalies, values, lengths, start)
        part = _in_order(places, values, tie_codes)
        count_ties(anomalies, part[0], part[2], part[3], depth)
        parts.append(_kept(part, pairs, start, depth + spare, len(docs)))
    ranked = ranked_of(parts, anomalies, depth)
    return RankedCandidates(ranked, int((found.places == PADDING).sum()), n_short, n_open)


def _check_places(found: Candidates, docs: Sequence[str]) -> None:
    places, n_docs = found.places, len(docs)
    strange = (places < PADDING) | (places >= n_docs)
    if strange.any():
        row, column = divmod(int(np.argmax(strange)), places.shape[1])
        raise FormatError(
            f"{found.where}: row {row}, column {column}: place {places[row, column]}, but {n_docs:,} doc "
            f"ids; expected places from 0 to {n_docs - 1}, or -1 for padding; ids that are not places go "
            "into Parquet as text"
        )
    ordered = np.sort(places, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PADDING)
    if twice.any():
        row, column = divmod(int(np.argmax(twice)), twice.shape[1])
        place = ordered[row, column]
        raise FormatError(
            f"{found.where}: row {row}: place {place} twice ({docs[place]}), expected each doc once"
        )


def _check_values(found: Candidates, scores: Array, kind: str) -> None:
    is_real = found.places != PADDING
    if (is_real & ~np.isfinite(scores)).any():
        row, column = divmod(int(np.argmax(is_real & ~np.isfinite(scores))), scores.shape[1])
        value = found.values[row, column]
        raise TableError(f"{found.where}: row {row}, column {column}: {value}, expected a finite {kind}")
    after = is_real[:, 1:] & is_real[:, :-1]
    worse = (scores[:, 1:] > scores[:, :-1]) & after
    gaps = is_real[:, 1:] & ~is_real[:, :-1]
    if gaps.any():
        row = int(np.argmax(gaps.any(axis=1)))
        raise FormatError(f"{found.where}: row {row}: -1 before a doc, expected padding at the end of a list")
    if worse.any():
        row, column = divmod(int(np.argmax(worse)), worse.shape[1])
        first, second = found.values[row, column], found.values[row, column + 1]
        turned = not ((scores[:, 1:] < scores[:, :-1]) & after).any()
        advice = f"; every list is in the other order: give --scores {_other(kind)}" if turned else ""
        raise TableError(
            f"{found.where}: row {row}: {first} is followed by {second}, expected each {kind} to be "
            f"{'at least' if kind == DISTANCE else 'at most'} the one before it{advice}"
        )


def _other(kind: str) -> str:
    return KINDS[1 - KINDS.index(kind)]


def _in_order(places: Ints, scores: Array, tie_codes: Ints) -> tuple[Array, ...]:
    """Return rows, docs, ranks and scores of the docs listed, by row, then by the one rule.

    The lists are in the order of their scores, so only those with ties are sorted.
    """
    is_real = places != PADDING
    equal = (scores[:, 1:] == scores[:, :-1]) & is_real[:, 1:]
    tied = np.flatnonzero(equal.any(axis=1))
    if tied.size:
        lists, values = places[tied], scores[tied]
        codes = np.where(lists == PADDING, 0, tie_codes[lists])
        order = np.lexsort((-codes, -values, lists == PADDING), axis=1)
        places = places.copy()
        places[tied] = np.take_along_axis(lists, order, axis=1)
    row, column = np.nonzero(is_real)
    return row, places[row, column], column + 1, scores[row, column] + scores.dtype.type(0)  # no minus zero


def _last_of(scores: Array, lengths: Ints) -> Array:
    """Return the score of each list's last doc; of empty lists that of its first place."""
    return np.asarray(scores[np.arange(len(scores)), np.maximum(lengths, 1) - 1])


def _count_open(scores: Array, lengths: Ints, depth: int, n_docs: int) -> int:
    """Return how many lists as long as they could be end within the tie that the last doc kept is in."""
    is_full = (lengths == scores.shape[1]) & (lengths < n_docs)
    if scores.shape[1] <= depth:
        return 0
    return int((scores[is_full, depth - 1] == scores[is_full, -1]).sum())


def _count_constant(anomalies: ScoreAnomalies, scores: Array, lengths: Ints, start: int) -> None:
    """Count the lists that have one score throughout."""
    first, last = scores[:, 0], _last_of(scores, lengths)
    at_low = np.where((first == last) & (lengths > 0), lengths, 0)
    count_shapes(anomalies, last, first, at_low, lengths, start)


def _kept(part: tuple[Array, ...], pairs: Pairs, start: int, n_top: int, n_docs: int) -> tuple[Array, ...]:
    rows, docs, ranks, scores = part
    query = rows + start
    is_kept = ranks <= n_top
    below = np.flatnonzero(~is_kept)
    wanted = pairs.query * n_docs + pairs.doc
    is_kept[below] = np.isin(query[below] * n_docs + docs[below], wanted)
    return query[is_kept], docs[is_kept], ranks[is_kept], scores[is_kept]
