"""What a release publishes: tables by licence and consent, pseudonyms, and what no file may hold."""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import pandas as pd

from fire_toolkit.errors import FireError
from fire_toolkit.release.answers import spoken_name
from fire_toolkit.release.rankings import Rankings
from fire_toolkit.tables import Items, Judgments, Qrels, Queries
from fire_toolkit.tables.columns import PAIR
from fire_toolkit.tables.ids import decoded_id, spellings
from fire_toolkit.words import table_in

# The columns of judgments that are published; a comment only by consent. Any other stays at home.
PUBLISHED = (
    *("query_id", "doc_id", "annotator_id", "label", "created_at", "duration_s", "flags", "comment"),
    *("origin", "round", "kind", "guideline", "occasion", "inclusion_probability", "stratum"),
)
# Where people are named in words; in ids and captions a name can be a word like any other.
_PROSE = (".md", ".cff", ".toml", ".py", "LICENSE", "croissant.json", "comments")
# The benchmark's own texts may say anything; what of them is published is the licence's matter.
_CAPTIONS = ("queries.jsonl", "corpus.jsonl")
_IDS = ("query_id", "doc_id", "reference", "_id", "query-id", "corpus-id")
_LONG_ENOUGH = 3  # characters of a name that is looked for in documents


MUST, SHOULD = "must", "should"
CROISSANT = table_in("release", "croissant.toml")  # what is asked for in such metadata


def with_own_ids(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table with the benchmark's own ids, of a collection whose ids are percent-encoded."""
    return table.assign(**{name: table[name].map(decoded_id) for name in _IDS if name in table})


class Kind(NamedTuple):
    """What must not stand in a file: what it is called, its pattern, and texts of which a match has one."""

    what: str
    pattern: re.Pattern[str]
    signs: Sequence[str]


PRIVATE = [
    Kind(what, re.compile(own["pattern"]), own["signs"])
    for what, own in table_in("release", "private.toml").items()
]
_EMAIL, _PATH, _TOKENS = PRIVATE


def make_pseudonyms(annotators: Iterable[str], *, key: bytes, version: str) -> dict[str, str]:
    """Return annotator → pseudonym, `annotator-1` to `annotator-n`, in an order that the key draws.

    Another version draws another order, so that a pseudonym of one release says nothing in the next.
    Nobody without the key can tell who is who from the names.

    Examples:
        >>> sorted(make_pseudonyms(["bob", "ann"], key=b"k", version="1.0").values())
        ['annotator-1', 'annotator-2']
    """
    names = {hmac.digest(key, f"{version}\0{name}".encode(), "sha256"): name for name in annotators}
    return {names[drawn]: f"annotator-{n}" for n, drawn in enumerate(sorted(names), start=1)}


def published_judgments(
    judgments: Judgments, names: Mapping[str, str], *, with_comments: bool
) -> tuple[pd.DataFrame, list[str]]:
    """Return judgments as they are published, and the names of the columns that stay at home.

    Args:
        judgments: with annotator_id as the workspace has it.
        names: the pseudonym of each annotator.
        with_comments: whether annotators consented to their comments being published.

    Returns:
        The columns of `PUBLISHED` that are there, annotators by their pseudonyms, created_at as a date
        without a time; by query_id, doc_id and annotator_id.

    Examples:
        >>> from fire_toolkit.tables import check_judgments
        >>> judgments = check_judgments(pd.DataFrame({
        ...     "query_id": ["q"], "doc_id": ["d"], "annotator_id": ["ann"], "label": ["relevant"],
        ...     "created_at": ["2026-03-02T09:23:56Z"], "comment": ["I am Ann"], "page": ["secret"]}))
        >>> table, dropped = published_judgments(judgments, {"ann": "annotator-1"}, with_comments=False)
        >>> table.iloc[0][["annotator_id", "created_at"]].tolist(), dropped
        (['annotator-1', '2026-03-02'], ['comment', 'page'])
    """
    kept = [name for name in PUBLISHED if name in judgments and (name != "comment" or with_comments)]
    table = judgments[kept].assign(annotator_id=judgments["annotator_id"].map(names).astype("str"))
    if "created_at" in table:
        table["created_at"] = (
            table["created_at"].astype("str").str.slice(0, 10).where(table["created_at"].notna())
        )
    order = ["query_id", "doc_id", "annotator_id"]
    return (
        table.sort_values(order, kind="stable", ignore_index=True),
        [str(name) for name in judgments.columns if name not in kept and judgments[name].notna().any()],
    )


class Finding(NamedTuple):
    """What is wrong in a file: its name, the line (0: the whole file), and what it is.

    level: `must` be mended where a loader fails, a number is wrong or somebody is exposed; else `should`.
    """

    file: str
    line: int
    what: str
    level: str = MUST

    def __str__(self) -> str:
        return f"{self.file}{f':{self.line}' if self.line else ''}: {self.what}"


def find_private(
    texts: Mapping[str, str],
    *,
    names: Sequence[str] = (),
    secrets: Sequence[str] = (),
    allowed: Sequence[str] = (),
) -> Iterator[Finding]:
    """Yield each e-mail, token, absolute path, registered name or secret in files; what it is stays unsaid.

    Args:
        texts: content by file name.
        names: of people; found as whole words in documents and comments.
        secrets: found anywhere, as they are.
        allowed: texts whose e-mails are meant to be there, such as the creators' contact.

    Examples:
        >>> print(*find_private({"a.md": "by bob\\nb@example.org"}, names=["bob"]), sep="\\n")
        a.md:1: a person's name
        a.md:2: an e-mail address
    """
    secret = Kind("a secret of the workspace", re.compile(_any_of(secrets)), secrets)
    named = re.compile(rf"(?<![\w-]){_any_of(names)}(?![\w-])", re.IGNORECASE)
    of_people = [Kind("a person's name", named, ("",))] if names else []
    for file, text in texts.items():
        kinds = [_TOKENS, secret, *([] if file in _CAPTIONS else [_EMAIL, _PATH])]
        kinds += of_people if file.endswith(_PROSE) else []
        seen = {
            (text.count("\n", 0, match.start()) + 1, kind.what)
            for kind in kinds
            if any(sign in text for sign in kind.signs)
            for match in kind.pattern.finditer(text)
            if kind is not _EMAIL or not any(match[0] in text for text in allowed)
        }
        yield from (Finding(file, line, what) for line, what in sorted(seen))


def _any_of(words: Sequence[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, sorted(set(words), key=len, reverse=True)))})"


