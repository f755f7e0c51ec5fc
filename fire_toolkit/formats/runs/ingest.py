"""Predictions in any format to a checked Run: recognised, oriented, ranked; anomalies are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fire_toolkit.errors import FormatError, TableError, UsageError
from fire_toolkit.formats.arrays.matrix import Array, blocks_of
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.axis_ids import Ids, axes_of, with_ids
from fire_toolkit.formats.runs.candidates import gaps_of, read_candidates
from fire_toolkit.formats.runs.embeddings import COSINE, products
from fire_toolkit.formats.runs.listed import OF_GROUPS, Listed
from fire_toolkit.formats.runs.matrices import readings_of
from fire_toolkit.formats.runs.named_arrays import Arrays, Matrix, arrays_in, choose_matrix, vector_names
from fire_toolkit.formats.runs.ranked import (
    MEMBER,
    OUTSIDE,
    OWN,
    POSITIVE,
    QUERIES_ROWS,
    Axes,
    Cells,
    Ranked,
    cells_of,
    kept_of,
    rank_lists,
    rank_rows,
    run_name,
    run_of_ranked,
)
from fire_toolkit.formats.runs.reader import read_vectors, recognise
from fire_toolkit.formats.runs.score_anomalies import refuse_anomalies
from fire_toolkit.matching.own_items import OwnItems, drop_own_items
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.scoring.expect import Expectation, Sense, describe_expectations, found_scores, sense_of
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.words import n_of

_R1 = Expectation("R@1", FIRST, 0.0, 0.05, is_percent=True)


def rank_vectors(left: Matrix, right: Matrix, similarity: str | None, **settings: Any) -> Ranked:
    """Return each query's docs by their `products`, ranked by `rank_rows`, whose settings these are."""
    return rank_rows(products(left, right, similarity), **settings)


@dataclass(frozen=True)
class Request:
    """How predictions are to be read.

    run_id: the run's id, by default the file's. key: the array or part to read. query_ids, doc_ids:
    the ids of a matrix's axes, or of places.
    orientation: `queries-rows` or `queries-columns`. expected: logged scores that the run must give by
    `qrels`. depth: how many docs of a query are kept; at any rank are kept the positives of `qrels`, each
    query's own item, which the benchmark leaves out of its rankings if `is_dropped`, and the docs of its
    group (columns query_id and doc_id).
    allow: see `score_anomalies`. similarity: `dot`, `cosine` or `l2`, of vectors. mask: one flag a row, False
    for padding. candidates: `similarity` or `distance`: the file holds what vector search gives, and these
    are its scores. on_read: called with the number of bytes of each block. rank_vectors: what ranks them.
    """

    run_id: str | None = None
    key: str | None = None
    query_ids: Ids = None
    doc_ids: Ids = None
    orientation: str | None = None
    expected: Sequence[Expectation] = ()
    qrels: Qrels | None = None
    depth: int = 100
    own_items: OwnItems = field(default_factory=dict)
    is_dropped: bool = False
    groups: pd.DataFrame | None = None
    allow: frozenset[str] = frozenset()
    similarity: str | None = None
    mask: Array | None = None
    candidates: str | None = None
    on_read: Callable[[int], None] | None = None
    rank_vectors: Callable[..., Ranked] = rank_vectors

    def cells(self, axes: Axes) -> tuple[Cells, int]:
        """Return the pairs that are kept at any rank, and how many positives are outside of the axes."""
        pairs = {OWN: pd.DataFrame(self.own_items.items(), columns=PAIR, dtype="str")}
        if self.qrels is not None:
            pairs[POSITIVE] = self.qrels[PAIR][self.qrels["relevance"] >= 1]
        if self.groups is not None:
            pairs[MEMBER] = self.groups
        return cells_of(axes, pairs)

    def scored(self, run: Run) -> Run:
        """Return the run as the benchmark scores it."""
        return drop_own_items(run, self.own_items) if self.is_dropped else run


