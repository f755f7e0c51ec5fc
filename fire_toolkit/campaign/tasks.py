"""Pool to tasks: what annotators are asked, in random order and under keys that reveal nothing."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from hashlib import sha256
from typing import Any
from urllib.parse import quote

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from pyarrow import compute

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.queues import even_pages
from fire_toolkit.errors import FormatError, JoinError, TableError, UsageError
from fire_toolkit.guidelines.model import REFERENCE, Guideline
from fire_toolkit.tables import Items, Pool, Queries, Tasks, check_tasks
from fire_toolkit.tables.checks import ordered
from fire_toolkit.tables.columns import PAIR, arrow_text, bytes_of

REFERENCE_URL = "reference_url"  # a column of tasks whose page shows the query's own item
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


def _streams(checks: Sequence[bytes], length: int) -> npt.NDArray[np.uint8]:
    """Return the key streams that the checks start: a row of `length` bytes for each."""
    counters = [block.to_bytes(4, "big") for block in range(-(-length // sha256().digest_size))]
    streams = [b"".join([sha256(check + counter).digest() for check in checks]) for counter in counters]
    rows = [np.frombuffer(part, dtype=np.uint8).reshape(len(checks), -1) for part in streams]
    return np.hstack(rows)[:, :length]


def split_pair_ids(tokens: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Return query id and doc id of the tokens that `pair_id` made; what else there is is left out.

    Keys of one length are read at once.
    """
    by_length: dict[int, list[str]] = {}
    for token in dict.fromkeys(tokens):
        by_length.setdefault(len(token), []).append(token)
    found: dict[str, tuple[str, str]] = {}
    for same in by_length.values():
        whole = "".join(same)
        found |= _split_of_length(same if _KEY.fullmatch(whole) else list(filter(_KEY.fullmatch, same)))
    return found


def task_links(rows: pd.DataFrame, page_url: str) -> dict[tuple[str, str], str]:
    """Return where the last task of each pair can be opened in a Label Studio.

    Args:
        rows: of the ledger: source, project, task, pair_id; what came from files or our own page has no task.
        page_url: the server's.
    """
    is_there = ~rows["source"].str.startswith(("file:", "page:")) & (rows["task"].fillna("") != "")
    tasks = rows[is_there & (rows["pair_id"].fillna("") != "")].drop_duplicates("pair_id", keep="last")
    pairs = split_pair_ids(tasks["pair_id"])
    return {
        pairs[pair]: f"{page_url}/projects/{quote(project)}/data?task={quote(task)}"
        for pair, project, task in zip(tasks["pair_id"], tasks["project"], tasks["task"], strict=True)
        if pair in pairs
    }


def _split_of_length(tokens: Sequence[str]) -> dict[str, tuple[str, str]]:
    n_letters = len(tokens[0]) if tokens else 0
    n_bytes, pad = n_letters * 3 // 4, "A" * (-n_letters % 4)
    length = n_bytes - _CHECK_BYTES
    if length < 1 or len(pad) == 3:
        return {}
    raw = base64.urlsafe_b64decode(pad.join(tokens) + pad)
    width = len(raw) // len(tokens)
    mixed = np.frombuffer(raw, dtype=np.uint8).reshape(len(tokens), width)
    checks = [raw[start : start + _CHECK_BYTES] for start in range(0, len(raw), width)]
    text = mixed[:, _CHECK_BYTES:n_bytes] ^ _streams(checks, length)
    joined, is_between = text.tobytes(), text == ord(_SEPARATOR)
    payloads = [joined[start : start + length] for start in range(0, len(joined), length)]
    is_made = (mixed[:, n_bytes:] == 0).all(axis=1) & (is_between.sum(axis=1) == 1)
    is_made &= ~is_between[:, 0] & ~is_between[:, -1]
    digests = np.frombuffer(b"".join([sha256(each).digest() for each in payloads]), dtype=np.uint8)
    is_made &= (digests.reshape(len(tokens), -1)[:, :_CHECK_BYTES] == mixed[:, :_CHECK_BYTES]).all(axis=1)
    found = {}
    for token, payload, is_sound in zip(tokens, payloads, is_made.tolist(), strict=True):
        try:
            if is_sound:
                query_id, doc_id = payload.decode().split(_SEPARATOR)
                found[token] = (query_id, doc_id)
        except UnicodeDecodeError:
            continue
    return found


