"""Judgments in a table of another tool, for Python: what `import --columns` reads, without a ledger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.votes import DELETED, NO_LABEL, SEVERAL_LABELS, SKIPPED, ImportResult
from fire_toolkit.elsewhere.found import SKIP, Found
from fire_toolkit.elsewhere.labels import LabelMap
from fire_toolkit.elsewhere.tables import read_elsewhere_table
from fire_toolkit.elsewhere.tools import TOOLS
from fire_toolkit.elsewhere.understood import understand
from fire_toolkit.errors import FormatError
from fire_toolkit.guidelines.model import Guideline
from fire_toolkit.resolution.judgments import latest_judgments
from fire_toolkit.tables import DROPPED, check_dropped

_COLUMNS = ["query_id", "doc_id", "annotator_id", "created_at", "duration_s", "comment", "round"]


def judgments_from_table(
    path: str | Path,
    columns: Mapping[str, str],
    *,
    guideline: Guideline,
    labels: Mapping[str, str] | None = None,
    split: str = "",
) -> ImportResult:
    """Return the judgments in a table of MTurk, Prolific, Argilla, Prodigy, Potato, doccano or any other.

    Args:
        path: CSV or TSV with a header line, JSON Lines, or JSON with a list of objects.
        columns: role → column; roles are annotator, query, doc, pair, label, time, seconds, status, round and
            comment. What a tool always has need not be given.
        guideline: the one whose labels the judgments have.
        labels: value → label of the guideline, `-` for no vote; its own labels mean themselves.
        split: what stands between query and doc in the column `pair`.

    Returns:
        judgments: one for each annotator, by the name that the table has, and pair; of several the latest.
        dropped: the other answers with their reason: `skipped`, `no_label`, `several_labels`, `superseded`.
        notes: sentences on what the table does not say.

    Raises:
        FormatError: no such table, a role without a column, a row that cannot be read, or a value without a
            label.
        UsageError: a label that the guideline does not have.

    Examples:
        >>> from tempfile import mkdtemp
        >>> from fire_toolkit.formats.tables.guideline_files import read_guideline
        >>> file = Path(mkdtemp()) / "answers.csv"
        >>> _ = file.write_text("who,caption,video,fits\\nA1,q,d,Yes\\n")
        >>> columns = {"annotator": "who", "query": "caption", "doc": "video", "label": "fits"}
        >>> rules = read_guideline("caption-relevance-v1")
        >>> found = judgments_from_table(file, columns, guideline=rules, labels={"Yes": "relevant"})
        >>> found.judgments[["annotator_id", "query_id", "doc_id", "label"]].values.tolist()
        [['A1', 'q', 'd', 'relevant']]
    """
    file = read_elsewhere_table(Path(path), columns, split=split)
    defaults = next((tool.labels for tool in TOOLS if tool.name == file.tool), {})
    names = [label.name for label in guideline.labels]
    known = LabelMap(
        [f"{value}={label}" for value, label in (labels or {}).items()], names, defaults=defaults
    )
    found = understand([file], known, {})
    if refusals := found.refusals(skips_unknown=True):
        raise FormatError(f"{path}: {'; '.join(refusals)}")
    rows = [(*_row(answer), *_vote(known.labels_of(answer) or (), answer.why)) for answer in file.answers]
    answers = pd.DataFrame(rows, columns=[*_COLUMNS, "label", "reason", "detail"])
    is_vote = answers["reason"] == ""
    judgments, superseded = latest_judgments(answers.loc[is_vote, [*_COLUMNS, "label"]])
    others = check_dropped(answers.loc[~is_vote, list(DROPPED.names)])
    dropped = check_dropped(pd.concat([others, superseded], ignore_index=True))
    left_out = [f"{file.path}: {n:,} {words}" for words, n in file.left_out.items()]
    return ImportResult(judgments, dropped, (*left_out, *file.notes))


def _row(answer: Found) -> tuple[object, ...]:
    """Return what an answer has in `_COLUMNS`; an account without a name goes by its row."""
    who = answer.worker or f"{DELETED}{answer.number}"
    return (
        answer.query_id,
        answer.doc_id,
        who,
        answer.updated_at,
        answer.seconds,
        answer.comment,
        answer.round,
    )


def _vote(labels: Sequence[str], why: str) -> tuple[str, str, str]:
    """Return an answer's label, and why it is no vote, if it is none: a word and in detail."""
    reason = "" if len(labels) == 1 else SEVERAL_LABELS if labels else NO_LABEL
    return " + ".join(labels), SKIPPED if why or SKIP in labels else reason, why
