"""The arrays in a file by name: matrices, ids, masks; and the choice of the similarity matrix.

The names are those that retrieval code uses. Other names are ignored.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.runs.matrix import Array, FileMatrix, HeldMatrix, Matrix, held

QUERY_IDS = ("query_ids", "query_id", "queries", "qids", "text_ids", "caption_ids", "sentence_ids")
DOC_IDS = ("doc_ids", "doc_id", "docs", "dids", "item_ids", "video_ids", "vid_ids", "image_ids", "corpus_ids")
MASKS = ("query_masks", "query_mask", "mask", "masks")
ORIENTATION = "orientation"
SIMILARITIES = (
    *("sims", "sim", "sim_matrix", "sims_matrix", "similarity", "similarities", "similarity_matrix"),
    *("scores", "score_matrix", "score_matrix_t2i", "score_t2i", "t2v_sims", "sims_t2v", "t2v", "t2i"),
)
QUERY_VECTORS = (
    *("query_embeddings", "query_embeds", "query_vectors", "text_embeddings", "text_embeds", "text_features"),
    *("txt_embeds", "text_embs", "caption_embeds", "text_feats"),
)
DOC_VECTORS = (
    *("doc_embeddings", "doc_embeds", "doc_vectors", "item_vectors", "video_embeddings", "video_embeds"),
    *("video_features", "vid_embeds", "video_feats", "image_embeddings", "image_embeds", "image_features"),
    *("image_feats", "corpus_embeddings"),
)
_SHOWN = 8


@dataclass(frozen=True)
class Arrays:
    """The arrays of a file: matrices of two or three axes, ids, a mask, and the orientation it declares.

    query_ids, doc_ids: in the order of the axes, None if the file has none; mask: one flag per row, False
    for padding; orientation: `queries-rows` or `queries-columns`, None if the file does not say.
    """

    matrices: dict[str, Matrix]
    query_ids: list[str] | None = None
    doc_ids: list[str] | None = None
    mask: Array | None = None
    orientation: str | None = None


@dataclass
class ArrayCollector:
    """Collects what a reader finds in a file; `arrays` returns it."""

    where: str
    matrices: dict[str, Matrix] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)

    def wants_matrix(self, name: str, n_axes: int, dtype: np.dtype[Any]) -> bool:
        """Whether an array with this name, number of axes and dtype is a matrix."""
        return n_axes in (2, 3) and dtype.kind in "fiu" and not _is_one_of(name, MASKS)

    def wants_values(self, name: str) -> bool:
        """Whether an array with this name holds ids, a mask or the orientation."""
        return _is_one_of(name, (*QUERY_IDS, *DOC_IDS, *MASKS, ORIENTATION))

    def put_tree(self, name: str, value: Any) -> None:
        """Add an array, or the arrays in nested dicts and lists by their path of keys (`test/sims`)."""
        if isinstance(value, dict):
            for key, inner in value.items():
                self.put_tree(f"{name}/{key}" if name else str(key), inner)
        elif isinstance(value, FileMatrix | HeldMatrix):
            self.matrices[name] = value
        elif self.wants_values(name):
            self.values.setdefault(name.rpartition("/")[2].lower(), value)
        elif isinstance(value, np.ndarray) and self.wants_matrix(name, value.ndim, value.dtype):
            self.matrices[name] = held(f"{self.where}: {name}" if name else self.where, value)
        elif isinstance(value, list | tuple) and len(value) <= 64:
            for place, inner in enumerate(value):
                self.put_tree(f"{name}/{place}" if name else str(place), inner)

    def arrays(self) -> Arrays:
        """Return everything that was added.

        Raises:
            FormatError: there is no matrix, or an id is invalid.
        """
        if not self.matrices and self._first(MASKS) is None:
            raise FormatError(
                f"{self.where}: no array of two or three axes; expected sims (queries × docs), "
                "query_ids and doc_ids"
            )
        declared = self._first((ORIENTATION,))
        return Arrays(
            self.matrices,
            self._ids(QUERY_IDS),
            self._ids(DOC_IDS),
            self._mask(),
            None if declared is None else "".join(id_texts([np.asarray(declared).item()], self.where)),
        )

    def _first(self, names: Iterable[str]) -> Any:
        return next((self.values[name] for name in names if name in self.values), None)

    def _ids(self, names: Sequence[str]) -> list[str] | None:
        found = self._first(names)
        return None if found is None else id_texts(found, f"{self.where}: {names[0]}")

    def _mask(self) -> Array | None:
        found = self._first(MASKS)
        if found is None:
            return None
        mask = np.asarray(found)
        if mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
            raise FormatError(f"{self.where}: the mask holds {mask.dtype}, expected 0 and 1 only")
        return mask.reshape(-1).astype(bool)


def _is_one_of(name: str, names: Iterable[str]) -> bool:
    return name.rpartition("/")[2].lower() in names


def choose_matrix(arrays: Arrays, where: str, *, key: str | None, shapes: set[tuple[int, ...]]) -> str:
    """Return the name of the similarity matrix among `arrays`.

    The first of these that exists: `key`; the only matrix; the only one with a usual name for
    similarities; the only one with a shape in `shapes`.

    Raises:
        FormatError: no matrix or several fit; the message lists names and shapes.
    """
    names = list(arrays.matrices)
    if key is not None:
        if key in names:
            return key
        raise FormatError(f"{where}: no array {key!r}; found {described(arrays)}")
    if len(names) == 1:
        return names[0]
    by_name = [name for name in names if _is_one_of(name, SIMILARITIES)]
    by_shape = [name for name in by_name or names if tuple(arrays.matrices[name].shape) in shapes]
    for candidates in (by_name, by_shape):
        if len(candidates) == 1:
            return candidates[0]
    if not names:
        raise FormatError(f"{where}: a mask but no matrix, expected sims (queries × docs)")
    raise FormatError(f"{where}: several arrays; choose one with --key: {described(arrays)}")


def vector_names(arrays: Arrays) -> tuple[str, str] | None:
    """Return the names of the query and doc vectors; None without such a pair, or beside similarities."""
    if any(_is_one_of(name, SIMILARITIES) for name in arrays.matrices):
        return None
    queries, docs = (
        [name for name in arrays.matrices if _is_one_of(name, known)]
        for known in (QUERY_VECTORS, DOC_VECTORS)
    )
    return (queries[0], docs[0]) if len(queries) == len(docs) == 1 else None


def described(arrays: Arrays) -> str:
    """Return names and shapes of the matrices, for messages."""
    shown = [f"{name} ({' × '.join(map(str, m.shape))})" for name, m in arrays.matrices.items()]
    return ", ".join(shown[:_SHOWN]) + (f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else "")