def make_tasks(
    pool: Pool,
    queries: Queries,
    *,
    items: Items | None = None,
    guideline: Guideline,
    overlap: float = 0.1,
    n_captions: int = 1,
    seed: int = 0,
) -> Tasks:
    """Return the tasks that have every pooled pair judged once, and a random share of them twice.

    Args:
        pool: the pairs and their round; nothing else of it is used, so that no task can tell what the
            pool knows (ranks, runs, originals).
        queries: the captions; or, where captions are the items (video to text), what is to be seen:
            a column media_url.
        items: where each doc is to be seen; without it media_url is the doc id. The part from start_s to
            end_s of a longer video becomes a media fragment (`v.mp4#t=3,5`, W3C Media Fragments 1.0). Or
            the captions: a column text, beside queries with media_url.
        guideline: what is asked; where it shows captions alone, media_url is empty; where it shows texts,
            it is the item's title, if any, and text.
        overlap: share of the pairs for a second annotator, in [0, 1]; that share of their number is
            rounded, half up. All pairs have the same chance.
        n_captions: how many pairs of one item are judged on one page. With more than 1 the share is one of
            pages: a page is judged twice whole or not at all, and each has the same chance.
        seed: 0 or more; the same seed and pairs give the same tasks, whatever the order of rows.

    Returns:
        Batch 1: every pair in random order; batch 2: the pairs for a second annotator, in another
        random order. An empty pool gives an empty table.

    Raises:
        JoinError: a pooled query or doc that is not in `queries` or `items`, or has no caption; an item
            without text, where the guideline shows texts; a query
            without reference, or whose reference is not in `items`, where the guideline's page shows it.
        UsageError: overlap or seed out of range.

    Examples:
        >>> from fire_toolkit.formats.tables.guideline_files import read_guideline
        >>> from fire_toolkit.tables import check_pool, check_queries
        >>> pool = check_pool(pd.DataFrame({"query_id": "q", "doc_id": ["d1", "d2"]}))
        >>> queries = check_queries(pd.DataFrame({"query_id": ["q"], "text": "a dog runs"}))
        >>> rules = read_guideline("caption-relevance-v1")
        >>> tasks = make_tasks(pool, queries, guideline=rules, overlap=0.5)
        >>> tasks[["text", "batch", "position"]]
                 text  batch  position
        0  a dog runs      1         1
        1  a dog runs      1         2
        2  a dog runs      2         1
    """
    rng = _generator(overlap, seed)
    pairs = ordered(pool[["query_id", "doc_id", "round"]], PAIR)
    text, media_url = _sides(pairs, queries, items, guideline)
    pairs = pairs.assign(
        text=text,
        media_url=media_url,
        pair_id=pair_ids(pairs["query_id"], pairs["doc_id"]),
    )
    if guideline.shows_reference:
        pairs = pairs.assign(**{REFERENCE_URL: _references(pairs["query_id"], queries, items)})
    order = rng.permutation(len(pairs))
    n_captions = 1 if guideline.is_of_queries else n_captions
    pages = _pages(pairs["media_url"], rng.permutation(len(pairs)), n_captions, rng)
    n_doubled = int((Decimal(str(overlap)) * len(pages)).to_integral_value(ROUND_HALF_UP))
    doubled = np.concatenate([[], *pages[:n_doubled]]).astype(np.int64)
    batch = np.repeat([1, 2], [len(order), len(doubled)])
    position = np.concatenate([np.arange(1, len(rows) + 1) for rows in (order, doubled)])
    rows = np.concatenate([order, doubled])
    asked = pairs.iloc[rows].assign(batch=batch, position=position, guideline=guideline.name)
    return check_tasks(asked)


def _pages(
    media_url: pd.Series[str], order: Ints, n_captions: int, rng: np.random.Generator
) -> Ints | Sequence[Sequence[int]]:
    """Return the rows in that order as pages of one item; by pages of several captions these are mixed."""
    if n_captions == 1:
        return order.reshape(-1, 1)
    own = media_url.iloc[order].reset_index(drop=True).groupby(media_url.iloc[order].to_numpy()).indices
    pages = [page for rows in own.values() for page in even_pages(order[rows].tolist(), n_captions)]
    return [pages[place] for place in rng.permutation(len(pages))]


