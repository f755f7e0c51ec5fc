"""What `add-run` is told of a vector search, and what other commands say of runs that came from one."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fire_toolkit.arrays import Ints
from fire_toolkit.cli.common import say
from fire_toolkit.cli.inputs import Inputs
from fire_toolkit.errors import UsageError
from fire_toolkit.formats.arrays.arrays import choose_matrix
from fire_toolkit.formats.runs.matrix import Matrix
from fire_toolkit.formats.runs.readers import read_vectors
from fire_toolkit.formats.runs.recall import Recall, measure_recall

if TYPE_CHECKING:
    from fire_toolkit.cli.given import Given

EXACT = "exact"
_SHOWN_DEPTH = 10
_LOW = 0.2


@dataclass(frozen=True)
class Search:
    """How candidates were found: their scores, the index, and how its recall is to be measured."""

    scores: str | None
    index: str | None
    n_checked: int | None
    queries: str | None
    docs: str | None
    similarity: str | None

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
        of_candidates = {"--index": self.index, "--check-recall": self.n_checked}
        if self.scores is None:
            if given := [option for option, value in of_candidates.items() if value is not None]:
                raise click.UsageError(
                    f"{given[0]} goes with --scores, which says that FILE holds candidates"
                )
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

    def describe(self, path: Path, places: Ints, inputs: Inputs) -> dict[str, Any]:
        """Return the index for a manifest, with its recall where that was measured.

        Raises:
            UsageError: the index is said to be exact and its recall is below 1.
        """
        about: dict[str, Any] = {"name": self.index, "is_exact": self.index == EXACT}
        if self.queries is None or self.docs is None or self.n_checked is None:
            return about
        recall = measure_recall(
            places,
            _vectors(inputs.use(Path(self.queries))),
            _vectors(inputs.use(Path(self.docs))),
            depth=_SHOWN_DEPTH,
            n_queries=self.n_checked,
            similarity=self.similarity,
        )
        say(f"{self.index}: {recall.words}")
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
    return arrays.matrices[choose_matrix(arrays, str(path), key=None, shapes=set())]


def refuse_approximate(given: Given, *, accept: bool) -> None:
    """Raise UsageError for runs that an index found which is not exact, unless the user accepts them."""
    if accept or not (given.stored_runs and given.approximate):
        return
    found = "; ".join(f"{run_id} ({words})" for run_id, words in given.approximate.items())
    raise UsageError(
        f"{found}: an approximate index leaves docs out, so these are scores of the model and the index "
        "together; add --accept-approximate, or search with an exact index"
    )