@dataclass
class Ingested:
    """A run, a report for its manifest, notes, and how its positives rank."""

    run: Run
    report: dict[str, Any]
    notes: list[str]
    sense: Sense | None = None

    def lines(self, path: Path, *, is_counted: bool) -> Iterator[str]:
        """Yield what the file at `path` held, in sentences; is_counted: how many of everything, too."""
        report = self.report
        line = f"{path}: {report['format']} ({report['evidence']})"
        if "orientation" in report:
            side, source = report["orientation"].removeprefix("queries-"), report["orientation_from"]
            line += f"; {side} are queries, as {_SAID.get(source, f'{source} shows')}"
        yield line
        yield from (f"note: {note}" for note in self.notes)
        if self.sense is not None:
            yield self.sense.words
            yield from [f"warning: {self.sense.warning}"] if self.sense.warning else ()
        if is_counted:
            told = [(report[name], what, rest) for name, what, rest in _COUNTED if report.get(name)]
            counts = [f"{n_of(n, what)} {rest}" for n, what, rest in told]
            rows = f"{n_of(report['queries'], 'query')}, {n_of(report['rows'], 'row')}"
            below = f"{n_of(report['positives_below_top'], 'positive')} kept below the top {report['top']}"
            yield "; ".join([rows, below, *counts])


_SHARED = (
    "the scores of each doc sum to 1 over the queries: a softmax over the wrong axis, or one over all test "
    "queries (dual softmax), which is no score of one query alone"
)
_SAID = {"given": "--orientation says", "said by the file": "the file says"}
_COUNTED = (
    ("others_below_top", "row", "more for own items and groups"),
    ("padding", "row", "of padding left out"),
    ("duplicates", "query", "with another's list"),
    ("tied_in_top", "query", "with ties in the top"),
    ("tied_at_cut", "query", "cut within a tie"),
    ("tied_positives", "positive", "tied with another doc"),
)


def ingest(path: Path, request: Request, *, other: Path | None = None) -> Ingested:
    """Return the run in a file, or in two, query vectors and doc vectors.

    Returns:
        The run holds the top `depth` docs of each query, ranked by the one rule, and below them the
        positives of the qrels with their true ranks. The report has the reader, how the orientation was
        found, counts of queries, docs, rows, ties and anomalies.

    Raises:
        FormatError: the file is not what it was taken for; its shape does not fit the ids; it is square
            and nothing tells its orientation.
        TableError: an id is invalid, or the scores have anomalies that are not allowed.
        JoinError: the run shares no query with the qrels.
        UsageError: no reading of the file gives the logged scores, or both do.
    """
    reader, given = recognise(path), (request.query_ids, request.doc_ids)
    about: dict[str, Any] = {"reader": reader.name, "format": reader.what, "evidence": reader.evidence}
    if request.candidates is not None:
        listed, own, length = read_candidates(path, request.candidates)
        request = replace(request, depth=min(request.depth, length))
        listed = with_ids(listed, path, given, own)
        notes, counts = gaps_of(listed, length, request.depth)
        about |= {"scores": request.candidates, "candidates": length, **counts}
        n_searched = len(listed.scored["doc_id"].cat.categories)
        return _of_lists(replace(listed, notes=tuple(notes)), path, about, request, n_searched=n_searched)
    if other is not None:
        return _of_vectors([read_vectors(path), read_vectors(other)], path, about, request, (path, other))
    found = reader.read(path, request.key)
    if isinstance(found, Listed):
        return _of_lists(with_ids(found, path, given), path, about, request)
    return _of_arrays(found, path, about, request)


def _of_lists(
    listed: Listed, path: Path, about: dict[str, Any], request: Request, *, n_searched: int = 0
) -> Ingested:
    """Return ranked lists; n_searched: of how many docs a vector search gave them."""
    if request.qrels is not None:
        qrels = request.qrels[request.qrels["relevance"] >= 1]
        named = qrels[qrels["query_id"].isin(list(listed.targets))]
        for query, docs in named.groupby("query_id", observed=True)["doc_id"]:
            if (target := listed.targets[str(query)]) not in [*docs]:
                raise FormatError(
                    f"{path}: the entry that is {query} by its number has target {target!r}, the collection "
                    f"has {docs.iloc[0]!r}; put the entries in the order of the benchmark's own file"
                )
    if OF_GROUPS in listed.notes:
        raise UsageError(f"{path}: {OF_GROUPS}")
    request = replace(request, run_id=run_name(path, request.run_id or listed.run_id))
    ranked, axes = rank_lists(listed, path, run_id=request.run_id, may_flood=n_searched > 0)
    n_docs = n_searched or len(axes[1])
    return _finished(lambda **_: ranked, axes, path, about, request, n_docs=n_docs, notes=listed.notes)


