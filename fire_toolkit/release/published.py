"""What a release publishes of a workspace's tables, by the licences and the consent that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import pandas as pd

from fire_toolkit.release.people import published_judgments
from fire_toolkit.release.rankings import Rankings
from fire_toolkit.tables import Items, Judgments, Qrels, Queries
from fire_toolkit.tables.columns import PAIR


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

    def with_rankings(self, rankings: Rankings) -> Published:
        """Return the same with the models' rankings."""
        lost = ", ".join(rankings.lost)
        note = f"{lost} cannot be computed again from the runs included, and may be with a larger N"
        notes = (*self.notes, *([note] if lost else []))
        return replace(self, tables={**self.tables, "ranks": rankings.ranks}, notes=notes, rankings=rankings)

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

    @property
    def guideline(self) -> str:
        """The one guideline that the judgments name; empty where they name none, or several."""
        named = self.tables["judgments"].get("guideline", pd.Series(dtype="str")).unique()
        return str(named[0]) if len(named) == 1 else ""


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
) -> Published:
    """Return the tables of a release, made of a workspace's.

    Args:
        stages: changes, labels, disputes, pool, pool_sources, runs, leaderboard, and query_design where there
            is one, as their stages wrote them.
        judgments: with annotator_id as the workspace has it.
        original, corrected: qrels.
        queries: texts and other columns are published where [licences] captions names a licence.
        items: their texts by the same licence, addresses where [licences] media names one; None: not listed.
        names: the pseudonym of each annotator.
        licences: [licences] of fire.toml.
        with_comments: whether annotators agreed that comments are published.
        is_public: whether an address is one for everybody.
    """
    published, withheld = published_judgments(judgments, names, with_comments=with_comments)
    notes = [f"columns of the judgments that are not published: {', '.join(withheld)}"] if withheld else []
    if items is None:
        notes.append("no table of items: the corpus holds only those that the qrels and the pool name")
        named = pd.concat([table["doc_id"] for table in (original, corrected, stages["pool"])])
        columns = {"_id": named.drop_duplicates().sort_values(ignore_index=True)}
    else:
        columns = {"_id": items["doc_id"]}
        if licences["captions"] and "text" in items:
            columns["text"] = items["text"]
        if licences["media"]:
            urls = items["media_url"].where(items["media_url"].map(is_public), "")
            n_left_out = int((urls == "").sum())
            columns |= {"media_url": urls} if n_left_out < len(urls) else {}
            more = f"{n_left_out:,} items are files, not public addresses; these are left out"
            notes += [more] if n_left_out else []
    disputes = stages["disputes"]
    counts = [name for name in disputes.columns if name.startswith("n_")]
    kept = [name for name in queries.columns if licences["captions"] or name in ("query_id", "reference")]
    tables = {
        "corpus": pd.DataFrame(columns),
        "queries": queries[kept].rename(columns={"query_id": "_id"}),
        "qrels": _as_beir(corrected),
        "original": _as_beir(original),
        "changes": stages["changes"],
        "labels": stages["labels"],
        "judgments": published,
        "disputes": disputes.assign(**{name: pd.to_numeric(disputes[name]) for name in counts}),
    }
    others = {name: table for name, table in stages.items() if name not in tables}
    return Published({**tables, **others}, original, corrected, names, tuple(notes))


def _as_beir(qrels: Qrels) -> pd.DataFrame:
    names = {"query_id": "query-id", "doc_id": "corpus-id", "relevance": "score"}
    return qrels[list(names)].rename(columns=names)