def refuse_people(
    contents: Mapping[str, bytes],
    comments: Iterable[str],
    *,
    people: Iterable[str],
    passwords: Iterable[str],
    addresses: Iterable[str],
    answers: Mapping[str, Any],
    allowed: Collection[str] = (),
    is_anonymous: bool = False,
) -> None:
    """Refuse a release that would name somebody, or hold a secret, in any of its files.

    Args:
        contents: file name → bytes.
        comments: what annotators wrote, of each judgment that is published.
        people: names of annotators.
        passwords: secrets of the workspace. addresses: e-mails of annotators.
        answers: [release] of fire.toml, whose contact may be named, and whose creators may.
        allowed: names of annotators that documents may hold.
        is_anonymous: whether the creators count as people not to be named.

    Raises:
        FireError: with the first places.
    """
    contact = answers["contact"]
    names = [name for name in {*people} - {*allowed} if len(name) >= _LONG_ENOUGH and not name.isdigit()]
    hidden = [*passwords, *(each for each in addresses if each not in contact.lower())]
    if is_anonymous:
        for name in answers["creators"]:
            names += [name, spoken_name(name), name.split(",")[0]]
        hidden += [contact, answers["url"], answers["files_url"]]
    texts = {name: content.decode() for name, content in contents.items() if not name.endswith(".parquet")}
    texts["judgments.csv, comments"] = "\n".join(["", *comments])
    secrets, allowed = [*filter(None, hidden)], [] if is_anonymous else [contact]
    if found := [*find_private(texts, names=names, secrets=secrets, allowed=allowed)]:
        shown = "; ".join(map(str, found[:5])) + (f"; {len(found) - 5:,} more" if len(found) > 5 else "")
        raise FireError(
            f"nothing was released, since it would publish {shown}; remove that where it was written"
        )


