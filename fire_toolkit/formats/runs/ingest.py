"""Predictions in any format to a checked Run: recognised, oriented, ranked; anomalies are refused."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from fire_toolkit.errors import FormatError, TableError, UsageError
from fire_toolkit.formats.arrays.matrix import Array, Stored, blocks_of
from fire_toolkit.formats.runs.axis_ids import IdFile, axes_of
from fire_toolkit.formats.runs.candidates import Candidates, candidate_lists, read_candidates
from fire_toolkit.formats.runs.embeddings import COSINE, products
from fire_toolkit.formats.runs.json_runs import with_ids
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.matrices import Axes, readings_of
from fire_toolkit.formats.runs.named_arrays import Arrays, choose_matrix, described, vector_names
from fire_toolkit.formats.runs.ranked import (
    QUERIES_COLUMNS,
    QUERIES_ROWS,
    Ranked,
    ids_of,
    rank_lists,
    rank_rows,
    run_name,
    run_of_ranked,
)
from fire_toolkit.formats.runs.readers import lists_in, read_vectors, recognise
from fire_toolkit.formats.runs.score_anomalies import (
    Kept,
    ScoreAnomalies,
    indexed,
    positive_pairs,
    refuse_anomalies,
)
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.scoring.expect import Expectation, describe_expectations, found_scores
from fire_toolkit.scoring.sense import Sense, sense_of
from fire_toolkit.tables import Qrels, Run

_R1 = Expectation("R@1", FIRST, 0.0, 0.05, is_percent=True)


def rank_vectors(left: Stored, right: Stored, similarity: str | None, **settings: Any) -> Ranked:
    """Return each query's docs by their `products`, ranked by `rank_rows`, whose settings these are."""
    return rank_rows(products(left, right, similarity), **settings)


@dataclass(frozen=True)
class Request:
    """How predictions are to be read.

    run_id: the run's id, by default the file's. key: the array or part to read. query_ids, doc_ids:
    the ids of a matrix's axes, or of places.
    orientation: `queries-rows` or `queries-columns`. expected: logged scores that the run must give by
    `qrels`. depth: how many docs of a query are kept; positives of `qrels` are kept at any rank, and what
    `kept` names.
    allow: see `score_anomalies`. similarity: `dot`, `cosine` or `l2`, of vectors. mask: one flag a row, False
    for padding. candidates: `similarity` or `distance`: the file holds what vector search gives, and these
    are its scores. on_read: called with the number of bytes of each block. rank_vectors: what ranks them.
    """

    run_id: str | None = None
    key: str | None = None
    query_ids: Sequence[str] | IdFile | None = None
    doc_ids: Sequence[str] | IdFile | None = None
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
    rank_vectors: Callable[..., Ranked] = rank_vectors


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
    job = _Job(path, request, {"reader": reader.name, "format": reader.what, "evidence": reader.evidence})
    if request.candidates is not None:
        return job.of_candidates(read_candidates(path), request.candidates)
    if other is not None:
        return job.of_vectors([read_vectors(path), read_vectors(other)], (path, other))
    if (lists := lists_in(reader, path, request.key)) is not None:
        return job.of_lists(with_ids(lists, path, request.query_ids, request.doc_ids, is_needed=True))
    if reader.read_arrays is None:
        raise FormatError(f"{path}: {reader.what} holds no predictions")
    return ingest_arrays(reader.read_arrays(path), path, request, job.about)


def ingest_arrays(
    arrays: Arrays, path: Path, request: Request, about: Mapping[str, Any] | None = None
) -> Ingested:
    """Return the run in arrays, a matrix or vectors of both sides; as for `ingest`, which says `about` first.

    `path` is what they are called in errors.
    """
    job = _Job(path, request, dict(about or {}))
    if request.key is None and vector_names(arrays) is not None:
        return job.of_vectors([arrays, arrays])
    return job.of_matrix(arrays)