def _of_vectors(
    arrays: Sequence[Arrays], path: Path, about: dict[str, Any], request: Request, files: Sequence[Path] = ()
) -> Ingested:
    """Return the products of query vectors and doc vectors; files: where there is one for each side."""
    sides = zip(arrays, files, strict=bool(files))
    names = [choose_matrix(own, str(file), key=None, shapes=set()) for own, file in sides]
    names = names or list(vector_names(arrays[0]) or ())
    own = arrays[0].query_ids, arrays[1].doc_ids
    axes = axes_of(path, own, (request.query_ids, request.doc_ids), arrays[0].texts | arrays[1].texts)
    queries, docs = (own.matrices[name] for own, name in zip(arrays, names, strict=True))
    shapes = queries.values.shape, docs.values.shape
    if (shapes[0][0], shapes[1][0]) != (len(axes[0]), len(axes[1])):
        raise FormatError(
            f"{path}: vectors of shape {shapes[0]} and {shapes[1]}, but {len(axes[0])} query ids and "
            f"{len(axes[1])} doc ids; expected query vectors, then doc vectors, one for each id"
        )
    rank = partial(request.rank_vectors, queries, docs, request.similarity, n_rows=len(axes[0]))
    about = {**about, "vectors": names, "similarity": request.similarity or COSINE}
    return _finished(rank, axes, path, about, request)


def _of_arrays(arrays: Arrays, path: Path, about: dict[str, Any], request: Request) -> Ingested:
    """Return what arrays hold: the vectors of both sides, or the matrix that was asked for.

    A matrix is oriented by its shape, a word or a logged score.
    """
    if request.key is None and vector_names(arrays) is not None:
        return _of_vectors([arrays, arrays], path, about, request)
    given = request.query_ids, request.doc_ids
    axes = axes_of(path, (arrays.query_ids, arrays.doc_ids), given, arrays.texts)
    mask = arrays.mask if request.mask is None else request.mask
    wanted = request.orientation or arrays.orientation
    name, fits = readings_of(arrays, path, axes, key=request.key, mask=mask, wanted=wanted)
    about = {**about, "array": name, "shape": list(arrays.matrices[name].values.shape)}
    said = "the shape" if wanted is None else "given" if request.orientation else "said by the file"
    said = said if len(fits) == 1 else "the logged score"
    readings: dict[str, Callable[[Request], Ingested]] = {}
    for side, rows in fits.items():
        rank = partial(rank_rows, blocks_of(rows, str(path), request.on_read), mask=mask, n_rows=len(rows))
        own = {**about, "orientation": side, "orientation_from": said}
        readings[side] = partial(_finished, rank, axes, path, own)
    if len(readings) > 1:
        return _by_expectation(readings, path, request, about["shape"])
    return readings.popitem()[1](request)


def _by_expectation(
    readings: Mapping[str, Callable[[Request], Ingested]], path: Path, request: Request, sides: Sequence[int]
) -> Ingested:
    """Return the reading of a square matrix that gives the logged scores, the only one of the two."""
    shape, logged = " × ".join(map(str, sides)), request.expected
    square = f"{path}: {shape} is square: its shape does not tell whether queries are rows or columns"
    if request.qrels is None:
        raise UsageError(
            f"{square}; give --orientation queries-rows or queries-columns, or "
            "--expect with a logged score (R@1=46.1) and --qrels"
        )
    agreeing, words = list[Ingested](), list[str]()
    for name, reading in readings.items():
        result = reading(replace(request, expected=()))
        found = found_scores(request.scored(result.run), request.qrels, logged or [_R1])
        pairs = zip(logged or [_R1], found, strict=True)
        words.append(f"{name} gives {', '.join(f'{e.name} {e.rescaled(v):.4g}' for e, v in pairs)}")
        if logged and _agree(logged, found):
            result.report["reproduced"] = describe_expectations(logged, found)
            agreeing.append(result)
    both = "; ".join(words)
    if len(agreeing) == 1:
        agreeing[0].notes.append(f"the logged score is reproduced by one reading: {both}")
        return agreeing[0]
    problem = f"{both}; give --orientation, or --expect with the score that the model's log printed"
    if logged:
        which = "both readings give" if agreeing else "neither reading gives"
        problem = (
            f"{which} {', '.join(f'{e.name}={e.value:g}' for e in logged)}: {both}; check the ids' "
            "order, the split and the checkpoint, or give another logged score"
        )
    raise UsageError(f"{square}: {problem}")