@dataclass(frozen=True)
class Published:
    """The tables of a release by their names, its qrels, the pseudonym of each annotator, and notes.

    notes: what is left out, as sentences. rankings: of the runs, None where they are not published.
    """

    tables: Mapping[str, pd.DataFrame]
    original: Qrels
    corrected: Qrels
    names: Mapping[str, str]
    notes: tuple[str, ...] = ()
    rankings: Rankings | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Rows of each table, and relevant pairs, judged pairs and annotators."""
        return {
            **{name: len(table) for name, table in self.tables.items()},
            "positives": int((self.corrected["relevance"] >= 1).sum()),
            "original_positives": int((self.original["relevance"] >= 1).sum()),
            "judged": len(self.tables["judgments"][PAIR].drop_duplicates()),
            "annotators": len(self.names),
        }


def publish(
    stages: Mapping[str, pd.DataFrame],
    judgments: Judgments,
    original: Qrels,
    corrected: Qrels,
    queries: Queries,
    items: Items | None,
    *,
    names: Mapping[str, str],
    licences: Mapping[str, str],
    with_comments: bool,
    is_public: Callable[[str], bool],
    rankings: Rankings | None = None,
) -> Published:
    """Return the tables of a release, made of a workspace's.

    Args:
        stages: changes, labels, disputes, pool, pool_sources, runs, leaderboard, and query_design where there
            is one, as their stages wrote them.
        judgments: with annotator_id as the workspace has it.
        original, corrected: qrels.
        queries: texts and other columns are published where [licences] captions names a licence, public
            addresses where [licences] media names one.
        items: their texts and addresses by the same licences; None: not listed.
        names: the pseudonym of each annotator.
        licences: [licences] of fire.toml.
        with_comments: whether annotators agreed that comments are published.
        is_public: whether an address is one for everybody.
        rankings: of the runs; None: they are not published.
    """
    published, withheld = published_judgments(judgments, names, with_comments=with_comments)
    notes = [f"columns of the judgments that are not published: {', '.join(withheld)}"] if withheld else []
    if items is None:
        notes.append("no table of items: the corpus holds only those that the qrels and the pool name")
        named = pd.concat([table["doc_id"] for table in (original, corrected, stages["pool"])])
        columns = {"_id": named.drop_duplicates().sort_values(ignore_index=True)}
    else:
        columns = {"_id": items["doc_id"]}
        if licences["captions"]:
            columns |= {name: items[name].fillna("") for name in ("title", "text") if name in items}
        if licences["media"]:
            urls = _public(items["media_url"], is_public)
            is_text = items["media_url"].isin(spellings(items["doc_id"])) & ("text" in items)
            n_left_out = int(((urls == "") & ~is_text).sum())
            columns |= {"media_url": urls} if urls.any() else {}
            more = f"{n_left_out:,} items are files, not public addresses; these are left out"
            notes += [more] if n_left_out else []
    disputes = stages["disputes"]
    counts = [name for name in disputes.columns if name.startswith("n_")]
    of_captions = [*queries.columns] if licences["captions"] else ["query_id", "reference"]
    kept = queries.drop(columns="media_url", errors="ignore").filter(of_captions)
    if licences["media"] and "media_url" in queries:
        kept["media_url"] = _public(queries["media_url"], is_public)
    tables = {
        "corpus": pd.DataFrame(columns),
        "queries": kept.rename(columns={"query_id": "_id"}),
        "qrels": _as_beir(corrected),
        "original": _as_beir(original),
        "changes": stages["changes"],
        "labels": stages["labels"],
        "judgments": published,
        "disputes": disputes.assign(**{name: pd.to_numeric(disputes[name]) for name in counts}),
    }
    tables |= {name: table for name, table in stages.items() if name not in tables}
    if rankings:
        tables["ranks"] = rankings.ranks
        lost = ", ".join(rankings.lost)
        more = f"{lost} cannot be computed again from the runs included, and may be with a larger N"
        notes += [more] if lost else []
    return Published(tables, original, corrected, names, tuple(notes), rankings)


def _public(urls: pd.Series, is_public: Callable[[str], bool]) -> pd.Series:
    return urls.where(urls.map(is_public), "")


def _as_beir(qrels: Qrels) -> pd.DataFrame:
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    return qrels[list(names)].rename(columns=names)
