"""The keys of pairs, which reveal nothing: two ids to a key, and keys to ids, many at once."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Bools
from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.tables.columns import Texts, arrow_text, bytes_of

_SEPARATOR = "\x1f"
_READABLE = "|"
_CHECK_BYTES = 6
_KEY = re.compile("[A-Za-z0-9_-]+")


def pair_id(query_id: str, doc_id: str) -> str:
    """Return the key of a pair: letters, digits, `-` and `_`, from which `split_pair_id` reads both ids.

    Annotators can see every key of a task's data, and a query id often holds the id of the original
    item. So the key looks like noise: equal ids and shared prefixes cannot be recognised in it. This
    blinds a reader; it does not encrypt: anyone with this function can undo it. The length tells how
    long the two ids are together.

    Form: base64url without padding of check + body; check = the first 6 bytes of the sha256 of
    the payload (both ids as UTF-8 with U+001F between); body = the payload XOR sha256(check + 0),
    sha256(check + 1), ... (the counter as 4 bytes, big endian).

    Raises:
        TableError: an id is empty or holds U+001F or a lone surrogate.

    Examples:
        >>> pair_id("video1", "video1")
        'YVaoCvtLu4qPheQElUooXI4l8w'
        >>> split_pair_id(pair_id("q:1|x", "007"))
        ('q:1|x', '007')
    """
    if not query_id or not doc_id or _SEPARATOR in query_id + doc_id:
        raise TableError(f"pair of {query_id!r} and {doc_id!r}: an id is empty or holds a control character")
    try:
        return pair_ids([query_id], [doc_id])[0]
    except UnicodeEncodeError:
        raise TableError(f"pair of {query_id!r} and {doc_id!r}: an id is not valid Unicode") from None


def split_pair_id(token: str) -> tuple[str, str]:
    """Return query id and doc id of a key made by `pair_id`, or written by hand as `query|doc`.

    A key may stand behind the apostrophe that keeps it from being a formula in a spreadsheet.

    Raises:
        FormatError: no such key: changed, cut short, foreign, or with more than one `|`.

    Examples:
        >>> split_pair_id("q1|video7")
        ('q1', 'video7')
    """
    if _READABLE in token:
        query_id, _, doc_id = token.partition(_READABLE)
        if not query_id or not doc_id or _READABLE in doc_id:
            raise FormatError(f"pair_id {token!r}: expected query|doc with exactly one '|' between two ids")
        return query_id, doc_id
    found = split_pair_ids([token.removeprefix("'")])
    for ids in found.values():
        return ids
    raise FormatError(
        f"pair_id {token!r} is damaged or was made by another tool; expected a key as in the tasks that "
        "were written, or query|doc"
    )


def pair_ids(query_ids: Any, doc_ids: Any) -> pd.Index[str]:
    """Return the key of each pair as `pair_id` makes it; keys of one length are masked and spelled at once.

    Args:
        query_ids, doc_ids: lists or columns of ids as tables hold them (not empty, no control characters), of
            equal number.
    """
    ids = (arrow_text(getattr(each, "array", each)) for each in (query_ids, doc_ids))
    payloads = compute.binary_join_element_wise(*ids, pa.scalar(_SEPARATOR, pa.large_string()))
    lengths = np.asarray(compute.binary_length(payloads))
    order = np.argsort(lengths, kind="stable")
    by_length = payloads.take(pa.array(order))
    keys, start = [pa.array([], pa.large_string())], 0
    for length, n_rows in zip(*np.unique(lengths, return_counts=True), strict=True):
        keys.append(_keys_of_length(bytes_of(by_length.slice(start, n_rows)), int(length)))
        start += n_rows
    places = np.empty(len(order), dtype=np.int64)
    places[order] = np.arange(len(order))
    found: pd.Index[str] = pd.Index(pd.array(pa.concat_arrays(keys).take(pa.array(places)), dtype="str"))
    return found


def split_pair_ids(tokens: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return query id and doc id of the tokens that `pair_id` made; what else there is is left out."""
    distinct = list(dict.fromkeys(tokens))
    ids = (each.to_pylist() for each in pairs_of_keys(distinct))
    found = zip(distinct, zip(*ids, strict=True), strict=True)
    return {token: pair for token, pair in found if pair[0] is not None}


def ids_of_keys(tokens: Sequence[str]) -> list[Texts]:
    """Return the query id and the doc id of each token, as `split_pair_id` reads it; empty of an empty one.

    Raises:
        FormatError: as `split_pair_id`.
    """
    queries, docs = pairs_of_keys(tokens)
    rows = np.flatnonzero(np.asarray(queries.is_null())).tolist()
    if not rows:
        return [queries, docs]
    columns = [each.to_pylist() for each in (queries, docs)]
    for row in rows:
        columns[0][row], columns[1][row] = split_pair_id(tokens[row]) if tokens[row] else ("", "")
    return [pa.array(each, pa.large_string()) for each in columns]


