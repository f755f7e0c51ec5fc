"""Pool to tasks: what annotators are asked, in random order and under keys that reveal nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pandas as pd

from fire_toolkit.arrays import Ints
from fire_toolkit.campaign.keys import pair_ids
from fire_toolkit.campaign.queues import even_pages, generator
from fire_toolkit.errors import JoinError, TableError, UsageError
from fire_toolkit.guidelines.model import REFERENCE, Guideline
from fire_toolkit.tables import Items, Pool, Queries, Tasks, check_tasks
from fire_toolkit.tables.checks import ordered
from fire_toolkit.tables.columns import PAIR

REFERENCE_URL = "reference_url"  # a column of tasks whose page shows the query's own item


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
    if not 0 <= overlap <= 1:
        raise UsageError(f"overlap is {overlap}, expected a share from 0 to 1")
    rng = generator(seed)
    if n_captions < 1:
        raise UsageError(f"captions on a page are {n_captions}, expected 1 or more")
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
    shows_queries = items is not None and "text" in items and "media_url" in queries  # video to text
    are_captions = shows_queries and not guideline.shows_texts
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
