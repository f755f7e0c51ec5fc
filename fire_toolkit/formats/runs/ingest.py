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
from fire_toolkit.formats.arrays.matrix import Array, Stored, blocks_of
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.axis_ids import Ids, axes_of, with_ids
from fire_toolkit.formats.runs.candidates import Candidates, candidate_lists, read_candidates
from fire_toolkit.formats.runs.embeddings import COSINE, products
from fire_toolkit.formats.runs.listed import Listed
from fire_toolkit.formats.runs.matrices import Axes, readings_of
from fire_toolkit.formats.runs.named_arrays import Arrays, arrays_in, choose_matrix, vector_names
from fire_toolkit.formats.runs.ranked import (
    QUERIES_ROWS,
    Ranked,
    rank_lists,
    rank_rows,
    run_name,
    run_of_ranked,
)
from fire_toolkit.formats.runs.reader import read_vectors, recognise
from fire_toolkit.formats.runs.score_anomalies import (
    Kept,
    ScoreAnomalies,
    indexed,
    parse_allowances,
    refuse_anomalies,
)
from fire_toolkit.measures.defaults import FIRST
from fire_toolkit.scoring.expect import Expectation, Sense, describe_expectations, found_scores, sense_of
from fire_toolkit.tables import Qrels, Run
from fire_toolkit.words import n_of

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
    query_ids: Ids = None
    doc_ids: Ids = None
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
    reader = recognise(path)
    job = _Job(path, request, {"reader": reader.name, "format": reader.what, "evidence": reader.evidence})
    if request.candidates is not None:
        return job.of_candidates(read_candidates(path), request.candidates)
    if other is not None:
        return job.of_vectors([read_vectors(path), read_vectors(other)], (path, other))
    found = reader.read(path, request.key)
    if isinstance(found, Listed):
        return job.of_lists(with_ids(found, path, (request.query_ids, request.doc_ids)))
    return job.of_arrays(found)


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

    def of_arrays(self, arrays: Arrays) -> Ingested:
        """Return what arrays hold: the vectors of both sides, or the matrix that was asked for."""
        if self.request.key is None and vector_names(arrays) is not None:
            return self.of_vectors([arrays, arrays])
        return self.of_matrix(arrays)

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
        self.about |= {"vectors": names, "similarity": self.request.similarity or COSINE}
        rank = partial(self.request.rank_vectors, queries, docs, self.request.similarity)
        return self.ranked(rank, len(axes[0]), axes)

    def of_matrix(self, arrays: Arrays) -> Ingested:
        """Return the matrix that was asked for, oriented by its shape, a word or a score."""
        path, request = self.path, self.request
        axes, mask = self.axes(arrays.query_ids, arrays.doc_ids), request.mask
        mask = arrays.mask if mask is None else mask
        wanted = request.orientation or arrays.orientation
        name, readings = readings_of(arrays, path, axes, key=request.key, mask=mask, wanted=wanted)
        self.about |= {"array": name, "shape": list(arrays.matrices[name].shape)}
        said = "the shape" if wanted is None else "given" if request.orientation else "said by the file"
        if len(readings) > 1:
            return self.by_expectation(readings, axes)
        ((orientation, values),) = readings.items()
        self.about |= {"orientation": orientation, "orientation_from": said}
        rank = partial(rank_rows, blocks_of(values, str(path), request.on_read), mask=mask)
        return self.ranked(rank, len(values), axes)

    def by_expectation(self, readings: Mapping[str, Array], axes: Axes) -> Ingested:
        """Return the reading of a square matrix that gives the logged scores, the only one of the two."""
        shape, logged, qrels = (
            " × ".join(map(str, self.about["shape"])),
            self.request.expected,
            self.request.qrels,
        )
        square = (
            f"{self.path}: {shape} is square: its shape does not tell whether queries are rows or columns"
        )
        if qrels is None:
            raise UsageError(
                f"{square}; give --orientation queries-rows or queries-columns, or "
                "--expect with a logged score (R@1=46.1) and --qrels"
            )
        agreeing, words = list[Ingested](), list[str]()
        for name, values in readings.items():
            about = {**self.about, "orientation": name, "orientation_from": "the logged score"}
            job = _Job(self.path, replace(self.request, expected=()), about)
            result = job.ranked(partial(rank_rows, blocks_of(values, str(self.path))), len(values), axes)
            found = found_scores(self.request.kept.scored(result.run), qrels, logged or [_R1])
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

    def ranked(self, rank: Callable[..., Ranked], n_rows: int, axes: Axes) -> Ingested:
        """Return rows of queries as a run; rank: as `rank_rows`, which has its rows."""
        (queries, docs), request, where = axes, self.request, str(self.path)
        positives, n_outside = indexed(replace(request.kept, qrels=request.qrels).positives, queries, docs)
        ranked = rank(
            where=where,
            n_rows=n_rows,
            n_queries=len(queries),
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
        self.about["positives_outside"] = n_outside
        return self.finished(run, ranked.anomalies, notes, n_docs=len(docs))

    def of_lists(self, listed: Listed, *, n_docs: int | None = None) -> Ingested:
        """Return the run of ranked lists; n_docs: of how many docs a vector search gave them."""
        request, is_search = self.request, n_docs is not None
        run, anomalies, (queries, docs) = rank_lists(
            listed,
            self.path,
            run_id=request.run_id,
            depth=request.depth,
            kept=replace(request.kept, qrels=request.qrels),
            may_flood=is_search,
        )
        allowed = refuse_anomalies(anomalies, queries, docs, allow=request.allow, where=str(self.path))
        notes = [*allowed, *listed.notes] if is_search else [*listed.notes, *allowed]
        return self.finished(run, anomalies, notes, n_docs=n_docs or len(docs))

    def finished(self, run: Run, anomalies: ScoreAnomalies, notes: list[str], *, n_docs: int) -> Ingested:
        """Return a ranked run without what it need not keep, after a look at the logged scores."""
        request, about = self.request, self.about
        run, n_below = replace(request.kept, qrels=request.qrels).trimmed(run, request.depth)
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
            "queries": len(run["query_id"].cat.categories),
            "docs": len(run["doc_id"].cat.categories),
            "rows": len(run),
            "top": request.depth,
            **n_below,
            **anomalies.counts(),
        }
        sense = None
        if request.qrels is not None:
            sense = sense_of(request.kept.scored(run), request.qrels, n_docs=n_docs)
            about["sense"] = sense.words
        return Ingested(run, about, notes, sense=sense)


