"""Predictions of any format to a checked Run: recognised, oriented, ranked, refused for anomalies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError, TableError, UsageError
from fire_toolkit.formats.arrays.arrays import Arrays, choose_matrix, described, vector_names
from fire_toolkit.formats.runs.axis_ids import axis_ids
from fire_toolkit.formats.runs.dense import QUERIES_COLUMNS, QUERIES_ROWS, rank_matrix
from fire_toolkit.formats.runs.embeddings import product_matrix
from fire_toolkit.formats.runs.index_lists import named_by_place, named_where_places
from fire_toolkit.formats.runs.kept import Kept, indexed, positive_pairs
from fire_toolkit.formats.runs.list_pass import ids_of, rank_lists
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.matrix import Array, FileMatrix, Hasher, Matrix, n_rows_columns
from fire_toolkit.formats.runs.matrix_runs import run_of_ranked
from fire_toolkit.formats.runs.reader import RunReader
from fire_toolkit.formats.runs.readers import recognise
from fire_toolkit.formats.runs.score_anomalies import ScoreAnomalies, refuse_anomalies
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.scoring.expect import Expectation, describe_expectations, found_scores
from fire_toolkit.scoring.sense import Sense, sense_of
from fire_toolkit.tables import Qrels, Run

ORIENTATIONS = (QUERIES_ROWS, QUERIES_COLUMNS)


@dataclass(frozen=True)
class Request:
    """How predictions are to be read.

    run_id: the run's id, by default the file's. key: the array or part that is meant. query_ids, doc_ids:
    the ids of a matrix's axes, or of places; `asked`: which of the two somebody asked for, by which option,
    so that a file without use for them is refused; find_ids: told which ids are absent, finds them or None.
    orientation: `queries-rows` or `queries-columns`. expected: logged scores that the run must give by
    `qrels`. depth: how many docs of a query are kept; positives of `qrels` are kept at any rank, and what
    `kept` names.
    allow: see `anomalies`. similarity: `dot` or `cosine`, of vectors. mask: one flag a row, False for
    padding. on_read: describe_expectations the number of bytes of each block.
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
    on_read: Callable[[int], None] | None = None


@dataclass
class Ingested:
    """A run, what a manifest says of how it was read, notes, hashes known from reading, and its sense."""

    run: Run
    report: dict[str, Any]
    notes: list[str]
    hashes: dict[Path, str] = field(default_factory=dict)
    sense: Sense | None = None


