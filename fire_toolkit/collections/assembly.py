"""The collection that the parts of several files make together."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import pandas as pd

from fire_toolkit.arrays import Bools
from fire_toolkit.collections.duplicates import plain_text
from fire_toolkit.collections.parts import Part, joined, joined_items, some_ids, with_places
from fire_toolkit.errors import FormatError, JoinError, TableError
from fire_toolkit.tables import Items, Qrels, Queries, check_items, check_qrels, check_queries
from fire_toolkit.tables.checks import check_table
from fire_toolkit.tables.columns import PAIR, are_in, pair_rows
from fire_toolkit.tables.ids import BLANKS, encoded_id, with_blanks
from fire_toolkit.tables.specs import Column, TableSpec
from fire_toolkit.words import n_of

_GROUPS = TableSpec(
    "groups", (Column("query_id", "id"), Column("doc_id", "id")), ("query_id", "doc_id"), extra=True
)
_NO_TEXTS = (
    "the queries are ids alone, without captions: to ask people, name the benchmark's own file with the "
    "captions in their place, beside qrels/test.tsv"
)
_KEYS = (("queries", ["query_id"], "query"), ("positives", PAIR, "pair"), ("items", ["doc_id"], "item"))


@dataclass(frozen=True)
class Collection:
    """Queries, items and original qrels; groups: columns query_id, doc_id, empty where there are none.

    targets: of several positives the one that each query was written for, empty where nothing tells it.
    qrels are empty for a split whose positives are not published. notes: what was left out or changed;
    encoded: why ids are percent-encoded (`blanks`, `blanks and %`), empty where they are not.
    """

    queries: Queries
    items: Items
    qrels: Qrels
    groups: pd.DataFrame
    targets: Qrels
    notes: list[str] = field(default_factory=list)
    encoded: str = ""

    @property
    def counts(self) -> dict[str, int]:
        """Return how many rows each table has, and how many queries have a positive."""
        positive = self.qrels[self.qrels["relevance"] >= 1]
        return {
            "queries": len(self.queries),
            "items": len(self.items),
            "qrels": len(self.qrels),
            "queries_with_positive": int(positive["query_id"].nunique()),
            "groups": len(self.groups),
        }


def turned(collection: Collection) -> Collection:
    """Return the collection read the other way round: items are the queries, and their texts what is ranked.

    A query has the address of its item in the place of a text, an item its text; positives stay pairs.

    Raises:
        FormatError: its queries are more than texts: composed ones, or with groups.
    """
    if "reference" in collection.queries or len(collection.groups):
        raise FormatError("queries with an item of their own, or with groups, are not read as items")
    sides = {"query_id": "doc_id", "doc_id": "query_id"}
    places = [name for name in ("start_s", "end_s") if collection.items[name].isna().all()]
    items = collection.queries.rename(columns=sides)
    return replace(
        collection,
        queries=check_queries(collection.items.drop(columns=places).rename(columns=sides).assign(text="")),
        items=check_items(items.assign(media_url=items["doc_id"])),
        qrels=check_qrels(collection.qrels.rename(columns=sides)),
        targets=collection.targets.iloc[:0],
    )


def assemble(parts: Sequence[Part]) -> Collection:
    """Return the collection that parts make together.

    Items that qrels or groups name and no part lists are added, unless a part is a corpus. A gallery
    (the list of a split's items) leaves out every other item, the pairs with it, and the queries that
    had pairs and keep none. Where there are qrels, queries without a pair in them are left out. Texts
    become single lines. Where an id has a blank within, all ids are percent-encoded. Everything left out,
    added or changed is counted in `notes`.

    Args:
        parts: one a file, in any order.

    Returns:
        A Collection; each table in its order. An item without media_url has its doc id there.

    Raises:
        FormatError: no part has queries; a gallery names none of the items; texts may be captions or items.
        JoinError: qrels of queries without a text.
        TableError: an id twice, an id that no TREC file can carry; two parts that hold the same query,
            pair or item.

    Examples:
        >>> part = Part("captions", queries=pd.DataFrame({"query_id": ["q1"], "text": ["a\\tdog"]}),
        ...             positives=pd.DataFrame({"query_id": ["q1"], "doc_id": ["d1"], "relevance": 1}))
        >>> made = assemble([part])
        >>> list(made.queries["text"]), list(made.items["doc_id"]), made.notes[0]
        (['a dog'], ['d1'], '1 text changed: tabs, line ends and invalid characters')
    """
    positives = joined(parts, "positives")
    parts = [part if part.texts is None else _as_its_ids(part, part.texts, positives) for part in parts]
    notes = [note for part in parts for note in part.notes]
    parts = with_places(parts, notes)
    _refuse_overlaps(parts)
    _refuse_two_readings(parts)
    queries, groups = joined(parts, "queries"), joined(parts, "groups")
    if not len(queries):
        names = ", ".join(part.name for part in parts) or "nothing"
        raise FormatError(f"no queries: found {names}; add the file with the captions")
    queries = _with_plain_text(queries, "text", notes)
    items = _all_items(parts, positives, groups, notes)
    ids = items["doc_id"]  # where there is no address
    media = items.get("media_url", ids)
    items = _with_plain_text(items.assign(media_url=media.where(media != "", ids)), "item", notes)
    _note_placeless(items, parts, notes)
    if any(part.is_gallery for part in parts):
        is_shown = are_in(positives["doc_id"], items["doc_id"])
        positives = _kept(positives, is_shown, "pair", "of items not in the list left out", notes)
    targets = joined(parts, "targets")
    has_pair = pair_rows(targets, positives) >= 0
    targets = _kept(targets, has_pair, "target", "without a pair left out", notes)
    queries = _asked(queries, positives, parts, notes)
    if _NO_TEXTS not in notes:
        is_bare = (queries["text"] + queries.get("media_url", "")).str.strip() == ""
        lack = "without a text, which annotators need"
        _note_ids(queries.loc[is_bare, "query_id"], "query", lack, notes)
    groups = groups[are_in(groups["query_id"], queries["query_id"])]
    found, encoded = _with_encoded_ids([queries, items, positives, groups, targets], notes)
    return Collection(
        queries=check_queries(found[0], where="queries"),
        items=check_items(found[1], where="items"),
        qrels=check_qrels(found[2], where="qrels"),
        groups=check_table(_GROUPS, found[3]),
        targets=check_qrels(found[4], where="targets"),
        notes=notes,
        encoded=encoded,
    )


def _kept(table: pd.DataFrame, is_kept: Bools, what: str, words: str, notes: list[str]) -> pd.DataFrame:
    """Return the rows of a table that are kept; where some are not, note how many."""
    if n_out := int((~is_kept).sum()):
        notes.append(f"{n_of(n_out, what)} {words}")
    return table[is_kept]


def _note_ids(ids: pd.Series, what: str, words: str, notes: list[str]) -> None:
    """Note how many ids there are, if any, with some of them."""
    if len(ids):
        notes.append(f"{n_of(len(ids), what)} {words} ({some_ids(ids)})")


def _with_encoded_ids(tables: list[pd.DataFrame], notes: list[str]) -> tuple[list[pd.DataFrame], str]:
    """Return tables with all ids percent-encoded where one has a blank within, and why they are."""
    kinds = [PAIR if "doc_id" in table else ["query_id", "reference"] for table in tables]
    columns = [table.columns.intersection(own) for table, own in zip(tables, kinds, strict=True)]
    both = [*zip(tables, columns, strict=True)]
    ids = [str(each) for table, own in both for name in own for each in table[name]]
    if not (why := why_encoded(ids)):
        return tables, ""
    strange = sorted({*with_blanks(ids)})
    notes.append(
        f"{n_of(len(strange), 'id')} with blanks: all ids are percent-encoded, {strange[0]!r} is "
        f"{encoded_id(strange[0])!r}; so are those of files that are read beside them"
    )
    return [table.assign(**{name: table[name].map(encoded_id) for name in own}) for table, own in both], why


def _refuse_overlaps(parts: Sequence[Part]) -> None:
    """Raise TableError where two parts hold one query or pair, or say the same of an item but its place."""
    for name, key, what in _KEYS:
        holders = [
            (part.name, table[key].drop_duplicates())
            for part in parts
            if (table := getattr(part, name)) is not None and len(table)
            if not (name == "items" and part.is_gallery)
        ]
        columns = {part.name: {*part.items.columns} for part in parts if part.items is not None}
        for (one, left), (other, right) in combinations(holders, 2):
            if name == "items" and columns[one] & columns[other] == {"doc_id"}:
                continue  # each says something else of an item, as a benchmark and a table of addresses do
            both = left.merge(right, on=key)
            if len(both):
                shown = " ".join(map(str, both.iloc[0]))
                raise TableError(
                    f"{one} and {other}: {n_of(len(both), what)} in both ({shown}); name one of the two files"
                )


def _refuse_two_readings(parts: Sequence[Part]) -> None:
    """Raise FormatError where texts of docs may be captions, or items that others' qrels and queries have."""
    queries = next((part.name for part in parts if part.queries is not None and part.positives is None), None)
    qrels = next((part.name for part in parts if part.queries is None and part.positives is not None), None)
    for part in parts if queries and qrels else ():
        pairs = None if part.queries is None else part.positives
        if pairs is not None and {*(pairs["query_id"].str.rpartition("#")[0] == pairs["doc_id"])} == {True}:
            raise FormatError(
                f"{part.name}: its texts may be items that {qrels} pairs with {queries}, or captions; for "
                "items call columns doc_id and media_url (which may be empty), for captions one query_id"
            )


def _as_its_ids(part: Part, texts: pd.DataFrame, positives: pd.DataFrame) -> Part:
    """Return a part with texts made queries or items: queries where the qrels use its ids as queries'."""
    as_queries = int(are_in(texts["id"], positives["query_id"]).sum())
    as_docs = int(are_in(texts["id"], positives["doc_id"]).sum())
    name = "/".join(part.name.lower().split("/")[-2:])
    if part.queries is not None and as_docs <= as_queries:
        topics = "1" + part.queries["query_id"]  # as ad-hoc video search has them in its qrels
        if as_queries or not are_in(topics, positives["query_id"]).any():
            return replace(part, texts=None)
        queries, own = part.queries.assign(query_id=topics), topics.iloc[0]
        note = f"query ids are 1 and the topic's number, as in the qrels: {own[1:]} is {own}"
        return replace(part, texts=None, queries=queries, notes=(*part.notes, note))
    is_corpus = as_docs > as_queries or (as_docs == as_queries and "corpus" in name)
    if as_docs == as_queries and not any(word in name for word in ("corpus", "queries")):
        raise FormatError(
            f"{part.name}: {as_queries} ids are queries and {as_docs} are docs of the qrels, so it "
            "could be either; add the qrels file, or name the file corpus or queries"
        )
    if not is_corpus:
        queries = texts.drop(columns="title").rename(columns={"id": "query_id"})
        notes = part.notes if (texts["text"] != "").any() else (*part.notes, _NO_TEXTS)
        return Part(part.name, queries=queries, notes=notes)
    bare = [] if (texts["text"] != "").any() else ["title", "text"]  # ids alone: items, and no captions
    items = texts.drop(columns=bare).rename(columns={"id": "doc_id"})
    return Part(part.name, items=items, is_corpus=True, notes=part.notes)


def _with_plain_text(table: pd.DataFrame, what: str, notes: list[str]) -> pd.DataFrame:
    """Return a table whose columns of text, ids aside, are single lines; count the rows changed."""
    own = table.drop(columns=PAIR, errors="ignore").astype(object)
    plain = own.map(lambda each: plain_text(each) if isinstance(each, str) else each).astype(object)
    if n_changed := int((plain.ne(own) & own.notna()).any(axis=1).sum()):
        notes.append(f"{n_of(n_changed, what)} changed: tabs, line ends and invalid characters")
    return table.assign(**{str(name): plain[name] for name in plain})


def _all_items(
    parts: Sequence[Part], positives: pd.DataFrame, groups: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    listed = joined_items([part for part in parts if not part.is_gallery])
    if any(part.is_gallery for part in parts):
        return _gallery_items(parts, listed, positives, notes)
    implied = pd.concat([positives["doc_id"], groups["doc_id"]])
    absent = implied[~are_in(implied, listed["doc_id"])].drop_duplicates()
    if any(part.is_corpus for part in parts):
        _note_ids(absent, "doc", "of the qrels not in the corpus", notes)
        return listed
    if len(listed):
        _note_ids(absent, "item", "known only from the pairs", notes)
    return joined([Part("", items=listed), Part("", items=absent.to_frame())], "items")


def _gallery_items(
    parts: Sequence[Part], listed: pd.DataFrame, positives: pd.DataFrame, notes: list[str]
) -> pd.DataFrame:
    lists = [part for part in parts if part.is_gallery]
    for one, other in combinations(lists, 2):
        left, right = ({*part.items["doc_id"]} for part in (one, other) if part.items is not None)
        are_of_paths = all(len(part.items.columns) > 1 for part in (one, other) if part.items is not None)
        if left & right and left != right and not are_of_paths:
            shown = f"{len(left):,} and {len(right):,} ids, of which {len(left & right):,} are in both"
            raise FormatError(f"{one.name} and {other.name}: lists of {shown}; name one of the two files")
    gallery = joined_items(lists)
    known = pd.concat([listed["doc_id"], positives["doc_id"]]).drop_duplicates()
    is_known = are_in(gallery["doc_id"], known)
    if len(known) and not is_known.any():
        raise FormatError(
            f"none of the {len(gallery):,} ids of the list is an item: the list has "
            f"{some_ids(gallery['doc_id'])}, the items are {some_ids(known)}; write the ids the same way in "
            "both"
        )
    if n_out := int((~are_in(known, gallery["doc_id"])).sum()):
        notes.append(f"{n_of(n_out, 'item')} not in the list of items left out")
    extra = [name for name in listed.columns if name not in gallery.columns]
    described = listed.drop_duplicates("doc_id")[["doc_id", *extra]]
    return gallery.merge(described, on="doc_id", how="left").fillna(dict.fromkeys(extra, ""))


def _note_placeless(items: pd.DataFrame, parts: Sequence[Part], notes: list[str]) -> None:
    """Note the items that nobody can be shown: an id stands in the place of their media_url."""
    is_bare = ~items["media_url"].astype("str").str.contains(r"[/\\.:]")
    if "text" not in items and is_bare.any():
        tables = [(part.is_gallery, part.items) for part in parts if part.items is not None]
        are_listed = any(is_gallery or len(table.columns) > 1 for is_gallery, table in tables)
        n_bare, shown = int(is_bare.sum()), some_ids(items.loc[is_bare, "media_url"])
        lack = "has no media_url" if n_bare == 1 else "have no media_url"
        source = "" if are_listed else ", and no file lists items"
        notes.append(
            f"{n_of(n_bare, 'item')} {lack} and cannot be shown to annotators ({shown}){source}: before "
            "tasks, add a table of items with doc_id and media_url"
        )


def _asked(
    queries: pd.DataFrame, positives: pd.DataFrame, parts: Sequence[Part], notes: list[str]
) -> pd.DataFrame:
    """Return the queries that the qrels ask; all, where no part has any qrels."""
    if all(part.positives is None or not len(part.positives) for part in parts):
        notes.append("no positives are known: there are no qrels")
        return queries
    is_known = are_in(positives["query_id"], queries["query_id"])
    textless = positives.loc[~is_known, "query_id"].drop_duplicates()
    if len(textless):
        raise JoinError(
            f"qrels: {len(textless)} of {positives['query_id'].nunique()} queries have no text "
            f"({some_ids(textless)}); expected the queries of the same collection"
        )
    is_asked = are_in(queries["query_id"], positives["query_id"])
    return _kept(queries, is_asked, "query", "without a pair in the qrels left out", notes)


def why_encoded(ids: Sequence[str]) -> str:
    """Return why ids that stand so in the files of a collection are percent-encoded; empty: they are not.

    Examples:
        >>> [why_encoded(ids) for ids in (["a b", "c"], ["a b", "50%"], ["a%20b"])]
        ['blanks', 'blanks and %', '']
    """
    if not with_blanks(ids):
        return ""
    return f"{BLANKS} and %" if "%" in "".join(ids) else BLANKS
