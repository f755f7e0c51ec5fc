"""The keys of pairs, which reveal nothing: two ids to a key, many at once, and a key to ids."""

from __future__ import annotations

import base64
from binascii import a2b_base64
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.tables.columns import arrow_text, bytes_of

_SEPARATOR = "\x1f"
_READABLE = "|"
_CHECK_BYTES = 6
_PLAIN = bytes.maketrans(b"-_+/=", b"+/!!!")  # letters of a key as base64 has them; what is none is refused
_LAST = ("", "", "AQgw", "AEIMQUYcgkosw048")  # by length: what can end a key, with no bit beyond its bytes


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
    if ids := read_key(token.removeprefix("'")):
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


@lru_cache(2**12)  # where a page of answers comes in, each key is read three times
def read_key(token: str) -> tuple[str, str] | None:
    """Return query id and doc id of a key that `pair_id` made; None of any other text."""
    n_over = len(token) % 4
    try:
        raw = a2b_base64(token.encode().translate(_PLAIN) + b"=" * (-n_over % 4), strict_mode=True)
        check, n_bytes = raw[:_CHECK_BYTES], len(raw) - _CHECK_BYTES
        stream, n_blocks = b"", 0
        while len(stream) < n_bytes:
            stream += sha256(check + n_blocks.to_bytes(4, "big")).digest()
            n_blocks += 1
        mask = int.from_bytes(stream[:n_bytes], "big")
        payload = (int.from_bytes(raw[_CHECK_BYTES:], "big") ^ mask).to_bytes(n_bytes, "big")
        query_id, doc_id = payload.decode().split(_SEPARATOR)
    except (ValueError, OverflowError):  # other letters, too few, no text, or not two ids
        return None
    is_made = sha256(payload).digest()[:_CHECK_BYTES] == check and (not n_over or token[-1] in _LAST[n_over])
    return (query_id, doc_id) if is_made and query_id and doc_id else None


def ids_of_keys(tokens: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the query id and the doc id of each token, as `split_pair_id` reads it; empty of an empty one.

    Raises:
        FormatError: as `split_pair_id`.
    """
    pairs = [split_pair_id(token) if token else ("", "") for token in tokens]
    return [query_id for query_id, _ in pairs], [doc_id for _, doc_id in pairs]


def _keys_of_length(payloads: bytes, length: int) -> pa.Array:
    """Return the keys of payloads of one length, which lie one after the other."""
    starts = range(0, len(payloads), length)
    checks = [sha256(payloads[start : start + length]).digest()[:_CHECK_BYTES] for start in starts]
    text = np.frombuffer(payloads, dtype=np.uint8).reshape(-1, length)
    check = np.frombuffer(b"".join(checks), dtype=np.uint8).reshape(-1, _CHECK_BYTES)
    n_pad = -(_CHECK_BYTES + length) % 3
    padding = np.zeros((len(text), n_pad), dtype=np.uint8)
    counters = [block.to_bytes(4, "big") for block in range(-(-length // sha256().digest_size))]
    streams = [b"".join([sha256(check + counter).digest() for check in checks]) for counter in counters]
    rows = [np.frombuffer(part, dtype=np.uint8).reshape(len(checks), -1) for part in streams]
    masked = text ^ np.hstack(rows)[:, :length]
    spelled = base64.urlsafe_b64encode(np.hstack([check, masked, padding]).tobytes())
    width = len(spelled) // len(text) - n_pad
    letters = np.frombuffer(spelled, dtype=np.uint8).reshape(len(text), width + n_pad)[:, :width]
    ends = np.arange(len(text) + 1) * width
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(letters.tobytes())]
    return pa.Array.from_buffers(pa.large_string(), len(text), buffers)