def _sides(
    pairs: pd.DataFrame, queries: Queries, items: Items | None, guideline: Guideline
) -> tuple[pd.Series[str], pd.Series[str]]:
    """Return each pair's caption and what is to be seen: query and doc, doc and query, or the query alone."""
    items = None if guideline.is_of_queries else items
    are_captions = shows_queries(queries, items) and not guideline.shows_texts
    query = _looked_up(
        pairs["query_id"], queries.set_index("query_id")["media_url" if are_captions else "text"], "queries"
    )
    if guideline.shows_texts:
        doc = _looked_up(pairs["doc_id"], _texts(items, guideline), "items")
    elif items is None:
        doc = pd.Series("", index=pairs.index, dtype="str") if guideline.is_of_queries else pairs["doc_id"]
    else:
        column = items.set_index("doc_id")["text"] if are_captions else _clips(items)
        doc = _looked_up(pairs["doc_id"], column, "items")
    text, media_url = (doc, query) if are_captions else (query, doc)
    empty = pairs.loc[(text == "").to_numpy(), "doc_id" if are_captions else "query_id"].unique()
    if len(empty):
        raise JoinError(
            f"{'items' if are_captions else 'queries'}: {len(empty)} pooled ids have no text "
            f"({', '.join(empty[:3])}); an annotator needs the caption"
        )
    if guideline.shows_texts and len(bare := pairs.loc[(doc == "").to_numpy(), "doc_id"].unique()):
        raise JoinError(
            f"items: {len(bare)} pooled ids have neither title nor text ({', '.join(bare[:3])}); "
            f"{guideline.name} shows both"
        )
    return text, media_url


def shows_queries(queries: Queries, items: Items | None) -> bool:
    """Whether the items are captions, and the queries what is to be seen (video to text)."""
    return items is not None and "text" in items.columns and "media_url" in queries.columns


def _texts(items: Items | None, guideline: Guideline) -> pd.Series[str]:
    """Return by doc id what there is to read of each item: its title, a line, and its text."""
    if items is None or "text" not in items.columns:
        raise JoinError(
            f"items: {guideline.name} shows their texts; give a table with doc_id, text and perhaps title"
        )
    title = items["title"] if "title" in items.columns else pd.Series("", index=items.index)
    both = [f"{head}\n{body}".strip() for head, body in zip(title, items["text"], strict=True)]
    return pd.Series(both, index=items["doc_id"], dtype="str")


def _references(query_ids: pd.Series[str], queries: Queries, items: Items | None) -> pd.Series[str]:
    """Return where each query's own item is to be seen."""
    own = queries.set_index("query_id").get(REFERENCE, pd.Series(dtype="str"))
    named = query_ids.map(own).astype("str").fillna("")
    lost = query_ids[(named == "").to_numpy()].unique()
    if len(lost):
        raise JoinError(
            f"queries: {len(lost)} pooled queries have no reference ({', '.join(lost[:3])}), which the "
            "guideline's page shows; give queries with a column reference, or another guideline"
        )
    return named if items is None else _looked_up(named, _clips(items), "items")


def _clips(items: Items) -> pd.Series[str]:
    """Return by doc id where each item is to be seen, with the part of it that counts."""
    columns = (items[name] for name in ("media_url", "start_s", "end_s"))
    urls = []
    for url, start_s, end_s in zip(*columns, strict=True):
        start, has_end = 0.0 if np.isnan(start_s) else start_s, not np.isnan(end_s)
        if has_end and end_s <= start:
            raise TableError(f"items: {url} plays from {start:g} to {end_s:g} s; correct the times")
        is_address = "://" not in url or url.startswith(("http://", "https://"))
        is_part = (start or has_end) and "#" not in url and is_address
        part = f"#t={_seconds(start)}{f',{_seconds(end_s)}' if has_end else ''}" if is_part else ""
        urls.append(f"{url}{part}")
    return pd.Series(urls, index=items["doc_id"], dtype="str")


def _seconds(moment: float) -> str:
    return f"{moment:.3f}".rstrip("0").rstrip(".")


def _generator(overlap: float, seed: int) -> np.random.Generator:
    if not 0 <= overlap <= 1:
        raise UsageError(f"overlap is {overlap}, expected a share from 0 to 1")
    if seed < 0:
        raise UsageError(f"seed is {seed}, expected 0 or more")
    return np.random.default_rng(seed)


def _looked_up(ids: Iterable[str], values: pd.Series[str], table: str) -> pd.Series[str]:
    codes, wanted = pd.factorize(pd.Series(ids))
    absent = wanted[~wanted.isin(values.index)]
    if len(absent):
        examples = ", ".join(map(str, absent[:3]))
        raise JoinError(
            f"{table}: {len(absent)} of {len(wanted)} pooled ids are not in it ({examples}); "
            f"give the {table} of the collection that was pooled"
        )
    return pd.Series(values.loc[wanted].array.take(codes))
