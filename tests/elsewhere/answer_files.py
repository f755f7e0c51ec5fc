"""Files of other tools, written as the tools write them, and the words by which they are read."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from command import rows

Row = Mapping[str, Any]
YES_NO = ("--label", "Yes=relevant", "--label", "No=irrelevant")
OF_MTURK = ("--columns", "query=Input.caption_id,doc=Input.video_id,label=Answer.match")
OF_PEOPLE = ("--columns", "annotator_id=who,query=q,doc=d,label=said")
_MTURK = """HITId HITTypeId Title Reward CreationTime MaxAssignments AssignmentId WorkerId AssignmentStatus
AcceptTime SubmitTime AutoApprovalTime ApprovalTime RejectionTime RequesterFeedback WorkTimeInSeconds
LifetimeApprovalRate Input.caption_id Input.video_id Answer.match Approve Reject"""


def save(name: str, rows: Sequence[Row], *, separator: str = ",", mark: str = "") -> str:
    """Write rows by a name's ending: CSV with all in quotes, JSON Lines, or JSON."""
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        with path.open("w", newline="", encoding="utf-8") as stream:
            stream.write(mark)
            writer = csv.DictWriter(stream, list(rows[0]), delimiter=separator, quoting=csv.QUOTE_ALL)
            writer.writeheader()
            writer.writerows(rows)
    else:
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        path.write_text(lines if path.suffix == ".jsonl" else json.dumps(rows))
    return name


def said(*rows: Sequence[str], name: str = "t.csv") -> str:
    """Write a table of who said what of which pair."""
    return save(name, [dict(zip(("who", "q", "d", "said"), row, strict=True)) for row in rows])


def mturk(worker: str, query: str, doc: str, answer: str, status: str = "Approved", **more: str) -> Row:
    """A row of a batch, with all columns that such a file has."""
    row = dict.fromkeys(_MTURK.split(), "") | {"WorkerId": worker, "AssignmentStatus": status}
    row |= {"SubmitTime": "Mon Jun 08 15:27:14 PDT 2015", "WorkTimeInSeconds": "31"}
    return row | {"Input.caption_id": query, "Input.video_id": doc, "Answer.match": answer} | more


def table(name: str) -> list[dict[str, str]]:
    """The rows of judgments.csv or dropped.csv."""
    return rows(Path("judgments", name))


def votes() -> list[tuple[str, ...]]:
    """query, doc and label of each judgment, without names, sorted."""
    return sorted((row["query_id"], row["doc_id"], row["label"]) for row in table("judgments.csv"))