@dataclass
class _Job:
    """What is read, how, and what is said of it in the report."""

    path: Path
    request: Request
    about: dict[str, Any]

    def axes(self, *own: Sequence[str] | None) -> Axes:
        """Return the ids of queries and docs; own: those in the file."""
        return axes_of(self.path, own, (self.request.query_ids, self.request.doc_ids))

    def of_candidates(self, found: Candidates, kind: str) -> Ingested:
        """Return what vector search gave; the depth is at most the length of its lists."""
        queries, docs = self.axes(found.query_ids, found.doc_ids)
        length = found.places.shape[1]
        self.request = replace(self.request, depth=min(self.request.depth, length))
        listed, counts = candidate_lists(found, queries, docs, kind=kind, depth=self.request.depth)
        self.about |= {"scores": kind, "candidates": length, **counts}
        return self.of_lists(listed, n_docs=len(docs))

    def of_vectors(self, arrays: Sequence[Arrays], files: Sequence[Path] = ()) -> Ingested:
        """Return the products of query vectors and doc vectors; files: where there is one for each side."""
        sides = zip(arrays, files, strict=bool(files))
        names = [choose_matrix(own, str(file), key=None, shapes=set()) for own, file in sides]
        names = names or list(vector_names(arrays[0]) or ())
        axes = self.axes(arrays[0].query_ids, arrays[1].doc_ids)
        queries, docs = (own.matrices[name] for own, name in zip(arrays, names, strict=True))
        if (queries.shape[0], docs.shape[0]) != (len(axes[0]), len(axes[1])):
            raise FormatError(
                f"{self.path}: vectors of shape {queries.shape} and {docs.shape}, but "
                f"{len(axes[0])} query ids and {len(axes[1])} doc ids; expected query vectors, then doc "
                "vectors, one for each id"
            )
        self.request = replace(self.request, mask=None)
        self.about |= {"vectors": list(names), "similarity": self.request.similarity or COSINE}
        rank = partial(self.request.rank_vectors, queries, docs, self.request.similarity)
        return self.ranked(rank, len(axes[0]), axes)

    def of_matrix(self, arrays: Arrays) -> Ingested:
        """Return the matrix that was asked for, oriented by its shape, a word or a score."""
        path, request = self.path, self.request
        axes, mask = self.axes(arrays.query_ids, arrays.doc_ids), request.mask
        mask = arrays.mask if mask is None else mask
        self.request = replace(request, mask=mask)
        name, readings = readings_of(arrays, path, axes, key=request.key, mask=mask)
        self.about |= {"array": name, "shape": list(arrays.matrices[name].shape)}
        if others := {other: own for other, own in arrays.matrices.items() if other != name}:
            self.about["other_arrays"] = described(replace(arrays, matrices=others))
        wanted = request.orientation or arrays.orientation
        if wanted is not None and wanted not in readings:
            problem = f"{wanted}, but the shape fits {next(iter(readings))} only"
            if wanted not in (QUERIES_ROWS, QUERIES_COLUMNS):
                problem = f"{wanted!r}, expected one of {QUERIES_ROWS}, {QUERIES_COLUMNS}"
            raise FormatError(f"{path}: orientation {problem}")
        if wanted is None and len(readings) > 1:
            return self.by_expectation(readings, axes)
        said = "the shape" if wanted is None else "given" if request.orientation else "said by the file"
        chosen = wanted or next(iter(readings))
        self.about |= {"orientation": chosen, "orientation_from": said}
        values = readings[chosen]
        try:
            rank = partial(rank_rows, blocks_of(values, str(path), request.on_read))
            return self.ranked(rank, len(values), axes)
        except UsageError as error:
            if len(readings) < 2 or not request.expected or request.qrels is None:
                raise
            other = next(name for name in readings if name != chosen)
            found = self.read_as(other, readings[other], axes)[1]
            words = describe_expectations(request.expected, found)
            raise UsageError(f"{error}; read as {other} it gives {words}") from None

    def by_expectation(self, readings: Mapping[str, Array], axes: Axes) -> Ingested:
        """Return the reading of a square matrix that gives the logged scores, the only one of the two."""
        shape, logged = " × ".join(map(str, self.about["shape"])), self.request.expected
        square = (
            f"{self.path}: {shape} is square: its shape does not tell whether queries are rows or columns"
        )
        if self.request.qrels is None:
            raise UsageError(
                f"{square}; give --orientation queries-rows or queries-columns, or "
                "--expect with a logged score (R@1=46.1) and --qrels"
            )
        both = {name: self.read_as(name, values, axes) for name, values in readings.items()}
        words = "; ".join(
            f"{name} gives "
            + ", ".join(f"{e.name} {e.rescaled(v):.4g}" for e, v in zip(logged or [_R1], found, strict=True))
            for name, (_, found) in both.items()
        )
        agreeing = [result for result, found in both.values() if logged and _agree(logged, found)]
        if len(agreeing) == 1:
            agreeing[0].notes.append(f"the logged score is reproduced by one reading: {words}")
            return agreeing[0]
        problem = f"{words}; give --orientation, or --expect with the score that the model's log printed"
        if logged:
            which = "both readings give" if agreeing else "neither reading gives"
            problem = (
                f"{which} {', '.join(f'{e.name}={e.value:g}' for e in logged)}: {words}; check the ids' "
                "order, the split and the checkpoint, or give another logged score"
            )
        raise UsageError(f"{square}: {problem}")

    def read_as(self, orientation: str, values: Array, axes: Axes) -> tuple[Ingested, list[float]]:
        """Return one reading of a matrix, and its scores by the measures expected (R@1 where none is)."""
        expected, qrels = self.request.expected, self.request.qrels
        about = {**self.about, "orientation": orientation, "orientation_from": "the logged score"}
        job = _Job(self.path, replace(self.request, expected=()), about)
        result = job.ranked(partial(rank_rows, blocks_of(values, str(self.path))), len(values), axes)
        assert qrels is not None
        found = found_scores(self.request.kept.scored(result.run), qrels, expected or [_R1])
        if expected:
            result.report["reproduced"] = describe_expectations(expected, found)
        return result, found

    def ranked(self, rank: Callable[..., Ranked], n_rows: int, axes: Axes) -> Ingested:
        """Return rows of queries as a run; rank: as `rank_rows`, which has its rows."""
        (queries, docs), request, where = axes, self.request, str(self.path)
        positives, n_outside = indexed(positive_pairs(request.qrels), queries, docs)
        ranked = rank(
            where=where,
            n_rows=n_rows,
            n_queries=len(queries),
            mask=request.mask,
            docs=docs,
            depth=request.depth,
            positives=positives,
            others=indexed(request.kept.pairs, queries, docs)[0],
            spare=request.kept.spare,
        )
        notes = refuse_anomalies(ranked.anomalies, queries, docs, allow=request.allow, where=where)
        if n_outside:
            notes += [f"{n_outside:,} positives of the qrels have a query or doc that is not among the ids"]
        run = run_of_ranked(ranked, run_name(self.path, request.run_id), queries, docs, where=where)
        return self.finished(run, ranked.anomalies, notes, n_docs=len(docs), positives_outside=n_outside)

    def of_lists(self, listed: Listed, *, n_docs: int | None = None) -> Ingested:
        """Return the run of ranked lists; n_docs: of how many docs a vector search gave them."""
        request, is_search = self.request, n_docs is not None
        run, anomalies = rank_lists(
            listed,
            self.path,
            run_id=request.run_id,
            depth=request.depth,
            positives=positive_pairs(request.qrels),
            others=request.kept.pairs,
            spare=request.kept.spare,
            may_flood=is_search,
        )
        queries, docs = ids_of(listed)
        allowed = refuse_anomalies(anomalies, queries, docs, allow=request.allow, where=str(self.path))
        notes = [*allowed, *listed.notes] if is_search else [*listed.notes, *allowed]
        return self.finished(run, anomalies, notes, n_docs=n_docs or len(docs))

    def finished(
        self, run: Run, anomalies: ScoreAnomalies, notes: list[str], *, n_docs: int, **more: int
    ) -> Ingested:
        """Return a ranked run without what it need not keep, after a look at the logged scores."""
        request, about = self.request, self.about
        positives = positive_pairs(request.qrels)
        run = request.kept.trimmed(run, request.depth, positives)
        if run.empty:
            raise TableError(f"{self.path}: no pair of a query and a doc has a score, expected at least one")
        if request.expected and request.qrels is None:
            raise UsageError("--expect needs qrels: give --qrels, or a workspace that has them")
        if request.expected and request.qrels is not None:
            found = found_scores(request.kept.scored(run), request.qrels, request.expected)
            words = describe_expectations(request.expected, found)
            if not _agree(request.expected, found):
                raise UsageError(
                    f"{self.path}: does not give the logged score: {words}; check the ids' order, the test "
                    "split and the checkpoint before anything is relabelled"
                )
            notes = [*notes, f"the logged score is reproduced: {words}"]
            about["reproduced"] = words
        about |= {
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
            about["sense"] = sense.words
        return Ingested(run, about, notes, sense=sense)


def _agree(expected: Sequence[Expectation], found: Sequence[float]) -> bool:
    return all(each.agrees(value) for each, value in zip(expected, found, strict=True))
