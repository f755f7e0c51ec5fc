"""The ledger: every version of every raw answer, as rows from which nothing is ever taken away.

An edit or a deletion on the server is a row of its own; which version of an answer counts is computed when
reading. `campaign.store` keeps the rows.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, NewType

import pandas as pd

from fire_toolkit.resolution.judgments import utc_time

Ledger = NewType("Ledger", pd.DataFrame)

ANSWERED = "answered"
EDITED = "edited"
DELETED = "deleted"
RESTORED = "restored"
STATES = (ANSWERED, EDITED, DELETED, RESTORED)
EVENTS = (DELETED, RESTORED)

# source: the server (or file) it was read from; project: its number there; annotation: the key of the
# answer (`annotation_key`); updated_at: the version, UTC; state: `answered` (first seen), `edited` (a later
# version), `deleted` (this version is gone from the server), `restored` (it is there again); seen_at: when
# it was read, UTC; pair_id: the pair, empty if the task named none; task: the task's number; queue: the
# round and annotator that the project was made for, empty if unknown; annotator_id: the author, empty if the
# account was gone; answer: the annotation as the server gave it, JSON.
COLUMNS = (
    "source",
    "project",
    "annotation",
    "updated_at",
    "state",
    "seen_at",
    "pair_id",
    "task",
    "queue",
    "annotator_id",
    "answer",
)
ORDER = ("annotation", "updated_at", "seen_at", "number")

# Beside the answers in the record, kept by those who fill them. A place is a project that this workspace ever
# made or read on a server, and up to where it was read; a row of `machine` is a request to a machine judge,
# or what became of it.
OTHER_TABLES = """
create table places (
  source text, project integer, born text, queue text, read_up_to text, whole_at text,
  n_tasks integer, n_more integer, lost text, n_lost integer, primary key (source, project, born)
);
create table machine (
  number integer primary key autoincrement, judge text, key text, query_id text, doc_id text,
  sample_number integer, answer text, sha256 blob
);
create index machine_by_judge on machine (judge)
"""


def annotation_key(source: str, project: str, number: int, unique_id: str) -> str:
    """Return what makes two entries versions of one answer.

    Numbers are used again after a deletion and differ between servers; a unique id, where there is one,
    is the same everywhere.

    Examples:
        >>> annotation_key("http://a", "7", 3, "b09f5cac")
        'b09f5cac'
        >>> annotation_key("http://a", "7", 3, "")
        'http://a#7#3'
    """
    return unique_id or f"{source}#{project}#{number}"


class Version(NamedTuple):
    """A row of an answer, as far as it tells versions apart."""

    updated_at: str
    state: str
    seen_at: str
    source: str
    project: str
    answer: str

    def is_of(self, moment: str) -> bool:
        """Whether a time is the one that it counts by, or the one that its source gave it."""
        return moment == self.updated_at or moment == utc_time(str(json.loads(self.answer).get("updated_at")))

    def says(self, answer: str) -> bool:
        """Whether it says what an answer says, whatever else a source tells of both."""
        return self.answer == answer or _said(self.answer) == _said(answer)


def _said(answer: str) -> Any:
    content = json.loads(answer)
    result = content.get("result")
    items = result if isinstance(result, list) else []
    given = [(item.get("from_name"), item.get("value")) for item in items if isinstance(item, dict)]
    return given, bool(content.get("was_cancelled"))


def make_ledger(rows: Iterable[Mapping[str, str]] = ()) -> Ledger:
    """Return rows in the order in which they arrived as a ledger."""
    found = pd.DataFrame(list(rows), columns=list(COLUMNS), dtype="str")
    return in_order(found.assign(number=range(1, len(found) + 1)))


def in_order(rows: Any) -> Ledger:
    """Return rows, in a DataFrame or an Arrow table, by answer, version, and the time they were seen."""
    import pyarrow as pa

    table = pa.Table.from_pandas(rows, preserve_index=False) if isinstance(rows, pd.DataFrame) else rows
    return Ledger(table.sort_by([(name, "ascending") for name in ORDER]).to_pandas())


def latest_answers(ledger: Ledger) -> Ledger:
    """Return the version of each answer that counts: the last one, with what became of it.

    Args:
        ledger: any rows.

    Returns:
        One row for each annotation: of the versions the one with the highest updated_at (of several sources
        of the same version one that names the author and the queue, then the first by name). Its state is
        `deleted` if the last word on that version is a deletion; else `edited` if there are earlier
        versions, or `answered`. The author is the last one known, also if the account was deleted since.

    A version that is seen again after its deletion (in an old export, say) does not come back; a server that
    shows it again is recorded as `restored`.
    """
    is_alone = ~ledger["annotation"].duplicated(keep=False)
    alone = ledger[is_alone]
    state = alone["state"].where(alone["state"] == DELETED, ANSWERED)
    return in_order(pd.concat([alone.assign(state=state), _last_of_several(Ledger(ledger[~is_alone]))]))


def _last_of_several(ledger: Ledger) -> pd.DataFrame:
    """Return what counts of answers that have several rows."""
    known = ledger.assign(is_nameless=ledger["annotator_id"] == "", is_loose=ledger["queue"] == "")
    best = ["is_nameless", "is_loose", "source", "project", "number"]
    versions = known.sort_values(["annotation", "updated_at", *best], kind="stable")
    versions = versions.drop_duplicates(["annotation", "updated_at"])
    last = versions.drop_duplicates("annotation", keep="last").set_index("annotation", drop=False)
    named = versions[~versions["is_nameless"]].drop_duplicates("annotation", keep="last")
    authors = named.set_index("annotation")["annotator_id"].reindex(last.index)
    n_versions = versions["annotation"].value_counts().reindex(last.index)
    events = ledger[ledger["state"].isin(EVENTS)]
    events = events.sort_values(["annotation", "updated_at", "seen_at", "state"], kind="stable")
    final = events.drop_duplicates("annotation", keep="last").set_index("annotation").reindex(last.index)
    is_gone = (final["state"] == DELETED) & (final["updated_at"] == last["updated_at"])
    state = pd.Series(ANSWERED, index=last.index).where(n_versions == 1, EDITED)
    return last.assign(
        annotator_id=last["annotator_id"].where(last["annotator_id"] != "", authors.fillna("")),
        state=state.where(~is_gone, DELETED),
    )[ledger.columns]
