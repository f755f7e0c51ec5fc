"""What the arrays in a file are, by the names that retrieval code gives them: matrices, ids, masks, vectors.

Other names are ignored.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from fire_toolkit.errors import FormatError
from fire_toolkit.formats.arrays.containers import tree_of
from fire_toolkit.formats.arrays.matrix import Array, is_numbers
from fire_toolkit.formats.arrays.pickles import Name
from fire_toolkit.formats.ids import id_texts
from fire_toolkit.formats.recognised import start_of
from fire_toolkit.words import table_in

NAMES: dict[str, list[str]] = table_in("formats.runs", "named_arrays.toml")
_ROLES = {name: role for role, names in NAMES.items() for name in names}
_BESIDE = ("query_ids", "doc_ids", "mask", "orientation")  # of a matrix, and none themselves
_SHOWN = 8
_MOST_IN_LIST = 64


def role_of(name: str) -> str:
    """Return what an array of this name (or path of keys) is, empty where the name tells nothing.

    Examples:
        >>> role_of("test/Sims"), role_of("caption_ids"), role_of("loss")
        ('similarities', 'query_ids', '')
    """
    return _ROLES.get(name.rpartition("/")[2].lower(), "")


def found_as(role: str, leaves: Mapping[str, Any]) -> Any:
    """Return what a file has in a role, by the first of its names that is there; None without one."""
    last = {str(name).rpartition("/")[2].lower(): name for name in reversed([*leaves])}
    leaf = next((leaves[last[name]] for name in NAMES[role] if name in last), None)
    return leaf() if callable(leaf) else leaf


@dataclass(frozen=True, eq=False)
class Matrix:
    """An array of numbers in a file; who gets it pickled reads it there, once it is used.

    name: its path of keys, empty where the file is the array. held: its values, where they are read.
    """

    path: Path
    name: str
    held: Array | None = None

    @cached_property
    def values(self) -> Array:
        """Return the array."""
        if self.held is not None:
            return self.held
        return arrays_in(tree_of(start_of(self.path)[0], self.path), self.path).matrices[self.name].values

    @property
    def where(self) -> str:
        """Return what it is called in errors."""
        return f"{self.path}: {self.name}" if self.name else str(self.path)

    @property
    def is_mapped(self) -> bool:
        """Return whether it lies in the file as it is, so that reading takes no time."""
        return isinstance(self.values.base, np.memmap)

    def __reduce__(self) -> Any:
        """Return its place."""
        return Matrix, (self.path.absolute(), self.name)


@dataclass(frozen=True)
class Arrays:
    """The arrays of a file: matrices of two or three axes, ids, a mask, and the orientation it declares.

    query_ids, doc_ids: in the order of the axes, None if the file has none; mask: one flag per row, False
    for padding; orientation: `queries-rows` or `queries-columns`, None if the file does not say. lists: what
    a pickle has in the place of arrays, {query: {doc: score}} or {query: [doc, ...]}. texts: lists of text by
    where they stand, which may be ids by another name.
    """

    matrices: dict[str, Matrix]
    query_ids: list[str] | None = None
    doc_ids: list[str] | None = None
    mask: Array | None = None
    orientation: str | None = None
    lists: dict[str, Any] | None = None
    texts: dict[str, list[str]] = field(default_factory=dict)


def arrays_in(tree: Any, path: Path) -> Arrays:
    """Return the arrays in a tree of nested dicts and lists, by their path of keys (`test/sims`).

    Raises:
        FormatError: there is no matrix, or one is damaged, or an id is invalid.
    """
    leaves = dict(leaves_of(tree))
    arrays = {name: own for name, own in leaves.items() if isinstance(own, np.ndarray | Name | partial)}
    if isinstance(tree, dict) and not arrays and all(isinstance(docs, dict | list) for docs in tree.values()):
        return Arrays({}, lists=tree)
    matrices = {
        name: Matrix(path, name, own)
        for name, own in arrays.items()
        if isinstance(own, np.ndarray) and own.ndim in (2, 3) and is_numbers(own) and role_of(name) != "mask"
    }
    queries, docs, mask, declared = (found_as(role, leaves) for role in _BESIDE)
    if not matrices and mask is None:
        kinds = {
            name[:60]: f"{own.dtype} of shape {own.shape}" if isinstance(own, np.ndarray) else own
            for name, own in [*arrays.items()][:_SHOWN]
        }
        shown = [f"{name} ({'objects' if callable(kind) else kind})".strip() for name, kind in kinds.items()]
        raise FormatError(
            f"{path}: no array of numbers with two or three axes{': ' * bool(shown)}{'; '.join(shown)}; "
            "expected sims (queries × docs), query_ids and doc_ids"
        )
    return Arrays(
        matrices,
        None if queries is None else id_texts(queries, f"{path}: query_ids"),
        None if docs is None else id_texts(docs, f"{path}: doc_ids"),
        None if mask is None else as_mask(mask, f"{path}: the mask"),
        None if declared is None else "".join(id_texts([np.asarray(declared).item()], str(path))),
        texts={f"{path}: {name}": _texts(leaf) for name, leaf in leaves.items() if not role_of(name)},
    )


def _texts(leaf: Any) -> list[str]:
    """Return a list of text, empty for anything else."""
    if callable(leaf):  # objects, which need not be read
        with suppress(FormatError):
            leaf = leaf()
    values = leaf.tolist() if isinstance(leaf, np.ndarray) and leaf.ndim == 1 else leaf
    return [*values] if isinstance(values, list | tuple) and {*map(type, values)} == {str} else []


def leaves_of(value: Any, name: str = "") -> Iterator[tuple[str, Any]]:
    """Yield arrays and lists of ids by their path of keys."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves_of(inner, f"{name}/{key}" if name else str(key))
    elif isinstance(value, list | tuple) and role_of(name) not in _BESIDE and not _texts(value):
        for place, inner in enumerate(value if len(value) <= _MOST_IN_LIST else ()):
            yield from leaves_of(inner, f"{name}/{place}" if name else str(place))
    else:
        yield name, value


