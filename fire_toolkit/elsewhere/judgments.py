"""Judgments in a table of another tool, for Python: what `import --columns` reads, without a ledger."""

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from fire_toolkit.campaign.answer_columns import NO_LABEL, SEVERAL_LABELS, SKIPPED
from fire_toolkit.campaign.votes import ImportResult
from fire_toolkit.elsewhere.answers import read_elsewhere
from fire_toolkit.elsewhere.meaning import Labels, understand
from fire_toolkit.elsewhere.tables import SKIP
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
    file = read_elsewhere(Path(path), columns, split=split)
    texts = [f"{value}={label}" for value, label in (labels or {}).items()]
    known = Labels(texts, [label.name for label in guideline.labels])
    if refusals := understand([file], known, {}, skips_unknown=True).refusals:
        raise FormatError(f"{path}: {'; '.join(refusals)}")
    given = {name: column.rows() for name, column in file.answers.items()}
    meant = [known.of(values, file.tool) or () for values in given["values"]]
    answers = pd.DataFrame(given).assign(
        annotator_id=given["worker"],
        created_at=given["updated_at"],
        duration_s=given["seconds"].astype("float64"),
        label=[" + ".join(each) for each in meant],
        reason=[
            SKIPPED if why or SKIP in each else "" if len(each) == 1 else SEVERAL_LABELS if each else NO_LABEL
            for why, each in zip(given["why"], meant, strict=True)
        ],
        detail=given["why"],
    )
    is_vote = answers["reason"] == ""
    judgments, superseded = latest_judgments(answers[[*_COLUMNS, "label"]][is_vote])
    others = check_dropped(answers[list(DROPPED.names)][~is_vote])
    dropped = check_dropped(pd.concat([others, superseded], ignore_index=True))
    left_out = [f"{file.path}: {n:,} {words}" for words, n in file.left_out.items()]
    return ImportResult(judgments, dropped, (*left_out, *file.notes))