def _finished(
    rank: Callable[..., Ranked],
    axes: Axes,
    path: Path,
    report: dict[str, Any],
    request: Request,
    *,
    n_docs: int = 0,
    notes: Sequence[str] = (),
) -> Ingested:
    """Return what is kept of ranked docs as a run, after a look at anomalies and logged scores.

    rank: what ranks them, given the cells that are kept. n_docs: of how many there are scores, 0: of all.
    """
    where = str(path)
    cells, n_outside = request.cells(axes)
    ranked = rank(where=where, axes=axes, depth=request.depth, cells=cells)
    ranked, n_below = kept_of(ranked, axes, cells, request.depth)
    allowed = refuse_anomalies(ranked.anomalies, len(axes[0]), allow=request.allow, where=where)
    notes = [*notes, *allowed, *([_SHARED] if ranked.is_shared else [])]
    if not ranked.is_whole:
        report["positives_outside"] = n_outside
    if n_outside and not ranked.is_whole:
        notes += [OUTSIDE.format(n_outside)]
    run = run_of_ranked(ranked, run_name(path, request.run_id), axes, where=where)
    if run.empty:
        raise TableError(f"{path}: no pair of a query and a doc has a score, expected at least one")
    if request.expected and request.qrels is None:
        raise UsageError("--expect needs qrels: give --qrels, or a workspace that has them")
    if request.expected and request.qrels is not None:
        found = found_scores(request.scored(run), request.qrels, request.expected)
        words = describe_expectations(request.expected, found)
        if not _agree(request.expected, found):
            raise UsageError(
                f"{path}: does not give the logged score: {words}; check the ids' order, the test "
                "split and the checkpoint before anything is relabelled"
            )
        notes += [f"the logged score is reproduced: {words}"]
        report["reproduced"] = words
    if not request.own_items and request.groups is None:
        n_below.pop("others_below_top")
    sizes = zip(("queries", "docs"), (len(run[name].cat.categories) for name in PAIR), strict=True)
    report |= {**dict(sizes), "rows": len(run), "top": request.depth, **n_below, **ranked.anomalies.counts()}
    sense = None
    if request.qrels is not None:
        sense = sense_of(request.scored(run), request.qrels, n_docs=n_docs or len(axes[1]))
        report["sense"] = sense.words
    return Ingested(run, report, notes, sense=sense)


def _agree(expected: Sequence[Expectation], found: Sequence[float]) -> bool:
    return all(each.agrees(value) for each, value in zip(expected, found, strict=True))


def ingest_matrix(sims: Any, request: Request) -> Run:
    """Return a matrix that somebody holds, queries × docs, as the run that `ingest` makes of it in a file.

    Args:
        sims: an array, a tensor, nested lists; a DataFrame whose rows and columns are the ids, or are
            numbered from 0.
        request: with the ids of both sides.

    Raises:
        FormatError: no matrix of numbers, or its shape or labels do not fit the ids, or an id is given twice.
        TableError: an id is invalid, or the scores have anomalies that are not allowed.
    """
    ids = [id_texts(request.query_ids, "query_ids"), id_texts(request.doc_ids, "doc_ids")]
    labels = sims.axes if isinstance(sims, pd.DataFrame) else ()
    if isinstance(sims, np.ma.MaskedArray) and sims.mask.any():
        raise FormatError("run: scores are masked; give sims.filled(np.nan) with allow=nan")
    if hasattr(sims, "detach"):  # a tensor, on any device
        sims = sims.detach().cpu()
        sims = sims.float() if str(sims.dtype) == "torch.bfloat16" else sims
    try:
        arrays = arrays_in({"sims": np.asarray(sims)}, Path("run"))
    except (TypeError, ValueError) as error:
        raise FormatError(f"run: sims cannot be read as a matrix ({error})") from None
    for what, names, own in zip(("row", "column"), labels, ids, strict=False):
        is_odd = [str(name) != each for name, each in zip(names, own, strict=False)]
        if any(is_odd) and not names.equals(pd.RangeIndex(len(own))):
            place = is_odd.index(True)
            raise FormatError(
                f"run: {what} {place} of sims is {str(names[place])!r}, but its id is {own[place]!r}: "
                "give the ids in the order of sims, or sims.to_numpy() if its labels mean nothing"
            )
    request = replace(request, query_ids=ids[0], doc_ids=ids[1], orientation=QUERIES_ROWS)
    try:
        return _of_arrays(arrays, Path("run"), {}, request).run
    except TableError as error:
        raise TableError(str(error).replace("`add-run` --allow ", "allow=")) from None
