"""The keys of pairs, which reveal nothing: two ids to a key, and keys to ids."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import Any

import pandas as pd
import pyarrow as pa

from fire_toolkit.errors import FormatError, TableError
from fire_toolkit.tables.columns import Texts

_SEPARATOR = "\x1f"
_READABLE = "|"
_CHECK_BYTES, _BLOCK_BYTES = 6, 32  # of a sha256


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
        return _key_of(query_id, doc_id)
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
    if ids := _ids_in(token.removeprefix("'")):
        return ids
    raise FormatError(
        f"pair_id {token!r} is damaged or was made by another tool; expected a key as in the tasks that "
        "were written, or query|doc"
    )


def pair_ids(query_ids: Any, doc_ids: Any) -> pd.Index[str]:
    """Return the key of each pair as `pair_id` makes it.

    Args:
        query_ids, doc_ids: lists or columns of ids as tables hold them (not empty, no control characters), of
            equal number.
    """
    return pd.Index(list(map(_key_of, query_ids, doc_ids)), dtype="str")


def split_pair_ids(tokens: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return query id and doc id of the tokens that `pair_id` made; what else there is is left out."""
    return {token: ids for token in dict.fromkeys(tokens) if (ids := _ids_in(token))}


def ids_of_keys(tokens: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the query id and the doc id of each token, as `split_pair_id` reads it; empty of an empty one.

    Raises:
        FormatError: as `split_pair_id`.
    """
    pairs = [split_pair_id(token) if token else ("", "") for token in tokens]
    return [query_id for query_id, _ in pairs], [doc_id for _, doc_id in pairs]


def pairs_of_keys(tokens: Sequence[str]) -> list[Texts]:
    """Return the query id and the doc id of each token, missing where `pair_id` did not make it."""
    pairs = [_ids_in(token) or (None, None) for token in tokens]
    return [pa.array([pair[place] for pair in pairs], pa.large_string()) for place in (0, 1)]


def _key_of(query_id: str, doc_id: str) -> str:
    payload = f"{query_id}{_SEPARATOR}{doc_id}".encode()
    check = sha256(payload).digest()[:_CHECK_BYTES]
    return _spelled(check + _masked(payload, check))


def _ids_in(token: str) -> tuple[str, str] | None:
    """Return query id and doc id of a key that `pair_id` made; None of any other text."""
    try:
        raw = urlsafe_b64decode(token + "=" * (-len(token) % 4))
        check = raw[:_CHECK_BYTES]
        payload = _masked(raw[_CHECK_BYTES:], check)
        query_id, doc_id = payload.decode().split(_SEPARATOR)
    except ValueError:  # other letters, no text, or not two ids
        return None
    is_made = sha256(payload).digest()[:_CHECK_BYTES] == check and _spelled(raw) == token
    return (query_id, doc_id) if is_made and query_id and doc_id else None


def _spelled(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _masked(text: bytes, check: bytes) -> bytes:
    """Return bytes XOR the key stream that a check starts; done twice, they are what they were."""
    n_blocks = -(-len(text) // _BLOCK_BYTES)
    stream = b"".join([sha256(check + block.to_bytes(4, "big")).digest() for block in range(n_blocks)])
    mask = int.from_bytes(stream[: len(text)], "big")
    return (int.from_bytes(text, "big") ^ mask).to_bytes(len(text), "big")