def ingest(path: Path, request: Request, *, doc_vectors: Path | None = None) -> Ingested:
    """Return the run in a file, or in two: `path` with query vectors, `doc_vectors` with doc vectors.

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
    about = {"reader": reader.name, "format": reader.what, "evidence": reader.evidence}
    if reader.read_lists is not None:
        if doc_vectors is not None:
            raise UsageError(f"{path}: {reader.what} holds no vectors")
        listed = reader.read_lists(path, request.key)
        if listed.has_places:
            listed = named_by_place(listed, path, *_axes(path, request))
        else:
            listed = named_where_places(listed, path, (request.query_ids, request.doc_ids), request.asked)
        return _ingest_lists(path, listed, request, about)
    if reader.read_arrays is None:
        raise FormatError(f"{path}: {reader.what} holds no predictions")
    arrays = reader.read_arrays(path)
    if doc_vectors is not None:
        other = recognise(doc_vectors)
        if other.read_arrays is None:
            raise UsageError(f"{doc_vectors}: {other.what} holds no vectors")
        return _ingest_vectors(path, arrays, other.read_arrays(doc_vectors), doc_vectors, request, about)
    pair = vector_names(arrays) if request.key is None else None
    if pair is not None:
        return _ingest_product(path, arrays, arrays, pair, request, about)
    return _ingest_matrix(path, reader, arrays, request, about)


def _ingest_lists(path: Path, listed: Listed, request: Request, about: dict[str, Any]) -> Ingested:
    positives, kept = positive_pairs(request.qrels), request.kept
    run, anomalies = rank_lists(
        listed,
        path,
        run_id=request.run_id,
        depth=request.depth,
        positives=positives,
        others=kept.pairs,
        spare=kept.spare,
    )
    run = kept.trimmed(run, request.depth, positives)
    queries, docs = ids_of(listed)
    notes = [*listed.notes, *_allowed(anomalies, queries, docs, request, path)]
    _refuse_empty(run, path)
    _check_expected(run, request, notes, about, where=str(path))
    return _ingested(run, about, anomalies, notes, request, len(docs))


def _refuse_empty(run: Run, path: Path) -> None:
    if run.empty:
        raise TableError(f"{path}: no pair of a query and a doc has a score, expected at least one")


def _allowed(
    anomalies: ScoreAnomalies, queries: Sequence[str], docs: Sequence[str], request: Request, path: Path
) -> list[str]:
    return refuse_anomalies(anomalies, queries, docs, allow=request.allow, where=str(path))


def _ingested(
    run: Run,
    about: dict[str, Any],
    anomalies: ScoreAnomalies,
    notes: list[str],
    request: Request,
    n_docs: int,
) -> Ingested:
    counts: dict[str, Any] = {
        "queries": len(run["query_id"].cat.categories),
        "docs": len(run["doc_id"].cat.categories),
        "rows": len(run),
        "top": request.depth,
        **request.kept.below_top(run, request.depth, positive_pairs(request.qrels)),
        **anomalies.counts(),
    }
    sense = None
    if request.qrels is not None:
        sense = sense_of(request.kept.scored(run), request.qrels, n_docs=n_docs)
        counts["sense"] = sense.words
    return Ingested(run, {**about, **counts}, notes, sense=sense)


def _check_expected(
    run: Run, request: Request, notes: list[str], about: dict[str, Any], *, where: str
) -> None:
    """Note that the run gives the logged scores.

    Raises:
        UsageError: it does not.
    """
    if not request.expected:
        return
    found = found_scores(request.kept.scored(run), _needed_qrels(request), request.expected)
    words = describe_expectations(request.expected, found)
    if not all(e.agrees(value) for e, value in zip(request.expected, found, strict=True)):
        raise UsageError(
            f"{where}: does not give the logged score: {words}; check the ids' order, the test split and "
            "the checkpoint before anything is relabelled"
        )
    notes.append(f"the logged score is reproduced: {words}")
    about["reproduced"] = words


def _needed_qrels(request: Request) -> Qrels:
    if request.qrels is None:
        raise UsageError("--expect needs qrels: give --qrels, or a workspace that has them")
    return request.qrels


def _ingest_vectors(
    path: Path, queries: Arrays, docs: Arrays, doc_path: Path, request: Request, about: dict[str, Any]
) -> Ingested:
    names = tuple(
        choose_matrix(arrays, str(where), key=None, shapes=set())
        for arrays, where in ((queries, path), (docs, doc_path))
    )
    return _ingest_product(path, queries, docs, (names[0], names[1]), request, about)


def _axes(path: Path, request: Request, *own: Sequence[str] | None) -> tuple[list[str], list[str]]:
    given = (request.query_ids, request.doc_ids)
    return axis_ids(path, own or (None, None), given, asked=request.asked, find=request.find_ids)


def _ingest_product(
    path: Path,
    query_arrays: Arrays,
    doc_arrays: Arrays,
    names: tuple[str, str],
    request: Request,
    about: dict[str, Any],
) -> Ingested:
    queries, docs = _axes(path, request, query_arrays.query_ids, doc_arrays.doc_ids)
    vectors = [query_arrays.matrices[names[0]], doc_arrays.matrices[names[1]]]
    lengths = (len(queries), len(docs))
    if tuple(matrix.shape[0] for matrix in vectors) != lengths:
        shapes = " and ".join(str(tuple(matrix.shape)) for matrix in vectors)
        raise FormatError(
            f"{path}: vectors of shape {shapes}, but {lengths[0]} query ids and {lengths[1]} doc ids; "
            "expected query vectors, then doc vectors, one for each id"
        )
    product = product_matrix(vectors[0], vectors[1], similarity=request.similarity)
    origin = {"vectors": list(names), "similarity": "cosine" if product.is_cosine else "dot"}
    return rank_queries(path, product, queries, docs, QUERIES_ROWS, None, request, {**about, **origin}, [])


def _ingest_matrix(
    path: Path, reader: RunReader, arrays: Arrays, request: Request, about: dict[str, Any]
) -> Ingested:
    queries, docs = _axes(path, request, arrays.query_ids, arrays.doc_ids)
    shapes: set[tuple[int, ...]] = {(len(queries), len(docs)), (len(docs), len(queries))}
    name = choose_matrix(arrays, str(path), key=request.key, shapes=shapes)
    matrix = arrays.matrices[name]
    hasher = None
    if isinstance(matrix, FileMatrix):
        hasher = Hasher() if matrix.member is None else None
        matrix = matrix.watched(request.on_read, hasher)
    mask = request.mask if request.mask is not None else arrays.mask
    about = {**about, "array": name, "shape": list(matrix.shape)}
    if len(arrays.matrices) > 1:
        about["other_arrays"] = described(
            replace(arrays, matrices={other: m for other, m in arrays.matrices.items() if other != name})
        )
    readings = _readings(path, matrix, len(queries), len(docs), mask)
    orientation, why = _orientation(readings, request, arrays.orientation, path)
    rank = partial(rank_queries, path, queries=queries, docs=docs, mask=mask, request=request)
    if orientation is None:
        return _by_expectation(path, matrix, rank, request, about)
    about |= {"orientation": orientation, "orientation_from": why}
    try:
        result = rank(matrix, orientation=orientation, about=about, notes=[])
    except UsageError as error:
        if len(readings) < 2 or not request.expected or request.qrels is None:
            raise
        other = next(name for name in readings if name != orientation)
        bare = replace(request, expected=())
        run = rank(matrix, orientation=other, about={}, notes=[], request=bare).run
        words = describe_expectations(
            request.expected, found_scores(request.kept.scored(run), request.qrels, request.expected)
        )
        raise UsageError(f"{error}; read as {other} it gives {words}") from None
    if hasher is not None and hasher.sha256 is not None:
        result.hashes[path] = hasher.sha256
    return result


def _readings(path: Path, matrix: Matrix, n_queries: int, n_docs: int, mask: Array | None) -> tuple[str, ...]:
    """Return the orientations in which the shape fits the ids; rows of padding are possible."""
    rows, columns = n_rows_columns(matrix)
    if matrix.is_flipped:
        rows, columns = columns, rows
    fits = []
    if columns == n_docs and (rows == n_queries or (rows > n_queries and not matrix.is_flipped)):
        fits.append(QUERIES_ROWS)
    if (rows, columns) == (n_docs, n_queries) and len(matrix.shape) == 2 and mask is None:
        fits.append(QUERIES_COLUMNS)
    if not fits or 0 in (rows, columns):
        shape = " × ".join(map(str, matrix.shape[::-1] if matrix.is_flipped else matrix.shape))
        raise FormatError(
            f"{path}: shape {shape}, but {n_queries} query ids and {n_docs} doc ids; expected "
            f"{n_queries} × {n_docs}, or {n_docs} × {n_queries}, or more rows of padding; if these are "
            "vectors, give query vectors and doc vectors with --embeddings"
        )
    return tuple(fits)


def _orientation(
    readings: tuple[str, ...], request: Request, declared: str | None, path: Path
) -> tuple[str | None, str]:
    """Return the orientation and how it is known; None where the logged score must tell."""
    wanted = request.orientation or declared
    if wanted is not None:
        if wanted not in ORIENTATIONS:
            raise FormatError(f"{path}: orientation {wanted!r}, expected one of {', '.join(ORIENTATIONS)}")
        if wanted not in readings:
            raise FormatError(f"{path}: orientation {wanted}, but the shape fits {readings[0]} only")
        return wanted, "given" if request.orientation else "said by the file"
    if len(readings) == 1:
        return readings[0], "the shape"
    return None, "the logged score"


def _by_expectation(
    path: Path,
    matrix: Matrix,
    rank: Callable[..., Ingested],
    request: Request,
    about: dict[str, Any],
) -> Ingested:
    """Return the reading of a square matrix that gives the logged scores, the only one of the two."""
    shape = " × ".join(map(str, matrix.shape))
    square = f"{path}: {shape} is square: its shape does not tell whether queries are "
    if request.qrels is None:
        raise UsageError(
            f"{square}rows or columns; give --orientation queries-rows or queries-columns, or "
            "--expect with a logged score (R@1=46.1) and --qrels"
        )
    bare = replace(request, expected=())
    both = {
        name: rank(
            matrix,
            orientation=name,
            request=bare,
            about={**about, "orientation": name, "orientation_from": "the logged score"},
            notes=[],
        )
        for name in ORIENTATIONS
    }
    expected = request.expected or [_R1]
    found = {
        name: found_scores(request.kept.scored(one.run), request.qrels, expected)
        for name, one in both.items()
    }
    words = "; ".join(
        f"{name} gives "
        + ", ".join(f"{e.name} {e.rescaled(v):.4g}" for e, v in zip(expected, values, strict=True))
        for name, values in found.items()
    )
    agreeing = [
        name
        for name, values in found.items()
        if request.expected and all(e.agrees(v) for e, v in zip(expected, values, strict=True))
    ]
    if len(agreeing) == 1:
        result = both[agreeing[0]]
        result.report["reproduced"] = describe_expectations(expected, found[agreeing[0]])
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


def rank_queries(
    path: Path,
    matrix: Matrix,
    queries: list[str],
    docs: list[str],
    orientation: str,
    mask: Array | None,
    request: Request,
    about: dict[str, Any],
    notes: list[str],
) -> Ingested:
    """Return a matrix of known orientation as a run; `path` is what it is called in errors."""
    run_id = request.run_id or path.name.partition(".")[0]
    positives, n_outside = indexed(positive_pairs(request.qrels), queries, docs)
    ranked = rank_matrix(
        matrix,
        orientation=orientation,
        n_queries=len(queries),
        docs=docs,
        depth=request.depth,
        positives=positives,
        others=indexed(request.kept.pairs, queries, docs)[0],
        spare=request.kept.spare,
        mask=mask,
    )
    notes += _allowed(ranked.anomalies, queries, docs, request, path)
    run = run_of_ranked(ranked, run_id, queries, docs, where=str(path))
    run = request.kept.trimmed(run, request.depth, positive_pairs(request.qrels))
    _refuse_empty(run, path)
    if n_outside:
        notes.append(f"{n_outside:,} positives of the qrels have a query or doc that is not among the ids")
    _check_expected(run, request, notes, about, where=str(path))
    about = {**about, "positives_outside": n_outside}
    return _ingested(run, about, ranked.anomalies, notes, request, len(docs))