def as_mask(values: Any, where: str) -> Array:
    """Return an array of 0 and 1 as flags, one a row; two axes are read row by row.

    Raises:
        FormatError: it holds anything else.
    """
    try:
        mask = np.asarray(values)
    except ValueError:
        raise FormatError(f"{where}: rows of different lengths, expected an array of 0 and 1") from None
    if not mask.size or mask.dtype.kind not in "biuf" or not np.isin(mask, (0, 1)).all():
        raise FormatError(f"{where}: empty, or has values other than 0 and 1, expected a mask")
    return np.asarray(mask.reshape(-1).astype(bool))


def choose_matrix(arrays: Arrays, where: str, *, key: str | None, shapes: set[tuple[int, ...]]) -> str:
    """Return the name of the similarity matrix among `arrays`.

    The first of these that exists: `key`; the only matrix; the only one with a usual name for
    similarities, if no other has its shape, either way round; the only one with a shape in `shapes`.

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
    by_name = [name for name in names if role_of(name) == "similarities"]
    by_shape = [name for name in by_name or names if arrays.matrices[name].values.shape in shapes]
    for candidates in (by_name, by_shape):
        if len(candidates) == 1:
            shape = arrays.matrices[candidates[0]].values.shape
            rivals = [name for name in names if not role_of(name).endswith("_vectors")]
            if sum(arrays.matrices[name].values.shape in (shape, shape[::-1]) for name in rivals) == 1:
                return candidates[0]
    if not names:
        raise FormatError(f"{where}: a mask but no matrix, expected sims (queries × docs)")
    if vector_names(arrays) is not None:
        raise FormatError(f"{where}: vectors; rank them with `add-run --similarity`: {described(arrays)}")
    raise FormatError(
        f"{where}: choose an array with `add-run --key`, a search's with --scores: {described(arrays)}"
    )


def vector_names(arrays: Arrays) -> tuple[str, str] | None:
    """Return the names of the query and doc vectors; None without such a pair, or beside similarities."""
    roles = {name: role_of(name) for name in arrays.matrices}
    pair = [[name for name in roles if roles[name] == role] for role in ("query_vectors", "doc_vectors")]
    is_pair = [*map(len, pair)] == [1, 1] and "similarities" not in roles.values()
    return (pair[0][0], pair[1][0]) if is_pair else None


def described(arrays: Arrays) -> str:
    """Return names and shapes of the matrices, for messages."""
    shown = [f"{name} ({' × '.join(map(str, m.values.shape))})" for name, m in arrays.matrices.items()]
    return ", ".join(shown[:_SHOWN]) + (f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else "")
