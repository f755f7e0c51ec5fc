"""What `add-run` is told of a vector search, and what other commands say of runs that came from one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.cli.common import say
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.arrays.arrays import choose_matrix
from fire_toolkit.formats.runs.candidates import Candidates
from fire_toolkit.formats.runs.ingest import Ingested
from fire_toolkit.formats.runs.matrix import Matrix, by_rows
from fire_toolkit.formats.runs.readers import read_vectors
from fire_toolkit.formats.runs.recall import Recall, measure_recall

if TYPE_CHECKING:
    from fire_toolkit.cli.given import Given

EXACT = "exact"
_SHOWN_DEPTH = 10
_CHECKED = 200  # queries, where an index is made and --check-recall says nothing else
_LOW = 0.2


@dataclass(frozen=True)
class Search:
    """How candidates were found: their scores, the index, and how its recall is to be measured.

    approximate: the share of the nearest docs that an index made here is to find; None for no such index.
    """

    scores: str | None
    index: str | None
    n_checked: int | None
    queries: str | None
    docs: str | None
    similarity: str | None
    approximate: float | None

    def files(self, files: tuple[str, ...], embeddings: bool) -> tuple[tuple[str, ...], bool]:
        """Return FILEs, and whether they are vectors: without any, what --queries-emb and --items-emb name.

        Raises:
            UsageError: there is nothing to read.
        """
        if files and self.scores is None and (self.queries or self.docs):
            raise click.UsageError(
                "--queries-emb and --items-emb are ranked where there is no FILE, and go with --scores where "
                "FILE holds candidates; leave FILE or them out"
            )
        if files:
            return files, embeddings
        if self.scores is None and self.queries is not None and self.docs is not None:
            return (self.queries, self.docs), True
        raise click.UsageError(
            "nothing to read: give FILE, or --queries-emb FILE and --items-emb FILE without --scores, whose "
            "docs are then ranked"
        )

    def check(self, embeddings: bool) -> None:
        """Raise UsageError where the options do not go together."""
        if self.approximate is not None and not embeddings:
            raise click.UsageError("--approximate is for vectors: --queries-emb and --items-emb, no --scores")
        if self.scores is None:
            if self.index is not None or (self.n_checked is not None and self.approximate is None):
                option = "--check-recall" if self.index is None else "--index"
                raise click.UsageError(f"{option} goes with --scores, which says that FILE holds candidates")
            return
        if embeddings:
            raise click.UsageError("--scores and --embeddings are two kinds of FILEs; leave one of them out")
        if self.index is None:
            raise click.UsageError(
                "--scores needs --index: `exact` where every doc was compared (faiss Flat), else the index "
                "in words, such as --index 'faiss IVF256, nprobe 8'"
            )
        checked = (self.n_checked, self.queries, self.docs)
        if any(checked) and not all(checked):
            raise click.UsageError("--check-recall N, --queries-emb FILE and --items-emb FILE go together")

    def of_vectors(
        self, queries: Path, docs: Path
    ) -> tuple[Search, Callable[..., tuple[Candidates, dict[str, Any]]]]:
        """Return the search for docs by an index made here, whose recall is measured, and what finds them."""
        from fire_toolkit.formats.runs.approximate import cost_in_queries, find_nearest

        shapes = [_vectors(path).shape[0] for path in (queries, docs)]
        if shapes[0] < (cost := cost_in_queries(shapes[1])):
            say(
                f"note: an index of {shapes[1]:,} docs costs about as much as comparing {cost:,} queries "
                f"with all of them, and there are {shapes[0]:,}: leave --approximate out for an exact run"
            )
        assert self.approximate is not None
        n_checked = self.n_checked or _CHECKED
        search = replace(self, queries=str(queries), docs=str(docs), n_checked=n_checked)
        return search, partial(find_nearest, target=self.approximate, n_sampled=n_checked)

    def describe(self, path: Path, result: Ingested, inputs: Inputs) -> dict[str, Any]:
        """Return the index for a manifest, with its recall where that was measured.

        Raises:
            UsageError: the index is said to be exact and its recall is below 1.
        """
        own = result.report.get("index", {"name": self.index})
        about: dict[str, Any] = own | {"is_exact": self.index == EXACT}
        if self.queries is None or self.docs is None or self.n_checked is None or result.places is None:
            return about
        recall = measure_recall(
            result.places,
            _vectors(inputs.use(Path(self.queries))),
            _vectors(inputs.use(Path(self.docs))),
            depth=_SHOWN_DEPTH,
            n_queries=self.n_checked,
            similarity=self.similarity,
        )
        say(f"{about['name']}: {recall.words}")
        self._judge(path, recall)
        return about | {"recall": vars(recall) | {"words": recall.words}}

    def _judge(self, path: Path, recall: Recall) -> None:
        if self.index == EXACT and recall.mean < 1:
            raise UsageError(
                f"{path}: {recall.words}, but --index {EXACT} says that every doc was compared; name the "
                "index, or check that the vectors are those that were searched, and --similarity"
            )
        if recall.mean < _LOW:
            say("warning: so low a recall usually means other vectors, ids in another order, or another "
                "--similarity")  # fmt: skip


def _vectors(path: Path) -> Matrix:
    """Return the only matrix of a file."""
    arrays = read_vectors(path)
    return by_rows(arrays.matrices[choose_matrix(arrays, str(path), key=None, shapes=set())])


def refuse_approximate(given: Given, *, accept: bool) -> None:
    """Raise UsageError for runs that an index found which is not exact, unless the user accepts them."""
    if accept or not (given.stored_runs and given.approximate):
        return
    found = "; ".join(f"{run_id} ({words})" for run_id, words in given.approximate.items())
    raise UsageError(
        f"{found}: an approximate index leaves docs out, so these are scores of the model and the index "
        "together; add --accept-approximate, or search with an exact index"
    )