def _agree(expected: Sequence[Expectation], found: Sequence[float]) -> bool:
    return all(each.agrees(value) for each, value in zip(expected, found, strict=True))


_IN_MEMORY = Path("run_from_matrix")


def run_from_matrix(
    sims: Any,
    query_ids: Sequence[str],
    doc_ids: Sequence[str],
    run_id: str,
    *,
    depth: int = 100,
    qrels: Qrels | None = None,
    allow: str = "",
) -> Run:
    """Return a matrix of scores as a Run: what `add-run` makes of the same matrix in a file.

    Args:
        sims: queries × docs, the higher the better: an array, a tensor, nested lists; a DataFrame whose
            rows and columns are the ids, or are numbered from 0.
        query_ids: the ids of the rows, in their order; whole numbers become their digits.
        doc_ids: the ids of the columns, in their order.
        run_id: what the run is called.
        depth: how many docs of each query are kept, 1 or more.
        qrels: their positives are kept at any rank, each with its exact rank in the whole row. None: the
            top alone.
        allow: what `add-run --allow` takes: `nan`, `inf`, `flood`, `constant`, `duplicates`, joined by
            commas.

    Returns:
        A Run by query id and rank; equal scores by doc id, descending.

    Raises:
        FormatError: no matrix of numbers, or its shape or labels do not fit the ids, or an id is given twice.
        TableError: an id is invalid, or the scores have anomalies that are not allowed (see `allow`).
        UsageError: `depth` is below 1, or `allow` names nothing known.

    Examples:
        >>> import numpy as np
        >>> sims = np.array([[0.9, 0.1, 0.4], [0.2, 0.2, 0.7]], dtype=np.float32)
        >>> run_from_matrix(sims, ["q1", "q2"], ["a", "b", "c"], "clip", depth=2)
          run_id query_id doc_id  rank  score
        0   clip       q1      a     1    0.9
        1   clip       q1      c     2    0.4
        2   clip       q2      c     1    0.7
        3   clip       q2      b     2    0.2
    """
    if depth < 1:
        raise UsageError(f"run_from_matrix: depth is {depth}, expected 1 or more")
    ids = [id_texts(query_ids, "query_ids"), id_texts(doc_ids, "doc_ids")]
    arrays = arrays_in({"sims": _array(sims)}, _IN_MEMORY)
    for what, labels, own in zip(
        ("row", "column"), sims.axes if isinstance(sims, pd.DataFrame) else (), ids, strict=False
    ):
        is_odd = [str(label) != each for label, each in zip(labels, own, strict=False)]
        if any(is_odd) and not labels.equals(pd.RangeIndex(len(own))):
            place = is_odd.index(True)
            raise FormatError(
                f"run_from_matrix: {what} {place} of sims is {str(labels[place])!r}, but its id is "
                f"{own[place]!r}: give the ids in the order of sims, or sims.to_numpy() if its labels mean "
                "nothing"
            )
    given: Any = {"query_ids": ids[0], "doc_ids": ids[1], "orientation": QUERIES_ROWS}
    request = Request(run_id=run_id, qrels=qrels, depth=depth, allow=parse_allowances(allow), **given)
    try:
        return _Job(_IN_MEMORY, request, {}).of_arrays(arrays).run
    except TableError as error:
        raise TableError(str(error).replace("--allow ", "allow=")) from None


def _array(sims: Any) -> Array:
    if hasattr(sims, "detach"):  # a tensor, on any device
        sims = sims.detach().cpu()
        sims = sims.float() if str(sims.dtype) == "torch.bfloat16" else sims
    try:
        values = np.asarray(sims)
    except (TypeError, ValueError) as error:
        raise FormatError(f"run_from_matrix: sims cannot be read as a matrix ({error})") from None
    return values
