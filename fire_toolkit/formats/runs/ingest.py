"""Predictions in any format to a checked Run: recognised, oriented, ranked; anomalies are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError, TableError, UsageError
from fire_toolkit.formats.arrays.matrix import Array, FileArray, Matrix, by_rows
from fire_toolkit.formats.runs.axis_ids import axis_ids
from fire_toolkit.formats.runs.candidates import candidate_lists, read_candidates
from fire_toolkit.formats.runs.embeddings import product_matrix
from fire_toolkit.formats.runs.kept import Kept, indexed, positive_pairs
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.named_arrays import Arrays, choose_matrix, described, vector_names
from fire_toolkit.formats.runs.orientation import ORIENTATIONS, known_orientation, possible_readings
from fire_toolkit.formats.runs.places import named_by_place, named_where_places
from fire_toolkit.formats.runs.ranked import QUERIES_ROWS, ids_of, rank_lists, rank_matrix, run_of_ranked
from fire_toolkit.formats.runs.readers import read_vectors, recognise
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies, refuse_anomalies
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.scoring.expect import Expectation, describe_expectations, found_scores
from fire_toolkit.scoring.sense import Sense, sense_of
from fire_toolkit.tables import Qrels, Run

Axes = tuple[list[str], list[str]]


@dataclass(frozen=True)
class Request:
    """How predictions are to be read.

    run_id: the run's id, by default the file's. key: the array or part to read. query_ids, doc_ids:
    the ids of a matrix's axes, or of places; `asked`: which of the two the user gave, and by which option,
    so that a file that cannot use them is refused; find_ids: called with the name of missing ids, returns
    them or None.
    orientation: `queries-rows` or `queries-columns`. expected: logged scores that the run must give by
    `qrels`. depth: how many docs of a query are kept; positives of `qrels` are kept at any rank, and what
    `kept` names.
    allow: see `score_anomalies`. similarity: `dot`, `cosine` or `l2`, of vectors. mask: one flag a row, False
    for padding. candidates: `similarity` or `distance`: the file holds what vector search gives, and these
    are its scores. on_read: called with the number of bytes of each block.
    """

    run_id: str | None = None
    key: str | None = None
    query_ids: Sequence[str] | None = None
    doc_ids: Sequence[str] | None = None
    asked: Mapping[str, str] = field(default_factory=dict)
    find_ids: Callable[[str], Sequence[str] | None] | None = None
    orientation: str | None = None
    expected: Sequence[Expectation] = ()
    qrels: Qrels | None = None
    depth: int = 100
    kept: Kept = field(default_factory=Kept)
    allow: frozenset[str] = frozenset()
    similarity: str | None = None
    mask: Array | None = None
    candidates: str | None = None
    on_read: Callable[[int], None] | None = None


@dataclass
class Ingested:
    """A run, a report for its manifest, notes, and how its positives rank."""

    run: Run
    report: dict[str, Any]
    notes: list[str]
    sense: Sense | None = None


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
    reader = recognise(path)
    about: dict[str, Any] = {"reader": reader.name, "format": reader.what, "evidence": reader.evidence}
    if request.candidates is not None:
        return _ingest_candidates(path, request.candidates, request, about)
    if other is not None:
        both = (read_vectors(path), read_vectors(other))
        pair = (_only_name(both[0], path), _only_name(both[1], other))
        return _ingest_product(path, both, pair, request, about)
    if reader.read_lists is not None:
        return _ingest_lists(path, reader.read_lists(path, request.key), request, about)
    if reader.read_arrays is None:
        raise FormatError(f"{path}: {reader.what} holds no predictions")
    arrays = reader.read_arrays(path)
    names = vector_names(arrays) if request.key is None else None
    if names is None:
        return _ingest_matrix(path, arrays, request, about)
    return _ingest_product(path, (arrays, arrays), names, request, about)


def _only_name(arrays: Arrays, path: Path) -> str:
    return choose_matrix(arrays, str(path), key=None, shapes=set())


def _ingest_lists(path: Path, listed: Listed, request: Request, about: dict[str, Any]) -> Ingested:
    places = {"query_id": request.query_ids, "doc_id": request.doc_ids}
    if listed.has_places:
        listed, places = named_by_place(listed, path, *_axes(path, request)), {}
    for column, ids in places.items():
        if ids is not None:
            option = request.asked.get(f"{column}s")
            listed = named_where_places(listed, path, column, ids, option=option, is_needed=True)
    return _ranked_lists(path, listed, request, about)


def _ingest_candidates(path: Path, kind: str, request: Request, about: dict[str, Any]) -> Ingested:
    """Return the run of what vector search gave; the depth is at most the length of its lists."""
    found = read_candidates(path)
    queries, docs = _axes(path, request, found.query_ids, found.doc_ids)
    length = found.places.shape[1]
    request = replace(request, depth=min(request.depth, length))
    listed, counts = candidate_lists(found, queries, docs, kind=kind, depth=request.depth)
    about |= {"scores": kind, "candidates": length, **counts}
    return _ranked_lists(path, listed, request, about, n_docs=len(docs), may_flood=True)


def _ranked_lists(
    path: Path,
    listed: Listed,
    request: Request,
    about: dict[str, Any],
    *,
    n_docs: int | None = None,
    may_flood: bool = False,
) -> Ingested:
    """Return the run of ranked lists; n_docs: of how many docs they are the top, None: of those in them."""
    run, anomalies = rank_lists(
        listed,
        path,
        run_id=request.run_id,
        depth=request.depth,
        positives=positive_pairs(request.qrels),
        others=request.kept.pairs,
        spare=request.kept.spare,
        may_flood=may_flood,
    )
    queries, docs = ids_of(listed)
    allowed = refuse_anomalies(anomalies, queries, docs, allow=request.allow, where=str(path))
    notes = [*allowed, *listed.notes] if may_flood else [*listed.notes, *allowed]
    return _ingested(path, run, request, about, anomalies, notes, n_docs=n_docs or len(docs))


def _ingested(
    path: Path,
    run: Run,
    request: Request,
    about: dict[str, Any],
    anomalies: ScoreAnomalies,
    notes: list[str],
    *,
    n_docs: int,
    **more: Any,
) -> Ingested:
    """Return a ranked run without what it need not keep, after a look at the logged scores."""
    if n_outside := more.get("positives_outside"):
        words = f"{n_outside:,} positives of the qrels have a query or doc that is not among the ids"
        notes = [*notes, words]
    positives = positive_pairs(request.qrels)
    run = request.kept.trimmed(run, request.depth, positives)
    if run.empty:
        raise TableError(f"{path}: no pair of a query and a doc has a score, expected at least one")
    if words := _reproduced(path, run, request):
        notes.append(f"the logged score is reproduced: {words}")
        about = {**about, "reproduced": words}
    counts: dict[str, Any] = {
        **more,
        "queries": len(run["query_id"].cat.categories),
        "docs": len(run["doc_id"].cat.categories),
        "rows": len(run),
        "top": request.depth,
        **request.kept.below_top(run, request.depth, positives),
        **anomalies.counts(),
    }
    sense = None
    if request.qrels is not None:
        sense = sense_of(request.kept.scored(run), request.qrels, n_docs=n_docs)
        counts["sense"] = sense.words
    return Ingested(run, {**about, **counts}, notes, sense=sense)


def _reproduced(path: Path, run: Run, request: Request) -> str:
    """Return the logged scores that the run gives, in words; none where none are expected.

    Raises:
        UsageError: it does not give them.
    """
    if not request.expected:
        return ""
    if request.qrels is None:
        raise UsageError("--expect needs qrels: give --qrels, or a workspace that has them")
    found = found_scores(request.kept.scored(run), request.qrels, request.expected)
    words = describe_expectations(request.expected, found)
    if not _agree(request.expected, found):
        raise UsageError(
            f"{path}: does not give the logged score: {words}; check the ids' order, the test split and "
            "the checkpoint before anything is relabelled"
        )
    return words


def _agree(expected: Sequence[Expectation], found: Sequence[float]) -> bool:
    return all(each.agrees(value) for each, value in zip(expected, found, strict=True))


def _stem_of(path: Path) -> str:
    return path.name.partition(".")[0]


def _axes(path: Path, request: Request, *own: Sequence[str] | None) -> Axes:
    given = (request.query_ids, request.doc_ids)
    return axis_ids(path, own or (None, None), given, asked=request.asked, find=request.find_ids)


def _ingest_product(
    path: Path, arrays: tuple[Arrays, Arrays], names: tuple[str, str], request: Request, about: dict[str, Any]
) -> Ingested:
    axes = _axes(path, request, arrays[0].query_ids, arrays[1].doc_ids)
    queries, docs = (by_rows(own.matrices[name]) for own, name in zip(arrays, names, strict=True))
    if (queries.shape[0], docs.shape[0]) != (len(axes[0]), len(axes[1])):
        raise FormatError(
            f"{path}: vectors of shape {tuple(queries.shape)} and {tuple(docs.shape)}, but {len(axes[0])} "
            f"query ids and {len(axes[1])} doc ids; expected query vectors, then doc vectors, one for each id"
        )
    request = replace(request, mask=None)
    product = product_matrix(queries, docs, similarity=request.similarity)
    about |= {"vectors": list(names), "similarity": product.similarity}
    return rank_queries(path, product, axes, request, about)


def _ingest_matrix(path: Path, arrays: Arrays, request: Request, about: dict[str, Any]) -> Ingested:
    axes = _axes(path, request, arrays.query_ids, arrays.doc_ids)
    lengths = (len(axes[0]), len(axes[1]))
    name = choose_matrix(arrays, str(path), key=request.key, shapes={lengths, lengths[::-1]})
    matrix = arrays.matrices[name]
    if isinstance(matrix, FileArray):
        matrix = matrix.watched(request.on_read)
    if request.mask is None:
        request = replace(request, mask=arrays.mask)
    about |= {"array": name, "shape": list(matrix.shape)}
    if len(arrays.matrices) > 1:
        others = {other: own for other, own in arrays.matrices.items() if other != name}
        about["other_arrays"] = described(replace(arrays, matrices=others))
    readings = possible_readings(path, matrix, lengths, request.mask)
    orientation, why = known_orientation(
        readings, request.orientation or arrays.orientation, path, is_given=request.orientation is not None
    )
    if orientation is None:
        return _by_expectation(path, matrix, axes, request, about)
    about |= {"orientation": orientation, "orientation_from": why}
    try:
        return rank_queries(path, matrix, axes, request, about, orientation)
    except UsageError as error:
        if len(readings) < 2 or not request.expected or request.qrels is None:
            raise
        other = next(name for name in readings if name != orientation)
        _, found = _scores_read_as(other, path, matrix, axes, request, {})
        words = describe_expectations(request.expected, found)
        raise UsageError(f"{error}; read as {other} it gives {words}") from None


def _by_expectation(
    path: Path, matrix: Matrix, axes: Axes, request: Request, about: dict[str, Any]
) -> Ingested:
    """Return the reading of a square matrix that gives the logged scores, the only one of the two."""
    shape = " × ".join(map(str, matrix.shape))
    square = f"{path}: {shape} is square: its shape does not tell whether queries are "
    if request.qrels is None:
        raise UsageError(
            f"{square}rows or columns; give --orientation queries-rows or queries-columns, or "
            "--expect with a logged score (R@1=46.1) and --qrels"
        )
    both = {}
    for name in ORIENTATIONS:
        known = {**about, "orientation": name, "orientation_from": "the logged score"}
        both[name] = _scores_read_as(name, path, matrix, axes, request, known)
    expected = request.expected or [_R1]
    words = "; ".join(
        f"{name} gives "
        + ", ".join(f"{e.name} {e.rescaled(v):.4g}" for e, v in zip(expected, found, strict=True))
        for name, (_, found) in both.items()
    )
    agreeing = [name for name, (_, found) in both.items() if request.expected and _agree(expected, found)]
    if len(agreeing) == 1:
        result, found = both[agreeing[0]]
        result.report["reproduced"] = describe_expectations(expected, found)
        result.notes.append(f"the logged score is reproduced by one reading: {words}")
        return result
    logged = ", ".join(f"{e.name}={e.value:g}" for e in request.expected)
    problem = (
        f"{'both readings give' if agreeing else 'neither reading gives'} {logged}: {words}; check the ids' "
        "order, the split and the checkpoint, or give another logged score"
        if request.expected
        else f"{words}; give --orientation, or --expect with the score that the model's log printed"
    )
    raise UsageError(f"{square}rows or columns: {problem}")


_R1 = Expectation("R@1", FIRST, 0.0, 0.05, is_percent=True)


def _scores_read_as(
    orientation: str, path: Path, matrix: Matrix, axes: Axes, request: Request, about: dict[str, Any]
) -> tuple[Ingested, list[float]]:
    """Return one reading of a matrix, and its scores by the measures expected (R@1 where none is)."""
    result = rank_queries(path, matrix, axes, replace(request, expected=()), about, orientation)
    assert request.qrels is not None
    return result, found_scores(request.kept.scored(result.run), request.qrels, request.expected or [_R1])


def rank_queries(
    path: Path,
    matrix: Matrix,
    axes: Axes,
    request: Request,
    about: dict[str, Any],
    orientation: str = QUERIES_ROWS,
) -> Ingested:
    """Return a matrix of known orientation as a run; `path` is what it is called in errors."""
    queries, docs = axes
    positives, n_outside = indexed(positive_pairs(request.qrels), queries, docs)
    ranked = rank_matrix(
        matrix,
        orientation=orientation,
        n_queries=len(queries),
        mask=request.mask,
        docs=docs,
        depth=request.depth,
        positives=positives,
        others=indexed(request.kept.pairs, queries, docs)[0],
        spare=request.kept.spare,
    )
    notes = refuse_anomalies(ranked.anomalies, queries, docs, allow=request.allow, where=str(path))
    run = run_of_ranked(ranked, request.run_id or _stem_of(path), queries, docs, where=str(path))
    return _ingested(
        path, run, request, about, ranked.anomalies, notes, n_docs=len(docs), positives_outside=n_outside
    )