def pairs_of_keys(tokens: Sequence[str]) -> tuple[Texts, Texts]:
    """Return the query id and the doc id of each token, missing where `pair_id` did not make it.

    Keys of one length are read at once.
    """
    lengths = np.fromiter(map(len, tokens), dtype=np.int64, count=len(tokens))
    nothing = pa.array([], pa.large_string())
    places, parts = [], [(nothing, nothing)]
    for length in np.unique(lengths).tolist():
        own = np.flatnonzero(lengths == length)
        same = [tokens[place] for place in own.tolist()] if len(own) < len(tokens) else tokens
        if not _KEY.fullmatch("".join(same)):
            is_key = np.array([_KEY.fullmatch(token) is not None for token in same])
            own, same = own[is_key], [tokens[place] for place in own[is_key].tolist()]
        is_made, *ids = _split_of_length(same, length)
        places.append(own[is_made])
        parts.append(tuple(ids))
    order = np.full(len(tokens), -1, dtype=np.int64)
    made = np.concatenate([*places, np.empty(0, dtype=np.int64)])
    order[made] = np.arange(len(made))
    at = pa.array(order, mask=order < 0)
    queries, docs = (pa.concat_arrays(each).take(at) for each in zip(*parts, strict=True))
    return queries, docs


def _keys_of_length(payloads: bytes, length: int) -> pa.Array:
    """Return the keys of payloads of one length, which lie one after the other."""
    starts = range(0, len(payloads), length)
    checks = [sha256(payloads[start : start + length]).digest()[:_CHECK_BYTES] for start in starts]
    text = np.frombuffer(payloads, dtype=np.uint8).reshape(-1, length)
    check = np.frombuffer(b"".join(checks), dtype=np.uint8).reshape(-1, _CHECK_BYTES)
    n_pad = -(_CHECK_BYTES + length) % 3
    padding = np.zeros((len(text), n_pad), dtype=np.uint8)
    spelled = base64.urlsafe_b64encode(np.hstack([check, text ^ _streams(checks, length), padding]).tobytes())
    width = len(spelled) // len(text) - n_pad
    letters = np.frombuffer(spelled, dtype=np.uint8).reshape(len(text), width + n_pad)[:, :width]
    ends = np.arange(len(text) + 1) * width
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(letters.tobytes())]
    return pa.Array.from_buffers(pa.large_string(), len(text), buffers)


def _split_of_length(tokens: Sequence[str], n_letters: int) -> tuple[Bools, Texts, Texts]:
    """Return which tokens, all of so many letters, are keys; and of these the query ids and the doc ids."""
    n_bytes, pad, nothing = n_letters * 3 // 4, "A" * (-n_letters % 4), pa.array([], pa.large_string())
    length = n_bytes - _CHECK_BYTES
    if not tokens or length < 1 or len(pad) == 3:
        return np.zeros(len(tokens), dtype=bool), nothing, nothing
    raw = base64.urlsafe_b64decode(pad.join(tokens) + pad)
    width = len(raw) // len(tokens)
    mixed = np.frombuffer(raw, dtype=np.uint8).reshape(len(tokens), width)
    checks = [raw[start : start + _CHECK_BYTES] for start in range(0, len(raw), width)]
    text = mixed[:, _CHECK_BYTES:n_bytes] ^ _streams(checks, length)
    joined, is_between = text.tobytes(), text == ord(_SEPARATOR)
    is_made = (mixed[:, n_bytes:] == 0).all(axis=1) & (is_between.sum(axis=1) == 1)
    is_made &= ~is_between[:, 0] & ~is_between[:, -1]
    digests = [
        sha256(joined[at : at + length]).digest()[:_CHECK_BYTES] for at in range(0, len(joined), length)
    ]
    is_made &= np.array([own == check for own, check in zip(digests, checks, strict=True)])
    rows = text[is_made]
    bounds = [None, pa.py_buffer(np.arange(len(rows) + 1) * length), pa.py_buffer(rows.tobytes())]
    payloads = pa.Array.from_buffers(pa.large_binary(), len(rows), bounds)
    try:
        payloads = payloads.cast(pa.large_string())
    except pa.ArrowInvalid:  # bytes that are no text, with a check of their own
        is_text = np.array([row.tobytes().decode(errors="ignore").encode() == row.tobytes() for row in rows])
        is_made[is_made] = is_text
        payloads = payloads.filter(pa.array(is_text)).cast(pa.large_string())
    ids = compute.split_pattern(payloads, _SEPARATOR).flatten()
    queries, docs = (ids.take(pa.array(np.arange(first, len(ids), 2))) for first in (0, 1))
    return is_made, queries, docs


def _streams(checks: Sequence[bytes], length: int) -> npt.NDArray[np.uint8]:
    """Return the key streams that the checks start: a row of `length` bytes for each."""
    counters = [block.to_bytes(4, "big") for block in range(-(-length // sha256().digest_size))]
    streams = [b"".join([sha256(check + counter).digest() for check in checks]) for counter in counters]
    rows = [np.frombuffer(part, dtype=np.uint8).reshape(len(checks), -1) for part in streams]
    return np.hstack(rows)[:, :length]
